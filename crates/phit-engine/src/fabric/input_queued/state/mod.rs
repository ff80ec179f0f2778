//! The records of a partition's routers, and the events that change them.

pub(crate) mod backlogs;
pub(crate) mod expiring;
pub(crate) mod kind;
pub(crate) mod lost;
pub(crate) mod outages;
pub(crate) mod pauses;
pub(crate) mod pools;
pub(crate) mod records;
pub(crate) mod severed;
