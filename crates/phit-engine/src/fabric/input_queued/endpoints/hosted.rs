//! Endpoints that execute a program, in place of drawing traffic.

use super::endpoint::Endpoint;
use crate::engine::{Table, Tick};
use crate::fabric::executor::Executor;
use crate::fabric::incoming::Announced;
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::input_queued::post::office::PostOffice;
use crate::fabric::links::LinkClasses;
use crate::fabric::sources::Sources;
use crate::fabric::zero_load::Ways;
use crate::measure::{Collector, Programs};
use crate::packet::Packet;
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

impl Hosted {
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
    pub(crate) fn tell_of_posted(&mut self, post: &mut PostOffice) {
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

    /// The tail of `packet` has reached its endpoint in tick `now`.
    pub(crate) fn delivered(&mut self, packet: &Packet, now: Tick, links: &LinkClasses, programs: &mut Programs) {
        let before = match self.executor.notes_messages() {
            true => {
                let last = u32::from(packet.size).saturating_sub(1);
                links.serialisation(last, links.of_endpoint(packet.destination))
            }
            false => 0,
        };
        let slot = self.slots[packet.destination as usize];
        let took = if slot == NO_SLOT { None } else { self.executor.delivered(packet, slot, (now, before)) };
        if !programs.jobs.is_empty() {
            let job = self.workload.owners[packet.destination as usize];
            programs.came(job, packet.size, now - packet.birth);
            took.into_iter().for_each(|ticks| programs.message_came(job, ticks));
        }
    }
}
