//! Receivers that deliver packets in order: packets that came early wait for those before them.

use crate::engine::Tick;
use crate::measure::Receivers;
use crate::packet::Packet;
use crate::workload::Memory;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// A packet that has come, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Came {
    pub(super) packet: Packet,
    /// When its head arrived, and its tail.
    pub(super) times: (Tick, Tick),
}

/// A message under way.
#[derive(Debug, Clone, Copy)]
struct Due {
    /// Cycle of its first packet. Its packets have consecutive cycles.
    first: u32,
    packets: u32,
    /// Packets that have come.
    came: u32,
    /// When the last of them came.
    last: Tick,
}

/// The packets from an endpoint to another.
#[derive(Debug, Clone, Default)]
struct Flow {
    /// Messages that have not been delivered, in the order of sending.
    due: VecDeque<Due>,
    /// Packets of the first message that have been delivered.
    delivered: u32,
    /// Packets that wait, by cycle of generation.
    waiting: BTreeMap<u32, Came>,
    /// Their phits.
    phits: u32,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is the next one in order.
    Next,
    /// It waits for earlier packets.
    Waits,
    /// There is no room for it.
    Refused,
}

/// The receivers of some endpoints.
pub(super) struct Reordering {
    memory: Memory,
    /// By slot of the receiver, among those of its executor, and sending endpoint.
    flows: FxHashMap<(u32, u32), Flow>,
    /// By slot: phits that wait.
    held: Vec<u32>,
}

impl Flow {
    /// The place of the message with the packet of `cycle`. `None` if no message has it.
    fn place_of(&self, cycle: u32) -> Option<usize> {
        let place = self.due.partition_point(|due| due.first <= cycle).checked_sub(1)?;
        (cycle - self.due[place].first < self.due[place].packets).then_some(place)
    }

    /// The cycle of the next packet in order.
    fn next(&self) -> Option<u32> {
        self.due.front().map(|due| due.first + self.delivered)
    }
}

impl Reordering {
    /// Receivers at `slots` endpoints, to which nothing is on its way.
    pub(super) fn new(memory: Memory, slots: usize) -> Self {
        Self { memory, flows: FxHashMap::default(), held: vec![0; slots] }
    }

    /// A message of so many `packets`, the first generated in cycle `first`, is on its way to `slot` from an endpoint.
    pub(super) fn expect(&mut self, slot: u32, from: u32, first: u32, packets: u32) {
        let flow = self.flows.entry((slot, from)).or_default();
        flow.due.push_back(Due { first, packets, came: 0, last: 0 });
    }

    fn fate(&self, slot: u32, cycle: u32, packet: &Packet) -> Option<(Fate, usize)> {
        let flow = self.flows.get(&(slot, packet.source))?;
        let place = flow.place_of(cycle)?;
        let used = if self.memory.of_source { flow.phits } else { self.held[slot as usize] };
        let fate = match () {
            () if flow.next() == Some(cycle) => Fate::Next,
            () if self.memory.takes(packet, used) => Fate::Waits,
            () => Fate::Refused,
        };
        Some((fate, place))
    }

    /// True if the receiver at `slot` has no room for `packet`, generated in `cycle`.
    pub(super) fn refuses(&self, slot: u32, cycle: u32, packet: &Packet) -> bool {
        self.fate(slot, cycle, packet).is_some_and(|(fate, _)| fate == Fate::Refused)
    }

    /// A packet that is not refused has come to `slot`. Calls `deliver` with the packets that are in order now, each
    /// with its cycle of generation.
    pub(super) fn came(
        &mut self,
        slot: u32,
        cycle: u32,
        came: Came,
        tally: &mut Receivers,
        mut deliver: impl FnMut(u32, &Came),
    ) {
        let Some((fate, place)) = self.fate(slot, cycle, &came.packet) else { return };
        let (now, held) = (came.times.1, &mut self.held[slot as usize]);
        let Some(flow) = self.flows.get_mut(&(slot, came.packet.source)) else { return };
        let due = &mut flow.due[place];
        (due.came, due.last) = (due.came + 1, now);
        if fate == Fate::Waits {
            let phits = u32::from(came.packet.size);
            (flow.phits, *held) = (flow.phits + phits, *held + phits);
            flow.waiting.insert(cycle, came);
            return tally.holds(*held);
        }
        deliver(cycle, &came);
        loop {
            flow.delivered += 1;
            if let Some(due) = flow.due.front().filter(|due| due.packets == flow.delivered) {
                tally.message_delivered(now - due.last);
                flow.due.pop_front();
                flow.delivered = 0;
            }
            let Some(next) = flow.next() else { return };
            let Some(came) = flow.waiting.remove(&next) else { return };
            let phits = came.packet.size;
            (flow.phits, *held) = (flow.phits - u32::from(phits), *held - u32::from(phits));
            tally.packet_waited(phits, now - came.times.1);
            deliver(next, &came);
        }
    }

    /// True if every message has been delivered: nothing is left that later packets would find.
    pub(super) fn is_empty(&self) -> bool {
        self.flows.values().all(|flow| flow.due.is_empty() && flow.waiting.is_empty())
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let of_flow =
            |flow: &Flow| flow.due.capacity() * size_of::<Due>() + flow.waiting.len() * size_of::<(u32, Came)>();
        self.flows.values().map(of_flow).sum::<usize>()
            + self.flows.capacity() * (size_of::<((u32, u32), Flow)>() + 1)
            + self.held.capacity() * size_of::<u32>()
    }
}
