//! Quantities with units: `"200 ns"`, `"512 B"`, `"20 Gb/s"` in the place of numbers of cycles, phits and phits per
//! cycle.
//!
//! The engine counts in whole cycles and phits. The schema of each key gives the unit of its number (`x-unit`), so a
//! quantity is accepted where a number of its kind is, and nowhere else. `[units]` can give the length of a cycle and
//! the size of a phit. If it does not, the rate of the endpoints' links relates the two, and Phit chooses the longest
//! cycle and the largest phit that make every quantity of the scenario a whole number. Without such a rate, `[units]`
//! must give them. The arithmetic is exact: quantities are fractions.

use crate::error::{Findings, ScenarioError, join};
use crate::schema::{applying, parse};
use fraction::Fraction;
use quantity::{Kind, Quantity, looks_like_one, read};
use scales::Scales;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

mod fraction;
mod quantity;
mod scales;

/// `[units]`: length of a cycle and size of a phit, for scenarios with quantities such as `"200 ns"`.
///
/// ```toml
/// [units]
/// cycle = "0.8 ns"
/// phit = "2 B"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnitsParams {
    /// Length of a cycle, as "0.8 ns" or "1/60 ns". If left out: the longest cycle that makes every time in the
    /// scenario, and the time of every size on the link of most endpoints, a whole number of cycles. If this link has
    /// no rate, times need a cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
    /// Size of a phit, as "2 B" or "1/15 bit". If left out: the largest phit that makes every size in the scenario, and
    /// the data that the link of most endpoints carries in a cycle, a whole number of phits. If this link has no rate,
    /// sizes need a phit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phit: Option<String>,
}

impl UnitsParams {
    /// Length of a cycle in seconds.
    pub fn cycle_seconds(&self) -> Option<f64> {
        value(&self.cycle).map(Fraction::to_f64)
    }

    /// Length of a cycle in nanoseconds, as a fraction: "1/60".
    pub fn cycle_nanoseconds(&self) -> Option<String> {
        Some(value(&self.cycle)?.times(Fraction::new(1_000_000_000, 1)?)?.to_string())
    }

    /// Cycles in a nanosecond, as a fraction.
    pub(crate) fn nanosecond_cycles(&self) -> Option<(u128, u128)> {
        let cycle = value(&self.cycle)?.times(Fraction::new(1_000_000_000, 1)?)?.inverse()?;
        Some((cycle.over, cycle.under))
    }

    /// Size of a phit in bits, as a fraction.
    pub(crate) fn phit_bits(&self) -> Option<(u128, u128)> {
        value(&self.phit).map(|size| (size.over, size.under))
    }

    /// Size of a phit in bytes, as a fraction: "1/8".
    pub fn phit_bytes(&self) -> Option<String> {
        Some(value(&self.phit)?.times(Fraction::new(1, 8)?)?.to_string())
    }
}

impl UnitsParams {
    /// The cycles in a time such as "5 us", of which a cycle has `parts` parts: a whole number of parts, or the reason
    /// why not.
    pub(crate) fn parts_of_cycles(&self, text: &str, parts: u32) -> Result<u64, String> {
        let expected = format!("expected a number of cycles, or {}", Kind::Time.examples());
        let quantity = read(text)?;
        if quantity.kind != Kind::Time {
            return Err(expected);
        }
        let cycle =
            value(&self.cycle).ok_or("a time needs the length of a cycle: expected units.cycle, as \"1 ns\"")?;
        let cycles = quantity.value.per(cycle).ok_or(expected)?;
        let whole = || u64::try_from(cycles.times(Fraction::new(parts.into(), 1)?)?.whole()?).ok();
        whole().ok_or_else(|| format!("is {cycles} cycles; expected a whole number of cycles"))
    }

    /// The bytes in a size such as "64 KiB", or the reason why there is no such number.
    pub(crate) fn bytes(text: &str) -> Result<u64, String> {
        let quantity = read(text)?;
        let whole = || u64::try_from(quantity.value.times(Fraction::new(1, 8)?)?.whole()?).ok();
        let bytes = if quantity.kind == Kind::Size { whole() } else { None };
        bytes.ok_or_else(|| format!("expected a whole number of bytes, or {}", Kind::Size.examples()))
    }
}

