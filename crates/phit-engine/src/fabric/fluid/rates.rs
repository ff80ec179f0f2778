//! The rules by which flows share links.

use super::Sharing;
use super::ends::Ends;
use super::flows::{FIRST, Flow, Given, Key, Link, Part};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Links whose ends differ by less than this share are full together.
const TOGETHER: f64 = 1e-12;

/// The share that is offered to a flow behind another one in its queue.
const BEHIND: f64 = 1e-6;

/// Room for the search for rates.
#[derive(Debug)]
pub(super) struct Finder {
    /// By link: the rate that is not given away,
    left: Vec<f64>,
    /// the sum of the shares of flows without a rate,
    weight: Vec<f64>,
    /// and their number.
    open: Vec<u32>,
    /// By flow: its place among the flows of the part.
    places: Vec<u32>,
    /// By place: true if it has its rate.
    done: Vec<bool>,
    levels: BinaryHeap<Reverse<(Key, u32)>>,
    shares: Shares,
    /// By link.
    trees: Vec<Tree>,
    /// True if buffers are queues. A flow whose rest stands in the buffer of an input is ahead of flows that come
    /// through this input. Flows of one endpoint are in the order in which they began. A flow takes what flows ahead
    /// leave of the input's share. If false, all of them have as much.
    pub in_order: bool,
}

/// What flows may have of links, by place and hop.
#[derive(Debug, Default)]
struct Shares {
    /// By place: its first hop among the following.
    first: Vec<u32>,
    /// By hop: the rate that the link offers.
    offers: Vec<f64>,
    /// By place: the least of these.
    least: Vec<f64>,
    /// By place: no rate above this.
    most: Vec<f64>,
    /// Flows whose least offer must be found again, by place.
    unsure: Marked,
    /// Links whose offers must be found again,
    stale: Marked,
    /// and those for which it must be found again when they are full.
    untimed: Marked,
    /// When links are full, by their place in the part, and then when flows have all that they can have alone.
    times: Ends,
    /// By link: its place in the part.
    spots: Vec<u32>,
    /// Flows without a rate.
    open: usize,
}

/// A list of numbers, each at most once.
#[derive(Debug, Default)]
struct Marked {
    list: Vec<u32>,
    is_in: Vec<bool>,
}

impl Marked {
    /// Empties the list, and makes room for numbers below `count`.
    fn clear(&mut self, count: usize) {
        self.list.drain(..).for_each(|number| self.is_in[number as usize] = false);
        self.is_in.resize(count.max(self.is_in.len()), false);
    }

    fn add(&mut self, number: u32) {
        if !std::mem::replace(&mut self.is_in[number as usize], true) {
            self.list.push(number);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let number = self.list.pop()?;
        self.is_in[number as usize] = false;
        Some(number)
    }
}

/// A flow at a link, seen from a link before it.
#[derive(Debug, Clone, Copy)]
struct Item {
    flow: u32,
    /// Its hop at the link.
    hop: u32,
    /// Its hop at the link before; [`FIRST`] if there is none.
    at: u32,
}

/// The inputs of a link, the inputs before each of them, and so on back to the endpoints.
#[derive(Debug, Default)]
struct Tree {
    /// The version of the link's flows.
    version: u32,
    /// Each node is followed by all that comes through it; the first one is the link itself.
    nodes: Vec<Node>,
}

/// An input, or a flow from its endpoint.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The node after all that comes through it.
    end: u32,
    /// Flows that come through it.
    leaves: u32,
    /// The flow, and its hop at the link; [`FIRST`] for an input.
    flow: u32,
    hop: u32,
    /// Its share at the link.
    share: f64,
    /// The rate that has been given to its flows.
    taken: f64,
    /// How many of its flows have no rate.
    open: u32,
    /// True if its inputs stand in one queue, the first one ahead.
    in_order: bool,
    /// True if its flows without a rate take the least that is left to them.
    is_least: bool,
    /// The rate that it is offered.
    amount: f64,
}

impl Node {
    /// The share of its flows that have no rate.
    fn open_share(&self) -> f64 {
        f64::from(self.open) / f64::from(self.leaves)
    }
}

