//! Faults, for any mechanism: detours over virtual channels of their own.
//!
//! A mechanism works as usual. But a packet in front of a link that routing knows to be broken takes a detour from
//! there to its destination. The detour is up*/down* (M. D. Schroeder et al., "Autonet", IEEE Journal on Selected Areas
//! in Communications 1991) over the working network. It uses the last virtual channel of every link, which the
//! mechanism itself cannot see, until the packet arrives.
//!
//! Packets of the mechanism may wait for packets on detours, but never the other way round. So two proofs are enough:
//! the mechanism on the intact network, because faults only remove hops, and the detours.
//!
//! After a failure or repair, packets on detours follow the new tables. They keep one order of the routers as long as a
//! common order exists for all graphs, one after another. A packet that has gone down and would have to go up again is
//! discarded. When the order changes, all packets on detours are discarded.
//!
//! A mechanism with tables and layers gets new tables, and needs no detours. A packet stays if its new route leads
//! through its present channel, and is discarded otherwise. So all remaining packets are on routes of the new tables,
//! which have no cycles.

use super::layered::Destinations;
use super::up_down::{self, Levels};
use super::{
    Head, Injection, Payload, Proof, RouterView, Routing, RoutingContext, RoutingParams, See, Site, View, Wants,
};
use crate::engine::{NONE, Tick};
use crate::error::ScenarioError;
use crate::fabric::seams::bubble::Bubble;
use crate::fabric::seams::routing::DISCARD;
use crate::measure::Observable;
use crate::packet::{Arena, DETOURED, GROUP, Packet};
use crate::topology::{Crossing, Faulty, Hop, Known, NO_PORT, Peer, RouteTable, Topology, Wires};
use std::collections::VecDeque;
use std::sync::Arc;

/// A routing mechanism, shared.
type Mechanism = Arc<dyn RoutingParams + Send + Sync>;

/// A mechanism, and the plan by which it is helped, if it is.
pub(crate) type Helped = (Mechanism, Option<Arc<Plan>>);

/// The mechanism for a network of which something does not work, now or later; the mechanism itself, if it can do
/// without help.
pub(crate) fn around(mechanism: Mechanism, topology: &Arc<dyn Topology>) -> Result<Helped, ScenarioError> {
    let Some(faulty) = topology.faulty().filter(|faulty| !faulty.is_whole()) else { return Ok((mechanism, None)) };
    let tables = matches!(mechanism.proof(), Proof::Tables);
    let changes = faulty.loses_hosts() || tables && !topology.breakdowns().is_empty();
    let helpless = !tables && (faulty.stranded().is_some() || !mechanism.avoids_faults());
    if !changes && !helpless {
        return Ok((mechanism, None));
    }
    if mechanism.alternatives() {
        let reason = "heads of this routing mechanism ask for several outputs at once, among which no detours are; \
                      expected another routing, or a network without faults";
        return Err(ScenarioError::missing("topology.faults", reason));
    }
    let plan = Arc::new(Plan::new(topology, !tables)?);
    let aware = mechanism.avoids_faults();
    Ok((Arc::new(Around { aware, mechanism, plan: plan.clone() }), Some(plan)))
}

/// The graphs of a run, and the detours in each.
#[derive(Debug)]
pub(crate) struct Plan {
    phases: Vec<Phase>,
    /// The graph with everything at work.
    whole: Arc<dyn Topology>,
}

/// A time in which the same things work.
#[derive(Debug)]
struct Phase {
    graph: Arc<dyn Topology>,
    /// The working graph for mechanisms that do not know of faults.
    seen: Option<Faulty>,
    detours: Option<Detours>,
}

/// Ways up, and then down.
#[derive(Debug)]
struct Detours {
    /// The number of the order of the routers.
    number: u32,
    /// By router, its place in that order; all ones if nothing leads there.
    order: Arc<[u32]>,
    table: RouteTable,
}

/// Most graphs with one order: a bit of a word each.
const MOST_TOGETHER: usize = 64;

