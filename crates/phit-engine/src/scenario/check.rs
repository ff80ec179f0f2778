//! What must fit together before anything runs.

use super::Scenario;
use crate::error::ScenarioError;
use crate::fabric::input_queued::params::{Admittance, LinkParams, Phits, Switching, VcAllocation};
use crate::fabric::packet_node;
use crate::queueing::Fit;
use crate::topology::Topology;

/// Ticks are 32-bit numbers; this leaves room for what is filed ahead.
const MAX_CYCLES: u64 = 1 << 31;

/// Refuses a scenario that the kernel could not simulate as described.
pub fn check(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    graph(scenario, topology)?;
    channels(scenario, topology)?;
    if scenario.router.switching == Switching::Wormhole && !topology.breakdowns().is_empty() {
        let expected = "links can break during a run only where packets move as a whole: expected \"virtual_cut_through\" or \
                        \"store_and_forward\" with topology.faults.later";
        return Err(ScenarioError::new("router.switching", "\"wormhole\"", expected));
    }
    queues(scenario, topology)?;
    buffers(scenario, topology)?;
    bubble(scenario, topology)?;
    packet_node::check(scenario, topology)?;
    duration(scenario)
}

/// Refuses routers and a routing mechanism that do not fit the topology.
pub fn graph(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    router(scenario, topology)?;
    sides(scenario, topology)?;
    let routing = scenario.routing.params();
    if topology.faulty() && !routing.avoids_faults() {
        let expected = "this mechanism cannot go around the links of topology.faults; expected \"minimal\", \
                        \"dimension_order\", \"valiant\" with via = \"router\", or \"clos\"";
        return Err(ScenarioError::new("routing.kind", format!("{:?}", scenario.routing.kind()), expected));
    }
    routing.check(topology).map_err(|e| e.under("routing"))
}

/// The settings of a class and the path under which they stand.
fn link(scenario: &Scenario, class: &str) -> (String, LinkParams) {
    let links = &scenario.router.links;
    let key = if links.contains_key(class) || !links.contains_key("default") { class } else { "default" };
    (format!("router.links.{key}"), links.get(key).cloned().unwrap_or_default())
}

fn router(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let router = &scenario.router;
    let known: Vec<&str> = topology.classes().iter().map(String::as_str).chain(["default"]).collect();
    for (class, params) in &router.links {
        if !known.contains(&class.as_str()) {
            let mut error =
                ScenarioError::unknown(format!("router.links.{class}"), class, "link class of this topology", known);
            error.value = None;
            return Err(error);
        }
        let path = |key: &str| format!("router.links.{class}.{key}");
        let endpoints_own = [
            ("ejection_latency", params.ejection_latency.is_some()),
            ("ejection_buffer", params.ejection_buffer.is_some()),
            ("injection_bandwidth", params.injection_bandwidth.is_some()),
        ];
        if let Some((key, _)) = endpoints_own.iter().find(|(_, given)| class != "endpoint" && *given) {
            return Err(ScenarioError::new(path(key), "given", "only the class endpoint has this key"));
        }
        if router.vc_allocation == VcAllocation::Stage && params.vcs > 64 {
            return Err(ScenarioError::new(
                path("vcs"),
                params.vcs,
                "expected at most 64 virtual channels with router.vc_allocation = \"stage\"",
            ));
        }
    }
    Ok(())
}

/// Packets count their hops over links of one class in 8 bits.
fn sides(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let Some(sides) = topology.grid() else { return Ok(()) };
    let legs = if scenario.routing.params().proof().is_minimal() { 1 } else { 2 };
    for (d, &side) in sides.iter().enumerate() {
        let hops = match topology.wraps() {
            true => side / 2,
            // The diameter of a HyperX is the number of its dimensions.
            false => (side - 1).min(topology.diameter() + 1 - sides.len() as u32),
        };
        if hops.saturating_mul(legs) > u32::from(u8::MAX) {
            return Err(ScenarioError::new(
                format!("topology.dims[{d}]"),
                side,
                format!("routes of up to {} hops in one dimension; expected at most 255", hops.saturating_mul(legs)),
            ));
        }
    }
    Ok(())
}

/// Enough virtual channels for the routing mechanism's deadlock avoidance.
fn channels(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let (needed, reason) = scenario.routing.params().vcs_needed(topology);
    for (class, needed) in topology.classes().iter().zip(needed).skip(1) {
        let (path, params) = link(scenario, class);
        if params.vcs < u16::from(needed) {
            return Err(ScenarioError::new(
                format!("{path}.vcs"),
                params.vcs,
                format!(
                    "routing {:?} needs at least {needed} virtual channels on {class} links to be free of deadlock ({reason})",
                    scenario.routing.kind()
                ),
            ));
        }
    }
    Ok(())
}

