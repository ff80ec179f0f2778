//! The view of a router that a routing mechanism gets, and the ways in which it makes itself heard.

use super::{Output, OutputTables, OutputVc, told_ahead};
use crate::engine::{Bytes, NONE, Rng, Table, Tick, bytes_of};
use crate::packet::{HopState, Packet};
use crate::topology::{Hop, Known, Topology};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The readable state of a router: its place in the graph and the state of its own outputs.
#[derive(Clone, Copy)]
pub struct RouterView<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// The graph once more, if it is one whose minimal hops need no call through the trait object.
    pub(crate) known: &'a Known,
    /// This router.
    pub router: u32,
    /// Current tick.
    pub now: Tick,
    /// The router's index in the partition.
    pub(crate) local: u32,
    pub(crate) tables: &'a OutputTables,
    /// The virtual network of the packet. A link class with n virtual channels per network gives network k the channels
    /// from k n on.
    pub(crate) network: u32,
}

impl<'a> RouterView<'a> {
    /// Virtual channels per link class.
    #[inline]
    pub fn vcs(&self) -> &'a [u8] {
        &self.tables.behind.vcs
    }

    /// Buffer size per virtual channel and link class, in phits.
    #[inline]
    pub fn capacity(&self) -> &'a [u32] {
        &self.tables.behind.capacity
    }

    /// Number of ports of this router.
    #[inline]
    pub fn ports(&self) -> u16 {
        (self.tables.first_port[self.local + 1] - self.tables.first_port[self.local]) as u16
    }

    /// The hop that `packet` takes here where hops are told ahead.
    #[inline]
    pub(crate) fn told_ahead(&self, packet: &Packet) -> Hop {
        let at = (self.router, self.tables.behind.ticks_per_cycle);
        told_ahead(self.topology, at, packet, packet.hop_state(), self.vcs())
    }

    /// A stream of random numbers of `packet` at this router, which starts from the same number at every call. It
    /// serves choices that a blocked packet keeps, such as one of several parallel links.
    #[inline]
    pub fn rng_of(&self, packet: &Packet) -> Rng {
        self.stream_of(packet, self.router, 0)
    }

    /// One of 256 such streams of `packet` at router `at`: the routes that a mechanism compares break their ties
    /// independently.
    #[inline]
    pub fn stream_of(&self, packet: &Packet, at: u32, number: u8) -> Rng {
        packet.stream(at, number, self.tables.behind.ticks_per_cycle)
    }

    /// [`Topology::minimal_hop`] from this router to router `to`, for a route of one leg.
    #[inline]
    pub fn minimal_hop(&self, to: u32, state: HopState, rng: &mut Rng) -> Hop {
        self.known.minimal_hop(self.topology, self.router, to, state, self.vcs(), rng)
    }

    #[inline]
    fn output(&self, port: u16) -> &Output {
        &self.tables.outputs[self.tables.first_port[self.local] + u32::from(port)]
    }

    /// The first channel of `output`.
    #[inline]
    fn first(&self, output: &Output) -> u32 {
        match self.network {
            0 => output.vc,
            network => output.vc + network * u32::from(self.tables.behind.vcs[output.class as usize]),
        }
    }

    #[inline]
    fn credits(&self, port: u16, vc: u8) -> i32 {
        let (first, queues) = (self.first(self.output(port)), self.tables.behind.division.queues);
        match queues {
            1 => self.tables.channels[first + u32::from(vc)].credits,
            // Each queue of a broken link has unlimited credits, so the sum may overflow.
            _ => self.lanes(first, vc, queues).fold(0, i32::saturating_add),
        }
    }

    /// The most credits of any queue of a virtual channel.
    #[inline]
    fn best_credits(&self, port: u16, vc: u8) -> i32 {
        let (first, queues) = (self.first(self.output(port)), self.tables.behind.division.queues);
        match queues {
            1 => self.tables.channels[first + u32::from(vc)].credits,
            _ => self.lanes(first, vc, queues).max().unwrap_or(0),
        }
    }

    /// The credits of the queues of a virtual channel.
    fn lanes(&self, first: u32, vc: u8, queues: u32) -> impl Iterator<Item = i32> + '_ {
        let first = first + u32::from(vc) * queues;
        (first..first + queues).map(|channel| self.tables.channels[channel].credits)
    }

    /// Link class of `port`.
    #[inline]
    pub fn class(&self, port: u16) -> u8 {
        self.output(port).class
    }

    /// Phits charged against virtual channel `vc` of output `port`: in the output buffer, on the link, in the next
    /// input buffer, or on their way back as credits.
    #[inline]
    pub fn occupancy(&self, port: u16, vc: u8) -> u32 {
        if !self.tables.charged.is_empty() {
            return self.tables.charged[self.first(self.output(port)) + u32::from(vc)];
        }
        (self.tables.behind.capacity[self.output(port).class as usize] as i32 - self.credits(port, vc)).max(0) as u32
    }

    /// [`Self::occupancy`] before the first round of allocation of this tick.
    #[inline]
    pub(crate) fn occupancy_before(&self, port: u16, vc: u8) -> u32 {
        let occupancy = self.occupancy(port, vc);
        let index = self.tables.first_port[self.local] + u32::from(port);
        // An output grants at most once in a tick.
        let Some(latest) = self.tables.granted.get(index as usize).filter(|latest| latest.at == self.now) else {
            return occupancy;
        };
        let queues = self.tables.behind.division.queues;
        let first = self.first(self.output(port)) + u32::from(vc) * queues;
        match (first..first + queues).contains(&latest.channel) {
            true => occupancy.saturating_sub(latest.phits),
            false => occupancy,
        }
    }

    /// The round of allocation of this tick, from 0 on.
    #[inline]
    pub(crate) fn round(&self) -> u32 {
        self.tables.round
    }

    /// Occupancy of all virtual channels of output `port` together, in phits.
    #[inline]
    pub fn port_occupancy(&self, port: u16) -> u32 {
        (0..self.tables.behind.vcs[self.class(port) as usize]).map(|vc| self.occupancy(port, vc)).sum()
    }

    /// Virtual channel `vc` of the outputs `ports`, in a form in which many can be compared at once. All that are used
    /// are of the link class of the first.
    #[inline(always)]
    pub(crate) fn lane(&self, ports: Range<u16>, vc: u8) -> Lane<'_> {
        let first = self.tables.first_port[self.local];
        let outputs = (first + u32::from(ports.start)) as usize..(first + u32::from(ports.end)) as usize;
        let outputs = self.tables.outputs.get(outputs).unwrap_or_default();
        let class = outputs.first().map_or(0, |output| usize::from(output.class));
        let tables = self.tables;
        let simple = tables.behind.division.queues == 1 && self.network == 0 && tables.charged.is_empty();
        Lane {
            at: self,
            first: ports.start,
            vc,
            outputs,
            channels: &self.tables.channels,
            capacity: self.tables.behind.capacity[class],
            simple,
            full_from: self.tables.buffers.full_from(class).filter(|_| simple),
        }
    }

    /// This router's outputs, in a form in which any of them are looked at fast. `None` if a virtual channel is divided
    /// into queues or shares its buffer, or if time does not determine whether an output buffer is full.
    #[inline(always)]
    pub(crate) fn outputs(&self) -> Option<Outputs<'_>> {
        let tables = self.tables;
        let simple = tables.behind.division.queues == 1 && self.network == 0 && tables.charged.is_empty();
        let first = self.tables.first_port[self.local] as usize;
        let outputs = tables.outputs.get(first..first + usize::from(self.ports()))?;
        (simple && tables.buffers.by_time()).then_some(Outputs { outputs, tables, now: self.now })
    }

    /// Occupancy of the emptiest virtual channel of output `port` in phits. The second value is true if a packet of
    /// `phits` finds room: credits in a virtual channel that no packet holds, and space in the output buffer.
    #[inline]
    pub(crate) fn emptiest(&self, port: u16, phits: u32) -> (u32, bool) {
        let output = self.output(port);
        let class = output.class as usize;
        let vcs = self.tables.behind.vcs[class];
        if self.tables.behind.division.queues != 1 || !self.tables.owners.is_empty() {
            let takes = |vc: u8| !self.held(port, vc) && self.has_room(port, vc, phits);
            return ((0..vcs).map(|vc| self.occupancy(port, vc)).min().unwrap_or(0), (0..vcs).any(takes));
        }
        let first = self.first(output);
        let most = (0..vcs.into()).map(|vc| self.tables.channels[first + vc].credits).max().unwrap_or(0);
        let occupancy = (self.tables.behind.capacity[class] as i32 - most).max(0) as u32;
        (occupancy, most >= phits as i32 && self.buffer_has_room(port, phits))
    }

    /// Occupancy of virtual channel `vc` of output `port` as a share of its buffer, from 0 to 1.
    #[inline]
    pub fn fill(&self, port: u16, vc: u8) -> f64 {
        f64::from(self.occupancy(port, vc)) / f64::from(self.tables.behind.capacity[self.output(port).class as usize])
    }

    /// Phits of data in the output buffer of `port`, whose flits start on the link now or later; 0 if it is unlimited.
    /// For mechanisms whose control messages take time on links
    /// ([`RoutingParams::loads_links`](super::RoutingParams::loads_links)).
    pub fn waiting(&self, port: u16) -> u32 {
        let index = self.tables.first_port[self.local] + u32::from(port);
        self.tables.buffers.starting_from(index, self.now).unwrap_or(0)
    }

    /// True if the crossbar side of output `port` can start a transfer now.
    #[inline]
    pub fn idle(&self, port: u16) -> bool {
        self.output(port).busy <= self.now
    }

    /// First tick at which the crossbar side of output `port` can start a transfer.
    #[inline]
    pub fn free_from(&self, port: u16) -> Tick {
        self.output(port).busy
    }

    /// True if virtual channel `vc` of output `port` is held by a packet that has been granted it in part.
    #[inline]
    pub fn held(&self, port: u16, vc: u8) -> bool {
        let (first, queues) = (self.first(self.output(port)), self.tables.behind.division.queues);
        let owned = |lane: u32| self.tables.owners.get((first + lane) as usize).is_some_and(|owner| *owner != NONE);
        let first = u32::from(vc) * queues;
        (first..first + queues).all(owned)
    }

    /// Phits of the first flit of `packet`: the credits that its head takes of a channel that it is granted.
    #[inline]
    pub fn first_flit(&self, packet: &Packet) -> u32 {
        u32::from(packet.size).min(self.tables.behind.flit_size)
    }

    /// Phits of the largest flit. Where the packet is the flit, this is more than the phits of any packet.
    #[inline]
    pub fn largest_flit(&self) -> u32 {
        self.tables.behind.flit_size
    }

    /// True if virtual channel `vc` of output `port` has credits for `phits`, and its output buffer room for them.
    #[inline]
    pub fn has_room(&self, port: u16, vc: u8, phits: u32) -> bool {
        self.best_credits(port, vc) >= phits as i32 && self.buffer_has_room(port, phits)
    }

    /// True if output `port` could take a packet of `phits` in virtual channel `vc` now. Only the output's own state
    /// counts.
    #[inline(always)]
    pub fn takes(&self, port: u16, vc: u8, phits: u32) -> bool {
        let output = self.output(port);
        output.busy <= self.now && self.best_credits(port, vc) >= phits as i32 && self.buffer_has_room(port, phits)
    }

    /// True if output `port` could take a packet of `phits` in some virtual channel now.
    #[inline]
    pub(crate) fn takes_any(&self, port: u16, phits: u32) -> bool {
        self.output(port).busy <= self.now && self.emptiest(port, phits).1
    }

    #[inline(always)]
    fn buffer_has_room(&self, port: u16, phits: u32) -> bool {
        let index = self.tables.first_port[self.local] + u32::from(port);
        self.tables.buffers.has_room(index, self.output(port), phits, self.now)
    }

    /// Another router of the network.
    ///
    /// # Panics
    ///
    /// If it is in another partition: a mechanism may look beyond its own router only if it declares that it reads
    /// everything ([`RoutingParams::reads_everything`](super::RoutingParams::reads_everything)).
    pub fn elsewhere(&self, router: u32) -> Self {
        // The partition has all routers.
        let all = self.tables.first_port.len() == self.topology.routers() as usize + 1;
        assert!(all && router < self.topology.routers(), "router {router} is not in sight of {}", self.router);
        Self { router, local: router, ..*self }
    }
}

