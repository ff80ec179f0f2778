//! Who waits for what, where a port has many queues.
//!
//! Elsewhere a set of ports and a set of queues, a word each, say who waits for an output (see
//! [`crate::engine::bits`]), and whoever is woken for nothing costs little. Where a buffer is divided into many queues
//! most of them would be woken for nothing, again and again. There every queue that waits stands in the list of what it
//! waits for: the crossbar between its input and its output port, the room behind an output, or the credits of a
//! channel. It is looked at when that is there.
//!
//! Whoever stands in the list of an input and an output has one of the two filed to be free at a later tick. If by then
//! the other one is not, its turn is filed.

use super::partition::Partition;
use super::state::Output;
use crate::engine::NONE;
use crate::engine::Table;
use crate::engine::bits::{bit, for_each_member, for_each_short_member, short_bit};

/// What a queue waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// An input port of the partition: the queue has no decision yet.
    Input(u32),
    /// Room behind an output port of the partition, of whatever kind.
    Output(u32),
    /// An input port of the partition and an output port of its router, by its number there.
    Crossbar(u32, u32),
    /// The credits of a channel of the partition.
    Channel(u32),
}

/// The lists of one partition; without entries where none are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitLists {
    /// First queue by list: of input ports, of output ports, of pairs of an input and an output, of channels.
    first: Table<u32>,
    /// The queue after each queue.
    next: Table<u32>,
    ports: u32,
    radix: u32,
}

impl WaitLists {
    /// Empty lists for so many ports in routers of at most `radix` ports, channels and queues.
    pub(crate) fn new(ports: usize, radix: u32, channels: usize, queues: usize) -> Self {
        let lists = ports * (2 + radix as usize) + channels;
        Self { first: vec![NONE; lists].into(), next: vec![NONE; queues].into(), ports: ports as u32, radix }
    }

    #[inline]
    fn list(&self, what: Waits) -> u32 {
        match what {
            Waits::Input(port) => port,
            Waits::Output(port) => self.ports + port,
            Waits::Crossbar(port, output) => 2 * self.ports + port * self.radix + output,
            Waits::Channel(channel) => (2 + self.radix) * self.ports + channel,
        }
    }

    /// Puts `queue`, which stands in no list, into that of `what`.
    #[inline]
    fn join(&mut self, queue: u32, what: Waits) {
        let list = self.list(what);
        self.next[queue] = std::mem::replace(&mut self.first[list], queue);
    }

    /// True if a queue stands in the list of `what`.
    #[inline]
    fn has(&self, what: Waits) -> bool {
        self.first[self.list(what)] != NONE
    }

    /// Detaches the list of `what` and returns its first queue, or `NONE`.
    #[inline]
    fn detach(&mut self, what: Waits) -> u32 {
        let list = self.list(what);
        std::mem::replace(&mut self.first[list], NONE)
    }

    /// Calls `see` with every queue that stands in a list, and what it waits for.
    pub(crate) fn for_each(&self, mut see: impl FnMut(u32, Waits)) {
        let (ports, radix) = (self.ports, self.radix);
        for (list, &first) in self.first.iter().enumerate() {
            let list = list as u32;
            let what = match list {
                _ if list < ports => Waits::Input(list),
                _ if list < 2 * ports => Waits::Output(list - ports),
                _ if list < (2 + radix) * ports => {
                    Waits::Crossbar((list - 2 * ports) / radix, (list - 2 * ports) % radix)
                }
                _ => Waits::Channel(list - (2 + radix) * ports),
            };
            let mut queue = first;
            while queue != NONE {
                see(queue, what);
                queue = self.next[queue];
            }
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.first.bytes() + self.next.bytes()
    }
}

impl Partition {
    /// Lets `queue` wait for `what` alone.
    pub(crate) fn wait(&mut self, queue: u32, what: Waits) {
        if let Waits::Crossbar(port, output) = what {
            let input = &mut self.inputs[port];
            input.asleep |= short_bit(output);
            let (router, number) = (input.router, input.number);
            self.tables.outputs[self.tables.first_port[router] + output].waiters |= bit(number.into());
        }
        self.lists.join(queue, what);
    }

