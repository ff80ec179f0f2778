//! The Phit engine: cycle-exact simulation of lossless interconnection networks.
//!
//! This crate is plain Rust and knows nothing of Python, files or terminals. A [`scenario::Scenario`] describes one run.

pub mod catalogue;
pub mod effort;
pub mod engine;
pub mod error;
pub mod measure;
pub mod node;
pub mod queueing;
pub mod registry;
pub mod result;
pub mod router;
pub mod routing;
pub mod scenario;
pub mod schema;
pub mod sim;
pub mod topology;
pub mod traffic;
pub mod verify;
