//! Endpoints that execute a program, in place of drawing traffic.

use crate::engine::Tick;
use crate::fabric::executor::{Executor, Word};
use crate::fabric::incoming::Announced;
use crate::fabric::input_queued::options::kernel::General;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::zero_load::Ways;
use crate::traffic::Generated;
use crate::workload::{NO_SLOT, Workload};
use std::sync::Arc;

/// Empty lists that are kept.
const MOST_SPARE: usize = 64;

/// What a partition's endpoints execute.
pub(crate) struct Hosted {
    pub(crate) executor: Executor,
    /// By rank: its partition.
    pub(crate) homes: Arc<[u32]>,
    /// By endpoint of the network: the place of its slot among those of its own executor, [`NO_SLOT`] if it has none.
    pub(crate) slots: Arc<[u32]>,
    /// By place of the slot: its endpoint in the partition.
    pub(crate) places: Vec<u32>,
    /// How long words take.
    pub(crate) ways: Arc<Ways>,
    /// The program, and the traffic beside it.
    pub(crate) workload: Arc<Workload>,
    /// Tick of the latest wake-up filed for it.
    pub(crate) wake: Tick,
    /// Empty lists for what is announced to other partitions.
    pub(crate) spare: Vec<Vec<Announced>>,
}

impl Partition {
    /// Does what hosts have to do in this tick, when all of its packets have been delivered.
    #[cold]
    #[inline(never)]
    pub(crate) fn execute(&mut self) {
        if self.hosted.as_ref().is_none_or(|hosted| hosted.executor.is_idle(self.now)) {
            return self.file_wake();
        }
        let Some(mut hosted) = self.hosted.take() else { return };
        let executor = &mut hosted.executor;
        executor.execute(self.now);
        let mut told = std::mem::take(&mut executor.told);
        for (message, taken, now) in told.drain(..) {
            let [from, to] =
                [message.destination, message.source].map(|rank| hosted.workload.endpoint(rank, message.nic));
            let word = Executor::word(taken, now, hosted.ways.between(from, to).latency);
            match hosted.homes[message.source as usize] {
                home if home == self.index => executor.hear_word(word),
                home => self.post.mail_to(home).words.push(word),
            }
        }
        executor.told = told;
        let mut senders = std::mem::take(&mut executor.senders);
        self.hosted = Some(hosted);
        self.tell_of_posted();
        for &place in &senders {
            let Some(hosted) = &self.hosted else { break };
            let endpoint = hosted.places[place as usize];
            if self.endpoints[endpoint].next.is_none() {
                self.draw::<General>(endpoint);
                self.senders.push(endpoint);
            }
        }
        if let Some(hosted) = &mut self.hosted {
            senders.clear();
            hosted.executor.senders = senders;
        }
        self.file_wake();
    }

    /// Files a wake-up for the tick in which hosts have something to do next.
    fn file_wake(&mut self) {
        let Some(hosted) = &mut self.hosted else { return };
        let Some(at) = hosted.executor.next().and_then(|at| Tick::try_from(at).ok()) else { return };
        let at = at.max(self.now + 1);
        if hosted.wake <= self.now || at < hosted.wake {
            hosted.wake = at;
            self.file(at, kind::HOST, 0, 0);
        }
    }

    /// Makes the next packet of endpoint `e`, and lets its destination know of the message if that has not been done.
    #[cold]
    #[inline(never)]
    pub(crate) fn draw_of_message(&mut self, e: u32) {
        let Some(hosted) = &mut self.hosted else { return };
        let slot = hosted.slots[self.endpoints[e].number as usize];
        if slot == NO_SLOT {
            return self.draw_beside(e);
        }
        let next = hosted.executor.next_packet(slot);
        self.endpoints[e].next = next;
        if let Some(packet) = next {
            self.collector.generated(packet.cycle * self.settings.ticks_per_cycle, packet.size);
            if !hosted.executor.posted.is_empty() {
                self.tell_of_posted();
            }
        }
    }

    /// Lets the destinations of messages know of them.
    fn tell_of_posted(&mut self) {
        let Some(hosted) = &mut self.hosted else { return };
        let Hosted { executor, spare, .. } = &mut **hosted;
        let mut posted = std::mem::take(&mut executor.posted);
        for &(home, announced) in &posted {
            if home == self.index {
                executor.expect(announced);
                continue;
            }
            let list = &mut self.post.mail_to(home).announced;
            if list.capacity() == 0 {
                *list = spare.pop().unwrap_or_default();
            }
            list.push(announced);
        }
        posted.clear();
        executor.posted = posted;
    }

