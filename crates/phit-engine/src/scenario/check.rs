//! Checks between sections: do topology, routers, routing, traffic and measurement fit together?

use super::{MeasureParams, Scenario};
use crate::bandwidth::Bandwidth;
use crate::error::ScenarioError;
use crate::fabric::seams::reservation::Reservations;
use crate::fabric::{Demands, LinkClasses, RoutingProperty, described};
use crate::measure::Sorting;
use crate::routing::{Proof, RoutingKind, RoutingParams};
use crate::topology::{Breakdown, Faulty, Topology, check_sides};
use serde_json::json;
use std::ops::Range;

/// Most router cycles of a run. Ticks are 32-bit numbers, and events are filed some ticks ahead of the present.
const MAX_CYCLES: u64 = 1 << 31;

/// Refuses a scenario that the kernel could not simulate as described.
pub(crate) fn check(
    scenario: &Scenario,
    topology: &dyn Topology,
    routing: &dyn RoutingParams,
) -> Result<(), ScenarioError> {
    graph(scenario, topology, routing)?;
    faults(scenario, topology, routing)?;
    classes(scenario, topology)?;
    congestion(scenario, topology, routing)?;
    requests(scenario, topology)?;
    planes(scenario, topology)?;
    reorder(scenario, topology)?;
    channels(scenario, topology, routing)?;
    let sizes = scenario.traffic.packet_sizes().map_err(|e| e.under("traffic"))?;
    let demands = Demands {
        topology,
        routing_kind: scenario.routing.kind(),
        routing,
        queueing_kind: scenario.queueing.kind(),
        queueing: scenario.queueing.params(),
        packet_size: sizes.1.into(),
        networks: networks(scenario),
        workload: scenario.workload.is_some(),
        beside: beside(scenario),
        timeout: timeout(scenario, topology),
        throttled: scenario.congestion.params().notifications().is_some(),
        telling_packets_apart: telling_packets_apart(scenario),
        probes: scenario.measure.probes.iter().map(|probe| probe.kind()).collect(),
        routings,
    };
    scenario.router.params().check(&demands)?;
    for (index, probe) in scenario.measure.probes.iter().enumerate() {
        probe.params().check(topology).map_err(|e| e.under(&format!("measure.probes[{index}]")))?;
    }
    Sorting::new(&scenario.measure.flows, topology).map_err(|e| e.under("measure"))?;
    workload(scenario)?;
    repeat(scenario)?;
    steady(scenario, topology)?;
    duration(scenario)
}

/// The keys of the traffic beside a program.
fn beside(scenario: &Scenario) -> Vec<String> {
    let traffic = scenario.workload.iter().flat_map(|workload| workload.program.params().traffic());
    traffic.map(|(key, _)| format!("workload.{key}")).collect()
}

/// The keys of `[measure]` that tell packets apart.
fn telling_packets_apart(scenario: &Scenario) -> Vec<&'static str> {
    let MeasureParams { order, flows, .. } = &scenario.measure;
    let asked = [("measure.order", *order), ("measure.flows", !flows.is_empty())];
    asked.into_iter().filter(|(_, asked)| *asked).map(|(key, _)| key).collect()
}

/// Cycles until sources send packets again that were lost or refused, with the key.
fn timeout(scenario: &Scenario, topology: &dyn Topology) -> Option<(&'static str, u32)> {
    let lost = topology.faulty().and_then(Faulty::retransmit);
    let refused = scenario.workload.as_ref().and_then(|workload| workload.around.reorder.as_ref()?.timeout);
    let lost = lost.map(|lost| ("topology.faults.retransmit.timeout", lost.timeout));
    lost.or(refused.map(|timeout| ("workload.reorder.timeout", timeout)))
}

