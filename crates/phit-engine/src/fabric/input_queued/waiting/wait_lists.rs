//! Lists of waiting queues, for ports with many queues.
//!
//! For ports with few queues, a word of ports and a word of queues say who waits for an output (see
//! [`crate::engine::bits`]), and an unnecessary wake-up costs little. With many queues, most of them would be woken in
//! vain, again and again. Here every waiting queue stands in the list of one resource. This is the crossbar between its
//! input and its output port, the room behind an output, or the credits of a channel. The queue is looked at when the
//! resource is there.
//!
//! Most queues wait for the crossbar. The queues of an input that wait for one output are a set, with a bit for each
//! queue of the input. The set joins the candidates word by word when both ports are free, so that no queue is read for
//! it. One of the two ports is filed to be free at a later tick. If the other port is busy at that tick, it is filed in
//! turn.

use crate::engine::NONE;
use crate::engine::Table;
use crate::engine::bits::for_each_member;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::{Input, Output};

/// The resource that a queue waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// An input port of the partition: the queue has no decision yet.
    Input(u32),
    /// Room of any kind behind an output port of the partition.
    Output(u32),
    /// The crossbar from an input port of the partition to an output port, given by its number in the router.
    Crossbar(u32, u32),
    /// The credits of a channel of the partition.
    Channel(u32),
}

/// A resource with a list: any but the crossbar.
#[derive(Debug, Clone, Copy)]
enum List {
    Input(u32),
    Output(u32),
    Channel(u32),
}

impl From<List> for Waits {
    fn from(list: List) -> Self {
        match list {
            List::Input(port) => Self::Input(port),
            List::Output(port) => Self::Output(port),
            List::Channel(channel) => Self::Channel(channel),
        }
    }
}

/// The lists of one partition; empty where none are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitLists {
    /// First queue by list: of input ports, of output ports, of channels.
    first: Table<u32>,
    /// The queue after each queue.
    next: Table<u32>,
    /// By pair of an input and an output, `words` words: the queues of the input that wait for the crossbar to the
    /// output.
    crossing: Table<u64>,
    words: u32,
    /// By input port, `port_words` words: the outputs of its router to which some of its queues wait for the crossbar.
    outputs: Table<u64>,
    /// By output port, `port_words` words: the inputs of its router that have queues waiting for the crossbar to it.
    inputs: Table<u64>,
    port_words: u32,
    ports: u32,
    radix: u32,
}

impl WaitLists {
    /// Empty lists for `ports` ports, `channels` channels and `queues` queues. Routers have at most `radix` ports, of
    /// at most `widest` queues each.
    pub(crate) fn new(ports: usize, radix: u32, widest: u32, channels: usize, queues: usize) -> Self {
        let words = widest.div_ceil(64);
        let lists = 2 * ports + channels;
        Self {
            first: vec![NONE; lists].into(),
            next: vec![NONE; queues].into(),
            crossing: vec![0; ports * radix as usize * words as usize].into(),
            words,
            outputs: vec![0; ports * radix.div_ceil(64) as usize].into(),
            inputs: vec![0; ports * radix.div_ceil(64) as usize].into(),
            port_words: radix.div_ceil(64),
            ports: ports as u32,
            radix,
        }
    }

    /// The number of the list of a resource.
    #[inline]
    fn list(&self, what: List) -> u32 {
        match what {
            List::Input(port) => port,
            List::Output(port) => self.ports + port,
            List::Channel(channel) => 2 * self.ports + channel,
        }
    }

    /// Puts `queue`, which stands in no list, into the list of `what`.
    #[inline]
    fn join(&mut self, queue: u32, what: List) {
        let list = self.list(what);
        self.next[queue] = std::mem::replace(&mut self.first[list], queue);
    }

    /// Detaches the list of `what` and returns its first queue, or `NONE`.
    #[inline]
    fn detach(&mut self, what: List) -> u32 {
        let list = self.list(what);
        std::mem::replace(&mut self.first[list], NONE)
    }

    /// The first word of the set of queues that wait for the crossbar from input `port` to output number `output`.
    #[inline]
    fn pair(&self, port: u32, output: u32) -> u32 {
        (port * self.radix + output) * self.words
    }

    /// Queue number `lane` of input number `input` waits for the crossbar to output number `output` of the router whose
    /// first port is `first`.
    #[inline]
    fn join_crossing(&mut self, first: u32, input: u32, output: u32, lane: u32) {
        let word = self.pair(first + input, output) + lane / 64;
        self.crossing[word] |= 1 << (lane % 64);
        self.outputs[(first + input) * self.port_words + output / 64] |= 1 << (output % 64);
        self.inputs[(first + output) * self.port_words + input / 64] |= 1 << (input % 64);
    }

    /// No queue waits any more for the crossbar from input number `input` to output number `output`. The caller takes
    /// the queues out of the set.
    #[inline]
    fn leave_crossing(&mut self, first: u32, input: u32, output: u32) {
        self.outputs[(first + input) * self.port_words + output / 64] &= !(1 << (output % 64));
        self.inputs[(first + output) * self.port_words + input / 64] &= !(1 << (input % 64));
    }

    /// True if some queue of input number `input` waits for the crossbar to output number `output`, as both ports know.
    pub(crate) fn is_known(&self, first: u32, input: u32, output: u32) -> bool {
        self.outputs[(first + input) * self.port_words + output / 64] >> (output % 64) & 1 == 1
            && self.inputs[(first + output) * self.port_words + input / 64] >> (input % 64) & 1 == 1
    }

    /// Calls `see` with every waiting queue and its resource; `queues` returns the first queue of an input port.
    pub(crate) fn for_each(&self, queues: impl Fn(u32) -> u32, mut see: impl FnMut(u32, Waits)) {
        for (list, &first) in self.first.iter().enumerate() {
            let (list, ports) = (list as u32, self.ports);
            let what = match list {
                _ if list < ports => List::Input(list),
                _ if list < 2 * ports => List::Output(list - ports),
                _ => List::Channel(list - 2 * ports),
            };
            let mut queue = first;
            while queue != NONE {
                see(queue, what.into());
                queue = self.next[queue];
            }
        }
        for (word, &bits) in self.crossing.iter().enumerate() {
            let (pair, place) = (word as u32 / self.words, word as u32 % self.words);
            let (port, output) = (pair / self.radix, pair % self.radix);
            for_each_member(bits, 64, |lane| see(queues(port) + 64 * place + lane, Waits::Crossbar(port, output)));
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.first.bytes() + self.next.bytes() + self.crossing.bytes() + self.outputs.bytes() + self.inputs.bytes()
    }
}

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
        for place in 0..self.lists.words {
            let mut bits = std::mem::take(&mut self.lists.crossing[pair + place]);
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
            let next = self.lists.next[queue];
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
        for word in 0..self.lists.port_words {
            for_each_member(self.lists.outputs[port * self.lists.port_words + word], 64, |output| {
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
        let words = output * self.lists.port_words..(output + 1) * self.lists.port_words;
        if words.clone().all(|word| self.lists.inputs[word] == 0) {
            return;
        }
        if busy > self.agenda.next_look() {
            return self.wake_output_at(output, busy);
        }
        let first = self.tables.first_port[router];
        for (place, word) in words.enumerate() {
            for_each_member(self.lists.inputs[word], 64, |input| {
                let port = first + 64 * place as u32 + input;
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
        self.lists.first.fill(NONE);
        self.lists.crossing.fill(0);
        self.lists.outputs.fill(0);
        self.lists.inputs.fill(0);
        for queue in waiting {
            self.offer_listed(self.queues[queue].port, queue);
        }
    }
}
