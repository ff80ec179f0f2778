//! Proofs about a network before it is simulated, and checks of its state while it is.

pub mod bubble;
pub mod cdg;
pub mod escape;

use crate::routing::bubble::Escape;
pub use cdg::{Channel, Channels, Flaw, Legs, Report, Routes, check};

/// Why the packets of a routing mechanism cannot wait for one another for ever.
pub enum Proof {
    /// Each packet takes a route of one of these kinds, and no channels wait for one another in a circle ([`cdg`]).
    Order(Vec<Routes>),
    /// Every packet can always escape, under virtual cut-through or store-and-forward ([`escape`]).
    Escape(Box<dyn escape::Adaptive>),
    /// Packets enter a ring only if they leave room in it, and no rings wait for one another in a circle ([`bubble`]).
    Bubble(Escape),
    /// The routes cannot be followed.
    Unknown,
}

impl Proof {
    /// Routes of one kind, over the channels that the topology gives them.
    pub fn legs(legs: Legs) -> Self {
        Self::Order(vec![legs.into()])
    }

    /// Routes of one kind and minimal routes, over the channels that the topology gives them.
    pub fn legs_or_minimal(legs: Legs) -> Self {
        Self::Order(vec![legs.into(), Legs::Minimal.into()])
    }

    /// True if all routes are minimal.
    pub fn is_minimal(&self) -> bool {
        matches!(self, Self::Order(routes) if routes.iter().all(|routes| routes.legs == Legs::Minimal))
    }
}

#[cfg(test)]
mod tests;
