//! In-transit adaptive routing in a Dragonfly: where a packet may leave its minimal route, and over which channels.
//!
//! At the head of an input queue, a [`Trigger`] decides whether a packet should leave its minimal output, and which
//! other outputs it may take. All other rules are common to this family of mechanisms (OLM: García et al., ICPP 2013;
//! global misrouting policy MM+L: García et al., INA-OCMC 2013; section IV-A of the contention paper):
//!
//! * **At the source router** a packet for another group may take any other global port of the router.
//! * **One local hop later**, at the router that owns the minimal global link, it may take any local port to another
//!   router with global links. That router then sends it over any of these links, and the packet waits until one is
//!   free.
//! * **Elsewhere** a packet whose minimal output is a local port may take another local port, once in each group.
//!
//! So the longest route is l l g l l g l l. The output is drawn among those permitted that can take the packet at once.
//!
//! Virtual channels rise along a minimal route from any router on. The channel's index is that of the channel by which
//! the packet came, plus one after a global hop or a minimal local hop. A nonminimal local hop keeps the index. Packets
//! can wait for each other in a cycle of nonminimal hops, but never for ever. A blocked packet may always take its
//! minimal output, where channels rise, and under virtual cut-through a channel takes whole packets.

use super::{Payload, RouterView, Routing, RoutingContext, See, Site, View, Wants};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Adaptive, Changes, Proof, Standing, Step};
use crate::packet::{MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, MISROUTED_LOCALLY, Packet};
use crate::topology::{Hop, HopState, Leg, Peer, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::hint::select_unpredictable;
use std::ops::Range;

/// The class of the links inside a group of a Dragonfly.
pub const LOCAL: u8 = 1;
/// The class of the links between groups.
pub const GLOBAL: u8 = 2;

/// The only leg of a route without intermediate stop.
pub const DIRECT: Leg = Leg { index: 0, of: 1, to_group: false };

/// The ports among which another output is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Those that the packet may take now.
    #[default]
    Valid,
    /// All of the class, the minimal port included. If the packet may not take the drawn port now, it stays on its
    /// minimal route, and draws again in the next cycle (FOGSim, versions 4 and 5).
    Any,
}

impl Draw {
    /// Not a choice that must be written down.
    pub(super) fn is_of_valid(&self) -> bool {
        *self == Self::Valid
    }
}

/// How packets leave their minimal route (García et al., "Global misrouting policies in two-level hierarchical
/// networks", INA-OCMC 2013).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// From the source's group over another global link of the source's router, or, one local hop later, over a local
    /// link to another router, and from there over any of its global links. Elsewhere over another local link, once in
    /// each group (MM+L).
    #[default]
    MixedLocal,
    /// From the source's group as with `mixed_local`; not elsewhere (MM).
    Mixed,
    /// From the source's group over another global link of the router where the packet is. Elsewhere over another local
    /// link, once in each group (CRG+L).
    RouterLocal,
    /// From the source's group as with `router_local`; not elsewhere (CRG).
    Router,
}

impl Policy {
    /// Packets leave over global links of the router where they are, at the source and one local hop later.
    fn stays_at_router(self) -> bool {
        matches!(self, Self::RouterLocal | Self::Router)
    }

    /// Packets take detours outside the source's group, too.
    fn is_local(self) -> bool {
        matches!(self, Self::MixedLocal | Self::RouterLocal)
    }
}

/// The virtual channels of hops that leave the minimal route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DetourChannels")]
pub enum DetourChannels {
    /// A nonminimal local hop keeps the index of the channel by which the packet came, so 3 local and 2 global channels
    /// are enough (OLM).
    #[default]
    Kept,
    /// Every hop takes the next channel in the order local 0, local 1, global 0, local 2, local 3, global 1, local 4.
    /// Packets take no detour in the group of their destination (PAR of FOGSim).
    Next,
}

