//! Networks that carry packets between endpoints: the trait [`Fabric`], and the kernels that implement it, a folder
//! each.
//!
//! A kernel is a folder with its parameters ([`FabricParams`]), its checks, its loop and its audit, and one line in the
//! registry of `[router]` (`scenario/routers.rs`). It sees policies only through `seams`, and knows no other kernel.
//! The functions of [`Fabric`] are called between stretches of cycles, never within a cycle.
//!
//! Modules stand in order here, too.

use crate::engine::{Memory, Team, Tick};
use crate::error::ScenarioError;
use crate::measure::{Collector, RankRow, Share, Snapshot, Window};
use crate::topology::{RouteTable, Topology};
use crate::traffic::{Plane, Traffic};
use crate::workload::Workload;
use links::LinkTable;
use phit_workload::host::{Left, Message};
use phit_workload::run::Asked;
pub(crate) use phit_workload::sample::{GOLDEN, spread};
use seams::congestion::CongestionParams;
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
mod reordering;

mod caller;

mod checks;
mod executor;
mod sources;
mod whole;
mod wires;
mod zero_load;

// The kernels.
pub mod fluid;
pub mod ideal;
pub mod input_queued;
pub mod packet_node;

pub(crate) mod joint;
pub(crate) mod planes;

pub(crate) use crate::bandwidth::Bandwidth;
pub use caller::{Caller, Sent};
pub(crate) use checks::described;

pub(crate) use links::{LinkClasses, MOST_FLITS, MOST_PARTS};
pub(crate) use zero_load::Ways;

/// Choices about the execution of a run, which never change its results.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Threads; 0 counts as 1.
    pub threads: usize,
    /// Number of partitions; chosen automatically if `None`.
    pub partitions: Option<usize>,
}

/// The blueprint of a network: the input of every kernel.
#[derive(Clone)]
pub struct Blueprint {
    /// The graph.
    pub topology: Arc<dyn Topology>,
    /// Routing mechanism.
    pub routing: Arc<dyn RoutingParams + Send + Sync>,
    /// Queue organisation.
    pub queueing: Arc<dyn QueueingParams + Send + Sync>,
    /// Congestion control.
    pub congestion: Arc<dyn CongestionParams + Send + Sync>,
    /// The organisation's division of buffers.
    pub division: Division,
    /// The routing mechanism's tables, if it has any.
    pub table: Option<Arc<RouteTable>>,
    /// Links, by class.
    pub links: LinkClasses,
    /// Traffic.
    pub traffic: Arc<Traffic>,
    /// Each plane's part of the traffic, if there are several planes. A plane is an ordinary network, see
    /// [`Self::of_plane`].
    pub planes: Vec<Arc<Traffic>>,
    /// The program that endpoints execute instead of random traffic.
    pub workload: Option<Arc<Workload>>,
    /// Rows of a program that are asked for.
    pub rows: Asked,
    /// Which packets are recorded, and how.
    pub window: Window,
    /// The probes of the run.
    pub probes: Probes,
    /// Seed of all streams.
    pub seed: u64,
}

impl Blueprint {
    /// The blueprint of one plane.
    pub fn of_plane(&self, number: usize) -> Self {
        let seed = Plane::seed(self.seed, number as u32);
        Self { traffic: self.planes[number].clone(), planes: Vec::new(), seed, ..self.clone() }
    }

    /// Phits of the smallest and of the largest packet, notifications of the congestion control included. These are no
    /// larger than the largest packet of the traffic.
    pub fn packet_sizes(&self) -> (u16, u16) {
        let (smallest, largest) = self.traffic.packet_sizes();
        let notification = self.congestion.smallest().unwrap_or(smallest);
        (smallest.min(notification), largest)
    }
}

/// The progress of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// The kernel's counters of activity: if two readings are equal, nothing moved between them.
    pub done: [u64; 3],
    /// Packets in the network.
    pub held: u64,
}

/// The news for routing when links, routers or endpoints have failed or work again.
pub struct News<'a> {
    /// The graph that works now.
    pub graph: &'a Arc<dyn Topology>,
    /// Outputs that have failed, as (router, port).
    pub dead: &'a [(u32, u16)],
    /// Number of the graph; the graph at the start has 0.
    pub phase: usize,
    /// The routing mechanism's tables for this graph, if it has any.
    pub table: Option<Arc<RouteTable>>,
}

/// Last tick of a run. Ticks are 32-bit numbers, and events are filed some ticks ahead of the present.
pub(crate) const LAST: Tick = 1 << 31;

/// A network in motion, of one kernel.
pub trait Fabric: Send {
    /// Runs all ticks from the end of the last call up to `end`.
    fn advance(&mut self, end: Tick);

    /// Ticks that it runs at once, if its parts run ahead of one another; 0 if it makes no difference.
    fn epoch(&self) -> Tick {
        0
    }

    /// Records the packets of these ticks. Packets generated there are counted until [`Self::close_window`].
    fn open_window(&mut self, span: Range<Tick>);

    /// Counts the packets of the window that sources have drawn and not yet sent. Returns the number of packets
    /// generated in the window.
    fn close_window(&mut self) -> u64;

