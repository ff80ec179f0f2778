//! Speculative packets of a reservation protocol in a partition's routers: the time that each has left, and the flits
//! that are still to come of packets that have been dropped.

use crate::engine::{Bytes, NONE, Table, Tick, bytes_of};
use crate::fabric::seams::reservation::{Expiry, InFlight};

/// A dropped packet of which flits are still to come.
#[derive(Debug, Clone, Copy)]
struct Coming {
    /// The queue that its head entered.
    queue: u32,
    /// The packet, if a router of the partition may still be sending it; otherwise `NONE`.
    packet: u32,
    /// Phits and flits of the packet, and the flits that have come.
    size: u16,
    flits: u16,
    come: u16,
}

/// The speculative packets of a partition.
#[derive(Debug)]
pub(crate) struct Expiring {
    /// `None`: no packet's time is over.
    rule: Option<Expiry>,
    /// Ticks of a cycle.
    cycle: Tick,
    /// By packet: cycles that it may still wait, or the last cycle of its life.
    left: Table<i32>,
    /// Dropped packets of which flits are still to come, few at a time.
    coming: Vec<Coming>,
}

impl Bytes for Expiring {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { left, coming; rule, cycle })
    }
}

impl Expiring {
    pub(crate) fn new(rule: Option<Expiry>, cycle: Tick) -> Self {
        Self { rule, cycle, left: Table::default(), coming: Vec::new() }
    }

    /// The time of a packet that is sent in tick `now`.
    pub(crate) fn given(&self, now: Tick) -> i32 {
        let Some(rule) = &self.rule else { return 0 };
        let sent = if rule.since_sending { now / self.cycle } else { 0 };
        sent.saturating_add(rule.time_to_live) as i32
    }

    /// `packet` has this time left.
    pub(crate) fn set(&mut self, packet: u32, left: i32) {
        while self.left.len() <= packet as usize {
            self.left.push(0);
        }
        self.left[packet] = left;
    }

    /// The time that is left for `packet`, which came in tick `entry` and leaves its input queue in tick `now`.
    pub(crate) fn after(&self, packet: u32, entry: Tick, now: Tick) -> i32 {
        match &self.rule {
            None => 0,
            Some(rule) if rule.since_sending => self.left[packet],
            Some(_) => self.left[packet] - self.waited(entry, now),
        }
    }

    /// The time that is left for `packet`.
    pub(crate) fn left(&self, packet: u32) -> i32 {
        self.left[packet]
    }

    fn waited(&self, entry: Tick, now: Tick) -> i32 {
        (now / self.cycle - entry / self.cycle) as i32
    }

    /// True if the time of `packet`, which came in tick `entry`, is over in tick `now`. The virtual channel that it
    /// asks for lacks credits for `lacking` phits, and the link before it has this latency in ticks. Both are 0 for a
    /// packet that asks for no output.
    pub(crate) fn is_over(&self, packet: u32, entry: Tick, (lacking, latency): (u32, Tick), now: Tick) -> bool {
        let Some(rule) = &self.rule else { return false };
        let behind = match rule.in_flight {
            None => 0,
            Some(InFlight::Phits(phits)) => lacking.saturating_sub(phits),
            Some(InFlight::RoundTrip) => lacking.saturating_sub(2 * latency / self.cycle),
        } as i32;
        let left = self.left[packet] - behind;
        match rule.since_sending {
            true => left < (now / self.cycle) as i32,
            false => left < self.waited(entry, now),
        }
    }

    /// Of dropped `packet` of `size` phits, `come` of `flits` flits have come to `queue`. The packet is `NONE` if no
    /// router of the partition may still be sending it.
    pub(crate) fn expect(&mut self, queue: u32, packet: u32, size: u16, (come, flits): (u16, u16)) {
        self.coming.push(Coming { queue, packet, size, flits, come });
    }

    /// A flit other than a head has come to `queue`. If its packet has been dropped: the packet's phits, the number of
    /// the flit, and the packet if this is its last flit and [`Self::expect`] has named it, or `NONE`.
    pub(crate) fn swallow(&mut self, queue: u32) -> Option<(u16, u16, u32)> {
        let place = self.coming.iter().position(|coming| coming.queue == queue)?;
        let coming = &mut self.coming[place];
        let Coming { size, come: flit, packet, .. } = *coming;
        coming.come += 1;
        let over = coming.come == coming.flits;
        if over {
            self.coming.swap_remove(place);
        }
        Some((size, flit, if over { packet } else { NONE }))
    }

    /// Dropped packets that a router of the partition may still be sending.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = u32> + '_ {
        self.coming.iter().map(|coming| coming.packet).filter(|packet| *packet != NONE)
    }

    /// The dropped packet of which flits are still to come to `queue`: its phits, its flits and the flits that have
    /// come.
    pub(crate) fn swallows(&self, queue: u32) -> Option<(u16, u16, u16)> {
        let there = |coming: &&Coming| coming.queue == queue;
        self.coming.iter().find(there).map(|coming| (coming.size, coming.flits, coming.come))
    }
}
