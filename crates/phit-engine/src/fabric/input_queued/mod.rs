//! The router kernel: input buffers with queues → route → allocate → crossbar → output buffers → links.
//!
//! A [`Partition`] holds a set of routers with their endpoints and everything that moves in them. Partitions interact
//! by messages over links only, so each can run ahead by the shortest latency between them.
//!
//! Modules stand in order here, too.

mod options;

mod wiring;

mod state;

mod waiting;

mod allocation;

mod endpoints;

mod faults;

mod post;

mod partition;

mod cycle;

mod watching;

mod partitions;

mod seam;

pub(crate) use options::params::{RouterParams, Switching};
pub use partition::Partition;
pub use partitions::network::InputQueued;
pub use post::mail::Mail;
pub use watching::follow::{Ended, Follower, Journey, Visit, Wait};
#[cfg(test)]
pub(crate) use {cycle::control::router_view, options::kernel::General, state::kind, state::records::TAIL_PENDING};

#[cfg(test)]
mod tests;
