use super::*;
use crate::compose::Composer;
use crate::generated::Generated;
use crate::host::HostParams;
use crate::network::Ideal;
use crate::plan::StoredPlan;
use crate::run::run;
use crate::script::{Calc, Communicator, Communicators, Costs, Script, Scripts};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// For each block, the members whose data is in a member's copy.
type Data = Vec<BTreeSet<u32>>;

/// Lets all members take their steps until nothing moves any more, with messages in the order of sending. All members
/// must reach their end, and each message must have the size that its receive expects. `data` follows the messages.
fn follow(steps: &dyn Steps, members: u32, data: &mut [Data]) {
    follow_with(steps, members, data, true);
}

/// [`follow`]. Unless `exact`, received data is added to the existing data.
fn follow_with(steps: &dyn Steps, members: u32, data: &mut [Data], exact: bool) {
    type Messages = HashMap<(u32, u32, u32), VecDeque<(u64, Vec<(u32, BTreeSet<u32>)>)>>;
    let mut messages = Messages::new();
    let mut at: Vec<Vec<(u32, bool)>> = vec![vec![(0, false); steps.lanes() as usize]; members as usize];
    loop {
        let mut moved = false;
        for member in 0..members {
            for lane in 0..steps.lanes() {
                let (number, begun) = at[member as usize][lane as usize];
                let step = steps.step(member, lane, number);
                let pair = steps.pair(member, lane, number).map(Step::from);
                assert!(pair.is_none() || pair == step, "{steps:?}: {pair:?}, {step:?}");
                let Some(step) = step else { continue };
                let blocks = data[member as usize].len() as u32;
                let of = |part: &Part| {
                    let Blocks { first, count, stride } = part.blocks;
                    (0..count).map(move |k| (first + k * stride) % blocks.max(1))
                };
                if !begun {
                    for part in &step.sends {
                        assert!(part.peer < members && part.peer != member, "{steps:?}: {part:?} of {member}");
                        let content = if data[member as usize].is_empty() {
                            vec![]
                        } else {
                            of(part).map(|block| (block, data[member as usize][block as usize].clone())).collect()
                        };
                        messages.entry((member, part.peer, lane)).or_default().push_back((part.bytes, content));
                    }
                    at[member as usize][lane as usize].1 = true;
                    moved = true;
                }
                let there =
                    |part: &Part| messages.get(&(part.peer, member, lane)).is_some_and(|queue| !queue.is_empty());
                if !step.receives.iter().all(there) {
                    continue;
                }
                for part in &step.receives {
                    let queue = messages.get_mut(&(part.peer, member, lane)).unwrap();
                    let (bytes, content) = queue.pop_front().unwrap();
                    assert_eq!(bytes, part.bytes, "{steps:?}: {} to {member}, step {number}", part.peer);
                    let blocks: Vec<u32> = content.iter().map(|(block, _)| *block).collect();
                    if !data[member as usize].is_empty() {
                        assert_eq!(blocks, of(part).collect::<Vec<_>>(), "{steps:?}: {} to {member}", part.peer);
                    }
                    for (block, sum) in content {
                        let own = &mut data[member as usize][block as usize];
                        if !exact {
                        } else if step.reduces {
                            assert!(own.is_disjoint(&sum), "{steps:?}: added up twice at {member}");
                        } else {
                            assert!(own.is_subset(&sum), "{steps:?}: lost at {member}");
                        }
                        own.extend(sum);
                    }
                }
                at[member as usize][lane as usize] = (number + 1, false);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for member in 0..members {
        for lane in 0..steps.lanes() {
            let (number, _) = at[member as usize][lane as usize];
            assert_eq!(steps.step(member, lane, number), None, "{steps:?}: {member} waits in step {number}");
        }
    }
    assert!(messages.values().all(VecDeque::is_empty), "{steps:?}: messages are left");
}

const BYTES: u64 = 1001;

fn call(collective: Collective, algorithm: Algorithm, members: u32) -> Members {
    Members { segments: 3, ..Members::new(collective, algorithm, members, BYTES) }
}

/// Number of blocks into which an algorithm cuts a vector.
fn blocks(call: &Members) -> u32 {
    match call.algorithm {
        Algorithm::Chain => call.segments,
        Algorithm::DoubleBinaryTree => 2 * call.segments,
        // Groups of different sizes: a block for each.
        Algorithm::Hierarchical if call.collective == Collective::AllReduce && call.groups.len() > 1 => {
            call.groups.len() as u32
        }
        Algorithm::RecursiveDoubling | Algorithm::HalvingDoubling if call.collective == Collective::AllReduce => {
            folded::largest_power(call.members)
        }
        _ => call.members,
    }
}

fn all(members: u32) -> BTreeSet<u32> {
    (0..members).collect()
}

#[test]
fn each_collective_does_what_it_says() {
    let mut followed = 0;
    for collective in Collective::all() {
        for &algorithm in collective.algorithms() {
            for members in 1..20 {
                let mut call = call(collective, algorithm, members);
                call.root = members / 2;
                if algorithm == Algorithm::Hierarchical {
                    call.groups = match members % 3 {
                        0 => vec![3],
                        1 if !equal_groups(collective) && members > 5 => vec![4, 1, members - 5],
                        _ => vec![1],
                    };
                }
                let Ok(steps) = call.steps() else {
                    assert!(!members.is_power_of_two(), "{call:?}");
                    continue;
                };
                followed += 1;
                let of = |own: &dyn Fn(u32, u32) -> bool| -> Vec<Data> {
                    let sum = |member, block| own(member, block).then_some(member).into_iter().collect();
                    (0..members).map(|member| (0..blocks(&call)).map(|block| sum(member, block)).collect()).collect()
                };
                let every = |data: &Data, members| data.iter().all(|sum| *sum == all(members));
                match collective {
                    Collective::AllReduce => {
                        let mut data = of(&|_, _| true);
                        follow(&*steps, members, &mut data);
                        assert!(data.iter().all(|data| every(data, members)), "{call:?}: {data:?}");
                    }
                    Collective::AllGather | Collective::Gather => {
                        let mut data = of(&|member, block| member == block);
                        follow(&*steps, members, &mut data);
                        let there = |data: &Data| (0..).zip(data).all(|(block, who)| who.iter().eq([&block]));
                        let all = collective == Collective::AllGather;
                        let gets = |(member, data)| there(data) || !all && member != call.root;
                        assert!((0..).zip(&data).all(gets), "{call:?}: {data:?}");
                    }
                    Collective::Scatter => {
                        let mut data = of(&|member, _| member == call.root);
                        follow(&*steps, members, &mut data);
                        let own = |(member, data): (usize, &Data)| data[member].iter().eq([&call.root]);
                        assert!(data.iter().enumerate().all(own), "{call:?}: {data:?}");
                    }
                    Collective::ReduceScatter => {
                        let mut data = of(&|_, _| true);
                        follow(&*steps, members, &mut data);
                        let own = |(member, data): (usize, &Data)| data[member] == all(members);
                        assert!(data.iter().enumerate().all(own), "{call:?}: {data:?}");
                    }
                    Collective::Broadcast => {
                        let mut data = of(&|member, _| member == call.root);
                        follow(&*steps, members, &mut data);
                        let there = |data: &Data| data.iter().all(|who| who.iter().eq([&call.root]));
                        assert!(data.iter().all(there), "{call:?}: {data:?}");
                    }
                    Collective::Reduce => {
                        let mut data = of(&|_, _| true);
                        follow(&*steps, members, &mut data);
                        assert!(every(&data[call.root as usize], members), "{call:?}: {data:?}");
                    }
                    Collective::AllToAll => follow(&*steps, members, &mut vec![vec![]; members as usize]),
                    Collective::Barrier => {
                        let order = follow_order(&*steps, members);
                        assert!(order.iter().all(|known| known.len() == members as usize), "{call:?}: {order:?}");
                    }
                }
            }
        }
    }
    assert!(followed > 700, "{followed}");
}

/// In Bruck's all-to-all, a block moves by the distances whose sum is the distance to its destination.
#[test]
fn bruck_moves_each_block_to_its_destination() {
    for members in 1..40u32 {
        let bruck = Members::new(Collective::AllToAll, Algorithm::Bruck, members, 1).steps().unwrap();
        let each = |member| (0..members).map(move |destination| (member, destination)).collect();
        let mut held: Vec<Vec<(u32, u32)>> = (0..members).map(each).collect();
        for number in (0..).take_while(|&number| bruck.step(0, 0, number).is_some()) {
            let moves =
                |(source, destination): &(u32, u32)| ((destination + members - source) % members) >> number & 1 == 1;
            let mut arriving = vec![vec![]; members as usize];
            for (member, held) in (0..).zip(&mut held) {
                let (gone, kept) = held.iter().partition(|block| moves(block));
                let gone: Vec<(u32, u32)> = gone;
                *held = kept;
                let step = bruck.step(member, 0, number).unwrap();
                assert_eq!(step.sends[0].bytes, gone.len() as u64);
                arriving[step.sends[0].peer as usize].extend(gone);
            }
            held.iter_mut().zip(arriving).for_each(|(held, arriving)| held.extend(arriving));
        }
        let own = |(member, held): (u32, &Vec<(u32, u32)>)| held.iter().all(|(_, destination)| *destination == member);
        assert!((0..).zip(&held).all(own), "{members} members");
    }
}

/// Hierarchical collectives that need groups of equal sizes.
fn equal_groups(collective: Collective) -> bool {
    matches!(collective, Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll)
}

/// For each member, the members whose beginning it knows of at its end, by everything received since.
fn follow_order(steps: &dyn Steps, members: u32) -> Vec<BTreeSet<u32>> {
    let mut data: Vec<Data> = (0..members).map(|member| vec![BTreeSet::from([member])]).collect();
    follow_with(&Knowing(steps), members, &mut data, false);
    data.into_iter().flatten().collect()
}

/// These steps, where each message carries everything that its sender knows.
#[derive(Debug)]
struct Knowing<'s>(&'s dyn Steps);

impl Steps for Knowing<'_> {
    fn lanes(&self) -> u32 {
        self.0.lanes()
    }

    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        let mut step = self.0.step(member, lane, number)?;
        step.sends.iter_mut().chain(&mut step.receives).for_each(|part| part.blocks = Blocks::one(0));
        Some(step)
    }
}

