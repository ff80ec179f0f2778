//! Whether packets are delivered in the order of their generation, and how far apart they are if not.

use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::collector::Window;
use crate::measure::declare::{Cell, Cells, Column, NUMBER, Quantity, Table, WHOLE, When, list, ratio, unit};
use crate::measure::{Histogram, Reading};
use crate::packet::Packet;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;

/// Largest extent that is measured. An extent beyond counts as this one.
const MOST: u64 = 1024;

/// Packets that were overtaken, if the run watches the order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {
    watched: bool,
    /// Packets delivered since the start of the run.
    packets: u64,
    /// Packets delivered after a later-generated packet from the same source to the same destination.
    pub overtaken: u64,
    /// The extents of these packets.
    extents: Histogram,
    /// Sum of the extents.
    sum: u64,
    /// By source and destination.
    pairs: FxHashMap<(u32, u32), Pair>,
}

/// The packets from a source to a destination.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Pair {
    packets: u64,
    overtaken: u64,
    sum: u64,
    most: u64,
    /// Ticks of generation of packets that were generated later than all packets that had arrived before, each with the
    /// number of these packets. No more than the last [`MOST`] are kept.
    ahead: VecDeque<(u64, Tick)>,
}

impl Pair {
    /// A packet generated at `birth` has arrived. Returns its extent if it is out of order: the packets that have
    /// arrived since the first that was generated later than it, that one included (RFC 4737, section 4.2.1).
    fn arrives(&mut self, birth: Tick) -> Option<u64> {
        let number = self.packets;
        self.packets += 1;
        if self.ahead.back().is_none_or(|&(_, latest)| latest <= birth) {
            if self.ahead.len() as u64 == MOST {
                self.ahead.pop_front();
            }
            self.ahead.push_back((number, birth));
            return None;
        }
        let place = self.ahead.partition_point(|&(_, before)| before <= birth);
        let extent = (number - self.ahead[place].0).min(MOST);
        self.overtaken += 1;
        self.sum += extent;
        self.most = self.most.max(extent);
        Some(extent)
    }
}

impl Order {
    #[cold]
    #[inline(never)]
    fn watch(&mut self, packet: &Packet) {
        self.packets += 1;
        let pair = self.pairs.entry((packet.source, packet.destination)).or_default();
        if let Some(extent) = pair.arrives(packet.birth) {
            self.overtaken += 1;
            self.sum += extent;
            self.extents.record(extent);
        }
    }

    /// The pairs with packets out of order, by source and destination.
    fn uneven(&self) -> Vec<((u32, u32), &Pair)> {
        let uneven = self.pairs.iter().filter(|(_, pair)| pair.overtaken > 0);
        let mut uneven: Vec<_> = uneven.map(|(ends, pair)| (*ends, pair)).collect();
        uneven.sort_unstable_by_key(|(ends, _)| *ends);
        uneven
    }
}

impl Reading<'_> {
    fn of_uneven<T: Serialize>(&self, value: impl Fn((u32, u32), &Pair) -> T) -> Cells {
        list(self.counters.order.uneven().into_iter().map(|(ends, pair)| value(ends, pair)))
    }
}

const WITH_ORDER: When = When::Some("with `measure.order`");

/// Template of a column of whole numbers.
const COUNT: Column =
    Column { name: "", words: "", unit: unit::NONE, about: "", cell: Cell::Whole, values: |_| Cells::ABSENT };

