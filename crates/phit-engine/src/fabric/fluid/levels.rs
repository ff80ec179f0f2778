//! Max-min fair rates, kept up to date by small changes.
//!
//! In a max-min fair state, every flow has a bottleneck: a full link on which no flow has a higher rate. All flows with
//! the same bottleneck have one rate, the *level* of the link. The level is what other flows leave of the link, divided
//! by the number of flows that it holds back. If a flow begins or ends, the levels of its links change, then the levels
//! of links that these flows take besides, and so on. Levels depend on lower levels only, so links are looked at from
//! the lowest level upwards. Flows change their bottleneck where a level passes another.

use super::flows::{Flow, Key, Link};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Levels that differ by less than this share are equal.
const EQUAL: f64 = 1e-12;

/// Changes of a level by less than this share change nothing else.
const ROUNDING: f64 = 1e-15;

/// Changes after which all sums are made again, so that rounding does not add up.
const SUMMED: u32 = 1 << 12;

/// No bottleneck.
const NONE: u32 = u32::MAX;

/// The level of a link, and what a change of another level needs to know of it.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Level {
    /// The rate of the flows that the link holds back; infinite if there are none.
    level: f64,
    /// Sum of the rates of its other flows.
    others: f64,
    /// No other flow has a higher rate. Some may have left, so it need not be the highest.
    top: f64,
    /// The link is to be looked at when `others` is above this.
    wake: f64,
}

/// The flows that a link holds back.
#[derive(Debug, Clone, Default)]
struct Held {
    flows: Vec<u32>,
    /// The other links of these flows, and the number of flows that take each.
    near: Vec<(u32, u32)>,
}

/// The levels of all links.
#[derive(Debug)]
pub(super) struct Levels {
    links: Vec<Level>,
    held: Vec<Held>,
    /// By a link and a link near it: the place in [`Held::near`].
    near: FxHashMap<(u32, u32), u32>,
    /// By flow: its bottleneck,
    bottlenecks: Vec<u32>,
    /// and its place there.
    places: Vec<u32>,
    /// Links to be looked at, by level.
    due: BinaryHeap<Reverse<(Key, u32)>>,
    is_due: Vec<bool>,
    changes: u32,
    /// Flows that have changed their bottleneck, and links that have changed their level, with repetitions.
    pub moved: Vec<u32>,
    pub changed: Vec<u32>,
    found: Vec<(f64, u32)>,
    /// Links near the one of which the level has changed: those to be looked at, with room for all links,
    woken: Vec<u32>,
    /// and those of a lower level, the first `lower_count` of the list.
    lower: Vec<u32>,
    lower_count: usize,
    /// By link: a link that is no wider, and that all of its flows take. So it never holds a flow back. [`NONE`] if no
    /// such link is known.
    covers: Vec<u32>,
}

impl Levels {
    pub(super) fn new(links: &[Link]) -> Self {
        let level = |link: &Link| Level { level: f64::INFINITY, others: 0.0, top: 0.0, wake: spare(link) };
        Self {
            links: links.iter().map(level).collect(),
            held: vec![Held::default(); links.len()],
            near: FxHashMap::default(),
            bottlenecks: Vec::new(),
            places: Vec::new(),
            due: BinaryHeap::new(),
            is_due: vec![false; links.len()],
            changes: 0,
            moved: Vec::new(),
            changed: Vec::new(),
            found: Vec::new(),
            woken: vec![0; links.len() + 1],
            lower: vec![0; links.len() + 1],
            lower_count: 0,
            covers: vec![NONE; links.len()],
        }
    }

    /// True if levels are not up to date.
    pub(super) fn is_behind(&self) -> bool {
        !self.due.is_empty()
    }

    /// The bottleneck of a flow.
    pub(super) fn bottleneck(&self, flow: u32) -> u32 {
        self.bottlenecks[flow as usize]
    }

    /// The rate of the flows that a link holds back.
    pub(super) fn level(&self, link: u32) -> f64 {
        self.links[link as usize].level
    }

    /// The level of a link by what its other flows leave.
    fn fair(&self, links: &[Link], link: u32) -> f64 {
        let others = self.links[link as usize].others;
        match self.held[link as usize].flows.len() {
            0 if others > spare(&links[link as usize]) => 0.0,
            0 => f64::INFINITY,
            count => (links[link as usize].rate - others) / count as f64,
        }
    }

