//! Max-min fair rates, kept up to date by small changes.
//!
//! In a max-min fair state, every flow has a bottleneck: a full link on which no flow has a higher rate. All flows with
//! the same bottleneck have one rate, the *level* of the link. The level is what other flows leave of the link, divided
//! by the number of flows that it holds back. If a flow begins or ends, the levels of its links change, then the levels
//! of links that these flows take besides, and so on. Levels depend on lower levels only, so links are looked at from
//! the lowest level upwards. Flows change their bottleneck where a level passes another.

use super::flows::{Flow, Key, Link};
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

/// A link, with the flows that it holds back.
#[derive(Debug, Clone, Default)]
struct Level {
    /// The rate of these flows; infinite if there are none.
    level: f64,
    /// Sum of the rates of its other flows.
    others: f64,
    /// The flows.
    held: Vec<u32>,
    /// The other links of each of these flows, `stride` for each. A place that a flow does not need has the number of a
    /// link that is not there.
    near: Vec<u32>,
}

/// The levels of all links.
#[derive(Debug)]
pub(super) struct Levels {
    links: Vec<Level>,
    stride: usize,
    /// By flow: its bottleneck, and its place there.
    bottlenecks: Vec<(u32, u32)>,
    /// Links to be looked at, by level.
    due: BinaryHeap<Reverse<(Key, u32)>>,
    is_due: Vec<bool>,
    changes: u32,
    /// Flows that have changed their bottleneck, and links that have changed their level, with repetitions.
    pub moved: Vec<u32>,
    pub changed: Vec<u32>,
    found: Vec<(f64, u32)>,
}

impl Levels {
    pub(super) fn new(links: usize) -> Self {
        let levels = vec![Level { level: f64::INFINITY, ..Level::default() }; links + 1];
        // The last one stands for no link, and is never looked at.
        let mut is_due = vec![false; links + 1];
        is_due[links] = true;
        Self {
            links: levels,
            stride: 1,
            bottlenecks: Vec::new(),
            due: BinaryHeap::new(),
            is_due,
            changes: 0,
            moved: Vec::new(),
            changed: Vec::new(),
            found: Vec::new(),
        }
    }

    /// True if levels are not up to date.
    pub(super) fn is_behind(&self) -> bool {
        !self.due.is_empty()
    }

    /// The bottleneck of a flow.
    pub(super) fn bottleneck(&self, flow: u32) -> u32 {
        self.bottlenecks[flow as usize].0
    }

    /// The rate of the flows that a link holds back.
    pub(super) fn level(&self, link: u32) -> f64 {
        self.links[link as usize].level
    }

    /// The level of a link by what its other flows leave.
    fn fair(&self, links: &[Link], link: u32) -> f64 {
        let Level { others, held, .. } = &self.links[link as usize];
        match held.len() {
            0 if *others > links[link as usize].rate * (1.0 + EQUAL) => 0.0,
            0 => f64::INFINITY,
            count => (links[link as usize].rate - others) / count as f64,
        }
    }

    /// The link is to be looked at.
    fn mark(&mut self, links: &[Link], link: u32) {
        if !self.is_due[link as usize] {
            self.is_due[link as usize] = true;
            let level = self.fair(links, link).min(self.links[link as usize].level);
            self.due.push(Reverse((Key(level), link)));
        }
    }

    /// A flow has begun. It is on the lists of its links already.
    pub(super) fn begin(&mut self, links: &[Link], flows: &[Flow], flow: u32) {
        let hops = &flows[flow as usize].hops;
        self.bottlenecks.resize(flows.len(), (NONE, 0));
        if hops.len() - 1 > self.stride {
            self.widen(hops.len() - 1);
        }
        let room = |link: u32| {
            let Level { others, held, .. } = &self.links[link as usize];
            (links[link as usize].rate - others) / (held.len() + 1) as f64
        };
        let least = hops.iter().map(|hop| (Key(room(hop.link)), hop.link)).min();
        let Some((_, link)) = least else { return };
        self.hold(flows, flow, link);
        hops.iter().for_each(|hop| self.mark(links, hop.link));
        self.changes += 1;
    }

    /// A flow has ended. It is on the lists of its links no more.
    pub(super) fn end(&mut self, links: &[Link], flows: &[Flow], flow: u32) {
        self.release(flows, flow);
        flows[flow as usize].hops.iter().for_each(|hop| self.mark(links, hop.link));
        self.changes += 1;
    }

    /// More room for the other links of flows.
    fn widen(&mut self, stride: usize) {
        let none = self.links.len() as u32 - 1;
        for level in &mut self.links {
            let mut near = vec![none; level.held.len() * stride];
            for (new, old) in near.chunks_mut(stride).zip(level.near.chunks(self.stride)) {
                new[..old.len()].copy_from_slice(old);
            }
            level.near = near;
        }
        self.stride = stride;
    }

    /// A link becomes the bottleneck of a flow that has none.
    fn hold(&mut self, flows: &[Flow], flow: u32, link: u32) {
        let none = self.links.len() as u32 - 1;
        let level = &mut self.links[link as usize];
        if level.held.is_empty() {
            level.level = 0.0;
        }
        let rate = level.level;
        self.bottlenecks[flow as usize] = (link, level.held.len() as u32);
        level.held.push(flow);
        let end = level.near.len() + self.stride;
        let hops = flows[flow as usize].hops.iter().filter(|hop| hop.link != link);
        level.near.extend(hops.map(|hop| hop.link));
        level.near.resize(end, none);
        for hop in &*flows[flow as usize].hops {
            if hop.link != link {
                self.links[hop.link as usize].others += rate;
            }
        }
        self.moved.push(flow);
        self.changed.push(link);
    }