impl Counts for Order {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "out_of_order",
            words: "packets out of order",
            about: "Packets delivered after a later-generated packet from the same source to the same destination, \
                    since the start of the run. Packets of one cycle count as in order.",
            there: WITH_ORDER,
            value: |at| json!(at.window.order.then_some(at.counters.order.overtaken)),
            ..WHOLE
        },
        Quantity {
            name: "out_of_order_share",
            words: "share of packets out of order",
            unit: unit::PACKETS,
            about: "Packets out of order, as a share of the packets delivered since the start of the run.",
            there: WITH_ORDER,
            value: |at| json!(ratio(at.counters.order.overtaken, at.counters.order.packets)),
            ..NUMBER
        },
        Quantity {
            name: "order_extent_mean",
            words: "mean extent of reordering",
            about: "Mean extent of the packets out of order (RFC 4737): the packets of the same source and destination \
                    that have arrived since the first that was generated later. A receiver that waits for a packet \
                    holds as many.",
            there: When::Some("with `measure.order`, if packets were out of order"),
            value: |at| json!(ratio(at.counters.order.sum, at.counters.order.overtaken)),
            ..NUMBER
        },
        Quantity {
            name: "order_extent_max",
            words: "largest extent of reordering",
            about: "Largest extent of a packet out of order. 1024 stands for any larger extent.",
            there: When::Some("with `measure.order`, if packets were out of order"),
            value: |at| json!((at.counters.order.overtaken > 0).then(|| at.counters.order.extents.max())),
            ..WHOLE
        },
    ];

    const TABLES: &'static [Table] = &[
        Table {
            name: "order",
            about: "One row for each source and destination with packets out of order.",
            there: WITH_ORDER,
            asked: |at| at.window.order,
            columns: &[
                Column {
                    name: "source",
                    words: "source",
                    about: "Source endpoint.",
                    values: |at| at.of_uneven(|(source, _), _| source),
                    ..COUNT
                },
                Column {
                    name: "destination",
                    words: "destination",
                    about: "Destination endpoint.",
                    values: |at| at.of_uneven(|(_, destination), _| destination),
                    ..COUNT
                },
                Column {
                    name: "packets",
                    words: "packets",
                    about: "Packets delivered since the start of the run.",
                    values: |at| at.of_uneven(|_, pair| pair.packets),
                    ..COUNT
                },
                Column {
                    name: "out_of_order",
                    words: "packets out of order",
                    about: "Packets delivered after a later-generated packet.",
                    values: |at| at.of_uneven(|_, pair| pair.overtaken),
                    ..COUNT
                },
                Column {
                    name: "extent_mean",
                    words: "mean extent of reordering",
                    about: "Mean extent of the packets out of order.",
                    cell: Cell::Number,
                    values: |at| at.of_uneven(|_, pair| ratio(pair.sum, pair.overtaken)),
                    ..COUNT
                },
                Column {
                    name: "extent_max",
                    words: "largest extent of reordering",
                    about: "Largest extent of a packet out of order. 1024 stands for any larger extent.",
                    values: |at| at.of_uneven(|_, pair| pair.most),
                    ..COUNT
                },
            ],
        },
        Table {
            name: "order_extents",
            about: "One row for each extent of packets out of order: the distribution of extents.",
            there: WITH_ORDER,
            asked: |at| at.window.order,
            columns: &[
                Column {
                    name: "extent",
                    words: "extent of reordering",
                    about: "Packets of the same source and destination that have arrived since the first that was \
                            generated later. 1024 stands for any larger extent.",
                    values: |at| list(at.counters.order.extents.iter().map(|(extent, _)| extent)),
                    ..COUNT
                },
                Column {
                    name: "packets",
                    words: "packets out of order",
                    about: "Packets with this extent.",
                    values: |at| list(at.counters.order.extents.iter().map(|(_, packets)| packets)),
                    ..COUNT
                },
            ],
        },
    ];

    fn new(window: &Window) -> Self {
        Self { watched: window.order, ..Self::default() }
    }

    #[inline]
    fn delivered(&mut self, it: &Delivery<'_>) {
        if self.watched {
            self.watch(it.packet);
        }
    }

    /// All packets to a destination are delivered in one partition, so no pair is in two.
    fn merge(&mut self, Self { watched: _, packets, overtaken, extents, sum, pairs }: &Self) {
        self.packets += packets;
        self.overtaken += overtaken;
        self.sum += sum;
        self.extents.merge(extents);
        self.pairs.extend(pairs.iter().map(|(ends, pair)| (*ends, Pair { ahead: VecDeque::new(), ..pair.clone() })));
    }

    /// A hash table needs one byte more for each place.
    fn bytes(&self) -> usize {
        let Self { watched: _, packets: _, overtaken: _, extents, sum: _, pairs } = self;
        let ahead: usize = pairs.values().map(|pair| pair.ahead.capacity() * size_of::<(u64, Tick)>()).sum();
        pairs.capacity() * (size_of::<((u32, u32), Pair)>() + 1) + ahead + extents.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(births: &[Tick]) -> Vec<Option<u64>> {
        let mut pair = Pair::default();
        births.iter().map(|birth| pair.arrives(*birth)).collect()
    }

    /// The examples of RFC 4737, section 7: packets 1 to 9 with 4 behind 8, and 7 and 8 before 5 and 6.
    #[test]
    fn extents_are_those_of_the_rfc() {
        let in_order = [1, 2, 3, 5, 6, 7, 8, 4, 9, 10];
        let expected = [None, None, None, None, None, None, None, Some(4), None, None];
        assert_eq!(extents(&in_order), expected);
        let two = [1, 2, 3, 4, 7, 8, 5, 6, 9, 10];
        assert_eq!(extents(&two)[4..9], [None, None, Some(2), Some(3), None]);
    }

    #[test]
    fn extents_count_from_the_first_later_packet() {
        // Packet 2 comes after 3, 5 and 4: three arrivals since 3. Packet 4 comes after 5 alone.
        assert_eq!(extents(&[1, 3, 5, 4, 2]), [None, None, None, Some(1), Some(3)]);
        assert_eq!(extents(&[4, 4, 4]), [None; 3], "packets of one cycle");
    }

    #[test]
    fn an_extent_beyond_the_last_one_is_the_last_one() {
        let late = |after: u32| {
            let mut births: Vec<Tick> = (1..=after).collect();
            births.push(0);
            extents(&births).pop().unwrap()
        };
        assert_eq!(
            [late(1), late(1023), late(1024), late(1025), late(4000)].map(Option::unwrap),
            [1, 1023, 1024, 1024, 1024]
        );
    }
}
