//! Quantities with units: `"200 ns"`, `"512 B"`, `"20 Gb/s"` in the place of numbers of cycles, phits and phits per
//! cycle.
//!
//! The engine counts in whole cycles and phits. What a key counts stands in its schema (`x-unit`), so that a quantity
//! is accepted wherever a number of that kind is, and nowhere else. How long a cycle is and how large a phit can be
//! said in `[units]`; what is left out is chosen as long and as large as can be with every quantity of the scenario a
//! whole number. All of this is exact: quantities are fractions.

use crate::error::{Findings, ScenarioError, join};
use crate::fabric::Bandwidth;
use crate::schema::{applying, parse};
use fraction::Fraction;
use quantity::{Kind, Quantity, looks_like_one, read};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

mod fraction;
mod quantity;

/// `[units]`: what cycles and phits stand for, for scenarios with quantities such as `"200 ns"`.
///
/// ```toml
/// [units]
/// cycle = "0.8 ns"
/// phit = "2 B"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnitsParams {
    /// Length of a cycle, as "0.8 ns" or "1/60 ns". If left out: the longest of which every time in the scenario, and
    /// the time of every size on every link, is a whole number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
    /// Size of a phit, as "2 B" or "1/15 bit". If left out: the largest of which every size in the scenario, and what
    /// every link carries in a cycle, is a whole number.
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

/// What a quantity of `[units]` is worth.
fn value(text: &Option<String>) -> Option<Fraction> {
    text.as_deref().and_then(|text| read(text).ok()).map(|quantity| quantity.value)
}

/// A quantity of a document, with what its key counts.
struct Found {
    path: String,
    quantity: Quantity,
    counts: Counts,
}

/// What a key counts, by its `x-unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Cycles,
    Phits,
    PhitsPerCycle,
    /// Phits per cycle, for keys that need not be whole.
    Load,
    /// Bytes, whatever a phit is.
    Bytes,
}

impl Counts {
    fn named(name: &str) -> Option<Self> {
        match name {
            "cycles" => Some(Self::Cycles),
            "phits" => Some(Self::Phits),
            "phits/cycle" => Some(Self::PhitsPerCycle),
            "load" => Some(Self::Load),
            "bytes" => Some(Self::Bytes),
            _ => None,
        }
    }

    /// The definition of the quantities that stand for so many.
    fn definition(self) -> &'static str {
        match self.kind() {
            Kind::Time => "#/$defs/time",
            Kind::Size => "#/$defs/size",
            Kind::Rate => "#/$defs/rate",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Cycles => Kind::Time,
            Self::Phits | Self::Bytes => Kind::Size,
            Self::PhitsPerCycle | Self::Load => Kind::Rate,
        }
    }
}

/// Schemas of the quantities, by their names as definitions: what `read` reads.
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

