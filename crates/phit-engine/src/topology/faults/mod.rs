//! Faults: what of a network does not work, from the start or for a time, and the graphs that are left.

mod outage;

mod lost;

mod faulty;

use super::{Breakdown, Named, Peer, Topology, Wires};
use crate::engine::{Rng, Stream};
use crate::error::ScenarioError;
use crate::packet::MOST_REPEATS;
pub use faulty::Faulty;
use outage::Outage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Links, routers and endpoints that do not work, in both directions. Routing knows of them beforehand: packets take
/// the minimal routes that are left, and detours where there is none. A network that they cut into parts is refused.
///
/// Routers and endpoints are given by their numbers, or by their names in a network that has names, as
/// `routers = ["spine2"]` and `links = [["leaf0", "spine2"]]`.
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
    /// Faulty links, each as a pair of routers: one link between the two, the next one if the pair stands there again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<[Named; 2]>,
    /// This many links more, drawn at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The links are drawn among those of these routers; if no `count` is given, these routers have failed, with all
    /// their links and endpoints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<Named>,
    /// Endpoints that have failed: they send nothing, and what is sent to them is lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Named>,
    /// Seed of the draw: the same faults whatever the seed of the run.
    pub seed: u64,
    /// Sources send again what was lost; never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmit: Option<Retransmit>,
    /// What breaks during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Later>,
}

/// Sources keep their packets until they have arrived, and send again what was lost. The time counts from the loss:
/// neither acknowledgements nor packets that come twice are simulated. A request or a reply is sent again by whoever
/// sent it; if one is given up, who has asked knows of it after the same time, and may ask for something else. With
/// admittance queues a packet stands first in that of its destination when its time is over.
///
/// ```toml
/// [topology.faults.retransmit]
/// timeout = 500
/// attempts = 3
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retransmit {
    /// Cycles from the loss of a packet until its source sends it again, before whatever it has not sent yet. At least
    /// what a router and the longest link take.
    #[schemars(range(min = 1, max = LATEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub timeout: u32,
    /// Most times that a packet is sent again. One that is lost after that is given up, and so is one whose source has
    /// failed when it should send it.
    #[serde(default = "most_attempts")]
    #[schemars(range(min = 1, max = MOST_REPEATS))]
    pub attempts: u8,
}

fn most_attempts() -> u8 {
    MOST_REPEATS
}

/// What breaks during the run, for good or until it is repaired. What is on a link arrives. Whatever is sent over it
/// before routing knows is lost, and so is later whatever has no way left where it stands; the run counts these packets
/// (`packets_lost`). A router that fails loses what is in it, and an endpoint what comes to it; it sends nothing until
/// it works again. Of a packet of several flits that is crossing a link when it breaks, all is lost: what stands before
/// the link and comes behind is thrown away there, and word of it follows what is beyond, which is thrown away where
/// the word comes. With tables that have layers the same happens to packets that take up several buffers when the
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
    /// Cycle from which on it is broken, from the start of the run, after that of the entry before.
    #[schemars(extend("x-unit" = "cycles"))]
    pub cycle: u32,
    /// Cycles until all routers know, also of a repair; over before anything else breaks or is repaired.
    #[schemars(extend("x-unit" = "cycles"))]
    pub delay: u32,
    /// Cycle from which on it works again; never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "cycles"))]
    pub until: Option<u32>,
    /// As in `topology.faults`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<[Named; 2]>,
    /// As in `topology.faults`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// As in `topology.faults`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<Named>,
    /// As in `topology.faults`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Named>,
    /// As in `topology.faults`.
    pub seed: u64,
}

/// Something that happens during a run.
struct Change {
    cycle: u32,
    delay: u32,
    /// The entry of `later`.
    entry: usize,
    /// It is repaired, not broken.
    repair: bool,
}

impl Faults {
    /// `graph` without what does not work. Error paths are relative to the table of the faults.
    pub fn apply(&self, graph: Arc<dyn Topology>) -> Result<Arc<dyn Topology>, ScenarioError> {
        let wires = Wires::new(&*graph);
        let none = Outage::default();
        let first = self.outage(&*graph, &wires, &none)?;
        let mut faulty = self.without(&graph, &wires, &first)?;
        faulty.breakdowns = self.breakdowns(&graph, &wires, first)?;
        faulty.retransmit = self.retransmit;
        Ok(Arc::new(faulty))
    }

    /// What breaks and is repaired during the run, in order.
    fn changes(&self) -> Result<Vec<Change>, ScenarioError> {
        let mut changes: Vec<Change> = Vec::new();
        for (entry, &Later { cycle, delay, until, .. }) in self.later.iter().enumerate() {
            changes.push(Change { cycle, delay, entry, repair: false });
            changes.extend(until.map(|cycle| Change { cycle, delay, entry, repair: true }));
        }
        // Entries stand in order; repairs fall between them.
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

    /// What happens during the run, after `first`.
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

    /// `graph` without what does not work.
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

    /// What of `graph` does not work, besides what does not work `already`.
    fn outage(&self, graph: &dyn Topology, wires: &Wires, already: &Outage) -> Result<Outage, ScenarioError> {
        let words = graph.words();
        let router = |key: &str, given: &Named| words.find_router(key, given, graph.routers());
        let mut found = Outage::default();
        for (index, [first, second]) in self.links.iter().enumerate() {
            let a = router(&format!("links[{index}][0]"), first)?;
            let b = router(&format!("links[{index}][1]"), second)?;
            let works = |link: &(u16, u32)| {
                link.1 == b && !found.links.contains(&(a, link.0)) && !already.links.contains(&(a, link.0))
            };
            let Some((port, _)) = neighbours(graph, a).find(works) else {
                let expected = "no (further) link between these two routers";
                return Err(ScenarioError::new(format!("links[{index}]"), format!("[{first}, {second}]"), expected));
            };
            found.add_link(graph, a, port);
        }
        for (index, given) in self.endpoints.iter().enumerate() {
            found.endpoints.insert(words.find_endpoint(&format!("endpoints[{index}]"), given, graph.endpoints())?);
        }
        let numbered =
            self.routers.iter().enumerate().map(|(index, given)| router(&format!("routers[{index}]"), given));
        let routers: Vec<u32> = numbered.collect::<Result<_, _>>()?;
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

/// Latest cycle in which something may break.
const LATEST: u32 = 1 << 30;

/// Refuses a change before cycle `from`, or too late.
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

/// True for one of the two outputs of a link that leads both ways, and for the output of one that does not.
fn is_first_end(graph: &dyn Topology, router: u32, port: u16) -> bool {
    let Peer::Router { router: other, port: back } = graph.port(router, port).peer else { return false };
    (router, port) < (other, back) || graph.port(other, back).peer != Peer::Router { router, port }
}

#[cfg(test)]
mod tests;
