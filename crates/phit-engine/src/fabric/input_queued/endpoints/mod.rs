//! What endpoints have to send, and what they keep under way.

pub(crate) mod admittance;
pub(crate) mod endpoint;
pub(crate) mod exchange;
pub(crate) mod hosted;
pub(crate) mod repeats;
pub(crate) mod streams;
