//! The places of everything: which partition holds which routers, and where their ports and queues stand in it.

use crate::engine::poll;
use crate::fabric::executor::Seat;
use crate::fabric::input_queued::options::config::Config;
use crate::fabric::zero_load::Ways;
use crate::topology::{Peer, Routers, Topology};
use phit_workload::Ranks;
use std::sync::Arc;

/// The partitions of routers, and the places of ports and queues in them.
pub(crate) struct Layout<'a> {
    pub(crate) parts: &'a [Routers],
    /// By router: its partition.
    pub(crate) homes: Vec<u32>,
    /// By router: its first port and input queue in its partition. Output channels count as input queues do.
    pub(crate) first: Vec<(u32, u32)>,
    /// By router: its first port among the ports of all routers.
    pub(crate) ports: Vec<u32>,
    /// By port of the network: the number of its first queue in its router.
    pub(crate) lanes: Vec<u32>,
    /// By port of the network: the router and the port whose output leads to it. Empty if the output of every port
    /// leads to the port whose output leads back.
    pub(crate) upstreams: Vec<Option<(u32, u16)>>,
    /// By partition: the sizes of its tables.
    pub(crate) sizes: Vec<Sizes>,
    /// The ranks of the partitions, if the endpoints execute a program.
    pub(crate) hosts: Option<Hosts>,
    /// By endpoint: its partition, where it must be known.
    pub(crate) homes_of_endpoints: Arc<[u32]>,
    /// True if only the sizes of tables count, and indices mean nothing.
    pub(crate) sample: bool,
}

/// The sizes of a partition's tables into which other tables point.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sizes {
    /// Ports.
    pub(crate) ports: u32,
    /// Input queues.
    pub(crate) queues: u32,
    /// Endpoints.
    pub(crate) endpoints: u32,
}

/// The partitions of a program's ranks, and the tables that their hosts share.
pub(crate) struct Hosts {
    /// The ranks of each partition.
    pub(crate) parts: Vec<Ranks>,
    /// By rank: its partition.
    pub(crate) homes: Arc<[u32]>,
    /// By slot: its seat.
    pub(crate) seats: Arc<[Seat]>,
    /// By endpoint: the number of its slot in its partition; `NO_SLOT` if it has none.
    pub(crate) slots: Arc<[u32]>,
    pub(crate) ways: Arc<Ways>,
}

/// The endpoints of a router.
pub(crate) fn endpoints_of(topology: &dyn Topology, router: u32) -> impl Iterator<Item = u32> {
    (0..topology.ports(router)).filter_map(move |port| match topology.port(router, port).peer {
        Peer::Endpoint(endpoint) => Some(endpoint),
        Peer::Router { .. } | Peer::None => None,
    })
}

impl<'a> Layout<'a> {
    /// The layout of a few routers whose tables are made to measure their size.
    pub(crate) fn sample(parts: &'a [Routers]) -> Self {
        let (homes, first, ports) = (Vec::new(), Vec::new(), Vec::new());
        let (lanes, upstreams, sizes) = (Vec::new(), Vec::new(), Vec::new());
        let (hosts, homes_of_endpoints) = (None, Arc::default());
        Self { parts, homes, first, ports, lanes, upstreams, sizes, hosts, homes_of_endpoints, sample: true }
    }

    pub(crate) fn new(parts: &'a [Routers], topology: &dyn Topology, config: &Config) -> Self {
        let routers = topology.routers() as usize;
        let mut layout = Self {
            parts,
            homes: vec![0; routers],
            first: vec![(0, 0); routers],
            ports: Vec::with_capacity(routers),
            lanes: Vec::new(),
            upstreams: Vec::new(),
            sizes: vec![Sizes::default(); parts.len()],
            hosts: None,
            homes_of_endpoints: Arc::default(),
            sample: false,
        };
        for (part, home) in parts.iter().zip(0..) {
            part.iter().for_each(|router| layout.homes[router as usize] = home);
        }
        let mut both_ways = true;
        for router in 0..topology.routers() {
            poll();
            layout.ports.push(layout.lanes.len() as u32);
            let size = &mut layout.sizes[layout.homes[router as usize] as usize];
            layout.first[router as usize] = (size.ports, size.queues);
            let mut lanes = 0;
            for number in 0..topology.ports(router) {
                let port = topology.port(router, number);
                layout.lanes.push(lanes);
                lanes += u32::from(config.links[port.class as usize].queues);
                match port.peer {
                    Peer::Router { router: to, port: into } => {
                        both_ways &= topology.port(to, into).peer == Peer::Router { router, port: number };
                    }
                    Peer::Endpoint(_) => size.endpoints += 1,
                    Peer::None => {}
                }
            }
            size.ports += u32::from(topology.ports(router));
            size.queues += lanes;
        }
        if !both_ways {
            layout.upstreams = layout.upstreams(topology);
        }
        layout
    }

    /// For each port of the network, the port whose output leads to it.
    pub(crate) fn upstreams(&self, topology: &dyn Topology) -> Vec<Option<(u32, u16)>> {
        let mut upstreams = vec![None; self.lanes.len()];
        for router in 0..topology.routers() {
            for port in 0..topology.ports(router) {
                if let Peer::Router { router: next, port: into } = topology.port(router, port).peer {
                    upstreams[self.port(next, into)] = Some((router, port));
                }
            }
        }
        upstreams
    }

    pub(crate) fn partition_of(&self, router: u32) -> u32 {
        if self.sample { 0 } else { self.homes[router as usize] }
    }

    /// The first port of a router in its partition.
    pub(crate) fn first_port(&self, router: u32) -> u32 {
        if self.sample { 0 } else { self.first[router as usize].0 }
    }

    /// The place of a port among the ports of all routers.
    pub(crate) fn port(&self, router: u32, port: u16) -> usize {
        self.ports[router as usize] as usize + usize::from(port)
    }

    /// First queue (equally: first channel) of a port.
    pub(crate) fn queues(&self, router: u32, port: u16) -> u32 {
        if self.sample {
            return 0;
        }
        self.first[router as usize].1 + self.lanes[self.port(router, port)]
    }

    /// The port whose output leads to a port of `router`, whose own output leads to `peer`.
    pub(crate) fn upstream(&self, router: u32, port: u16, peer: Peer) -> Option<(u32, u16)> {
        match (self.upstreams.is_empty(), peer) {
            (false, _) => self.upstreams[self.port(router, port)],
            (true, Peer::Router { router, port }) => Some((router, port)),
            (true, _) => None,
        }
    }
}