/// Refuses receivers that deliver in order where packets have no order, or could not be sent again.
fn reorder(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let reorder = scenario.workload.as_ref().and_then(|workload| workload.around.reorder.as_ref());
    let Some(reorder) = reorder else { return Ok(()) };
    if scenario.router.kind() != "input_queued" {
        let expected = "receivers of this network deliver no packets in order; expected \"input_queued\" with \
                        workload.reorder";
        return Err(ScenarioError::new("router.kind", format!("{:?}", scenario.router.kind()), expected));
    }
    if !topology.breakdowns().is_empty() {
        let expected = "receivers that deliver in order would wait for lost packets; expected nothing that breaks \
                        during the run with workload.reorder";
        return Err(ScenarioError::missing("topology.faults.later", expected));
    }
    let Some(memory) = reorder.memory else {
        let expected = "nothing is refused without `memory`; expected `memory` with it";
        let refuse = |timeout: u32| Err(ScenarioError::new("workload.reorder.timeout", timeout, expected));
        return reorder.timeout.map_or(Ok(()), refuse);
    };
    if reorder.timeout.is_none() {
        let expected = "say after how many cycles a source sends a refused packet again";
        return Err(ScenarioError::missing("workload.reorder.timeout", expected));
    }
    let beside = [
        ("topology.faults.retransmit", topology.faulty().and_then(Faulty::retransmit).is_some(), "has a timeout, too"),
        (
            "congestion",
            scenario.congestion.params().notifications().is_some(),
            "holds back no packets that are sent again",
        ),
    ];
    match beside.iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((key, _, why)) => {
            let expected = format!("expected none with `{key}`, which {why}");
            Err(ScenarioError::new("workload.reorder.memory", memory, expected))
        }
    }
}

/// Refuses a workload without the units that it needs, and tables of a workload where there is none.
///
/// Messages are counted in bytes and cut into phits, so the size of a phit must be known.
fn workload(scenario: &Scenario) -> Result<(), ScenarioError> {
    let measure = &scenario.measure;
    if scenario.workload.is_none() {
        let MeasureParams { messages, operations, tracks, phases, .. } = *measure;
        let asked = [("messages", messages), ("operations", operations), ("tracks", tracks), ("phases", phases)];
        return match asked.iter().find(|(_, asked)| *asked) {
            None => Ok(()),
            Some((key, _)) => {
                let reason = "is a table of a [workload], and this scenario has none";
                Err(ScenarioError::new(format!("measure.{key}"), true, reason))
            }
        };
    }
    let params = scenario.workload.as_ref().map(|workload| workload.program.params());
    let timed = scenario.units.as_ref().is_some_and(|units| units.cycle.is_some());
    if params.is_some_and(|params| params.counts_nanoseconds()) && !timed {
        let reason = "the times of this program are nanoseconds: say how long a cycle is, as \"1 ns\"";
        return Err(ScenarioError::missing("units.cycle", reason));
    }
    let known = scenario.units.as_ref().is_some_and(|units| units.phit.is_some());
    if scenario.router.params().counts_phits() && !known {
        let reason = "the messages of a workload have bytes, and links carry phits: say what a phit is, as \"8 B\"";
        return Err(ScenarioError::missing("units.phit", reason));
    }
    Ok(())
}

