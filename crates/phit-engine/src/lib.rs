//! The Phit engine: cycle-exact simulation of lossless interconnection networks.
//!
//! This crate is plain Rust and knows nothing of Python, files or terminals. A [`scenario::Scenario`] describes one
//! run.
//!
//! Modules stand in order here: each uses those of the groups before its own, never one of its own group or after it. A
//! test sees to it (`order.rs`), here and in every `mod.rs` that says that it keeps such an order.

#![warn(unreachable_pub)]

pub mod engine;
pub mod error;

mod schema;

mod registry;

pub mod bandwidth;

pub mod packet;

pub mod topology;

pub mod foreign;

pub mod traffic;

pub mod workload;

pub mod measure;

pub mod fabric;

// The policies.
pub mod allocators;
pub mod probes;
pub mod queueing;
pub mod routing;

pub mod proof;

// What knows every kind.
pub mod scenario;

pub mod result;

pub mod needs;

pub mod run;

pub mod effort;
pub mod flow;
pub mod trace;

pub use scenario::catalogue;

#[cfg(test)]
mod order;
