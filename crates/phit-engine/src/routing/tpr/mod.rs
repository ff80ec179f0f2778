//! TPR: traffic-pattern-based adaptive routing (Faizian, Rahman, Mollah, Yuan, Pakin and Lang, HOTI 2016).

mod regions;
mod windows;

use super::source_adaptive::{Candidates, Cost, MOST_CANDIDATES, Queue, Route, Sight, draw, hop, take};
use super::ugal::{prefers_minimal, proof, routes};
use super::valiant::{SecondHalf, Stop, Via, check_stop};
use super::{Injection, RouterView, Routing, RoutingContext, RoutingParams, See, View, Wants};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::Proof;
use crate::measure::Observable;
use crate::packet::Packet;
use crate::topology::{Hop, Routers, Topology};
use regions::{Mechanism, Regions, TABLE_III};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) use regions::Table;
pub(super) use windows::{WindowKind, Windows};

/// The destinations for which packets of a router's own endpoints are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Destinations {
    /// Their number for each destination router.
    #[default]
    Router,
    /// Their number for each destination group, and for each router of the own group (section III-A).
    Group,
}

/// Source routing that infers the traffic pattern from two kinds of counters and biases UGAL-L accordingly (TPR;
/// Faizian et al., HOTI 2016).
///
/// Each router keeps two kinds of counters over a window of `window` cycles: packets that its endpoints have sent to
/// each destination router, and packets from other routers that it has forwarded over each port. For a packet, the
/// *local impact* is the counter of its destination per cycle, and the *global impact* that of its minimal port. Two
/// thresholds each distinguish benign, mixed and adversarial traffic, which gives nine regions. In a region, packets go
/// minimally, by UGAL-L with an offset of the region, or by Valiant routes. A packet is counted when it leaves its
/// input queue, which is too late for its own decision.
///
/// One group of a Cascade needs 4 virtual channels, two for each leg of a Valiant route.
///
/// ```toml
/// [topology]
/// kind = "cascade"
/// rows = 3
/// columns = 4
///
/// [routing]
/// kind = "tpr"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tpr {
    /// Whether Valiant routes visit a router or a group.
    pub via: Via,
    /// Where their intermediate routers (or groups) may be.
    pub stop: Stop,
    /// How queues are measured.
    pub queue: Queue,
    /// Random minimal routes of which the cheaper is considered.
    #[schemars(range(min = 1, max = MOST_CANDIDATES))]
    pub minimal_candidates: u8,
    /// Random Valiant routes of which the cheaper is considered.
    #[schemars(range(min = 1, max = MOST_CANDIDATES))]
    pub valiant_candidates: u8,
    /// The destinations that the counters of sent packets distinguish.
    pub destinations: Destinations,
    /// Length of the counters' window in cycles, at least 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub window: u32,
    /// Whether windows slide or follow one another.
    pub window_kind: WindowKind,
    /// Local impact, in packets per cycle, below which local traffic is benign (the paper's low_l).
    #[schemars(range(min = 0))]
    pub local_low: f64,
    /// Local impact above which local traffic is adversarial (high_l).
    pub local_high: f64,
    /// Global impact, in packets per cycle, below which global traffic is benign (low_g).
    #[schemars(range(min = 0))]
    pub global_low: f64,
    /// Global impact above which global traffic is adversarial (high_g).
    pub global_high: f64,
    /// Sum of both impacts below which packets of a region with `minimal_or` go minimally (the paper gives no value).
    #[schemars(range(min = 0))]
    pub thr: f64,
    /// The actions of the regions: rows for benign, mixed and adversarial global traffic, columns for local traffic. A
    /// number is the offset T of UGAL-L, in packets of the largest size. `{ minimal_or = T }` goes minimally below
    /// `thr`. `"minimal"` and `"valiant"` take the cheapest route of that kind, a Valiant one by its queue alone.
    pub regions: Table,
}

impl Default for Tpr {
    fn default() -> Self {
        Self {
            via: Via::default(),
            stop: Stop::default(),
            queue: Queue::Port,
            minimal_candidates: 2,
            valiant_candidates: 2,
            destinations: Destinations::default(),
            window: 128,
            window_kind: WindowKind::default(),
            local_low: 0.8,
            local_high: 4.0,
            global_low: 0.33,
            global_high: 0.6,
            thr: 1.0,
            regions: TABLE_III,
        }
    }
}

impl Tpr {
    fn regions(&self) -> Regions {
        Regions {
            local: (self.local_low, self.local_high),
            global: (self.global_low, self.global_high),
            thr: self.thr,
            table: self.regions,
        }
    }
}

/// The observable of sent packets.
const SENT: Observable = Observable {
    name: "sent",
    words: "counter of sent packets",
    unit: "packets in a window",
    about: "Packets that the endpoints of a router sent to a destination within the window, for each destination.",
};

/// Observable: the packets that pass through a router on their way.
const THROUGH: Observable = Observable {
    name: "through",
    words: "counter of through packets",
    unit: "packets in a window",
    about: "Packets from other routers that a router sent on over a port within the window, for each port to a router.",
};

