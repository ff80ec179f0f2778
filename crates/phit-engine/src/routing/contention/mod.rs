//! Contention-based adaptive routing (Fuentes et al., IPDPS 2015): packets leave their minimal route because many heads want
//! the same output, not because its buffer is full.

pub mod base;
pub mod counters;
pub mod ectn;
pub mod grid;
pub mod hybrid;
mod threshold;

pub use threshold::{Comparison, Limit, Threshold};
