//! Counters of links and endpoints at one moment.

use super::declare::Total;
use crate::engine::peers::garbled;
use crate::packet::MOST_CLASSES;
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters of links and endpoints at one moment. Phits on the wire are counted in the parts of `Rate`.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Phits carried by the link of each port, router by router. Empty for networks without such links.
    pub(crate) ports: Vec<u64>,
    /// Phits sent into the network by each endpoint.
    pub(crate) injected: Vec<u64>,
    /// Phits received by each endpoint, in networks without ports to count them at.
    pub(crate) ejected: Option<Vec<u64>>,
    /// Phits generated in the window, sent or not.
    pub(crate) offered: u64,
    /// Phits of control messages on links, by class, and the number of control messages.
    pub(crate) control: ([u64; MOST_CLASSES], u64),
    /// Totals of a managed queue organisation, by name: the declaration and the value.
    pub(crate) queueing: BTreeMap<&'static str, (&'static Total, u64)>,
}

/// The part of a network in one of several processes, in ascending order. A snapshot in that process covers these
/// routers and endpoints.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Share {
    /// Routers.
    pub(crate) routers: Vec<u32>,
    /// Endpoints.
    pub(crate) endpoints: Vec<u32>,
}

/// A snapshot in the form sent to another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Written {
    ports: Vec<u64>,
    injected: Vec<u64>,
    offered: u64,
    control: ([u64; MOST_CLASSES], u64),
    queueing: Vec<(String, u64)>,
}

impl Snapshot {
    /// Phits carried by the link of each port, router by router, in the parts of its `Rate`. Empty for networks without
    /// such links.
    pub fn ports(&self) -> &[u64] {
        &self.ports
    }

    /// Phits sent into the network by each endpoint, in the parts of its link's `Rate`.
    pub fn injected(&self) -> &[u64] {
        &self.injected
    }

    /// This snapshot in the form sent to another process.
    pub(crate) fn written(self) -> Written {
        let Self { ports, injected, ejected: _, offered, control, queueing } = self;
        let queueing = queueing.into_iter().map(|(name, (_, count))| (name.to_owned(), count)).collect();
        Written { ports, injected, offered, control, queueing }
    }

    /// Adds the counts between the snapshots `before` and `after`, `times` times.
    pub(crate) fn add_difference(&mut self, before: &Self, after: &Self, times: u64) {
        let add = |own: &mut [u64], before: &[u64], after: &[u64]| {
            for ((own, before), after) in own.iter_mut().zip(before).zip(after) {
                *own = own.saturating_add((after - before).saturating_mul(times));
            }
        };
        let Self { ports, injected, ejected, offered, control, queueing } = self;
        add(ports, &before.ports, &after.ports);
        add(injected, &before.injected, &after.injected);
        if let (Some(own), Some(before), Some(after)) = (ejected, &before.ejected, &after.ejected) {
            add(own, before, after);
        }
        add(&mut control.0, &before.control.0, &after.control.0);
        *offered += (after.offered - before.offered).saturating_mul(times);
        control.1 += (after.control.1 - before.control.1) * times;
        for (name, (_, count)) in queueing {
            let of = |snapshot: &Self| snapshot.queueing.get(name).map_or(0, |(_, count)| *count);
            *count += (of(after) - of(before)) * times;
        }
    }

    /// Adds the snapshot of another network with these endpoints. Its ports follow the present ones.
    pub(crate) fn beside(&mut self, other: Self) {
        let Self { ports, injected, ejected: _, offered, control, queueing } = other;
        self.ports.extend(ports);
        self.injected.iter_mut().zip(injected).for_each(|(sum, phits)| *sum += phits);
        self.offered += offered;
        self.control.0.iter_mut().zip(control.0).for_each(|(sum, phits)| *sum += phits);
        self.control.1 += control.1;
        for (name, (total, count)) in queueing {
            self.queueing.entry(name).or_insert((total, 0)).1 += count;
        }
    }

    /// The snapshot of the whole network, from the snapshots of its shares. `self`, one of the shares, knows which
    /// totals there are.
    pub(crate) fn whole(&self, shares: Vec<(&Share, Written)>, topology: &dyn Topology) -> Self {
        let mut first = Vec::with_capacity(topology.routers() as usize);
        let mut ports = 0;
        for router in 0..topology.routers() {
            first.push(ports);
            ports += usize::from(topology.ports(router));
        }
        let mut all = Self {
            ports: vec![0; ports],
            injected: vec![0; topology.endpoints() as usize],
            queueing: self.queueing.iter().map(|(name, (total, _))| (*name, (*total, 0))).collect(),
            ..Self::default()
        };
        for (share, Written { ports, injected, offered, control, queueing }) in shares {
            let mut ports = ports.into_iter();
            for &router in &share.routers {
                let own = all.ports[first[router as usize]..].iter_mut().take(topology.ports(router).into());
                own.zip(&mut ports).for_each(|(all, phits)| *all = phits);
            }
            share.endpoints.iter().zip(injected).for_each(|(&endpoint, phits)| all.injected[endpoint as usize] = phits);
            all.offered += offered;
            all.control.0.iter_mut().zip(control.0).for_each(|(sum, phits)| *sum += phits);
            all.control.1 += control.1;
            for (name, count) in queueing {
                let Some((_, sum)) = all.queueing.get_mut(name.as_str()) else {
                    garbled(format_args!("a total {name}"));
                };
                *sum += count;
            }
        }
        all
    }
}
