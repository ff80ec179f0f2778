//! Section 5.3: decisions from the state of one or two cycles ago.

use crate::engine::Tick;
use crate::routing::{RouterView, RoutingContext};
use crate::topology::{Routers, Tree};

/// Most cycles that a decision can lag behind.
pub(super) const LONGEST: u32 = 2;

/// The state of one output on which a decision depends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Phits charged against the emptiest of its virtual channels, or against all of them.
    pub depth: u32,
    /// From when on it can start a transfer, as far as is known.
    pub free_from: Tick,
}

impl State {
    /// The state of output `port` now, for a flit of `phits`; `whole`: of all its virtual channels.
    #[inline]
    pub(super) fn now(at: &RouterView<'_>, port: u16, phits: u32, whole: bool) -> Self {
        let (emptiest, takes) = at.emptiest(port, phits);
        let depth = if whole { at.port_occupancy(port) } else { emptiest };
        Self { depth, free_from: if takes { at.free_from(port) } else { Tick::MAX } }
    }
}

/// The latest states of all outputs upwards of a partition's routers: taken in every tick in which one has changed.
#[derive(Debug)]
pub(super) struct History {
    /// States kept of each router.
    kept: usize,
    routers: Routers,
    /// Most up-ports of a router.
    ports: usize,
    /// Phits of the largest flit, or packet where it is the flit.
    phits: u32,
    /// All virtual channels of an output count.
    whole: bool,
    /// The first up-port of each router.
    up: Vec<u16>,
    /// By router: the place in `taken` of its latest state.
    latest: Vec<usize>,
    /// By router: when the states were taken, in the order of `states`.
    taken: Vec<Tick>,
    /// By router, place in `taken` and up-port.
    states: Vec<State>,
}

impl History {
    /// For decisions that lag behind by `lag` ticks.
    pub(super) fn new(tree: &Tree, context: &RoutingContext, lag: Tick, whole: bool) -> Self {
        let routers = context.routers.clone();
        let ports = (0..tree.levels()).map(|level| tree.up(level)).max().unwrap_or(0).into();
        // One in every tick may be too young.
        let kept = lag as usize + 1;
        Self {
            kept,
            ports,
            phits: context.packet_size,
            whole,
            up: routers.iter().map(|router| tree.down(tree.level(router))).collect(),
            latest: vec![0; routers.len()],
            taken: vec![0; routers.len() * kept],
            states: vec![State::default(); routers.len() * kept * ports],
            routers,
        }
    }

    /// Takes the state of a router in which something has changed, in place of the oldest.
    pub(super) fn note(&mut self, at: &RouterView<'_>, tree: &Tree) {
        let router = self.routers.place(at.router);
        let place = (self.latest[router] + 1) % self.kept;
        self.latest[router] = place;
        let place = router * self.kept + place;
        self.taken[place] = at.now;
        let first = place * self.ports;
        let phits = self.phits.min(at.largest_flit());
        let count = tree.up(tree.level(at.router));
        for (port, state) in (self.up[router]..self.up[router] + count).zip(&mut self.states[first..]) {
            *state = State::now(at, port, phits, self.whole);
        }
    }

    /// The states of the outputs of a router as they were in tick `then`, after the latest change up to then.
    pub(super) fn states(&self, at: &RouterView<'_>, then: Tick) -> Then<'_> {
        let router = self.routers.place(at.router);
        let latest = self.latest[router];
        let mut backwards = (0..self.kept).map(|step| router * self.kept + (latest + self.kept - step) % self.kept);
        let oldest = router * self.kept + (latest + 1) % self.kept;
        let place = backwards.find(|&place| self.taken[place] <= then).unwrap_or(oldest);
        Then { up: self.up[router], states: &self.states[place * self.ports..(place + 1) * self.ports] }
    }
}

/// The states of a router's outputs upwards at some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Then<'a> {
    up: u16,
    states: &'a [State],
}

impl Then<'_> {
    /// The state of output `port`.
    pub(super) fn of(&self, port: u16) -> State {
        self.states[usize::from(port - self.up)]
    }
}