    /// The link is to be looked at.
    fn mark(&mut self, links: &[Link], link: u32) {
        if !std::mem::replace(&mut self.is_due[link as usize], true) {
            let level = self.fair(links, link).min(self.links[link as usize].level);
            self.due.push(Reverse((Key(level), link)));
            self.links[link as usize].wake = f64::INFINITY;
        }
    }

    /// What other levels wake the link for: for every change if it holds flows back.
    fn rest(&mut self, links: &[Link], link: u32) {
        self.links[link as usize].wake = match (self.is_due[link as usize], self.held[link as usize].flows.is_empty()) {
            (true, _) => f64::INFINITY,
            (false, true) => spare(&links[link as usize]),
            (false, false) => f64::NEG_INFINITY,
        };
    }

    /// A flow has begun. It is on the lists of its links already.
    pub(super) fn begin(&mut self, links: &[Link], flows: &[Flow], flow: u32) {
        let hops = flows[flow as usize].active();
        self.bottlenecks.resize(flows.len(), NONE);
        self.places.resize(flows.len(), 0);
        self.cover(links, flows, flow);
        let room = |link: u32| {
            let held = self.held[link as usize].flows.len() + 1;
            (links[link as usize].rate - self.links[link as usize].others) / held as f64
        };
        let least =
            hops.iter().filter(|hop| !self.is_covered(hop.link)).map(|hop| (Key(room(hop.link)), hop.link)).min();
        let Some((_, link)) = least else { return };
        self.hold(links, flows, flow, link);
        self.mark_others(links, flows, flow, NONE);
        self.changes += 1;
    }

    /// The other links of a flow than `link` are to be looked at.
    fn mark_others(&mut self, links: &[Link], flows: &[Flow], flow: u32, link: u32) {
        for hop in flows[flow as usize].active() {
            if hop.link != link && !self.is_covered(hop.link) {
                self.mark(links, hop.link);
            }
        }
    }

    /// True if a link never holds a flow back.
    fn is_covered(&self, link: u32) -> bool {
        self.covers[link as usize] != NONE
    }

    /// Finds covers for the links of a flow that begins, and has no bottleneck yet.
    fn cover(&mut self, links: &[Link], flows: &[Flow], flow: u32) {
        let hops = flows[flow as usize].active();
        // From the end: the last links of two flows are more often the same than those before.
        for hop in hops.iter().rev() {
            let (link, cover) = (&links[hop.link as usize], self.covers[hop.link as usize]);
            let is_first = link.flows.len() == 1;
            if !is_first && (cover == NONE || hops.iter().any(|hop| hop.link == cover)) {
                continue;
            }
            let takes =
                |&(flow, _): &(u32, u32), other: u32| flows[flow as usize].active().iter().any(|hop| hop.link == other);
            let covers = |other: u32| {
                other != hop.link
                    && !self.is_covered(other)
                    && links[other as usize].rate <= link.rate
                    && link.flows.iter().all(|flow| takes(flow, other))
            };
            let found = hops.iter().map(|hop| hop.link).find(|&other| covers(other));
            self.covers[hop.link as usize] = found.unwrap_or(NONE);
            (self.links[hop.link as usize].others, self.links[hop.link as usize].top) = (0.0, 0.0);
            if found.is_none() && !is_first {
                self.uncover(links, hop.link, flow);
            }
        }
    }

    /// The link may hold flows back from now on. `new` is the only one of its flows without a bottleneck.
    fn uncover(&mut self, links: &[Link], link: u32, new: u32) {
        for &(flow, _) in links[link as usize].flows.iter().filter(|(flow, _)| *flow != new) {
            let own = self.bottlenecks[flow as usize];
            self.pass(own, link, self.links[own as usize].level);
        }
    }

    /// One more of the flows that `link` holds back takes `other`.
    fn pass(&mut self, link: u32, other: u32, rate: f64) {
        let there = &mut self.links[other as usize];
        there.others += rate;
        there.top = there.top.max(rate);
        let near = &mut self.held[link as usize].near;
        let place = *self.near.entry((link, other)).or_insert_with(|| {
            near.push((other, 0));
            near.len() as u32 - 1
        });
        near[place as usize].1 += 1;
    }

