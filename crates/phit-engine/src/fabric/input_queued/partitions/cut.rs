//! How a network is cut into partitions.
//!
//! This file decides which links may be cut, into how many parts, and along which links. A part may run ahead of
//! another by the latency of the links between them. Therefore the longest links are cut first, and shorter ones only
//! where parts would be too large otherwise:
//!
//! * Routers that are joined by links shorter than a bound stay together, and so do routers with endpoints of one rank
//!   of a program. The bound is the longest that leaves several *blocks of routers*, and enough blocks for the threads:
//!   in a Dragonfly, its groups.
//! * Blocks are put together into *clusters* of about [`CACHED`] bytes. Clusters run ahead of one another by the
//!   latency of the links between them.
//! * Much larger clusters are cut again, at the next shorter links, into partitions that take turns while their
//!   cluster's turn lasts.
//!
//! No cut changes a result: events of one tick may come in any order, so their way makes no difference.

use super::build::Plan;
use crate::engine::parallel::{Cluster, Schedule};
use crate::engine::{NONE, Tick, aside, poll};
use crate::topology::{Peer, Routers, Topology};
use petgraph::unionfind::UnionFind;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Epochs shorter than this do not pay for switching from one partition to the next on one thread.
const WORTHWHILE_EPOCH: Tick = 8;
/// Bytes of tables that stay in a private cache, beside the packets in them, while a partition runs an epoch.
const CACHED: u64 = 176 << 10;
/// Fewest partitions for each of several threads, unless these would be smaller than half of [`CACHED`]. A thread that
/// is done takes partitions of another thread. The larger partitions are, the longer one thread waits for the other.
const FEWEST_TURNS: usize = 7;
/// A cluster is cut again if it has more than this many times [`CACHED`] bytes. Its parts take turns of a tenth of the
/// time, which pays only for large clusters: a group of 1,058 endpoints, four times [`CACHED`], was slower in four
/// parts.
const TOO_LARGE: u64 = 16;
/// With fewer vertices than this for each part, choosing among them gains nothing.
const FEWEST_VERTICES: usize = 8;
/// With more vertices than this for each part, neighbours in the order of numbers are merged: cuts would hardly become
/// better, and take longer.
const MOST_VERTICES: usize = 64;

/// Number of parts that fit the cache, for a network with `bytes` bytes of tables; 1 if cutting does not pay.
pub(crate) fn fitting(plan: &Plan<'_>, bytes: u64) -> usize {
    let cuts = plan.lookaheads().iter().skip(1).any(|&lookahead| lookahead >= WORTHWHILE_EPOCH);
    if cuts && !plan.routing.reads_everything() { (bytes / CACHED).max(1) as usize } else { 1 }
}

/// The parts of a network, and how they take turns.
pub(crate) struct Cut {
    /// The routers of each part.
    pub parts: Vec<Routers>,
    /// The order in which the parts run.
    pub schedule: Schedule,
}

/// The graph to be cut, with the latencies of its links and the sizes of its routers.
struct Cutter<'a> {
    topology: &'a dyn Topology,
    /// By link class: ticks from a decision at one end to its effect at the other.
    lookaheads: &'a [Tick],
    /// By router: bytes of its tables.
    bytes: &'a [u64],
    /// Pairs of routers that stay together, because they have endpoints of one rank.
    together: Vec<(u32, u32)>,
}

