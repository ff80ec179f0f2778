//! Admittance queues: one for each destination at every endpoint, in front of its injection queues.

use super::repeats::lost_for_good;
use super::seam::{Flit, Next, Sender, SenderContext, Site};
use crate::engine::{Memory, NONE, poll};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::links::Phits;
use crate::traffic::Generated;

/// A packet that waits, and the place of the next packet in its queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    cycle: u32,
    next: u32,
    size: u16,
    /// The packet's mark of how often it has been sent again; 0 before it has been sent.
    mark: u8,
}

/// The queue of one destination: its first packet, and the places of its second and its last packet.
#[derive(Debug, Clone, Copy)]
struct Queue {
    cycle: u32,
    next: u32,
    last: u32,
    phits: u32,
    size: u16,
    mark: u8,
}

const EMPTY: Queue = Queue { cycle: 0, next: NONE, last: NONE, phits: 0, size: 0, mark: 0 };

/// The admittance queues of one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Admittance {
    /// By destination.
    queues: Vec<Queue>,
    /// Packets after the first of each queue, in lists.
    packets: Vec<Waiting>,
    /// The first free place.
    free: u32,
    /// Destinations for which there are packets.
    waiting: Vec<u64>,
    /// Destinations that are held back.
    held: Vec<u64>,
    /// The destination whose turn it is.
    turn: u32,
}

impl Admittance {
    /// Empty queues for `endpoints` destinations.
    pub(crate) fn new(endpoints: u32) -> Self {
        let (count, words) = (endpoints as usize, (endpoints as usize).div_ceil(64));
        Self {
            queues: vec![EMPTY; count],
            packets: Vec::new(),
            free: NONE,
            waiting: vec![0; words],
            held: vec![0; words],
            turn: 0,
        }
    }

    /// Puts a packet into its queue; false if there is no room for it.
    fn admit(&mut self, packet: Generated, room: Phits) -> bool {
        let Generated { cycle, destination, size } = packet;
        let to = destination as usize;
        let queue = &mut self.queues[to];
        let phits = queue.phits + u32::from(size);
        if let Phits::Finite(room) = room
            && phits > room
        {
            return false;
        }
        let bit = 1 << (to % 64);
        if self.waiting[to / 64] & bit == 0 {
            self.waiting[to / 64] |= bit;
            *queue = Queue { cycle, size, phits, ..EMPTY };
            return true;
        }
        let place = self.place(Waiting { cycle, size, next: NONE, mark: 0 });
        let queue = &mut self.queues[to];
        queue.phits = phits;
        match std::mem::replace(&mut queue.last, place) {
            NONE => queue.next = place,
            last => self.packets[last as usize].next = place,
        }
        true
    }

    /// A place for a packet that waits behind another.
    fn place(&mut self, waiting: Waiting) -> u32 {
        match self.free {
            NONE => {
                self.packets.push(waiting);
                self.packets.len() as u32 - 1
            }
            free => {
                self.free = std::mem::replace(&mut self.packets[free as usize], waiting).next;
                free
            }
        }
    }

    /// Puts a packet that is sent again, with its `mark`, into the queue of its destination. It goes before all packets
    /// that have not been sent, and behind packets that are sent again, too. There is always room for it: the source
    /// has kept the packet.
    fn admit_again(&mut self, packet: Generated, mark: u8) {
        let Generated { cycle, destination, size } = packet;
        let to = destination as usize;
        let queue = self.queues[to];
        let phits = queue.phits + u32::from(size);
        if self.waiting[to / 64] & 1 << (to % 64) == 0 {
            self.waiting[to / 64] |= 1 << (to % 64);
            self.queues[to] = Queue { cycle, size, phits, mark, ..EMPTY };
            return;
        }
        self.queues[to].phits = phits;
        if queue.mark == 0 {
            let first = Waiting { cycle: queue.cycle, size: queue.size, next: queue.next, mark: 0 };
            let place = self.place(first);
            let last = if queue.last == NONE { place } else { queue.last };
            self.queues[to] = Queue { cycle, size, mark, phits, next: place, last };
            return;
        }
        // The last packet that is sent again, if it is not the first.
        let (mut before, mut next) = (NONE, queue.next);
        while next != NONE && self.packets[next as usize].mark != 0 {
            (before, next) = (next, self.packets[next as usize].next);
        }
        let place = self.place(Waiting { cycle, size, next, mark });
        match before {
            NONE => self.queues[to].next = place,
            before => self.packets[before as usize].next = place,
        }
        if next == NONE {
            self.queues[to].last = place;
        }
    }

