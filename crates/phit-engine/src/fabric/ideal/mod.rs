//! The ideal network: messages that never wait for one another, so that programs run in the model of their hosts alone.

mod intake;
mod network;
mod params;

pub use params::{Ideal, Model};
