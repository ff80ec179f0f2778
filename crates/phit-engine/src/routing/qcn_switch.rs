//! QCN-Switch: minimal routing that is left with a probability for each output, which congestion notifications lower.

use super::exits::{self, Exits};
use super::valiant::{self, SecondHalf, Via};
use super::{Payload, Routing, RoutingContext, RoutingParams, See, Site, View, Wants};
use crate::engine::{Rng, Tick};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof, RouterView};
use crate::measure::Observable;
use crate::packet::{GROUP, HopState, Hops, MISROUTED_AT_INJECTION, MISROUTED_GLOBALLY, Packet};
use crate::topology::{Hop, Leg, Peer, Routers, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The queue that a congestion point samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// All virtual channels of an input port.
    #[default]
    Input,
    /// All virtual channels of an input port, where a packet counts until a latency of the link has passed since it
    /// left: as long as the sender, too, counts it. This is what FOGSim sees a latency earlier, since its buffers hold
    /// packets from the start of their transmission. A link in use has a long queue even if no packet waits.
    InputAndLink,
    /// The output buffer of a port. A router that is the source's own changes its probability without a notification.
    Output,
}

/// How a probability changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// By a difference.
    Sum,
    /// By a factor.
    Product,
}

/// What a notification does whose feedback is not above that of other ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Below {
    /// It changes nothing.
    #[default]
    Keep,
    /// It raises the probability by a step of recovery (as FOGSim).
    Raise,
}

/// Feedback is compared with the mean over the ports of the router to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Comparison {
    /// A notification whose feedback exceeds the mean by no more than this is treated as `below` says.
    #[schemars(range(max = 63))]
    pub keep: u8,
    /// A notification lowers the probability if its feedback exceeds the mean by more than this. At least `keep`.
    #[schemars(range(max = 63))]
    pub lower: u8,
    /// What a notification does whose feedback is not above that of other ports.
    pub below: Below,
    /// Cycles for which the latest feedback of a port counts in the mean; 0: for ever (as FOGSim).
    #[schemars(extend("x-unit" = "cycles"))]
    pub memory: u32,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { keep: 0, lower: 0, below: Below::Keep, memory: 1000 }
    }
}

/// QCN-Switch: every output has a probability of routing minimally, which congestion notifications lower (Benito,
/// Fuentes, Vallejo and Beivide, "Non-minimal adaptive routing based on explicit congestion notifications", CCPE 31(2),
/// 2019; details as in FOGSim, version 5).
///
/// Each port to another router is a *congestion point*. It samples its queue after `sample_base` cycles, less one for
/// each packet that has come over its link. With q for the queue and q' for the queue at the sample before, the
/// feedback is (q - `set_point`) + `weight` * (q - q'), in six bits: 63 stands for (1 + 2 `weight`) * `set_point` and
/// more. If it is positive, the router notifies, with probability `notify`, the source of a random packet of the queue.
///
/// The notification goes minimally to the source's router and ends at the source. It takes the time of links and
/// routers. It goes before data and waits in no queue of data. In the source's router it lowers the probability of the
/// port by which it has come, which leads to the congested port. The probability rises by a step for every `recovery`
/// phits that leave through the port.
///
/// A packet to another group leaves its minimal route with the probability 1 - P when it comes to the front of its
/// injection queue, where P is that of its minimal output. The detour is that of `min_cond`: over link number j of the
/// router for the packets of port j. Fits topologies in which links join groups of routers, or routers, directly. Where
/// several minimal links lead to a group, notifications come back by any of them.
///
/// Virtual channels rise along a route. A Dragonfly needs 3 local and 2 global ones. A step of every cycle visits all
/// routers.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [router]
/// output_buffer = 32
///
/// [routing]
/// kind = "qcn_switch"
/// point = "output"
/// set_point = 20
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QcnSwitch {
    /// The queue that is sampled.
    pub point: Point,
    /// Phits at which a queue should stay.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub set_point: u32,
    /// Weight of the queue's change.
    #[schemars(range(min = 0, max = 1024))]
    pub weight: f64,
    /// Cycles and packets between two samples.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub sample_base: u32,
    /// Probability that a sample with positive feedback makes a notification.
    #[schemars(range(min = 0, max = 1))]
    pub notify: f64,
    /// A router that notifies a packet's source also lowers its own probability towards the destination, if that is in
    /// another group.
    pub own: bool,
    /// How a notification lowers a probability P: to P * (1 - `gain` * feedback), or to P - `gain` * feedback.
    pub decrease_by: Change,
    /// Decrease for each unit of the feedback.
    #[schemars(range(min = 0, max = 1))]
    pub gain: f64,
    /// How recovery raises a probability P: to P + `increase`, or to P * `increase`.
    pub increase_by: Change,
    /// A step of recovery: up to 1 for a sum, at least 1 for a product.
    #[schemars(range(min = 0, max = 100))]
    pub increase: f64,
    /// Phits through a port for each step of recovery.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[schemars(extend("x-unit" = "phits"))]
    pub recovery: u32,
    /// Smallest probability.
    #[schemars(range(min = 0, max = 1))]
    pub minimum: f64,
    /// Feedback is compared with that of other ports before it changes a probability. Left out: all of it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<Comparison>,
    /// Probabilities are rounded down to whole percent when a packet is routed (as FOGSim).
    pub whole_percent: bool,
    /// Size of a notification.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub notification: u16,
}

