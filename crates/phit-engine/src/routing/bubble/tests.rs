//! The sets of IDNs against the paper's examples, for every relative position; choices on hand-set queues.

use super::abr::Abr;
use super::choices::Choices;
use super::idn::{Collinear, Idns, Midpoint};
use super::lattice::{HalfWay, Lattice, Offsets, Position, directions, length};
use super::outflank::{Considered, IdnMean, Outflank};
use super::por::Por;
use super::profit::{PackedDirections, PackedSlots, Slots};
use super::{Bubble, Deroute, Derouted};
use crate::engine::{Rng, Stream};
use crate::topology::TopologyKind;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

const DELTA: i32 = 2;

fn idns(lattice: &Lattice) -> Idns {
    Idns { lattice: lattice.clone(), midpoint: Midpoint::ShortArc, collinear: Collinear::BothSides }
}

fn outflanking(idns: &Idns, s: &Position, t: &Position) -> Vec<Position> {
    let mut found = Vec::new();
    idns.outflanking(s, t, &idns.lattice.way(s, t, 0), DELTA, |q| found.push(*q));
    found
}

fn at(coordinates: &[i32]) -> Position {
    let mut position = Position::default();
    position[..coordinates.len()].copy_from_slice(coordinates);
    position
}

/// The position that equations (2) and (3) give for `lambda`, where a minimal link is taken as positive (Example 2):
/// the mirror image for a negative one.
fn by_lambda(lattice: &Lattice, s: &Position, t: &Position, lambda: &[i32]) -> Position {
    let way = lattice.way(s, t, 0);
    let mut q = Position::default();
    for (d, &l) in lambda.iter().enumerate() {
        let k = lattice.side(d);
        let g = i32::from(way[d].signum());
        let x = match (g, l) {
            (0, l) => s[d] + l * DELTA,
            // The middle of the minimal arc, rounded down as the coordinates run.
            (_, 0) => (2 * s[d] + i32::from(way[d])).div_euclid(2),
            // lambda = -1: the link behind is no minimal one, so it is Delta behind the source.
            (g, -1) => s[d] - g * DELTA,
            (g, _) => t[d] + g * DELTA,
        };
        q[d] = x.rem_euclid(k);
    }
    q
}

/// Equations (9) to (14), which are for differing dimensions {1,2,3}, {2,3} and {3}: for others, the dimensions change
/// places.
fn lambdas(differing: &[usize]) -> Vec<Vec<i32>> {
    let equal: Vec<usize> = (0..3).filter(|d| !differing.contains(d)).collect();
    let printed: &[[i32; 3]] = match differing.len() {
        3 => &[[0, -1, 1], [0, 1, -1], [-1, 0, 1], [1, 0, -1], [-1, 1, 0], [1, -1, 0]],
        2 => &[[0, -1, 1], [0, 1, -1], [1, 0, 0], [-1, 0, 0]],
        _ => &[[1, 0, 1], [-1, 0, 0], [0, 1, -1], [0, -1, 0]],
    };
    // The paper's dimensions: the equal ones first, then the differing ones.
    let order: Vec<usize> = equal.into_iter().chain(differing.iter().copied()).collect();
    printed
        .iter()
        .map(|lambda| {
            let mut placed = vec![0; 3];
            order.iter().zip(lambda).for_each(|(d, l)| placed[*d] = *l);
            placed
        })
        .collect()
}

#[test]
fn three_dimensions_are_equations_9_to_14_for_every_relative_position() {
    let lattice = Lattice::new(&[7, 8, 9], true);
    let idns = idns(&lattice);
    let routers = 7 * 8 * 9;
    for from in [0, 100, 311] {
        for to in (0..routers).filter(|to| *to != from) {
            let (s, t) = (lattice.position(from), lattice.position(to));
            let differing: Vec<usize> = (0..3).filter(|d| s[*d] != t[*d]).collect();
            let expected: BTreeSet<Position> =
                lambdas(&differing).iter().map(|lambda| by_lambda(&lattice, &s, &t, lambda)).collect();
            let found: BTreeSet<Position> = outflanking(&idns, &s, &t).into_iter().collect();
            assert_eq!(found, expected, "{from} to {to}");
        }
    }
}

