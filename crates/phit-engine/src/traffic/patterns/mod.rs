//! Spatial patterns: who sends to whom. One file per pattern; a new one comes here.

use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::topology::Topology;
use std::sync::Arc;

mod adversarial;
mod bits;
mod by_endpoint;
mod fft;
mod groups;
mod hotspot;
mod mix;
mod neighbor;
mod permutation;
mod rotation;
mod shift;
mod tornado;
#[cfg(test)]
pub(super) mod toy;
mod uniform;
mod worst_case_uniform;

pub(crate) use uniform::Others;

/// The seam `traffic`, spatial part: the destination of a packet.
pub trait Pattern: Send + Sync + std::fmt::Debug {
    /// Destination endpoint of a packet that endpoint `source` generates now; `None` if this endpoint never sends under
    /// the pattern. A destination equal to `source` is a packet like any other: its router delivers it.
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32>;

    /// Destination of message `number` of `source`, counted from 0: for patterns that go through their destinations in
    /// turn.
    fn message_destination(&self, source: u32, _number: u32, rng: &mut Rng) -> Option<u32> {
        self.destination(source, rng)
    }

    /// The pattern itself, if every packet goes to any other endpoint.
    fn uniform(&self) -> Option<Others> {
        None
    }
}

/// What a pattern's file provides besides the rule.
pub trait PatternParams {
    /// Fits the pattern to a topology, or says why it does not fit. Error paths are relative to the pattern's table.
    /// `seed` is for patterns that are drawn at random once, before the run.
    fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError>;
}

crate::registry::registry! {
    /// `traffic.pattern`: where the packets of each endpoint go.
    pub enum PatternKind: "traffic pattern" as PatternParams {
        "uniform" => Uniform(uniform::Uniform),
        "adversarial" => Adversarial(adversarial::Adversarial),
        "shift" => Shift(shift::Shift),
        "bit_complement" => BitComplement(bits::BitComplement),
        "bit_reverse" => BitReverse(bits::BitReverse),
        "transpose" => Transpose(bits::Transpose),
        "shuffle" => Shuffle(bits::Shuffle),
        "fft" => Fft(fft::Fft),
        "rotation" => Rotation(rotation::Rotation),
        "tornado" => Tornado(tornado::Tornado),
        "neighbor" => Neighbor(neighbor::Neighbor),
        "permutation" => Permutation(permutation::Permutation),
        "hotspot" => Hotspot(hotspot::Hotspot),
        "worst_case_uniform" => WorstCaseUniform(worst_case_uniform::WorstCaseUniform),
        "mix" => Mix(mix::Mix),
        "by_endpoint" => ByEndpoint(by_endpoint::ByEndpoint),
    }
}

impl Default for PatternKind {
    fn default() -> Self {
        Self::Uniform(Default::default())
    }
}

impl PatternKind {
    /// Fits the pattern to a topology. Error paths are relative to the pattern's table.
    pub fn build(&self, topology: &dyn Topology, seed: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        self.params().build(topology, seed)
    }
}

/// The seed of the `index`-th pattern inside another one, so that two random permutations in one mix differ.
pub(crate) fn part_seed(seed: u64, index: usize) -> u64 {
    Rng::new(seed, Stream::Pattern, 1 + index as u64).bits()
}

/// The refusal of a pattern that does not fit the topology.
fn unfit(kind: &str, reason: impl Into<String>) -> ScenarioError {
    ScenarioError::new("", format!("{kind:?}"), reason)
}

/// Refuses a network in which nobody has anyone to send to.
fn at_least_two(kind: &str, topology: &dyn Topology) -> Result<(), ScenarioError> {
    match topology.endpoints() {
        n if n >= 2 => Ok(()),
        n => Err(unfit(kind, format!("this pattern fits any topology of at least 2 endpoints; this one has {n}"))),
    }
}

/// A permutation held as a table of destinations, four bytes per endpoint.
#[derive(Debug)]
struct Table(Vec<u32>);

impl Pattern for Table {
    #[inline]
    fn destination(&self, source: u32, _: &mut Rng) -> Option<u32> {
        self.0.get(source as usize).copied()
    }
}
