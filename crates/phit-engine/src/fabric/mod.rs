//! What carries packets between endpoints: [`Fabric`], and the kernels behind it, a folder each.
//!
//! A kernel is a folder with its parameters ([`FabricParams`]), its checks, its loop and its audit, and one line in the
//! registry of `[router]` (`scenario/routers.rs`). It knows of policies what `seams` says, and of other kernels
//! nothing. The calls of [`Fabric`] are made between stretches of cycles, never in a cycle.
//!
//! Modules stand in order here, too.

use crate::engine::{Team, Tick};
use crate::error::ScenarioError;
use crate::measure::{Collector, Share, Snapshot, Window};
use crate::topology::{RouteTable, Topology};
use crate::traffic::{Plane, Traffic};
use crate::workload::Workload;
use links::LinkTable;
use phit_workload::host::{Left, Message};
use phit_workload::run::Asked;
pub(crate) use phit_workload::sample::{GOLDEN, spread};
use seams::probe::Probes;
use seams::queueing::{Division, QueueingParams};
use seams::routing::RoutingParams;
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub(crate) mod seams;

mod links;

mod incoming;

mod checks;
mod executor;
mod sources;
mod wires;
mod zero_load;

// The kernels.
pub mod ideal;
pub mod input_queued;
pub mod packet_node;

pub(crate) mod joint;
pub(crate) mod planes;

pub(crate) use crate::bandwidth::Bandwidth;
pub(crate) use checks::described;

pub(crate) use links::LinkClasses;
pub(crate) use zero_load::Ways;

/// Choices about how a run is executed, which never change its results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Threads; 0 counts as 1.
    pub threads: usize,
    /// Number of partitions; chosen automatically if `None`.
    pub partitions: Option<usize>,
}

/// What every kernel is built from.
#[derive(Clone)]
pub struct Blueprint {
    /// The graph.
    pub topology: Arc<dyn Topology>,
    /// Routing mechanism.
    pub routing: Arc<dyn RoutingParams + Send + Sync>,
    /// Queue organisation.
    pub queueing: Arc<dyn QueueingParams + Send + Sync>,
    /// How it divides buffers.
    pub division: Division,
    /// The routing mechanism's tables, if it has any.
    pub table: Option<Arc<RouteTable>>,
    /// Links, by class.
    pub links: LinkClasses,
    /// Traffic.
    pub traffic: Arc<Traffic>,
    /// What of it each plane gets, if there are several: a network like any other, see [`Self::of_plane`].
    pub planes: Vec<Arc<Traffic>>,
    /// The program that endpoints execute, if traffic is not drawn.
    pub workload: Option<Arc<Workload>>,
    /// Rows of a program that are asked for.
    pub rows: Asked,
    /// What is recorded.
    pub window: Window,
    /// What is looked at besides.
    pub probes: Probes,
    /// Seed of all streams.
    pub seed: u64,
}

impl Blueprint {
    /// One of several planes.
    pub fn of_plane(&self, number: usize) -> Self {
        let seed = Plane::seed(self.seed, number as u32);
        Self { traffic: self.planes[number].clone(), planes: Vec::new(), seed, ..self.clone() }
    }
}

/// How far a network has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// What has happened so far, in counts of the kernel's own: nothing has moved between two equal ones.
    pub done: [u64; 3],
    /// Packets in the network.
    pub held: u64,
}

/// What routing gets to know when something has broken or works again.
pub struct News<'a> {
    /// What is left.
    pub graph: &'a Arc<dyn Topology>,
    /// Outputs that have broken, as (router, port).
    pub dead: &'a [(u32, u16)],
    /// The number of the graph: 0 for that from the start.
    pub phase: usize,
    /// The routing mechanism's tables for it, if it has any.
    pub table: Option<Arc<RouteTable>>,
}

/// Ticks are 32-bit numbers; this leaves room for what is filed ahead.
pub(crate) const LAST: Tick = 1 << 31;

/// A network in motion, of one kernel.
pub trait Fabric: Send {
    /// Runs all ticks before `end`, from the end of the last call on.
    fn advance(&mut self, end: Tick);

    /// Ticks that it runs at once, if it is cut into parts that run ahead of one another; 0 if it makes no difference.
    fn epoch(&self) -> Tick {
        0
    }