/// The bytes that arrive, over all pairs, found by following each pair on its route.
fn arrived(call: &Members, pairs: &Pairs) -> u64 {
    let steps = call.steps().unwrap();
    follow(&*steps, call.members, &mut vec![vec![]; call.members as usize]);
    let of = |member: u32| {
        let lanes = (0..steps.lanes()).map(move |lane| (member, lane));
        lanes.flat_map(|(member, lane)| (0..).map_while(|n| steps.step(member, lane, n)).collect::<Vec<_>>())
    };
    let sent = (0..call.members).flat_map(of).flat_map(|step| step.sends).map(|part| part.bytes).sum::<u64>();
    let all = (0..call.members).flat_map(|s| (0..call.members).map(move |d| (s, d))).filter(|(s, d)| s != d);
    let hops = |(source, destination): (u32, u32)| {
        let on = (destination + call.members - source) % call.members;
        match call.algorithm {
            Algorithm::Bruck => on.count_ones(),
            Algorithm::Ring => on,
            Algorithm::Hierarchical => {
                let size = call.groups[0];
                u32::from(source % size != destination % size) + u32::from(source / size != destination / size)
            }
            _ => 1,
        }
    };
    let expected: u64 = all.map(|pair| u64::from(hops(pair)) * pairs.bytes(call.members, pair.0, pair.1)).sum();
    assert_eq!(sent, expected, "{call:?}");
    sent
}

