//! The fluid network: times on paper, what its rules promise for any flows, and what it refuses.

use crate::{completion, inline, numbers};
use phit_engine::fabric::fluid::{Case, CaseFlow, CaseLink, Flows, Hop, Rule, Sharing};
use phit_engine::run::{self, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

const RULES: [Rule; 4] = [
    Rule { sharing: Sharing::MaxMin, coupled: false },
    Rule { sharing: Sharing::PerInput, coupled: false },
    Rule { sharing: Sharing::MaxMin, coupled: true },
    Rule { sharing: Sharing::PerInput, coupled: true },
];

const MAX_MIN: Rule = RULES[0];

/// A program on a fluid network of one kind of links.
fn fluid(topology: Value, goal: &str, router: &Value) -> Value {
    let mut scenario = inline(2, goal);
    scenario["topology"] = topology;
    scenario["router"] = json!({ "kind": "fluid", "latency": 5, "links": {
        "endpoint": { "latency": 2 }, "default": { "latency": 10 },
    } });
    router.as_object().into_iter().flatten().for_each(|(key, value)| scenario["router"][key] = value.clone());
    scenario["measure"] = json!({ "messages": true });
    scenario
}

fn mesh(routers: u32) -> Value {
    json!({ "kind": "mesh", "dims": [routers] })
}

/// The error of a scenario.
fn refused(scenario: &Value) -> String {
    let read = phit_engine::scenario::Scenario::from_value(scenario);
    match read {
        Err(error) => error.to_string(),
        Ok(scenario) => match run::run(&scenario, Options::default(), &mut |_, _| true) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{scenario:?} was accepted"),
        },
    }
}

/// A program in which each of some messages, (source, destination, bytes), is sent at once.
fn at_once(ranks: u32, messages: &[(u32, u32, u64)]) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let lines = (0..).zip(messages).filter_map(|(tag, &(from, to, bytes))| match rank {
            _ if rank == from => Some(format!("s{tag}: send {bytes}b to {to} tag {tag}\n")),
            _ if rank == to => Some(format!("r{tag}: recv {bytes}b from {from} tag {tag}\n")),
            _ => None,
        });
        text += &format!("rank {rank} {{\n{}}}\n", lines.collect::<String>());
    }
    text
}

/// When each message has arrived, by tag.
fn arrivals(scenario: &Value) -> Vec<u64> {
    let outcome = crate::common::run(scenario);
    let mut all: Vec<(u64, u64)> =
        numbers(&outcome, "messages", "tag").into_iter().zip(numbers(&outcome, "messages", "last")).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, last)| last).collect()
}

/// Cycles of a phit over `hops` links between routers: one to begin, the links of both endpoints, and the routers.
fn way(hops: u64) -> u64 {
    1 + 2 + 2 + 10 * hops + 5 * (hops + 1)
}

/// Alone a message takes the latency of its route and its phits. An endpoint sends the next one after it, or shares
/// its link.
#[test]
fn an_endpoint_sends_in_turn_or_all_at_once() {
    let goal = at_once(4, &[(0, 1, 100), (0, 2, 100), (0, 3, 40)]);
    let turn = arrivals(&fluid(mesh(4), &goal, &json!({})));
    assert_eq!(turn, [way(1) + 100, way(2) + 200, way(3) + 240]);
    let shared = arrivals(&fluid(mesh(4), &goal, &json!({ "sources": "shared" })));
    // Rates 1 from way(1), 1/2 from way(2), 1/3 from way(3). At way(3): 100 - 15 - 7.5 = 77.5 and 92.5 and 40 are left.
    // The third ends 120 later (37.5 and 52.5 are left), then the first 75 later, then the second 15 later.
    assert_eq!(shared, [way(3) + 120 + 75, way(3) + 120 + 75 + 15, way(3) + 120]);
}

/// A message that waits for a busy link leaves its endpoint when buffers have the rest of it. The next message of the
/// endpoint then begins, and takes a link that the first message no longer needs.
#[test]
fn buffers_take_the_rest_of_a_message() {
    // Endpoints 0 and 1 each have half of the link to router 2 until 200. Endpoint 0 then sends to endpoint 1.
    let goal = at_once(3, &[(0, 2, 100), (1, 2, 100), (0, 1, 10)]);
    let ends = |buffer: u32| {
        let links = json!({ "endpoint": { "latency": 2, "vcs": 1 },
            "default": { "latency": 10, "vcs": 1, "buffer": buffer } });
        arrivals(&fluid(mesh(3), &goal, &json!({ "links": links })))
    };
    // The buffer before the busy link takes 64: the first message has left its endpoint after its 100 phits.
    assert_eq!(ends(64), [way(2) + 200, way(1) + 200, way(1) + 100 + 10]);
    // It takes 20 of the 100: the other 80 pass at half rate before.
    assert_eq!(ends(20), [way(2) + 200, way(1) + 200, way(1) + 160 + 10]);
    assert_eq!(ends(1), [way(2) + 200, way(1) + 200, way(1) + 198 + 10]);
}

