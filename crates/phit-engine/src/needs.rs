//! The expected memory of a run, estimated before its network is built. A run that the machine cannot hold is refused.
//!
//! The graph's parameters estimate the graph ([`TopologyParams::needs`](crate::topology::TopologyParams)); the kernel
//! estimates the rest ([`FabricParams::needs`]).

use crate::error::ScenarioError;
use crate::fabric::{Blueprint, FabricParams, Load, Ways, spread};
use crate::scenario::Scenario;
use crate::traffic::Traffic;
use std::collections::BTreeMap;

/// Number of endpoints whose traffic is sampled, to estimate the length of routes.
const SAMPLED: u32 = 64;

/// Packets drawn for each of them.
const DRAWN: usize = 8;

/// Factor by which packets take longer than in an empty network.
const QUEUEING: f64 = 1.2;

/// Factor by which routes are longer if they may be nonminimal.
const DETOURS: f64 = 1.4;

/// Bytes of a row of a result table: its values, and their text.
const ROW: f64 = 700.0;

/// Bytes that every run needs.
const LEAST: f64 = 1_000_000.0;

/// The parts that every process holds in full, however many processes there are.
const WHOLE: [&str; 7] =
    ["graph", "anything", "routing tables", "program", "rows of links", "rows of endpoints", "layout"];

/// The expected memory of a run.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Bytes by part.
    pub parts: BTreeMap<&'static str, f64>,
    /// Endpoints of the network.
    pub endpoints: u32,
    /// Its routers.
    pub routers: u32,
}

impl Needs {
    /// Sum of all bytes.
    pub fn bytes(&self) -> f64 {
        self.parts.values().sum()
    }

    /// Bytes of each of `processes` processes that run the network together.
    pub(crate) fn of_each(&self, processes: usize) -> f64 {
        let shared = |what: &str| !WHOLE.contains(&what);
        let bytes = |&(what, bytes): &(&&str, &f64)| if shared(what) { bytes / processes as f64 } else { *bytes };
        self.parts.iter().map(|part| bytes(&part)).sum()
    }

    /// Refuses a run that needs more than `memory` bytes in each of `processes` processes.
    pub(crate) fn within(
        &self,
        scenario: &Scenario,
        memory: Option<u64>,
        processes: usize,
    ) -> Result<(), ScenarioError> {
        match memory {
            Some(memory) if self.of_each(processes) > memory as f64 => {
                let expected = format!(
                    "{} endpoints and {} routers take about {} of memory; expected at most {}, what there is",
                    grouped(self.endpoints),
                    grouped(self.routers),
                    shown(self.of_each(processes)),
                    shown(memory as f64)
                );
                Err(ScenarioError::new("topology", format!("{:?}", scenario.topology.kind()), expected))
            }
            _ => Ok(()),
        }
    }
}

/// A number with separated thousands.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let rest = digits.as_bytes()[first..].chunks(3).map(|part| String::from_utf8_lossy(part).into_owned());
    let parts = std::iter::once(digits[..first].to_owned()).chain(rest).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(",")
}

/// Bytes in a readable unit.
fn shown(bytes: f64) -> String {
    let (unit, size) = match bytes {
        _ if bytes >= 1e12 => ("TB", 1e12),
        _ if bytes >= 1e9 => ("GB", 1e9),
        _ => ("MB", 1e6),
    };
    format!("{:.1} {unit}", bytes / size)
}

/// Bytes of a scenario's graph, estimated from its parameters before it is built.
pub(crate) fn of_graph(scenario: &Scenario, memory: Option<u64>) -> Result<f64, ScenarioError> {
    let bytes = scenario.topology.params().needs();
    match memory {
        Some(memory) if bytes > memory as f64 => {
            let expected = format!(
                "its graph alone takes about {} of memory; expected at most {}, what there is",
                shown(bytes),
                shown(memory as f64)
            );
            Err(ScenarioError::new("topology", format!("{:?}", scenario.topology.kind()), expected))
        }
        _ => Ok(bytes),
    }
}

