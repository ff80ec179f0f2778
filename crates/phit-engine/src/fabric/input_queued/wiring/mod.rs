//! What never changes in a run: where everything stands, and how long a flit takes.

pub(crate) mod layout;
pub(crate) mod passage;
pub(crate) mod rates;