impl RoutingParams for Tpr {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.regions().check()?;
        routes(self.via).check(topology)?;
        check_stop(topology, self.via, self.stop)?;
        let counters = counters(topology, self.destinations);
        match u16::try_from(counters) {
            Ok(_) => Ok(()),
            Err(_) => {
                let expected = format!("a router would have {counters} counters; expected at most {}", u16::MAX);
                Err(ScenarioError::new("destinations", format!("{:?}", self.destinations).to_lowercase(), expected))
            }
        }
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        routes(self.via).vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        proof(self.via)
    }
    fn observables(&self) -> &'static [Observable] {
        &[SENT, THROUGH]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let length = self.window * context.ticks_per_cycle;
        let things = counters(&*context.topology, self.destinations);
        Box::new(Rule {
            candidates: Candidates {
                via: self.via,
                stop: self.stop,
                minimal: self.minimal_candidates,
                valiant: self.valiant_candidates,
                sight: Sight::Local(self.queue),
            },
            regions: self.regions(),
            window: f64::from(self.window),
            packet: context.packet_size.into(),
            counted: Counted {
                windows: Windows::new(self.window_kind, length, context.routers.len(), things),
                routers: context.routers.clone(),
                by: self.destinations,
                sent: things - most_ports(&*context.topology),
                topology: context.topology.clone(),
            },
        })
    }
}

fn most_ports(topology: &dyn Topology) -> usize {
    (0..topology.routers()).map(|router| topology.ports(router)).max().unwrap_or(0).into()
}

/// Counters of a router: of sent packets, then of ports.
fn counters(topology: &dyn Topology, destinations: Destinations) -> usize {
    let sent = match destinations {
        Destinations::Router => topology.routers() as usize,
        Destinations::Group => topology.groups() as usize + topology.group_routers(0).len(),
    };
    sent + most_ports(topology)
}

/// The counters of a partition's routers (section III-A): `DestC` and `Port_thr`.
struct Counted {
    windows: Windows,
    /// The partition's routers.
    routers: Routers,
    by: Destinations,
    /// Counters of sent packets in each router, which precede those of ports.
    sent: usize,
    topology: Arc<dyn Topology>,
}

impl Counted {
    /// The counter of packets that `router` has sent to router `to`.
    fn destination(&self, router: u32, to: u32) -> usize {
        let topology = &*self.topology;
        match self.by {
            Destinations::Router => to as usize,
            Destinations::Group => match (topology.group_of(router), topology.group_of(to)) {
                (here, there) if here == there => {
                    (topology.groups() + to - topology.group_routers(here).start) as usize
                }
                (_, there) => there as usize,
            },
        }
    }

    /// The packet, at the front of its input queue, leaves `at` over output `port`.
    fn leaves(&mut self, at: &RouterView<'_>, port: u16, packet: &Packet) {
        let thing = match packet.came_by {
            0 => self.destination(at.router, packet.destination_router),
            _ => self.sent + usize::from(port),
        };
        self.windows.count(self.routers.place(at.router), thing, at.now);
    }

    /// `DestC` of the packet's destination and `Port_thr` of an output port.
    fn of(&mut self, at: &RouterView<'_>, port: u16, packet: &Packet) -> (u32, u32) {
        let (router, destination) =
            (self.routers.place(at.router), self.destination(at.router, packet.destination_router));
        let sent = self.windows.of(router, destination, at.now);
        (sent, self.windows.of(router, self.sent + usize::from(port), at.now))
    }
}

struct Rule {
    candidates: Candidates,
    regions: Regions,
    /// Cycles.
    window: f64,
    /// Phits of the largest packet.
    packet: i64,
    counted: Counted,
}

impl Rule {
    /// The routing decision at the source router (section III-D).
    fn decide(&mut self, view: &RouterView<'_>, packet: &Packet) -> Route {
        let minimal = self.candidates.minimal(view, packet, Cost::QueueHops);
        let (sent, through) = self.counted.of(view, minimal.first.port, packet);
        let (local, global) = (f64::from(sent) / self.window, f64::from(through) / self.window);
        match self.regions.mechanism(local, global) {
            Mechanism::Minimal => minimal,
            Mechanism::Valiant => self.candidates.valiant(view, packet, Cost::Queue),
            Mechanism::Ugal(offset) => {
                let valiant = self.candidates.valiant(view, packet, Cost::QueueHops);
                let threshold = i64::from(offset) * self.packet;
                if prefers_minimal(&minimal, &valiant, Cost::QueueHops, threshold) { minimal } else { valiant }
            }
        }
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { departures: true, ..Wants::default() }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        draw(at, packet, self.candidates.via, self.candidates.stop);
    }

    fn route(&mut self, view: &mut View<'_>, _: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.came_by == 0 {
            let route = self.decide(view, packet);
            take(view, packet, &route);
        }
        Some(hop(view, packet, self.candidates.via, SecondHalf::Above))
    }

    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        self.counted.leaves(at, hop.port, packet);
    }

    /// `sent`: to each destination; `through`: over each port that leads to another router.
    fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        let counted = &self.counted;
        let counts = counted.windows.all(counted.routers.place(router), now);
        let (sent, through) = counts.split_at(counted.sent);
        sent.iter().zip(0..).for_each(|(&count, to)| see(&SENT, Some(to), count));
        for port in (0..counted.topology.ports(router)).filter(|&port| counted.topology.port(router, port).class > 0) {
            see(&THROUGH, Some(port), through[usize::from(port)]);
        }
    }
}

#[cfg(test)]
mod tests;
