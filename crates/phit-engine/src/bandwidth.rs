//! Bandwidth: the number of phits that a link carries in a cycle.

use crate::engine::Tick;
use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;
use std::cmp::Ordering;
use std::fmt;

/// The unit in which phits on a wire are counted. It is a fraction of a phit that makes a link's phits per tick a whole
/// number. So no rounding makes a link carry more than it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Number of parts in a phit.
    pub per_phit: u64,
    /// Parts that a link carries in a tick.
    pub per_tick: u64,
}

impl Rate {
    /// The parts of `phits` phits.
    pub fn parts(self, phits: u64) -> u64 {
        phits.saturating_mul(self.per_phit)
    }

    /// The parts of a flit that a link has carried in the first `ticks` ticks: as many as it can. A link takes whole
    /// cycles for a flit, and may idle at its end. Or the flit starts between two ticks, `early` 65536ths of a tick
    /// before these ticks.
    ///
    /// In a fraction of a tick, only whole parts count. So the count over all flits is the carried amount, rounded
    /// down. A link carries a whole number of parts in a tick. So no window of whole ticks counts more than that,
    /// wherever flits start.
    pub fn sent(self, phits: u32, ticks: u32, early: u16) -> u64 {
        let more = (u128::from(early) * u128::from(self.per_tick)) >> u16::BITS;
        self.parts(phits.into()).min(self.capacity(ticks.into()).saturating_add(more as u64))
    }

    /// The parts that a link can carry in `ticks` ticks.
    pub fn capacity(self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.per_tick)
    }
}

/// Phits per cycle: a ratio of whole numbers in lowest terms. So a link may be slower than a phit per cycle, or carry
/// two phits in three cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bandwidth {
    phits: u32,
    cycles: u32,
}

impl Bandwidth {
    /// A phit in each cycle.
    pub const ONE: Self = Self { phits: 1, cycles: 1 };
    /// More than any link can carry.
    pub(crate) const UNLIMITED: Self = Self { phits: u32::MAX, cycles: 1 };
    const LARGEST: u32 = 1_000_000_000;
    /// Most cycles of a ratio. The ratios of real links have fewer.
    pub(crate) const MOST_CYCLES: u32 = 1_000_000;

    fn new(phits: u64, cycles: u32) -> Option<Self> {
        let whole = |cycles| u32::try_from(phits).ok().map(|phits| Self { phits, cycles });
        whole(cycles).filter(|_| (1..=u64::from(Self::LARGEST) * u64::from(cycles)).contains(&phits))
    }

    /// The ratio with the fewest cycles that equals this number.
    fn of_number(number: f64) -> Option<Self> {
        // A decimal number is usually not a binary fraction. The intended ratio is the one that is written as this
        // decimal. It is one of the convergents of the number's continued fraction (Legendre), as long as its cycles
        // are few.
        let (mut before, mut ratio, mut rest) = ((1.0, 0.0), (number.floor(), 1.0), number);
        while ratio.1 <= f64::from(Self::MOST_CYCLES) && ratio.0.is_finite() {
            if ratio.0 / ratio.1 == number {
                return Self::new(ratio.0 as u64, ratio.1 as u32);
            }
            rest = 1.0 / (rest - rest.floor());
            let next = rest.floor();
            (before, ratio) = (ratio, (next * ratio.0 + before.0, next * ratio.1 + before.1));
        }
        None
    }

    /// `phits` phits in each cycle, at least one.
    pub(crate) fn whole(phits: u32) -> Self {
        Self { phits: phits.max(1), cycles: 1 }
    }

    /// Cycles that `phits` phits take, rounded up.
    #[inline]
    pub fn cycles(self, phits: u32) -> u32 {
        match self.cycles {
            1 => phits.div_ceil(self.phits),
            _ => u32::try_from(self.cycles_of_message(phits.into())).unwrap_or(u32::MAX),
        }
    }

    /// Cycles that the phits of a whole message take, rounded up.
    #[inline]
    pub(crate) fn cycles_of_message(self, phits: u64) -> u64 {
        phits.saturating_mul(self.cycles.into()).div_ceil(self.phits.into())
    }

    /// The ratio as (phits, cycles).
    pub(crate) fn ratio(self) -> (u32, u32) {
        (self.phits, self.cycles)
    }

    /// The counting unit for phits on a link of this bandwidth, if a cycle has `ticks_per_cycle` ticks.
    pub(crate) fn rate(self, ticks_per_cycle: Tick) -> Rate {
        Rate { per_phit: u64::from(self.cycles) * u64::from(ticks_per_cycle), per_tick: self.phits.into() }
    }

    /// The bandwidth of `links` such links together.
    pub(crate) fn times(self, links: u32) -> Self {
        let common = gcd(links, self.cycles);
        Self { phits: self.phits.saturating_mul(links / common), cycles: self.cycles / common }
    }

