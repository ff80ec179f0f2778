//! A partition: its state, its events, its clock.

use crate::engine::Bytes;
use crate::engine::parallel::{Outbox, Runs};
use crate::engine::tables_of;
use crate::engine::{NONE, Rng, Table, Tick};
use crate::fabric::input_queued::allocation::connections::Connections;
use crate::fabric::input_queued::allocation::paths::Paths;
use crate::fabric::input_queued::allocation::vc_allocation::{VcAllocator, Waiting};
use crate::fabric::input_queued::endpoints::endpoint::Endpoint;
use crate::fabric::input_queued::endpoints::hosted::Hosted;
use crate::fabric::input_queued::endpoints::repeats::Repeats;
use crate::fabric::input_queued::endpoints::seam::Sending;
use crate::fabric::input_queued::mechanisms::management::Management;
use crate::fabric::input_queued::mechanisms::probing::Probing;
use crate::fabric::input_queued::mechanisms::signals::Signals;
use crate::fabric::input_queued::options::kernel::{Kernel, in_kernel};
use crate::fabric::input_queued::post::mail::Mail;
use crate::fabric::input_queued::post::office::PostOffice;
use crate::fabric::input_queued::state::outages::Outages;
use crate::fabric::input_queued::state::pools::Pools;
use crate::fabric::input_queued::state::records::{CreditTurn, Input, OutputTables, Progress, Queue, TAIL_PENDING};
use crate::fabric::input_queued::state::severed::Severed;
use crate::fabric::input_queued::waiting::agenda::Agenda;
use crate::fabric::input_queued::waiting::at_outputs::AtOutputs;
use crate::fabric::input_queued::waiting::wait_lists::WaitLists;
use crate::fabric::input_queued::waiting::watchers::Watchers;
use crate::fabric::input_queued::wiring::rates::PortRates;
use crate::fabric::input_queued::wiring::setup::{Frozen, Map, Setup};
use crate::fabric::seams::allocator::{Allocator, Request, Scratch};
use crate::fabric::seams::queueing::{Branch, Queueing};
use crate::fabric::seams::routing::{Alternative, Head, Routing, Watches};
use crate::fabric::wires::Wires;
use crate::measure::{Collector, Total};
use crate::packet::Arena;

/// Routers, endpoints and packets of one partition.
pub struct Partition {
    /// What never changes in a run.
    pub(crate) setup: Frozen<Setup>,
    /// The network as it is now.
    pub(crate) map: Map,
    pub(crate) routing: Box<dyn Routing>,
    pub(crate) queueing: Box<dyn Queueing>,
    /// What a managed queue organisation does besides.
    pub(crate) management: Management,
    pub(crate) allocator: Box<dyn Allocator>,
    pub(crate) vc_allocator: Option<VcAllocator>,

    pub(crate) rngs: Table<Rng>,
    pub(crate) inputs: Table<Input>,
    pub(crate) queues: Table<Queue>,
    /// Of each queue, how far its first and last packet have come; without entries unless [`Settings::progress`].
    pub(crate) progress: Table<Progress>,
    pub(crate) tables: OutputTables,
    /// Tick at which the latest flit entered each queue; without entries if every packet is one flit.
    pub(crate) latest: Table<Tick>,
    /// The turns of each input port's credits; without entries if they wait for no turn.
    pub(crate) next_credit: Table<CreditTurn>,
    /// Paths of ports through the crossbar, where they have several.
    pub(crate) paths: Option<Box<Paths>>,
    /// The rates of ports, where these differ.
    pub(crate) rates: Option<Box<PortRates>>,
    /// Buffers that virtual channels share, where they do.
    pub(crate) pools: Option<Box<Pools>>,
    /// Ports that stay connected until a packet's tail has crossed, where they do.
    pub(crate) connections: Option<Box<Connections>>,

    pub(crate) endpoints: Table<Endpoint>,
    /// Of each endpoint, its decisions at injection; without entries if there is nothing to decide.
    pub(crate) injection_rngs: Table<Rng>,

    /// Which queues and endpoints are looked at, and when.
    pub(crate) agenda: Agenda,
    /// Heads that sleep at their outputs, and outputs whose turn it is.
    pub(crate) at_outputs: AtOutputs,
    /// Queues that wait, by what they wait for; without entries unless [`Settings::lists`].
    pub(crate) lists: WaitLists,
    /// Heads that sleep until what their decisions depend on changes; nobody unless [`Settings::watches`].
    pub(crate) watchers: Watchers,

    pub(crate) packets: Arena,
    pub(crate) now: Tick,
    pub(crate) post: PostOffice,
    pub(crate) collector: Collector,
    /// Phits generated in the window, sent or not; known when it has closed.
    pub(crate) offered_phits: u64,