/// Refuses iterations of a program that cannot be told apart, or never end.
fn repeat(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Some(repeat) = scenario.workload.as_ref().and_then(|workload| workload.around.repeat) else { return Ok(()) };
    let refuse = |key: &str, value: &str, expected: &str| Err(ScenarioError::new(key, value, expected));
    if !scenario.router.params().repeats() {
        let kind = format!("{:?}", scenario.router.kind());
        return refuse("router.kind", &kind, "expected \"input_queued\", \"fluid\" or \"ideal\" with workload.repeat");
    }
    if let Some(key) = beside(scenario).first() {
        let expected = "traffic never ends, so an iteration of the programs beside it leaves packets in the network; \
                        expected none with workload.repeat";
        return Err(ScenarioError::missing(key.clone(), expected));
    }
    if scenario.workload.as_ref().is_some_and(|workload| workload.program.decides_together()) {
        let expected = "the requests of kind = \"inference\" are one long run; expected no repeat, and more requests";
        return Err(ScenarioError::missing("workload.repeat", expected));
    }
    let MeasureParams { messages, operations, tracks, phases, .. } = scenario.measure;
    let asked = [("messages", messages), ("operations", operations), ("tracks", tracks), ("phases", phases)];
    if let Some((key, _)) = asked.iter().find(|(_, asked)| *asked) {
        let expected = "has a row for everything that happens in one run of a program; expected false with \
                        workload.repeat";
        return refuse(&format!("measure.{key}"), "true", expected);
    }
    let probes = scenario.measure.probes.first();
    match probes.filter(|_| repeat.iterations > 1) {
        Some(probe) => {
            let expected = "looks at one run of a program; expected no probes with workload.repeat";
            refuse("measure.probes", &format!("{:?}", probe.kind()), expected)
        }
        None => Ok(()),
    }
}

/// Number of virtual networks that share the virtual channels of every link.
pub(crate) fn networks(scenario: &Scenario) -> u16 {
    let requests = scenario.traffic.requests.as_ref().filter(|requests| requests.virtual_networks);
    requests.map_or(scenario.congestion.params().networks(), |_| 2)
}

/// Refuses requests that this router cannot answer, or cannot keep apart from replies.
fn requests(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let parts = scenario.queueing.params().parts_replies();
    let Some(requests) = &scenario.traffic.requests else {
        return match parts {
            true => Err(ScenarioError::missing("queueing.replies", "expected traffic.requests with it")),
            false => Ok(()),
        };
    };
    if parts && requests.virtual_networks {
        let expected = "expected false with queueing.replies, where replies may take the channels of requests";
        return Err(ScenarioError::new("traffic.requests.virtual_networks", "true", expected));
    }
    let router = scenario.router.params();
    if !router.several_source_queues() {
        let expected =
            "this router's endpoints answer no requests; expected \"input_queued\" with admittance = \"single\"";
        return Err(ScenarioError::new("router.kind", format!("{:?}", scenario.router.kind()), expected));
    }
    if !topology.breakdowns().is_empty() && topology.faulty().and_then(Faulty::retransmit).is_none() {
        let expected = "a request that is lost is never answered; expected topology.faults.retransmit, or links that \
                        do not break, with requests";
        return Err(ScenarioError::missing("topology.faults.later", expected));
    }
    let (path, params) = described(router.links(), &topology.classes()[0]);
    if let (Some(room), Some(_)) = (requests.room, params.ejection_buffer) {
        let expected = format!("{path}.ejection_buffer says how much room there is; leave one of the two out");
        return Err(ScenarioError::new("traffic.requests.room", room, expected));
    }
    if let Some(room) = requests.room.filter(|_| router.shares()) {
        let expected = "expected none with router.sharing";
        return Err(ScenarioError::new("traffic.requests.room", room, expected));
    }
    let keeps = requests.virtual_networks || requests.room.is_some();
    let (key, kind) = ("queueing.kind", scenario.queueing.kind());
    if !scenario.queueing.params().undivided() {
        let expected = "endpoints with requests choose the virtual channel; expected \"virtual_channels\"";
        return Err(ScenarioError::new(key, format!("{kind:?}"), expected));
    }
    if requests.virtual_networks && !scenario.routing.params().per_network() {
        let expected = format!(
            "this mechanism decides from what both virtual networks have in common; those that work in each by itself \
             are: {}",
            routings(|routing| routing.per_network())
        );
        return Err(ScenarioError::new("routing.kind", format!("{:?}", scenario.routing.kind()), expected));
    }
    let first = if requests.virtual_networks { topology.classes().len() } else { 1 };
    for class in topology.classes().iter().take(if keeps { first } else { 0 }) {
        let (path, params) = described(router.links(), class);
        let expected = match (&**class, requests.virtual_networks) {
            // If the number of injection queues is odd, replies have one more.
            ("endpoint", true) if params.vcs < 2 => "expected 2 or more: requests and replies have separate queues",
            ("endpoint", true) => continue,
            ("endpoint", false) if params.vcs % 2 != 0 => {
                "expected an even number: an endpoint with `room` for requests takes replies in other virtual channels"
            }
            _ if params.vcs % 2 != 0 => {
                "expected an even number: half of the virtual channels are for requests and half for replies"
            }
            _ => continue,
        };
        return Err(ScenarioError::new(format!("{path}.vcs"), params.vcs, expected));
    }
    Ok(())
}