impl Tree {
    /// Makes it for the flows of a link.
    fn make(&mut self, link: &Link, flows: &[Flow], in_order: bool) {
        self.version = link.version;
        self.nodes.clear();
        let before = |&(flow, hop): &(u32, u32)| Item { flow, hop, at: flows[flow as usize].hops[hop as usize].before };
        let mut items: Vec<Item> = link.flows.iter().map(before).collect();
        self.add(flows, &mut items, in_order, true);
    }

    /// Adds the node through which `items` come. Several of them come through different inputs, or through one. With
    /// `in_order`, queues are in order, see [`Finder::in_order`]. With `is_root`, the node is the link, or an input
    /// beside it.
    fn add(&mut self, flows: &[Flow], items: &mut [Item], in_order: bool, is_root: bool) {
        let place = self.nodes.len();
        let (mut flow, mut hop, mut share) = (FIRST, FIRST, 0.0);
        if let [item] = items {
            (flow, hop, share) = (item.flow, item.hop, flows[item.flow as usize].hops[item.hop as usize].share);
        }
        let (end, leaves) = (place as u32 + 1, items.len() as u32);
        self.nodes.push(Node {
            end,
            leaves,
            flow,
            hop,
            share,
            taken: 0.0,
            open: 0,
            in_order: false,
            is_least: false,
            amount: 0.0,
        });
        if items.len() < 2 {
            return;
        }
        let hops = |item: &Item| &flows[item.flow as usize].hops;
        // Flows from endpoints are inputs of their own.
        let input = |item: &Item| match item.at {
            FIRST => (true, item.flow),
            at => (false, hops(item)[at as usize].link),
        };
        let is_input = place > 0 || items.iter().all(|item| input(item) == input(&items[0]));
        if in_order && is_root && is_input {
            // What stands in the buffer of this input is ahead of all that comes.
            let waits = |item: &Item| item.hop > 0 && flows[item.flow as usize].first == item.hop;
            items.sort_by_key(|item| (!waits(item), flows[item.flow as usize].order));
            let waiting = items.partition_point(waits);
            if waiting > 0 {
                self.nodes[place].in_order = true;
                let (waiting, others) = items.split_at_mut(waiting);
                waiting.chunks_mut(1).for_each(|item| self.add(flows, item, in_order, false));
                if !others.is_empty() {
                    self.add(flows, others, in_order, false);
                }
                self.nodes[place].end = self.nodes.len() as u32;
                return;
            }
        }
        while items.iter().all(|item| input(item) == input(&items[0])) {
            items.iter_mut().for_each(|item| item.at = hops(item)[item.at as usize].before);
        }
        if in_order && items.iter().all(|item| item.at == FIRST) {
            self.nodes[place].in_order = true;
            items.sort_unstable_by_key(|item| flows[item.flow as usize].order);
        } else {
            items.sort_unstable_by_key(|item| (input(item), item.flow));
        }
        for group in items.chunk_by_mut(|a, b| input(a) == input(b)) {
            if group[0].at != FIRST {
                group.iter_mut().for_each(|item| item.at = hops(item)[item.at as usize].before);
            }
            self.add(flows, group, in_order, is_root);
        }
        self.nodes[place].end = self.nodes.len() as u32;
    }

    /// Divides `amount` equally among the inputs, and each input's share among the inputs before it. An input whose
    /// flows have other limits takes no more than they do. `given` is the rate of a flow that has one.
    fn divide(&mut self, amount: f64, given: impl Fn(u32) -> Option<f64>) {
        for place in (0..self.nodes.len()).rev() {
            let node = self.nodes[place];
            let (taken, open) = if node.flow == FIRST {
                let sum = |(taken, open): (f64, u32), child: usize| {
                    (taken + self.nodes[child].taken, open + self.nodes[child].open)
                };
                self.children(place).fold((0.0, 0), sum)
            } else {
                given(node.flow).map_or((0.0, 1), |rate| (rate * node.share, 0))
            };
            let node = &mut self.nodes[place];
            (node.taken, node.open) = (taken, open);
        }
        if let Some(root) = self.nodes.first_mut() {
            root.amount = amount;
        }
        for place in 0..self.nodes.len() {
            if self.nodes[place].in_order && self.nodes[place].open > 0 {
                self.queue(place);
            } else if self.nodes[place].flow == FIRST && self.nodes[place].open > 0 {
                let level = self.level(place);
                let mut child = place + 1;
                while child < self.nodes[place].end as usize {
                    let node = &mut self.nodes[child];
                    node.amount = (level - node.taken).max(level * node.open_share());
                    child = node.end as usize;
                }
            }
        }
    }

