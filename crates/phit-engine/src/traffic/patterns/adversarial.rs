//! Adversarial traffic: every group attacks the links to one other group.

use super::groups::Groups;
use super::{Pattern, PatternParams, unfit};
use crate::engine::Rng;
use crate::error::ScenarioError;
use crate::topology::Topology;
use crate::traffic::Destinations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Adversarial (ADV+i): every packet of group g goes to an endpoint drawn uniformly from group (g + offset) mod G. So
/// all minimal routes of a group share the links between two groups. Only groups with endpoints count. Fits topologies
/// of two or more groups: the groups of a Dragonfly, or, in topologies without hierarchy, the routers with endpoints.
/// (García et al., "On-the-fly adaptive routing in high-radix hierarchical networks", ICPP 2012.)
///
/// With several `groups`, every packet draws one of the groups at distances `offset`, `offset` + 1 and so on. In a
/// Dragonfly with a palmtree arrangement, the h groups from `offset` 1 on are all behind one router: ADVc, the pattern
/// in which adaptive routing is unfair to that router's endpoints (Fuentes et al., "Throughput unfairness in Dragonfly
/// networks under realistic traffic patterns", CLUSTER 2015).
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [traffic.pattern]
/// kind = "adversarial"
/// offset = 1
/// ```
///
/// ADVc:
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [traffic.pattern]
/// kind = "adversarial"
/// offset = 1
/// groups = 2
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adversarial {
    /// Distance from the source's group to the destination's, in groups; negative counts backwards.
    pub offset: i64,
    /// Number of consecutive groups that packets of one source go to, 1 or more.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1))]
    pub groups: u32,
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Default for Adversarial {
    fn default() -> Self {
        Self { offset: 1, groups: 1 }
    }
}

impl PatternParams for Adversarial {
    fn build(&self, topology: &dyn Topology, _: u64) -> Result<Arc<dyn Pattern>, ScenarioError> {
        let groups = Groups::of(topology);
        let count = groups.count();
        if count < 2 {
            let reason = format!(
                "this pattern fits topologies of two or more groups with endpoints (dragonfly, or several routers); \
                 this one has {count}"
            );
            return Err(unfit("adversarial", reason));
        }
        let offset = self.offset.rem_euclid(i64::from(count)) as u32;
        if offset == 0 {
            let reason =
                format!("expected an offset that leads to another group: not a multiple of the {count} groups");
            return Err(ScenarioError::new("offset", self.offset, reason));
        }
        if self.groups == 1 {
            return Ok(Arc::new(ToGroup { groups, offset }));
        }
        if self.groups > count - offset {
            let reason = format!(
                "expected 1 to {}: the groups from offset {} on before the source's own, of {count}",
                count - offset,
                self.offset
            );
            return Err(ScenarioError::new("groups", self.groups, reason));
        }
        Ok(Arc::new(ToGroups { groups, offset, drawn: self.groups }))
    }
}

#[derive(Debug)]
struct ToGroup {
    groups: Groups,
    /// Distance in groups, from 1 to less than the number of groups.
    offset: u32,
}

impl ToGroup {
    /// The group that `source` sends to.
    #[inline]
    fn attacked(&self, source: u32) -> u32 {
        let shifted = self.groups.group_of(source) + self.offset;
        if shifted >= self.groups.count() { shifted - self.groups.count() } else { shifted }
    }
}

impl Pattern for ToGroup {
    #[inline]
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        let group = self.attacked(source);
        Some(self.groups.member(group, rng.below(self.groups.size(group))))
    }

    fn words(&self, _source: u32) -> Option<u32> {
        Some(1)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        let group = self.attacked(source);
        Some(Destinations::evenly((0..self.groups.size(group)).map(|index| self.groups.member(group, index))))
    }
}

/// Packets of one source go to several groups.
#[derive(Debug)]
struct ToGroups {
    groups: Groups,
    /// Distance to the first group.
    offset: u32,
    /// Number of groups.
    drawn: u32,
}

