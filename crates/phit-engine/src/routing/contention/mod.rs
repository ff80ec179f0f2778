//! Contention-based adaptive routing (Fuentes et al., IPDPS 2015): packets leave their minimal route because many heads
//! want the same output, not because its buffer is full.

pub mod base;
pub mod counters;
pub mod ectn;
pub mod grid;
pub mod hybrid;
mod threshold;

use crate::measure::declare::Observable;

pub use threshold::{Comparison, Limit, Threshold};

/// What every mechanism of the family tells probes.
pub const CONTENTION: Observable = Observable {
    name: "contention",
    words: "contention counter",
    unit: "heads",
    about: "Heads that want an output port, for each output port of a router.",
};
