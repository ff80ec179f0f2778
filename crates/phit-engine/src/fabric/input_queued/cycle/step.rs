//! One tick of the routers: route the heads that need it, gather requests, allocate, transfer.

use super::lone::CHANNEL_ONLY;
use super::speculation::SPECULATIVE;
use super::vain::IN_VAIN;
use crate::engine::bits::{bit, short_bit};
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::allocation::vc_allocation::Waiting;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::params::VcChoice;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::records::{Input, Output, Progress, Queue};
use crate::fabric::input_queued::waiting::wait_lists::Waits;
use crate::fabric::input_queued::wiring::rates::PortRates;
use crate::fabric::seams::allocator::Request;
use crate::packet::Packet;

/// The outcome of a look at a queue.
enum Look {
    /// The queue requests, or waits for an event that makes it ready.
    Done,
    /// The queue is looked at again in the next tick.
    Again,
    /// The queue is looked at in this tick, in which its output becomes free.
    Until(Tick),
    /// The queue waits for this output port.
    Sleep(u32),
    /// The queue waits in the list of this resource.
    Wait(Waits),
    /// The queue waits for a change that its decision depends on.
    Watch,
}

/// The requests that have not been granted.
fn lost(requests: &[Request]) -> impl Iterator<Item = &Request> {
    requests.iter().filter(|request| !request.granted)
}

impl Partition {
    /// The whole work of the routers in this tick, after the arrivals.
    ///
    /// The candidates are looked at in the order of their queues, whatever order they were listed in. Queues of one
    /// port follow one another, and so do ports of one router. Each router's requests therefore form a run.
    #[inline(never)]
    pub(crate) fn step<K: Kernel>(&mut self) {
        if K::IN_BLOCKS {
            return self.step_in_blocks::<K>();
        }
        let mut requests = std::mem::take(&mut self.requests);
        let mut losers = std::mem::take(&mut self.losers);
        self.round::<K>(&mut requests, &mut losers);
        if K::EXTRAS && K::WHOLE && !K::HELD && !K::LISTS && self.setup.settings.choices.rounds > 1 {
            self.further_rounds::<K>(&mut requests, &mut losers);
        }
        // The losers' next step depends on the resources that the winners have taken.
        losers.drain(..).for_each(|loser| self.try_again::<K>(&loser));
        self.losers = losers;
        requests.clear();
        self.requests = requests;
        while let Some(queue) = self.agenda.next_again() {
            self.offer::<K>(self.queues[queue].port, queue);
        }
    }

    /// A round of allocation: looks at the candidates and carries out the granted requests. Both lists are empty
    /// before.
    #[inline(always)]
    pub(crate) fn round<K: Kernel>(&mut self, requests: &mut Vec<Request>, losers: &mut Vec<Request>) {
        self.scratch.latest = NONE;
        if self.setup.settings.wants::<K>().batch {
            // The list is taken out of the partition, which changes during the loop.
            let looking = self.agenda.take();
            self.route_batches::<K>(&looking);
            looking.iter().for_each(|queue| self.look_at::<K, false>(*queue, requests));
            self.agenda.looked(looking);
        } else {
            self.look_at_all::<K>(requests);
        }
        if self.setup.settings.at_outputs::<K>() {
            self.serve_outputs::<K>(requests);
        }
        if !self.discards.is_empty() {
            match K::CONTROLS && self.setup.settings.reserves {
                true => self.drop_found::<K>(),
                false => self.discard_all::<K>(),
            }
        }
        self.allocate::<K>(requests, losers);
    }

    /// Allocates virtual channels and the crossbar among the requests, and carries out the granted requests.
    #[inline(always)]
    pub(crate) fn allocate<K: Kernel>(&mut self, requests: &mut Vec<Request>, losers: &mut Vec<Request>) {
        if K::LONE {
            self.allocate_lone(requests);
            self.transfer_all::<K>(requests, losers);
            return self.count_hops::<K>(requests.len() - losers.len());
        }
        if K::HELD && !self.waiting.is_empty() {
            self.allocate_channels::<K>(requests);
        }
        if self.setup.settings.managed::<K>() {
            self.choose(requests);
        }
        if K::EXTRAS && self.setup.settings.choices.connects_packets {
            self.keep_connections::<K>(requests);
        }
        let in_vain = match K::EXTRAS && !K::HELD && self.setup.settings.wastes {
            true => self.waste::<K>(requests),
            false => Vec::new(),
        };
        if self.setup.settings.ideal::<K>() {
            self.grant_in_turn::<K>(requests);
            losers.extend(lost(requests));
        } else if K::EXTRAS && self.setup.settings.several_paths {
            self.grant_paths::<K>(requests);
            losers.extend(lost(requests));
        } else {
            let turn = self.turn::<K>();
            match K::NOTED && self.allocator.grants_apart() {
                true => self.allocator.allocate_noted(turn, &mut self.rngs, requests, &mut self.scratch),
                false => self.allocator.allocate_all(turn, &mut self.rngs, requests, &mut self.scratch),
            }
            self.transfer_all::<K>(requests, losers);
        }
        self.count_hops::<K>(requests.len() - losers.len());
        if K::EXTRAS && !K::HELD {
            losers.extend(in_vain);
        }
    }

