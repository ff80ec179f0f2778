//! What crosses from one partition to another.

pub(crate) mod mail;
pub(crate) mod messages;