/// In a line of routers all send to the last. Arbiters that are fair to inputs give the nearest half of the link, the
/// next a quarter, and so on. Max-min gives everyone as much.
#[test]
fn arbiters_are_fair_to_inputs() {
    let goal = at_once(5, &[(0, 4, 800), (1, 4, 800), (2, 4, 800), (3, 4, 800)]);
    // Rates 1/8, 1/8, 1/4, 1/2: the nearest ends at 1600, with 600 and twice 600 and 400 left: then 1/4, 1/4, 1/2 ...
    let ends = arrivals(&fluid(mesh(5), &goal, &json!({})));
    let start = |hops: u64| way(hops);
    assert_eq!(ends, [start(4) + 3200, start(3) + 3200, start(2) + 2400, start(1) + 1600]);
    let ends = arrivals(&fluid(mesh(5), &goal, &json!({ "sharing": "max_min" })));
    assert_eq!(ends, [start(4) + 3200, start(3) + 3200, start(2) + 3200, start(1) + 3200]);
}

/// A victim stands in one queue with a flow to a busy endpoint. Without coupling it has the link that they share almost
/// alone. With it, it is as slow as the other.
#[test]
fn a_queue_keeps_its_proportions() {
    // Endpoints 0 and 1 at router 0; 2 to 5 at router 1. Endpoint 2 is busy: one flow from afar, three from its router.
    let topology = json!({ "kind": "mesh", "dims": [2], "endpoints_per_router": 6 });
    let mut messages = vec![(0, 6, 1000), (1, 7, 1000)];
    messages.extend([(8, 6, 1000), (9, 6, 1000), (10, 6, 1000)]);
    let goal = at_once(12, &messages);
    let free = arrivals(&fluid(topology.clone(), &goal, &json!({})));
    // The hot flow has a quarter of its endpoint's link, the victim three quarters of the link between the routers.
    assert_eq!(free[1], way(1) + 1334);
    let coupled = arrivals(&fluid(topology, &goal, &json!({ "head_of_line": true })));
    assert_eq!(coupled[1], way(1) + 4000, "a quarter, too");
    assert_eq!(coupled[0], way(1) + 4000);
}

/// Packets that take any minimal route load all of them: a tree with as many ways up as down carries any permutation
/// at full rate. By destination two messages share a link.
#[test]
fn flows_take_the_routes_of_the_mechanism() {
    let tree = json!({ "kind": "clos", "down": [2, 2], "up": [2] });
    let goal = at_once(4, &[(0, 2, 1000), (1, 3, 1000)]);
    let time = |routing: Value| {
        let mut scenario = fluid(tree.clone(), &goal, &json!({}));
        scenario["routing"] = routing;
        arrivals(&scenario).into_iter().max().unwrap()
    };
    assert_eq!(time(json!("minimal")), way(2) + 1000);
    // Destinations 2 and 3 go up over different ports.
    assert_eq!(time(json!("table")), way(2) + 1000);
    let goal = at_once(8, &[(0, 4, 1000), (1, 6, 1000)]);
    let tree = json!({ "kind": "clos", "down": [2, 2, 2], "up": [2, 2] });
    let mut scenario = fluid(tree, &goal, &json!({}));
    scenario["routing"] = json!("table");
    assert_eq!(
        arrivals(&scenario).into_iter().max().unwrap(),
        way(4) + 2000,
        "one digit of both destinations is equal"
    );
    scenario["routing"] = json!("minimal");
    assert_eq!(arrivals(&scenario).into_iter().max().unwrap(), way(4) + 1000);
}

