//! The ideal network: messages never wait for one another, so programs run in the model of their hosts alone.

mod intake;
mod network;
mod params;

pub use params::{Ideal, Model};
