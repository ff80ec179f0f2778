//! Fully adaptive minimal routing with an escape channel.

use super::{Routing, RoutingContext, RoutingParams, View};
use crate::engine::Memory;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Alternative, Proof, RouterView, Standing, Step, Wants};
use crate::packet::{HopState, Hops, Packet};
use crate::topology::{Hop, Leg, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Along which dimensions packets leave dimension order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ways {
    /// All dimensions in which the packet is not at its destination.
    #[default]
    All,
    /// The lowest such dimension. This is dimension order, with an escape channel for packets that get no other
    /// channel. BookSim's `min_adapt` does this: of several hops with equal priority, it keeps the first.
    Lowest,
}

/// Any minimal hop on a mesh or HyperX, with an escape channel (Duato, "A new theory of deadlock-free adaptive routing
/// in wormhole networks", IEEE TPDS 1993).
///
/// A head requests the free virtual channels of all outputs on minimal paths at once, in a stage of its own, and takes
/// the channel that `router.vc_allocator` grants. By default, `router.vc_allocation` is `"stage"` (or, with `ways =
/// "lowest"`, `"speculative"`) and the allocator is `"separable_input_first"`. Virtual channel 0 is the escape channel,
/// in dimension order. If the allocator knows priorities, the escape channel comes last. A packet that has taken it
/// stays in it.
///
/// It needs 2 virtual channels: an adaptive one and the escape channel.
///
/// ```toml
/// [topology]
/// kind = "mesh"
/// dims = [4, 4]
///
/// [routing]
/// kind = "minimal_adaptive"
/// ```
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
        Proof::Escape(Box::new(Followed(self.ways)))
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

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let topology = &*context.topology;
        let line = |(d, &side): (usize, &u32)| {
            let pairs = (0..side).flat_map(|x| (0..side).map(move |y| (x, y)));
            let link = |(x, y)| if x == y { Link::default() } else { Link::between(topology, d, (x, y), &context.vcs) };
            Line { side, links: pairs.map(link).collect() }
        };
        let lines = topology.grid().unwrap_or_default().iter().enumerate().map(line).collect();
        Box::new(Rule { ways: self.ways, lines })
    }
}

/// A link along a dimension.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    port: u16,
    /// Virtual channels.
    vcs: u8,
}

impl Link {
    /// The first link from position `x` towards position `y` along dimension `d`: the same all over the network.
    fn between(topology: &dyn Topology, d: usize, (x, y): (u32, u32), vcs: &[u8]) -> Self {
        let stride: u32 = topology.grid().unwrap_or_default()[..d].iter().product();
        let state = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
        let mut found = Vec::with_capacity(1);
        topology.minimal_hops(x * stride, y * stride, Leg::ONLY, state, vcs, &mut found);
        let port = found.first().map_or(0, |hop| hop.port);
        Self { port, vcs: vcs[usize::from(topology.port(x * stride, port).class)] }
    }
}

impl Ways {
    /// The hops of a packet from router `at` of a grid to another router. The hop of dimension order in the escape
    /// channel comes first. `link` gives the link between two positions along a dimension.
    #[inline]
    fn hops(
        self,
        sides: impl Iterator<Item = u32>,
        (mut at, mut to): (u32, u32),
        state: HopState,
        link: impl Fn(usize, (u32, u32)) -> Link,
        mut see: impl FnMut(Hop),
    ) {
        let mut lowest = true;
        for (d, side) in sides.enumerate() {
            let (x, y) = (at % side, to % side);
            (at, to) = (at / side, to / side);
            if x == y {
                continue;
            }
            let Link { port, vcs } = link(d, (x, y));
            if lowest {
                see(Hop { port, vc: 0, vcs: 1 });
                if state.came_by != 0 && state.came_in == 0 {
                    return;
                }
            }
            see(Hop { port, vc: 1, vcs: vcs - 1 });
            if self == Self::Lowest {
                return;
            }
            lowest = false;
        }
    }
}

struct Rule {
    ways: Ways,
    /// By dimension.
    lines: Vec<Line>,
}

/// The links along a dimension.
struct Line {
    side: u32,
    /// By position and the position that they lead towards.
    links: Vec<Link>,
}

