//! Routes and their costs on queues set by hand.

use super::*;
use crate::fabric::input_queued::router_view;
use crate::routing::ugal::prefers_minimal;
use crate::run::{Options, Simulation};
use crate::scenario::Scenario;
use serde_json::json;

/// Two rows and three columns of routers, with nobody sending. Router 0's neighbours are 1 and 2 in its row, 3 in its
/// column (over three links).
pub(in crate::routing) fn network() -> Simulation {
    let value = json!({
        "topology": { "kind": "cascade", "rows": 2, "columns": 3, "endpoints_per_router": 1 },
        "router": { "links": { "default": { "vcs": 4, "buffer": 32 } } },
        "traffic": { "load": 0.0 },
    });
    let scenario = Scenario::from_value(&value).unwrap();
    Simulation::new(&scenario, Options { threads: 1, partitions: Some(1) }).unwrap()
}

/// Charges `phits` against virtual channel `vc` of all ports of `router` that lead to `next`.
pub(in crate::routing) fn fill(network: &mut Simulation, router: u32, next: u32, vc: u8, phits: i32) {
    let partition = &mut network.parts_mut()[0];
    for port in 0..partition.map.topology.ports(router) {
        if matches!(partition.map.topology.port(router, port).peer, Peer::Router { router, .. } if router == next) {
            let output = partition.tables.first_port[router] + u32::from(port);
            let channel = partition.tables.outputs[output].vc + u32::from(vc);
            partition.tables.channels[channel].credits -= phits;
        }
    }
}

/// A packet from router 0 to router `to`, with its stop at router `stop`.
pub(in crate::routing) fn packet(number: u32, to: u32, stop: u32) -> Packet {
    Packet { birth: number, destination_router: to, scratch: stop, ..Packet::new(0, to) }
}

fn candidates(sight: Sight, minimal: u8, valiant: u8) -> Candidates {
    Candidates { via: Via::Router, stop: Stop::Anywhere, minimal, valiant, sight }
}

