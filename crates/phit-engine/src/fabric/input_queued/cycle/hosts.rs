//! Endpoints that execute a program: their work in a tick, and the ticks in which they work.

use crate::engine::Tick;
use crate::fabric::caller::Sent;
use crate::fabric::executor::Word;
use crate::fabric::incoming::Announced;
use crate::fabric::input_queued::endpoints::admittance::Admittances;
use crate::fabric::input_queued::endpoints::throttle::Throttle;
use crate::fabric::input_queued::options::kernel::General;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;

impl Partition {
    /// Does the work of hosts in this tick, after all packets of the tick have been delivered.
    #[cold]
    #[inline(never)]
    pub(crate) fn execute(&mut self) {
        let Some(hosted) = self.hosted.as_mut().filter(|hosted| !hosted.executor().is_idle(self.now)) else {
            return self.file_wake();
        };
        hosted.execute(self.now, &mut self.post);
        let senders = hosted.take_senders();
        for &endpoint in &senders {
            if self.endpoints[endpoint].next.is_none() {
                self.draw::<General>(endpoint);
                self.agenda.add_sender(endpoint);
            }
        }
        if let Some(hosted) = &mut self.hosted {
            hosted.put_back(senders);
        }
        self.file_wake();
    }

    /// A caller sends messages, in the tick that has been run last or later. What is due in that tick is done at once:
    /// a packet is sent in the cycle after its generation at the earliest, so the tick has not needed it.
    pub(crate) fn call(&mut self, sent: &[Sent]) {
        let Some(hosted) = &mut self.hosted else { return };
        hosted.for_caller().call(sent);
        let now = self.now;
        self.now = now.saturating_sub(1);
        match sent.iter().any(|sent| sent.at < u64::from(now)) {
            true => self.execute(),
            false => self.file_wake(),
        }
        self.now = now;
    }

    /// True if the run is to stop after this tick, because a caller's message has arrived.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.hosted.as_ref().is_some_and(|hosted| hosted.is_to_stop())
    }

    /// Files a wake-up for the tick in which hosts have something to do next.
    fn file_wake(&mut self) {
        if let Some(at) = self.hosted.as_mut().and_then(|hosted| hosted.next_wake(self.now)) {
            self.file(at, kind::HOST, 0, 0);
        }
    }

    /// The tail of a packet reaches an endpoint that refuses it: its source will send it again. False if the endpoint
    /// takes it.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_refused(&mut self, packet: u32) -> bool {
        if !self.hosted.as_ref().is_some_and(|hosted| hosted.refuses(&self.packets[packet])) {
            return false;
        }
        self.collector.counters.receivers.packet_refused();
        self.lose(packet);
        true
    }

    /// The tail of a packet reaches its endpoint.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver_to_host(&mut self, packet: u32) {
        let (now, packet) = (self.now, &self.packets[packet]);
        let Some(hosted) = &mut self.hosted else { return };
        hosted.delivered(packet, now, &self.setup.config.links, &mut self.collector.counters);
    }

    /// Takes in the messages of other partitions' hosts.
    pub(crate) fn hear_hosts(&mut self, announced: Vec<Announced>, words: Vec<Word>) {
        let Some(hosted) = &mut self.hosted else { return };
        hosted.expect(announced);
        let before = self.now.saturating_sub(1);
        hosted.hear(&words);
        for at in words.iter().filter_map(|word| Tick::try_from(word.at).ok()) {
            self.file_after(before, at, kind::HOST, 0, 0);
        }
    }

    /// True if something is to be looked at that no event announces.
    pub(crate) fn is_pending(&self) -> bool {
        self.has_candidates::<General>()
            || self.signals.has_changes()
            || self.management.has_reviews()
            || self.severed.is_due()
            || self.agenda.has_senders()
    }

    /// The program of the hosts begins again in the present tick.
    pub(crate) fn begin_again(&mut self) {
        let now = self.now;
        self.hosted.iter_mut().for_each(|hosted| hosted.begin_again(now));
    }

    /// The first tick from now on in which something happens here, `end` at the latest.
    pub(crate) fn next_busy(&self, end: Tick) -> Tick {
        let begins = self.hosted.as_ref().is_some_and(|hosted| !hosted.executor().has_begun());
        match self.is_pending() || begins || self.now == 0 {
            true => self.now,
            false => self
                .post
                .next_tick(self.now, end.min(self.signals.next_period()).min(self.probing.next()).max(self.now)),
        }
    }

    /// True if hosts have nothing left to do, and no packet is on its way to a host.
    pub(crate) fn at_rest(&self) -> bool {
        let Some(hosted) = &self.hosted else { return true };
        if hosted.has_traffic() {
            return hosted.executor().at_rest() && hosted.executor().expects_nothing();
        }
        hosted.executor().at_rest()
            && self.packets.live() == 0
            && self.endpoints.iter().all(|endpoint| endpoint.next.is_none())
            && self.sending.admittances().is_none_or(Admittances::is_empty)
            && self.sending.throttle().is_none_or(Throttle::is_empty)
            && self.repeats.as_ref().is_none_or(|repeats| repeats.is_empty())
    }
}