/// Refuses `what` where endpoints cannot have the source queues that it needs.
fn source_queues(scenario: &Scenario, what: &str) -> Result<(), ScenarioError> {
    if scenario.router.params().several_source_queues() {
        return Ok(());
    }
    let kind = scenario.router.kind();
    Err(match kind {
        "input_queued" => {
            let expected = format!("admittance queues leave no place for those of {what}; expected \"single\"");
            ScenarioError::new("router.admittance", "\"per_destination\"", expected)
        }
        _ => {
            let expected =
                format!("this router's endpoints have one source queue; expected \"input_queued\", or no {what}");
            ScenarioError::new("router.kind", format!("{kind:?}"), expected)
        }
    })
}

/// Refuses classes of packets where endpoints have no source queue for each class.
fn classes(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    if scenario.traffic.classes.is_empty() {
        return Ok(());
    }
    source_queues(scenario, "traffic.classes")?;
    if !scenario.queueing.params().undivided() {
        let kind = format!("{:?}", scenario.queueing.kind());
        let expected = "endpoints with classes choose the virtual channel; expected \"virtual_channels\"";
        return Err(ScenarioError::new("queueing.kind", kind, expected));
    }
    if !topology.breakdowns().is_empty() {
        let expected = "expected nothing that breaks during a run with traffic.classes";
        return Err(ScenarioError::missing("topology.faults.later", expected));
    }
    if topology.faulty().and_then(Faulty::retransmit).is_some() {
        let expected = "expected none with traffic.classes, of which nothing is sent again";
        return Err(ScenarioError::missing("topology.faults.retransmit", expected));
    }
    Ok(())
}

