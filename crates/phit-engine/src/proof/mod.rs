//! Proofs about a network before it is simulated: that no packets can wait for one another for ever.
//!
//! What a routing mechanism says of its routes, in the words of `fabric::seams::routing`, is followed and
//! checked here.

pub(crate) mod bubble;
pub(crate) mod cdg;
mod dependencies;
pub(crate) mod detours;
pub(crate) mod escape;
pub(crate) mod ladder;
pub(crate) mod messages;
pub(crate) mod tables;
mod walk;

pub use crate::fabric::seams::routing::{Adaptive, Channels, Ladder, Legs, Longest, Proof, Routes, Standing, Step};
pub use cdg::{Channel, Flaw, Report, check};
