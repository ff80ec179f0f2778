//! The length of a cycle and the size of a phit, where `[units]` leaves them open, and the numbers that quantities
//! become.

use super::fraction::Fraction;
use super::quantity::{Kind, read, shown};
use super::{Counts, Found, Plain, dotted};
use crate::bandwidth::Bandwidth;
use crate::error::ScenarioError;
use serde_json::{Map, Value};

/// Length of a cycle, size of a phit, and the other scales that numbers depend on.
pub(super) struct Scales {
    cycle: Fraction,
    phit: Fraction,
    /// Whether `[units]` gives the cycle, and the phit.
    said: [bool; 2],
    /// Rate of the link of most endpoints, in bits per second.
    link: Option<Fraction>,
    /// True if the only quantities are rates of links: the length of a cycle then stays open.
    relative: bool,
    /// Whether quantities or `[units]` determine the length of a cycle.
    timed: bool,
    /// True if messages take a constant time, so links carry nothing.
    no_links: bool,
    /// Router cycles in a link cycle.
    router: Fraction,
    /// A program's unit of time: in cycles, or in seconds if the second field is true.
    time_unit: (Fraction, bool),
}

/// Which kinds of quantities a document has.
struct Kinds {
    times: bool,
    sizes: bool,
    rates: bool,
}

impl Kinds {
    fn of(found: &[Found]) -> Self {
        // Zero needs no unit.
        let any = |is: &dyn Fn(Counts) -> bool| found.iter().any(|it| it.quantity.value.over > 0 && is(it.counts));
        Self {
            times: any(&|counts| counts.in_cycles()),
            sizes: any(&|counts| counts == Counts::Phits),
            rates: any(&|counts| matches!(counts, Counts::PhitsPerCycle | Counts::Load)),
        }
    }

    /// True if the meaning of plain numbers depends on the length of a cycle.
    fn need_cycle(&self) -> bool {
        self.times || self.rates && self.sizes
    }

    /// True if the meaning of plain numbers depends on the size of a phit.
    fn need_phit(&self) -> bool {
        self.sizes || self.rates && self.times
    }
}

/// The first time of a document whose quantities are, besides rates, only lengths of the run.
fn only_lengths_of_the_run(found: &[Found]) -> Option<&Found> {
    let mut scales =
        found.iter().filter(|it| it.quantity.value.over > 0 && (it.counts.in_cycles() || it.counts == Counts::Phits));
    let first = scales.next()?;
    let of_run = |it: &Found| it.path.starts_with("/measure/");
    (of_run(first) && scales.all(of_run)).then_some(first)
}

impl Scales {
    /// Chooses the scales that `[units]` leaves open.
    ///
    /// The cycle is the longest of which all times are whole multiples, and the times of all sizes over the link of
    /// most endpoints. The phit is the data that this link carries in a cycle.
    pub(super) fn new(
        document: &Value,
        found: &[Found],
        [cycle, phit]: [Option<Fraction>; 2],
    ) -> Result<Self, ScenarioError> {
        let kinds = Kinds::of(found);
        let link = link(document, found);
        if kinds.rates && link.is_none() && (cycle.is_none() || phit.is_none()) {
            let rate = found.iter().find(|it| it.counts == Counts::PhitsPerCycle);
            let example = rate.map_or_else(|| "100 Gb/s".into(), |rate| shown(rate.quantity.value, Kind::Rate));
            let expected = format!(
                "with rates, expected that of the endpoints' links, from which the length of a cycle follows: write \
                 [router.links.endpoint] bandwidth = \"{example}\""
            );
            return Err(ScenarioError::missing("router.links.endpoint.bandwidth", expected));
        }
        if let (None, Some(time)) = (cycle, only_lengths_of_the_run(found)) {
            let expected = "the length of the run says nothing about that of a cycle: expected a number of cycles, or \
                            write, for example, [units] cycle = \"1 ns\"";
            let said = shown(time.quantity.value, time.quantity.kind);
            return Err(ScenarioError::new(dotted(&time.path), format!("\"{said}\""), expected));
        }
        let text = |path: &str| document.pointer(path).and_then(Value::as_str);
        let whole = |number: u64| Fraction::new(number.into(), 1).unwrap_or(Fraction::ONE);
        let by_crossbar = text("/router/clock") == Some("crossbar");
        let speedup = document.pointer("/router/speedup").and_then(Value::as_f64).filter(|_| by_crossbar);
        let thousandths = speedup.map_or(1000, |speedup| (speedup * 1000.0).round() as u64);
        let router = Fraction::new(thousandths.into(), 1000).unwrap_or(Fraction::ONE);
        let time_unit = match document.pointer("/workload/time_unit") {
            Some(Value::String(text)) => (read(text).map_or(Fraction::ONE, |quantity| quantity.value), true),
            Some(number) => (whole(number.as_u64().unwrap_or(1).max(1)), false),
            None => (Fraction::ONE, false),
        };
        let mut scales = Self {
            cycle: Fraction::ONE,
            phit: Fraction::ONE,
            said: [cycle.is_some(), phit.is_some()],
            link,
            relative: !kinds.times && !kinds.sizes && cycle.is_none() && phit.is_none(),
            timed: cycle.is_some() || link.is_some() || kinds.times,
            no_links: text("/router/kind") == Some("ideal") && text("/router/model") == Some("constant"),
            router,
            time_unit,
        };
        let too_fine = || {
            let expected = "the quantities have no common cycle and phit within range; give both here";
            ScenarioError::missing("units", expected)
        };
        let all_rates = text("/router/kind") == Some("packet_node") || document.pointer("/router/node").is_some();
        scales.cycle = cycle.or_else(|| scales.longest_cycle(found, all_rates, phit)).ok_or_else(too_fine)?;
        scales.phit = phit.or_else(|| scales.largest_phit(found, all_rates)).ok_or_else(too_fine)?;
        Ok(scales)
    }

