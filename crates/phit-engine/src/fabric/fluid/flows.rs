//! Flows under way: what is left of them, their rates, and when the next of them ends.
//!
//! Rates change only when a flow begins or ends, and only for flows that are connected with it through links that are
//! asked for more than they carry. Flows that are held back by one link, and have one rate, share a clock: it counts
//! the bytes that each of them has sent. So a change of that rate costs nothing for each flow.

use super::ends::Ends;
use super::levels::Levels;
use super::{Rule, Sharing, rates};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

/// In [`Hop::before`]: the hop is the first.
pub const FIRST: u32 = u32::MAX;

/// A link on the way of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// The link.
    pub link: u32,
    /// The share of the flow that takes this link; 1 if the flow takes one route.
    pub share: f64,
    /// The hop from which it comes; [`FIRST`] if there is none.
    pub before: u32,
}

impl Hop {
    /// The hops of a flow that takes one route.
    pub fn route(links: &[u32]) -> Arc<[Self]> {
        let before = |place: usize| place.checked_sub(1).map_or(FIRST, |before| before as u32);
        links.iter().enumerate().map(|(place, &link)| Self { link, share: 1.0, before: before(place) }).collect()
    }
}

/// A number in the order of all floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Key(pub f64);

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// How far a link may be asked for more than it carries before it counts as a limit, relative to its rate. More than
/// rounding can add up to, and less than any result shows.
const SLACK: f64 = 1e-12;

/// Two times that differ by less than this share of them are one.
const TOGETHER: f64 = 1e-13;

/// No clock, or no link.
const NONE: u32 = u32::MAX;

/// A link, and who uses it.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// Bytes in a unit of time.
    pub rate: f64,
    /// Bytes in a unit of time if all its flows were alone in the network.
    asked: f64,
    /// Its flows, and which of their hops it is.
    pub flows: Vec<(u32, u32)>,
    /// Changes whenever its flows do, and is never 0 then.
    pub version: u32,
}

impl Link {
    /// True if it may hold a flow back.
    pub(super) fn limits(&self) -> bool {
        self.flows.len() > 1 && self.asked > self.rate * (1.0 + SLACK)
    }
}

/// A flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub hops: Arc<[Hop]>,
    /// The first hop that some of its bytes have yet to take.
    pub first: u32,
    /// Larger than those of all flows that began before.
    pub order: u64,
    /// By hop: its place in the link's list.
    places: Vec<u32>,
    /// Its rate if it is alone.
    pub most: f64,
    /// The hop that holds it back; [`FIRST`] if none does, or the levels of links know.
    held: u32,
    /// The clock that counts its bytes.
    clock: u32,
    /// The reading of that clock at which it ends. Without a clock: the bytes that are left.
    end: f64,
    /// Changes whenever it gets another clock.
    stamp: u32,
    /// The number that it was begun with; `None` if there is no flow here.
    tag: Option<u32>,
}

impl Flow {
    /// The hops that some of its bytes have yet to take.
    pub(super) fn active(&self) -> &[Hop] {
        &self.hops[self.first as usize..]
    }
}

/// Counts the bytes that each of some flows of one rate sends. Clocks of links come first, then those of single flows.
#[derive(Debug, Default)]
struct Clock {
    /// Bytes in a unit of time.
    rate: f64,
    /// Its reading at `at`.
    reading: f64,
    at: f64,
    flows: u32,
    /// Readings at which flows end, with the flow and its stamp. Flows that have left stay until they come up. Empty
    /// for the clock of a single flow.
    ends: BinaryHeap<Reverse<(Key, u32, u32)>>,
}

impl Clock {
    fn settle(&mut self, now: f64) {
        self.reading += self.rate * (now - self.at);
        self.at = now;
    }
}

/// The rate of a flow, as a rule of sharing finds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    pub rate: f64,
    /// The link whose flows all have this rate; `None` if the flow has a rate of its own.
    pub link: Option<u32>,
    /// The hop that holds it back; [`FIRST`] if none does.
    pub held: u32,
}

/// Flows under way over links.
#[derive(Debug)]
pub struct Flows {
    rule: Rule,
    pub(super) links: Vec<Link>,
    pub(super) flows: Vec<Flow>,
    free: Vec<u32>,
    now: f64,
    clocks: Vec<Clock>,
    ends: Ends,
    /// Links that limit flows, or did, and whose flows have changed; and flows that have begun.
    changed: Vec<u32>,
    begun: Vec<u32>,
    /// Number of flows that have begun.
    begun_flows: u64,
    scratch: Part,
    finder: rates::Finder,
    /// Max-min fair rates, as long as every flow takes one route.
    levels: Option<Levels>,
}

