//! Allocators, one by one, on requests made by hand.

use phit_engine::allocators::{Allocator, AllocatorContext, AllocatorKind, Request, Round};
use phit_engine::engine::{Rng, Stream};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

const RADIX: u32 = 6;
const QUEUES: u32 = 4;

fn allocator(kind: Value) -> Box<dyn Allocator> {
    let context = AllocatorContext { ports: 2 * RADIX, radix: RADIX, queues: QUEUES };
    AllocatorKind::from_value("", &kind).unwrap().params().build(&context)
}

fn separable(arbiter: &str) -> Box<dyn Allocator> {
    allocator(json!({ "kind": "separable_input_first", "arbiter": arbiter }))
}

/// The second router of a partition, so that a mixed-up index shows.
const FIRST_PORT: u32 = RADIX;

fn request(input: u16, lane: u16, output: u32) -> Request {
    let queue = u32::from(input) * QUEUES + u32::from(lane);
    Request {
        queue,
        port: FIRST_PORT + u32::from(input),
        output: FIRST_PORT + output,
        router: 0,
        birth: 100,
        input,
        lane,
        vc: 0,
        size: 1,
        class: 0,
        granted: false,
    }
}

fn allocate(allocator: &mut dyn Allocator, rng: &mut Rng, requests: &[Request]) -> Vec<Request> {
    static NOW: AtomicU32 = AtomicU32::new(0);
    let mut grants = Vec::new();
    let now = NOW.fetch_add(1, Ordering::Relaxed);
    allocator.allocate(Round { first_port: FIRST_PORT, now, rng }, requests, &mut grants);
    grants.into_iter().map(|index| requests[index as usize]).collect()
}

fn rng() -> Rng {
    Rng::new(7, Stream::Router, 0)
}

/// Inputs of the winners of `rounds` rounds of the same requests.
fn winners(allocator: &mut dyn Allocator, requests: &[Request], rounds: usize) -> Vec<u16> {
    let mut rng = rng();
    let mut winner = || {
        let grants = allocate(allocator, &mut rng, requests);
        assert_eq!(grants.len(), 1, "one output, one grant");
        grants[0].input
    };
    (0..rounds).map(|_| winner()).collect()
}

/// Some requests of every input for outputs at random, in order.
fn random_requests(rng: &mut Rng) -> Vec<Request> {
    let mut requests = Vec::new();
    for input in 0..RADIX as u16 {
        for lane in 0..QUEUES as u16 {
            if rng.below(2) == 0 {
                let mut request = request(input, lane, rng.below(RADIX));
                request.birth = rng.below(50);
                request.class = rng.below(2) as u8;
                requests.push(request);
            }
        }
    }
    requests
}

fn all_kinds() -> Vec<Value> {
    let mut kinds = vec![json!({ "kind": "islip", "iterations": 1 }), json!({ "kind": "islip", "iterations": 4 })];
    for arbiter in ["round_robin", "least_recently_served", "random", "age"] {
        for update in ["grant", "request"] {
            kinds.push(json!({ "kind": "separable_input_first", "arbiter": arbiter, "update": update }));
        }
    }
    kinds
}

#[test]
fn grants_are_requests_at_most_one_per_input_and_output() {
    for kind in all_kinds() {
        let mut rule = allocator(kind.clone());
        let mut rng = rng();
        for _ in 0..3000 {
            let requests = random_requests(&mut rng);
            let grants = allocate(&mut *rule, &mut rng, &requests);
            assert!(grants.iter().all(|g| requests.contains(g)), "{kind}");
            let inputs: HashSet<u16> = grants.iter().map(|g| g.input).collect();
            let outputs: HashSet<u32> = grants.iter().map(|g| g.output).collect();
            assert_eq!((inputs.len(), outputs.len()), (grants.len(), grants.len()), "{kind}");
            assert_eq!(grants.is_empty(), requests.is_empty(), "{kind}: somebody must win");
        }
    }
}

