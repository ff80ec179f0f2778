//! Proofs about a network before it is simulated, and checks of its state while it is.

pub mod cdg;
pub mod conservation;
pub mod watchdog;

pub use cdg::{Channel, Flaw, Legs, Report, check};

#[cfg(test)]
mod tests;
