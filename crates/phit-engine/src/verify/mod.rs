//! Proofs about a network, made before it is simulated.

pub mod cdg;

pub use cdg::{Channel, Flaw, Legs, Report, check};
