//! From a scenario to the blueprint of its network.

use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::seams::probe::Probes;
use crate::fabric::{Bandwidth, Blueprint, LinkClasses, MOST_FLITS, MOST_PARTS};
use crate::measure::{BATCHES, Division, Loads, Offered, Sorting, Window};
use crate::needs::{self, Needs};
use crate::proof::{Proof, tables};
use crate::routing::detours;
use crate::scenario::{Count, MeasureParams, Scenario, SeriesBy, check};
use crate::topology::{RouteTable, Topology};
use crate::traffic::{Plane, Traffic};
use crate::workload::{Units, Workload};
use phit_workload::run::Asked;
use std::sync::Arc;

/// The records of a program that a run must keep.
fn asked(measure: &MeasureParams) -> Asked {
    let MeasureParams { messages, operations, tracks, phases, .. } = *measure;
    Asked { messages, operations, tracks, phases }
}

/// Checks a scenario completely and returns the blueprint of its network.
pub fn prepare(scenario: &Scenario) -> Result<Blueprint, ScenarioError> {
    blueprint(scenario, None).map(|(blueprint, _)| blueprint)
}

/// Checks the random parts of a scenario with other seeds: nothing else depends on the seed.
pub fn check_seeds(scenario: &Scenario, seeds: &[u64]) -> Result<(), ScenarioError> {
    let Blueprint { topology, links, .. } = prepare(scenario)?;
    seeds.iter().try_for_each(|&seed| draw(scenario, &*topology, &links, seed).map(drop))
}

/// The expected memory of a scenario's run, before its network is built.
pub fn needs(scenario: &Scenario) -> Result<Needs, ScenarioError> {
    let (blueprint, graph) = blueprint(scenario, None)?;
    Ok(needs::of_run(scenario, &blueprint, graph))
}

/// The blueprint, with the bytes of the graph, which may take `memory` bytes.
pub(super) fn blueprint(scenario: &Scenario, memory: Option<u64>) -> Result<(Blueprint, f64), ScenarioError> {
    let graph = needs::of_graph(scenario, memory)?;
    let topology = scenario.network()?;
    let (routing, _) = detours::around(scenario.routing.shared(), &topology)?;
    check::check(scenario, &*topology, &*routing)?;
    let table = routing.table(&*topology);
    if let (Proof::Tables, Some(table)) = (routing.proof(), &table) {
        arrive(scenario, &*topology, table, "")?;
        for (index, breakdown) in topology.breakdowns().iter().enumerate() {
            if let Some(table) = routing.table(&*breakdown.graph) {
                let when = format!(" after change {index} of topology.faults.later");
                arrive(scenario, &*breakdown.graph, &table, &when)?;
            }
        }
    }
    let router = scenario.router.params();
    let division = scenario.queueing.params().division(&*topology);
    let links = LinkClasses::new(router.links(), &*topology, router.ticks_per_cycle(), division);
    let flit = smallest_flit(scenario)?;
    let most = if router.whole_packets() { MOST_PARTS } else { MOST_FLITS };
    let links = links.divided(flit, router.fills(), most.min(check::ticks_left(scenario)));
    if !router.whole_packets() {
        check::flits_in_a_cycle(scenario, &*topology, &links, flit)?;
    }
    let cycle = links.ticks_per_cycle;
    let Drawn { traffic, planes, workload } = draw(scenario, &*topology, &links, scenario.seed)?;
    let measure = &scenario.measure;
    let weights = links.rates(&*topology, 1).weights(scenario.traffic.load_unit, topology.endpoints());
    let window = Window {
        load: Loads::new(topology.endpoints(), weights),
        offered: traffic.offered(topology.endpoints()).map(|(mean, variance)| Offered { mean, variance }),
        ticks_per_cycle: cycle,
        by_generation: measure.count == Count::Generated,
        division: match workload {
            // A program has no batches.
            Some(_) => Division { batch: Tick::MAX, parts: 1 },
            None => {
                let batch = (measure.cycles / measure.batches).max(1);
                Division { batch: batch * cycle, parts: BATCHES.div_ceil(measure.batches).min(batch) }
            }
        },
        histogram: measure.histogram,
        series_bin: measure.series.as_ref().map(|s| s.bin.saturating_mul(cycle)),
        order: measure.order,
        precise: measure.precision.is_some(),
        classes: scenario.traffic.classes.len(),
        flows: Sorting::new(&measure.flows, &*topology).map_err(|e| e.under("measure"))?,
        series_by_generation: measure.series.as_ref().is_some_and(|s| s.by == SeriesBy::Generation),
    };
    let blueprint = Blueprint {
        table,
        topology,
        routing,
        queueing: scenario.queueing.shared(),
        congestion: scenario.congestion.shared(),
        division,
        links,
        traffic: Arc::new(traffic),
        planes,
        workload,
        rows: asked(measure),
        window,
        probes: Probes::new(measure.probes.iter().map(|probe| probe.shared()), cycle),
        seed: scenario.seed,
    };
    Ok((blueprint, graph))
}

