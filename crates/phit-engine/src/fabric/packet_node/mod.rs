//! The packet-level node: queues at the outputs, packets accepted or refused as a whole, answers on the links.
//!
//! It is the node of F. Versaci's simulator of toroidal networks ("OutFlank Routing", ICPADS 2013). A packet that
//! arrives chooses the queue of an output there and then, by the rules of the bubble family
//! (`fabric::seams::bubble`), and its router answers whether it had room. The slot that a packet has in the
//! queue of the router before is free when that answer is there. In the meantime the link goes on with the packets
//! behind it; a packet that was refused goes again as soon as the link is free.
//!
//! With credits in place of answers a packet is never refused (`landing.rs`).
//!
//! Per free link: answers first, then escape queues, then the adaptive queue; within a queue the oldest packet that
//! is not on its way. All that happens in one tick happens in the order in which it was caused.

mod ahead;
mod build;
mod calendar;
mod check;
mod endpoint;
mod landing;
mod network;
mod params;
mod receive;
mod send;
mod state;
mod watch;

pub(crate) use params::{NodeParams, PacketNode, Stated};
pub use state::Network;