/// Every byte of a matrix, or of a skewed exchange, takes as many hops as the algorithm promises.
#[test]
fn unequal_exchanges_are_sent_whole() {
    let members = 12;
    let matrix: std::sync::Arc<[u64]> = (0..144).map(|k| (k * 37 + k / 12) % 50).collect();
    let skewed = Pairs::skewed(members, 1000, 1.2, |member| (member * 5) % 12);
    let Pairs::ByDestination(each) = &skewed else { panic!() };
    assert_eq!(each.iter().sum::<u64>(), 12_000);
    // Zipf's law: the third in demand gets a third of the first to the power of the skew.
    let at = |place: u32| each[(0..12).find(|member| member * 5 % 12 == place).unwrap() as usize] as f64;
    assert!((at(0) / at(2) - 3f64.powf(1.2)).abs() < 0.02, "{each:?}");
    for pairs in [Pairs::Matrix(matrix), skewed, Pairs::Equal(77)] {
        for &algorithm in Collective::AllToAll.algorithms() {
            for (chunks, at_once, window) in [(1, 0, 0), (3, 2, 0), (1, 0, 5)] {
                let call = Members {
                    chunks,
                    at_once,
                    window,
                    pairs: Some(pairs.clone()),
                    groups: vec![4],
                    ..Members::new(Collective::AllToAll, algorithm, members, 0)
                };
                arrived(&call, &pairs);
            }
        }
    }
}