    /// Records the packets of these ticks; what is generated there is counted until [`Self::close_window`].
    fn open_window(&mut self, span: Range<Tick>);

    /// Counts what sources have drawn of the window and not sent yet, and returns the packets that have been generated
    /// in it.
    fn close_window(&mut self) -> u64;

    /// The outputs `dead`, as (router, port), lead nowhere from now on, and the outputs `back` where they did before.
    /// Only for a kernel whose links can break ([`FabricParams::breaks`]).
    fn break_links(&mut self, _dead: &[(u32, u16)], _back: &[(u32, u16)]) {}

    /// Routing knows what has broken and what works again.
    fn reroute(&mut self, _news: &News<'_>) {}

    /// Counters of links and endpoints: of all, or of [`Self::share`].
    fn snapshot(&self) -> Snapshot;

    /// What of the network is here, if it is shared out among processes.
    fn share(&self) -> Option<Share> {
        None
    }

    /// What has been counted so far, in parts.
    fn collectors(&self) -> Vec<&Collector>;

    /// Bytes of all tables, by name.
    fn tables(&self) -> BTreeMap<&'static str, usize>;

    /// Bytes of all tables.
    fn bytes(&self) -> usize {
        self.tables().values().sum()
    }

    /// Parts into which the network is cut.
    fn partitions(&self) -> usize {
        1
    }

    /// How far the network has come.
    fn progress(&self) -> Progress;

    /// Ticks in which something must move if anything can.
    fn longest_wait(&self) -> Tick;

    /// Says which packets wait for one another, when nothing moves.
    fn stuck(&self) -> String;

    /// The networks that it consists of, if nothing passes between them: each may be stuck by itself.
    fn planes(&self) -> &[Box<dyn Fabric>] {
        &[]
    }

    /// True if the endpoints execute a program of which nothing can happen any more, for better or worse.
    fn at_rest(&self) -> bool {
        false
    }

    /// The first tick from now on in which something happens, `end` at the latest, if there is no packet in the
    /// network; else now or before.
    fn idle_until(&self, _end: Tick) -> Tick {
        0
    }

    /// Operations of the program that have been performed.
    fn performed(&self) -> u64 {
        0
    }

    /// When the last of the operations ends that have been performed so far, in ticks.
    fn finish(&self) -> u64 {
        0
    }

    /// What is left of the program, and the messages of which not all packets have come.
    fn left(&self) -> (Left, Vec<Message>) {
        Default::default()
    }

    /// The program goes on beyond [`Self::last`].
    fn beyond(&self) -> bool {
        false
    }

    /// The last tick that can be simulated.
    fn last(&self) -> u64 {
        LAST.into()
    }

    /// Notes in the collectors how the ranks of the program have fared.
    fn close_program(&mut self) {}

    /// Checks all that must hold between two ticks, and says what is wrong first. For tests: it costs far more than the
    /// ticks between two audits.
    fn audit(&self) -> Result<(), String>;

    /// The kernel itself, for tests that look inside.
    fn as_any(&self) -> &dyn Any;

    /// The kernel itself, to change, for tests that put something of their own into it.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// What is left of the parts of a program, in an order that does not depend on the parts.
pub(crate) fn gathered(parts: impl IntoIterator<Item = (Left, Vec<Message>)>) -> (Left, Vec<Message>) {
    let mut all: (Left, Vec<Message>) = Default::default();
    for (left, lost) in parts {
        all.0.add(left);
        all.1.extend(lost);
    }
    all.0.sort();
    Message::sort(&mut all.1);
    all
}

/// What a scenario asks of a kernel, for its checks.
pub struct Demands<'a> {
    /// The graph.
    pub topology: &'a dyn Topology,
    /// Name of the routing mechanism.
    pub routing_kind: &'static str,
    /// The routing mechanism.
    pub routing: &'a dyn RoutingParams,
    /// Name of the queue organisation.
    pub queueing_kind: &'static str,
    /// The queue organisation.
    pub queueing: &'a dyn QueueingParams,
    /// Phits of the largest packet.
    pub packet_size: u32,
    /// A program is executed, in place of traffic that is drawn.
    pub workload: bool,
    /// Names of the probes.
    pub probes: Vec<&'static str>,
    /// Names of all routing mechanisms of which something holds with their default parameters, for errors to list.
    pub routings: fn(RoutingProperty) -> String,
}

/// Something that holds of a routing mechanism, or does not.
pub type RoutingProperty = fn(&dyn RoutingParams) -> bool;

/// What a kernel's parameters provide.
pub trait FabricParams {
    /// Links by class.
    fn links(&self) -> &LinkTable;