/// The value of a quantity of `[units]`.
fn value(text: &Option<String>) -> Option<Fraction> {
    text.as_deref().and_then(|text| read(text).ok()).map(|quantity| quantity.value)
}

/// A quantity in a document, and what its key counts.
struct Found {
    path: String,
    quantity: Quantity,
    counts: Counts,
    /// The largest value that the key accepts.
    most: Option<f64>,
}

/// A plain number in a document, and what its key counts.
struct Plain {
    path: String,
    number: serde_json::Number,
    counts: Counts,
}

/// The quantities of a document, and its plain numbers whose meaning depends on `[units]`.
#[derive(Default)]
struct Gathered {
    quantities: Vec<Found>,
    numbers: Vec<Plain>,
    wrong: Findings,
}

/// What a key counts, as its `x-unit` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Cycles,
    /// Cycles of the router. A link cycle has as many of them as the crossbar's clock is faster.
    RouterCycles,
    /// Times of a program, in the program's own unit.
    UnitsOfTime,
    /// Nanoseconds, independent of the cycle's length. They need not be whole.
    Nanoseconds,
    Phits,
    PhitsPerCycle,
    /// Phits per cycle, for keys that need not be whole numbers.
    Load,
    /// Bytes, independent of the phit's size.
    Bytes,
    /// Bits, independent of the phit's size.
    Bits,
    /// Bytes per nanosecond, independent of cycle and phit. They need not be whole.
    BytesPerNanosecond,
}

impl Counts {
    fn named(name: &str) -> Option<Self> {
        match name {
            "cycles" => Some(Self::Cycles),
            "router cycles" => Some(Self::RouterCycles),
            "units of time" => Some(Self::UnitsOfTime),
            "nanoseconds" => Some(Self::Nanoseconds),
            "phits" => Some(Self::Phits),
            "phits/cycle" => Some(Self::PhitsPerCycle),
            "load" => Some(Self::Load),
            "bytes" => Some(Self::Bytes),
            "bits" => Some(Self::Bits),
            "bytes/nanosecond" => Some(Self::BytesPerNanosecond),
            _ => None,
        }
    }

    /// The schema definition of the quantities that this count accepts.
    fn definition(self) -> &'static str {
        match self.kind() {
            Kind::Time => "#/$defs/time",
            Kind::Size => "#/$defs/size",
            Kind::Rate => "#/$defs/rate",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Cycles | Self::RouterCycles | Self::UnitsOfTime | Self::Nanoseconds => Kind::Time,
            Self::Phits | Self::Bytes | Self::Bits => Kind::Size,
            Self::PhitsPerCycle | Self::Load | Self::BytesPerNanosecond => Kind::Rate,
        }
    }

    /// True for counts whose value depends on the length of a cycle.
    fn in_cycles(self) -> bool {
        matches!(self, Self::Cycles | Self::RouterCycles | Self::UnitsOfTime)
    }
}

/// Schemas of the quantities that `read` accepts, by the names of their definitions.
pub(super) fn definitions() -> [(String, Value); 3] {
    const NUMBER: &str = r"(\d+\.?\d*|\.\d+)";
    const SIZE: &str = "([kMGT]?(B|b|bit)|[kKmMgGtT]iB)";
    let quantity = |kind: Kind, unit: &str| {
        let pattern = format!(r"^\s*{NUMBER}\s*(/\s*{NUMBER}\s*)?{unit}\s*$");
        let description = format!("A quantity with its unit: {}.", kind.examples());
        json!({ "type": "string", "pattern": pattern, "description": description })
    };
    [
        ("time".into(), quantity(Kind::Time, "(s|ms|us|µs|ns|ps)")),
        ("size".into(), quantity(Kind::Size, SIZE)),
        ("rate".into(), quantity(Kind::Rate, &format!("({SIZE}/s|[kMGT]?bps)"))),
    ]
}

