//! FBICM step by step, as chapters 3 and 4 of the report (DIAB-10-04-1, 2010) have it.
//!
//! Packets have 4 phits, links a cycle; a memory holds 16 packets, and two in a queue are one too many for the
//! thresholds.

use super::{Seen, base, lines, messages, parts, quiet_at_the_end, start, summed, until};
use crate::common::run_with;
use phit_engine::run::{Options, Simulation};
use serde_json::{Value, json};

const SWITCH: &str = "single";

fn switch(version: &str) -> Value {
    base(json!({ "kind": SWITCH, "endpoints": 6 }), version)
}

#[test]
fn detection_allocates_a_line_for_what_the_head_asks_for() {
    for version in ["new", "first"] {
        // Three inputs for output 5: a packet every four cycles comes to each and one in three leaves.
        let mut trace = vec![];
        messages(&mut trace, 0, &[0, 1, 2], 5, 400);
        let mut value = switch(version);
        (value["queueing"]["stop"], value["queueing"]["go"]) = (json!(40), json!(8));
        let mut s = start(value, &trace);
        let detected = until(&mut s, 100, "a line", |seen| !seen.is_empty());
        let first = lines(&s);
        // The third packet in a queue makes 12 phits. Until the first leaves the queue none has; then every input but
        // one waits.
        assert!(detected >= 8, "after two packets at the earliest: {detected}");
        for line in &first {
            assert_eq!(
                (line.input, line.hops, &line.destinations[..], line.next, line.mapped),
                (true, 0, &[5][..], None, false)
            );
            // All that was in the NFQ has gone to the CFQ, each packet in turn when it came to the front; one may have
            // left by now.
            assert!(line.phits == 12 || line.phits == 8, "{line:?}");
        }
        quiet_at_the_end(&mut s, 3000, 1200);
    }
}

#[test]
fn a_queue_of_one_flow_is_not_in_the_way_of_another() {
    // Input 0 sends to 5, which two others keep busy, and then to 4. Without isolation its packets for 4 wait behind
    // those for 5.
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 1, 2], 5, 160);
    messages(&mut trace, 40, &[0], 4, 40);
    let mut isolated = switch("new");
    let mut shared = switch("new");
    shared["queueing"] = json!("virtual_channels");
    let at = |value: Value| {
        let mut s = start(value, &trace);
        let mut finished = None;
        while s.now() < 1000 {
            let now = s.now();
            s.advance_to(now + 1);
            let delivered: u64 = parts(&s).iter().map(|p| p.collector().counters.flow.phits).sum();
            if delivered >= 520 {
                finished = Some(now);
                break;
            }
        }
        finished.expect("all is delivered")
    };
    // Both deliver everything in the end: output 5 is the bottleneck, 480 phits.
    isolated["measure"]["cycles"] = json!(1000);
    assert!(at(isolated.clone()) <= at(shared.clone()) + 8);
    // When half of it has been delivered, all packets for 4 have, if they are isolated.
    let series = |mut value: Value| {
        value["traffic"]["trace"] = json!(trace);
        value["measure"] = json!({ "warmup": 0, "cycles": 140, "endpoints": true });
        let outcome = run_with(&value, Options::default());
        outcome.tables()["endpoints"]["accepted_load"][4].as_f64().unwrap() * 140.0
    };
    let (with, without) = (series(isolated), series(shared));
    assert!((with - 40.0).abs() < 1e-6, "{with} phits for 4 with isolation");
    assert!(without < 36.0, "{without} phits for 4 without");
}

