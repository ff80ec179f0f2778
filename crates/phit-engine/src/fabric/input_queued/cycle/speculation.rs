//! Speculative requests: a head asks for the crossbar in the cycle in which it asks for a virtual channel.
//!
//! Channels are allocated before the crossbar, but the crossbar's allocator does not know the winners. It treats every
//! head as if it had a channel. Its grants to heads without a channel, or whose channel has no room, are lost.

use crate::engine::bits::for_each_member;
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::Queue;
use crate::fabric::seams::allocator::Request;

/// In [`Request::vc`]: no channel yet. A grant of the request moves nothing.
pub(crate) const SPECULATIVE: u16 = u16::MAX;

impl Partition {
    /// Requests the crossbar for the head of `queue`, which asks for a channel. It does so if the output is not busy
    /// and one of the `free` channels, a bit each from the first on, takes a flit of `size` phits. Returns the place of
    /// the request; `NONE` if there is none.
    #[inline(always)]
    pub(crate) fn speculate<K: Kernel>(
        &mut self,
        requests: &mut Vec<Request>,
        queue: u32,
        (first, free): (u32, u64),
        (size, birth): (u32, Tick),
    ) -> u32 {
        let mut room = false;
        for_each_member(free, 64, |place| room |= self.tables.channels[first + place].credits >= size as i32);
        let &Queue { port, output, .. } = &self.queues[queue];
        let number = self.inputs[port].number;
        let busy = match K::EXTRAS && self.setup.settings.several_paths {
            true => self.output_path_busy(output, number),
            false => self.tables.outputs[output].busy,
        };
        if !room || busy > self.now || !self.has_output_room::<K>(output, size) {
            return NONE;
        }
        let place = requests.len() as u32;
        self.request::<K>(requests, (queue, port, output), (SPECULATIVE, size, birth));
        place
    }
}
