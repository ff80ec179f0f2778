//! The graph: routers, ports, links, endpoints, and the minimal deadlock-free hop towards a router.
//!
//! One file per topology; a new one comes here. A topology is built once, is immutable, and is shared by every
//! partition of a run.

use crate::bandwidth::Bandwidth;
use crate::engine::{Rng, Table};
use crate::error::{ScenarioError, joined};
use std::ops::Range;
use std::sync::Arc;

mod breadth;
mod cascade;
mod clos;
mod coordinates;
mod divisor;
mod dragonfly;
mod families;
mod faults;
mod graph;
mod grid;
mod hyperx;
mod k_ary_n_tree;
mod limits;
mod lines;
mod multistage;
mod names;
mod route_table;
mod routers;
mod single;
mod tree;
mod wires;

pub use crate::packet::{HopState, Hops, Leg};
pub use cascade::{Cascade, Channels};
pub use clos::Clos;
pub use coordinates::MOST_DIMENSIONS;
pub(crate) use dragonfly::Location;
pub use dragonfly::{Arrangement, Dragonfly};
pub use families::{DragonflyPlus, HammingMesh, Jellyfish, PolarFly, RailOptimised, SlimFly, Xgft, Xpander};
pub use faults::{Faults, Faulty, Retransmit};
pub use graph::Graph;
pub use grid::{Mesh, Torus};
pub use hyperx::HyperX;
pub(crate) use limits::check_sides;
pub use multistage::{Interconnection, Multistage};
pub(crate) use names::check_name;
pub use names::{Lookup, Named, Names, Words};
pub(crate) use route_table::MOST_ENTRIES;
pub use route_table::{ChannelMap, Crossing, Layers, NO_PORT, RouteTable};
pub use routers::Routers;
pub use single::Single;
pub use tree::{Place, Tree};
pub(crate) use wires::{Wire, Wires};

/// Where the outgoing side of a port leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// An endpoint; the same port injects that endpoint's packets.
    Endpoint(u32),
    /// The input side of a port of a router.
    Router {
        /// Router index.
        router: u32,
        /// Port of that router.
        port: u16,
    },
    /// Nothing: a mesh's edge, a faulty link, or the far side of a unidirectional link.
    None,
}

/// One port of a router: a direct pair of an input and an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Link class, an index into [`Topology::classes`]; class 0 is `endpoint`.
    pub class: u8,
    /// Where the output side leads.
    pub peer: Peer,
}

/// The output port of a hop and the range of virtual channels that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Output port.
    pub port: u16,
    /// First permitted VC.
    pub vc: u8,
    /// Number of permitted VCs, at least 1.
    pub vcs: u8,
}

/// A change during a run: links, routers or endpoints fail, or work again.
#[derive(Debug, Clone)]
pub struct Breakdown {
    /// Cycle of the change.
    pub cycle: u32,
    /// Cycles until routing learns of it.
    pub delay: u32,
    /// Outputs that lead nowhere from then on, as (router, port): outputs at both ends of links, and outputs to
    /// endpoints.
    pub dead: Vec<(u32, u16)>,
    /// Outputs that work again.
    pub back: Vec<(u32, u16)>,
    /// The graph that works after the change.
    pub graph: Arc<dyn Topology>,
}

/// The seam `topology`: a directed multigraph of routers with attached endpoints.
pub trait Topology: Send + Sync + std::fmt::Debug {
    /// Names of the link classes; the first is always `endpoint`. At most eight.
    fn classes(&self) -> &[String];
    /// Number of routers.
    fn routers(&self) -> u32;
    /// Number of endpoints.
    fn endpoints(&self) -> u32;
    /// Number of ports of `router`, endpoint ports included.
    fn ports(&self, router: u32) -> u16;
    /// Port `port` of `router`.
    fn port(&self, router: u32, port: u16) -> Port;
    /// The router and the port to which `endpoint` is attached.
    fn attachment(&self, endpoint: u32) -> (u32, u16);

    /// Phits per cycle of the link of `endpoint`, where endpoints have links of several bandwidths. It is `Some` for
    /// all endpoints, or `None` for all: then the bandwidth of the class holds.
    fn endpoint_bandwidth(&self, _endpoint: u32) -> Option<Bandwidth> {
        None
    }

    /// A range that includes all routers with endpoints. Routes begin, end and break their journey there. `to` in the
    /// calls below is one of them.
    fn hosts(&self) -> Range<u32> {
        0..self.routers()
    }

