//! PB: piggyback routing (Jiang, Kim and Dally, ISCA 2009).

use super::by_queue::ByQueue;
use super::group_links::GroupLinks;
use super::hop_count::{Counted, HopCount};
use super::in_transit::{self, GLOBAL};
use super::source_adaptive::{self, Cost, Queue, Route, Sight, choose, draw, minimal};
use super::ugal::prefers_minimal;
use super::valiant::{self, SecondHalf, Stop, Via, next_routes};
use super::{Injection, Payload, Routing, RoutingContext, RoutingParams, See, Site, View, Wants};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::queueing::{Place, Widening};
use crate::fabric::seams::routing::{Changes, Legs, Proof, RouterView, advance_leg};
use crate::measure::Observable;
use crate::packet::{GROUP, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, RouteTable, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// Source routing by the queues of the source router and by flags that all routers of a group share (Jiang, Kim and
/// Dally, ISCA 2009; Fuentes et al., IPDPS 2015, section IV-A).
///
/// A packet takes a Valiant route if its minimal global link is flagged as saturated, or if UGAL's inequality says so.
/// A router flags a global port whose queue holds more than `coefficient` times the mean of its global ports' queues,
/// plus `global_threshold` packets. The routers of its group learn of the flag after the latency of a local link. A
/// packet decides again as long as it waits in its injection queue. For a Dragonfly.
///
/// For routes through a router, a Dragonfly needs local virtual channels 0 to 3 and global ones 0 and 1.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [routing]
/// kind = "piggyback"
/// coefficient = 2.0
/// global_threshold = 3
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Piggyback {
    /// Intermediate destination of the Valiant route.
    pub via: Via,
    /// Packets to the source's group have the intermediate router in it, instead of leaving the group (FOGSim, versions
    /// 4 and 5).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub within: bool,
    /// Factor of the mean queue of a router's global ports.
    #[schemars(range(min = 0.0))]
    pub coefficient: f64,
    /// Packets of the largest size that a global port may hold in addition.
    pub global_threshold: u32,
    /// Advantage of the minimal route in UGAL's inequality, in packets of the largest size.
    pub local_threshold: i32,
    /// Virtual channels of a Valiant route's second half.
    pub second_half: SecondHalf,
    /// Which hops count in UGAL's inequality.
    pub hop_count: HopCount,
}

impl Default for Piggyback {
    fn default() -> Self {
        Self {
            via: Via::Router,
            within: false,
            coefficient: 2.0,
            global_threshold: 3,
            local_threshold: 3,
            second_half: SecondHalf::Above,
            hop_count: HopCount::Routes,
        }
    }
}

/// Observable: the flags of global links.
pub(super) const FLAG: Observable = Observable {
    name: "flag",
    words: "flagged global links",
    unit: "share of links",
    about: "1 for a global link of the group that is flagged as saturated, 0 for the others.",
};

/// Virtual channels of detours in a Dragonfly.
pub(super) fn vcs_needed(via: Via) -> (Vec<u8>, String) {
    match via {
        Via::Router => (vec![1, 4, 2], "local 0 to 3 and global 0 and 1 along l g l - l g l".into()),
        Via::Group => (vec![1, 3, 2], "local 0 to 2 and global 0 and 1 along l g - l g l".into()),
    }
}

/// The proof of detours, and of minimal routes.
pub(super) fn proof(second_half: SecondHalf, via: Via) -> Proof {
    match (second_half, via) {
        (SecondHalf::Next, _) => Proof::Order(vec![next_routes(), Legs::Minimal.into()]),
        (SecondHalf::Above, Via::Router) => Proof::legs_or_direct(Legs::ToRouter),
        (SecondHalf::Above, Via::Group) => Proof::legs_or_direct(Legs::ToGroup),
    }
}

impl RoutingParams for Piggyback {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        if self.second_half == SecondHalf::Next && self.via != Via::Router {
            return Err(ScenarioError::new("second_half", "\"next\"", "needs via = \"router\""));
        }
        in_transit::check("piggyback", topology)
    }
    fn vcs_needed(&self, _: &dyn Topology) -> (Vec<u8>, String) {
        vcs_needed(self.via)
    }
    fn proof(&self) -> Proof {
        proof(self.second_half, self.via)
    }
    fn knows_widening(&self) -> bool {
        true
    }
    fn sends_messages(&self) -> bool {
        true
    }
    fn loads_links(&self) -> bool {
        false
    }
    fn observables(&self) -> &'static [Observable] {
        &[FLAG]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let stop = if self.within { Stop::LikeDestination } else { Stop::Elsewhere };
        let Self { coefficient, global_threshold, local_threshold, via, second_half, hop_count, .. } = *self;
        let choice = Choice {
            coefficient,
            global_threshold,
            local_threshold,
            flag_queue: FlagQueue::Channel,
            via,
            second_half,
            hop_count,
        };
        Box::new(Rule::new(choice, Anywhere { via, stop }, context))
    }
}

