//! SRP: sources reserve time at the destination, and send speculatively until it is granted.

use super::{Congestion, CongestionContext, CongestionParams, Notifications};
use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::reservation::{Expiry, Reservations, Reserving, Wish};
use crate::traffic::Generated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Speculative Reservation Protocol (Jiang, Becker, Michelogiannakis and Dally, "Network congestion avoidance through
/// speculative reservation", HPCA 2012).
///
/// A source sends a reservation before a message, or before each `chunk` of a long message. Until the grant comes, it
/// sends packets of the message speculatively. A router drops a speculative packet whose time to live is over, and
/// sends a refusal to its source. The source then sends nothing more of the message before the grant. The destination
/// grants reservations in the order of their arrival: each takes its phits times `overhead` of the destination's
/// time. From the granted time on, less the time that the grant has taken, the source sends the refused packets and
/// those that have not been sent. No router drops these packets. The destination acknowledges each speculative packet
/// that it receives, and refuses one whose reservation has not come. Messages of less than `least` phits take no part
/// and are sent at once.
///
/// Packets of one source to one destination that are generated in one cycle are a message. A source sends the messages
/// to one destination one after another: a message is over when all its packets have been sent as granted ones or have
/// been acknowledged.
///
/// Reservations, grants, acknowledgements (with refusals), speculative packets and granted packets have a fifth of the
/// virtual channels of every link each. In allocators with `priority = "class"` grants go first, then reservations,
/// acknowledgements, granted packets and speculative packets.
///
/// The defaults are those of the paper, with phits as its flits.
///
/// ```toml
/// [topology]
/// kind = "k_ary_n_tree"
/// arity = 4
/// levels = 2
///
/// [router]
/// switching = "wormhole"
/// vc_allocation = "stage"
/// vc_eligible = "with_packet_room"
///
/// [router.allocator]
/// kind = "separable_input_first"
/// priority = "class"
///
/// [router.links.default]
/// vcs = 5
/// buffer = 64
///
/// [traffic]
/// packet_size = 8
/// message = { packets = 4 }
/// pattern = { kind = "hotspot", targets = [3], share = 0.3 }
///
/// [congestion]
/// kind = "srp"
/// time_to_live = 60
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Srp {
    /// Time after which a speculative packet is dropped.
    #[schemars(range(max = 1_000_000))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub time_to_live: u32,
    /// Which time counts.
    pub expiry: Waits,
    /// Whether a wait that is likely behind the output counts, too.
    pub estimate: bool,
    /// Phits for which an output may lack credits before they count as such a wait: phits and credits on the link.
    #[schemars(extend("x-unit" = "phits"))]
    pub in_flight: u32,
    /// Factor by which a reservation takes more of the destination's time than its data do, from 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub overhead: f64,
    /// Most phits of one reservation. A packet is never divided.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub chunk: u32,
    /// Smallest message that makes a reservation.
    #[schemars(extend("x-unit" = "phits"))]
    pub least: u32,
    /// Share of a grant's time from the destination to the source by which the source begins before the granted time.
    #[schemars(range(min = 0, max = 1))]
    pub deduction: f64,
    /// False: nothing is sent before the grant.
    pub speculation: bool,
    /// True: speculative packets have a queue for each output where granted packets have (`queueing.kind = "voqsw"`).
    pub sorted: bool,
    /// How a reservation gets its turn at the source.
    pub reservations: ReservationTurn,
    /// True: a source with no other packet of a message sends unacknowledged packets again. The destination discards
    /// the packet that comes second.
    pub resend: bool,
    /// True: no new reservation before the end of the time of the last one.
    pub post_wait: bool,
    /// When a packet is sent that is refused after the granted time.
    pub late_refusals: LateRefusals,
    /// How an endpoint sends control packets.
    pub injection: ControlInjection,
    /// Size of packets without data, no more than the smallest packet.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub control: u16,
}

/// Which time of a speculative packet counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// The time in input queues, of all routers together.
    #[default]
    Queueing,
    /// All time since its head was sent.
    SinceSending,
}

/// How a reservation gets its turn at the source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReservationTurn {
    /// One goes whenever the source sends data of any message, too.
    #[default]
    WithData,
    /// Messages take turns, and granted packets go before reservations.
    InTurn,
}

