//! Tornado traffic.

use super::groups::Groups;
use super::neighbor::{along_the_grid, at_same_position};
use super::shift::Shifted;
use super::{Pattern, PatternParams, at_least_two, unfit};
use crate::error::ScenarioError;
use crate::topology::Topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Tornado: a fixed permutation that goes almost half-way around. On a grid (torus, mesh, hyperx) every coordinate of
/// the router moves by ceil(k/2) - 1 mod k, as in BookSim. On other topologies of several groups (dragonfly) the group
/// moves by ceil(G/2) - 1 mod G. Elsewhere the endpoint number moves by ceil(N/2) - 1 mod N. The position within the
/// router or group stays. Fits topologies where this is not the identity: some side, or G, or N, is at least three.
/// (Dally and Towles, *Principles and Practices of Interconnection Networks*, section 3.2.)
///
/// ```toml
/// [traffic.pattern]
/// kind = "tornado"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tornado {}

/// Distance of the move along `k` places.
fn step(k: u32) -> u32 {
    k.div_ceil(2).saturating_sub(1)
}

impl PatternParams for Tornado {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        at_least_two("tornado", topology)?;
        let small = |what: &str, k: u32| {
            let reason = format!("this pattern fits topologies of three or more {what}; with {k} nothing would move");
            unfit("tornado", reason)
        };
        if let Some(sides) = topology.grid() {
            let longest = sides.iter().copied().max().unwrap_or(1);
            if step(longest) == 0 {
                return Err(small("routers along some side of the grid", longest));
            }
            return along_the_grid("tornado", topology, sides, step);
        }
        let groups = Groups::of(topology);
        let count = groups.count();
        if count > 1 {
            if step(count) == 0 {
                return Err(small("groups with endpoints", count));
            }
            let to = |e: u32| (groups.group_of(e) + step(count)) % count;
            return at_same_position("tornado", &groups, topology.endpoints(), to);
        }
        let endpoints = topology.endpoints();
        match step(endpoints) {
            0 => Err(small("endpoints", endpoints)),
            offset => Ok(Arc::new(Shifted { offset, endpoints })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Rng, Stream};
    use crate::traffic::patterns::toy::Toy;

    fn image(topology: &Toy) -> Vec<u32> {
        let pattern = Tornado {}.build(topology, 1).unwrap();
        let mut rng = Rng::new(1, Stream::Source, 0);
        (0..topology.endpoints()).map(|i| pattern.destination(i, &mut rng).unwrap()).collect()
    }

    #[test]
    fn every_dimension_of_a_grid_moves_by_nearly_half() {
        // 5 x 4 routers of 2: x + 2 mod 5, y + 1 mod 4, the position in the router stays.
        let image = image(&Toy::grid(&[5, 4], 2));
        for e in 0..40u32 {
            let (x, y) = (e / 2 % 5, e / 10);
            assert_eq!(image[e as usize], ((x + 2) % 5 + 5 * ((y + 1) % 4)) * 2 + e % 2);
        }
    }

    #[test]
    fn groups_move_and_positions_stay() {
        // 9 groups of 8 endpoints: group + 4 mod 9.
        let image = image(&Toy::new(36, 2, 4));
        assert!((0..72).all(|e| image[e as usize] == (e / 8 + 4) % 9 * 8 + e % 8));
    }

    #[test]
    fn one_group_shifts_endpoints() {
        assert_eq!(image(&Toy::new(1, 8, 1)), [3, 4, 5, 6, 7, 0, 1, 2]);
    }

    #[test]
    fn the_identity_is_refused() {
        for toy in [Toy::grid(&[2, 2], 4), Toy::new(4, 2, 2), Toy::new(1, 2, 1)] {
            assert!(Tornado {}.build(&toy, 1).unwrap_err().expected.contains("three or more"));
        }
    }
}
