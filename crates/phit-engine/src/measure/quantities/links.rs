//! How much links are used.

use super::Counts;
use crate::measure::Reading;
use crate::measure::declare::{Cell, Column, NUMBER, Part, Quantity, Shape, Table, When, list, unit};
use crate::topology::Peer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Counts nothing: utilisation is the difference of what the kernel counts at each port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links;

/// A link, seen from the port that sends over it.
pub(super) struct Link {
    router: u32,
    port: u16,
    pub(super) class: u8,
    peer: Peer,
    /// Share of its capacity that was used in the measured time.
    used: f64,
}

impl Reading<'_> {
    /// Every port, router by router, with its phits before and after the measured time; the routers of each plane are
    /// numbered on after those of the plane before.
    pub(super) fn ports(&self) -> impl Iterator<Item = ((u32, u16), (&u64, &u64))> + '_ {
        let of_plane = move |plane| {
            let first = plane * self.topology.routers();
            let ports = move |r| (0..self.topology.ports(r)).map(move |p| (first + r, p));
            (0..self.topology.routers()).flat_map(ports)
        };
        (0..self.planes).flat_map(of_plane).zip(self.before.ports.iter().zip(&self.after.ports))
    }

    /// Every port that leads somewhere.
    pub(super) fn links(&self) -> impl Iterator<Item = Link> + '_ {
        let routers = self.topology.routers();
        self.ports().filter_map(move |((router, port), (before, after))| {
            let there = self.topology.port(router % routers, port);
            let carried = f64::from(self.cycles) * self.bandwidth[there.class as usize];
            let used = (after - before) as f64 / carried;
            let peer = match there.peer {
                Peer::Router { router: to, port } => Peer::Router { router: router / routers * routers + to, port },
                other => other,
            };
            (peer != Peer::None).then_some(Link { router, port, class: there.class, peer, used })
        })
    }

    fn utilisation_by_class(&self) -> Value {
        let classes = self.topology.classes();
        let mut sums = vec![(0u64, 0.0, 0.0f64); classes.len()];
        for link in self.links() {
            let sum = &mut sums[link.class as usize];
            *sum = (sum.0 + 1, sum.1 + link.used, sum.2.max(link.used));
        }
        let table = classes.iter().zip(sums).filter(|(_, sum)| sum.0 > 0);
        table
            .map(|(class, (count, sum, max))| (class.clone(), json!({ "mean": sum / count as f64, "max": max })))
            .collect::<Map<String, Value>>()
            .into()
    }
}

impl Counts for Links {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "link_utilisation",
        words: "link utilisation",
        unit: unit::CAPACITY,
        about: "For each class of links, the endpoints' among them, the share of the capacity that packets took in the \
                measured time. Every direction of a link counts by itself.",
        shape: Shape::PartsByClass(&[
            Part {
                name: "mean",
                words: "mean link utilisation",
                unit: unit::CAPACITY,
                about: "The mean over the links of the class.",
            },
            Part {
                name: "max",
                words: "largest link utilisation",
                unit: unit::CAPACITY,
                about: "The largest of a link of the class.",
            },
        ]),
        value: |at| at.utilisation_by_class(),
        ..NUMBER
    }];

    const TABLES: &'static [Table] = &[Table {
        name: "links",
        about: "One row for each direction of a link, and for each link to an endpoint. With `planes` the routers of \
                each plane are numbered on after those of the plane before.",
        there: When::Some("with `measure.links`"),
        asked: |at| at.links,
        columns: &[
            Column {
                name: "router",
                words: "router",
                unit: unit::NONE,
                about: "The router that sends over it.",
                cell: Cell::Whole,
                values: |at| list(at.links().map(|link| link.router)),
            },
            Column {
                name: "port",
                words: "port",
                unit: unit::NONE,
                about: "That router's port.",
                cell: Cell::Whole,
                values: |at| list(at.links().map(|link| link.port)),
            },
            Column {
                name: "class",
                words: "class of links",
                unit: unit::NONE,
                about: "Its class.",
                cell: Cell::Text,
                values: |at| list(at.links().map(|link| at.topology.classes()[link.class as usize].as_str())),
            },
            Column {
                name: "to",
                words: "far end",
                unit: unit::NONE,
                about: "What is at its far end, as `router 3` or `endpoint 12`.",
                cell: Cell::Text,
                values: |at| {
                    list(at.links().map(|link| match link.peer {
                        Peer::Endpoint(endpoint) => format!("endpoint {endpoint}"),
                        Peer::Router { router, .. } => format!("router {router}"),
                        Peer::None => String::new(),
                    }))
                },
            },
            Column {
                name: "utilisation",
                words: "link utilisation",
                unit: unit::CAPACITY,
                about: "Share of its capacity that packets took in the measured time.",
                cell: Cell::Number,
                values: |at| list(at.links().map(|link| link.used)),
            },
        ],
    }];
}
