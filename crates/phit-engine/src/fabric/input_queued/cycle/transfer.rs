//! A granted flit leaves its queue: crossbar, output buffer, link, credit.
//!
//! Credits and room in the output buffer were taken with the grant, so nothing can stop the flit any more: when it
//! starts on the link, when it arrives and when its credit is back are known here, and are filed at once.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::params::CreditRelease;
use crate::fabric::input_queued::options::settings::Times;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind::{self, pack_credit};
use crate::fabric::input_queued::state::lost::Kind;
use crate::fabric::input_queued::state::records::{BROKEN, Input, Progress, SINK, TAIL_PENDING};
use crate::fabric::input_queued::wiring::passage::{Passage, later};
use crate::fabric::input_queued::wiring::rates::Granted;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::routing::Wants;
use crate::packet::MOST_CLASSES;
use std::hint::select_unpredictable;

impl Partition {
    /// Carries out `grant`.
    #[inline(always)]
    pub(crate) fn transfer<K: Kernel>(&mut self, grant: &Request) {
        let now = self.now;
        let next = match K::EXTRAS && !K::HELD && self.setup.settings.decides_at_front {
            true => self.decide_next::<K>(grant.queue),
            false => None,
        };
        let size = if K::SIZED { self.setup.settings.size } else { u32::from(grant.size) };
        if self.setup.settings.wants::<K>().departures && (K::WHOLE || self.progress[grant.queue].sent == 0) {
            self.announce_departure(grant.queue, grant.output, grant.vc);
        }
        if K::CALLED && self.setup.settings.rereads {
            self.occupied::<K>(grant.output, grant.vc, size);
        }
        if K::CONTROLS && self.setup.settings.controls {
            self.leaves_backlog::<K>(grant);
        }
        let q = &self.queues[grant.queue];
        let (packet, port) = (q.first, q.port);
        let p = &mut self.packets[packet];
        let flits = p.flits;
        // The flit may still be arriving. One with another behind it has arrived completely.
        let (head, tail, entry) = match K::WHOLE || flits == 1 {
            true => (true, true, p.entry),
            false => {
                let Progress { arrived, sent, .. } = self.progress[grant.queue];
                let last = q.first == q.last && sent + 1 == arrived;
                (sent == 0, sent + 1 == flits, if last { self.latest[grant.queue] } else { 0 })
            }
        };

        let lined = K::EXTRAS && !K::HELD && self.tables.lines.is_some();
        let queued = lined || K::EXTRAS && K::HELD && self.tables.queues.is_some();
        let settings = &self.setup.settings;
        let input = &mut self.inputs[port];
        let &mut Input { class: came_by, upstream_partition, upstream, .. } = input;
        let came_by = came_by as usize % MOST_CLASSES;
        let output = &mut self.tables.outputs[grant.output];
        let class = output.class as usize % MOST_CLASSES;
        let times = match self.setup.times.get(size as usize) {
            _ if K::SIZED => &self.setup.unit,
            Some(times) => times,
            None => &Times::new(&self.setup.config, settings, size),
        };
        let passage = match &mut self.rates {
            Some(rates) if K::EXTRAS => {
                let link_free = if queued { 0 } else { output.free };
                let (input_free, output_free) = (input.busy, output.busy);
                let (input, output) = (port, grant.output);
                let granted = Granted { input, output, now, entry, input_free, output_free, link_free };
                rates.pass(&self.setup.config, settings, granted, (size, class, !settings.several_paths))
            }
            _ => {
                // From buffers in which control packets go first, flits start when they are taken.
                let free = if queued { 0 } else { output.free };
                Passage::new::<K>(settings, times, (came_by, class), (now, entry, free), size)
            }
        };
        (input.busy, output.busy) = match &mut self.paths {
            Some(paths) if K::EXTRAS => paths.take(grant, passage.occupied, passage.held),
            _ => (passage.occupied, passage.held),
        };
        if !queued {
            output.free = passage.free;
        }
        let ejected = K::EXTRAS && class == 0 && settings.choices.ejects_when_idle;
        if ejected {
            output.busy = now + 1;
        }
        if self.setup.settings.wants::<K>().batch
            && let Some(ready) = self.tables.ready.get_mut(grant.output as usize)
        {
            *ready = self.tables.buffers.room_from(output).max(output.busy);
        }
        output.phits += u64::from(size);
        if !queued {
            self.wires.note_between(grant.output, (passage.start, passage.early, passage.end), size, false);
        }
        if !K::ALIKE && !queued {
            self.tables.buffers.push(grant.output, passage.start, grant.size, now);
        }
        let (far, far_queue, channel) = (output.far_partition, output.far_queue, output.vc + u32::from(grant.vc));

        if head {
            if !K::WHOLE {
                self.collector.counters.work.packet_hops += 1;
            }
            // Before the first grant it is the last tick of all.
            p.injected = select_unpredictable(p.injected < now, p.injected, now);
            p.hops.add_link(class as u8);
        }
        if ejected {
            self.file(passage.start + 1, kind::OUTPUT, grant.output, passage.end);
        }
        self.note_grant::<K>(grant.output, channel, size);
        let released = self.release::<K>(port, &passage);
        // The credit of this tick's grant counts no sooner than in the next one.
        let credit_at = later(released + self.setup.settings.credit_latency[came_by], now + 1);
        if K::CONTROLS && self.setup.settings.reserves && head {
            self.speculative_leaves(packet);
        }
        match far >= BROKEN {
            true if !lined => self.charge_endpoint::<K>(grant, packet, channel, far),
            false if K::EXTRAS && self.setup.settings.pauses => {}
            _ => self.tables.channels[channel].credits -= size as i32,
        }
        let gone = match far >= BROKEN {
            _ if queued => {
                self.enters_output(grant, packet, passage.start, (head, tail));
                false
            }
            true => {
                self.leave::<K>(grant, packet, &passage, channel, far, tail);
                false
            }
            false => self.go_on::<K>(grant, packet, &passage, far, far_queue, head),
        };
        if K::CONTROLS && head && !queued {
            self.head_starts::<K>(grant, packet, far, &passage, tail);
        }
        if self.setup.settings.wants::<K>().redecide
            && self.setup.settings.watches::<K>()
            && self.tables.outputs[grant.output].waiters != 0
        {
            self.call_watchers_when_free::<K>(grant.output);
        }
        if K::STAGED || K::HELD && (flits > 1 || self.vc_allocator.is_some()) {
            self.tables.owners[channel] = if tail { NONE } else { grant.queue };
            if tail && self.tables.outputs[grant.output].waiters != 0 {
                self.free_channel::<K>(grant.output);
            }
        }

        if let Some(pools) = self.pools.as_deref_mut().filter(|_| K::EXTRAS) {
            pools.send((grant.output, channel), size, tail, &mut self.tables);
        }

        let mut lane = u32::from(grant.lane);
        if self.setup.settings.managed::<K>() || self.setup.settings.sorts::<K>() {
            // The credits of all queues of a buffer are those of its first.
            lane = self.setup.settings.channel_of(lane) * self.setup.settings.queues;
        }
        match K::EXTRAS && self.setup.settings.pauses {
            true => self.empties_at(port, lane, size, released),
            false => self.send_event(upstream_partition, credit_at, kind::CREDIT, upstream, pack_credit(lane, size)),
        }

        if self.setup.settings.managed::<K>() {
            self.gone(grant.queue, packet);
        }
        if K::EXTRAS && self.setup.settings.choices.connects_packets {
            self.connect(grant, tail);
        }
        if tail {
            self.pop::<K>(grant.queue, packet, passage.occupied, gone);
            if let Some(next) = next {
                let q = &mut self.queues[grant.queue];
                (q.output, q.vc, q.vcs) = (next.output, next.vc, next.vcs);
            }
            return;
        }
        let (q, progress) = (&mut self.queues[grant.queue], &mut self.progress[grant.queue]);
        progress.sent += 1;
        q.vc = grant.vc;
        q.vcs = 0;
        if q.first != q.last || progress.sent < progress.arrived {
            self.offer::<K>(port, grant.queue);
        }
    }

