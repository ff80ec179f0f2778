//! OLM: opportunistic local misrouting, triggered by credits (García et al., ICPP 2013).

use super::in_transit::{self, Awaited, Candidate, Draw, GLOBAL, InTransit, Misrouting, Trigger};
use super::{RouterView, Routing, RoutingContext, RoutingParams};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Changes, Proof};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In-transit adaptive routing by credits (García et al., ICPP 2013; Fuentes et al., IPDPS 2015, section IV-A). A
/// packet whose minimal output cannot take it leaves its minimal route over an output with much smaller occupancy.
///
/// Global misrouting follows the policy MM+L (García et al., INA-OCMC 2013). For a Dragonfly.
///
/// A Dragonfly needs local virtual channels 0 to 2 and global ones 0 and 1.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "olm"
/// threshold = 0.5
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Olm {
    /// Largest occupancy of a nonminimal output, as a share of the minimal output's.
    #[schemars(range(min = 0.0))]
    pub threshold: f64,
    /// Least occupancy of the minimal output, as a share of its buffer, at which packets leave it.
    #[schemars(range(min = 0.0))]
    pub minimum: f64,
    /// The ports among which another output is drawn.
    #[serde(skip_serializing_if = "Draw::is_of_valid")]
    pub draw: Draw,
    /// Where packets leave their minimal route, and in which channels.
    #[serde(skip_serializing_if = "Misrouting::is_usual")]
    pub misrouting: Misrouting,
    /// A further condition on leaving a minimal global port, if any.
    pub restriction: Option<Restriction>,
}

impl Default for Olm {
    fn default() -> Self {
        Self { threshold: 0.5, minimum: 0.0, draw: Draw::Valid, misrouting: Misrouting::default(), restriction: None }
    }
}

/// Packets leave a minimal global port only if it is occupied by more than `coefficient` times the mean of the router's
/// global ports, plus `packets` packets (FOGSim; in no paper).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Restriction {
    /// Factor of the mean occupancy.
    #[schemars(range(min = 0.0))]
    pub coefficient: f64,
    /// Packets of the largest size on top.
    pub packets: u32,
}

impl Default for Restriction {
    fn default() -> Self {
        Self { coefficient: 1.5, packets: 5 }
    }
}

impl RoutingParams for Olm {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        in_transit::check("olm", topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        self.misrouting.vcs_needed()
    }
    fn proof(&self) -> Proof {
        self.misrouting.proof()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(InTransit::new(Credits::new(self, context), context).by(self.draw, self.misrouting))
    }
}

/// A largest occupancy, in phits, so that nothing is divided for every output that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Most {
    phits: u32,
}

impl Most {
    /// The most phits that are no larger a share of `capacity` than `share`.
    fn new(share: f64, capacity: u32) -> Self {
        let of = |phits: u32| f64::from(phits) / f64::from(capacity);
        // The product is rounded, and so may be one off.
        let phits = (share * f64::from(capacity)).min(f64::from(capacity)) as u32;
        let phits = if of(phits) > share { phits - 1 } else { phits + u32::from(of(phits + 1) <= share) };
        Self { phits }
    }
}

/// The trigger by credits.
pub(super) struct Credits {
    params: Olm,
    /// `packets` of the restriction in phits.
    margin: f64,
    global: std::ops::Range<u16>,
}

impl Credits {
    pub(super) fn new(params: &Olm, context: &RoutingContext) -> Self {
        let packets = params.restriction.map_or(0, |restriction| restriction.packets);
        Self {
            params: params.clone(),
            margin: f64::from(packets) * f64::from(context.packet_size),
            global: context.topology.class_ports(context.routers.first(), GLOBAL),
        }
    }

    /// True if the minimal global port is occupied so much more than the router's others that it may be left.
    #[inline(always)]
    fn stands_out(&self, view: &RouterView<'_>, minimal: Hop) -> bool {
        let Some(restriction) = self.params.restriction else { return true };
        if view.class(minimal.port) != GLOBAL || minimal.vc != 0 {
            return true;
        }
        // The router compares them once in a tick, whatever its rounds of allocation take.
        let occupancy = |port| if view.round() == 0 { view.occupancy(port, 0) } else { view.occupancy_before(port, 0) };
        let sum: u32 = self.global.clone().map(occupancy).sum();
        let mean = f64::from(sum) / self.global.len() as f64;
        f64::from(occupancy(minimal.port)) > restriction.coefficient * mean + self.margin
    }
}

impl Trigger for Credits {
    /// The largest occupancy of another output.
    type Reason = Most;

    fn fired_by(&self) -> Changes {
        // The fuller the minimal output, the fuller may be another.
        Changes::RISE
    }
    fn admitted_by(&self) -> Changes {
        Changes::FALL
    }
    fn compares_global_ports(&self) -> bool {
        self.params.restriction.is_some()
    }

    /// Half of the gap may be closed by the other output, and half by the minimal one: before either has done so, the
    /// other holds more than it may.
    #[inline]
    fn awaits(&self, view: &RouterView<'_>, head: &Candidate<'_>, most: Most, least: u32) -> Option<Awaited> {
        if self.params.restriction.is_some() {
            return None;
        }
        let fall_to = most.phits + least.saturating_sub(most.phits) / 2;
        let [own, other] =
            [view.class(head.minimal.port), head.other].map(|class| f64::from(view.capacity()[usize::from(class)]));
        // The occupancy of the minimal output at which one more is allowed than `fall_to`, less what may be rounded.
        let rise_to = f64::from(fall_to + 1) * own / (other * self.params.threshold);
        Some(Awaited { fall_to, rise_to: (rise_to - 1.0).max(0.0) as u32 })
    }

    #[inline(always)]
    fn fires(&self, view: &RouterView<'_>, head: &Candidate<'_>) -> Option<Most> {
        let Hop { port, vc, .. } = head.minimal;
        if view.takes(port, vc, head.packet.size.into()) {
            return None;
        }
        let fill = view.fill(port, vc);
        match fill >= self.params.minimum && self.stands_out(view, head.minimal) {
            true => Some(Most::new(self.params.threshold * fill, view.capacity()[usize::from(head.other)])),
            false => None,
        }
    }

    #[inline]
    fn admits(&self, _: &RouterView<'_>, _: &Candidate<'_>, most: Most, (_, occupancy): (Hop, u32)) -> bool {
        occupancy <= most.phits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_occupancy_is_the_last_whose_share_is_no_larger() {
        for capacity in [1, 3, 10, 32, 49, 256, 1000] {
            let share = |phits: u32| f64::from(phits) / f64::from(capacity);
            for minimal in 0..=capacity {
                for threshold in [0.0, 0.1, 0.3, 0.35, 1.0 / 3.0, 0.5, 0.7, 1.0, 2.5] {
                    let most = threshold * share(minimal);
                    let expected = (0..=capacity).rfind(|&phits| share(phits) <= most);
                    let found = Most::new(most, capacity).phits.min(capacity);
                    assert_eq!(Some(found), expected, "{threshold} x {minimal} of {capacity}");
                }
            }
        }
    }
}