impl Rule {
    /// The hops of `packet`.
    #[inline]
    fn hops(&self, at: &RouterView<'_>, packet: &Packet, see: impl FnMut(Hop)) {
        let link = |d: usize, (x, y): (u32, u32)| {
            let Line { side, links } = &self.lines[d];
            links[(x * side + y) as usize]
        };
        let sides = self.lines.iter().map(|line| line.side);
        self.ways.hops(sides, (at.router, packet.destination_router), packet.hop_state(), link, see);
    }
}

impl Routing for Rule {
    fn remember(&self, _memory: &mut Memory) {}

    fn wants(&self) -> Wants {
        Wants { alternatives: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let mut escape = None;
        self.hops(view, packet, |hop| escape = escape.or(Some(hop)));
        escape
    }

    fn alternatives(&self, at: &RouterView<'_>, packet: &Packet, out: &mut Vec<Alternative>) {
        self.hops(at, packet, |hop| out.push(Alternative { hop, after: hop.vc == 0 }));
    }
}

/// Packets as a proof follows them: any channel may be free.
struct Followed(Ways);

impl Adaptive for Followed {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, came, hops: leg_hops, .. } = packet;
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops };
        let sides = topology.grid().unwrap_or_default().iter().copied();
        let link = |d, ends| Link::between(topology, d, ends, vcs);
        self.0.hops(sides, (at, to), state, link, |hop| out.push(Step { hop, memo: 0, escape: hop.vc == 0 }));
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
    use crate::proof::escape;
    use crate::topology::{HyperX, Mesh, Peer, TopologyParams};

    #[test]
    fn a_packet_in_the_escape_channel_stays_there() {
        let mesh = Mesh { dims: vec![4, 4], endpoints_per_router: 1, faults: None }.build().unwrap();
        let seen = |ways: Ways, came_by, came_in| {
            let state = HopState { came_by, came_in, leg_hops: Hops(0) };
            let mut seen = Vec::new();
            // From (2, 1) to (0, 3): backwards along x, port 2, and forwards along y, port 3.
            let link = |d, ends| Link::between(&*mesh, d, ends, &[1, 3, 3]);
            ways.hops([4, 4].into_iter(), (6, 12), state, link, |hop| seen.push((hop.port, hop.vc, hop.vcs)));
            seen
        };
        let all = [(2, 0, 1), (2, 1, 2), (3, 1, 2)];
        assert_eq!([seen(Ways::All, 0, 0), seen(Ways::All, 1, 2)], [all.to_vec(), all.to_vec()]);
        assert_eq!(seen(Ways::Lowest, 1, 2), all[..2]);
        assert_eq!([seen(Ways::All, 1, 0), seen(Ways::Lowest, 1, 0)], [all[..1].to_vec(), all[..1].to_vec()]);
    }

    #[test]
    fn the_escape_is_the_dimension_order_of_the_topology() {
        let mesh = Mesh { dims: vec![4, 2, 3], endpoints_per_router: 2, faults: None }.build().unwrap();
        let cube = HyperX { dims: vec![4, 2, 3], endpoints_per_router: 1, parallel: None, lengths: None, faults: None };
        for topology in [mesh, cube.build().unwrap()] {
            let vcs = vec![3; topology.classes().len()];
            let state = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };
            for (at, to) in (0..24).flat_map(|at| (0..24).map(move |to| (at, to))).filter(|(at, to)| at != to) {
                let (mut seen, mut minimal) = (Vec::new(), Vec::new());
                let link = |d, ends| Link::between(&*topology, d, ends, &vcs);
                Ways::All.hops([4, 2, 3].into_iter(), (at, to), state, link, |hop| seen.push(hop.port));
                topology.minimal_hops(at, to, Leg::ONLY, state, &vcs, &mut minimal);
                assert_eq!(seen[0], minimal[0].port, "{at} to {to}");
                for &port in &seen {
                    let next = match topology.port(at, port).peer {
                        Peer::Router { router, .. } => router,
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(topology.distance(next, to) + 1, topology.distance(at, to), "{at} to {to} over {port}");
                }
            }
        }
    }

    /// The same steps, with packets told apart by their hops, too.
    struct Counted(Followed);

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
                assert_eq!(found(&Followed(ways)), found(&Counted(Followed(ways))), "{ways:?}");
            }
        }
    }
}