    /// The tick in which input `port` sends the credit of the flit.
    #[inline(always)]
    fn release<K: Kernel>(&mut self, port: u32, passage: &Passage) -> Tick {
        let settings = &self.setup.settings;
        let released = match settings.choices.credit_release {
            CreditRelease::Allocation => self.now,
            CreditRelease::Input => passage.left,
            CreditRelease::Output => passage.start,
        };
        if !settings.credits_in_turn::<K>() {
            return released;
        }
        self.next_credit[port].take(self.now, released, settings.ticks_per_cycle)
    }

    /// The flit takes room at its endpoint, where endpoints fill.
    #[inline(always)]
    fn charge_endpoint<K: Kernel>(&mut self, grant: &Request, packet: u32, channel: u32, far: u32) {
        let settings = &self.setup.settings;
        let kept = K::EXTRAS && settings.endpoints_keep && Kind::of(&self.packets[packet]) == Kind::Request;
        // What is kept is free again when the endpoint has sent the reply.
        let times = i32::from(kept) + i32::from(settings.endpoints_fill::<K>());
        if far == SINK {
            self.tables.channels[channel].credits -= times * i32::from(grant.size);
        }
    }

    /// The flit goes where no router is: to an endpoint, or over a link that has broken.
    #[inline(always)]
    pub(crate) fn leave<K: Kernel>(
        &mut self,
        grant: &Request,
        packet: u32,
        passage: &Passage,
        channel: u32,
        far: u32,
        tail: bool,
    ) {
        let (settings, size) = (&self.setup.settings, u32::from(grant.size));
        let at = passage.end + settings.latency[passage.class];
        if settings.endpoints_fill::<K>() && far == SINK {
            let consumed = at + settings.ticks_per_cycle;
            let credit = pack_credit(grant.vc.into(), size);
            let returned = consumed + settings.ejection_credit_latency;
            self.file(returned, kind::CREDIT, grant.output, credit);
        }
        if far == BROKEN {
            return self.lose_over_link(grant, packet, at, channel, tail);
        }
        if tail {
            self.file(at, kind::DELIVERY, packet, grant.vc.into());
        }
    }