/// Lets keys that count cycles or phits accept quantities, too: next to the number in their schema.
pub(super) fn allow(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(allow),
        Value::Object(table) => {
            table.values_mut().for_each(allow);
            let counts = table.get("x-unit").and_then(Value::as_str).and_then(Counts::named);
            let Some(counts) = counts else { return };
            let quantity = json!({ "$ref": counts.definition() });
            // A list that counts something counts it in its elements.
            let mut place = table;
            while place.get("items").is_some_and(Value::is_object) {
                let Some(Value::Object(items)) = place.get_mut("items") else { return };
                place = items;
            }
            let about = ["description", "default", "x-unit"];
            let number: Map<String, Value> = place
                .iter()
                .filter(|(word, _)| !about.contains(&word.as_str()))
                .map(|(w, v)| (w.clone(), v.clone()))
                .collect();
            place.retain(|word, _| about.contains(&word.as_str()));
            place.insert("anyOf".into(), json!([number, quantity]));
        }
        _ => {}
    }
}

/// The document with every quantity replaced by the number that its key counts, and with the `units` used. A document
/// without quantities stays as it is.
pub(super) fn resolve(document: &Value) -> Result<Value, ScenarioError> {
    let given = given(document)?;
    if !contains_quantity(document) {
        return Ok(document.clone());
    }
    let schema = super::document::numbers();
    let mut resolved = document.clone();
    if let Some(table) = resolved.as_object_mut() {
        table.remove("units");
    }
    let mut gathered = Gathered::default();
    gather(&resolved, &[schema], schema, "", &mut gathered);
    let Gathered { quantities: found, numbers, wrong } = gathered;
    wrong.into_result()?;
    if found.is_empty() {
        return Ok(document.clone());
    }
    let scales = Scales::new(document, &found, given)?;
    scales.refuse_plain(&numbers, &found)?;
    scales.refuse_open(&found)?;
    mark_rates(&mut resolved, &found)?;
    for it in &found {
        let number = scales.number(it).ok_or_else(|| scales.uneven(it, &found))?;
        if let (Some(most), Some(value)) = (it.most, number.as_f64())
            && value > most
        {
            return Err(scales.too_many(it, value, most, &found));
        }
        if let Some(place) = resolved.pointer_mut(&it.path) {
            *place = number;
        }
    }
    if let Some(number) = scales.usual_bandwidth() {
        complete_bandwidth(&mut resolved, number);
    }
    if let (Some(units), Some(table)) = (scales.said(&found)?, resolved.as_object_mut()) {
        table.insert("units".into(), units);
    }
    Ok(resolved)
}

/// Gives classes of links without a bandwidth the bandwidth of most endpoints' links.
fn complete_bandwidth(resolved: &mut Value, number: Value) {
    let mut place = resolved;
    for key in ["router", "links", "default"] {
        let Some(table) = place.as_object_mut() else { return };
        place = table.entry(key).or_insert_with(|| json!({}));
    }
    if let Some(table) = place.as_object_mut() {
        table.entry("bandwidth").or_insert(number);
    }
}

/// The cycle and the phit that `[units]` gives.
fn given(document: &Value) -> Result<[Option<Fraction>; 2], ScenarioError> {
    let given = match document.get("units") {
        Some(units) => parse::<UnitsParams>("units", units)?,
        None => UnitsParams::default(),
    };
    let one = |key: &str, text: &Option<String>, kind: Kind| {
        let quantity = text.as_deref().map(|text| {
            let wrong = |reason: String| ScenarioError::new(format!("units.{key}"), format!("{text:?}"), reason);
            match read(text) {
                Ok(quantity) if quantity.kind == kind && quantity.value.over > 0 => Ok(quantity.value),
                Ok(_) => Err(wrong(format!("expected {}", kind.examples()))),
                Err(reason) => Err(wrong(reason)),
            }
        });
        quantity.transpose()
    };
    Ok([one("cycle", &given.cycle, Kind::Time)?, one("phit", &given.phit, Kind::Size)?])
}