#[test]
fn example_1_in_two_dimensions() {
    let lattice = Lattice::new(&[16, 16], true);
    let idns = idns(&lattice);
    // Both coordinates differ: (x-, y+) and (x+, y-).
    let (s, t) = (at(&[3, 4]), at(&[7, 6]));
    assert_eq!(outflanking(&idns, &s, &t), [at(&[1, 8]), at(&[9, 2])]);
    // Collinear: q0, q1, q4 and q5 of figure 2, which cover all links and have the dilations 4, 2, 2, 4 Delta.
    let t = at(&[7, 4]);
    let found = outflanking(&idns, &s, &t);
    assert_eq!(found, [at(&[1, 6]), at(&[5, 6]), at(&[5, 2]), at(&[9, 2])]);
    let dilation = |q: &Position| lattice.distance(&s, q) + lattice.distance(q, &t) - lattice.distance(&s, &t);
    assert_eq!(found.iter().map(dilation).collect::<Vec<_>>(), [8, 4, 4, 8]);
}

/// Bits of the links that leave `s`, and of those that reach `t`, of all admissible IDNs and the minimal way.
fn links_used(idns: &Idns, s: &Position, t: &Position) -> (u16, u16) {
    let minimal = directions(&idns.lattice.way(s, t, 0));
    let mut used = (minimal, minimal);
    for q in outflanking(idns, s, t) {
        if let Some([first, second]) = idns.admissible(s, &q, t, minimal, 0) {
            used = (used.0 | directions(&first), used.1 | directions(&second));
        }
    }
    used
}

#[test]
fn oidns_cover_all_links_and_keep_the_bound_of_the_dilation_in_any_dimension() {
    for sides in [vec![16, 16], vec![13, 14, 16], vec![12, 12, 12, 12], vec![12, 13, 12, 12, 12]] {
        let lattice = Lattice::new(&sides, true);
        let (idns, n) = (idns(&lattice), sides.len());
        let mut rng = Rng::new(1, Stream::Router, 0);
        let routers: u32 = sides.iter().product();
        for _ in 0..3000 {
            let (s, t) = (lattice.position(rng.below(routers)), lattice.position(rng.below(routers)));
            let way = lattice.way(&s, &t, 0);
            for q in outflanking(&idns, &s, &t) {
                let derouted = lattice.distance(&s, &q) + lattice.distance(&q, &t);
                let dilation = derouted - length(&way);
                assert!(dilation <= 2 * n as u32 * DELTA as u32, "{s:?} {q:?} {t:?}: {dilation}");
            }
            // Where no coordinates are so far apart that IDNs come round the ring (remark 2), every link is used.
            let near = |d: usize| i32::from(way[d].abs()) + 2 * DELTA < lattice.side(d) / 2;
            if way != Offsets::default() && (0..n).all(near) {
                let all = (1u16 << (2 * n)) - 1;
                assert_eq!(links_used(&idns, &s, &t), (all, all), "{s:?} {t:?}");
            }
        }
    }
}

#[test]
fn the_authors_midpoints_exceed_the_bound_by_the_longer_arcs() {
    let lattice = Lattice::new(&[16, 16, 16], true);
    let author = Idns { midpoint: Midpoint::Folded, collinear: Collinear::NegativeSide, ..idns(&lattice) };
    let mut rng = Rng::new(1, Stream::Router, 0);
    let mut most = 0;
    for _ in 0..3000 {
        let (s, t) = (lattice.position(rng.below(4096)), lattice.position(rng.below(4096)));
        let way = lattice.way(&s, &t, 0);
        for q in outflanking(&author, &s, &t) {
            assert!(author.keeps_bound(&s, &q, &t, &way, DELTA), "{s:?} {q:?} {t:?}");
            most = most.max(lattice.distance(&s, &q) + lattice.distance(&q, &t) - length(&way));
        }
    }
    // 2 n Delta = 12. From 0 to 14 in a ring of 16 the folded middle is 7: 14 hops instead of 2.
    assert!(most > 12, "{most}");
    let (s, t) = (at(&[0, 3, 3]), at(&[14, 3, 3]));
    let q = outflanking(&author, &s, &t)[0];
    assert_eq!(q[0], 7);
    let longer = idns(&lattice);
    assert!(!longer.keeps_bound(&s, &at(&[7, 9, 9]), &t, &lattice.way(&s, &t, 0), DELTA));
}

#[test]
fn in_a_mesh_oidns_stay_inside() {
    let lattice = Lattice::new(&[6, 6, 6], false);
    let idns = idns(&lattice);
    let mut some = 0;
    for from in 0..216 {
        for to in 0..216 {
            for q in outflanking(&idns, &lattice.position(from), &lattice.position(to)) {
                assert!((0..3).all(|d| (0..6).contains(&q[d])));
                some += 1;
            }
        }
    }
    assert!(some > 10_000, "{some}");
}