/// The rounds of all routers at once leave out what needs no arbiter: the winners, and what the arbiters remember, are
/// as if every router had a round of its own.
#[test]
fn all_rounds_at_once_are_the_rounds_of_each_router() {
    for kind in all_kinds() {
        let (mut at_once, mut each) = (allocator(kind.clone()), allocator(kind.clone()));
        let mut rng = rng();
        let mut streams = vec![Rng::new(8, Stream::Router, 0), Rng::new(9, Stream::Router, 1)].into();
        let mut twin = [Rng::new(8, Stream::Router, 0), Rng::new(9, Stream::Router, 1)];
        for now in 0..2000 {
            let mut requests = Vec::new();
            for router in 0..2 {
                for mut request in random_requests(&mut rng).into_iter().filter(|r| (r.lane + r.input) % 3 != 0) {
                    if rng.below(3) == 0 {
                        request.class = (request.input % 2) as u8;
                        request.port = router * RADIX + u32::from(request.input);
                        request.output = router * RADIX + request.output - FIRST_PORT;
                        request.router = router;
                        requests.push(request);
                    }
                }
            }
            let mut expected = Vec::new();
            for run in requests.chunk_by(|a, b| a.router == b.router) {
                let (mut grants, router) = (Vec::new(), run[0].router);
                // Nobody draws lots for one alone.
                if run.len() == 1 {
                    each.grant_alone(router * RADIX, now, &run[0]);
                    expected.push(run[0].queue + 100 * router);
                    continue;
                }
                let round = Round { first_port: router * RADIX, now, rng: &mut twin[router as usize] };
                each.allocate(round, run, &mut grants);
                grants.sort_unstable();
                expected.extend(grants.iter().map(|place| run[*place as usize].queue + 100 * router));
            }
            at_once.allocate_all(now, &mut streams, &mut requests, &mut Vec::new(), &mut Vec::new());
            let granted = requests.iter().filter(|r| r.granted).map(|r| r.queue + 100 * r.router);
            assert_eq!(granted.collect::<Vec<_>>(), expected, "{kind} in tick {now}");
        }
    }
}

#[test]
fn the_ideal_allocator_grants_everything() {
    let requests = random_requests(&mut rng());
    assert_eq!(allocate(&mut *allocator(json!("ideal")), &mut rng(), &requests), requests);
}

#[test]
fn islip_with_an_iteration_per_port_leaves_no_request_whose_ports_are_both_free() {
    // Every iteration but the last adds a pair, and there are no more pairs than ports: the matching is maximal.
    let mut rule = allocator(json!({ "kind": "islip", "iterations": RADIX }));
    let mut rng = rng();
    for _ in 0..3000 {
        let mut requests = random_requests(&mut rng);
        requests.iter_mut().for_each(|r| r.class = 0);
        let grants = allocate(&mut *rule, &mut rng, &requests);
        for request in &requests {
            let matched = grants.iter().any(|g| g.input == request.input || g.output == request.output);
            assert!(matched, "{request:?} could have been granted too");
        }
    }
}

#[test]
fn islip_desynchronises_its_pointers() {
    // All inputs ask for all outputs all the time: after at most N rounds every round is a permutation, and every pair
    // has its turn once in N rounds (McKeown 1999, section III).
    let context = AllocatorContext { ports: 2 * RADIX, radix: RADIX, queues: RADIX };
    let kind = AllocatorKind::from_value("", &json!({ "kind": "islip", "iterations": 1 })).unwrap();
    let mut rule = kind.params().build(&context);
    let requests: Vec<Request> = (0..RADIX as u16)
        .flat_map(|input| (0..RADIX).map(move |output| request(input, output as u16, output)))
        .collect();
    let mut rng = rng();
    for _ in 0..RADIX {
        allocate(&mut *rule, &mut rng, &requests);
    }
    let mut served = HashSet::new();
    for _ in 0..RADIX {
        let grants = allocate(&mut *rule, &mut rng, &requests);
        assert_eq!(grants.len(), RADIX as usize);
        assert!(grants.iter().all(|g| served.insert((g.input, g.output))), "a pair had two turns");
    }
}

