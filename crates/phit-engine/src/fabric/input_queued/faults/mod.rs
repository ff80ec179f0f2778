//! Links, routers and endpoints that break, and packets of which a part is lost.

pub(crate) mod breakdown;
pub(crate) mod severed;
