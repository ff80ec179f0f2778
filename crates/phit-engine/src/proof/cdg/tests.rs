//! The check itself, on the network of the paper that introduced it: a unidirectional ring.

use super::*;
use crate::engine::Rng;
use crate::topology::{Peer, Port};

/// Routers in a ring; port 0 to an endpoint, port 1 to the next router's port 2. `rule` gives the VC of a hop.
#[derive(Debug)]
struct Ring {
    classes: [String; 2],
    size: u32,
    diameter: u32,
    rule: fn(u32, u32) -> Option<u8>,
}

fn ring(size: u32, rule: fn(u32, u32) -> Option<u8>) -> Ring {
    Ring { classes: ["endpoint", "ring"].map(str::to_owned), size, diameter: size - 1, rule }
}

impl Topology for Ring {
    fn classes(&self) -> &[String] {
        &self.classes
    }
    fn routers(&self) -> u32 {
        self.size
    }
    fn endpoints(&self) -> u32 {
        self.size
    }
    fn ports(&self, _: u32) -> u16 {
        3
    }
    fn port(&self, router: u32, port: u16) -> Port {
        match port {
            0 => Port { class: 0, peer: Peer::Endpoint(router) },
            1 => Port { class: 1, peer: Peer::Router { router: (router + 1) % self.size, port: 2 } },
            _ => Port { class: 1, peer: Peer::None },
        }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        (endpoint, 0)
    }
    fn minimal_hops(&self, at: u32, to: u32, _: Leg, _: HopState, _: &[u8], out: &mut Vec<Hop>) {
        out.extend((self.rule)(at, to).map(|vc| Hop { port: 1, vc, vcs: 1 }));
    }
    fn minimal_hop(&self, _: u32, _: u32, _: Leg, _: HopState, _: &[u8], _: &mut Rng) -> Hop {
        Hop { port: 1, vc: 0, vcs: 1 }
    }
    fn vcs_needed(&self, _: Leg) -> (Vec<u8>, String) {
        (vec![1, 2], String::new())
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        (b + self.size - a) % self.size
    }
    fn diameter(&self) -> u32 {
        self.diameter
    }
}

#[test]
fn one_vc_in_a_ring_closes_a_circle() {
    let flaw = check(&ring(4, |_, _| Some(0)), Legs::Minimal, &[1, 1]).unwrap_err();
    let channels = [0, 1, 2, 3].map(|router| Channel { router, port: 1, vc: 0 });
    assert_eq!(flaw, Flaw::Cycle(channels.to_vec()));
    assert_eq!(
        flaw.to_string(),
        "the channels wait for one another in a circle: router 0 port 1 VC 0 -> router 1 port 1 VC 0 \
         -> router 2 port 1 VC 0 -> router 3 port 1 VC 0"
    );
}

#[test]
fn a_dateline_opens_it() {
    // Packets that have yet to pass router 0 use VC 1, the others VC 0. The dependencies are the chain
    // 1.1 -> 2.1 -> 3.1 -> 0.0 -> 1.0 -> 2.0 (router.vc); 3.0 and 0.1 are never used.
    let report = check(&ring(4, |at, to| Some(u8::from(at > to))), Legs::Minimal, &[1, 2]).unwrap();
    assert_eq!((report.channels, report.dependencies), (8, 5));
}

#[test]
fn a_second_leg_in_the_same_vcs_closes_it_again() {
    let dateline = ring(4, |at, to| Some(u8::from(at > to)));
    for legs in [Legs::ToRouter, Legs::ToGroup] {
        assert!(matches!(check(&dateline, legs, &[1, 2]), Err(Flaw::Cycle(_))));
    }
}

#[test]
fn routes_that_cannot_be_followed_are_flaws() {
    let flaw = |ring: Ring, vcs: &[u8]| check(&ring, Legs::Minimal, vcs).unwrap_err();
    assert!(matches!(
        flaw(ring(4, |_, _| Some(2)), &[1, 2]),
        Flaw::NoSuchChannel { channel: Channel { vc: 2, .. }, .. }
    ));
    assert!(matches!(flaw(ring(4, |_, _| Some(0)), &[]), Flaw::NoSuchChannel { .. }));
    assert!(matches!(flaw(ring(4, |at, _| (at != 2).then_some(0)), &[1, 1]), Flaw::Stranded { at: 2, .. }));
    assert!(matches!(flaw(Ring { diameter: 2, ..ring(4, |_, _| Some(0)) }, &[1, 1]), Flaw::TooLong { hops: 2, .. }));
}
