//! Chakra execution traces: a file a rank, each a graph of calculations, messages and collectives.

mod format;
mod graph;

pub use graph::{Compute, Dependencies, Memory, Options, read};

#[cfg(test)]
mod tests;
