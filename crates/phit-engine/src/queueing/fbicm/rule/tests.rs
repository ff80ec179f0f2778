//! The arbitration among the queues of a port (sections 3.2 and 4.3).

use super::*;
use crate::topology::{Topology, TopologyKind};
use serde_json::json;

/// Ranks of the NFQ and of two CFQs, the first of which is linked to no line; the queues' packets came at the given ticks.
fn ranks(version: Version, entries: [Tick; 3]) -> [u64; 3] {
    let kind = TopologyKind::from_value("", &json!({ "kind": "k_ary_n_tree", "arity": 2, "levels": 2 }));
    let topology: Arc<dyn Topology> = kind.unwrap().build().unwrap();
    let table = Arc::new(RouteTable::balanced(&*topology).unwrap());
    let context = QueueingContext {
        routers: 0..topology.routers(),
        vcs: vec![1; topology.classes().len()],
        table: Some(table.clone()),
        packet_size: 4,
        ticks_per_cycle: 1,
        topology,
    };
    let mut rule = Rule::new(Fbicm { version, ..Fbicm::default() }, &context, table, 4, 1);
    rule.buffers[3].lines[0].allocate(2, 0, None, 0);
    rule.buffers[3].lines[1].allocate(2, 1, Some((0, 5)), 0);
    [0u16, 1, 2].map(|queue| rule.rank(3, queue, entries[usize::from(queue)]))
}

#[test]
fn what_is_not_congested_goes_first_whoever_came_first() {
    for version in [Version::New, Version::First] {
        let [nfq, unlinked, linked] = ranks(version, [1000, 1, 2]);
        assert!(nfq < unlinked && nfq < linked);
    }
}

#[test]
fn queues_without_a_link_go_before_the_others_in_the_new_version_only() {
    let [_, unlinked, linked] = ranks(Version::New, [0, 1000, 1]);
    assert!(unlinked < linked);
    let [_, unlinked, linked] = ranks(Version::First, [0, 1000, 1]);
    assert!(linked < unlinked, "first come, first served");
}
