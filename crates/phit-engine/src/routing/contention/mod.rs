//! Contention-based adaptive routing (Fuentes et al., IPDPS 2015): packets leave their minimal route because many heads
//! want the same output, not because its buffer is full.

mod base;
mod counters;
mod crossing;
mod ectn;
mod graph;
mod grid;
mod hybrid;
mod threshold;

use crate::measure::Observable;

pub use base::Base;
pub use counters::Counters;
pub use crossing::Crossing;
pub use ectn::Ectn;
pub use graph::Graph;
pub use grid::Grid;
pub use hybrid::Hybrid;
pub use threshold::{Comparison, Limit, Threshold};

/// The common observable of the family.
pub const CONTENTION: Observable = Observable {
    name: "contention",
    words: "contention counter",
    unit: "heads",
    about: "Heads that want an output port, for each output port of a router.",
};
