//! Contention counters: how many heads want each output.

use crate::engine::Memory;
use crate::routing::{RouterView, RoutingContext, Site};
use crate::topology::Routers;

/// One counter for each of some things that heads can want (output ports, say) in each router of a partition, and what
/// each input queue has counted.
///
/// A counter goes up when a packet that wants the thing reaches the front of its input queue. It goes down when the
/// packet's tail has left the queue, whatever output it took (Fuentes et al., IPDPS 2015, section III-B). So a queue
/// adds at most one.
#[derive(Debug, Clone)]
pub struct Counters {
    routers: Routers,
    per_router: usize,
    counts: Vec<u16>,
    radix: usize,
    widest: usize,
    /// The thing that each queue's head wants; `NOTHING` if it has no counted head.
    wanted: Vec<u16>,
}

const NOTHING: u16 = u16::MAX;

impl Counters {
    /// `per_router` counters in each router of the partition, all zero.
    pub fn new(context: &RoutingContext, per_router: usize) -> Self {
        let routers = context.routers.clone();
        let radix = routers.iter().map(|router| context.topology.ports(router)).max().unwrap_or(0).into();
        let widest = context.queues.iter().copied().max().unwrap_or(1).into();
        Self {
            per_router,
            counts: vec![0; per_router * routers.len()],
            radix,
            widest,
            wanted: vec![NOTHING; routers.len() * radix * widest],
            routers,
        }
    }

    /// One counter per output port.
    pub fn of_ports(context: &RoutingContext) -> Self {
        let radix = context.routers.iter().map(|router| context.topology.ports(router)).max().unwrap_or(0);
        Self::new(context, radix.into())
    }

    /// The place of a queue of the router with the given place.
    #[inline]
    pub(super) fn queue(&self, router: u32, port: u16, queue: u16) -> usize {
        (router as usize * self.radix + usize::from(port)) * self.widest + usize::from(queue)
    }

    /// The place of a counter of the router with the given place.
    #[inline]
    pub(super) fn place(&self, router: u32, thing: u16) -> usize {
        router as usize * self.per_router + usize::from(thing)
    }

    /// Number of counters.
    pub(super) fn count(&self) -> usize {
        self.counts.len()
    }

    /// Number of queues.
    pub(super) fn queues(&self) -> usize {
        self.wanted.len()
    }

    /// Adds the counters, and what queues have counted.
    pub(in crate::routing) fn remember(&self, memory: &mut Memory) {
        memory.add_all(self.counts.iter().chain(&self.wanted).copied());
    }

    /// The counter of `thing` in the router.
    #[inline]
    pub fn of(&self, at: &RouterView<'_>, thing: u16) -> u16 {
        self.counts[self.place(at.local, thing)]
    }

    /// All counters of `router`.
    pub fn all(&self, router: u32) -> &[u16] {
        let first = self.routers.place(router) * self.per_router;
        &self.counts[first..first + self.per_router]
    }

    /// The thing that a queue's head wants, if it has been counted.
    #[inline]
    pub fn wanted(&self, at: &RouterView<'_>, port: u16, queue: u16) -> Option<u16> {
        Some(self.wanted[self.queue(at.local, port, queue)]).filter(|thing| *thing != NOTHING)
    }

    /// A queue's head now wants `thing`, if anything, instead of its former wish. For mechanisms whose heads change
    /// their minds.
    pub fn choose(&mut self, at: &RouterView<'_>, port: u16, queue: u16, thing: Option<u16>) {
        let (place, first) = (self.queue(at.local, port, queue), self.place(at.local, 0));
        let before = std::mem::replace(&mut self.wanted[place], thing.unwrap_or(NOTHING));
        if before != NOTHING {
            self.counts[first + usize::from(before)] -= 1;
        }
        if let Some(thing) = thing {
            self.counts[first + usize::from(thing)] += 1;
        }
    }

    /// A head that wants `thing` has come to the front of a queue. Returns the new count.
    #[inline]
    pub fn arrived(&mut self, site: &Site<'_>, port: u16, queue: u16, thing: u16) -> u16 {
        let place = self.queue(site.local, port, queue);
        debug_assert_eq!(self.wanted[place], NOTHING, "a head came before the one before it had left");
        self.wanted[place] = thing;
        let counter = self.place(site.local, thing);
        let count = &mut self.counts[counter];
        *count += 1;
        *count
    }

    /// The tail of the counted head has left the queue. Returns the thing that it wanted, and the new count.
    #[inline]
    pub fn left(&mut self, site: &Site<'_>, port: u16, queue: u16) -> Option<(u16, u16)> {
        let thing = self.gone(site, port, queue)?;
        Some((thing, self.fewer(site, thing)))
    }

    /// The tail of the counted head has left the queue, but the head still counts. Returns the thing that it wanted.
    #[inline]
    pub(super) fn gone(&mut self, site: &Site<'_>, port: u16, queue: u16) -> Option<u16> {
        let place = self.queue(site.local, port, queue);
        let thing = std::mem::replace(&mut self.wanted[place], NOTHING);
        (thing != NOTHING).then_some(thing)
    }

    /// One head that has gone counts for `thing` no longer. Returns the new count.
    #[inline]
    pub(super) fn fewer(&mut self, site: &Site<'_>, thing: u16) -> u16 {
        let counter = self.place(site.local, thing);
        let count = &mut self.counts[counter];
        *count -= 1;
        *count
    }
}
