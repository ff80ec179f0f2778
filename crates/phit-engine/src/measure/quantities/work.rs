//! Work of the routers, against which the speed of a run is measured.

use super::Counts;
use crate::measure::declare::{Quantity, WHOLE};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Grants of all routers since the start of the run. The kernels count them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Granted heads.
    pub packet_hops: u64,
    /// Granted flits.
    pub flit_hops: u64,
}

impl Counts for Work {
    const QUANTITIES: &'static [Quantity] = &[
        Quantity {
            name: "packet_hops",
            words: "hops of packets",
            about: "Number of times that routers have forwarded a packet, since the start of the run.",
            value: |at| json!(at.counters.work.packet_hops),
            ..WHOLE
        },
        Quantity {
            name: "flit_hops",
            words: "hops of flits",
            about: "Number of times that routers have forwarded a flit, since the start of the run.",
            value: |at| json!(at.counters.work.flit_hops),
            ..WHOLE
        },
    ];

    fn merge(&mut self, Self { packet_hops, flit_hops }: &Self) {
        self.packet_hops += packet_hops;
        self.flit_hops += flit_hops;
    }
}