/// When a packet is sent that is refused after the granted time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateRefusals {
    /// With the next reservation.
    #[default]
    Reserve,
    /// At once, without a reservation (the authors' program).
    Send,
}

/// How an endpoint sends control packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlInjection {
    /// Over the link that data take, before data.
    #[default]
    Link,
    /// Beside data: in one cycle, an endpoint sends a flit of data, a reservation and another control packet (the
    /// authors' program).
    Beside,
}

impl Default for Srp {
    fn default() -> Self {
        Self {
            time_to_live: 200,
            expiry: Waits::Queueing,
            estimate: true,
            in_flight: 10,
            overhead: 1.05,
            chunk: 512,
            least: 0,
            deduction: 1.0,
            speculation: true,
            sorted: false,
            reservations: ReservationTurn::WithData,
            resend: false,
            post_wait: false,
            late_refusals: LateRefusals::Reserve,
            injection: ControlInjection::Link,
            control: 1,
        }
    }
}

impl CongestionParams for Srp {
    fn notifications(&self) -> Option<Notifications> {
        None
    }

    fn reservations(&self) -> Option<Reservations> {
        Some(Reservations {
            control: self.control,
            beside: self.injection == ControlInjection::Beside,
            reservations_first: self.reservations == ReservationTurn::WithData,
            expiry: Expiry {
                time_to_live: self.time_to_live,
                since_sending: self.expiry == Waits::SinceSending,
                in_flight: self.estimate.then_some(self.in_flight),
                sorted: self.sorted,
            },
        })
    }

    fn check(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    fn build(&self, _: &CongestionContext) -> Option<Box<dyn Congestion>> {
        None
    }

    fn protocol(&self, context: &CongestionContext) -> Option<Box<dyn Reserving>> {
        Some(Box::new(Rule {
            params: self.clone(),
            cycle: context.ticks_per_cycle,
            flows: Vec::new(),
            destinations: vec![Destination::default(); context.endpoints as usize],
        }))
    }
}

/// How far the message of a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No message.
    Idle,
    /// Packets are sent speculatively.
    Speculating,
    /// A packet has been refused before the grant.
    Refused,
    /// The grant has come: packets are sent from this tick on.
    Granted(Tick),
}

/// How far a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packet {
    /// It has not been sent.
    Waits,
    /// It has been refused: it is sent only when it is granted.
    Refused,
    /// It has been sent speculatively, and nothing has been heard of it.
    Outstanding,
    /// It has been sent as a granted packet, or has been acknowledged.
    Done,
}

/// The messages from one source to one destination.
#[derive(Debug, Clone)]
struct Flow {
    /// Packets of the present message from the first that is not done on, and packets of later messages.
    packets: VecDeque<(Generated, Packet)>,
    /// Number of the first of these packets.
    first: u32,
    /// How many of them belong to the present message.
    count: u32,
    /// For how many of them reservations have been made.
    reserved: u32,
    /// Phits of the present reservation that have not been sent, or have been refused.
    slots: u32,
    /// Outstanding packets.
    outstanding: u32,
    state: State,
    /// The message is too small for a reservation.
    walks_in: bool,
    /// The tick in which the present reservation was sent, and its phits; `None` before.
    asked: Option<(Tick, u32)>,
    /// The present reservation has been sent and not been granted.
    awaits_grant: bool,
    /// The place of the packet that is being sent.
    sending: Option<u32>,
    /// No new reservation before this tick.
    rests_until: Tick,
    /// End of the granted time.
    window_end: Tick,
}

