//! Endpoints that execute a program, in place of drawing traffic.

use super::endpoint::Endpoint;
use crate::engine::{Table, Tick};
use crate::fabric::executor::{Executor, Word};
use crate::fabric::incoming::Announced;
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::input_queued::post::office::PostOffice;
use crate::fabric::links::LinkClasses;
use crate::fabric::sources::Sources;
use crate::fabric::zero_load::Ways;
use crate::measure::{Collector, Counters};
use crate::packet::Packet;
use crate::traffic::Generated;
use crate::workload::{NO_SLOT, Workload};
use std::sync::Arc;

/// Empty lists that are kept.
const MOST_SPARE: usize = 64;

/// What a partition's endpoints execute.
pub(crate) struct Hosted {
    executor: Executor,
    /// By rank: its partition.
    homes: Arc<[u32]>,
    /// By endpoint of the network: the place of its slot among those of its own executor, [`NO_SLOT`] if it has none.
    slots: Arc<[u32]>,
    /// By place of the slot: its endpoint in the partition.
    places: Vec<u32>,
    /// How long words take.
    ways: Arc<Ways>,
    /// The program, and the traffic beside it.
    workload: Arc<Workload>,
    /// Tick of the latest wake-up filed for it.
    wake: Tick,
    /// True if the run is to stop as soon as a caller's message has arrived.
    stops: bool,
    /// Empty lists for what is announced to other partitions.
    spare: Vec<Vec<Announced>>,
}

impl Hosted {
    /// What `executor` is to execute of `workload`, where `homes` are the partitions of ranks, `slots` the places of
    /// endpoints' slots, and `places` the endpoints of these slots.
    pub(crate) fn new(
        executor: Executor,
        workload: Arc<Workload>,
        (homes, slots, places): (Arc<[u32]>, Arc<[u32]>, Vec<u32>),
        ways: Arc<Ways>,
    ) -> Self {
        Self { executor, homes, slots, places, ways, workload, wake: 0, stops: false, spare: Vec::new() }
    }

    /// The hosts.
    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The hosts, for a caller who sends their messages.
    pub(crate) fn for_caller(&mut self) -> &mut Executor {
        &mut self.executor
    }

    /// The program begins again in tick `now`.
    pub(crate) fn begin_again(&mut self, now: Tick) {
        self.executor.begin_again(now);
    }

    /// Says whether the run is to stop as soon as a caller's message has arrived.
    pub(crate) fn stop_at_arrivals(&mut self, stop: bool) {
        self.stops = stop;
    }