/// Lets keys that count cycles or phits take quantities as well: next to the number in their schema.
pub(super) fn allow(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(allow),
        Value::Object(table) => {
            table.values_mut().for_each(allow);
            let counts = table.get("x-unit").and_then(Value::as_str).and_then(Counts::named);
            let Some(counts) = counts else { return };
            let quantity = json!({ "$ref": counts.definition() });
            // Of a list that counts something the elements do.
            let place = match table.get_mut("items") {
                Some(Value::Object(items)) => items,
                _ => table,
            };
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

/// The document with every quantity turned into the number that its key counts, and with the `units` that were used; as
/// it is if there are none.
pub(super) fn resolve(document: &Value) -> Result<Value, ScenarioError> {
    let given = match document.get("units") {
        Some(units) => parse::<UnitsParams>("units", units)?,
        None => UnitsParams::default(),
    };
    let given = [("cycle", &given.cycle, Kind::Time), ("phit", &given.phit, Kind::Size)].map(|(key, text, kind)| {
        let quantity = text.as_deref().map(|text| {
            let wrong = |reason: String| ScenarioError::new(format!("units.{key}"), format!("{text:?}"), reason);
            match read(text) {
                Ok(quantity) if quantity.kind == kind && quantity.value.over > 0 => Ok(quantity.value),
                Ok(_) => Err(wrong(format!("expected {}", kind.examples()))),
                Err(reason) => Err(wrong(reason)),
            }
        });
        quantity.transpose()
    });
    let [cycle, phit] = given;
    let (cycle, phit) = (cycle?, phit?);
    let said = phit.is_some();
    if !contains_quantity(document) {
        return Ok(document.clone());
    }
    let schema = super::document::numbers();
    let mut found = Vec::new();
    let mut resolved = document.clone();
    if let Some(table) = resolved.as_object_mut() {
        table.remove("units");
    }
    let mut wrong = Findings::default();
    gather(&resolved, &[schema], schema, "", &mut found, &mut wrong);
    wrong.into_result()?;
    if found.is_empty() {
        return Ok(document.clone());
    }
    let in_bisections = document.pointer("/traffic/load_unit").is_some_and(|unit| unit == "bisection");
    if let Some(load) = found.iter().find(|f| in_bisections && f.counts == Counts::Load && f.path.ends_with("/load")) {
        let (path, given) = (dotted(&load.path), document.pointer(&load.path));
        let reason = "with traffic.load_unit = \"bisection\" a load is a multiple: expected a number without a unit";
        return Err(ScenarioError::new(path, given.unwrap_or(&Value::Null), reason));
    }
    let too_fine =
        || ScenarioError::missing("units", "the quantities have no common cycle and phit that fit; say them here");
    let cycle = cycle.or_else(|| longest_cycle(&found)).ok_or_else(too_fine)?;
    let phit = phit.or_else(|| largest_phit(&found, cycle)).ok_or_else(too_fine)?;
    for Found { path, quantity, counts } in &found {
        let number =
            number(*quantity, *counts, cycle, phit).ok_or_else(|| uneven(path, *quantity, *counts, cycle, phit))?;
        if let Some(place) = resolved.pointer_mut(path) {
            *place = number;
        }
    }
    if let Some(table) = resolved.as_object_mut() {
        let per_nanosecond = Fraction { over: 1_000_000_000, under: 1 };
        let nanoseconds = cycle.times(per_nanosecond).ok_or_else(too_fine)?;
        let mut units = json!({ "cycle": format!("{nanoseconds} ns"), "phit": format!("{phit} bit") });
        // Bytes alone say nothing of phits.
        let in_bytes = found.iter().all(|f| matches!(f.counts, Counts::Bytes | Counts::Cycles));
        if !said && in_bytes && found.iter().any(|f| f.counts == Counts::Bytes) {
            units.as_object_mut().map(|units| units.shift_remove("phit"));
        }
        table.insert("units".into(), units);
    }
    Ok(resolved)
}

fn contains_quantity(value: &Value) -> bool {
    match value {
        Value::Object(table) => table.iter().any(|(key, value)| key != "units" && contains_quantity(value)),
        Value::Array(values) => values.iter().any(contains_quantity),
        Value::String(text) => looks_like_one(text),
        _ => false,
    }
}

/// Collects the quantities below `value`, which fulfils one of `schemas`, with their JSON pointers.
fn gather<'a>(
    value: &Value,
    schemas: &[&'a Value],
    root: &'a Value,
    pointer: &str,
    found: &mut Vec<Found>,
    wrong: &mut Findings,
) {
    let schemas = applying(value, schemas, root);
    match value {
        Value::Object(table) => {
            for (key, child) in table {
                let of = |schema: &&'a Value| -> Option<&'a Value> {
                    let named = schema.get("properties").and_then(|properties| properties.get(key));
                    named.or_else(|| schema.get("additionalProperties"))
                };
                let below: Vec<&Value> = schemas.iter().filter_map(of).collect();
                gather(child, &below, root, &format!("{pointer}/{key}"), found, wrong);
            }
        }
        Value::Array(items) => {
            let below: Vec<&Value> =
                schemas.iter().filter_map(|schema| schema.get("items")).chain(schemas.iter().copied()).collect();
            for (index, item) in items.iter().enumerate() {
                gather(item, &below, root, &format!("{pointer}/{index}"), found, wrong);
            }
        }
        Value::String(text) if looks_like_one(text) => {
            let counts = schemas.iter().find_map(|schema| Counts::named(schema.get("x-unit")?.as_str()?));
            // Names, files and texts may begin with a digit.
            if counts.is_none() && schemas.iter().any(takes_text) {
                return;
            }
            let reason = match (read(text), counts) {
                (Ok(quantity), Some(counts)) if counts.kind() == quantity.kind => {
                    return found.push(Found { path: pointer.to_owned(), quantity, counts });
                }
                (Err(reason), _) => reason,
                (Ok(_), Some(counts)) => format!("expected {}", counts.kind().examples()),
                (Ok(_), None) => "this key takes no quantity with a unit".into(),
            };
            wrong.add(ScenarioError::new(dotted(pointer), format!("{text:?}"), reason));
        }
        _ => {}
    }
}

/// True if any text may stand where the schema is that of.
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
        Err(_) => join(&path, part),
    })
}

fn values(found: &[Found], counts: Counts) -> impl Iterator<Item = Fraction> + '_ {
    found.iter().filter(move |f| f.counts == counts && f.quantity.value.over > 0).map(|f| f.quantity.value)
}

