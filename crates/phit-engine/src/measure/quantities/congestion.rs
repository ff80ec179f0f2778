//! Marks, notifications and held sources of a congestion control.

use super::Counts;
use crate::engine::Tick;
use crate::measure::Reading;
use crate::measure::declare::{Cell, Cells, Column, NUMBER, Part, Quantity, Shape, Table, When, list, unit};
use crate::packet::Role;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Counts in the measured time, made by the kernel, and what its audit needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Congestion {
    marked: u64,
    sent: u64,
    sent_phits: u64,
    /// By endpoint; only endpoints of which something is counted.
    sources: BTreeMap<u32, Source>,
    /// Phits that have reached endpoints since the start of the run and do not count as delivered: notifications, other
    /// packets without data, and data that the endpoint does not take.
    pub arrived_phits: u64,
}

/// The counts of one endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Source {
    sent: u64,
    received: u64,
    held: u64,
    protocol: Protocol,
}

/// Packets of one endpoint under a reservation protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Protocol {
    reservations: u64,
    grants: u64,
    acknowledgements: u64,
    refusals: u64,
    speculative: u64,
    /// Packets of the endpoint that routers have dropped: as they waited, as they came.
    expired: [u64; 2],
    /// Phits of data that it has received, each packet once.
    data: u64,
}

impl Protocol {
    fn add(&mut self, other: &Self) {
        let Self { reservations, grants, acknowledgements, refusals, speculative, expired, data } = *other;
        self.reservations += reservations;
        self.grants += grants;
        self.acknowledgements += acknowledgements;
        self.refusals += refusals;
        self.speculative += speculative;
        self.expired[0] += expired[0];
        self.expired[1] += expired[1];
        self.data += data;
    }
}

impl Congestion {
    /// A router marks a packet. `recorded`: in the measured time.
    pub fn marked(&mut self, recorded: bool) {
        self.marked += u64::from(recorded);
    }

    /// A router sends a notification of `phits` to the source of a packet.
    pub fn told(&mut self, phits: u32, recorded: bool) {
        if recorded {
            self.sent += 1;
            self.sent_phits += u64::from(phits);
        }
    }

    /// The notification of a router has reached `endpoint`.
    pub fn fed_back(&mut self, endpoint: u32, recorded: bool) {
        if recorded {
            self.sources.entry(endpoint).or_default().received += 1;
        }
    }

    /// `endpoint` has sent a notification of `phits`.
    pub fn sent(&mut self, endpoint: u32, phits: u16, recorded: bool) {
        if recorded {
            self.sent += 1;
            self.sent_phits += u64::from(phits);
            self.sources.entry(endpoint).or_default().sent += 1;
        }
    }

    /// A notification of `phits` has reached `endpoint`, the source of a marked packet.
    pub fn notified(&mut self, endpoint: u32, phits: u16, recorded: bool) {
        self.arrived_phits += u64::from(phits);
        if recorded {
            self.sources.entry(endpoint).or_default().received += 1;
        }
    }

    /// The congestion control has kept `endpoint` from sending for so many ticks of the measured time.
    pub fn held(&mut self, endpoint: u32, ticks: Tick) {
        if ticks > 0 {
            self.sources.entry(endpoint).or_default().held += u64::from(ticks);
        }
    }
}

impl Congestion {
    /// `endpoint` has sent a packet of a reservation protocol with `phits` phits, which is not a granted one.
    pub fn played(&mut self, endpoint: u32, role: Role, phits: u16, recorded: bool) {
        if !recorded {
            return;
        }
        let source = self.sources.entry(endpoint).or_default();
        if role.is_control() {
            source.sent += 1;
            self.sent += 1;
            self.sent_phits += u64::from(phits);
        }
        let it = &mut source.protocol;
        let count = match role {
            Role::Reservation => &mut it.reservations,
            Role::Grant => &mut it.grants,
            Role::Acknowledgement => &mut it.acknowledgements,
            Role::Refusal => &mut it.refusals,
            _ => &mut it.speculative,
        };
        *count += 1;
    }

    /// A router drops a speculative packet of `source`, as it comes or as it waits.
    pub fn expired(&mut self, source: u32, at_input: bool, recorded: bool) {
        if recorded {
            self.sources.entry(source).or_default().protocol.expired[usize::from(at_input)] += 1;
        }
    }

    /// A packet of `phits` of a reservation protocol has come to `endpoint`. `data`: it counts as delivered.
    pub fn came(&mut self, endpoint: u32, phits: u16, data: bool, recorded: bool) {
        if !data {
            self.arrived_phits += u64::from(phits);
        } else if recorded {
            self.sources.entry(endpoint).or_default().protocol.data += u64::from(phits);
        }
    }

    /// The packets of all endpoints under a reservation protocol.
    fn protocol(&self) -> Protocol {
        let mut sum = Protocol::default();
        self.sources.values().for_each(|source| sum.add(&source.protocol));
        sum
    }
}

impl Reading<'_> {
    fn throttled(&self, ticks: u64) -> f64 {
        ticks as f64 / f64::from(self.window.ticks_per_cycle)
    }

    fn of_sources<T: Serialize>(&self, value: impl Fn((&u32, &Source)) -> T) -> Cells {
        list(self.counters.congestion.sources.iter().map(value))
    }
}

const COUNT: Column =
    Column { name: "", words: "", unit: unit::NONE, about: "", cell: Cell::Whole, values: |_| Cells::ABSENT };

