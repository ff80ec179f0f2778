//! Faults: failed links, routers and endpoints, from the start or for a time, and the graphs that remain.

mod outage;

mod lost;

mod faulty;

use super::{Breakdown, Lookup, Named, Peer, Topology, Wires};
use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::packet::MOST_REPEATS;
pub use faulty::Faulty;
use outage::Outage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Faulty links, routers and endpoints; a link fails in both directions. Routing knows of these faults from the start.
/// Packets take the remaining minimal routes, and detours where there is none. Faults that cut the network into parts
/// are refused.
///
/// Routers and endpoints are given by their numbers, or by names in a network that has names, as `routers = ["spine2"]`
/// and `links = [["leaf0", "spine2"]]`.
///
/// ```toml
/// # 16 of the links of routers 32 and 33, as in section 3.2.4 of Kim, Dally and Abts (SC 2006)
/// [topology.faults]
/// count = 16
/// routers = [32, 33]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Faulty links, each as a pair of routers. A pair that occurs again means the next parallel link between the two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<[Named; 2]>,
    /// Number of further faulty links, drawn at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// With `count`: the links are drawn among the links of these routers. Without `count`: these routers have failed,
    /// with all their links and endpoints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<Named>,
    /// Failed endpoints: they send nothing, and packets to them are lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Named>,
    /// Seed of the draw. It is independent of the run's seed, so all runs have equal faults.
    pub seed: u64,
    /// Sources send lost packets again; never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmit: Option<Retransmit>,
    /// Failures during the run, and their repairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Later>,
}

/// Sources keep their packets until they have arrived, and send lost packets again.
///
/// The timeout counts from the loss: neither acknowledgements nor duplicates are simulated. A lost request or reply is
/// sent again by its own sender. If it is given up, the requester learns of this after the same time, and may send
/// another request. With admittance queues, a packet whose timeout has passed goes to the front of the queue for its
/// destination.
///
/// ```toml
/// [topology.faults.retransmit]
/// timeout = 500
/// attempts = 3
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retransmit {
    /// Cycles from the loss of a packet until its source sends it again, ahead of packets that it has not sent yet. At
    /// least the time that a router and the longest link take.
    #[schemars(range(min = 1, max = LATEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub timeout: u32,
    /// Most times that a packet is sent again. After that it is given up. A packet is also given up if its source has
    /// failed when it should send it.
    #[serde(default = "most_attempts")]
    #[schemars(range(min = 1, max = MOST_REPEATS))]
    pub attempts: u8,
}

fn most_attempts() -> u8 {
    MOST_REPEATS
}

/// A failure during the run, for good or until it is repaired.
///
/// Packets on a failing link still arrive. Packets sent over it before routing knows are lost. Later, packets without a
/// remaining route are lost, too. The run counts all of these (`packets_lost`). A failing router loses the packets in
/// it. A failed endpoint loses the packets sent to it, and sends nothing until it works again.
///
/// If a packet of several flits is crossing the failing link, the whole packet is lost. Its flits before the link are
/// discarded there. A notice follows its flits beyond the link, and they are discarded where it reaches them. With
/// layered tables, the same happens to packets in several buffers when the tables change.
/// tables change.
///
/// ```toml
/// [[topology.faults.later]]
/// cycle = 2000
/// delay = 100
/// links = [[0, 33]]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Later {
    /// Cycle of the failure, counted from the start of the run. It must be later than the failure of the entry before.
    #[schemars(extend("x-unit" = "cycles"))]
    pub cycle: u32,
    /// Cycles until all routers know of the failure, or of its repair. They must pass before the next failure or
    /// repair.
    #[schemars(extend("x-unit" = "cycles"))]
    pub delay: u32,
    /// Cycle of the repair; never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "cycles"))]
    pub until: Option<u32>,
    /// Faulty links, as in `topology.faults.links`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<[Named; 2]>,
    /// Number of random faulty links, as in `topology.faults.count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Failed routers, as in `topology.faults.routers`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<Named>,
    /// Failed endpoints, as in `topology.faults.endpoints`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Named>,
    /// Seed of the draw, as in `topology.faults.seed`.
    pub seed: u64,
}