/// Where packets leave their minimal route, and in which channels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Misrouting {
    /// How packets leave their minimal route.
    pub policy: Policy,
    /// The virtual channels of these hops.
    pub channels: DetourChannels,
}

impl Misrouting {
    /// Not a choice that must be written down.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A head that could leave its minimal route.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'p> {
    /// The packet.
    pub packet: &'p Packet,
    /// Input port at which it stands.
    pub port: u16,
    /// Its queue there.
    pub queue: u16,
    /// Its minimal hop.
    pub minimal: Hop,
    /// Class of the links that it may take instead.
    pub other: u8,
    /// It stands at the router of its source and has another group to go to.
    pub leaves_group_from_source: bool,
}

/// Changes before which no other output is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    /// The phits to which the occupancy of another output falls.
    pub fall_to: u32,
    /// The phits to which the occupancy of the minimal output rises.
    pub rise_to: u32,
}

/// When a packet leaves its minimal route, and for which outputs.
pub trait Trigger: Send {
    /// The reason for leaving the minimal route.
    type Reason: Copy;

    /// The calls wanted besides those that the family needs.
    fn wants(&self) -> Wants {
        Wants::default()
    }
    /// The minimal output port of the packet at the head of a queue.
    fn minimal_port(&self, view: &RouterView<'_>, _port: u16, _queue: u16, packet: &Packet) -> u16 {
        minimal_port(view, packet)
    }
    /// The changes of the minimal output after which [`Self::fires`] may be true that was false, or after which its
    /// reason may admit other outputs.
    fn fired_by(&self) -> Changes {
        Changes::ALL
    }
    /// The changes of an output after which [`Self::admits`] may be true of it that was false.
    fn admitted_by(&self) -> Changes {
        Changes::FALL.and(Changes::RISE).and(Changes::ANNOUNCED)
    }
    /// How far occupancies must change before another output is admitted for `reason`. The emptiest that is not holds
    /// `least` phits. `None` stands for any change.
    fn awaits(
        &self,
        _view: &RouterView<'_>,
        _head: &Candidate<'_>,
        _reason: Self::Reason,
        _least: u32,
    ) -> Option<Awaited> {
        None
    }
    /// True if [`Self::fires`] reads the occupancy of other global ports than the minimal one.
    fn compares_global_ports(&self) -> bool {
        false
    }
    /// True if [`Self::fires`] and [`Self::admits`] read the state of any output.
    fn reads_outputs(&self) -> bool {
        false
    }
    /// Should `head` not take its minimal output?
    fn fires(&self, view: &RouterView<'_>, head: &Candidate<'_>) -> Option<Self::Reason>;
    /// May it take `other`, if that has room for it? This may depend on the occupancy of `other`, which is given in
    /// phits, and on what is announced of it ([`Site::wake`]), but not on whether it is free.
    fn admits(&self, view: &RouterView<'_>, head: &Candidate<'_>, reason: Self::Reason, other: (Hop, u32)) -> bool;

