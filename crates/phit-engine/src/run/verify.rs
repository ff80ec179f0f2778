//! Proofs about a scenario's network, without running it, and its routing tables.

use crate::error::ScenarioError;
use crate::fabric::LinkClasses;
use crate::fabric::seams::queueing::{Division, Widening};
use crate::fabric::seams::reservation::Role;
use crate::proof::messages::Messages;
use crate::proof::{self, Proof, bubble, cdg, escape, ladder, tables};
use crate::routing::{RoutingParams, detours};
use crate::scenario::{Scenario, check};
use crate::topology::{Topology, Words};
use crate::traffic::SourceQueue;
use serde_json::{Map, Value, json};

/// Follows all routes of a scenario and proves, or disproves, that packets cannot wait for one another in a cycle. Too
/// few virtual channels for the routing mechanism are no error here: the report shows the consequences.
pub fn verify(scenario: &Scenario) -> Result<Value, ScenarioError> {
    let topology = scenario.network()?;
    let (routing, plan) = detours::around(scenario.routing.shared(), &topology)?;
    check::graph(scenario, &*topology, &*routing)?;
    let router = scenario.router.params();
    let links = LinkClasses::new(router.links(), &*topology, router.ticks_per_cycle(), Division::WHOLE);
    let vcs = links.vcs_but(Division::WHOLE, check::networks(scenario), routing.reserved());
    let messages = match &scenario.traffic.requests {
        // Endpoints accept every packet; and in a single queue, replies may wait behind requests.
        Some(requests) if requests.source_queue == SourceQueue::Together => None,
        Some(requests) if requests.virtual_networks => Some(Messages::Apart),
        Some(requests) if requests.room.is_some() => Some(Messages::Together),
        // Endpoints accept every packet.
        _ => None,
    };
    let proving = Proving { scenario, routing: &*routing, vcs, messages };
    let detours = plan.as_deref().filter(|plan| plan.has_detours());
    // A mechanism with detours takes some of its hops on the whole network.
    let first = match (detours, topology.faulty()) {
        (Some(_), Some(faulty)) => faulty.whole(),
        _ => &topology,
    };
    let mut report = proving.prove(&**first);
    let congestion = scenario.congestion.params();
    match detours {
        Some(plan) if report["proved"] == true => {
            let result = proof::detours::check(&**plan.whole(), &proving.vcs, |see| {
                plan.follow(see).map_err(|stray| cdg::Flaw::Stranded { from: stray.from, at: stray.at })
            });
            match result {
                Ok(found) => {
                    report["detours"] = json!({
                        "argument": DETOURS, "channels": found.channels, "dependencies": found.dependencies,
                        "states": found.states, "graphs": topology.breakdowns().len() + 1,
                    });
                }
                Err(flaw) => report = refuted(DETOURS, &flaw, topology.words()),
            }
        }
        Some(_) => {}
        // Before and after each failure and repair.
        None => {
            for breakdown in topology.breakdowns() {
                let next = proving.prove(&*breakdown.graph);
                if report["proved"] == true && next["proved"] != true {
                    report = next;
                }
            }
        }
    }
    if let Some(protocol) = congestion.reservations() {
        // The parts of the channels carry the same routes, nothing waits in one part for a packet in another that does
        // not move by itself, and endpoints accept every packet. Only refusals begin at any router.
        let refused = match routing.proof() {
            Proof::Order(routes) => cdg::check_from_everywhere(&*topology, &routes, &proving.vcs).map(drop),
            _ => Ok(()),
        };
        if let (Err(flaw), true) = (&refused, report["proved"] == true) {
            report = refuted(ORDER, flaw, topology.words());
        }
        let names = Role::NAMES.into_iter().skip(usize::from(Role::NETWORKS - protocol.networks()));
        let classes = names.map(|name| (name.to_owned(), report["proved"].clone()));
        report["classes"] = classes.collect::<Map<String, Value>>().into();
    } else if congestion.networks() > 1 {
        // The two halves of the channels carry the same routes, nothing leads from one half to the other, and endpoints
        // accept every packet.
        report["classes"] = json!({ "data": report["proved"], "notifications": report["proved"] });
    }
    Ok(report)
}

