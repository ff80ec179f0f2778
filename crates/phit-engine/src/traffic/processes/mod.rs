//! Injection processes: in which cycles an endpoint generates a packet. One file per process.
//!
//! A process generates at most one packet per endpoint and cycle.

use crate::engine::Rng;
use std::fmt::Debug;

mod bernoulli;
mod geometric;
mod on_off;
mod periodic;

pub(crate) use geometric::Geometric;

/// What one endpoint remembers of its process, 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessState {
    /// First cycle in which the next packet can be generated.
    pub cycle: u64,
    /// Whatever else the process remembers.
    pub mark: u64,
}

/// The cycles of an endpoint that never generates again.
pub(super) const NEVER: u64 = u64::MAX;

/// Cycles are below this: times of packets have 32 bits.
pub(super) const HORIZON: u64 = 1 << 32;

/// The seam `traffic`, temporal part, for one load.
pub trait Process: Send + Sync + Debug {
    /// The state of an endpoint whose process begins in cycle `start`, in statistical equilibrium: the mean load is
    /// right from that cycle on.
    fn start(&self, start: u64, rng: &mut Rng) -> ProcessState;
    /// The cycle in which the next packet is generated, later than that of the one before; at or beyond [`HORIZON`] if
    /// there is none.
    fn next(&self, state: &mut ProcessState, rng: &mut Rng) -> u64;
    /// The cycles without a packet between two, if they are geometric and independent of all before.
    fn independent(&self) -> Option<Geometric> {
        None
    }
}

/// What a process's file provides besides the rule.
pub trait ProcessParams {
    /// The process whose mean load is `load` phits/(endpoint·cycle) with packets of `mean_size` phits on average, where
    /// `load <= mean_size`; or why there is none.
    fn build(&self, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String>;

    /// The same for loads, its own among them, that are given in units of `one` phit/(endpoint·cycle): `load` is not.
    fn build_in(&self, _one: f64, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String> {
        self.build(load, mean_size)
    }
}

crate::registry::registry! {
    /// `traffic.process`: when each endpoint generates a packet.
    pub enum ProcessKind: "injection process" as ProcessParams {
        "bernoulli" => Bernoulli(bernoulli::Bernoulli),
        "on_off" => OnOff(on_off::OnOff),
        "periodic" => Periodic(periodic::Periodic),
    }
}

impl Default for ProcessKind {
    fn default() -> Self {
        Self::Bernoulli(Default::default())
    }
}