/// Marks every table whose loads are rates. Rates and shares of links cannot stand in one document together.
fn mark_rates(resolved: &mut Value, found: &[Found]) -> Result<(), ScenarioError> {
    let loads = found.iter().filter(|it| it.counts == Counts::Load);
    for it in loads {
        let below = ["/process/peak", "/load"].iter().find_map(|end| it.path.strip_suffix(end));
        let Some(below) = below else { continue };
        let table = below.rsplit_once("/changes/").map_or(below, |(table, _)| table).to_owned();
        let value = resolved.pointer(&it.path).cloned().unwrap_or_default();
        let refuse = |reason: &str| Err(ScenarioError::new(dotted(&it.path), &value, reason));
        match resolved.pointer(&format!("{table}/load_unit")).and_then(Value::as_str) {
            Some("bisection") => {
                return refuse(
                    "with traffic.load_unit = \"bisection\" a load is a multiple: expected a number without a unit",
                );
            }
            Some("link") => {
                return refuse(
                    "with traffic.load_unit = \"link\" a load is a share of the endpoint's link: expected a number \
                     without a unit",
                );
            }
            _ => {}
        }
        let shares = [format!("{table}/load"), format!("{table}/process/peak")];
        let changes = resolved.pointer(&format!("{table}/changes")).and_then(Value::as_array).map_or(0, Vec::len);
        let shares = shares.into_iter().chain((0..changes).map(|index| format!("{table}/changes/{index}/load")));
        let is_share = |path: &String| resolved.pointer(path).and_then(Value::as_f64).is_some_and(|load| load != 0.0);
        let marked = resolved.pointer(&format!("{table}/load_unit")).is_some_and(|unit| unit == "phits");
        if let Some(share) = shares.filter(|_| !marked).find(is_share) {
            let reason = format!("a rate here and a number at {}: expected rates for both, or numbers", dotted(&share));
            return refuse(&reason);
        }
        if let Some(table) = resolved.pointer_mut(&table).and_then(Value::as_object_mut) {
            table.insert("load_unit".into(), "phits".into());
        }
    }
    Ok(())
}

fn contains_quantity(value: &Value) -> bool {
    match value {
        Value::Object(table) => table.iter().any(|(key, value)| key != "units" && contains_quantity(value)),
        Value::Array(values) => values.iter().any(contains_quantity),
        Value::String(text) => looks_like_one(text),
        _ => false,
    }
}

/// Collects the quantities below `value` with their JSON pointers, and the plain numbers. `value` fulfils one of
/// `schemas`.
fn gather<'a>(value: &Value, schemas: &[&'a Value], root: &'a Value, pointer: &str, into: &mut Gathered) {
    let schemas = applying(value, schemas, root);
    let counted = || schemas.iter().find_map(|schema| Counts::named(schema.get("x-unit")?.as_str()?));
    match value {
        Value::Object(table) => {
            for (key, child) in table {
                let of = |schema: &&'a Value| -> Option<&'a Value> {
                    let named = schema.get("properties").and_then(|properties| properties.get(key));
                    named.or_else(|| schema.get("additionalProperties"))
                };
                let below: Vec<&Value> = schemas.iter().filter_map(of).collect();
                // Escaped for a JSON pointer: names of link classes may contain slashes.
                let key = key.replace('~', "~0").replace('/', "~1");
                gather(child, &below, root, &format!("{pointer}/{key}"), into);
            }
        }
        // A list that counts something counts it in its elements.
        Value::Array(items) if !items.iter().all(Value::is_u64) || counted().is_some() => {
            let below: Vec<&Value> =
                schemas.iter().filter_map(|schema| schema.get("items")).chain(schemas.iter().copied()).collect();
            for (index, item) in items.iter().enumerate() {
                gather(item, &below, root, &format!("{pointer}/{index}"), into);
            }
        }
        Value::Number(number) => {
            if let Some(counts) = counted().filter(|_| number.as_f64() != Some(0.0)) {
                into.numbers.push(Plain { path: pointer.to_owned(), number: number.clone(), counts });
            }
        }
        Value::String(text) if looks_like_one(text) => {
            let counts = counted();
            // Names, files and texts may begin with a digit, too.
            if counts.is_none() && schemas.iter().any(takes_text) {
                return;
            }
            let reason = match (read(text), counts) {
                (Ok(quantity), Some(counts)) if counts.kind() == quantity.kind => {
                    let most = schemas.iter().find_map(|schema| schema.get("maximum")?.as_f64());
                    return into.quantities.push(Found { path: pointer.to_owned(), quantity, counts, most });
                }
                (Err(reason), _) => reason,
                (Ok(_), Some(counts)) => format!("expected {}", counts.kind().examples()),
                (Ok(_), None) => "this key takes no quantity with a unit".into(),
            };
            into.wrong.add(ScenarioError::new(dotted(pointer), format!("{text:?}"), reason));
        }
        _ => {}
    }
}

