//! The catalogue: the kinds that a scenario can name, and the quantities and tables that a run can return.

use crate::allocators::AllocatorKind;
use crate::congestion::CongestionKind;
use crate::error::ScenarioError;
use crate::measure::{Counters, Observable, SATURATED_BELOW, Total};
use crate::probes::{LooksAt, ProbeKind};
use crate::queueing::QueueingKind;
use crate::routing::RoutingKind;
use crate::scenario::RouterKind;
use crate::topology::TopologyKind;
use crate::traffic::{PacketSizeKind, PatternKind, ProcessKind};
use crate::workload::{PlacementKind, ProgramKind};
use schemars::Schema;
use serde_json::{Map, Value, json};

fn entries(schemas: Vec<(&'static str, Schema)>) -> Value {
    let entry = |(kind, schema): (&str, Schema)| {
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        json!({ "kind": kind, "description": description, "schema": schema })
    };
    schemas.into_iter().map(entry).collect()
}

/// `{concept: [{"kind", "description", "schema"}]}` for every concept with kinds.
pub fn catalogue() -> Value {
    json!({
        "topology": entries(TopologyKind::schemas()),
        "router": entries(RouterKind::schemas()),
        "routing": entries(RoutingKind::schemas()),
        "queueing": entries(QueueingKind::schemas()),
        "congestion": entries(CongestionKind::schemas()),
        "allocator": entries(AllocatorKind::schemas()),
        "pattern": entries(PatternKind::schemas()),
        "process": entries(ProcessKind::schemas()),
        "probe": entries(ProbeKind::schemas()),
        "packet_size": entries(PacketSizeKind::schemas()),
        "workload": entries(ProgramKind::schemas()),
        "placement": entries(PlacementKind::schemas()),
    })
}

/// The contents of results: the quantities of a summary, the tables with their columns, the observables of each kind of
/// probe, the totals of managed queue organisations, and the rule by which a run is called saturated.
///
/// `{"quantities": [..], "tables": [..], "observables": {probe: [..]}, "totals": [..], "saturated_below": share}`
pub fn quantities() -> Value {
    json!({
        "quantities": Counters::quantities().map(|quantity| quantity.to_value()).collect::<Value>(),
        "tables": Counters::tables().map(|table| table.to_value()).collect::<Value>(),
        "observables": observables(),
        "totals": totals().into_iter().map(|total| total.to_value()).collect::<Value>(),
        "saturated_below": SATURATED_BELOW,
    })
}

/// The kinds of a concept with their defaults; those that have keys without a default are left out.
fn by_default<K>(kinds: &[&str], read: impl Fn(&str, &Value) -> Result<K, ScenarioError>) -> Vec<K> {
    kinds.iter().filter_map(|kind| read("", &json!(kind)).ok()).collect()
}

/// The observables of each kind of probe: declared by the probe itself, or by the mechanisms that the probe looks at.
fn observables() -> Value {
    let mut found: Map<String, Value> = Map::new();
    let mut add = |probe: &str, declared: &[Observable]| {
        let entry = found.entry(probe).or_insert_with(|| json!([]));
        for observable in declared.iter().map(|observable| observable.to_value()) {
            if let Some(list) = entry.as_array_mut().filter(|list| !list.contains(&observable)) {
                list.push(observable);
            }
        }
    };
    for probe in by_default(&ProbeKind::kinds(), ProbeKind::from_value) {
        add(probe.kind(), probe.params().observables());
        match probe.params().looks_at() {
            LooksAt::Kernel => (),
            LooksAt::Routing => by_default(&RoutingKind::kinds(), RoutingKind::from_value)
                .iter()
                .for_each(|routing| add(probe.kind(), routing.params().observables())),
            LooksAt::Queueing => by_default(&QueueingKind::kinds(), QueueingKind::from_value)
                .iter()
                .for_each(|queueing| add(probe.kind(), queueing.params().observables())),
        }
    }
    found.into()
}

/// The totals that managed queue organisations count.
fn totals() -> Vec<&'static Total> {
    let kinds = by_default(&QueueingKind::kinds(), QueueingKind::from_value);
    kinds.iter().flat_map(|queueing| queueing.params().totals()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_declare_what_they_tell_can_be_read_by_name_alone() {
        assert_eq!(by_default(ProbeKind::KINDS, ProbeKind::from_value).len(), ProbeKind::KINDS.len());
        assert_eq!(by_default(RoutingKind::KINDS, RoutingKind::from_value).len(), RoutingKind::KINDS.len());
        assert_eq!(by_default(QueueingKind::KINDS, QueueingKind::from_value).len(), QueueingKind::KINDS.len());
    }
}
