//! Virtual channels that are given to packets in a stage of their own.

use super::alternatives::AFTER;
use crate::engine::NONE;
use crate::fabric::input_queued::allocation::vc_allocation::{VcAllocator, Waiting};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::settings::AFTER_ALL;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::pools::{is_empty, reusable};
use crate::fabric::input_queued::state::records::Input;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::reservation::Role;
use crate::packet::MOST_CLASSES;

impl Partition {
    /// True if `channel` of an output of `class`, which no packet holds, may be given to a packet.
    pub(crate) fn reusable(&self, channel: u32, class: u8) -> bool {
        reusable(&self.setup.settings, self.pools.as_deref(), &self.tables.channels, channel, class)
    }

    /// The number of a queue of input `port` among those whose heads wait for the stage: the order in which they have
    /// their turn.
    #[inline(always)]
    pub(crate) fn turn_of<K: Kernel>(&self, port: u32, queue: u32) -> u16 {
        let &Input { queues, number, .. } = &self.inputs[port];
        let turn = match self.setup.settings.turns {
            ports if K::EXTRAS && ports > 0 => (queue - queues) * ports + u32::from(number),
            _ => u32::from(number) * self.setup.widest + queue - queues,
        };
        turn as u16
    }

    /// The free ones among `count` channels from `first` on: a bit for the place of each.
    #[inline(always)]
    pub(crate) fn free_channels(&self, first: u32, count: u16) -> u64 {
        let free = |place: u32| u64::from(self.tables.owners[first + place] == NONE) << place;
        (0..count.into()).map(free).fold(0, |all, one| all | one)
    }

    /// The channels that a head of `size` phits may ask for, among `count` channels from `first` on of an output of
    /// `class`: a bit for the place of each.
    pub(crate) fn askable(&self, first: u32, count: u16, (class, size): (u8, u32), packet: u32) -> u64 {
        let mut free = self.free_channels(first, count);
        if self.setup.settings.choices.reuse_when_empty {
            free &= self.reusable_channels(first, count, class);
        }
        if self.setup.settings.choices.full_is_taken {
            let size =
                if self.setup.settings.choices.packet_needs_room { self.packets[packet].size.into() } else { size };
            free &= self.channels_with_room(first, count, size);
        }
        free
    }

    /// The channels that may be given to a packet, among `count` channels from `first` on of an output of `class`: a
    /// bit for the place of each.
    #[cold]
    fn reusable_channels(&self, first: u32, count: u16, class: u8) -> u64 {
        let empty = |place: u32| u64::from(self.reusable(first + place, class)) << place;
        (0..count.into()).map(empty).fold(0, |all, one| all | one)
    }

    /// The channels with room for `size` phits, among `count` channels from `first` on: a bit for the place of each.
    #[cold]
    fn channels_with_room(&self, first: u32, count: u16, size: u32) -> u64 {
        let room = |place: u32| u64::from(self.tables.channels[first + place].credits >= size as i32) << place;
        (0..count.into()).map(room).fold(0, |all, one| all | one)
    }

    /// The VC allocation stage of the routers whose heads wait: winners hold their channel and request the crossbar
    /// from the next tick on. If a winner has speculated and its channel has room, its request among `requests` gets
    /// the channel.
    #[inline(never)]
    pub(crate) fn allocate_channels<K: Kernel>(&mut self, requests: &mut [Request]) {
        let Some(allocator) = &mut self.vc_allocator else { return };
        let (queues, owners, outputs) = (&mut self.queues, &mut self.tables.owners, &self.tables.outputs);
        let (packets, rngs, now) = (&self.packets, &mut self.rngs, self.now);
        let (channels, settings, pools) = (&self.tables.channels, &self.setup.settings, self.pools.as_deref());
        let (first_port, (holders, again)) = (&self.tables.first_port, self.agenda.of_channels());
        let first_channel = |router: u32| outputs[first_port[router]].vc;
        let mut won = |head: &Waiting, channel: u32| {
            let q = &mut queues[head.queue];
            // For a head that has asked at several outputs, `settle_alternatives` sets the channel later.
            q.vc = channel.wrapping_sub(outputs[q.output].vc) as u16;
            q.vcs = 0;
            owners[channel] = head.queue;
            if K::APART {
                holders.insert(head.queue);
            }
            if settings.speculates::<K>()
                && let Some(request) = requests.get_mut(head.request as usize)
                && channels[channel].credits >= i32::from(request.size)
            {
                request.vc = q.vc;
            }
        };
        match allocator {
            VcAllocator::Arbiters(arbiters) => {
                let lost = |head: &Waiting| {
                    if K::APART {
                        again.push(head.queue);
                    }
                };
                arbiters.allocate(&self.waiting, first_channel, won, lost);
            }
            VcAllocator::Asked(asked) => {
                let birth = |head: &Waiting| match (settings.ranked.1, self.sending.streams()) {
                    (true, Some(streams)) => streams.rank(&packets[head.packet]),
                    (true, None) if settings.reserves => Role::of(&packets[head.packet]).rank(),
                    _ => packets[head.packet].birth,
                };
                let class = |head: &Waiting, channel: u32| {
                    let full = settings.full[head.class as usize % MOST_CLASSES];
                    let after = settings.choices.prefers_empty && !is_empty(pools, channels, channel, full);
                    if after || head.class & AFTER != 0 { AFTER_ALL } else { 0 }
                };
                for waiting in self.waiting.chunk_by(|a, b| a.router == b.router) {
                    let router = waiting[0].router;
                    let round = (now, &mut rngs[router], first_channel(router));
                    asked.allocate(round, waiting, (birth, class), &mut won);
                }
                if K::APART {
                    let losers = self.waiting.iter().filter(|head| queues[head.queue].vcs != 0);
                    again.extend(losers.map(|head| head.queue));
                }
            }
        }
        if K::EXTRAS && settings.wants.alternatives {
            self.settle_alternatives();
        }
        if let Some(pools) = self.pools.as_deref_mut().filter(|_| K::EXTRAS) {
            let queues = self.waiting.iter().map(|head| &self.queues[head.queue]);
            queues.filter(|queue| queue.vcs == 0).for_each(|q| pools.hold(q.output, q.vc, &mut self.tables));
        }
        if K::CONTROLS && self.setup.settings.reserves {
            for place in 0..self.waiting.len() {
                let queue = self.waiting[place].queue;
                if self.queues[queue].vcs == 0 {
                    self.has_channel(queue);
                }
            }
        }
        self.waiting.clear();
    }
}