/// The flows and links that a change may concern.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The number of this search.
    search: u32,
    /// By link, and by flow: the last search that has found it.
    seen_links: Vec<u32>,
    seen_flows: Vec<u32>,
    /// The links that matter, in the order in which they were found.
    pub links: Vec<u32>,
    /// The flows.
    pub flows: Vec<u32>,
    /// Their rates.
    pub given: Vec<Given>,
    /// Clocks that have changed.
    touched: Vec<u32>,
    /// Flows that get another clock, with the bytes that are left of them.
    moved: Vec<(u32, f64)>,
}

impl Part {
    /// True if the link is one of [`Self::links`].
    pub(super) fn has(&self, link: u32) -> bool {
        self.seen_links[link as usize] == self.search
    }

    fn see_flow(&mut self, flow: u32) {
        let seen = &mut self.seen_flows[flow as usize];
        if *seen != self.search {
            *seen = self.search;
            self.flows.push(flow);
        }
    }
}

impl Flows {
    /// No flows, at time 0, over links of these rates, which are above 0.
    pub fn new(rates: impl IntoIterator<Item = f64>, rule: Rule) -> Self {
        let links: Vec<Link> = rates.into_iter().map(|rate| Link { rate, ..Link::default() }).collect();
        let mut clocks = Vec::new();
        clocks.resize_with(links.len(), Clock::default);
        let scratch = Part { seen_links: vec![0; links.len()], ..Part::default() };
        let levels = (rule == Rule { sharing: Sharing::MaxMin, coupled: false }).then(|| Levels::new(&links));
        Self {
            rule,
            levels,
            finder: rates::Finder::new(links.len()),
            links,
            flows: Vec::new(),
            free: Vec::new(),
            now: 0.0,
            clocks,
            ends: Ends::default(),
            changed: Vec::new(),
            begun: Vec::new(),
            begun_flows: 0,
            scratch,
        }
    }

    /// From now on the flows of one endpoint stand in one queue, see [`rates::Finder::in_order`].
    pub(super) fn in_order(mut self) -> Self {
        self.finder.in_order = true;
        self
    }

    /// The time.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Flows under way.
    pub fn under_way(&self) -> usize {
        self.flows.len() - self.free.len()
    }

    /// A flow of `bytes` bytes, more than 0, begins now. `tag` comes back when it ends.
    pub fn begin(&mut self, hops: Arc<[Hop]>, bytes: f64, tag: u32) -> u32 {
        self.begin_after(hops, 0, bytes, tag)
    }

