//! A partition: its state, its events, its clock.

use super::admittance::Admittance;
use super::candidates::Candidates;
use super::config::{
    Adaptive, Batched, Compiled, Config, Fixed, General, Kernel, Listed, Plain, Settings, Single, Staged, Times,
};
use super::control::Message;
use super::endpoint::Endpoint;
use super::events::kind;
use super::mail::Mail;
use super::state::{Input, Output, OutputVc, Queue};
use super::vc_allocation::{VcAllocator, Waiting};
use super::wait_lists::WaitLists;
use crate::engine::Bytes;
use crate::engine::bytes_of;
use crate::engine::parallel::Runs;
use crate::engine::{Event, NONE, Rng, Table, Tick, Wheel};
use crate::fabric::seams::allocator::{Allocator, Request};
use crate::fabric::seams::probe::Probes;
use crate::fabric::seams::queueing::{Branch, Manager, Queueing};
use crate::fabric::seams::routing::{Head, Outgoing, Routing, Watched};
use crate::measure::{Collector, Total};
use crate::packet::Arena;
use crate::topology::{Known, Routers, Topology};
use crate::traffic::Traffic;
use std::sync::Arc;

/// Routers, endpoints and packets of one partition.
pub struct Partition {
    pub(crate) index: u32,
    pub(crate) config: Arc<Config>,
    pub(crate) topology: Arc<dyn Topology>,
    /// The same, if it is one whose minimal hops are compiled into the kernel.
    pub(crate) known: Known,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) routing: Box<dyn Routing>,
    pub(crate) settings: Settings,
    /// Ticks that flits take, by size in phits.
    pub(crate) times: Vec<Times>,
    /// Those of packets that are all of one size.
    pub(crate) unit: Times,
    pub(crate) queueing: Box<dyn Queueing>,
    /// What a managed queue organisation does besides.
    pub(crate) manager: Option<Box<dyn Manager>>,
    pub(crate) allocator: Box<dyn Allocator>,
    pub(crate) vc_allocator: Option<VcAllocator>,

    pub(crate) routers: Routers,
    /// First port of each router; one more at the end.
    pub(crate) first_port: Table<u32>,
    pub(crate) rngs: Table<Rng>,
    pub(crate) inputs: Table<Input>,
    pub(crate) queues: Table<Queue>,
    pub(crate) outputs: Table<Output>,
    pub(crate) channels: Table<OutputVc>,
    /// The queue that holds each channel until its packet's tail is granted; `NONE` if free. Without entries if no
    /// channel is ever held ([`Settings::single`]).
    pub(crate) owners: Table<u32>,
    /// Tick at which the latest flit entered each queue; without entries if every packet is one flit.
    pub(crate) latest: Table<Tick>,
    /// Tick from which on each input port may send its next credit; without entries if they wait for no turn.
    pub(crate) next_credit: Table<Tick>,
    /// The router at the far end of each output, `NONE` where there is none; without entries if the queue organisation
    /// does not choose a queue there.
    pub(crate) neighbours: Table<u32>,
    /// Output buffers: start of transmission of each flit, `ring` places per port.
    pub(crate) rings: Table<Tick>,
    /// Output buffers: phits of each flit.
    pub(crate) ring_phits: Table<u16>,
    pub(crate) ring: u32,

    pub(crate) endpoints: Table<Endpoint>,
    /// The admittance queues of each endpoint; without entries if they have none.
    pub(crate) admittances: Vec<Admittance>,

    /// First destination of each injection queue but the first, where the destination decides: queue
    /// `destination * queues / endpoints`.
    pub(crate) injection_bounds: Vec<u32>,

    /// Most queues of any input port.
    pub(crate) widest: u32,
    /// Queues to be looked at at the next look.
    pub(crate) candidates: Candidates,
    /// Queues that are being looked at.
    pub(crate) looking: Vec<u32>,
    /// Queues of these to be looked at again in the next tick.
    pub(crate) again: Vec<u32>,
    /// Queues that wait, by what they wait for; without entries unless [`Settings::lists`].
    pub(crate) lists: WaitLists,
    /// Tick of the next look at the candidates: this one until it has taken place.
    pub(crate) next_look: Tick,
    /// Endpoints that may have something to send in this tick.
    pub(crate) senders: Vec<u32>,

    pub(crate) packets: Arena,
    pub(crate) wheel: Wheel,
    pub(crate) now: Tick,
    /// What is for other partitions; lent by the thread that runs this one.
    pub(crate) outbox: Vec<Mail>,
    pub(crate) collector: Collector,
    /// Phits generated in the window, sent or not; known when it has closed.
    pub(crate) offered_phits: u64,

    pub(crate) requests: Vec<Request>,
    /// Of one router, the requests that share a port with another, and the places of those that are granted.
    pub(crate) sharing: Vec<Request>,
    pub(crate) grants: Vec<u32>,
    pub(crate) heads: Vec<Head>,
    pub(crate) waiting: Vec<Waiting>,

    /// Tick of the mechanism's next period; the last tick of all if it has none.
    pub(crate) next_period: Tick,
    /// What is looked at besides packets.
    pub(crate) probes: Probes,
    /// Tick in which probes look next; the last tick of all if never.
    pub(crate) next_probe: Tick,
    /// Routers of which the occupancy of some output has changed, if the mechanism wants to know.
    pub(crate) changed: Candidates,
    /// Those that are being visited.
    pub(crate) changing: Vec<u32>,
    /// Input ports that a manager is to review.
    pub(crate) reviews: Candidates,
    /// Those that are being reviewed.
    pub(crate) reviewing: Vec<u32>,
    /// Of each input port to whose sender no link leads back: the first tick at which the wire for a manager's messages
    /// is free; the last tick of all where messages go over a link. Without entries if there is no manager.
    pub(crate) ways_back: Table<Tick>,
    /// Queues that a manager holds back; without entries if there is none.
    pub(crate) held: Table<bool>,
    /// Outputs watched by the head that is being routed, as the mechanism named them.
    pub(crate) watched: Vec<Watched>,
    /// Outputs whose watchers the mechanism wakes.
    pub(crate) wakes: Vec<u32>,
    /// Control messages that the mechanism sends.
    pub(crate) outgoing: Vec<Outgoing>,
    /// Control messages on their way to this partition's routers, by the index that their events carry.
    pub(crate) messages: Vec<Option<Message>>,
    /// Free places in `messages`.
    pub(crate) free_messages: Vec<u32>,
}