#[test]
fn widns_are_equation_1() {
    let lattice = Lattice::new(&[8, 7], true);
    let idns = idns(&lattice);
    for (from, to) in (0..56).flat_map(|from| (0..56).map(move |to| (from, to))) {
        let (s, t) = (lattice.position(from), lattice.position(to));
        let mut found = BTreeSet::new();
        idns.wrapping(&s, &t, &lattice.way(&s, &t, 0), |q| {
            found.insert(*q);
        });
        let both = |d: usize| [0, 1].map(|beta| ((s[d] + t[d] + beta * lattice.side(d)) / 2) % lattice.side(d));
        let expected: BTreeSet<Position> = both(0).iter().flat_map(|x| both(1).map(|y| at(&[*x, y]))).collect();
        assert_eq!(found, expected, "{s:?} {t:?}");
    }
}

#[test]
fn the_authors_midpoint_is_on_the_long_arc_for_wrapped_pairs_with_a_small_sum() {
    let author =
        Idns { midpoint: Midpoint::Folded, collinear: Collinear::NegativeSide, lattice: Lattice::new(&[8, 8], true) };
    // x = 0 and 5 wrap around 7: half of 5 is 2, on the long arc. x = 3 and 7 do not.
    let (s, t) = (at(&[0, 0]), at(&[5, 0]));
    assert_eq!(outflanking(&author, &s, &t), [at(&[2, 6])]);
    assert_eq!(outflanking(&author, &at(&[7, 0]), &at(&[3, 0])), [at(&[5, 6])]);
}

fn deroute(params: &dyn Bubble, dims: &[u32]) -> Arc<dyn Deroute> {
    let torus = TopologyKind::from_value("", &json!({ "kind": "torus", "dims": dims })).unwrap().build().unwrap();
    params.deroute(&*torus).unwrap()
}

fn plan(deroute: &Arc<dyn Deroute>, from: u32, to: u32, free: [u16; 6]) -> super::Plan {
    let free: Vec<Option<u16>> = free.map(Some).to_vec();
    deroute.plan(from, to, &Slots { free: &free, capacity: 8 }, &mut Rng::new(1, Stream::Router, 0))
}

#[test]
fn outflank_chooses_by_hand_set_queues() {
    let rule = deroute(&Outflank::default(), &[16, 16, 16]);
    // From (0,0,0) to (4,0,0). u* = 1, minimal queue with 6 used: 1/6 + 2. Collinear IDNs: (6,2,0), 12 hops, by x+ and
    // y+ with 6 and 1 used: 1/3.5 + 2 x 4 / 12; (2,14,0), 8 hops, by x+ and y-: 1/3.5 + 1. Minimal is best.
    let congested = plan(&rule, 0, 4, [2, 7, 7, 7, 7, 7]);
    assert_eq!((congested.derouted, congested.via, congested.way[0]), (Derouted::No, None, 4));
    // With eta 0 only queues count. Behind the source, (-2, 0, 2): x- and z+ with 1 used each: 1/1.
    let greedy = deroute(&Outflank { eta: 0.0, ..Outflank::default() }, &[16, 16, 16]);
    let behind = plan(&greedy, 0, 4, [2, 7, 7, 7, 7, 7]);
    assert_eq!((behind.derouted, behind.via), (Derouted::OutFlank, Some(14 + 256 * 2)));
    assert_eq!(behind.way[..3], [-2, 0, 2]);
    // All queues alike: every way is worth the same, and minimal wins the tie.
    assert_eq!(plan(&greedy, 0, 4, [4; 6]).derouted, Derouted::No);
}

#[test]
fn an_outflank_idn_wins_a_tie_with_a_wraparound_idn() {
    // From (0,0,0) to (4,0,0) the OIDN (6,2,0) and the WIDN (2,8,0) are both reached by x+ and y+, with 4 and 1 used:
    // u* = 1, 1 / 2.5, against 1 / 4 for the minimal way.
    let free = [4, 0, 7, 0, 0, 0];
    let rule = |idns| Outflank { eta: 0.0, idns, half_way: HalfWay::Plus, ..Outflank::default() };
    let chosen = plan(&deroute(&rule(Considered::Both), &[16, 16, 16]), 0, 4, free);
    assert_eq!((chosen.derouted, chosen.via), (Derouted::OutFlank, Some(6 + 16 * 2)));
    let wrapped = plan(&deroute(&rule(Considered::Wraparound), &[16, 16, 16]), 0, 4, free);
    assert_eq!((wrapped.derouted, wrapped.via), (Derouted::Wraparound, Some(2 + 16 * 8)));
}

