//! Speculative requests: a head asks for the crossbar in the cycle in which it asks for a virtual channel.
//!
//! Which channel a head gets is known before the crossbar is allocated, but the allocator does not know it: it treats
//! the head as if it had one, and what it grants to a head without a channel, or whose channel has no room, is lost.

use super::partition::Partition;
use super::state::{Input, Queue};
use super::vc_allocation::Waiting;
use crate::engine::bits::for_each_member;
use crate::fabric::seams::allocator::Request;

/// In [`Request::vc`]: none. Such a request can win, and that is all.
pub(super) const SPECULATIVE: u16 = u16::MAX;

/// What was granted to heads without a channel is lost.
#[cold]
pub(super) fn lose_in_vain(requests: &mut [Request]) {
    requests.iter_mut().filter(|request| request.vc == SPECULATIVE).for_each(|request| request.granted = false);
}

impl Partition {
    /// Requests the crossbar for the head that has just asked for a channel, if some of the `free` channels, places
    /// from the first on, takes a flit of `size` phits, and the output is not busy.
    #[cold]
    pub(super) fn speculate(&mut self, requests: &mut Vec<Request>, (first, free): (u32, u64), size: u32) -> bool {
        let Some(&Waiting { queue, packet, router, .. }) = self.waiting.last() else { return false };
        let mut room = false;
        for_each_member(free, 64, |place| room |= self.tables.channels[first + place].credits >= size as i32);
        let &Queue { port, output, .. } = &self.queues[queue];
        let &Input { queues, number, class, .. } = &self.inputs[port];
        let busy = match self.settings.several_paths {
            true => self.output_path_busy(output, number),
            false => self.tables.outputs[output].busy,
        };
        if !room || busy > self.now || !self.has_output_room(output, size) {
            return false;
        }
        requests.push(Request {
            queue,
            port,
            output,
            router,
            birth: if self.settings.ranked.0 { self.rank(packet) } else { self.packets[packet].birth },
            input: number,
            lane: (queue - queues) as u16,
            vc: SPECULATIVE,
            size: size as u16,
            class: u8::from(self.settings.transit_priority && class == 0) + self.settings.speculative_class,
            granted: false,
        });
        true
    }

    /// Gives the requests of heads their channels, where they have got one with room.
    #[cold]
    #[inline(never)]
    pub(super) fn settle_speculation(&mut self, requests: &mut [Request]) {
        for request in requests.iter_mut().filter(|request| request.vc == SPECULATIVE) {
            let queue = &self.queues[request.queue];
            let channel = self.tables.outputs[request.output].vc + u32::from(queue.vc);
            if queue.vcs == 0 && self.tables.channels[channel].credits >= i32::from(request.size) {
                request.vc = queue.vc;
            }
        }
    }
}