fn together(call: &Members, costs: Costs) -> std::sync::Arc<dyn Script> {
    let communicator = Communicator { ranks: (0..call.members).collect(), steps: call.steps().unwrap(), costs };
    Arc::new(Communicators::new(call.members, vec![communicator]))
}

/// The times of a message: in the network, on the CPU at either end, between two messages of an interface, and for a
/// byte after the first; and the time to combine a byte.
#[derive(Clone, Copy)]
struct Times {
    latency: u64,
    overhead: u64,
    gap: u64,
    beta: u64,
    gamma: u64,
}

impl Times {
    /// Time of a message of one byte.
    fn alpha(self) -> u64 {
        self.latency + 2 * self.overhead
    }
}

fn time(call: &Members, Times { latency, overhead, gap, beta, gamma }: Times) -> u64 {
    let costs = Costs::combining(gamma as f64);
    let params = HostParams { overhead, gap, gap_per_byte: beta, overhead_per_byte: 0, eager: u64::MAX };
    let once = Scripts::new(call.members, [together(call, costs)]);
    let finish = run(Box::new(StoredPlan::new(Arc::new(once.store()))), params, Ideal(|_, _| latency));
    assert!(finish.left.is_empty());
    // Composing step by step gives an equal program.
    let mut composer = Composer::new(call.members);
    composer.collective(&(0..call.members).collect::<Vec<_>>(), &call.steps().unwrap(), costs);
    assert_eq!(composer.finish(), once.store());
    // Without a stored program: each step is generated when it is due.
    let twice = Scripts::new(call.members, [Arc::new(Calc(5)), together(call, costs), together(call, costs)]);
    let finished = run(Box::new(Generated::new(twice.clone())), params, Ideal(|_, _| latency));
    assert!(finished.left.is_empty(), "{:?}", finished.left);
    assert!(finished.completion() <= 5 + 2 * finish.completion() && finished.completion() > finish.completion());
    let stored = run(Box::new(StoredPlan::new(Arc::new(twice.store()))), params, Ideal(|_, _| latency));
    assert_eq!(stored.ranks, finished.ranks, "{call:?}");
    assert_eq!(run(Box::new(Generated::new(once)), params, Ideal(|_, _| latency)).ranks, finish.ranks, "{call:?}");
    finish.completion()
}