    /// Appends to `out` all hops that [`Self::minimal_hop`] may return for these arguments. A proof of deadlock freedom
    /// enumerates them.
    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>);

    /// The next hop of a minimal route from router `at` to router `to`, which must differ. The hop names the virtual
    /// channels that keep the routes of all packets free of deadlock. `vcs` is the number of VCs per class, each at
    /// least [`Self::vcs_needed`]: with fewer, the hop may name a VC that does not exist. Ties between minimal ports
    /// are broken with `rng`.
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop;

    /// Virtual channels per class that [`Self::minimal_hop`] needs for a route of `leg.of` legs (index ignored), with
    /// the reason in words. The entry of class 0 is 1.
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String);

    /// The leg of a minimal route that a packet takes where it could have taken a Valiant route: the only leg of its
    /// route. A topology that gives each leg virtual channels of its own ([`Leg::share`]) returns [`Leg::SECOND`]. In
    /// the channels of a first leg, such a packet could wait for a packet in its second leg.
    fn direct_leg(&self) -> Leg {
        Leg { index: 0, of: 1, to_group: false }
    }

    /// Links on a minimal path between two routers that have endpoints, or from any router on such a path to its end.
    fn distance(&self, a: u32, b: u32) -> u32;
    /// Length of the longest minimal path between routers that have endpoints, in links between routers.
    fn diameter(&self) -> u32;

    /// Number of groups, which adversarial traffic and group-Valiant routing refer to. In a topology without hierarchy,
    /// each router is a group.
    fn groups(&self) -> u32 {
        self.routers()
    }
    /// The group of `router`. Groups are contiguous ranges of routers of equal size.
    fn group_of(&self, router: u32) -> u32 {
        router
    }
    /// The routers of `group`.
    fn group_routers(&self, group: u32) -> Range<u32> {
        group..group + 1
    }
    /// Appends to `out` all hops that [`Self::group_hop`] may return for these arguments.
    fn group_hops(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        self.minimal_hops(at, self.group_routers(group).start, leg, state, vcs, out);
    }
    /// The next hop from router `at`, outside `group`, on a shortest path to the nearest router of `group`.
    fn group_hop(&self, at: u32, group: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        self.minimal_hop(at, self.group_routers(group).start, leg, state, vcs, rng)
    }
    /// The link by which a minimal route from router `at` leaves its group for the group of router `to`: the router at
    /// its near end, and the port. `None` if the route stays in the group, or groups have no such links. Ties are
    /// broken with `rng`.
    fn exit(&self, _at: u32, _to: u32, _rng: &mut Rng) -> Option<(u32, u16)> {
        None
    }
    /// A range that includes all ports of `router` whose links are of `class`.
    fn class_ports(&self, router: u32, class: u8) -> Range<u16> {
        let of_class = |port: &u16| self.port(router, *port).class == class;
        let first = (0..self.ports(router)).find(of_class).unwrap_or(0);
        first..(0..self.ports(router)).rev().find(of_class).map_or(first, |last| last + 1)
    }
    /// True for a Dragonfly, whose hops follow one another as local, global, local.
    fn is_dragonfly(&self) -> bool {
        false
    }
    /// Side lengths, for grids (router index = x + kx * (y + ky * (z + ...)), first dimension fastest).
    fn grid(&self) -> Option<&[u32]> {
        None
    }
    /// Levels, for trees.
    fn tree(&self) -> Option<&Tree> {
        None
    }
    /// The topology itself, if its minimal hops are compiled into the kernel.
    fn known(self: Arc<Self>) -> Known {
        Known::Other
    }
    /// The names of its routers, endpoints and ports, for messages: the user's names, or numbers.
    fn words(&self) -> Words<'_> {
        Words::default()
    }
    /// Its faults, now or later, if it has any.
    fn faulty(&self) -> Option<&Faulty> {
        None
    }
    /// The failures and repairs during the run, in order.
    fn breakdowns(&self) -> &[Breakdown] {
        &[]
    }
    /// The load that saturates the bisection under uniform traffic, in phits/(endpoint·cycle), for tori and meshes.
    /// `bandwidth` has the phits per cycle of each class of links.
    fn bisection_load(&self, _bandwidth: &[f64]) -> Option<f64> {
        None
    }
    /// True if the grid wraps around.
    fn wraps(&self) -> bool {
        false
    }
}

