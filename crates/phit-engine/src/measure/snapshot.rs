//! Counters of links and endpoints at one moment.

use super::declare::Total;
use crate::packet::MOST_CLASSES;
use std::collections::BTreeMap;

/// Counters of links and endpoints at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Phits put on the link of each port, router by router.
    pub(crate) ports: Vec<u64>,
    /// Phits injected by each endpoint.
    pub(crate) injected: Vec<u64>,
    /// Phits generated in the window, sent or not.
    pub(crate) offered: u64,
    /// Phits of control messages put on links, by class, and the number of control messages.
    pub(crate) control: ([u64; MOST_CLASSES], u64),
    /// What a managed queue organisation has counted, by name: what it is, and how much.
    pub(crate) queueing: BTreeMap<&'static str, (&'static Total, u64)>,
}