/// Queues that the kernel can number, and whatever the queue organisation asks for.
fn queues(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let router = &scenario.router;
    let sizes = scenario.traffic.packet_size.params().build().map_err(|e| e.under("traffic.packet_size"))?;
    let (params, links) = (scenario.queueing.params(), topology.classes().iter().map(|class| link(scenario, class).1));
    let whole_packets = router.switching != Switching::Wormhole && router.vc_allocation != VcAllocation::Stage;
    let (vcs, buffer): (Vec<u16>, Vec<u32>) = links.map(|link| (link.vcs, link.buffer.or_huge())).unzip();
    let fit = Fit {
        topology,
        vcs: &vcs,
        buffer: &buffer,
        packet_size: sizes.range().1.into(),
        deterministic: scenario.routing.params().table(topology).is_some(),
        admits: router.admittance == Admittance::PerDestination,
        whole_packets,
    };
    params.check(&fit).map_err(|e| e.under("queueing"))?;
    let division = params.division(topology);
    for (class, vcs) in topology.classes().iter().zip(&vcs) {
        let all = u32::from(*vcs).saturating_mul(division.queues);
        if all > MOST_QUEUES {
            let expected = format!(
                "{vcs} virtual channels of {} queues each make {all} queues of a port of class {class}; expected at most \
                 {MOST_QUEUES}",
                division.queues
            );
            return Err(ScenarioError::new("queueing.kind", format!("{:?}", scenario.queueing.kind()), expected));
        }
    }
    if vcs[0] > 1 && division.queues > 1 {
        let path = format!("{}.vcs", link(scenario, &topology.classes()[0]).0);
        let expected = format!("expected 1: the queueing {:?} divides the injection queue", scenario.queueing.kind());
        return Err(ScenarioError::new(path, vcs[0], expected));
    }
    if router.admittance == Admittance::PerDestination && !whole_packets {
        let expected = "needs switching of whole packets, and virtual channels allocated with the switch";
        return Err(ScenarioError::new("router.admittance", "\"per_destination\"", expected));
    }
    Ok(())
}

/// Queues of a port are numbered in 12 bits of a credit.
const MOST_QUEUES: u32 = 4096;

/// The bubble family moves whole packets, and compares the queues of all directions as equals.
fn bubble(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    if scenario.routing.params().bubble().is_none() || scenario.router.node.is_some() {
        return Ok(());
    }
    if scenario.router.switching == Switching::Wormhole {
        let expected = format!(
            "routing {:?} leaves room for whole packets: expected \"virtual_cut_through\" or \"store_and_forward\"",
            scenario.routing.kind()
        );
        return Err(ScenarioError::new("router.switching", "\"wormhole\"", expected));
    }
    let mut between = topology.classes().iter().skip(1).map(|class| (class, link(scenario, class)));
    let Some((first, (_, there))) = between.next() else { return Ok(()) };
    match between.find(|(_, (_, link))| link.buffer != there.buffer) {
        None => Ok(()),
        Some((_, (path, link))) => {
            let (kind, size) = (scenario.routing.kind(), there.buffer.or_huge());
            let expected = format!(
                "routing {kind:?} compares the queues of all directions: expected {size} phits, as in class {first:?}"
            );
            Err(ScenarioError::new(format!("{path}.buffer"), link.buffer.or_huge(), expected))
        }
    }
}

/// Room for the largest unit that moves.
fn buffers(scenario: &Scenario, topology: &dyn Topology) -> Result<(), ScenarioError> {
    let router = &scenario.router;
    let sizes = scenario.traffic.packet_size.params().build().map_err(|e| e.under("traffic.packet_size"))?;
    let (_, largest) = sizes.range();
    let (unit, what) = match router.switching {
        Switching::Wormhole => (u32::from(largest).min(router.flit_size), "flit"),
        Switching::VirtualCutThrough | Switching::StoreAndForward => (u32::from(largest), "packet"),
    };
    let fits = |path: String, size: Phits| match size {
        Phits::Finite(phits) if phits < unit => Err(ScenarioError::new(
            path,
            phits,
            format!(
                "expected at least {unit} phits: a {what} is the unit of flow control under {} switching and must fit",
                switching_name(router.switching)
            ),
        )),
        _ => Ok(()),
    };
    let division = scenario.queueing.params().division(topology);
    let parts = if division.shared { 1 } else { division.queues };
    for class in topology.classes() {
        let (path, params) = link(scenario, class);
        let packets = if class == "endpoint" { 1 } else { scenario.routing.params().packets_per_buffer() };
        if packets > 1 && params.buffer.or_huge() / packets < u32::from(largest) {
            return Err(ScenarioError::new(
                format!("{path}.buffer"),
                params.buffer.or_huge(),
                format!(
                    "routing {:?} needs room for {packets} packets of {largest} phits on {class} links: one of them stays free",
                    scenario.routing.kind()
                ),
            ));
        }
        fits(format!("{path}.ejection_buffer"), params.ejection_buffer.unwrap_or(Phits::Infinite))?;
        let path = format!("{path}.buffer");
        match params.buffer {
            Phits::Finite(phits) if parts > 1 && phits / parts < unit => {
                let expected = format!(
                    "expected at least {} phits: {parts} queues of {unit} phits, the largest {what}",
                    u64::from(parts) * u64::from(unit)
                );
                return Err(ScenarioError::new(path, phits, expected));
            }
            size => fits(path, size)?,
        }
    }
    fits("router.output_buffer".into(), router.output_buffer)
}

fn switching_name(switching: Switching) -> &'static str {
    match switching {
        Switching::VirtualCutThrough => "virtual cut-through",
        Switching::StoreAndForward => "store-and-forward",
        Switching::Wormhole => "wormhole",
    }
}

fn duration(scenario: &Scenario) -> Result<(), ScenarioError> {
    let measure = &scenario.measure;
    let cycles = measure.most_cycles();
    let ticks = cycles * u64::from(scenario.router.speedup);
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
