//! Endpoints: the source queue and the injection link of each.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::params::InjectionQueue;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::seams::queueing::Lanes;
use crate::fabric::seams::routing::Injection;
use crate::fabric::sources::Sources;
use crate::packet::Packet;
use crate::traffic::{Generated, Source};
use std::ops::Range;

/// An endpoint as a sender.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// Where the sequence of packets stands.
    pub source: Source,
    /// Next packet to send; `None` if there is none for ever.
    pub next: Option<Generated>,
    /// First tick at which the injection link is free.
    pub free: Tick,
    /// Tick of the latest wake-up filed for it.
    pub wake: Tick,
    /// First of its channels, which hold the credits of its injection queues.
    pub channel: u32,
    /// First of its injection queues.
    pub queues: u32,
    /// Flits of the next packet that have been sent.
    pub sent: u16,
    /// Queue of the packet being sent, and the one after the last used.
    pub lane: u16,
    /// True if it waits for credits.
    pub blocked: bool,
    /// Its router in the partition.
    pub router: u32,
    /// Its number in the network.
    pub number: u32,
    /// Packets sent into the network's injection queues, in phits.
    pub phits: u64,
}

/// The partition's sources: a macro, because it borrows single fields.
macro_rules! sources {
    ($self:ident) => {
        Sources {
            traffic: &$self.traffic,
            ticks_per_cycle: $self.settings.ticks_per_cycle,
            cycles: $self.settings.cycles,
        }
    };
}

impl Partition {
    /// Draws the first packet of every endpoint, and sends what can be sent at once.
    #[inline(never)]
    pub(crate) fn start_sources<K: Kernel>(&mut self) {
        for e in 0..self.endpoints.len() as u32 {
            self.draw::<K>(e);
            self.send::<K>(e);
        }
    }

    /// Sends what endpoints can send that may have something in this tick.
    #[inline(never)]
    pub(crate) fn send_all<K: Kernel>(&mut self) {
        while let Some(endpoint) = self.senders.pop() {
            self.send::<K>(endpoint);
        }
    }

    /// Opens the measured window, or moves its end.
    pub(crate) fn open_window(&mut self, span: Range<Tick>) {
        if self.streams.is_some() {
            return self.open_window_of_classes(span);
        }
        if self.exchange.is_some() {
            let drawn: Vec<Generated> = self.generated().collect();
            return sources!(self).open(span, drawn.into_iter(), &mut self.collector);
        }
        let drawn = self.endpoints.iter().filter_map(|endpoint| endpoint.next);
        sources!(self).open(span, drawn, &mut self.collector);
    }

    /// At the end of the window: notes what has been offered, and returns the number of packets generated in the
    /// window.
    pub(crate) fn close_window(&mut self) -> u64 {
        let senders = self.endpoints.iter().map(|endpoint| (endpoint.number, &endpoint.source, endpoint.next));
        let beside = self.hosted.as_ref().filter(|hosted| !hosted.workload.traffic.is_empty());
        let (packets, phits) = match (&self.exchange, beside) {
            _ if self.streams.is_some() => self.close_window_of_classes(),
            (Some(_), _) => self.requested(),
            (_, Some(hosted)) => self.generated_beside(&hosted.workload),
            (None, None) => sources!(self).close(senders, &self.collector),
        };
        self.offered_phits = phits;
        packets
    }

    /// Draws the next packet of endpoint `e`.
    #[inline(always)]
    pub(crate) fn draw<K: Kernel>(&mut self, e: u32) {
        if self.hosted.is_some() {
            return self.draw_of_message(e);
        }
        if K::EXTRAS && self.exchange.is_some() {
            return self.draw_request(e);
        }
        if K::EXTRAS && self.streams.is_some() {
            return self.draw_of_classes(e);
        }
        let endpoint = &mut self.endpoints[e];
        endpoint.next = sources!(self).draw(endpoint.number, &mut endpoint.source, &mut self.collector);
        if K::EXTRAS && self.settings.serial {
            self.follow_other_planes(e);
        }
    }