    /// The time that must be a whole number of cycles, if the key asks for one.
    fn time(&self, it: &Found, link: Option<Fraction>) -> Option<Option<Fraction>> {
        let value = it.quantity.value;
        if value.over == 0 {
            return None;
        }
        match it.counts {
            Counts::Cycles => Some(Some(value)),
            Counts::RouterCycles => Some(value.times(self.router)),
            Counts::UnitsOfTime if !self.time_unit.1 => Some(value.per(self.time_unit.0)),
            Counts::Phits => link.map(|link| value.per(link)),
            _ => None,
        }
    }

    fn longest_cycle(&self, found: &[Found], all_rates: bool, phit: Option<Fraction>) -> Option<Fraction> {
        if self.relative {
            return Fraction::new(1, 1_000_000_000);
        }
        let kinds = Kinds::of(found);
        if let (Some(phit), Some(link), false, false) = (phit, self.link, kinds.times, kinds.sizes) {
            return phit.per(link);
        }
        let links: Vec<Option<Fraction>> = match all_rates {
            // Every link of this kernel takes whole cycles for a packet.
            true => rates(found).map(Some).collect(),
            false => vec![self.link],
        };
        let links = if links.is_empty() { vec![None] } else { links };
        greatest(links.iter().flat_map(|link| found.iter().filter_map(|it| self.time(it, *link))))
            .or(Fraction::new(1, 1_000_000_000))
    }

    fn largest_phit(&self, found: &[Found], all_rates: bool) -> Option<Fraction> {
        let links: Vec<Fraction> = match all_rates {
            true => rates(found).collect(),
            false => self.link.into_iter().collect(),
        };
        let carried = links.iter().map(|rate| rate.times(self.cycle));
        let sizes = found.iter().filter(|it| it.counts == Counts::Phits && it.quantity.value.over > 0);
        greatest(sizes.map(|it| Some(it.quantity.value)).chain(carried)).or(Some(Fraction::ONE))
    }

    /// Refuses plain numbers whose meaning would depend silently on the quantities beside them.
    pub(super) fn refuse_plain(&self, numbers: &[Plain], found: &[Found]) -> Result<(), ScenarioError> {
        let kinds = Kinds::of(found);
        let [cycle, phit] = self.said;
        let both = cycle && phit;
        let unclear = |plain: &&Plain| match plain.counts {
            Counts::Cycles | Counts::RouterCycles => kinds.need_cycle() && !cycle,
            Counts::UnitsOfTime => kinds.need_cycle() && !cycle && !self.time_unit.1,
            Counts::Phits => kinds.need_phit() && !phit,
            Counts::PhitsPerCycle => (kinds.rates || kinds.need_cycle() && kinds.need_phit()) && !both,
            _ => false,
        };
        let Some(Plain { path, number, counts }) = numbers.iter().find(unclear) else { return Ok(()) };
        let beside = |it: &&Found| match counts.kind() {
            Kind::Time => it.counts.in_cycles(),
            Kind::Size => it.counts == Counts::Phits,
            Kind::Rate => it.counts == Counts::PhitsPerCycle,
        };
        let beside = found.iter().find(beside).or(found.first());
        let beside = beside.map_or_else(String::new, |it| {
            format!(" beside {} = \"{}\"", dotted(&it.path), shown(it.quantity.value, it.quantity.kind))
        });
        let cycle = format!("cycle = \"{}\"", shown(comfortable(self.cycle), Kind::Time));
        let phit = format!("phit = \"{}\"", shown(self.phit, Kind::Size));
        let (what, lines) = match counts.kind() {
            Kind::Time => ("cycles", cycle),
            Kind::Size => ("phits", phit),
            Kind::Rate => ("phits per cycle", format!("{cycle}, {phit}")),
        };
        let expected = format!(
            "a plain number of {what}{beside}: expected {}, or say what it stands for and write, for example, [units] \
             {lines}",
            counts.kind().examples()
        );
        Err(ScenarioError::new(dotted(path), number, expected))
    }

