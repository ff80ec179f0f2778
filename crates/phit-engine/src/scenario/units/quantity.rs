//! Quantities: numbers with units, read exactly.

use super::fraction::Fraction;

/// The dimension of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In seconds.
    Time,
    /// In bits.
    Size,
    /// In bits per second.
    Rate,
}

impl Kind {
    pub(super) fn examples(self) -> &'static str {
        match self {
            Self::Time => "a time such as \"200 ns\"",
            Self::Size => "a size such as \"512 B\"",
            Self::Rate => "a rate such as \"20 Gb/s\"",
        }
    }
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantity {
    pub(super) value: Fraction,
    pub(super) kind: Kind,
}

const THOUSANDS: [(&str, u128); 5] =
    [("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000), ("T", 1_000_000_000_000)];

/// Kind and size of a unit: `over / under` seconds, bits, or bits per second.
fn unit(name: &str) -> Option<(Kind, u128, u128)> {
    let times = [
        ("s", 1),
        ("ms", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ns", 1_000_000_000),
        ("ps", 1_000_000_000_000),
    ];
    if let Some((_, under)) = times.iter().find(|(unit, _)| *unit == name) {
        return Some((Kind::Time, 1, *under));
    }
    let (size, kind) =
        match name.strip_suffix("/s").or_else(|| name.strip_suffix("ps").filter(|rest| rest.ends_with('b'))) {
            Some(size) => (size, Kind::Rate),
            None => (name, Kind::Size),
        };
    for (prefix, factor) in THOUSANDS {
        let binary = 1024u128.pow(THOUSANDS.iter().position(|(p, _)| *p == prefix)? as u32);
        let bits = if size == format!("{prefix}B") {
            8 * factor
        } else if [format!("{prefix}b"), format!("{prefix}bit")].iter().any(|unit| unit == size) {
            factor
        } else if !prefix.is_empty()
            && size.to_uppercase() == format!("{}IB", prefix.to_uppercase())
            && size.ends_with("iB")
        {
            8 * binary
        } else {
            continue;
        };
        return Some((kind, bits, 1));
    }
    None
}

/// True for a text that can only be a quantity: a number with text after it.
pub(super) fn looks_like_one(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.') && text.ends_with(|c: char| c.is_alphabetic())
}

/// Reads a quantity such as `12.5 ns` or `1/60 ns`.
pub(super) fn read(text: &str) -> Result<Quantity, String> {
    let text = text.trim();
    let expected = "expected a number and a unit, as \"200 ns\", \"512 B\" or \"20 Gb/s\"";
    let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, name) = (text[..split].trim(), text[split..].trim());
    let Some((kind, over, under)) = unit(name) else {
        return Err(format!(
            "{name:?} is no unit; expected s, ms, us, ns, ps, bit, B, KiB, kB (or M, G, T), or b/s, B/s with k, M, G \
             or T"
        ));
    };
    let (over_text, under_text) = number.split_once('/').unwrap_or((number, "1"));
    let value = decimal(over_text.trim())
        .zip(decimal(under_text.trim()))
        .and_then(|(a, b)| a.per(b))
        .and_then(|value| value.times(Fraction::new(over, under)?));
    value.map(|value| Quantity { value, kind }).ok_or_else(|| expected.to_owned())
}

/// A number, with or without decimals.
fn decimal(text: &str) -> Option<Fraction> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if (whole.is_empty() && part.is_empty()) || whole.len() + part.len() > 30 {
        return None;
    }
    let digits = format!("{whole}{part}");
    if !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    Fraction::new(digits.parse().ok()?, 10u128.checked_pow(part.len() as u32)?)
}

/// A value as a user would write it, in the largest unit in which it is at least 1.
pub(super) fn shown(value: Fraction, kind: Kind) -> String {
    const TIMES: [(&str, u128); 5] =
        [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000), ("ps", 1_000_000_000_000)];
    let times = |unit: &str, factor: Option<Fraction>| {
        let number = factor.and_then(|factor| value.times(factor))?;
        (number.over >= number.under || unit == "ps" || unit == "bit" || unit == "b/s")
            .then(|| (number, unit.to_owned()))
    };
    let per = |factor: u128| Fraction::new(1, factor);
    let found = match kind {
        Kind::Time => TIMES.iter().find_map(|(unit, factor)| times(unit, Fraction::new(*factor, 1))),
        Kind::Size => [("MiB", 8 << 20), ("KiB", 8 << 10), ("B", 8), ("bit", 1)]
            .into_iter()
            .filter(|(unit, factor)| {
                matches!(*unit, "B" | "bit")
                    || value.per(Fraction { over: *factor, under: 1 }).is_some_and(|n| n.under == 1)
            })
            .find_map(|(unit, factor)| times(unit, per(factor))),
        Kind::Rate => THOUSANDS.iter().rev().find_map(|(prefix, factor)| times(&format!("{prefix}b/s"), per(*factor))),
    };
    let (number, unit) = found.unwrap_or((value, String::new()));
    format!("{} {unit}", written(number))
}

/// A fraction as a decimal number, if it has a finite one.
fn written(number: Fraction) -> String {
    let power = (0..9).find(|power| 10u128.pow(*power).is_multiple_of(number.under));
    match power {
        None => number.to_string(),
        Some(0) => number.over.to_string(),
        Some(power) => {
            let digits = number.over.saturating_mul(10u128.pow(power) / number.under).to_string();
            let digits = format!("{digits:0>width$}", width = power as usize + 1);
            let (whole, part) = digits.split_at(digits.len() - power as usize);
            format!("{whole}.{part}")
        }
    }
}