    /// See [`Routing::head_arrived`].
    fn head_arrived(&mut self, _at: &mut Site<'_>, _port: u16, _queue: u16, _packet: &Packet) {}
    /// See [`Routing::tail_left`].
    fn tail_left(&mut self, _at: &mut Site<'_>, _port: u16, _queue: u16) {}
    /// See [`Routing::departs`].
    fn departs(&mut self, _at: &RouterView<'_>, _port: u16, _queue: u16, _hop: Hop) {}
    /// See [`Routing::period`].
    fn period(&mut self, _at: &mut Site<'_>) {}
    /// See [`Routing::awaits_period`].
    fn awaits_period(&self, _local: u32, _now: Tick) -> bool {
        true
    }
    /// See [`Routing::hear`].
    fn hear(&mut self, _at: &mut Site<'_>, _port: u16, _payload: &Payload) {}
    /// See [`Routing::observe`].
    fn observe(&self, _router: u32, _see: See<'_>) {}
}

/// The minimal output port of `packet`, ejection included: the same whenever it is asked for.
#[inline(always)]
pub fn minimal_port(view: &RouterView<'_>, packet: &Packet) -> u16 {
    let there = packet.destination_router == view.router;
    if let Some(port) = view.known.only_port(view.router, packet.destination_router) {
        return select_unpredictable(there, packet.ejection_port, port);
    }
    if there {
        return packet.ejection_port;
    }
    let mut rng = view.rng_of(packet);
    view.minimal_hop(packet.destination_router, packet.hop_state(), &mut rng).port
}

/// What is noted in [`Packet::scratch`] while a packet stands at the head of a queue: the detour of its decision in the
/// lowest eight bits, and above them what stays the same until it departs.
#[derive(Debug, Clone, Copy)]
struct Memo(u32);

impl Memo {
    /// The minimal output of a packet, whether it has another group to go to, and whether it is still in that of its
    /// source, too.
    fn new(minimal: u16, leaves: bool, leaves_home: bool) -> Self {
        Self(1 << 31 | u32::from(leaves_home) << 30 | u32::from(leaves) << 29 | u32::from(minimal) << 8)
    }
    fn of(packet: &Packet) -> Option<Self> {
        (packet.scratch >> 31 == 1).then_some(Self(packet.scratch & !0xff))
    }
    fn minimal(self) -> u16 {
        (self.0 >> 8) as u16
    }
    fn leaves_home(self) -> bool {
        self.0 >> 30 & 1 == 1
    }
    fn leaves(self) -> bool {
        self.0 >> 29 & 1 == 1
    }
}

/// How a packet leaves its minimal route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detour {
    /// Over another global link of this router.
    Global = 1,
    /// To another router of the source group, and from there over a global link.
    LocalThenGlobal = 2,
    /// To another router of this group.
    Local = 3,
    /// Over another global link of a router of the source group that is not the source's.
    GlobalLater = 4,
}

impl Detour {
    fn noted_in(packet: &Packet) -> Option<Self> {
        [Self::Global, Self::LocalThenGlobal, Self::Local, Self::GlobalLater]
            .into_iter()
            .find(|detour| *detour as u32 == packet.scratch & 0xff)
    }
}

/// In [`Packet::flags`]: has been misrouted locally in this group.
const LOCAL_DONE: u8 = 1;
/// In [`Packet::flags`]: must take a global link next.
const GLOBAL_NEXT: u8 = 2;

impl Misrouting {
    /// How a packet may leave its minimal route, if at all. `came_by`: class of the link by which it came; `leaves`: it
    /// has another group to go to; `leaves_home`: and is in the group of its source; `minimal`: class of its minimal
    /// output.
    #[inline(always)]
    fn detour(self, came_by: u8, (leaves, leaves_home): (bool, bool), minimal: u8, flags: u8) -> Option<Detour> {
        let once = flags & LOCAL_DONE == 0;
        match leaves_home {
            true if came_by == 0 => Some(Detour::Global),
            true if self.policy.stays_at_router() => Some(Detour::GlobalLater),
            true => (came_by == LOCAL && once).then_some(Detour::LocalThenGlobal),
            false => {
                let permitted = self.policy.is_local() && (leaves || self.channels == DetourChannels::Kept);
                (minimal == LOCAL && once && permitted).then_some(Detour::Local)
            }
        }
    }

    /// The virtual channel on a link of `class` of a packet that came over one of class `came_by` in channel `came_in`.
    #[inline(always)]
    fn channel(self, (came_by, came_in): (u8, u8), class: u8, minimal: bool) -> u8 {
        if self.channels == DetourChannels::Next {
            return next_channel((came_by, came_in), class);
        }
        let same = (came_by == LOCAL) & (class == GLOBAL) | (class == LOCAL) & !minimal;
        select_unpredictable(came_by == 0, 0, came_in + u8::from(!same))
    }
}

/// The next channel of `class` in the order local 0, local 1, global 0, local 2, local 3, global 1, local 4.
fn next_channel((came_by, came_in): (u8, u8), class: u8) -> u8 {
    match (came_by, class) {
        (LOCAL, LOCAL) => came_in + 1,
        (LOCAL, _) => came_in / 2,
        (GLOBAL, LOCAL) => 2 + 2 * came_in,
        (GLOBAL, _) => came_in + 1,
        _ => 0,
    }
}

/// The flags of a packet after a hop over a link of `class`.
fn flags_after(flags: u8, detour: Option<Detour>, class: u8) -> u8 {
    let more = match detour {
        Some(Detour::LocalThenGlobal) => LOCAL_DONE | GLOBAL_NEXT,
        Some(Detour::Local) => LOCAL_DONE,
        Some(Detour::Global | Detour::GlobalLater) | None => 0,
    };
    // In another group they mean nothing any more.
    let over = select_unpredictable(class == GLOBAL, LOCAL_DONE | GLOBAL_NEXT, 0);
    (flags | more) & !over
}

/// True if a router has a global link. With fewer groups than there could be, the last routers of each may have none.
fn leads_out(topology: &dyn Topology, router: u32) -> bool {
    global_links(topology, router).next().is_some()
}

/// The ports of a router's global links.
fn global_links(topology: &dyn Topology, router: u32) -> impl Iterator<Item = u16> + '_ {
    let linked = move |port: &u16| matches!(topology.port(router, *port).peer, Peer::Router { .. });
    topology.class_ports(router, GLOBAL).filter(linked)
}

/// True if a packet that leaves its minimal route so can go on behind a port.
fn goes_on(topology: &dyn Topology, router: u32, port: u16, detour: Detour) -> bool {
    match topology.port(router, port).peer {
        Peer::Router { router: next, .. } => detour != Detour::LocalThenGlobal || leads_out(topology, next),
        Peer::Endpoint(_) | Peer::None => false,
    }
}

/// The mechanism with a given trigger.
pub struct InTransit<T> {
    trigger: T,
    local: Range<u16>,
    global: Range<u16>,
    /// Some routers have no global links.
    dead_ends: bool,
    found: Ports,
    /// The ports among which another output is drawn.
    among: Draw,
    misrouting: Misrouting,
}

/// Ports that one head may take.
#[derive(Default)]
struct Ports {
    /// They can take it now.
    ready: Vec<u16>,
    /// They cannot.
    lacking: Vec<u16>,
    /// They are not permitted now.
    barred: Vec<u16>,
}

impl<T: Trigger> InTransit<T> {
    /// The mechanism for one partition.
    pub fn new(trigger: T, context: &RoutingContext) -> Self {
        let ports = |class| context.topology.class_ports(context.routers.first(), class);
        let topology = &*context.topology;
        let dead_ends = (0..topology.routers()).any(|router| !leads_out(topology, router));
        let (local, global) = (ports(LOCAL), ports(GLOBAL));
        let (found, misrouting) = (Ports::default(), Misrouting::default());
        Self { trigger, local, global, dead_ends, found, among: Draw::Valid, misrouting }
    }

    /// The mechanism that draws among other ports, and leaves minimal routes by other rules.
    pub fn by(self, among: Draw, misrouting: Misrouting) -> Self {
        Self { among, misrouting, ..self }
    }

    /// Properties of a packet that do not change while it is at the head of a queue.
    #[inline(always)]
    fn memo(&self, view: &RouterView<'_>, port: u16, queue: u16, packet: &Packet) -> Memo {
        let group = |router| view.known.group_of(view.topology, router);
        let leaves = group(packet.destination_router) != group(view.router);
        let leaves_home = (packet.hops.of(GLOBAL) == 0) & leaves;
        Memo::new(self.trigger.minimal_port(view, port, queue, packet), leaves, leaves_home)
    }

    /// One of `ports`, drawn among those that can take `packet` now and are permitted: of each is said its hop and the
    /// occupancy of its channel. `None` for a port stands for one that never is permitted, whatever changes. Ports that
    /// are not permitted now are, perhaps, after `changes`.
    #[inline]
    fn draw(
        (among, misrouting): (Draw, Misrouting),
        Ports { ready, lacking, barred }: &mut Ports,
        view: &mut View<'_>,
        packet: &Packet,
        (ports, changes): (Range<u16>, Changes),
        mut permitted: impl FnMut(&RouterView<'_>, Hop, u32) -> Option<bool>,
        awaits: impl FnOnce(&RouterView<'_>, u32) -> Option<Awaited>,
    ) -> Option<Hop> {
        ready.clear();
        lacking.clear();
        barred.clear();
        // The ports are of one class.
        let class = view.class(ports.start);
        let vc = misrouting.channel((packet.came_by, packet.came_in), class, false);
        let phits = packet.size.into();
        // One that is drawn first need not be compared with others.
        let ports = match among {
            Draw::Valid => ports,
            Draw::Any => {
                let drawn = ports.start + view.rng.below((ports.end - ports.start).into()) as u16;
                drawn..drawn + 1
            }
        };
        let lane = view.lane(ports.clone(), vc);
        let mut least = u32::MAX;
        for (port, output) in lane.ports() {
            let (occupancy, credits) = lane.occupancy((port, output));
            match permitted(view, Hop { port, vc, vcs: 1 }, occupancy) {
                Some(true) if lane.takes((port, output), credits, phits) => ready.push(port),
                Some(true) => lacking.push(port),
                Some(false) => {
                    least = least.min(occupancy);
                    barred.push(port);
                }
                None => {}
            }
        }
        if ready.is_empty() {
            match awaits(view, least) {
                Some(Awaited { fall_to, rise_to }) => {
                    view.watch_chosen_from(rise_to);
                    barred.iter().for_each(|&port| view.watch_for_fall(fall_to, port..port + 1, vc..vc + 1));
                }
                None => barred.iter().for_each(|&port| view.watch_for(changes, port..port + 1, vc..vc + 1)),
            }
            lacking.iter().for_each(|&port| view.watch_for(Changes::ROOM, port..port + 1, vc..vc + 1));
            return None;
        }
        match among {
            Draw::Valid => Some(Hop { port: ready[view.rng.below(ready.len() as u32) as usize], vc, vcs: 1 }),
            Draw::Any => Some(Hop { port: ready[0], vc, vcs: 1 }),
        }
    }
}

/// The packets of this family as a proof of deadlock freedom follows them: whatever the trigger says.
struct AnyTrigger(Misrouting);

impl Adaptive for AnyTrigger {
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>) {
        let Standing { at, to, came, hops, memo } = *packet;
        let flags = memo as u8;
        let mut push = |port, minimal, escape, detour| {
            let class = topology.port(at, port).class;
            let hop = Hop { port, vc: self.0.channel(came, class, minimal), vcs: 1 };
            out.push(Step { hop, memo: flags_after(flags, detour, class).into(), escape });
        };
        if flags & GLOBAL_NEXT != 0 {
            global_links(topology, at).for_each(|port| push(port, false, true, None));
            return;
        }
        let mut minimal = Vec::new();
        let state = HopState { came_by: came.0, came_in: came.1, leg_hops: hops };
        topology.minimal_hops(at, to, DIRECT, state, vcs, &mut minimal);
        for hop in minimal {
            push(hop.port, true, true, None);
            let leaves = topology.group_of(at) != topology.group_of(to);
            let leaves_home = hops.of(GLOBAL) == 0 && leaves;
            let class = topology.port(at, hop.port).class;
            let Some(detour) = self.0.detour(came.0, (leaves, leaves_home), class, flags) else { continue };
            let class = if matches!(detour, Detour::Global | Detour::GlobalLater) { GLOBAL } else { LOCAL };
            let others = topology.class_ports(at, class).filter(|&port| port != hop.port);
            let others = others.filter(|&port| goes_on(topology, at, port, detour));
            others.for_each(|port| push(port, false, false, Some(detour)));
        }
    }

    fn longest(&self, _: &dyn Topology) -> u32 {
        8
    }
}

impl Misrouting {
    /// The argument by which the family is free of deadlock.
    pub fn proof(self) -> Proof {
        let steps = Box::new(AnyTrigger(self));
        match self.channels {
            DetourChannels::Kept => Proof::Escape(steps),
            DetourChannels::Next => Proof::Steps(steps),
        }
    }

    /// Virtual channels of the family, by link class.
    pub fn vcs_needed(self) -> (Vec<u8>, String) {
        match self.channels {
            DetourChannels::Kept => {
                let reason = "misrouting in transit: local channels 0, 1, 2 and global channels 0, 1 along l g l g l";
                (vec![1, 3, 2], reason.into())
            }
            DetourChannels::Next => {
                let reason =
                    "misrouting in transit: local channels 0 to 4 and global channels 0, 1 along l l g l l g l";
                (vec![1, 5, 2], reason.into())
            }
        }
    }
}

/// [`Misrouting::proof`] of the usual rules.
pub fn proof() -> Proof {
    Misrouting::default().proof()
}

/// [`Misrouting::vcs_needed`] of the usual rules.
pub fn vcs_needed() -> (Vec<u8>, String) {
    Misrouting::default().vcs_needed()
}

impl<T: Trigger> Routing for InTransit<T> {
    fn wants(&self) -> Wants {
        Wants { redecide: true, departures: true, every_tick: self.among == Draw::Any, ..self.trigger.wants() }
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.flags & GLOBAL_NEXT != 0 {
            view.watch_chosen();
            let ports = (self.global.clone(), Changes::NONE);
            let rules = (self.among, self.misrouting);
            return Self::draw(rules, &mut self.found, view, packet, ports, |_, _, _| Some(true), |_, _| None);
        }
        let memo = Memo::of(packet).unwrap_or_else(|| self.memo(view, port, queue, packet));
        packet.scratch = memo.0;
        let (out, leaves_home) = (memo.minimal(), memo.leaves_home());
        let came = (packet.came_by, packet.came_in);
        let minimal = Hop { port: out, vc: self.misrouting.channel(came, view.class(out), true), vcs: 1 };
        let from = (memo.leaves(), leaves_home);
        let Some(detour) = self.misrouting.detour(packet.came_by, from, view.class(out), packet.flags) else {
            view.watch_chosen_for(Changes::NONE);
            return Some(minimal);
        };
        view.watch_chosen_for(self.trigger.fired_by());
        if self.trigger.compares_global_ports() && view.class(out) == GLOBAL {
            view.watch_occupancy(self.global.clone());
        }
        if self.trigger.reads_outputs() {
            view.watch(0..view.ports());
        }
        let leaves_group_from_source = leaves_home && packet.came_by == 0;
        let other = if matches!(detour, Detour::Global | Detour::GlobalLater) { GLOBAL } else { LOCAL };
        let head = Candidate { packet, port, queue, minimal, other, leaves_group_from_source };
        let Some(reason) = self.trigger.fires(view, &head) else { return Some(minimal) };
        let ports = if other == GLOBAL { self.global.clone() } else { self.local.clone() };
        let (trigger, dead_ends) = (&self.trigger, self.dead_ends);
        let ports = (ports, trigger.admitted_by());
        let rules = (self.among, self.misrouting);
        let permitted = |view: &RouterView<'_>, hop: Hop, occupancy| {
            let goes_on = !dead_ends || goes_on(view.topology, view.router, hop.port, detour);
            (hop.port != out && goes_on).then(|| trigger.admits(view, &head, reason, (hop, occupancy)))
        };
        let awaits = |view: &RouterView<'_>, least| trigger.awaits(view, &head, reason, least);
        let other = Self::draw(rules, &mut self.found, view, packet, ports, permitted, awaits);
        if other.is_some() {
            packet.scratch |= detour as u32;
        }
        Some(other.unwrap_or(minimal))
    }

    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop, packet: &mut Packet) {
        self.trigger.departs(at, port, queue, hop);
        let detour = Detour::noted_in(packet);
        packet.misrouted |= match detour {
            Some(Detour::Global) => MISROUTED_GLOBALLY | MISROUTED_AT_INJECTION,
            Some(Detour::LocalThenGlobal | Detour::Local) => MISROUTED_LOCALLY,
            Some(Detour::GlobalLater) => MISROUTED_GLOBALLY,
            None if packet.flags & GLOBAL_NEXT != 0 => MISROUTED_GLOBALLY,
            None => 0,
        };
        packet.flags = flags_after(packet.flags, detour, at.class(hop.port));
        packet.scratch = 0;
    }

    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        self.trigger.head_arrived(at, port, queue, packet);
        // Noted here, it need not be asked at every decision whether it is the first one.
        packet.scratch = self.memo(at, port, queue, packet).0;
    }
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        self.trigger.tail_left(at, port, queue);
    }
    fn period(&mut self, at: &mut Site<'_>) {
        self.trigger.period(at);
    }
    fn awaits_period(&self, local: u32, now: Tick) -> bool {
        self.trigger.awaits_period(local, now)
    }
    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        self.trigger.hear(at, port, payload);
    }
    fn observe(&self, router: u32, _: Tick, see: See<'_>) {
        self.trigger.observe(router, see);
    }
}

