//! What a managed queue organisation counts.

use super::Counts;
use crate::measure::declare::{Quantity, Shape, WHOLE};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Counts nothing: the organisation does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queueing;

impl Counts for Queueing {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "queueing",
        words: "queue organisation",
        about: "What a managed queue organisation has counted in the measured time, and what it has all the time, by \
                name; empty for the others.",
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