/// Refuses congestion control where the kernel has no source queue for each destination, or could not tell what waits
/// for an output.
fn congestion(scenario: &Scenario, topology: &dyn Topology, routing: &dyn RoutingParams) -> Result<(), ScenarioError> {
    let params = scenario.congestion.params();
    if scenario.router.params().puts_control_first() && params.networks() == 1 {
        let expected = "expected none where packets without data have no virtual channels of their own; they have with \
                        congestion.channels = \"own\", or with a reservation protocol";
        return Err(ScenarioError::missing("router.control_buffer", expected));
    }
    if !scenario.router.params().puts_control_first() && params.reservations().is_some_and(|rule| rule.yields) {
        let expected = "expected false without router.control_buffer";
        return Err(ScenarioError::new("congestion.yields", true, expected));
    }
    if !params.is_on() {
        return Ok(());
    }
    params.check().map_err(|error| error.under("congestion"))?;
    source_queues(scenario, "congestion control")?;
    let router = scenario.router.params();
    let beside = [
        ("traffic.classes", !scenario.traffic.classes.is_empty(), "classes have source queues of their own"),
        ("traffic.requests", scenario.traffic.requests.is_some(), "replies have source queues of their own"),
        ("topology.faults.later", !topology.breakdowns().is_empty(), "lost packets would stay in backlogs"),
        (
            "topology.faults.retransmit",
            topology.faulty().and_then(Faulty::retransmit).is_some(),
            "packets that are sent again are not held back",
        ),
        (
            "planes.injection",
            scenario.planes.as_ref().is_some_and(|planes| planes.count > 1 && planes.is_serial()),
            "endpoints hold back packets in each plane by itself",
        ),
        (
            "workload",
            scenario.workload.is_some() && params.reservations().is_some(),
            "messages of programs are not told apart by the cycle of their packets",
        ),
    ];
    if let Some((key, _, why)) = beside.iter().find(|(_, given, _)| *given) {
        return Err(ScenarioError::missing(*key, format!("{why}; expected none with [congestion]")));
    }
    if params.routers_notify() && router.pauses() {
        let expected = "notifications of routers go before data, and could hold pause frames up for longer than any \
                        headroom covers; expected \"credits\" with this congestion.kind";
        return Err(ScenarioError::new("router.flow_control", "\"pfc\"", expected));
    }
    let (queueing, kind) = (scenario.queueing.params(), format!("{:?}", scenario.queueing.kind()));
    if queueing.looks_ahead() {
        let expected = "a router decides on the queue of the next one, so a queue waits for no single output; expected \
                        \"virtual_channels\", \"dbbm\", \"voqsw\", \"voqnet\" or \"fbicm\" with [congestion]";
        return Err(ScenarioError::new("queueing.kind", kind, expected));
    }
    if routing.alternatives() {
        let expected = "a head that asks for several outputs waits for no single one; expected another mechanism with \
                        [congestion]";
        return Err(ScenarioError::new("routing.kind", format!("{:?}", scenario.routing.kind()), expected));
    }
    if let Some(reservations) = params.reservations() {
        reserved(scenario, routing, &reservations)?;
    }
    let largest = scenario.traffic.packet_sizes().map_err(|e| e.under("traffic"))?.1;
    if let Some(notifications) = params.packets().filter(|it| it.phits > largest) {
        let expected = format!("expected at most {largest} phits, the size of the largest packet");
        return Err(ScenarioError::new("congestion.notification", notifications.phits, expected));
    }
    let networks = params.networks();
    if networks == 1 {
        return Ok(());
    }
    if !queueing.undivided() && !queueing.sorts() {
        let expected = match params.reservations() {
            None => {
                "endpoints choose the virtual channel of notifications; expected \"virtual_channels\", or \"voqsw\" \
                 with memory = \"shared\", with congestion.channels = \"own\""
            }
            Some(_) => {
                "endpoints choose the virtual channel of each packet; expected \"virtual_channels\", or \"voqsw\" with \
                 memory = \"shared\""
            }
        };
        return Err(ScenarioError::new("queueing.kind", kind, expected));
    }
    if !routing.per_network() {
        let expected = format!(
            "this mechanism decides from what data and notifications have in common; those that work in each virtual \
             network by itself are: {}",
            routings(|routing| routing.per_network())
        );
        return Err(ScenarioError::new("routing.kind", format!("{:?}", scenario.routing.kind()), expected));
    }
    for class in topology.classes() {
        let (path, link) = described(router.links(), class);
        if link.vcs % networks != 0 {
            let expected = match params.reservations() {
                None => "expected an even number: half of the virtual channels are for notifications".into(),
                Some(_) => {
                    format!("expected a multiple of {networks}: each kind of packets has as many virtual channels")
                }
            };
            return Err(ScenarioError::new(format!("{path}.vcs"), link.vcs, expected));
        }
    }
    Ok(())
}