impl Plan {
    fn new(topology: &Arc<dyn Topology>, detours: bool) -> Result<Self, ScenarioError> {
        let later = topology.breakdowns().iter().map(|breakdown| breakdown.graph.clone());
        let graphs: Vec<Arc<dyn Topology>> = std::iter::once(topology.clone()).chain(later).collect();
        let whole = topology.faulty().map_or(topology, Faulty::whole).clone();
        let mut phases: Vec<Phase> = Vec::new();
        if !detours {
            phases.extend(graphs.into_iter().map(|graph| Phase { graph, seen: None, detours: None }));
            return Ok(Self { phases, whole });
        }
        let wires = Wires::new(&*whole);
        if let Some(place) = wires.one_way() {
            let (router, port) = wires.owner(place);
            let expected = format!(
                "the link of {} leads one way, and detours need links that lead both; expected faults that leave a \
                 minimal route between any two routers with endpoints, and a routing mechanism that takes those that \
                 are left",
                wires.words().port(router, port)
            );
            return Err(ScenarioError::missing("topology.faults", expected));
        }
        let mut number = 0;
        while phases.len() < graphs.len() {
            let rest = &graphs[phases.len()..];
            // As many as have one order; one by itself always has.
            let mut together = 1;
            let mut order = common_order(&wires, &rest[..1]).unwrap_or_default();
            while together < rest.len().min(MOST_TOGETHER) {
                let Some(more) = common_order(&wires, &rest[..together + 1]) else { break };
                (order, together) = (more, together + 1);
            }
            let levels = Levels::of(order.clone(), wires.routers());
            let places: Arc<[u32]> = levels.levels().into();
            for graph in &rest[..together] {
                let own = Wires::new(&**graph);
                let there = reached(&own);
                let own_order = order.iter().copied().filter(|&router| there[router as usize]).collect();
                let table = up_down::tables(&**graph, &own, &levels.among(own_order), &Destinations::routers(&own));
                let table = table.map_err(|error| {
                    ScenarioError::missing("topology.faults", format!("detours around them need {}", error.expected))
                })?;
                let detours = Some(Detours { number, order: places.clone(), table });
                phases.push(Phase { graph: graph.clone(), seen: graph.faulty().map(Faulty::with_all_hops), detours });
            }
            number += 1;
        }
        Ok(Self { phases, whole })
    }

    /// The graph with everything at work.
    pub(crate) fn whole(&self) -> &Arc<dyn Topology> {
        &self.whole
    }

    /// True if packets take detours.
    pub(crate) fn has_detours(&self) -> bool {
        self.phases.iter().any(|phase| phase.detours.is_some())
    }

