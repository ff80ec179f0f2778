//! The rule of SRP for one partition.

use super::destination::Destination;
use super::flow::{Flow, Packet, State};
use super::{LateRefusals, Srp};
use crate::congestion::CongestionContext;
use crate::congestion::reservations::{Schedule, begins};
use crate::engine::Tick;
use crate::fabric::seams::reservation::{Reserving, Wish};
use crate::traffic::Generated;

pub(super) struct Rule {
    params: Srp,
    /// Ticks of a cycle.
    cycle: Tick,
    flows: Vec<Flow>,
    destinations: Vec<Destination>,
    schedule: Schedule,
}

impl Rule {
    pub(super) fn new(params: Srp, context: &CongestionContext) -> Self {
        Self {
            cycle: context.ticks_per_cycle,
            flows: Vec::new(),
            destinations: vec![Destination::default(); context.endpoints as usize],
            schedule: Schedule::new(context.endpoints, params.overhead, context.ticks_per_cycle),
            params,
        }
    }

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

    fn head(&self, flow: u32, _: Tick) -> Option<(Generated, u32)> {
        let flow = &self.flows[flow as usize];
        // With nothing but refused packets the flow asks for them first.
        let refused = || flow.packets.iter().position(|(_, packet)| *packet == Packet::Refused).map(|at| at as u32);
        let place = flow.sending.or_else(|| flow.waiting()).or_else(|| flow.silent()).or_else(refused)?;
        flow.packets.get(place as usize).map(|(packet, _)| (*packet, flow.first + place))
    }

    fn begin(&mut self, flow: u32, _: Tick) {
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
        let start = begins(start, latency, params.deduction, cycle);
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
        self.destinations[endpoint as usize].of(source).reserved = end;
        self.schedule.reserve(endpoint, phits, now)
    }

    fn expects(&self, endpoint: u32, source: u32, number: u32) -> bool {
        self.destinations[endpoint as usize].expects(source, number)
    }

    fn received(&mut self, endpoint: u32, source: u32, number: u32) -> bool {
        self.destinations[endpoint as usize].of(source).received(number)
    }

    fn is_idle(&self, flow: u32) -> bool {
        self.flows[flow as usize].state == State::Idle
    }

    fn bytes(&self) -> usize {
        let packets = |flow: &Flow| flow.packets.capacity() * size_of::<(Generated, Packet)>();
        self.flows.capacity() * size_of::<Flow>()
            + self.flows.iter().map(packets).sum::<usize>()
            + self.destinations.capacity() * size_of::<Destination>()
            + self.destinations.iter().map(Destination::bytes).sum::<usize>()
            + self.schedule.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u16 = 32;

    fn rule(params: Srp) -> Rule {
        let schedule = Schedule::new(1, params.overhead, 1);
        Rule { params, cycle: 1, flows: Vec::new(), destinations: vec![Destination::default()], schedule }
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
        let (_, number) = rule.head(0, 0).expect("a packet");
        rule.begin(0, 0);
        rule.end(0);
        number
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
            assert_eq!(rule.head(0, 0).map(|(_, number)| number), Some(0));
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