/// True if the schema accepts any text.
fn takes_text(schema: &&Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "string"),
        Some(name) => name == "string",
        None => false,
    }
}

fn dotted(pointer: &str) -> String {
    pointer.split('/').skip(1).fold(String::new(), |path, part| match part.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) => join(&path, &part.replace("~1", "/").replace("~0", "~")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bits(text: &str) -> f64 {
        read(text).unwrap().value.to_f64()
    }

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!(read("200 ns").unwrap().value, Fraction { over: 1, under: 5_000_000 });
        assert_eq!(read("1/60 ns").unwrap().value, Fraction { over: 1, under: 60_000_000_000 });
        assert_eq!(read("0.8ns").unwrap().value, read("800 ps").unwrap().value);
        assert_eq!((bits("512 B"), bits("4 KiB"), bits("4 kB"), bits("3 bit")), (4096.0, 32768.0, 32000.0, 3.0));
        for rate in ["20 Gb/s", "20 Gbit/s", "20 Gbps", "2.5 GB/s"] {
            assert_eq!(
                read(rate).unwrap(),
                Quantity { value: Fraction { over: 20_000_000_000, under: 1 }, kind: Kind::Rate }
            );
        }
        assert!(read("20 Gx").unwrap_err().contains("\"Gx\" is no unit"));
        assert!(read("1.2.3 ns").unwrap_err().contains("expected a number and a unit"));
        assert!(read("-1 ns").is_err() && read("1/0 ns").is_err());
    }

    #[test]
    fn units_are_told_as_fractions() {
        let said = |cycle: Option<&str>, phit: Option<&str>| {
            let units = UnitsParams { cycle: cycle.map(Into::into), phit: phit.map(Into::into) };
            (units.cycle_nanoseconds(), units.phit_bytes())
        };
        assert_eq!(said(Some("1/60 ns"), Some("1/15 bit")), (Some("1/60".into()), Some("1/120".into())));
        assert_eq!(said(Some("1.6 us"), None), (Some("1600".into()), None));
        assert_eq!(said(None, Some("2 B")), (None, Some("2".into())));
    }

    #[test]
    fn a_multiple_of_the_bisections_load_has_no_unit() {
        let mut document = node();
        document["traffic"]["load_unit"] = json!("bisection");
        document["traffic"]["load"] = json!("2 Gb/s");
        let error = resolve(&document).unwrap_err();
        assert_eq!((error.path.as_str(), error.value.as_deref()), ("traffic.load", Some("\"2 Gb/s\"")));
        document["traffic"]["load"] = json!(0.5);
        assert!(resolve(&document).is_ok());
        document["traffic"]["changes"] = json!([{ "cycle": "1 us", "load": "1 Gb/s" }]);
        assert_eq!(resolve(&document).unwrap_err().path, "traffic.changes[0].load");
    }

    fn node() -> Value {
        json!({
            "topology": { "kind": "torus", "dims": [4, 4] },
            "router": { "links": {
                "default": { "latency": "200 ns", "bandwidth": "20 Gb/s", "vcs": 3, "buffer": "4 KiB" },
                "endpoint": { "latency": "80 ns", "bandwidth": "64 Gb/s" },
            } },
            "traffic": { "load": "2 Gb/s", "packet_size": "512 B" },
            "measure": { "warmup": "2 us", "cycles": "800 ns" },
        })
    }

    #[test]
    fn the_longest_cycle_and_the_largest_phit_are_found() {
        // 64 ns for a packet and 512 ns for a buffer over an endpoint's link; 200, 80, 2000 and 800 ns. Common: 8 ns,
        // or 64 bytes.
        let resolved = resolve(&node()).unwrap();
        assert_eq!(resolved["units"], json!({ "cycle": "8 ns", "phit": "512 bit" }));
        let links = &resolved["router"]["links"];
        assert_eq!(links["default"], json!({ "latency": 25, "bandwidth": 0.3125, "vcs": 3, "buffer": 64 }));
        assert_eq!(links["endpoint"], json!({ "latency": 10, "bandwidth": 1 }));
        let load = json!({ "load": 0.03125, "packet_size": 8, "load_unit": "phits" });
        assert_eq!(resolved["traffic"], load);
        assert_eq!(resolved["measure"], json!({ "warmup": 250, "cycles": 100 }));
        assert_eq!(resolve(&resolved).unwrap(), resolved, "what is resolved stays as it is");
    }

    #[test]
    fn links_of_packet_level_nodes_take_whole_cycles() {
        let mut document = node();
        document["router"]["node"] = json!({ "answer": "64 B" });
        // 204.8 ns for a packet over a link between routers gives a cycle of 1.6 ns. The links carry 32 and 102.4 bits
        // in it, which gives a phit of 6.4 bits.
        let resolved = resolve(&document).unwrap();
        assert_eq!(resolved["units"], json!({ "cycle": "8/5 ns", "phit": "32/5 bit" }));
        let links = &resolved["router"]["links"];
        assert_eq!(links["default"], json!({ "latency": 125, "bandwidth": 5, "vcs": 3, "buffer": 5120 }));
        assert_eq!(links["endpoint"], json!({ "latency": 50, "bandwidth": 16 }));
    }

    #[test]
    fn a_router_cycle_is_as_short_as_its_clock_is_fast() {
        let mut document = node();
        document["router"]["latency"] = json!("20 ns");
        document["router"]["speedup"] = json!(2);
        assert_eq!(resolve(&document).unwrap()["router"]["latency"], json!(5));
        document["router"]["clock"] = json!("crossbar");
        assert_eq!(resolve(&document).unwrap()["router"]["latency"], json!(5));
        let resolved = resolve(&document).unwrap();
        assert_eq!(resolved["units"]["cycle"], json!("8 ns"));
    }

    #[test]
    fn names_that_begin_with_a_digit_are_no_quantities() {
        let document = json!({
            "topology": { "kind": "single", "endpoints": 2 },
            "workload": { "kind": "goal", "file": "4x4.goal", "digest": "5ab" },
        });
        assert_eq!(resolve(&document).unwrap(), document);
    }

    #[test]
    fn bytes_are_counted_whatever_a_phit_is() {
        let collective = json!({ "kind": "collective", "collective": "barrier", "bytes": "1 KiB" });
        let mut document = json!({ "topology": { "kind": "single", "endpoints": 2 }, "workload": collective });
        let resolved = resolve(&document).unwrap();
        assert_eq!((&resolved["workload"]["bytes"], resolved.get("units")), (&json!(1024), None));
        document["units"] = json!({ "phit": "3 B" });
        let resolved = resolve(&document).unwrap();
        assert_eq!(resolved["units"], json!({ "phit": "24 bit" }));
        document["workload"]["bytes"] = json!("12 bit");
        let error = resolve(&document).unwrap_err().to_string();
        assert!(error.starts_with("workload.bytes: comes to 1.5 bytes; expected a whole number"), "{error}");
    }

    /// A link without a rate carries a phit in a cycle. Its rate must not depend on a scenario's other times and sizes.
    #[test]
    fn times_and_sizes_need_a_rate_or_units() {
        let of = |units: Value, latency: Value, size: Value| {
            resolve(&json!({
                "units": units,
                "topology": { "kind": "torus", "dims": [4, 4] },
                "router": { "latency": latency },
                "traffic": { "load": 0.1, "packet_size": size },
                "measure": { "warmup": 0 },
            }))
        };
        let missing = |units: Value, latency: Value, size: Value| of(units, latency, size).unwrap_err();
        let none = || json!({});
        let (cycle, phit) = (json!({ "cycle": "1 ns" }), json!({ "phit": "16 B" }));
        assert_eq!(missing(none(), json!("200 ns"), json!(8)).path, "units.cycle");
        assert_eq!(missing(none(), json!("200 ns"), json!("256 B")).path, "units.cycle");
        assert_eq!(missing(phit.clone(), json!("200 ns"), json!("256 B")).path, "units.cycle");
        assert_eq!(missing(none(), json!(20), json!("256 B")).path, "units.phit");
        assert_eq!(missing(cycle.clone(), json!("200 ns"), json!("256 B")).path, "units.phit");
        let size = missing(none(), json!(20), json!("256 B")).to_string();
        assert!(size.contains("with traffic.packet_size = \"256 B\", expected how large a phit is"), "{size}");
        assert_eq!(of(cycle, json!("200 ns"), json!(8)).unwrap()["units"], json!({ "cycle": "1 ns" }));
        assert_eq!(of(phit, json!(20), json!("256 B")).unwrap()["units"], json!({ "phit": "128 bit" }));
        // Nothing needs them where there are no links.
        let constant = json!({
            "topology": { "kind": "single", "endpoints": 2 },
            "router": { "kind": "ideal", "model": "constant", "latency": "1 us" },
            "workload": { "kind": "collective", "collective": "barrier" },
        });
        assert_eq!(resolve(&constant).unwrap()["units"], json!({ "cycle": "1000 ns" }));
    }

    #[test]
    fn a_class_without_a_bandwidth_has_that_of_the_endpoints_links() {
        let mut document = node();
        let links = document["router"]["links"].as_object_mut().unwrap();
        links["default"].as_object_mut().unwrap().remove("bandwidth");
        links
            .insert("dim0".into(), json!({ "latency": "200 ns", "bandwidth": "32 Gb/s", "vcs": 3, "buffer": "4 KiB" }));
        assert_eq!(resolve(&document).unwrap()["router"]["links"]["default"].get("bandwidth"), None, "1, as usual");
        document["units"] = json!({ "phit": "1 B" });
        let links = resolve(&document).unwrap()["router"]["links"].clone();
        assert_eq!(links["default"]["bandwidth"], links["endpoint"]["bandwidth"]);
        assert_eq!(links["default"]["bandwidth"], json!(64));
        document["router"]["links"]["endpoint"]["bandwidth"] = json!("100 Gb/s");
        document["units"] = json!({ "cycle": "1 ns" });
        let resolved = resolve(&document).unwrap();
        let links = &resolved["router"]["links"];
        assert_eq!(resolved["units"]["phit"], json!("4 bit"));
        assert_eq!((&links["default"]["bandwidth"], &links["dim0"]["bandwidth"]), (&json!(25), &json!(8)));
        document["units"] = json!({ "cycle": "1 ns", "phit": "4 bit" });
        assert_eq!(resolve(&document).unwrap()["router"]["links"]["default"].get("bandwidth"), None, "4 Gb/s, as said");
    }

    #[test]
    fn errors_name_key_value_and_expectation() {
        let error = |path: &str, value: Value| {
            let mut document = node();
            *document.pointer_mut(path).unwrap() = value;
            resolve(&document).unwrap_err().to_string()
        };
        let size = error("/router/links/default/latency", json!("512 B"));
        assert_eq!(size, "router.links.default.latency = \"512 B\": expected a time such as \"200 ns\"");
        let unknown = error("/traffic/packet_size", json!("512 Q"));
        assert!(unknown.starts_with("traffic.packet_size = \"512 Q\": \"Q\" is no unit"), "{unknown}");
        let none = error("/router/links/default/vcs", json!("3 ns"));
        assert_eq!(none, "router.links.default.vcs = \"3 ns\": this key takes no quantity with a unit");
        let mut document = node();
        document["units"] = json!({ "cycle": "3 ns" });
        let uneven = resolve(&document).unwrap_err().to_string();
        assert!(uneven.contains("cycles of 3 ns; expected a whole number"), "{uneven}");
        document["units"] = json!({ "cycle": "3 B" });
        assert_eq!(
            resolve(&document).unwrap_err().to_string(),
            "units.cycle = \"3 B\": expected a time such as \"200 ns\""
        );
    }
}