    /// Refuses times and sizes in a network whose links have no rates, unless `[units]` says what they come to. A link
    /// carries a phit in a cycle then, so its rate would follow from the times and sizes that the document happens to
    /// have.
    pub(super) fn refuse_open(&self, found: &[Found]) -> Result<(), ScenarioError> {
        let first = |is: &dyn Fn(Counts) -> bool, said: bool| {
            let open = !said && self.link.is_none() && !self.no_links;
            found.iter().find(|it| open && it.quantity.value.over > 0 && is(it.counts))
        };
        let time = first(&|counts| counts.in_cycles(), self.said[0]);
        let size = first(&|counts| counts == Counts::Phits, self.said[1]);
        let (key, what, example, it) = match (time, size) {
            (Some(time), _) => ("cycle", "how long a cycle is", "1 ns", time),
            (None, Some(size)) => ("phit", "how large a phit is", "16 B", size),
            (None, None) => return Ok(()),
        };
        let quantity = shown(it.quantity.value, it.quantity.kind);
        let expected = format!(
            "with {} = \"{quantity}\", expected {what}: write, for example, [units] {key} = \"{example}\", or give \
             the links a rate, as [router.links.default] bandwidth = \"100 Gb/s\"",
            dotted(&it.path)
        );
        Err(ScenarioError::missing(format!("units.{key}"), expected))
    }

    fn counted(&self, it: &Found) -> Option<Fraction> {
        let value = it.quantity.value;
        match it.counts {
            Counts::Cycles => value.per(self.cycle),
            Counts::RouterCycles => value.times(self.router)?.per(self.cycle),
            Counts::UnitsOfTime => match self.time_unit {
                (unit, true) => value.per(unit),
                (unit, false) => value.per(self.cycle)?.per(unit),
            },
            Counts::Nanoseconds => value.times(Fraction::new(1_000_000_000, 1)?),
            Counts::Phits => value.per(self.phit),
            Counts::Bytes => value.per(Fraction::new(8, 1)?),
            Counts::Bits => Some(value),
            Counts::BytesPerNanosecond => value.per(Fraction::new(8_000_000_000, 1)?),
            Counts::PhitsPerCycle | Counts::Load => match self.link {
                // Any cycle will do: a phit is the data that the endpoints' link carries in it.
                Some(link) if self.relative => value.per(link),
                _ => value.times(self.cycle)?.per(self.phit),
            },
        }
    }

    /// The number for the key of a quantity. `None` if it must be whole and is not.
    pub(super) fn number(&self, it: &Found) -> Option<Value> {
        let value = self.counted(it)?;
        let any = || Some(Value::from(value.to_f64()));
        match (it.counts, value.under) {
            (_, 1) if it.counts != Counts::Load => u64::try_from(value.over).ok().map(Value::from),
            (Counts::Load | Counts::Nanoseconds | Counts::BytesPerNanosecond, _) => any(),
            (Counts::PhitsPerCycle, _) => bandwidth(value),
            // The time to combine one byte, which need not be whole.
            (Counts::UnitsOfTime, _) if it.path.ends_with("/combine") => any(),
            _ => None,
        }
    }

    /// `[units]` of the resolved document, if its quantities determine them.
    pub(super) fn said(&self, found: &[Found]) -> Result<Option<Value>, ScenarioError> {
        if self.relative && Kinds::of(found).rates {
            return Ok(None);
        }
        let mut units = Map::new();
        if self.timed {
            let nanoseconds = self.cycle.times(Fraction::new(1_000_000_000, 1).unwrap_or(Fraction::ONE));
            let too_fine = || ScenarioError::missing("units.cycle", "this cycle is too short; expected a longer one");
            units.insert("cycle".into(), format!("{} ns", nanoseconds.ok_or_else(too_fine)?).into());
        }
        if self.said[1] || self.link.is_some() {
            units.insert("phit".into(), format!("{} bit", self.phit).into());
        }
        Ok((!units.is_empty()).then_some(units.into()))
    }