impl Default for QcnSwitch {
    fn default() -> Self {
        Self {
            point: Point::Input,
            set_point: 80,
            weight: 0.5,
            sample_base: 50,
            notify: 1.0,
            own: false,
            decrease_by: Change::Product,
            gain: 1.0 / 128.0,
            increase_by: Change::Sum,
            increase: 0.01,
            recovery: 800,
            minimum: 0.01,
            compare: None,
            whole_percent: false,
            notification: 8,
        }
    }
}

/// The largest feedback: all of six bits.
const MOST: f64 = 63.0;

/// Observable: the probabilities of outputs.
const PROBABILITY: Observable = Observable {
    name: "minimal_probability",
    words: "probability of routing minimally",
    unit: "percent",
    about: "The probability with which a packet for an output to another router is routed minimally, in percent.",
};

impl RoutingParams for QcnSwitch {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        exits::check("qcn_switch", topology)?;
        let expected = match self.increase_by {
            Change::Sum if self.increase > 1.0 => "expected 1 or less, with increase_by = \"sum\"",
            Change::Product if self.increase < 1.0 => "expected 1 or more, with increase_by = \"product\"",
            _ => return self.check_comparison(),
        };
        Err(ScenarioError::new("increase", self.increase, expected))
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(Leg { index: 0, of: 2, to_group: true })
    }
    fn proof(&self) -> Proof {
        Proof::legs_or_direct(Legs::ToGroup)
    }
    fn reads_buffers(&self) -> bool {
        false
    }
    fn sends_messages(&self) -> bool {
        true
    }
    fn samples_output_buffers(&self) -> bool {
        self.point == Point::Output
    }
    fn observables(&self) -> &'static [Observable] {
        &[PROBABILITY]
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Rule::new(self, context))
    }
}

impl QcnSwitch {
    fn check_comparison(&self) -> Result<(), ScenarioError> {
        let Some(Comparison { keep, lower, .. }) = self.compare else { return Ok(()) };
        match lower < keep {
            true => Err(ScenarioError::new("compare.lower", lower, format!("expected at least keep, {keep}"))),
            false => Ok(()),
        }
    }

    /// The feedback of a queue of `phits` which was `before` at the last sample; 0 if there is nothing to notify.
    fn feedback(&self, phits: u32, before: u32) -> u8 {
        let (q, before, set_point) = (f64::from(phits), f64::from(before), f64::from(self.set_point));
        let most = set_point * (1.0 + 2.0 * self.weight);
        let feedback = ((q - set_point) + self.weight * (q - before)).trunc().clamp(0.0, most);
        (feedback * MOST / most) as u8
    }

    fn raised(&self, probability: f64) -> f64 {
        let raised = match self.increase_by {
            Change::Sum => probability + self.increase,
            Change::Product => probability * self.increase,
        };
        raised.min(1.0)
    }

    fn lowered(&self, probability: f64, feedback: f64) -> f64 {
        let lowered = match self.decrease_by {
            Change::Sum => probability - self.gain * feedback,
            Change::Product => probability * (1.0 - self.gain * feedback),
        };
        lowered.max(self.minimum)
    }
}

/// A packet in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    /// When it came to the queue, or left it.
    since: Tick,
    /// The queue of its port.
    queue: u16,
    phits: u16,
    /// Endpoint that sent it, and router to which it goes.
    source: u32,
    to: u32,
}

