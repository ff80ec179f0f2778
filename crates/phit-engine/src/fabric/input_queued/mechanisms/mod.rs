//! Requests of policies above the seams: the routing mechanism, the queue organisation, probes.

pub(crate) mod management;
pub(crate) mod probing;
pub(crate) mod signals;