    /// The packet that endpoint `e` has drawn is sent when those before it have been, in other planes, too.
    #[cold]
    #[inline(never)]
    fn follow_other_planes(&mut self, e: u32) {
        let endpoint = &mut self.endpoints[e];
        if let Some(cycle) = self.traffic.begins(&endpoint.source) {
            // Packets of later cycles are not sent at all.
            let cycle = cycle.min(self.settings.cycles);
            endpoint.free = endpoint.free.max(cycle * self.settings.ticks_per_cycle);
        }
    }

    /// Sends what endpoint `e` can send now, and files its next attempt if only time is missing.
    #[inline(always)]
    fn send<K: Kernel>(&mut self, e: u32) {
        if !K::BARE && !self.settings.in_turn {
            return self.send_otherwise::<K>(e);
        }
        loop {
            let endpoint = &self.endpoints[e];
            let Some(packet) = endpoint.next else { return };
            let cycle = self.settings.ticks_per_cycle;
            // A packet generated in one cycle can be sent in the next.
            let earliest = ((packet.cycle + 1) * cycle).max(endpoint.free);
            if earliest > self.now {
                if endpoint.wake != earliest {
                    self.endpoints[e].wake = earliest;
                    self.file(earliest, kind::SEND, e, 0);
                }
                return;
            }
            let size = match K::SIZED {
                true => self.settings.size,
                false => self.config.flit_phits(packet.size, endpoint.sent),
            };
            let Some(lane) = self.injection_lane::<K>(endpoint, packet, size) else {
                self.endpoints[e].blocked = true;
                return;
            };
            self.send_flit::<K>(e, packet, lane, size, 0);
        }
    }

    /// The same where it is not the packet that was drawn that is sent next.
    fn send_otherwise<K: Kernel>(&mut self, e: u32) {
        match () {
            () if self.settings.admits => self.send_admitted::<K>(e),
            () if self.settings.exchanges => self.send_exchanged::<K>(e),
            () if self.settings.classes => self.send_of_classes::<K>(e),
            () => self.send_repeating::<K>(e),
        }
    }

    /// The injection queue for the next flit, if it has room.
    #[inline(always)]
    pub(crate) fn injection_lane<K: Kernel>(&self, endpoint: &Endpoint, packet: Generated, size: u32) -> Option<u16> {
        let count = self.settings.injection_queues;
        let credits = |lane: u16| self.tables.channels[endpoint.channel + u32::from(lane)].credits;
        let fits = |lane: &u16| credits(*lane) >= size as i32;
        if !K::WHOLE && endpoint.sent > 0 {
            return Some(endpoint.lane).filter(fits);
        }
        if K::EXTRAS && !K::LISTS && self.settings.looks_ahead {
            let (lanes, all) = (self.entered(endpoint, packet), |_| true);
            return self.choose_lane::<K>(endpoint.channel, endpoint.lane, lanes, packet.destination, size, all);
        }
        if !K::BARE && !self.settings.transparent {
            let router = self.routers.number(endpoint.router);
            if let Some(lane) = self.queueing.inject(router, packet.destination) {
                return Some(lane).filter(fits);
            }
        }
        self.choose_lane::<K>(endpoint.channel, endpoint.lane, 0..count, packet.destination, size, |_| true)
    }

    /// The injection queues that a packet may enter that will have been generated there.
    #[cold]
    #[inline(never)]
    fn entered(&self, endpoint: &Endpoint, generated: Generated) -> Range<u16> {
        let (destination_router, ejection_port) = self.known.attachment(&*self.topology, generated.destination);
        let birth = generated.cycle * self.settings.ticks_per_cycle;
        let packet = Packet::new(endpoint.number, generated.destination);
        let packet = Packet { birth, destination_router, ejection_port, ..packet };
        let router = self.routers.number(endpoint.router);
        let Lanes { first, count } = self.queueing.enters(&*self.topology, router, &packet);
        first..first + count
    }

