//! Chakra execution traces: a file for each rank, each a graph of calculations, messages and collectives.

mod files;
mod format;
mod graph;
mod json;

pub use files::{files, is_trace, notes, place_of, read_files};
pub use graph::{Compute, Dependencies, Memory, Options, Streams, read};

#[cfg(test)]
mod tests;