    /// True if the run is to stop, because a caller's message has arrived.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.stops && self.executor.arrived_for_caller.as_ref().is_some_and(|arrived| !arrived.is_empty())
    }

    /// Time goes on for the hosts.
    pub(crate) fn begin_turn(&mut self) {
        self.executor.begin_turn();
    }

    /// Does what hosts have to do in tick `now`, and sends what they have to say to others.
    pub(crate) fn execute(&mut self, now: Tick, post: &mut PostOffice) {
        let Self { executor, workload, ways, homes, .. } = self;
        executor.execute(now);
        let mut told = std::mem::take(&mut executor.told);
        for (message, taken, now) in told.drain(..) {
            let [from, to] = [message.destination, message.source].map(|rank| workload.endpoint(rank, message.nic));
            let word = Executor::word(taken, now, ways.between(from, to).latency);
            match homes[message.source as usize] {
                home if post.is_own(home) => executor.hear_word(word),
                home => post.mail_to(home).words.push(word),
            }
        }
        executor.told = told;
        self.tell_of_posted(post);
    }

    /// Endpoints of the partition whose hosts have something to send.
    pub(crate) fn take_senders(&mut self) -> Vec<u32> {
        let mut senders = std::mem::take(&mut self.executor.senders);
        senders.iter_mut().for_each(|place| *place = self.places[*place as usize]);
        senders
    }

    /// Gives the list of senders back.
    pub(crate) fn put_back(&mut self, mut senders: Vec<u32>) {
        senders.clear();
        self.executor.senders = senders;
    }

    /// The tick after `now` in which hosts have something to do next, if no wake-up has been filed for it.
    pub(crate) fn next_wake(&mut self, now: Tick) -> Option<Tick> {
        let at = self.executor.next().and_then(|at| Tick::try_from(at).ok())?.max(now + 1);
        let new = self.wake <= now || at < self.wake;
        if new {
            self.wake = at;
        }
        new.then_some(at)
    }

    /// Hosts of other partitions say so.
    pub(crate) fn hear(&mut self, words: &[Word]) {
        words.iter().for_each(|word| self.executor.hear_word(*word));
    }

    /// True if others than the ranks draw traffic beside the program.
    pub(crate) fn has_traffic(&self) -> bool {
        !self.workload.traffic.is_empty()
    }

    /// Makes the next packet of `endpoint`, and lets its destination know of the message if that has not been done.
    #[cold]
    #[inline(never)]
    pub(crate) fn draw(
        &mut self,
        endpoint: &mut Endpoint,
        settings: &Settings,
        collector: &mut Collector,
        post: &mut PostOffice,
    ) {
        let slot = self.slots[endpoint.number as usize];
        endpoint.next = match slot {
            NO_SLOT => {
                let beside = self.workload.beside(endpoint.number);
                beside.and_then(|(traffic, place)| traffic.next(place, &mut endpoint.source, settings.cycles))
            }
            slot => self.executor.next_packet(slot),
        };
        let Some(packet) = endpoint.next else { return };
        collector.generated(packet.cycle * settings.ticks_per_cycle, packet.size);
        if slot != NO_SLOT && !self.executor.posted.is_empty() {
            self.tell_of_posted(post);
        }
    }

    /// Lets the destinations of messages know of them.
    fn tell_of_posted(&mut self, post: &mut PostOffice) {
        let Self { executor, spare, .. } = self;
        let mut posted = std::mem::take(&mut executor.posted);
        for &(home, announced) in &posted {
            if post.is_own(home) {
                executor.expect(announced);
                continue;
            }
            let list = &mut post.mail_to(home).announced;
            if list.capacity() == 0 {
                *list = spare.pop().unwrap_or_default();
            }
            list.push(announced);
        }
        posted.clear();
        executor.posted = posted;
    }

    /// Other partitions have announced messages.
    pub(crate) fn expect(&mut self, mut announced: Vec<Announced>) {
        announced.drain(..).for_each(|announced| self.executor.expect(announced));
        if announced.capacity() > 0 && self.spare.len() < MOST_SPARE {
            self.spare.push(announced);
        }
    }

    /// Packets and phits that have been generated before the end of the measured time, of traffic beside the program
    /// those, too, that its sources have not been asked for yet.
    pub(crate) fn generated(
        &self,
        endpoints: &Table<Endpoint>,
        sources: &Sources<'_>,
        collector: &Collector,
    ) -> (u64, u64) {
        let (flow, end) = (&collector.counters.flow, collector.span().end);
        let (mut packets, mut phits) = (flow.generated_packets, flow.generated_phits);
        for endpoint in endpoints.iter() {
            let Some((traffic, place)) = self.workload.beside(endpoint.number) else { continue };
            let (mut source, mut next) = (endpoint.source.clone(), endpoint.next);
            let due = |packet: &Generated| packet.cycle * sources.ticks_per_cycle < end;
            while next.as_ref().is_some_and(due) {
                next = traffic.next(place, &mut source, sources.cycles);
                if let Some(packet) = next.filter(due) {
                    (packets, phits) = (packets + 1, phits + u64::from(packet.size));
                }
            }
        }
        (packets, phits)
    }

    /// True if the receiver of `packet` delivers in order, and has no room for it.
    pub(crate) fn refuses(&self, packet: &Packet) -> bool {
        let slot = self.slots[packet.destination as usize];
        slot != NO_SLOT && self.executor.refuses(packet, slot)
    }

    /// The tail of `packet` has reached its endpoint in tick `now`.
    pub(crate) fn delivered(&mut self, packet: &Packet, now: Tick, links: &LinkClasses, counters: &mut Counters) {
        let Counters { programs, receivers, .. } = counters;
        let before = match self.executor.notes_messages() {
            true => {
                let last = u32::from(packet.size).saturating_sub(1);
                links.serialisation(last, links.of_endpoint(packet.destination))
            }
            false => 0,
        };
        let slot = self.slots[packet.destination as usize];
        let job = self.workload.owners[packet.destination as usize];
        if slot != NO_SLOT && self.executor.delivers_in_order() {
            programs.came(job, packet.size, now - packet.birth);
            let took = |ticks| programs.message_came(job, ticks);
            return self.executor.delivered_in_order(packet, slot, (now, before), receivers, took);
        }
        let took = if slot == NO_SLOT { None } else { self.executor.delivered(packet, slot, (now, before)) };
        if !programs.jobs.is_empty() {
            programs.came(job, packet.size, now - packet.birth);
            took.into_iter().for_each(|ticks| programs.message_came(job, ticks));
        }
    }
}
