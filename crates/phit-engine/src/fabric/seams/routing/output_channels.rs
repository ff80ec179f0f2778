//! The buffers between the crossbar and the links, where packets take credits when they start on the link.
//!
//! Every virtual channel of an output has a buffer, and the channels take turns at the link. A packet starts if the
//! next input buffer has room for all of it. So packets without credits stay, and fill the buffer.

use super::Leaving;
use crate::engine::{Bytes, Tick};
use std::collections::VecDeque;

/// A virtual channel of an output.
#[derive(Debug, Clone, Default)]
struct Channel {
    packets: VecDeque<Leaving>,
    /// Phits that the next input buffer has room for.
    credits: i32,
}

impl Channel {
    /// The first tick in which its first packet can start; `None` without a packet or credits for it.
    fn ready(&self) -> Option<Tick> {
        self.packets.front().filter(|packet| self.credits >= i32::from(packet.size)).map(|packet| packet.ready)
    }
}

/// One output.
#[derive(Debug, Clone)]
struct Line {
    channels: Vec<Channel>,
    /// The channel whose turn it is.
    turn: usize,
    /// The link is to take a packet in this tick; [`Tick::MAX`] if it has not been told.
    told: Tick,
}

impl Line {
    /// The tick in which the link, free from tick `free` on, is to take a packet, unless it is to do so by then anyway.
    fn tell(&mut self, (free, earliest): (Tick, Tick)) -> Option<Tick> {
        let ready = self.channels.iter().filter_map(Channel::ready).min()?;
        let at = ready.max(free).max(earliest);
        let sooner = at < self.told;
        self.told = self.told.min(at);
        sooner.then_some(at)
    }
}

/// The buffers of all outputs of a partition.
#[derive(Debug)]
pub(crate) struct OutputChannels {
    outputs: Vec<Line>,
}

impl Bytes for OutputChannels {
    fn bytes(&self) -> usize {
        let packets = |line: &Line| line.channels.iter().map(|channel| channel.packets.capacity()).sum::<usize>();
        let of_line =
            |line: &Line| line.channels.capacity() * size_of::<Channel>() + packets(line) * size_of::<Leaving>();
        self.outputs.capacity() * size_of::<Line>() + self.outputs.iter().map(of_line).sum::<usize>()
    }
}

impl OutputChannels {
    /// Empty buffers. `outputs`: of each output, its virtual channels and the phits of a channel's next input buffer.
    pub(crate) fn new(outputs: impl Iterator<Item = (u16, i32)>) -> Self {
        let line = |(vcs, credits)| Line {
            channels: vec![Channel { credits, ..Channel::default() }; usize::from(vcs)],
            turn: 0,
            told: Tick::MAX,
        };
        Self { outputs: outputs.map(line).collect() }
    }

    /// A granted packet comes into the buffer of its channel. `times`: the tick from which on the link is free, and the
    /// next tick. Returns the tick in which the link is to take a packet, if that must be told.
    pub(crate) fn push(&mut self, output: u32, packet: Leaving, times: (Tick, Tick)) -> Option<Tick> {
        let line = &mut self.outputs[output as usize];
        line.channels[usize::from(packet.vc)].packets.push_back(packet);
        line.tell(times)
    }

    /// Credit for `phits` of channel `vc` comes. `times` and result as for [`Self::push`].
    pub(crate) fn credit(&mut self, output: u32, (vc, phits): (u32, i32), times: (Tick, Tick)) -> Option<Tick> {
        let line = &mut self.outputs[output as usize];
        line.channels[vc as usize].credits += phits;
        line.tell(times)
    }

    /// The packet that the link behind `output` takes in tick `now`, the first of the next channel in turn that has one
    /// with credits.
    pub(crate) fn take(&mut self, output: u32, now: Tick) -> Option<Leaving> {
        let line = &mut self.outputs[output as usize];
        let count = line.channels.len();
        let mut order = (line.turn..count).chain(0..line.turn);
        let vc = order.find(|vc| line.channels[*vc].ready().is_some_and(|ready| ready <= now))?;
        line.turn = (vc + 1) % count;
        let channel = &mut line.channels[vc];
        let packet = channel.packets.pop_front()?;
        channel.credits -= i32::from(packet.size);
        Some(packet)
    }

    /// The link has looked at what it can take in tick `now`. Returns the tick in which it is to look again.
    pub(crate) fn told(&mut self, output: u32, times: (Tick, Tick)) -> Option<Tick> {
        let line = &mut self.outputs[output as usize];
        line.told = Tick::MAX;
        line.tell(times)
    }

    /// True if the link behind `output` is to look in tick `now`, and has not done so earlier.
    pub(crate) fn is_due(&self, output: u32, now: Tick) -> bool {
        self.outputs[output as usize].told <= now
    }

    /// Phits that the input buffer behind channel `vc` of `output` has room for.
    pub(crate) fn credits(&self, output: u32, vc: u32) -> i32 {
        self.outputs[output as usize].channels[vc as usize].credits
    }

    /// The packets that wait for the link behind `output`.
    pub(crate) fn packets(&self, output: u32) -> impl Iterator<Item = &Leaving> {
        self.outputs[output as usize].channels.iter().flat_map(|channel| &channel.packets)
    }
}
