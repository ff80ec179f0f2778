//! What events do: packets come to a queue and to its front, ports and channels become free.

use crate::engine::bits::{for_each_member, for_each_short_member, short_bit};
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::params::Switching;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind::{self, ROOM, unpack_credit};
use crate::fabric::input_queued::state::records::{Output, Progress, Queue, TAIL_PENDING};
use crate::fabric::input_queued::state::severed::Cut;
use crate::packet::{MOST_CLASSES, Packet};

impl Partition {
    #[inline]
    pub(crate) fn file(&mut self, at: Tick, kind: u32, target: u32, data: u32) {
        self.file_after(self.now, at, kind, target, data);
    }

    /// Files an event when everything up to tick `now` has been handled.
    #[inline(always)]
    pub(crate) fn file_after(&mut self, now: Tick, at: Tick, kind: u32, target: u32, data: u32) {
        self.post.file((now, at), kind, target, data);
    }

    /// Brings into the cache what the events of the next tick will need. Where packets stand in many queues, most of
    /// that has left it.
    #[inline(always)]
    pub(crate) fn fetch_next<K: Kernel>(&self) {
        let next = self.now + 1;
        self.post.for_each_of(next, kind::ARRIVAL, |event| {
            self.queues.prefetch(event.target);
            self.packets.prefetch(event.data);
        });
        if !K::LISTS {
            return;
        }
        self.post.for_each_of(next, kind::CREDIT, |event| {
            let (vc, _) = unpack_credit(event.data);
            let target = event.target;
            let first = match self.tables.outputs.get(target as usize) {
                Some(output) => output.vc,
                None => self.endpoints[target - self.tables.outputs.len() as u32].channel,
            };
            self.tables.channels.prefetch(first + vc);
        });
    }

    /// Handles all events of this tick, kind by kind.
    #[inline(always)]
    pub(crate) fn handle_due<K: Kernel>(&mut self) {
        self.handle_list::<K, { kind::ARRIVAL }>();
        self.handle_list::<K, { kind::CREDIT }>();
        self.handle_list::<K, { kind::DELIVERY }>();
        self.handle_list::<K, { kind::INPUT }>();
        self.handle_list::<K, { kind::OUTPUT }>();
        self.handle_list::<K, { kind::SEND }>();
        self.handle_list::<K, { kind::READY }>();
        self.handle_list::<K, { kind::RARE }>();
    }

    #[inline(always)]
    fn handle_list<K: Kernel, const LIST: u32>(&mut self) {
        let mut due = self.post.take(self.now, LIST);
        while let Some(event) = self.post.pop(&mut due) {
            match kind::of_listed(LIST, event) {
                // Frequent where heads are counted.
                (kind::TAIL, queue) => self.tail_left::<K>(queue),
                (kind, target) if LIST == kind::RARE => self.handle_rare::<K>(kind, target, event.data),
                (kind, target) => self.handle::<K>(kind, target, event.data),
            }
        }
    }

    #[inline(never)]
    fn handle_rare<K: Kernel>(&mut self, kind: u32, target: u32, data: u32) {
        self.handle::<K>(kind, target, data);
    }

    #[inline(always)]
    fn handle<K: Kernel>(&mut self, kind: u32, target: u32, data: u32) {
        match kind {
            kind::ARRIVAL => self.arrive::<K>(target, data),
            kind::CREDIT => self.credit::<K>(target, data),
            kind::DELIVERY if K::CONTROLS && self.setup.settings.controls && self.received(target) => {
                self.packets.remove(target);
            }
            kind::DELIVERY if self.hosted.is_some() && self.is_refused(target) => {}
            kind::DELIVERY if K::CONTROLS && self.setup.settings.reserves && !self.taken(target) => {
                self.packets.remove(target);
            }
            kind::DELIVERY => {
                self.collector.delivered(&self.packets[target], self.now);
                if self.hosted.is_some() {
                    self.deliver_to_host(target);
                }
                if self.setup.settings.exchanges {
                    self.exchanged(target, data);
                }
                self.packets.remove(target);
            }
            kind::INPUT => self.input_free::<K>(target),
            kind::OUTPUT if K::EXTRAS && data != 0 => self.endpoint_takes(target, data),
            kind::OUTPUT => self.wake::<K>(target),
            kind::READY => self.make_ready::<K>(target),
            kind::SEND => self.agenda.add_sender(target),
            kind::MESSAGE => self.hear::<K>(target),
            kind::LOSS => self.lose(target),
            kind::REVIEW => self.management.review(target),
            kind::HOST => {}
            kind::DEPARTURE if K::EXTRAS && self.tables.lines.is_some() => self.link_takes_with_credit::<K>(target),
            kind::DEPARTURE if K::EXTRAS && self.tables.queues.is_some() => self.link_takes::<K>(target),
            kind::DEPARTURE => self.departs(target),
            kind::HEAD if self.setup.settings.reserves => self.speculative_head_received(target),
            kind::HEAD => self.head_received(target),
            kind::MARK if self.setup.settings.reserves => self.speculative_arrived::<K>(target, data),
            kind::MARK => self.mark_arrived(target),
            kind::CUT => self.severed.cut(target, Cut::Behind),
            _ => self.tail_left::<K>(target),
        }
    }