    pub(crate) requests: Vec<Request>,
    /// What rounds of allocation write down.
    pub(crate) scratch: Scratch,
    /// The requests of this tick that are not granted.
    pub(crate) losers: Vec<Request>,
    pub(crate) heads: Vec<Head>,
    /// The hops for which a head asks at once.
    pub(crate) alternatives: Vec<Alternative>,
    pub(crate) waiting: Vec<Waiting>,
    /// Queues whose first packet is discarded in this tick.
    pub(crate) discards: Vec<u32>,
    /// Packets of which a part is lost.
    pub(crate) severed: Severed,
    /// Outputs and endpoints that do not work.
    pub(crate) outages: Outages,

    /// Wake-ups and control messages of the routing mechanism, and changes to be told to it.
    pub(crate) signals: Signals,
    /// What is looked at besides packets.
    pub(crate) probing: Probing,
    /// Outputs watched by the head that is being routed, as the mechanism named them.
    pub(crate) watched: Watches,
    /// Flits that are not wholly on their links yet: by output, and after these by endpoint.
    pub(crate) wires: Wires,
    /// What endpoints execute, if they draw no traffic.
    pub(crate) hosted: Option<Box<Hosted>>,
    /// How endpoints send.
    pub(crate) sending: Sending,
    /// What endpoints are to send again, if they do so.
    pub(crate) repeats: Option<Box<Repeats>>,
}

impl Runs for Partition {
    type Mail = Mail;

    fn fetch(&self) {
        self.packets.fetch();
        self.post.fetch();
        self.inputs.fetch();
        self.queues.fetch();
        self.progress.fetch();
        self.tables.outputs.fetch();
        self.tables.channels.fetch();
        self.tables.buffers.fetch();
        self.endpoints.fetch();
        self.allocator.fetch();
        self.hosted.iter().for_each(|hosted| hosted.executor().fetch());
    }

    fn run_until(&mut self, end: Tick, mail: Vec<Mail>, outbox: &mut Outbox<Mail>) {
        self.post.swap_outbox(outbox);
        self.hosted.iter_mut().for_each(|hosted| hosted.begin_turn());
        mail.into_iter().for_each(|mail| self.receive(mail));
        while self.now < end {
            let stretch = self.post.end_of_stretch(self.now);
            in_kernel!(self, run_ticks(end.min(stretch)));
            if self.now == stretch {
                self.post.open_stretch(self.now, self.setup.settings.size as u16, &mut self.packets);
            }
            if self.is_to_stop() {
                break;
            }
        }
        self.post.swap_outbox(outbox);
    }
}

impl Partition {
    /// Draws the first packet of every endpoint, and sends what can be sent at once.
    pub(crate) fn start(&mut self) {
        in_kernel!(self, start_sources());
    }

    /// Takes in mail, to be handled at ticks from the current one on.
    fn receive(&mut self, mail: Mail) {
        self.post.receive(mail.slices, self.now, self.setup.settings.size as u16, &mut self.packets);
        for (at, message) in mail.messages {
            self.expect(at, message);
        }
        if self.hosted.is_some() {
            self.hear_hosts(mail.announced, mail.words);
        }
        let before = self.now.saturating_sub(1);
        mail.again.into_iter().for_each(|again| self.take_back(again, before));
        mail.ended.into_iter().for_each(|ending| self.expect_ending(ending, before));
    }

    /// Packets that have come by mail and have not been taken in.
    pub(crate) fn packets_coming(&self) -> u64 {
        self.post.coming().map(|there| there.packets() as u64).sum()
    }

    /// True if something has come by mail and has not been taken in.
    pub(crate) fn expects(&self) -> bool {
        self.post.coming().any(|there| !there.is_empty())
    }

    /// How far the first and the last packet of `queue` have come.
    pub(crate) fn progress(&self, queue: u32) -> Progress {
        self.progress.get(queue as usize).copied().unwrap_or_default()
    }

    /// Flits of the first packet of `queue` that have been granted.
    pub(crate) fn sent_flits(&self, queue: u32) -> u16 {
        let sent = self.progress(queue).sent;
        if self.queues[queue].first == NONE || sent == TAIL_PENDING { 0 } else { sent }
    }