    /// The queue among `lanes` for a flit of `size` phits to `destination`, of those whose first has its credits in
    /// `channel` and that are `open`; `last` is the one last used.
    #[inline(always)]
    pub(crate) fn choose_lane<K: Kernel>(
        &self,
        channel: u32,
        last: u16,
        lanes: Range<u16>,
        destination: u32,
        size: u32,
        open: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let credits = |lane: u16| self.tables.channels[channel + u32::from(lane)].credits;
        // Room for a head, which takes an empty queue where channels are reused when they are empty.
        let least = if K::EXTRAS && self.settings.reuse_when_empty { self.config.links[0].buffer } else { size };
        let fits = |lane: &u16| match self.settings.shares {
            _ if !open(*lane) => false,
            true if K::HELD && K::EXTRAS => self.takes_head(channel + u32::from(*lane), size),
            _ => credits(*lane) >= least as i32,
        };
        let (first, count, all) = (lanes.start, lanes.end - lanes.start, self.settings.injection_queues);
        match self.config.injection_queue {
            InjectionQueue::Destination => {
                let lane = self.injection_bounds.partition_point(|first| *first <= destination) as u16;
                let lane = if count == all {
                    lane
                } else {
                    first + (u32::from(lane) * u32::from(count) / u32::from(all)) as u16
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

    #[inline(always)]
    pub(crate) fn send_flit<K: Kernel>(&mut self, e: u32, packet: Generated, lane: u16, size: u32, mark: u8) {
        let flits = if K::WHOLE { 1 } else { self.config.flits(packet.size) };
        let latency = self.settings.injection_latency;
        let before = self.endpoints[e].free;
        let starts = self.settings.starts;
        let mut wire = (self.now, 0, None);
        let free = match (self.settings.injection_bandwidth, &mut self.rates, K::SIZED) {
            (None, ..) => starts.align(self.now + self.settings.ticks_per_cycle),
            (Some(_), Some(rates), _) if K::EXTRAS => {
                let sent = rates.send(e, (self.now, before), size, starts);
                wire = (sent.start, sent.early, Some(sent.end));
                sent.free
            }
            (Some(_), _, true) => starts.align(self.now + self.unit.arrival[0]),
            (Some(bandwidth), _, false) => starts.align(self.now + self.config.links.serialisation(size, bandwidth)),
        };
        let endpoint = &mut self.endpoints[e];
        let queue = endpoint.queues + u32::from(lane);
        let channel = endpoint.channel + u32::from(lane);
        let router = endpoint.router;
        endpoint.blocked = false;
        endpoint.free = free;
        endpoint.lane = lane;
        endpoint.phits += u64::from(size);
        let (start, early, end) = wire;
        let times = (start, early, end.unwrap_or(free));
        self.wires.note_between(self.tables.outputs.len() as u32 + e, times, size, false);
        let (head, tail) = match K::WHOLE {
            true => (true, true),
            false => {
                endpoint.sent += 1;
                let (head, tail) = (endpoint.sent == 1, endpoint.sent == flits);
                if tail {
                    endpoint.sent = 0;
                }
                (head, tail)
            }
        };
        self.tables.channels[channel].credits -= size as i32;
        if K::HELD && K::EXTRAS && self.settings.shares {
            self.sent_to_pool(self.tables.outputs.len() as u32 + e, channel, size, tail);
        }
        let index = if head { self.create::<K>(e, router, packet, flits, mark) } else { NONE };
        if tail && (K::BARE || self.settings.in_turn) {
            self.draw::<K>(e);
        }
        if latency == 0 {
            self.arrive::<K>(queue, index);
        } else {
            self.file(self.now + latency, kind::ARRIVAL, queue, index);
        }
    }

    /// Makes the packet and lets the routing mechanism see it.
    #[inline(always)]
    fn create<K: Kernel>(&mut self, e: u32, router: u32, generated: Generated, flits: u16, mark: u8) -> u32 {
        let (destination_router, ejection_port) = self.known.attachment(&*self.topology, generated.destination);
        let index = self.packets.insert(Packet {
            entry: self.now,
            birth: generated.cycle * self.settings.ticks_per_cycle,
            destination_router,
            size: generated.size,
            flits,
            misrouted: if K::EXTRAS { mark } else { 0 },
            ejection_port,
            ..Packet::new(self.endpoints[e].number, generated.destination)
        });
        if K::SETTLED || self.settings.wants.settled {
            return index;
        }
        let mut injection = Injection {
            topology: &*self.topology,
            router: self.routers.number(router),
            now: self.now,
            rng: &mut self.injection_rngs[e],
        };
        self.routing.inject(&mut injection, &mut self.packets[index]);
        if K::EXTRAS && self.settings.wants.sends {
            self.announce_sending(router, index);
        }
        index
    }
}
