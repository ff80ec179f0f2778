//! Routing tables: one output port for every router and destination.

use super::{Hop, HopState, Hops, Leg, Topology};

/// The output port of every router for every destination endpoint, as distributed table-based routing has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTable {
    ports: Vec<u16>,
    endpoints: u32,
    /// Packets that no queue organisation isolates may take any other minimal way instead.
    pub adaptive: bool,
}

/// Routes of one leg.
const DIRECT: Leg = Leg { index: 0, of: 1, to_group: false };

/// Most entries of a table.
pub(crate) const MOST_ENTRIES: u64 = 1 << 28;

impl RouteTable {
    /// One minimal route from every router to every destination, balanced over the links: where several hops are
    /// minimal, the destination decides. In a tree the up-port is the destination's digit of the level (Gomez,
    /// Gilabert, Gomez, Lopez and Duato, "Deterministic versus adaptive routing in fat-trees", IPDPS 2007), so that
    /// consecutive destinations leave a router over different links, and all packets for one destination come down the
    /// same way; elsewhere it is the destination's number modulo the number of hops. `None` if the table would have
    /// more than `MOST_ENTRIES`.
    pub fn balanced(topology: &dyn Topology) -> Option<Self> {
        let (routers, endpoints) = (topology.routers(), topology.endpoints());
        if u64::from(routers) * u64::from(endpoints) > MOST_ENTRIES {
            return None;
        }
        let vcs = topology.vcs_needed(DIRECT).0;
        let mut table =
            Self { ports: Vec::with_capacity(routers as usize * endpoints as usize), endpoints, adaptive: false };
        let mut hops = Vec::new();
        for router in 0..routers {
            let mut listed = None;
            for destination in 0..endpoints {
                let (to, ejection) = topology.attachment(destination);
                if to == router {
                    table.ports.push(ejection);
                    continue;
                }
                if listed != Some(to) {
                    hops.clear();
                    topology.minimal_hops(router, to, DIRECT, START, &vcs, &mut hops);
                    listed = Some(to);
                }
                table.ports.push(choose(topology, router, to, destination, &hops));
            }
        }
        Some(table)
    }

    /// The output port of `router` for `destination`.
    #[inline]
    pub fn port(&self, router: u32, destination: u32) -> u16 {
        self.ports[router as usize * self.endpoints as usize + destination as usize]
    }

    /// Replaces the output port of `router` for `destination`.
    pub fn set(&mut self, router: u32, destination: u32, port: u16) {
        self.ports[router as usize * self.endpoints as usize + destination as usize] = port;
    }

    /// The destinations that `router` reaches over `port`, in order.
    pub fn behind(&self, router: u32, port: u16) -> impl Iterator<Item = u32> + '_ {
        (0..self.endpoints).filter(move |destination| self.port(router, *destination) == port)
    }

    /// Number of endpoints.
    pub fn endpoints(&self) -> u32 {
        self.endpoints
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.ports.capacity() * 2
    }
}

/// What a packet has behind it that has gone nowhere.
const START: HopState = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };

