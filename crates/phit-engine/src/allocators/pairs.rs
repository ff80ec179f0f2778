//! The choice between several queues of one input that want one output: in turn, or by priority.

use super::priority::Order;
use super::{Best, Request, Round};
use crate::engine::Memory;
use crate::engine::bits::turn;

/// The client after `client`. After the last it is a number without client, so the turn goes to the first.
#[inline]
pub(super) fn after(client: u32) -> u16 {
    client as u16 + 1
}

/// The turns of every input's queues, and the chosen requests of a round.
pub(super) struct Pairs {
    queues: u32,
    /// Pointer of each input over its queues.
    lane: Vec<u16>,
    /// Places of requests, in the order of inputs: at most one for each input and output.
    pub asking: Vec<u32>,
}

impl Pairs {
    /// The turns of `ports` inputs with at most `queues` queues.
    pub(super) fn new(ports: u32, queues: u32) -> Self {
        Self { queues, lane: vec![0; ports as usize], asking: Vec::new() }
    }

    /// Adds the turns to `memory`.
    pub(super) fn remember(&self, memory: &mut Memory) {
        memory.add_all(self.lane.iter().copied());
    }

    /// Distance of the turn from the queue of `request`, at the input with number `at`.
    #[inline]
    pub(super) fn key(&self, at: u32, request: &Request) -> u64 {
        turn(request.lane.into(), self.lane[at as usize], self.queues)
    }

    /// Puts the requests of the queues whose turn it is into [`Self::asking`].
    pub(super) fn choose<O: Order>(&mut self, round: &Round<'_>, requests: &[Request], best: &mut Best<O::Key>) {
        self.asking.clear();
        let mut start = 0;
        while start < requests.len() {
            let input = requests[start].input;
            let end = start + requests[start..].iter().take_while(|r| r.input == input).count();
            if end - start == 1 {
                self.asking.push(start as u32);
            } else {
                for (index, request) in requests[start..end].iter().enumerate() {
                    let key = self.key(round.first_port + u32::from(input), request);
                    let key = O::at_input(request, key);
                    best.offer(request.output - round.first_port, key, (start + index) as u32);
                }
                let asking = &mut self.asking;
                best.drain(|_, index| asking.push(index));
            }
            start = end;
        }
    }

    /// The turn of the input with number `at` moves behind the queue of `request`.
    #[inline]
    pub(super) fn serve(&mut self, at: u32, request: &Request) {
        self.lane[at as usize] = after(request.lane.into());
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        2 * self.lane.capacity() + 4 * self.asking.capacity()
    }
}