/// A port to another router: congestion point and output.
#[derive(Debug)]
struct Port {
    number: u16,
    /// Tick of the next sample.
    due: Tick,
    /// The queue at the last sample.
    before: u32,
    /// Packets in the input buffer, or those that may be in the output buffer.
    held: Vec<Waiting>,
    /// Packets that have left lately, with the tick of that ([`Point::InputAndLink`]).
    recent: VecDeque<Waiting>,
    /// Ticks for which they count.
    lately: Tick,
    /// The probability of routing minimally.
    probability: f64,
    /// Phits until it rises.
    left: i64,
    /// The latest feedback, and when it came.
    heard: (u8, Tick),
}

impl Port {
    /// Phits of the queue in tick `now`.
    fn phits(&mut self, now: Tick) -> u32 {
        let lately = self.lately;
        while self.recent.front().is_some_and(|packet| packet.since + lately < now) {
            self.recent.pop_front();
        }
        self.packets().map(|packet| u32::from(packet.phits)).sum()
    }

    /// The packets of the queue.
    fn packets(&self) -> impl Iterator<Item = &Waiting> {
        self.recent.iter().chain(&self.held)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + (self.held.capacity() + self.recent.capacity()) * size_of::<Waiting>()
    }
}

/// A router: its ports to others, and what it has heard in this cycle.
#[derive(Debug)]
struct Router {
    /// The first of these ports.
    first: u16,
    ports: Vec<Port>,
    rng: Rng,
    /// The first tick in which a sample may be due.
    check: Tick,
    /// Notifications by port.
    heard: Vec<(u16, Notice)>,
}

impl Router {
    fn place(&self, port: u16) -> Option<usize> {
        port.checked_sub(self.first).map(usize::from).filter(|place| *place < self.ports.len())
    }
}

/// A notification: the endpoint to which it goes, and the feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Notice {
    source: u32,
    feedback: u8,
}

impl Notice {
    fn payload(self) -> Payload {
        [(self.source >> 16) as u16, self.source as u16, self.feedback.into()].into()
    }

    fn of(payload: &[u16]) -> Self {
        let source = u32::from(payload[0]) << 16 | u32::from(payload[1]);
        Self { source, feedback: payload[2] as u8 }
    }
}

struct Rule {
    params: QcnSwitch,
    exits: Exits,
    places: Routers,
    routers: Vec<Router>,
    ticks_per_cycle: Tick,
}

/// The state of a packet before its first hop.
const FRESH: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

impl Rule {
    fn new(params: &QcnSwitch, context: &RoutingContext) -> Self {
        let (topology, tick) = (&*context.topology, context.ticks_per_cycle);
        let due = params.sample_base * tick;
        let port = |router: u32, number: u16| {
            let port = topology.port(router, number);
            let lately = context.latency.get(usize::from(port.class)).copied().unwrap_or(0);
            Port {
                number,
                due,
                before: 0,
                held: Vec::new(),
                recent: VecDeque::new(),
                lately,
                probability: 1.0,
                left: params.recovery.into(),
                heard: (0, 0),
            }
        };
        let router = |router: u32| {
            let leads = |number: &u16| matches!(topology.port(router, *number).peer, Peer::Router { .. });
            let mut numbers = (0..topology.ports(router)).filter(leads).peekable();
            let first = numbers.peek().copied().unwrap_or(0);
            let end = numbers.last().map_or(first, |last| last + 1);
            // Ports between these that lead nowhere stay as they are.
            let ports = (first..end).map(|number| port(router, number)).collect();
            let rng = Rng::keyed(context.seed ^ SALT, router);
            Router { first, ports, rng, check: due, heard: Vec::new() }
        };
        Self {
            exits: Exits::new(context),
            routers: context.routers.iter().map(router).collect(),
            places: context.routers.clone(),
            ticks_per_cycle: tick,
            params: params.clone(),
        }
    }

    /// Notifies, at place `local`, the source of `packet`, which stands in the queue of `port`.
    fn notifies(&mut self, at: &mut Site<'_>, packet: Waiting, feedback: u8) {
        let local = at.local as usize;
        let (home, _) = at.topology.attachment(packet.source);
        let here = at.topology.group_of(at.router);
        if self.params.point == Point::Output && home == at.router {
            if packet.to != at.router {
                let port = self.minimal_port(at, packet.to);
                self.reacts(local, port, feedback, at.now);
            }
            return;
        }
        self.passes_on(at, Notice { source: packet.source, feedback });
        if self.params.own && at.topology.group_of(packet.to) != here {
            let port = self.minimal_port(at, packet.to);
            self.lowers(local, port, f64::from(feedback));
        }
    }

