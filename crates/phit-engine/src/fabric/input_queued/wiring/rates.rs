//! Links of unequal bandwidth: every port works at the rate of its own link.
//!
//! A flit crosses at the rate of the faster of its two links, the link it came over and the link it leaves by. So no
//! link waits for the crossbar, and a link that carries nothing changes nothing. Few of these times are whole ticks.
//! Each port therefore keeps the part of a tick for which it is still taken, and the next flit starts after that part.

use super::passage::{Passage, paced};
use crate::bandwidth::Bandwidth;
use crate::engine::{Table, Tick};
use crate::fabric::input_queued::options::config::Config;
use crate::fabric::input_queued::options::params::Switching;
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::links::Cycles;
use crate::topology::{Peer, Topology};

/// Times in parts of a tick.
type Parts = u64;

/// Bits of the parts.
const BITS: u32 = 16;

/// The start of a tick.
fn at(tick: Tick) -> Parts {
    Parts::from(tick) << BITS
}

/// The tick in which a time lies, and the part of the tick that has passed.
fn split(time: Parts) -> (Tick, u16) {
    ((time >> BITS) as Tick, time as u16)
}

/// The first tick that does not start before a time.
fn up(time: Parts) -> Tick {
    ((time + (1 << BITS) - 1) >> BITS) as Tick
}

/// The parts of a tick from a time to the next start of a tick.
fn early(time: Parts) -> u16 {
    (at(up(time)) - time) as u16
}

/// The times of a flit on the link of an endpoint.
pub(crate) struct Sent {
    /// First tick on the link.
    pub(crate) start: Tick,
    /// Parts of a tick by which the flit starts before `start`.
    pub(crate) early: u16,
    /// Tick in which the link is free again.
    pub(crate) free: Tick,
    /// Tick in which the link has taken all phits.
    pub(crate) end: Tick,
}

/// The rates of one partition's ports.
#[derive(Debug)]
pub(crate) struct PortRates {
    /// All rates in use.
    rates: Vec<Bandwidth>,
    /// By port: the rate at which flits arrive.
    arriving: Table<u8>,
    /// By port: the rate of the link behind it.
    leaving: Table<u8>,
    /// By endpoint: the rate at which it injects.
    injecting: Table<u8>,
    /// The crossbar's own rate, if it does not follow the links.
    crossbar: Option<Bandwidth>,
    ticks_per_cycle: Tick,
    /// Phits of the flits whose times are kept, and these times by rate.
    usual: (u32, Vec<Parts>),
    /// By rate: true if it is more than a flit in a cycle.
    fast: Vec<bool>,
    /// The least time of a flit on a link. Events of one tick come in no order. Under wormhole switching, a link must
    /// not deliver two flits in one tick, or a packet's body might come before its head.
    least: Parts,
    /// By port: the part of its last tick for which the input is busy.
    inputs: Table<u16>,
    /// By port: the part of its last tick for which the output is busy.
    outputs: Table<u16>,
    /// By port: the part of its last tick for which the link behind it is busy.
    links: Table<u16>,
    /// By endpoint: the part of its last tick for which its link is busy.
    senders: Table<u16>,
}

/// A granted flit: its ports, the ticks of its grant and arrival, and the ticks from which on input, output and link
/// are free.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Granted {
    pub(crate) input: u32,
    pub(crate) output: u32,
    pub(crate) now: Tick,
    pub(crate) entry: Tick,
    pub(crate) input_free: Tick,
    pub(crate) output_free: Tick,
    pub(crate) link_free: Tick,
}

impl PortRates {
    /// The rates of the ports of `routers`, in their order, and of `endpoints`. Most flits have `usual` phits.
    pub(crate) fn new(
        config: &Config,
        topology: &dyn Topology,
        routers: impl Iterator<Item = u32>,
        endpoints: impl Iterator<Item = u32>,
        usual: u32,
    ) -> Self {
        let links = &config.links;
        let mut rates: Vec<Bandwidth> = Vec::new();
        let mut number = |rate: Bandwidth| {
            let known = rates.iter().position(|known| *known == rate);
            known.unwrap_or_else(|| {
                rates.push(rate);
                rates.len() - 1
            }) as u8
        };
        let (mut arriving, mut leaving) = (Vec::new(), Vec::new());
        for router in routers {
            for port in 0..topology.ports(router) {
                let link = links.of_port(topology, router, port);
                leaving.push(number(link));
                arriving.push(match topology.port(router, port).peer {
                    Peer::Endpoint(endpoint) => number(links.injection_of(endpoint).unwrap_or(link)),
                    Peer::Router { .. } | Peer::None => number(link),
                });
            }
        }
        let injects = |endpoint| number(links.injection_of(endpoint).unwrap_or(links.of_endpoint(endpoint)));
        let injecting: Vec<u8> = endpoints.map(injects).collect();
        let parts = vec![0; leaving.len()];
        let mut found = Self {
            fast: rates.iter().map(|rate| *rate > links.flit()).collect(),
            rates,
            arriving: arriving.into(),
            leaving: leaving.into(),
            least: if config.switching == Switching::Wormhole { at(1) } else { 0 },
            crossbar: config.crossbar,
            ticks_per_cycle: links.ticks_per_cycle,
            usual: (0, Vec::new()),
            inputs: parts.clone().into(),
            outputs: parts.clone().into(),
            links: parts.into(),
            senders: vec![0; injecting.len()].into(),
            injecting: injecting.into(),
        };
        let times = (0..found.rates.len()).map(|rate| found.time(rate as u8, usual)).collect();
        found.usual = (usual, times);
        found
    }

