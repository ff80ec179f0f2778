//! Events, and mail from one partition to another.

pub(crate) mod mail;
pub(crate) mod messages;
pub(crate) mod notices;
pub(crate) mod office;