    /// A flow has ended. It is on the lists of its links no more.
    pub(super) fn end(&mut self, links: &[Link], flows: &[Flow], flow: u32) {
        self.release(links, flows, flow);
        self.mark_others(links, flows, flow, NONE);
        self.changes += 1;
    }

    /// A link becomes the bottleneck of a flow that has none.
    fn hold(&mut self, links: &[Link], flows: &[Flow], flow: u32, link: u32) {
        let held = &mut self.held[link as usize];
        if held.flows.is_empty() {
            self.links[link as usize].level = 0.0;
        }
        let rate = self.links[link as usize].level;
        (self.bottlenecks[flow as usize], self.places[flow as usize]) = (link, held.flows.len() as u32);
        held.flows.push(flow);
        for hop in flows[flow as usize].active() {
            if hop.link != link && !self.is_covered(hop.link) {
                self.pass(link, hop.link, rate);
            }
        }
        self.rest(links, link);
        self.moved.push(flow);
        self.changed.push(link);
    }

    /// A flow has no bottleneck any more, and no rate.
    fn release(&mut self, links: &[Link], flows: &[Flow], flow: u32) {
        let (link, place) = (self.bottlenecks[flow as usize], self.places[flow as usize]);
        let rate = self.links[link as usize].level;
        let held = &mut self.held[link as usize];
        held.flows.swap_remove(place as usize);
        if let Some(moved) = held.flows.get(place as usize) {
            self.places[*moved as usize] = place;
        }
        for hop in flows[flow as usize].active().iter().filter(|hop| hop.link != link) {
            if self.covers[hop.link as usize] != NONE {
                continue;
            }
            self.links[hop.link as usize].others -= rate;
            let Some(&place) = self.near.get(&(link, hop.link)) else { continue };
            held.near[place as usize].1 -= 1;
            if held.near[place as usize].1 == 0 {
                self.near.remove(&(link, hop.link));
                held.near.swap_remove(place as usize);
                if let Some(&(moved, _)) = held.near.get(place as usize) {
                    self.near.insert((link, moved), place);
                }
            }
        }
        if held.flows.is_empty() {
            self.links[link as usize].level = f64::INFINITY;
        }
        self.rest(links, link);
        self.bottlenecks[flow as usize] = NONE;
        self.changed.push(link);
    }

    /// Makes all sums again.
    fn sum(&mut self, links: &[Link]) {
        for (number, link) in links.iter().enumerate().filter(|(_, link)| !link.flows.is_empty()) {
            if self.covers[number] != NONE {
                continue;
            }
            let rate = |&(flow, _): &(u32, u32)| match self.bottlenecks[flow as usize] {
                own if own as usize == number => 0.0,
                other => self.links[other as usize].level,
            };
            let (others, top) =
                link.flows.iter().map(rate).fold((0.0, 0.0), |(sum, top), rate| (sum + rate, f64::max(top, rate)));
            (self.links[number].others, self.links[number].top) = (others, top);
        }
        self.changes = 0;
    }

    /// Brings all levels up to date.
    pub(super) fn settle(&mut self, links: &[Link], flows: &[Flow]) {
        if self.changes >= SUMMED {
            self.sum(links);
        }
        while let Some(Reverse((_, link))) = self.due.pop() {
            self.is_due[link as usize] = false;
            self.rest(links, link);
            self.look(links, flows, link);
        }
    }

