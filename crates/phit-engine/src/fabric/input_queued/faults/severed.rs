//! Packets of several flits that lose a part.
//!
//! When a link breaks, a packet may have its head beyond the link and its tail before it. The packet is lost as a
//! whole. Its flits before the link are thrown away there, and so are the flits that follow, one by one. The buffers
//! become free as if the flits had gone on. Beyond the link, a notice follows the flits: no more comes. The notice
//! takes a cycle of each link, as a flit of one phit would. Wherever it arrives, it throws away the packet's flits and
//! frees the channel that the packet has held. The rest of the packet therefore needs nobody else to move, and no part
//! of it waits for ever. The packet counts as lost once, when its tail is thrown away.
//!
//! A head for which no way is left is thrown away like this, with all flits that follow.

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::params::CreditRelease;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind::{self, pack_credit};
use crate::fabric::input_queued::state::lost::Kind;
use crate::fabric::input_queued::state::records::{BROKEN, SINK, TAIL_PENDING};
use crate::fabric::input_queued::state::severed::Cut;
use crate::fabric::links::align;
use crate::packet::MOST_CLASSES;

impl Partition {
    /// Cuts the packets that have gone on in part over one of `outputs`, or over any output if there is no list. Only
    /// packets in virtual channel `first` of their link or a later one are cut.
    pub(crate) fn cut_at(&mut self, outputs: Option<&[u32]>, first: impl Fn(&Self, u32) -> u16, cut: Cut) {
        if self.setup.settings.single {
            return;
        }
        for queue in 0..self.queues.len() as u32 {
            let output = self.queues[queue].output;
            if self.on_its_way(queue)
                && outputs.is_none_or(|outputs| outputs.contains(&output))
                && self.queues[queue].vc >= first(self, output)
            {
                let gone = self.tables.outputs[output].far_partition != BROKEN || outputs.is_some();
                self.severed.cut(queue, if gone { cut } else { Cut::Whole });
            }
        }
    }

    /// True if some flits of the first packet of `queue` have gone on, some have not, and it is not being thrown away.
    fn on_its_way(&self, queue: u32) -> bool {
        let (q, sent) = (&self.queues[queue], self.progress(queue).sent);
        q.first != NONE && q.vcs == 0 && sent > 0 && sent != TAIL_PENDING && !self.severed.drains(queue)
    }

    /// Makes the cuts that are due in this tick, after the flits of the tick have come.
    #[cold]
    #[inline(never)]
    pub(crate) fn sever<K: Kernel>(&mut self) {
        let due = self.severed.take_due();
        for &(queue, cut) in &due {
            match cut {
                Cut::Behind => self.end::<K>(queue),
                Cut::Front | Cut::Whole if !self.on_its_way(queue) => {}
                Cut::Front => {
                    self.part_with(queue, true);
                    self.drain::<K>(queue);
                }
                Cut::Whole => self.drain::<K>(queue),
            }
        }
        self.severed.done(due);
    }

    /// Throws away the first packet of `queue`, of which nothing goes on any more: the flits that are here at once, the
    /// rest as they come.
    pub(crate) fn drain<K: Kernel>(&mut self, queue: u32) {
        self.leave_channel::<K>(queue);
        let q = &self.queues[queue];
        let (packet, alone, first) = (q.first, q.first == q.last, self.inputs[q.port].router);
        let flits = self.packets[packet].flits;
        let available = if alone { self.progress[queue].arrived } else { flits };
        let left = self.throw_away_flits(queue, packet, self.progress[queue].sent..available, alone);
        if available == flits {
            return self.end_lost::<K>(queue, packet, left);
        }
        // No decision is made about this packet any more.
        let q = &mut self.queues[queue];
        (q.output, q.vcs) = (self.tables.first_port[first], 0);
        self.progress[queue].sent = available;
        self.severed.drain(queue);
    }

    /// A flit other than a head has come to `queue`. True if it has been thrown away.
    #[inline]
    pub(crate) fn swallow<K: Kernel>(&mut self, queue: u32) -> bool {
        self.severed.drains_any() && self.swallow_one::<K>(queue)
    }