#[test]
fn stop_and_go_keep_the_sender_in_step() {
    for version in ["new", "first"] {
        let mut trace = vec![];
        messages(&mut trace, 0, &[0, 1, 2], 5, 400);
        let mut s = start(switch(version), &trace);
        let mapped = |seen: &[Seen]| seen.iter().any(|line| line.mapped);
        until(&mut s, 100, "an allocation at the endpoint", mapped);
        let line = lines(&s).into_iter().find(|line| line.mapped).unwrap();
        // A packet may leave in the tick in which the message is sent.
        assert!(line.stopped && line.phits >= 8, "sent with the first stop: {line:?}");
        // While it is stopped, only packets under way arrive. The message takes a few cycles, packets four.
        let (mut most, mut stops, mut stopped) = (0, 0, true);
        while s.now() < 600 {
            let now = s.now();
            s.advance_to(now + 1);
            s.fabric().audit().unwrap();
            let Some(line) = lines(&s).into_iter().find(|l| l.port == line.port && l.input) else { break };
            stops += u32::from(line.stopped && !stopped);
            if stopped && !line.stopped {
                assert!(line.phits <= 4, "let go at {} phits", line.phits);
            }
            stopped = line.stopped;
            most = most.max(line.phits);
        }
        assert!(stops > 3, "{stops} stops");
        assert!(most <= 8 + 4 + 2 * 4, "{most} phits in a queue that is stopped at 8");
        quiet_at_the_end(&mut s, 3000, 1200);
    }
}

/// Routers 0, 1 and 2 in a row with three endpoints each; on each router ports 0 to 2 are the endpoints'.
fn row(version: &str) -> Value {
    base(json!({ "kind": "mesh", "dims": [3], "endpoints_per_router": 3 }), version)
}

/// The input port of router `to` that the link from its neighbour `from` leads to; the same number as the output back.
fn port_towards(simulation: &Simulation, at: u32, to: u32) -> u16 {
    let topology = &simulation.blueprint().topology;
    (0..topology.ports(at))
        .find(|&port| {
            matches!(topology.port(at, port).peer, phit_engine::topology::Peer::Router { router, .. } if router == to)
        })
        .unwrap()
}

#[test]
fn congestion_information_goes_upstream_and_dissolves_from_there() {
    for version in ["new", "first"] {
        // Two endpoints of router 2 and one of router 0 send to endpoint 8 of router 2.
        let mut trace = vec![];
        messages(&mut trace, 0, &[0, 6, 7], 8, 400);
        let mut s = start(row(version), &trace);
        let (at_2, out_1, in_1, out_0) =
            (port_towards(&s, 2, 1), port_towards(&s, 1, 2), port_towards(&s, 1, 0), port_towards(&s, 0, 1));
        let find = |seen: &[Seen], router: u32, port: u16, input: bool| {
            seen.iter().find(|l| (l.router, l.port, l.input) == (router, port, input)).cloned()
        };
        // The root is the port of endpoint 8: lines at router 2 have no hops and no line to be linked to.
        until(&mut s, 300, "a line at the root", |seen| find(seen, 2, at_2, true).is_some());
        let root = find(&lines(&s), 2, at_2, true).unwrap();
        assert_eq!((root.hops, &root.destinations[..], root.next), (0, &[8][..], None));
        // Router 1's output gets a copy of it, one hop away, in the stopped state.
        let told = until(&mut s, 300, "a line at the output of router 1", |seen| find(seen, 1, out_1, false).is_some());
        let copy = find(&lines(&s), 1, out_1, false).unwrap();
        assert_eq!((copy.hops, &copy.destinations[..], copy.stopped, copy.line), (1, &[8][..], true, root.line));
        assert!(told > 0 && find(&lines(&s), 2, at_2, true).unwrap().mapped);
        // Its input ports isolate the destination when a packet for it meets the stopped line, linked to that line. The
        // traffic decides which of them come first; here, only router 0's port sends anything.
        until(&mut s, 600, "a linked line at the input of router 1", |seen| {
            find(seen, 1, in_1, true).is_some_and(|l| l.next == Some(copy.line))
        });
        let linked = find(&lines(&s), 1, in_1, true).unwrap();
        assert_eq!((linked.hops, &linked.destinations[..]), (1, &[8][..]));
        // And so on upstream, to router 0 and its endpoint.
        until(&mut s, 1500, "a line at the output of router 0", |seen| find(seen, 0, out_0, false).is_some());
        assert_eq!(find(&lines(&s), 0, out_0, false).unwrap().hops, 2);
        until(&mut s, 2000, "a line at the injection port of router 0", |seen| {
            find(seen, 0, 0, true).is_some_and(|l| l.mapped)
        });
        quiet_at_the_end(&mut s, 6000, 1200);
    }
}

