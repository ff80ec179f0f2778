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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adversarial {
    /// Distance from the source's group to the destination's, in groups; negative counts backwards.
    pub offset: i64,
}

impl Default for Adversarial {
    fn default() -> Self {
        Self { offset: 1 }
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
        Ok(Arc::new(ToGroup { groups, offset }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;
    use crate::traffic::patterns::toy::Toy;

    fn check(topology: &Toy, offset: i64, groups: i64) {
        let pattern = Adversarial { offset }.build(topology, 1).unwrap();
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
    fn groups_without_endpoints_do_not_count() {
        check(&Toy::new(4, 2, 1).with_bare_routers(3), 1, 4);
    }

    #[test]
    fn what_attacks_nobody_is_refused() {
        let error = Adversarial { offset: 18 }.build(&Toy::new(36, 2, 4), 1).unwrap_err();
        assert_eq!((error.path.as_str(), error.value.as_deref()), ("offset", Some("18")));
        let error = Adversarial::default().build(&Toy::new(4, 2, 4), 1).unwrap_err();
        assert!(error.expected.contains("two or more groups"), "{error}");
    }
}