    #[cold]
    #[inline(never)]
    fn swallow_one<K: Kernel>(&mut self, queue: u32) -> bool {
        if !self.severed.drains(queue) {
            return false;
        }
        let packet = self.queues[queue].first;
        let flit = self.progress[queue].arrived;
        let left = self.throw_away_flits(queue, packet, flit..flit + 1, true);
        let progress = &mut self.progress[queue];
        (progress.arrived, progress.sent) = (flit + 1, flit + 1);
        if flit + 1 == self.packets[packet].flits {
            self.severed.stop_draining(queue);
            self.end_lost::<K>(queue, packet, left);
        }
        true
    }

    /// The tail of `packet`, the first of `queue`, has been thrown away.
    fn end_lost<K: Kernel>(&mut self, queue: u32, packet: u32, left: Tick) {
        self.severed.count_lost(self.packets[packet].size);
        self.drop_first::<K>(queue, packet, left);
    }

    /// The first packet of `queue` is lost; it leaves in tick `left`.
    pub(crate) fn drop_first<K: Kernel>(&mut self, queue: u32, packet: u32, left: Tick) {
        self.file(left, kind::LOSS, packet, SINK);
        self.pop::<K>(queue, packet, left, false);
        // No port is busy, so nothing else wakes the next packet.
        if self.setup.settings.progress && self.queues[queue].first != NONE {
            self.file(left, kind::READY, queue, 0);
        }
    }

    /// No more flits come of the last packet of `queue`.
    fn end<K: Kernel>(&mut self, queue: u32) {
        let &crate::fabric::input_queued::state::records::Queue { first, last, .. } = &self.queues[queue];
        if last == NONE || self.progress[queue].arrived == self.packets[last].flits {
            return;
        }
        let (alone, arrived) = (first == last, self.progress[queue].arrived);
        if self.severed.stop_draining(queue) {
            // All flits of the packet that have come have been thrown away.
        } else if alone && self.on_its_way(queue) {
            self.throw_away_flits(queue, last, self.progress[queue].sent..arrived, true);
            if self.part_with(queue, false) {
                self.leave_channel::<K>(queue);
                return self.pop::<K>(queue, last, self.now, false);
            }
        } else {
            self.throw_away_flits(queue, last, 0..arrived, true);
            // The last flit of the packet before it came long ago.
            self.latest[queue] = 0;
        }
        match alone {
            true if self.progress[queue].sent == TAIL_PENDING => {
                let q = &mut self.queues[queue];
                (q.first, q.last, q.output) = (NONE, NONE, NONE);
            }
            true => {
                self.leave_channel::<K>(queue);
                self.pop::<K>(queue, last, self.now, false);
            }
            false => {
                let mut before = first;
                while self.packets[before].next != last {
                    before = self.packets[before].next;
                }
                self.queues[queue].last = before;
                self.progress[queue].arrived = self.packets[before].flits;
            }
        }
        self.part_ends(last);
    }

    /// Some flits of the first packet of `queue` have gone on, and the others do not follow. `more`: the others stay
    /// here. Returns true if the flits that have gone on are in this partition.
    fn part_with(&mut self, queue: u32, more: bool) -> bool {
        let q = self.queues[queue];
        let broken = self.outages.of(q.output).filter(|_| more);
        let far = broken.map_or(self.tables.outputs[q.output].far_partition, |outage| outage.far_partition);
        match far {
            // The flits have been thrown away as they went.
            BROKEN => false,
            SINK => {
                self.take_from_endpoint(queue);
                false
            }
            far => {
                self.send_word(q.output, q.vc, far);
                let here = far == self.setup.index;
                if here && more {
                    self.severed.add_part(q.first);
                }
                here
            }
        }
    }

    /// Tells the router behind `output`, in partition `far`, that no more comes in virtual channel `vc`.
    fn send_word(&mut self, output: u32, vc: u16, far: u32) {
        let cycle = self.setup.settings.ticks_per_cycle;
        let o = &mut self.tables.outputs[output];
        let start = align(o.free.max(self.now + self.setup.settings.router_latency), cycle);
        o.free = start + cycle;
        let at = start + self.setup.settings.latency[o.class as usize % MOST_CLASSES];
        let queue = o.far_queue + u32::from(vc);
        self.send_event(far, at, kind::CUT, queue, NONE);
    }