    /// Offers the amount of a node to the first of its flows that has no rate. The flows behind it are offered next to
    /// nothing: a flow without a rate would never end.
    fn queue(&mut self, place: usize) {
        let node = self.nodes[place];
        let mut left = (node.amount - node.taken).max(node.amount * BEHIND);
        let mut child = place + 1;
        while child < node.end as usize {
            let node = &mut self.nodes[child];
            if node.open > 0 {
                node.amount = node.taken + left;
                left *= BEHIND;
            }
            child = node.end as usize;
        }
    }

    /// The places of the inputs of a node.
    fn children(&self, place: usize) -> impl Iterator<Item = usize> {
        let end = self.nodes[place].end as usize;
        let inside = move |child: &usize| *child < end;
        std::iter::successors(Some(place + 1).filter(inside), move |&child| {
            Some(self.nodes[child].end as usize).filter(inside)
        })
    }

    /// The share of each input of a node at which those with flows that have no rate take its amount together. An input
    /// takes what its share leaves, and at least its flows' part of the share.
    fn level(&mut self, place: usize) -> f64 {
        let end = self.nodes[place].end as usize;
        let mut child = place + 1;
        while child < end {
            let node = &mut self.nodes[child];
            node.is_least = node.open == 0;
            child = node.end as usize;
        }
        loop {
            let (mut over, mut under) = (self.nodes[place].amount, 0.0);
            for child in self.children(place) {
                let node = &self.nodes[child];
                match node.is_least {
                    false => (over, under) = (over + node.taken, under + 1.0),
                    true => under += node.open_share(),
                }
            }
            let level = over / under;
            let mut changed = false;
            let mut child = place + 1;
            while child < end {
                let node = &mut self.nodes[child];
                if !node.is_least && level - node.taken < level * node.open_share() {
                    (node.is_least, changed) = (true, true);
                }
                child = node.end as usize;
            }
            if !changed {
                return level;
            }
        }
    }
}

impl Finder {
    pub(super) fn new(links: usize) -> Self {
        Self {
            left: vec![0.0; links],
            weight: vec![0.0; links],
            open: vec![0; links],
            places: Vec::new(),
            done: Vec::new(),
            levels: BinaryHeap::new(),
            shares: Shares::default(),
            trees: Vec::new(),
            in_order: false,
        }
    }

    /// Numbers the flows of the part, and counts them at its links.
    fn begin(&mut self, links: &[Link], flows: &[Flow], part: &Part) {
        self.places.resize(flows.len(), 0);
        self.done.clear();
        self.done.resize(part.flows.len(), false);
        for (place, &flow) in (0..).zip(&part.flows) {
            self.places[flow as usize] = place;
        }
        for &number in &part.links {
            let (link, number) = (&links[number as usize], number as usize);
            self.left[number] = link.rate;
            self.open[number] = link.flows.len() as u32;
            let share = |&(flow, hop): &(u32, u32)| flows[flow as usize].hops[hop as usize].share;
            self.weight[number] = link.flows.iter().map(share).sum();
        }
    }

    /// Gives the flow at `place` its rate.
    fn give(&mut self, flow: &Flow, part: &mut Part, place: usize, given: Given) {
        part.given[place] = given;
        self.done[place] = true;
        for hop in flow.active() {
            if part.has(hop.link) {
                let link = hop.link as usize;
                self.left[link] = (self.left[link] - hop.share * given.rate).max(0.0);
                self.weight[link] -= hop.share;
                self.open[link] -= 1;
            }
        }
    }