/// Bytes of a scenario's run with this blueprint.
pub(crate) fn of_run(scenario: &Scenario, blueprint: &Blueprint, graph: f64) -> Needs {
    let (topology, router) = (&*blueprint.topology, scenario.router.params());
    let load = match blueprint.workload {
        Some(_) => Load::default(),
        None => in_flight(scenario, blueprint, router),
    };
    let mut parts = router.needs(blueprint, &load);
    let planes = f64::from(scenario.plane_count());
    parts.values_mut().for_each(|bytes| *bytes *= planes);
    let mut add = |what, bytes: f64| *parts.entry(what).or_default() += bytes;
    add("graph", graph);
    add("anything", LEAST);
    let endpoints = f64::from(topology.endpoints());
    if let Some(table) = &blueprint.table {
        add("routing tables", table.bytes() as f64);
    }
    if let Some(workload) = &blueprint.workload {
        add("program", workload.program.bytes() as f64 + workload.program.state());
    }
    let measure = &scenario.measure;
    if measure.links {
        let some = spread(SAMPLED, topology.routers());
        let ports: f64 = some.iter().map(|&router| f64::from(topology.ports(router))).sum();
        add("rows of links", ROW * ports / some.len().max(1) as f64 * f64::from(topology.routers()) * planes);
    }
    if measure.endpoints {
        add("rows of endpoints", ROW * endpoints);
    }
    Needs { parts, endpoints: topology.endpoints(), routers: topology.routers() }
}

/// Number of packets in the network at once: those generated during the time in which one is under way, limited by the
/// available room.
fn in_flight(scenario: &Scenario, blueprint: &Blueprint, router: &dyn FabricParams) -> Load {
    let of_class = |traffic: &Traffic| in_flight_of(traffic, scenario, blueprint, router);
    blueprint
        .traffic
        .by_class()
        .iter()
        .map(of_class)
        .fold(Load::default(), |all, own| Load { packets: all.packets + own.packets, flits: all.flits + own.flits })
}

/// The number for the packets of one class.
fn in_flight_of(traffic: &Traffic, scenario: &Scenario, blueprint: &Blueprint, router: &dyn FabricParams) -> Load {
    let topology = &blueprint.topology;
    let (topology, cycle) = (&**topology, f64::from(blueprint.links.ticks_per_cycle));
    let ways = Ways::new(blueprint, router.inside());
    let (mut ticks, mut hops, mut drawn) = (0.0, 0.0, 0.0);
    for endpoint in spread(SAMPLED, topology.endpoints()) {
        let mut source = traffic.source(endpoint, blueprint.seed);
        let packets = std::iter::from_fn(|| traffic.next(endpoint, &mut source)).take(DRAWN);
        for packet in packets {
            let way = ways.between(endpoint, packet.destination);
            ticks += f64::from(way.latency) + f64::from(packet.size) / way.bandwidth.to_f64() * cycle;
            hops += 1.0
                + f64::from(
                    topology.distance(topology.attachment(endpoint).0, topology.attachment(packet.destination).0),
                );
            drawn += 1.0;
        }
    }
    if drawn == 0.0 {
        return Load::default();
    }
    let changes = scenario.traffic.changes.iter().map(|change| change.cycle);
    let load = std::iter::once(0).chain(changes).map(|cycle| traffic.expected_load(cycle)).fold(0.0, f64::max);
    let size = traffic.mean_packet_size();
    let detours = if scenario.routing.params().proof().is_minimal() { 1.0 } else { DETOURS };
    // A link that is busy with a packet also holds it for that time.
    let time = (ticks / drawn / cycle + hops / drawn * size * QUEUEING) * detours;
    let packets = load / size * time * f64::from(topology.endpoints());
    let flits = size / f64::from(router.flit(size.ceil() as u32)).max(1.0);
    Load { packets: packets.min(room(blueprint, size)), flits: packets * flits.max(1.0) }
}

/// Number of packets for which there is room in buffers and on links.
fn room(blueprint: &Blueprint, size: f64) -> f64 {
    let (topology, links) = (&*blueprint.topology, &blueprint.links);
    let some = spread(SAMPLED, topology.routers());
    let of_port = |router: u32, port: u16| {
        let class = usize::from(topology.port(router, port).class);
        let link = &links[class];
        f64::from(link.buffer) * f64::from(link.queues) / f64::from(blueprint.division.parts())
    };
    let phits: f64 =
        some.iter().map(|&router| (0..topology.ports(router)).map(|port| of_port(router, port)).sum::<f64>()).sum();
    phits / size * f64::from(topology.routers()) / some.len().max(1) as f64
}
