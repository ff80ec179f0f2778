//! The global links of a Cascade: their ports, and the links with which a route has fewest hops.

use super::Coordinates;
use crate::engine::{Rng, poll};

/// The links between the groups, which look alike from every group. Bundle i leads to the group that is i = 1, 2, ...,
/// G - 1 groups `ahead`.
///
/// A group numbers its global ports: port j of router r is slot s = r * ports + j. Slot s leads to the group 1 + s mod
/// (G - 1) ahead, as link number s / (G - 1) of that bundle. Slots of an incomplete last round stay unconnected. So the
/// links of a bundle are spread evenly over the routers.
#[derive(Debug)]
pub(super) struct Bundles {
    groups: u32,
    /// Global ports of a router.
    ports: u32,
    /// Links from one group to another.
    links: u32,
    /// By bundle (from the bundle to the next group on) and link: the routers at its near and at its far end.
    ends: Vec<(u32, u32)>,
    /// Hops inside a group from router to router.
    inside: Vec<u8>,
    size: u32,
}

impl Bundles {
    /// The links between `groups` groups of these routers with `ports` global ports each.
    pub(super) fn new(at: &Coordinates, groups: u32, ports: u32) -> Self {
        let size = at.routers;
        let hops = |a, b| at.pairs(a, b).map(|(x, y)| u8::from(x != y)).sum();
        let inside = (0..size).flat_map(|a| (0..size).map(move |b| hops(a, b))).collect();
        let others = groups - 1;
        let links = (size * ports).checked_div(others).unwrap_or(0);
        let slot = |ahead: u32, link: u32| ahead - 1 + link * others;
        let end = |ahead, link| (slot(ahead, link) / ports, slot(groups - ahead, link) / ports);
        let ends = (1..groups).flat_map(|ahead| (0..links).map(move |link| end(ahead, link))).collect();
        Self { groups, ports, links, ends, inside, size }
    }

    /// Global ports of a router.
    pub(super) fn ports(&self) -> u32 {
        self.ports
    }

    /// Number of groups by which `to` is ahead of `from`.
    #[inline]
    pub(super) fn ahead(&self, from: u32, to: u32) -> u32 {
        if to >= from { to - from } else { to + self.groups - from }
    }

    /// Hops from router to router of a group.
    #[inline]
    pub(super) fn inside(&self, from: u32, to: u32) -> u32 {
        self.inside[(from * self.size + to) as usize].into()
    }

    fn slot(&self, ahead: u32, link: u32) -> u32 {
        ahead - 1 + link * (self.groups - 1)
    }

    /// Router of the group and global port at the near end of a link.
    #[inline]
    pub(super) fn near(&self, ahead: u32, link: u32) -> (u32, u32) {
        let slot = self.slot(ahead, link);
        (slot / self.ports, slot % self.ports)
    }

    /// The far end of a router's global port, if it has one: groups ahead, router of the group, and port.
    pub(super) fn far_end(&self, router: u32, port: u32) -> Option<(u32, u32, u32)> {
        let slot = router * self.ports + port;
        let (link, ahead) = (slot / (self.groups - 1), 1 + slot % (self.groups - 1));
        let (to, back) = self.near(self.groups - ahead, link);
        (link < self.links).then_some((ahead, to, back))
    }

    #[inline]
    fn bundle(&self, ahead: u32) -> &[(u32, u32)] {
        let first = (ahead - 1) * self.links;
        &self.ends[first as usize..(first + self.links) as usize]
    }

    /// Hops from router `from` over each link of a bundle to router `to` of the other group, or to any router of it.
    #[inline]
    fn hops(&self, ahead: u32, from: u32, to: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        let row = |router: u32| &self.inside[(router * self.size) as usize..((router + 1) * self.size) as usize];
        let (near, far) = (row(from), to.map(row));
        let after = move |router: u32| far.map_or(0, |far| u32::from(far[router as usize]));
        self.bundle(ahead).iter().map(move |&(out, into)| u32::from(near[out as usize]) + 1 + after(into))
    }