/// A failure or a repair during a run.
struct Change {
    cycle: u32,
    delay: u32,
    /// Its entry in `later`.
    entry: usize,
    /// True for a repair, false for a failure.
    repair: bool,
}

impl Faults {
    /// True if nothing fails and nothing is sent again: the network is as if the table were not there.
    pub fn nothing(&self) -> bool {
        let Self { links, count, routers, endpoints, seed: _, retransmit, later } = self;
        let named = !links.is_empty() || !routers.is_empty() || !endpoints.is_empty();
        !named && count.unwrap_or(0) == 0 && later.is_empty() && retransmit.is_none()
    }

    /// `graph` with its faults. Error paths are relative to the table of the faults.
    pub fn apply(&self, graph: Arc<dyn Topology>) -> Result<Arc<dyn Topology>, ScenarioError> {
        let wires = Wires::new(&*graph);
        let none = Outage::default();
        let first = self.outage(&*graph, &wires, &none)?;
        let mut faulty = self.without(&graph, &wires, &first)?;
        faulty.breakdowns = self.breakdowns(&graph, &wires, first)?;
        faulty.retransmit = self.retransmit;
        Ok(Arc::new(faulty))
    }

    /// The failures and repairs during the run, in order.
    fn changes(&self) -> Result<Vec<Change>, ScenarioError> {
        let mut changes: Vec<Change> = Vec::new();
        for (entry, &Later { cycle, delay, until, .. }) in self.later.iter().enumerate() {
            changes.push(Change { cycle, delay, entry, repair: false });
            changes.extend(until.map(|cycle| Change { cycle, delay, entry, repair: true }));
        }
        // Entries stand in order; repairs may fall between them.
        changes.sort_by_key(|change| (change.repair, change.entry));
        let mut next = 0;
        for change in &changes {
            check(change, if change.repair { 0 } else { next })?;
            next = if change.repair { next } else { change.cycle + change.delay + 1 };
        }
        changes.sort_by_key(|change| change.cycle);
        let mut next = 0;
        for change in &changes {
            check(change, next)?;
            next = change.cycle + change.delay + 1;
        }
        let early = |change: &&Change| change.repair && change.cycle <= self.later[change.entry].cycle;
        match changes.iter().find(early) {
            Some(change) => {
                let from = self.later[change.entry].cycle + change.delay + 1;
                Err(refused(change, from))
            }
            None => Ok(changes),
        }
    }

    /// The failures and repairs during the run, with the graphs after each. `first` is the graph at the start.
    fn breakdowns(
        &self,
        graph: &Arc<dyn Topology>,
        wires: &Wires,
        first: Outage,
    ) -> Result<Vec<Breakdown>, ScenarioError> {
        let mut of_entries: Vec<Option<Outage>> = vec![None; self.later.len()];
        let mut now = first.clone();
        let mut found = Vec::new();
        for Change { cycle, delay, entry, repair } in self.changes()? {
            let under = |error: ScenarioError| error.under(&format!("later[{entry}]"));
            let Later { links, count, routers, endpoints, seed, .. } = self.later[entry].clone();
            let more = Self { links, count, routers, endpoints, seed, ..Self::default() };
            of_entries[entry] = match repair {
                true => None,
                false => Some(more.outage(&**graph, wires, &now).map_err(under)?),
            };
            let next = Outage::union(of_entries.iter().flatten().chain([&first]));
            let left = Arc::new(more.without(graph, wires, &next).map_err(under)?);
            let (before, after) = (now.outputs(&**graph), next.outputs(&**graph));
            found.push(Breakdown {
                cycle,
                delay,
                dead: after.difference(&before).copied().collect(),
                back: before.difference(&after).copied().collect(),
                graph: left,
            });
            now = next;
        }
        Ok(found)
    }