    /// Phits per cycle.
    pub fn to_f64(self) -> f64 {
        f64::from(self.phits) / f64::from(self.cycles)
    }
}

/// The greatest common divisor.
fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Ord for Bandwidth {
    fn cmp(&self, other: &Self) -> Ordering {
        let crossed = |one: &Self, other: &Self| u64::from(one.phits) * u64::from(other.cycles);
        crossed(self, other).cmp(&crossed(other, self))
    }
}

impl PartialOrd for Bandwidth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self::ONE
    }
}

impl Serialize for Bandwidth {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.cycles {
            1 => s.serialize_u32(self.phits),
            _ => s.serialize_f64(self.to_f64()),
        }
    }
}

/// Reads a bandwidth or an [`Injection`]: a number, or a word for the latter.
struct Visitor {
    may_be_infinite: bool,
}

impl serde::de::Visitor<'_> for Visitor {
    type Value = Injection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 1 to {}", Bandwidth::LARGEST)?;
        write!(f, ", or a ratio of whole numbers, such as 0.25, with at most {} below", Bandwidth::MOST_CYCLES)?;
        f.write_str(if self.may_be_infinite { ", or \"infinite\"" } else { "" })
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Injection, E> {
        let found = Bandwidth::new(v, 1).map(Injection::Finite);
        found.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(v), &self))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Injection, E> {
        match u64::try_from(v) {
            Ok(v) => self.visit_u64(v),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(v), &self)),
        }
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Injection, E> {
        let found = Bandwidth::of_number(v).map(Injection::Finite);
        found.ok_or_else(|| E::invalid_value(Unexpected::Float(v), &self))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Injection, E> {
        match v {
            "infinite" if self.may_be_infinite => Ok(Injection::Infinite),
            _ => Err(E::invalid_value(Unexpected::Str(v), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match d.deserialize_any(Visitor { may_be_infinite: false })? {
            Injection::Finite(bandwidth) => Ok(bandwidth),
            Injection::Infinite => Ok(Self::UNLIMITED),
        }
    }
}

impl JsonSchema for Bandwidth {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "bandwidth".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let least = 1.0 / f64::from(Self::MOST_CYCLES);
        schemars::json_schema!({ "type": "number", "minimum": least, "maximum": Self::LARGEST })
    }
}

/// Bandwidth from an endpoint into its router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Injection {
    /// The bandwidth of a link.
    Finite(Bandwidth),
    /// A packet in each cycle, whatever its size.
    Infinite,
}

impl Injection {
    /// The bandwidth; `None` if there is no limit.
    pub(crate) fn finite(self) -> Option<Bandwidth> {
        match self {
            Self::Finite(bandwidth) => Some(bandwidth),
            Self::Infinite => None,
        }
    }
}

impl Serialize for Injection {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Finite(bandwidth) => bandwidth.serialize(s),
            Self::Infinite => s.serialize_str("infinite"),
        }
    }
}

impl<'de> Deserialize<'de> for Injection {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Visitor { may_be_infinite: true })
    }
}

impl JsonSchema for Injection {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "injection".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let finite = Bandwidth::json_schema(generator);
        schemars::json_schema!({ "anyOf": [json!(finite), {"const": "infinite"}] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn read(value: Value) -> Result<Bandwidth, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    proptest! {
        /// Every ratio of small numbers is read exactly, in each notation, and written as it was.
        #[test]
        fn ratios_are_exact(phits in 1..5_000_000u32, cycles in 1..=Bandwidth::MOST_CYCLES, size in 0..100_000u32) {
            let number = f64::from(phits) / f64::from(cycles);
            let found = read(json!(number)).unwrap();
            prop_assert_eq!(u64::from(found.phits) * u64::from(cycles), u64::from(phits) * u64::from(found.cycles));
            let expected = (u64::from(size) * u64::from(cycles)).div_ceil(phits.into());
            prop_assert_eq!(u64::from(found.cycles(size)), expected.min(u32::MAX.into()));
            prop_assert_eq!(read(serde_json::to_value(found).unwrap()), Ok(found));
            prop_assert_eq!(found.cmp(&Bandwidth::ONE), phits.cmp(&cycles));
        }
    }

    #[test]
    fn whole_numbers_stay_whole_and_others_say_what_is_expected() {
        assert_eq!(serde_json::to_value(read(json!(3.0)).unwrap()).unwrap(), json!(3));
        assert_eq!(read(json!(0.125)), Ok(Bandwidth { phits: 1, cycles: 8 }));
        for wrong in [json!(0), json!(-1), json!(0.0), json!(1e-7), json!(std::f64::consts::PI), json!("infinite")] {
            let error = read(wrong.clone()).unwrap_err();
            assert!(error.contains("or a ratio of whole numbers, such as 0.25, with at most 1000000 below"), "{error}");
        }
        let infinite: Injection = serde_json::from_value(json!("infinite")).unwrap();
        assert_eq!((infinite, infinite.finite()), (Injection::Infinite, None));
    }
}
