//! What is counted and made of it: collectors, histograms, confidence intervals, warm-up, fairness.

pub mod collector;
pub mod confidence;
pub mod declare;
pub mod fairness;
pub mod histogram;
pub mod quantities;
mod reading;
mod snapshot;
pub mod warmup;

pub use confidence::Interval;
pub use fairness::Fairness;
pub use histogram::Histogram;
pub use reading::{Cost, Machine, Reading};
pub use snapshot::Snapshot;
