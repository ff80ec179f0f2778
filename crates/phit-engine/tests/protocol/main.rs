//! The rules are kept step by step: what a topology promises, conservation, credits, allocation, order, and the same
//! result on any number of threads and partitions.

#[path = "../common/mod.rs"]
mod common;

mod adaptive;
mod allocation;
mod around;
mod asking;
mod bubble;
mod classes;
mod congestion;
mod conservation;
mod crowds;
mod determinism;
mod documents;
mod faults;
mod fbicm;
mod flexvc;
mod flows;
mod following;
mod functions;
mod graphs;
mod kernels;
mod limits;
mod links;
mod measure;
mod pauses;
mod planes;
mod possible;
mod processes;
mod requests;
mod reservations;
mod speeds;
mod sums;
mod tables;
mod topology;
mod wires;
