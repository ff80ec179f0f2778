//! One tick of the routers in blocks: a few routers are looked at, matched and finished before the next block.
//!
//! The state of these routers then stays in the first-level cache until they are finished. Routers affect one another
//! only by flits, credits and messages on links, so blocks do not change the result. Heads that hold a channel are
//! listed apart, where no other heads ask for the crossbar.

use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::Input;
use crate::fabric::seams::allocator::Request;
use std::ops::Range;

/// A block ends with the router that brings it to this number of queues. The state that its routers read and write for
/// the flits of a tick then fits into the first-level cache.
const BLOCK: u32 = 128;

/// By block of routers, the queue after its last. There are `count` queues, in the order of `inputs`. A router has the
/// queues from its first port to the first port of the next router.
pub(crate) fn blocks(first_port: &[u32], inputs: &[Input], count: u32) -> Vec<u32> {
    let mut blocks = Vec::new();
    for port in first_port.iter().skip(1) {
        let end = inputs.get(*port as usize).map_or(count, |input| input.queues);
        let queues = end - blocks.last().copied().unwrap_or(0);
        if queues >= BLOCK || queues > 0 && end == count {
            blocks.push(end);
        }
    }
    blocks
}

impl Partition {
    /// The whole work of the routers in this tick after the arrivals, a few routers at a time.
    #[inline(always)]
    pub(crate) fn step_in_blocks<K: Kernel>(&mut self) {
        // Queues that a block adds are candidates of the next tick.
        self.agenda.begin_blocks();
        let mut requests = std::mem::take(&mut self.requests);
        let mut start = 0;
        for block in 0..self.setup.blocks.len() {
            let range = start..self.setup.blocks[block];
            start = range.end;
            self.look_at_block::<K>(range.clone(), &mut requests);
            if K::APART && !self.waiting.is_empty() {
                self.allocate_channels::<K>(&mut requests);
            }
            if K::APART {
                self.look_at_holders::<K>(range, &mut requests);
            }
            if !requests.is_empty() || !self.waiting.is_empty() {
                self.finish_block::<K>(&mut requests);
            }
        }
        self.requests = requests;
        while let Some(queue) = self.agenda.next_again() {
            self.offer::<K>(self.queues[queue].port, queue);
        }
        self.agenda.end_blocks();
    }

    /// Looks at the candidates among the queues `range`.
    #[inline(never)]
    fn look_at_block<K: Kernel>(&mut self, range: Range<u32>, requests: &mut Vec<Request>) {
        let mut present = std::mem::take(self.agenda.present(false));
        present.drain_range(range, |queue| self.look_at::<K, false>(queue, requests));
        *self.agenda.present(false) = present;
    }

    /// Looks at the queues of `range` whose heads hold a channel.
    #[inline(never)]
    fn look_at_holders<K: Kernel>(&mut self, range: Range<u32>, requests: &mut Vec<Request>) {
        let mut holding = std::mem::take(self.agenda.present(true));
        holding.drain_range(range, |queue| self.look_at::<K, true>(queue, requests));
        *self.agenda.present(true) = holding;
    }

    /// Allocates channels and the crossbar to the requests of a block, and carries out the granted requests.
    #[inline(never)]
    fn finish_block<K: Kernel>(&mut self, requests: &mut Vec<Request>) {
        let mut losers = std::mem::take(&mut self.losers);
        self.allocate::<K>(requests, &mut losers);
        losers.drain(..).for_each(|loser| self.try_again::<K>(&loser));
        self.losers = losers;
        requests.clear();
    }
}
