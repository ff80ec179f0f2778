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
    /// Mean and variance of the number of packets of an endpoint in a long time, per cycle.
    fn moments(&self) -> (f64, f64);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use serde_json::{Value, json};

    /// In many equal times, the number of packets has the mean and the variance that the process states. Its variance
    /// within a time of `cycles` differs from that of a long time by about memory / cycles.
    #[test]
    fn counts_have_their_mean_and_variance() {
        let cases: [(Value, f64, f64); 6] = [
            (json!("bernoulli"), 0.3, 1.0),
            (json!("bernoulli"), 0.9, 4.0),
            (json!("periodic"), 0.3, 4.0),
            (json!({ "kind": "on_off", "burst": 5 }), 0.4, 1.0),
            (json!({ "kind": "on_off", "burst": 20, "peak": 0.8 }), 0.3, 2.0),
            (json!({ "kind": "on_off", "burst": 1 }), 0.5, 1.0),
        ];
        let (sources, cycles) = (4_000, 500);
        for (kind, load, size) in cases {
            let process = ProcessKind::from_value("process", &kind).unwrap().params().build(load, size).unwrap();
            let count = |index: u64| {
                let mut rng = Rng::new(1, Stream::Source, index);
                let mut state = process.start(0, &mut rng);
                std::iter::repeat_with(|| process.next(&mut state, &mut rng)).take_while(|&at| at < cycles).count()
                    as f64
            };
            let counts: Vec<f64> = (0..sources).map(count).collect();
            let mean = counts.iter().sum::<f64>() / sources as f64;
            let variance = counts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (sources - 1) as f64;
            let (of_cycle, varying) = process.moments();
            assert!((of_cycle - load / size).abs() < 1e-12, "{kind}");
            let (expected, spread) = (of_cycle * cycles as f64, varying * cycles as f64);
            // Five standard errors of both. A periodic source sends a packet more or less: a variance of 1/4.
            assert!((mean - expected).abs() < 5.0 * ((spread + 0.25) / sources as f64).sqrt(), "{kind}: {mean}");
            let error = 5.0 * (2.0 / sources as f64).sqrt() + 0.05;
            assert!((variance - spread).abs() < error * spread + 0.3, "{kind}: {variance}, expected {spread}");
        }
    }
}
