//! Fully adaptive minimal routing with an escape channel.

use super::{Routing, RoutingContext, RoutingParams, View};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Alternative, Proof, RouterView, Standing, Step, Wants};
use crate::packet::{HopState, Packet};
use crate::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Along which dimensions packets leave dimension order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ways {
    /// All of those in which they are not where they go.
    #[default]
    All,
    /// The lowest of these, so that they never do: dimension order, with an escape channel for those that it gives none
    /// other (what BookSim's `min_adapt` does: of several hops of one priority it keeps the first).
    Lowest,
}

/// Any minimal hop on a mesh or HyperX, with an escape channel (Duato, "A new theory of deadlock-free adaptive routing
/// in wormhole networks", IEEE TPDS 1993).
///
/// A head asks for the free virtual channels of all outputs on minimal ways at once, and takes what
/// `router.vc_allocator` gives it, in a stage of its own: `router.vc_allocation` is `"stage"` (or, with
/// `ways = "lowest"`, `"speculative"`) and the allocator `"separable_input_first"`, unless the scenario says otherwise.
/// Virtual channel 0 is the escape
/// channel, in dimension order: it comes after the others where the allocator knows priorities, and a packet that has
/// taken it stays in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinimalAdaptive {
    /// Along which dimensions it may go.
    pub ways: Ways,
}

impl RoutingParams for MinimalAdaptive {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        match topology.grid().is_some() && !topology.wraps() {
            true => Ok(()),
            false => Err(ScenarioError::new("kind", "\"minimal_adaptive\"", "needs a mesh or hyperx")),
        }
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        let mut needed = vec![2; topology.classes().len()];
        needed[0] = 1;
        (needed, "an adaptive one and one for escape".into())
    }

    fn proof(&self) -> Proof {
        Proof::Escape(Box::new(Rule { ways: self.ways }))
    }

    fn reads_buffers(&self) -> bool {
        false
    }

    fn alternatives(&self) -> bool {
        true
    }

    fn alternatives_of_one_output(&self) -> bool {
        self.ways == Ways::Lowest
    }

    fn build(&self, _: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule { ways: self.ways })
    }
}

struct Rule {
    ways: Ways,
}

impl Rule {
    /// The hops of a packet at router `at` that goes to another: first that of dimension order in the escape channel,
    /// then the others. `state` is what is known of the packet.
    fn hops(
        &self,
        topology: &dyn Topology,
        (at, to): (u32, u32),
        state: HopState,
        vcs: &[u8],
        mut see: impl FnMut(Hop),
    ) {
        let mut found = Vec::with_capacity(1);
        let mut along = |to: u32| {
            found.clear();
            topology.minimal_hops(at, to, Leg::ONLY, state, vcs, &mut found);
            found.first().map(|hop| (hop.port, vcs[usize::from(topology.port(at, hop.port).class)]))
        };
        if let Some((port, _)) = along(to) {
            see(Hop { port, vc: 0, vcs: 1 });
        }
        if state.came_by != 0 && state.came_in == 0 {
            return;
        }
        let mut stride = 1;
        for side in topology.grid().unwrap_or_default() {
            let (x, y) = (at / stride % side, to / stride % side);
            if x != y {
                // The router that differs from this one in this dimension alone.
                if let Some((port, count)) = along(at - x * stride + y * stride) {
                    see(Hop { port, vc: 1, vcs: count - 1 });
                }
                if self.ways == Ways::Lowest {
                    return;
                }
            }
            stride *= side;
        }
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { alternatives: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let mut escape = None;
        let ends = (view.router, packet.destination_router);
        self.hops(view.topology, ends, packet.hop_state(), view.at.vcs(), |hop| escape = escape.or(Some(hop)));
        escape
    }

    fn alternatives(&self, at: &RouterView<'_>, packet: &Packet, out: &mut Vec<Alternative>) {
        let ends = (at.router, packet.destination_router);
        self.hops(at.topology, ends, packet.hop_state(), at.vcs(), |hop| {
            out.push(Alternative { hop, after: hop.vc == 0 })
        });
    }
}

impl Adaptive for Rule {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, came, hops: leg_hops, .. } = packet;
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops };
        self.hops(topology, (at, to), state, vcs, |hop| out.push(Step { hop, memo: 0, escape: hop.vc == 0 }));
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.diameter()
    }

    fn stays_in_escape(&self) -> bool {
        true
    }

    fn counts_hops(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Hops;
    use crate::proof::escape;
    use crate::topology::{HyperX, Mesh, TopologyParams};

    #[test]
    fn a_packet_in_the_escape_channel_stays_there() {
        let mesh = Mesh { dims: vec![4, 4], endpoints_per_router: 1, faults: None }.build().unwrap();
        let seen = |ways, came_by, came_in| {
            let state = HopState { came_by, came_in, leg_hops: Hops(0) };
            let mut seen = Vec::new();
            // From (2, 1) to (0, 3): backwards along x, port 2, and forwards along y, port 3.
            Rule { ways }.hops(&*mesh, (6, 12), state, &[1, 3, 3], |hop| seen.push((hop.port, hop.vc, hop.vcs)));
            seen
        };
        let all = [(2, 0, 1), (2, 1, 2), (3, 1, 2)];
        assert_eq!([seen(Ways::All, 0, 0), seen(Ways::All, 1, 2)], [all.to_vec(), all.to_vec()]);
        assert_eq!(seen(Ways::Lowest, 1, 2), all[..2]);
        assert_eq!([seen(Ways::All, 1, 0), seen(Ways::Lowest, 1, 0)], [all[..1].to_vec(), all[..1].to_vec()]);
    }

    /// The same steps, with packets told apart by their hops, too.
    struct Counted(Rule);

    impl Adaptive for Counted {
        fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
            self.0.steps(topology, packet, vcs, out);
        }
        fn longest(&self, topology: &dyn Topology) -> u32 {
            self.0.longest(topology)
        }
    }

    #[test]
    fn a_proof_finds_the_same_without_counting_hops() {
        let mesh = Mesh { dims: vec![4, 3], endpoints_per_router: 1, faults: None }.build().unwrap();
        let cube = HyperX { dims: vec![3, 3], endpoints_per_router: 1, parallel: None, lengths: None, faults: None };
        let cube = cube.build().unwrap();
        for (topology, vcs) in [(&mesh, [1, 2, 3]), (&cube, [1, 3, 2])] {
            for ways in [Ways::All, Ways::Lowest] {
                let found = |mechanism: &dyn Adaptive| {
                    let report = escape::check_all(&**topology, mechanism, &vcs, None);
                    let escape = escape::check(&**topology, mechanism, &vcs, None).unwrap();
                    (report.map(|report| report.dependencies), escape.channels, escape.dependencies)
                };
                assert_eq!(found(&Rule { ways }), found(&Counted(Rule { ways })), "{ways:?}");
            }
        }
    }
}
