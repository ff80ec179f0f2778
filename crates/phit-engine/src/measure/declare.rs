//! Declarations of everything in a result: quantities of the summary, columns of tables, observables of probes, and
//! totals of managed queue organisations. Each is declared beside the code that computes it.

use super::Reading;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The units of quantities.
pub(crate) mod unit {
    /// Unit of loads.
    pub(crate) const LOAD: &str = "phits/(endpoint·cycle)";
    /// Unit of phits that several endpoints accept together.
    pub(crate) const RATE: &str = "phits/cycle";
    /// Unit of times in the network.
    pub(crate) const CYCLES: &str = "cycles";
    /// Unit of fractions of all packets.
    pub(crate) const PACKETS: &str = "share of packets";
    /// Unit of fractions of a capacity.
    pub(crate) const CAPACITY: &str = "share of capacity";
    /// Unit of path lengths.
    pub(crate) const LINKS: &str = "links between routers";
    /// Unit of buffer occupancies.
    pub(crate) const PHITS: &str = "phits";
    /// Unit of times outside the network.
    pub(crate) const SECONDS: &str = "s";
    /// Unit of memory.
    pub(crate) const BYTES: &str = "bytes";
    /// Counts and ratios have no unit.
    pub(crate) const NONE: &str = "";
}

/// A quantity: one number of a result, or a small table of numbers, under one key of the summary.
#[derive(Clone, Copy)]
pub struct Quantity {
    /// The key.
    pub name: &'static str,
    /// Name in a heading or beside an axis; begins with a small letter.
    pub words: &'static str,
    /// Unit of the value; empty for counts and ratios.
    pub unit: &'static str,
    /// Description, in full sentences.
    pub about: &'static str,
    /// Its owner: the scenario, the model or the machine.
    pub of: Of,
    /// JSON form of its value.
    pub shape: Shape,
    /// Name of the quantity that is the half-width of its confidence interval. Two more quantities add `_batches` and
    /// `_reason` to that name: the number of batches it is made from, and the reason why it is missing.
    pub interval: Option<&'static str>,
    /// Rank among the most important quantities, from 1; `None` for all others.
    pub rank: Option<u8>,
    /// Column heading in the short table of several runs, if the quantity has a column there.
    pub heading: Option<&'static str>,
    /// Also shown in seconds where the length of a cycle is known.
    pub time: bool,
    /// Grows without bound above saturation, so a plot's axis may end below its largest values.
    pub diverges: bool,
    /// Describes the steady state, so its mean over several runs is meaningful.
    pub steady: bool,
    /// When the quantity has a value.
    pub there: When,
    /// Computes the value.
    pub value: fn(&Reading<'_>) -> Value,
}

/// The owner of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The scenario: known before the run.
    Scenario,
    /// The model: measured, and equal on every machine.
    Model,
    /// The machine: execution and cost of the run.
    Machine,
}

/// The JSON form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number.
    Number,
    /// A whole number, 0 or more.
    Whole,
    /// True or false.
    Flag,
    /// One or more words.
    Text,
    /// A table of these parts.
    Parts(&'static [Part]),
    /// A table with a number for each class of links.
    ByClass,
    /// A table with a table of these parts for each class of links.
    PartsByClass(&'static [Part]),
    /// A table of numbers; its keys are declared by mechanisms.
    NumbersByName,
    /// A table of whole numbers; its keys are declared by mechanisms.
    WholesByName,
}

/// When a quantity has a value; it is `null` otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In every result.
    Always,
    /// In every result of a run that recorded enough packets.
    Recorded(&'static str),
    /// In results of some networks or scenarios, described by these words.
    Some(&'static str),
}

/// Template of a declaration: a number of the model, always present.
pub(super) const NUMBER: Quantity = Quantity {
    name: "",
    words: "",
    unit: unit::NONE,
    about: "",
    of: Of::Model,
    shape: Shape::Number,
    interval: None,
    rank: None,
    heading: None,
    time: false,
    diverges: false,
    steady: false,
    there: When::Always,
    value: |_| Value::Null,
};

/// Template: a whole number of the model, always present.
pub(super) const WHOLE: Quantity = Quantity { shape: Shape::Whole, ..NUMBER };

/// Template: words of the model, always present.
pub(super) const TEXT: Quantity = Quantity { shape: Shape::Text, ..NUMBER };

/// One part of a quantity that is a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its key.
    pub name: &'static str,
    /// Its name in headings.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Description, in full sentences.
    pub about: &'static str,
}

/// A table of a result.
#[derive(Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Description of its rows, in full sentences.
    pub about: &'static str,
    /// When a result has the table, in words.
    pub there: When,
    /// True if this result has the table.
    pub asked: fn(&Reading<'_>) -> bool,
    /// Its columns.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its name in headings; begins with a small letter.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Description, in full sentences.
    pub about: &'static str,
    /// Type of its cells.
    pub cell: Cell,
    /// All its cells.
    pub values: fn(&Reading<'_>) -> Cells,
}

/// The cells of a column as a list in JSON, or nothing if the table has no such column here. A table may have millions
/// of cells, and a tree of JSON values would take ten times the memory and time of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells(Option<String>);

impl Cells {
    /// The table has no such column.
    pub(super) const ABSENT: Self = Self(None);
}

/// The type of a table's cells. Any cell may be `null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// A number.
    Number,
    /// A whole number.
    Whole,
    /// True or false.
    Flag,
    /// A word.
    Text,
    /// A list of whole numbers.
    Wholes,
    /// A list of words.
    Texts,
}

/// A quantity that probes record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observable {
    /// Its name in the table of probes.
    pub name: &'static str,
    /// Its name in headings.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Description of one value, in full sentences.
    pub about: &'static str,
}

