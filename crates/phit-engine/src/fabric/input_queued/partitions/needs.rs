//! The memory that a network of input-queued routers takes, calculated before it is built.
//!
//! The tables of some routers, spread over the network, are made and measured. From these follows the size of all
//! tables. Their later contents follow from the packets that are in the network at once.

use super::build::Plan;
use super::cut::fitting;
use crate::fabric::input_queued::endpoints::admittance::Admittance;
use crate::fabric::{Load, SAMPLED, spread};
use crate::packet::Packet;
use crate::topology::Routers;
use std::collections::BTreeMap;

/// Tables that a partition has once, however many routers are in it.
const ONCE: [&str; 4] = ["wheel", "times", "collector", "injection_bounds"];

/// Bytes of events about a packet or flit between two routers: its arrival, the credit that goes back, the times at
/// which its ports are free.
const EVENTS: f64 = 36.0;

/// Bytes of two snapshots of the counters of ports and endpoints, before and after the measurement, and of the
/// partitions' counts while one is taken.
const LOOKS: f64 = 24.0;

/// Bytes of the place of a router's counters while a snapshot is taken.
const LOOK_OF_A_ROUTER: f64 = 24.0;

/// Factor for the loss of allocators: growing tables are an eighth larger than their contents, and are copied as they
/// grow.
const SLACK: f64 = 1.1;

impl Plan<'_> {
    /// Bytes by part of the network.
    pub(crate) fn needs(&self, load: &Load) -> BTreeMap<&'static str, f64> {
        let topology = &*self.topology;
        let routers = topology.routers();
        let some = spread(SAMPLED, routers);
        let bytes = |routers: &mut dyn Iterator<Item = u32>| routers.map(|router| self.bytes_of(router) as f64).sum();
        let (sampled, ports): (f64, f64) =
            (bytes(&mut some.iter().copied()), some.iter().map(|&router| f64::from(topology.ports(router))).sum());
        // Routers may differ, so the tables of more routers are counted than made.
        let counted = spread(SAMPLED * 64, routers);
        let all: f64 = bytes(&mut counted.iter().copied());
        let all = all * f64::from(routers) / counted.len().max(1) as f64;
        let times = if sampled > 0.0 { all / sampled } else { 1.0 };
        let parts = fitting(self, all as u64).min(routers.max(1) as usize) as f64;
        let mut needs = BTreeMap::new();
        for (name, bytes) in self.tables_of(Routers::some(some, routers)) {
            let times = if ONCE.contains(&name) { parts } else { times };
            *needs.entry(name).or_default() += bytes as f64 * times;
        }
        *needs.entry("packets").or_default() += load.packets * size_of::<Packet>() as f64 * SLACK;
        *needs.entry("events").or_default() += load.flits * EVENTS * SLACK;
        let endpoints = f64::from(topology.endpoints());
        if self.config.admittance.is_some() {
            *needs.entry("admittances").or_default() += endpoints * Admittance::needs(topology.endpoints());
        }
        *needs.entry("looks").or_default() +=
            LOOKS * (ports * times + endpoints) + LOOK_OF_A_ROUTER * f64::from(routers);
        // By router: its place, and the places of its ports and queues while the network is built.
        *needs.entry("layout").or_default() += f64::from(routers) * 8.0;
        needs
    }
}
