//! What a router keeps of its outputs: what the views read.

use crate::engine::Tick;
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
    /// Tick of the latest wake-up filed for those who wait for it.
    pub wake: Tick,
    /// Phits reserved in the output buffer.
    pub held: u32,
    /// First virtual channel of the output.
    pub vc: u32,
    /// Router of the output.
    pub router: u32,
    /// Partition at the far end, or what the kernel has in its place where no router is.
    pub far_partition: u32,
    /// First queue of the input port at the far end.
    pub far_queue: u32,
    /// Place of the oldest flit in the output buffer's ring.
    pub ring_first: u16,
    /// Flits in the output buffer's ring.
    pub ring_count: u16,
    /// Number of virtual channels.
    pub vcs: u16,
    /// Link class.
    pub class: u8,
}

const _: () = assert!(size_of::<Output>() == 56);

/// A virtual channel of an output, as its sender sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputVc {
    /// Free phits in the far buffer.
    pub credits: i32,
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
}
