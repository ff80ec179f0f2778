//! Neighbour traffic, and helpers for patterns that move whole routers.

use super::groups::Groups;
use super::{Pattern, PatternParams, Table, unfit};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Neighbour: a fixed permutation that increases every coordinate of the router by one, modulo the side, as in BookSim.
/// The position within the router stays. Fits grids (torus, mesh, hyperx) of two or more routers.
///
/// ```toml
/// [traffic.pattern]
/// kind = "neighbor"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbor {}

impl PatternParams for Neighbor {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        match topology.grid() {
            Some(sides) if topology.routers() >= 2 => along_the_grid("neighbor", topology, sides, |_| 1),
            Some(_) => Err(unfit("neighbor", "this pattern fits grids of two or more routers; this one has 1")),
            None => Err(unfit("neighbor", "this pattern fits grids (torus, mesh, hyperx); this topology is not one")),
        }
    }
}

/// The permutation that moves every coordinate of a router by `step(side)` modulo the side.
pub(super) fn along_the_grid(
    kind: &str,
    topology: &dyn Topology,
    sides: &[u32],
    step: fn(u32) -> u32,
) -> Result<Arc<dyn Pattern>, ScenarioError> {
    let target = |router: u32| {
        let (mut rest, mut stride, mut target) = (router, 1, 0);
        for &side in sides {
            target += (rest % side + step(side)) % side * stride;
            rest /= side;
            stride *= side;
        }
        target
    };
    let routers = Groups::routers(topology);
    let to = |endpoint: u32| routers.number(target(topology.attachment(endpoint).0));
    match (0..topology.endpoints()).find(|&e| to(e).is_none()) {
        None => at_same_position(kind, &routers, topology.endpoints(), |e| to(e).unwrap_or_default()),
        Some(_) => Err(unfit(kind, "this pattern fits grids in which every router has endpoints")),
    }
}

/// The permutation that sends each endpoint to the endpoint at its position in group `to(endpoint)`.
pub(super) fn at_same_position(
    kind: &str,
    groups: &Groups,
    endpoints: u32,
    to: impl Fn(u32) -> u32,
) -> Result<Arc<dyn Pattern>, ScenarioError> {
    let size = groups.size(0);
    match (0..groups.count()).find(|&g| groups.size(g) != size) {
        None => Ok(Arc::new(Table((0..endpoints).map(|e| groups.member(to(e), groups.position(e))).collect()))),
        Some(g) => {
            let reason = format!(
                "this pattern fits topologies with equally many endpoints everywhere; one part has {size}, another {}",
                groups.size(g)
            );
            Err(unfit(kind, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};
    use crate::traffic::patterns::toy::Toy;

    #[test]
    fn every_coordinate_grows_by_one() {
        let pattern = Neighbor {}.build(&Toy::grid(&[3, 2, 4], 2), 1).unwrap();
        let mut rng = Rng::new(1, Stream::Source, 0);
        for e in 0..48u32 {
            let (x, y, z) = (e / 2 % 3, e / 6 % 2, e / 12);
            let expected = ((x + 1) % 3 + 3 * ((y + 1) % 2) + 6 * ((z + 1) % 4)) * 2 + e % 2;
            assert_eq!(pattern.destination(e, &mut rng), Some(expected));
        }
        let error = Neighbor {}.build(&Toy::new(9, 1, 1), 1).unwrap_err();
        assert!(error.to_string().contains("fits grids"), "{error}");
    }
}