/// Number of steps times α, and bytes on the longest path, as in the papers on the algorithms.
#[test]
fn times_are_those_of_the_closed_forms() {
    use {Algorithm as A, Collective as C};
    let plain = Times { latency: 1000, overhead: 0, gap: 0, beta: 3, gamma: 2 };
    // In these, a rank sends one message and receives one at a time: none waits for the CPU or gap of another.
    let loaded = Times { latency: 2500, overhead: 1500, gap: 1000, beta: 6, gamma: 0 };
    let one_at_a_time = [
        (C::AllGather, A::Ring),
        (C::AllGather, A::RecursiveDoubling),
        (C::AllGather, A::Bruck),
        (C::ReduceScatter, A::Ring),
        (C::ReduceScatter, A::RecursiveHalving),
        (C::AllReduce, A::Ring),
        (C::AllReduce, A::RecursiveDoubling),
        (C::AllReduce, A::HalvingDoubling),
        (C::AllToAll, A::Pairwise),
        (C::AllToAll, A::Bruck),
        (C::Broadcast, A::Binomial),
        (C::Barrier, A::Dissemination),
    ];
    for members in [4u32, 7, 8, 13, 16, 32, 48] {
        let p = u64::from(members);
        let lg = u64::from(log2_up(members));
        // Divisible by all these numbers, so that all blocks are equal.
        let n = 4 * 7 * 13 * 3 * 16 * 2;
        let cases = [
            (C::AllGather, A::Ring, p - 1, (p - 1) * n, 0),
            (C::AllGather, A::RecursiveDoubling, lg, (p - 1) * n, 0),
            (C::AllGather, A::Bruck, lg, (p - 1) * n, 0),
            (C::ReduceScatter, A::Ring, p - 1, (p - 1) * n / p, (p - 1) * n / p),
            (C::ReduceScatter, A::RecursiveHalving, lg, (p - 1) * n / p, (p - 1) * n / p),
            (C::ReduceScatter, A::Pairwise, p - 1, (p - 1) * n / p, (p - 1) * n / p),
            (C::AllReduce, A::Ring, 2 * (p - 1), 2 * (p - 1) * n / p, (p - 1) * n / p),
            (C::AllReduce, A::RecursiveDoubling, lg, lg * n, lg * n),
            (C::AllReduce, A::HalvingDoubling, 2 * lg, 2 * (p - 1) * n / p, (p - 1) * n / p),
            (C::AllToAll, A::Pairwise, p - 1, (p - 1) * n, 0),
            (C::AllToAll, A::Ring, p - 1, p * (p - 1) / 2 * n, 0),
            (
                C::AllToAll,
                A::Bruck,
                lg,
                n * (0..lg).map(|k| (0..p).filter(|j| j >> k & 1 == 1).count() as u64).sum::<u64>(),
                0,
            ),
            (C::Broadcast, A::Binomial, lg, lg * n, 0),
            (C::Reduce, A::Binomial, lg, lg * n, lg * n),
            (C::Barrier, A::Dissemination, lg, lg * n, 0),
            (C::AllReduce, A::Binomial, 2 * lg, 2 * lg * n, lg * n),
            (C::AllGather, A::Pairwise, p - 1, (p - 1) * n, 0),
            (C::Gather, A::Binomial, lg, (p - 1) * n, 0),
            (C::Scatter, A::Binomial, lg, (p - 1) * n, 0),
            (C::Broadcast, A::ScatterAllGather, lg + p - 1, 2 * (p - 1) * n / p, 0),
        ];
        for (collective, algorithm, steps, bytes, combined) in cases {
            let powers =
                [A::RecursiveDoubling, A::RecursiveHalving, A::HalvingDoubling, A::Binomial, A::ScatterAllGather];
            if powers.contains(&algorithm) && !members.is_power_of_two() {
                continue;
            }
            let call = Members { segments: 4, ..Members::new(collective, algorithm, members, n) };
            let expected = |times: Times| steps * times.alpha() + (bytes - steps) * times.beta + combined * times.gamma;
            assert_eq!(time(&call, plain), expected(plain), "{collective} by {algorithm} of {members}");
            if one_at_a_time.contains(&(collective, algorithm)) {
                assert_eq!(time(&call, loaded), expected(loaded), "{collective} by {algorithm} of {members}, with o");
            }
        }
        // The root need not wait for a segment to arrive before it sends the next one: both are under way together.
        let call = Members { segments: 4, ..Members::new(C::Broadcast, A::Chain, members, n) };
        let (hops, messages) = (p - 1, p - 2 + 4);
        let expected = hops * plain.alpha() + messages * (n / 4 - 1) * plain.beta;
        assert_eq!(time(&call, plain), expected, "chain of {members}");
    }
}