#[test]
fn a_line_for_a_branch_is_linked_when_the_root_turns_out_to_be_further_on() {
    // Endpoints 3 and 4 share the link to router 2 with endpoint 0, so that router 1 finds congestion of its own there
    // before it hears that endpoint 8 is the cause.
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 3, 4, 6, 7], 8, 400);
    let mut s = start(row("new"), &trace);
    let of_endpoint_3 = |seen: &[Seen]| seen.iter().find(|l| (l.router, l.port, l.input) == (1, 0, true)).cloned();
    until(&mut s, 100, "a line with no hops", |seen| of_endpoint_3(seen).is_some());
    let own = of_endpoint_3(&lines(&s)).unwrap();
    assert_eq!((own.hops, own.next), (0, None));
    until(&mut s, 500, "the line linked", |seen| of_endpoint_3(seen).is_some_and(|l| l.hops == 1 && l.next.is_some()));
    quiet_at_the_end(&mut s, 6000, 2000);
}

#[test]
fn no_packet_of_a_stopped_line_passes_its_output() {
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 3, 4, 6, 7], 8, 400);
    let mut s = start(row("new"), &trace);
    let (at_2, out_1) = (port_towards(&s, 2, 1), port_towards(&s, 1, 2));
    let mut stopped_for = 0;
    let mut grew = 0;
    let mut before = None;
    while s.now() < 1200 {
        let now = s.now();
        s.advance_to(now + 1);
        let seen = lines(&s);
        let stopped = seen.iter().any(|l| (l.router, l.port, l.input, l.stopped) == (1, out_1, false, true));
        let phits = seen.iter().find(|l| (l.router, l.port, l.input) == (2, at_2, true)).map_or(0, |l| l.phits);
        // A packet granted before the notification came is on its way for router and link latency and its own length.
        stopped_for = if stopped { stopped_for + 1 } else { 0 };
        if stopped_for > 8 {
            grew += u32::from(before.is_some_and(|before| phits > before));
        }
        before = Some(phits);
    }
    assert_eq!(grew, 0, "the stopped queue grew");
}

#[test]
fn new_destinations_follow_by_updates_and_full_lists_open_a_second_line() {
    // The link from router 1 to router 2 is the congested point: it takes a third of what endpoints 3 to 5 send. Lists
    // hold two destinations; those behind the link are 6, 7 and 8.
    let mut trace = vec![];
    messages(&mut trace, 0, &[3, 4, 5], 6, 400);
    messages(&mut trace, 150, &[3, 4, 5], 7, 400);
    messages(&mut trace, 400, &[3, 4, 5], 8, 400);
    let mut value = row("new");
    // Notifications to the endpoints would stop the traffic that this test needs.
    value["queueing"] = json!({ "kind": "fbicm", "cfqs": 4, "destinations": 2, "detection": 8, "stop": 24, "go": 4 });
    let mut s = start(value, &trace);
    let of_input = |seen: &[Seen], port: u16| -> Vec<Seen> {
        seen.iter().filter(|l| l.router == 1 && l.input && l.port == port).cloned().collect()
    };
    until(&mut s, 150, "a line for 6", |seen| of_input(seen, 0).iter().any(|l| l.destinations == [6]));
    until(&mut s, 150, "known at the endpoint", |seen| of_input(seen, 0).iter().any(|l| l.mapped));
    until(&mut s, 400, "the same line for 7", |seen| of_input(seen, 0).iter().any(|l| l.destinations == [6, 7]));
    assert_eq!(of_input(&lines(&s), 0).len(), 1, "one line for both");
    until(&mut s, 1200, "another line for 8", |seen| of_input(seen, 0).iter().any(|l| l.destinations == [8]));
    let both = of_input(&lines(&s), 0);
    assert!(both.iter().any(|l| l.destinations == [6, 7]), "the full line is still there: {both:?}");
    quiet_at_the_end(&mut s, 9000, 3600);
    let updates = |s: &Simulation| summed(s, "updates_sent");
    assert!(updates(&s) > 0, "the endpoint was told of 7 by an update");
}