    /// `graph` with this outage.
    fn without(&self, graph: &Arc<dyn Topology>, wires: &Wires, outage: &Outage) -> Result<Faulty, ScenarioError> {
        if let Some((from, to)) = outage.parts(wires) {
            let expected = format!(
                "no way is left from {} to {}; expected faults that leave one between any two routers with endpoints \
                 that work",
                graph.words().router(from),
                graph.words().router(to)
            );
            return Err(ScenarioError::new("", self.text(), expected));
        }
        Ok(Faulty::new(graph, wires, outage))
    }

    /// The table as a user would write it.
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The outage that this table describes, in addition to faults that exist `already`.
    fn outage(&self, graph: &dyn Topology, wires: &Wires, already: &Outage) -> Result<Outage, ScenarioError> {
        let lookup = Lookup::new(graph);
        let mut found = Outage::default();
        for (index, [first, second]) in self.links.iter().enumerate() {
            let a = lookup.router(|| format!("links[{index}][0]"), first)?;
            let b = lookup.router(|| format!("links[{index}][1]"), second)?;
            let works = |link: &(u16, u32)| {
                link.1 == b && !found.links.contains(&(a, link.0)) && !already.links.contains(&(a, link.0))
            };
            let Some((port, _)) = neighbours(graph, a).find(works) else {
                let expected = "no (further) link between these two routers";
                return Err(ScenarioError::new(format!("links[{index}]"), format!("[{first}, {second}]"), expected));
            };
            found.add_link(graph, a, port);
        }
        found.endpoints.extend(lookup.listed_endpoints("endpoints", &self.endpoints)?);
        let routers = lookup.listed_routers("routers", &self.routers)?;
        let Some(count) = self.count else {
            routers.iter().for_each(|&router| found.add_router(graph, wires, router));
            return Ok(found);
        };
        let among: BTreeSet<u32> = routers.into_iter().collect();
        let mut drawn: Vec<(u32, u16)> = Vec::new();
        for router in 0..graph.routers() {
            for (port, other) in neighbours(graph, router) {
                let broken = found.links.contains(&(router, port)) || already.links.contains(&(router, port));
                let wanted = among.is_empty() || among.contains(&router) || among.contains(&other);
                if !broken && wanted && is_first_end(graph, router, port) {
                    drawn.push((router, port));
                }
            }
        }
        if count as usize > drawn.len() {
            let expected = format!("expected at most {}, the links to draw from", drawn.len());
            return Err(ScenarioError::new("count", count, expected));
        }
        Rng::new(self.seed, Stream::Topology, 0).shuffle(&mut drawn);
        drawn.truncate(count as usize);
        drawn.into_iter().for_each(|(router, port)| found.add_link(graph, router, port));
        Ok(found)
    }
}

/// Latest cycle of a failure.
const LATEST: u32 = 1 << 30;

/// Refuses a change before cycle `from`, or after the latest possible cycle.
fn check(change: &Change, from: u32) -> Result<(), ScenarioError> {
    let &Change { cycle, delay, .. } = change;
    match cycle < from || cycle.checked_add(delay).is_none_or(|known| known > LATEST) {
        true => Err(refused(change, from)),
        false => Ok(()),
    }
}

fn refused(change: &Change, from: u32) -> ScenarioError {
    let expected = format!("expected a cycle from {from}, with its delay up to {LATEST}");
    let key = if change.repair { "until" } else { "cycle" };
    ScenarioError::new(key, change.cycle, expected).under(&format!("later[{}]", change.entry))
}

/// The links of `router` to other routers: port, and router at the far end.
fn neighbours(graph: &dyn Topology, router: u32) -> impl Iterator<Item = (u16, u32)> {
    (0..graph.ports(router)).filter_map(move |port| match graph.port(router, port).peer {
        Peer::Router { router, .. } => Some((port, router)),
        Peer::Endpoint(_) | Peer::None => None,
    })
}

/// True for one of the two outputs of a bidirectional link, and for the only output of a unidirectional one.
fn is_first_end(graph: &dyn Topology, router: u32, port: u16) -> bool {
    let Peer::Router { router: other, port: back } = graph.port(router, port).peer else { return false };
    (router, port) < (other, back) || graph.port(other, back).peer != Peer::Router { router, port }
}

#[cfg(test)]
mod tests;