impl Flow {
    fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            first: 0,
            count: 0,
            reserved: 0,
            slots: 0,
            outstanding: 0,
            state: State::Idle,
            walks_in: false,
            asked: None,
            awaits_grant: false,
            sending: None,
            rests_until: 0,
            window_end: 0,
        }
    }

    /// The first reserved packet that may be sent now.
    fn waiting(&self) -> Option<u32> {
        let granted = matches!(self.state, State::Granted(_));
        let may = |packet: Packet| packet == Packet::Waits || packet == Packet::Refused && granted;
        let mut reserved = self.packets.iter().take(self.reserved as usize);
        reserved.position(|(_, packet)| may(*packet)).map(|place| place as u32)
    }

    /// The first packet of which nothing has been heard.
    fn silent(&self) -> Option<u32> {
        let mut reserved = self.packets.iter().take(self.reserved as usize);
        reserved.position(|(_, packet)| *packet == Packet::Outstanding).map(|place| place as u32)
    }

    /// The next message begins, if there is one.
    fn next_message(&mut self, params: &Srp) {
        (self.state, self.asked, self.awaits_grant, self.slots) = (State::Idle, None, false, 0);
        let Some((first, _)) = self.packets.front() else { return };
        let cycle = first.cycle;
        let own = self.packets.iter().take_while(|(packet, _)| packet.cycle == cycle);
        let (count, phits) =
            own.fold((0, 0), |(count, phits), (packet, _)| (count + 1, phits + u32::from(packet.size)));
        self.count = count;
        self.walks_in = phits < params.least;
        match self.walks_in {
            true => (self.state, self.reserved, self.slots) = (State::Granted(0), count, phits),
            false => self.next_chunk(params),
        }
    }

    /// Another part of the message is to be reserved, with the packets that have been refused too late.
    fn next_chunk(&mut self, params: &Srp) {
        let phits = |(packet, state): &(Generated, Packet)| match state {
            Packet::Waits | Packet::Refused => u32::from(packet.size),
            _ => 0,
        };
        let mut sum: u32 = self.packets.iter().take(self.reserved as usize).map(phits).sum();
        for (packet, _) in self.packets.iter().take(self.count as usize).skip(self.reserved as usize) {
            let more = sum + u32::from(packet.size);
            if sum > 0 && more > params.chunk {
                break;
            }
            sum = more;
            self.reserved += 1;
        }
        (self.slots, self.state, self.asked, self.awaits_grant) = (sum, State::Speculating, None, false);
    }

    /// A packet is over or has been refused: what follows is the next part of the message, or the next message.
    fn goes_on(&mut self, params: &Srp) {
        if self.sending.is_some() || self.state == State::Idle {
            return;
        }
        while self.count > 0 && self.packets.front().is_some_and(|(_, packet)| *packet == Packet::Done) {
            self.packets.pop_front();
            self.first += 1;
            self.count -= 1;
            self.reserved -= 1;
        }
        let used = self.slots == 0 || self.waiting().is_none();
        let over = self.count == 0;
        if !over && (self.walks_in || !used || self.outstanding > 0 || self.awaits_grant || self.asked.is_none()) {
            return;
        }
        if params.post_wait && !self.walks_in {
            self.rests_until = self.window_end;
        }
        match over {
            true => self.next_message(params),
            false => self.next_chunk(params),
        }
    }

    /// The place of the packet `number`, if it belongs to the present message and is not done.
    fn place(&self, number: u32) -> Option<usize> {
        number.checked_sub(self.first).filter(|place| *place < self.count).map(|place| place as usize)
    }
}

/// The packets of one source at a destination.
#[derive(Debug, Clone)]
struct Incoming {
    source: u32,
    /// Packets below this number have been reserved.
    reserved: u32,
    /// All packets below this number have come.
    complete: u32,
    /// Whether each packet from this number on has come.
    come: VecDeque<bool>,
}

/// A destination.
#[derive(Debug, Clone, Default)]
struct Destination {
    /// The tick from which on nothing is reserved.
    free: Tick,
    /// By source.
    sources: Vec<Incoming>,
}

impl Destination {
    fn of(&mut self, source: u32) -> &mut Incoming {
        let place = match self.sources.binary_search_by_key(&source, |incoming| incoming.source) {
            Ok(place) => place,
            Err(place) => {
                let none = Incoming { source, reserved: 0, complete: 0, come: VecDeque::new() };
                self.sources.insert(place, none);
                place
            }
        };
        &mut self.sources[place]
    }
}

struct Rule {
    params: Srp,
    /// Ticks of a cycle.
    cycle: Tick,
    flows: Vec<Flow>,
    destinations: Vec<Destination>,
}

impl Rule {
    fn flow(&mut self, flow: u32) -> (&mut Flow, &Srp) {
        (&mut self.flows[flow as usize], &self.params)
    }
}

impl Reserving for Rule {
    fn begins(&mut self, _: u32) {
        self.flows.push(Flow::new());
    }

