//! What several tests need.

pub mod astra;
