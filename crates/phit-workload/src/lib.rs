//! Programs of communicating ranks, and the hosts that execute them.
//!
//! A [`Program`] is a list of operations for each rank: calculations, sends and receives, with dependencies between
//! them. [`host::Hosts`] executes programs by the LogGOPS model of a host. A network carries the messages.
//!
//! ```text
//!  goal, chakra, dumpi (files) ──┐                         messages to send
//!  collective, source (by name) ─┼── Plan ── host::Hosts ────────────────────► network: `network::Network`,
//!  script, compose, together ────┘                       ◄──────────────────── or the engine's routers
//!                                                          messages that arrive
//! ```
//!
//! # Example
//!
//! Rank 0 sends a message of 8 bytes to rank 1, over a network with a latency of 10 units of time:
//!
//! ```
//! use phit_workload::StoredPlan;
//! use phit_workload::goal;
//! use phit_workload::host::HostParams;
//! use phit_workload::network::Ideal;
//! use phit_workload::run::run;
//! use std::sync::Arc;
//!
//! pub fn main() -> Result<(), phit_workload::Error> {
//!     let schedule = "num_ranks 2\nrank 0 {\n send 8b to 1\n}\nrank 1 {\n recv 8b from 0\n}\n";
//!     let program = Arc::new(goal::read(schedule.as_bytes())?);
//!     let host = HostParams { overhead: 3, eager: 1024, ..HostParams::default() };
//!     let finish = run(Box::new(StoredPlan::new(program)), host, Ideal(|_source, _destination| 10));
//!     // The sender's overhead, the network's latency, the receiver's overhead.
//!     assert_eq!(finish.completion(), 3 + 10 + 3);
//!     Ok(())
//! }
//! ```
//!
//! # Promises
//!
//! * **No network inside.** This crate knows no network. Its caller carries messages from rank to rank: [`run`] with a
//!   network of whole messages, or the engine with its routers.
//! * **LogGOPSim's times.** For a schedule in GOAL over an ideal network, times equal those of LogGOPSim; tests compare
//!   them for every rank.
//! * **Bounded memory.** Programs that are given by name ([`source`], [`collective`]) are generated while they run.
//! * **Errors with a position.** A file that cannot be understood is refused with its line, rank or operation.

#![warn(unreachable_pub)]

mod error;
mod mailbox;
mod plan;
mod program;
mod queue;
mod ranks;
mod totals;

pub mod accelerator;
pub mod archive;
pub mod cache;
pub mod called;
pub mod chakra;
pub mod collective;
pub mod compose;
pub mod dumpi;
pub mod file;
pub mod generated;
pub mod goal;
pub mod host;
pub mod inference;
pub mod lists;
pub mod model;
pub mod network;
pub mod patience;
pub mod rails;
pub mod run;
pub mod sample;
pub mod script;
pub mod source;
pub mod together;

pub use error::Error;
pub use plan::{Exchange, Executable, Phase, Plan, Released, StoredPlan, Which};
pub use program::{
    ANY, Action, MOST_OPERATIONS, Operation, Program, RankProgram, RankSink, Successor, Transfer, Until,
};
pub use queue::{Due, Need, Queue, Wait};
pub use ranks::Ranks;
pub use totals::Totals;