    /// Counts the hops of `granted` requests.
    #[inline(always)]
    fn count_hops<K: Kernel>(&mut self, granted: usize) {
        self.collector.counters.work.flit_hops += granted as u64;
        if K::WHOLE {
            self.collector.counters.work.packet_hops += granted as u64;
        }
    }

    /// Looks at all candidates. This function and the next are not inlined: registers are few, and neither function
    /// needs the other's values.
    #[inline(never)]
    fn look_at_all<K: Kernel>(&mut self, requests: &mut Vec<Request>) {
        if K::LISTS || self.decides_in_turn::<K>() {
            return self.look_in_turn::<K>(requests);
        }
        // A look adds no candidate.
        let looking = self.agenda.take();
        // Queues before `led` need not request, because the first queue of their port does.
        let mut led = 0;
        for &queue in &*looking {
            if K::MANAGED && queue < led {
                self.agenda.add_again(queue);
                continue;
            }
            let before = requests.len();
            self.look_at::<K, false>(queue, requests);
            if K::MANAGED && self.setup.settings.first_leads && requests.len() > before {
                let &Input { queues, count, .. } = &self.inputs[self.queues[queue].port];
                if queue == queues {
                    led = queues + u32::from(count);
                }
            }
        }
        self.agenda.looked(looking);
    }

    /// [`Settings::decides_in_turn`].
    ///
    /// [`Settings::decides_in_turn`]: crate::fabric::input_queued::options::settings::Settings::decides_in_turn
    #[inline(always)]
    fn decides_in_turn<K: Kernel>(&self) -> bool {
        K::CALLED && !K::BATCHED && self.setup.settings.decides_in_turn
    }

    /// Looks at all candidates, where an input may have many, or where a look is a decision. If the allocator takes
    /// turns, the queues of an input are looked at in turn until one requests. The others could only lose, so they are
    /// not looked at.
    #[inline(always)]
    fn look_in_turn<K: Kernel>(&mut self, requests: &mut Vec<Request>) {
        let looking = self.agenda.take();
        let mut rest = &looking[..];
        while let Some(&queue) = rest.first() {
            let &Input { queues, count, .. } = &self.inputs[self.queues[queue].port];
            let end = queues + u32::from(count);
            if rest.get(1).is_none_or(|next| *next >= end) {
                rest = &rest[1..];
                self.look_at::<K, false>(queue, requests);
                continue;
            }
            let (own, others) = rest.split_at(rest.iter().take_while(|queue| **queue < end).count());
            rest = others;
            let turn = self.allocator.turn(self.queues[queue].port);
            let first = turn.map_or(0, |turn| own.partition_point(|queue| *queue < queues + u32::from(turn)));
            let mut order = own[first..].iter().chain(&own[..first]);
            let before = requests.len();
            while let Some(&queue) = order.next() {
                self.look_at::<K, false>(queue, requests);
                if turn.is_some() && requests.len() > before {
                    for &queue in order.by_ref() {
                        self.agenda.add_again(queue);
                    }
                }
            }
        }
        self.agenda.looked(looking);
    }

    /// Carries out the granted `requests`, and notes the others as losers.
    #[inline(never)]
    fn transfer_all<K: Kernel>(&mut self, requests: &[Request], losers: &mut Vec<Request>) {
        for request in requests {
            // A grant to a head without a channel has no effect.
            let in_vain = !K::LONE && self.setup.settings.speculates::<K>() && request.vc == SPECULATIVE;
            if !request.granted || in_vain {
                losers.push(*request);
                continue;
            }
            let crowded = self.setup.settings.at_outputs::<K>() && self.tables.outputs[request.output].waiters != 0;
            if crowded {
                self.leave_output(request.port, request.queue, request.output);
            }
            self.transfer::<K>(request);
            if crowded {
                self.call_output_when_free(request.output);
            }
        }
    }