    /// Max-min fair rates: all grow alike, until a link is full. Its flows then keep their rate.
    pub(super) fn max_min(&mut self, links: &[Link], flows: &[Flow], part: &mut Part) {
        self.begin(links, flows, part);
        self.levels.clear();
        let level = |finder: &Self, link: usize| finder.left[link] / finder.weight[link];
        for &link in &part.links {
            self.levels.push(Reverse((Key(level(self, link as usize)), link)));
        }
        let all = links.len() as u32;
        for (place, &number) in (0..).zip(&part.flows) {
            let flow = &flows[number as usize];
            // A link of the part that is as narrow as the narrowest stops the flow by itself.
            let stops = |hop: &super::Hop| part.has(hop.link) && links[hop.link as usize].rate / hop.share <= flow.most;
            if !flow.active().iter().any(stops) {
                self.levels.push(Reverse((Key(flow.most), all + place)));
            }
        }
        while let Some(Reverse((Key(found), number))) = self.levels.pop() {
            if let Some(place) = number.checked_sub(all) {
                if !self.done[place as usize] {
                    let flow = &flows[part.flows[place as usize] as usize];
                    self.give(flow, part, place as usize, Given { rate: found, link: None, held: FIRST });
                }
                continue;
            }
            let link = number as usize;
            if self.open[link] == 0 {
                continue;
            }
            // Levels only rise, so one that has changed since is filed again.
            let now = level(self, link);
            if now > found {
                self.levels.push(Reverse((Key(now), number)));
                continue;
            }
            for &(flow, held) in &links[link].flows {
                let place = self.places[flow as usize] as usize;
                if !self.done[place] {
                    self.give(&flows[flow as usize], part, place, Given { rate: found, link: Some(number), held });
                }
            }
        }
    }

    /// Rates by the offers of links, see [`Sharing::PerInput`]. Each flow grows in proportion to the least offer on its
    /// way, until a link is full; then its flows keep their rates, and the other links offer what is left.
    ///
    /// With `coupled`, a queue keeps its proportions, see [`super::Fluid::head_of_line`].
    pub(super) fn by_share(
        &mut self,
        links: &[Link],
        flows: &[Flow],
        part: &mut Part,
        sharing: Sharing,
        coupled: bool,
    ) {
        self.begin(links, flows, part);
        let mut shares = std::mem::take(&mut self.shares);
        shares.begin(links, flows, part);
        let spots = part.links.len() as u32;
        let mut reached = Vec::new();
        while shares.open > 0 {
            while let Some(link) = shares.stale.pop() {
                self.offer(links, flows, part, &mut shares, sharing, link);
            }
            while let Some(place) = shares.unsure.pop() {
                let hops = &flows[part.flows[place as usize] as usize].hops;
                let first = shares.first[place as usize] as usize;
                let offers = &shares.offers[first..first + hops.len()];
                let least = offers.iter().copied().fold(shares.most[place as usize], f64::min);
                if !self.done[place as usize] {
                    shares.times.set(spots + place, Some(shares.most[place as usize] / least));
                    if shares.least[place as usize] == least {
                        continue;
                    }
                    shares.least[place as usize] = least;
                    let active = flows[part.flows[place as usize] as usize].active();
                    active.iter().filter(|hop| part.has(hop.link)).for_each(|hop| shares.untimed.add(hop.link));
                }
            }
            while let Some(link) = shares.untimed.pop() {
                let of = |&(flow, hop): &(u32, u32)| {
                    let place = self.places[flow as usize] as usize;
                    let share = flows[flow as usize].hops[hop as usize].share;
                    if self.done[place] { 0.0 } else { share * shares.least[place] }
                };
                let asked: f64 = links[link as usize].flows.iter().map(of).sum();
                let time = (asked > 0.0).then(|| self.left[link as usize] / asked);
                shares.times.set(shares.spots[link as usize], time);
            }
            let Some((time, _)) = shares.times.first() else { break };
            let limit = time * (1.0 + TOGETHER);
            reached.clear();
            while let Some((at, number)) = shares.times.first()
                && at <= limit
            {
                shares.times.set(number, None);
                reached.push(number);
            }
            reached.sort_unstable();
            let full = reached.partition_point(|&number| number < spots);
            let mut given = Vec::new();
            for &spot in &reached[..full] {
                shares.untimed.add(part.links[spot as usize]);
                for &(flow, hop) in &links[part.links[spot as usize] as usize].flows {
                    let place = self.places[flow as usize] as usize;
                    if !self.done[place] {
                        self.done[place] = true;
                        given.push((place, time * shares.least[place], Some(hop)));
                    }
                }
            }
            for place in reached[full..].iter().map(|&number| (number - spots) as usize) {
                if !self.done[place] {
                    self.done[place] = true;
                    given.push((place, shares.most[place], None));
                }
            }
            shares.open -= given.len();
            for &(place, rate, hop) in &given {
                shares.times.set(spots + place as u32, None);
                let flow = &flows[part.flows[place] as usize];
                self.give(flow, part, place, Given { rate, link: None, held: hop.unwrap_or(FIRST) });
                for hop in flow.active().iter().filter(|hop| part.has(hop.link)) {
                    shares.stale.add(hop.link);
                    shares.untimed.add(hop.link);
                }
            }
            if coupled {
                for (place, rate, hop) in given {
                    if let Some(hop) = hop {
                        self.hold_back(links, flows, part, &mut shares, (place, rate, hop));
                    }
                }
            }
        }
        self.shares = shares;
    }