fn choose(topology: &dyn Topology, router: u32, to: u32, destination: u32, hops: &[Hop]) -> u16 {
    let ascent = topology.tree().and_then(|tree| {
        let place = tree.place(router);
        let up = || tree.down(place.level) + tree.digit(place.level, destination);
        tree.descent(place, to).is_none().then(up)
    });
    let chosen = match ascent {
        // With faulty links the next one on and around that leads there.
        Some(port) => hops.iter().find(|hop| hop.port >= port).or(hops.first()),
        None => hops.get(destination as usize % hops.len().max(1)),
    };
    chosen.map_or(0, |hop| hop.port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Peer, TopologyKind};
    use serde_json::json;

    fn built(value: serde_json::Value) -> (std::sync::Arc<dyn Topology>, RouteTable) {
        let topology = TopologyKind::from_value("topology", &value).unwrap().build().unwrap();
        let table = RouteTable::balanced(&*topology).unwrap();
        (topology, table)
    }

    /// Links from `source` to `destination`, the way the table leads.
    fn route(topology: &dyn Topology, table: &RouteTable, source: u32, destination: u32) -> Vec<(u32, u16)> {
        let mut at = topology.attachment(source).0;
        let mut links = Vec::new();
        loop {
            let port = table.port(at, destination);
            match topology.port(at, port).peer {
                Peer::Endpoint(endpoint) => {
                    assert_eq!(endpoint, destination);
                    return links;
                }
                Peer::Router { router, .. } => {
                    links.push((at, port));
                    at = router;
                }
                Peer::None => panic!("the route from {source} to {destination} ends at router {at}"),
            }
        }
    }

    #[test]
    fn a_tree_carries_the_same_load_on_every_link() {
        // k-ary n-trees: of all pairs, as many cross one link of a stage as another, and each link downwards has one
        // destination.
        for (arity, levels) in [(2, 2), (2, 4), (4, 3), (3, 3)] {
            let (topology, table) = built(json!({ "kind": "k_ary_n_tree", "arity": arity, "levels": levels }));
            let n = topology.endpoints();
            let mut loads = std::collections::BTreeMap::new();
            let mut below = std::collections::BTreeMap::new();
            for (source, destination) in (0..n).flat_map(|s| (0..n).map(move |d| (s, d))) {
                let links = route(&*topology, &table, source, destination);
                let (a, b) = (topology.attachment(source).0, topology.attachment(destination).0);
                assert_eq!(links.len() as u32, topology.distance(a, b), "minimal");
                for link in links {
                    *loads.entry(link).or_insert(0) += 1;
                    let tree = topology.tree().unwrap();
                    if link.1 < tree.down(tree.level(link.0)) {
                        assert_eq!(
                            *below.entry(link).or_insert(destination),
                            destination,
                            "one destination below {link:?}"
                        );
                    }
                }
            }
            let tree = topology.tree().unwrap();
            for level in 0..tree.levels() {
                let up: Vec<u32> = loads
                    .iter()
                    .filter(|((r, p), _)| tree.level(*r) == level && *p >= tree.down(level))
                    .map(|(_, load)| *load)
                    .collect();
                assert!(up.iter().all(|load| *load == up[0]), "up-links of level {level}: {up:?}");
                assert_eq!(up.len() as u32, if level + 1 < tree.levels() { n } else { 0 });
            }
        }
    }

    #[test]
    fn consecutive_destinations_leave_over_different_links() {
        let (topology, table) = built(json!({ "kind": "k_ary_n_tree", "arity": 4, "levels": 3 }));
        let tree = topology.tree().unwrap();
        // From router 0: destinations 16 to 19 are elsewhere, and take up-ports 0 to 3.
        assert_eq!((16..20).map(|d| table.port(0, d) - tree.down(0)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        // One level up the next digit decides.
        assert_eq!((16..24).map(|d| table.port(16, d) - tree.down(1)).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn every_route_of_any_topology_is_minimal() {
        for value in [
            json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 }),
            json!({ "kind": "mesh", "dims": [3, 4] }),
            json!({ "kind": "hyperx", "dims": [3, 2], "parallel": [2, 1] }),
            json!({ "kind": "clos", "down": [3, 3], "up": [3], "faults": { "links": [[0, 3], [2, 4]] } }),
        ] {
            let (topology, table) = built(value);
            for (s, d) in (0..topology.endpoints()).flat_map(|s| (0..topology.endpoints()).map(move |d| (s, d))) {
                let distance = topology.distance(topology.attachment(s).0, topology.attachment(d).0);
                assert_eq!(route(&*topology, &table, s, d).len() as u32, distance);
            }
        }
    }

    #[test]
    fn a_port_has_its_destinations_behind_it() {
        let (_, mut table) = built(json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 2 }));
        // Router 0 has endpoints 0 and 1; 2 and 3 are reached over its up-ports 2 and 3.
        assert_eq!(table.behind(0, 2).collect::<Vec<_>>(), [2]);
        table.set(0, 3, 2);
        assert_eq!(table.behind(0, 2).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(table.behind(0, 3).count(), 0);
    }
}