/// Every registered routing mechanism either carries a program or is refused by its key.
#[test]
fn a_nonminimal_message_takes_longer() {
    let dragonfly = json!({ "kind": "dragonfly", "p": 2, "a": 4, "h": 2 });
    let ring: Vec<(u32, u32, u64)> = (0..72).map(|rank| (rank, (rank + 8) % 72, 2000)).collect();
    let goal = at_once(72, &ring);
    let time = |routing: Value| {
        let mut scenario = fluid(dragonfly.clone(), &goal, &json!({}));
        scenario["routing"] = routing;
        completion(&crate::common::run(&scenario))
    };
    let [minimal, valiant, ugal] = ["minimal", "valiant", "ugal_l"].map(|kind| time(json!(kind)));
    // All eight endpoints of a group want one global link.
    // Over other groups there are eight times as many, each taken twice.
    assert!(minimal > 8 * 2000 && valiant < 4 * 2000 && ugal < minimal, "{minimal} {valiant} {ugal}");
}

#[test]
fn what_it_cannot_do_is_refused_by_its_key() {
    let program = |change: Value| {
        let mut scenario = fluid(mesh(2), &at_once(2, &[(0, 1, 8)]), &json!({}));
        change.as_object().into_iter().flatten().for_each(|(key, value)| scenario[key] = value.clone());
        scenario
    };
    let kind = |more: Value| {
        let mut router = json!({ "kind": "fluid" });
        more.as_object().into_iter().flatten().for_each(|(key, value)| router[key] = value.clone());
        program(json!({ "router": router }))
    };
    let beside = json!({ "kind": "jobs", "job": [
        { "name": "a", "program": { "kind": "collective", "collective": "all_reduce", "bytes": 64, "ranks": 1 } },
        { "name": "b", "traffic": { "load": 0.1 } },
    ] });
    let cases = [
        (
            json!({ "topology": mesh(2), "router": { "kind": "fluid" }, "traffic": { "load": 0.1 } }),
            "router.kind = \"fluid\": carries the messages of a program: expected [workload] in place of [traffic]",
        ),
        (program(json!({ "measure": { "probes": ["queues"] } })), "measure.probes"),
        (
            program(json!({ "workload": beside })),
            "workload.job[1].traffic: the fluid network carries messages of programs",
        ),
        (program(json!({ "planes": { "count": 2 } })), "router.kind = \"fluid\""),
        (program(json!({ "units": {} })), "units.phit"),
        (kind(json!({ "sharing": "fair" })), "router.sharing"),
        (kind(json!({ "sources": "both" })), "router.sources"),
        (kind(json!({ "speedup": 2 })), "router.speedup"),
        (kind(json!({ "latency": 2_000_000 })), "router.latency = 2000000"),
        (
            program(json!({ "topology": { "kind": "dragonfly", "p": 2, "a": 4, "h": 2 },
                "routing": { "kind": "dragonfly_phases", "adaptive": true } })),
            "routing.kind = \"dragonfly_phases\": the fluid network cannot follow its routes",
        ),
    ];
    for (scenario, expected) in cases {
        let error = refused(&scenario);
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

/// Links of a network, and flows over some of them.
fn cases() -> impl Strategy<Value = Case> {
    let links = prop::collection::vec((1..9u32, 0..4u32), 3..9);
    let flow = (prop::collection::vec(any::<u32>(), 1..5), 0..60u32, 0..400u32, 0..20u32, any::<u32>());
    (links, prop::collection::vec(flow, 1..24)).prop_map(|(links, flows)| {
        let count = links.len() as u64;
        let links = (0..).zip(links).map(|(id, (rate, latency))| CaseLink {
            id,
            capacity: f64::from(rate) / 2.0,
            latency: latency.into(),
        });
        let flows = (0..).zip(flows).map(|(id, (route, start, size, delay, after))| {
            let mut route: Vec<u64> = route.into_iter().map(|link| u64::from(link) % count).collect();
            let all = route.clone();
            let mut place = 0;
            route.retain(|link| {
                place += 1;
                !all[..place - 1].contains(link)
            });
            let after = if id > 0 && after % 4 == 0 { vec![u64::from(after) % id] } else { Vec::new() };
            let [start, size, delay] = [start, size, delay].map(f64::from);
            CaseFlow { id, route, start, size, after, delay }
        });
        Case { links: links.collect(), flows: flows.collect() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// All flows end, none before it could alone, and no set of flows before its links can have carried it.
    #[test]
    fn no_flow_ends_before_its_links_can_have_carried_it(case in cases()) {
        for rule in RULES {
            let ends = case.solve(rule).unwrap().ends;
            let latency = |flow: &CaseFlow| -> f64 {
                flow.delay + flow.route.iter().map(|link| case.links[*link as usize].latency).sum::<f64>()
            };
            let ready = |flow: &CaseFlow| flow.after.iter().map(|id| ends[*id as usize]).fold(flow.start, f64::max);
            for (flow, end) in case.flows.iter().zip(&ends) {
                let capacities = flow.route.iter().map(|link| case.links[*link as usize].capacity);
                let slowest = capacities.fold(f64::MAX, f64::min);
                prop_assert!(end + 1e-9 >= ready(flow) + latency(flow) + flow.size / slowest, "{rule:?} {flow:?}");
            }
            for link in &case.links {
                // For any time: what is active from then on fits between it and the last end.
                let flows = case.flows.iter().zip(&ends);
                let on: Vec<_> = flows.filter(|(flow, _)| flow.route.contains(&link.id)).collect();
                for (first, _) in &on {
                    let from = ready(first) + latency(first);
                    let later = on.iter().filter(|(flow, _)| ready(flow) + latency(flow) >= from);
                    let (bytes, last) = later.fold((0.0, from), |(bytes, last), (flow, end)| {
                        (bytes + flow.size, f64::max(last, **end))
                    });
                    prop_assert!((last - from) * link.capacity >= bytes * (1.0 - 1e-9) - 1e-6, "{rule:?} {link:?}");
                }
            }
        }
    }

    /// The bytes that flows have sent, by their rates at all times, are their sizes; and no link is asked for more than
    /// it carries.
    #[test]
    fn bytes_are_kept_and_links_are_not_overloaded(case in cases()) {
        for rule in RULES {
            let mut flows = Flows::new(case.links.iter().map(|link| link.capacity), rule);
            let mut sent = vec![0.0; case.flows.len()];
            let mut starts: Vec<(f64, u32)> = (0..).zip(&case.flows).map(|(tag, flow)| (flow.start, tag)).collect();
            starts.retain(|(_, tag)| case.flows[*tag as usize].size > 0.0);
            starts.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
            let mut active: Vec<(u32, u32)> = Vec::new();
            loop {
                let start = starts.last().map(|start| start.0).into_iter();
                let Some(time) = start.chain(flows.next_end()).reduce(f64::min) else { break };
                for &(number, tag) in &active {
                    sent[tag as usize] += flows.rate_of(number) * (time - flows.now());
                }
                let mut ended = Vec::new();
                flows.advance(time, &mut ended);
                active.retain(|(_, tag)| !ended.contains(tag));
                while let Some(&(start, tag)) = starts.last() && start <= time {
                    starts.pop();
                    let flow = &case.flows[tag as usize];
                    let route: Vec<u32> = flow.route.iter().map(|link| *link as u32).collect();
                    active.push((flows.begin(Hop::route(&route), flow.size, tag), tag));
                }
                prop_assert_eq!(flows.audit(), Ok(()));
            }
            prop_assert_eq!(flows.under_way(), 0);
            for (flow, sent) in case.flows.iter().zip(sent) {
                prop_assert!((flow.size - sent).abs() < 1e-6, "{:?}: {} of {}", rule, sent, flow.size);
            }
        }
    }

    /// Rates that follow flows as they come and go are those that the same flows would have in a new network.
    #[test]
    fn rates_do_not_depend_on_the_past(
        case in cases(),
        steps in prop::collection::vec(any::<prop::sample::Index>(), 60),
    ) {
        for rule in [RULES[0], RULES[1]] {
            let capacities = || case.links.iter().map(|link| link.capacity);
            let mut flows = Flows::new(capacities(), rule);
            let mut active: Vec<(u32, usize)> = Vec::new();
            let route = |of: usize| {
                let links: Vec<u32> = case.flows[of].route.iter().map(|link| *link as u32).collect();
                Hop::route(&links)
            };
            for step in &steps {
                let of = step.index(case.flows.len());
                // The next end, or the start of a flow that is not under way.
                if active.iter().any(|(_, other)| *other == of) {
                    let Some(time) = flows.next_end() else { continue };
                    let mut ended = Vec::new();
                    flows.advance(time, &mut ended);
                    active.retain(|(_, other)| !ended.contains(&(*other as u32)));
                } else {
                    let bytes = case.flows[of].size + 1.0;
                    active.push((flows.begin(route(of), bytes, of as u32), of));
                }
                let mut fresh = Flows::new(capacities(), rule);
                let numbers: Vec<u32> = active.iter().map(|(_, of)| fresh.begin(route(*of), 1.0, *of as u32)).collect();
                for (&(number, of), &other) in active.iter().zip(&numbers) {
                    let (rate, expected) = (flows.rate_of(number), fresh.rate_of(other));
                    prop_assert!((rate / expected - 1.0).abs() < 1e-9, "{:?} {}: {} {}", rule, of, rate, expected);
                }
            }
        }
    }

    /// Max-min: every flow has a full link on which nobody has more.
    #[test]
    fn every_flow_has_a_full_link_on_which_nobody_has_more(case in cases()) {
        let rates = case.rates(MAX_MIN).unwrap();
        for (flow, rate) in case.flows.iter().zip(&rates) {
            let bottleneck = flow.route.iter().any(|link| {
                let on = case.flows.iter().zip(&rates).filter(|(flow, _)| flow.route.contains(link));
                let (sum, most) = on.fold((0.0, 0.0), |(sum, most), (_, rate)| (sum + rate, f64::max(most, *rate)));
                sum >= case.links[*link as usize].capacity * (1.0 - 1e-9) && *rate >= most * (1.0 - 1e-9)
            });
            prop_assert!(bottleneck, "{:?} {}", flow, rate);
        }
    }

    /// A flow that is alone, or has more bytes, does not end earlier.
    #[test]
    fn a_larger_flow_does_not_end_earlier(case in cases(), which in any::<prop::sample::Index>(), more in 1..500u32) {
        let (which, mut case) = (which.index(case.flows.len()), case);
        // Others that wait for it would start later, and could leave it more.
        case.flows.iter_mut().for_each(|flow| flow.after.clear());
        let mut larger = case.clone();
        larger.flows[which].size += f64::from(more);
        let end = |case: &Case| case.solve(MAX_MIN).unwrap().ends[which];
        prop_assert!(end(&larger) >= end(&case) - 1e-9);
        let mut alone = case.clone();
        alone.flows = vec![case.flows[which].clone()];
        for rule in RULES {
            let mut longer = alone.clone();
            longer.flows[0].size += f64::from(more);
            let ends = [&alone, &longer].map(|case| case.solve(rule).unwrap().ends[0]);
            prop_assert!(ends[1] > ends[0]);
        }
    }
}

#[test]
fn cases_that_mean_nothing_are_refused() {
    let read = |change: &str, value: Value| {
        let mut case = json!({
            "links": [{ "id": 4, "capacity": 2.5, "latency": 1 }, { "id": 7, "capacity": 1, "latency": 0 }],
            "flows": [{ "id": 0, "route": [4, 7], "size": 8 }, { "id": 1, "route": [7], "size": 0, "after": [0] }],
        });
        *case.pointer_mut(change).unwrap_or_else(|| panic!("{change}")) = value;
        serde_json::from_value::<Case>(case)
            .unwrap()
            .solve(MAX_MIN)
            .map(|solved| solved.ends)
            .map_err(|e| e.to_string())
    };
    assert_eq!(read("/flows/0/size", json!(8)), Ok(vec![9.0, 9.0]));
    let cases = [
        ("/links/0/capacity", json!(0), "links[0].capacity = 0: expected bytes per nanosecond, above 0"),
        ("/links/1/latency", json!(-1), "links[1].latency = -1: expected nanoseconds"),
        ("/links/1/id", json!(4), "links[1].id = 4: expected a number that no other link has"),
        ("/flows/1/id", json!(0), "flows[1].id = 0: expected a number that no other flow has"),
        ("/flows/0/size", json!(-8), "flows[0].size = -8: expected 0 or more"),
        ("/flows/0/route", json!([]), "flows[0].route = []: expected a link or more"),
        ("/flows/0/route", json!([4, 5]), "flows[0].route[1] = 5: there is no such link"),
        ("/flows/0/route", json!([4, 7, 4]), "flows[0].route[2] = 4: expected a route that takes no link twice"),
        ("/flows/1/after", json!([3]), "flows[1].after[0] = 3: there is no such flow"),
        ("/flows/1/after", json!([1]), "flows[1].after = [1]: waits for itself"),
    ];
    for (place, value, expected) in cases {
        let error = read(place, value).unwrap_err();
        assert!(error.contains(expected), "{error}\nshould contain\n{expected}");
    }
}

/// Threads and partitions change nothing.
#[test]
fn any_number_of_threads_gives_the_same_result() {
    let ring: Vec<(u32, u32, u64)> = (0..16).map(|rank| (rank, (rank * 7 + 3) % 16, 500 + u64::from(rank))).collect();
    let scenario = fluid(json!({ "kind": "torus", "dims": [4, 4] }), &at_once(16, &ring), &json!({}));
    let scenario = crate::common::scenario(&scenario);
    let run = |threads| {
        let outcome = run::run(&scenario, Options { threads, partitions: Some(threads) }, &mut |_, _| true).unwrap();
        outcome.tables()
    };
    assert_eq!(run(1), run(3));
}
