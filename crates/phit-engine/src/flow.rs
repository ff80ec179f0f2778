//! Input for bounds of the throughput: links with their bandwidth, the destinations of every endpoint's packets, and
//! the ports of minimal routes.

use crate::bandwidth::Bandwidth;
use crate::engine::poll;
use crate::error::ScenarioError;
use crate::fabric::LinkClasses;
use crate::fabric::seams::queueing::Division;
use crate::scenario::Scenario;
use crate::topology::{HopState, Hops, Leg, Peer, Topology};
use crate::traffic::{Destinations, LoadUnit, WeightedPattern};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The network of a scenario and its demand, as a table:
///
/// * `classes`: names of the link classes;
/// * `routers`: their number;
/// * `attachment`: the router of every endpoint;
/// * `links`: links between routers, parallel planes merged into one link, each as `[router, port, router at the other
///   end, class, phits per cycle]`;
/// * `injection` and `ejection`: phits per cycle between an endpoint and its router, by the class of endpoints' links.
///   `injection` is `null` if unlimited;
/// * `endpoints`: `injection` and `ejection` of every endpoint, and `load`, its phits per cycle at a load of 1;
/// * `demand`: the [`Destinations`] of every endpoint's packets.
///
/// Refuses traffic without such a distribution: a trace, a pattern that changes, or a pattern that does not know it.
pub fn network(scenario: &Scenario) -> Result<Value, ScenarioError> {
    let topology = scenario.network()?;
    let links = LinkClasses::new(
        scenario.router.params().links(),
        &*topology,
        scenario.router.params().ticks_per_cycle(),
        Division::WHOLE,
    );
    let demand = demand(scenario, &*topology)?;
    let planes = scenario.plane_count();
    let of_router = |router: u32| {
        (0..topology.ports(router)).filter_map({
            let (topology, links) = (&topology, &links);
            move |port| {
                let link = topology.port(router, port);
                let Peer::Router { router: to, .. } = link.peer else { return None };
                Some(json!([router, port, to, link.class, links[usize::from(link.class)].bandwidth.times(planes)]))
            }
        })
    };
    let all = 0..topology.endpoints();
    let at_once = scenario.planes_at_once();
    let injection = |endpoint| links.injection_of(endpoint).map(|bandwidth| bandwidth.times(at_once));
    let load = |endpoint| match scenario.traffic.load_unit {
        LoadUnit::Link => links.of_endpoint(endpoint),
        LoadUnit::Phits | LoadUnit::Bisection => Bandwidth::ONE,
    };
    Ok(json!({
        "classes": topology.classes(),
        "routers": topology.routers(),
        "names": topology.words().names().map(|names| &names.routers),
        "attachment": (0..topology.endpoints()).map(|e| topology.attachment(e).0).collect::<Vec<_>>(),
        "links": (0..topology.routers()).flat_map(of_router).collect::<Vec<_>>(),
        "injection": links[0].injection_bandwidth.map(|bandwidth| bandwidth.times(at_once)),
        "ejection": links[0].bandwidth.times(planes),
        "endpoints": {
            "injection": all.clone().map(injection).collect::<Vec<_>>(),
            "ejection": all.clone().map(|endpoint| links.of_endpoint(endpoint).times(planes)).collect::<Vec<_>>(),
            "load": all.map(load).collect::<Vec<_>>(),
        },
        "demand": demand,
    }))
}

