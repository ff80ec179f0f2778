//! The buffers between the crossbar and the links, where packets without data have a buffer of their own and go first.
//!
//! When a flit starts on the link is not known before it does: a control flit that comes later goes before it.

use super::output_buffers::Crossing;
use crate::engine::{Bytes, Tick};
use std::collections::VecDeque;

/// A flit that has been granted and has not started on the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    /// First tick in which it can start.
    pub ready: Tick,
    /// Its packet.
    pub packet: u32,
    /// Phits.
    pub size: u16,
    /// Virtual channel behind the output.
    pub vc: u16,
    /// It is the first flit of the packet, the last one.
    pub head: bool,
    pub tail: bool,
}

/// The buffer of data (0) and of control packets (1) of one output.
#[derive(Debug, Clone, Default)]
struct Pair {
    flits: [VecDeque<Leaving>; 2],
    /// Phits whose room is taken. A flit returns its room in the tick after it has started or, if flits count once they
    /// have crossed, as it starts.
    held: [u32; 2],
    /// The tick in which a flit started last, and its phits.
    left: (Tick, [u32; 2]),
    /// The packet whose flit the link took last, if its tail has not come.
    begun: Option<u32>,
    /// The link has been told to take a flit.
    told: bool,
    /// The flits that were granted last.
    latest: [Crossing; 2],
}

impl Pair {
    /// Returns the room of flits that have started before tick `now`.
    fn settle(&mut self, now: Tick) {
        if self.left.0 < now {
            let left = std::mem::take(&mut self.left.1);
            self.held[0] -= left[0];
            self.held[1] -= left[1];
        }
    }

    /// Takes the next flit of data in tick `now`, in which one is ready. It is a flit of the packet that the link has
    /// begun last, or of another packet that it has begun, or the first head.
    fn take_of_packet(&mut self, now: Tick) -> Option<Leaving> {
        let flits = &self.flits[0];
        let ready = || flits.iter().enumerate().take_while(|(_, flit)| flit.ready <= now);
        let follows = |place: usize, flit: &Leaving| {
            !flit.head && flits.iter().take(place).all(|before| before.packet != flit.packet)
        };
        let place = ready()
            .find(|(_, flit)| self.begun == Some(flit.packet))
            .or_else(|| ready().find(|(place, flit)| follows(*place, flit)))
            .map_or(0, |(place, _)| place);
        let flit = self.flits[0].remove(place)?;
        self.begun = Some(flit.packet).filter(|_| !flit.tail);
        Some(flit)
    }

    /// The tick in which the next flit can start, if the link is free from tick `free` on.
    fn next(&self, free: Tick) -> Option<Tick> {
        let first = self.flits.iter().filter_map(|flits| flits.front()).map(|flit| flit.ready).min();
        first.map(|ready| ready.max(free))
    }
}

/// The buffers of all outputs of a partition.
#[derive(Debug)]
pub(crate) struct OutputQueues {
    /// Phits of a buffer of data and of one of control packets.
    capacity: [u32; 2],
    /// Ticks in which a flit crosses before it counts; 0: it counts from its grant on.
    crossing: Tick,
    /// The link goes on with a packet that it has begun.
    by_packet: bool,
    outputs: Vec<Pair>,
}

impl Bytes for OutputQueues {
    fn bytes(&self) -> usize {
        let flits = |pair: &Pair| pair.flits.iter().map(VecDeque::capacity).sum::<usize>() * size_of::<Leaving>();
        self.outputs.capacity() * size_of::<Pair>() + self.outputs.iter().map(flits).sum::<usize>()
    }
}

impl OutputQueues {
    /// Empty buffers of `data` phits (`None`: unlimited) and `control` phits for each of `ports` ports. A flit counts
    /// `crossing` ticks after its grant. `by_packet`: the link goes on with a packet that it has begun.
    pub(crate) fn new(data: Option<u32>, control: u32, ports: usize, (crossing, by_packet): (Tick, bool)) -> Self {
        let capacity = [data.unwrap_or(u32::MAX), control];
        Self { capacity, crossing, by_packet, outputs: vec![Pair::default(); ports] }
    }