    /// Runs all ticks before `end`.
    #[inline(never)]
    fn run_ticks<K: Kernel>(&mut self, mut end: Tick) {
        while self.now < end {
            self.agenda.look_in(self.now);
            if K::ALIKE || self.tables.buffers.by_time() {
                self.tables.buffers.begin(self.now);
            }
            self.post.bring_near(self.now);
            if K::TABLES {
                self.fetch_next::<K>();
            }
            self.handle_due::<K>();
            if self.hosted.is_some() {
                self.execute();
                if self.is_to_stop() {
                    end = self.now + 1;
                }
            }
            if !K::WHOLE && self.severed.is_due() {
                self.sever::<K>();
            }
            // Endpoints look at their credits when all of the tick's have come, or the order would show.
            if self.agenda.has_senders() {
                self.send_all::<K>();
            }
            if !K::PLAIN && (self.now == self.signals.next_period() || self.has_news()) {
                self.control();
            }
            let acts = !K::EXTRAS || self.setup.settings.choices.pace.is_none_or(|pace| pace.acts_in(self.now));
            if acts && self.has_candidates::<K>() {
                self.agenda.look_in(self.now + 1);
                self.step::<K>();
            }
            if K::EXTRAS && self.setup.settings.wants.after_grants && self.signals.has_changes() {
                self.tell_changes();
            }
            if self.now == self.probing.next() {
                self.probe();
            }
            self.now = match self.has_candidates::<K>() || !K::PLAIN && self.has_news() {
                true => self.now + 1,
                false => {
                    let limit = end.min(self.signals.next_period()).min(self.probing.next());
                    self.post.next_tick(self.now + 1, limit)
                }
            };
        }
    }

    /// True if there are changes for the routing mechanism or ports for the manager to review.
    #[inline(always)]
    fn has_news(&self) -> bool {
        self.signals.has_changes()
            || self.management.has_reviews()
            || self.signals.has_notices()
            || self.signals.pauses_change()
    }

    /// True if some queue is to be looked at at the next look.
    #[inline(always)]
    pub(crate) fn has_candidates<K: Kernel>(&self) -> bool {
        self.agenda.has_queues()
            || (K::APART || K::EXTRAS) && self.agenda.has_holders()
            || (K::EXTRAS || self.setup.settings.at_outputs::<K>()) && self.at_outputs.has_due()
    }

    /// Lets probes look, if this tick is measured.
    #[cold]
    #[inline(never)]
    fn probe(&mut self) {
        let mut records = std::mem::take(&mut self.collector.counters.probes);
        if self.collector.span().contains(&self.now) {
            self.probing.look(self, self.now, &mut records);
        }
        self.probing.pass(self.now);
        self.collector.counters.probes = records;
    }

    /// What has been counted so far.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// The queue that holds `channel`; `NONE` if it is free.
    #[inline]
    pub(crate) fn owner(&self, channel: u32) -> u32 {
        if self.setup.settings.single { NONE } else { self.tables.owners[channel] }
    }

    /// Calls `see` with every set of packets that a managed queue organisation isolates at `router` of the network:
    /// port, branch.
    pub fn trees(&self, router: u32, see: &mut dyn FnMut(u16, &Branch<'_>)) {
        let Some(manager) = self.management.manager().filter(|_| self.setup.routers.contains(router)) else { return };
        let local = self.setup.routers.place(router) as u32;
        let first = self.tables.first_port[local];
        for port in first..self.tables.first_port[local + 1] {
            manager.trees(port, &mut |branch| {
                let output = branch.output.map(|output| output - first);
                see(self.inputs[port].number, &Branch { output, ..*branch });
            });
        }
    }

    /// What a managed queue organisation has counted since the start of the run.
    pub fn queueing_totals(&self) -> Vec<(&'static Total, u64)> {
        self.management.manager().map_or_else(Vec::new, |manager| manager.totals(self.now))
    }

    /// Packets in the network and in injection queues.
    pub fn packets_held(&self) -> u32 {
        self.packets.live()
    }

    /// Bytes of the partition's tables, by name; a mechanism's own are not among them.
    pub fn tables(&self) -> Vec<(&'static str, usize)> {
        let mut tables = tables_of!(self, Self {
            allocator, rngs, inputs, queues, progress, tables, latest, next_credit, endpoints, injection_rngs,
            at_outputs, lists, watchers, packets,
            collector, requests, scratch, losers, heads, alternatives, waiting, wires, watched;
            setup, map, routing, queueing, management, signals, vc_allocator, agenda, now, post, offered_phits,
            probing, hosted, sending, repeats, discards, severed, outages, paths, rates, connections, pools
        });
        tables.extend([
            ("routing", self.routing.bytes()),
            ("severed", self.severed.bytes()),
            ("vc_allocator", self.vc_allocator.as_ref().map_or(0, VcAllocator::bytes)),
            ("hosts", self.hosted.as_ref().map_or(0, |hosted| hosted.executor().bytes())),
            ("repeats", self.repeats.as_ref().map_or(0, |repeats| repeats.bytes())),
            ("rates", self.rates.as_ref().map_or(0, |rates| rates.bytes())),
            ("paths", self.paths.as_ref().map_or(0, |paths| paths.bytes())),
            ("pools", self.pools.as_ref().map_or(0, |pools| pools.bytes())),
            ("connections", self.connections.as_ref().map_or(0, |connections| connections.bytes())),
        ]);
        tables.extend(self.setup.tables());
        tables.extend(self.map.tables());
        tables.extend(self.agenda.tables());
        tables.extend(self.post.tables());
        tables.extend(self.sending.tables());
        tables.extend(self.signals.tables());
        tables.extend(self.management.tables());
        tables
    }
}
