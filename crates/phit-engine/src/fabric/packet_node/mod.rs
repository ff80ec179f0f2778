//! The packet-level node: queues at the outputs, packets accepted or refused as a whole, answers on the links.
//!
//! It is the node of F. Versaci's simulator of toroidal networks ("OutFlank Routing", ICPADS 2013). A packet that
//! arrives chooses the queue of an output at once, by the rules of the bubble family (`fabric::seams::bubble`), and its
//! router answers whether it had room. The packet's slot in the queue of the router before becomes free when that
//! answer arrives. In the meantime the link goes on with the packets behind it. A refused packet is sent again as soon
//! as the link is free.
//!
//! With credits instead of answers, a packet is never refused (`landing.rs`).
//!
//! A free link serves answers first, then escape queues, then the adaptive queue; within a queue, the oldest packet
//! that is not under way. Events of one tick are handled in the order in which they were caused.

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