#[test]
fn round_robin_takes_turns() {
    let requests = [request(1, 0, 3), request(2, 0, 3), request(5, 0, 3)];
    assert_eq!(winners(&mut *separable("round_robin"), &requests, 7), [1, 2, 5, 1, 2, 5, 1]);
    // Among the queues of one input too.
    let mut rule = separable("round_robin");
    let requests = [request(2, 0, 1), request(2, 1, 1), request(2, 3, 1)];
    let lanes: Vec<u16> = (0..5).map(|_| allocate(&mut *rule, &mut rng(), &requests)[0].lane).collect();
    assert_eq!(lanes, [0, 1, 3, 0, 1]);
}

#[test]
fn least_recently_served_prefers_whoever_waited_longest() {
    let mut rule = separable("least_recently_served");
    let ask = |inputs: &[u16]| inputs.iter().map(|&input| request(input, 0, 3)).collect::<Vec<_>>();
    let mut win = |inputs: &[u16]| allocate(&mut *rule, &mut rng(), &ask(inputs))[0].input;
    assert_eq!(win(&[0, 4]), 0);
    assert_eq!(win(&[0, 4]), 4);
    assert_eq!(win(&[4]), 4);
    // 2 was never served, 0 before 4.
    assert_eq!(win(&[0, 2, 4]), 2);
    assert_eq!(win(&[0, 2, 4]), 0);
    assert_eq!(win(&[0, 2, 4]), 4);
    assert_eq!(win(&[0, 2, 4]), 2);
}

#[test]
fn least_recently_served_keeps_its_order_for_ever() {
    // Longer than the stamps of the arbiters count.
    let requests = [request(0, 0, 3), request(2, 0, 3), request(5, 0, 3)];
    let all = winners(&mut *separable("least_recently_served"), &requests, 200_000);
    assert!(all.chunks_exact(3).all(|turn| turn == [0, 2, 5]));
}

#[test]
fn age_prefers_the_oldest_packet() {
    let mut requests = [request(0, 0, 3), request(2, 0, 3), request(5, 0, 3)];
    requests[1].birth = 40;
    assert_eq!(winners(&mut *separable("age"), &requests, 3), [2, 2, 2]);
    requests[2].birth = 39;
    assert_eq!(winners(&mut *separable("age"), &requests, 1), [5]);
}

#[test]
fn a_random_arbiter_is_fair() {
    let requests = [request(0, 0, 3), request(2, 0, 3), request(5, 0, 3)];
    let all = winners(&mut *separable("random"), &requests, 9000);
    for input in [0, 2, 5] {
        // Five standard deviations.
        assert!(all.iter().filter(|&&winner| winner == input).count().abs_diff(3000) < 225);
    }
}

#[test]
fn the_lower_class_goes_first_whatever_the_arbiter_says() {
    for kind in all_kinds() {
        let mut rule = allocator(kind.clone());
        let mut requests = [request(0, 0, 3), request(2, 0, 3), request(5, 0, 3)];
        requests[0].class = 1;
        requests[2].class = 1;
        requests[0].birth = 1;
        assert_eq!(winners(&mut *rule, &requests, 5), [2; 5], "{kind}");
    }
}

#[test]
fn input_arbiters_move_on_a_grant_or_on_a_request() {
    // Input 0 has queues for outputs 1 and 2; another input always wins output 1.
    for (update, lanes) in [("grant", vec![]), ("request", vec![1, 1])] {
        let mut rule =
            allocator(json!({ "kind": "separable_input_first", "arbiter": "round_robin", "update": update }));
        let mut rival = request(1, 0, 1);
        let mut own = [request(0, 0, 1), request(0, 1, 2)];
        own.iter_mut().for_each(|r| r.class = 1);
        rival.class = 0;
        let requests = [own[0], own[1], rival];
        let mut granted = Vec::new();
        for _ in 0..4 {
            granted.extend(allocate(&mut *rule, &mut rng(), &requests).iter().filter(|g| g.input == 0).map(|g| g.lane));
        }
        assert_eq!(granted, lanes, "{update}");
    }
}