    fn generated(&mut self, flow: u32, packet: Generated) {
        self.flows[flow as usize].packets.push_back((packet, Packet::Waits));
    }

    fn complete(&mut self, flow: u32) {
        let (flow, params) = self.flow(flow);
        if flow.state == State::Idle {
            flow.next_message(params);
        }
    }

    fn wish(&self, flow: u32, now: Tick) -> Wish {
        let flow = &self.flows[flow as usize];
        match flow.state {
            State::Idle | State::Refused => Wish::Nothing,
            State::Speculating if flow.rests_until > now => Wish::Wait(flow.rests_until),
            State::Speculating if flow.asked.is_none() => Wish::Reservation,
            State::Speculating if !self.params.speculation || flow.slots == 0 => Wish::Nothing,
            State::Speculating if flow.waiting().is_none() => Wish::Nothing,
            State::Speculating => match flow.asked {
                Some((tick, _)) if tick + self.cycle > now => Wish::Wait(tick + self.cycle),
                _ => Wish::Speculative,
            },
            State::Granted(start) if start > now => Wish::Wait(start),
            State::Granted(_) if flow.slots > 0 && flow.waiting().is_some() => Wish::Granted,
            State::Granted(_) if self.params.resend && flow.slots == 0 && flow.outstanding > 0 => Wish::Granted,
            State::Granted(_) => Wish::Nothing,
        }
    }

    fn reserve(&mut self, flow: u32, now: Tick) -> (u32, u32) {
        let (flow, _) = self.flow(flow);
        (flow.asked, flow.awaits_grant) = (Some((now, flow.slots)), true);
        (flow.slots, flow.first + flow.reserved)
    }

    fn head(&self, flow: u32) -> Option<(Generated, u32)> {
        let flow = &self.flows[flow as usize];
        // With nothing but refused packets the flow asks for them first.
        let refused = || flow.packets.iter().position(|(_, packet)| *packet == Packet::Refused).map(|at| at as u32);
        let place = flow.sending.or_else(|| flow.waiting()).or_else(|| flow.silent()).or_else(refused)?;
        flow.packets.get(place as usize).map(|(packet, _)| (*packet, flow.first + place))
    }

    fn begin(&mut self, flow: u32) {
        let (flow, _) = self.flow(flow);
        let waiting = flow.waiting();
        let Some(place) = waiting.or_else(|| flow.silent()) else { return };
        let (packet, state) = &mut flow.packets[place as usize];
        match waiting {
            Some(_) => flow.slots = flow.slots.saturating_sub(packet.size.into()),
            None => flow.outstanding -= 1,
        }
        match flow.state {
            State::Granted(_) => *state = Packet::Done,
            _ => {
                *state = Packet::Outstanding;
                flow.outstanding += 1;
            }
        }
        flow.sending = Some(place);
    }

    fn end(&mut self, flow: u32) {
        let (flow, params) = self.flow(flow);
        flow.sending = None;
        flow.goes_on(params);
    }

    fn granted(&mut self, flow: u32, end: u32, start: Tick, latency: Tick) {
        let cycle = self.cycle;
        let (flow, params) = self.flow(flow);
        let Some((_, phits)) = flow.asked.filter(|_| flow.awaits_grant && end == flow.first + flow.reserved) else {
            return;
        };
        flow.awaits_grant = false;
        let cycles = (params.deduction * f64::from(latency / cycle)).ceil() as Tick;
        let start = start.saturating_sub(cycles * cycle);
        flow.window_end = start.saturating_add(phits.saturating_mul(cycle));
        flow.state = State::Granted(start);
        flow.goes_on(params);
    }

    fn acknowledged(&mut self, flow: u32, number: u32) {
        let (flow, params) = self.flow(flow);
        let Some(place) = flow.place(number) else { return };
        let packet = &mut flow.packets[place].1;
        if *packet == Packet::Outstanding {
            *packet = Packet::Done;
            flow.outstanding -= 1;
            flow.goes_on(params);
        }
    }