    /// Phits of packets that are sent again.
    pub(crate) fn phits_again(&self) -> u64 {
        let of = |first: &Queue| {
            let behind = std::iter::successors(self.packets.get(first.next as usize), |waiting| {
                self.packets.get(waiting.next as usize)
            });
            let behind = behind.filter(|waiting| waiting.mark != 0).map(|waiting| u64::from(waiting.size));
            behind.sum::<u64>() + if first.mark != 0 { u64::from(first.size) } else { 0 }
        };
        let waits = |(to, _): &(usize, &Queue)| self.waiting[to / 64] >> (to % 64) & 1 == 1;
        self.queues.iter().enumerate().filter(waits).map(|(_, queue)| of(queue)).sum()
    }

    /// Takes the first packet for `destination`, which must be there; returns its mark.
    fn take(&mut self, destination: u32) -> u8 {
        let to = destination as usize;
        let queue = &mut self.queues[to];
        let mark = queue.mark;
        queue.phits -= u32::from(queue.size);
        if queue.next == NONE {
            self.waiting[to / 64] &= !(1 << (to % 64));
        } else {
            let place = queue.next;
            let behind = &mut self.packets[place as usize];
            (queue.cycle, queue.size, queue.mark) = (behind.cycle, behind.size, behind.mark);
            queue.next = std::mem::replace(&mut behind.next, self.free);
            self.free = place;
            if queue.next == NONE {
                queue.last = NONE;
            }
        }
        self.turn = if to + 1 == self.queues.len() { 0 } else { destination + 1 };
        mark
    }

    /// True if no packet waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.iter().all(|word| *word == 0)
    }

    /// The first packet that is not held back and has a `place` to go to, and this place. Destinations are tried in
    /// cyclic order, from the destination whose turn it is.
    fn choose<T>(&self, place: impl Fn(Generated) -> Option<T>) -> Option<(Generated, T)> {
        let words = self.waiting.len();
        let (first, bit) = (self.turn as usize / 64, self.turn % 64);
        let ahead = u64::MAX << bit;
        let (mut at, mut mask) = (first, ahead);
        for step in 0..=words {
            if step == words {
                mask = !ahead;
            }
            let mut word = self.waiting[at] & !self.held[at] & mask;
            while word != 0 {
                let destination = at as u32 * 64 + word.trailing_zeros();
                word &= word - 1;
                let Queue { cycle, size, .. } = self.queues[destination as usize];
                let packet = Generated { cycle, destination, size };
                if let Some(place) = place(packet) {
                    return Some((packet, place));
                }
            }
            at = if at + 1 == words { 0 } else { at + 1 };
            mask = u64::MAX;
        }
        None
    }

    /// Some packet that waits, if there is one.
    fn first(&self) -> Option<Generated> {
        let word = self.waiting.iter().position(|word| *word != 0)?;
        let destination = word as u32 * 64 + self.waiting[word].trailing_zeros();
        let Queue { cycle, size, .. } = self.queues[destination as usize];
        Some(Generated { cycle, destination, size })
    }

    /// Holds a destination back, or lets it go.
    fn hold(&mut self, destination: u32, held: bool) {
        let (word, bit) = (destination as usize / 64, 1 << (destination % 64));
        if held {
            self.held[word] |= bit;
        } else {
            self.held[word] &= !bit;
        }
    }

    /// True if packets for `destination` are held back.
    #[cfg(test)]
    fn holds(&self, destination: u32) -> bool {
        self.held[destination as usize / 64] >> (destination % 64) & 1 == 1
    }

    /// Bytes of empty queues for `endpoints` destinations.
    pub(crate) fn needs(endpoints: u32) -> f64 {
        f64::from(endpoints) * (size_of::<Queue>() as f64 + 2.0 / 8.0) + size_of::<Self>() as f64
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.packets.capacity() * size_of::<Waiting>()
            + self.queues.capacity() * size_of::<Queue>()
            + self.waiting.capacity() * 16
    }
}

/// The admittance queues of a partition's endpoints.
#[derive(Debug)]
pub(crate) struct Admittances(Vec<Admittance>);

impl Sender for Admittances {
    fn new(context: &SenderContext<'_>) -> Option<Self> {
        context.config.admittance?;
        // Each is as large as the network: a sample has none.
        let count = if context.sample { 0 } else { context.endpoints.len() };
        let all = (0..count).map(|_| {
            poll();
            Admittance::new(context.topology.endpoints())
        });
        Some(Self(all.collect()))
    }

    fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next {
        if !at.works {
            at.give_up(e, at.now);
            return Next::NOTHING;
        }
        self.admit(e, at);
        let (endpoint, admittance) = (&*at.endpoint, &mut self.0[e as usize]);
        let generated = endpoint.next.map(|packet| at.earliest(&packet));
        if admittance.is_empty() {
            return Next::Wait { at: generated.map(|tick| tick.max(endpoint.free)), blocked: false };
        }
        if endpoint.free > at.now {
            return Next::Wait { at: Some(endpoint.free), blocked: false };
        }
        let lane = |packet: Generated| at.room.lane::<K>(endpoint, packet, packet.size.into());
        let Some((packet, lane)) = admittance.choose(lane) else {
            return Next::Wait { at: generated, blocked: true };
        };
        let mark = admittance.take(packet.destination);
        if mark != 0 {
            at.collector.counters.packets.sent_again(packet.size);
        }
        Next::Send(Flit { packet, size: packet.size.into(), lane, before: 0, mark, stream: 0 })
    }

    fn fail(&mut self, e: u32, at: &mut Site<'_>) {
        let Some(admittance) = self.0.get_mut(e as usize) else { return };
        while let Some(packet) = admittance.first() {
            match admittance.take(packet.destination) {
                0 => at.collector.dropped(packet.cycle * at.setup.settings.ticks_per_cycle),
                _ => lost_for_good(at.endpoint, packet, (at.now, &at.setup.settings), at.collector),
            }
        }
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(Admittance::bytes).sum()
    }
}

impl Admittances {
    /// Puts packets into the admittance queues: packets to be sent again now, and packets generated before this tick.
    fn admit(&mut self, e: u32, at: &mut Site<'_>) {
        let admittance = &mut self.0[e as usize];
        while let Some(again) = at.repeats.as_mut().and_then(|repeats| repeats.due(e, at.now)) {
            admittance.admit_again(again.generated(), again.mark());
        }
        let room = at.setup.config.admittance.unwrap_or(Phits::Infinite);
        while let Some(packet) = at.endpoint.next.filter(|packet| at.earliest(packet) <= at.now) {
            if !admittance.admit(packet, room) {
                at.collector.dropped(packet.cycle * at.setup.settings.ticks_per_cycle);
            }
            at.draw();
        }
    }

    /// Lets endpoint `e` send nothing to `destination`, or lets it send again.
    pub(crate) fn hold(&mut self, e: u32, destination: u32, held: bool) {
        self.0[e as usize].hold(destination, held);
    }

    /// Adds to `memory` what empty queues remember: whose turn it is, and who is held back.
    pub(crate) fn remember(&self, memory: &mut Memory) {
        for Admittance { queues: _, packets: _, free: _, waiting: _, held, turn } in &self.0 {
            memory.add(*turn);
            memory.add_all(held.iter().copied());
        }
    }

    /// True if no packet waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Admittance::is_empty)
    }

    /// Phits of packets that are sent again.
    pub(crate) fn phits_again(&self) -> u64 {
        self.0.iter().map(Admittance::phits_again).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(cycle: u32, destination: u32) -> Generated {
        Generated { cycle, destination, size: 4 }
    }

    #[test]
    fn destinations_take_turns_and_none_waits_for_another() {
        let mut queues = Admittance::new(130);
        for (cycle, destination) in [(0, 5), (1, 5), (2, 129), (3, 0), (4, 64)] {
            assert!(queues.admit(packet(cycle, destination), Phits::Infinite));
        }
        let mut order = Vec::new();
        while let Some((next, ())) = queues.choose(|packet| (packet.destination != 64).then_some(())) {
            order.push((next.cycle, next.destination));
            queues.take(next.destination);
        }
        assert_eq!(order, [(3, 0), (0, 5), (2, 129), (1, 5)]);
        queues.hold(64, true);
        assert_eq!(queues.choose(|_| Some(())), None);
        assert!(queues.holds(64) && !queues.is_empty() && queues.queues[64].phits == 4);
        queues.hold(64, false);
        assert_eq!(queues.choose(|_| Some(7)), Some((packet(4, 64), 7)));
    }

    #[test]
    fn a_full_queue_takes_no_more_until_it_has_room() {
        let mut queues = Admittance::new(2);
        let room = Phits::Finite(10);
        assert!(queues.admit(packet(0, 1), room) && queues.admit(packet(1, 1), room));
        assert!(!queues.admit(packet(2, 1), room) && queues.admit(packet(2, 0), room));
        queues.take(1);
        assert!(queues.admit(packet(3, 1), room));
    }
}