impl Cut {
    /// Cuts the network of `plan` for `threads` threads, in `partitions` parts, if it has enough routers.
    pub(crate) fn new(plan: &Plan<'_>, threads: usize, partitions: Option<usize>) -> Self {
        let topology = &*plan.topology;
        let routers = topology.routers() as usize;
        let whole = || Self { parts: Routers::of_parts(&vec![0; routers], 1), schedule: Schedule::whole(1, Tick::MAX) };
        let bytes: Vec<u64> = (0..topology.routers()).map(|router| plan.bytes_of(router)).collect();
        let fitting = (bytes.iter().sum::<u64>() / CACHED).max(1) as usize;
        let chosen = partitions.is_none();
        let alone = plan.routing.reads_everything();
        let turns = if threads > 1 { (FEWEST_TURNS * threads).min(2 * fitting) } else { 1 };
        // Each thread gets an equal number of parts: if one thread had a part more, all others would wait for its turn.
        let even = fitting.max(turns).max(threads).next_multiple_of(threads.max(1));
        let count = if alone { 1 } else { partitions.unwrap_or(even).clamp(1, routers.max(1)) };
        if count == 1 {
            return whole();
        }
        let cutter = Cutter { topology, lookaheads: &plan.lookaheads(), bytes: &bytes, together: plan.together() };
        let levels = cutter.levels();
        // On one thread, and beyond the number of threads, short epochs do not pay.
        let worthwhile = |bound: Tick| !chosen || bound >= WORTHWHILE_EPOCH;
        let outer = levels.iter().find_map(|&bound| {
            let blocks = cutter.blocks(bound);
            (blocks.count > 1 && blocks.count >= threads.min(routers)).then_some((bound, blocks))
        });
        let Some((bound, blocks)) = outer.filter(|(bound, _)| worthwhile(*bound) || threads > 1) else {
            return whole();
        };
        let count = if worthwhile(bound) { count } else { threads.min(routers) };
        let all: Vec<u32> = (0..topology.routers()).collect();
        let clusters = cutter.parts(&all, &blocks, count.min(blocks.count));
        let total = bytes.iter().sum::<u64>().max(1);
        let mut before = 0;
        // The number of parts of each cluster: several if `partitions` demands more parts, or if the cluster is too
        // large.
        let pieces: Vec<usize> = clusters
            .iter()
            .map(|cluster| {
                let size: u64 = cluster.iter().map(|&router| bytes[router as usize]).sum();
                let share = |bytes: u64| (u128::from(bytes) * count as u128 / u128::from(total)) as usize;
                let first = share(before);
                before += size;
                match chosen {
                    true if size > TOO_LARGE * CACHED => (size / CACHED) as usize,
                    false if count > clusters.len() => share(before) - first,
                    _ => 1,
                }
            })
            .collect();
        let shorter = levels.iter().copied().find(|&shorter| shorter < bound && worthwhile(shorter));
        let again = shorter.filter(|_| pieces.iter().any(|pieces| *pieces > 1)).map(|shorter| cutter.blocks(shorter));
        let mut homes = vec![0; routers];
        let (mut parts, mut ends) = (0, Vec::new());
        for (cluster, pieces) in clusters.into_iter().zip(pieces) {
            let pieces = match &again {
                Some(blocks) if pieces > 1 => cutter.parts(&cluster, blocks, pieces),
                _ => vec![cluster],
            };
            for piece in pieces {
                piece.iter().for_each(|&router| homes[router as usize] = parts);
                parts += 1;
            }
            ends.push(parts);
        }
        Self { schedule: cutter.schedule(&homes, &ends), parts: Routers::of_parts(&homes, parts as usize) }
    }
}

impl Cut {
    /// The partitions shared out among processes, in runs of about equal size: by process, the partition after its
    /// last. `None` if there are fewer clusters than processes.
    pub(crate) fn shares(&self, plan: &Plan<'_>, processes: usize) -> Option<Vec<usize>> {
        let clusters = &self.schedule.clusters;
        if clusters.len() < processes {
            return None;
        }
        let mut start = 0;
        let sizes = clusters.iter().map(|cluster| {
            let parts = &self.parts[std::mem::replace(&mut start, cluster.end)..cluster.end];
            parts.iter().flat_map(Routers::iter).map(|router| plan.bytes_of(router)).sum()
        });
        let homes = in_runs(&sizes.collect::<Vec<u64>>(), processes);
        let end = |process: u32| clusters[homes.partition_point(|home| *home <= process) - 1].end;
        Some((0..processes as u32).map(end).collect())
    }
}