impl Runs for Partition {
    type Mail = Mail;

    fn fetch(&self) {
        self.packets.fetch();
        self.wheel.fetch();
        self.inputs.fetch();
        self.queues.fetch();
        self.outputs.fetch();
        self.channels.fetch();
        self.rings.fetch();
        self.ring_phits.fetch();
        self.endpoints.fetch();
    }

    fn receive(&mut self, mail: Mail) {
        // The wheel takes events later than a tick: the one before the current is as good.
        let before = self.now.saturating_sub(1);
        for (&(at, queue), packet) in mail.heads.iter().zip(&mail.packets) {
            let event = Event { target: kind::ARRIVAL << kind::SHIFT | queue, data: self.packets.insert(*packet) };
            self.wheel.insert(before, at, kind::list(kind::ARRIVAL), event);
        }
        for (at, event) in mail.events {
            self.wheel.insert(before, at, kind::list(event.target >> kind::SHIFT), event);
        }
        for (at, message) in mail.messages {
            self.expect(at, message);
        }
    }

    fn run_until(&mut self, end: Tick, outbox: &mut Vec<Mail>) {
        std::mem::swap(&mut self.outbox, outbox);
        match self.settings.kernel {
            Compiled::Adaptive => self.run_ticks::<Adaptive>(end),
            Compiled::Batched => self.run_ticks::<Batched>(end),
            Compiled::Plain => self.run_ticks::<Plain>(end),
            Compiled::Fixed => self.run_ticks::<Fixed>(end),
            Compiled::Staged => self.run_ticks::<Staged>(end),
            Compiled::Listed => self.run_ticks::<Listed>(end),
            Compiled::Single => self.run_ticks::<Single>(end),
            Compiled::General => self.run_ticks::<General>(end),
        }
        std::mem::swap(&mut self.outbox, outbox);
    }
}