/// The queue of a global link that its flag depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlagQueue {
    /// That of its first virtual channel.
    #[default]
    Channel,
    /// The mean over its virtual channels.
    Port,
    /// That of its first virtual channel, of which packets count that have stayed on minimal routes up to and including
    /// this link.
    MinimalChannel,
    /// The mean over its virtual channels, likewise.
    MinimalPort,
}

impl FlagQueue {
    fn counts_minimal(self) -> bool {
        matches!(self, Self::MinimalChannel | Self::MinimalPort)
    }
}

/// What is charged against a virtual channel: the packets in order, with their sizes, and whether their routes were
/// minimal.
#[derive(Debug, Clone, Default)]
struct Charged {
    packets: VecDeque<(u16, bool)>,
    phits: u32,
    minimal: u32,
}

impl Charged {
    fn push(&mut self, phits: u16, minimal: bool) {
        self.packets.push_back((phits, minimal));
        self.phits += u32::from(phits);
        self.minimal += if minimal { phits.into() } else { 0 };
    }

    /// Phits of minimal packets, if `occupancy` phits are charged in all. Credits come back in the order of packets.
    fn minimal(&mut self, occupancy: u32) -> u32 {
        while let Some(&(phits, minimal)) = self.packets.front()
            && self.phits - u32::from(phits) >= occupancy
        {
            self.packets.pop_front();
            self.phits -= u32::from(phits);
            self.minimal -= if minimal { phits.into() } else { 0 };
        }
        self.minimal
    }
}

/// The choice between the minimal route and a detour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub coefficient: f64,
    pub global_threshold: u32,
    pub local_threshold: i32,
    pub flag_queue: FlagQueue,
    /// Whose virtual channels detours take.
    pub via: Via,
    pub second_half: SecondHalf,
    pub hop_count: HopCount,
}

