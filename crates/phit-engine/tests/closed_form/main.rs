//! Cycles, loads, queue lengths, distributions and sizes are what theory says, exactly or within a stated bound.

#[path = "../common/mod.rs"]
mod common;

// The engine's own toy topology, which traffic.rs includes, names them so.
use phit_engine::{engine, topology};

mod cascade;
mod clos;
mod dcqcn;
mod faults;
mod latency;
mod memory;
mod options;
mod planes;
mod queueing;
mod requests;
mod reservations;
mod throughput;
mod traffic;