    /// From now on, the outputs `dead`, as (router, port), lead nowhere, and the outputs `back` work again. Only for a
    /// kernel whose links can fail ([`FabricParams::breaks`]).
    fn break_links(&mut self, _dead: &[(u32, u16)], _back: &[(u32, u16)]) {}

    /// Routing learns of failures and repairs.
    fn reroute(&mut self, _news: &News<'_>) {}

    /// Counters of all links and endpoints, or of those in [`Self::share`].
    fn snapshot(&self) -> Snapshot;

    /// The part of the network in this process, if several processes share it.
    fn share(&self) -> Option<Share> {
        None
    }

    /// The counts so far, in parts.
    fn collectors(&self) -> Vec<&Collector>;

    /// Bytes of all tables, by name.
    fn tables(&self) -> BTreeMap<&'static str, usize>;

    /// Bytes of all tables.
    fn bytes(&self) -> usize {
        self.tables().values().sum()
    }

    /// Bytes of the tables that are in this process.
    fn bytes_here(&self) -> usize {
        self.bytes()
    }

    /// Parts into which the network is cut.
    fn partitions(&self) -> usize {
        1
    }

    /// The progress of the network.
    fn progress(&self) -> Progress;

    /// Ticks within which something must move, unless nothing can.
    fn longest_wait(&self) -> Tick;

    /// Says which packets wait for one another, when nothing moves.
    fn stuck(&self) -> String;

    /// The networks that it consists of, if nothing passes between them: each may be stuck alone.
    fn planes(&self) -> &[Box<dyn Fabric>] {
        &[]
    }

    /// True if the endpoints execute a program in which nothing can happen any more, finished or not.
    fn at_rest(&self) -> bool {
        false
    }

    /// True if it is [at rest](Self::at_rest) and empty: no packet, credit, message or wake-up is on its way.
    fn is_empty(&self) -> bool {
        self.at_rest()
    }

    /// The program, which has ended, begins again in tick `at`, which is [`Self::next_start`]. The network is
    /// [empty](Self::is_empty). Only for a kernel that repeats programs ([`FabricParams::repeats`]).
    fn begin_again(&mut self, _at: u64) {}

    /// The tick in which the program begins again, after an iteration that began in tick `start`: `now`, unless the
    /// kernel has a clock of its own. There are `look` ticks between two looks whether an iteration has ended.
    fn next_start(&self, now: Tick, _start: u64, _look: u64) -> u64 {
        now.into()
    }

    /// Adds the state of the empty network to `memory`.
    fn remember(&self, memory: &mut Memory) {
        memory.cannot("the state of this kind of router");
    }

    /// Returns the counts so far, and counts on from `blanks`: one for each of [`Self::collectors`].
    fn take_counts(&mut self, _blanks: &[Collector]) -> Option<Collector> {
        None
    }

    /// Adds counts to the counts so far.
    fn add_counts(&mut self, _counts: &Collector) {}

    /// The records of the program's ranks so far, by rank.
    fn rank_rows(&self) -> Vec<RankRow> {
        Vec::new()
    }

    /// If the network is empty: the first tick from now on in which something happens, at most `end`. Otherwise now or
    /// earlier.
    fn idle_until(&self, _end: Tick) -> Tick {
        0
    }

    /// Number of operations of the program that have been performed.
    fn performed(&self) -> u64 {
        0
    }

    /// When the last of the operations performed so far ends, in ticks.
    fn finish(&self) -> u64 {
        0
    }

    /// The unfinished part of the program, and the messages that have not arrived completely.
    fn left(&self) -> (Left, Vec<Message>) {
        Default::default()
    }

    /// True if the program goes on beyond [`Self::last`].
    fn beyond(&self) -> bool {
        false
    }

    /// The last tick that can be simulated.
    fn last(&self) -> u64 {
        LAST.into()
    }

    /// The network as a caller drives it, who sends the messages; `None` if this kernel has no callers. The program of
    /// its ranks is [`Called`](phit_workload::called::Called).
    fn caller(&mut self) -> Option<&mut dyn Caller> {
        None
    }

    /// Records the results of the program's ranks in the collectors.
    fn close_program(&mut self) {}

    /// Checks all conditions that must hold between two ticks, and returns the first violation. For tests: an audit
    /// costs far more than the ticks between two audits.
    fn audit(&self) -> Result<(), String>;

    /// The kernel itself, for tests that look inside.
    fn as_any(&self) -> &dyn Any;

    /// The kernel itself, mutable, for tests that insert objects of their own.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// The unfinished part of a program, gathered from parts, in an order that does not depend on the parts.
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

/// The demands of a scenario on a kernel, for its checks.
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
    /// Virtual networks, which have equal parts of the virtual channels.
    pub networks: u16,
    /// True if a program is executed instead of random traffic.
    pub workload: bool,
    /// The keys of the traffic beside the program, if there is any.
    pub beside: Vec<String>,
    /// Cycles from the loss or refusal of a packet until its source sends it again, with the key.
    pub timeout: Option<(&'static str, u32)>,
    /// True if a congestion control holds packets back at their sources, in a queue for each destination.
    pub throttled: bool,
    /// The keys of `[measure]` that tell packets apart, if any are given.
    pub telling_packets_apart: Vec<&'static str>,
    /// Names of the probes.
    pub probes: Vec<&'static str>,
    /// Names of all routing mechanisms with a property, with their default parameters. Errors list them.
    pub routings: fn(RoutingProperty) -> String,
}

/// A property of a routing mechanism.
pub type RoutingProperty = fn(&dyn RoutingParams) -> bool;

/// The parameters of a kernel.
pub trait FabricParams {
    /// Links by class.
    fn links(&self) -> &LinkTable;

    /// True if virtual channels share buffers.
    fn shares(&self) -> bool {
        false
    }

    /// True if every virtual channel between routers keeps room for a packet of `packet` phits (or for a flit, if flits
    /// move one by one), whatever the other channels hold.
    fn keeps_room(&self, _topology: &dyn Topology, _packet: u32) -> bool {
        true
    }

    /// Ticks per link cycle.
    fn ticks_per_cycle(&self) -> Tick {
        1
    }

    /// Phits per cycle up to which links are filled with flits of any size, by a finer division of ticks.
    fn fills(&self) -> f64 {
        0.0
    }

    /// Cycles of the fastest clock per link cycle, or rounds of allocation: both must fit in 32 bits.
    fn router_cycles(&self) -> u32 {
        1
    }

    /// Ticks that a packet takes inside an otherwise idle router.
    fn inside(&self) -> Tick {
        1
    }

    /// Phits of the largest flit of a packet of `packet` phits.
    fn flit(&self, packet: u32) -> u32 {
        packet
    }

    /// True if packets move as a whole, from one buffer with room for the whole packet to the next.
    fn whole_packets(&self) -> bool {
        true
    }

    /// True if packets wait in virtual channels, so that a routing mechanism needs enough of them.
    fn has_channels(&self) -> bool {
        true
    }

    /// True if links, routers and endpoints can fail.
    fn breaks(&self) -> bool {
        false
    }

    /// True if endpoints can have several source queues: then they can answer requests, and send packets of several
    /// classes.
    fn several_source_queues(&self) -> bool {
        false
    }

    /// True if packets without data of a congestion control have output buffers of their own.
    fn puts_control_first(&self) -> bool {
        false
    }

    /// True if virtual channels are allocated in a stage of their own.
    fn stages_channels(&self) -> bool {
        false
    }

    /// True if buffers pause their senders.
    fn pauses(&self) -> bool {
        false
    }

    /// True if several of its networks can run in parallel planes.
    fn parallel(&self) -> bool {
        false
    }

    /// True if programs can be repeated, see [`Fabric::begin_again`].
    fn repeats(&self) -> bool {
        false
    }

    /// True if messages are carried in phits, so that the size of a phit must be known.
    fn counts_phits(&self) -> bool {
        true
    }

    /// Refuses settings that do not fit the graph, or are impossible by themselves. Error paths begin with `router`.
    fn check_settings(&self, topology: &dyn Topology) -> Result<(), ScenarioError>;

    /// Refuses a scenario that the kernel cannot simulate as described. The number of virtual channels has been checked
    /// before. Error paths begin at the top of the scenario.
    fn check(&self, demands: &Demands<'_>) -> Result<(), ScenarioError>;

    /// Bytes of the network by part: tables, and packets at the given load.
    fn needs(&self, blueprint: &Blueprint, load: &Load) -> BTreeMap<&'static str, f64>;

    /// The network, empty, at tick 0.
    fn build(&self, blueprint: &Blueprint, options: Options) -> Box<dyn Fabric>;

    /// This process's share of a network that all processes of `team` run together: empty, at tick 0.
    fn share(&self, _blueprint: &Blueprint, _options: Options, _team: &Team) -> Result<Box<dyn Fabric>, Whole> {
        Err(Whole::Router)
    }
}

/// Why a network cannot be shared out among processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// The kernel only runs as a whole.
    Router,
    /// The routing mechanism reads the whole network.
    Routing,
    /// There are too few routers for the processes.
    Topology,
}

/// The expected contents of a network at one time, for [`FabricParams::needs`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    /// Packets between their sources and their destinations.
    pub packets: f64,
    /// Their flits.
    pub flits: f64,
}

/// Number of routers whose tables are made as a sample, to estimate all tables.
const SAMPLED: u32 = 192;

/// Ticks within which some flit must move, unless none can: ten times the sum of the longest latencies, and at least
/// 2000 cycles. `inside` are the latencies of a router, `packets` the packets that may share a link.
pub(crate) fn longest_wait(links: &LinkClasses, inside: &[Tick], packets: u32, packet_size: u32) -> Tick {
    let transfer = links.serialisation(packet_size, links.slowest());
    let transfers = transfer.saturating_mul(packets);
    let ways = [links.longest(), links.longest(), transfers];
    let sum = inside.iter().chain(&ways).fold(0, |sum: Tick, ticks| sum.saturating_add(*ticks));
    sum.saturating_mul(10).max(2000 * links.ticks_per_cycle)
}