    /// The bandwidth of links whose class has none, in phits per cycle. It is the rate of the endpoints' links, unless
    /// `[units]` says what a phit per cycle is. `None` if that is a phit per cycle.
    pub(super) fn usual_bandwidth(&self) -> Option<Value> {
        let open = !self.relative && self.said != [true, true];
        let number = self.link.filter(|_| open)?.times(self.cycle)?.per(self.phit)?;
        (number != Fraction::ONE).then(|| bandwidth(number)).flatten()
    }

    /// What the numbers of such a key count, in words.
    fn of(&self, counts: Counts) -> String {
        let (cycle, phit) = (shown(self.cycle, Kind::Time), shown(self.phit, Kind::Size));
        match counts {
            Counts::Cycles => format!("cycles of {cycle}"),
            Counts::RouterCycles => format!("router cycles of {cycle} by the speedup"),
            Counts::UnitsOfTime if self.time_unit.1 => "times workload.time_unit".into(),
            Counts::UnitsOfTime => format!("units of {} cycles of {cycle}", self.time_unit.0),
            Counts::Nanoseconds => "nanoseconds".into(),
            Counts::Phits => format!("phits of {phit}"),
            Counts::Bytes => "bytes".into(),
            Counts::Bits => "bits".into(),
            Counts::BytesPerNanosecond => "bytes per nanosecond".into(),
            Counts::PhitsPerCycle | Counts::Load => format!("phits of {phit} per cycle of {cycle}"),
        }
    }

    /// The error for a quantity that is not a whole number in the given `[units]`.
    pub(super) fn uneven(&self, it: &Found, found: &[Found]) -> ScenarioError {
        let number = self.counted(it).map_or(f64::NAN, Fraction::to_f64);
        let mut reason = format!("comes to {number} {}; expected a whole number", self.of(it.counts));
        let unit = match it.counts {
            Counts::Cycles | Counts::UnitsOfTime => Some(self.cycle),
            Counts::Phits => Some(self.phit),
            Counts::Bytes => Fraction::new(8, 1),
            _ => None,
        };
        let near = unit.and_then(|unit| nearest(it.quantity.value, unit));
        if let Some(near) =
            near.filter(|_| it.counts != Counts::UnitsOfTime || self.time_unit == (Fraction::ONE, false))
        {
            reason += &format!(", as with {}", or(&near, it.quantity.kind));
        }
        reason += match self.comfortable_units(it, found) {
            Some(units) => format!("; or choose [units] {units}, or leave them out"),
            None => ": choose other [units], or leave them out".into(),
        }
        .as_str();
        ScenarioError::missing(dotted(&it.path), reason)
    }

    /// A cycle, or a phit, of which all quantities of its kind are whole multiples.
    fn comfortable_units(&self, it: &Found, found: &[Found]) -> Option<String> {
        let alike = |other: &&Found| other.counts.kind() == it.counts.kind();
        let of_kind = found.iter().filter(alike).filter_map(|other| self.time(other, Some(Fraction::ONE)));
        let (name, before) = match it.counts {
            counts if counts.in_cycles() => ("cycle", self.cycle),
            Counts::Phits => ("phit", self.phit),
            _ => return None,
        };
        let all = greatest(of_kind.chain([Some(before)]))?;
        Some(format!("{name} = \"{}\"", shown(all, it.counts.kind())))
    }

    /// The error for a quantity whose number exceeds its key's maximum: other quantities force a short cycle.
    pub(super) fn too_many(&self, it: &Found, value: f64, most: f64, found: &[Found]) -> ScenarioError {
        let mut reason = format!("comes to {value} {}; expected at most {most}", self.of(it.counts));
        if let Some((odd, cycle)) = self.oddest(found) {
            let link = self.link.filter(|_| odd.counts == Counts::Phits);
            let step = link.map_or(Some(cycle), |link| cycle.times(link));
            let step = if odd.counts == Counts::RouterCycles { cycle.per(self.router) } else { step };
            if let Some(near) = step.and_then(|step| nearest(odd.quantity.value, step)) {
                let (path, given) = (dotted(&odd.path), shown(odd.quantity.value, odd.quantity.kind));
                reason += &format!(
                    ": {path} = \"{given}\" makes the cycle so short, which would be {} with {}",
                    shown(cycle, Kind::Time),
                    or(&near, odd.quantity.kind)
                );
            }
        }
        ScenarioError::missing(dotted(&it.path), reason)
    }