/// Phits of the smallest flit that a link carries often. The end of a message may be smaller.
fn smallest_flit(scenario: &Scenario) -> Result<u32, ScenarioError> {
    let packet = match &scenario.workload {
        Some(workload) => workload.largest_packet(),
        None => scenario.traffic.packet_sizes().map_err(|e| e.under("traffic"))?.0,
    };
    let notification = scenario.congestion.params().smallest().unwrap_or(packet);
    let packet = packet.min(notification);
    Ok(scenario.router.params().flit(packet.into()))
}

/// The traffic of endpoints: the only part of a network that depends on the seed before it runs.
struct Drawn {
    traffic: Traffic,
    planes: Vec<Arc<Traffic>>,
    workload: Option<Arc<Workload>>,
}

/// The traffic of a scenario's endpoints with this seed, its own or another.
fn draw(scenario: &Scenario, topology: &dyn Topology, links: &LinkClasses, seed: u64) -> Result<Drawn, ScenarioError> {
    let count = scenario.plane_count();
    let rates = links.rates(topology, scenario.planes_at_once());
    let bisection = links.bisection_load(topology).map(|load| load * f64::from(count));
    let drawn = || Traffic::build(&scenario.traffic, topology, &rates, bisection, seed);
    let (traffic, workload) = match &scenario.workload {
        None => (drawn()?, None),
        Some(params) => {
            let units = scenario.units.as_ref().map_or(Units::default(), |units| Units {
                phit: units.phit_bits(),
                nanosecond: units.nanosecond_cycles(),
            });
            let loads = (&rates, bisection);
            let workload = params.build(topology, seed, links.ticks_per_cycle, loads, units)?;
            let sizes = workload.packet_sizes(params.largest_packet());
            (Traffic::silent(topology.endpoints(), sizes)?, Some(Arc::new(workload)))
        }
    };
    if scenario.plane_count() > scenario.planes_at_once() && topology.endpoint_bandwidth(0).is_some() {
        let expected = "expected links of one bandwidth at all endpoints, which send one packet after another";
        return Err(ScenarioError::new("planes.injection", "\"serial\"", expected));
    }
    let mut planes = Vec::new();
    for (params, number) in
        scenario.planes.iter().flat_map(|params| (0..params.count).map(move |number| (params, number)))
    {
        if count > 1 {
            let plane = Plane::new(params, number, seed, links[0].injection_bandwidth.map(Bandwidth::ratio));
            planes.push(Arc::new(drawn()?.on_plane(&plane)));
        }
    }
    Ok(Drawn { traffic, planes, workload })
}

/// Refuses tables without a route to some destination.
fn arrive(scenario: &Scenario, graph: &dyn Topology, table: &RouteTable, when: &str) -> Result<(), ScenarioError> {
    tables::arrive(graph, table).map_err(|flaw| {
        let expected = format!("{}{when}; expected tables with a route to every destination", flaw.said(graph.words()));
        ScenarioError::new("routing.entries", format!("{:?}", scenario.routing.kind()), expected)
    })
}