/// The state of many outputs, to be compared at once: [`Lane::row`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    /// The virtual channels of each output, one output after the other.
    pub(crate) channels: &'a [OutputVc],
    /// Virtual channels of an output.
    pub(crate) vcs: usize,
    /// By output: the first tick in which a transfer to it can start, if a channel has room.
    pub(crate) ready: &'a [Tick],
    pub(crate) now: Tick,
    /// Phits of the buffer behind each channel.
    pub(crate) capacity: u32,
}

/// A virtual channel of neighbouring outputs of one link class.
#[derive(Clone, Copy)]
pub(crate) struct Lane<'a> {
    at: &'a RouterView<'a>,
    first: u16,
    vc: u8,
    outputs: &'a [Output],
    channels: &'a Table<OutputVc>,
    /// Phits of the buffer behind each channel.
    capacity: u32,
    /// A virtual channel is one queue, and there is one network.
    simple: bool,
    /// An output buffer is full if its link becomes free in this tick or later. `None` if the channel is not simple or
    /// if time does not determine whether a buffer is full.
    full_from: Option<Tick>,
}

impl<'a> Lane<'a> {
    /// The ports, each with its output.
    #[inline(always)]
    pub(crate) fn ports(&self) -> impl Iterator<Item = (u16, &'a Output)> {
        (self.first..).zip(self.outputs)
    }

