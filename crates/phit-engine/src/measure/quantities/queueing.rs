//! Totals of a managed queue organisation.

use super::Counts;
use crate::measure::declare::{Quantity, Shape, WHOLE};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Has no counters: the organisation counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queueing;

impl Counts for Queueing {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "queueing",
        words: "queue organisation",
        about: "Totals of a managed queue organisation, by name: its counts in the measured time and its fixed sizes. \
                Empty for other organisations.",
        shape: Shape::WholesByName,
        value: |at| {
            let before = |name: &str| at.before.queueing.get(name).map_or(0, |(_, count)| *count);
            let totals = at.after.queueing.iter().map(|(name, (total, count))| {
                let since = if total.standing { *count } else { count - before(name) };
                ((*name).to_owned(), json!(since))
            });
            Value::Object(totals.collect::<Map<_, _>>())
        },
        ..WHOLE
    }];
}