    /// Puts `queue` of input `port` among the candidates of the next look, or lets it wait for what it is known to
    /// need.
    pub(crate) fn offer_listed(&mut self, port: u32, queue: u32) {
        let input = &self.inputs[port];
        let (busy, router) = (input.busy, input.router);
        let output = self.queues[queue].output;
        if busy > self.next_look {
            let first = self.tables.first_port[router];
            self.wait(queue, if output == NONE { Waits::Input(port) } else { Waits::Crossbar(port, output - first) });
            self.wake_input_when_free(port);
        } else if output != NONE && self.tables.outputs[output].busy > self.next_look {
            self.wait(queue, Waits::Crossbar(port, output - self.tables.first_port[router]));
            self.wake_output_at(output, self.tables.outputs[output].busy);
        } else {
            self.candidates.insert(queue);
        }
    }

    /// Lets those who wait for `what` try again.
    pub(crate) fn wake_list(&mut self, what: Waits) {
        let mut queue = self.lists.detach(what);
        while queue != NONE {
            let next = self.lists.next[queue];
            self.offer_listed(self.queues[queue].port, queue);
            queue = next;
        }
    }

    /// Input `port` may be free: wakes those who wait for it and for an output that is free.
    pub(crate) fn input_free_listed(&mut self, port: u32) {
        let input = &mut self.inputs[port];
        input.waking = false;
        if input.busy > self.next_look {
            return self.wake_input_when_free(port);
        }
        let (router, waiting) = (input.router, std::mem::take(&mut input.asleep));
        self.wake_list(Waits::Input(port));
        let (first, end) = (self.tables.first_port[router], self.tables.first_port[router + 1]);
        for_each_short_member(waiting, end - first, |output| {
            let busy = self.tables.outputs[first + output].busy;
            if busy <= self.next_look {
                self.wake_list(Waits::Crossbar(port, output));
            } else if self.lists.has(Waits::Crossbar(port, output)) {
                self.inputs[port].asleep |= short_bit(output);
                self.wake_output_at(first + output, busy);
            }
        });
    }

    /// Output `output` may be free, or have room: wakes those who wait for it and come from an input that is free.
    pub(crate) fn output_free_listed(&mut self, output: u32) {
        self.wake_list(Waits::Output(output));
        let &Output { busy, router, waiters, .. } = &self.tables.outputs[output];
        if waiters == 0 {
            return;
        }
        if busy > self.next_look {
            return self.wake_output_at(output, busy);
        }
        self.tables.outputs[output].waiters = 0;
        let (first, end) = (self.tables.first_port[router], self.tables.first_port[router + 1]);
        for_each_member(waiters, end - first, |input| {
            let what = Waits::Crossbar(first + input, output - first);
            if self.inputs[first + input].busy <= self.next_look {
                self.wake_list(what);
            } else if self.lists.has(what) {
                self.tables.outputs[output].waiters |= bit(input);
                self.wake_input_when_free(first + input);
            }
        });
    }

    /// Credits have come for `channel` of `output`, which had `before`.
    pub(crate) fn credit_listed(&mut self, output: u32, channel: u32, before: i32) {
        if before < self.settings.enough {
            self.wake_list(Waits::Channel(channel));
        }
        self.wake_list(Waits::Output(output));
    }

    /// Lets all who wait try again, whatever they wait for.
    pub(crate) fn wake_all_lists(&mut self) {
        let mut waiting = Vec::new();
        self.lists.for_each(|queue, _| waiting.push(queue));
        self.lists.first.fill(NONE);
        for queue in waiting {
            self.offer_listed(self.queues[queue].port, queue);
        }
    }
}