/// Refuses topologies that are no Dragonfly.
pub fn check(kind: &str, topology: &dyn Topology) -> Result<(), ScenarioError> {
    match topology.is_dragonfly() && topology.groups() > 1 {
        true => Ok(()),
        false => Err(ScenarioError::new(
            "kind",
            format!("{kind:?}"),
            "this mechanism needs topology.kind = \"dragonfly\" with at least two groups",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`Misrouting::detour`] of the usual rules, in the group of the source or of the destination.
    fn detour(came_by: u8, leaves_home: bool, minimal: u8, flags: u8) -> Option<Detour> {
        Misrouting::default().detour(came_by, (leaves_home, leaves_home), minimal, flags)
    }

    #[test]
    fn policies_say_where_packets_leave_and_channels_rise() {
        let by = |policy, channels| Misrouting { policy, channels };
        let crg = by(Policy::Router, DetourChannels::Kept);
        // In the source's group: at the source, one local hop later; elsewhere not.
        let source = (true, true);
        assert_eq!(crg.detour(0, source, LOCAL, 0), Some(Detour::Global));
        assert_eq!(crg.detour(LOCAL, source, GLOBAL, 0), Some(Detour::GlobalLater));
        assert_eq!(crg.detour(GLOBAL, (true, false), LOCAL, 0), None);
        let crg_l = by(Policy::RouterLocal, DetourChannels::Kept);
        assert_eq!(crg_l.detour(GLOBAL, (true, false), LOCAL, 0), Some(Detour::Local));
        assert_eq!(crg_l.detour(GLOBAL, (false, false), LOCAL, 0), Some(Detour::Local));
        assert_eq!(by(Policy::Mixed, DetourChannels::Kept).detour(GLOBAL, (false, false), LOCAL, 0), None);
        let next = by(Policy::MixedLocal, DetourChannels::Next);
        assert_eq!(next.detour(GLOBAL, (true, false), LOCAL, 0), Some(Detour::Local));
        assert_eq!(next.detour(GLOBAL, (false, false), LOCAL, 0), None, "not where it ends");
        // l l g l l g l, and with hops left out.
        let mut came = (0, 0);
        let channels = [LOCAL, LOCAL, GLOBAL, LOCAL, LOCAL, GLOBAL, LOCAL].map(|class| {
            came = (class, next.channel(came, class, false));
            came.1
        });
        assert_eq!(channels, [0, 1, 0, 2, 3, 1, 4]);
        assert_eq!((next.channel((LOCAL, 0), GLOBAL, true), next.channel((LOCAL, 2), GLOBAL, true)), (0, 1));
        assert_eq!((next.channel((GLOBAL, 0), GLOBAL, true), next.channel((GLOBAL, 1), LOCAL, true)), (1, 4));
    }

    #[test]
    fn a_local_detour_is_possible_again_after_a_global_hop() {
        // A packet that comes to the group of its destination by a way around: local, global, local.
        assert_eq!(detour(0, false, LOCAL, 0), Some(Detour::Local));
        let flags = flags_after(0, Some(Detour::Local), LOCAL);
        assert_eq!(detour(LOCAL, false, LOCAL, flags), None, "once in each group");
        let flags = flags_after(flags, None, LOCAL);
        assert_eq!(detour(LOCAL, false, LOCAL, flags), None, "also after a minimal hop");
        let flags = flags_after(flags, None, GLOBAL);
        assert_eq!(detour(GLOBAL, false, LOCAL, flags), Some(Detour::Local));
        let flags = flags_after(flags, Some(Detour::Local), LOCAL);
        assert_eq!(detour(LOCAL, false, LOCAL, flags), None);
        // Out of its own group by way of another router.
        let flags = flags_after(0, Some(Detour::LocalThenGlobal), LOCAL);
        assert_eq!((flags & GLOBAL_NEXT, detour(LOCAL, true, LOCAL, flags)), (GLOBAL_NEXT, None));
        assert_eq!(flags_after(flags, None, GLOBAL), 0);
        assert_eq!(detour(LOCAL, true, GLOBAL, 0), Some(Detour::LocalThenGlobal));
        assert_eq!(detour(0, true, LOCAL, 0), Some(Detour::Global));
        assert_eq!(detour(0, false, GLOBAL, 0), None);
    }

    #[test]
    fn the_longest_way_has_a_detour_in_each_group() {
        let topology = crate::topology::Dragonfly {
            p: 1,
            a: 4,
            h: 1,
            groups: None,
            arrangement: Default::default(),
            faults: None,
        };
        let topology = crate::topology::TopologyParams::build(&topology).unwrap();
        let to = (0..topology.routers()).find(|to| topology.distance(0, *to) == 3).unwrap();
        let vcs = [1, 3, 2];
        // Everything that a packet from router 0 may do, as words of its hops.
        let mut open = vec![(Standing { at: 0, to, came: (0, 0), hops: Default::default(), memo: 0 }, String::new())];
        let mut words = std::collections::BTreeSet::new();
        while let Some((packet, word)) = open.pop() {
            if packet.at == to {
                words.insert(word);
                continue;
            }
            assert!(word.len() < 8, "{word}");
            let mut steps = Vec::new();
            AnyTrigger(Misrouting::default()).steps(&*topology, &packet, &vcs, &mut steps);
            for step in steps {
                let port = topology.port(packet.at, step.hop.port);
                let crate::topology::Peer::Router { router, .. } = port.peer else { continue };
                let mut hops = packet.hops;
                hops.add(port.class);
                let letter = if port.class == LOCAL { 'l' } else { 'g' };
                let next = Standing { at: router, came: (port.class, step.hop.vc), hops, memo: step.memo, ..packet };
                open.push((next, format!("{word}{letter}")));
            }
        }
        assert!(words.contains("lgll"), "{words:?}");
        assert!(words.contains("llgllgll"), "{words:?}");
        assert!(!words.contains("lll") && !words.iter().any(|word| word.contains("lll")), "{words:?}");
    }
}