#[test]
fn an_update_reaches_linked_lines_and_goes_on_from_there() {
    // Four routers of two endpoints in a row. The link from router 2 to router 3 is congested: first by packets for 6,
    // and then also by some for 7, of which router 0 sends none.
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 2, 4, 5], 6, 600);
    messages(&mut trace, 300, &[2, 4, 5], 7, 600);
    let mut s = start(base(json!({ "kind": "mesh", "dims": [4], "endpoints_per_router": 2 }), "new"), &trace);
    let (out_1, in_1, out_0) = (port_towards(&s, 1, 2), port_towards(&s, 1, 0), port_towards(&s, 0, 1));
    let find = |seen: &[Seen], router: u32, port: u16, input: bool| {
        seen.iter().find(|l| (l.router, l.port, l.input) == (router, port, input)).cloned()
    };
    let list = |seen: &[Seen], router: u32, port: u16, input: bool| {
        find(seen, router, port, input).map_or_else(Vec::new, |line| line.destinations)
    };
    until(&mut s, 300, "a linked line for 6", |seen| {
        find(seen, 1, in_1, true).is_some_and(|l| l.link.is_some() && l.mapped)
    });
    until(&mut s, 1500, "an update", |seen| list(seen, 1, out_1, false) == [6, 7]);
    // The linked line of the other input has it in the same tick, and tells the next router.
    assert_eq!(list(&lines(&s), 1, in_1, true), [6, 7]);
    assert_eq!(list(&lines(&s), 0, out_0, false), [6]);
    until(&mut s, 1600, "an update further on", |seen| list(seen, 0, out_0, false) == [6, 7]);
    quiet_at_the_end(&mut s, 12_000, 4200);
}

#[test]
fn a_linked_line_begins_with_all_destinations_of_the_line_that_it_is_linked_to() {
    // Both destinations are in the line of router 1 before it is made known to router 0.
    let mut trace = vec![];
    for part in 0..40 {
        messages(&mut trace, 2 * part, &[0, 3, 4, 5], 6 + part % 2, 8);
    }
    let mut value = row("new");
    (value["queueing"]["stop"], value["queueing"]["go"]) = (json!(32), json!(8));
    let mut s = start(value, &trace);
    let (out_0, at_0) = (port_towards(&s, 0, 1), |l: &&Seen| l.router == 0 && l.input);
    until(&mut s, 1000, "a line at router 0", |seen| seen.iter().any(|l| at_0(&l) && l.next.is_some()));
    let seen = lines(&s);
    let copy = seen.iter().find(|l| (l.router, l.port, l.input) == (0, out_0, false)).unwrap();
    assert_eq!((&copy.destinations[..], copy.hops), (&[6, 7][..], 1));
    let line = seen.iter().find(|l| at_0(l) && l.next.is_some()).unwrap();
    assert_eq!((&line.destinations, line.hops, line.next), (&copy.destinations, copy.hops, Some(copy.line)));
    quiet_at_the_end(&mut s, 9000, 1280);
}

#[test]
fn every_notification_of_the_first_version_says_all_of_the_line() {
    // All lines are [5]: 3 bits of kind, 8 of CP, 4 of hops, 16 of length and 16 of the destination.
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 1, 2], 5, 400);
    let mut s = start(switch("first"), &trace);
    quiet_at_the_end(&mut s, 3000, 1200);
    for (messages, bits) in [
        ("allocations_sent", "allocation_bits"),
        ("stops_sent", "stop_bits"),
        ("gos_sent", "go_bits"),
        ("deallocations_sent", "deallocation_bits"),
    ] {
        let sent = summed(&s, messages);
        assert!(sent > 0, "{messages}");
        assert_eq!(summed(&s, bits), 47 * sent, "{bits}");
    }
}

#[test]
fn lifetimes_and_the_time_that_memories_are_on_are_those_of_the_lines() {
    for version in ["new", "first"] {
        let mut trace = vec![];
        for output in [4, 5] {
            messages(&mut trace, 0, &[0, 1, 2], output, 400);
        }
        let mut s = start(switch(version), &trace);
        let (mut lifetime, mut on) = (0, 0);
        while s.now() < 6000 {
            let now = s.now();
            s.advance_to(now + 1);
            let inputs: Vec<(u32, u16)> =
                lines(&s).iter().filter(|line| line.input).map(|line| (line.router, line.port)).collect();
            lifetime += inputs.len() as u64;
            on += inputs.into_iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
        }
        quiet_at_the_end(&mut s, 6001, 2400);
        assert!(lifetime > on && on > 1000, "{lifetime} and {on} ticks");
        assert_eq!((summed(&s, "line_lifetime"), summed(&s, "cam_on")), (lifetime, on), "{version}");
    }
}