    /// [`Self::begin`], of bytes that have taken the hops before `first`.
    pub(super) fn begin_after(&mut self, hops: Arc<[Hop]>, first: u32, bytes: f64, tag: u32) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.flows.push(Flow {
                hops: Arc::default(),
                first: 0,
                order: 0,
                places: Vec::new(),
                most: 0.0,
                held: FIRST,
                clock: NONE,
                end: 0.0,
                stamp: 0,
                tag: None,
            });
            self.clocks.push(Clock::default());
            self.scratch.seen_flows.push(0);
            self.flows.len() as u32 - 1
        });
        if self.levels.is_some() && hops.iter().any(|hop| hop.share != 1.0) {
            // Parts of flows are not for the levels of links: all rates are found anew from now on.
            self.refresh();
            self.levels = None;
            let under_way = (0..).zip(&self.flows).filter(|(_, flow)| flow.tag.is_some());
            self.begun.extend(under_way.map(|(flow, _)| flow));
        }
        let active = &hops[first as usize..];
        let most =
            active.iter().map(|hop| self.links[hop.link as usize].rate / hop.share).fold(f64::INFINITY, f64::min);
        let flow = &mut self.flows[number as usize];
        flow.places.clear();
        flow.places.resize(hops.len(), 0);
        for (place, hop) in (first..).zip(active) {
            let link = &mut self.links[hop.link as usize];
            flow.places[place as usize] = link.flows.len() as u32;
            link.flows.push((number, place));
            link.version = link.version.wrapping_add(1).max(1);
            link.asked += most * hop.share;
            if self.levels.is_none() && (link.limits() || self.rule.coupled) {
                self.changed.push(hop.link);
            }
        }
        (flow.hops, flow.first, flow.most) = (hops, first, most);
        flow.order = self.begun_flows;
        self.begun_flows += 1;
        (flow.clock, flow.end, flow.tag) = (NONE, bytes, Some(tag));
        flow.stamp = flow.stamp.wrapping_add(1);
        match &mut self.levels {
            Some(levels) => levels.begin(&self.links, &self.flows, number),
            None => self.begun.push(number),
        }
        number
    }

    /// How often the links of a way are asked for, with a flow that begins now, summed over a route; the mean over its
    /// routes.
    pub fn asked_along(&self, hops: &[Hop]) -> f64 {
        let most = hops.iter().map(|hop| self.links[hop.link as usize].rate / hop.share).fold(f64::INFINITY, f64::min);
        let asked = |hop: &Hop| {
            let link = &self.links[hop.link as usize];
            hop.share * (link.asked + most) / link.rate
        };
        hops.iter().map(asked).sum()
    }

    /// Removes a flow that has not ended. Returns the bytes that are left of it.
    pub(super) fn withdraw(&mut self, number: u32) -> f64 {
        self.refresh();
        let left = self.end(number);
        self.touch();
        left
    }

    /// The hop that held a flow back that has just ended.
    pub(super) fn held_of_ended(&self, number: u32) -> Option<u32> {
        Some(self.flows[number as usize].held).filter(|held| *held != FIRST)
    }

    /// The hop that holds a flow back, if there is one.
    pub(super) fn held_at(&mut self, number: u32) -> Option<u32> {
        self.refresh();
        self.note_held(number);
        Some(self.flows[number as usize].held).filter(|held| *held != FIRST)
    }

    /// Notes the hop that holds a flow back, where the levels of links know it.
    fn note_held(&mut self, number: u32) {
        let Some(levels) = &self.levels else { return };
        let flow = &self.flows[number as usize];
        if flow.tag.is_some() {
            let link = levels.bottleneck(number);
            let is_shared = self.links[link as usize].flows.len() > 1;
            let held = (flow.first..).zip(flow.active()).find(|(_, hop)| is_shared && hop.link == link);
            self.flows[number as usize].held = held.map_or(FIRST, |(place, _)| place);
        }
    }

    /// The rate of a link.
    pub(super) fn rate_of_link(&self, link: u32) -> f64 {
        self.links[link as usize].rate
    }

    /// Removes a flow. Returns the bytes that are left of it.
    fn end(&mut self, number: u32) -> f64 {
        self.note_held(number);
        let Flow { ref hops, first, most, .. } = self.flows[number as usize];
        let hops = hops.clone();
        for (place, hop) in hops.iter().enumerate().skip(first as usize) {
            let at = self.flows[number as usize].places[place];
            let link = &mut self.links[hop.link as usize];
            if self.levels.is_none() && (link.limits() || self.rule.coupled) {
                self.changed.push(hop.link);
            }
            link.flows.swap_remove(at as usize);
            link.version = link.version.wrapping_add(1).max(1);
            link.asked = if link.flows.is_empty() { 0.0 } else { link.asked - most * hop.share };
            if let Some(&(moved, its)) = link.flows.get(at as usize) {
                self.flows[moved as usize].places[its as usize] = at;
            }
        }
        if let Some(levels) = &mut self.levels {
            levels.end(&self.links, &self.flows, number);
        }
        let left = self.leave(number);
        let flow = &mut self.flows[number as usize];
        (flow.tag, flow.hops, flow.first) = (None, Arc::default(), 0);
        self.free.push(number);
        left
    }

    /// The clock of a flow no longer counts for it. Returns the bytes that are left.
    fn leave(&mut self, number: u32) -> f64 {
        let flow = &mut self.flows[number as usize];
        if flow.clock == NONE {
            return flow.end;
        }
        let of = flow.clock;
        let clock = &mut self.clocks[of as usize];
        clock.settle(self.now);
        let left = (flow.end - clock.reading).max(0.0);
        clock.flows -= 1;
        if clock.flows == 0 {
            clock.reading = 0.0;
            clock.rate = 0.0;
            clock.ends.clear();
        }
        (flow.clock, flow.end) = (NONE, left);
        flow.stamp = flow.stamp.wrapping_add(1);
        self.scratch.touched.push(of);
        left
    }

    /// When the next flow of a clock ends.
    fn next_of(&mut self, number: u32) -> Option<f64> {
        let links = self.links.len();
        let clock = &mut self.clocks[number as usize];
        if clock.flows == 0 {
            return None;
        }
        let end = match (number as usize).checked_sub(links) {
            Some(flow) => self.flows[flow].end,
            None => {
                if clock.ends.len() > 64 + 2 * clock.flows as usize {
                    let flows = &self.flows;
                    clock.ends.retain(|Reverse((_, flow, stamp))| flows[*flow as usize].stamp == *stamp);
                }
                loop {
                    let &Reverse((end, flow, stamp)) = clock.ends.peek()?;
                    if self.flows[flow as usize].stamp == stamp {
                        break end.0;
                    }
                    clock.ends.pop();
                }
            }
        };
        Some(clock.at + (end - clock.reading).max(0.0) / clock.rate)
    }

    /// When the next flow ends, if none begins before.
    pub fn next_end(&mut self) -> Option<f64> {
        self.refresh();
        self.ends.first().map(|(time, _)| time.max(self.now))
    }

    /// Goes on to `time`, which is not after [`Self::next_end`]. Appends the tags of flows that have ended to `ended`.
    pub fn advance(&mut self, time: f64, ended: &mut Vec<u32>) {
        self.refresh();
        self.now = time;
        let links = self.links.len() as u32;
        while let Some((end, clock)) = self.ends.first()
            && end <= time * (1.0 + TOGETHER)
        {
            let number = match clock.checked_sub(links) {
                Some(flow) => flow,
                // `next_of` has left a flow of this clock at the top.
                None => match self.clocks[clock as usize].ends.pop() {
                    Some(Reverse((_, flow, _))) => flow,
                    None => unreachable!("a clock with an end and without flows"),
                },
            };
            ended.extend(self.flows[number as usize].tag);
            self.end(number);
            self.touch();
        }
    }

    /// The rate of a flow, by the number that [`Self::begin`] returned.
    pub fn rate_of(&mut self, number: u32) -> f64 {
        self.refresh();
        let clock = self.flows[number as usize].clock;
        self.clocks[clock as usize].rate
    }

    /// The flow of this number as a tag, if it is under way.
    pub fn tag_of(&self, number: u32) -> Option<u32> {
        self.flows.get(number as usize).and_then(|flow| flow.tag)
    }

    /// Finds new rates after changes.
    fn refresh(&mut self) {
        if self.levels.as_ref().is_some_and(Levels::is_behind) {
            self.follow();
        }
        if self.changed.is_empty() && self.begun.is_empty() {
            return;
        }
        self.gather();
        let mut part = std::mem::take(&mut self.scratch);
        part.given.clear();
        part.given.resize(part.flows.len(), Given { rate: 0.0, link: None, held: FIRST });
        match (self.rule.sharing, self.rule.coupled) {
            (Sharing::MaxMin, false) => self.finder.max_min(&self.links, &self.flows, &mut part),
            (sharing, coupled) => self.finder.by_share(&self.links, &self.flows, &mut part, sharing, coupled),
        }
        self.scratch = part;
        self.apply();
    }

    /// Brings levels up to date, and clocks with them.
    fn follow(&mut self) {
        let Some(mut levels) = self.levels.take() else { return };
        levels.settle(&self.links, &self.flows);
        self.scratch.search += 1;
        let mut moved = std::mem::take(&mut self.scratch.moved);
        while let Some(flow) = levels.moved.pop() {
            let seen = &mut self.scratch.seen_flows[flow as usize];
            let is_new = std::mem::replace(seen, self.scratch.search) != self.scratch.search;
            let Flow { tag, clock, .. } = self.flows[flow as usize];
            if is_new && tag.is_some() && clock != levels.bottleneck(flow) {
                moved.push((flow, self.leave(flow)));
            }
        }
        while let Some(link) = levels.changed.pop() {
            let (clock, level) = (&mut self.clocks[link as usize], levels.level(link));
            if clock.rate != level && level.is_finite() {
                clock.settle(self.now);
                clock.rate = level;
                self.scratch.touched.push(link);
            }
        }
        for (number, left) in moved.drain(..) {
            self.attach(number, levels.bottleneck(number), true, left);
        }
        self.touch();
        (self.scratch.moved, self.levels) = (moved, Some(levels));
    }

    /// A flow gets a clock: that of a link, or its own.
    fn attach(&mut self, number: u32, of: u32, is_of_link: bool, left: f64) {
        let clock = &mut self.clocks[of as usize];
        clock.settle(self.now);
        clock.flows += 1;
        let end = clock.reading + left;
        let flow = &mut self.flows[number as usize];
        (flow.clock, flow.end) = (of, end);
        if is_of_link {
            clock.ends.push(Reverse((Key(end), number, flow.stamp)));
        }
        self.scratch.touched.push(of);
    }

    /// Files the next ends of clocks that have changed.
    fn touch(&mut self) {
        while let Some(touched) = self.scratch.touched.pop() {
            let next = self.next_of(touched);
            self.ends.set(touched, next);
        }
    }

    /// Finds the flows and links that changes may concern.
    fn gather(&mut self) {
        let Self { links, flows, changed, begun, scratch: part, rule, .. } = self;
        part.search += 1;
        part.links.clear();
        part.flows.clear();
        for link in changed.drain(..) {
            links[link as usize].flows.iter().for_each(|(flow, _)| part.see_flow(*flow));
        }
        for flow in begun.drain(..) {
            if flows[flow as usize].tag.is_some() {
                part.see_flow(flow);
            }
        }
        let mut next = 0;
        while let Some(&flow) = part.flows.get(next) {
            next += 1;
            for hop in flows[flow as usize].active() {
                let link = &links[hop.link as usize];
                if part.has(hop.link) || !(link.limits() || rule.coupled && link.flows.len() > 1) {
                    continue;
                }
                part.seen_links[hop.link as usize] = part.search;
                part.links.push(hop.link);
                link.flows.iter().for_each(|(flow, _)| part.see_flow(*flow));
            }
        }
    }

    /// Gives flows the rates that have been found.
    fn apply(&mut self) {
        let links = self.links.len() as u32;
        let mut part = std::mem::take(&mut self.scratch.flows);
        let mut moved = std::mem::take(&mut self.scratch.moved);
        for (place, &number) in part.iter().enumerate() {
            let Given { link, held, .. } = self.scratch.given[place];
            self.flows[number as usize].held = held;
            if self.flows[number as usize].clock != link.unwrap_or(links + number) {
                let left = self.leave(number);
                moved.push((place as u32, left));
            }
        }
        for (place, &number) in part.iter().enumerate() {
            let Given { link, rate, .. } = self.scratch.given[place];
            let of = link.unwrap_or(links + number);
            let clock = &mut self.clocks[of as usize];
            if clock.rate != rate {
                clock.settle(self.now);
                clock.rate = rate;
                self.scratch.touched.push(of);
            }
        }
        for (place, left) in moved.drain(..) {
            let number = part[place as usize];
            let link = self.scratch.given[place as usize].link;
            self.attach(number, link.unwrap_or(links + number), link.is_some(), left);
        }
        self.touch();
        part.clear();
        (self.scratch.flows, self.scratch.moved) = (part, moved);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let lists: usize = self.links.iter().map(|link| link.flows.capacity() * size_of::<(u32, u32)>()).sum();
        let clocks: usize = self.clocks.iter().map(|clock| clock.ends.capacity() * size_of::<(f64, u64)>()).sum();
        let flows: usize = self.flows.iter().map(|flow| flow.places.capacity() * size_of::<u32>()).sum();
        lists
            + clocks
            + flows
            + self.ends.bytes()
            + self.levels.as_ref().map_or(0, Levels::bytes)
            + self.links.capacity() * size_of::<Link>()
            + self.clocks.capacity() * size_of::<Clock>()
            + self.flows.capacity() * (size_of::<Flow>() + size_of::<[u32; 2]>())
    }

    /// Bytes of tables with a place for each flow, which grow with the number of flows under way.
    pub fn bytes_at_least(&self) -> usize {
        self.flows.capacity() * (size_of::<Flow>() + size_of::<Clock>()) + self.ends.bytes()
    }

    /// Checks that no link carries more than its rate, and that every flow has one.
    pub fn audit(&mut self) -> Result<(), String> {
        self.refresh();
        for (number, link) in self.links.iter().enumerate() {
            let carried: f64 = link
                .flows
                .iter()
                .map(|&(flow, place)| {
                    let flow = &self.flows[flow as usize];
                    self.clocks[flow.clock as usize].rate * flow.hops[place as usize].share
                })
                .sum();
            if carried > link.rate * (1.0 + 1e-9) {
                return Err(format!("link {number} carries {carried} of {}", link.rate));
            }
        }
        let rate = |flow: &Flow| self.clocks[flow.clock as usize].rate;
        match self.flows.iter().position(|flow| flow.tag.is_some() && rate(flow) <= 0.0) {
            Some(flow) => Err(format!("flow {flow} has no rate")),
            None => Ok(()),
        }
    }
}