    /// True if virtual channels share buffers.
    fn shares(&self) -> bool {
        false
    }

    /// Ticks per link cycle.
    fn ticks_per_cycle(&self) -> Tick {
        1
    }

    /// Phits per cycle up to which links are filled with flits of any size, by dividing ticks further.
    fn fills(&self) -> f64 {
        0.0
    }

    /// Cycles of the fastest clock per link cycle, or rounds of allocation: both are counted in 32 bits.
    fn router_cycles(&self) -> u32 {
        1
    }

    /// Ticks that a packet takes inside a router that has nothing else to do.
    fn inside(&self) -> Tick {
        1
    }

    /// Phits of the largest flit of a packet of so many phits.
    fn flit(&self, packet: u32) -> u32 {
        packet
    }

    /// True if packets move as a whole, from one buffer that takes all of them to the next.
    fn whole_packets(&self) -> bool {
        true
    }

    /// True if packets wait in virtual channels, of which a routing mechanism needs so many.
    fn has_channels(&self) -> bool {
        true
    }

    /// True if links, routers and endpoints can break.
    fn breaks(&self) -> bool {
        false
    }

    /// True if endpoints can have several source queues: they can answer requests, and send packets of several classes.
    fn several_source_queues(&self) -> bool {
        false
    }

    /// True if there can be several of its networks side by side.
    fn parallel(&self) -> bool {
        false
    }

    /// True if messages are carried in phits, so that it must be known how many bytes these have.
    fn counts_phits(&self) -> bool {
        true
    }

    /// Refuses settings that do not fit the graph, or are impossible by themselves. Error paths begin with `router`.
    fn check_settings(&self, topology: &dyn Topology) -> Result<(), ScenarioError>;

    /// Refuses what the kernel could not simulate as described; that there are enough virtual channels has been
    /// checked. Error paths are those of the scenario.
    fn check(&self, demands: &Demands<'_>) -> Result<(), ScenarioError>;

    /// Bytes that the network takes, by what: tables as they are built, and what is in them at a load.
    fn needs(&self, blueprint: &Blueprint, load: &Load) -> BTreeMap<&'static str, f64>;

    /// The network, empty, at tick 0.
    fn build(&self, blueprint: &Blueprint, options: Options) -> Box<dyn Fabric>;

    /// This process's share of the network, empty, at tick 0, which all processes of `team` run together.
    fn share(&self, _blueprint: &Blueprint, _options: Options, _team: &Team) -> Result<Box<dyn Fabric>, Whole> {
        Err(Whole::Router)
    }
}

/// What keeps a network from being shared out among processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// The kernel runs as a whole.
    Router,
    /// The routing mechanism looks at all of the network.
    Routing,
    /// It has too few routers for the processes.
    Topology,
}

/// What is expected to be in a network at once, for [`FabricParams::needs`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    /// Packets between their sources and their destinations.
    pub packets: f64,
    /// Their flits.
    pub flits: f64,
}

/// Routers of which tables are made to see how large those of all are.
const SAMPLED: u32 = 192;

/// Ticks in which some flit must move if any can: ten times the longest of all latencies added up, and no less than
/// 2000 cycles. `inside` are the latencies of a router, `packets` the packets that may share a link.
pub(crate) fn longest_wait(links: &LinkClasses, inside: &[Tick], packets: u32, packet_size: u32) -> Tick {
    let transfer = links.serialisation(packet_size, links.slowest());
    let transfers = transfer.saturating_mul(packets);
    let ways = [links.longest(), links.longest(), transfers];
    let sum = inside.iter().chain(&ways).fold(0, |sum: Tick, ticks| sum.saturating_add(*ticks));
    sum.saturating_mul(10).max(2000 * links.ticks_per_cycle)
}