/// The common parts of all proofs of one scenario.
struct Proving<'a> {
    scenario: &'a Scenario,
    routing: &'a dyn RoutingParams,
    /// Virtual channels by class.
    vcs: Vec<u8>,
    messages: Option<Messages>,
}

impl Proving<'_> {
    /// The report about one graph.
    fn prove(&self, topology: &dyn Topology) -> Value {
        let &Self { scenario, routing, ref vcs, messages } = self;
        let router = scenario.router.params();
        let largest = scenario.traffic.packet_sizes().map_or(1, |sizes| u32::from(sizes.1));
        if !router.keeps_room(topology, largest) {
            let reason = "virtual channels that share a buffer have less to themselves than a packet: packets of one \
                          can fill it, and packets of the others wait for them";
            return json!({ "proved": null, "reason": reason });
        }
        let mut survey = None;
        // Without channels of their own, packets take the routing mechanism's channels.
        let own = scenario.queueing.params().proof().filter(|_| routing.told_ahead());
        let proof = own.unwrap_or_else(|| routing.proof());
        let reference = proof.reference();
        let (argument, result) = match proof {
            Proof::Order(routes) => {
                let queueing = scenario.queueing.params();
                let mut wider = Vec::from_iter(reference.and_then(|legs| queueing.widening(legs, vcs)));
                wider.extend(reference.and_then(|legs| queueing.widening_of_requests(legs, vcs)));
                let unproved = match messages {
                    // The proof of messages takes all packets for alike.
                    Some(_) if wider.len() > 1 => Some("requests for which endpoints have no room wait for replies"),
                    _ => wider.iter().find_map(|wider| wider.unproved()),
                };
                if let Some(reason) = unproved {
                    return json!({ "proved": null, "argument": ESCAPE, "reason": reason });
                }
                let argument = if wider.is_empty() { ORDER } else { ESCAPE };
                let wider: Vec<&dyn Widening> = wider.iter().map(|wider| &**wider).collect();
                (argument, cdg::check_all(topology, &routes, vcs, messages, &wider))
            }
            Proof::Steps(mechanism) => (ORDER, escape::check_all(topology, &*mechanism, vcs, messages)),
            Proof::Ladder(routes) => (ORDER, ladder::check(topology, &routes, vcs, messages)),
            Proof::Escape(mechanism) if mechanism.stays_in_escape() => {
                (DUATO, escape::check(topology, &*mechanism, vcs, messages))
            }
            Proof::Escape(_) if !router.whole_packets() => {
                let reason = "under wormhole switching a channel need not take all of a packet";
                return json!({ "proved": null, "argument": ESCAPE, "reason": reason });
            }
            Proof::Escape(mechanism) => (ESCAPE, escape::check(topology, &*mechanism, vcs, messages)),
            Proof::Bubble(_) | Proof::Rings if messages.is_some() => {
                let reason = "rings of queues are proved for packets that every endpoint takes, and requests are not";
                return json!({ "proved": null, "argument": BUBBLE, "reason": reason });
            }
            Proof::Bubble(_) | Proof::Rings if !router.whole_packets() => {
                let reason = "under wormhole switching a channel need not take all of a packet";
                return json!({ "proved": null, "argument": BUBBLE, "reason": reason });
            }
            Proof::Bubble(rule) => (BUBBLE, bubble::check(topology, Some(rule), vcs)),
            Proof::Rings => (RINGS, bubble::check(topology, None, vcs)),
            Proof::Tables => {
                let Some(table) = routing.table(topology) else {
                    return json!({ "proved": null, "argument": TABLES, "reason": "there are no tables" });
                };
                let (found, result) = tables::check(topology, &table, vcs, messages);
                survey = Some(surveyed(&found));
                (TABLES, result)
            }
            Proof::Unknown => {
                return json!({ "proved": null, "reason": "the routing mechanism's routes cannot be followed" });
            }
        };
        let mut report = match result {
            Ok(report) => json!({
                "proved": true, "argument": argument, "channels": report.channels,
                "dependencies": report.dependencies, "states": report.states,
            }),
            Err(flaw) => refuted(argument, &flaw, topology.words()),
        };
        if messages.is_some() {
            report["messages"] = MESSAGES.into();
        }
        if let Some(survey) = survey {
            report["routes"] = survey;
        }
        report
    }
}

