//! Cycles, loads, queue lengths, distributions and sizes are what theory says, exactly or within a stated bound.

#[path = "../common/mod.rs"]
mod common;

mod cascade;
mod clos;
mod latency;
mod memory;
mod queueing;
mod throughput;
mod traffic;