fn greatest(values: impl Iterator<Item = Option<Fraction>>) -> Option<Fraction> {
    values.reduce(|a, b| a?.common(b?)).flatten()
}

fn longest_cycle(found: &[Found]) -> Option<Fraction> {
    let times = values(found, Counts::Cycles).map(Some);
    let sizes: Vec<Fraction> = values(found, Counts::Phits).collect();
    let transfers = values(found, Counts::PhitsPerCycle).flat_map(|rate| sizes.iter().map(move |size| size.per(rate)));
    greatest(times.chain(transfers)).or(Fraction::new(1, 1_000_000_000))
}

fn largest_phit(found: &[Found], cycle: Fraction) -> Option<Fraction> {
    let carried = values(found, Counts::PhitsPerCycle).map(|rate| rate.times(cycle));
    greatest(values(found, Counts::Phits).map(Some).chain(carried)).or(Fraction::new(1, 1))
}

fn counted(quantity: Quantity, counts: Counts, cycle: Fraction, phit: Fraction) -> Option<Fraction> {
    match counts {
        Counts::Cycles => quantity.value.per(cycle),
        Counts::Phits => quantity.value.per(phit),
        Counts::Bytes => quantity.value.per(Fraction { over: 8, under: 1 }),
        Counts::PhitsPerCycle | Counts::Load => quantity.value.times(cycle)?.per(phit),
    }
}

/// A bandwidth may be a ratio with so many below the line.
const MOST_CYCLES: u128 = Bandwidth::MOST_CYCLES as u128;

fn number(quantity: Quantity, counts: Counts, cycle: Fraction, phit: Fraction) -> Option<Value> {
    let value = counted(quantity, counts, cycle, phit)?;
    match (counts, value.under) {
        (Counts::Load, _) => Some(Value::from(value.to_f64())),
        (Counts::PhitsPerCycle, 2..=MOST_CYCLES) => Some(Value::from(value.to_f64())),
        (_, 1) => u64::try_from(value.over).ok().map(Value::from),
        _ => None,
    }
}

fn uneven(pointer: &str, quantity: Quantity, counts: Counts, cycle: Fraction, phit: Fraction) -> ScenarioError {
    let number = counted(quantity, counts, cycle, phit).map_or(f64::NAN, Fraction::to_f64);
    let (nanoseconds, bits) = (cycle.to_f64() * 1e9, phit.to_f64());
    let of = match counts {
        Counts::Cycles => format!("cycles of {nanoseconds} ns"),
        Counts::Phits => format!("phits of {bits} bit"),
        Counts::Bytes => "bytes".into(),
        Counts::PhitsPerCycle | Counts::Load => format!("phits of {bits} bit per cycle of {nanoseconds} ns"),
    };
    let expected = match counts {
        Counts::PhitsPerCycle => format!("a whole number, or a ratio with at most {MOST_CYCLES} below"),
        _ => "a whole number".into(),
    };
    let reason = format!("comes to {number} {of}; expected {expected}: choose other [units], or leave them out");
    ScenarioError::missing(dotted(pointer), reason)
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
            "measure": { "warmup": "2 us", "cycles": 100 },
        })
    }

    #[test]
    fn the_longest_cycle_and_the_largest_phit_are_found() {
        // 204.8, 64, 200, 80 and 2000 ns: 1.6 ns. In it 32 and 102.4 bits: 6.4 bits.
        let resolved = resolve(&node()).unwrap();
        assert_eq!(resolved["units"], json!({ "cycle": "8/5 ns", "phit": "32/5 bit" }));
        let links = &resolved["router"]["links"];
        assert_eq!(links["default"], json!({ "latency": 125, "bandwidth": 5, "vcs": 3, "buffer": 5120 }));
        assert_eq!(links["endpoint"], json!({ "latency": 50, "bandwidth": 16 }));
        assert_eq!(resolved["traffic"], json!({ "load": 0.5, "packet_size": 640 }));
        assert_eq!(resolved["measure"], json!({ "warmup": 1250, "cycles": 100 }));
        assert_eq!(resolve(&resolved).unwrap(), resolved, "what is resolved stays as it is");
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
        assert_eq!((&resolved["workload"]["bytes"], &resolved["units"]), (&json!(1024), &json!({ "cycle": "1 ns" })));
        document["units"] = json!({ "phit": "3 B" });
        let resolved = resolve(&document).unwrap();
        assert_eq!(resolved["units"], json!({ "cycle": "1 ns", "phit": "24 bit" }));
        document["workload"]["bytes"] = json!("12 bit");
        let error = resolve(&document).unwrap_err().to_string();
        assert!(error.starts_with("workload.bytes: comes to 1.5 bytes; expected a whole number"), "{error}");
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
