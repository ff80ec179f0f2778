//! Everything that never changes in a run unless something fails: the places of ports and queues, the times of flits.

pub(crate) mod layout;
pub(crate) mod passage;
pub(crate) mod rates;
pub(crate) mod setup;
