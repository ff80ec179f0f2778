//! The Phit engine: cycle-exact simulation of lossless interconnection networks.
//!
//! A [`scenario::Scenario`] describes one run completely: topology, routers, routing, traffic and measurement.
//! [`run::run`] checks it, builds the network, simulates it and returns a [`result::Outcome`].
//!
//! ```text
//!  document (JSON value) ── Scenario::from_value ── Scenario ── run::run ── Outcome: summary and tables
//!                                                                  │
//!            ┌─────────────────────────────────────────────────────┴───────────────────┐
//!            │ traffic, workload ── endpoint ─┐                        ┌─ endpoint     │
//!            │ (packets to send)              router ─ link ─ router ──┘               │
//!            │                                  │ seams: routing, queueing, allocator  │
//!            │ measure (counts events) ─────────┴──────────────────────────────────────┘
//! ```
//!
//! # Example
//!
//! Eight endpoints at one switch, with uniform traffic at 30 percent of the links' capacity:
//!
//! ```
//! use phit_engine::run::{self, Options};
//! use phit_engine::scenario::Scenario;
//! use serde_json::json;
//!
//! pub fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let document = json!({
//!         "topology": { "kind": "single", "endpoints": 8 },
//!         "traffic": { "load": 0.3, "packet_size": 8 },
//!         "measure": { "warmup": 200, "cycles": 20_000 },
//!     });
//!     let scenario = Scenario::from_value(&document)?;
//!     let outcome = run::run(&scenario, Options::default(), &mut |_done, _planned| true)?;
//!     assert!((outcome.accepted_load() - 0.3).abs() < 0.02);
//!     Ok(())
//! }
//! ```
//!
//! `examples/run.rs` is a complete program: it reads a scenario from standard input and prints the results.
//!
//! # Promises
//!
//! * **Equal results.** A scenario and a seed give bit-identical results for every number of threads, partitions and
//!   processes.
//! * **No silent assumption.** A document with an unknown key, a wrong type or an impossible value is refused with a
//!   [`error::ScenarioError`], which names the key, the value and the expectation. User input causes no panic.
//! * **Plain Rust.** The crate knows nothing of Python, files of results or terminals.
//! * **Open seams.** A program can bring its own topology, routing mechanism or traffic pattern: every concept has a
//!   constructor `custom`, for example [`topology::TopologyKind::custom`].
//!
//! # Order of modules
//!
//! Modules stand in order here: each uses modules of earlier groups only, never one of its own group or of a later one.
//! A test checks this order (`order.rs`), here and in every `mod.rs` that claims it.

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
pub mod congestion;
pub mod probes;
pub mod queueing;
pub mod routing;

pub mod proof;

// The only modules that know every kind.
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
