//! What a result consists of, declared where it is computed: quantities of the summary, columns of tables, and what
//! probes and managed queue organisations tell.

use super::Reading;
use serde_json::{Map, Value, json};

/// The units of quantities.
pub(crate) mod unit {
    /// Of a load.
    pub(crate) const LOAD: &str = "phits/(endpoint·cycle)";
    /// Of a time in the network.
    pub(crate) const CYCLES: &str = "cycles";
    /// Of a part of all packets.
    pub(crate) const PACKETS: &str = "share of packets";
    /// Of a part of a capacity.
    pub(crate) const CAPACITY: &str = "share of capacity";
    /// Of a route's length.
    pub(crate) const LINKS: &str = "links between routers";
    /// Of what a buffer holds.
    pub(crate) const PHITS: &str = "phits";
    /// Of a time outside the network.
    pub(crate) const SECONDS: &str = "s";
    /// Of memory.
    pub(crate) const BYTES: &str = "bytes";
    /// Of numbers of things, and of what has no unit.
    pub(crate) const NONE: &str = "";
}

/// A number of a result, or a few that belong together: a key of the summary.
#[derive(Clone, Copy)]
pub struct Quantity {
    /// The key.
    pub name: &'static str,
    /// What it is called in a heading or beside an axis; begins with a small letter.
    pub words: &'static str,
    /// Unit of the value; empty for numbers of things.
    pub unit: &'static str,
    /// What it is, in full sentences.
    pub about: &'static str,
    /// Whose it is.
    pub of: Of,
    /// What its value looks like.
    pub shape: Shape,
    /// The quantity that is the half width of its confidence interval. Two more have its name, with `_batches` and
    /// `_reason` behind it: from how many batches it is made, and why it is not there.
    pub interval: Option<&'static str>,
    /// Place among what a person wants to see first, from 1; the others are not among that.
    pub rank: Option<u8>,
    /// Heading in the short table of several runs, if it has a column there.
    pub heading: Option<&'static str>,
    /// Shown as a time besides, where the length of a cycle is known.
    pub time: bool,
    /// Grows without bound where more is offered than carried, so that an axis ends before its largest values.
    pub diverges: bool,
    /// Describes a steady state, whatever the length of the run: its mean over several runs says something.
    pub steady: bool,
    /// When it has a value.
    pub there: When,
    /// How it is computed.
    pub value: fn(&Reading<'_>) -> Value,
}

/// Whose a quantity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The scenario's: known before anything has run.
    Scenario,
    /// The model's: measured, and the same on every machine.
    Model,
    /// The machine's: how the run was executed, and what it cost.
    Machine,
}

/// What a value looks like in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number.
    Number,
    /// A whole number, 0 or more.
    Whole,
    /// True or false.
    Flag,
    /// A word or a few.
    Text,
    /// A table of these parts.
    Parts(&'static [Part]),
    /// A table with a number for each class of links.
    ByClass,
    /// A table with a table of these parts for each class of links.
    PartsByClass(&'static [Part]),
    /// A table of numbers whose names others declare.
    NumbersByName,
    /// A table of whole numbers whose names others declare.
    WholesByName,
}

/// When a quantity has a value; it is `null` otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In every result.
    Always,
    /// In every result of a run that has recorded enough packets for it.
    Recorded(&'static str),
    /// In results of networks that have one, and of scenarios that ask for it.
    Some(&'static str),
}

/// A number or whole number of the model, always there: what a declaration fills in first.
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

/// A whole number of the model, always there.
pub(super) const WHOLE: Quantity = Quantity { shape: Shape::Whole, ..NUMBER };

/// Words of the model, always there.
pub(super) const TEXT: Quantity = Quantity { shape: Shape::Text, ..NUMBER };

/// One part of a quantity that is a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its key.
    pub name: &'static str,
    /// What it is called.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is, in full sentences.
    pub about: &'static str,
}

/// A table of a result.
#[derive(Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What its rows are, in full sentences.
    pub about: &'static str,
    /// When it is there, in words.
    pub there: When,
    /// When it is there.
    pub asked: fn(&Reading<'_>) -> bool,
    /// Its columns.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it is called; begins with a small letter.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is, in full sentences.
    pub about: &'static str,
    /// What a cell holds.
    pub cell: Cell,
    /// All its cells, a list; `null` if the table has no such column here.
    pub values: fn(&Reading<'_>) -> Value,
}

/// What a cell of a table holds; any may be `null`.
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
}

/// A quantity that probes record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observable {
    /// Its name in the table of probes.
    pub name: &'static str,
    /// What it is called.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What one value is of, in full sentences.
    pub about: &'static str,
}

/// What a managed queue organisation counts over a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// Its name in the summary.
    pub name: &'static str,
    /// What it is called.
    pub words: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What is counted, in full sentences.
    pub about: &'static str,
    /// Something that is there all the time, and not a count of what has happened since the start.
    pub standing: bool,
}

/// `null` if there is nothing to divide by.
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
    /// In words; `null` if always.
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

    /// All columns that there are, by name.
    pub fn read(&self, at: &Reading<'_>) -> Value {
        let columns = self.columns.iter().map(|column| (column.name.to_owned(), (column.values)(at)));
        columns.filter(|(_, cells)| !cells.is_null()).collect::<Map<_, _>>().into()
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
    values: |_| Value::Null,
};

/// A column of names: that of a port, in networks that have such names.
pub(super) const PORT_NAME: Column = Column {
    name: "port_name",
    words: "name of the port",
    about: "What the port is called at the router, in networks that have names for ports.",
    ..ROUTER_NAME
};

/// A column of names: that of an endpoint, in networks that have such names.
pub(super) const ENDPOINT_NAME: Column = Column {
    name: "endpoint_name",
    words: "name of the endpoint",
    about: "Name of the endpoint, in networks that have names for them.",
    ..ROUTER_NAME
};

/// A list of names, `null` if there are none.
pub(super) fn named<'a>(names: impl IntoIterator<Item = Option<&'a str>>, there: bool) -> Value {
    if there { list(names) } else { Value::Null }
}

/// A list of cells.
pub(super) fn list<T: Into<Value>>(cells: impl IntoIterator<Item = T>) -> Value {
    cells.into_iter().map(Into::into).collect::<Vec<Value>>().into()
}