    /// The endpoint behind `output` takes a packet until tick `end`: none is granted before.
    fn endpoint_takes(&mut self, output: u32, end: Tick) {
        let busy = &mut self.tables.outputs[output].busy;
        *busy = end.max(*busy);
    }

    /// A flit enters `queue`: the head of `packet`, or another flit of the last packet if `packet` is `NONE`.
    #[inline(always)]
    pub(crate) fn arrive<K: Kernel>(&mut self, queue: u32, packet: u32) {
        let now = self.now;
        let queue = if self.setup.settings.sorts::<K>() { self.sort(queue, packet) } else { queue };
        if K::CONTROLS && self.setup.settings.reserves {
            if packet != NONE {
                self.comes_to_last_router(queue, packet);
            } else if self.swallow_dropped(queue) {
                return;
            }
        }
        if !K::WHOLE && !self.setup.settings.single {
            self.latest[queue] = now;
        }
        if (K::WHOLE || packet != NONE) && self.setup.settings.wants::<K>().arrivals {
            self.announce_arrival(queue, packet);
        }
        if self.setup.settings.managed::<K>() {
            self.came(queue, packet);
        }
        if K::CONTROLS && self.setup.settings.controls {
            self.joins_backlog::<K>(queue, packet);
        }
        if K::EXTRAS && self.setup.settings.pauses {
            self.fills::<K>(queue, packet);
        }
        let q = &mut self.queues[queue];
        let free =
            q.first == NONE && (!self.setup.settings.wants::<K>().heads || self.progress[queue].sent != TAIL_PENDING);
        if free && (K::WHOLE || packet != NONE) && (self.setup.settings.immediate::<K>()) {
            // By far the most frequent case: the head may be allocated at once.
            let output = if self.map.lasting::<K>(&self.setup.settings) { q.output } else { NONE };
            *q = Queue { first: packet, last: packet, output, ..*q };
            let port = q.port;
            if self.setup.settings.progress::<K>() {
                self.progress[queue] = Progress { eligible: now, arrived: 1, sent: 0 };
            }
            self.packets[packet].entry = now;
            if self.setup.settings.wants::<K>().heads {
                self.announce_head(queue);
            }
            if K::SETTLED {
                self.decide_ahead(port, queue, packet);
            }
            match K::EXTRAS && !K::HELD && self.setup.settings.decides_at_front {
                true => self.agenda.add(queue),
                false => self.offer::<K>(port, queue),
            }
            return;
        }
        if !K::WHOLE && packet == NONE {
            if self.swallow::<K>(queue) {
                return;
            }
            let q = &self.queues[queue];
            let alone = q.first == q.last;
            let progress = &mut self.progress[queue];
            progress.arrived += 1;
            if alone && progress.eligible <= now {
                self.make_ready::<K>(queue);
            }
            return;
        }
        let was_empty = q.first == NONE;
        if was_empty {
            q.first = packet;
        } else {
            let last = q.last;
            self.packets[last].next = packet;
        }
        q.last = packet;
        self.packets[packet].entry = now;
        let mut gone = true;
        if self.setup.settings.progress::<K>() {
            let progress = &mut self.progress[queue];
            progress.arrived = 1;
            gone = progress.sent != TAIL_PENDING;
        }
        if was_empty && gone {
            if self.setup.settings.wants::<K>().heads {
                self.announce_head(queue);
            }
            self.come_to_front::<K>(queue, now);
        }
    }

