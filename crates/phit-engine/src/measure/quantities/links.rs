//! Utilisation of links.

use super::Counts;
use crate::measure::Reading;
use crate::measure::declare::{
    Cell, Column, NUMBER, PORT_NAME, Part, Quantity, ROUTER_NAME, Shape, Table, When, list, named, unit,
};
use crate::topology::Peer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Has no counters: utilisation is a difference of the kernel's counts of phits on the wire of each port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links;

/// A link, seen from the port that sends over it.
pub(super) struct Link {
    router: u32,
    port: u16,
    pub(super) class: u8,
    peer: Peer,
    /// Phits per cycle.
    pub(super) bandwidth: f64,
    /// Share of its capacity that was used in the measured time.
    used: f64,
}

impl Reading<'_> {
    /// Every port, router by router, with the phits it had carried before and after the measured time. Routers of each
    /// plane are numbered after the routers of the plane before.
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
            let bandwidth = (self.bandwidth)(router % routers, port);
            let used = (after - before) as f64 / self.capacity((self.rate)(router % routers, port)) as f64;
            let peer = match there.peer {
                Peer::Router { router: to, port } => Peer::Router { router: router / routers * routers + to, port },
                other => other,
            };
            (peer != Peer::None).then_some(Link { router, port, class: there.class, peer, bandwidth, used })
        })
    }

    fn utilisation_by_class(&self) -> Value {
        let classes = self.topology.classes();
        let mut sums: Vec<Sum> = vec![Sum::default(); classes.len()];
        for link in self.links() {
            sums[link.class as usize].add(&link);
        }
        let (words, routers) = (self.topology.words(), self.topology.routers());
        let of_class = |sum: Sum| {
            let mut told = json!({ "mean": sum.used / sum.links as f64, "max": sum.max });
            if words.names().is_some_and(|names| !names.routers.is_empty()) {
                told["busiest"] = words.port(sum.busiest.0 % routers, sum.busiest.1).into();
            }
            told
        };
        let table = classes.iter().zip(sums).filter(|(_, sum)| sum.links > 0);
        table.map(|(class, sum)| (class.clone(), of_class(sum))).collect::<Map<String, Value>>().into()
    }
}

/// Utilisation of all links of a class.
#[derive(Clone, Copy, Default)]
struct Sum {
    links: u64,
    used: f64,
    max: f64,
    /// Router and port of the busiest link; the first, if several are equal.
    busiest: (u32, u16),
}

impl Sum {
    fn add(&mut self, link: &Link) {
        if self.links == 0 || link.used > self.max {
            self.busiest = (link.router, link.port);
        }
        (self.links, self.used, self.max) = (self.links + 1, self.used + link.used, self.max.max(link.used));
    }
}

impl Counts for Links {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "link_utilisation",
        words: "link utilisation",
        unit: unit::CAPACITY,
        about: "For each class of links, including the endpoints', the share of the capacity that packets took in the \
                measured time. Phits on the wire are counted, so no link exceeds 1. Each direction of a link counts \
                separately.",
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
                about: "The largest over the links of the class.",
            },
            Part {
                name: "busiest",
                words: "busiest link",
                unit: unit::NONE,
                about: "The link with the largest utilisation, by router and port, in networks with names for routers.",
            },
        ]),
        value: |at| at.utilisation_by_class(),
        ..NUMBER
    }];

    const TABLES: &'static [Table] = &[Table {
        name: "links",
        about: "One row for each direction of a link, and for each link to an endpoint. With `planes`, the routers of \
                each plane are numbered after the routers of the plane before.",
        there: When::Some("with `measure.links`"),
        asked: |at| at.links,
        columns: &[
            Column {
                name: "router",
                words: "router",
                unit: unit::NONE,
                about: "The router that sends over the link.",
                cell: Cell::Whole,
                values: |at| list(at.links().map(|link| link.router)),
            },
            Column { values: |at| at.router_names(at.links().map(|link| Some(link.router))), ..ROUTER_NAME },
            Column {
                name: "port",
                words: "port",
                unit: unit::NONE,
                about: "Port of that router.",
                cell: Cell::Whole,
                values: |at| list(at.links().map(|link| link.port)),
            },
            Column { values: |at| at.port_names(at.links().map(|link| Some((link.router, link.port)))), ..PORT_NAME },
            Column {
                name: "class",
                words: "class of links",
                unit: unit::NONE,
                about: "Class of the link.",
                cell: Cell::Text,
                values: |at| list(at.links().map(|link| at.topology.classes()[link.class as usize].as_str())),
            },
            Column {
                name: "to",
                words: "far end",
                unit: unit::NONE,
                about: "Router or endpoint at the far end, as `router 3` or `endpoint 12`.",
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
                name: "to_name",
                words: "name of the far end",
                about: "Name of the router or endpoint at the far end, in networks that have names.",
                values: |at| {
                    let (words, routers) = (at.topology.words(), at.topology.routers());
                    let name = |link: Link| match link.peer {
                        Peer::Endpoint(endpoint) => words.endpoint_name(endpoint),
                        Peer::Router { router, .. } => words.router_name(router % routers),
                        Peer::None => None,
                    };
                    named(at.links().map(name), words.names().is_some())
                },
                ..ROUTER_NAME
            },
            Column {
                name: "utilisation",
                words: "link utilisation",
                unit: unit::CAPACITY,
                about: "Share of the link's capacity that packets took in the measured time.",
                cell: Cell::Number,
                values: |at| list(at.links().map(|link| link.used)),
            },
        ],
    }];
}