    /// True if there is room for `size` phits of data, or of a control packet, in the buffer of `output`.
    pub(crate) fn has_room(&mut self, output: u32, control: bool, size: u32, now: Tick) -> bool {
        let pair = &mut self.outputs[output as usize];
        pair.settle(now);
        let kind = usize::from(control);
        let crossing = if self.crossing == 0 { 0 } else { pair.latest[kind].uncounted(self.crossing, now) };
        pair.held[kind] - crossing + size <= self.capacity[kind]
    }

    /// A granted flit takes its room in the buffer of `output`, whose link is free from tick `free` on. Returns the
    /// tick in which the link is to take a flit, if it has not been told.
    pub(crate) fn push(&mut self, output: u32, control: bool, flit: Leaving, free: Tick, now: Tick) -> Option<Tick> {
        let pair = &mut self.outputs[output as usize];
        pair.settle(now);
        pair.held[usize::from(control)] += u32::from(flit.size);
        // A flit that starts when it has crossed never takes room.
        if flit.ready.max(free) > now + self.crossing {
            pair.latest[usize::from(control)].grant(flit.size, now);
        }
        pair.flits[usize::from(control)].push_back(flit);
        let next = pair.next(free).filter(|_| !pair.told);
        pair.told = true;
        next
    }

    /// The flit that the link behind `output` takes in tick `now`: the first control flit, or the first of data.
    pub(crate) fn take(&mut self, output: u32, now: Tick) -> Option<Leaving> {
        let pair = &mut self.outputs[output as usize];
        pair.settle(now);
        let kind = [1, 0].into_iter().find(|kind| pair.flits[*kind].front().is_some_and(|flit| flit.ready <= now))?;
        let flit = match self.by_packet && kind == 0 {
            true => pair.take_of_packet(now)?,
            false => pair.flits[kind].pop_front()?,
        };
        match self.crossing {
            0 => {
                pair.left.0 = now;
                pair.left.1[kind] += u32::from(flit.size);
            }
            _ => pair.held[kind] -= u32::from(flit.size),
        }
        Some(flit)
    }

    /// The tick in which the link behind `output`, free from tick `free` on, is to take the next flit, if there is one.
    pub(crate) fn told(&mut self, output: u32, free: Tick) -> Option<Tick> {
        let pair = &mut self.outputs[output as usize];
        let next = pair.next(free);
        pair.told = next.is_some();
        next
    }

    /// Phits of data that wait for the link behind `output`.
    pub(crate) fn waiting(&self, output: u32) -> u32 {
        self.outputs[output as usize].flits[0].iter().map(|flit| u32::from(flit.size)).sum()
    }

    /// The flits that wait for the link behind `output`.
    pub(crate) fn flits(&self, output: u32) -> impl Iterator<Item = &Leaving> {
        self.outputs[output as usize].flits.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flit of data fills its buffer. If flits count once they have crossed, another comes in the next tick. Control
    /// packets have room of their own.
    #[test]
    fn flits_of_the_last_tick_count_once_they_have_crossed() {
        let flit = Leaving { ready: 6, packet: 0, size: 1, vc: 0, head: true, tail: true };
        for (crossing, next) in [(0, false), (1, true)] {
            let mut queues = OutputQueues::new(Some(1), 1, 1, (crossing, false));
            queues.push(0, false, flit, 0, 4);
            assert_eq!(queues.has_room(0, false, 1, 5), next);
            assert!(!queues.has_room(0, false, 1, 6));
            assert!(queues.has_room(0, true, 1, 5));
        }
    }

    /// The link goes on with the packet that it has begun, and takes heads in the order in which they have crossed.
    #[test]
    fn a_link_goes_on_with_a_packet() {
        let mut queues = OutputQueues::new(None, 1, 1, (0, true));
        let flit = |packet, place| Leaving { ready: 1, packet, size: 1, vc: 0, head: place == 0, tail: place == 2 };
        for (packet, place) in [(7, 0), (8, 0), (7, 1), (8, 1), (9, 0)] {
            queues.push(0, false, flit(packet, place), 0, 0);
        }
        let take = |queues: &mut OutputQueues| queues.take(0, 5).map(|flit| flit.packet);
        assert_eq!([take(&mut queues), take(&mut queues), take(&mut queues)], [Some(7), Some(7), Some(8)]);
        queues.push(0, false, flit(7, 2), 0, 0);
        assert_eq!([take(&mut queues), take(&mut queues), take(&mut queues)], [Some(8), Some(7), Some(9)]);
        assert_eq!(take(&mut queues), None);
    }
}
