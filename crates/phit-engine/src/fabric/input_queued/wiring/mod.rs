//! Everything that never changes in a run: the places of ports and queues, and the times of flits.

pub(crate) mod layout;
pub(crate) mod passage;
pub(crate) mod rates;
