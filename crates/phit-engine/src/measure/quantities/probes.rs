//! Records of probes: typed rows with the number, sum and maximum of the values at each look.

use super::Counts;
use crate::engine::Tick;
use crate::measure::Reading;
use crate::measure::declare::{
    Cell, Cells, Column, NUMBER, Observable, PORT_NAME, Quantity, ROUTER_NAME, Shape, Table, When, list, ratio, unit,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The place that a value belongs to. Values that differ only in a missing field are tallied together.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Class of links.
    pub class: Option<u8>,
    /// Router.
    pub router: Option<u32>,
    /// Port of the router.
    pub port: Option<u16>,
    /// Virtual channel of the port.
    pub vc: Option<u16>,
    /// Any other number by which a mechanism distinguishes its counters: a port, a link of the group, a destination.
    pub index: Option<u16>,
    /// Line of a managed queue organisation.
    pub line: Option<Arc<Line>>,
}

/// A line in use, which isolates packets to some destinations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Line {
    /// True at an input, false at an output.
    pub input: bool,
    /// Links to the congested point.
    pub hops: u8,
    /// Number of the line in its memory.
    pub number: u8,
    /// True if the line is stopped.
    pub stopped: bool,
    /// Destinations, ascending.
    pub destinations: Vec<u32>,
}

impl Place {
    /// A router.
    pub fn router(router: u32) -> Self {
        Self { router: Some(router), ..Self::default() }
    }

    /// A port of a router.
    pub fn port(router: u32, port: u16) -> Self {
        Self { port: Some(port), ..Self::router(router) }
    }

    /// All links of a class.
    pub fn class(class: u8) -> Self {
        Self { class: Some(class), ..Self::default() }
    }

    /// True for a tally over all routers and ports, or over all links of one class.
    fn is_everywhere(&self) -> bool {
        *self == Self { class: self.class, ..Self::default() }
    }
}

/// Accepts an observation of a probe: a declared quantity, its place and its value.
pub type Record<'a> = &'a mut dyn FnMut(&'static Observable, Place, u32);

/// Number, sum and maximum of some values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// Values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest.
    pub max: u32,
}

impl Tally {
    fn add(&mut self, Self { count, sum, max }: Self) {
        self.count += count;
        self.sum += sum;
        self.max = self.max.max(max);
    }
}

/// The records of a run's probes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    /// Tallies by probe, name of the quantity, place and tick.
    #[serde(with = "rows")]
    tallies: BTreeMap<Key, Tally>,
}

