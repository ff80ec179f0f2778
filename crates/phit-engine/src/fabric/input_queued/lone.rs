//! Allocation where every input port has one queue and every output port one virtual channel.
//!
//! A head has its input port to itself, so that only outputs choose, the crossbar's and those of the channels; and a
//! channel is wanted either by the head that holds it or by heads without one, since these do not ask for one that is
//! held. An output that one head wants grants it both at once. Of several one gets the channel, and one may cross, each
//! in turn; whoever may cross without the channel has won in vain.

use super::partition::Partition;
use super::speculation::SPECULATIVE;
use super::vc_allocation::VcAllocator;
use crate::fabric::seams::allocator::Request;

/// In [`Request::vc`]: the head asks for a channel only. Such a request does not win.
pub(super) const CHANNEL_ONLY: u16 = SPECULATIVE - 1;

/// Most ports of a router.
pub(super) const MOST_PORTS: u32 = 64;

/// No input, as what is compared in [`in_turn`].
const NOBODY: u64 = u64::MAX;

/// How soon it is the turn of `input`, whose request is at `place`, when it is that of input `next`: the lowest is the
/// first from `next` on and around. Inputs come in ascending order.
#[inline(always)]
fn in_turn(input: u16, next: u16, place: usize) -> u64 {
    u64::from(input < next) << 32 | place as u64
}

/// The request with this key.
#[inline(always)]
fn place(key: u64) -> usize {
    key as u32 as usize
}

impl Partition {
    /// Allocates channels and the crossbar to the heads of some routers, whose `requests` stand side by side.
    #[inline(never)]
    pub(super) fn allocate_lone(&mut self, requests: &mut [Request]) {
        let Some(VcAllocator::Arbiters(arbiters)) = &mut self.vc_allocator else { return };
        let Some(outputs) = self.allocator.output_turns() else { return };
        let channels = arbiters.channel_turns();
        let (ports, owners, queues) = (&self.tables.outputs, &mut self.tables.owners, &mut self.queues);
        // For the channel and for the crossbar, by output number.
        let mut best = [[NOBODY; 2]; MOST_PORTS as usize];
        let mut start = 0;
        while let Some(&Request { router, port, input, .. }) = requests.get(start) {
            let first_port = port - u32::from(input);
            let number = |request: &Request| (request.output - first_port) % MOST_PORTS;
            let (mut wanted, mut shared, mut end) = (0u64, 0u64, start);
            while let Some(request) = requests.get(end).filter(|request| request.router == router) {
                let output = 1 << number(request);
                (wanted, shared, end) = (wanted | output, shared | wanted & output, end + 1);
            }
            for (at, request) in requests[start..end].iter_mut().enumerate() {
                let channel = ports[request.output].vc;
                let turns = (&mut channels[channel as usize], &mut outputs[request.output as usize]);
                if shared >> number(request) & 1 != 0 {
                    let best = &mut best[number(request) as usize];
                    best[0] = best[0].min(in_turn(request.input, *turns.0, start + at));
                    best[1] = best[1].min(in_turn(request.input, *turns.1, start + at));
                    continue;
                }
                let next = request.input + 1;
                match request.vc {
                    CHANNEL_ONLY => {
                        *turns.0 = next;
                        queues[request.queue].vcs = 0;
                        owners[channel] = request.queue;
                    }
                    vc => {
                        if vc == SPECULATIVE {
                            // It gives the channel back as it crosses.
                            *turns.0 = next;
                        }
                        *turns.1 = next;
                        request.vc = 0;
                        request.granted = true;
                    }
                }
            }
            while shared != 0 {
                let [first, second] =
                    std::mem::replace(&mut best[shared.trailing_zeros() as usize], [NOBODY; 2]).map(place);
                shared &= shared - 1;
                let &Request { queue, output, input, vc, .. } = &requests[first];
                let channel = ports[output].vc;
                channels[channel as usize] = input + 1;
                let crosses = vc != CHANNEL_ONLY;
                if crosses {
                    outputs[output as usize] = requests[second].input + 1;
                }
                if crosses && first == second {
                    let winner = &mut requests[first];
                    (winner.vc, winner.granted) = (0, true);
                } else {
                    queues[queue].vcs = 0;
                    owners[channel] = queue;
                }
            }
            start = end;
        }
    }
}
