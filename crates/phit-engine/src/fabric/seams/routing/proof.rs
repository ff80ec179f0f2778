//! A routing mechanism's description of its packets' routes, with which [`crate::proof`] can prove them free of
//! deadlock.

use crate::fabric::seams::bubble::Escape;
use crate::topology::{Hop, Hops, Leg, Topology};

/// Why the packets of a routing mechanism cannot wait for one another for ever.
pub enum Proof {
    /// Each packet takes a route of one of these kinds, and channels do not wait for one another in a cycle
    /// (`proof/cdg.rs`).
    Order(Vec<Routes>),
    /// Packets take such steps, and channels do not wait for one another in a cycle (`proof/escape.rs`).
    Steps(Box<dyn Adaptive>),
    /// Virtual channels are numbered by the hops taken before, and channels do not wait for one another in a cycle
    /// (`proof/ladder.rs`).
    Ladder(Ladder),
    /// Every packet can always escape, under virtual cut-through or store-and-forward (`proof/escape.rs`).
    Escape(Box<dyn Adaptive>),
    /// Packets enter a ring only if they leave room in it, and rings do not wait for one another in a cycle
    /// (`proof/bubble.rs`).
    Bubble(Escape),
    /// Packets go in dimension order, and enter a ring only if they leave room in any of its channels
    /// (`proof/bubble.rs`).
    Rings,
    /// Packets follow the mechanism's tables, each in the layer of its route, and channels do not wait for one another
    /// in a cycle (`proof/tables.rs`).
    Tables,
    /// The routes cannot be followed.
    Unknown,
}

/// Links of the longest route on a network.
pub type Longest = Box<dyn Fn(&dyn Topology) -> u32 + Send>;

/// Routes in which a packet takes any hop after which a minimal route fits into the remaining hops.
pub struct Ladder {
    /// Links of the longest route on a network.
    pub longest: Longest,
    /// The mechanism's own steps, a subset of these. They are followed if the ladder alone has a cycle, which happens
    /// with fewer virtual channels than hops.
    pub steps: Option<Box<dyn Adaptive>>,
}

impl Ladder {
    /// The virtual channels of the hop after `taken` others, if `vcs` channels are divided among `hops` hops, as
    /// (first, number).
    pub(crate) fn channels(taken: u32, hops: u32, vcs: u8) -> (u8, u8) {
        /// A packet counts its hops in a byte.
        const MOST: u32 = u8::MAX as u32;
        Leg { index: taken.min(MOST - 1) as u8, of: hops.min(MOST) as u8, to_group: false }.share(vcs)
    }
}

impl Proof {
    /// Routes of one kind, over the channels that the topology gives them.
    pub fn legs(legs: Legs) -> Self {
        Self::Order(vec![legs.into()])
    }

    /// Valiant routes of one kind and direct ones, over the channels that the topology gives them.
    pub fn legs_or_direct(legs: Legs) -> Self {
        Self::Order(vec![legs.into(), Legs::Direct.into()])
    }

    /// The longest routes, if packets take the channels of their places on the route.
    pub fn reference(&self) -> Option<Legs> {
        let Self::Order(routes) = self else { return None };
        if routes.iter().any(|routes| routes.channels == Channels::Progressive) {
            return None;
        }
        // From the longest to the shortest.
        let kinds = [Legs::ToRouter, Legs::ToGroup, Legs::Minimal, Legs::Direct];
        kinds.into_iter().find(|legs| routes.iter().any(|routes| routes.legs == *legs))
    }

    /// True if all routes are minimal.
    pub fn is_minimal(&self) -> bool {
        matches!(self, Self::Order(routes) if routes.iter().all(|routes| routes.legs == Legs::Minimal))
    }
}

/// The routes to prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legs {
    /// Minimal routes: one leg.
    Minimal,
    /// Minimal routes of packets that could have taken Valiant routes ([`Topology::direct_leg`]).
    Direct,
    /// Valiant routes over any router.
    ToRouter,
    /// Valiant routes over any group, entered at whichever router is nearest.
    ToGroup,
}

impl Legs {
    /// All kinds of routes that a mechanism may take alone.
    pub const ALL: [Self; 3] = [Self::Minimal, Self::ToRouter, Self::ToGroup];

    /// True if packets go through an intermediate router or group.
    pub fn are_valiant(self) -> bool {
        matches!(self, Self::ToRouter | Self::ToGroup)
    }

    /// The leg of these routes with this index, as an argument of a topology.
    pub fn leg(self, index: u8) -> Leg {
        Leg { index, of: if self.are_valiant() { 2 } else { 1 }, to_group: self == Self::ToGroup }
    }

    /// The leg that ends at the destination.
    pub fn last_leg(self, topology: &dyn Topology) -> Leg {
        match self {
            Self::Minimal => self.leg(0),
            Self::Direct => topology.direct_leg(),
            Self::ToRouter | Self::ToGroup => self.leg(1),
        }
    }
}

/// The channels of routes on their legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// The channels that the topology gives each leg.
    OfLegs,
    /// The channels that the topology gives each leg, with one exception in Dragonflies. A packet whose first leg ended
    /// with a global hop uses local channel 1 next (`second_half = "next"` of Valiant routing).
    Next,
    /// The channels of progressive adaptive routing in a Dragonfly (`par`). The first hop of a packet that may still
    /// choose the second leg takes local channel 0. All other local hops take one channel above the topology's.
    Progressive,
}

/// Routes and their channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routes {
    /// The destinations of the legs.
    pub legs: Legs,
    /// The channels that they take.
    pub channels: Channels,
}

impl From<Legs> for Routes {
    fn from(legs: Legs) -> Self {
        Self { legs, channels: Channels::OfLegs }
    }
}

/// A packet under way: the parts of its state that determine its next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Router where its head is.
    pub at: u32,
    /// Router of its destination.
    pub to: u32,
    /// Class of the link by which it came (0: it was injected here), and virtual channel.
    pub came: (u8, u8),
    /// Hops taken so far.
    pub hops: Hops,
    /// The mechanism's memory in the packet.
    pub memo: u32,
}

/// A hop that a packet may take.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The hop.
    pub hop: Hop,
    /// The mechanism's memory in a packet that takes it.
    pub memo: u32,
    /// The packet may always wait for this hop.
    pub escape: bool,
}

/// A mechanism whose packets' steps can be followed.
pub trait Adaptive: Send {
    /// All hops that a packet may take with `vcs` virtual channels per link class, appended to `out`.
    fn steps(&self, topology: &dyn Topology, packet: &Standing, vcs: &[u8], out: &mut Vec<Step>);
    /// True if it is ejected where it is.
    fn has_arrived(&self, packet: &Standing) -> bool {
        packet.at == packet.to
    }
    /// Links on its longest route.
    fn longest(&self, topology: &dyn Topology) -> u32;
    /// True if a packet that has taken an escape hop only takes escape hops from there on. Then no flit of it waits, in
    /// an escape channel, for another channel, so packets may occupy several channels (Duato, IEEE TPDS 1993).
    fn stays_in_escape(&self) -> bool {
        false
    }
    /// False if no step depends on the number of hops taken, and every step leads nearer to the destination. Then a
    /// proof follows packets by their positions alone.
    fn counts_hops(&self) -> bool {
        true
    }
}
