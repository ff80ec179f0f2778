//! Next-hop output queueing.

use super::{Lanes, Queueing, QueueingContext, QueueingParams};
use crate::engine::{NONE, Tick};
use crate::fabric::seams::routing::{Adaptive, Proof, Standing, Step, told_ahead};
use crate::packet::{HopState, Packet};
use crate::topology::{Hop, Leg, Peer, Port, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Next-hop output queueing (BookSim's `noq`). The virtual channels of a port are divided evenly among the outputs of
/// its router, and a packet takes a channel of its next output's share. Routing must be minimal and known in advance:
/// `minimal` or `dimension_order`.
///
/// As with `voqsw`, a packet never waits behind a packet for another output, but no virtual channel is divided. The
/// divided channels are those that the packet may take at the router's output. So the two halves for a dateline are
/// divided separately. A packet at its destination router may use all channels. Outputs are numbered in the order of
/// ports, endpoints' ports last. Remaining channels stay empty.
///
/// ```toml
/// [topology]
/// kind = "mesh"
/// dims = [4, 4]
///
/// [router.links.default]
/// vcs = 8
/// buffer = 8
///
/// [router.links.endpoint]
/// vcs = 8
/// buffer = 8
///
/// [queueing]
/// kind = "noq"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Noq {}

impl QueueingParams for Noq {
    fn looks_ahead(&self) -> bool {
        true
    }

    fn proof(&self) -> Option<Proof> {
        Some(Proof::Steps(Box::new(Followed)))
    }

    fn build(&self, context: &QueueingContext) -> Box<dyn Queueing> {
        Box::new(Rule { vcs: context.vcs.clone(), ticks_per_cycle: context.ticks_per_cycle })
    }
}

struct Rule {
    /// Virtual channels per link class.
    vcs: Vec<u8>,
    /// Ticks of a cycle.
    ticks_per_cycle: Tick,
}

/// The share of output `port` of `router` in the `count` channels from `first` on. Endpoints' ports follow all others
/// (as in BookSim's grids). If there are too few channels, the share is all of them.
fn share(topology: &dyn Topology, router: u32, port: u16, (first, count): (u8, u8)) -> Lanes {
    let (ports, ends) = (topology.ports(router), topology.class_ports(router, 0));
    let place = match port {
        port if port < ends.start => port,
        port if port < ends.end => ports - ends.len() as u16 + port - ends.start,
        port => port - ends.len() as u16,
    };
    match u16::from(count) / ports {
        0 => Lanes { first: first.into(), count: count.into() },
        each => Lanes { first: u16::from(first) + place * each, count: each },
    }
}

/// The part of a range of `there` channels of the next link, converted to the `here` channels of this link. Link
/// classes may have different numbers of channels.
fn part((first, count): (u8, u8), there: u8, here: u8) -> (u8, u8) {
    let place = |channel: u16| (channel * u16::from(here) / u16::from(there.max(1))) as u8;
    let from = place(first.into()).min(here.saturating_sub(1));
    (from, (place(u16::from(first) + u16::from(count)) - from).max(1))
}

/// The state of a packet after a hop over a link of `class`, in a channel of a range from `vc` on.
fn moved(state: HopState, class: u8, vc: u8) -> HopState {
    let mut leg_hops = state.leg_hops;
    leg_hops.add(class);
    HopState { came_by: class, came_in: vc, leg_hops }
}

impl Queueing for Rule {
    fn select(&self, _: &dyn Topology, _: u32, _: &Packet, hop: Hop) -> Lanes {
        hop.into()
    }

    fn ahead(&self, topology: &dyn Topology, router: u32, packet: &Packet, hop: Hop) -> Lanes {
        let Port { class, peer } = topology.port(router, hop.port);
        let all = (0, self.vcs[usize::from(class)]);
        match peer {
            // It leaves in channels of the share in which it came, unless it was injected here.
            Peer::Endpoint(_) if packet.came_by != 0 => share(topology, router, hop.port, (hop.vc, hop.vcs)),
            Peer::Endpoint(_) | Peer::None => hop.into(),
            Peer::Router { router: next, .. } if next == packet.destination_router => {
                share(topology, next, packet.ejection_port, all)
            }
            Peer::Router { router: next, .. } => {
                let state = moved(packet.hop_state(), class, hop.vc);
                let after = told_ahead(topology, (next, self.ticks_per_cycle), packet, state, &self.vcs);
                let there = self.vcs[usize::from(topology.port(next, after.port).class)];
                share(topology, next, after.port, part((after.vc, after.vcs), there, all.1))
            }
        }
    }

    fn enters(&self, topology: &dyn Topology, router: u32, packet: &Packet) -> Lanes {
        let port = match packet.destination_router == router {
            true => packet.ejection_port,
            false => told_ahead(topology, (router, self.ticks_per_cycle), packet, packet.hop_state(), &self.vcs).port,
        };
        share(topology, router, port, (0, self.vcs[0]))
    }
}

/// Minimal hops in the channels of [`Rule`], for a proof to follow.
struct Followed;

impl Followed {
    fn hops(topology: &dyn Topology, (at, to): (u32, u32), state: HopState, vcs: &[u8]) -> Vec<Hop> {
        let mut hops = Vec::new();
        topology.minimal_hops(at, to, Leg::ONLY, state, vcs, &mut hops);
        hops
    }
}

impl Adaptive for Followed {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let &Standing { at, to, came, hops, .. } = packet;
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops: hops };
        let mut step = |port: u16, lanes: Lanes| {
            let hop = Hop { port, vc: lanes.first as u8, vcs: lanes.count as u8 };
            out.push(Step { hop, memo: 0, escape: true });
        };
        for hop in Self::hops(topology, (at, to), state, vcs) {
            let Port { class, peer } = topology.port(at, hop.port);
            let next = if let Peer::Router { router, .. } = peer { router } else { NONE };
            if next == to {
                // To any of its endpoints.
                let ejections = (0..topology.ports(next)).filter(|port| topology.port(next, *port).class == 0);
                ejections.for_each(|port| step(hop.port, share(topology, next, port, (0, vcs[usize::from(class)]))));
                continue;
            }
            for after in Self::hops(topology, (next, to), moved(state, class, hop.vc), vcs) {
                let [here, there] = [class, topology.port(next, after.port).class].map(|class| vcs[usize::from(class)]);
                step(hop.port, share(topology, next, after.port, part((after.vc, after.vcs), there, here)));
            }
        }
    }

    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.diameter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{TopologyParams, Torus};

    /// A ring of eight; ports: endpoint, forwards, backwards.
    fn ring() -> std::sync::Arc<dyn Topology> {
        Torus { dims: vec![8], endpoints_per_router: 1, faults: None }.build().unwrap()
    }

    fn packet(from: u32, to: u32) -> Packet {
        Packet { destination_router: to, ..Packet::new(from, to) }
    }

    #[test]
    fn the_share_is_that_of_the_output_at_the_next_router() {
        let (ring, rule) = (ring(), Rule { vcs: vec![6, 12], ticks_per_cycle: 1 });
        let ahead = |from, to, port, vc| {
            let Lanes { first, count } = rule.ahead(&*ring, from, &packet(from, to), Hop { port, vc, vcs: 6 });
            (first, count)
        };
        // Forwards in the lower half, two channels for each output: onward, or any of the twelve.
        assert_eq!([ahead(0, 2, 1, 0), ahead(0, 1, 1, 0)], [(0, 2), (8, 4)]);
        // Over the wraparound link in the upper half. Backwards, not over it: in the upper half, too.
        assert_eq!([ahead(7, 1, 1, 6), ahead(4, 2, 2, 6)], [(6, 2), (8, 2)]);
    }

    #[test]
    fn a_packet_that_comes_in_or_goes_out_is_in_the_share_of_its_output() {
        let (ring, rule) = (ring(), Rule { vcs: vec![6, 12], ticks_per_cycle: 1 });
        let enters = |to| rule.enters(&*ring, 3, &packet(3, to)).first;
        assert_eq!([3, 5, 1].map(enters), [4, 0, 2]);
        let out = Hop { port: 0, vc: 0, vcs: 6 };
        let arrived = Packet { came_by: 1, ..packet(1, 3) };
        assert_eq!(rule.ahead(&*ring, 3, &arrived, out), Lanes { first: 4, count: 2 });
        // A packet from an endpoint of this router leaves in any channel.
        assert_eq!(rule.ahead(&*ring, 3, &packet(3, 3), out), out.into());
    }

    #[test]
    fn what_is_told_ahead_is_what_happens() {
        let ring = ring();
        for birth in 0..50 {
            // Half a ring: either direction.
            let packet = Packet { birth, ..packet(0, 4) };
            let told = || told_ahead(&*ring, (0, 1), &packet, packet.hop_state(), &[6, 12]);
            assert_eq!(told(), told());
        }
    }
}
