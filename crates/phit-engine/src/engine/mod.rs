//! Time, events and randomness, independent of the insides of routers.
//!
//! Kernels are made from this module: the wheel of events, tables with unchecked access, sets of bits, random streams,
//! and the exchange between threads. A mechanism needs only [`Rng`] and [`Tick`].

pub(crate) mod bits;
mod bytes;
mod memory;
mod pages;
pub(crate) mod parallel;
pub(crate) mod peers;
mod rng;
mod table;
mod wheel;

pub(crate) use bytes::{Bytes, bytes_of, tables_of};
pub use memory::Memory;
pub(crate) use pages::{Pages, Spare};
pub(crate) use peers::named;
pub use peers::{Letters, Parted, Peers, Team};
pub use phit_workload::patience::{GivenUp, GoOn, watched};
pub(crate) use phit_workload::patience::{Patiently, aside, poll};
pub use rng::{Rng, Stream};
pub(crate) use table::{Table, fetch, reserve_gently};
pub(crate) use wheel::{Due, Event, LISTS, Wheel};

/// Simulated time in ticks. A link cycle is one tick, or several if the crossbar has a faster clock.
pub type Tick = u32;

/// "No index" in tables of 32-bit indices.
pub const NONE: u32 = u32::MAX;