    /// [`RouterView::occupancy`] of `port`, and a number for [`Self::takes`].
    #[inline(always)]
    pub(crate) fn occupancy(&self, (port, output): (u16, &Output)) -> (u32, i32) {
        if !self.simple {
            return (self.at.occupancy(port, self.vc), 0);
        }
        let credits = self.channels[output.vc + u32::from(self.vc)].credits;
        ((self.capacity as i32 - credits).max(0) as u32, credits)
    }

    /// All virtual channels of these outputs as slices of numbers. `None` if a virtual channel is divided into queues,
    /// if packets hold channels, or if the kernel does not record when outputs are ready.
    #[inline(always)]
    pub(crate) fn row(&self) -> Option<Row<'a>> {
        let (tables, count) = (self.at.tables, self.outputs.len());
        // Outputs of a class are alike.
        let output = self.outputs.first()?;
        if !self.simple || !tables.owners.is_empty() {
            return None;
        }
        // The channels of neighbouring ports follow one another.
        let (first, vcs) = (output.vc as usize, usize::from(output.vcs));
        let channels = tables.channels.get(first..first + count * vcs)?;
        let first = (tables.first_port[self.at.local] + u32::from(self.first)) as usize;
        let ready = tables.ready.get(first..first + count)?;
        Some(Row { channels, vcs, ready, now: self.at.now, capacity: self.capacity })
    }

    /// [`RouterView::takes`] for a packet of `phits`.
    #[inline(always)]
    pub(crate) fn takes(&self, (port, output): (u16, &Output), credits: i32, phits: u32) -> bool {
        match self.full_from {
            None => self.at.takes(port, self.vc, phits),
            Some(full_from) => (output.busy <= self.at.now) & (output.free < full_from) & (credits >= phits as i32),
        }
    }
}