/// Groups of routers that are not cut apart.
struct Blocks {
    /// By router: the number of its block.
    of: Vec<u32>,
    count: usize,
}

impl Cutter<'_> {
    /// Calls `see` with the far router and the class of every link from `router` to another router.
    fn links_of(&self, router: u32, mut see: impl FnMut(u32, u8)) {
        poll();
        for port in 0..self.topology.ports(router) {
            let port = self.topology.port(router, port);
            if let Peer::Router { router: to, .. } = port.peer {
                see(to, port.class);
            }
        }
    }

    fn lookahead(&self, class: u8) -> Tick {
        self.lookaheads[usize::from(class)]
    }

    /// The lookaheads of links between routers, the longest first.
    fn levels(&self) -> Vec<Tick> {
        let mut classes = 0u32;
        for router in 0..self.topology.routers() {
            self.links_of(router, |_, class| classes |= 1 << class);
        }
        let levels = (0..self.lookaheads.len() as u8).filter(|class| classes >> class & 1 != 0);
        levels.map(|class| self.lookahead(class)).collect::<BTreeSet<_>>().into_iter().rev().collect()
    }

    /// Routers joined by links shorter than `bound`.
    fn blocks(&self, bound: Tick) -> Blocks {
        let routers = self.topology.routers();
        let shorter = self.lookaheads.iter().any(|&lookahead| lookahead < bound);
        let mut joined = UnionFind::<u32>::new(routers as usize);
        for router in (0..routers).filter(|_| shorter) {
            self.links_of(router, |to, class| {
                if self.lookahead(class) < bound {
                    joined.union(router, to);
                }
            });
        }
        for &(router, other) in &self.together {
            joined.union(router, other);
        }
        let labels = joined.into_labeling();
        let (mut numbers, mut count) = (vec![NONE; routers as usize], 0);
        let mut of = Vec::with_capacity(routers as usize);
        for label in labels {
            let number = &mut numbers[label as usize];
            if *number == NONE {
                *number = count;
                count += 1;
            }
            of.push(*number);
        }
        Blocks { of, count: count as usize }
    }

    /// `routers` in up to `count` parts of about equal size, of whole blocks.
    fn parts(&self, routers: &[u32], blocks: &Blocks, count: usize) -> Vec<Vec<u32>> {
        // Blocks by the order of their first routers.
        let mut vertex_of = std::collections::HashMap::new();
        let mut vertices: Vec<u32> = Vec::with_capacity(routers.len());
        for &router in routers {
            let next = vertex_of.len() as u32;
            vertices.push(*vertex_of.entry(blocks.of[router as usize]).or_insert(next));
        }
        let mut number = vertex_of.len();
        let count = count.clamp(1, number.max(1));
        if count == 1 {
            return vec![routers.to_vec()];
        }
        let run = (number / (count * MOST_VERTICES)).max(1);
        vertices.iter_mut().for_each(|vertex| *vertex /= run as u32);
        number = number.div_ceil(run);
        let mut sizes = vec![0u64; number];
        for (&router, &vertex) in routers.iter().zip(&vertices) {
            sizes[vertex as usize] += self.bytes[router as usize];
        }
        let chosen =
            if number >= count * FEWEST_VERTICES { self.metis(routers, &vertices, &sizes, count) } else { None };
        let homes = chosen.unwrap_or_else(|| in_runs(&sizes, count));
        let mut parts = vec![Vec::new(); count];
        for (&router, &vertex) in routers.iter().zip(&vertices) {
            parts[homes[vertex as usize] as usize].push(router);
        }
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// The part of each vertex. Few links are cut, and long links rather than short ones. `vertices` has the vertex of
    /// each of `routers`.
    fn metis(&self, routers: &[u32], vertices: &[u32], sizes: &[u64], count: usize) -> Option<Vec<u32>> {
        let mut vertex_of = vec![NONE; self.topology.routers() as usize];
        routers.iter().zip(vertices).for_each(|(&router, &vertex)| vertex_of[router as usize] = vertex);
        let shortest = self.lookaheads.iter().skip(1).copied().min().unwrap_or(1).max(1);
        let mut edges: Vec<(u32, u32, i32)> = Vec::new();
        for (&router, &vertex) in routers.iter().zip(vertices) {
            self.links_of(router, |to, class| {
                let far = vertex_of[to as usize];
                if far != NONE && far != vertex {
                    let weight = (u64::from(shortest) * 64 / u64::from(self.lookahead(class).max(1))).max(1) as i32;
                    // Flits over a link come back as credits.
                    edges.extend([(vertex, far, weight), (far, vertex, weight)]);
                }
            });
        }
        edges.sort_unstable();
        edges.dedup_by(|next, edge| {
            let same = (next.0, next.1) == (edge.0, edge.1);
            if same {
                edge.2 = edge.2.saturating_add(next.2);
            }
            same
        });
        let mut ends = vec![0i32; sizes.len() + 1];
        edges.iter().for_each(|(from, ..)| ends[*from as usize + 1] += 1);
        (1..ends.len()).for_each(|at| ends[at] += ends[at - 1]);
        let to: Vec<i32> = edges.iter().map(|(_, to, _)| *to as i32).collect();
        let weights: Vec<i32> = edges.iter().map(|(.., weight)| *weight).collect();
        // Sizes are scaled so that their sum fits.
        let unit = sizes.iter().sum::<u64>() / 1_000_000_000 + 1;
        let sizes: Vec<i32> = sizes.iter().map(|size| (size / unit).max(1) as i32).collect();
        let homes = aside(move || bisect(&ends, &to, &weights, &sizes, count))?;
        homes.into_iter().map(|home| u32::try_from(home).ok().filter(|home| (*home as usize) < count)).collect()
    }

    /// The schedule of partitions. `homes` has the partition of each router, `ends` the partition after each cluster's
    /// last.
    fn schedule(&self, homes: &[u32], ends: &[u32]) -> Schedule {
        let cluster_of = |part: u32| ends.partition_point(|end| *end <= part);
        let mut inside = vec![Tick::MAX; ends.len()];
        let mut between = Tick::MAX;
        for router in 0..self.topology.routers() {
            let here = homes[router as usize];
            self.links_of(router, |to, class| {
                let there = homes[to as usize];
                if here != there {
                    let cluster = cluster_of(here);
                    let lookahead = if cluster == cluster_of(there) { &mut inside[cluster] } else { &mut between };
                    *lookahead = (*lookahead).min(self.lookahead(class));
                }
            });
        }
        let clusters = ends.iter().zip(inside).map(|(&end, lookahead)| Cluster { end: end as usize, lookahead });
        Schedule { clusters: clusters.collect(), lookahead: between }
    }
}

