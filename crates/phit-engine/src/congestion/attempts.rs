//! Sources that send each packet at once, and need a reserved time only for packets that routers drop.

use super::CongestionContext;
use super::reservations::{Schedule, begins};
use crate::engine::Tick;
use crate::fabric::seams::reservation::{Reserving, Wish};
use crate::traffic::Generated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// When a source sends speculative packets to a destination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speculation {
    /// While all refused packets to this destination have been sent again.
    #[default]
    UntilRefused,
    /// Always.
    Always,
}

/// How far a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has not been sent.
    New,
    /// It has been sent speculatively, and nothing has been heard of it.
    Outstanding,
    /// It has been refused, and no time has been granted.
    Refused,
    /// It may be sent from a known tick on.
    Granted,
    /// It has been sent as a granted packet, or has been acknowledged.
    Done,
}

/// The packets from one source to one destination. A packet is known by its number.
#[derive(Debug, Clone, Default)]
struct Flow {
    /// Packets from the first that is not done on.
    packets: VecDeque<(Generated, State)>,
    /// Number of the first of these packets.
    first: u32,
    /// Number of the first packet that has not been sent.
    new: u32,
    /// Refused packets for which no reservation has been sent, in the order of their refusals.
    refused: VecDeque<u32>,
    /// Reservations that have been sent and not been granted.
    asked: u32,
    /// Granted packets with the ticks from which on they may be sent, in the order of these ticks.
    granted: VecDeque<(Tick, u32)>,
    /// The packet that is being sent.
    sending: Option<u32>,
}

impl Flow {
    /// The state of packet `number`, if it is not done.
    fn state(&mut self, number: u32) -> Option<&mut State> {
        let place = number.checked_sub(self.first)?;
        self.packets.get_mut(place as usize).map(|(_, state)| state)
    }

    /// True if a packet has been refused and has not been sent again.
    fn is_refused(&self) -> bool {
        self.asked > 0 || !self.refused.is_empty() || !self.granted.is_empty()
    }

    /// The packet that may be sent in tick `now`.
    fn next(&self, now: Tick) -> u32 {
        let granted = self.granted.front().filter(|(start, _)| *start <= now).map(|(_, number)| *number);
        granted.or_else(|| self.refused.front().copied()).unwrap_or(self.new)
    }