    /// The queue that takes a flit that enters `queue`: the head of `packet`, or another flit of the last packet if
    /// `packet` is `NONE`.
    #[inline(never)]
    fn sort(&mut self, queue: u32, packet: u32) -> u32 {
        if packet != NONE {
            let router = self.setup.routers.number(self.inputs[self.queues[queue].port].router);
            let place = match self.setup.settings.reserves && !self.is_sorted(packet) {
                true => 0,
                false => self.queueing.sorted(&*self.map.topology, router, &self.packets[packet]),
            };
            self.management.sort(queue, queue + u32::from(place));
        }
        self.management.sorted(queue).unwrap_or(queue)
    }

    /// The first packet of `queue` stands at its front from tick `from` on.
    #[inline(always)]
    pub(crate) fn come_to_front<K: Kernel>(&mut self, queue: u32, from: Tick) {
        let q = &mut self.queues[queue];
        if !self.map.lasting::<K>(&self.setup.settings) {
            q.output = NONE;
        }
        let (port, first) = (q.port, q.first);
        if K::SETTLED {
            self.decide_ahead(port, queue, first);
        }
        if self.setup.settings.progress::<K>() {
            let progress = &mut self.progress[queue];
            (progress.eligible, progress.sent) = (from, 0);
        }
        if self.setup.settings.immediate::<K>() {
            self.offer::<K>(port, queue);
        } else {
            self.come_to_front_later::<K>(queue, from);
        }
    }

    /// A packet comes to the front of its queue where an allocation delay or store-and-forward makes it wait.
    #[cold]
    #[inline(never)]
    fn come_to_front_later<K: Kernel>(&mut self, queue: u32, from: Tick) {
        let packet = self.queues[queue].first;
        let delay = self.setup.config.allocation_delay;
        let later = |from: Tick| self.setup.config.choices.pace.map_or(from + delay, |pace| pace.after(from, delay));
        let mut eligible = later(from);
        if self.setup.config.switching == Switching::StoreAndForward {
            let Packet { size, entry, .. } = self.packets[packet];
            let transfer = self.arrival_time(self.queues[queue].port, size.into());
            eligible = eligible.max(later(entry + transfer));
        }
        self.progress[queue].eligible = eligible;
        if eligible > self.now {
            self.file(eligible, kind::READY, queue, 0);
        } else {
            self.make_ready::<K>(queue);
        }
    }

    /// Ticks until the last phit of a flit has arrived at input `port`.
    pub(crate) fn arrival_time(&self, port: u32, phits: u32) -> Tick {
        match &self.rates {
            Some(rates) => rates.arrival(port, phits),
            None => {
                let class = self.inputs[port].class as usize % MOST_CLASSES;
                self.setup.config.links.serialisation(phits, self.setup.settings.arrival_bandwidth[class])
            }
        }
    }

    /// Ticks of a flit or a message over the link behind `port`.
    pub(crate) fn link_time(&self, port: u32, phits: u32) -> Tick {
        match &self.rates {
            Some(rates) => rates.onto_link(port, phits),
            None => {
                let class = self.tables.outputs[port].class as usize % MOST_CLASSES;
                self.setup.config.links.serialisation(phits, self.setup.settings.bandwidth[class])
            }
        }
    }

    /// A mechanism that counts heads hears that the first packet has left `queue`, and only then of the next.
    #[inline(never)]
    fn tail_left<K: Kernel>(&mut self, queue: u32) {
        self.announce(queue, true);
        self.progress[queue].sent = 0;
        if self.queues[queue].first != NONE {
            self.come_to_front::<K>(queue, self.now);
        }
    }

    /// The front of `queue` may request from now on.
    #[inline(always)]
    pub(crate) fn make_ready<K: Kernel>(&mut self, queue: u32) {
        self.offer::<K>(self.queues[queue].port, queue);
    }

    /// Puts `queue` of input `port` among the candidates of the next look, or lets it wait until the port is free.
    #[inline(always)]
    pub(crate) fn offer<K: Kernel>(&mut self, port: u32, queue: u32) {
        if K::LISTS {
            return self.offer_listed(port, queue);
        }
        if self.inputs[port].busy > self.agenda.next_look() {
            self.wait_for_input(port, queue);
        } else {
            self.agenda.add(queue);
        }
    }

