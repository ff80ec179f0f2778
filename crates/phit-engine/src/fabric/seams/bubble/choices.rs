//! The choices of a new packet, for mechanisms that weigh routes by their profit.
//!
//! The routes themselves depend only on source and destination, and a message has many packets. So a node records them
//! once ([`Choices`]) and weighs them again for each packet, whose choice depends on the queues.

use super::lattice::{HalfWay, Lattice, Offsets, Position, directions, length};
use super::profit::{PackedDirections, PackedSlots, Profit, Slots};
use super::{Deroute, Derouted, Plan};
use crate::engine::{NONE, Rng, Table};
use std::fmt::Debug;

/// A route that a packet may take instead of the minimal one.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Weight of its length: eta divided by its dilation.
    pub shortness: f64,
    /// Its first directions, one bit each.
    pub directions: u16,
    /// Divisor of the free slots in these directions' queues, which gives their mean.
    pub count: u16,
    /// Its plan.
    pub plan: Plan,
}

/// The choices of packets from one router to another.
#[derive(Debug, Clone)]
pub struct Choices {
    to: u32,
    minimal: Plan,
    /// The weights of the routes: the minimal one first, then the others by their largest possible profit. Empty if
    /// there is no other.
    weights: Table<Weight>,
    /// The plans of the routes, in the mechanism's order.
    plans: Table<Plan>,
}

/// The weight of a route.
#[derive(Debug, Clone, Copy)]
struct Weight {
    /// See [`Choice`].
    shortness: f64,
    directions: PackedDirections,
    count: u16,
    /// The index of its plan.
    place: u16,
    /// True if its congestion term is at most one.
    is_bounded: bool,
}

const _: () = assert!(size_of::<Weight>() == 32);

impl Weight {
    fn new(choice: &Choice, place: usize) -> Self {
        let Choice { shortness, directions, count, .. } = *choice;
        // The mean of at least as many numbers as there are is at most the largest of them.
        let is_bounded = u32::from(count) >= directions.count_ones();
        Self { shortness, directions: PackedDirections::new(directions), count, place: place as u16, is_bounded }
    }

    /// Its largest possible profit.
    #[inline]
    fn at_most(&self) -> f64 {
        if self.is_bounded { 1.0 + self.shortness } else { f64::INFINITY }
    }
}

impl Default for Choices {
    fn default() -> Self {
        Self { to: NONE, minimal: Plan::default(), weights: Table::default(), plans: Table::default() }
    }
}

impl Choices {
    /// The destination router of these packets.
    #[inline]
    pub fn to(&self) -> u32 {
        self.to
    }

    /// The plan, if there is no choice.
    #[inline]
    pub fn only(&self) -> Option<Plan> {
        self.plans.is_empty().then_some(self.minimal)
    }

    /// Prefetches the first weights. More are hardly ever needed.
    #[inline]
    pub fn prefetch(&self) {
        /// Weights in a cache line.
        const LINE: u32 = 64 / size_of::<Weight>() as u32;
        [0, LINE].into_iter().for_each(|weight| self.weights.prefetch(weight));
    }

    /// Bytes of memory, without the struct itself.
    pub fn bytes(&self) -> usize {
        self.weights.bytes() + self.plans.bytes()
    }
}

/// A mechanism whose packets weigh routes by their profit, the minimal one first. Among equals, the first wins.
pub trait Weighing: Send + Sync + Debug {
    /// The grid.
    fn lattice(&self) -> &Lattice;
    /// The direction of routes of half a ring.
    fn half_way(&self) -> HalfWay;
    /// The profit of a route.
    fn profit(&self) -> &Profit;
    /// Packets with a shorter route than this, in hops, have no choice. `u32::MAX`: no packet has one.
    fn least_distance(&self) -> u32;
    /// Calls `see` with the routes from `s` to `t` other than the minimal one. `coins` are the directions of half
    /// rings.
    fn ways(&self, s: &Position, t: &Position, minimal: &Offsets, coins: u32, see: impl FnMut(&Choice));
}

/// The best route so far.
struct Best<'a> {
    rule: &'a Profit,
    slots: &'a Slots<'a>,
    least_used: u16,
    profit: f64,
    plan: Plan,
}

impl<'a> Best<'a> {
    /// Starts with the minimal route.
    #[inline]
    fn new(rule: &'a Profit, slots: &'a Slots<'a>, minimal: Plan) -> Self {
        let (least_used, links) = (slots.least_used(), directions(&minimal.way));
        let mut best = Self { rule, slots, least_used, profit: f64::NEG_INFINITY, plan: minimal };
        best.profit = best.worth(links, links.count_ones(), rule.eta);
        best
    }