fn demand(scenario: &Scenario, topology: &dyn Topology) -> Result<Vec<Destinations>, ScenarioError> {
    let traffic = &scenario.traffic;
    if scenario.workload.is_some() {
        let reason = "the messages of a program have no lasting shares of destinations; expected [traffic]";
        return Err(ScenarioError::missing("workload", reason));
    }
    if traffic.requests.is_some() {
        let reason =
            "replies go where requests come from, and endpoints wait for them; expected packets without replies";
        return Err(ScenarioError::missing("traffic.requests", reason));
    }
    if !traffic.trace.is_empty() {
        let reason = "the messages of a trace have no lasting shares of destinations; expected a pattern";
        return Err(ScenarioError::missing("traffic.trace", reason));
    }
    if let Some(i) = traffic.changes.iter().position(|change| change.pattern.is_some()) {
        let reason = "a pattern that changes has no lasting shares of destinations; expected one pattern";
        return Err(ScenarioError::missing(format!("traffic.changes[{i}].pattern"), reason));
    }
    let patterns = traffic.patterns(topology, scenario.seed).map_err(|e| e.under("traffic"))?;
    let of_all = |source: u32| {
        let of = |(weight, pattern): &WeightedPattern| Some((*weight, pattern.destinations(source)?));
        let mut ways: Vec<(f64, Destinations)> = patterns.iter().map(of).collect::<Option<_>>()?;
        match ways.len() {
            1 => ways.pop().map(|(_, way)| way),
            // An endpoint that is silent in one class does not send more packets of the others.
            _ if ways.iter().any(|(_, way)| *way == Destinations::Nothing) => None,
            _ => Some(Destinations::Mix(ways.into_iter().filter(|(weight, _)| *weight > 0.0).collect())),
        }
    };
    (0..topology.endpoints()).map(of_all).collect::<Option<_>>().ok_or_else(|| {
        let kind = format!("{:?}", traffic.pattern.kind());
        let reason = "this pattern, or one that it consists of, does not say how its packets are shared out";
        ScenarioError::new("traffic.pattern.kind", kind, reason)
    })
}

/// The ports that minimal routes may take. For every router with endpoints, or more, there is a list of `[router,
/// ports]` of the routers on minimal routes towards it. It is `null` for a router that is never a destination.
///
/// Time and memory grow with the square of the number of routers.
pub fn minimal_ports(scenario: &Scenario) -> Result<Value, ScenarioError> {
    let topology = scenario.network()?;
    let router = scenario.router.params();
    let links = LinkClasses::new(router.links(), &*topology, router.ticks_per_cycle(), Division::WHOLE);
    let vcs = links.vcs(Division::WHOLE);
    let hosts = topology.hosts();
    let towards = |to: u32| hosts.contains(&to).then(|| ports_towards(&*topology, to, &vcs));
    Ok(json!((0..topology.routers()).map(towards).collect::<Vec<_>>()))
}

/// The ports of minimal routes from all hosts towards `to`, by router.
fn ports_towards(topology: &dyn Topology, to: u32, vcs: &[u8]) -> Vec<(u32, Vec<u16>)> {
    const WHOLE: Leg = Leg { index: 0, of: 1, to_group: false };
    let mut ports = vec![vec![]; topology.routers() as usize];
    // A hop may depend on the packet's router, the way that it came, and its hops so far.
    let mut open: Vec<(u32, u8, u8, Hops)> =
        topology.hosts().filter(|&from| from != to).map(|from| (from, 0, 0, Hops::default())).collect();
    let mut seen: HashSet<_> = open.iter().copied().collect();
    let mut hops = vec![];
    while let Some((at, came_by, came_in, leg_hops)) = open.pop() {
        poll();
        hops.clear();
        topology.minimal_hops(at, to, WHOLE, HopState { came_by, came_in, leg_hops }, vcs, &mut hops);
        for hop in &hops {
            let link = topology.port(at, hop.port);
            let Peer::Router { router, .. } = link.peer else { continue };
            if !ports[at as usize].contains(&hop.port) {
                ports[at as usize].push(hop.port);
            }
            let mut taken = leg_hops;
            taken.add(link.class);
            let next = (router, link.class, hop.vc, taken);
            if router != to && taken.total() <= topology.diameter() && seen.insert(next) {
                open.push(next);
            }
        }
    }
    let found = ports.into_iter().enumerate().filter(|(_, ports)| !ports.is_empty());
    found.map(|(router, ports)| (router as u32, ports)).collect()
}