#[test]
fn full_lists_stay_full_where_the_output_knows_more() {
    // Four routers of two endpoints in a row. The link from router 1 to router 2 is congested by packets for 4 and 6;
    // then that from router 2 to router 3 by packets for 6 and 7, which is known to router 1. Its lines for 4 and 6 are
    // linked to that for 6 and 7, and have no room for 7.
    let mut trace = vec![];
    for to in [4, 6] {
        messages(&mut trace, 0, &[0, 1, 2, 3], to, 400);
    }
    for to in [6, 7] {
        messages(&mut trace, 100, &[4, 5], to, 600);
    }
    // Endpoint 2 makes 7 known there before endpoint 3 sends any.
    messages(&mut trace, 200, &[2], 7, 600);
    messages(&mut trace, 700, &[3], 7, 600);
    let mut s = start(base(json!({ "kind": "mesh", "dims": [4], "endpoints_per_router": 2 }), "new"), &trace);
    until(&mut s, 3000, "a line for 7 besides the full one", |seen| {
        let of = |list: &[u32]| seen.iter().find(|l| l.router == 1 && l.input && l.port == 1 && l.destinations == list);
        of(&[4, 6]).is_some_and(|full| full.link.is_some() && of(&[7]).is_some_and(|other| other.link == full.link))
    });
    quiet_at_the_end(&mut s, 20_000, 6800);
}

#[test]
fn a_linked_line_stays_while_its_output_is_held_back_though_its_first_destination_is_not() {
    // Leaf 0 finds its way up to 3 and 6 congested by itself before the root makes 6 known. Its lines are then linked,
    // and those that run empty first wait for their timers while the others go on.
    let mut trace = vec![];
    for source in 0..6 {
        messages(&mut trace, 0, &[source], 6, 100 + 60 * source);
    }
    let mut value = base(json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 }), "first");
    value["queueing"]["timer"] = json!(30);
    let mut s = start(value, &trace);
    until(&mut s, 300, "a linked line for 3 and 6", |seen| {
        seen.iter().any(|l| l.router == 0 && l.input && l.link.is_some() && l.destinations == [3, 6])
    });
    quiet_at_the_end(&mut s, 6000, 1500);
}

#[test]
fn the_first_version_isolates_all_destinations_behind_the_output() {
    let mut trace = vec![];
    messages(&mut trace, 0, &[3, 4, 5], 6, 100);
    let mut s = start(row("first"), &trace);
    until(&mut s, 150, "a line", |seen| !seen.is_empty());
    assert!(lines(&s).iter().all(|line| line.destinations == [6, 7, 8]), "{:?}", lines(&s));
    quiet_at_the_end(&mut s, 3000, 300);
    assert_eq!(summed(&s, "updates_sent"), 0);
}

#[test]
fn only_what_goes_over_the_output_is_isolated_before_it() {
    // Endpoints of leaves 0 and 1 of a tree send to endpoint 6 of leaf 2, more than the root between them can pass on.
    // The root's down-link also leads to 7 and 8, but leaf 0 reaches these over other roots, so its packets to them are
    // not held up there.
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 3], 6, 400);
    let mut s = start(base(json!({ "kind": "k_ary_n_tree", "arity": 3, "levels": 2 }), "first"), &trace);
    let table = s.blueprint().table.clone().unwrap();
    let (way, other) = (table.port(0, 6), table.port(0, 7));
    assert!(way != other);
    until(&mut s, 200, "the way up is known to be congested", |seen| {
        seen.iter().any(|l| (l.router, l.port, l.input, &l.destinations[..]) == (0, way, false, &[6, 7, 8]))
    });
    until(&mut s, 200, "an input is linked to it", |seen| {
        seen.iter().any(|l| l.router == 0 && l.input && l.link.is_some())
    });
    let linked: Vec<Seen> = lines(&s).into_iter().filter(|l| l.router == 0 && l.input && l.link.is_some()).collect();
    assert!(linked.iter().all(|l| l.destinations == [6] && l.output == Some(way)), "{linked:?}");
    quiet_at_the_end(&mut s, 6000, 800);
}

