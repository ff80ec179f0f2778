//! The mechanism in a running network, with somebody who watches it from inside.

use super::*;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::Proof;
use crate::routing::{RoutingContext, RoutingKind, RoutingParams};
use crate::topology::Topology;
use serde::Serialize;
use std::sync::{Arc, Mutex};

/// Who watches.
pub(super) trait Watch: Send + 'static {
    /// All heads of a router are about to be decided about.
    fn asked(&mut self, _rule: &Rule, _at: &RouterView<'_>, _heads: &[Head], _packets: &Arena) {}
    /// They have been.
    fn decided(&mut self, _rule: &Rule, _at: &RouterView<'_>, _heads: &[Head], _packets: &Arena) {}
    /// A packet leaves its queue by `hop`.
    fn departs(&mut self, _at: &RouterView<'_>, _hop: Hop, _packet: &Packet) {}
    /// The tail of a packet has left a queue.
    fn tail_left(&mut self, _router: u32, _port: u16, _queue: u16) {}
}

/// The mechanism with these parameters, watched: what `watch` has seen can be read after the run.
pub(super) fn watched<W: Watch>(params: Clos, watch: W) -> (RoutingKind, Arc<Mutex<W>>) {
    let watch = Arc::new(Mutex::new(watch));
    (RoutingKind::custom("watched", Params { params, watch: watch.clone() }), watch)
}

struct Params<W> {
    params: Clos,
    watch: Arc<Mutex<W>>,
}

impl<W> Serialize for Params<W> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.params.serialize(serializer)
    }
}

impl<W: Watch> RoutingParams for Params<W> {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        self.params.check(topology)
    }
    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        self.params.vcs_needed(topology)
    }
    fn proof(&self) -> Proof {
        self.params.proof()
    }
    fn avoids_faults(&self) -> bool {
        self.params.avoids_faults()
    }
    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        Box::new(Spy { rule: self.params.rule(context), watch: self.watch.clone() })
    }
}

struct Spy<W> {
    rule: Rule,
    watch: Arc<Mutex<W>>,
}

impl<W: Watch> Spy<W> {
    fn tell(&self, tell: impl FnOnce(&mut W, &Rule)) {
        tell(&mut self.watch.lock().unwrap(), &self.rule);
    }
}

impl<W: Watch> Routing for Spy<W> {
    fn wants(&self) -> Wants {
        Wants { departures: true, settled: false, ..self.rule.wants() }
    }
    fn inject(&mut self, at: &mut Injection<'_>, packet: &mut Packet) {
        self.rule.inject(at, packet);
    }
    fn arrives(&mut self, at: &RouterView<'_>, port: u16, queue: u16, packet: &mut Packet) {
        self.rule.arrives(at, port, queue, packet);
    }
    fn route(&mut self, view: &mut View<'_>, port: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        self.rule.route(view, port, queue, packet)
    }
    fn route_all(&mut self, view: &mut View<'_>, heads: &mut [Head], packets: &mut Arena) {
        self.tell(|watch, rule| watch.asked(rule, view, heads, packets));
        self.rule.route_all(view, heads, packets);
        self.tell(|watch, rule| watch.decided(rule, view, heads, packets));
    }
    fn departs(&mut self, at: &RouterView<'_>, _: u16, _: u16, hop: Hop, packet: &mut Packet) {
        self.tell(|watch, _| watch.departs(at, hop, packet));
    }
    fn tail_left(&mut self, at: &mut Site<'_>, port: u16, queue: u16) {
        self.rule.tail_left(at, port, queue);
        self.tell(|watch, _| watch.tail_left(at.router, port, queue));
    }
    fn occupancy_changed(&mut self, at: &mut Site<'_>) {
        self.rule.occupancy_changed(at);
    }
}