/// The outputs of a router, see [`RouterView::outputs`].
#[derive(Clone, Copy)]
pub(crate) struct Outputs<'a> {
    outputs: &'a [Output],
    tables: &'a OutputTables,
    now: Tick,
}

impl Outputs<'_> {
    /// [`RouterView::occupancy`] of virtual channel `vc` of `port`, if it takes a packet of `phits` now
    /// ([`RouterView::takes`]).
    #[inline(always)]
    pub(crate) fn taking(&self, (port, vc): (u16, u8), phits: u32) -> Option<u32> {
        let output = &self.outputs[usize::from(port)];
        let credits = self.tables.channels[output.vc + u32::from(vc)].credits;
        let takes = (output.busy <= self.now) & !self.tables.buffers.is_full(output) & (credits >= phits as i32);
        takes.then(|| (self.tables.behind.capacity[output.class as usize] as i32 - credits).max(0) as u32)
    }
}

/// The view of the router at which a mechanism decides.
pub struct View<'a> {
    pub(crate) at: RouterView<'a>,
    /// This router's random stream. A mechanism that re-decides draws from it only for a head that is going to request:
    /// how often a blocked head is asked is not fixed.
    pub rng: &'a mut Rng,
    pub(crate) watched: &'a mut Watches,
    /// Heads that are decided about together can sleep until an output has room: [`Head::waits`](super::Head::waits).
    pub(crate) sleeps: bool,
}