/// Refuses a reservation protocol where packets could not be dropped as they wait.
fn reserved(scenario: &Scenario, routing: &dyn RoutingParams, rule: &Reservations) -> Result<(), ScenarioError> {
    let router = scenario.router.params();
    let kind = scenario.congestion.kind();
    if !router.stages_channels() {
        let expected = format!("expected \"stage\" with congestion.kind = {kind:?}: packets wait for a channel");
        return Err(ScenarioError::missing("router.vc_allocation", expected));
    }
    if router.pauses() {
        let expected = format!("expected \"credits\" with congestion.kind = {kind:?}: routers drop no paused packets");
        return Err(ScenarioError::new("router.flow_control", "\"pfc\"", expected));
    }
    if router.shares() {
        return Err(ScenarioError::missing("router.sharing", format!("expected none with congestion.kind = {kind:?}")));
    }
    if !routing.proof().is_minimal() {
        let expected = format!(
            "a refusal goes back on a minimal route; with congestion.kind = {kind:?} expected one of: {}",
            routings(|routing| routing.proof().is_minimal() && routing.per_network())
        );
        return Err(ScenarioError::new("routing.kind", format!("{:?}", scenario.routing.kind()), expected));
    }
    let smallest = scenario.traffic.packet_sizes().map_err(|e| e.under("traffic"))?.0;
    let most = router.flit(smallest.into());
    if u32::from(rule.control) > most {
        let expected = format!("expected at most {most} phits, the smallest flit of data");
        return Err(ScenarioError::new("congestion.control", rule.control, expected));
    }
    Ok(())
}

/// Refuses planes beside features that work in a single network only.
fn planes(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let Some(planes) = scenario.planes.as_ref().filter(|planes| planes.count > 1) else { return Ok(()) };
    let router = scenario.router.params();
    let refuse = |key: &str, value: String, expected: &str| Err(ScenarioError::new(key, value, expected));
    if !router.parallel() {
        let expected = "this router's networks stand alone; expected \"input_queued\" with planes.count above 1";
        return refuse("router.kind", format!("{:?}", scenario.router.kind()), expected);
    }
    let measure = &scenario.measure;
    let beside = [
        ("workload", scenario.workload.is_some(), "ranks send over rails, endpoints of their own each"),
        ("traffic.requests", scenario.traffic.requests.is_some(), "nothing is answered from one plane in another"),
        ("topology.faults", topology.faulty().is_some(), "all planes are alike"),
        ("measure.order", measure.order, "the order of packets in different planes is not known"),
        ("measure.probes", !measure.probes.is_empty(), "probes look into one network"),
    ];
    if let Some((key, _, why)) = beside.iter().find(|(_, given, _)| *given) {
        let expected = format!("{why}; expected none with planes.count above 1");
        return Err(ScenarioError::missing(*key, expected));
    }
    if !planes.is_serial() {
        return Ok(());
    }
    if !scenario.traffic.classes.is_empty() {
        let expected = "expected \"parallel\" with traffic.classes, each of which has a source queue";
        return refuse("planes.injection", "\"serial\"".into(), expected);
    }
    if !router.several_source_queues() {
        let expected = "expected \"parallel\", or router.admittance = \"single\"";
        return refuse("planes.injection", "\"serial\"".into(), expected);
    }
    Ok(())
}

/// Why a mean over `cycles` would not converge: the change of traffic or network in these cycles. `None` if nothing
/// changes.
pub(crate) fn changing(scenario: &Scenario, topology: &dyn Topology, cycles: Range<u64>) -> Option<&'static str> {
    let traffic = &scenario.traffic;
    // A network changes twice: when links break, and `delay` cycles later, when routing learns of it.
    let breaks =
        |b: &Breakdown| cycles.start <= u64::from(b.cycle) + u64::from(b.delay) && u64::from(b.cycle) < cycles.end;
    match () {
        () if !traffic.trace.is_empty() => Some("`traffic.trace` ends"),
        () if traffic.message.as_ref().is_some_and(|message| message.count.is_some()) => {
            Some("`traffic.message.count` ends")
        }
        () if traffic.requests.as_ref().is_some_and(|requests| requests.count.is_some()) => {
            Some("`traffic.requests.count` ends")
        }
        () if traffic.changes.iter().any(|change| cycles.contains(&change.cycle.into())) => {
            Some("`traffic.changes` changes the traffic")
        }
        () if topology.breakdowns().iter().any(breaks) => Some("`topology.faults` breaks links"),
        () => None,
    }
}