    /// Brings the level of a link up to date.
    fn look(&mut self, links: &[Link], flows: &[Flow], link: u32) {
        let before = self.links[link as usize].level;
        let mut now = self.fair(links, link);
        if links[link as usize].flows.is_empty() {
            // Nothing is left of rounding.
            (self.links[link as usize].others, self.links[link as usize].top) = (0.0, 0.0);
            return;
        }
        // A link that holds its first flow has no level yet.
        let is_new = before == 0.0;
        if !is_new && (now == before || before.is_finite() && (now - before).abs() <= ROUNDING * before) {
            return;
        }
        // Flows of other bottlenecks that had as much as this link now gives.
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        if (now < before || is_new) && self.links[link as usize].top > now * (1.0 + EQUAL) {
            let (mut top, limit) = (0.0, now * (1.0 + EQUAL));
            // Flows that it holds back already are not found.
            self.links[link as usize].level = 0.0;
            for &(flow, _) in &links[link as usize].flows {
                let rate = self.links[self.bottlenecks[flow as usize] as usize].level;
                if rate > limit {
                    found.push((rate, flow));
                } else if rate > top {
                    top = rate;
                }
            }
            self.links[link as usize].level = before;
            found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let (mut others, mut count) = (self.links[link as usize].others, self.held[link as usize].flows.len());
            let mut taken = 0;
            for &(rate, _) in &found {
                if count > 0 && rate <= now * (1.0 + EQUAL) {
                    break;
                }
                others -= rate;
                count += 1;
                taken += 1;
                now = (links[link as usize].rate - others) / count as f64;
            }
            self.links[link as usize].top = found.get(taken).map_or(top, |&(rate, _)| rate);
            found.truncate(taken);
        }
        self.relevel(links, link, now);
        for (_, flow) in found.drain(..) {
            self.release(links, flows, flow);
            self.hold_at(links, flows, flow, link, now);
            self.mark_others(links, flows, flow, link);
        }
        if now > before {
            // Flows that another link gives less.
            for place in 0..self.lower_count {
                let other = self.lower[place];
                let held = |&&(flow, _): &&(u32, u32)| self.bottlenecks[flow as usize] == link;
                found.extend(links[other as usize].flows.iter().filter(held).map(|&(flow, _)| (0.0, flow)));
                for (_, flow) in found.drain(..) {
                    let hops = flows[flow as usize].active().iter().filter(|hop| !self.is_covered(hop.link));
                    let least = hops.map(|hop| (Key(self.links[hop.link as usize].level), hop.link)).min();
                    if let Some((_, lowest)) = least.filter(|(_, lowest)| *lowest != link) {
                        self.release(links, flows, flow);
                        self.hold(links, flows, flow, lowest);
                        self.mark_others(links, flows, flow, NONE);
                    }
                }
            }
        }
        self.found = found;
    }

    /// [`Self::hold`], by a link of level `level`.
    fn hold_at(&mut self, links: &[Link], flows: &[Flow], flow: u32, link: u32, level: f64) {
        let is_first = self.held[link as usize].flows.is_empty();
        self.hold(links, flows, flow, link);
        if is_first {
            // The flow has the level from the start, so nothing needs to follow it.
            self.links[link as usize].level = level;
            for hop in flows[flow as usize].active() {
                if hop.link != link && !self.is_covered(hop.link) {
                    let other = &mut self.links[hop.link as usize];
                    other.others += level;
                    other.top = other.top.max(level);
                }
            }
        }
    }

    /// Sets the level of a link. Other links of its flows are to be looked at. Those of a lower level go to `lower`.
    fn relevel(&mut self, links: &[Link], link: u32, now: f64) {
        self.lower_count = 0;
        if self.held[link as usize].flows.is_empty() {
            self.links[link as usize].level = f64::INFINITY;
            return;
        }
        let change = now - self.links[link as usize].level;
        self.links[link as usize].level = now;
        let (limit, mut lowers, mut wakes) = (now * (1.0 - EQUAL), 0, 0);
        let (levels, woken, lower) = (&mut self.links[..], &mut self.woken[..], &mut self.lower[..]);
        for &(number, count) in &self.held[link as usize].near {
            // No branches: which links are due, or lower, cannot be foreseen.
            let other = &mut levels[number as usize];
            let Level { level, others, top, wake } = *other;
            let others = others + change * f64::from(count);
            (other.others, other.top) = (others, if now > top { now } else { top });
            lower[lowers] = number;
            lowers += usize::from(level < limit);
            woken[wakes] = number;
            wakes += usize::from(others > wake);
        }
        self.lower_count = lowers;
        for place in 0..wakes {
            self.mark(links, self.woken[place]);
        }
        self.changed.push(link);
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let held =
            |held: &Held| held.flows.capacity() * size_of::<u32>() + held.near.capacity() * size_of::<(u32, u32)>();
        let lists: usize = self.held.iter().map(held).sum();
        lists
            + self.links.capacity() * (size_of::<Level>() + size_of::<Held>())
            + self.near.capacity() * size_of::<((u32, u32), u32)>()
            + (self.bottlenecks.capacity() + self.places.capacity()) * size_of::<u32>()
    }
}

/// What a link that holds no flow back carries at most.
fn spare(link: &Link) -> f64 {
    link.rate * (1.0 + EQUAL)
}