/// Changes of an output that may unblock a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changes(u8);

impl Changes {
    /// No change.
    pub const NONE: Self = Self(0);
    /// The output can take a packet now: it is free, its buffer has room, and so has the buffer behind the link.
    pub const ROOM: Self = Self(1);
    /// The output has become free, or its buffer has got room.
    pub const FREE: Self = Self(2);
    /// The occupancy of a virtual channel has fallen.
    pub const FALL: Self = Self(4);
    /// The occupancy of a virtual channel has risen.
    pub const RISE: Self = Self(8);
    /// The mechanism has announced a change of its own at this output ([`Site::wake`]).
    pub const ANNOUNCED: Self = Self(16);
    /// All changes.
    pub const ALL: Self = Self(31);

    /// The changes with these bits.
    #[inline(always)]
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// One bit for each change.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// These changes and `others`.
    #[inline(always)]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These changes except `others`.
    #[inline(always)]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// True if these changes include all `others`.
    #[inline(always)]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// True if these changes include some of `others`.
    #[inline(always)]
    pub const fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

/// The outputs, and their changes, on which a decision depends.
#[derive(Debug)]
pub(crate) struct Watches {
    /// True if the mechanism has named outputs. Otherwise the decision depends on all outputs.
    pub(crate) named: bool,
    /// The relevant changes of the chosen output.
    pub(crate) chosen: Changes,
    /// A rise there matters from this occupancy on, in phits.
    pub(crate) chosen_from: u32,
    /// The other outputs that the mechanism has named.
    pub(crate) outputs: Vec<Watched>,
}

impl Default for Watches {
    fn default() -> Self {
        Self { named: false, chosen: Changes::ALL, chosen_from: 0, outputs: Vec::new() }
    }
}

impl Watches {
    /// Forgets all named outputs, before the next decision.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.named = false;
        (self.chosen, self.chosen_from) = (Changes::ALL, 0);
        self.outputs.clear();
    }

    /// The decision depends on these `changes` of virtual channels `vcs` of these outputs; of falls, on those to at
    /// most `to` phits. Neighbouring outputs share an entry.
    #[inline]
    fn name(&mut self, ports: Range<u16>, vcs: Range<u8>, changes: Changes, to: u32) {
        self.named = true;
        match self.outputs.last_mut() {
            Some(last)
                if last.changes == changes && last.to == to && last.vcs == vcs && last.ports.end == ports.start =>
            {
                last.ports.end = ports.end;
            }
            _ => self.outputs.push(Watched { ports, vcs, changes, to }),
        }
    }
}

impl Bytes for Watches {
    fn bytes(&self) -> usize {
        bytes_of!(self, Self { outputs; named, chosen, chosen_from })
    }
}

/// Outputs that a decision depends on.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) ports: Range<u16>,
    pub(crate) vcs: Range<u8>,
    pub(crate) changes: Changes,
    /// A fall matters down to this occupancy and below, in phits.
    pub(crate) to: u32,
}

/// All virtual channels.
const ANY: Range<u8> = 0..u8::MAX;

impl<'a> Deref for View<'a> {
    type Target = RouterView<'a>;
    #[inline]
    fn deref(&self) -> &RouterView<'a> {
        &self.at
    }
}

