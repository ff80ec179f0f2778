//! Allocators, one by one, on requests made by hand.

use phit_engine::allocators::{Allocator, AllocatorContext, AllocatorKind, Request, Round, Scratch};
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

/// Allocators that prefer the packet generated first, and choose among equals in turn.
fn by_age() -> [Value; 6] {
    [
        json!({ "kind": "separable_input_first", "priority": "age" }),
        json!({ "kind": "separable_input_first", "among": "outputs", "priority": "age" }),
        json!({ "kind": "separable_output_first", "priority": "age" }),
        json!({ "kind": "islip", "priority": "age" }),
        json!({ "kind": "islip", "iterations": 3, "priority": "age" }),
        json!({ "kind": "wavefront", "priority": "age" }),
    ]
}

fn all_kinds() -> Vec<Value> {
    let mut kinds = vec![json!({ "kind": "islip", "iterations": 1 }), json!({ "kind": "islip", "iterations": 4 })];
    for kind in ["pim", "wavefront", "lonely_output", "sequential", "maximum_matching"] {
        kinds.push(json!({ "kind": kind }));
    }
    kinds.push(json!({ "kind": "pim", "iterations": 3 }));
    kinds.push(json!({ "kind": "wavefront", "diagonal": "after_first" }));
    kinds.extend(by_age().map(|kind| kind.clone()));
    for arbiter in ["least_recently_served", "random"] {
        kinds.push(json!({ "kind": "separable_output_first", "arbiter": arbiter, "priority": "age" }));
        kinds.push(json!({ "kind": "separable_input_first", "arbiter": arbiter, "priority": "age" }));
    }
    for arbiter in ["round_robin", "least_recently_served", "random", "age"] {
        kinds.push(json!({ "kind": "separable_output_first", "arbiter": arbiter }));
        if arbiter != "random" {
            kinds.push(json!({ "kind": "separable_input_first", "arbiter": arbiter, "among": "outputs" }));
        }
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

/// If an allocator tells whose turn it is at an input, only the first request from that queue on, in cyclic order,
/// needs to be made. Winners, and the state of the arbiters, equal those with all requests.
#[test]
fn the_queue_whose_turn_it_is_stands_for_its_input() {
    let mut asked = 0;
    for kind in all_kinds() {
        let (mut all, mut first) = (allocator(kind.clone()), allocator(kind.clone()));
        let (mut rng, mut one) = (rng(), rng());
        for _ in 0..3000 {
            let requests = random_requests(&mut rng);
            let in_turn: Option<Vec<Request>> = requests
                .chunk_by(|a, b| a.input == b.input)
                .map(|own| {
                    let turn = first.turn(own[0].port)?;
                    Some(*own.iter().find(|request| request.lane >= turn).unwrap_or(&own[0]))
                })
                .collect();
            let Some(in_turn) = in_turn else { continue };
            asked += 1;
            let won = |mut grants: Vec<Request>| {
                grants.sort_by_key(|grant| grant.queue);
                grants
            };
            let grants = won(allocate(&mut *all, &mut rng, &requests));
            assert_eq!(won(allocate(&mut *first, &mut one, &in_turn)), grants, "{kind}");
        }
    }
    assert!(asked > 3000, "{asked} rounds");
}

/// The common round of all routers leaves out requests that need no arbiter. Winners, and the state of the arbiters,
/// equal those of separate rounds for every router. This also holds if routers with shared ports have been noted, and
/// others besides.
#[test]
fn all_rounds_at_once_are_the_rounds_of_each_router() {
    for kind in all_kinds() {
        let [mut at_once, mut noted, mut each] = [(); 3].map(|()| allocator(kind.clone()));
        let mut rng = rng();
        let streams = || vec![Rng::new(8, Stream::Router, 0), Rng::new(9, Stream::Router, 1)].into();
        let (mut streams, mut others) = (streams(), streams());
        let mut scratch = Scratch::default();
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
            let granted = |requests: &[Request]| -> Vec<u32> {
                requests.iter().filter(|r| r.granted).map(|r| r.queue + 100 * r.router).collect()
            };
            if noted.grants_apart() {
                let mut requests = requests.clone();
                for (place, one) in requests.iter().enumerate() {
                    let shares = |other: &Request| other.output == one.output || other.port == one.port;
                    if requests[..place].iter().any(shares) || rng.below(20) == 0 {
                        scratch.contended.push(one.router);
                    }
                }
                noted.allocate_noted(now, &mut others, &mut requests, &mut scratch);
                assert_eq!(granted(&requests), expected, "{kind} in tick {now}, noted");
                assert!(scratch.contended.is_empty());
            }
            at_once.allocate_all(now, &mut streams, &mut requests, &mut scratch);
            assert_eq!(granted(&requests), expected, "{kind} in tick {now}");
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
    // All inputs request all outputs all the time. After at most N rounds, every round is a permutation, and every pair
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
fn a_priority_puts_the_oldest_packet_first_everywhere_and_arbiters_choose_among_equals() {
    // iSLIP keeps tables for many requests, and none for few. Results are equal with and without a separate request.
    let others = [request(0, 0, 0), request(1, 0, 4), request(4, 0, 5)];
    let born = |mut request: Request, birth: u32| {
        request.birth = birth;
        request
    };
    for (kind, more) in by_age().into_iter().flat_map(|kind| [(kind.clone(), 0), (kind, 3)]) {
        let of = |asked: &[Request], lanes: bool, rounds: usize| -> Vec<u16> {
            let mut requests = [&others[..more], asked].concat();
            requests.sort_by_key(|request| (request.input, request.lane));
            let mut rule = allocator(kind.clone());
            let mut rng = rng();
            let found = |grants: Vec<Request>| -> Request {
                *grants.iter().find(|grant| asked.contains(grant)).expect("the ports are free")
            };
            let mut round = || found(allocate(&mut *rule, &mut rng, &requests));
            (0..rounds).map(|_| round()).map(|grant| if lanes { grant.lane } else { grant.input }).collect()
        };
        // At an output: inputs 2 and 5 in turn, input 3 never.
        let inputs = [born(request(2, 0, 3), 40), born(request(3, 0, 3), 41), born(request(5, 0, 3), 40)];
        let served = of(&inputs, false, 12);
        match kind["kind"] == "wavefront" {
            // The wave begins at another diagonal every time.
            true => assert!(served.contains(&2) && served.contains(&5) && !served.contains(&3), "{kind} {served:?}"),
            false => assert_eq!(served, [2, 5].repeat(6), "{kind} {more}"),
        }
        // Among the queues of an input that want one output.
        let queues = [born(request(2, 0, 1), 41), born(request(2, 1, 1), 40), born(request(2, 3, 1), 40)];
        assert_eq!(of(&queues, true, 6), [1, 3].repeat(3), "{kind} {more}");
        // At an input: the older of two that want different outputs, whoever has had a turn.
        for (first, second, oldest) in [(40, 41, 0), (41, 40, 1)] {
            let outputs = [born(request(2, 0, 1), first), born(request(2, 1, 3), second)];
            assert_eq!(of(&outputs, true, 4), [oldest; 4], "{kind} {more}");
        }
    }
}

#[test]
fn an_arbiter_by_age_has_nothing_to_choose_among_after_a_priority_by_age() {
    for kind in ["separable_input_first", "separable_output_first"] {
        for priority in ["age", "class"] {
            let value = json!({ "kind": kind, "arbiter": "age", "priority": priority });
            let error = AllocatorKind::from_value("", &value).unwrap().params().check().unwrap_err().to_string();
            let why = format!("priority = \"{priority}\"");
            assert!(error.contains("arbiter") && error.contains(&why), "{error}");
        }
    }
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
    // A maximum matching knows no classes, and is refused where there are any.
    for kind in all_kinds().into_iter().filter(|kind| kind["kind"] != "maximum_matching") {
        for (first, others) in [(0, [1, 1]), (0, [2, 2]), (1, [2, 3])] {
            let mut rule = allocator(kind.clone());
            let mut requests = [request(0, 0, 3), request(2, 0, 3), request(5, 0, 3)];
            (requests[0].class, requests[1].class, requests[2].class) = (others[0], first, others[1]);
            requests[0].birth = 1;
            assert_eq!(winners(&mut *rule, &requests, 5), [2; 5], "{kind} {first} {others:?}");
        }
    }
}

#[test]
fn an_input_that_chooses_among_outputs_speculates_last() {
    let mut rule = allocator(json!({ "kind": "separable_input_first", "among": "outputs" }));
    let mut requests = [request(2, 0, 4), request(2, 1, 5)];
    for speculative in [0, 1] {
        requests[speculative].class = 2;
        for _ in 0..4 {
            assert_eq!(pairs(&mut *rule, &requests), [(2, 5 - speculative as u32)], "{speculative}");
        }
        requests[speculative].class = 0;
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

/// Input and output of each grant, in order.
fn pairs(allocator: &mut dyn Allocator, requests: &[Request]) -> Vec<(u16, u32)> {
    let mut rng = rng();
    let grants = allocate(allocator, &mut rng, requests);
    let mut pairs: Vec<_> = grants.iter().map(|grant| (grant.input, grant.output - FIRST_PORT)).collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn inputs_that_choose_among_outputs_serve_them_in_turn_and_their_queues_within() {
    // Queues 0, 1 and 2 want output 4, queue 3 output 5: each output has every other grant.
    let requests = [(0, 4), (1, 4), (2, 4), (3, 5)].map(|(lane, output)| request(2, lane, output));
    let served = |among: &str| {
        let mut rule = allocator(json!({ "kind": "separable_input_first", "among": among }));
        let mut rng = rng();
        let mut lane = || allocate(&mut *rule, &mut rng, &requests)[0].lane;
        (0..8).map(|_| lane()).collect::<Vec<u16>>()
    };
    assert_eq!(served("queues"), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(served("outputs"), [0, 3, 0, 3, 0, 3, 0, 3]);
}

#[test]
fn outputs_that_choose_first_may_choose_the_same_input() {
    // Both inputs want both outputs. At first both outputs choose input 0, and one of them in vain; then they differ.
    let requests = [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1)].map(|(input, lane, to)| request(input, lane, to));
    let mut rule = allocator(json!({ "kind": "separable_output_first" }));
    assert_eq!(pairs(&mut *rule, &requests), [(0, 0)]);
    assert_eq!(pairs(&mut *rule, &requests), [(0, 1), (1, 0)]);
    // Output 0 is at input 2, output 1 at input 1.
    assert_eq!(pairs(&mut *rule, &requests), [(0, 0), (1, 1)]);
}

#[test]
fn a_wavefront_begins_one_diagonal_later_every_time() {
    // Inputs 0 and 1 want output 0: diagonals 0 and 1 of six.
    let requests = [request(0, 0, 0), request(1, 0, 0)];
    let winners = |diagonal: &str| {
        let mut rule = allocator(json!({ "kind": "wavefront", "diagonal": diagonal }));
        winners(&mut *rule, &requests, 8)
    };
    // From diagonal 1 on input 1 comes first, from 2, 3, 4, 5 and 0 on input 0.
    assert_eq!(winners("next"), [0, 1, 0, 0, 0, 0, 0, 1]);
    assert_eq!(winners("after_first"), [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn no_grant_can_be_added_to_those_of_a_wavefront() {
    let mut rule = allocator(json!({ "kind": "wavefront" }));
    let mut rng = rng();
    for _ in 0..2000 {
        let requests = random_requests(&mut rng);
        let grants = allocate(&mut *rule, &mut rng, &requests);
        let taken = |r: &Request| grants.iter().any(|g| g.input == r.input || g.output == r.output);
        assert!(requests.iter().all(taken), "{requests:?}");
    }
}

/// The most grants that `requests` of `inputs` and those after it allow, if `taken` outputs are not free.
fn most(requests: &[Request], input: u16, taken: u32) -> usize {
    if u32::from(input) == RADIX {
        return 0;
    }
    let outputs = requests.iter().filter(|r| r.input == input).map(|r| 1 << (r.output - FIRST_PORT));
    let with = outputs.filter(|output| taken & output == 0).map(|output| 1 + most(requests, input + 1, taken | output));
    with.chain([most(requests, input + 1, taken)]).max().unwrap_or(0)
}

#[test]
fn a_maximum_matching_has_as_many_grants_as_there_can_be() {
    let mut rule = allocator(json!({ "kind": "maximum_matching" }));
    let mut rng = rng();
    let mut more = 0;
    let mut islip = allocator(json!({ "kind": "islip" }));
    for _ in 0..1000 {
        let requests = random_requests(&mut rng);
        let grants = allocate(&mut *rule, &mut rng, &requests).len();
        assert_eq!(grants, most(&requests, 0, 0), "{requests:?}");
        more += grants - allocate(&mut *islip, &mut rng, &requests).len();
    }
    assert!(more > 100, "iSLIP finds fewer: {more}");
    // Input 0 wants both outputs, input 1 the first only: whoever comes first, both get one, in every round.
    let requests = [request(0, 0, 0), request(0, 1, 1), request(1, 0, 0)];
    for _ in 0..12 {
        assert_eq!(pairs(&mut *rule, &requests), [(0, 1), (1, 0)]);
    }
}

#[test]
fn a_lonely_output_is_asked_for_first() {
    // Output 0 is wanted by three inputs, output 1 by two, output 2 by one.
    let requests = [request(0, 0, 0), request(0, 1, 1), request(0, 2, 2), request(1, 0, 0), request(1, 1, 1)]
        .into_iter()
        .chain([request(2, 0, 0)])
        .collect::<Vec<_>>();
    let mut rule = allocator(json!({ "kind": "lonely_output" }));
    assert_eq!(pairs(&mut *rule, &requests), [(0, 2), (1, 1), (2, 0)]);
}

#[test]
fn queues_are_served_in_the_order_of_one_list() {
    let mut rule = allocator(json!({ "kind": "sequential" }));
    let mut rng = rng();
    let mut served = |requests: &[Request]| {
        let won = allocate(&mut *rule, &mut rng, requests);
        won.iter().map(|won| (won.input, won.lane)).collect::<Vec<_>>()
    };
    // At first port by port. A queue that was served goes to the end, behind queues that lost or did not ask.
    let asking = [request(0, 0, 3), request(0, 1, 4), request(1, 0, 3)];
    assert_eq!(served(&asking), [(0, 0)]);
    assert_eq!(served(&asking), [(0, 1), (1, 0)]);
    // Of two that were served in one round, the later one comes first; both come after the one that was served before.
    assert_eq!(served(&asking), [(0, 0)]);
    assert_eq!(served(&[request(0, 1, 3), request(1, 0, 3)]), [(1, 0)]);
    assert_eq!(served(&asking), [(0, 1), (1, 0)]);
    // A queue that was never served comes first.
    assert_eq!(served(&[request(0, 0, 3), request(1, 0, 3), request(1, 1, 4)]), [(1, 1), (0, 0)]);
}

#[test]
fn lots_are_fair_and_iterations_add_grants() {
    let one_output = [request(0, 0, 3), request(2, 0, 3), request(5, 0, 3)];
    let mut rule = allocator(json!({ "kind": "pim" }));
    let won = winners(&mut *rule, &one_output, 3000);
    for input in [0, 2, 5] {
        let share = won.iter().filter(|winner| **winner == input).count();
        // Binomial with 3000 draws at 1/3: a standard deviation of 26.
        assert!((870..1130).contains(&share), "input {input}: {share}");
    }
    // If all inputs want all outputs, a grant is lost if another output grants the same input. After one iteration, 1 -
    // 1/e of the outputs (with six: 1 - (5/6)^6 = 0.665) are matched on average, and after six iterations all.
    let all: Vec<Request> =
        (0..6).flat_map(|input| (0..6u16).map(move |output| (input, output))).map(|(i, o)| wide(i, o)).collect();
    let mean = |iterations: u8| {
        let mut rule = allocator(json!({ "kind": "pim", "iterations": iterations }));
        let mut rng = rng();
        (0..2000).map(|_| allocate(&mut *rule, &mut rng, &all).len()).sum::<usize>() as f64 / 2000.0
    };
    let expected = 6.0 * (1.0 - (5.0f64 / 6.0).powi(6));
    assert!((mean(1) - expected).abs() < 0.08, "{} {expected}", mean(1));
    assert_eq!(mean(6), 6.0);
}

/// A request of a queue for each output, of which there are more than [`QUEUES`] elsewhere.
fn wide(input: u16, output: u16) -> Request {
    Request { queue: u32::from(input) * 8 + u32::from(output), ..request(input, output % QUEUES as u16, output.into()) }
}
