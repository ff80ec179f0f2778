//! Decisions that are made once in a cycle of the links, though the crossbar allocates more often.

use crate::engine::Tick;
use crate::packet::Packet;
use crate::routing::{Head, RoutingContext};
use crate::topology::{Hop, Routers};

/// The latest decision about the heads of a partition's queues.
#[derive(Debug)]
pub(super) struct Kept {
    ticks_per_cycle: Tick,
    routers: Routers,
    /// Most ports of a router.
    ports: usize,
    /// Most queues of a port.
    queues: usize,
    /// By router, port and queue.
    decisions: Vec<Decision>,
}

/// A head is known by its source and the tick of its generation: a source generates no two packets at once.
#[derive(Debug, Clone, Copy)]
struct Decision {
    cycle: Tick,
    source: u32,
    birth: Tick,
    hop: Hop,
}

impl Kept {
    pub(super) fn new(context: &RoutingContext) -> Self {
        let routers = context.routers.clone();
        let ports = routers.iter().map(|router| context.topology.ports(router)).max().unwrap_or(0).into();
        let queues = context.queues.iter().copied().max().unwrap_or(1).into();
        let hop = Hop { port: 0, vc: 0, vcs: 1 };
        let none = Decision { cycle: Tick::MAX, source: 0, birth: 0, hop };
        Self {
            ticks_per_cycle: context.ticks_per_cycle,
            ports,
            queues,
            decisions: vec![none; routers.len() * ports * queues],
            routers,
        }
    }

    fn place(&self, router: u32, head: &Head) -> usize {
        let port = self.routers.place(router) * self.ports + usize::from(head.port);
        port * self.queues + usize::from(head.queue)
    }

    /// The decision about `head` in the cycle of tick `now`, if there is one.
    pub(super) fn decided(&self, router: u32, now: Tick, head: &Head, packet: &Packet) -> Option<Hop> {
        let last = self.decisions[self.place(router, head)];
        let same = (last.cycle, last.source, last.birth) == (now / self.ticks_per_cycle, packet.source, packet.birth);
        same.then_some(last.hop)
    }

    /// Notes a decision.
    pub(super) fn note(&mut self, router: u32, now: Tick, head: &Head, packet: &Packet, hop: Hop) {
        let place = self.place(router, head);
        let cycle = now / self.ticks_per_cycle;
        self.decisions[place] = Decision { cycle, source: packet.source, birth: packet.birth, hop };
    }
}