impl View<'_> {
    /// For mechanisms that re-decide: the decision depends on the chosen output alone, and on outputs that are named by
    /// [`Self::watch`].
    #[inline]
    pub fn watch_chosen(&mut self) {
        self.watched.named = true;
    }

    /// For mechanisms that re-decide: only room at the chosen output, or one of these `changes` of it, could unblock a
    /// head. Other outputs that could unblock it are named by [`Self::watch_for`] or [`Self::watch`].
    #[inline]
    pub fn watch_chosen_for(&mut self, changes: Changes) {
        self.watched.named = true;
        self.watched.chosen = changes.and(Changes::ROOM);
    }

    /// For mechanisms that re-decide: `changes` in virtual channels `vcs` of these output ports could unblock a head.
    /// It is asked about again after such a change.
    #[inline]
    pub fn watch_for(&mut self, changes: Changes, ports: Range<u16>, vcs: Range<u8>) {
        self.watched.name(ports, vcs, changes, u32::MAX);
    }

    /// [`Self::watch_for`] a fall of the occupancy to at most `to` phits.
    #[inline]
    pub(crate) fn watch_for_fall(&mut self, to: u32, ports: Range<u16>, vcs: Range<u8>) {
        self.watched.name(ports, vcs, Changes::FALL, to);
    }

    /// A rise of the chosen output, which [`Self::watch_chosen_for`] has named, could unblock the head from `from`
    /// phits on.
    #[inline]
    pub(crate) fn watch_chosen_from(&mut self, from: u32) {
        self.watched.chosen_from = from;
    }

    /// For mechanisms that re-decide: names output ports, besides the chosen one, whose state the decision depends on.
    /// If the head is not granted, it is asked about again when one of them changes. Without any call, the decision
    /// depends on all outputs.
    #[inline]
    pub fn watch(&mut self, ports: Range<u16>) {
        // Any credit that makes room is a fall.
        self.watched.name(ports, ANY, Changes::ALL.without(Changes::ROOM), u32::MAX);
    }

    /// Says that the decision depends on the occupancy of these ports, and on changes that the mechanism itself
    /// announces there ([`Site::wake`]). It does not depend on whether the ports are free.
    #[inline]
    pub fn watch_occupancy(&mut self, ports: Range<u16>) {
        self.watched.name(ports, ANY, Changes::FALL.and(Changes::RISE).and(Changes::ANNOUNCED), u32::MAX);
    }
}

/// The view of a router that a mechanism gets with news, and the actions that it can take there.
pub struct Site<'a> {
    pub(crate) at: RouterView<'a>,
    pub(crate) wakes: &'a mut Vec<u32>,
    pub(crate) outgoing: &'a mut Vec<Outgoing>,
}

impl<'a> Deref for Site<'a> {
    type Target = RouterView<'a>;
    #[inline]
    fn deref(&self) -> &RouterView<'a> {
        &self.at
    }
}

impl Site<'_> {
    /// Announces a change that decisions about output `port` depend on: blocked heads that watch it are asked about
    /// again.
    pub fn wake(&mut self, port: u16) {
        self.wakes.push(self.at.tables.first_port[self.at.local] + u32::from(port));
    }

    /// Announces a change that decisions about any output depend on: heads that wait for an output are looked at again.
    pub fn wake_all(&mut self) {
        self.wakes.extend(self.at.tables.first_port[self.at.local]..self.at.tables.first_port[self.at.local + 1]);
    }

    /// Sends a control message of `phits` phits to the router at the far end of output `port`. It takes the link's
    /// latency. A message that has phits also waits for the link, behind flits that have been granted before. It
    /// occupies the link as data of its length would.
    pub fn send(&mut self, port: u16, payload: Payload, phits: u32) {
        self.outgoing.push(Outgoing { port, payload, phits, through: false });
    }

    /// Sends on a control message of `phits` phits, as [`Self::send`] does. The router at the far end hears it once it
    /// has also passed that router, so that it can be sent on at once. A message to an endpoint takes the link's time.
    pub fn pass_on(&mut self, port: u16, payload: Payload, phits: u32) {
        self.outgoing.push(Outgoing { port, payload, phits, through: true });
    }
}

/// The content of a control message, in the words of its mechanism.
pub type Payload = Arc<[u16]>;

/// A control message about to leave.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) port: u16,
    pub(crate) payload: Payload,
    pub(crate) phits: u32,
    /// It is heard when it has passed the next router.
    pub(crate) through: bool,
}

/// The view of a mechanism when an endpoint injects a packet.
pub struct Injection<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// The endpoint's router.
    pub router: u32,
    /// Current tick.
    pub now: Tick,
    /// The endpoint's random stream.
    pub rng: &'a mut Rng,
}