impl Partition {
    /// Runs all ticks before `end`.
    #[inline(never)]
    fn run_ticks<K: Kernel>(&mut self, end: Tick) {
        while self.now < end {
            self.next_look = self.now;
            self.wheel.bring_near(self.now);
            self.handle_due::<K>();
            // Endpoints look at their credits when all of the tick's have come, or the order would show.
            while let Some(endpoint) = self.senders.pop() {
                self.send::<K>(endpoint);
            }
            if !K::PLAIN && (self.now == self.next_period || !self.changed.is_empty() || !self.reviews.is_empty()) {
                self.control();
            }
            if !self.candidates.is_empty() {
                self.next_look = self.now + 1;
                self.step::<K>();
            }
            if self.now == self.next_probe {
                self.probe();
            }
            self.now =
                match self.candidates.is_empty() && (K::PLAIN || self.changed.is_empty() && self.reviews.is_empty()) {
                    true => self.wheel.next_tick(self.now + 1, end.min(self.next_period).min(self.next_probe)),
                    false => self.now + 1,
                };
        }
    }

    /// Lets probes look, if this tick is measured.
    #[cold]
    #[inline(never)]
    fn probe(&mut self) {
        let mut records = std::mem::take(&mut self.collector.counters.probes);
        if self.collector.span().contains(&self.now) {
            self.probes.look(self, self.now, &mut records);
        }
        self.next_probe = self.probes.next(self.now + 1);
        self.collector.counters.probes = records;
    }

    /// What has been counted so far.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// The queue that holds `channel`; `NONE` if it is free.
    #[inline]
    pub(crate) fn owner(&self, channel: u32) -> u32 {
        if self.settings.single { NONE } else { self.owners[channel] }
    }

    /// Calls `see` with every set of packets that a managed queue organisation isolates at `router` of the network:
    /// port, branch.
    pub fn trees(&self, router: u32, see: &mut dyn FnMut(u16, &Branch<'_>)) {
        let Some(manager) = self.manager.as_ref().filter(|_| self.routers.contains(router)) else { return };
        let local = self.routers.place(router) as u32;
        let first = self.first_port[local];
        for port in first..self.first_port[local + 1] {
            manager.trees(port, &mut |branch| {
                let output = branch.output.map(|output| output - first);
                see(self.inputs[port].number, &Branch { output, ..*branch });
            });
        }
    }

    /// What a managed queue organisation has counted since the start of the run.
    pub fn queueing_totals(&self) -> Vec<(&'static Total, u64)> {
        self.manager.as_ref().map_or_else(Vec::new, |manager| manager.totals(self.now))
    }

    /// Packets in the network and in injection queues.
    pub fn packets_held(&self) -> u32 {
        self.packets.live()
    }

    /// Bytes of the partition's tables; a mechanism's own are not among them.
    pub fn bytes(&self) -> usize {
        bytes_of!(self, Self {
            routers, times, allocator, first_port, rngs, inputs, queues, outputs, channels, owners, latest, next_credit,
            neighbours, rings, ring_phits, endpoints, injection_bounds, candidates, looking, again, lists, senders,
            packets, wheel, collector, requests, sharing, grants, heads, waiting, changed, changing, reviews, reviewing,
            ways_back, held, watched, wakes, outgoing, free_messages;
            index, config, topology, known, traffic, unit, routing, settings, queueing, manager, vc_allocator, ring,
            admittances, widest, next_look, now, outbox, offered_phits, next_period, probes, next_probe,
            messages
        }) + self.messages.bytes()
            + self.vc_allocator.as_ref().map_or(0, VcAllocator::bytes)
            + self.manager.as_ref().map_or(0, |manager| manager.bytes())
            + self.admittances.iter().map(Admittance::bytes).sum::<usize>()
    }
}
