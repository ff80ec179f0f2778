//! Control messages: what routers tell one another over links.

use super::Counts;
use crate::measure::declare::{NUMBER, Quantity, Shape, WHOLE, unit};
use crate::packet::MOST_CLASSES;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Control messages sent since the start of the run. The kernels count them themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Messages.
    pub messages: u64,
    /// Phits of these messages on links, by class.
    pub phits: [u64; MOST_CLASSES],
}

impl Counts for Control {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "control_messages",
            words: "control messages",
            about: "Control messages that routing mechanisms and queue organisations sent over links in the measured \
                    time.",
            value: |at| json!(at.after.control.1 - at.before.control.1),
            ..WHOLE
        },
        Quantity {
            name: "control_utilisation",
            words: "utilisation of links by control messages",
            unit: unit::CAPACITY,
            about: "For each class of links between routers, the share of the capacity that control messages took in \
                    the measured time; messages without phits take none.",
            shape: Shape::ByClass,
            value: |at| {
                let classes = at.topology.classes();
                let mut links = vec![0.0; classes.len()];
                at.links().for_each(|link| links[link.class as usize] += link.bandwidth);
                let share = |class: usize| {
                    let capacity: f64 = links[class] * at.cycles as f64;
                    let carried = at.after.control.0[class] - at.before.control.0[class];
                    let phits = carried as f64 / (at.rate_of_class)(class as u8).per_phit as f64;
                    (capacity > 0.0).then(|| phits / capacity)
                };
                let table = classes.iter().enumerate().skip(1);
                Value::Object(table.map(|(class, name)| (name.clone(), json!(share(class)))).collect::<Map<_, _>>())
            },
            ..NUMBER
        },
    ];

    fn merge(&mut self, Self { messages, phits }: &Self) {
        self.messages += messages;
        self.phits.iter_mut().zip(phits).for_each(|(mine, theirs)| *mine += theirs);
    }
}