    /// A flow has no bottleneck any more, and no rate.
    fn release(&mut self, flows: &[Flow], flow: u32) {
        let (link, place) = self.bottlenecks[flow as usize];
        let (place, stride) = (place as usize, self.stride);
        let level = &mut self.links[link as usize];
        let rate = level.level;
        level.held.swap_remove(place);
        let last = level.held.len();
        level.near.copy_within(last * stride..(last + 1) * stride, place * stride);
        level.near.truncate(last * stride);
        if let Some(moved) = level.held.get(place) {
            self.bottlenecks[*moved as usize].1 = place as u32;
        }
        if level.held.is_empty() {
            level.level = f64::INFINITY;
        }
        for hop in &*flows[flow as usize].hops {
            if hop.link != link {
                self.links[hop.link as usize].others -= rate;
            }
        }
        self.bottlenecks[flow as usize].0 = NONE;
        self.changed.push(link);
    }

    /// Makes all sums again.
    fn sum(&mut self, links: &[Link]) {
        for (number, link) in links.iter().enumerate().filter(|(_, link)| !link.flows.is_empty()) {
            let rate = |&(flow, _): &(u32, u32)| match self.bottlenecks[flow as usize].0 {
                own if own as usize == number => 0.0,
                other => self.links[other as usize].level,
            };
            self.links[number].others = link.flows.iter().map(rate).sum();
        }
        self.changes = 0;
    }

    /// Brings all levels up to date.
    pub(super) fn settle(&mut self, links: &[Link], flows: &[Flow]) {
        if self.changes >= SUMMED {
            self.sum(links);
        }
        while let Some(Reverse((_, link))) = self.due.pop() {
            if std::mem::replace(&mut self.is_due[link as usize], false) {
                self.look(links, flows, link);
            }
        }
    }

    /// Brings the level of a link up to date.
    fn look(&mut self, links: &[Link], flows: &[Flow], link: u32) {
        let before = self.links[link as usize].level;
        let mut now = self.fair(links, link);
        if links[link as usize].flows.is_empty() {
            // Nothing is left of rounding.
            self.links[link as usize].others = 0.0;
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
        if now < before || is_new {
            for &(flow, _) in &links[link as usize].flows {
                let own = self.bottlenecks[flow as usize].0;
                let rate = self.links[own as usize].level;
                if own != link && rate > now * (1.0 + EQUAL) {
                    found.push((rate, flow));
                }
            }
            found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let Level { others, held, .. } = &self.links[link as usize];
            let (mut others, mut count) = (*others, held.len());
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
            found.truncate(taken);
        }
        self.relevel(links, link, now);
        for (_, flow) in found.drain(..) {
            self.release(flows, flow);
            self.hold_at(flows, flow, link, now);
            flows[flow as usize].hops.iter().filter(|hop| hop.link != link).for_each(|hop| self.mark(links, hop.link));
        }
        if now > before {
            // Flows that another link gives less.
            let (stride, level) = (self.stride, &self.links[link as usize]);
            let limit = now * (1.0 - EQUAL);
            for (near, &flow) in level.near.chunks_exact(stride).zip(&level.held) {
                for other in near {
                    if self.links[*other as usize].level < limit {
                        found.push((0.0, flow));
                        break;
                    }
                }
            }
            for (_, flow) in found.drain(..) {
                let hops = &flows[flow as usize].hops;
                let least = hops.iter().map(|hop| (Key(self.links[hop.link as usize].level), hop.link)).min();
                if let Some((_, other)) = least.filter(|(_, other)| *other != link) {
                    self.release(flows, flow);
                    self.hold(flows, flow, other);
                    hops.iter().for_each(|hop| self.mark(links, hop.link));
                }
            }
        }
        self.found = found;
    }

    /// [`Self::hold`], by a link of level `level`.
    fn hold_at(&mut self, flows: &[Flow], flow: u32, link: u32, level: f64) {
        if self.links[link as usize].held.is_empty() {
            // The flow has the level from the start, so nothing needs to follow it.
            self.hold(flows, flow, link);
            self.links[link as usize].level = level;
            for hop in &*flows[flow as usize].hops {
                if hop.link != link {
                    self.links[hop.link as usize].others += level;
                }
            }
        } else {
            self.hold(flows, flow, link);
        }
    }

    /// Sets the level of a link. Other links of its flows are to be looked at.
    fn relevel(&mut self, links: &[Link], link: u32, now: f64) {
        let level = &mut self.links[link as usize];
        if level.held.is_empty() {
            level.level = f64::INFINITY;
            return;
        }
        let change = now - level.level;
        level.level = now;
        let near = std::mem::take(&mut level.near);
        for &other in &near {
            self.links[other as usize].others += change;
            if !self.is_due[other as usize] {
                self.mark(links, other);
            }
        }
        self.links[link as usize].near = near;
        self.changed.push(link);
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let lists: usize = self.links.iter().map(|link| (link.held.capacity() + link.near.capacity()) * 4).sum();
        lists + self.links.capacity() * size_of::<Level>() + self.bottlenecks.capacity() * size_of::<(u32, u32)>()
    }
}
