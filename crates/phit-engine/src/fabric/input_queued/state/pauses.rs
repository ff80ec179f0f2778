//! Pauses of links: the phits in each buffer, what each input port asks of its sender, and which channels are paused.

use crate::engine::{Bytes, Table, Tick, tables_of};
use crate::fabric::input_queued::options::headroom::{MOST_PRIORITIES, PauseRule};
use crate::measure::Collector;
use crate::packet::MOST_CLASSES;

/// Credits of a channel that is not paused. A paused channel has none.
pub(crate) const OPEN: i32 = 0xf_ffff;

/// The requests of an input port to its sender. Bit n stands for virtual channel n.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    /// Channels that are to be paused.
    wanted: u8,
    /// Channels that the last frame paused.
    told: u8,
    /// A frame waits for the link.
    waits: bool,
    /// The port is listed in [`Pauses::changed`].
    listed: bool,
}

/// The pauses of a partition.
#[derive(Debug)]
pub(crate) struct Pauses {
    rule: PauseRule,
    /// By input queue: its phits. A flit counts from the arrival of its head until its last phit has left.
    held: Table<u32>,
    /// By input port.
    asked: Table<Asked>,
    /// Input ports that may have to send a frame.
    changed: Vec<u32>,
    /// By sender, outputs before endpoints: its paused channels.
    paused: Table<u8>,
    /// By sender and channel: since when the channel is paused.
    since: Table<Tick>,
}

impl Pauses {
    pub(crate) fn new(rule: PauseRule, queues: usize, ports: usize, senders: usize) -> Self {
        Self {
            rule,
            held: vec![0; queues].into(),
            asked: vec![Asked::default(); ports].into(),
            changed: Vec::new(),
            paused: vec![0; senders].into(),
            since: vec![0; senders * usize::from(MOST_PRIORITIES)].into(),
        }
    }

    /// Phits of a frame.
    pub(crate) fn frame(&self) -> u32 {
        self.rule.frame
    }

    /// Phits in `queue`.
    pub(crate) fn held(&self, queue: u32) -> u32 {
        self.held[queue]
    }

    /// A flit of `phits` comes into `queue`: channel `vc` of input `port`, whose link is of `class`. Returns by how
    /// much the buffer exceeds xoff.
    pub(crate) fn enters(&mut self, queue: u32, phits: u32, (port, vc, class): (u32, u32, u8)) -> u32 {
        let held = &mut self.held[queue];
        *held += phits;
        let beyond = held.saturating_sub(self.rule.xoff[class as usize % MOST_CLASSES]);
        if beyond > 0 {
            self.ask(port, vc, true);
        }
        beyond
    }

    /// The last of `phits` has left `queue`.
    pub(crate) fn leaves(&mut self, queue: u32, phits: u32, (port, vc, class): (u32, u32, u8)) {
        let held = &mut self.held[queue];
        *held -= phits;
        if *held <= self.rule.xon[class as usize % MOST_CLASSES] {
            self.ask(port, vc, false);
        }
    }

    fn ask(&mut self, port: u32, vc: u32, pause: bool) {
        let asked = &mut self.asked[port];
        let bit = 1 << vc;
        asked.wanted = if pause { asked.wanted | bit } else { asked.wanted & !bit };
        if asked.wanted != asked.told && !asked.listed && !asked.waits {
            asked.listed = true;
            self.changed.push(port);
        }
    }

    /// True if ports may have to send frames.
    #[inline(always)]
    pub(crate) fn has_news(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Input ports that are to send a frame, in order.
    pub(crate) fn take_changed(&mut self) -> Vec<u32> {
        let mut ports = std::mem::take(&mut self.changed);
        ports.sort_unstable();
        for port in &ports {
            self.asked[*port].listed = false;
        }
        // A channel may have filled and emptied in one tick.
        ports.retain(|port| self.asked[*port].wanted != self.asked[*port].told);
        ports
    }

    /// A frame of `port` waits for the link.
    pub(crate) fn waits(&mut self, port: u32) {
        self.asked[port].waits = true;
    }

    /// The frame of `port` is put on the link: the channels that it pauses.
    pub(crate) fn tell(&mut self, port: u32) -> u8 {
        let asked = &mut self.asked[port];
        asked.waits = false;
        asked.told = asked.wanted;
        asked.told
    }

    /// A frame that pauses `channels` has come to `sender` in tick `now`. Returns the channels that pause from now on,
    /// and those that go on.
    pub(crate) fn hear(&mut self, sender: u32, channels: u8, now: Tick, collector: &mut Collector) -> (u8, u8) {
        let before = std::mem::replace(&mut self.paused[sender], channels);
        let (pausing, resuming) = (channels & !before, before & !channels);
        let (recorded, span) = (collector.span().contains(&now), collector.span());
        for vc in 0..u32::from(MOST_PRIORITIES) {
            let place = sender * u32::from(MOST_PRIORITIES) + vc;
            if pausing & 1 << vc != 0 {
                self.since[place] = now;
                collector.counters.pauses.begins(recorded);
            }
            if resuming & 1 << vc != 0 {
                let ticks = now.min(span.end).saturating_sub(self.since[place].max(span.start));
                collector.counters.pauses.lasted(ticks);
            }
        }
        (pausing, resuming)
    }

    /// Channels of `sender` that are paused.
    pub(crate) fn paused(&self, sender: u32) -> u8 {
        self.paused[sender]
    }

    /// The measured time is over: counts pauses that last.
    pub(crate) fn close(&self, collector: &mut Collector) {
        let span = collector.span();
        for (sender, channels) in self.paused.iter().enumerate() {
            for vc in (0..usize::from(MOST_PRIORITIES)).filter(|vc| channels & 1 << vc != 0) {
                let since = self.since[(sender * usize::from(MOST_PRIORITIES) + vc) as u32];
                collector.counters.pauses.lasted(span.end.saturating_sub(since.max(span.start)));
            }
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        tables_of!(self, Self { held, asked, changed, paused, since; rule }).iter().map(|(_, bytes)| bytes).sum()
    }
}