/// How the detour of a packet is drawn, to be kept in [`Packet::scratch`].
pub(super) trait Detours: Send {
    /// A packet enters an injection queue.
    fn inject(&mut self, _at: &mut Injection<'_>, _packet: &mut Packet) {}
    /// True if every decision draws again.
    fn redraws(&self) -> bool {
        false
    }
    /// Draws the detour of a packet that is decided about.
    fn redraw(&mut self, _view: &mut View<'_>, _packet: &mut Packet) {}
    /// Bytes held.
    fn bytes(&self) -> usize {
        0
    }
    /// See [`Routing::observe`].
    fn observe(&self, _router: u32, _now: Tick, _see: See<'_>) {}
}

/// Detours over any router, or any group.
struct Anywhere {
    via: Via,
    stop: Stop,
}

impl Detours for Anywhere {
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        draw(at, packet, self.via, self.stop);
    }
}

/// What the routers of a partition know of the saturated global links of their groups.
struct Flags {
    links: GroupLinks,
    /// For each router, for each link of its group.
    saturated: Vec<bool>,
    coefficient: f64,
    /// Phits.
    margin: f64,
    queue: FlagQueue,
    /// By router, global port and virtual channel; without entries if all packets count.
    charged: Vec<Charged>,
    /// The channel of global links on which flags depend.
    channel: u8,
    /// See [`GroupLinks::towards`].
    towards: Vec<u16>,
}

impl Flags {
    fn new(params: &Choice, context: &RoutingContext) -> Self {
        let links = GroupLinks::new(context);
        let global = links.global.len();
        Self {
            saturated: vec![false; context.routers.len() * links.count],
            towards: links.towards(context),
            links,
            coefficient: params.coefficient,
            margin: f64::from(params.global_threshold) * f64::from(context.packet_size),
            queue: params.flag_queue,
            charged: match params.flag_queue.counts_minimal() {
                true => {
                    let of_router = global * usize::from(context.vcs[usize::from(GLOBAL)]);
                    vec![Charged::default(); context.routers.len() * of_router]
                }
                false => Vec::new(),
            },
            channel: match context.widening {
                None => 0,
                Some(_) => context.vcs[usize::from(GLOBAL)].saturating_sub(1),
            },
        }
    }

    /// Looks at the router's own global ports, and tells the group what has changed.
    fn refresh(&mut self, site: &mut Site<'_>) {
        let (global, router) = (self.links.global.clone(), site.router);
        let at = site.at;
        let queues = at.lane(global.clone(), self.channel);
        let (vcs, first) = (at.vcs()[usize::from(GLOBAL)], global.start);
        let Self { links, saturated, queue, charged, channel, towards, .. } = self;
        let (queue, channel) = (*queue, *channel);
        let of_router = at.local as usize * global.len();
        let mut minimal = |port: u16, vc: u8| {
            let place = (of_router + usize::from(port - first)) * usize::from(vcs) + usize::from(vc);
            charged[place].minimal(at.occupancy(port, vc))
        };
        let mut length = |port: (u16, &_)| match queue {
            FlagQueue::Channel => queues.occupancy(port).0,
            FlagQueue::Port => at.port_occupancy(port.0) / u32::from(vcs),
            FlagQueue::MinimalChannel => minimal(port.0, channel),
            FlagQueue::MinimalPort => (0..vcs).map(|vc| minimal(port.0, vc)).sum::<u32>() / u32::from(vcs),
        };
        let mut sum = 0;
        for port in queues.ports() {
            sum += length(port);
        }
        // Rounded down, as it is not negative.
        let limit = (self.coefficient * f64::from(sum) / global.len() as f64 + self.margin) as u32;
        let mut changed = false;
        let own = links.owned(router, router);
        for (place, port) in own.clone().zip(queues.ports()) {
            let flag = length(port) > limit;
            if flag != std::mem::replace(&mut saturated[place], flag) {
                changed = true;
                tell(towards, site, place);
            }
        }
        if changed {
            let payload: Payload = saturated[own].iter().map(|flag| u16::from(*flag)).collect();
            links.local.clone().for_each(|port| site.send(port, payload.clone(), 0));
        }
    }

    /// `packet` leaves over `hop`.
    fn departs(&mut self, at: &RouterView<'_>, hop: Hop, packet: &Packet) {
        let global = &self.links.global;
        if self.charged.is_empty() || !global.contains(&hop.port) {
            return;
        }
        let port = at.local as usize * global.len() + usize::from(hop.port - global.start);
        let place = port * usize::from(at.vcs()[usize::from(GLOBAL)]) + usize::from(hop.vc);
        self.charged[place].push(packet.size, packet.misrouted & MISROUTED_GLOBALLY == 0);
    }

    /// Takes in what the router at the far end of `port` says of its links.
    fn hear(&mut self, site: &mut Site<'_>, port: u16, payload: &Payload) {
        let crate::topology::Peer::Router { router: owner, .. } = site.topology.port(site.router, port).peer else {
            return;
        };
        for (place, said) in self.links.owned(site.router, owner).zip(payload.iter()) {
            let said = *said != 0;
            if said != std::mem::replace(&mut self.saturated[place], said) {
                tell(&self.towards, site, place);
            }
        }
    }
}

/// Another flag stands at a place of the table: packets that would leave the group over its link are decided about
/// again.
fn tell(towards: &[u16], site: &mut Site<'_>, place: usize) {
    match towards.get(place) {
        Some(&port) => site.wake(port),
        None => site.wake_all(),
    }
}

/// The two routes of a packet in an injection queue.
#[derive(Debug, Clone, Copy)]
struct Routes {
    /// The lengths of their queues are read at each decision.
    direct: Route,
    detour: Route,
    /// The global link of the direct one.
    link: Option<u16>,
    /// Channels that the first hops of both may take, where these are more than the hops name.
    widths: Option<(u8, u8)>,
}

impl Routes {
    /// The route with the length of its queue now.
    #[inline]
    fn now(view: &View<'_>, route: Route, width: Option<u8>) -> Route {
        let Hop { port, vc, .. } = route.first;
        let queue = match width {
            None => view.occupancy(port, vc),
            Some(width) => (0..width).map(|vc| view.occupancy(port, vc)).min().unwrap_or(0),
        };
        Route { queue, ..route }
    }
}

/// The mechanism with detours that are drawn in a given way.
pub(super) struct Rule<D> {
    params: Choice,
    detours: D,
    flags: Flags,
    /// What counts hops otherwise, if anything does.
    counted: Option<Counted>,
    /// Phits of the largest packet.
    packet: u32,
    heads: ByQueue<Option<Routes>>,
    widening: Option<Arc<dyn Widening>>,
}

impl<D: Detours> Rule<D> {
    pub(super) fn new(params: Choice, detours: D, context: &RoutingContext) -> Self {
        Self {
            flags: Flags::new(&params, context),
            counted: params.hop_count.counted(context),
            params,
            detours,
            packet: context.packet_size,
            heads: ByQueue::of_injection(context, None),
            widening: context.widening.clone(),
        }
    }

    /// The next hop on the chosen route: its ties are broken as when it was looked at.
    fn hop(&self, view: &View<'_>, packet: &Packet) -> Hop {
        let mut rng = view.stream_of(packet, view.router, 0);
        match packet.legs {
            1 => view.minimal_hop(packet.destination_router, packet.hop_state(), &mut rng),
            _ => valiant::hop(&view.at, packet, self.params.via, self.params.second_half, &mut rng),
        }
    }

    /// The routes of a packet from its source's router.
    #[inline(never)]
    fn routes(&self, view: &View<'_>, packet: &Packet, drawn: Option<u32>) -> Routes {
        let sight = Sight::Local(Queue::Phits);
        let mut direct = minimal(view, packet, sight);
        let mut detour = source_adaptive::valiant(view, packet, self.params.via, sight);
        if let Some(counted) = &self.counted {
            counted.count(view, packet, (&mut direct, &mut detour), drawn);
        }
        let widths = self.widening.as_ref().map(|widening| {
            let topology = view.topology;
            let (here, home) = (topology.group_of(view.router), topology.group_of(packet.destination_router));
            let count = |route: &Route, first_leg, group: u32| {
                let class = topology.port(view.router, route.first.port).class;
                widening.count(Place { class, first_leg, at_target: group == here })
            };
            let stop = packet.scratch;
            let at_stop = if stop & GROUP == 0 { topology.group_of(stop) } else { stop & !GROUP };
            // A stop here is behind the packet already.
            let out = if stop & GROUP == 0 { stop != view.router } else { at_stop != here };
            (count(&direct, false, home), count(&detour, out, if out { at_stop } else { home }))
        });
        Routes { direct, detour, link: self.flags.links.minimal(view, packet), widths }
    }

    /// True if a global link of the group is flagged.
    fn is_flagged(&self, view: &View<'_>, link: u16) -> bool {
        let Flags { links, saturated, .. } = &self.flags;
        saturated[links.of(view.router)][usize::from(link)]
    }
}

impl<D: Detours> Routing for Rule<D> {
    fn bytes(&self) -> usize {
        self.heads.bytes() + self.detours.bytes()
    }

    fn wants(&self) -> Wants {
        // A decision watches one channel of each route.
        let every_tick = self.detours.redraws() || self.widening.is_some();
        let departures = self.params.flag_queue.counts_minimal();
        Wants { redecide: true, every_tick, occupancy: true, occupancy_class: GLOBAL, departures, ..Wants::default() }
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        self.detours.inject(at, packet);
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        view.watch_chosen_for(Changes::NONE);
        if packet.came_by == 0 {
            if self.detours.redraws() {
                self.detours.redraw(view, packet);
            }
            let (place, first) = self.heads.asked(view, (port, queue), packet, packet.scratch.into());
            // The router of an intermediate group, over which hops are counted, is drawn again, too.
            let by_group = packet.scratch & GROUP != 0;
            let drawn = (self.detours.redraws() && self.counted.is_some() && by_group).then(|| Counted::draw(view));
            if first || drawn.is_some() {
                self.heads.notes[place] = Some(self.routes(view, packet, drawn));
            }
            let Routes { direct, detour, link, widths } = self.heads.notes[place]?;
            let direct_now = Routes::now(view, direct, widths.map(|widths| widths.0));
            let detour_now = Routes::now(view, detour, widths.map(|widths| widths.1));
            let threshold = i64::from(self.params.local_threshold) * i64::from(self.packet);
            let minimally = prefers_minimal(&direct_now, &detour_now, Cost::QueueHops, threshold)
                && !link.is_some_and(|link| self.is_flagged(view, link));
            choose(packet, !minimally);
            // A stop here is behind the packet already.
            packet.leg = 0;
            advance_leg(view.topology, view.router, packet);
            // The packet changes its mind if this queue grows, the other one shrinks, or a flag changes.
            let (chosen, other) = if minimally { (direct.first, detour.first) } else { (detour.first, direct.first) };
            view.watch_chosen_for(Changes::RISE.and(Changes::ANNOUNCED));
            let changes = Changes::FALL.and(Changes::ANNOUNCED);
            view.watch_for(changes, other.port..other.port + 1, other.vc..other.vc + 1);
            // Both routes have been followed from here.
            debug_assert_eq!(chosen, self.hop(view, packet));
            return Some(chosen);
        }
        Some(self.hop(view, packet))
    }

    fn occupancy_changed(&mut self, site: &mut Site<'_>) {
        self.flags.refresh(site);
    }

    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        self.flags.departs(at, hop, packet);
    }

    fn hear(&mut self, site: &mut Site<'_>, port: u16, payload: &Payload) {
        self.flags.hear(site, port, payload);
    }

    fn rerouted(&mut self, _: Tick, _: usize, _: Option<&Arc<RouteTable>>) {
        self.heads.forget();
    }

    fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        self.detours.observe(router, now, see);
        for (link, flag) in self.flags.saturated[self.flags.links.of(router)].iter().enumerate() {
            see(&FLAG, Some(link as u16), (*flag).into());
        }
    }
}