    fn refused(&mut self, flow: u32, number: u32, now: Tick) {
        let (flow, params) = self.flow(flow);
        let Some(place) = flow.place(number) else { return };
        let (packet, state) = &mut flow.packets[place];
        if *state != Packet::Outstanding {
            return;
        }
        *state = Packet::Refused;
        flow.outstanding -= 1;
        let granted = matches!(flow.state, State::Granted(_));
        if !(granted && params.late_refusals == LateRefusals::Reserve && now >= flow.window_end) {
            flow.slots += u32::from(packet.size);
        }
        if flow.state == State::Speculating {
            flow.state = State::Refused;
        }
        flow.goes_on(params);
    }

    fn asked(&mut self, endpoint: u32, source: u32, phits: u32, end: u32, now: Tick) -> Tick {
        let cycles = (f64::from(phits) * self.params.overhead).ceil() as Tick;
        let destination = &mut self.destinations[endpoint as usize];
        destination.of(source).reserved = end;
        let start = destination.free.max(now);
        destination.free = start.saturating_add(cycles.saturating_mul(self.cycle));
        start
    }

    fn expects(&self, endpoint: u32, source: u32, number: u32) -> bool {
        let sources = &self.destinations[endpoint as usize].sources;
        let place = sources.binary_search_by_key(&source, |incoming| incoming.source);
        place.is_ok_and(|place| number < sources[place].reserved)
    }

    fn received(&mut self, endpoint: u32, source: u32, number: u32) -> bool {
        let incoming = self.destinations[endpoint as usize].of(source);
        let Some(place) = number.checked_sub(incoming.complete) else { return false };
        let place = place as usize;
        if incoming.come.len() <= place {
            incoming.come.resize(place + 1, false);
        }
        if std::mem::replace(&mut incoming.come[place], true) {
            return false;
        }
        while incoming.come.front() == Some(&true) {
            incoming.come.pop_front();
            incoming.complete += 1;
        }
        true
    }

    fn is_idle(&self, flow: u32) -> bool {
        self.flows[flow as usize].state == State::Idle
    }

