//! Contention counters on meshes, tori and HyperX (Fuentes et al., IPDPS 2015, section VI-D).

use super::base::{Base, Contention};
use super::crossing::Alone;
use super::{CONTENTION, Comparison, Threshold};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Changes, Proof, Standing, Step};
use crate::measure::Observable;
use crate::packet::{MISROUTED_LOCALLY, Packet};
use crate::routing::in_transit::{DIRECT, Trigger};
use crate::routing::{RouterView, Routing, RoutingContext, RoutingParams, See, Site, View, Wants};
use crate::topology::{Hop, HopState, Hops, Peer, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which outputs a packet may take instead of its dimension-order output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Alternatives {
    /// Any other output on a minimal path, in the last virtual channel of each link; dimension order, in the others, is
    /// the escape.
    #[default]
    Minimal,
    /// Any other router of the same line of a HyperX (flattened butterfly), once per dimension, in virtual channel 0;
    /// then directly, in channel 1.
    Nonminimal,
}

/// Dimension order that a packet leaves when too many heads want its next output, for an output that few want:
/// contention counters on a mesh, torus or HyperX (Fuentes et al., IPDPS 2015, section VI-D, which leaves it open).
///
/// A HyperX needs 2 virtual channels.
///
/// ```toml
/// [topology]
/// kind = "hyperx"
/// dims = [4, 4]
///
/// [routing]
/// kind = "contention_grid"
/// threshold = 4
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Grid {
    /// Heads that an output may have waiting for it before packets leave it.
    pub threshold: Threshold,
    /// Whether the threshold itself triggers.
    pub comparison: Comparison,
    /// Where packets go instead.
    pub alternatives: Alternatives,
}

impl RoutingParams for Grid {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        let Some(sides) = topology.grid() else {
            let expected = "needs a topology with dimensions: mesh, torus or hyperx";
            return Err(ScenarioError::new("kind", "\"contention_grid\"", expected));
        };
        // In a HyperX, and in no other grid but the smallest, one hop crosses a dimension.
        let direct = topology.diameter() as usize == sides.len() && !topology.wraps();
        match self.alternatives == Alternatives::Minimal || direct {
            true => Ok(()),
            false => Err(ScenarioError::new("alternatives", "\"nonminimal\"", "needs topology.kind = \"hyperx\"")),
        }
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        let (mut needed, reason) = topology.vcs_needed(DIRECT);
        needed.iter_mut().skip(1).for_each(|vcs| *vcs += 1);
        let more = match self.alternatives {
            Alternatives::Minimal => "and one for adaptive hops",
            Alternatives::Nonminimal => "and one for nonminimal hops",
        };
        (needed, format!("{reason} {more}"))
    }
    fn proof(&self) -> Proof {
        Proof::Escape(Box::new(AnyCounters(self.alternatives)))
    }
    fn observables(&self) -> &'static [Observable] {
        &[CONTENTION]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let base = Base { threshold: self.threshold, comparison: self.comparison, ..Base::default() };
        Box::new(Rule {
            ways: Ways::new(self.alternatives, &context.vcs),
            contention: Contention::new(&base, context),
            found: Vec::new(),
        })
    }
}

/// The ways that packets have.
#[derive(Debug, Clone)]
struct Ways {
    alternatives: Alternatives,
    /// Virtual channels per link class, and the escape channels among them.
    vcs: Vec<u8>,
    escape: Vec<u8>,
}

impl Ways {
    fn new(alternatives: Alternatives, vcs: &[u8]) -> Self {
        let escape = vcs.iter().map(|vcs| vcs.saturating_sub(1).max(1)).collect();
        Self { alternatives, vcs: vcs.to_vec(), escape }
    }

    /// The dimension-order hops of a packet, with the channels of the escape.
    fn dimension_order(&self, packet: &Place<'_>, out: &mut Vec<Hop>) {
        let &Place { topology, at, to, came: (came_by, came_in) } = packet;
        let mut leg_hops = Hops::default();
        // A packet from an adaptive channel enters the dimension for the first time.
        let came_by = if came_in >= self.escape[usize::from(came_by)] { 0 } else { came_by };
        leg_hops.add(came_by);
        topology.minimal_hops(at, to, DIRECT, HopState { came_by, came_in, leg_hops }, &self.escape, out);
        if self.alternatives == Alternatives::Nonminimal {
            let class = |hop: &Hop| usize::from(topology.port(at, hop.port).class);
            out.iter_mut().for_each(|hop| (hop.vc, hop.vcs) = (1, self.vcs[class(hop)] - 1));
        }
    }

