//! The networks of ASTRA-sim's analytical back end.

use phit_workload::network::{Link, StoreAndForward};

/// A network's links by number, and the link of each hop.
pub fn network(topology: &str, npus: u32, link: Link) -> StoreAndForward<impl Fn(u32, u32, u32) -> Option<u32>> {
    let kind = topology.to_string();
    let links = match topology {
        "Switch" | "Ring" => 2 * npus,
        "RingUni" => npus,
        _ => npus * npus,
    };
    let route = move |source: u32, destination: u32, hops: u32| {
        if source == destination {
            return None;
        }
        let on = (destination + npus - source) % npus;
        match &*kind {
            "Switch" => [Some(source), Some(npus + destination)].get(hops as usize).copied().flatten(),
            // The shorter way round, forwards if both are equal.
            "Ring" | "RingUni" if kind == "RingUni" || on <= npus / 2 => (hops < on).then(|| (source + hops) % npus),
            "Ring" => (hops < npus - on).then(|| npus + (source + npus - hops) % npus),
            _ => (hops == 0).then(|| source * npus + destination),
        }
    };
    StoreAndForward::new(vec![link; links as usize], route)
}