    /// `queue` waits until its input `port` is free.
    #[inline(always)]
    pub(crate) fn wait_for_input(&mut self, port: u32, queue: u32) {
        let input = &mut self.inputs[port];
        input.ready |= short_bit(queue - input.queues);
        if !input.waking {
            self.wake_input_when_free(port);
        }
    }

    /// The queues of `port` that have waited for its path to the crossbar may be looked at.
    fn input_free<K: Kernel>(&mut self, port: u32) {
        if K::LISTS {
            return self.input_free_listed(port);
        }
        let input = &mut self.inputs[port];
        let (first, count) = (input.queues, input.count.into());
        input.waking = false;
        for_each_short_member(std::mem::take(&mut input.ready), count, |lane| {
            let queue = first + lane;
            match self.setup.settings.at_outputs::<K>() && self.sleeps_at_output(port, queue) {
                true => self.call_output::<K>(self.queues[queue].output),
                false => self.offer::<K>(port, queue),
            }
        });
    }

    /// Files a wake-up of input `port` for the tick at which its path to the crossbar is free.
    #[inline(never)]
    pub(crate) fn wake_input_when_free(&mut self, port: u32) {
        let input = &mut self.inputs[port];
        if !input.waking {
            input.waking = true;
            let at = input.busy;
            self.file(at, kind::INPUT, port, 0);
        }
    }

    /// Credit comes back to a sender.
    #[inline(always)]
    pub(crate) fn credit<K: Kernel>(&mut self, target: u32, data: u32) {
        let (vc, phits) = unpack_credit(if K::EXTRAS { data & !ROOM } else { data });
        if let Some(output) = self.tables.outputs.get(target as usize) {
            if K::EXTRAS && self.tables.lines.is_some() && data & ROOM == 0 {
                return self.link_credit(target, (vc, phits));
            }
            let credits = &mut self.tables.channels[output.vc + vc].credits;
            let before = *credits;
            *credits += phits;
            if let Some(pools) = self.pools.as_deref_mut().filter(|_| K::EXTRAS) {
                let channel = output.vc + vc;
                pools.take_back((target, channel), phits, &mut self.tables);
            }
            let output = &self.tables.outputs[target];
            if self.setup.settings.minds::<K>(output.class) {
                self.signals.change(output.router);
            }
            if K::LISTS {
                let channel = output.vc + vc;
                self.credit_listed(target, channel, before);
            } else if output.waiters != 0 {
                if self.setup.settings.watches::<K>() {
                    return self.credit_watchers::<K>(target, vc, before);
                }
                let wanted = || before < self.setup.settings.enough && self.at_outputs.wants(target, vc);
                if !self.setup.settings.at_outputs::<K>() || wanted() {
                    self.wake::<K>(target);
                }
            }
        } else {
            let endpoint = target - self.tables.outputs.len() as u32;
            if K::EXTRAS && self.setup.settings.pauses && endpoint >= self.endpoints.len() as u32 {
                return self.empties(endpoint - self.endpoints.len() as u32, vc, phits as u32);
            }
            let endpoint_record = &self.endpoints[endpoint];
            let (channel, blocked) = (endpoint_record.channel + vc, endpoint_record.blocked);
            self.tables.channels[channel].credits += phits;
            if let Some(pools) = self.pools.as_deref_mut().filter(|_| K::EXTRAS) {
                pools.take_back((target, channel), phits, &mut self.tables);
            }
            if blocked {
                self.agenda.add_sender(endpoint);
            }
        }
    }

    /// Lets those who wait for `output` try again.
    #[inline(never)]
    pub(crate) fn wake<K: Kernel>(&mut self, output: u32) {
        if K::LISTS {
            return self.output_free_listed(output);
        }
        if self.setup.settings.at_outputs::<K>() {
            return self.call_output::<K>(output);
        }
        if self.setup.settings.watches::<K>() {
            return self.call_watchers::<K>(output);
        }
        let &Output { router, waiters, .. } = &self.tables.outputs[output];
        if waiters == 0 {
            return;
        }
        self.tables.outputs[output].waiters = 0;
        let (first, next) = (self.tables.first_port[router], self.tables.first_port[router + 1]);
        for_each_member(waiters, next - first, |number| {
            let port = first + number;
            let input = &mut self.inputs[port];
            let (queues, count) = (input.queues, input.count.into());
            for_each_short_member(std::mem::take(&mut input.asleep), count, |lane| {
                self.offer::<K>(port, queues + lane)
            });
        });
    }
}