    /// Forgets packets that are done.
    fn tidy(&mut self) {
        while self.sending != Some(self.first) && self.packets.front().is_some_and(|(_, state)| *state == State::Done) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

/// The rule for one partition.
pub(super) struct Attempts {
    speculation: Speculation,
    /// Share of a grant's time on its way by which the source begins before the granted time.
    deduction: f64,
    /// Ticks of a cycle.
    cycle: Tick,
    flows: Vec<Flow>,
    schedule: Schedule,
}

impl Attempts {
    /// `overhead`: factor by which a reservation takes more of the destination's time than its packet does.
    pub(super) fn new(speculation: Speculation, deduction: f64, overhead: f64, context: &CongestionContext) -> Self {
        let cycle = context.ticks_per_cycle;
        let schedule = Schedule::new(context.endpoints, overhead, cycle);
        Self { speculation, deduction, cycle, flows: Vec::new(), schedule }
    }
}

impl Reserving for Attempts {
    fn begins(&mut self, _: u32) {
        self.flows.push(Flow::default());
    }

    fn generated(&mut self, flow: u32, packet: Generated) {
        self.flows[flow as usize].packets.push_back((packet, State::New));
    }

    fn complete(&mut self, _: u32) {}

    fn wish(&self, flow: u32, now: Tick) -> Wish {
        let flow = &self.flows[flow as usize];
        let start = flow.granted.front().map(|(start, _)| *start);
        if start.is_some_and(|start| start <= now) {
            return Wish::Granted;
        }
        if !flow.refused.is_empty() {
            return Wish::Reservation;
        }
        let new = (flow.new - flow.first) < flow.packets.len() as u32;
        if new && (self.speculation == Speculation::Always || !flow.is_refused()) {
            return Wish::Speculative;
        }
        start.map_or(Wish::Nothing, Wish::Wait)
    }

    fn reserve(&mut self, flow: u32, _: Tick) -> (u32, u32) {
        let flow = &mut self.flows[flow as usize];
        let Some(number) = flow.refused.pop_front() else { return (0, 0) };
        flow.asked += 1;
        (u32::from(flow.packets[(number - flow.first) as usize].0.size), number + 1)
    }

    fn head(&self, flow: u32, now: Tick) -> Option<(Generated, u32)> {
        let flow = &self.flows[flow as usize];
        let number = flow.sending.unwrap_or_else(|| flow.next(now));
        flow.packets.get((number - flow.first) as usize).map(|(packet, _)| (*packet, number))
    }

    fn begin(&mut self, flow: u32, now: Tick) {
        let flow = &mut self.flows[flow as usize];
        let number = flow.next(now);
        let Some(state) = flow.state(number) else { return };
        match *state {
            State::New => {
                *state = State::Outstanding;
                flow.new += 1;
            }
            _ => {
                *state = State::Done;
                flow.granted.pop_front();
            }
        }
        flow.sending = Some(number);
    }

    fn end(&mut self, flow: u32) {
        let flow = &mut self.flows[flow as usize];
        flow.sending = None;
        flow.tidy();
    }

    fn granted(&mut self, flow: u32, end: u32, start: Tick, latency: Tick) {
        let start = begins(start, latency, self.deduction, self.cycle);
        let (flow, number) = (&mut self.flows[flow as usize], end - 1);
        let Some(state) = flow.state(number) else { return };
        if *state == State::Refused {
            flow.asked -= 1;
        }
        if let Some(state) = flow.state(number) {
            *state = State::Granted;
        }
        let place = flow.granted.partition_point(|granted| *granted < (start, number));
        flow.granted.insert(place, (start, number));
    }

    fn acknowledged(&mut self, flow: u32, number: u32) {
        let flow = &mut self.flows[flow as usize];
        if let Some(state) = flow.state(number) {
            *state = State::Done;
            flow.tidy();
        }
    }

    fn refused(&mut self, flow: u32, number: u32, _: Tick) {
        let flow = &mut self.flows[flow as usize];
        if let Some(state) = flow.state(number) {
            *state = State::Refused;
            flow.refused.push_back(number);
        }
    }

    fn asked(&mut self, endpoint: u32, _: u32, phits: u32, _: u32, now: Tick) -> Tick {
        self.schedule.reserve(endpoint, phits, now)
    }

    /// A destination takes every packet.
    fn expects(&self, _: u32, _: u32, _: u32) -> bool {
        true
    }

    /// No packet comes twice: only packets that have been dropped are sent again.
    fn received(&mut self, _: u32, _: u32, _: u32) -> bool {
        true
    }

    fn is_idle(&self, flow: u32) -> bool {
        self.flows[flow as usize].packets.is_empty()
    }

    fn bytes(&self) -> usize {
        let of_flow = |flow: &Flow| {
            flow.packets.capacity() * size_of::<(Generated, State)>()
                + flow.refused.capacity() * size_of::<u32>()
                + flow.granted.capacity() * size_of::<(Tick, u32)>()
        };
        self.flows.capacity() * size_of::<Flow>()
            + self.flows.iter().map(of_flow).sum::<usize>()
            + self.schedule.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow with `packets` packets of 4 phits.
    fn rule(speculation: Speculation, packets: u32) -> Attempts {
        let schedule = Schedule::new(1, 1.0, 1);
        let mut rule = Attempts { speculation, deduction: 1.0, cycle: 1, flows: Vec::new(), schedule };
        rule.begins(0);
        (0..packets).for_each(|cycle| rule.generated(0, Generated { cycle, destination: 1, size: 4 }));
        rule
    }

    /// Sends the next packet in tick `now`, and returns its number.
    fn send(rule: &mut Attempts, now: Tick) -> u32 {
        let (_, number) = rule.head(0, now).expect("a packet");
        rule.begin(0, now);
        rule.end(0);
        number
    }

    #[test]
    fn acknowledged_packets_need_no_reservation() {
        let mut rule = rule(Speculation::UntilRefused, 3);
        assert_eq!([send(&mut rule, 0), send(&mut rule, 4)], [0, 1]);
        rule.acknowledged(0, 1);
        rule.acknowledged(0, 0);
        assert_eq!((rule.wish(0, 8), send(&mut rule, 8), rule.wish(0, 12)), (Wish::Speculative, 2, Wish::Nothing));
        rule.acknowledged(0, 2);
        assert!(rule.is_idle(0));
    }

    /// The reservation is for the refused packet alone. New packets wait until it has been sent, or go on.
    #[test]
    fn a_refused_packet_is_reserved_and_sent_at_its_time() {
        for speculation in [Speculation::UntilRefused, Speculation::Always] {
            let mut rule = rule(speculation, 3);
            assert_eq!([send(&mut rule, 0), send(&mut rule, 4)], [0, 1]);
            rule.refused(0, 0, 20);
            assert_eq!((rule.wish(0, 20), rule.reserve(0, 20)), (Wish::Reservation, (4, 1)));
            if speculation == Speculation::Always {
                assert_eq!((rule.wish(0, 21), send(&mut rule, 21)), (Wish::Speculative, 2));
            }
            assert_eq!(rule.wish(0, 30), Wish::Nothing);
            rule.granted(0, 1, 60, 10);
            rule.acknowledged(0, 1);
            assert_eq!(rule.wish(0, 49), Wish::Wait(50));
            assert_eq!((rule.wish(0, 50), send(&mut rule, 50)), (Wish::Granted, 0));
            if speculation == Speculation::UntilRefused {
                assert_eq!((rule.wish(0, 54), send(&mut rule, 54)), (Wish::Speculative, 2));
            }
            rule.acknowledged(0, 2);
            assert!(rule.is_idle(0), "{speculation:?}");
        }
    }

    /// A refusal that is a grant, as the last router sends it. Earlier times go first, whichever packet they are for.
    #[test]
    fn a_refusal_with_a_grant_needs_no_reservation() {
        let mut rule = rule(Speculation::Always, 3);
        assert_eq!([send(&mut rule, 0), send(&mut rule, 4)], [0, 1]);
        rule.granted(0, 2, 70, 0);
        rule.granted(0, 1, 80, 0);
        assert_eq!((rule.wish(0, 10), send(&mut rule, 10)), (Wish::Speculative, 2));
        assert_eq!(rule.wish(0, 20), Wish::Wait(70));
        assert_eq!([send(&mut rule, 70), send(&mut rule, 80)], [1, 0]);
        assert!(!rule.is_idle(0), "packet 2 is outstanding");
    }
}
