//! The router kernel: input buffers with queues → route → allocate → crossbar → output buffers → links.
//!
//! A [`Partition`] holds a range of routers with their endpoints and everything that moves in them. Partitions interact
//! by messages over links only, so each can run ahead by the shortest latency between them.

pub mod admittance;
pub mod audit;
mod breakdown;
pub mod build;
pub mod candidates;
mod check;
pub mod config;
pub(crate) mod control;
pub mod endpoint;
pub mod events;
pub mod mail;
mod managed;
mod network;
mod observe;
pub mod params;
pub mod partition;
mod snapshot;
pub mod state;
mod step;
pub mod stuck;
mod transfer;
mod vc_allocation;
pub mod wait_lists;

pub use mail::Mail;
pub use network::InputQueued;
pub use partition::Partition;

#[cfg(test)]
mod tests;
