//! The room in the injection queues of endpoints.

use super::endpoint::Endpoint;
use crate::engine::Table;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::params::InjectionQueue;
use crate::fabric::input_queued::state::pools::{Pools, reusable};
use crate::fabric::input_queued::state::records::OutputVc;
use crate::fabric::input_queued::wiring::setup::{Map, Setup};
use crate::fabric::seams::queueing::{Lanes, Queueing};
use crate::packet::Packet;
use crate::traffic::Generated;
use std::ops::Range;

/// The rules for the injection queue that a packet enters: credits, and the rules of router and queue organisation.
#[derive(Clone, Copy)]
pub(crate) struct Room<'a> {
    pub setup: &'a Setup,
    pub map: &'a Map,
    pub channels: &'a Table<OutputVc>,
    pub pools: Option<&'a Pools>,
    pub queueing: &'a dyn Queueing,
}

/// A flit that is to enter an injection queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entering {
    /// The channel with the credits of the endpoint's first injection queue.
    pub channel: u32,
    /// The injection queue that was used last.
    pub last: u16,
    /// Destination of its packet.
    pub destination: u32,
    /// Phits.
    pub size: u32,
}

impl<'a> Room<'a> {
    #[inline(always)]
    pub(crate) fn new(
        setup: &'a Setup,
        map: &'a Map,
        channels: &'a Table<OutputVc>,
        pools: Option<&'a Pools>,
        queueing: &'a dyn Queueing,
    ) -> Self {
        Self { setup, map, channels, pools, queueing }
    }

    /// Phits that fit into injection queue `lane` of an endpoint whose first one has its credits in `channel`.
    #[inline(always)]
    pub(crate) fn credits(&self, channel: u32, lane: u16) -> i32 {
        self.channels[channel + u32::from(lane)].credits
    }

    /// The injection queue for the next flit of `endpoint`, of `size` phits, if it has room.
    #[inline(always)]
    pub(crate) fn lane<K: Kernel>(&self, endpoint: &Endpoint, packet: Generated, size: u32) -> Option<u16> {
        let &Endpoint { channel, lane: last, .. } = endpoint;
        let fits = |lane: &u16| self.credits(channel, *lane) >= size as i32;
        if !K::WHOLE && endpoint.sent > 0 {
            return Some(last).filter(fits);
        }
        let size = self.phits_to_begin::<K>(packet, size);
        let fits = |lane: &u16| self.credits(channel, *lane) >= size as i32;
        let entering = Entering { channel, last, destination: packet.destination, size };
        if K::EXTRAS && !K::LISTS && self.setup.settings.looks_ahead {
            return self.choose::<K>(entering, self.entered(endpoint, packet), |_| true);
        }
        if !K::BARE && !self.setup.settings.transparent {
            let router = self.setup.routers.number(endpoint.router);
            if let Some(lane) = self.queueing.inject(router, packet.destination) {
                return Some(lane).filter(fits);
            }
        }
        self.choose::<K>(entering, 0..self.setup.settings.injection_queues, |_| true)
    }

    /// Phits of room that `packet`, whose first flit has `size` phits, needs in an injection queue to begin.
    #[inline(always)]
    pub(crate) fn phits_to_begin<K: Kernel>(&self, packet: Generated, size: u32) -> u32 {
        match K::EXTRAS && self.setup.settings.choices.packet_needs_room {
            true => packet.size.into(),
            false => size,
        }
    }

    /// The injection queues that a packet may enter, where that depends on its next hops.
    #[cold]
    #[inline(never)]
    fn entered(&self, endpoint: &Endpoint, generated: Generated) -> Range<u16> {
        let (destination_router, ejection_port) = self.map.known.attachment(&*self.map.topology, generated.destination);
        let birth = generated.cycle * self.setup.settings.ticks_per_cycle;
        let packet = Packet::new(endpoint.number, generated.destination);
        let packet = Packet { birth, destination_router, ejection_port, ..packet };
        let router = self.setup.routers.number(endpoint.router);
        let Lanes { first, count } = self.queueing.enters(&*self.map.topology, router, &packet);
        first..first + count
    }

    /// The injection queue among `lanes` that are `open` for the first flit of a packet, if one has room.
    #[inline(always)]
    pub(crate) fn choose<K: Kernel>(
        &self,
        entering: Entering,
        lanes: Range<u16>,
        open: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let Entering { channel, last, destination, size } = entering;
        let credits = |lane: u16| self.credits(channel, lane);
        // Room for a head, which takes an empty queue where channels are reused when they are empty.
        let least = if K::EXTRAS && self.setup.settings.choices.reuse_when_empty {
            self.setup.config.links[0].buffer
        } else {
            size
        };
        let fits = |lane: &u16| match self.setup.settings.shares {
            _ if !open(*lane) => false,
            true if K::HELD && K::EXTRAS => self.takes_head(channel + u32::from(*lane), size),
            _ => credits(*lane) >= least as i32,
        };
        let (first, count, all) = (lanes.start, lanes.end - lanes.start, self.setup.settings.injection_queues);
        match self.setup.config.choices.injection_queue {
            InjectionQueue::Destination => {
                let lane = || self.setup.injection_bounds.partition_point(|first| *first <= destination) as u16;
                let lane = match count == all {
                    true => lane(),
                    // Of an odd number of queues, replies have one more than requests.
                    false if self.setup.settings.exchanges => {
                        let endpoints = u64::from(self.map.topology.endpoints().max(1));
                        first + (u64::from(destination) * u64::from(count) / endpoints) as u16
                    }
                    false => first + (u32::from(lane()) * u32::from(count) / u32::from(all)) as u16,
                };
                Some(lane).filter(fits)
            }
            InjectionQueue::RoundRobin => {
                let last = last.saturating_sub(first);
                (0..count).map(|step| first + (last + 1 + step) % count).find(fits)
            }
            InjectionQueue::LeastOccupied => {
                lanes.filter(fits).reduce(|a, b| if credits(b) > credits(a) { b } else { a })
            }
        }
    }

    /// True if a packet may begin in `channel` with a flit of `phits`, where channels share a buffer.
    #[cold]
    fn takes_head(&self, channel: u32, phits: u32) -> bool {
        reusable(&self.setup.settings, self.pools, self.channels, channel, 0)
            && self.channels[channel].credits >= phits as i32
    }
}
