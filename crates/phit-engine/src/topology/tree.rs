//! Levels of routers above the endpoints: the arithmetic of a folded Clos network.

use super::divisor::Divisor;
use std::ops::Range;

/// The shape of a tree of routers in which a router has several parents, an extended generalised fat tree (Öhring,
/// Ibel, Das and Kumar, "On generalized fat trees", IPPS 1995).
///
/// The routers with endpoints are level 0. A *subtree* of level l is everything below a router of that level. Several
/// routers, its *copies*, have the same subtree. Routers are numbered level by level from 0 up, within a level subtree
/// by subtree, and within a subtree copy by copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    levels: Vec<Level>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Level {
    /// Ports of a router towards the endpoints.
    down: u16,
    /// Ports towards the next level.
    up: u16,
    /// Routers of the level.
    routers: Range<u32>,
    /// Routers with the same subtree.
    copies: Divisor,
    /// Routers of level 0 in a subtree.
    leaves: Divisor,
}

/// The position of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Level of the router.
    pub level: usize,
    /// Subtree of the router, counted in its level.
    pub subtree: u32,
    /// Number of the router among the copies of its subtree.
    pub copy: u32,
}

impl Tree {
    /// A tree of routers. In level l, a router has `down[l]` ports towards the endpoints and `up[l]` ports towards the
    /// next level. `None` if there are more routers or endpoints than `most`, or no levels.
    pub(super) fn new(down: &[u16], up: &[u16], most: u64) -> Option<Self> {
        let product = |counts: &[u16]| counts.iter().try_fold(1u64, |all, &n| all.checked_mul(n.into()));
        let (mut levels, mut first) = (Vec::new(), 0);
        for (level, &ports) in down.iter().enumerate() {
            let copies = product(&up[..level])?;
            let count = product(&down[level + 1..])?.checked_mul(copies).filter(|&count| count <= most - first)?;
            levels.push(Level {
                down: ports,
                up: up.get(level).copied().unwrap_or(0),
                routers: first as u32..(first + count) as u32,
                copies: Divisor::new(copies as u32),
                leaves: Divisor::new(product(&down[1..=level])? as u32),
            });
            first += count;
        }
        (!levels.is_empty() && product(down)? <= most).then_some(Self { levels })
    }

    /// Number of levels.
    #[inline]
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Routers of all levels.
    pub fn total(&self) -> u32 {
        self.levels.last().map_or(0, |top| top.routers.end)
    }

    /// The routers of `level`.
    #[inline]
    pub fn routers(&self, level: usize) -> Range<u32> {
        self.levels[level].routers.clone()
    }

    /// Ports of a router of `level` towards the endpoints: the first ones. At level 0 these are endpoints.
    #[inline]
    pub fn down(&self, level: usize) -> u16 {
        self.levels[level].down
    }

    /// Ports of a router of `level` towards the next level: the last ones; none at the top.
    #[inline]
    pub fn up(&self, level: usize) -> u16 {
        self.levels[level].up
    }

    /// Routers of level 0 below a router of `level`.
    #[inline]
    pub fn leaves(&self, level: usize) -> u32 {
        self.levels[level].leaves.get()
    }

    /// The level of `router`.
    #[inline]
    pub fn level(&self, router: u32) -> usize {
        self.levels.iter().take_while(|level| level.routers.end <= router).count()
    }

    /// The position of `router`.
    #[inline]
    pub fn place(&self, router: u32) -> Place {
        self.place_in(self.level(router), router)
    }

    /// The position of `router`, given its level.
    #[inline]
    pub(super) fn place_in(&self, level: usize, router: u32) -> Place {
        let Level { routers, copies, .. } = &self.levels[level];
        let (subtree, copy) = copies.div_rem(router - routers.start);
        Place { level, subtree, copy }
    }

    /// The router at `place`.
    #[inline]
    pub fn router(&self, place: Place) -> u32 {
        let Level { routers, copies, .. } = &self.levels[place.level];
        routers.start + place.subtree * copies.get() + place.copy
    }

    /// The port of the router at `place` that leads down to router `leaf` of level 0; `None` if the route must go up.
    #[inline]
    pub fn descent(&self, place: Place, leaf: u32) -> Option<u16> {
        let (subtree, rest) = self.levels[place.level].leaves.div_rem(leaf);
        let lower = self.levels[place.level.checked_sub(1)?].leaves;
        (subtree == place.subtree).then(|| lower.quotient(rest) as u16)
    }

    /// The level of the nearest router that is above both of two routers of level 0.
    #[inline]
    pub fn meeting(&self, a: u32, b: u32) -> usize {
        self.levels.iter().take_while(|level| level.leaves.quotient(a) != level.leaves.quotient(b)).count()
    }

    /// The router behind up-port `port` (counted from 0) of the router at `place`, and its port.
    pub(super) fn parent(&self, place: Place, port: u16) -> (u32, u16) {
        let above = place.level + 1;
        let children = u32::from(self.levels[above].down);
        let copy = place.copy * u32::from(self.up(place.level)) + u32::from(port);
        let router = self.router(Place { level: above, subtree: place.subtree / children, copy });
        (router, (place.subtree % children) as u16)
    }

    /// The router behind down-port `port` of the router at `place`, which is above level 0, and its port.
    pub(super) fn child(&self, place: Place, port: u16) -> (u32, u16) {
        let below = place.level - 1;
        let parents = u32::from(self.up(below));
        let subtree = place.subtree * u32::from(self.down(place.level)) + u32::from(port);
        let router = self.router(Place { level: below, subtree, copy: place.copy / parents });
        (router, self.down(below) + (place.copy % parents) as u16)
    }

    /// The up-port (counted from 0) that destination-based routing takes at the router at `place` for the number `key`:
    /// its digit of this level in the mixed radix of the up-ports (D-mod-k: Zahavi, Johnson, Kerbyson and Lang,
    /// "Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns", 2010).
    #[inline]
    pub fn digit(&self, level: usize, key: u32) -> u16 {
        let Level { copies, up, .. } = &self.levels[level];
        (copies.quotient(key) % u32::from((*up).max(1))) as u16
    }
}
