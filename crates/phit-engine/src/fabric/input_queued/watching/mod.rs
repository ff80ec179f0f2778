//! Views of a network between two ticks, which change nothing: probes, snapshots, audits, deadlocks.

pub(crate) mod audit;
pub(crate) mod follow;
pub(crate) mod observe;
pub(crate) mod remember;
pub(crate) mod snapshot;
pub(crate) mod stuck;
