//! How a network is cut into partitions, built and run.

pub(crate) mod build;
pub(crate) mod carriage;
pub(crate) mod cut;
pub(crate) mod needs;
pub(crate) mod network;
pub(crate) mod ports;
