//! Events, and mail from one partition to another.

pub(crate) mod mail;
pub(crate) mod messages;
pub(crate) mod office;