    #[inline]
    fn worth(&self, directions: u16, count: u32, shortness: f64) -> f64 {
        let free = f64::from(self.slots.free_in(directions)) / f64::from(count);
        self.rule.of(self.slots.capacity, self.least_used, free, shortness)
    }

    /// True if no other route can be better. With an empty queue, no congestion term exceeds one.
    #[inline]
    fn is_settled(&self) -> bool {
        self.rule.is_most(self.profit) && self.least_used == 0
    }

    #[inline]
    fn see(&mut self, choice: &Choice) {
        let profit = self.worth(choice.directions, choice.count.into(), choice.shortness);
        if profit > self.profit {
            (self.profit, self.plan) = (profit, choice.plan);
        }
    }
}

/// The minimal plan.
#[inline]
pub(super) fn minimal(lattice: &Lattice, s: &Position, t: &Position, coins: u32) -> Plan {
    let way = lattice.way(s, t, coins);
    Plan { via: None, way, hops: length(&way) as u16, derouted: Derouted::No }
}

/// Records the routes between two routers. `coins` are the directions of half rings.
fn list(rule: &impl Weighing, from: u32, to: u32, coins: u32, choices: &mut Choices) {
    let lattice = rule.lattice();
    let (s, t) = (lattice.position(from), lattice.position(to));
    (choices.to, choices.minimal) = (to, minimal(lattice, &s, &t, coins));
    let (mut weights, mut plans) = (Vec::new(), Vec::new());
    if u32::from(choices.minimal.hops) >= rule.least_distance() {
        let mut add = |choice: &Choice| {
            weights.push(Weight::new(choice, plans.len()));
            plans.push(choice.plan);
        };
        let directions = directions(&choices.minimal.way);
        let (shortness, count) = (rule.profit().eta, directions.count_ones() as u16);
        add(&Choice { shortness, directions, count, plan: choices.minimal });
        rule.ways(&s, &t, &choices.minimal.way, coins, add);
        weights[1..].sort_by(|a, b| b.at_most().total_cmp(&a.at_most()));
    }
    (choices.weights, choices.plans) = (weights.into(), plans.into());
}

impl<T: Weighing> Deroute for T {
    fn lattice(&self) -> &Lattice {
        Weighing::lattice(self)
    }

    fn half_way(&self) -> HalfWay {
        Weighing::half_way(self)
    }

    fn plan(&self, from: u32, to: u32, slots: &Slots<'_>, rng: &mut Rng) -> Plan {
        let lattice = Weighing::lattice(self);
        let (s, t) = (lattice.position(from), lattice.position(to));
        let coins = Weighing::half_way(self).coins(rng);
        let minimal = minimal(lattice, &s, &t, coins);
        if u32::from(minimal.hops) < self.least_distance() {
            return minimal;
        }
        let mut best = Best::new(self.profit(), slots, minimal);
        if !best.is_settled() {
            self.ways(&s, &t, &minimal.way, coins, |choice| best.see(choice));
        }
        best.plan
    }

    fn weighs_queues(&self) -> bool {
        self.least_distance() < u32::MAX
    }

    fn note(&self, from: u32, to: u32, choices: &mut Choices) -> bool {
        let sure = Weighing::half_way(self) != HalfWay::Random;
        if sure {
            list(self, from, to, 0, choices);
        }
        sure
    }

    fn note_of_packet(&self, from: u32, to: u32, rng: &mut Rng, choices: &mut Choices) -> bool {
        list(self, from, to, Weighing::half_way(self).coins(rng), choices);
        true
    }

    fn choose(&self, choices: &Choices, slots: &PackedSlots) -> Plan {
        let (rule, least_used) = (self.profit(), slots.least_used());
        let worth = |weight: &Weight| {
            let free = f64::from(slots.free_in(weight.directions)) / f64::from(weight.count);
            rule.of(slots.capacity, least_used, free, weight.shortness)
        };
        let Some((minimal, others)) = choices.weights.split_first() else { return choices.minimal };
        let mut most = worth(minimal);
        // With an empty queue, no congestion term exceeds one.
        if rule.is_most(most) && least_used == 0 {
            return choices.minimal;
        }
        let mut best = 0;
        for weight in others {
            // Later routes cannot have a larger profit, either.
            if weight.at_most() <= most {
                break;
            }
            let profit = worth(weight);
            if profit > most || profit == most && weight.place < best {
                (most, best) = (profit, weight.place);
            }
        }
        choices.plans[u32::from(best)]
    }
}
