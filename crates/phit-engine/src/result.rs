//! The result of a run: a summary and tables, as JSON values.

use crate::engine::Tick;
use crate::fabric::links::LinkClasses;
use crate::measure::collector::{Bin, Collector};
use crate::measure::confidence::{Batch, mean_of_batches, mean_per_packet};
use crate::measure::{Fairness, Snapshot};
use crate::scenario::measure::{Count, SeriesBy};
use crate::scenario::{Scenario, UnitsParams};
use crate::topology::{Peer, Topology};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that a run has counted.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) collector: Collector,
    pub(crate) warmup_cycles: u32,
    pub(crate) cycles: u32,
    pub(crate) drain_cycles: u32,
    pub(crate) converged: bool,
    pub(crate) before: Snapshot,
    pub(crate) after: Snapshot,
    pub(crate) bytes: usize,
    pub(crate) partitions: usize,
    pub(crate) threads: usize,
    pub(crate) topology: Arc<dyn Topology>,
    pub(crate) links: LinkClasses,
    pub(crate) scenario: Scenario,
}

/// A run is called saturated if it accepts less than this share of the offered load.
const SATURATED_BELOW: f64 = 0.97;

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

    fn endpoint_cycles(&self) -> f64 {
        f64::from(self.topology.endpoints()) * f64::from(self.cycles)
    }

    /// Generated load in the measured window, in phits/(endpoint·cycle).
    pub fn offered_load(&self) -> f64 {
        self.after.offered as f64 / self.endpoint_cycles()
    }

    /// Delivered load in the measured window, in phits/(endpoint·cycle).
    pub fn accepted_load(&self) -> f64 {
        self.collector.delivered_phits as f64 / self.endpoint_cycles()
    }

    /// Mean latency of the recorded packets in cycles.
    pub fn latency_mean(&self) -> Option<f64> {
        ratio(self.collector.sums.latency, self.collector.sums.packets)
    }

    /// The summary, without what depends on the machine.
    pub fn summary(&self) -> Map<String, Value> {
        let sums = &self.collector.sums;
        let confidence = self.scenario.measure.confidence;
        let batches = self.batches();
        let latency: Vec<Batch> = batches.iter().map(|b| Batch { sum: b.latency, count: b.packets }).collect();
        let load: Vec<f64> = batches.iter().map(|b| b.phits as f64 / self.batch_endpoint_cycles()).collect();
        let network = ratio(sums.network_latency, sums.packets);
        let mean = self.latency_mean();
        let variance = mean.filter(|_| sums.packets > 1).map(|mean| {
            let n = sums.packets as f64;
            ((sums.latency_squared as f64 - n * mean * mean) / (n - 1.0)).max(0.0)
        });
        let quantile = |q: f64| self.collector.histogram.as_ref().and_then(|h| h.quantile(q));
        let classes = self.topology.classes();
        let hops: Map<String, Value> = classes
            .iter()
            .enumerate()
            .skip(1)
            .map(|(class, name)| (name.clone(), json!(ratio(sums.hops[class], sums.packets))))
            .collect();
        let fairness = Fairness::of(self.injected_loads());
        let (offered, accepted) = (self.offered_load(), self.accepted_load());
        let summary = json!({
            "offered_load": offered,
            "accepted_load": accepted,
            "bisection_load": self.links.bisection_load(&*self.topology),
            "cycle_seconds": self.scenario.units.as_ref().and_then(UnitsParams::cycle_seconds),
            "accepted_ci": mean_of_batches(&load, confidence).map(|i| i.half_width),
            "latency_mean": mean,
            "latency_ci": mean_per_packet(&latency, confidence).map(|i| i.half_width),
            "confidence": confidence,
            "latency_std": variance.map(f64::sqrt),
            "latency_p50": quantile(0.5),
            "latency_p90": quantile(0.9),
            "latency_p99": quantile(0.99),
            "latency_p999": quantile(0.999),
            "latency_max": self.collector.histogram.as_ref().filter(|h| !h.is_empty()).map(|h| h.max()),
            "source_latency_mean": mean.zip(network).map(|(all, network)| all - network),
            "network_latency_mean": network,
            "hops_mean": ratio(sums.hops.iter().sum(), sums.packets),
            "hops": hops,
            "misrouted": ratio(sums.misrouted, sums.packets),
            "misrouted_globally": ratio(sums.misrouted_globally, sums.packets),
            "misrouted_locally": ratio(sums.misrouted_locally, sums.packets),
            "misrouted_at_injection": ratio(sums.misrouted_at_injection, sums.packets),
            "packets": sums.packets,
            "packets_lost": self.collector.lost_packets,
            "packet_hops": self.collector.packet_hops,
            "flit_hops": self.collector.flit_hops,
            "cycles": self.cycles,
            "warmup_cycles": self.warmup_cycles,
            "drain_cycles": self.drain_cycles,
            "total_cycles": self.warmup_cycles + self.cycles + self.drain_cycles,
            "converged": self.converged,
            "saturated": accepted < SATURATED_BELOW * offered,
            "fairness": fairness.map(|f| json!({ "min": f.min, "max": f.max, "jain": f.jain })),
            "link_utilisation": self.utilisation_by_class(),
            "probes": self.probe_means(),
            "out_of_order": self.scenario.measure.order.then_some(self.collector.out_of_order),
            "dropped": self.collector.dropped_packets,
            "queueing": self.queueing_totals(),
            "control_messages": self.after.control.1 - self.before.control.1,
            "control_utilisation": self.control_by_class(),
        });
        match summary {
            Value::Object(summary) => summary,
            _ => Map::new(),
        }
    }

    /// The scenario with every default filled in.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What depends on how the run was executed.
    pub fn execution(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("threads".into(), json!(self.threads));
        map.insert("partitions".into(), json!(self.partitions));
        map.insert("engine_bytes".into(), json!(self.bytes));
        map
    }

    /// The tables that the scenario asks for: columns by name, by table.
    pub fn tables(&self) -> Map<String, Value> {
        let measure = &self.scenario.measure;
        let mut tables = Map::new();
        tables.insert("batches".into(), self.batch_table());
        if let Some(histogram) = &self.collector.histogram {
            let (latency, packets): (Vec<u64>, Vec<u64>) = histogram.iter().unzip();
            tables.insert("histogram".into(), json!({ "latency": latency, "packets": packets }));
        }
        if let Some(series) = &measure.series {
            tables.insert("series".into(), self.series_table(series.bin, series.by));
        }
        if !measure.probes.is_empty() {
            tables.insert("probes".into(), self.probe_table());
        }
        if measure.links {
            tables.insert("links".into(), self.link_table());
        }
        if measure.endpoints {
            tables.insert("endpoints".into(), self.endpoint_table());
        }
        tables
    }

    /// The complete batches of the window.
    fn batches(&self) -> &[Bin] {
        let complete = (self.cycles * self.links.ticks_per_cycle / self.batch_ticks()) as usize;
        &self.collector.batches[..complete.min(self.collector.batches.len())]
    }

    fn batch_ticks(&self) -> Tick {
        (self.scenario.measure.cycles / self.scenario.measure.batches).max(1) * self.links.ticks_per_cycle
    }

    fn batch_endpoint_cycles(&self) -> f64 {
        f64::from(self.batch_ticks() / self.links.ticks_per_cycle) * f64::from(self.topology.endpoints())
    }

    fn batch_table(&self) -> Value {
        let batches = self.batches();
        json!({
            "batch": (0..batches.len()).collect::<Vec<_>>(),
            "packets": batches.iter().map(|b| b.packets).collect::<Vec<_>>(),
            "latency_mean": batches.iter().map(|b| ratio(b.latency, b.packets)).collect::<Vec<_>>(),
            "accepted_load":
                batches.iter().map(|b| b.phits as f64 / self.batch_endpoint_cycles()).collect::<Vec<_>>(),
        })
    }

    fn series_table(&self, width: u32, by: SeriesBy) -> Value {
        let last = match (by, self.scenario.measure.count) {
            // Bins by generation after the window's end miss the packets that are still on their way.
            (SeriesBy::Generation, Count::Generated) => self.warmup_cycles + self.cycles,
            _ => self.warmup_cycles + self.cycles + self.drain_cycles,
        };
        let bins = &self.collector.series[..self.collector.series.len().min(last.div_ceil(width) as usize)];
        let per_cycle = f64::from(width) * f64::from(self.topology.endpoints());
        json!({
            "cycle": (0..bins.len() as u64).map(|bin| bin * u64::from(width)).collect::<Vec<_>>(),
            "packets": bins.iter().map(|b| b.packets).collect::<Vec<_>>(),
            "latency_mean": bins.iter().map(|b| ratio(b.latency, b.packets)).collect::<Vec<_>>(),
            "network_latency_mean": bins.iter().map(|b| ratio(b.network_latency, b.packets)).collect::<Vec<_>>(),
            "misrouted": bins.iter().map(|b| ratio(b.misrouted, b.packets)).collect::<Vec<_>>(),
            "misrouted_globally": bins.iter().map(|b| ratio(b.misrouted_globally, b.packets)).collect::<Vec<_>>(),
            "accepted_load": bins.iter().map(|b| b.phits as f64 / per_cycle).collect::<Vec<_>>(),
        })
    }

    fn probe_table(&self) -> Value {
        let cycle = self.links.ticks_per_cycle;
        let (mut probes, mut names, mut cycles) = (vec![], vec![], vec![]);
        let (mut counts, mut means, mut largest) = (vec![], vec![], vec![]);
        for (probe, name, at, tally) in self.collector.records.iter() {
            probes.push(self.scenario.measure.probes[probe].kind());
            names.push(name);
            cycles.push(at / cycle);
            counts.push(tally.count);
            means.push(ratio(tally.sum, tally.count));
            largest.push(tally.max);
        }
        json!({ "probe": probes, "name": names, "cycle": cycles, "count": counts, "mean": means, "max": largest })
    }

    /// What a managed queue organisation has counted in the measured time, by name.
    fn queueing_totals(&self) -> BTreeMap<&'static str, u64> {
        let before = |name: &str| self.before.queueing.get(name).copied().unwrap_or(0);
        // Memories are not a count of what has happened.
        let memory = |name: &str| matches!(name, "cams" | "cam_bytes");
        let since = |name: &str, count: u64| if memory(name) { count } else { count - before(name) };
        self.after.queueing.iter().map(|(name, count)| (*name, since(name, *count))).collect()
    }

    /// Means over the measured time of what probes have recorded, by name.
    fn probe_means(&self) -> Value {
        let mut tallies: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (_, name, _, tally) in self.collector.records.iter() {
            let sum = tallies.entry(name).or_default();
            *sum = (sum.0 + tally.sum, sum.1 + tally.count);
        }
        tallies.into_iter().map(|(name, (sum, count))| (name.to_owned(), json!(ratio(sum, count)))).collect()
    }

    /// `(router, port, class, utilisation)` of every port that leads somewhere.
    fn ports(&self) -> impl Iterator<Item = (u32, u16, u8, Peer, f64)> + '_ {
        let ports = (0..self.topology.routers()).flat_map(|r| (0..self.topology.ports(r)).map(move |p| (r, p)));
        ports.zip(self.before.ports.iter().zip(&self.after.ports)).filter_map(|((router, port), (before, after))| {
            let there = self.topology.port(router, port);
            let carried = f64::from(self.cycles) * f64::from(self.links[there.class as usize].bandwidth);
            let used = (after - before) as f64 / carried;
            (there.peer != Peer::None).then_some((router, port, there.class, there.peer, used))
        })
    }

    /// Share of the capacity of each class of links that control messages took.
    fn control_by_class(&self) -> Value {
        let classes = self.topology.classes();
        let mut links = vec![0u64; classes.len()];
        self.ports().for_each(|(_, _, class, _, _)| links[class as usize] += 1);
        let share = |class: usize| {
            let capacity = links[class] * u64::from(self.cycles) * u64::from(self.links[class].bandwidth);
            ratio(self.after.control.0[class] - self.before.control.0[class], capacity)
        };
        let table = classes.iter().enumerate().skip(1);
        table.map(|(class, name)| (name.clone(), json!(share(class)))).collect::<Map<String, Value>>().into()
    }

    fn utilisation_by_class(&self) -> Value {
        let classes = self.topology.classes();
        let mut sums = vec![(0u64, 0.0, 0.0f64); classes.len()];
        for (_, _, class, _, used) in self.ports() {
            let sum = &mut sums[class as usize];
            *sum = (sum.0 + 1, sum.1 + used, sum.2.max(used));
        }
        let table = classes.iter().zip(sums).filter(|(_, sum)| sum.0 > 0);
        table
            .map(|(class, (count, sum, max))| (class.clone(), json!({ "mean": sum / count as f64, "max": max })))
            .collect::<Map<String, Value>>()
            .into()
    }

    fn link_table(&self) -> Value {
        let (mut routers, mut ports, mut classes, mut to, mut used) = (vec![], vec![], vec![], vec![], vec![]);
        for (router, port, class, peer, utilisation) in self.ports() {
            routers.push(router);
            ports.push(port);
            classes.push(self.topology.classes()[class as usize].as_str());
            to.push(match peer {
                Peer::Endpoint(endpoint) => format!("endpoint {endpoint}"),
                Peer::Router { router, .. } => format!("router {router}"),
                Peer::None => String::new(),
            });
            used.push(utilisation);
        }
        json!({ "router": routers, "port": ports, "class": classes, "to": to, "utilisation": used })
    }

    fn injected_loads(&self) -> impl Iterator<Item = f64> + '_ {
        let cycles = f64::from(self.cycles);
        self.before
            .injected
            .iter()
            .zip(&self.after.injected)
            .map(move |(before, after)| (after - before) as f64 / cycles)
    }

    fn endpoint_table(&self) -> Value {
        let count = self.topology.endpoints();
        let accepted: Vec<f64> = {
            let mut loads = vec![0.0; count as usize];
            let ports = (0..self.topology.routers()).flat_map(|r| (0..self.topology.ports(r)).map(move |p| (r, p)));
            for ((router, port), (before, after)) in ports.zip(self.before.ports.iter().zip(&self.after.ports)) {
                if let Peer::Endpoint(endpoint) = self.topology.port(router, port).peer {
                    loads[endpoint as usize] = (after - before) as f64 / f64::from(self.cycles);
                }
            }
            loads
        };
        json!({
            "endpoint": (0..count).collect::<Vec<_>>(),
            "injected_load": self.injected_loads().collect::<Vec<_>>(),
            "accepted_load": accepted,
        })
    }
}

fn ratio(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}