    /// Looks at the front of one queue, and arranges the next look.
    #[inline(always)]
    pub(crate) fn look_at<K: Kernel, const HOLDS: bool>(&mut self, queue: u32, requests: &mut Vec<Request>) {
        match self.look::<K, HOLDS>(queue, requests) {
            Look::Again => self.agenda.add_again(queue),
            Look::Done => {}
            Look::Until(at) => self.file(at, kind::READY, queue, 0),
            Look::Watch => self.watch::<K>(queue),
            Look::Wait(what) => {
                if K::LISTS {
                    self.wait(queue, what);
                }
            }
            Look::Sleep(output) if self.setup.settings.at_outputs::<K>() => {
                self.sleep_at_output(self.queues[queue].port, queue, output);
            }
            Look::Sleep(output) if self.setup.settings.watches::<K>() => {
                self.watch_for_room(self.queues[queue].port, queue, output);
            }
            Look::Sleep(output) => {
                let input = &mut self.inputs[self.queues[queue].port];
                input.asleep |= short_bit(queue - input.queues);
                self.tables.outputs[output].waiters |= bit(input.number.into());
            }
        }
    }

    /// A request has lost.
    #[inline(always)]
    pub(crate) fn try_again<K: Kernel>(&mut self, loser: &Request) {
        if K::EXTRAS && !K::HELD && loser.vc == IN_VAIN {
            return self.agenda.add_again(loser.queue);
        }
        if self.setup.settings.at_outputs::<K>() {
            return self.lose_at_output::<K>(loser);
        }
        let busy = self.tables.outputs[loser.output].busy;
        let free = self.inputs[loser.port].busy <= self.agenda.next_look();
        if K::APART && free && busy <= self.agenda.next_look() {
            // The head has asked for the crossbar, so it holds a channel.
            self.agenda.add_holder(loser.queue);
        } else if self.waits_alone::<K>(loser.output) && free && busy > self.agenda.next_look() {
            self.file(busy, kind::READY, loser.queue, 0);
        } else {
            self.offer::<K>(loser.port, loser.queue);
        }
    }

    /// True if `output` need not know a queue that waits only for the tick in which this output is free.
    #[inline(always)]
    fn waits_alone<K: Kernel>(&self, output: u32) -> bool {
        let alone = || !self.setup.settings.at_outputs::<K>() || self.tables.outputs[output].waiters == 0;
        !K::LISTS && !self.setup.settings.wants::<K>().redecide && alone()
    }