/// Refuses `precision` where the means change during the run: they would never be known precisely.
fn steady(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    if scenario.measure.precision.is_none() {
        return Ok(());
    }
    let Some(reason) = changing(scenario, topology, 0..u64::MAX) else { return Ok(()) };
    let reason = format!("{reason}, so no mean becomes more precise with time; expected a steady state");
    Err(ScenarioError::missing("measure.precision", reason))
}

/// Refuses routers and a routing mechanism that do not fit the topology.
pub(crate) fn graph(
    scenario: &Scenario,
    topology: &dyn Topology,
    routing: &dyn RoutingParams,
) -> Result<(), ScenarioError> {
    scenario.router.params().check_settings(topology)?;
    sides(scenario, topology)?;
    routing.check(topology).map_err(|e| e.under("routing"))
}

/// Refuses failing links, routers and endpoints where router, routing or traffic cannot cope with them.
fn faults(scenario: &Scenario, topology: &dyn Topology, routing: &dyn RoutingParams) -> Result<(), ScenarioError> {
    let Some(faulty) = topology.faulty() else { return Ok(()) };
    let router = scenario.router.params();
    if !router.breaks() {
        let expected = "nothing fails in this router's networks; expected \"input_queued\" with topology.faults";
        return Err(ScenarioError::new("router.kind", format!("{:?}", scenario.router.kind()), expected));
    }
    let later = topology.breakdowns().iter().filter_map(|breakdown| breakdown.graph.faulty());
    if later.chain([faulty]).any(|faulty| !faulty.off().is_empty()) {
        let refused = match () {
            () if scenario.workload.is_some() => "workload",
            () if scenario.traffic.requests.is_some() => "traffic.requests",
            () => "",
        };
        if !refused.is_empty() {
            let expected = "what waits for an endpoint that has failed never ends; expected topology.faults that \
                            leave all endpoints at work";
            return Err(ScenarioError::missing(refused, expected));
        }
    }
    let tables = topology.breakdowns().len() + usize::from(routing.reserved() > 0) > 0;
    if !scenario.queueing.params().undivided() && tables && routing.table(topology).is_some() {
        let expected = "queues that look ahead in tables do not know of faults; expected \"virtual_channels\" with \
                        topology.faults";
        return Err(ScenarioError::new("queueing.kind", format!("{:?}", scenario.queueing.kind()), expected));
    }
    if routing.reserved() == 0 {
        return Ok(());
    }
    if !scenario.queueing.params().undivided() {
        let expected = "packets take detours around topology.faults here, in virtual channels of their own; expected \
                        \"virtual_channels\"";
        return Err(ScenarioError::new("queueing.kind", format!("{:?}", scenario.queueing.kind()), expected));
    }
    if networks(scenario) > 1 {
        let expected = "packets take detours around topology.faults here, in virtual channels of their own, which \
                        virtual networks would share; expected no virtual networks, or faults that leave minimal \
                        routes";
        let (key, value) = match scenario.traffic.requests {
            Some(_) => ("traffic.requests.virtual_networks", "true"),
            None => ("congestion.channels", "\"own\""),
        };
        return Err(ScenarioError::new(key, value, expected));
    }
    Ok(())
}

/// The names of the routing mechanisms that, with their default parameters, satisfy `which`.
fn routings(which: RoutingProperty) -> String {
    let holds =
        |kind: &&'static str| RoutingKind::from_value("routing", &json!(kind)).is_ok_and(|it| which(it.params()));
    RoutingKind::kinds().into_iter().filter(holds).collect::<Vec<_>>().join(", ")
}

/// Refuses a topology whose routes are too long: packets count their hops over links of one class in 8 bits.
fn sides(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let proof = scenario.routing.params().proof();
    // The longest route of a table is measured, so it counts once. Other nonminimal routes have two minimal legs.
    check_sides(topology, if proof.is_minimal() || matches!(proof, Proof::Tables) { 1 } else { 2 })
}

