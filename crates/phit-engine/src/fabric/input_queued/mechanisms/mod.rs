//! What policies above the seams have asked for: the routing mechanism, the queue organisation, probes.

pub(crate) mod management;
pub(crate) mod probing;
pub(crate) mod signals;