    /// Looks at the front of one queue, and requests if it can. `HOLDS`: the queue is known to hold a channel.
    #[inline(always)]
    fn look<K: Kernel, const HOLDS: bool>(&mut self, queue: u32, requests: &mut Vec<Request>) -> Look {
        let now = self.now;
        let q = &self.queues[queue];
        if K::EXTRAS && self.setup.settings.several_paths && q.first != NONE {
            // The port is free when one of its paths is free. This queue's path may become free later.
            let free = self.input_path_busy(q.port, queue - self.inputs[q.port].queues);
            if free > now {
                return Look::Until(free);
            }
        }
        // State that a mechanism reads once in a tick may differ in the next tick.
        let later = K::EXTRAS && self.tables.round > 0;
        // Where no progress is kept, packets come to the front no later than their port is free.
        if q.first == NONE {
            return Look::Done;
        }
        if self.setup.settings.progress::<K>() && self.progress[queue].eligible > now {
            // A head that came to the front in an earlier round of this tick is a candidate of the next tick, because
            // nothing else wakes it. For any other early head, an event is filed for the tick in which it may ask.
            return if later && self.setup.settings.immediate::<K>() { Look::Again } else { Look::Done };
        }
        let port = q.port;
        if K::EXTRAS && self.setup.settings.fine > 1 && self.rests(queue) {
            return Look::Again;
        }
        if K::EXTRAS && !K::HELD && self.setup.settings.decides_at_front && q.output == NONE {
            let &Input { queues, router, number, .. } = &self.inputs[port];
            self.route::<K>(router, number, port, queue, queue - queues);
        }
        let q = &self.queues[queue];
        // Fields are read where they are needed: to keep them all at hand would take more instructions.
        let input = &self.inputs[port];
        if self.setup.settings.managed::<K>() && self.management.holds(queue) {
            return Look::Done;
        }
        if input.busy > now {
            return Look::Again;
        }
        let redecides =
            self.setup.settings.wants::<K>().redecide && (!K::HELD || self.progress[queue].sent == 0 && q.vcs != 0);
        let watches = redecides && (K::ADAPTIVE || !self.setup.settings.every_cycle) && !later;
        let watch = if watches { Look::Watch } else { Look::Again };
        let mut decided = (q.output, q.vc, q.vcs);
        if !HOLDS && (q.output == NONE || redecides) && !self.setup.settings.wants::<K>().batch {
            let &Input { queues, router, number, .. } = input;
            self.route::<K>(router, number, port, queue, queue - queues);
            let q = &self.queues[queue];
            decided = (q.output, q.vc, q.vcs);
        }
        let (index, vc, vcs) = decided;
        let vcs = if HOLDS { 0 } else { vcs };
        let q = &self.queues[queue];
        if !K::SETTLED && index == NONE {
            let done = self.discards.contains(&queue) || self.sleeps_undecided(port, queue);
            return if done { Look::Done } else { watch };
        }
        let (size, birth) = match K::SIZED || K::WHOLE && self.setup.settings.alike {
            true => (self.setup.settings.size, 0),
            false => {
                let &Packet { flits, size, birth, .. } = &self.packets[q.first];
                let size = match K::WHOLE || flits == 1 {
                    true => size.into(),
                    false => {
                        let Progress { arrived, sent, .. } = self.progress[queue];
                        let available = if q.first == q.last { arrived } else { flits };
                        if sent >= available {
                            return Look::Done;
                        }
                        self.setup.config.flit_phits(size, sent)
                    }
                };
                match K::EXTRAS && self.setup.settings.ranked.0 {
                    true => (size, self.rank(q.first)),
                    false => (size, birth),
                }
            }
        };
        let output = &self.tables.outputs[index];
        // An ejection depends on its output alone.
        let sleep = match K::LISTS {
            true => Look::Wait(Waits::Output(index)),
            false if redecides && output.class != 0 => watch,
            false => Look::Sleep(index),
        };

        let granted = match vcs {
            0 if K::APART && !HOLDS => {
                self.agenda.add_holding(queue);
                return Look::Done;
            }
            0 if K::HELD => {
                Some(vc).filter(|vc| self.tables.channels[output.vc + u32::from(*vc)].credits >= size as i32)
            }
            _ if K::EXTRAS && !K::STAGED && K::HELD && self.setup.settings.wants.alternatives && output.class != 0 => {
                return match self.ask_of_several(requests, queue, (size, birth)) {
                    NONE => Look::Again,
                    // The head requests, or sleeps.
                    _ => Look::Done,
                };
            }
            _ if K::LONE => {
                if self.tables.owners[output.vc] != NONE {
                    return sleep;
                }
                let room = self.tables.channels[output.vc].credits >= size as i32;
                let crosses = room && output.busy <= now && self.has_output_room::<K>(index, size);
                let vc = if crosses { SPECULATIVE } else { CHANNEL_ONLY };
                self.request::<K>(requests, (queue, port, index), (vc, size, birth));
                return Look::Done;
            }
            _ if K::STAGED || K::HELD && self.vc_allocator.is_some() => {
                let router = self.inputs[port].router;
                let (first, class) = (output.vc + u32::from(vc), output.class);
                let expires = K::CONTROLS && self.setup.settings.reserves && self.is_speculative(queue);
                if expires && self.is_to_drop(queue, first, class) {
                    self.discards.push(queue);
                    return Look::Done;
                }
                let free = match K::EXTRAS {
                    true if expires && self.yields_at(index) => 0,
                    true => self.askable(first, vcs, (class, size), self.queues[queue].first),
                    false => self.free_channels(first, vcs),
                };
                if free == 0 {
                    // Whether the packet is dropped is looked at in every tick.
                    return if expires { Look::Again } else { sleep };
                }
                let packet = self.queues[queue].first;
                let (number, count) = (self.turn_of::<K>(port, queue), vcs as u8);
                let output = ((index - self.tables.first_port[router]) % 64) as u8;
                let request = match self.setup.settings.speculates::<K>() {
                    true => self.speculate::<K>(requests, queue, (first, free), (size, birth)),
                    false => NONE,
                };
                self.waiting.push(Waiting {
                    queue,
                    packet,
                    router,
                    first,
                    free,
                    request,
                    number,
                    count,
                    output,
                    class,
                });
                // Where heads with a channel stand apart, the stage decides which heads are looked at again.
                return if request == NONE && !K::APART { Look::Again } else { Look::Done };
            }
            _ if K::EXTRAS && self.setup.settings.choices.reuse_when_empty => {
                let reusable = |vc: u16| self.reusable(output.vc + u32::from(vc), output.class);
                (vc..vc + vcs).find(|vc| reusable(*vc) && self.fits::<K>(output.vc, *vc, size))
            }
            _ if K::EXTRAS && !K::HELD && self.setup.settings.choices.vc_choice != VcChoice::Roomiest => {
                self.choose_channel::<K>(output.vc, (vc, vcs), size)
            }
            _ => self.roomiest::<K>(output.vc, (vc, vcs), size),
        };
        let Some(mut vc) = granted else {
            return if K::LISTS && vcs == 1 { Look::Wait(Waits::Channel(output.vc + u32::from(vc))) } else { sleep };
        };
        let occupied = match K::EXTRAS && self.setup.settings.several_paths {
            true => self.output_path_busy(index, self.inputs[port].number),
            false => output.busy,
        };
        if K::EXTRAS && !K::HELD && occupied > now && self.setup.settings.wastes && output.class == 0 {
            match self.full_until::<K>(index, size) {
                Some(room) if K::LISTS => {
                    self.wake_output_at(index, room);
                    return sleep;
                }
                Some(room) => return Look::Until(room),
                None => self.request::<K>(requests, (queue, port, index), (IN_VAIN, size, birth)),
            }
            return Look::Done;
        }
        if occupied > now {
            // A port that is free in the next tick is simply asked again.
            if occupied == now + 1 && !(self.setup.settings.at_outputs::<K>() && output.waiters != 0) {
                return Look::Again;
            }
            if self.waits_alone::<K>(index) {
                return Look::Until(occupied);
            }
            self.wake_output_at(index, occupied);
            return if K::LISTS {
                Look::Wait(Waits::Crossbar(port, index - self.tables.first_port[self.inputs[port].router]))
            } else {
                sleep
            };
        }
        if K::EXTRAS && K::HELD && self.tables.queues.is_some() && self.lacks_room(queue, index, size) {
            return Look::Again;
        }
        if let Some(room) = self.full_until::<K>(index, size) {
            if self.waits_alone::<K>(index) {
                return Look::Until(room);
            }
            self.wake_output_at(index, room);
            return sleep;
        }
        if self.setup.settings.at_outputs::<K>()
            && self.tables.outputs[index].waiters != 0
            && self.at_outputs.is_due(index)
        {
            // The output chooses among all queues that want it now.
            return sleep;
        }
        if K::LISTS {
            self.packets.prefetch(self.queues[queue].first);
        }
        if K::NOTED {
            self.note_asked(port, index);
        }
        if K::EXTRAS && !K::HELD && self.setup.settings.choices.vc_choice == VcChoice::Random {
            let (_, first, count) = decided;
            vc = self.draw_channel::<K>(index, (first, count), size).unwrap_or(vc);
        }
        self.request::<K>(requests, (queue, port, index), (vc, size, birth));
        Look::Done
    }

