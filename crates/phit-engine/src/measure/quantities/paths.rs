//! The lengths of paths.

use super::latency::PACKETS;
use super::{Counts, Delivery};
use crate::engine::Tick;
use crate::measure::declare::{NUMBER, Quantity, Shape, ratio, unit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Hops of the recorded packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// Hops by class of links.
    pub hops: [u64; 8],
}

impl Counts for Paths {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "hops_mean",
            words: "mean hops",
            unit: unit::LINKS,
            about: "Mean over the recorded packets of the links between routers that they took.",
            rank: Some(12),
            heading: Some("hops"),
            steady: true,
            there: PACKETS,
            value: |at| json!(ratio(at.counters.paths.hops.iter().sum(), at.counters.packets.recorded)),
            ..NUMBER
        },
        Quantity {
            name: "hops",
            words: "mean hops by class of links",
            unit: unit::LINKS,
            about: "For each class of links between routers, the mean number of its links that a recorded packet took; \
                    `null` without packets.",
            shape: Shape::ByClass,
            value: |at| {
                let classes = at.topology.classes().iter().enumerate().skip(1);
                let mean = |class: usize| json!(ratio(at.counters.paths.hops[class], at.counters.packets.recorded));
                Value::Object(classes.map(|(class, name)| (name.clone(), mean(class))).collect::<Map<_, _>>())
            },
            ..NUMBER
        },
    ];

    #[inline]
    fn recorded(&mut self, it: &Delivery<'_>, _when: Tick) {
        let mut hops = it.packet.hops.0;
        let mut class = 0;
        while hops != 0 {
            self.hops[class] += hops & 0xff;
            hops >>= 8;
            class += 1;
        }
    }

    fn merge(&mut self, Self { hops }: &Self) {
        self.hops.iter_mut().zip(hops).for_each(|(mine, theirs)| *mine += theirs);
    }
}