    /// Fewest hops over any link of a bundle, and the number of links with that few hops.
    #[inline]
    pub(super) fn fewest(&self, ahead: u32, from: u32, to: Option<u32>) -> (u32, u32) {
        self.hops(ahead, from, to).fold((u32::MAX, 0), |(least, count), hops| match hops.cmp(&least) {
            std::cmp::Ordering::Less => (hops, 1),
            std::cmp::Ordering::Equal => (least, count + 1),
            std::cmp::Ordering::Greater => (least, count),
        })
    }

    /// One of the links with fewest hops.
    #[inline]
    pub(super) fn draw(&self, ahead: u32, from: u32, to: Option<u32>, rng: &mut Rng) -> u32 {
        let (least, count) = self.fewest(ahead, from, to);
        let drawn = if count > 1 { rng.below(count) } else { 0 };
        let mut best = self.hops(ahead, from, to).zip(0..).filter(|(hops, _)| *hops == least);
        best.nth(drawn as usize).map_or(0, |(_, link)| link)
    }

    /// All links with fewest hops.
    pub(super) fn best(&self, ahead: u32, from: u32, to: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        let (least, _) = self.fewest(ahead, from, to);
        self.hops(ahead, from, to).zip(0..).filter(move |(hops, _)| *hops == least).map(|(_, link)| link)
    }

    /// Number of hops of the longest route. No route has more than `inside` hops inside its two groups.
    ///
    /// For each router, the far ends of a bundle are sorted by the hops to their near ends. Then one look tells whether
    /// a router of the other group is such a far end, or shares a row or a column with one.
    pub(super) fn longest(&self, at: &Coordinates, inside: u32) -> u32 {
        let mut longest = 0;
        for ahead in 1..self.groups {
            for from in 0..self.size {
                poll();
                longest = longest.max(self.farthest(at, ahead, from));
                if longest > inside {
                    return longest;
                }
            }
        }
        longest
    }

    /// The largest number of hops from router `from` over a bundle to a router of the other group; all ones if there is
    /// no link.
    fn farthest(&self, at: &Coordinates, ahead: u32, from: u32) -> u32 {
        // By hops to the near end: routers at the far end, their columns and their rows.
        let mut seen = [const { (Vec::new(), Vec::new(), Vec::new()) }; 3];
        for (routers, columns, rows) in &mut seen {
            *routers = vec![false; self.size as usize];
            *columns = vec![false; self.size as usize];
            *rows = vec![false; self.size as usize];
        }
        let mut any = [false; 3];
        for &(out, into) in self.bundle(ahead) {
            let hops = self.inside(from, out) as usize;
            any[hops] = true;
            seen[hops].0[into as usize] = true;
            seen[hops].1[at.column(into) as usize] = true;
            seen[hops].2[at.row(into) as usize] = true;
        }
        let fewest = |to: u32| {
            let (column, row) = (at.column(to) as usize, at.row(to) as usize);
            let over = |hops: usize| {
                let (routers, columns, rows) = &seen[hops];
                let after = match () {
                    () if routers[to as usize] => 0,
                    () if columns[column] || rows[row] => 1,
                    () => 2,
                };
                hops as u32 + 1 + after
            };
            (0..3).filter(|&hops| any[hops]).map(over).min().unwrap_or(u32::MAX)
        };
        (0..self.size).map(fewest).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_route_is_the_longest_of_all() {
        for (columns, rows, groups, ports) in [(3, 2, 3, 2), (4, 1, 2, 1), (2, 3, 4, 1), (5, 4, 3, 3), (1, 1, 3, 2)] {
            let at = Coordinates::new(&[columns, rows], 1).unwrap();
            let bundles = Bundles::new(&at, groups, ports);
            let pairs = || (0..at.routers).flat_map(|from| (0..at.routers).map(move |to| (from, to)));
            let all = (1..groups).flat_map(|ahead| pairs().map(move |(from, to)| (ahead, from, to)));
            let longest = all.map(|(ahead, from, to)| bundles.fewest(ahead, from, Some(to)).0).max();
            assert_eq!(Some(bundles.longest(&at, u32::MAX)), longest, "{columns} x {rows}, {groups}, {ports}");
        }
    }
}