#[test]
fn chunks_hold_all_bytes() {
    for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::DoubleBinaryTree] {
        for at_once in [0, 1, 3] {
            let call = Members {
                chunks: 7,
                at_once,
                segments: 2,
                ..Members::new(Collective::AllReduce, algorithm, 8, 1_000_003)
            };
            let sent = |call: &Members| {
                let steps = call.steps().unwrap();
                let of = |member| {
                    (0..steps.lanes())
                        .flat_map(|lane| (0..).map_while(|number| steps.step(member, lane, number)).collect::<Vec<_>>())
                        .flat_map(|step| step.sends)
                        .map(|part| part.bytes)
                        .sum::<u64>()
                };
                (0..8).map(of).sum::<u64>()
            };
            follow(&*call.steps().unwrap(), 8, &mut vec![vec![]; 8]);
            assert_eq!(sent(&call), 14 * 1_000_003, "{algorithm}");
        }
    }
}

#[test]
fn impossible_ones_are_refused() {
    let error = |call: Members| call.steps().unwrap_err().to_string();
    let ring = Members::new(Collective::AllGather, Algorithm::RecursiveDoubling, 6, 8);
    assert_eq!(error(ring.clone()), "all_gather by recursive_doubling needs a power of two of members, not 6");
    assert_eq!(
        error(Members { algorithm: Algorithm::Chain, ..ring.clone() }),
        "algorithm = chain: does no all_gather: expected one of ring, recursive_doubling, bruck, pairwise, direct, \
         hierarchical"
    );
    assert_eq!(error(Members { root: 6, ..ring.clone() }), "root = 6: expected a member below 6");
    assert_eq!(error(Members { chunks: 0, ..ring.clone() }), "chunks = 0: expected 1 or more");
    let grouped = |groups| Members { algorithm: Algorithm::Hierarchical, groups, ..ring.clone() };
    assert_eq!(error(grouped(vec![2, 4])), "groups = [2, 4]: all_gather needs groups of equal sizes");
    let expected = "expected sizes of groups that make up 6 members, each 1 or more";
    assert_eq!(error(grouped(vec![2, 2])), format!("groups = [2, 2]: {expected}"));
    assert_eq!(error(grouped(vec![])), format!("groups = []: {expected}"));
    let pairs = Some(Pairs::Matrix([0; 9].into()));
    let all_to_all = Members { pairs, ..Members::new(Collective::AllToAll, Algorithm::Direct, 4, 0) };
    assert_eq!(error(all_to_all), "a matrix of 4 rows and columns is expected");
}

#[test]
fn names_are_those_of_documents() {
    for collective in Collective::all() {
        assert_eq!(serde_json::to_value(collective).unwrap(), collective.name());
        for algorithm in collective.algorithms() {
            assert_eq!(serde_json::to_value(algorithm).unwrap(), algorithm.name());
        }
    }
}
