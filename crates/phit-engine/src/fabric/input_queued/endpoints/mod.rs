//! What endpoints send, and who gets what arrives.

pub(crate) mod admittance;
pub(crate) mod endpoint;
pub(crate) mod exchange;
pub(crate) mod hosted;
pub(crate) mod repeats;
pub(crate) mod reserving;
pub(crate) mod room;
pub(crate) mod seam;
pub(crate) mod streams;
pub(crate) mod throttle;
