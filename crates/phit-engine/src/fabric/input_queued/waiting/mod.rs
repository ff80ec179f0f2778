//! The waiting queues, and the queues that are looked at next.

pub(crate) mod agenda;
pub(crate) mod at_outputs;
pub(crate) mod candidates;
pub(crate) mod wait_lists;
pub(crate) mod watchers;
