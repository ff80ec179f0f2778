//! Heads that ask for virtual channels of several outputs at once, and take whichever they get.
//!
//! For each of its hops, the head stands once among the heads that wait for the stage. The output that it has been
//! routed to is one of the hops' outputs. When the head has got a channel, its output is the output of that channel.

use super::control::router_view;
use crate::engine::bits::for_each_member;
use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::allocation::vc_allocation::Waiting;
use crate::fabric::input_queued::options::kernel::General;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::Output;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::routing::{Alternative, RouterView};
use crate::packet::MOST_CLASSES;

/// Instead of the place of a request: the head sleeps.
pub(crate) const ASLEEP: u32 = NONE - 1;

/// In [`Waiting::class`]: after the head's other requests.
pub(crate) const AFTER: u8 = MOST_CLASSES as u8;

impl Partition {
    /// Lets the head of `queue`, of a flit of `size` phits, ask for the free channels of all its hops. With
    /// speculation, which needs all hops over one output, the head also asks for the crossbar if a hop has a free
    /// channel with room. This request is in vain unless each hop has one. Returns the place of the request, `NONE` if
    /// there is none, and [`ASLEEP`] if no channel is free and the head sleeps until one may be.
    #[cold]
    #[inline(never)]
    pub(crate) fn ask_of_several(
        &mut self,
        requests: &mut Vec<Request>,
        queue: u32,
        (size, birth): (u32, Tick),
    ) -> u32 {
        let (waiting, speculates) = (self.waiting.len(), self.setup.settings.speculates);
        let (mut asked, mut each) = (NONE, true);
        let q = &self.queues[queue];
        let packet = q.first;
        let router = self.inputs[q.port].router;
        let number = self.turn_of::<General>(q.port, queue);
        let mut alternatives = std::mem::take(&mut self.alternatives);
        let at = router_view!(self, router);
        self.routing.alternatives(&at, &self.packets[packet], &mut alternatives);
        for &Alternative { hop, after } in &alternatives {
            let place = u32::from(hop.port);
            let output = &self.tables.outputs[self.tables.first_port[router] + place];
            let (first, class) = (output.vc + u32::from(hop.vc), output.class);
            let free = self.askable(first, hop.vcs.into(), (output.class, size), packet);
            if speculates {
                let mut room = false;
                for_each_member(free, 64, |place| {
                    room |= self.tables.channels[first + place].credits >= size as i32;
                });
                each &= room;
                if room && asked == NONE {
                    asked = self.speculate::<General>(requests, queue, (first, free), (size, birth));
                }
            }
            if free != 0 {
                let class = if after { class | AFTER } else { class };
                let (count, output, request) = (hop.vcs, (place % 64) as u8, NONE);
                let waiting = Waiting { queue, packet, router, first, free, request, number, count, output, class };
                self.waiting.push(waiting);
            }
        }
        if self.waiting.len() == waiting && !self.setup.settings.every_cycle {
            self.sleep_until_free(queue, alternatives.iter().map(|alternative| alternative.hop.port));
            asked = ASLEEP;
        }
        alternatives.clear();
        self.alternatives = alternatives;
        if each && asked != NONE {
            self.waiting[waiting..].iter_mut().for_each(|head| head.request = asked);
        }
        asked
    }

    /// Notes the output of every head that has got a channel.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle_alternatives(&mut self) {
        for &Waiting { queue, router, first, free, .. } in &self.waiting {
            let mut won = None;
            for_each_member(free, 64, |place| {
                if self.tables.owners[first + place] == queue {
                    won = Some(first + place);
                }
            });
            let Some(channel) = won else { continue };
            let ports = self.tables.first_port[router]..self.tables.first_port[router + 1];
            let of_channel = |port: &u32| {
                let &Output { vc, vcs, .. } = &self.tables.outputs[*port];
                (vc..vc + u32::from(vcs)).contains(&channel)
            };
            if let Some(output) = ports.into_iter().find(of_channel) {
                let q = &mut self.queues[queue];
                q.output = output;
                q.vc = (channel - self.tables.outputs[output].vc) as u16;
            }
        }
    }
}