/// Enough virtual channels for the routing mechanism's deadlock avoidance.
fn channels(scenario: &Scenario, topology: &dyn Topology, routing: &dyn RoutingParams) -> Result<(), ScenarioError> {
    if !scenario.router.params().has_channels() {
        return Ok(());
    }
    let (needed, reason) = routing.vcs_needed(topology);
    let networks = networks(scenario);
    let reason = match networks {
        1 => reason,
        _ if scenario.traffic.requests.is_some() => format!("for requests and as many for replies, {reason}"),
        _ => format!("for data and as many for notifications, {reason}"),
    };
    for (class, needed) in topology.classes().iter().zip(needed).skip(1) {
        let (path, params) = described(scenario.router.params().links(), class);
        let needed = u16::from(needed) * networks;
        if params.vcs < needed {
            return Err(ScenarioError::new(
                format!("{path}.vcs"),
                params.vcs,
                format!(
                    "routing {:?} needs at least {needed} virtual channels on {class} links to be free of deadlock \
                     ({reason})",
                    scenario.routing.kind()
                ),
            ));
        }
    }
    Ok(())
}

/// Most ticks per router cycle with which the ticks of the whole run still fit into 32 bits.
pub(crate) fn ticks_left(scenario: &Scenario) -> u32 {
    let cycles = match &scenario.workload {
        Some(_) => 1,
        None => scenario.measure.most_cycles() * u64::from(scenario.router.params().router_cycles()),
    };
    u32::try_from((MAX_CYCLES - 1) / cycles.max(1)).unwrap_or(u32::MAX)
}

/// Under wormhole switching each flit of a link has a tick of its own: refuses links that carry more flits in a cycle
/// than a cycle has ticks.
pub(crate) fn flits_in_a_cycle(
    scenario: &Scenario,
    topology: &dyn Topology,
    links: &LinkClasses,
    flit: u32,
) -> Result<(), ScenarioError> {
    let router = scenario.router.params();
    let (ticks, fills) = (links.ticks_per_cycle, router.fills());
    let most = f64::from(ticks) * f64::from(flit);
    let crowded = |rate: &Bandwidth| rate.to_f64().min(fills) > most;
    let of_class = |key: &str, class: &str| format!("{}.{key}", described(router.links(), class).0);
    let classes = topology.classes().iter().zip(links.iter());
    let mut all = classes.map(|(class, link)| (of_class("bandwidth", class), link.bandwidth)).collect::<Vec<_>>();
    all.extend(
        links[0].injection_bandwidth.map(|rate| (of_class("injection_bandwidth", &topology.classes()[0]), rate)),
    );
    all.extend((0..topology.endpoints()).filter_map(|endpoint| {
        Some((format!("topology.endpoint_bandwidth[{endpoint}]"), topology.endpoint_bandwidth(endpoint)?))
    }));
    let Some((path, rate)) = all.into_iter().find(|(_, rate)| crowded(rate)) else { return Ok(()) };
    let expected = format!(
        "expected at most {most} phits per cycle with router.switching = \"wormhole\", {ticks} flits; or a larger \
         router.flit_size, or fewer cycles"
    );
    Err(ScenarioError::new(path, rate.to_f64(), expected))
}

fn duration(scenario: &Scenario) -> Result<(), ScenarioError> {
    if scenario.workload.is_some() {
        return Ok(());
    }
    let measure = &scenario.measure;
    let cycles = measure.most_cycles();
    let ticks = cycles * u64::from(scenario.router.params().router_cycles());
    match ticks < MAX_CYCLES {
        true => Ok(()),
        false => Err(ScenarioError::new(
            "measure.cycles",
            measure.cycles,
            format!(
                "warm-up, measured cycles and drain come to {cycles}; expected fewer than {MAX_CYCLES} router cycles"
            ),
        )),
    }
}
