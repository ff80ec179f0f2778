//! Unidirectional multistage networks.

use super::faults::Faults;
use super::{Hop, HopState, Leg, Peer, Port, Topology, TopologyParams, limits};
use crate::engine::Rng;
use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A unidirectional multistage network: n stages of k^(n-1) switches with k inputs and k outputs. There is exactly one
/// route from each of the k^n endpoints to each other (Dally and Towles, chapter 4).
///
/// Every endpoint has an adapter: a router with a port to the endpoint and a port to the first stage and from the last.
/// The adapters are routers 0 to k^n - 1, in the order of the endpoints. The switches follow, stage by stage. Links
/// between routers are of class `stage`.
///
/// ```toml
/// [topology]
/// kind = "multistage"
/// arity = 4
/// stages = 3
/// pattern = "perfect_shuffle"
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multistage {
    /// Inputs of a switch, and outputs, k: 2 or more.
    #[schemars(range(min = 2))]
    pub arity: u32,
    /// Stages, n: 1 to 31.
    #[schemars(range(min = 1, max = 31))]
    pub stages: u32,
    /// How the stages are linked.
    #[serde(default)]
    pub pattern: Interconnection,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

/// How the stages of a multistage network are linked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Interconnection {
    /// k-ary n-fly: a switch of stage s joins the lines whose numbers differ in digit n - 1 - s alone.
    #[default]
    Butterfly,
    /// Omega network: before every stage, a perfect shuffle rotates the numbers of the lines by one digit (Lawrie,
    /// "Access and alignment of data in an array processor", 1975).
    PerfectShuffle,
}

impl TopologyParams for Multistage {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let &Self { arity, stages, pattern, .. } = self;
        limits::ports("arity", arity, arity.into())?;
        let fits = u64::from(arity)
            .checked_pow(stages)
            .filter(|lines| lines.saturating_mul(1 + u64::from(stages)) <= limits::MOST);
        let Some(lines) = fits else {
            let expected = format!("too large; expected at most {} adapters and switches", limits::MOST);
            return Err(ScenarioError::new("arity", arity, expected));
        };
        let classes = ["endpoint", "stage"].map(str::to_owned);
        Ok(Arc::new(MultistageGraph { classes, arity, stages, lines: lines as u32, pattern }))
    }
}

/// The built network of [`Multistage`].
#[derive(Debug)]
pub(super) struct MultistageGraph {
    classes: [String; 2],
    arity: u32,
    stages: u32,
    /// Number of endpoints, and of lines between two stages.
    lines: u32,
    pattern: Interconnection,
}

/// An adapter's port to its endpoint.
const ENDPOINT: u16 = 0;
/// An adapter's port to the first stage and from the last.
const NETWORK: u16 = 1;

impl MultistageGraph {
    fn switches(&self) -> u32 {
        self.lines / self.arity
    }

    /// The stage and number of a router; `None` for an adapter.
    fn place(&self, router: u32) -> Option<(u32, u32)> {
        let switch = router.checked_sub(self.lines)?;
        Some((switch / self.switches(), switch % self.switches()))
    }

    /// The weight of the digit of a line's number that stage `stage` decides; the most significant digit first.
    fn weight(&self, stage: u32) -> u32 {
        self.arity.pow(self.stages - 1 - stage)
    }

    /// The switch of `stage` that `line` leads to, and its input.
    fn enter(&self, stage: u32, line: u32) -> (u32, u16) {
        let k = self.arity;
        match self.pattern {
            Interconnection::Butterfly => {
                let weight = self.weight(stage);
                let (high, low) = (line / (weight * k), line % weight);
                (high * weight + low, (line / weight % k) as u16)
            }
            Interconnection::PerfectShuffle => {
                let shuffled = (line % self.switches()) * k + line / self.switches();
                (shuffled / k, (shuffled % k) as u16)
            }
        }
    }

    /// The line that an output of a switch of `stage` leads to.
    fn leave(&self, stage: u32, switch: u32, port: u16) -> u32 {
        let (k, port) = (self.arity, u32::from(port));
        match self.pattern {
            Interconnection::Butterfly => {
                let weight = self.weight(stage);
                (switch / weight * k + port) * weight + switch % weight
            }
            Interconnection::PerfectShuffle => switch * k + port,
        }
    }

    fn entering(&self, stage: u32, line: u32) -> Peer {
        let (switch, port) = self.enter(stage, line);
        Peer::Router { router: self.lines + stage * self.switches() + switch, port }
    }

    /// The only hop from `at` to the adapter `to`: the output is the destination's digit of the stage.
    fn hop(&self, at: u32, to: u32, leg: Leg, vcs: &[u8]) -> Hop {
        let port = self.place(at).map_or(NETWORK, |(stage, _)| (to / self.weight(stage) % self.arity) as u16);
        let (vc, vcs) = leg.share(vcs[1]);
        Hop { port, vc, vcs }
    }
}

