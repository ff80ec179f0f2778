//! A topology for tests of traffic: endpoints and groups, but no links.

use crate::engine::Rng;
use crate::topology::{Hop, HopState, Leg, Peer, Port, Topology};

/// Routers with equal numbers of endpoints, in groups of equal size, optionally arranged as a grid.
#[derive(Debug, Clone)]
pub(crate) struct Toy {
    routers: u32,
    concentration: u32,
    group: u32,
    sides: Option<Vec<u32>>,
    bare: u32,
    classes: Vec<String>,
}

impl Toy {
    /// `routers` routers of `concentration` endpoints, `group` routers to a group.
    pub(crate) fn new(routers: u32, concentration: u32, group: u32) -> Self {
        Self { routers, concentration, group, sides: None, bare: 0, classes: vec!["endpoint".into()] }
    }

    /// A grid of routers.
    pub(crate) fn grid(sides: &[u32], concentration: u32) -> Self {
        Self { sides: Some(sides.to_vec()), ..Self::new(sides.iter().product(), concentration, 1) }
    }

    /// Adds `bare` routers without endpoints, like the upper stages of a Clos network.
    pub(crate) fn with_bare_routers(self, bare: u32) -> Self {
        Self { bare, ..self }
    }
}

impl Topology for Toy {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.routers + self.bare
    }
    fn endpoints(&self) -> u32 {
        self.routers * self.concentration
    }
    fn ports(&self, _: u32) -> u16 {
        self.concentration as u16
    }
    fn port(&self, router: u32, port: u16) -> Port {
        Port { class: 0, peer: Peer::Endpoint(router * self.concentration + u32::from(port)) }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (endpoint / self.concentration, (endpoint % self.concentration) as u16)
    }
    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        out.push(self.minimal_hop(at, to, leg, state, vcs, &mut Rng::new(0, crate::engine::Stream::Router, 0)));
    }
    fn minimal_hop(&self, _: u32, _: u32, _: Leg, _: HopState, _: &[u8], _: &mut Rng) -> Hop {
        Hop { port: 0, vc: 0, vcs: 1 }
    }
    fn vcs_needed(&self, _: Leg) -> (Vec<u8>, String) {
        (vec![1], "no links".into())
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        u32::from(a != b)
    }
    fn diameter(&self) -> u32 {
        1
    }
    fn groups(&self) -> u32 {
        self.routers() / self.group
    }
    fn group_of(&self, router: u32) -> u32 {
        router / self.group
    }
    fn group_routers(&self, group: u32) -> std::ops::Range<u32> {
        group * self.group..(group + 1) * self.group
    }
    fn grid(&self) -> Option<&[u32]> {
        self.sides.as_deref()
    }
}