#[test]
fn the_authors_mean_counts_the_second_legs_directions() {
    let own = Outflank { eta: 0.0, idns: Considered::Outflank, ..Outflank::default() };
    let second = Outflank { mean: IdnMean::SecondLeg, ..own.clone() };
    // From (0,0,0) to (4,1,0), u* = 2, minimal 2 / 4. The OIDN is (2,0,2); the midpoint in y is the source's own. x+
    // and z+ lead to it with 12 free slots; x+, y+ and z- lead on. The mean is 6, which gives 2 / 2; or it is 4, which
    // gives 2 / 4, no more than the minimal route's.
    let free = [6, 0, 2, 0, 6, 0];
    let torus = [16, 16, 16];
    assert_eq!(plan(&deroute(&own, &torus), 0, 4 + 16, free).via, Some(2 + 256 * 2));
    assert_eq!(plan(&deroute(&second, &torus), 0, 4 + 16, free).derouted, Derouted::No);
}

#[test]
fn pick_orthant_weighs_ways_round_the_ring() {
    let rule = deroute(&Por { eta: 1.0, ..Por::default() }, &[8, 8, 8]);
    // 3 hops by a queue with 6 used, 5 by one with 1 used, u* = 1: 1/6 + 1 against 1 + 3/5.
    let way = plan(&rule, 0, 3, [2, 7, 0, 0, 0, 0]);
    assert_eq!((way.derouted, way.way[0]), (Derouted::Orthant, -5));
    // 1 hop against 7: 1/6 + 1 against 1 + 1/7: minimal.
    assert_eq!(plan(&rule, 0, 1, [2, 7, 0, 0, 0, 0]).derouted, Derouted::No);
    // Equal profits: minimal.
    let indifferent = deroute(&Por { eta: 0.0, ..Por::default() }, &[8, 8, 8]);
    assert_eq!(plan(&indifferent, 0, 3, [5, 5, 0, 0, 0, 0]).derouted, Derouted::No);
}

#[test]
fn delta_can_be_a_share_of_the_distance() {
    let share = Outflank { delta_share: Some(0.25), ..Outflank::default() };
    let rule = super::outflank::OutFlanking::new(&share, Lattice::new(&[16, 16, 16], true));
    assert_eq!([1, 4, 10, 24].map(|distance| rule.delta(distance)), [1, 1, 3, 6]);
}

#[test]
fn what_was_noted_is_chosen_among_as_if_it_had_just_been_found() {
    let mut rng = Rng::new(7, Stream::Router, 1);
    let author = Outflank {
        half_way: HalfWay::Plus,
        mean: IdnMean::SecondLeg,
        midpoint: Midpoint::Folded,
        collinear: Collinear::NegativeSide,
        ..Outflank::default()
    };
    let rules: [&dyn Bubble; 4] = [
        &Abr { half_way: HalfWay::Plus, ..Abr::default() },
        &Por { half_way: HalfWay::Plus, ..Por::default() },
        &Outflank { half_way: HalfWay::Plus, eta: 0.3, ..Outflank::default() },
        &author,
    ];
    for rule in rules.map(|rule| deroute(rule, &[6, 5, 8])) {
        let mut derouted = 0;
        for _ in 0..2000 {
            let (from, to) = (rng.below(240), rng.below(240));
            if from == to {
                continue;
            }
            let mut choices = Choices::default();
            assert!(rule.note(from, to, &mut choices) && choices.to() == to);
            for _ in 0..3 {
                let free = [0; 6].map(|_| rng.below(9) as u16);
                let used = u64::from_le_bytes(std::array::from_fn(|i| free.get(i).map_or(0, |free| 8 - *free as u8)));
                let slots = PackedSlots::new([used, 0], 8, PackedDirections::new(0b111111));
                let chosen = rule.choose(&choices, &slots);
                assert_eq!(chosen, plan(&rule, from, to, free), "{from} to {to}, {free:?}");
                derouted += u32::from(chosen.derouted != Derouted::No);
            }
        }
        assert!(derouted > 500 || format!("{rule:?}").starts_with("Minimal"), "{derouted} of {rule:?}");
    }
    // Half a ring at random: nothing can be noted.
    assert!(!deroute(&Outflank::default(), &[6, 5, 8]).note(0, 1, &mut Choices::default()));
}
