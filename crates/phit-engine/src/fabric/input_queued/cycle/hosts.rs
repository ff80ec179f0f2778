//! Endpoints that execute a program: what happens in a tick, and when.

use crate::engine::Tick;
use crate::fabric::executor::{Executor, Word};
use crate::fabric::incoming::Announced;
use crate::fabric::input_queued::endpoints::admittance::Admittances;
use crate::fabric::input_queued::options::kernel::General;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;

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
                home if self.post.is_own(home) => executor.hear_word(word),
                home => self.post.mail_to(home).words.push(word),
            }
        }
        executor.told = told;
        let mut senders = std::mem::take(&mut executor.senders);
        self.hosted = Some(hosted);
        if let Some(hosted) = &mut self.hosted {
            hosted.tell_of_posted(&mut self.post);
        }
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

    /// The tail of a packet reaches its endpoint.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver_to_host(&mut self, packet: u32) {
        let (now, packet) = (self.now, &self.packets[packet]);
        let Some(hosted) = &mut self.hosted else { return };
        hosted.delivered(packet, now, &self.config.links, &mut self.collector.counters.programs);
    }

    /// Takes in what hosts of other partitions have to say.
    pub(crate) fn hear_hosts(&mut self, announced: Vec<Announced>, words: Vec<Word>) {
        let Some(hosted) = &mut self.hosted else { return };
        hosted.expect(announced);
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
        if hosted.has_traffic() {
            return hosted.executor.at_rest() && hosted.executor.expects_nothing();
        }
        hosted.executor.at_rest()
            && self.packets.live() == 0
            && self.endpoints.iter().all(|endpoint| endpoint.next.is_none())
            && self.sending.admittances().is_none_or(Admittances::is_empty)
            && self.repeats.as_ref().is_none_or(|repeats| repeats.is_empty())
    }
}
