//! The rule, on queues and lines that are set by hand.

use super::*;
use crate::fabric::input_queued::General;
use crate::queueing::fbicm::notification::{Kind, Notification};
use crate::run::{Options, Simulation};
use crate::scenario::Scenario;
use serde_json::{Value, json};

/// Phits of a packet; thresholds are two packets.
const PACKET: u16 = 4;

/// An idle network, and a rule of its own that only the test calls.
struct Bench {
    network: Simulation,
    rule: Rule,
}

impl Bench {
    fn new(topology: Value, params: Fbicm) -> Self {
        let scenario = json!({
            "topology": topology,
            "routing": "table",
            "router": {
                "admittance": "per_destination",
                "links": { "default": { "vcs": 1, "buffer": 64, "latency": 1 } },
            },
            "queueing": { "kind": "fbicm", "detection": 8, "stop": 8, "go": 4 },
            "traffic": { "load": 0, "packet_size": PACKET },
        });
        let options = Options { threads: 1, partitions: Some(1) };
        let mut network = Simulation::new(&Scenario::from_value(&scenario).unwrap(), options).unwrap();
        let table = network.blueprint().table.clone().unwrap();
        let partition = &mut network.parts_mut()[0];
        partition.management.take();
        let (ports, endpoints) = (partition.inputs.len() as u32, partition.endpoints.len() as u32);
        let context = QueueingContext {
            routers: partition.setup.routers.clone(),
            vcs: partition.setup.config.buffers.vcs.clone(),
            table: Some(table.clone()),
            packet_size: PACKET.into(),
            ticks_per_cycle: 1,
            reference: None,
            topology: partition.map.topology.clone(),
        };
        let params = Fbicm { detection: 8, stop: 8, go: 4, ..params };
        Self { rule: Rule::new(params, &context, table, ports, endpoints), network }
    }

    fn act(&mut self, act: impl FnOnce(&mut Rule, &mut dyn QueueSite)) {
        act(&mut self.rule, &mut self.network.parts_mut()[0]);
    }

    /// Packets for these destinations arrive in the NFQ of input `port`.
    fn arrive(&mut self, port: u32, destinations: &[u32]) {
        let partition = &mut self.network.parts_mut()[0];
        for &destination in destinations {
            let packet = Packet { size: PACKET, ..Packet::new(0, destination) };
            let (index, queue) = (partition.packets.insert(packet), partition.inputs[port].queues);
            partition.arrive::<General>(queue, index);
            self.rule.arrived(port, 0, &packet);
        }
    }

    fn review(&mut self, port: u32) {
        self.act(|rule, site| rule.review(site, port));
    }

    /// The input port behind `output` sends a notification about its line 0.
    fn hear(&mut self, output: u32, kind: Kind, destinations: &[u32]) {
        let message = Notification { kind, vc: 0, line: 0, hops: 0, destinations }.encode();
        self.act(|rule, site| rule.hear(site, output, &message));
    }

    /// Destinations of the lines of input `port`, those without a link first.
    fn lists(&self, port: u32) -> Vec<(Option<u8>, Vec<u32>)> {
        let mut lists = Vec::new();
        self.rule.trees(port, &mut |branch| {
            if branch.input {
                lists.push((branch.next.map(|(_, line)| line), branch.destinations.to_vec()));
            }
        });
        lists.sort();
        lists
    }
}

fn switch(params: Fbicm) -> Bench {
    Bench::new(json!({ "kind": "single", "endpoints": 6 }), params)
}

#[test]
fn an_arrival_makes_for_one_detection() {
    for version in [Version::New, Version::First] {
        let mut bench = switch(Fbicm { version, ..Fbicm::default() });
        // Behind the first packet, for 5, there are still more than two. But the next arrival shows which packet is to
        // blame.
        // arrival.
        bench.arrive(0, &[5, 4, 3, 2, 1]);
        bench.review(0);
        assert_eq!(bench.lists(0), [(None, vec![5])]);
        bench.review(0);
        assert_eq!(bench.lists(0), [(None, vec![5])], "nothing has arrived since");
        bench.arrive(0, &[1]);
        bench.review(0);
        assert_eq!(bench.lists(0), [(None, vec![4]), (None, vec![5])]);
        assert_eq!(bench.rule.counts.detections, 2);
    }
}

#[test]
fn a_long_queue_behind_a_known_point_is_that_points_fault() {
    for version in [Version::New, Version::First] {
        let mut bench = switch(Fbicm { version, ..Fbicm::default() });
        // Output 5 knows of congestion further on, which is not stopped at the moment.
        bench.hear(5, Kind::Allocation, &[5]);
        bench.hear(5, Kind::Go, &[]);
        bench.arrive(0, &[5, 5]);
        bench.review(0);
        assert_eq!(bench.lists(0), [], "a short queue may pass");
        // The queue is too long. The packets for 5 are isolated and linked to the known line, and no other point is
        // taken as congested.
        bench.arrive(0, &[4, 3, 2]);
        bench.review(0);
        assert_eq!(bench.lists(0), [(Some(0), vec![5])]);
        assert_eq!(bench.rule.counts.detections, 0);
    }
}