    /// The flow at `place` is held back at its hop `hop`. Its queues before are full, so whatever stands in them with
    /// it moves no faster, in proportion.
    fn hold_back(
        &self,
        links: &[Link],
        flows: &[Flow],
        part: &Part,
        shares: &mut Shares,
        (place, rate, hop): (usize, f64, u32),
    ) {
        let flow = &flows[part.flows[place] as usize];
        let mut at = flow.hops[hop as usize].before;
        while at != FIRST && at >= flow.first {
            let link = flow.hops[at as usize].link;
            let own = shares.offers[shares.first[place] as usize + at as usize].min(flow.most);
            if part.has(link) && own > rate * (1.0 + TOGETHER) {
                for &(other, hop) in &links[link as usize].flows {
                    let there = self.places[other as usize] as usize;
                    if !self.done[there] {
                        let offer = shares.offers[shares.first[there] as usize + hop as usize];
                        let offer = offer.min(flows[other as usize].most);
                        shares.most[there] = shares.most[there].min(rate * offer / own);
                        shares.unsure.add(there as u32);
                    }
                }
            }
            at = flow.hops[at as usize].before;
        }
    }

    /// Offers the rate that is left of a link to those of its flows that have no rate.
    fn offer(
        &mut self,
        links: &[Link],
        flows: &[Flow],
        part: &Part,
        shares: &mut Shares,
        sharing: Sharing,
        number: u32,
    ) {
        let link = &links[number as usize];
        let left = self.left[number as usize];
        if self.open[number as usize] == 0 {
            return;
        }
        let Self { trees, done, places, weight, .. } = self;
        if sharing == Sharing::MaxMin {
            let level = left / weight[number as usize];
            for &(flow, hop) in &link.flows {
                shares.set(places[flow as usize], hop, level);
            }
            return;
        }
        if trees.len() <= number as usize {
            trees.resize_with(links.len(), Tree::default);
        }
        let tree = &mut trees[number as usize];
        if tree.version != link.version {
            tree.make(link, flows, self.in_order);
        }
        tree.divide(left, |flow| {
            let place = places[flow as usize] as usize;
            done[place].then(|| part.given[place].rate)
        });
        for node in tree.nodes.iter().filter(|node| node.flow != FIRST && node.open > 0) {
            shares.set(places[node.flow as usize], node.hop, node.amount / node.share);
        }
    }
}

impl Shares {
    fn begin(&mut self, links: &[Link], flows: &[Flow], part: &Part) {
        self.first.clear();
        self.offers.clear();
        self.least.clear();
        self.most.clear();
        self.open = part.flows.len();
        self.times.clear();
        self.spots.resize(links.len(), 0);
        (0..).zip(&part.links).for_each(|(spot, &link)| self.spots[link as usize] = spot);
        self.unsure.clear(part.flows.len());
        self.stale.clear(links.len());
        self.untimed.clear(links.len());
        for (place, &number) in (0..).zip(&part.flows) {
            let flow = &flows[number as usize];
            self.first.push(self.offers.len() as u32);
            self.offers.resize(self.offers.len() + flow.hops.len(), f64::INFINITY);
            self.least.push(flow.most);
            self.most.push(flow.most);
            self.unsure.add(place);
        }
        for &link in &part.links {
            self.stale.add(link);
            self.untimed.add(link);
        }
    }

    /// A link offers a flow another rate.
    fn set(&mut self, place: u32, hop: u32, offer: f64) {
        let known = &mut self.offers[(self.first[place as usize] + hop) as usize];
        if *known != offer {
            *known = offer;
            self.unsure.add(place);
        }
    }
}
