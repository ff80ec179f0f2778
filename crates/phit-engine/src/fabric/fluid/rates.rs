//! The rules by which flows share links.

use super::Sharing;
use super::flows::{FIRST, Flow, Given, Key, Link, Part};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Links whose ends differ by less than this share are full together.
const TOGETHER: f64 = 1e-12;

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
    items: Vec<Item>,
    stale: Vec<u32>,
    is_stale: Vec<bool>,
}

/// A flow at a link, seen from a link before it.
#[derive(Debug, Clone, Copy)]
struct Item {
    place: u32,
    /// Its hop at the link.
    hop: u32,
    /// Its hop at the link before; [`FIRST`] if there is none.
    at: u32,
    /// That link.
    link: u32,
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
        for hop in &*flow.hops {
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
            if !flow.hops.iter().any(stops) {
                self.levels.push(Reverse((Key(flow.most), all + place)));
            }
        }
        while let Some(Reverse((Key(found), number))) = self.levels.pop() {
            if let Some(place) = number.checked_sub(all) {
                if !self.done[place as usize] {
                    let flow = &flows[part.flows[place as usize] as usize];
                    self.give(flow, part, place as usize, Given { rate: found, link: None });
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
            for &(flow, _) in &links[link].flows {
                let place = self.places[flow as usize] as usize;
                if !self.done[place] {
                    self.give(&flows[flow as usize], part, place, Given { rate: found, link: Some(number) });
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
        let mut open = part.flows.len();
        while open > 0 {
            while let Some(link) = shares.stale.pop() {
                shares.is_stale[link as usize] = false;
                self.offer(links, flows, part, &mut shares, sharing, link);
            }
            let mut time = f64::INFINITY;
            for (place, &number) in part.flows.iter().enumerate() {
                if self.done[place] {
                    continue;
                }
                let hops = &flows[number as usize].hops;
                let first = shares.first[place] as usize;
                let offers = &shares.offers[first..first + hops.len()];
                let least = offers.iter().copied().fold(shares.most[place], f64::min);
                shares.least[place] = least;
                time = time.min(shares.most[place] / least);
            }
            let full_at = |finder: &Self, shares: &Shares, link: u32| {
                let of = |&(flow, hop): &(u32, u32)| {
                    let place = finder.places[flow as usize] as usize;
                    let share = flows[flow as usize].hops[hop as usize].share;
                    if finder.done[place] { 0.0 } else { share * shares.least[place] }
                };
                let asked: f64 = links[link as usize].flows.iter().map(of).sum();
                if asked > 0.0 { finder.left[link as usize] / asked } else { f64::INFINITY }
            };
            let times: Vec<f64> = part.links.iter().map(|&link| full_at(self, &shares, link)).collect();
            time = times.iter().copied().fold(time, f64::min);
            let limit = time * (1.0 + TOGETHER);
            let mut given = Vec::new();
            for (&link, _) in part.links.iter().zip(&times).filter(|(_, at)| **at <= limit) {
                for &(flow, hop) in &links[link as usize].flows {
                    let place = self.places[flow as usize] as usize;
                    if !self.done[place] {
                        self.done[place] = true;
                        given.push((place, time * shares.least[place], Some(hop)));
                    }
                }
            }
            for place in 0..part.flows.len() {
                if !self.done[place] && shares.most[place] <= limit * shares.least[place] {
                    self.done[place] = true;
                    given.push((place, shares.most[place], None));
                }
            }
            open -= given.len();
            for &(place, rate, _) in &given {
                let flow = &flows[part.flows[place] as usize];
                self.give(flow, part, place, Given { rate, link: None });
                for hop in flow.hops.iter().filter(|hop| part.has(hop.link)) {
                    shares.spoil(hop.link);
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
        while at != FIRST {
            let link = flow.hops[at as usize].link;
            let own = shares.offers[shares.first[place] as usize + at as usize].min(flow.most);
            if part.has(link) && own > rate * (1.0 + TOGETHER) {
                for &(other, hop) in &links[link as usize].flows {
                    let there = self.places[other as usize] as usize;
                    if !self.done[there] {
                        let offer = shares.offers[shares.first[there] as usize + hop as usize];
                        let offer = offer.min(flows[other as usize].most);
                        shares.most[there] = shares.most[there].min(rate * offer / own);
                    }
                }
            }
            at = flow.hops[at as usize].before;
        }
    }

    /// Offers the rate that is left of a link to those of its flows that have no rate.
    fn offer(&self, links: &[Link], flows: &[Flow], part: &Part, shares: &mut Shares, sharing: Sharing, number: u32) {
        let link = &links[number as usize];
        let left = self.left[number as usize];
        if self.open[number as usize] == 0 {
            return;
        }
        if sharing == Sharing::MaxMin {
            let level = left / self.weight[number as usize];
            for &(flow, hop) in &link.flows {
                let first = shares.first[self.places[flow as usize] as usize];
                shares.offers[(first + hop) as usize] = level;
            }
            return;
        }
        let mut items = std::mem::take(&mut shares.items);
        items.clear();
        for &(flow, hop) in &link.flows {
            let place = self.places[flow as usize];
            items.push(Item { place, hop, at: flows[flow as usize].hops[hop as usize].before, link: 0 });
        }
        self.divide(flows, part, shares, &mut items, left);
        shares.items = items;
    }

    /// Divides `amount` equally among the inputs of a link from which `items` come, and each input's share among the
    /// inputs before it. An input whose flows have other limits takes no more than they do.
    fn divide(&self, flows: &[Flow], part: &Part, shares: &mut Shares, items: &mut [Item], amount: f64) {
        let hops = |item: &Item| &flows[part.flows[item.place as usize] as usize].hops;
        let mut groups;
        loop {
            for item in items.iter_mut() {
                // Flows from one endpoint are inputs of their own.
                item.link = match item.at {
                    FIRST => u32::MAX - item.place,
                    at => hops(item)[at as usize].link,
                };
            }
            items.sort_unstable_by_key(|item| (item.link, item.place, item.hop));
            groups = items.chunk_by(|a, b| a.link == b.link).map(<[Item]>::len).collect::<Vec<_>>();
            if groups.len() > 1 || items.iter().all(|item| item.at == FIRST) {
                break;
            }
            for item in items.iter_mut() {
                item.at = hops(item)[item.at as usize].before;
            }
        }
        // By group: the rate that has been given to its flows, and the share of its flows that have none.
        let mut start = 0;
        let inputs: Vec<(f64, f64)> = groups
            .iter()
            .map(|len| {
                let group = &items[start..start + len];
                start += len;
                let done = |item: &&Item| self.done[item.place as usize];
                let taken = |item: &Item| part.given[item.place as usize].rate * hops(item)[item.hop as usize].share;
                let open = group.len() - group.iter().filter(done).count();
                (group.iter().filter(done).map(taken).sum(), open as f64 / group.len() as f64)
            })
            .collect();
        let level = level(&inputs, amount);
        let mut rest = items;
        for (len, (taken, open)) in groups.into_iter().zip(inputs) {
            let (group, others) = rest.split_at_mut(len);
            rest = others;
            if open == 0.0 {
                continue;
            }
            let amount = (level - taken).max(level * open);
            match group {
                [Item { place, hop, at: FIRST, .. }] => {
                    let share = flows[part.flows[*place as usize] as usize].hops[*hop as usize].share;
                    shares.offers[(shares.first[*place as usize] + *hop) as usize] = amount / share;
                }
                group => {
                    for item in group.iter_mut() {
                        item.at = hops(item)[item.at as usize].before;
                    }
                    self.divide(flows, part, shares, group, amount);
                }
            }
        }
    }
}

/// The share of each input at which those with flows that have no rate take `amount` together. An input has (rates
/// given, share of flows without a rate), and takes what its share leaves; at least its flows' part of the share.
fn level(inputs: &[(f64, f64)], amount: f64) -> f64 {
    let mut plain: Vec<bool> = inputs.iter().map(|(_, open)| *open > 0.0).collect();
    loop {
        let (mut over, mut under) = (amount, 0.0);
        for (&(taken, open), &plain) in inputs.iter().zip(&plain) {
            match plain {
                true => (over, under) = (over + taken, under + 1.0),
                false => under += open,
            }
        }
        let level = over / under;
        let mut changed = false;
        for (&(taken, open), plain) in inputs.iter().zip(&mut plain) {
            if *plain && level - taken < level * open {
                (*plain, changed) = (false, true);
            }
        }
        if !changed {
            return level;
        }
    }
}

impl Shares {
    fn begin(&mut self, links: &[Link], flows: &[Flow], part: &Part) {
        self.first.clear();
        self.offers.clear();
        self.least.clear();
        self.most.clear();
        for &number in &part.flows {
            let flow = &flows[number as usize];
            self.first.push(self.offers.len() as u32);
            self.offers.resize(self.offers.len() + flow.hops.len(), f64::INFINITY);
            self.least.push(flow.most);
            self.most.push(flow.most);
        }
        self.is_stale.resize(links.len(), false);
        self.stale.drain(..).for_each(|link| self.is_stale[link as usize] = false);
        part.links.iter().for_each(|&link| self.spoil(link));
    }

    /// The offers of a link must be found again.
    fn spoil(&mut self, link: u32) {
        let stale = &mut self.is_stale[link as usize];
        if !*stale {
            *stale = true;
            self.stale.push(link);
        }
    }
}