    /// Bytes of the tables.
    pub(crate) fn bytes(&self) -> usize {
        self.arriving.bytes()
            + self.leaving.bytes()
            + self.injecting.bytes()
            + self.inputs.bytes()
            + self.outputs.bytes()
            + self.links.bytes()
            + self.senders.bytes()
    }

    /// Time of `phits` at a rate.
    fn time(&self, rate: u8, phits: u32) -> Parts {
        if phits == self.usual.0 {
            return self.usual.1[usize::from(rate)];
        }
        self.time_at(self.rates[usize::from(rate)], phits)
    }

    fn time_at(&self, rate: Bandwidth, phits: u32) -> Parts {
        let (over, under) = rate.ratio();
        let ticks = u128::from(phits) * u128::from(under) * u128::from(self.ticks_per_cycle);
        (ticks << BITS).div_ceil(over.into()) as Parts
    }

    /// Ticks until the last phit of a flit has arrived at input `port`.
    pub(crate) fn arrival(&self, port: u32, phits: u32) -> Tick {
        up(self.time(self.arriving[port], phits))
    }

    /// Ticks of a flit over the link behind `port`.
    pub(crate) fn onto_link(&self, port: u32, phits: u32) -> Tick {
        up(self.time(self.leaving[port], phits))
    }

    /// True if flits come over the link of input `port` more often than in every cycle.
    pub(crate) fn comes_fast(&self, port: u32) -> bool {
        self.fast[usize::from(self.arriving[port])]
    }

    /// True if flits leave over the link behind `port` more often than in every cycle.
    pub(crate) fn leaves_fast(&self, port: u32) -> bool {
        self.fast[usize::from(self.leaving[port])]
    }

    /// Endpoint `e`, whose link is free from tick `free` on, sends a flit in tick `now`. Returns the flit's times on
    /// the link.
    pub(crate) fn send(&mut self, e: u32, (now, free): (Tick, Tick), phits: u32, starts: Cycles) -> Sent {
        let start = at(now) + if free == now { Parts::from(self.senders[e]) } else { 0 };
        let end = start + self.time(self.injecting[e], phits).max(self.least);
        // At one phit per cycle, phits come in whole cycles.
        let end = if self.is_one(self.injecting[e]) { at(starts.align(up(end))) } else { end };
        let (free, part) = split(end);
        self.senders[e] = part;
        Sent { start: up(start), early: early(start), free, end: up(end) }
    }

    /// Takes the link behind `port`, which becomes free within tick `free`, for whole ticks. Returns the first tick in
    /// which it is wholly free.
    pub(crate) fn whole_ticks(&mut self, port: u32, free: Tick) -> Tick {
        let part = std::mem::take(&mut self.links[port]);
        up(at(free) + Parts::from(part))
    }

    /// True if a rate is a phit in each cycle. Transfers at this rate take whole ticks, as where all links are alike.
    fn is_one(&self, rate: u8) -> bool {
        self.rates[usize::from(rate)] == Bandwidth::ONE
    }

    /// The passage of a granted flit of `size` phits. `whole`: its ports have one path each.
    pub(crate) fn pass(
        &mut self,
        config: &Config,
        settings: &Settings,
        granted: Granted,
        (size, class, whole): (u32, usize, bool),
    ) -> Passage {
        let Granted { input, output, now, entry, input_free, output_free, link_free } = granted;
        let (came, goes) = (self.arriving[input], self.leaving[output]);
        let taken = |free: Tick, part: u16| at(now) + if whole && free == now { Parts::from(part) } else { 0 };
        let begins = taken(input_free, self.inputs[input]).max(taken(output_free, self.outputs[output]));
        let arrived = at(entry) + self.time(came, size);
        let serialisation = self.time(goes, size);
        // The port has the rate of its link, whatever the rate at which an endpoint injects.
        let own = self.leaving[input];
        let (slowest, is_one) = match self.crossbar {
            None if self.time(own, size) < serialisation => (self.time(own, size), self.is_one(own)),
            None => (serialisation, self.is_one(goes)),
            Some(rate) => (self.time_at(rate, size), rate == Bandwidth::ONE),
        };
        let (needed, latency) = match settings.choices.pace {
            // A crossing of n cycles at the rate of the links takes n steps.
            Some(pace) => {
                let steps = up(slowest.div_ceil(self.ticks_per_cycle.into()));
                let (needed, latency) = paced(pace, now, [steps, settings.router_latency]);
                (at(needed), latency)
            }
            None if is_one => (at(up(config.sped_up(slowest))), settings.router_latency),
            None => (config.sped_up(slowest), settings.router_latency),
        };
        let (busy, through) = match settings.ideal {
            true => (at(now), at(now).max(arrived)),
            false => ((begins + needed).max(arrived), (begins + needed).max(arrived)),
        };
        let enters = (begins + serialisation).max(through) - serialisation + at(latency);
        let free = at(link_free) + Parts::from(self.links[output]);
        // A link that has rested starts with a cycle. A busy link continues without a gap.
        let start = if free >= enters { free } else { at(settings.starts.align(up(enters))) };
        let end = start + serialisation;
        let taken = if settings.choices.cut_through_holds_input { busy } else { busy.min(begins + needed) };
        let occupied = match settings.choices.inputs_at_link_rate {
            true => taken.max(at(now - now % settings.ticks_per_cycle) + self.time(came, size)),
            false => taken,
        };
        let held = if settings.choices.cut_through_holds_output { busy } else { begins + needed };
        let (occupied, held, link) = (split(occupied), split(held), split(start + serialisation.max(self.least)));
        (self.inputs[input], self.outputs[output], self.links[output]) = (occupied.1, held.1, link.1);
        Passage {
            occupied: occupied.0,
            held: held.0,
            left: up(through).max(now + 1),
            start: up(start),
            early: early(start),
            free: link.0,
            end: up(end),
            class,
        }
    }
}
