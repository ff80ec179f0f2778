//! Sequential allocation: the queues of a router are served one after another, least recently served first.

use super::{Allocator, AllocatorContext, AllocatorParams, Request, Round};
use crate::engine::Tick;
use crate::engine::bits::bit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sequential allocation. The queues of a router stand in one list, at first port by port. In every round, requests are
/// considered in the order of the list. A request is granted unless its input or its output has been granted already.
/// Then its queue moves to the end of the list. Of several queues that are granted in one round, the first one moves to
/// the very end, the next one before it, and so on. (SST's merlin, `xbar_arb_lru`.)
///
/// No choice is made at inputs before outputs choose. So every round ends with a maximal matching: no request remains
/// whose input and output are both free.
///
/// ```toml
/// [router.allocator]
/// kind = "sequential"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sequential {}

impl AllocatorParams for Sequential {
    fn considers_all(&self) -> bool {
        true
    }

    fn build(&self, context: &AllocatorContext) -> Box<dyn Allocator> {
        let queues = context.queues as usize;
        Box::new(Rule { queues, served: vec![0; context.ports as usize * queues], list: Vec::new(), taken: Vec::new() })
    }
}

/// Most grants of a router in a round, as a power of 2: it has less ports.
const GRANTS: u32 = 16;

struct Rule {
    /// Most queues of an input port.
    queues: usize,
    /// By queue: its place in the list, which counts for queues with requests alone. Queues that were never served have
    /// place 0 and stand in order.
    served: Vec<u64>,
    /// The requests of a round, in the order of the list: class, place of the queue in the list, and place of the
    /// request.
    list: Vec<(u8, u64, u32)>,
    /// Sets of 64 ports of a router: inputs and outputs that have been granted.
    taken: Vec<[u64; 2]>,
}

impl Rule {
    /// The queue of `request` moves to the end of the list, before the `earlier` queues of this round.
    fn serve(&mut self, first_port: u32, now: Tick, earlier: u32, request: &Request) {
        let port = (first_port + u32::from(request.input)) as usize;
        let last = (u64::from(now) + 2) << GRANTS;
        self.served[port * self.queues + usize::from(request.lane)] = last - 1 - u64::from(earlier);
    }
}

impl Allocator for Rule {
    fn allocate(&mut self, round: Round<'_>, requests: &[Request], grants: &mut Vec<u32>) {
        let Round { first_port, now, .. } = round;
        self.list.clear();
        for (place, request) in (0..).zip(requests) {
            let port = (first_port + u32::from(request.input)) as usize;
            self.list.push((request.class, self.served[port * self.queues + usize::from(request.lane)], place));
        }
        // Requests come port by port, and queue by queue: so equal places are in order.
        self.list.sort_unstable();
        self.taken.clear();
        let mut earlier = 0;
        for index in 0..self.list.len() {
            let (_, _, place) = self.list[index];
            let request = &requests[place as usize];
            let ports = [u32::from(request.input), request.output - first_port];
            let sets = ports.iter().max().map_or(0, |&port| port as usize / 64 + 1);
            if self.taken.len() < sets {
                self.taken.resize(sets, [0; 2]);
            }
            let mut free = true;
            for (side, port) in ports.into_iter().enumerate() {
                free &= self.taken[port as usize / 64][side] & bit(port % 64) == 0;
            }
            if !free {
                continue;
            }
            for (side, port) in ports.into_iter().enumerate() {
                self.taken[port as usize / 64][side] |= bit(port % 64);
            }
            self.serve(first_port, now, earlier, request);
            earlier += 1;
            grants.push(place);
        }
    }

    fn grant_alone(&mut self, first_port: u32, now: Tick, request: &Request) {
        self.serve(first_port, now, 0, request);
    }

    /// The order in which queues are granted in a round counts.
    fn grants_apart(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        8 * self.served.capacity() + 16 * (self.list.capacity() + self.taken.capacity())
    }
}