/// The report of a proof that failed.
fn refuted(argument: &str, flaw: &cdg::Flaw, words: Words<'_>) -> Value {
    let channel = |c: &cdg::Channel| {
        let mut told = json!({ "router": c.router, "port": c.port, "vc": c.vc });
        if words.router_name(c.router).is_some() {
            told["name"] = words.port(c.router, c.port).into();
        }
        told
    };
    let cycle = match flaw {
        cdg::Flaw::Cycle(channels) => channels.iter().map(channel).collect(),
        _ => vec![],
    };
    json!({ "proved": false, "argument": argument, "reason": flaw.said(words), "cycle": cycle })
}

/// The report on the routes of tables.
fn surveyed(survey: &tables::Survey) -> Value {
    let reachable = survey.hops.values().sum::<u64>();
    let sum = survey.hops.iter().map(|(hops, pairs)| u64::from(*hops) * pairs).sum::<u64>();
    let links = survey.loads.values().sum::<u64>();
    json!({
        "pairs": survey.pairs,
        "reachable": reachable,
        "hops": survey.hops.iter().collect::<Vec<_>>(),
        "hops_mean": sum as f64 / reachable.max(1) as f64,
        "nonminimal": survey.nonminimal,
        "loads": survey.loads.iter().collect::<Vec<_>>(),
        "load_mean": sum as f64 / links.max(1) as f64,
        "layers": survey.layers,
        "channels": survey.channels,
    })
}

/// The routing tables of a scenario: for each router the output port for every destination. Refuses a routing mechanism
/// without tables.
pub fn routes(scenario: &Scenario) -> Result<Value, ScenarioError> {
    let topology = scenario.network()?;
    check::graph(scenario, &*topology, scenario.routing.params())?;
    let Some(table) = scenario.routing.params().table(&*topology) else {
        let kind = format!("{:?}", scenario.routing.kind());
        return Err(ScenarioError::new(
            "routing.kind",
            kind,
            "has no tables; expected one with tables, such as \"table\"",
        ));
    };
    let of =
        |router: u32| (0..table.endpoints()).map(|destination| table.port(router, destination)).collect::<Vec<_>>();
    Ok(json!((0..topology.routers()).map(of).collect::<Vec<_>>()))
}

/// The virtual channels that the routing mechanism of a scenario needs on its network, by class of links, with the
/// reason.
pub fn channels(scenario: &Scenario) -> Result<Value, ScenarioError> {
    let topology = scenario.network()?;
    let routing = scenario.routing.params();
    routing.check(&*topology).map_err(|e| e.under("routing"))?;
    let (needed, reason) = routing.vcs_needed(&*topology);
    let by_class: Map<String, Value> =
        topology.classes().iter().zip(needed).skip(1).map(|(class, vcs)| (class.clone(), vcs.into())).collect();
    Ok(json!({ "needed": by_class, "reason": reason }))
}

/// The arguments of [`verify`] in words.
const ORDER: &str = "the virtual channels can be put in an order that rises along every route";
const TABLES: &str = "no virtual channels wait for one another in a circle along the routes of the tables";
const ESCAPE: &str =
    "a blocked packet may always take a hop to a higher virtual channel, which has room for whole packets";

const DUATO: &str = "a blocked packet may always take an escape channel, and stays in these from there on";

const DETOURS: &str =
    "packets may wait for those on detours, which have channels of their own and go up before they go down";

/// The statement of [`verify`] for requests and replies.
const MESSAGES: &str =
    "a request at its destination waits for a reply to leave, and injection queues are among the channels";

const RINGS: &str =
    "every ring keeps room for a packet, and the rings can be put in an order that rises along every route";

const BUBBLE: &str =
    "escape queues keep a free slot in every ring, and the rings can be put in an order that rises along every route";
