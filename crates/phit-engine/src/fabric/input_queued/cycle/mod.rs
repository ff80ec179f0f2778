//! One cycle of the routers, stage by stage.

pub(crate) mod alternatives;
pub(crate) mod blocks;
pub(crate) mod channels;
pub(crate) mod congestion;
pub(crate) mod control;
pub(crate) mod events;
pub(crate) mod feedback;
pub(crate) mod grants;
pub(crate) mod heads;
pub(crate) mod hosts;
pub(crate) mod leaving;
pub(crate) mod listing;
pub(crate) mod lone;
pub(crate) mod losses;
pub(crate) mod managed;
pub(crate) mod pauses;
pub(crate) mod reservations;
pub(crate) mod rounds;
pub(crate) mod sending;
pub(crate) mod sleeping;
pub(crate) mod speculation;
pub(crate) mod step;
pub(crate) mod transfer;
pub(crate) mod vain;
pub(crate) mod waking;