    /// The port by which packets from this router to router `to` go minimally.
    fn minimal_port(&mut self, at: &RouterView<'_>, to: u32) -> u16 {
        at.minimal_hop(to, FRESH, &mut self.routers[at.local as usize].rng).port
    }

    /// Sends a notification from this router to the next, or to its source.
    fn passes_on(&mut self, at: &mut Site<'_>, notice: Notice) {
        let (home, port) = at.topology.attachment(notice.source);
        let port = if home == at.router { port } else { self.minimal_port(at, home) };
        let phits = self.params.notification;
        at.pass_on(port, notice.payload(), phits.into());
        self.counts(at.local as usize, port, phits);
    }

    /// `phits` leave place `local` through `port`, whose probability may rise.
    fn counts(&mut self, local: usize, port: u16, phits: u16) {
        let router = &mut self.routers[local];
        let Some(place) = router.place(port) else { return };
        let port = &mut router.ports[place];
        port.left -= i64::from(phits);
        if port.left <= 0 {
            port.left = self.params.recovery.into();
            port.probability = self.params.raised(port.probability);
        }
    }

    fn lowers(&mut self, local: usize, port: u16, feedback: f64) {
        let router = &mut self.routers[local];
        let Some(place) = router.place(port) else { return };
        let probability = &mut router.ports[place].probability;
        *probability = self.params.lowered(*probability, feedback);
    }

    /// A notification has come to the router of its source, at place `local`, by `port`.
    fn reacts(&mut self, local: usize, port: u16, feedback: u8, now: Tick) {
        let router = &mut self.routers[local];
        let Some(place) = router.place(port) else { return };
        router.ports[place].left = self.params.recovery.into();
        let Some(compare) = &self.params.compare else {
            return self.lowers(local, port, f64::from(feedback));
        };
        router.ports[place].heard = (feedback, now);
        let memory = compare.memory.saturating_mul(self.ticks_per_cycle);
        let counts = |heard: Tick| memory == 0 || now - heard < memory;
        let heard = router.ports.iter().map(|port| port.heard).filter(|(_, heard)| counts(*heard));
        let mean = heard.map(|(feedback, _)| u32::from(feedback)).sum::<u32>() / router.ports.len() as u32;
        let above = u32::from(feedback).saturating_sub(mean);
        if above > compare.lower.into() {
            self.lowers(local, port, f64::from(above));
        } else if above <= compare.keep.into() && compare.below == Below::Raise {
            let probability = &mut router.ports[place].probability;
            *probability = self.params.raised(*probability);
        }
    }

    /// Samples the ports of a router that are due.
    fn samples(&mut self, at: &mut Site<'_>) {
        let (local, now) = (at.local as usize, at.now);
        let base = self.params.sample_base * self.ticks_per_cycle;
        let mut next = Tick::MAX;
        for place in 0..self.routers[local].ports.len() {
            let Router { ports, rng, .. } = &mut self.routers[local];
            let port = &mut ports[place];
            if port.due > now {
                next = next.min(port.due);
                continue;
            }
            let phits = match self.params.point {
                Point::Output => {
                    let waiting = at.waiting(port.number);
                    let mut rest: u32 = port.held.iter().map(|packet| u32::from(packet.phits)).sum();
                    // The latest packets are those that wait.
                    let gone = port.held.iter().take_while(|packet| {
                        let is_gone = rest > waiting;
                        rest -= u32::from(packet.phits);
                        is_gone
                    });
                    let gone = gone.count();
                    port.held.drain(..gone);
                    waiting
                }
                _ => port.phits(now),
            };
            if phits == 0 {
                // The next packet brings the sample.
                continue;
            }
            port.due = now + base;
            next = next.min(port.due);
            let feedback = self.params.feedback(phits, port.before);
            port.before = phits;
            if feedback == 0 || !rng.chance(self.params.notify) {
                continue;
            }
            let culprit = match self.params.point {
                Point::Output => port.held.first().copied(),
                _ => {
                    let count = port.packets().count() as u32;
                    port.packets().nth(rng.below(count) as usize).copied()
                }
            };
            if let Some(packet) = culprit {
                self.notifies(at, packet, feedback);
            }
        }
        self.routers[local].check = next;
    }
}

/// Keeps the random numbers of congestion points apart from others of the same seed.
const SALT: u64 = 0x51_43_4e;

impl Routing for Rule {
    fn bytes(&self) -> usize {
        let ports = self.routers.iter().flat_map(|router| &router.ports).map(Port::bytes).sum::<usize>();
        self.exits.bytes() + self.routers.capacity() * size_of::<Router>() + ports
    }

