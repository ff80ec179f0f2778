//! The router kernel: input buffers with queues → route → allocate → crossbar → output buffers → links.
//!
//! A [`Partition`] holds a set of routers with their endpoints and everything that moves in them. Partitions interact
//! by messages over links only, so each can run ahead by the shortest latency between them.

mod admittance;
mod again;
mod alternatives;
mod at_outputs;
mod audit;
mod blocks;
mod breakdown;
mod build;
mod candidates;
mod carriage;
mod channels;
mod check;
mod config;
mod connections;
mod control;
mod cut;
mod endpoint;
mod events;
mod exchange;
mod follow;
mod heads;
mod hosted;
mod kernel;
mod layout;
mod lone;
mod mail;
mod managed;
mod needs;
mod network;
mod observe;
mod pace;
mod params;
mod partition;
mod paths;
mod pools;
mod ports;
mod rates;
mod rounds;
mod settings;
mod severed;
mod snapshot;
mod speculation;
mod state;
mod step;
mod streams;
mod stuck;
mod transfer;
mod vc_allocation;
mod wait_lists;

pub use follow::{Ended, Follower, Journey, Visit, Wait};
pub use mail::Mail;
pub use network::InputQueued;
pub(crate) use params::{RouterParams, Switching};
pub use partition::Partition;
#[cfg(test)]
pub(crate) use {control::router_view, events::kind, kernel::General, state::TAIL_PENDING};

#[cfg(test)]
mod tests;