impl ToGroups {
    /// The group `more` groups after the first that `source` sends to.
    #[inline]
    fn attacked(&self, source: u32, more: u32) -> u32 {
        let shifted = self.groups.group_of(source) + self.offset + more;
        if shifted >= self.groups.count() { shifted - self.groups.count() } else { shifted }
    }
}

impl Pattern for ToGroups {
    #[inline]
    fn destination(&self, source: u32, rng: &mut Rng) -> Option<u32> {
        let group = self.attacked(source, rng.below(self.drawn));
        Some(self.groups.member(group, rng.below(self.groups.size(group))))
    }

    fn words(&self, _source: u32) -> Option<u32> {
        Some(2)
    }

    fn destinations(&self, source: u32) -> Option<Destinations> {
        let of_group = |more| {
            let group = self.attacked(source, more);
            (1.0, Destinations::evenly((0..self.groups.size(group)).map(|index| self.groups.member(group, index))))
        };
        Some(Destinations::Mix((0..self.drawn).map(of_group).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;

    fn check(topology: &Toy, offset: i64, groups: i64) {
        let pattern = Adversarial { offset, groups: 1 }.build(topology, 1).unwrap();
        let group = |e: u32| i64::from(topology.group_of(topology.attachment(e).0));
        let mut rng = Rng::new(1, Stream::Source, 0);
        let mut seen = std::collections::HashSet::new();
        for source in 0..topology.endpoints() {
            for _ in 0..200 {
                let destination = pattern.destination(source, &mut rng).unwrap();
                assert_eq!(group(destination), (group(source) + offset).rem_euclid(groups));
                seen.insert(destination);
            }
        }
        assert_eq!(seen.len(), topology.endpoints() as usize, "every endpoint receives");
    }

    #[test]
    fn every_packet_goes_to_the_group_at_the_offset() {
        for offset in [1, 2, -1, 8, -10] {
            check(&Toy::new(36, 2, 4), offset, 9);
            check(&Toy::new(9, 3, 1), offset, 9);
        }
    }

    #[test]
    fn several_groups_are_drawn_evenly() {
        let topology = Toy::new(36, 2, 4);
        let pattern = Adversarial { offset: 8, groups: 1 }.build(&topology, 1).unwrap();
        assert_eq!(pattern.words(0), Some(1));
        let pattern = Adversarial { offset: 3, groups: 4 }.build(&topology, 1).unwrap();
        let group = |e: u32| topology.group_of(topology.attachment(e).0);
        let mut rng = Rng::new(1, Stream::Source, 0);
        let mut seen = [0u32; 9];
        for _ in 0..8000 {
            seen[group(pattern.destination(9, &mut rng).unwrap()) as usize] += 1;
        }
        // Endpoint 9 is in group 1: a quarter each to groups 4 to 7, within five standard deviations.
        assert!(seen[4..8].iter().all(|count| count.abs_diff(2000) < 195), "{seen:?}");
        assert_eq!(seen.iter().sum::<u32>(), seen[4..8].iter().sum::<u32>());
        let error = Adversarial { offset: 3, groups: 7 }.build(&topology, 1).unwrap_err();
        assert_eq!((error.path.as_str(), error.value.as_deref()), ("groups", Some("7")));
    }

    #[test]
    fn groups_without_endpoints_do_not_count() {
        check(&Toy::new(4, 2, 1).with_bare_routers(3), 1, 4);
    }

    #[test]
    fn what_attacks_nobody_is_refused() {
        let error = Adversarial { offset: 18, groups: 1 }.build(&Toy::new(36, 2, 4), 1).unwrap_err();
        assert_eq!((error.path.as_str(), error.value.as_deref()), ("offset", Some("18")));
        let error = Adversarial::default().build(&Toy::new(4, 2, 4), 1).unwrap_err();
        assert!(error.expected.contains("two or more groups"), "{error}");
    }
}
