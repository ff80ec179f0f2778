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

/// The state of one endpoint's process, 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessState {
    /// First cycle in which the next packet can be generated.
    pub cycle: u64,
    /// Any further state of the process.
    pub mark: u64,
}

/// The cycle of the next packet of an endpoint that never generates one again.
pub(super) const NEVER: u64 = u64::MAX;

/// Upper bound of all cycles: times of packets have 32 bits.
pub(super) const HORIZON: u64 = 1 << 32;

/// The seam `traffic`, temporal part, for one load.
pub trait Process: Send + Sync + Debug {
    /// The state of an endpoint whose process begins in cycle `start`. It is in statistical equilibrium, so the mean
    /// load is right from that cycle on.
    fn start(&self, start: u64, rng: &mut Rng) -> ProcessState;
    /// The cycle of the next packet, later than the cycle of the packet before. At or beyond [`HORIZON`] if there is
    /// none.
    fn next(&self, state: &mut ProcessState, rng: &mut Rng) -> u64;
    /// The distribution of cycles between two packets, if it is geometric and independent of the past.
    fn independent(&self) -> Option<Geometric> {
        None
    }
}

/// The parameters of a process.
pub trait ProcessParams {
    /// The process with a mean load of `load` phits/(endpoint·cycle) and packets of `mean_size` phits on average, where
    /// `load <= mean_size`. Or the reason why there is none.
    fn build(&self, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String>;

    /// The process for `load` in phits/(endpoint·cycle). The process's own loads are multiples of `one`
    /// phit/(endpoint·cycle).
    fn build_in(&self, _one: f64, load: f64, mean_size: f64) -> Result<Box<dyn Process>, String> {
        self.build(load, mean_size)
    }
}

crate::registry::registry! {
    /// `traffic.process`: times at which each endpoint generates a packet.
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