type Key = (usize, &'static str, Place, Tick);

/// A row of the table: number of the probe, name of the quantity, place, tick and tally.
type Row<'a> = (usize, &'static str, &'a Place, Tick, Tally);

/// The form in which tallies are sent to another process.
mod rows {
    use super::{BTreeMap, Key, Place, Tally, Tick};
    use crate::engine::named;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(tallies: &BTreeMap<Key, Tally>, to: S) -> Result<S::Ok, S::Error> {
        tallies.iter().collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Key, Tally>, D::Error> {
        let rows: Vec<((usize, String, Place, Tick), Tally)> = Vec::deserialize(from)?;
        let key = |(probe, name, place, tick): (usize, String, Place, Tick)| (probe, named(&name), place, tick);
        Ok(rows.into_iter().map(|(row, tally)| (key(row), tally)).collect())
    }
}

/// Places that are added up at a time: two quantities of each of four classes of links.
const LATEST: usize = 8;

impl Records {
    /// Records the observations of probe number `probe` at tick `now`.
    pub fn note(&mut self, probe: usize, now: Tick, look: impl FnOnce(Record<'_>)) {
        // A place is recorded once for each of its queues or routers: the latest places are added up before they are
        // looked for among all.
        let mut latest: Vec<(&'static str, Place, Tally)> = Vec::with_capacity(LATEST);
        let mut oldest = 0;
        let tallies = &mut self.tallies;
        let mut keep = |name, place, tally| tallies.entry((probe, name, place, now)).or_default().add(tally);
        look(&mut |Observable { name, .. }, place, value| {
            let one = Tally { count: 1, sum: value.into(), max: value };
            let same = |(other, at, _): &&mut (&str, Place, Tally)| std::ptr::eq(*other, *name) && *at == place;
            if let Some((.., tally)) = latest.iter_mut().find(same) {
                tally.add(one);
            } else if latest.len() < LATEST {
                latest.push((name, place, one));
            } else {
                let (name, place, tally) = std::mem::replace(&mut latest[oldest], (name, place, one));
                oldest = (oldest + 1) % LATEST;
                keep(name, place, tally);
            }
        });
        latest.into_iter().for_each(|(name, place, tally)| keep(name, place, tally));
    }

    /// All rows, in order.
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.tallies.iter().map(|((probe, name, place, tick), tally)| (*probe, *name, place, *tick, *tally))
    }

    /// Means over the measured time of the tallies over all routers, by name.
    fn means(&self, classes: &[String]) -> Value {
        let mut tallies: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (_, quantity, place, _, tally) in self.rows().filter(|(_, _, place, ..)| place.is_everywhere()) {
            let name = match place.class {
                None => quantity.to_owned(),
                Some(class) => format!("{quantity} {}", classes[usize::from(class)]),
            };
            let sum = tallies.entry(name).or_default();
            *sum = (sum.0 + tally.sum, sum.1 + tally.count);
        }
        let means = tallies.into_iter().map(|(name, (sum, count))| (name, json!(ratio(sum, count))));
        Value::Object(means.collect::<Map<_, _>>())
    }
}

impl Reading<'_> {
    /// A column of the table of probes.
    fn probed<T: Serialize>(&self, cell: impl Fn(Row<'_>) -> T) -> Cells {
        list(self.counters.probes.rows().map(cell))
    }

    /// A column of the table of probes that only rows about lines have.
    fn lines<T: Serialize>(&self, cell: impl Fn(&Line) -> T) -> Cells {
        self.probed(|(_, _, place, ..)| place.line.as_deref().map(&cell))
    }
}

impl Counts for Records {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "probes",
        words: "what probes saw",
        about: "Means over the measured time of the probes' records of all routers together, by name. Where classes of \
                links are recorded separately, the class follows the name.",
        shape: Shape::NumbersByName,
        value: |at| at.counters.probes.means(at.topology.classes()),
        ..NUMBER
    }];

    const TABLES: &'static [Table] = &[Table {
        name: "probes",
        about: "Records of probes: one row for each quantity, place and look. An empty part of a place means all: a \
                row without a router is about all routers together.",
        there: When::Some("with `measure.probes`"),
        asked: |at| !at.probes.is_empty(),
        columns: &[
            Column {
                name: "probe",
                words: "probe",
                unit: unit::NONE,
                about: "Kind of the probe.",
                cell: Cell::Text,
                values: |at| at.probed(|(probe, ..)| at.probes[probe]),
            },
            Column {
                name: "quantity",
                words: "quantity",
                unit: unit::NONE,
                about: "The recorded quantity, as declared by the probe.",
                cell: Cell::Text,
                values: |at| at.probed(|(_, quantity, ..)| quantity),
            },
            Column {
                name: "cycle",
                words: "cycle",
                unit: unit::NONE,
                about: "When the probe looked.",
                cell: Cell::Whole,
                values: |at| at.probed(|(_, _, _, tick, _)| tick / at.window.ticks_per_cycle),
            },
            Column {
                name: "class",
                words: "class of links",
                unit: unit::NONE,
                about: "Class of the links that the ports belong to.",
                cell: Cell::Text,
                values: |at| {
                    let classes = at.topology.classes();
                    at.probed(|(_, _, place, ..)| place.class.map(|class| classes[usize::from(class)].as_str()))
                },
            },
            Column {
                name: "router",
                words: "router",
                unit: unit::NONE,
                about: "Number of the router.",
                cell: Cell::Whole,
                values: |at| at.probed(|(_, _, place, ..)| place.router),
            },
            Column {
                values: |at| at.router_names(at.counters.probes.rows().map(|(_, _, place, ..)| place.router)),
                ..ROUTER_NAME
            },
            Column {
                name: "port",
                words: "port",
                unit: unit::NONE,
                about: "Number of the port.",
                cell: Cell::Whole,
                values: |at| at.probed(|(_, _, place, ..)| place.port),
            },
            Column {
                values: |at| {
                    let place = |(_, _, place, ..): Row<'_>| place.router.zip(place.port);
                    at.port_names(at.counters.probes.rows().map(place))
                },
                ..PORT_NAME
            },
            Column {
                name: "vc",
                words: "virtual channel",
                unit: unit::NONE,
                about: "Number of the virtual channel.",
                cell: Cell::Whole,
                values: |at| at.probed(|(_, _, place, ..)| place.vc),
            },
            Column {
                name: "index",
                words: "index",
                unit: unit::NONE,
                about: "Index of a routing mechanism's counter: a port, a link or a destination.",
                cell: Cell::Whole,
                values: |at| at.probed(|(_, _, place, ..)| place.index),
            },
            Column {
                name: "side",
                words: "side",
                unit: unit::NONE,
                about: "Whether the line is at an `input` or an `output`.",
                cell: Cell::Text,
                values: |at| at.lines(|line| if line.input { "input" } else { "output" }),
            },
            Column {
                name: "line",
                words: "line",
                unit: unit::NONE,
                about: "Number of the line in the memory of its virtual channel.",
                cell: Cell::Whole,
                values: |at| at.lines(|line| line.number),
            },
            Column {
                name: "hops",
                words: "links to the congested point",
                unit: unit::LINKS,
                about: "Links from the line to the congested point.",
                cell: Cell::Whole,
                values: |at| at.lines(|line| line.hops),
            },
            Column {
                name: "stopped",
                words: "stopped",
                unit: unit::NONE,
                about: "Whether the line is stopped.",
                cell: Cell::Flag,
                values: |at| at.lines(|line| line.stopped),
            },
            Column {
                name: "destinations",
                words: "destinations",
                unit: unit::NONE,
                about: "Endpoints whose packets the line isolates, ascending.",
                cell: Cell::Wholes,
                values: |at| at.lines(|line| line.destinations.clone()),
            },
            Column {
                name: "destination_names",
                words: "names of the destinations",
                unit: unit::NONE,
                about: "Names of these endpoints, in the same order, in networks that have names for them.",
                cell: Cell::Texts,
                values: |at| {
                    let line = |(_, _, place, ..): Row<'_>| place.line.clone();
                    let lines: Vec<_> = at.counters.probes.rows().map(line).collect();
                    at.names_of_endpoints(lines.iter().map(|line| line.as_ref().map(|line| &line.destinations[..])))
                },
            },
            Column {
                name: "count",
                words: "values",
                unit: unit::NONE,
                about: "Number of values.",
                cell: Cell::Whole,
                values: |at| at.probed(|(.., tally)| tally.count),
            },
            Column {
                name: "mean",
                words: "mean",
                unit: unit::NONE,
                about: "Mean of the values, in the unit of the quantity.",
                cell: Cell::Number,
                values: |at| at.probed(|(.., tally)| ratio(tally.sum, tally.count)),
            },
            Column {
                name: "max",
                words: "largest",
                unit: unit::NONE,
                about: "Largest of the values.",
                cell: Cell::Whole,
                values: |at| at.probed(|(.., tally)| tally.max),
            },
        ],
    }];

    fn merge(&mut self, Self { tallies }: &Self) {
        for (key, tally) in tallies {
            self.tallies.entry(key.clone()).or_default().add(*tally);
        }
    }

    fn bytes(&self) -> usize {
        self.tallies.len() * (size_of::<(Key, Tally)>() + 24)
    }
}
