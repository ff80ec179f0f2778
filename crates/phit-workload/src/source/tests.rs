use super::*;
use crate::generated::Generated;
use crate::host::HostParams;
use crate::network::Ideal;
use crate::plan::{Executable, Plan, StoredPlan};
use crate::program::{Action, Program};
use crate::run::{Finish, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn read(value: Value) -> SourceKind {
    serde_json::from_value(value).unwrap()
}

fn made(value: Value, ranks: Option<u32>) -> Result<Scripts, String> {
    scripts(read(value).source(), ranks, &[], 7).map_err(|error| error.to_string())
}

const HOST: HostParams = HostParams { overhead: 3, gap: 2, gap_per_byte: 1, overhead_per_byte: 0, eager: u64::MAX };

fn stored(scripts: &Scripts, params: HostParams, latency: u64) -> Finish {
    run(Box::new(StoredPlan::new(Arc::new(scripts.store()))), params, Ideal(|_, _| latency))
}

/// Runs it stored and generated, with and without rendezvous: all runs reach their end, at equal times.
fn finish(scripts: &Scripts, params: HostParams, latency: u64) -> Finish {
    for eager in [0, u64::MAX] {
        let params = HostParams { eager, ..params };
        let kept = stored(scripts, params, latency);
        let made = run(Box::new(Generated::new(scripts.clone())), params, Ideal(|_, _| latency));
        assert!(kept.left.is_empty() && made.left.is_empty(), "{:?} {:?}", kept.left, made.left);
        assert_eq!(kept.ranks, made.ranks, "eager {eager}");
    }
    stored(scripts, params, latency)
}

/// Messages by source, destination and tag: equally many bytes are sent and received, and the sizes of each message
/// agree.
fn sent(program: &Program) -> BTreeMap<(u32, u32), u64> {
    let mut messages: BTreeMap<(u32, u32, u32), [Vec<u64>; 2]> = BTreeMap::new();
    for rank in 0..program.ranks() {
        for operation in program.of(rank) {
            match operation.action {
                Action::Calc(_) => {}
                Action::Send(t) => messages.entry((rank, t.peer, t.tag)).or_default()[0].push(t.bytes),
                Action::Recv(t) => messages.entry((t.peer, rank, t.tag)).or_default()[1].push(t.bytes),
            }
        }
    }
    let mut sums = BTreeMap::new();
    for ((source, destination, tag), [mut sent, mut received]) in messages {
        sent.sort_unstable();
        received.sort_unstable();
        assert_eq!(sent, received, "{source} to {destination}, tag {tag}");
        *sums.entry((source, destination)).or_default() += sent.iter().sum::<u64>();
    }
    sums
}

/// Knowledge about sizes without checking messages agrees with the messages.
#[test]
fn sizes_are_those_of_the_messages() {
    let mut known = 0;
    let mut look = |document: Value| {
        let scripts = Arc::new(made(document.clone(), Some(12)).unwrap());
        let stored = scripts.store();
        let sizes: BTreeSet<u64> = (0..12)
            .flat_map(|rank| stored.of(rank))
            .filter_map(|operation| match operation.action {
                Action::Send(transfer) => Some(transfer.bytes),
                _ => None,
            })
            .collect();
        for unit in [64, 48, 5] {
            let fits = |bytes: u64| bytes > 0 && bytes.is_multiple_of(unit);
            let expected = sizes.iter().all(|bytes| fits(*bytes));
            assert_eq!(stored.every_size(&fits), expected, "{document}, {unit}");
            assert_eq!(scripts.every_size(&fits), expected, "{document}, {unit}");
            known += u32::from(expected && !sizes.is_empty());
        }
    };
    for bytes in [0, 48, 64, 65, 12 * 64, 12 * 64 + 1, 12 * 5] {
        for (collective, algorithms) in [
            ("all_reduce", &["ring", "recursive_doubling", "direct", "binomial"][..]),
            ("all_gather", &["ring", "pairwise", "bruck"]),
            ("reduce_scatter", &["ring", "pairwise", "direct"]),
            ("all_to_all", &["pairwise", "direct", "bruck", "ring"]),
        ] {
            for algorithm in algorithms {
                let document = json!({
                    "kind": "collective", "collective": collective, "algorithm": algorithm, "bytes": bytes, "times": 2,
                });
                look(document.clone());
                look(json!({ "kind": "sequence", "steps": [document, { "kind": "permutation", "bytes": 128 }] }));
            }
        }
        look(json!({ "kind": "collective", "collective": "all_to_all", "bytes": bytes, "skew": 1 }));
        look(json!({ "kind": "collective", "collective": "all_reduce", "bytes": bytes, "chunks": 3 }));
        look(json!({ "kind": "halo", "dims": [4, 3], "bytes": [bytes, 64] }));
    }
    assert!(known > 50, "{known}");
}

/// For a program with too many messages to check, only the algorithm's knowledge remains.
#[test]
fn a_long_program_is_not_looked_through() {
    let whole = |bytes: u64| bytes == 64;
    let of = |algorithm| {
        let document = json!({ "kind": "collective", "collective": "all_to_all", "algorithm": algorithm, "bytes": 64 });
        made(document, Some(4096)).unwrap().every_size(&whole)
    };
    assert!(of("pairwise") && of("direct") && !of("ring"));
}

#[test]
fn a_halo_goes_to_the_neighbours_in_all_dimensions() {
    let halo = made(json!({ "kind": "halo", "dims": [4, 3, 2], "bytes": [10, 20, 30], "times": 2 }), None).unwrap();
    let found = sent(&halo.store());
    for rank in 0..24u32 {
        let at = [rank % 4, rank / 4 % 3, rank / 12];
        let mut expected = BTreeMap::new();
        for other in 0..24u32 {
            let to = [other % 4, other / 4 % 3, other / 12];
            let apart: Vec<usize> = (0..3).filter(|&dim| at[dim] != to[dim]).collect();
            if let [dim] = apart[..]
                && at[dim].abs_diff(to[dim]) == 1
            {
                expected.insert((rank, other), 2 * [10, 20, 30][dim]);
            }
        }
        let own: BTreeMap<_, _> = found.range((rank, 0)..(rank + 1, 0)).map(|(pair, sum)| (*pair, *sum)).collect();
        assert_eq!(own, expected);
    }
    finish(&halo, HOST, 50);
    // Two ranks are each other's neighbours on both sides; one rank has none.
    let ring =
        made(json!({ "kind": "halo", "dims": [2, 1], "periodic": true, "bytes": [8], "calc": 9 }), None).unwrap();
    assert_eq!(sent(&ring.store()), [((0, 1), 16), ((1, 0), 16)].into());
    assert!(finish(&ring, HOST, 50).completion() > 59);
}

/// The last rank begins after as many calculations as its distance from the corner: the formula of Hoisie et al.
#[test]
fn a_sweep_takes_as_many_steps_as_planes_and_ranks_across() {
    let free = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
    for (dims, planes) in [(vec![4, 3], 5), (vec![7], 2), (vec![2, 3, 4], 6)] {
        let across: u64 = dims.iter().map(|dim| dim - 1).sum();
        let document = json!({ "kind": "sweep", "dims": dims, "planes": planes, "bytes": [64], "calc": 100 });
        let sweep = made(document, None).unwrap();
        assert_eq!(finish(&sweep, free, 7).completion(), (across + planes) * 100 + across * 7);
        // Waves from opposite corners follow one another without a gap at the corner where one ends.
        let document =
            json!({ "kind": "sweep", "dims": dims, "planes": planes, "bytes": [64], "calc": 100, "corners": 2 });
        let both = made(document, None).unwrap();
        assert!(finish(&both, free, 0).completion() >= (across + 2 * planes) * 100);
        sent(&both.store());
    }
}

#[test]
fn a_transform_exchanges_in_rows_and_in_columns() {
    let fft = made(json!({ "kind": "fft", "rows": 3, "columns": 4, "bytes": 1200, "calc": 10 }), None).unwrap();
    let found = sent(&fft.store());
    for ((source, destination), bytes) in &found {
        let in_row = source / 4 == destination / 4;
        assert!(in_row || source % 4 == destination % 4);
        assert_eq!(*bytes, if in_row { 300 } else { 400 });
    }
    assert_eq!(found.len(), 12 * (3 + 2));
    finish(&fft, HOST, 50);
    let inverse = json!({ "kind": "fft", "rows": 3, "columns": 4, "bytes": 1200, "inverse": true });
    assert_eq!(sent(&made(inverse, None).unwrap().store()).values().sum::<u64>(), 2 * found.values().sum::<u64>());
}

#[test]
fn an_incast_comes_from_as_many_as_asked_for() {
    let incast = json!({ "kind": "incast", "root": 2, "sources": 3, "bytes": 100, "messages": 2, "ranks": 6 });
    let incast = made(incast, None).unwrap();
    assert_eq!(sent(&incast.store()), [((0, 2), 200), ((1, 2), 200), ((3, 2), 200)].into());
    // Six messages arrive at one rank, one after another.
    let finish = finish(&incast, HostParams { overhead: 0, gap: 0, gap_per_byte: 5, ..HOST }, 40);
    assert_eq!(finish.completion(), 40 + 6 * 99 * 5);
}

#[test]
fn a_permutation_sends_to_each_once() {
    for order in ["random", "shift", "reverse"] {
        for ranks in [1, 2, 7, 64] {
            let made =
                made(json!({ "kind": "permutation", "order": order, "by": 3, "bytes": 8 }), Some(ranks)).unwrap();
            let mut to: Vec<u32> = sent(&made.store()).into_keys().map(|(_, destination)| destination).collect();
            let count = to.len();
            to.sort_unstable();
            to.dedup();
            assert_eq!(to.len(), count);
            assert!(count + 9 >= ranks as usize, "{order}: {count} of {ranks}");
        }
    }
}

/// A pipeline fills and drains: (micro-batches + stages - 1) times a forward and a backward pass, by either schedule
/// (Narayanan et al., SC 2021, section 2.2).
#[test]
fn a_pipeline_has_the_bubble_of_its_stages() {
    let free = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
    for schedule in ["1f1b", "gpipe"] {
        for (stages, batches) in [(1, 1), (1, 5), (4, 1), (4, 3), (4, 9), (3, 3)] {
            let document = json!({
                "kind": "training", "pipeline": stages, "layers": 2 * stages, "micro_batches": batches,
                "schedule": schedule, "forward": 101, "activation_bytes": 1, "optimizer": 13,
            });
            let step = made(document, None).unwrap();
            let time = finish(&step, free, 0).completion();
            assert_eq!(time, (batches + stages - 1) * 2 * 3 * 101 + 13, "{schedule}, {stages} stages");
            let found = sent(&step.store());
            assert!(found.iter().all(|((from, to), bytes)| from.abs_diff(*to) == 1 && *bytes == batches));
            assert_eq!(found.len() as u64, 2 * (stages - 1));
        }
    }
}

#[test]
fn a_training_step_sends_what_its_dimensions_say() {
    let document = json!({
        "kind": "training", "data": 2, "tensor": 2, "pipeline": 2, "expert": 3, "layers": 4, "micro_batches": 3,
        "forward": 50, "activation_bytes": 1000, "routed_bytes": 300, "gradient_bytes": 6000,
        "expert_gradient_bytes": 400, "data_algorithm": "ring", "optimizer": 5,
    });
    let step = made(document.clone(), None).unwrap();
    assert_eq!(step.ranks, 24);
    let found = sent(&step.store());
    let place = |rank: u32| [rank % 2, rank / 2 % 3, rank / 6 % 2, rank / 12];
    let (layers, batches) = (2, 3);
    let mut sums = BTreeMap::new();
    for ((source, destination), bytes) in &found {
        let (from, to) = (place(*source), place(*destination));
        let apart: Vec<usize> = (0..4).filter(|&dim| from[dim] != to[dim]).collect();
        assert!(matches!(apart[..], [_] | [1, 2]), "{from:?} {to:?}");
        *sums.entry(apart).or_insert(0) += bytes;
    }
    // Stages: every micro-batch goes forward and back.
    assert_eq!(sums[&vec![3]], 12 * 2 * batches * 1000);
    // Tensor: 4 all-reduces for each layer and micro-batch, of 2(p - 1)/p bytes each.
    assert_eq!(sums[&vec![0]], 24 * layers * batches * 4 * 1000);
    // All others: all-to-alls among 3, with 100 bytes for each other rank; gradients over 6, and gradients of experts
    // over 2.
    let exchanged = 24 * layers * batches * 4 * 200;
    let gradients = 4 * layers * 2 * 5 * 6000 + 12 * layers * 2 * 400;
    let others: u64 = sums.iter().filter(|(apart, _)| !matches!(apart[..], [0] | [3])).map(|(_, sum)| *sum).sum();
    assert_eq!(others, exchanged + gradients);
    finish(&step, HOST, 50);
    // Sharded, equally many bytes are sent: a reduce-scatter and an all-gather equal an all-reduce.
    let mut sharded = document.clone();
    sharded["sharded"] = true.into();
    let sharded = made(sharded, None).unwrap();
    assert_eq!(sent(&sharded.store()).values().sum::<u64>(), found.values().sum::<u64>());
    finish(&sharded, HOST, 50);
    // Overlap saves time: half of the gradients are summed while the first layers go back, 10,000 units.
    let time = |overlap: bool| {
        let mut long = document.clone();
        (long["forward"], long["overlap"]) = (20_000.into(), overlap.into());
        finish(&made(long, None).unwrap(), HOST, 50).completion()
    };
    assert!(time(false) > time(true) + 5_000);
}

/// Hosts and a network without any cost but a latency.
const FREE: HostParams = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };

fn merged(document: &Value, more: Value) -> Value {
    let mut all = document.clone();
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

fn all_sent(document: Value) -> u64 {
    sent(&made(document, None).unwrap().store()).values().sum()
}

/// Rajbhandari et al. (SC 2020), section 7: with parameters of G bytes, stages 0 to 2 send 2 G in a step and stage 3
/// sends 3 G, here times (n - 1)/n for n ranks. With several micro-batches, stage 2 sums gradients after each of them,
/// and stage 3 gathers parameters twice in each.
#[test]
fn stages_of_zero_send_what_their_paper_says() {
    let (ranks, bytes) = (4, 6000);
    let document = json!({ "kind": "training", "data": ranks, "layers": 2, "forward": 100, "gradient_bytes": bytes });
    let once = 2 * (ranks - 1) * bytes;
    for batches in [1, 3] {
        for (zero, expected) in [(0, 2), (1, 2), (2, batches + 1), (3, 3 * batches)] {
            let document = merged(&document, json!({ "zero": zero, "micro_batches": batches }));
            assert_eq!(all_sent(document.clone()), expected * once, "stage {zero}, {batches} micro-batches");
            finish(&made(document, None).unwrap(), HOST, 50);
        }
    }
    let sharded = made(merged(&document, json!({ "sharded": true })), None).unwrap();
    let first = made(merged(&document, json!({ "zero": 1 })), None).unwrap();
    assert_eq!(sharded.store(), first.store());
}

/// In stage 3, parameters of a layer are gathered while the layer before calculates: only the first gathering and the
/// last sum take time of their own.
#[test]
fn gathered_parameters_come_during_the_layer_before() {
    let document = json!({
        "kind": "training", "data": 2, "layers": 4, "micro_batches": 3, "forward": 100, "gradient_bytes": 64,
        "zero": 3, "optimizer": 7,
    });
    let time = |latency| finish(&made(document.clone(), None).unwrap(), FREE, latency).completion();
    assert_eq!(time(10), 10 + 3 * 4 * (100 + 200) + 10 + 7);
    // A gathering that takes longer than a layer holds it up: two layers begin with their gathering, in each pass, as
    // the one of a layer begins with the layer before.
    assert!(time(150) > 150 + 3 * 4 * (100 + 200) + 150 + 7);
}

/// Gradients of layers fill buckets in the order of the backward pass: the bytes stay, and messages follow the number
/// of buckets.
#[test]
fn buckets_hold_the_gradients_of_several_layers_or_of_a_part() {
    let (ranks, layers, bytes) = (4, 6, 6000u64);
    let document =
        json!({ "kind": "training", "data": ranks, "layers": layers, "forward": 100, "gradient_bytes": bytes });
    let messages = |document: Value| {
        let program = made(document, None).unwrap().store();
        let all = (0..ranks).flat_map(|rank| program.of(rank).collect::<Vec<_>>());
        all.filter(|operation| matches!(operation.action, Action::Send(_))).count() as u64
    };
    for (bucket, expected) in [(1, 36_000), (2000, 18), (5999, 7), (6000, 6), (12_000, 3), (15_000, 3), (1 << 40, 1)] {
        let document = merged(&document, json!({ "bucket_bytes": bucket }));
        let small = bucket < u64::from(ranks);
        if !small {
            assert_eq!(messages(document.clone()), expected * u64::from(2 * (ranks - 1) * ranks), "{bucket}");
        }
        if bucket >= 2000 {
            assert_eq!(all_sent(document.clone()), u64::from(2 * (ranks - 1) * layers) * bytes);
            finish(&made(document, None).unwrap(), HOST, 50);
        }
    }
    // One bucket waits for the last layer of the backward pass; two are summed from the middle on.
    let time = |bucket: u64| {
        let document = merged(&document, json!({ "bucket_bytes": bucket }));
        finish(&made(document, None).unwrap(), FREE, 20).completion()
    };
    let calculated = 6 * 300;
    assert_eq!(time(36_000), calculated + 6 * 20);
    assert_eq!(time(18_000), calculated + 6 * 20);
    assert_eq!(time(6000), calculated + 6 * 20);
}

/// An all-gather and a reduce-scatter send the bytes of an all-reduce, and stages send a part.
#[test]
fn a_divided_sequence_sends_as_much_in_a_layer_and_less_between_stages() {
    let document = json!({
        "kind": "training", "tensor": 4, "pipeline": 2, "layers": 4, "micro_batches": 3, "forward": 100,
        "activation_bytes": 4000,
    });
    let of = |divided: bool| {
        let document = merged(&document, json!({ "sequence_parallel": divided }));
        let scripts = made(document, None).unwrap();
        finish(&scripts, HOST, 50);
        let found = sent(&scripts.store());
        let stages: u64 = found.iter().filter(|((from, to), _)| from / 4 != to / 4).map(|(_, bytes)| bytes).sum();
        (found.values().sum::<u64>() - stages, stages)
    };
    let (whole, parts) = (of(false), of(true));
    assert_eq!(whole, (2 * 2 * 2 * 4 * 3 * 3 * 4000, 2 * 4 * 3 * 4000));
    assert_eq!(parts, (whole.0, whole.1 / 4));
}

/// Rounds merge the messages of steps: the bytes between two ranks stay, and each round has one latency.
#[test]
fn rounds_merge_the_messages_of_a_ring() {
    for (collective, phases) in [("all_reduce", 2), ("reduce_scatter", 1), ("all_gather", 1)] {
        let bytes = if collective == "all_gather" { 120 } else { 965 };
        let document =
            json!({ "kind": "collective", "collective": collective, "algorithm": "ring", "bytes": bytes, "ranks": 8 });
        let steps = made(document.clone(), None).unwrap();
        for rounds in [1, 2, 3, 7, 100] {
            let merged = made(merged(&document, json!({ "rounds": rounds })), None).unwrap();
            assert_eq!(sent(&merged.store()), sent(&steps.store()), "{collective}, {rounds} rounds");
            let messages = merged.store().of(0).filter(|o| matches!(o.action, Action::Send(_))).count();
            assert_eq!(messages as u64, phases * rounds.min(7));
            finish(&merged, HOST, 50);
            assert_eq!(finish(&merged, FREE, 50).completion(), phases * rounds.min(7) * 50);
        }
    }
    let error = |more: Value| {
        let document = json!({ "kind": "collective", "collective": "all_reduce", "bytes": 8, "ranks": 4 });
        made(super::tests::merged(&document, more), None).unwrap_err()
    };
    assert_eq!(error(json!({ "rounds": 0 })), "rounds = 0: expected 1 or more");
    assert_eq!(
        error(json!({ "rounds": 2, "algorithm": "direct" })),
        "rounds = 2: only rings of sums or blocks have rounds, and this is all_reduce by direct"
    );
    let document = json!({
        "kind": "training", "data": 8, "tensor": 4, "layers": 2, "forward": 100, "activation_bytes": 960,
        "gradient_bytes": 9600, "tensor_algorithm": "direct",
    });
    let few = merged(&document, json!({ "rounds": 2 }));
    assert_eq!(all_sent(few.clone()), all_sent(document));
    finish(&made(few, None).unwrap(), HOST, 50);
}

/// Gradients over groups of g ranks: 2(g - 1)/g of the bytes inside a group, and 2(k - 1)/k of a g-th across k groups,
/// between the ranks at one place.
#[test]
fn sums_by_groups_go_across_at_one_place() {
    let document = json!({
        "kind": "training", "data": 12, "layers": 1, "forward": 100, "gradient_bytes": 12_000,
        "data_algorithm": "hierarchical", "data_group": 4,
    });
    let scripts = made(document.clone(), None).unwrap();
    finish(&scripts, HOST, 50);
    let found = sent(&scripts.store());
    let (inside, across): (Vec<_>, Vec<_>) = found.iter().partition(|((from, to), _)| from / 4 == to / 4);
    assert!(across.iter().all(|((from, to), _)| from % 4 == to % 4));
    let sum = |all: &[(&(u32, u32), &u64)]| all.iter().map(|(_, bytes)| **bytes).sum::<u64>();
    assert_eq!(sum(&inside), 12 * 2 * 3 * 3000);
    assert_eq!(sum(&across), 12 * 2 * 2 * 1000);
    let error = made(merged(&document, json!({ "data_group": 5 })), None).unwrap_err();
    assert_eq!(error, "data_group = [5]: expected sizes of groups that make up 12 members, each 1 or more");
    let error = made(merged(&document, json!({ "data_group": null })), None).unwrap_err();
    assert_eq!(error, "data_group: data_algorithm = hierarchical needs the number of ranks of a group");
    let error = made(merged(&document, json!({ "data_algorithm": "pairwise" })), None).unwrap_err();
    assert!(error.starts_with("data_algorithm = pairwise: does no all_reduce"), "{error}");
}

/// Tokens that go to experts come back to their ranks, and with `expert_load` the busiest expert's time counts.
#[test]
fn experts_get_their_shares_and_send_them_back() {
    let document = json!({
        "kind": "training", "expert": 4, "layers": 2, "micro_batches": 2, "forward": 100, "routed_bytes": 4000,
    });
    let of = |more: Value| {
        let scripts = made(merged(&document, more), None).unwrap();
        finish(&scripts, HOST, 50);
        sent(&scripts.store())
    };
    // Layers 0 and 1 prefer experts 0 and 3. Each way is taken twice in a layer and micro-batch.
    let found = of(json!({ "expert_shares": [[70, 10, 10, 10], [0, 1, 1, 2]] }));
    for (&(from, to), &bytes) in &found {
        let share = |rank: u32| [2800, 400, 400, 400][rank as usize] + [0, 1000, 1000, 2000][rank as usize];
        assert_eq!(bytes, 2 * 2 * (share(to) + share(from)), "{from} to {to}");
    }
    for more in [json!({ "drawn_tokens": 100 }), json!({ "drawn_tokens": 1000, "skew": 1.2 })] {
        let found = of(more.clone());
        // What goes there comes back, and a rank's own tokens stay.
        for (&(from, to), &bytes) in &found {
            assert_eq!(found.get(&(to, from)), Some(&bytes));
        }
        assert!(found.values().sum::<u64>() < 4 * 2 * 2 * 4 * 4000);
        assert_eq!(found, of(more), "the seed decides");
    }
    // Half of the time of a layer is that of experts: the busiest has 1.6 of the mean, forward and backward.
    let time = |load: bool| {
        let more = json!({ "expert_shares": [[4, 2, 2, 2]], "expert_load": load });
        finish(&made(merged(&document, more), None).unwrap(), FREE, 0).completion()
    };
    assert_eq!((time(false), time(true)), (2 * 2 * 300, 2 * 2 * 390));
}

/// Sizes of Llama 3 70B on 4 x 2 x 2 ranks, and times on an H100: those of the operations that Narayanan et al. count
/// (SC 2021, appendix), here for its own matrices.
#[test]
fn a_model_gives_sizes_and_times() {
    let document = json!({
        "kind": "training", "data": 2, "tensor": 4, "pipeline": 2, "micro_batches": 3,
        "model": { "name": "llama3_70b" }, "accelerator": { "name": "h100", "efficiency": 0.5 },
    });
    let scripts = made(document.clone(), None).unwrap();
    let found = sent(&scripts.store());
    let by = |wanted: &dyn Fn(u32, u32) -> bool| {
        found.iter().filter(|((from, to), _)| wanted(*from, *to)).map(|(_, bytes)| bytes).sum::<u64>()
    };
    let activation = 8192 * 8192 * 2;
    assert_eq!(by(&|from, to| from / 8 != to / 8), 2 * 8 * 3 * activation);
    // Four all-reduces in each of 80 layers and 3 micro-batches, in 2 copies.
    assert_eq!(by(&|from, to| from / 4 == to / 4), 2 * 80 * 3 * 4 * 2 * 3 * activation);
    // Gradients: two bytes of each parameter, once around a ring of two. A rank's share is rounded up.
    let gradients = by(&|from, to| from / 8 == to / 8 && from / 4 != to / 4);
    let parameters = 2 * 2 * 70_553_706_496u64;
    assert!(gradients >= parameters && gradients < parameters + 2 * 16 * 82, "{gradients}");
    // Half of the peak: operations of a layer's forward pass and twice as many back, in 3 + 1 slots of 40 layers.
    let tokens = 8192.0;
    let operations = 2.0 * 855_638_016.0 + 4.0 * tokens * 8192.0;
    let nanoseconds = operations * tokens / 4.0 / (989.4e3 / 2.0);
    let time = finish(&scripts, FREE, 0).completion() as f64;
    let expected = 4.0 * 40.0 * 3.0 * nanoseconds;
    assert!((time / expected - 1.0).abs() < 1e-6, "{time} {expected}");
    // A key takes precedence.
    let own = json!({ "activation_bytes": 0, "gradient_bytes": 0 });
    assert_eq!(all_sent(merged(&document, own)), 0);
    let error = |more: Value| made(merged(&document, more), None).unwrap_err();
    assert_eq!(error(json!({ "pipeline": 3 })), "layers = 80: expected a multiple of pipeline = 3");
    assert_eq!(error(json!({ "expert": 2 })), "expert = 2: expected a divisor of the model's experts, 0");
    assert_eq!(error(json!({ "accelerator": null })), "forward: required without `model` and `accelerator`");
    assert_eq!(
        error(json!({ "model": null, "layers": 2 })),
        "accelerator: its times are those of a model; expected `model` as well"
    );
    assert_eq!(error(json!({ "zero": 4 })), "zero = 4: expected 0 to 3");
    assert_eq!(error(json!({ "zero": 3, "sharded": true })), "sharded = true: is zero = 1, and zero = 3 is given");
    assert_eq!(error(json!({ "bucket_bytes": 0 })), "bucket_bytes = 0: expected 1 or more");
    assert_eq!(
        error(json!({ "expert_shares": [[1, 1]] })),
        "expert_shares = a list of 2 numbers for layer 0: expected one for each of expert = 1 ranks"
    );
}

/// Mixtral's experts: each rank has its share of their parameters, and sends its tokens to two experts each.
#[test]
fn a_mixture_of_experts_has_their_sizes() {
    let document = json!({
        "kind": "training", "data": 2, "expert": 4, "model": { "name": "mixtral_8x7b", "layers": 2, "sequence": 1024 },
        "accelerator": { "name": "h100" }, "tensor_algorithm": "ring",
    });
    let found = sent(&made(document, None).unwrap().store());
    let exchanged = found.get(&(0, 1)).copied().unwrap_or(0);
    assert!(exchanged > 0);
    let total: u64 = found.values().sum();
    // Tokens: 4 all-to-alls in a layer, 3/4 of 1024 x 2 tokens of 8192 bytes.
    let tokens = 8 * 2 * 4 * 1024 * 2 * 8192 * 3 / 4;
    // Dense gradients over 8 ranks, gradients of two experts over 2: 2 (n - 1) times the bytes in each ring.
    let model = crate::model::Name::Mixtral.model();
    let dense = 2 * (2 * model.dense_layer() + model.embedding() + model.output());
    let experts = 4 * 2 * 2 * model.expert_layer() / 4;
    assert_eq!(total, tokens + 2 * 7 * dense + 2 * experts);
}

#[test]
fn steps_of_a_sequence_follow_one_another() {
    let all_reduce = json!({ "kind": "collective", "collective": "all_reduce", "bytes": 640 });
    let free = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
    let time = |document: Value| finish(&made(document, Some(8)).unwrap(), free, 10).completion();
    let one = time(all_reduce.clone());
    assert_eq!(one, 140);
    let steps = json!([{ "kind": "calc", "time": 25 }, all_reduce, { "kind": "halo", "dims": [2, 2], "bytes": [1] }]);
    assert_eq!(time(json!({ "kind": "sequence", "steps": steps, "times": 3 })), 3 * (25 + one + 10));
    // Separate communicators, at the same time.
    let halves = json!({ "kind": "collective", "collective": "all_reduce", "bytes": 640,
        "communicators": [[0, 2, 4, 6], [7, 5, 3, 1]] });
    assert_eq!(time(halves.clone()), 60);
    assert!(sent(&made(halves, Some(8)).unwrap().store()).keys().all(|(from, to)| from % 2 == to % 2));
}

#[test]
fn delays_stand_before_and_after_each_step() {
    let document = |more: Value| {
        let mut all = json!({ "kind": "collective", "collective": "all_gather", "bytes": 1, "delay": 7 });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let free = HostParams { overhead: 0, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: u64::MAX };
    let time = |document: Value| finish(&made(document, Some(4)).unwrap(), free, 10).completion();
    assert_eq!(time(document(json!({}))), 3 * 10 + 4 * 7);
    assert_eq!(time(document(json!({ "algorithm": "direct" }))), 10 + 2 * 7);
    assert_eq!(time(document(json!({ "times": 3, "calc": 5 }))), 3 * (5 + 3 * 10 + 4 * 7));
}

#[test]
fn what_cannot_be_made_is_named() {
    let error = |document: Value, ranks| made(document, ranks).unwrap_err();
    let collective = |more: Value| {
        let mut all = json!({ "kind": "collective", "collective": "all_to_all", "bytes": 1 });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    assert_eq!(error(collective(json!({})), None), "ranks: a number of ranks is required");
    assert_eq!(error(collective(json!({})), Some(0)), "ranks = 0: expected 1 rank or more");
    assert_eq!(error(collective(json!({ "ranks": 9 })), Some(8)), "has 9 ranks, expected at most 8");
    let matrix = |rows: Value| collective(json!({ "matrix": rows }));
    assert_eq!(
        error(matrix(json!([[0, 1], [1]])), Some(2)),
        "matrix = a row of 1: expected 2 columns in each row of the matrix"
    );
    assert_eq!(error(matrix(json!([[0, 1]])), Some(2)), "a matrix of 2 rows and columns is expected");
    assert_eq!(error(collective(json!({ "skew": -1.0 })), Some(2)), "skew = -1: expected 0 or more");
    assert_eq!(
        error(collective(json!({ "communicators": [[0, 1], [1, 2]] })), Some(4)),
        "communicators = [[..., 1, ...]]: expected each rank once at most"
    );
    assert_eq!(
        error(collective(json!({ "communicators": [[0, 4]] })), Some(4)),
        "communicators = [[..., 4, ...]]: expected a rank below 4"
    );
    assert_eq!(
        error(json!({ "kind": "halo", "dims": [2, 0], "bytes": [1] }), None),
        "ranks = 0: expected 1 rank or more"
    );
    assert_eq!(
        error(json!({ "kind": "halo", "dims": [2, 2], "bytes": [1, 2, 3] }), None),
        "bytes = [1, 2, 3]: expected one number, or one for each of the 2 dimensions"
    );
    assert_eq!(
        error(json!({ "kind": "sweep", "dims": [2, 2], "bytes": [1], "corners": 5 }), None),
        "corners = 5: expected 1 to 4"
    );
    assert_eq!(
        error(json!({ "kind": "training", "layers": 3, "pipeline": 2, "forward": 1 }), None),
        "layers = 3: expected a multiple of pipeline = 2"
    );
    let steps = json!([{ "kind": "calc", "time": 1 }, collective(json!({ "chunks": 0 }))]);
    assert_eq!(
        error(json!({ "kind": "sequence", "steps": steps }), Some(2)),
        "steps[1].chunks = 0: expected 1 or more"
    );
    let unknown = serde_json::from_value::<SourceKind>(json!({ "kind": "calc", "time": 1, "tme": 2 }));
    assert!(unknown.unwrap_err().to_string().contains("unknown field `tme`"));
    for (_, schema) in SourceKind::schemas() {
        assert!(schema.get("description").is_some());
    }
}

/// For any number of ranks, each holds only its present activity.
#[test]
fn an_all_to_all_of_16512_ranks_is_not_stored() {
    for more in [json!({}), json!({ "algorithm": "bruck" }), json!({ "algorithm": "direct", "window": 8, "skew": 1.0 })]
    {
        let mut document = json!({ "kind": "collective", "collective": "all_to_all", "bytes": 4096 });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut plan = Generated::new(made(document, Some(16_512)).unwrap());
        let mut released = vec![];
        (0..16_512).for_each(|rank| plan.begin(rank, &mut released));
        assert!(released.len() >= 2 * 16_512);
        assert!(plan.bytes() < 4096 * 16_512, "{}", plan.bytes());
    }
}

fn any_source() -> impl Strategy<Value = Value> {
    let collective = (0..9usize, 0..7usize, 0..3000u64, 1..5u32, 0..3u32, 1..4u32).prop_map(
        |(collective, algorithm, bytes, chunks, at_once, segments)| {
            let collective = crate::collective::Collective::all().nth(collective).unwrap();
            let algorithms = collective.algorithms();
            let algorithm = algorithms[algorithm % algorithms.len()].name();
            json!({ "kind": "collective", "collective": collective.name(), "algorithm": algorithm, "bytes": bytes,
                "chunks": chunks, "at_once": at_once, "segments": segments, "groups": [2], "combine": 0.5, "delay": 3 })
        },
    );
    let places = (1..3u32, 1..3u32, 1..4u32, 1..3u32);
    let training = (places, 1..5u32, 0..4u8, prop::option::of(20..200u64), any::<[bool; 5]>()).prop_map(
        |((data, tensor, pipeline, expert), batches, zero, bucket, [gpipe, divided, overlap, drawn, load])| {
            let tokens = if drawn { Some(9) } else { None };
            json!({ "kind": "training", "data": data, "tensor": tensor, "pipeline": pipeline, "expert": expert,
                "layers": 2 * pipeline, "micro_batches": batches, "schedule": if gpipe { "gpipe" } else { "1f1b" },
                "forward": 40, "activation_bytes": 30, "routed_bytes": 50, "skew": 0.7, "gradient_bytes": 99,
                "expert_gradient_bytes": 11, "zero": zero, "bucket_bytes": bucket, "overlap": overlap,
                "sequence_parallel": divided, "drawn_tokens": tokens, "expert_load": load, "times": 2 })
        },
    );
    let halo = (prop::collection::vec(1..4u32, 1..4), any::<bool>()).prop_map(|(dims, periodic)| {
        json!({ "kind": "halo", "dims": dims, "periodic": periodic, "bytes": [17], "calc": 4, "times": 3 })
    });
    prop_oneof![3 => collective, 2 => training, 1 => halo]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every composition reaches its end, stored or not, at equal times, and loses no byte.
    #[test]
    fn stored_and_generated_are_the_same(steps in prop::collection::vec(any_source(), 1..3), ranks in 1..10u32) {
        let document = json!({ "kind": "sequence", "steps": steps });
        let steps = read(document.clone());
        let SourceKind::Sequence(sequence) = &steps else { unreachable!() };
        let implied = sequence.steps.iter().filter_map(|step| step.source().ranks()).max().unwrap_or(0);
        let ranks = Some(ranks.max(implied));
        if let Ok(scripts) = scripts(steps.source(), ranks, &[], 1) {
            finish(&scripts, HOST, 25);
            sent(&scripts.store());
        }
    }
}
