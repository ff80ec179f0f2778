//! Jellyfish: routers linked at random.

use super::{regular, routers};
use crate::engine::{Rng, Stream, poll};
use crate::error::ScenarioError;
use crate::topology::{Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Jellyfish (Singla, Hong, Popa and Godfrey, "Jellyfish: networking data centers randomly", NSDI 2012): a random graph
/// in which every router has `links` links to other routers. Pairs of routers with free ports that are not linked yet
/// are drawn and linked, until there are none; two free ports that are left then take the place of a link between two
/// others. If the number of all ports is odd, one is left free.
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
    /// Seed of the draw: the same graph whatever the seed of the run.
    #[serde(default)]
    pub seed: u64,
}

fn one() -> u32 {
    1
}

/// A random graph while it is drawn.
struct Draft {
    linked: BTreeSet<[u32; 2]>,
    /// Free ports of each router.
    free: Vec<u32>,
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
        self.free[a as usize] -= 1;
        self.free[b as usize] -= 1;
    }

    /// Two routers with free ports that are not linked, at random; `None` if there are none.
    fn draw(&self, rng: &mut Rng) -> Option<(u32, u32)> {
        let open: Vec<u32> = (0..self.free.len() as u32).filter(|&router| self.free[router as usize] > 0).collect();
        // Nearly every draw serves while many are open. At the end all pairs are listed.
        let drawn = (0..64 * u32::from(open.len() > 1)).find_map(|_| {
            let (a, b) = (open[rng.below(open.len() as u32) as usize], open[rng.below(open.len() as u32) as usize]);
            (a != b && !self.are_linked(a, b)).then_some((a, b))
        });
        drawn.or_else(|| {
            let pairs = open.iter().enumerate().flat_map(|(i, &a)| open[i + 1..].iter().map(move |&b| (a, b)));
            let left: Vec<(u32, u32)> = pairs.filter(|&(a, b)| !self.are_linked(a, b)).collect();
            (!left.is_empty()).then(|| left[rng.below(left.len() as u32) as usize])
        })
    }

    /// Uses a free port of router `a` and one of router `b`, which may be the same: the two take the place of a link
    /// between two others, of which one is not linked to `a` and the other not to `b`.
    fn put_between(&mut self, [a, b]: [u32; 2], rng: &mut Rng) -> bool {
        let apart = |router: u32, end: u32| end != router && !self.are_linked(router, end);
        let both_ways = self.linked.iter().flat_map(|&[c, d]| [[c, d], [d, c]]);
        let fit: Vec<[u32; 2]> = both_ways.filter(|&[c, d]| apart(a, c) && apart(b, d)).collect();
        if fit.is_empty() {
            return false;
        }
        let [c, d] = fit[rng.below(fit.len() as u32) as usize];
        self.linked.remove(&pair(c, d));
        self.free[c as usize] += 1;
        self.free[d as usize] += 1;
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
    fn needs(&self) -> f64 {
        // A byte for each pair of routers: their distance.
        let routers = f64::from(self.routers);
        routers * routers
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let count = routers("routers", self.routers, self.routers.into())?;
        if self.links >= count {
            let expected = format!("expected fewer than {count}, the number of routers");
            return Err(ScenarioError::new("links", self.links, expected));
        }
        let mut rng = Rng::new(self.seed, Stream::Topology, 0);
        let mut draft = Draft { linked: BTreeSet::new(), free: vec![self.links; count as usize] };
        loop {
            while let Some((a, b)) = draft.draw(&mut rng) {
                poll();
                draft.link(a, b);
            }
            if !draft.left().is_some_and(|ports| draft.put_between(ports, &mut rng)) {
                break;
            }
        }
        let blame = |error: ScenarioError| {
            let expected = format!("with seed {} the graph falls apart ({error}); try another seed", self.seed);
            ScenarioError::new("links", self.links, expected)
        };
        regular(count, self.endpoints_per_router, draft.linked.into_iter(), 1).map_err(blame)
    }
}