    /// A head of input `port` is about to ask for `output`. Notes its router as contended if another head has asked for
    /// the same input or output in this tick. Ticks are compared by their lowest 8 bits, so an earlier tick may count
    /// as this one.
    #[inline(always)]
    fn note_asked(&mut self, port: u32, output: u32) {
        let Output { asked, router, .. } = &mut self.tables.outputs[output];
        let now = self.now as u8;
        // Requests of one input follow one another.
        let latest = std::mem::replace(&mut self.scratch.latest, port);
        if (std::mem::replace(asked, now) == now) | (latest == port) {
            self.scratch.contended.push(*router);
        }
    }

    /// True if the head of `queue` asks for nothing in this tick, because its router's cycle does not start here. The
    /// exception is a head whose input or output link carries several flits a cycle.
    #[cold]
    #[inline(never)]
    pub(crate) fn rests(&self, queue: u32) -> bool {
        let &Queue { port, output, .. } = &self.queues[queue];
        let fast = |rates: &PortRates| rates.comes_fast(port) || output != NONE && rates.leaves_fast(output);
        !self.now.is_multiple_of(self.setup.settings.fine) && !self.rates.as_ref().is_some_and(|rates| fast(rates))
    }

    /// Requests `output` for the first flit of `queue` of input `port`, of `size` phits, in virtual channel `vc` there.
    #[inline(always)]
    pub(crate) fn request<K: Kernel>(
        &self,
        requests: &mut Vec<Request>,
        (queue, port, output): (u32, u32, u32),
        (vc, size, birth): (u16, u32, Tick),
    ) {
        let &Input { queues, router, number, class, .. } = &self.inputs[port];
        let speculative = K::HELD && !K::LONE && self.setup.settings.speculates::<K>() && vc == SPECULATIVE;
        let after = if speculative { self.setup.settings.speculative_class } else { 0 };
        requests.push(Request {
            queue,
            port,
            output,
            router,
            birth,
            input: number,
            lane: (queue - queues) as u16,
            vc,
            size: size as u16,
            class: u8::from(class < self.setup.settings.after_transit) + after,
            granted: false,
        });
    }

