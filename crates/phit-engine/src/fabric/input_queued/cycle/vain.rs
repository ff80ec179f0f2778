//! Requests in vain: a head asks for the output to an endpoint that is taking a packet.
//!
//! Such a request is never granted, and leaves no trace at the output. But where inputs propose one request each before
//! outputs choose, it may be the one that its input proposes. The other queues of the input then get nothing in this
//! round.

use super::lone::CHANNEL_ONLY;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::seams::allocator::{Request, Round};

/// In [`Request::vc`]: a request in vain.
pub(crate) const IN_VAIN: u16 = CHANNEL_ONLY - 1;

impl Partition {
    /// Takes the requests in vain out of `requests`, and with them all other requests of an input that proposes one in
    /// vain. They lose this round, and are returned.
    #[cold]
    #[inline(never)]
    pub(crate) fn waste<K: Kernel>(&mut self, requests: &mut Vec<Request>) -> Vec<Request> {
        let mut lost = Vec::new();
        if requests.iter().all(|request| request.vc != IN_VAIN) {
            return lost;
        }
        let now = self.turn::<K>();
        let (mut start, mut kept) = (0, 0);
        while let Some(&Request { port, input, router, .. }) = requests.get(start) {
            let own = start + requests[start..].iter().take_while(|request| request.port == port).count();
            let run = &requests[start..own];
            let first_port = port - u32::from(input);
            let mut wasted = false;
            if run.iter().any(|request| request.vc == IN_VAIN) {
                let round = Round { first_port, now, rng: &mut self.rngs[router] };
                let proposed = self.allocator.propose(round, run).and_then(|place| run.get(place));
                if let Some(request) = proposed.filter(|request| request.vc == IN_VAIN) {
                    self.allocator.waste(first_port, now, request);
                    wasted = true;
                }
            }
            for place in start..own {
                let request = requests[place];
                if wasted || request.vc == IN_VAIN {
                    lost.push(request);
                } else {
                    requests[kept] = request;
                    kept += 1;
                }
            }
            start = own;
        }
        requests.truncate(kept);
        lost
    }
}