    /// The flit goes over a link that has broken.
    #[cold]
    #[inline(never)]
    fn lose_over_link(&mut self, grant: &Request, packet: u32, at: Tick, channel: u32, tail: bool) {
        let size = u32::from(grant.size);
        self.severed.discard(size);
        if tail {
            self.severed.count_lost(self.packets[packet].size);
            self.file(at, kind::LOSS, packet, grant.vc.into());
        }
        self.tables.channels[channel].credits -= size as i32;
        self.note_loss(grant.output, grant.vc, size);
    }

    /// The flit goes to the next router, in partition `far`, whose input port has its first queue at `far_queue`; true
    /// if that is another partition.
    #[inline(always)]
    pub(crate) fn go_on<K: Kernel>(
        &mut self,
        grant: &Request,
        packet: u32,
        passage: &Passage,
        far: u32,
        far_queue: u32,
        head: bool,
    ) -> bool {
        let at = passage.start + self.setup.settings.latency[passage.class];
        let queue = far_queue + u32::from(grant.vc);
        if !head {
            self.send_event(far, at, kind::ARRIVAL, queue, NONE);
            return far != self.setup.index;
        }
        // Mechanisms know virtual channels, not the queues that these are divided into.
        let vc = match K::BARE || self.setup.settings.transparent {
            true => grant.vc,
            false => self.setup.settings.channel_of(grant.vc.into()) as u16,
        };
        let vc = match K::EXTRAS && self.setup.settings.networks > 1 {
            true => self.within(packet, passage.class as u8, vc),
            false => vc,
        };
        let p = &mut self.packets[packet];
        (p.came_by, p.came_in) = (passage.class as u8, vc as u8);
        if far == self.setup.index {
            self.file(at, kind::ARRIVAL, queue, packet);
            return false;
        }
        self.post.send_head(far, at, queue, p, K::SETTLED);
        true
    }

    /// A mechanism that reads occupancies again must know in the next tick that one has grown: that of virtual channel
    /// `vc` of `output`, by `size` phits.
    #[inline(always)]
    fn occupied<K: Kernel>(&mut self, output: u32, vc: u16, size: u32) {
        if self.setup.settings.minds::<K>(self.tables.outputs[output].class) {
            self.signals.change(self.tables.outputs[output].router);
        }
        // Heads that are decided about together do not wait, and those that do, to leave the network, watch nothing.
        let Wants { redecide, batch, .. } = self.setup.settings.wants::<K>();
        if redecide && !batch && self.tables.outputs[output].waiters != 0 {
            self.grant_before_watchers::<K>(output, vc, size);
        }
    }

    /// Files an event here or with another partition.
    #[inline(always)]
    pub(crate) fn send_event(&mut self, partition: u32, at: Tick, kind: u32, target: u32, data: u32) {
        self.post.send(partition, (self.now, at), kind, target, data);
    }

    /// The tail of the first packet of `queue` has been granted; the next may follow once the port is free at `free`.
    /// `gone`: the packet lives on in another partition.
    #[inline(always)]
    pub(crate) fn pop<K: Kernel>(&mut self, queue: u32, packet: u32, free: Tick, gone: bool) {
        let q = &mut self.queues[queue];
        let empty = q.first == q.last;
        if empty {
            (q.first, q.last) = (NONE, NONE);
            if !self.map.lasting::<K>(&self.setup.settings) {
                q.output = NONE;
            }
        } else {
            q.first = self.packets[packet].next;
        }
        if gone {
            self.packets.remove(packet);
        }
        if self.setup.settings.wants::<K>().heads {
            let progress = &mut self.progress[queue];
            (progress.sent, progress.eligible) = (TAIL_PENDING, Tick::MAX);
            self.file(free.max(self.now + 1), kind::TAIL, queue, 0);
        } else if !empty {
            self.come_to_front::<K>(queue, free);
        }
    }
}