/// METIS's recursive bisection of a graph in compressed rows: the part of each vertex.
fn bisect(ends: &[i32], to: &[i32], weights: &[i32], sizes: &[i32], count: usize) -> Option<Vec<i32>> {
    // The library has one random stream for the whole process. A cut depends on the network alone only if nobody else
    // draws.
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock();
    let mut homes = vec![0; sizes.len()];
    let graph = metis::Graph::new(1, count as i32, ends, to).ok()?;
    graph.set_vwgt(sizes).set_adjwgt(weights).part_recursive(&mut homes).ok()?;
    drop(alone);
    Some(homes)
}

/// The part of each vertex: runs of about equal size, in the order of numbers, none of them empty.
fn in_runs(sizes: &[u64], count: usize) -> Vec<u32> {
    let total = sizes.iter().sum::<u64>().max(1);
    let (mut before, mut part) = (0, 0);
    let mut homes = Vec::with_capacity(sizes.len());
    for (vertex, &size) in sizes.iter().enumerate() {
        // The part in which the vertex's middle lies, unless that leaves a part without vertices.
        let middle = ((2 * before + size) as u128 * count as u128 / (2 * total) as u128) as usize;
        let at_least = (vertex + count).saturating_sub(sizes.len());
        part = middle.clamp(at_least.max(part), (part + usize::from(vertex > 0)).max(at_least)).min(count - 1);
        homes.push(part as u32);
        before += size;
    }
    homes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::input_queued::InputQueued;
    use crate::run::{Options, Simulation};
    use crate::scenario::Scenario;
    use serde_json::{Value, json};

    #[test]
    fn runs_are_even_and_none_is_empty() {
        assert_eq!(in_runs(&[1; 6], 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(in_runs(&[1; 5], 2), [0, 0, 1, 1, 1]);
        assert_eq!(in_runs(&[10, 1, 1, 1], 3), [0, 1, 2, 2]);
        assert_eq!(in_runs(&[1, 1, 10], 3), [0, 1, 2]);
        for count in 1..=9 {
            let homes = in_runs(&[5, 1, 1, 30, 2, 2, 0, 9, 1], count);
            assert_eq!(homes.iter().collect::<BTreeSet<_>>().len(), count, "{homes:?}");
            assert!(homes.is_sorted());
        }
    }

    /// An empty network. Links take 10 cycles, links between groups 100.
    fn network(topology: &Value, threads: usize, partitions: Option<usize>) -> Simulation {
        let document = json!({
            "topology": topology,
            "router": { "links": {
                "default": { "latency": 10, "vcs": 4, "buffer": 32 },
                "global": { "latency": 100, "vcs": 4, "buffer": 32 },
            } },
            "traffic": { "load": 0, "packet_size": 4 },
        });
        let mut document = document;
        if !["dragonfly", "cascade"].iter().any(|kind| topology["kind"] == *kind) {
            document["router"]["links"].as_object_mut().unwrap().remove("global");
        }
        Simulation::new(&Scenario::from_value(&document).unwrap(), Options { threads, partitions }).unwrap()
    }

    /// The partition of each router. Checks that every router is in one partition, and that effects reach no partition
    /// whose turn has begun.
    fn homes(network: &Simulation) -> (Vec<usize>, Schedule) {
        let topology = &*network.blueprint().topology;
        let mut homes = vec![usize::MAX; topology.routers() as usize];
        for (partition, home) in network.parts().iter().zip(0..) {
            assert!(!partition.setup.routers.is_empty());
            for router in partition.setup.routers.iter() {
                assert_eq!(std::mem::replace(&mut homes[router as usize], home), usize::MAX);
            }
        }
        assert!(homes.iter().all(|home| *home < network.parts().len()));
        let schedule = network.kernel::<InputQueued>().unwrap().schedule().clone();
        assert_eq!(schedule.clusters.last().unwrap().end, network.parts().len());
        let cluster = |part: usize| schedule.clusters.partition_point(|cluster| cluster.end <= part);
        for router in 0..topology.routers() {
            for port in (0..topology.ports(router)).map(|port| topology.port(router, port)) {
                let Peer::Router { router: to, .. } = port.peer else { continue };
                let (here, there) = (homes[router as usize], homes[to as usize]);
                let ahead = match cluster(here) == cluster(there) {
                    true => schedule.clusters[cluster(here)].lookahead,
                    false => schedule.lookahead,
                };
                assert!(here == there || ahead <= 1 + network.blueprint().links[usize::from(port.class)].latency);
            }
        }
        (homes, schedule)
    }

    #[test]
    fn long_links_are_cut_first_and_short_ones_within_clusters() {
        let dragonfly = json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 });
        for (count, expected, epochs) in [
            (1, 1, (None, None)),
            (4, 4, (Some(101), None)),
            (9, 9, (Some(101), None)),
            (27, 27, (Some(101), Some(11))),
        ] {
            let network = network(&dragonfly, 1, Some(count));
            let (homes, schedule) = homes(&network);
            assert_eq!(network.parts().len(), expected);
            let topology = &network.blueprint().topology;
            let split = (0..36).any(|router| {
                homes[router] != homes[topology.group_routers(topology.group_of(router as u32)).start as usize]
            });
            assert_eq!(split, count > 9, "groups stay whole as long as they can");
            assert_eq!(schedule.lookahead, epochs.0.unwrap_or(Tick::MAX));
            assert_eq!(schedule.clusters[0].lookahead, epochs.1.unwrap_or(Tick::MAX));
        }
        // With more threads than groups, all epochs are short.
        let (_, schedule) =
            homes(&network(&json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2, "groups": 2 }), 4, Some(4)));
        assert_eq!((schedule.lookahead, schedule.clusters.len()), (11, 4));
    }

    #[test]
    fn every_topology_is_cut_into_as_many_parts_as_it_is_told() {
        let topologies = [
            json!({ "kind": "clos", "down": [4, 4, 3], "up": [4, 4] }),
            json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 3 }),
            json!({ "kind": "hyperx", "dims": [6, 5], "endpoints_per_router": 2 }),
            json!({ "kind": "torus", "dims": [6, 5] }),
            json!({ "kind": "mesh", "dims": [40] }),
            json!({ "kind": "multistage", "arity": 2, "stages": 4, "pattern": "butterfly" }),
            json!({ "kind": "cascade", "rows": 2, "columns": 3, "groups": 4, "global_ports": 2 }),
        ];
        for topology in topologies {
            for count in [2, 3, 7] {
                let network = network(&topology, 1, Some(count));
                let (homes, _) = homes(&network);
                let sizes: Vec<usize> =
                    (0..count).map(|part| homes.iter().filter(|home| **home == part).count()).collect();
                assert_eq!(network.parts().len(), count, "{topology}");
                let (most, least) = (sizes.iter().max().unwrap(), sizes.iter().min().unwrap());
                assert!(most <= &(3 * least), "{sizes:?} {topology}");
            }
        }
    }

    #[test]
    fn every_thread_has_as_many_partitions_as_the_others() {
        let torus = json!({ "kind": "torus", "dims": [32, 32] });
        let parts = |threads: usize| network(&torus, threads, None).parts().len();
        let alone = parts(1);
        assert!(alone > 4, "{alone}");
        for threads in 2..=5 {
            let (count, least) = (parts(threads), alone.max((FEWEST_TURNS * threads).min(2 * alone)));
            assert!(count % threads == 0 && (least..least + threads).contains(&count), "{count} for {threads}");
        }
    }

    /// A torus of 16 x 16 in four parts: squares of 8 x 8 cut 64 links, four runs of rows as many, random parts 384.
    /// Folded Clos networks: a subtree of the lower levels is not cut when there are as many parts as subtrees.
    #[test]
    fn few_links_are_cut() {
        let cut = |topology: &Value, parts: usize| {
            let network = network(topology, 1, Some(parts));
            let (homes, _) = homes(&network);
            let topology = &*network.blueprint().topology;
            let ports =
                (0..topology.routers()).flat_map(|router| (0..topology.ports(router)).map(move |port| (router, port)));
            let far = ports.filter_map(|(router, port)| match topology.port(router, port).peer {
                Peer::Router { router: to, .. } => Some((router, to)),
                _ => None,
            });
            far.filter(|&(router, to)| homes[router as usize] != homes[to as usize]).count() / 2
        };
        let torus = cut(&json!({ "kind": "torus", "dims": [16, 16] }), 4);
        assert!(torus <= 80, "{torus}");
        let cube = cut(&json!({ "kind": "torus", "dims": [8, 8, 8] }), 8);
        // Cubes of 4 x 4 x 4 cut 384, slabs 512.
        assert!(cube <= 440, "{cube}");
        let clos = cut(&json!({ "kind": "clos", "down": [4, 4, 4], "up": [4, 4] }), 4);
        // Three quarters of the 64 links between the upper levels are cut if no others are.
        assert!(clos <= 56, "{clos}");
    }
}
