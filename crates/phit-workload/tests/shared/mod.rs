//! Shared by several tests.

pub mod astra;
