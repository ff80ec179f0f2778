//! Time, events and randomness: what knows nothing of routers' insides.

pub mod bits;
pub mod bytes;
pub mod parallel;
pub mod rng;
pub mod table;
pub mod wheel;

/// Simulated time in ticks. A link cycle is one tick, or several where the crossbar has a faster clock.
pub type Tick = u32;

/// "No index" in tables of 32-bit indices.
pub const NONE: u32 = u32::MAX;
