//! The messages from one source to one destination: how far they are, and what comes next.

use super::Srp;
use crate::engine::Tick;
use crate::traffic::Generated;
use std::collections::VecDeque;

/// How far the message of a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
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
pub(super) enum Packet {
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
pub(super) struct Flow {
    /// Packets of the present message from the first that is not done on, and packets of later messages.
    pub(super) packets: VecDeque<(Generated, Packet)>,
    /// Number of the first of these packets.
    pub(super) first: u32,
    /// How many of them belong to the present message.
    pub(super) count: u32,
    /// For how many of them reservations have been made.
    pub(super) reserved: u32,
    /// Phits of the present reservation that have not been sent, or have been refused.
    pub(super) slots: u32,
    /// Outstanding packets.
    pub(super) outstanding: u32,
    pub(super) state: State,
    /// The message is too small for a reservation.
    pub(super) walks_in: bool,
    /// The tick in which the present reservation was sent, and its phits; `None` before.
    pub(super) asked: Option<(Tick, u32)>,
    /// The present reservation has been sent and not been granted.
    pub(super) awaits_grant: bool,
    /// The place of the packet that is being sent.
    pub(super) sending: Option<u32>,
    /// No new reservation before this tick.
    pub(super) rests_until: Tick,
    /// End of the granted time.
    pub(super) window_end: Tick,
}

impl Flow {
    pub(super) fn new() -> Self {
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
    pub(super) fn waiting(&self) -> Option<u32> {
        let granted = matches!(self.state, State::Granted(_));
        let may = |packet: Packet| packet == Packet::Waits || packet == Packet::Refused && granted;
        let mut reserved = self.packets.iter().take(self.reserved as usize);
        reserved.position(|(_, packet)| may(*packet)).map(|place| place as u32)
    }

    /// The first packet of which nothing has been heard.
    pub(super) fn silent(&self) -> Option<u32> {
        let mut reserved = self.packets.iter().take(self.reserved as usize);
        reserved.position(|(_, packet)| *packet == Packet::Outstanding).map(|place| place as u32)
    }

    /// The next message begins, if there is one.
    pub(super) fn next_message(&mut self, params: &Srp) {
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
    pub(super) fn next_chunk(&mut self, params: &Srp) {
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
    pub(super) fn goes_on(&mut self, params: &Srp) {
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
    pub(super) fn place(&self, number: u32) -> Option<usize> {
        number.checked_sub(self.first).filter(|place| *place < self.count).map(|place| place as usize)
    }
}