    /// Draws the next packet of endpoint `e`, which has no rank.
    fn draw_beside(&mut self, e: u32) {
        let Some(hosted) = &self.hosted else { return };
        let (endpoint, cycles) = (&mut self.endpoints[e], self.settings.cycles);
        let beside = hosted.workload.beside(endpoint.number);
        endpoint.next = beside.and_then(|(traffic, place)| traffic.next(place, &mut endpoint.source, cycles));
        if let Some(packet) = endpoint.next {
            self.collector.generated(packet.cycle * self.settings.ticks_per_cycle, packet.size);
        }
    }

    /// Packets and phits that have been generated before the end of the measured time, of traffic beside a program
    /// those, too, that its sources have not been asked for yet.
    pub(crate) fn generated_beside(&self, workload: &Workload) -> (u64, u64) {
        let (flow, end) = (&self.collector.counters.flow, self.collector.span().end);
        let (mut packets, mut phits) = (flow.generated_packets, flow.generated_phits);
        for endpoint in self.endpoints.iter() {
            let Some((traffic, place)) = workload.beside(endpoint.number) else { continue };
            let (mut source, mut next) = (endpoint.source.clone(), endpoint.next);
            let due = |packet: &Generated| packet.cycle * self.settings.ticks_per_cycle < end;
            while next.as_ref().is_some_and(due) {
                next = traffic.next(place, &mut source, self.settings.cycles);
                if let Some(packet) = next.filter(due) {
                    (packets, phits) = (packets + 1, phits + u64::from(packet.size));
                }
            }
        }
        (packets, phits)
    }

    /// The tail of a packet reaches its endpoint.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver_to_host(&mut self, packet: u32) {
        let (now, packet) = (self.now, &self.packets[packet]);
        let Some(hosted) = &mut self.hosted else { return };
        let before = match hosted.executor.notes_messages() {
            true => {
                let last = u32::from(packet.size).saturating_sub(1);
                self.config.links.serialisation(last, self.config.links.of_endpoint(packet.destination))
            }
            false => 0,
        };
        let slot = hosted.slots[packet.destination as usize];
        let took = if slot == NO_SLOT { None } else { hosted.executor.delivered(packet, slot, (now, before)) };
        let programs = &mut self.collector.counters.programs;
        if !programs.jobs.is_empty() {
            let job = hosted.workload.owners[packet.destination as usize];
            programs.came(job, packet.size, now - packet.birth);
            took.into_iter().for_each(|ticks| programs.message_came(job, ticks));
        }
    }

    /// Takes in what hosts of other partitions have to say.
    pub(crate) fn hear_hosts(&mut self, mut announced: Vec<Announced>, words: Vec<Word>) {
        let Some(hosted) = &mut self.hosted else { return };
        announced.drain(..).for_each(|announced| hosted.executor.expect(announced));
        if announced.capacity() > 0 && hosted.spare.len() < MOST_SPARE {
            hosted.spare.push(announced);
        }
        let before = self.now.saturating_sub(1);
        words.iter().for_each(|word| hosted.executor.hear_word(*word));
        for at in words.iter().filter_map(|word| Tick::try_from(word.at).ok()) {
            self.file_after(before, at, kind::HOST, 0, 0);
        }
    }

    /// The first tick from now on in which something happens here, `end` at the latest.
    pub(crate) fn next_busy(&self, end: Tick) -> Tick {
        let pending = self.has_candidates::<General>()
            || self.signals.has_changes()
            || self.management.has_reviews()
            || self.severed.is_due();
        match pending || self.now == 0 {
            true => self.now,
            false => self
                .post
                .next_tick(self.now, end.min(self.signals.next_period()).min(self.probing.next()).max(self.now)),
        }
    }

    /// True if nothing is left to do for hosts, and no packet is on its way for one.
    pub(crate) fn at_rest(&self) -> bool {
        let Some(hosted) = &self.hosted else { return true };
        if !hosted.workload.traffic.is_empty() {
            return hosted.executor.at_rest() && hosted.executor.expects_nothing();
        }
        hosted.executor.at_rest()
            && self.packets.live() == 0
            && self.endpoints.iter().all(|endpoint| endpoint.next.is_none())
            && self.admittances.iter().all(|admittance| admittance.is_empty())
            && self.repeats.as_ref().is_none_or(|repeats| repeats.is_empty())
    }
}