/// A leaf with up-ports; the number of one of them, which carries packets for 3 and 6, but none for 7; and a line for 6
/// at input 0 that is linked to line 0 of that port.
fn leaf(version: Version) -> (Bench, u32) {
    let tree = json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 });
    let mut bench = Bench::new(tree, Fbicm { version, ..Fbicm::default() });
    let way = |to| u32::from(bench.rule.table.port(0, to));
    let up = way(6);
    assert!(way(3) == up && way(7) != up);
    bench.hear(up, Kind::Allocation, &[6]);
    bench.arrive(0, &[6, 6, 6]);
    bench.review(0);
    assert_eq!(bench.lists(0), [(Some(0), vec![6])]);
    (bench, up)
}

#[test]
fn an_update_is_for_lines_whose_output_leads_there() {
    let (mut bench, up) = leaf(Version::New);
    // Packets for 7 from other leaves may pass the point that the output's line stands for. Packets for 7 from this
    // leaf do not.
    bench.hear(up, Kind::Update, &[7]);
    assert_eq!(bench.lists(0), [(Some(0), vec![6])]);
    bench.hear(up, Kind::Update, &[3]);
    assert_eq!(bench.lists(0), [(Some(0), vec![3, 6])]);
}

#[test]
fn a_destination_that_joins_later_is_an_update_in_the_new_version_and_a_line_in_the_first() {
    for (version, lists, updates) in [
        (Version::New, vec![(Some(0), vec![3, 6])], 1),
        (Version::First, vec![(Some(0), vec![3]), (Some(0), vec![6])], 0),
    ] {
        let (mut bench, up) = leaf(version);
        // The next router releases its line and then has one for both. The line for 6 here is still in use, and known
        // upstream.
        bench.hear(up, Kind::Deallocation, &[]);
        bench.review(0);
        bench.hear(up, Kind::Allocation, &[3, 6]);
        bench.review(0);
        assert_eq!(bench.lists(0), [(Some(0), vec![6])]);
        bench.arrive(0, &[3]);
        bench.review(0);
        assert_eq!(bench.lists(0), lists);
        assert_eq!(bench.rule.counts.sent[Kind::Update as usize].0, updates);
    }
}

/// A leaf of a 3-ary 2-tree with adaptive tables, and its up-ports.
fn adaptive_leaf() -> (Bench, Vec<u32>) {
    let mut bench = Bench::new(json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 }), Fbicm::default());
    let mut table = (*bench.rule.table).clone();
    table.adaptive = true;
    bench.rule.table = Arc::new(table);
    (bench, vec![3, 4, 5])
}

#[test]
fn what_has_another_way_is_not_isolated_however_long_the_queue() {
    let (mut bench, ways) = adaptive_leaf();
    bench.arrive(0, &[6, 6, 6, 6]);
    bench.review(0);
    assert_eq!(bench.lists(0), []);
    assert_eq!(bench.rule.counts.detections, 0);
    // Held back on all routes except one: the packet takes that one.
    for way in &ways[1..] {
        bench.hear(*way, Kind::Allocation, &[6]);
    }
    bench.arrive(0, &[6]);
    bench.review(0);
    assert_eq!(bench.lists(0), []);
    // Held back on all routes: the packet takes the table's.
    bench.hear(ways[0], Kind::Allocation, &[6]);
    bench.arrive(0, &[6]);
    bench.review(0);
    assert_eq!(bench.lists(0), [(Some(0), vec![6])]);
}

#[test]
fn what_has_one_way_is_isolated_with_adaptive_tables_as_with_others() {
    let (mut bench, _) = adaptive_leaf();
    // Endpoint 1 is at this leaf.
    bench.arrive(0, &[1, 1, 1, 1]);
    bench.review(0);
    assert_eq!(bench.lists(0), [(None, vec![1])]);
}

/// Ranks of the NFQ and of two CFQs, of which the first is linked to no line. The queues' packets arrived at the given
/// ticks.
fn ranks(version: Version, entries: [Tick; 3]) -> [u64; 3] {
    let mut rule = switch(Fbicm { version, ..Fbicm::default() }).rule;
    rule.buffers[3].lines[0].allocate(2, 0, None, 0);
    rule.buffers[3].lines[1].allocate(2, 1, Some((0, 5)), 0);
    [0u16, 1, 2].map(|queue| rule.rank(3, queue, entries[usize::from(queue)]))
}

// Arbitration among the queues of a port: sections 3.2 and 4.3.

#[test]
fn what_is_not_congested_goes_first_whoever_came_first() {
    for version in [Version::New, Version::First] {
        let [nfq, unlinked, linked] = ranks(version, [1000, 1, 2]);
        assert!(nfq < unlinked && nfq < linked);
        assert!(switch(Fbicm { version, ..Fbicm::default() }).rule.first_leads());
    }
}

#[test]
fn queues_without_a_link_go_before_the_others_in_the_new_version_only() {
    let [_, unlinked, linked] = ranks(Version::New, [0, 1000, 1]);
    assert!(unlinked < linked);
    let [_, unlinked, linked] = ranks(Version::First, [0, 1000, 1]);
    assert!(linked < unlinked, "first come, first served");
}
