//! Proofs about a network before it is simulated: packets cannot wait for one another for ever.
//!
//! A routing mechanism describes its routes in the terms of `fabric::seams::routing`. The proofs follow and check that
//! description.

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