impl Topology for MultistageGraph {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.lines + self.stages * self.switches()
    }
    fn endpoints(&self) -> u32 {
        self.lines
    }
    fn ports(&self, router: u32) -> u16 {
        if router < self.lines { 2 } else { self.arity as u16 }
    }
    fn port(&self, router: u32, port: u16) -> Port {
        match (self.place(router), port) {
            (None, ENDPOINT) => Port { class: 0, peer: Peer::Endpoint(router) },
            (None, _) => Port { class: 1, peer: self.entering(0, router) },
            (Some((stage, switch)), port) => {
                let line = self.leave(stage, switch, port);
                let last = stage + 1 == self.stages;
                let adapter = Peer::Router { router: line, port: NETWORK };
                Port { class: 1, peer: if last { adapter } else { self.entering(stage + 1, line) } }
            }
        }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (endpoint, ENDPOINT)
    }
    fn hosts(&self) -> Range<u32> {
        0..self.lines
    }
    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        out.push(self.hop(at, to, leg, vcs));
    }
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, _state: HopState, vcs: &[u8], _rng: &mut Rng) -> Hop {
        self.hop(at, to, leg, vcs)
    }
    fn direct_leg(&self) -> Leg {
        Leg::SECOND
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        (vec![1, leg.of.max(1)], "a route goes from stage to stage and ends after the last: one VC for each leg".into())
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        match self.place(a) {
            None if a == b => 0,
            None => self.stages + 1,
            Some((stage, _)) => self.stages - stage,
        }
    }
    fn diameter(&self) -> u32 {
        self.stages + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::kept;
    use crate::topology::{Hops, RouteTable};
    use std::collections::HashSet;

    const PATTERNS: [Interconnection; 2] = [Interconnection::Butterfly, Interconnection::PerfectShuffle];

    fn build(arity: u32, stages: u32, pattern: Interconnection) -> Arc<dyn Topology> {
        Multistage { arity, stages, pattern, faults: None }.build().unwrap()
    }

    #[test]
    fn every_route_ends_at_its_destination() {
        for pattern in PATTERNS {
            for (arity, stages) in [(2, 1), (2, 4), (3, 3), (4, 2)] {
                let t = build(arity, stages, pattern);
                assert_eq!((t.endpoints(), t.routers()), (arity.pow(stages), (arity + stages) * arity.pow(stages - 1)));
                for (from, to) in (0..t.endpoints()).flat_map(|a| (0..t.endpoints()).map(move |b| (a, b))) {
                    let (mut at, mut links) = (from, 0);
                    while at != to || links == 0 {
                        let start = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
                        let mut hops = Vec::new();
                        t.minimal_hops(at, to, Leg { index: 0, of: 1, to_group: false }, start, &[1, 1], &mut hops);
                        let Peer::Router { router, .. } = t.port(at, hops[0].port).peer else { panic!("{pattern:?}") };
                        assert_eq!(
                            t.distance(router, to) + 1,
                            if at == from && from == to { stages + 1 } else { t.distance(at, to) }
                        );
                        (at, links) = (router, links + 1);
                    }
                    assert_eq!(links, stages + 1);
                }
                assert!(RouteTable::balanced(&*t).is_some());
            }
        }
    }

    #[test]
    fn every_input_has_one_line() {
        for pattern in PATTERNS {
            let t = build(3, 3, pattern);
            let mut seen = HashSet::new();
            for (router, port) in (0..t.routers()).flat_map(|r| (0..t.ports(r)).map(move |p| (r, p))) {
                match t.port(router, port).peer {
                    Peer::Router { router, port } => assert!(seen.insert((router, port)), "{pattern:?}"),
                    Peer::Endpoint(endpoint) => assert_eq!((router, port), (endpoint, ENDPOINT)),
                    Peer::None => panic!("a line ends nowhere"),
                }
            }
            assert_eq!(seen.len() as u32, t.endpoints() * 4);
        }
    }

    #[test]
    fn the_butterfly_of_dally_and_towles() {
        // 2-ary 3-fly, figure 4.1: lines 3 (011) and 7 are the inputs of switch 3 of the first stage. Its outputs go on
        // to lines 3 and 7. Line 3 leads to switch 1 of the second stage, together with line 1.
        let t = MultistageGraph {
            classes: ["endpoint", "stage"].map(str::to_owned),
            arity: 2,
            stages: 3,
            lines: 8,
            pattern: Interconnection::Butterfly,
        };
        assert_eq!((t.enter(0, 3), t.enter(0, 7)), ((3, 0), (3, 1)));
        assert_eq!((t.leave(0, 3, 0), t.leave(0, 3, 1)), (3, 7));
        assert_eq!((t.enter(1, 3), t.enter(1, 1)), ((1, 1), (1, 0)));
        let t = MultistageGraph { pattern: Interconnection::PerfectShuffle, ..t };
        // A perfect shuffle of eight: 0 4 1 5 2 6 3 7.
        assert_eq!([0, 4, 1, 5].map(|line| t.enter(0, line)), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let error = |arity, stages| {
            let read = kept(Multistage { arity, stages, pattern: Interconnection::Butterfly, faults: None });
            read.and_then(|params| params.build()).unwrap_err().to_string()
        };
        assert_eq!(error(1, 3), "arity = 1: expected a whole number, at least 2");
        assert_eq!(error(2, 0), "stages = 0: expected a whole number from 1 to 31");
        assert!(error(9, 31).starts_with("arity = 9: too large"));
    }
}