/// Calls `see` with the view of router 0.
pub(in crate::routing) fn at_source<T>(network: &mut Simulation, see: impl FnOnce(&RouterView<'_>) -> T) -> T {
    let partition = &network.parts_mut()[0];
    see(&router_view!(partition, 0u32))
}

pub(in crate::routing) const LOCAL: Sight = Sight::Local(Queue::Port);
const GLOBAL: Sight = Sight::Global(Queue::Port);

#[test]
fn the_inequality_on_queues_set_by_hand() {
    // From 0 to 1: one hop. By 5 (other row, other column): two hops there and two back, over 2 or 3 first.
    let mut network = network();
    fill(&mut network, 0, 1, 0, 5);
    fill(&mut network, 0, 1, 2, 6);
    fill(&mut network, 0, 2, 0, 3);
    fill(&mut network, 0, 3, 1, 3);
    at_source(&mut network, |view| {
        let packet = packet(1, 1, 5);
        let minimal = candidates(LOCAL, 1, 1).minimal(view, &packet, Cost::QueueHops);
        let valiant = candidates(LOCAL, 1, 1).valiant(view, &packet, Cost::QueueHops);
        assert_eq!((minimal.queue, minimal.hops, minimal.stop), (5 + 6, 1, NONE));
        assert_eq!((valiant.queue, valiant.hops, valiant.stop), (3, 4, 5));
        // 11 x 1 against 3 x 4 + T.
        let minimally = |t| prefers_minimal(&minimal, &valiant, Cost::QueueHops, t);
        assert_eq!([-2, -1, 0, 64].map(minimally), [false, true, true, true]);
        // 11 against 3 + T.
        let oblivious = |t| prefers_minimal(&minimal, &valiant, Cost::Queue, t);
        assert_eq!([0, 7, 8].map(oblivious), [false, false, true]);
        // One channel alone: the hop's own, 0.
        let one = candidates(Sight::Local(Queue::Phits), 1, 1).minimal(view, &packet, Cost::QueueHops);
        assert_eq!(one.queue, 5);
    });
}

#[test]
fn the_cheapest_candidate_counts() {
    // To router 5, over 2 (row first) or 3 (column first). Nobody waits for 3.
    let mut network = network();
    fill(&mut network, 0, 2, 0, 9);
    let (mut cheap, packets) = (0, 400);
    at_source(&mut network, |view| {
        for number in 0..packets {
            let packet = packet(number, 5, 5);
            let both = candidates(LOCAL, 2, 1).minimal(view, &packet, Cost::QueueHops);
            let first = candidates(LOCAL, 1, 1).minimal(view, &packet, Cost::QueueHops);
            assert!(both.queue <= first.queue);
            assert_eq!(both.draw, u8::from(both.queue < first.queue), "the first of equals");
            cheap += u32::from(both.queue == 0);
        }
    });
    // Each candidate is cheap with probability 1/2: 3/4 of the packets have one; five standard deviations.
    assert!(cheap.abs_diff(300) < 44, "{cheap} of {packets}");
}

#[test]
fn every_candidate_has_a_stop_of_its_own() {
    // To router 1, with the first candidate by 1 itself; only the links to 3 are free. A stop at 3 leads there, one at
    // 4 or 5 in half of all cases: with probability 1/3.
    let mut network = network();
    fill(&mut network, 0, 1, 0, 9);
    fill(&mut network, 0, 2, 0, 9);
    let (mut free, packets) = (0u32, 2000);
    at_source(&mut network, |view| {
        for number in 0..packets {
            let route = candidates(LOCAL, 1, 3).valiant(view, &packet(number, 1, 1), Cost::Queue);
            free += u32::from(route.queue == 0);
        }
    });
    // One of two further candidates: 5/9 of the packets; five standard deviations.
    assert!(free.abs_diff(1111) < 112, "{free} of {packets}");
}

#[test]
fn the_route_taken_is_the_one_looked_at() {
    let mut network = network();
    fill(&mut network, 0, 2, 0, 9);
    at_source(&mut network, |view| {
        for number in 0..200 {
            for (to, stop) in [(5, 4), (1, 0), (4, 4), (2, 5)] {
                let mut packet = packet(number, to, stop);
                let which = candidates(LOCAL, 2, 2);
                let routes = [which.minimal(view, &packet, Cost::Queue), which.valiant(view, &packet, Cost::Queue)];
                for route in routes {
                    take(view, &mut packet, &route);
                    let hop = hop(view, &packet, Via::Router, SecondHalf::Above);
                    assert_eq!(hop, route.first, "to {to} by {stop}");
                    assert_eq!(packet.misrouted > 0, route.stop != NONE);
                    (packet.leg, packet.leg_start, packet.scratch) = (0, Hops::default(), stop);
                }
            }
        }
    });
}

#[test]
fn global_sight_is_local_sight_when_nobody_waits_elsewhere() {
    let mut network = network();
    for (next, vc, phits) in [(1, 0, 4), (1, 1, 2), (2, 0, 7), (3, 3, 5)] {
        fill(&mut network, 0, next, vc, phits);
    }
    let compare = |network: &mut Simulation| {
        at_source(network, |view| {
            let mut same = true;
            for (number, to, stop) in (0..50).flat_map(|n| (1..6).flat_map(move |to| (1..6).map(move |s| (n, to, s)))) {
                let distance = |a, b| view.topology.distance(a, b);
                if distance(stop, 0) + distance(0, to) == distance(stop, to) {
                    // The second leg may come by router 0 again.
                    continue;
                }
                let packet = packet(number, to, stop);
                let look = |sight| {
                    // A second Valiant candidate draws a stop of its own.
                    let of = candidates(sight, 2, 1);
                    let minimal = of.minimal(view, &packet, Cost::QueueHops);
                    let valiant = of.valiant(view, &packet, Cost::QueueHops);
                    let costs = [minimal, valiant].map(|route| (route.first, route.hops, route.queue, route.draw));
                    (costs, prefers_minimal(&minimal, &valiant, Cost::QueueHops, 0))
                };
                same &= look(LOCAL) == look(GLOBAL);
            }
            same
        })
    };
    assert!(compare(&mut network));
    // A queue somewhere else makes a difference.
    fill(&mut network, 4, 5, 2, 1);
    assert!(!compare(&mut network));
}

#[test]
fn global_sight_adds_up_the_queues_of_the_way() {
    let mut network = network();
    // The only way to 1 by 2: 0 - 2 - 1.
    fill(&mut network, 0, 2, 0, 3);
    fill(&mut network, 2, 1, 1, 8);
    at_source(&mut network, |view| {
        let packet = packet(7, 1, 2);
        let route = candidates(GLOBAL, 1, 1).valiant(view, &packet, Cost::Queue);
        assert_eq!((route.queue, route.hops), (3 + 8, 2));
    });
}
