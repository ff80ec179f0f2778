//! The allocation of virtual channels, of paths through the crossbar and of connections.

pub(crate) mod connections;
pub(crate) mod paths;
pub(crate) mod vc_allocation;
