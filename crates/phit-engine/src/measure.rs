//! Measurement: collectors, histograms, confidence intervals, warm-up and fairness.
//!
//! A kernel reports events to a collector. When a run ends, the quantities are computed from the merged counts of all
//! partitions. Come here for a new column of the results (`quantities/`).

mod collector;
mod confidence;
mod declare;
mod fairness;
mod flows;
mod histogram;
mod quantities;
mod reading;
mod snapshot;
mod steadiness;
mod student;
pub(crate) mod warmup;

pub use crate::bandwidth::Rate;
pub(crate) use collector::{Collector, Division, Loads, Offered, Window};
pub use confidence::Interval;
pub(crate) use confidence::{BATCHES, LEAST_BATCHES};
pub use declare::{Observable, Total};
pub(crate) use declare::{Of, Quantity, object, unit};
pub use fairness::Fairness;
pub use flows::FlowParams;
pub(crate) use flows::Sorting;
pub use histogram::Histogram;
pub(crate) use quantities::{Counters, Flow, Line, Precisions, Records, SATURATED_BELOW};
pub use quantities::{
    Iterations, MessageRow, OperationRow, PhaseRow, Place, Precision, Programs, RankRow, Receivers, Record, RequestRow,
    TrackRow,
};
pub use reading::{Cost, Machine, Reading};
pub(crate) use snapshot::Written;
pub use snapshot::{Share, Snapshot};
