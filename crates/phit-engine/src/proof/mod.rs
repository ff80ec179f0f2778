//! Proofs about a network before it is simulated: that no packets can wait for one another for ever.
//!
//! What a routing mechanism says of its routes, in the words of [`crate::fabric::seams::routing`], is followed and
//! checked here.

pub mod bubble;
pub mod cdg;
pub mod escape;

pub use crate::fabric::seams::routing::{Adaptive, Channels, Legs, Proof, Routes, Standing, Step};
pub use cdg::{Channel, Flaw, Report, check};
