//! The expected work of a run, estimated before it: for programs that distribute many runs among processes.

use crate::error::ScenarioError;
use crate::fabric::{Blueprint, FabricParams, GOLDEN};
use crate::run::prepare;
use crate::scenario::{Scenario, Warmup};

/// Number of endpoints whose traffic is sampled.
const SAMPLED: u32 = 64;

/// Number of packets drawn in total, equally many for each sampled endpoint; later packets are assumed to be alike. The
/// error is about 1 percent, and a sweep needs estimates for thousands of points.
const DRAWN: u32 = 8192;

/// Expected flit-hops of a run: of all packets generated in its warm-up and measured cycles, over minimal routes,
/// including the hop into the destination endpoint. They are drawn from the traffic of a sample of the endpoints.
/// Nonminimal routes make a run longer, and saturation makes it shorter.
pub fn expected_hops(scenario: &Scenario) -> Result<f64, ScenarioError> {
    let blueprint = prepare(scenario)?;
    if let Some(workload) = &blueprint.workload {
        // The number of operations is known for every program before it runs, except for generated ones: they count
        // ranks.
        let operations = workload.program.operations().unwrap_or(u64::from(workload.program.ranks()));
        return Ok(operations as f64 * f64::from(1 + blueprint.topology.diameter()));
    }
    let (measure, router) = (&scenario.measure, scenario.router.params());
    let warmup = match measure.warmup {
        Warmup::Cycles(cycles) => cycles,
        Warmup::Auto => measure.cycles,
    };
    let end = u64::from(warmup) + u64::from(measure.cycles);
    let endpoints = blueprint.topology.endpoints();
    let sampled = endpoints.min(SAMPLED);
    let endpoint = |i: u32| match sampled == endpoints {
        true => i,
        false => ((f64::from(i) * GOLDEN).fract() * f64::from(endpoints)) as u32,
    };
    let drawn = DRAWN / sampled.max(1);
    let hops: f64 = (0..sampled).map(|i| endpoint_hops(&blueprint, router, endpoint(i), end, drawn)).sum();
    Ok(hops * f64::from(endpoints) / f64::from(sampled))
}

/// Flit-hops of the packets that one endpoint generates before cycle `end`, extrapolated from `drawn` packets.
fn endpoint_hops(blueprint: &Blueprint, router: &dyn FabricParams, endpoint: u32, end: u64, drawn: u32) -> f64 {
    let Blueprint { topology, traffic, .. } = blueprint;
    let from = topology.attachment(endpoint).0;
    let mut source = traffic.source(endpoint, blueprint.seed);
    let mut hops = 0.0;
    let mut cycle = 0;
    for _ in 0..drawn {
        let Some(packet) = traffic.next(endpoint, &mut source).filter(|packet| u64::from(packet.cycle) < end) else {
            return hops;
        };
        cycle = u64::from(packet.cycle);
        let size = u32::from(packet.size);
        let flits = size.div_ceil(router.flit(size));
        hops += f64::from(flits * (1 + topology.distance(from, topology.attachment(packet.destination).0)));
    }
    let longer = end as f64 / (cycle + 1) as f64;
    hops * longer.min(traffic.most_packets(endpoint) / f64::from(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn expected(scenario: &Value) -> f64 {
        expected_hops(&Scenario::from_value(scenario).unwrap()).unwrap()
    }

    /// A ring of 8 routers. All packets have 8 phits, and take 3 hops (tornado) and the hop to their endpoint.
    fn torus(cycles: u32) -> Value {
        json!({
            "topology": { "kind": "torus", "dims": [8] },
            "routing": { "kind": "dimension_order" },
            "router": { "links": { "default": { "vcs": 2 } } },
            "traffic": { "load": 0.4, "pattern": { "kind": "tornado" }, "packet_size": 8 },
            "measure": { "warmup": 1000, "cycles": cycles },
        })
    }

    #[test]
    fn hops_are_those_of_the_packets_that_are_generated() {
        let flits = 8.0 * 0.4 * 4000.0 / 8.0;
        let packets = expected(&torus(3000)) / 4.0;
        assert!((packets / flits - 1.0).abs() < 4.0 / f64::sqrt(flits), "{packets} packets, about {flits} expected");
        let mut wormhole = torus(3000);
        wormhole["router"]["switching"] = json!("wormhole");
        assert_eq!(expected(&wormhole), 8.0 * 4.0 * packets, "a flit is a phit");
    }

    #[test]
    fn a_long_run_goes_on_like_its_beginning() {
        let (short, long) = (expected(&torus(199_000)), expected(&torus(19_999_000)));
        assert!((long / short / 100.0 - 1.0).abs() < 0.05, "{long} against {short}");
    }

    #[test]
    fn traffic_that_ends_is_counted_to_its_end() {
        let mut messages = torus(300_000_000);
        messages["traffic"]["message"] = json!({ "packets": 10, "count": 1000 });
        assert_eq!(expected(&messages), 8.0 * 10_000.0 * 4.0, "more than are drawn");
        let mut trace = torus(1000);
        trace["traffic"] = json!({ "packet_size": 8, "trace": [[0, 0, 2, 12], [5, 1, 2, 8], [2000, 1, 5, 80]] });
        assert_eq!(expected(&trace), 2.0 * 3.0 + 1.0 * 2.0, "the last is generated when the run is over");
    }
}
