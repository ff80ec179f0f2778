//! Parallel planes: several equal networks. Every endpoint has a port in each of them.
//!
//! The packets of an endpoint are one sequence, and each packet names its plane. The simulation of a plane draws the
//! whole sequence and takes the packets of its own plane. So planes exchange nothing, and each is an ordinary network.

use super::Generated;
use crate::engine::{Rng, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[planes]`: parallel planes. There are `count` equal networks, each described by `topology`, `router` and `routing`,
/// and every endpoint has a port in each. Loads are per endpoint, summed over all planes.
///
/// ```toml
/// [planes]
/// count = 4
/// choice = "round_robin"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanesParams {
    /// Number of planes.
    #[schemars(range(min = 1, max = 64))]
    pub count: u32,
    /// How the plane of each packet is chosen.
    #[serde(default)]
    pub choice: PlaneChoice,
    /// Whether an endpoint injects into all planes at once, or one packet at a time.
    #[serde(default)]
    pub injection: PlaneInjection,
}

impl PlanesParams {
    /// True if endpoints send one packet after another, whichever plane it takes.
    pub fn is_serial(&self) -> bool {
        self.count > 1 && self.injection == PlaneInjection::Serial
    }
}

/// How the plane of a packet is chosen, when it is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PlaneChoice {
    /// Every packet draws its plane; all planes are equally likely.
    #[default]
    Random,
    /// Consecutive packets of an endpoint take the planes in turn. The first plane of endpoint e is e modulo their
    /// number.
    RoundRobin,
}

/// Whether an endpoint with ports in several planes injects into all of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PlaneInjection {
    /// All planes at once: every port has a source queue, and injects independently of the other ports.
    #[default]
    Parallel,
    /// One packet after another over all planes, as fast as one port injects (BookSim). A packet whose plane has no
    /// room waits at its port, without blocking packets of other planes.
    Serial,
}

/// One plane's view of all endpoints' packets: which of them are its own.
#[derive(Debug, Clone)]
pub struct Plane {
    number: u32,
    params: PlanesParams,
    /// Seed of the plane, exclusive-ored with the seed of the endpoints' sequences, which all planes share.
    mask: u64,
    /// Injection rate of a port, as (phits, cycles); `None` if it is unlimited.
    injection: Option<(u32, u32)>,
}

/// The state of an endpoint's sequence that determines the planes of its next packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    /// Plane of the next packet, if planes take turns.
    next: u32,
    /// First cycle in which the next packet can be sent, with serial injection.
    free: u32,
    /// The first cycle in which the latest packet can be sent.
    pub(super) begins: u32,
}

impl Plane {
    /// Plane `number` in a scenario with this seed. A port injects `injection.0` phits in `injection.1` cycles, or
    /// without a limit.
    pub fn new(params: &PlanesParams, number: u32, seed: u64, injection: Option<(u32, u32)>) -> Self {
        Self { number, params: params.clone(), mask: seed ^ Self::seed(seed, number), injection }
    }

    /// The seed for all random draws in plane `number`, except the endpoints' sequences. `seed` is the scenario's.
    pub fn seed(seed: u64, number: u32) -> u64 {
        match number {
            0 => seed,
            _ => Rng::new(seed, Stream::Pattern, u64::from(number) << 32).bits(),
        }
    }

    /// The seed of the endpoints' sequences, from the seed of the plane.
    pub(super) fn of_sources(&self, seed: u64) -> u64 {
        seed ^ self.mask
    }

    /// The state before the first packet of `endpoint`.
    pub(super) fn start(&self, endpoint: u32) -> Turn {
        Turn { next: endpoint % self.params.count, ..Turn::default() }
    }

    /// The share of all packets that this plane gets.
    pub(super) fn share(&self) -> f64 {
        1.0 / f64::from(self.params.count)
    }

    /// True if endpoints send one packet after another, whichever plane it takes.
    pub(super) fn serial(&self) -> bool {
        self.params.is_serial()
    }

    /// True if the next packet of an endpoint belongs to this plane.
    pub(super) fn takes(&self, packet: Generated, turn: &mut Turn, rng: &mut Rng) -> bool {
        if self.serial() {
            turn.begins = turn.free.max(packet.cycle.saturating_add(1));
            let cycles = self.injection.map_or(1, |(phits, cycles)| {
                let size = u64::from(packet.size) * u64::from(cycles);
                u32::try_from(size.div_ceil(phits.into())).unwrap_or(u32::MAX)
            });
            turn.free = turn.begins.saturating_add(cycles);
        }
        let count = self.params.count;
        let plane = match self.params.choice {
            PlaneChoice::Random => rng.below(count),
            PlaneChoice::RoundRobin => {
                let plane = turn.next;
                turn.next = (plane + 1) % count;
                plane
            }
        };
        plane == self.number
    }
}