    /// The endpoint has received a part of the first packet of `queue`: this part is worthless, and gives back its
    /// room.
    fn take_from_endpoint(&mut self, queue: u32) {
        let q = self.queues[queue];
        let packet = &self.packets[q.first];
        let phits = self.setup.config.phits_of(packet.size, self.progress[queue].sent);
        self.severed.discard(phits);
        if self.setup.settings.endpoints_keep && Kind::of(packet) == Kind::Request {
            let at = self.now + self.setup.settings.ejection_credit_latency.max(1);
            self.file(at, kind::CREDIT, q.output, pack_credit(q.vc.into(), phits));
        }
    }

    /// Frees the virtual channel that the first packet of `queue` holds, if it holds one.
    fn leave_channel<K: Kernel>(&mut self, queue: u32) {
        let q = self.queues[queue];
        if q.vcs != 0 || q.output == NONE {
            return;
        }
        let channel = self.tables.outputs[q.output].vc + u32::from(q.vc);
        if self.owner(channel) == queue {
            self.tables.owners[channel] = NONE;
            self.free_channel::<K>(q.output);
        }
        if let Some(connections) = &mut self.connections {
            connections.end(queue);
        }
    }

    /// Throws away some flits of a packet in `queue`. If the packet is the `latest` of the queue, its last flit may
    /// still be arriving. Returns the tick from which on the flits have left.
    pub(crate) fn throw_away_flits(
        &mut self,
        queue: u32,
        packet: u32,
        flits: std::ops::Range<u16>,
        latest: bool,
    ) -> Tick {
        let (size, last, mut left) = (self.packets[packet].size, flits.end, self.now + 1);
        for flit in flits {
            let phits = self.setup.config.flit_phits(size, flit);
            let came = if latest && flit + 1 == last { self.latest[queue] } else { 0 };
            left = left.max(self.throw_away(queue, phits, came));
            self.severed.discard(phits);
        }
        left
    }

    /// Gives back the room of a flit of `queue` whose first phit came at tick `came`. Returns the tick from which on it
    /// has left.
    pub(crate) fn throw_away(&mut self, queue: u32, phits: u32, came: Tick) -> Tick {
        let port = self.queues[queue].port;
        let input = &self.inputs[port];
        let (class, partition, sender) =
            (usize::from(input.class) % MOST_CLASSES, input.upstream_partition, input.upstream);
        let mut lane = queue - input.queues;
        if self.setup.settings.managed || self.setup.settings.sorts {
            // The credits of all queues of a buffer are those of its first.
            lane = self.setup.settings.channel_of(lane) * self.setup.settings.queues;
        }
        // The flit leaves when its last phit has come.
        let arriving = self.arrival_time(port, phits);
        let left = (self.now + 1).max(came + arriving);
        let mut released = match self.setup.settings.choices.credit_release {
            CreditRelease::Allocation => self.now + 1,
            CreditRelease::Input => left,
            CreditRelease::Output => left.max(self.now + self.setup.settings.router_latency),
        };
        if self.setup.settings.credits_in_turn {
            let cycle = self.setup.settings.ticks_per_cycle;
            released = self.next_credit[port].take_alone(released, cycle);
        }
        let credit = pack_credit(lane, phits);
        self.send_event(partition, released + self.setup.settings.credit_latency[class], kind::CREDIT, sender, credit);
        left
    }

    /// A part of `packet` has ended.
    pub(crate) fn part_ends(&mut self, packet: u32) {
        if !self.severed.end_part(packet) {
            self.packets.remove(packet);
        }
    }

    /// The endpoint `e` has failed: the packet that it was sending into injection queue `lane` is cut.
    pub(crate) fn stop_sending(&mut self, e: u32, lane: u16) {
        let queue = self.endpoints[e].queues + u32::from(lane);
        let before = self.now - 1;
        match before + self.setup.settings.injection_latency {
            at if at == before => self.severed.cut(queue, Cut::Behind),
            at => self.file_after(before, at, kind::CUT, queue, NONE),
        }
    }
}
