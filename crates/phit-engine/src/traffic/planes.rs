//! Parallel planes: several equal networks, in each of which every endpoint has a port, and what a port sends.
//!
//! The packets of an endpoint are one sequence, of which each names its plane. Whoever simulates a plane draws all of
//! the sequence and takes the packets of its own: so nothing passes from one plane to another, and a plane is a network
//! like any other.

use super::Generated;
use crate::engine::{Rng, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[planes]`: parallel planes. There are so many equal networks, each as `topology`, `router` and `routing` say, and
/// every endpoint has a port in each. Loads are those of endpoints, over all planes.
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
    /// The plane of each packet.
    #[serde(default)]
    pub choice: PlaneChoice,
    /// What an endpoint sends at once.
    #[serde(default)]
    pub injection: PlaneInjection,
}

impl PlanesParams {
    /// True if endpoints send one packet after another, whatever their planes.
    pub fn is_serial(&self) -> bool {
        self.count > 1 && self.injection == PlaneInjection::Serial
    }
}

/// How the plane of a packet is chosen, when it is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PlaneChoice {
    /// Drawn for every packet, all planes alike.
    #[default]
    Random,
    /// The next one for the next packet of an endpoint; the first of endpoint e is e modulo their number.
    RoundRobin,
}

/// What an endpoint with ports in several planes sends at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PlaneInjection {
    /// A packet into each plane: every port has a source queue, and injects as if there were no other.
    #[default]
    Parallel,
    /// One packet after another, whatever their planes, as fast as one port injects (BookSim). A packet that its plane
    /// does not take in at once waits at its port, and does not hold up those of other planes.
    Serial,
}

/// What one of several planes gets of the packets of all endpoints.
#[derive(Debug, Clone)]
pub struct Plane {
    number: u32,
    params: PlanesParams,
    /// The seed of the plane, exclusive-ored with that of the endpoints' sequences, which is the same for all.
    mask: u64,
    /// Phits that a port injects in so many cycles; `None` if nothing limits it.
    injection: Option<(u32, u32)>,
}

/// What of its sequence an endpoint has to know for the next packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    /// Plane of the next packet, where they take turns.
    next: u32,
    /// The first cycle in which the next packet can be sent, where they are sent one after another.
    free: u32,
    /// The first cycle in which the latest packet can be sent.
    pub(super) begins: u32,
}

impl Plane {
    /// Plane `number` of those in a scenario of this seed. A port injects so many phits in so many cycles, or whatever
    /// there is.
    pub fn new(params: &PlanesParams, number: u32, seed: u64, injection: Option<(u32, u32)>) -> Self {
        Self { number, params: params.clone(), mask: seed ^ Self::seed(seed, number), injection }
    }

    /// The seed of plane `number`, of all that is drawn in it but the sequences of the endpoints; `seed` is the
    /// scenario's.
    pub fn seed(seed: u64, number: u32) -> u64 {
        match number {
            0 => seed,
            _ => Rng::new(seed, Stream::Pattern, u64::from(number) << 32).bits(),
        }
    }

    /// The seed of the endpoints' sequences, where `seed` is that of the plane.
    pub(super) fn of_sources(&self, seed: u64) -> u64 {
        seed ^ self.mask
    }

    /// Before the first packet of `endpoint`.
    pub(super) fn start(&self, endpoint: u32) -> Turn {
        Turn { next: endpoint % self.params.count, ..Turn::default() }
    }

    /// The share of all packets that this plane gets.
    pub(super) fn share(&self) -> f64 {
        1.0 / f64::from(self.params.count)
    }

    /// True if endpoints send one packet after another, whatever their planes.
    pub(super) fn serial(&self) -> bool {
        self.params.is_serial()
    }

    /// True if the next packet of an endpoint is one of this plane.
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
