//! Programs of communicating ranks: their form ([`Program`]), readers and writers, and the LogGOPS model of the host
//! that executes them.
//!
//! Nothing here knows of a network. What carries messages from rank to rank drives [`host::Hosts`]: [`run`] with a
//! network of whole messages, or the engine with its routers.

#![warn(unreachable_pub)]

mod error;
mod mailbox;
mod plan;
mod program;
mod queue;
mod ranks;
mod totals;

pub mod archive;
pub mod cache;
pub mod chakra;
pub mod collective;
pub mod compose;
pub mod dumpi;
pub mod file;
pub mod generated;
pub mod goal;
pub mod host;
pub mod lists;
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