    fn wants(&self) -> Wants {
        let input = self.params.point != Point::Output;
        Wants { arrivals: true, departures: true, ejections: input, period: 1, ..Wants::default() }
    }

    fn arrives(&mut self, at: &RouterView<'_>, port: u16, queue: u16, packet: &mut Packet) {
        let (now, point) = (at.now, self.params.point);
        let router = &mut self.routers[at.local as usize];
        let Some(place) = router.place(port) else { return };
        let port = &mut router.ports[place];
        port.due = port.due.saturating_sub(self.ticks_per_cycle);
        router.check = router.check.min(port.due);
        if point == Point::Output {
            return;
        }
        let (phits, source, to) = (packet.size, packet.source, packet.destination_router);
        let packet = Waiting { since: now, queue, phits, source, to };
        port.held.push(packet);
    }

    fn departs(&mut self, at: &RouterView<'_>, port: u16, queue: u16, hop: Hop, packet: &mut Packet) {
        let local = at.local as usize;
        let router = &mut self.routers[local];
        match self.params.point {
            Point::Output => {
                if let Some(place) = router.place(hop.port) {
                    let (phits, source, to) = (packet.size, packet.source, packet.destination_router);
                    let port = &mut router.ports[place];
                    port.held.push(Waiting { since: at.now, queue, phits, source, to });
                    router.check = router.check.min(port.due);
                }
            }
            _ => {
                if let Some(place) = router.place(port) {
                    let port = &mut router.ports[place];
                    let first = port.held.iter().position(|packet| packet.queue == queue);
                    if let Some(packet) = first.map(|first| port.held.remove(first))
                        && self.params.point == Point::InputAndLink
                    {
                        port.recent.push_back(Waiting { since: at.now, ..packet });
                    }
                }
            }
        }
        self.counts(local, hop.port, packet.size);
    }

    fn period(&mut self, at: &mut Site<'_>) {
        let local = at.local as usize;
        if !self.routers[local].heard.is_empty() {
            let mut heard = std::mem::take(&mut self.routers[local].heard);
            heard.sort_unstable();
            for (port, notice) in heard.drain(..) {
                if at.topology.attachment(notice.source).0 == at.router {
                    self.reacts(local, port, notice.feedback, at.now);
                }
                self.passes_on(at, notice);
            }
            self.routers[local].heard = heard;
        }
        if self.routers[local].check <= at.now {
            self.samples(at);
        }
    }

    fn hear(&mut self, at: &mut Site<'_>, port: u16, payload: &Payload) {
        self.routers[at.local as usize].heard.push((port, Notice::of(payload)));
    }

    fn route(&mut self, view: &mut View<'_>, port: u16, _: u16, packet: &mut Packet) -> Option<Hop> {
        let (at, to) = (view.at, packet.destination_router);
        let leaves = |router| at.topology.group_of(router) != at.topology.group_of(to);
        if packet.came_by == 0 && packet.legs == 1 && leaves(at.router) {
            let minimal = at.minimal_hop(to, packet.hop_state(), &mut at.rng_of(packet));
            let router = &self.routers[at.local as usize];
            let exact = router.place(minimal.port).map_or(1.0, |place| router.ports[place].probability);
            let probability = if self.params.whole_percent { (100.0 * exact).floor() / 100.0 } else { exact };
            let behind = self.exits.of_port(at.router, port);
            if let Some(group) = behind.filter(|_| !view.rng.chance(probability)) {
                (packet.legs, packet.intermediate) = (2, GROUP | group);
                packet.misrouted |= MISROUTED_GLOBALLY | MISROUTED_AT_INJECTION;
            }
        }
        Some(match packet.legs {
            1 => at.minimal_hop(to, packet.hop_state(), &mut at.rng_of(packet)),
            _ => valiant::hop(&view.at, packet, Via::Group, SecondHalf::Above, view.rng),
        })
    }