    /// True if virtual channel `vc` of the output whose first channel is `first` takes a head of `size` phits.
    #[inline(always)]
    fn fits<K: Kernel>(&self, first: u32, vc: u16, size: u32) -> bool {
        let channel = first + u32::from(vc);
        self.tables.channels[channel].credits >= size as i32 && (!K::HELD || self.tables.owners[channel] == NONE)
    }

    /// The virtual channel with most credits that takes a head of `size` phits, or the first of several with most.
    /// Candidates are the `vcs` channels from `vc` on of the output whose first channel is `first`.
    #[inline(always)]
    pub(crate) fn roomiest<K: Kernel>(&self, first: u32, (vc, vcs): (u16, u16), size: u32) -> Option<u16> {
        if vcs == 1 {
            return Some(vc).filter(|vc| self.fits::<K>(first, *vc, size));
        }
        let credits = |vc: u16| self.tables.channels[first + u32::from(vc)].credits;
        (vc..vc + vcs)
            .filter(|vc| self.fits::<K>(first, *vc, size))
            .reduce(|a, b| if credits(b) > credits(a) { b } else { a })
    }

    /// The virtual channel that takes a head of `size` phits, by `router.vc_choice`. Where it is drawn, the first of
    /// these: a head that cannot request must not draw, because how often it is looked at is not fixed.
    #[cold]
    fn choose_channel<K: Kernel>(&self, first: u32, (vc, vcs): (u16, u16), size: u32) -> Option<u16> {
        let credits = |vc: &u16| self.tables.channels[first + u32::from(*vc)].credits;
        let mut fitting = (vc..vc + vcs).filter(|vc| self.fits::<K>(first, *vc, size));
        match self.setup.settings.choices.vc_choice {
            VcChoice::Roomiest => self.roomiest::<K>(first, (vc, vcs), size),
            VcChoice::RoomiestHighest => fitting.max_by_key(credits),
            VcChoice::Lowest | VcChoice::Random => fitting.next(),
            VcChoice::Highest => fitting.next_back(),
        }
    }

    /// Draws one of the virtual channels of `output` that take a head of `size` phits.
    #[cold]
    fn draw_channel<K: Kernel>(&mut self, output: u32, (vc, vcs): (u16, u16), size: u32) -> Option<u16> {
        let &Output { vc: first, router, .. } = &self.tables.outputs[output];
        let fitting = |at: &Self| (vc..vc + vcs).filter(|vc| at.fits::<K>(first, *vc, size)).count() as u32;
        let drawn = match fitting(self) {
            0 => return None,
            1 => 0,
            count => self.rngs[router].below(count) as usize,
        };
        (vc..vc + vcs).filter(|vc| self.fits::<K>(first, *vc, size)).nth(drawn)
    }

    /// The tick in which the buffer of `output` may have room for `size` phits; `None` if it has room now.
    #[inline(always)]
    pub(crate) fn full_until<K: Kernel>(&mut self, output: u32, size: u32) -> Option<Tick> {
        let (buffers, record) = (&mut self.tables.buffers, &self.tables.outputs[output]);
        if K::ALIKE || buffers.by_time() {
            return buffers.is_full(record).then(|| buffers.room_from(record));
        }
        buffers.more_from(output, size, self.now)
    }

    /// True if there is room for `size` phits in the buffer of `output`.
    #[inline(always)]
    pub(crate) fn has_output_room<K: Kernel>(&mut self, output: u32, size: u32) -> bool {
        self.full_until::<K>(output, size).is_none()
    }

    /// Files a wake-up of the queues that wait for `output`.
    #[inline(never)]
    pub(crate) fn wake_output_at(&mut self, output: u32, at: u32) {
        let o = &mut self.tables.outputs[output];
        if o.wake <= self.now || o.wake > at {
            o.wake = at;
            self.file(at, kind::OUTPUT, output, 0);
        }
    }
}