impl Counts for Congestion {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "congestion",
        words: "congestion control",
        about: "What the congestion control did in the measured time.",
        shape: Shape::Parts(&[
            Part {
                name: "marked",
                words: "packets marked by routers",
                unit: unit::NONE,
                about: "Marks that routers have set, or packets about which routers have notified sources. A \
                        packet that several routers mark counts several times.",
            },
            Part {
                name: "notifications",
                words: "notifications sent",
                unit: unit::NONE,
                about: "Notifications that endpoints, or routers, have sent to the sources of packets. With a \
                        reservation protocol, all packets without data that endpoints have sent.",
            },
            Part {
                name: "notification_phits",
                words: "phits of the notifications",
                unit: unit::PHITS,
                about: "The sizes of these notifications, added up.",
            },
            Part {
                name: "throttled",
                words: "time in which sources were held back",
                unit: unit::CYCLES,
                about: "Time in which an endpoint had packets and a free link, and only the congestion control kept it \
                        from sending, added up over all endpoints.",
            },
            Part {
                name: "reservations",
                words: "reservations sent",
                unit: unit::NONE,
                about: "Reservations that sources have sent.",
            },
            Part {
                name: "grants",
                words: "grants sent",
                unit: unit::NONE,
                about: "Grants that destinations have sent.",
            },
            Part {
                name: "acknowledgements",
                words: "acknowledgements sent",
                unit: unit::NONE,
                about: "Acknowledgements of speculative packets that destinations have sent.",
            },
            Part {
                name: "refusals",
                words: "refusals",
                unit: unit::NONE,
                about: "Speculative packets that destinations have refused, or routers have dropped.",
            },
            Part {
                name: "dropped",
                words: "packets dropped by routers",
                unit: unit::NONE,
                about: "Speculative packets that routers have dropped because their time to live was over.",
            },
            Part {
                name: "speculative",
                words: "speculative packets",
                unit: unit::NONE,
                about: "Packets that sources have sent before they were granted.",
            },
        ]),
        there: When::Some("of networks with congestion control"),
        value: |at| {
            let Congestion { marked, sent, sent_phits, sources, .. } = &at.counters.congestion;
            let throttled = at.throttled(sources.values().map(|source| source.held).sum());
            let Protocol { reservations, grants, acknowledgements, refusals, speculative, expired, .. } =
                at.counters.congestion.protocol();
            let dropped = expired[0] + expired[1];
            let told = || {
                json!({
                    "marked": marked, "notifications": sent, "notification_phits": sent_phits, "throttled": throttled,
                    "reservations": reservations, "grants": grants, "acknowledgements": acknowledgements,
                    "refusals": refusals + dropped, "dropped": dropped, "speculative": speculative,
                })
            };
            json!(at.congestion.then(told))
        },
        ..NUMBER
    }];

    const TABLES: &'static [Table] = &[Table {
        name: "sources",
        about: "One row for each endpoint that sent or received a notification, or that the congestion control held \
                back, in the measured time.",
        there: When::Some("with `[congestion]`"),
        asked: |at| at.congestion,
        columns: &[
            Column {
                name: "endpoint",
                words: "endpoint",
                about: "Number of the endpoint.",
                values: |at| at.of_sources(|(endpoint, _)| *endpoint),
                ..COUNT
            },
            Column {
                name: "notifications_sent",
                words: "notifications sent",
                about: "Notifications that it sent to the sources of packets.",
                values: |at| at.of_sources(|(_, source)| source.sent),
                ..COUNT
            },
            Column {
                name: "notifications_received",
                words: "notifications received",
                about: "Notifications that it received about its own packets.",
                values: |at| at.of_sources(|(_, source)| source.received),
                ..COUNT
            },
            Column {
                name: "throttled",
                words: "time held back",
                unit: unit::CYCLES,
                about: "Time in which it had packets and a free link, and only the congestion control kept it from \
                        sending.",
                cell: Cell::Number,
                values: |at| at.of_sources(|(_, source)| json!(at.throttled(source.held))),
            },
            Column {
                name: "speculative",
                words: "speculative packets",
                about: "Packets that it sent before they were granted.",
                values: |at| at.of_sources(|(_, source)| source.protocol.speculative),
                ..COUNT
            },
            Column {
                name: "dropped_waiting",
                words: "packets dropped while they waited",
                about: "Speculative packets of its own that routers dropped while they waited.",
                values: |at| at.of_sources(|(_, source)| source.protocol.expired[0]),
                ..COUNT
            },
            Column {
                name: "dropped_arriving",
                words: "packets dropped on arrival",
                about: "Speculative packets of its own that routers dropped when they came.",
                values: |at| at.of_sources(|(_, source)| source.protocol.expired[1]),
                ..COUNT
            },
            Column {
                name: "data_received",
                words: "data received",
                unit: unit::PHITS,
                about: "Phits of data that it received under a reservation protocol, each packet once.",
                values: |at| at.of_sources(|(_, source)| source.protocol.data),
                ..COUNT
            },
        ],
    }];

    fn merge(&mut self, Self { marked, sent, sent_phits, sources, arrived_phits }: &Self) {
        self.marked += marked;
        self.sent += sent;
        self.sent_phits += sent_phits;
        self.arrived_phits += arrived_phits;
        for (&endpoint, source) in sources {
            let Source { sent, received, held, protocol } = *source;
            let mine = self.sources.entry(endpoint).or_default();
            mine.sent += sent;
            mine.received += received;
            mine.held += held;
            mine.protocol.add(&protocol);
        }
    }

    fn bytes(&self) -> usize {
        self.sources.len() * size_of::<(u32, Source)>()
    }
}
