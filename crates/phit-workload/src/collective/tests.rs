use super::*;
use crate::compose::Composer;
use crate::generated::{Generated, Phase};
use crate::host::HostParams;
use crate::network::Ideal;
use crate::plan::StoredPlan;
use crate::run::run;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// What a member has of each block: the members whose part is in it.
type Data = Vec<BTreeSet<u32>>;

/// Lets all members take their steps, messages in the order in which they are sent, until nothing moves any more: all
/// must have come to their end, and each message must be as large as its receive says. `data` goes along.
fn follow(steps: &dyn Steps, members: u32, data: &mut [Data]) {
    type Messages = HashMap<(u32, u32, u32), VecDeque<(u64, Vec<(u32, BTreeSet<u32>)>)>>;
    let mut messages = Messages::new();
    let mut at: Vec<Vec<(u32, bool)>> = vec![vec![(0, false); steps.lanes() as usize]; members as usize];
    loop {
        let mut moved = false;
        for member in 0..members {
            for lane in 0..steps.lanes() {
                let (number, begun) = at[member as usize][lane as usize];
                let Some(step) = steps.step(member, lane, number) else { continue };
                let blocks = data[member as usize].len() as u32;
                let of = |part: &Part| {
                    let Blocks { first, count } = part.blocks;
                    (first..first + count).map(move |block| block % blocks.max(1))
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
                        if step.reduces {
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

/// How many blocks an algorithm cuts a vector into.
fn blocks(call: &Members) -> u32 {
    match call.algorithm {
        Algorithm::Chain => call.segments,
        Algorithm::DoubleBinaryTree => 2 * call.segments,
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
                    // Its blocks are cut again: only the messages are followed.
                    let width = if members % 3 == 0 { 3 } else { 1 };
                    call.groups = (0..members).collect::<Vec<_>>().chunks(width).map(<[u32]>::to_vec).collect();
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
                    _ if algorithm == Algorithm::Hierarchical => {
                        follow(&*steps, members, &mut vec![vec![]; members as usize])
                    }
                    Collective::AllReduce => {
                        let mut data = of(&|_, _| true);
                        follow(&*steps, members, &mut data);
                        assert!(data.iter().all(|data| every(data, members)), "{call:?}: {data:?}");
                    }
                    Collective::AllGather => {
                        let mut data = of(&|member, block| member == block);
                        follow(&*steps, members, &mut data);
                        let there = |data: &Data| (0..).zip(data).all(|(block, who)| who.iter().eq([&block]));
                        assert!(data.iter().all(there), "{call:?}: {data:?}");
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
                    Collective::Barrier | Collective::AllToAll => {
                        follow(&*steps, members, &mut vec![vec![]; members as usize]);
                    }
                }
            }
        }
    }
    assert!(followed > 350, "{followed}");
}

/// In Bruck's all-to-all a block moves by the distances of which the distance to its destination is the sum.
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

fn phase_of(call: &Members, gamma: u64) -> Phase {
    let communicators = vec![((0..call.members).collect(), call.steps().unwrap())];
    Phase::Collective { communicators, combine: gamma as f64 }
}

/// α a message, β a byte after the first, γ a byte that is combined.
fn time(call: &Members, [alpha, beta, gamma]: [u64; 3]) -> u64 {
    let mut composer = Composer::new(call.members);
    let ranks: Vec<u32> = (0..call.members).collect();
    composer.collective(&ranks, &*call.steps().unwrap(), |bytes| bytes * gamma);
    let params = HostParams { overhead: 0, gap: 0, gap_per_byte: beta, overhead_per_byte: 0, eager: u64::MAX };
    let stored = StoredPlan::new(Arc::new(composer.finish()));
    let finish = run(Box::new(stored), params, Ideal(|_, _| alpha));
    assert!(finish.left.is_empty());
    // The same without a program: each step when it is due.
    let communicators = vec![(ranks.into(), call.steps().unwrap())];
    let phase = Phase::Collective { communicators, combine: gamma as f64 };
    let generated = Generated::new(call.members, vec![Phase::Calc(5), phase.clone(), phase]);
    let twice = run(Box::new(generated), params, Ideal(|_, _| alpha));
    assert!(twice.left.is_empty(), "{:?}", twice.left);
    assert!(twice.completion() <= 5 + 2 * finish.completion() && twice.completion() > finish.completion());
    let once = Generated::new(call.members, vec![phase_of(call, gamma)]);
    assert_eq!(run(Box::new(once), params, Ideal(|_, _| alpha)).ranks, finish.ranks, "{call:?}");
    finish.completion()
}

/// Steps of α, and bytes on the longest way, by the papers that the algorithms come from.
#[test]
fn times_are_those_of_the_closed_forms() {
    use {Algorithm as A, Collective as C};
    let [alpha, beta, gamma] = [1000, 3, 2];
    for members in [4u32, 7, 8, 13, 16, 32, 48] {
        let p = u64::from(members);
        let lg = u64::from(log2_up(members));
        // Divisible by all of them, so that all blocks are equal.
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
        ];
        for (collective, algorithm, steps, bytes, combined) in cases {
            let powers = [A::RecursiveDoubling, A::RecursiveHalving, A::HalvingDoubling, A::Binomial];
            if powers.contains(&algorithm) && !members.is_power_of_two() {
                continue;
            }
            let call = Members { segments: 4, ..Members::new(collective, algorithm, members, n) };
            let expected = steps * alpha + (bytes - steps) * beta + combined * gamma;
            assert_eq!(time(&call, [alpha, beta, gamma]), expected, "{collective} by {algorithm} of {members}");
        }
        // The root need not wait for a segment to arrive before it sends the next one: it is on its way with it.
        let call = Members { segments: 4, ..Members::new(C::Broadcast, A::Chain, members, n) };
        let (hops, messages) = (p - 1, p - 2 + 4);
        let expected = hops * alpha + messages * (n / 4 - 1) * beta;
        assert_eq!(time(&call, [alpha, beta, gamma]), expected, "chain of {members}");
    }
}

#[test]
fn chunks_hold_all_bytes() {
    for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::DoubleBinaryTree] {
        let call = Members { chunks: 7, segments: 2, ..Members::new(Collective::AllReduce, algorithm, 8, 1_000_003) };
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

#[test]
fn impossible_ones_are_refused() {
    let error = |call: Members| call.steps().unwrap_err().to_string();
    let ring = Members::new(Collective::AllGather, Algorithm::RecursiveDoubling, 6, 8);
    assert_eq!(error(ring.clone()), "all_gather by recursive_doubling needs a power of two of members, not 6");
    assert_eq!(
        error(Members { algorithm: Algorithm::Chain, ..ring.clone() }),
        "chain does no all_gather: expected one of ring, recursive_doubling, bruck, direct"
    );
    assert_eq!(error(Members { root: 6, ..ring.clone() }), "root 6: expected a member below 6");
    let groups = vec![vec![0, 1], vec![2, 3, 4, 5]];
    let hierarchical =
        Members { collective: Collective::AllReduce, algorithm: Algorithm::Hierarchical, groups, ..ring };
    assert_eq!(error(hierarchical), "groups of equal sizes are expected, not of 2, 4");
}