/// A quantity that a managed queue organisation counts over a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// Its name in the summary.
    pub name: &'static str,
    /// Its name in headings.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Description, in full sentences.
    pub about: &'static str,
    /// True for a present state, such as memory in use; false for a count since the start.
    pub standing: bool,
}

/// `sum / count`; `None` if `count` is 0.
pub(super) fn ratio(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

impl Part {
    fn to_value(self) -> Value {
        described(self.name, self.words, self.unit, self.about).into()
    }
}

impl Observable {
    /// The declaration as the catalogue shows it.
    pub fn to_value(self) -> Value {
        described(self.name, self.words, self.unit, self.about).into()
    }
}

impl Total {
    /// The declaration as the catalogue shows it.
    pub fn to_value(self) -> Value {
        described(self.name, self.words, self.unit, self.about).into()
    }
}

fn described(name: &str, words: &str, unit: &str, about: &str) -> Map<String, Value> {
    let pairs = [("name", name), ("words", words), ("unit", unit), ("description", about)];
    pairs.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect()
}

impl When {
    /// The condition in words; `null` if always.
    fn to_value(self) -> Value {
        match self {
            Self::Always => Value::Null,
            Self::Recorded(when) | Self::Some(when) => when.into(),
        }
    }
}

impl Quantity {
    /// The declaration as the catalogue shows it.
    pub fn to_value(self) -> Value {
        let mut map = described(self.name, self.words, self.unit, self.about);
        let (shape, parts) = match self.shape {
            Shape::Number => ("number", &[][..]),
            Shape::Whole => ("whole", &[][..]),
            Shape::Flag => ("flag", &[][..]),
            Shape::Text => ("text", &[][..]),
            Shape::Parts(parts) => ("parts", parts),
            Shape::ByClass => ("by_class", &[][..]),
            Shape::PartsByClass(parts) => ("parts_by_class", parts),
            Shape::NumbersByName => ("numbers_by_name", &[][..]),
            Shape::WholesByName => ("wholes_by_name", &[][..]),
        };
        let of = match self.of {
            Of::Scenario => "scenario",
            Of::Model => "model",
            Of::Machine => "machine",
        };
        let rest = json!({
            "of": of,
            "shape": shape,
            "parts": parts.iter().map(|part| part.to_value()).collect::<Value>(),
            "interval": self.interval,
            "rank": self.rank,
            "heading": self.heading,
            "time": self.time,
            "diverges": self.diverges,
            "steady": self.steady,
            "there": self.there.to_value(),
            "special": matches!(self.there, When::Some(_)),
        });
        if let Value::Object(rest) = rest {
            map.extend(rest);
        }
        map.into()
    }
}

impl Table {
    /// The declaration as the catalogue shows it.
    pub fn to_value(self) -> Value {
        json!({
            "name": self.name,
            "description": self.about,
            "there": self.there.to_value(),
            "columns": self.columns.iter().map(|column| column.to_value()).collect::<Value>(),
        })
    }

    /// All columns that there are, by name: an object in JSON.
    pub fn read(&self, at: &Reading<'_>) -> String {
        let columns = self.columns.iter().map(|column| (column.name, (column.values)(at)));
        object(columns.filter_map(|(name, Cells(cells))| Some((name, cells?))))
    }
}

impl Column {
    fn to_value(self) -> Value {
        let mut map = described(self.name, self.words, self.unit, self.about);
        let cell = match self.cell {
            Cell::Number => "number",
            Cell::Whole => "whole",
            Cell::Flag => "flag",
            Cell::Text => "text",
            Cell::Wholes => "wholes",
            Cell::Texts => "texts",
        };
        map.insert("cell".into(), cell.into());
        map.into()
    }
}

/// A column of names: the name of a router, in networks that have such names.
pub(super) const ROUTER_NAME: Column = Column {
    name: "router_name",
    words: "name of the router",
    unit: unit::NONE,
    about: "Name of the router, in networks that have names for them.",
    cell: Cell::Text,
    values: |_| Cells::ABSENT,
};

/// A column of port names, in networks that have such names.
pub(super) const PORT_NAME: Column = Column {
    name: "port_name",
    words: "name of the port",
    about: "What the port is called at the router, in networks that have names for ports.",
    ..ROUTER_NAME
};

/// A column of endpoint names, in networks that have such names.
pub(super) const ENDPOINT_NAME: Column = Column {
    name: "endpoint_name",
    words: "name of the endpoint",
    about: "Name of the endpoint, in networks that have names for them.",
    ..ROUTER_NAME
};

/// A column of names, absent if there are none.
pub(super) fn named<'a>(names: impl IntoIterator<Item = Option<&'a str>>, there: bool) -> Cells {
    if there { list(names) } else { Cells::ABSENT }
}

/// A column of these cells.
pub(super) fn list<T: Serialize>(cells: impl IntoIterator<Item = T>) -> Cells {
    let mut text = vec![b'['];
    for cell in cells {
        if text.len() > 1 {
            text.push(b',');
        }
        serde_json::to_writer(&mut text, &cell).expect("a cell is a number, a word or a list of these");
    }
    text.push(b']');
    Cells(Some(String::from_utf8(text).expect("JSON is UTF-8")))
}

/// An object in JSON, of texts in JSON by name.
pub(crate) fn object<'a>(parts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let parts = parts.into_iter().map(|(name, text)| format!("{}:{text}", Value::from(name)));
    format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
}
