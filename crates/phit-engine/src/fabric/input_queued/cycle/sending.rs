//! Endpoints send: each puts flits into its injection queues while there is room.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::endpoints::endpoint::Endpoint;
use crate::fabric::input_queued::endpoints::room::Room;
use crate::fabric::input_queued::endpoints::seam::{Flit, Next, Sending, Site};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::seams::reservation::Role;
use crate::fabric::seams::routing::Injection;
use crate::fabric::sources::Sources;
use crate::packet::Packet;
use crate::traffic::{Generated, Traffic};
use std::ops::Range;

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
        while let Some(endpoint) = self.agenda.next_sender() {
            self.send::<K>(endpoint);
        }
    }

    /// Opens the measured window, or moves its end.
    pub(crate) fn open_window(&mut self, span: Range<Tick>) {
        let (before, drawn) = (self.collector.span(), self.sending.drawn(&self.endpoints));
        let sources = sources_of(&self.setup.traffic, &self.setup.settings);
        sources.open(span.clone(), drawn.iter().map(|(_, packet)| *packet), &mut self.collector);
        if self.setup.settings.classes {
            for (class, packet) in drawn {
                let birth = packet.cycle * self.setup.settings.ticks_per_cycle;
                let (before, after) = (before.contains(&birth), span.contains(&birth));
                self.collector.counters.classes.moved(class, packet.size, before, after);
            }
        }
    }

    /// At the end of the window: notes what has been offered, and returns the number of packets generated in the
    /// window.
    pub(crate) fn close_window(&mut self) -> u64 {
        self.sending.close(&self.endpoints, &mut self.collector);
        self.signals.pauses().iter().for_each(|pauses| pauses.close(&mut self.collector));
        let sources = sources_of(&self.setup.traffic, &self.setup.settings);
        let beside = self.hosted.as_ref().filter(|hosted| hosted.has_traffic());
        let (packets, phits) = match beside {
            Some(hosted) => hosted.generated(&self.endpoints, &sources, &self.collector),
            None => self.sending.generated(&self.endpoints, &sources, &mut self.collector),
        };
        self.offered_phits = phits;
        packets
    }

    /// How endpoints send, and what that may touch for endpoint `e`.
    pub(crate) fn sending_of(&mut self, e: u32) -> (&mut Sending, Site<'_>) {
        let site = Site {
            now: self.now,
            setup: &self.setup,
            endpoint: &mut self.endpoints[e],
            room: Room::new(&self.setup, &self.map, &self.tables.channels, self.pools.as_deref(), &*self.queueing),
            queues: &self.queues,
            repeats: self.repeats.as_deref_mut(),
            hosted: self.hosted.as_deref_mut(),
            collector: &mut self.collector,
            post: &mut self.post,
            works: !self.outages.is_silent(e),
        };
        (&mut self.sending, site)
    }

    /// Draws the next packet of endpoint `e`.
    #[inline(always)]
    pub(crate) fn draw<K: Kernel>(&mut self, e: u32) {
        if self.hosted.is_some() || K::EXTRAS && (!self.setup.settings.in_turn || self.setup.settings.serial) {
            return self.draw_otherwise(e);
        }
        let endpoint = &mut self.endpoints[e];
        let sources = sources_of(&self.setup.traffic, &self.setup.settings);
        endpoint.next = sources.draw(endpoint.number, &mut endpoint.source, &mut self.collector);
    }

    #[cold]
    #[inline(never)]
    fn draw_otherwise(&mut self, e: u32) {
        let (sending, mut site) = self.sending_of(e);
        sending.draw(e, &mut site);
    }

    /// Sends what endpoint `e` can send now, and files its next attempt if only time is missing.
    #[inline(always)]
    fn send<K: Kernel>(&mut self, e: u32) {
        if !K::BARE && !self.setup.settings.in_turn {
            return self.send_otherwise::<K>(e);
        }
        loop {
            let endpoint = &self.endpoints[e];
            let Some(packet) = endpoint.next else { return };
            let cycle = self.setup.settings.ticks_per_cycle;
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
                true => self.setup.settings.size,
                false => self.setup.config.flit_phits(packet.size, endpoint.sent),
            };
            let Some(lane) = self.injection_lane::<K>(endpoint, packet, size) else {
                self.endpoints[e].blocked = true;
                return;
            };
            self.send_flit::<K>(e, packet, lane, size, 0);
        }
    }

    /// Sends what endpoint `e` can send now where it is not the packet that was drawn that is sent next.
    #[inline(never)]
    fn send_otherwise<K: Kernel>(&mut self, e: u32) {
        loop {
            let (sending, mut site) = self.sending_of(e);
            match sending.next::<K>(e, &mut site) {
                Next::Send(flit) => {
                    let Flit { packet, size, lane, before, mark, .. } = flit;
                    self.endpoints[e].sent = before;
                    self.send_flit::<K>(e, packet, lane, size, mark);
                    let (sending, mut site) = self.sending_of(e);
                    sending.sent(e, &flit, &mut site);
                }
                Next::Wait { at, blocked } => {
                    self.endpoints[e].blocked = blocked;
                    return self.attempt_at(e, at);
                }
            }
        }
    }

    /// Files the next attempt of endpoint `e`, if there is to be one.
    fn attempt_at(&mut self, e: u32, at: Option<u32>) {
        let endpoint = &mut self.endpoints[e];
        if let Some(at) = at.filter(|at| *at != endpoint.wake || *at <= self.now) {
            let at = at.max(self.now + 1);
            endpoint.wake = at;
            self.file(at, kind::SEND, e, 0);
        }
    }

    /// The injection queue for the next flit of `endpoint`, if it has room.
    #[inline(always)]
    fn injection_lane<K: Kernel>(&self, endpoint: &Endpoint, packet: Generated, size: u32) -> Option<u16> {
        let room = Room::new(&self.setup, &self.map, &self.tables.channels, self.pools.as_deref(), &*self.queueing);
        room.lane::<K>(endpoint, packet, size)
    }

    #[inline(always)]
    pub(crate) fn send_flit<K: Kernel>(&mut self, e: u32, packet: Generated, lane: u16, size: u32, mark: u8) {
        let flits = if K::WHOLE { 1 } else { self.setup.config.flits(packet.size) };
        let latency = self.setup.settings.injection_latency;
        let before = self.endpoints[e].free;
        let starts = self.setup.settings.starts;
        let mut wire = (self.now, 0, None);
        let free = match (self.setup.settings.injection_bandwidth, &mut self.rates, K::SIZED) {
            (None, ..) => starts.align(self.now + self.setup.settings.ticks_per_cycle),
            (Some(_), Some(rates), _) if K::EXTRAS => {
                let sent = rates.send(e, (self.now, before), size, starts);
                wire = (sent.start, sent.early, Some(sent.end));
                sent.free
            }
            (Some(_), _, true) => starts.align(self.now + self.setup.unit.arrival[0]),
            (Some(bandwidth), _, false) => {
                starts.align(self.now + self.setup.config.links.serialisation(size, bandwidth))
            }
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
        if !(K::EXTRAS && self.setup.settings.pauses) {
            self.tables.channels[channel].credits -= size as i32;
        }
        if let Some(pools) = self.pools.as_deref_mut().filter(|_| K::EXTRAS) {
            let place = self.tables.outputs.len() as u32 + e;
            pools.send((place, channel), size, tail, &mut self.tables);
        }
        let index = if head { self.create::<K>(e, router, packet, flits, mark) } else { NONE };
        if tail && (K::BARE || self.setup.settings.in_turn) {
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
        let (destination_router, ejection_port) = self.map.known.attachment(&*self.map.topology, generated.destination);
        let index = self.packets.insert(Packet {
            entry: self.now,
            birth: generated.cycle * self.setup.settings.ticks_per_cycle,
            destination_router,
            size: generated.size,
            flits,
            misrouted: if K::EXTRAS { mark } else { 0 },
            ejection_port,
            ..Packet::new(self.endpoints[e].number, generated.destination)
        });
        if self.setup.settings.sorts::<K>() {
            // Packets of one message draw their ways independently.
            self.packets[index].scratch = self.endpoints[e].phits as u32;
        }
        if K::CONTROLS && self.setup.settings.reserves {
            self.stamp(index);
        }
        if K::SETTLED || self.setup.settings.wants.settled {
            return index;
        }
        let mut injection = Injection {
            topology: &*self.map.topology,
            router: self.setup.routers.number(router),
            now: self.now,
            rng: &mut self.injection_rngs[e],
        };
        self.routing.inject(&mut injection, &mut self.packets[index]);
        if K::EXTRAS && self.setup.settings.wants.sends {
            self.announce_sending(router, index);
        }
        index
    }

    /// Lets endpoint `e` send nothing to `destination`, or lets it send again.
    pub(crate) fn hold_destination(&mut self, e: u32, destination: u32, held: bool) {
        match &mut self.sending {
            Sending::Admitted(admittances) => admittances.hold(e, destination, held),
            Sending::Throttled(throttle) => throttle.hold(e, destination, held),
            _ => {}
        }
        if !held && self.endpoints[e].blocked {
            self.agenda.add_sender(e);
        }
    }

    /// By what allocators that go by classes put the packet before others.
    pub(crate) fn rank(&self, packet: u32) -> Tick {
        match self.setup.settings.reserves {
            true => Role::of(&self.packets[packet]).rank(),
            false => self.sending.streams().map_or(0, |streams| streams.rank(&self.packets[packet])),
        }
    }
}

/// What draws the packets of endpoints from their traffic.
#[inline(always)]
fn sources_of<'a>(traffic: &'a Traffic, settings: &Settings) -> Sources<'a> {
    Sources { traffic, ticks_per_cycle: settings.ticks_per_cycle, cycles: settings.cycles }
}