/// Topologies whose minimal hops the kernel computes without a call through the trait object.
#[derive(Debug, Clone)]
pub enum Known {
    /// A Dragonfly.
    Dragonfly(Arc<dragonfly::DragonflyGraph>),
    /// A mesh or a torus.
    Grid(Arc<grid::GridGraph>),
    /// A folded Clos network.
    Clos(Arc<clos::ClosGraph>),
    /// Any other.
    Other,
}

impl Known {
    /// [`Topology::minimal_hop`] of `topology`, which `self` must describe, for a route of one leg.
    #[inline(always)]
    pub(crate) fn minimal_hop(
        &self,
        topology: &dyn Topology,
        at: u32,
        to: u32,
        state: HopState,
        vcs: &[u8],
        rng: &mut Rng,
    ) -> Hop {
        self.leg_hop(topology, (at, to, Leg::ONLY), state, vcs, rng)
    }

    /// [`Topology::minimal_hop`] of `topology`, which `self` must describe, from a router to another in a leg of a
    /// route.
    #[inline(always)]
    pub(crate) fn leg_hop(
        &self,
        topology: &dyn Topology,
        (at, to, leg): (u32, u32, Leg),
        state: HopState,
        vcs: &[u8],
        rng: &mut Rng,
    ) -> Hop {
        self.with_leg_hop(topology, (at, to, leg), || state, || (vcs, rng), |hop| hop)
    }

    /// Computes [`Self::leg_hop`] and passes it on to `then`. Not every topology reads the packet's state, the virtual
    /// channels or the random stream, so these are requested only where they are read.
    #[inline(always)]
    pub(crate) fn with_leg_hop<'a, T>(
        &self,
        topology: &dyn Topology,
        (at, to, leg): (u32, u32, Leg),
        state: impl FnOnce() -> HopState,
        rest: impl FnOnce() -> (&'a [u8], &'a mut Rng),
        then: impl FnOnce(Hop) -> T,
    ) -> T {
        match self {
            Self::Dragonfly(graph) => {
                let (vcs, rng) = rest();
                then(graph.minimal_hop(at, to, leg, state(), vcs, rng))
            }
            Self::Grid(graph) => {
                let (vcs, rng) = rest();
                then(graph.minimal_hop(at, to, leg, state(), vcs, rng))
            }
            Self::Clos(graph) => {
                let (vcs, rng) = rest();
                then(graph.minimal_hop(at, to, leg, state(), vcs, rng))
            }
            Self::Other => {
                let (vcs, rng) = rest();
                then(topology.minimal_hop(at, to, leg, state(), vcs, rng))
            }
        }
    }

    /// The positions of these routers, for [`Self::with_only_hop`]; empty for topologies where it needs none.
    pub(crate) fn locations(&self, routers: &Routers) -> Table<Location> {
        match self {
            Self::Dragonfly(graph) => routers.iter().map(|router| graph.location(router)).collect::<Vec<_>>().into(),
            _ => Table::default(),
        }
    }

    /// Passes on port and virtual channel of [`Topology::minimal_hop`], if it is the only one, for a packet of one leg
    /// with these hops behind it. Also passes on whether the packet is at its destination's router; then port and
    /// channel are meaningless.
    #[inline(always)]
    pub(crate) fn with_only_hop(
        &self,
        at: impl FnOnce() -> Location,
        to: u32,
        hops: Hops,
        then: impl FnOnce(u16, u8, bool),
    ) {
        if let Self::Dragonfly(graph) = self {
            graph.with_only_hop(at(), to, hops, then);
        }
    }

    /// The port of [`Topology::minimal_hop`] from a router to another, if it is known to be the only one.
    #[inline(always)]
    pub(crate) fn only_port(&self, at: u32, to: u32) -> Option<u16> {
        match self {
            Self::Dragonfly(graph) => graph.only_port(at, to),
            _ => None,
        }
    }

    /// [`Topology::exit`] of `topology`, which `self` must describe, with the router as its number in the group. `rng`
    /// is requested only where there is a choice.
    #[inline]
    pub(crate) fn exit(
        &self,
        topology: &dyn Topology,
        at: u32,
        to: u32,
        rng: impl FnOnce() -> Rng,
    ) -> Option<(u32, u16)> {
        match self {
            Self::Dragonfly(graph) if graph.has_one_link() => graph.only_exit(at, to),
            _ => {
                let (router, port) = topology.exit(at, to, &mut rng())?;
                Some((router - topology.group_routers(topology.group_of(router)).start, port))
            }
        }
    }

    /// [`Topology::group_of`] of `topology`, which `self` must describe.
    #[inline]
    pub(crate) fn group_of(&self, topology: &dyn Topology, router: u32) -> u32 {
        match self {
            Self::Dragonfly(graph) => graph.group_of(router),
            _ => topology.group_of(router),
        }
    }

    /// [`Topology::distance`] of `topology`, which `self` must describe.
    #[inline]
    pub(crate) fn distance(&self, topology: &dyn Topology, a: u32, b: u32) -> u32 {
        match self {
            Self::Dragonfly(graph) => graph.distance(a, b),
            _ => topology.distance(a, b),
        }
    }

    /// [`Topology::attachment`] of `topology`, which `self` must describe.
    #[inline(always)]
    pub(crate) fn attachment(&self, topology: &dyn Topology, endpoint: u32) -> (u32, u16) {
        match self {
            Self::Dragonfly(graph) => graph.attachment(endpoint),
            Self::Grid(graph) => graph.attachment(endpoint),
            Self::Clos(graph) => graph.attachment(endpoint),
            Self::Other => topology.attachment(endpoint),
        }
    }
}

