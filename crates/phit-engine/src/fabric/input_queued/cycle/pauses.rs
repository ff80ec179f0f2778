//! Priority-based flow control: full buffers send frames that pause a virtual channel of the link before them.

use crate::engine::NONE;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::post::messages::{Message, Party};
use crate::fabric::input_queued::state::kind::{self, pack_credit};
use crate::fabric::input_queued::state::pauses::OPEN;
use crate::packet::MOST_CLASSES;

impl Partition {
    /// A flit enters `queue`: the head of `packet`, or another flit of the last packet if `packet` is `NONE`.
    #[inline(never)]
    pub(crate) fn fills<K: Kernel>(&mut self, queue: u32, packet: u32) {
        let phits = self.entering::<K>(queue, packet);
        let at = self.place_of_queue(queue);
        let recorded = self.collector.span().contains(&self.now);
        let Some(pauses) = self.signals.pauses_mut() else { return };
        let beyond = pauses.enters(queue, phits, at);
        self.collector.counters.pauses.exceeds(beyond, recorded);
    }

    /// Input port, virtual channel and class of `queue`.
    fn place_of_queue(&self, queue: u32) -> (u32, u32, u8) {
        let port = self.queues[queue].port;
        let input = &self.inputs[port];
        (port, queue - input.queues, input.class)
    }

    /// Files that `phits` of queue `lane` of input `port` have left in tick `at`.
    pub(crate) fn empties_at(&mut self, port: u32, lane: u32, phits: u32, at: u32) {
        let senders = (self.tables.outputs.len() + self.endpoints.len()) as u32;
        self.file(at, kind::CREDIT, senders + port, pack_credit(lane, phits));
    }

    /// Phits of queue `lane` of input `port` have left.
    #[inline(never)]
    pub(crate) fn empties(&mut self, port: u32, lane: u32, phits: u32) {
        let queue = self.inputs[port].queues + lane;
        let at = self.place_of_queue(queue);
        if let Some(pauses) = self.signals.pauses_mut() {
            pauses.leaves(queue, phits, at);
        }
    }

    /// Puts the frames of this tick on the links back to senders.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_frames(&mut self) {
        let Some(pauses) = self.signals.pauses_mut() else { return };
        let frame = pauses.frame();
        for port in pauses.take_changed() {
            let start = self.put_on_link(port, frame) - self.link_time(port, frame);
            let Some(pauses) = self.signals.pauses_mut() else { return };
            pauses.waits(port);
            match start > self.now {
                // The frame names the channels that are to pause when the frame starts.
                true => self.expect(start, Message { party: Party::Port, router: port, port: 0, payload: [].into() }),
                false => self.frame_starts(port),
            }
        }
    }

    /// The frame of input `port` starts on the link to the port's sender.
    pub(crate) fn frame_starts(&mut self, port: u32) {
        let Some(pauses) = self.signals.pauses_mut() else { return };
        let channels = pauses.tell(port);
        let frame = pauses.frame();
        let input = &self.inputs[port];
        let (target, far) = (input.upstream, input.upstream_partition);
        let class = self.tables.outputs[port].class as usize % MOST_CLASSES;
        let at = self.now + self.link_time(port, frame) + self.setup.settings.latency[class].max(1);
        let recorded = self.collector.span().contains(&self.now);
        self.collector.counters.pauses.frames(recorded);
        if target != NONE {
            let payload = [u16::from(channels)].into();
            self.dispatch(far, at, Message { party: Party::Pauses, router: target, port: 0, payload });
        }
    }

    /// A frame has come to `sender`, an output or an endpoint: the channels that it names pause, and others go on.
    pub(crate) fn hear_frame<K: Kernel>(&mut self, sender: u32, channels: u8) {
        let Some(pauses) = self.signals.pauses_mut() else { return };
        let (pausing, resuming) = pauses.hear(sender, channels, self.now, &mut self.collector);
        let ports = self.tables.outputs.len() as u32;
        let first = match sender < ports {
            true => self.tables.outputs[sender].vc,
            false => self.endpoints[sender - ports].channel,
        };
        for vc in (0..u8::BITS).filter(|vc| pausing & 1 << vc != 0) {
            self.tables.channels[first + vc].credits = 0;
        }
        for vc in (0..u8::BITS).filter(|vc| resuming & 1 << vc != 0) {
            self.credit::<K>(sender, pack_credit(vc, OPEN as u32));
        }
    }
}