    /// Calls `see` with all hops that a packet may take instead of `first`, its dimension-order hop.
    fn others(&self, packet: &Place<'_>, first: Hop, mut see: impl FnMut(Hop)) {
        let &Place { topology, at, came, .. } = packet;
        let class = |port| topology.port(at, port).class;
        match self.alternatives {
            Alternatives::Nonminimal => {
                let dimension = class(first.port);
                if came == (dimension, 0) {
                    return;
                }
                let others = topology.class_ports(at, dimension).filter(|&port| !packet.comes_nearer(port));
                others.for_each(|port| see(Hop { port, vc: 0, vcs: 1 }));
            }
            Alternatives::Minimal => {
                let others = (0..topology.ports(at)).filter(|&port| port != first.port);
                for port in others.filter(|&port| packet.comes_nearer(port)) {
                    see(Hop { port, vc: self.vcs[usize::from(class(port))] - 1, vcs: 1 });
                }
            }
        }
    }
}

/// Where a packet stands.
struct Place<'t> {
    topology: &'t dyn Topology,
    /// This router.
    at: u32,
    /// The destination's router.
    to: u32,
    /// Class and channel by which it came.
    came: (u8, u8),
}

impl<'t> Place<'t> {
    fn of(packet: &Packet, view: &RouterView<'t>) -> Self {
        let came = (packet.came_by, packet.came_in);
        Self { topology: view.topology, at: view.router, to: packet.destination_router, came }
    }

    /// True if `port` leads to a router nearer to the destination.
    fn comes_nearer(&self, port: u16) -> bool {
        let distance = |from| self.topology.distance(from, self.to);
        match self.topology.port(self.at, port).peer {
            Peer::Router { router, .. } => distance(router) < distance(self.at),
            _ => false,
        }
    }
}

/// The steps for a proof, which hold for any counters.
struct AnyCounters(Alternatives);

impl Adaptive for AnyCounters {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let Standing { at, to, came, .. } = *packet;
        let ways = Ways::new(self.0, vcs);
        let place = Place { topology, at, to, came };
        let mut escapes = Vec::new();
        ways.dimension_order(&place, &mut escapes);
        for hop in escapes {
            out.push(Step { hop, memo: 0, escape: true });
            ways.others(&place, hop, |hop| out.push(Step { hop, memo: 0, escape: false }));
        }
    }
    fn longest(&self, topology: &dyn Topology) -> u32 {
        match self.0 {
            Alternatives::Minimal => topology.diameter(),
            Alternatives::Nonminimal => 2 * topology.diameter(),
        }
    }
}

struct Rule {
    ways: Ways,
    contention: Contention<Alone>,
    /// Hops found for one head.
    found: Vec<Hop>,
}

impl Rule {
    /// The dimension-order hop of the packet here, the same whenever it is asked for.
    fn dimension_order(&mut self, view: &RouterView<'_>, packet: &Packet) -> Hop {
        self.found.clear();
        self.ways.dimension_order(&Place::of(packet, view), &mut self.found);
        match self.found[..] {
            [only] => only,
            _ => self.found[view.rng_of(packet).below(self.found.len() as u32) as usize],
        }
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { redecide: true, heads: true, departures: true, ..Wants::default() }
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        packet.scratch = 0;
        let first = self.dimension_order(view, packet);
        view.watch_chosen_for(Changes::ANNOUNCED);
        if !self.contention.is_contended(view, first.port) {
            return Some(first);
        }
        let (found, contention) = (&mut self.found, &self.contention);
        found.clear();
        self.ways.others(&Place::of(packet, view), first, |hop| {
            let (ports, vcs) = (hop.port..hop.port + 1, hop.vc..hop.vc + 1);
            match view.takes(hop.port, hop.vc, packet.size.into()) {
                _ if !contention.is_calm(view, hop.port) => view.watch_for(Changes::ANNOUNCED, ports, vcs),
                true => found.push(hop),
                false => view.watch_for(Changes::ROOM, ports, vcs),
            }
        });
        if found.is_empty() {
            return Some(first);
        }
        packet.scratch = 1;
        Some(found[view.rng.below(found.len() as u32) as usize])
    }

    fn departs(&mut self, _: &RouterView<'_>, _: u16, _: u16, _: Hop, packet: &mut Packet) {
        if packet.scratch == 1 && self.ways.alternatives == Alternatives::Nonminimal {
            packet.misrouted |= MISROUTED_LOCALLY;
        }
    }

    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let wanted = match packet.destination_router == at.router {
            true => packet.ejection_port,
            false => self.dimension_order(at, packet).port,
        };
        self.contention.count(at, port, queue, wanted);
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        self.contention.tail_left(at, port, queue);
    }

    fn observe(&self, router: u32, _: Tick, see: See<'_>) {
        self.contention.observe(router, see);
    }
}
