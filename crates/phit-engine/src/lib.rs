//! The Phit engine: cycle-exact simulation of lossless interconnection networks.
//!
//! This crate is plain Rust and knows nothing of Python, files or terminals. A [`scenario::Scenario`] describes one run.

pub mod allocators;
pub mod catalogue;
pub mod effort;
pub mod engine;
pub mod error;
pub mod fabric;
pub mod measure;
pub mod packet;
pub mod probes;
pub mod proof;
pub mod queueing;
pub mod registry;
pub mod result;
pub mod routing;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod topology;
pub mod traffic;
