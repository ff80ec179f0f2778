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
pub(crate) enum List {
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
    pub(crate) fn join(&mut self, queue: u32, what: List) {
        let list = self.list(what);
        self.next[queue] = std::mem::replace(&mut self.first[list], queue);
    }

    /// Detaches the list of `what` and returns its first queue, or `NONE`.
    #[inline]
    pub(crate) fn detach(&mut self, what: List) -> u32 {
        let list = self.list(what);
        std::mem::replace(&mut self.first[list], NONE)
    }

    /// The first word of the set of queues that wait for the crossbar from input `port` to output number `output`.
    #[inline]
    pub(crate) fn pair(&self, port: u32, output: u32) -> u32 {
        (port * self.radix + output) * self.words
    }

    /// Queue number `lane` of input number `input` waits for the crossbar to output number `output` of the router whose
    /// first port is `first`.
    #[inline]
    pub(crate) fn join_crossing(&mut self, first: u32, input: u32, output: u32, lane: u32) {
        let word = self.pair(first + input, output) + lane / 64;
        self.crossing[word] |= 1 << (lane % 64);
        self.outputs[(first + input) * self.port_words + output / 64] |= 1 << (output % 64);
        self.inputs[(first + output) * self.port_words + input / 64] |= 1 << (input % 64);
    }

    /// No queue waits any more for the crossbar from input number `input` to output number `output`. The caller takes
    /// the queues out of the set.
    #[inline]
    pub(crate) fn leave_crossing(&mut self, first: u32, input: u32, output: u32) {
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

    /// The queue after `queue` in its list, or `NONE`.
    #[inline(always)]
    pub(crate) fn after(&self, queue: u32) -> u32 {
        self.next[queue]
    }

    /// Words of the set of queues of an input port.
    #[inline(always)]
    pub(crate) fn words(&self) -> u32 {
        self.words
    }

    /// Takes the queues of a word out of a set of those that wait for the crossbar: the word at `place`, counted from
    /// [`Self::pair`].
    #[inline(always)]
    pub(crate) fn take_crossing(&mut self, place: u32) -> u64 {
        std::mem::take(&mut self.crossing[place])
    }

    /// Words of a set of ports.
    #[inline(always)]
    pub(crate) fn port_words(&self) -> u32 {
        self.port_words
    }

    /// Word `word` of the outputs to which queues of input `port` wait for the crossbar.
    #[inline(always)]
    pub(crate) fn outputs(&self, port: u32, word: u32) -> u64 {
        self.outputs[port * self.port_words + word]
    }

    /// Word `word` of the inputs of which queues wait for the crossbar to output `port`.
    #[inline(always)]
    pub(crate) fn inputs(&self, port: u32, word: u32) -> u64 {
        self.inputs[port * self.port_words + word]
    }

    /// Empties all lists.
    pub(crate) fn clear(&mut self) {
        self.first.fill(NONE);
        self.crossing.fill(0);
        self.outputs.fill(0);
        self.inputs.fill(0);
    }
}
