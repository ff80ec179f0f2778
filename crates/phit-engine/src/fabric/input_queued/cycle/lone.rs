//! Allocation where every input port has one queue and every output port one virtual channel.
//!
//! A head has its input port to itself, so only outputs and channels choose. A channel is wanted either by the head
//! that holds it or by heads without a channel, because no head asks for a channel that another holds. If one head
//! wants an output, it gets the channel and crosses at once. If several heads want it, one gets the channel, and one
//! may cross, each in turn. A head that may cross without the channel has won in vain.

use super::speculation::SPECULATIVE;
use crate::engine::bits::first_from;
use crate::fabric::input_queued::allocation::vc_allocation::VcAllocator;
use crate::fabric::input_queued::options::settings::MOST_PORTS;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::seams::allocator::Request;

/// In [`Request::vc`]: the head asks for a channel only, and does not cross.
pub(crate) const CHANNEL_ONLY: u16 = SPECULATIVE - 1;

impl Partition {
    /// Allocates channels and the crossbar to the heads of some routers, whose `requests` stand side by side.
    #[inline(never)]
    pub(crate) fn allocate_lone(&mut self, requests: &mut [Request]) {
        let Some(VcAllocator::Arbiters(arbiters)) = &mut self.vc_allocator else { return };
        let Some(outputs) = self.allocator.output_turns() else { return };
        let channels = arbiters.channel_turns();
        let (ports, owners, queues) = (&self.tables.outputs, &mut self.tables.owners, &mut self.queues);
        // For one router: by output number the inputs that want it, and by input number the place of its request.
        let mut wanting = [0u64; MOST_PORTS as usize];
        let mut places = [0u32; MOST_PORTS as usize];
        let mut start = 0;
        while let Some(&Request { router, port, input, .. }) = requests.get(start) {
            let first_port = port - u32::from(input);
            let mut wanted = 0u64;
            for (request, place) in requests[start..].iter().zip(start..).take_while(|(r, _)| r.router == router) {
                let (input, output) =
                    (u32::from(request.input) % MOST_PORTS, (request.output - first_port) % MOST_PORTS);
                wanting[output as usize] |= 1 << input;
                places[input as usize] = place as u32;
                wanted |= 1 << output;
                start = place + 1;
            }
            while wanted != 0 {
                let number = wanted.trailing_zeros();
                wanted &= wanted - 1;
                let output = first_port + number;
                let inputs = std::mem::take(&mut wanting[number as usize]);
                let (channel, turn) = (ports[output].vc, &mut outputs[output as usize]);
                let crosses = first_from(inputs, (*turn).into());
                let place = places[(crosses % MOST_PORTS) as usize] as usize;
                let Some(&Request { vc, .. }) = requests.get(place) else { continue };
                if vc != CHANNEL_ONLY {
                    *turn = crosses as u16 + 1;
                    // A head that has just got the channel gives it back as it crosses.
                    (requests[place].vc, requests[place].granted) = (0, true);
                }
                if vc < CHANNEL_ONLY {
                    continue;
                }
                let turn = &mut channels[channel as usize];
                let holds = first_from(inputs, (*turn).into());
                *turn = holds as u16 + 1;
                if vc == CHANNEL_ONLY || holds != crosses {
                    requests[place].granted = false;
                    let queue = requests[places[(holds % MOST_PORTS) as usize] as usize].queue;
                    queues[queue].vcs = 0;
                    owners[channel] = queue;
                }
            }
        }
    }
}