#[test]
fn figure_4_1() {
    // Switch B (router 1) receives packets from four switches (here its endpoints and router 0). Green destinations (0
    // to 2) are behind one port, and red ones (6, 7 and 8) behind the congested port; lists hold two. The red ones take
    // two lines. A green packet may be at the front by chance when congestion is detected. Post-processing corrects
    // this: its line is soon released, and no port upstream learns of it.
    let mut trace = vec![];
    for (at, red) in [(0, 6), (20, 7), (40, 8)] {
        messages(&mut trace, at, &[0, 3, 4, 5], red, 200);
    }
    messages(&mut trace, 10, &[3], 0, 100);
    messages(&mut trace, 10, &[4], 1, 100);
    let mut value = row("new");
    (value["queueing"]["stop"], value["queueing"]["go"]) = (json!(24), json!(8));
    let mut s = start(value, &trace);
    let mut split = false;
    let mut green = 0;
    while s.now() < 2500 {
        let now = s.now();
        s.advance_to(now + 1);
        s.fabric().audit().unwrap();
        let seen = lines(&s);
        for line in seen.iter().filter(|line| line.router == 1) {
            assert!(line.destinations.len() <= 2);
            assert!(line.destinations.iter().all(|d| *d >= 6) || line.destinations.iter().all(|d| *d < 6));
            if line.destinations[0] < 6 {
                green += 1;
                assert!(line.input && !line.mapped, "{line:?}");
            }
        }
        let at_p1 = |l: &&Seen| l.router == 1 && l.input && l.port == 0;
        let red: std::collections::BTreeSet<u32> =
            seen.iter().filter(at_p1).flat_map(|l| l.destinations.clone()).collect();
        split |= seen.iter().filter(at_p1).count() == 2 && red.len() == 3;
    }
    assert!(split, "three destinations in two lines of one port");
    assert!(green < 400, "green lines for {green} ticks of lines");
    quiet_at_the_end(&mut s, 9000, 2600);
}

#[test]
fn without_a_free_line_packets_stay_in_the_common_queue() {
    // One CFQ, and two congested outputs.
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 1, 2], 5, 200);
    messages(&mut trace, 0, &[0, 1, 2], 4, 200);
    let mut value = switch("new");
    value["queueing"]["cfqs"] = json!(1);
    let mut s = start(value, &trace);
    quiet_at_the_end(&mut s, 4000, 1200);
    assert!(summed(&s, "without_line") > 0);
}

#[test]
fn a_line_is_kept_until_its_timer_runs_out() {
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 1, 2], 5, 40);
    for timer in [0, 100] {
        let mut value = switch("new");
        value["queueing"]["timer"] = json!(timer);
        let mut s = start(value, &trace);
        let delivered = |s: &Simulation| parts(s)[0].collector().counters.flow.phits;
        until(&mut s, 100, "a line", |seen| !seen.is_empty());
        while delivered(&s) < 120 {
            let now = s.now();
            s.advance_to(now + 1);
        }
        let last = s.now();
        let gone = until(&mut s, 500, "no line", |seen| seen.is_empty());
        match timer {
            0 => assert!(gone <= last + 2, "{gone} after {last}"),
            _ => assert!((last + 80..last + 110).contains(&gone), "{gone} after {last}"),
        }
    }
}

#[test]
fn notifications_take_their_bits_of_the_link() {
    // Eight times the bits of a phit make notifications eight times as long.
    let mut trace = vec![];
    messages(&mut trace, 0, &[0, 3, 4, 6, 7], 8, 400);
    let phits = |version: &str, phit_bits: u32| {
        let mut value = row(version);
        value["queueing"]["phit_bits"] = json!(phit_bits);
        value["traffic"]["trace"] = json!(trace);
        value["measure"]["cycles"] = json!(3000);
        let outcome = run_with(&value, Options::default());
        let sent = outcome.collector().counters.control.phits.iter().sum::<u64>();
        (sent, outcome.collector().counters.control.messages)
    };
    let (wide, narrow) = (phits("new", 1024), phits("new", 1));
    assert_eq!(wide.0, wide.1, "one phit each at least");
    assert!(narrow.0 > 5 * narrow.1, "six bits each at least: {narrow:?}");
    assert!(phits("first", 8).0 > phits("new", 8).0);
}
