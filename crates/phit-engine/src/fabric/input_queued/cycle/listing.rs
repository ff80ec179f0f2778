//! Queues wait in lists, and go on when the resource is there that they wait for (see `waiting/wait_lists.rs`).

use crate::engine::NONE;
use crate::engine::bits::for_each_member;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::{Input, Output};
use crate::fabric::input_queued::waiting::wait_lists::{List, Waits};

impl Partition {
    /// Lets `queue` wait for `what` alone.
    pub(crate) fn wait(&mut self, queue: u32, what: Waits) {
        match what {
            Waits::Crossbar(port, output) => self.wait_for_crossbar(queue, port, output),
            Waits::Input(port) => self.lists.join(queue, List::Input(port)),
            Waits::Output(port) => self.lists.join(queue, List::Output(port)),
            Waits::Channel(channel) => self.lists.join(queue, List::Channel(channel)),
        }
    }

    /// Lets `queue` of input `port` wait for the crossbar to an output of its router.
    #[inline(always)]
    fn wait_for_crossbar(&mut self, queue: u32, port: u32, output: u32) {
        let &Input { number, queues, .. } = &self.inputs[port];
        self.lists.join_crossing(port - u32::from(number), number.into(), output, queue - queues);
    }

    /// Puts `queue` of input `port` among the candidates of the next look, or lets it wait for a resource that it is
    /// known to need.
    pub(crate) fn offer_listed(&mut self, port: u32, queue: u32) {
        let input = &self.inputs[port];
        let (busy, router) = (input.busy, input.router);
        let output = self.queues[queue].output;
        if busy > self.agenda.next_look() {
            match output {
                NONE => self.lists.join(queue, List::Input(port)),
                _ => self.wait_for_crossbar(queue, port, output - self.tables.first_port[router]),
            }
            if !self.inputs[port].waking {
                self.wake_input_when_free(port);
            }
        } else if output != NONE && self.tables.outputs[output].busy > self.agenda.next_look() {
            self.wait_for_crossbar(queue, port, output - self.tables.first_port[router]);
            self.wake_output_when_free(output);
        } else {
            self.agenda.add(queue);
        }
    }

    /// Files a wake-up of `output`, which is busy, unless one is filed already.
    #[inline(always)]
    fn wake_output_when_free(&mut self, output: u32) {
        let &Output { busy, wake, .. } = &self.tables.outputs[output];
        if wake <= self.now || wake > busy {
            self.wake_output_at(output, busy);
        }
    }

    /// The crossbar from input `port` to an output of its router, whose first port is `first`, is free. The queues that
    /// wait for it become candidates.
    #[inline(always)]
    fn wake_crossing(&mut self, port: u32, first: u32, output: u32) {
        let pair = self.lists.pair(port, output);
        self.lists.leave_crossing(first, port - first, output);
        let (queues, channels) = (self.inputs[port].queues, self.tables.outputs[first + output].vc);
        for place in 0..self.lists.words() {
            let mut bits = self.lists.take_crossing(pair + place);
            if bits == 0 {
                continue;
            }
            self.agenda.add_all(queues + 64 * place, bits);
            // They are looked at later in this tick. Where each destination has a queue, this queue has one number at
            // all ports.
            while bits != 0 {
                let lane = 64 * place + bits.trailing_zeros();
                self.queues.prefetch(queues + lane);
                self.tables.channels.prefetch(channels + lane);
                bits &= bits - 1;
            }
        }
    }

    /// Lets the queues that wait for `what` try again.
    #[inline(always)]
    fn wake_list(&mut self, what: List) {
        let first = self.lists.detach(what);
        if first != NONE {
            self.wake_from(first);
        }
    }

    /// Lets `queue` and the queues after it in its list, which has been detached, try again.
    #[inline(never)]
    fn wake_from(&mut self, mut queue: u32) {
        while queue != NONE {
            let next = self.lists.after(queue);
            self.offer_listed(self.queues[queue].port, queue);
            queue = next;
        }
    }

    /// Input `port` may be free: wakes the queues that wait for it, and for an output that is free.
    pub(crate) fn input_free_listed(&mut self, port: u32) {
        let input = &mut self.inputs[port];
        input.waking = false;
        if input.busy > self.agenda.next_look() {
            return self.wake_input_when_free(port);
        }
        let first = port - u32::from(input.number);
        self.wake_list(List::Input(port));
        for word in 0..self.lists.port_words() {
            for_each_member(self.lists.outputs(port, word), 64, |output| {
                let output = 64 * word + output;
                match self.tables.outputs[first + output].busy <= self.agenda.next_look() {
                    true => self.wake_crossing(port, first, output),
                    false => self.wake_output_when_free(first + output),
                }
            });
        }
    }

    /// Output `output` may be free, or have room: wakes the queues that wait for it at an input that is free.
    pub(crate) fn output_free_listed(&mut self, output: u32) {
        self.wake_list(List::Output(output));
        let &Output { busy, router, .. } = &self.tables.outputs[output];
        if (0..self.lists.port_words()).all(|word| self.lists.inputs(output, word) == 0) {
            return;
        }
        if busy > self.agenda.next_look() {
            return self.wake_output_at(output, busy);
        }
        let first = self.tables.first_port[router];
        for word in 0..self.lists.port_words() {
            for_each_member(self.lists.inputs(output, word), 64, |input| {
                let port = first + 64 * word + input;
                let &Input { busy, waking, .. } = &self.inputs[port];
                if busy <= self.agenda.next_look() {
                    self.wake_crossing(port, first, output - first);
                } else if !waking {
                    self.wake_input_when_free(port);
                }
            });
        }
    }

    /// Credits have come for `channel` of `output`, which had `before` credits.
    pub(crate) fn credit_listed(&mut self, output: u32, channel: u32, before: i32) {
        if before < self.setup.settings.enough {
            self.wake_list(List::Channel(channel));
        }
        self.wake_list(List::Output(output));
    }

    /// Lets all waiting queues try again.
    pub(crate) fn wake_all_lists(&mut self) {
        let mut waiting = Vec::new();
        self.lists.for_each(|port| self.inputs[port].queues, |queue, _| waiting.push(queue));
        self.lists.clear();
        for queue in waiting {
            self.offer_listed(self.queues[queue].port, queue);
        }
    }
}