    fn observe(&self, router: u32, _now: Tick, see: See<'_>) {
        for port in &self.routers[self.places.place(router)].ports {
            see(&PROBABILITY, Some(port.number), (100.0 * port.probability).round() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::exits::tests::context;

    /// With a set point of 80 and a weight of 1/2, 63 stands for 160. A queue of 120 that has not changed gives 40,
    /// which is 15.75. One of 60 that was empty gives -20 + 30. 82.5 - 80 is 2 before it is scaled.
    #[test]
    fn feedback_is_the_excess_and_half_the_growth_in_six_bits() {
        let params = QcnSwitch::default();
        let cases = [(120, 120, 15), (120, 80, 23), (60, 0, 3), (80, 80, 0), (82, 81, 0), (83, 83, 1), (1000, 0, 63)];
        for (phits, before, feedback) in cases {
            assert_eq!(params.feedback(phits, before), feedback, "{phits} after {before}");
        }
    }

    /// Ports 1 to 3 of a router lead to the others of its group, 4 and 5 out of it.
    fn rule(params: QcnSwitch) -> Rule {
        Rule::new(&params, &context())
    }

    fn probability(rule: &Rule, port: u16) -> f64 {
        let router = &rule.routers[5];
        router.ports[router.place(port).unwrap()].probability
    }

    #[test]
    fn notifications_lower_the_probability_and_phits_raise_it() {
        let mut rule = rule(QcnSwitch { gain: 1.0 / 64.0, recovery: 24, ..QcnSwitch::default() });
        rule.reacts(5, 4, 32, 0);
        assert_eq!((probability(&rule, 4), probability(&rule, 5)), (0.5, 1.0));
        // The third packet is the 24th phit.
        (0..2).for_each(|_| rule.counts(5, 4, 8));
        assert_eq!(probability(&rule, 4), 0.5);
        rule.counts(5, 4, 8);
        assert_eq!(probability(&rule, 4), 0.51);
        // A notification starts the count again.
        rule.counts(5, 4, 16);
        rule.reacts(5, 4, 48, 0);
        rule.counts(5, 4, 16);
        assert_eq!(probability(&rule, 4), 0.51 * 0.25);
        rule.reacts(5, 4, 63, 0);
        assert_eq!(probability(&rule, 4), 0.01, "the minimum");
        (0..1000).for_each(|_| rule.counts(5, 4, 8));
        assert_eq!(probability(&rule, 4), 1.0, "the most");
    }

    #[test]
    fn probabilities_change_by_sums_and_products() {
        let params = QcnSwitch { decrease_by: Change::Sum, increase_by: Change::Product, ..QcnSwitch::default() };
        let params = QcnSwitch { gain: 1.0 / 64.0, increase: 1.5, recovery: 8, ..params };
        let mut rule = rule(params);
        (0..2).for_each(|_| rule.reacts(5, 4, 16, 0));
        assert_eq!(probability(&rule, 4), 0.5);
        rule.counts(5, 4, 8);
        assert_eq!(probability(&rule, 4), 0.75);
    }

    /// Of five ports one has heard 20, which is 16 above the mean, then another one 30, which is 20 above it, or 24 if
    /// the first is forgotten. 5 is below the mean of 5 and 30, unless these are forgotten, too.
    #[test]
    fn feedback_is_compared_with_the_mean_of_ports() {
        let cases = [
            (1000, Below::Keep, 0.6875, 0.75),
            (1000, Below::Raise, 0.6875, 0.76),
            (5, Below::Keep, 0.625, 0.703125),
            (0, Below::Keep, 0.6875, 0.75),
        ];
        for (memory, below, second, last) in cases {
            let compare = Some(Comparison { memory, below, ..Comparison::default() });
            let mut rule = rule(QcnSwitch { gain: 1.0 / 64.0, compare, ..QcnSwitch::default() });
            rule.reacts(5, 4, 20, 100);
            assert_eq!(probability(&rule, 4), 0.75, "{memory}");
            rule.reacts(5, 5, 30, 110);
            assert_eq!(probability(&rule, 5), second, "{memory}");
            rule.reacts(5, 4, 5, 120);
            assert_eq!(probability(&rule, 4), last, "{memory} {below:?}");
        }
    }

    #[test]
    fn a_packet_counts_for_a_latency_after_it_has_left() {
        let mut rule = rule(QcnSwitch { point: Point::InputAndLink, ..QcnSwitch::default() });
        let router = &mut rule.routers[5];
        let place = router.place(4).unwrap();
        let port = &mut router.ports[place];
        let packet = Waiting { since: 50, queue: 0, phits: 8, source: 0, to: 1 };
        port.recent.push_back(packet);
        port.held.push(packet);
        assert_eq!((port.phits(150), port.phits(151)), (16, 8), "global links take 100 ticks");
    }

    #[test]
    fn a_notification_survives_its_journey() {
        let notice = Notice { source: 0x0003_0007, feedback: 63 };
        assert_eq!(Notice::of(&notice.payload()), notice);
    }
}