    /// The quantity that shortens the cycle most, and the cycle without it, if `[units]` leaves the cycle open.
    fn oddest<'a>(&self, found: &'a [Found]) -> Option<(&'a Found, Fraction)> {
        const MOST: usize = 400;
        if self.said[0] || found.len() > MOST {
            return None;
        }
        let without = |out: usize| {
            let others = found.iter().enumerate().filter(|(index, _)| *index != out);
            let cycle = greatest(others.filter_map(|(_, it)| self.time(it, self.link)))?;
            Some((&found[out], cycle))
        };
        let longer = |(odd, cycle): &(&Found, Fraction)| {
            self.time(odd, self.link).is_some() && cycle.to_f64() > 1.5 * self.cycle.to_f64()
        };
        let all = (0..found.len()).filter_map(without).filter(longer);
        all.max_by(|a, b| a.1.to_f64().total_cmp(&b.1.to_f64()))
    }
}

/// A bandwidth in phits per cycle as a key takes it: whole, a ratio, or rounded to a millionth of a phit.
fn bandwidth(value: Fraction) -> Option<Value> {
    match value.under {
        1 => u64::try_from(value.over).ok().map(Value::from),
        2..=MOST_CYCLES => Some(Value::from(value.to_f64())),
        _ => {
            let parts = (value.to_f64() * MOST_CYCLES as f64).round();
            (parts >= 1.0).then(|| Value::from(parts / MOST_CYCLES as f64))
        }
    }
}

/// Largest denominator of a bandwidth in phits per cycle.
const MOST_CYCLES: u128 = Bandwidth::MOST_CYCLES as u128;

/// Rates of links.
fn rates(found: &[Found]) -> impl Iterator<Item = Fraction> + '_ {
    let rates = found.iter().filter(|it| it.counts == Counts::PhitsPerCycle && it.quantity.value.over > 0);
    rates.map(|it| it.quantity.value)
}

/// Rate of the link of most endpoints, in bits per second, if the document gives it as a quantity.
fn link(document: &Value, found: &[Found]) -> Option<Fraction> {
    let rate = |path: &str| found.iter().find(|it| it.path == path).map(|it| it.quantity.value);
    let own = "/router/links/endpoint/bandwidth";
    if document.pointer(own).is_some() {
        return rate(own);
    }
    rate("/router/links/default/bandwidth").or_else(|| {
        let mut each: Vec<Fraction> = Vec::new();
        let mut counts: Vec<usize> = Vec::new();
        for it in found.iter().filter(|it| it.path.starts_with("/topology/endpoint_bandwidth/")) {
            match each.iter().position(|rate| *rate == it.quantity.value) {
                Some(known) => counts[known] += 1,
                None => {
                    each.push(it.quantity.value);
                    counts.push(1);
                }
            }
        }
        let most = each.into_iter().zip(counts);
        most.max_by(|a, b| a.1.cmp(&b.1).then(a.0.to_f64().total_cmp(&b.0.to_f64()))).map(|(rate, _)| rate)
    })
}

fn greatest(values: impl Iterator<Item = Option<Fraction>>) -> Option<Fraction> {
    values.reduce(|a, b| a?.common(b?)).flatten()
}

/// A nanosecond, or the largest power of ten below it, of which `cycle` is a whole multiple; otherwise `cycle` itself.
fn comfortable(cycle: Fraction) -> Fraction {
    let divides = |ten: &Fraction| cycle.per(*ten).is_some_and(|ratio| ratio.under == 1);
    let mut tens = (9..13).filter_map(|power| Fraction::new(1, 10u128.pow(power)));
    tens.find(divides).unwrap_or(cycle)
}

/// The whole multiples of `unit` below and above `value`, which is not one itself.
fn nearest(value: Fraction, unit: Fraction) -> Option<Vec<Fraction>> {
    let below = value.per(unit)?;
    let below = below.over / below.under;
    let multiple = |count: u128| unit.times(Fraction::new(count, 1)?);
    Some([below, below + 1].into_iter().filter(|count| *count > 0).filter_map(multiple).collect())
}

fn or(values: &[Fraction], kind: Kind) -> String {
    let shown: Vec<String> = values.iter().map(|value| format!("\"{}\"", shown(*value, kind))).collect();
    shown.join(" or ")
}