    fn bytes(&self) -> usize {
        let packets = |flow: &Flow| flow.packets.capacity() * size_of::<(Generated, Packet)>();
        let sources = |destination: &Destination| {
            let come = destination.sources.iter().map(|incoming| incoming.come.capacity()).sum::<usize>();
            destination.sources.capacity() * size_of::<Incoming>() + come
        };
        self.flows.capacity() * size_of::<Flow>()
            + self.flows.iter().map(packets).sum::<usize>()
            + self.destinations.capacity() * size_of::<Destination>()
            + self.destinations.iter().map(sources).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u16 = 32;

    fn rule(params: Srp) -> Rule {
        Rule { params, cycle: 1, flows: Vec::new(), destinations: vec![Destination::default()] }
    }

    /// A rule with a flow of one message of `packets` packets.
    fn message(params: Srp, packets: u32) -> Rule {
        let mut rule = rule(params);
        rule.begins(0);
        add(&mut rule, 0, packets);
        rule
    }

    fn add(rule: &mut Rule, cycle: u32, packets: u32) {
        (0..packets).for_each(|_| rule.generated(0, Generated { cycle, destination: 1, size: PACKET }));
        rule.complete(0);
    }

    /// Sends the next packet, and returns its number.
    fn send(rule: &mut Rule) -> u32 {
        let (_, number) = rule.head(0).expect("a packet");
        rule.begin(0);
        rule.end(0);
        number
    }

    /// "Arrivals at 8, 9, 10 with n = 512: starts 8, 546, 1084", from the authors' simulator.
    #[test]
    fn reservations_are_granted_in_the_order_of_their_arrival() {
        let mut rule = rule(Srp::default());
        let starts = [8, 9, 10].map(|now| rule.asked(0, now, 512, 16, now));
        assert_eq!(starts, [8, 546, 1084]);
    }

    /// "Start 143, latency 8: first granted head in 135", from the authors' simulator.
    #[test]
    fn the_latency_of_the_grant_is_deducted() {
        let mut rule = message(Srp::default(), 4);
        assert_eq!((rule.wish(0, 0), rule.reserve(0, 0)), (Wish::Reservation, (128, 4)));
        assert_eq!((rule.wish(0, 0), rule.wish(0, 1)), (Wish::Wait(1), Wish::Speculative));
        assert_eq!(send(&mut rule), 0);
        rule.granted(0, 4, 143, 8);
        assert_eq!((rule.wish(0, 134), rule.wish(0, 135)), (Wish::Wait(135), Wish::Granted));
        assert_eq!([send(&mut rule), send(&mut rule), send(&mut rule)], [1, 2, 3]);
        assert_eq!(rule.wish(0, 1000), Wish::Nothing);
        rule.acknowledged(0, 0);
        assert!(rule.is_idle(0));
    }

    #[test]
    fn a_refused_packet_goes_first_when_it_is_granted() {
        let mut rule = message(Srp::default(), 4);
        rule.reserve(0, 0);
        assert_eq!([send(&mut rule), send(&mut rule)], [0, 1]);
        rule.acknowledged(0, 1);
        rule.refused(0, 0, 30);
        assert_eq!(rule.wish(0, 40), Wish::Nothing, "nothing more before the grant");
        rule.granted(0, 4, 50, 0);
        assert_eq!([send(&mut rule), send(&mut rule), send(&mut rule)], [0, 2, 3]);
        assert!(rule.is_idle(0));
    }

    /// A refusal after the granted time: with another reservation, without speculation, or at once.
    #[test]
    fn a_late_refusal_is_reserved_again_or_not() {
        for (late_refusals, expected) in
            [(LateRefusals::Reserve, Wish::Reservation), (LateRefusals::Send, Wish::Granted)]
        {
            let mut rule = message(Srp { late_refusals, ..Srp::default() }, 2);
            rule.reserve(0, 0);
            send(&mut rule);
            rule.granted(0, 2, 40, 0);
            assert_eq!(send(&mut rule), 1);
            rule.refused(0, 0, 200);
            assert_eq!(rule.wish(0, 200), expected);
            assert_eq!(rule.head(0).map(|(_, number)| number), Some(0));
            if late_refusals == LateRefusals::Reserve {
                assert_eq!(rule.reserve(0, 200), (32, 2));
                assert_eq!(rule.wish(0, 220), Wish::Nothing, "no speculation once more");
                rule.granted(0, 2, 300, 0);
            }
            assert_eq!(send(&mut rule), 0);
            assert!(rule.is_idle(0));
        }
    }

    /// Two parts of a message, and the next message after it. Messages below the least size ask for nothing.
    #[test]
    fn long_messages_are_reserved_in_parts_and_small_ones_not_at_all() {
        let mut rule = message(Srp { chunk: 70, least: 40, ..Srp::default() }, 3);
        assert_eq!(rule.reserve(0, 0), (64, 2));
        rule.granted(0, 2, 20, 8);
        assert_eq!([send(&mut rule), send(&mut rule)], [0, 1]);
        assert_eq!(rule.wish(0, 100), Wish::Reservation);
        assert_eq!(rule.reserve(0, 100), (32, 3));
        add(&mut rule, 50, 1);
        rule.granted(0, 3, 120, 8);
        assert_eq!(send(&mut rule), 2);
        assert_eq!(rule.wish(0, 200), Wish::Granted, "32 phits are less than 40");
        assert_eq!(send(&mut rule), 3);
        assert!(rule.is_idle(0));
    }

    #[test]
    fn a_packet_that_comes_twice_counts_once() {
        let mut rule = rule(Srp::default());
        assert!(!rule.expects(0, 7, 1));
        rule.asked(0, 7, 64, 2, 10);
        assert!(rule.expects(0, 7, 1) && !rule.expects(0, 7, 2) && !rule.expects(0, 6, 1));
        let came = [1, 1, 0, 0, 1, 2].map(|number| rule.received(0, 7, number));
        assert_eq!(came, [true, false, true, false, false, true]);
        assert_eq!(rule.destinations[0].sources[0].complete, 3);
    }

    /// With `resend` an unacknowledged packet goes again; the acknowledgement that comes later changes nothing.
    #[test]
    fn silent_packets_are_sent_again() {
        let mut rule = message(Srp { resend: true, ..Srp::default() }, 1);
        rule.reserve(0, 0);
        assert_eq!(send(&mut rule), 0);
        rule.granted(0, 1, 40, 0);
        assert_eq!(rule.wish(0, 50), Wish::Granted);
        assert_eq!(send(&mut rule), 0);
        rule.acknowledged(0, 0);
        assert!(rule.is_idle(0));
    }
}
