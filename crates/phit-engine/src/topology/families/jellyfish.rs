//! Jellyfish: routers linked at random.

use super::{Size, ill_drawn, regular};
use crate::engine::{Rng, Stream, poll};
use crate::error::ScenarioError;
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Jellyfish (Singla, Hong, Popa and Godfrey, "Jellyfish: networking data centers randomly", NSDI 2012): a random graph
/// in which every router has `links` links to other routers. Pairs of unlinked routers with free ports are drawn and
/// linked until there are none. Two free ports that remain then take the place of a link between two other routers. If
/// the number of all ports is odd, one stays free.
///
/// ```toml
/// [topology]
/// kind = "jellyfish"
/// routers = 64
/// links = 8
/// endpoints_per_router = 4
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jellyfish {
    /// Number of routers.
    #[schemars(range(min = 2))]
    pub routers: u32,
    /// Links of each router, fewer than there are routers.
    #[schemars(range(min = 1))]
    pub links: u32,
    /// Endpoints at each router.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: u32,
    /// Seed of the draw. It is independent of the run's seed, so all runs have the same graph.
    #[serde(default)]
    pub seed: u64,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

fn one() -> u32 {
    1
}

/// A random graph while it is drawn.
struct Draft {
    linked: BTreeSet<[u32; 2]>,
    /// Free ports of each router.
    free: Vec<u32>,
    open: Open,
}

/// The routers with free ports, in a tree of sums (P. M. Fenwick, "A new data structure for cumulative frequency
/// tables", Software: Practice and Experience 1994). The n-th of them is found in one step for each bit of the number
/// of routers.
struct Open {
    /// At place i: the number of open routers in the range before i whose length is the lowest bit of i.
    sums: Vec<u32>,
    count: u32,
}

impl Open {
    /// All routers.
    fn all(routers: u32) -> Self {
        Self { sums: (0..=routers).map(|place| place & place.wrapping_neg()).collect(), count: routers }
    }

    fn set(&mut self, router: u32, open: bool) {
        let change = if open { 1 } else { u32::MAX };
        self.count = self.count.wrapping_add(change);
        let mut place = router as usize + 1;
        while let Some(sum) = self.sums.get_mut(place) {
            *sum = sum.wrapping_add(change);
            place += place & place.wrapping_neg();
        }
    }

    /// The open router with `before` others before it.
    fn nth(&self, mut before: u32) -> u32 {
        let mut place = 0;
        for step in (0..usize::BITS - self.sums.len().leading_zeros()).rev().map(|bit| 1 << bit) {
            if self.sums.get(place + step).is_some_and(|&sum| sum <= before) {
                place += step;
                before -= self.sums[place];
            }
        }
        place as u32
    }
}

fn pair(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

impl Draft {
    fn are_linked(&self, a: u32, b: u32) -> bool {
        self.linked.contains(&pair(a, b))
    }

    fn link(&mut self, a: u32, b: u32) {
        self.linked.insert(pair(a, b));
        for router in [a, b] {
            self.free[router as usize] -= 1;
            if self.free[router as usize] == 0 {
                self.open.set(router, false);
            }
        }
    }

    fn unlink(&mut self, a: u32, b: u32) {
        self.linked.remove(&pair(a, b));
        for router in [a, b] {
            if self.free[router as usize] == 0 {
                self.open.set(router, true);
            }
            self.free[router as usize] += 1;
        }
    }

    /// Two routers with free ports that are not linked, at random; `None` if there are none.
    fn draw(&self, rng: &mut Rng) -> Option<(u32, u32)> {
        let Open { count, .. } = self.open;
        // Nearly every draw finds a pair while many are open. At the end, all pairs are listed.
        let drawn = (0..64 * u32::from(count > 1)).find_map(|_| {
            let (a, b) = (self.open.nth(rng.below(count)), self.open.nth(rng.below(count)));
            (a != b && !self.are_linked(a, b)).then_some((a, b))
        });
        drawn.or_else(|| {
            let open: Vec<u32> = (0..count).map(|before| self.open.nth(before)).collect();
            let pairs = open.iter().enumerate().flat_map(|(i, &a)| open[i + 1..].iter().map(move |&b| (a, b)));
            let left: Vec<(u32, u32)> = pairs.filter(|&(a, b)| !self.are_linked(a, b)).collect();
            (!left.is_empty()).then(|| left[rng.below(left.len() as u32) as usize])
        })
    }

    /// Uses a free port of router `a` and one of router `b`, which may be the same router. The two new links replace a
    /// link between two other routers, of which one is not linked to `a` and the other not to `b`.
    fn put_between(&mut self, [a, b]: [u32; 2], rng: &mut Rng) -> bool {
        let apart = |router: u32, end: u32| end != router && !self.are_linked(router, end);
        let both_ways = self.linked.iter().flat_map(|&[c, d]| [[c, d], [d, c]]);
        let fit: Vec<[u32; 2]> = both_ways.filter(|&[c, d]| apart(a, c) && apart(b, d)).collect();
        if fit.is_empty() {
            return false;
        }
        let [c, d] = fit[rng.below(fit.len() as u32) as usize];
        self.unlink(c, d);
        self.link(a, c);
        self.link(b, d);
        true
    }

    /// Two free ports, of one router or of two.
    fn left(&self) -> Option<[u32; 2]> {
        let mut ports = (0..).zip(&self.free).flat_map(|(router, &free)| (0..free).map(move |_| router));
        Some([ports.next()?, ports.next()?])
    }
}

impl TopologyParams for Jellyfish {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn needs(&self) -> f64 {
        // The distance table has a byte for each pair of routers.
        let routers = f64::from(self.routers);
        routers * routers
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        if self.links >= self.routers {
            let expected = format!("expected fewer than {}, the number of routers", self.routers);
            return Err(ScenarioError::new("links", self.links, expected));
        }
        let size = Size {
            of: ("routers", self.routers.to_string()),
            each: "endpoints_per_router",
            routers: self.routers.into(),
            links: self.links.into(),
            said: Some(self.endpoints_per_router),
            else_endpoints: 1,
        };
        let (count, endpoints) = size.check()?;
        let mut rng = Rng::new(self.seed, Stream::Topology, 0);
        let free = vec![self.links; count as usize];
        let mut draft = Draft { linked: BTreeSet::new(), free, open: Open::all(count) };
        loop {
            while let Some((a, b)) = draft.draw(&mut rng) {
                poll();
                draft.link(a, b);
            }
            if !draft.left().is_some_and(|ports| draft.put_between(ports, &mut rng)) {
                break;
            }
        }
        let links = draft.linked.into_iter();
        regular(count, endpoints, links, 1).map_err(|error| ill_drawn(self.seed, error))
    }
}