/// The groups that include routers with endpoints.
pub fn host_groups(topology: &dyn Topology) -> Range<u32> {
    let hosts = topology.hosts();
    topology.group_of(hosts.start)..topology.group_of(hosts.end.max(1) - 1) + 1
}

/// The routers where routes may break their journey.
pub fn stops(topology: &dyn Topology) -> impl Iterator<Item = u32> + '_ {
    topology.hosts().filter(|&router| topology.faulty().is_none_or(|faulty| !faulty.is_closed(router)))
}

/// The routers where routes begin and end: those with endpoints that have not failed.
pub fn terminals(topology: &dyn Topology) -> Vec<u32> {
    let mut has_endpoints = vec![false; topology.routers() as usize];
    (0..topology.endpoints()).for_each(|endpoint| has_endpoints[topology.attachment(endpoint).0 as usize] = true);
    let works = |router: &u32| topology.faulty().is_none_or(|faulty| !faulty.is_down(*router));
    topology.hosts().filter(|&router| has_endpoints[router as usize]).filter(works).collect()
}

/// The parameters of a topology.
pub trait TopologyParams {
    /// Estimate of the graph's memory in bytes, if its tables grow faster than the network. The parameters need not be
    /// valid.
    fn needs(&self) -> f64 {
        0.0
    }
    /// The faults of the network, if the table has any.
    fn faults(&self) -> Option<&Faults> {
        None
    }
    /// Checks the parameters and builds the graph without faults. Error paths are relative to `topology`.
    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError>;
}

crate::registry::registry! {
    /// `[topology]`: the network graph.
    pub enum TopologyKind: "topology" as TopologyParams {
        "dragonfly" => Dragonfly(dragonfly::Dragonfly),
        "mesh" => Mesh(grid::Mesh),
        "torus" => Torus(grid::Torus),
        "hyperx" => HyperX(hyperx::HyperX),
        "cascade" => Cascade(cascade::Cascade),
        "clos" => Clos(clos::Clos),
        "k_ary_n_tree" => KAryNTree(k_ary_n_tree::KAryNTree),
        "multistage" => Multistage(multistage::Multistage),
        "single" => Single(single::Single),
        "graph" => Graph(graph::Graph),
        "slim_fly" => SlimFly(families::SlimFly),
        "polarfly" => PolarFly(families::PolarFly),
        "jellyfish" => Jellyfish(families::Jellyfish),
        "xpander" => Xpander(families::Xpander),
        "dragonfly_plus" => DragonflyPlus(families::DragonflyPlus),
        "hamming_mesh" => HammingMesh(families::HammingMesh),
        "rail_optimised" => RailOptimised(families::RailOptimised),
        "xgft" => Xgft(families::Xgft),
    }
}

impl TopologyKind {
    /// Builds the graph with its faults. A program may have set parameters directly, so they are checked against the
    /// bounds of their schema.
    pub fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        joined(Ok(()), self.broken("topology"))?;
        let params = self.params();
        let graph = params.build().map_err(|e| e.under("topology"))?;
        match params.faults().filter(|faults| !faults.nothing()) {
            Some(faults) => {
                // Checked first: following faults along routes that are too long for any mechanism would take minutes.
                check_sides(&*graph, 1)?;
                faults.apply(graph).map_err(|e| e.under("topology.faults"))
            }
            None => Ok(graph),
        }
    }
}
