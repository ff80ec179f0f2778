//! Who is given a virtual channel, a path through the crossbar or a connection.

pub(crate) mod connections;
pub(crate) mod paths;
pub(crate) mod vc_allocation;
