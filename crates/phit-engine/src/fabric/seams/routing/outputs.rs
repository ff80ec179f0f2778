//! A router's state of its outputs, which the views read.

use super::{OutputBuffers, OutputChannels, OutputQueues};
use crate::engine::{Bytes, Table, Tick, bytes_of};
use crate::fabric::seams::queueing::Division;

/// An output port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Input ports of the router with queues that wait for this output.
    pub waiters: u64,
    /// Phits put on the link since the start of the run.
    pub phits: u64,
    /// First tick at which its side of the crossbar is free.
    pub busy: Tick,
    /// First tick at which its link is free.
    pub free: Tick,
    /// Tick of the latest wake-up filed for the queues that wait for it.
    pub wake: Tick,
    /// First virtual channel of the output.
    pub vc: u32,
    /// Router of the output.
    pub router: u32,
    /// Partition at the far end, or the kernel's substitute if there is no router.
    pub far_partition: u32,
    /// First queue of the input port at the far end.
    pub far_queue: u32,
    /// Number of virtual channels.
    pub vcs: u16,
    /// Link class.
    pub class: u8,
    /// The lowest bits of the tick of the latest request for it; initially, of the 256th tick before the first.
    pub asked: u8,
}

const _: () = assert!(size_of::<Output>() == 48);

/// A virtual channel of an output, as its sender sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputVc {
    /// Free phits in the far buffer.
    pub credits: i32,
}

/// A grant of an output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Granted {
    /// Its tick.
    pub at: Tick,
    /// The channel that has been granted.
    pub channel: u32,
    /// Phits of the flit.
    pub phits: u32,
}

/// The outputs of all routers of a partition.
#[derive(Debug)]
pub(crate) struct OutputTables {
    /// First port of each router; one more at the end.
    pub first_port: Table<u32>,
    /// By port.
    pub outputs: Table<Output>,
    /// Channels of the outputs, followed by channels of the endpoints.
    pub channels: Table<OutputVc>,
    /// By channel: the phits charged against it, if channels share a buffer, so that its credits do not tell. Empty
    /// otherwise.
    pub charged: Table<u32>,
    /// The queue that holds each channel until its packet's tail is granted; `NONE` if free. Empty if no channel is
    /// ever held.
    pub owners: Table<u32>,
    /// Their buffers, between crossbar and link.
    pub buffers: OutputBuffers,
    /// Their buffers, where packets without data have buffers of their own.
    pub queues: Option<Box<OutputQueues>>,
    /// Their buffers, where packets take credits when they start on the link.
    pub lines: Option<Box<OutputChannels>>,
    /// By port: the first tick in which a transfer to it can start, as far as its side of the crossbar and its buffer
    /// are concerned. Empty unless the mechanism decides for all heads of a router at once, and that time is known.
    pub ready: Table<Tick>,
    /// By port: its latest grant. Empty if there is one round of allocation in a tick.
    pub granted: Table<Granted>,
    /// The round of allocation of this tick, from 0 on.
    pub round: u32,
    /// How the buffers behind them are made.
    pub behind: Buffers,
}

impl Bytes for OutputTables {
    fn bytes(&self) -> usize {
        let queues = self.queues.as_ref().map_or(0, |queues| queues.bytes());
        let lines = self.lines.as_ref().map_or(0, |lines| lines.bytes());
        queues
            + lines
            + bytes_of!(self, Self {
                first_port, outputs, channels, charged, owners, buffers, ready, granted;
                queues, lines, round, behind
            })
    }
}

/// How the buffers behind outputs are made.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    /// Virtual channels per class.
    pub vcs: Vec<u8>,
    /// Buffer size per virtual channel and class.
    pub capacity: Vec<u32>,
    /// How the buffer of a virtual channel is divided into queues.
    pub division: Division,
    /// Phits per output buffer; `None` if unlimited.
    pub output_buffer: Option<u32>,
    /// Phits per flit; larger than any packet where the packet is the flit.
    pub flit_size: u32,
    /// Ticks of a cycle.
    pub ticks_per_cycle: Tick,
}
