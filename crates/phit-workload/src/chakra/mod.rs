//! Chakra execution traces: a file for each rank, each a graph of calculations, messages and collectives.
//!
//! ```text
//!  format, json ── a node at a time ──► step ── what it does, 24 bytes ──► graph ── all ranks ──► build ──► Program
//! ```

mod build;
mod files;
mod format;
mod graph;
mod json;
mod options;
mod pool;
mod step;

pub use build::read;
pub use files::{files, is_trace, notes, place_of, read_files};
pub use options::{Compute, Dependencies, Memory, Options, Streams};

#[cfg(test)]
mod tests;
