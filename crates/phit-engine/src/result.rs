//! The result of a run: a summary and tables, as JSON values. Their contents are declared in `measure::quantities`.

use crate::fabric::LinkClasses;
use crate::measure::{Collector, Cost, Counters, Machine, Of, Quantity, Reading, Snapshot, object};
use crate::scenario::{Scenario, UnitsParams, check};
use crate::topology::Topology;
use serde_json::{Map, Value};
use std::sync::Arc;

/// All counts of a run.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) collector: Collector,
    pub(crate) warmup_cycles: u64,
    pub(crate) cycles: u64,
    pub(crate) drain_cycles: u64,
    pub(crate) converged: Option<bool>,
    pub(crate) stopped: bool,
    pub(crate) before: Snapshot,
    pub(crate) after: Snapshot,
    pub(crate) bytes: usize,
    pub(crate) partitions: usize,
    pub(crate) threads: usize,
    pub(crate) topology: Arc<dyn Topology>,
    pub(crate) links: LinkClasses,
    pub(crate) scenario: Scenario,
}

impl Outcome {
    /// The counters, merged over partitions.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// Bytes of the engine's tables at the end of the run.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Endpoints of the network.
    pub fn endpoints(&self) -> u32 {
        self.topology.endpoints()
    }

    /// Generated load in the measured window, in phits/(endpoint·cycle).
    pub fn offered_load(&self) -> f64 {
        self.read(Cost::default(), |at| at.offered_load())
    }

    /// Delivered load in the measured window, in phits/(endpoint·cycle).
    pub fn accepted_load(&self) -> f64 {
        self.read(Cost::default(), |at| at.accepted_load())
    }

    /// Mean latency of the recorded packets in cycles.
    pub fn latency_mean(&self) -> Option<f64> {
        self.read(Cost::default(), |at| at.latency_mean())
    }

    /// True if the run was stopped before its measurement was complete.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The summary, without values that depend on the machine.
    pub fn summary(&self) -> Map<String, Value> {
        self.quantities(Cost::default(), |quantity| quantity.of != Of::Machine)
    }

    /// The rest of the summary: values that depend on execution. `cost` is measured by the caller.
    pub fn execution(&self, cost: Cost) -> Map<String, Value> {
        self.quantities(cost, |quantity| quantity.of == Of::Machine)
    }

    /// The tables that the scenario asks for, columns by name, by table.
    pub fn tables(&self) -> Map<String, Value> {
        serde_json::from_str(&self.tables_text()).expect("tables are an object in JSON")
    }

    /// The tables that the scenario asks for, as JSON text.
    pub fn tables_text(&self) -> String {
        self.read(Cost::default(), |at| {
            object(Counters::tables().filter(|table| (table.asked)(at)).map(|table| (table.name, table.read(at))))
        })
    }

    /// The scenario with every default filled in.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    fn quantities(&self, cost: Cost, wanted: impl Fn(&Quantity) -> bool) -> Map<String, Value> {
        self.read(cost, |at| {
            let quantities = Counters::quantities().filter(|quantity| wanted(quantity));
            quantities.map(|quantity| (quantity.name.to_owned(), (quantity.value)(at))).collect()
        })
    }

    /// Calls `see` with the source of all quantities.
    fn read<T>(&self, cost: Cost, see: impl FnOnce(&Reading<'_>) -> T) -> T {
        // Phits per cycle at a load of 1, as the mean over endpoints.
        let one = self.collector.window().load.of_all() / f64::from(self.topology.endpoints());
        let bandwidth = |router, port| self.links.of_port(&*self.topology, router, port).to_f64();
        let rate = |router, port| self.links.rate_of_port(&*self.topology, router, port);
        let (ejection, injection) = (|e| self.links.rate_of_endpoint(e), |e| self.links.injection_rate(e));
        let rate_of_class = |class| self.links.rate_of_class(class);
        let (measure, planes) = (&self.scenario.measure, self.scenario.plane_count());
        let start = self.warmup_cycles;
        let probes: Vec<&'static str> = measure.probes.iter().map(|probe| probe.kind()).collect();
        see(&Reading {
            counters: &self.collector.counters,
            window: self.collector.window(),
            topology: &*self.topology,
            planes,
            bandwidth: &bandwidth,
            rate: &rate,
            ejection: &ejection,
            injection: &injection,
            rate_of_class: &rate_of_class,
            before: &self.before,
            after: &self.after,
            warmup_cycles: self.warmup_cycles,
            cycles: self.cycles,
            drain_cycles: self.drain_cycles,
            converged: self.converged,
            changing: check::changing(&self.scenario, &*self.topology, start..start.saturating_add(self.cycles)),
            confidence: measure.confidence,
            precision: measure.precision.as_ref(),
            bisection_load: self.links.bisection_load(&*self.topology).map(|load| load * f64::from(planes) / one),
            cycle_seconds: self.scenario.units.as_ref().and_then(UnitsParams::cycle_seconds),
            probes: &probes,
            links: measure.links,
            endpoints: measure.endpoints,
            workload: self.scenario.workload.is_some(),
            requests: self.scenario.traffic.requests.is_some(),
            congestion: self.scenario.congestion.params().is_on(),
            pauses: self.scenario.router.params().pauses(),
            classes: &self.scenario.traffic.class_names(),
            flows: &measure.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(),
            messages: measure.messages,
            operations: measure.operations,
            tracks: measure.tracks,
            phases: measure.phases,
            machine: Machine { threads: self.threads, partitions: self.partitions, engine_bytes: self.bytes, cost },
            estimates: Default::default(),
        })
    }
}