    /// The hops of packets on detours that hold the link of (router, port), in every graph in which they may reach its
    /// end, for each order of routers. Calls `see` with the number of the order, the link, and the next link.
    pub(crate) fn follow(&self, see: &mut dyn FnMut(u32, (u32, u16), (u32, u16))) -> Result<(), Stray> {
        for (index, before) in self.phases.iter().enumerate() {
            let Some(detours) = &before.detours else { continue };
            for to in Wires::new(&*before.graph).hosts() {
                for at in 0..before.graph.routers() {
                    let port = detours.table.towards(at, to);
                    if port == NO_PORT {
                        continue;
                    }
                    detours.arrives(&*before.graph, at, to)?;
                    let Peer::Router { router: next, .. } = before.graph.port(at, port).peer else {
                        return Err(Stray { from: at, at });
                    };
                    for after in &self.phases[index..] {
                        let Some(then) = after.detours.as_ref().filter(|then| then.number == detours.number) else {
                            break;
                        };
                        if let Some(hop) = then.port(&*after.graph, next, to, Some(at)).filter(|_| next != to) {
                            see(detours.number, (at, port), (next, hop));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// A detour that leads nowhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stray {
    /// Where it begins.
    pub(crate) from: u32,
    /// Where it ends.
    pub(crate) at: u32,
}

impl Detours {
    fn is_up(&self, from: u32, to: u32) -> bool {
        self.order[to as usize] < self.order[from as usize]
    }

    /// The port of a packet at router `at` for router `to`, if it has a way; `came_from`: the router from which it has
    /// come on its detour.
    fn port(&self, graph: &dyn Topology, at: u32, to: u32, came_from: Option<u32>) -> Option<u16> {
        let port = Some(self.table.towards(at, to)).filter(|&port| port != NO_PORT)?;
        let Peer::Router { router: next, .. } = graph.port(at, port).peer else { return None };
        let turns = came_from.is_some_and(|from| !self.is_up(from, at)) && self.is_up(at, next);
        (!turns).then_some(port)
    }

    /// Refuses a way that does not lead to router `to`.
    fn arrives(&self, graph: &dyn Topology, from: u32, to: u32) -> Result<(), Stray> {
        let mut at = from;
        for _ in 0..=graph.routers() {
            if at == to {
                return Ok(());
            }
            let port = self.table.towards(at, to);
            match graph.port(at, port.min(graph.ports(at).saturating_sub(1))).peer {
                Peer::Router { router, .. } if port != NO_PORT => at = router,
                _ => return Err(Stray { from, at }),
            }
        }
        Err(Stray { from, at })
    }
}

/// The routers that can be reached from those with endpoints.
fn reached(wires: &Wires) -> Vec<bool> {
    let (mut distances, mut order) = (Vec::new(), Vec::new());
    let mut reached = vec![false; wires.routers() as usize];
    if let Some(first) = wires.hosts().next() {
        wires.towards(first, &mut distances, &mut order);
        order.iter().for_each(|&router| reached[router as usize] = true);
    }
    reached
}

/// An order of the routers in which, in every one of these graphs, a link leads from every router but the first to one
/// before it. `whole` are the links of all of them.
fn common_order(whole: &Wires, graphs: &[Arc<dyn Topology>]) -> Option<Vec<u32>> {
    let reached: Vec<Vec<bool>> = graphs.iter().map(|graph| reached(&Wires::new(&**graph))).collect();
    let bits = |holds: &dyn Fn(usize) -> bool| (0..graphs.len()).fold(0u64, |set, g| set | u64::from(holds(g)) << g);
    let there: Vec<u64> = (0..whole.routers()).map(|router| bits(&|graph| reached[graph][router as usize])).collect();
    let works = |place: u32| {
        let (router, port) = whole.owner(place);
        bits(&|graph| graphs[graph].faulty().is_none_or(|faulty| !faulty.is_dead(router, port)))
    };
    let working: Vec<u64> = (0..whole.places() as u32).map(works).collect();
    let all = bits(&|_| true);
    let steady = |router: &u32| whole.leaving(*router).filter(|(place, _)| working[*place as usize] == all).count();
    let mut roots: Vec<u32> = (0..whole.routers()).filter(|&router| there[router as usize] == all).collect();
    // Routers with most links come first.
    roots.sort_by_key(|root| std::cmp::Reverse(steady(root)));
    roots.into_iter().take(ROOTS).find_map(|root| order_from(whole, &there, &working, root))
}

/// Routers that are tried as the first.
const ROOTS: usize = 32;

/// The order that begins with `root`: by graphs, of which a word has a bit each, where routers can be reached, and
/// where links work.
fn order_from(whole: &Wires, there: &[u64], working: &[u64], root: u32) -> Option<Vec<u32>> {
    // The graphs in which a router has nobody before it.
    let mut wanting = there.to_vec();
    let mut placed = vec![false; there.len()];
    let (mut order, mut open) = (Vec::new(), VecDeque::from([root]));
    placed[root as usize] = true;
    while let Some(router) = open.pop_front() {
        order.push(router);
        for (place, wire) in whole.leaving(router) {
            let next = wire.router as usize;
            wanting[next] &= !(working[place as usize] & there[router as usize]);
            if wanting[next] == 0 && !placed[next] && there[next] != 0 {
                placed[next] = true;
                open.push_back(wire.router);
            }
        }
    }
    there.iter().zip(&placed).all(|(&there, &placed)| there == 0 || placed).then_some(order)
}

/// A mechanism, and the detours around faults.
struct Around {
    mechanism: Mechanism,
    /// It takes the minimal routes that are left, as the topology gives them.
    aware: bool,
    plan: Arc<Plan>,
}

impl RoutingParams for Around {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.mechanism.check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        let (mut needed, reason) = self.mechanism.vcs_needed(topology);
        if self.reserved() == 0 {
            return (needed, reason);
        }
        needed.iter_mut().skip(1).for_each(|count| *count = count.saturating_add(self.reserved()));
        (needed, format!("{reason}; and one for detours around topology.faults"))
    }
    fn proof(&self) -> Proof {
        self.mechanism.proof()
    }
    fn avoids_faults(&self) -> bool {
        true
    }
    fn reserved(&self) -> u8 {
        self.plan.has_detours().into()
    }
    fn reads_everything(&self) -> bool {
        self.mechanism.reads_everything()
    }
    fn sends_messages(&self) -> bool {
        self.mechanism.sends_messages()
    }
    fn loads_links(&self) -> bool {
        self.mechanism.loads_links()
    }
    fn bubble(&self) -> Option<&dyn Bubble> {
        self.mechanism.bubble()
    }
    fn needs_whole_packets(&self) -> bool {
        self.mechanism.needs_whole_packets()
    }
    fn per_network(&self) -> bool {
        self.mechanism.per_network()
    }
    fn compares_buffers(&self) -> bool {
        self.mechanism.compares_buffers()
    }
    fn samples_output_buffers(&self) -> bool {
        self.mechanism.samples_output_buffers()
    }
    fn packets_per_buffer(&self) -> u32 {
        self.mechanism.packets_per_buffer()
    }
    fn alternatives(&self) -> bool {
        self.mechanism.alternatives()
    }
    fn counts_on_room(&self) -> bool {
        self.mechanism.counts_on_room()
    }
    fn divides_flows(&self) -> bool {
        self.mechanism.divides_flows()
    }
    fn table(&self, topology: &dyn Topology) -> Option<Arc<RouteTable>> {
        self.mechanism.table(topology)
    }
    fn observables(&self) -> &'static [Observable] {
        self.mechanism.observables()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        let context = RoutingContext {
            widening: None,
            // One that does not know of faults is made for the whole network.
            topology: if self.aware { context.topology.clone() } else { self.plan.whole.clone() },
            routers: context.routers.clone(),
            vcs: context.vcs.clone(),
            queues: context.queues.clone(),
            isolating: context.isolating,
            packet_size: context.packet_size,
            ticks_per_cycle: context.ticks_per_cycle,
            latency: context.latency.clone(),
            ahead: context.ahead,
            seed: context.seed,
            table: context.table.clone(),
        };
        let mechanism = self.mechanism.build(&context);
        let layered = matches!(self.mechanism.proof(), Proof::Tables);
        Box::new(Rule {
            wants: Wants { settled: false, departures: true, ..mechanism.wants() },
            departures: mechanism.wants().departures,
            mechanism,
            aware: self.aware,
            table: context.table.clone().filter(|_| layered),
            plan: self.plan.clone(),
            phase: 0,
            since: 0,
            rest: Vec::new(),
        })
    }
}

struct Rule {
    mechanism: Box<dyn Routing>,
    wants: Wants,
    /// The mechanism wants to know of departures.
    departures: bool,
    aware: bool,
    /// Tables with layers, if the mechanism has any.
    table: Option<Arc<RouteTable>>,
    plan: Arc<Plan>,
    phase: usize,
    /// Tick from which on routing knows of this phase.
    since: Tick,
    /// Heads that the mechanism is asked about.
    rest: Vec<Head>,
}

/// No way is left.
const LOST: Hop = Hop { port: DISCARD, vc: 0, vcs: 1 };

/// True if a packet has come on a detour.
#[inline]
fn is_on_detour(at: &RouterView<'_>, packet: &Packet) -> bool {
    packet.came_by != 0 && packet.came_in >= at.vcs()[usize::from(packet.came_by)]
}

impl Rule {
    fn phase(&self) -> &Phase {
        &self.plan.phases[self.phase]
    }

    /// The hop of a packet that is not the mechanism's to decide.
    fn before(&self, view: &View<'_>, input: u16, packet: &mut Packet) -> Option<Hop> {
        let (at, to) = (view.router, packet.destination_router);
        let Phase { graph, detours, .. } = self.phase();
        let faulty = graph.faulty()?;
        if faulty.is_down(at) || faulty.is_down(to) {
            return Some(LOST);
        }
        let Some(detours) = detours else {
            return (packet.came_by != 0 && packet.injected < self.since && !self.stays(at, input, packet))
                .then_some(LOST);
        };
        if is_on_detour(&view.at, packet) {
            let came_from = match self.plan.whole.port(at, input).peer {
                Peer::Router { router, .. } => Some(router),
                Peer::Endpoint(_) | Peer::None => None,
            };
            let known = packet.scratch == detours.number;
            return Some(if known { self.detour(view, detours, packet, came_from) } else { LOST });
        }
        let lost = self.aware && self.has_lost(faulty, at, packet);
        lost.then(|| self.detour(view, detours, packet, None))
    }

    /// True if no minimal route is left to where a packet is heading.
    fn has_lost(&self, faulty: &Faulty, at: u32, packet: &Packet) -> bool {
        match packet.intermediate {
            NONE => faulty.has_lost(at, packet.destination_router),
            group if group & GROUP != 0 => false,
            router => router != at && faulty.has_lost(at, router),
        }
    }

    /// The final decision about a packet, after the mechanism's decision.
    fn after(&self, view: &View<'_>, packet: &Packet, hop: Option<Hop>) -> Option<Hop> {
        let Phase { graph, detours: Some(detours), .. } = self.phase() else { return hop };
        let Some(faulty) = graph.faulty() else { return hop };
        let blocked = match hop {
            Some(hop) => faulty.is_dead(view.router, hop.port),
            None => faulty.touches(view.router) || self.has_lost(faulty, view.router, packet),
        };
        if blocked { Some(self.detour(view, detours, packet, None)) } else { hop }
    }

    fn detour(&self, view: &View<'_>, detours: &Detours, packet: &Packet, came_from: Option<u32>) -> Hop {
        match detours.port(&*self.phase().graph, view.router, packet.destination_router, came_from) {
            Some(port) => Hop { port, vc: view.vcs()[usize::from(view.class(port))], vcs: 1 },
            None => LOST,
        }
    }

    /// True if the new route of a packet leads through the channel in which it stands; then it is in the layer of that.
    fn stays(&self, here: u32, input: u16, packet: &mut Packet) -> bool {
        let Some(table) = &self.table else { return true };
        let graph = &*self.phase().graph;
        let (mut at, mut came) = graph.attachment(packet.source);
        let layer = table.layer(at, packet.source, packet.destination);
        let mut channel = 0;
        for _ in 0..=graph.routers() {
            if at == here {
                let stays = came == input && channel == packet.came_in;
                packet.flags = if stays { layer } else { packet.flags };
                return stays;
            }
            let port = table.port(at, packet.destination);
            if port == NO_PORT {
                return false;
            }
            channel = table.channel(layer, Crossing { router: at, input: came, output: port });
            match graph.port(at, port).peer {
                Peer::Router { router, port } => (at, came) = (router, port),
                Peer::Endpoint(_) | Peer::None => return false,
            }
        }
        false
    }
}

/// The graph that the mechanism sees, if it is another.
fn seen_graph(plan: &Plan, phase: usize, aware: bool) -> Option<&dyn Topology> {
    let graph = plan.phases[phase].seen.as_ref().filter(|_| !aware)?;
    Some(graph)
}

/// The mechanism's view of a router.
fn seen<'a>(plan: &'a Plan, phase: usize, aware: bool, at: RouterView<'a>) -> RouterView<'a> {
    match seen_graph(plan, phase, aware) {
        Some(topology) => RouterView { topology, known: &Known::Other, ..at },
        None => at,
    }
}

/// Calls the mechanism with the router or the site as it sees them.
macro_rules! ask {
    ($self:ident, view $view:ident, $method:ident($($argument:expr),*)) => {{
        let at = seen(&$self.plan, $self.phase, $self.aware, $view.at);
        let mut view = View { at, rng: &mut *$view.rng, watched: &mut *$view.watched, sleeps: false };
        $self.mechanism.$method(&mut view, $($argument),*)
    }};
    ($self:ident, site $site:ident, $method:ident($($argument:expr),*)) => {{
        let at = seen(&$self.plan, $self.phase, $self.aware, $site.at);
        let mut site = Site { at, wakes: &mut *$site.wakes, outgoing: &mut *$site.outgoing };
        $self.mechanism.$method(&mut site, $($argument),*)
    }};
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        let topology = seen_graph(&self.plan, self.phase, self.aware).unwrap_or(at.topology);
        let mut at = Injection { topology, router: at.router, now: at.now, rng: &mut *at.rng };
        self.mechanism.inject(&mut at, packet);
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        if packet.came_by == 0
            && let Some(table) = &self.table
        {
            // Its route may be another since it was injected.
            packet.flags = table.layer(view.router, packet.source, packet.destination);
        }
        if let Some(hop) = self.before(view, port, packet) {
            view.watch_chosen();
            return Some(hop);
        }
        let hop = ask!(self, view view, route(port, queue, packet));
        self.after(view, packet, hop)
    }

    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        let mut rest = std::mem::take(&mut self.rest);
        rest.clear();
        for head in heads.iter_mut() {
            head.hop = self.before(view, head.port, &mut packets[head.packet]);
            rest.extend(head.hop.is_none().then_some(*head));
        }
        if !rest.is_empty() {
            ask!(self, view view, route_all(&mut rest, packets));
        }
        for (head, decided) in heads.iter_mut().filter(|head| head.hop.is_none()).zip(&rest) {
            head.hop = self.after(view, &packets[head.packet], decided.hop);
        }
        self.rest = rest;
    }

    fn sends(&mut self, at: &RouterView<'_>, packet: &mut Packet) {
        self.mechanism.sends(&seen(&self.plan, self.phase, self.aware, *at), packet);
    }

    fn ejection(&self, packet: &Packet) -> u8 {
        self.mechanism.ejection(packet)
    }

    fn arrives(&mut self, at: &RouterView<'_>, port: u16, queue: u16, packet: &mut Packet) {
        if !is_on_detour(at, packet) {
            self.mechanism.arrives(&seen(&self.plan, self.phase, self.aware, *at), port, queue, packet);
        }
    }

    fn head_arrived(&mut self, at: &mut Site<'_>, port: u16, queue: u16, packet: &mut Packet) {
        if !is_on_detour(at, packet) {
            ask!(self, site at, head_arrived(port, queue, packet));
        }
    }

    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        ask!(self, site at, tail_left(port, queue));
    }

    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop, packet: &mut Packet) {
        match self.phase().detours.as_ref() {
            Some(detours) if hop.vc >= at.vcs()[usize::from(at.class(hop.port))] => {
                packet.intermediate = NONE;
                packet.scratch = detours.number;
                packet.misrouted |= DETOURED;
            }
            _ if self.departures => {
                self.mechanism.departs(&seen(&self.plan, self.phase, self.aware, *at), port, queue, hop, packet);
            }
            _ => {}
        }
    }

    fn period(&mut self, at: &mut Site<'_>) {
        ask!(self, site at, period());
    }

    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        ask!(self, site at, occupancy_changed());
    }

    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        ask!(self, site at, hear(port, payload));
    }

    fn rerouted(&mut self, now: Tick, phase: usize, table: Option<&Arc<RouteTable>>) {
        (self.phase, self.since) = (phase, now);
        if let (Some(own), Some(table)) = (&mut self.table, table) {
            *own = table.clone();
        }
        self.mechanism.rerouted(now, phase, table);
    }

    fn observe(&self, router: u32, now: Tick, see: See<'_>) {
        self.mechanism.observe(router, now, see);
    }
}
