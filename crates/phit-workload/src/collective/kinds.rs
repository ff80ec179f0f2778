//! The collectives and their algorithms by name.

use super::binomial::{Binomial, Way};
use super::bruck::{BruckAllToAll, BruckGather, Dissemination};
use super::chain::Chain;
use super::chunked::Chunked;
use super::doubling::{Doubling, Exchange};
use super::folded::{Folded, largest_power};
use super::hierarchical::{Hierarchical, groups};
use super::linear::{Has, Linear};
use super::pairs::Pairs;
use super::pairwise::{Pairwise, Sizes};
use super::phased::{Phase, Phased};
use super::relay::Relay;
use super::ring::{Around, Ring, RingInRounds};
use super::spread::Spread;
use super::two_trees::{DoubleTree, RootedTrees};
use super::{Cut, Steps};
use crate::error::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The kind of a collective. Bytes are the size of the whole vector that each member has, or gets, unless stated
/// otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Collective {
    /// All members get the sum.
    AllReduce,
    /// All members get all data. Bytes are the data of one member.
    AllGather,
    /// Each member gets its block of the sum.
    ReduceScatter,
    /// Each member has data for every other one. Bytes are the data for one of them.
    AllToAll,
    /// All members get the root's data.
    Broadcast,
    /// The root gets the sum.
    Reduce,
    /// The root gets all data. Bytes are the data of one member.
    Gather,
    /// Each member gets its part of the root's data. Bytes are the data for one member.
    Scatter,
    /// No member goes on before all have arrived. Bytes are the size of a message.
    Barrier,
}

/// The algorithm of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Algorithm {
    /// From each member to the next.
    Ring,
    /// With partners at distances 1, 2, 4...: all data that is there.
    RecursiveDoubling,
    /// With partners at distances ..., 4, 2, 1: half of the remaining data.
    RecursiveHalving,
    /// Recursive halving, then recursive doubling (Rabenseifner).
    HalvingDoubling,
    /// Distances 1, 2, 4..., for any number of members.
    Bruck,
    /// With each of the others in turn.
    Pairwise,
    /// With all others at once, or with a window of them.
    Direct,
    /// A binomial tree.
    Binomial,
    /// A chain, in segments.
    Chain,
    /// Two binary trees, in segments.
    DoubleBinaryTree,
    /// To the members 1, 2, 4... places on.
    Dissemination,
    /// A scatter by a binomial tree, then an all-gather by a ring (van de Geijn).
    ScatterAllGather,
    /// By groups of members: inside the groups, and across them.
    Hierarchical,
}

/// Every collective with its algorithms, the usual one first.
const TABLE: &[(Collective, &[Algorithm])] = {
    use Algorithm::*;
    &[
        (
            Collective::AllReduce,
            &[Ring, RecursiveDoubling, HalvingDoubling, DoubleBinaryTree, Binomial, Direct, Hierarchical],
        ),
        (Collective::AllGather, &[Ring, RecursiveDoubling, Bruck, Pairwise, Direct, Hierarchical]),
        (Collective::ReduceScatter, &[Ring, RecursiveHalving, Pairwise, Direct, Hierarchical]),
        (Collective::AllToAll, &[Pairwise, Bruck, Direct, Ring, Hierarchical]),
        (Collective::Broadcast, &[Binomial, Chain, DoubleBinaryTree, ScatterAllGather, Direct, Hierarchical]),
        (Collective::Reduce, &[Binomial, Chain, DoubleBinaryTree, Direct, Hierarchical]),
        (Collective::Gather, &[Binomial, Direct]),
        (Collective::Scatter, &[Binomial, Direct]),
        (Collective::Barrier, &[Dissemination, Binomial, Direct, Hierarchical]),
    ]
};

impl Collective {
    /// All collectives.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(collective, _)| *collective)
    }

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
        }
    }

    /// Its algorithms, the usual one first.
    pub fn algorithms(self) -> &'static [Algorithm] {
        TABLE.iter().find(|(collective, _)| *collective == self).map_or(&[], |(_, algorithms)| algorithms)
    }

    /// The usual algorithm.
    pub fn usual(self) -> Algorithm {
        self.algorithms().first().copied().unwrap_or(Algorithm::Ring)
    }
}

impl Algorithm {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::RecursiveDoubling => "recursive_doubling",
            Self::RecursiveHalving => "recursive_halving",
            Self::HalvingDoubling => "halving_doubling",
            Self::Bruck => "bruck",
            Self::Pairwise => "pairwise",
            Self::Direct => "direct",
            Self::Binomial => "binomial",
            Self::Chain => "chain",
            Self::DoubleBinaryTree => "double_binary_tree",
            Self::Dissemination => "dissemination",
            Self::ScatterAllGather => "scatter_all_gather",
            Self::Hierarchical => "hierarchical",
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A collective with all its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// The kind of the collective.
    pub collective: Collective,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Number of members.
    pub members: u32,
    /// Bytes, see [`Collective`].
    pub bytes: u64,
    /// Root: source of a broadcast or a scatter, destination of a reduction or a gather.
    pub root: u32,
    /// Number of chunks, which are sent independently.
    pub chunks: u32,
    /// Number of chunks under way at once: a member begins the next chunk when one has ended. 0 for all.
    pub at_once: u32,
    /// Segments of a chain or of a binary tree's half.
    pub segments: u32,
    /// Number of members with which the direct algorithm exchanges at a time; 0 for all.
    pub window: u32,
    /// Rounds into which the steps of a ring are merged, for sums and again for blocks; 0 for all steps.
    pub rounds: u32,
    /// The data between members of an all-to-all, instead of `bytes`.
    pub pairs: Option<Pairs>,
    /// Sizes of groups of consecutive members, for the hierarchical algorithm. A single size is repeated.
    pub groups: Vec<u32>,
}

impl Members {
    /// A collective in one piece, rooted at member 0.
    pub fn new(collective: Collective, algorithm: Algorithm, members: u32, bytes: u64) -> Self {
        let (root, chunks, at_once, segments, window, rounds) = (0, 1, 0, 1, 0, 0);
        let (pairs, groups) = (None, vec![]);
        Self { collective, algorithm, members, bytes, root, chunks, at_once, segments, window, rounds, pairs, groups }
    }

    /// The steps of each member. Refuses a number of members that the algorithm does not support.
    pub fn steps(&self) -> Result<Arc<dyn Steps>, Error> {
        let Self { collective, algorithm, members, bytes, root, chunks, at_once, segments, pairs, .. } = self;
        if !collective.algorithms().contains(algorithm) {
            return Err(unsupported(*collective, *algorithm));
        }
        if *members == 0 {
            return Err(Error::new(format!("{collective} of no members")));
        }
        if root >= members {
            return Err(Error::key("root", root, format!("expected a member below {members}")));
        }
        for (key, value) in [("chunks", chunks), ("segments", segments)] {
            if *value == 0 {
                return Err(Error::key(key, value, "expected 1 or more"));
            }
        }
        if self.rounds > 0 && (*algorithm != Algorithm::Ring || *collective == Collective::AllToAll) {
            let expected = format!("only rings of sums or blocks have rounds, and this is {collective} by {algorithm}");
            return Err(Error::key("rounds", self.rounds, expected));
        }
        if let Some(pairs) = pairs {
            self.check_pairs(pairs)?;
        }
        let pairs = pairs.clone().unwrap_or(Pairs::Equal(*bytes));
        if *chunks == 1 {
            return self.whole(*bytes, pairs);
        }
        let pairs = Arc::new(pairs);
        let mut made: Vec<(u64, Arc<dyn Steps>)> = vec![];
        let mut all = vec![];
        for chunk in 0..*chunks {
            let bytes = bytes / u64::from(*chunks) + u64::from(u64::from(chunk) < bytes % u64::from(*chunks));
            let known = made.iter().find(|(size, _)| *size == bytes && self.pairs.is_none());
            let steps = match known {
                Some((_, steps)) => steps.clone(),
                None => self.whole(bytes, Pairs::Chunk(pairs.clone(), chunk, *chunks))?,
            };
            made.push((bytes, steps.clone()));
            made.truncate(2);
            all.push(steps);
        }
        let at_once = if *at_once == 0 { *chunks } else { *at_once.min(chunks) };
        Ok(Arc::new(Chunked { chunks: all, at_once }))
    }

    fn check_pairs(&self, pairs: &Pairs) -> Result<(), Error> {
        let Self { collective, members, .. } = self;
        if *collective != Collective::AllToAll {
            return Err(Error::new(format!("{collective}: only all_to_all has bytes by source and destination")));
        }
        let square = u64::from(*members) * u64::from(*members);
        match pairs {
            Pairs::Back(of) => self.check_pairs(of),
            Pairs::Matrix(matrix) if matrix.len() as u64 != square => {
                Err(Error::new(format!("a matrix of {members} rows and columns is expected")))
            }
            Pairs::ByDestination(bytes) if bytes.len() != *members as usize => {
                Err(Error::new(format!("bytes for {members} destinations are expected, not for {}", bytes.len())))
            }
            _ => Ok(()),
        }
    }

    fn whole(&self, bytes: u64, pairs: Pairs) -> Result<Arc<dyn Steps>, Error> {
        use {Algorithm as A, Collective as C};
        let Self { collective, algorithm, members, root, segments, window, .. } = self;
        let (members, root, segments, window) = (*members, *root, *segments, *window);
        let cut = Cut { members, bytes };
        let all = || gathered(bytes, members).map(|bytes| Cut { members, bytes });
        let ring = |cut: Cut, around| -> Arc<dyn Steps> {
            let ring = Ring { cut, around };
            match self.rounds {
                rounds if rounds > 0 && cut.members > 1 => Arc::new(RingInRounds { ring, rounds }),
                _ => Arc::new(ring),
            }
        };
        let doubling = |cut, exchange| -> Result<Arc<dyn Steps>, Error> {
            self.power_of_two()?;
            Ok(Arc::new(Doubling { cut, exchange }))
        };
        let folded = |exchange| -> Arc<dyn Steps> {
            let inner = Cut { members: largest_power(members), bytes };
            Arc::new(Folded { members, bytes, inner: Doubling { cut: inner, exchange } })
        };
        let in_turn = |sizes| -> Arc<dyn Steps> { Arc::new(Pairwise::in_turn(members, sizes)) };
        let at_once = |sizes, window| -> Arc<dyn Steps> { Arc::new(Pairwise::at_once(members, sizes, window)) };
        let phases = |phases: Vec<Arc<dyn Steps>>| -> Arc<dyn Steps> {
            Arc::new(Phased(phases.into_iter().map(Phase::All).collect()))
        };
        let binomial = |way| -> Arc<dyn Steps> { Arc::new(Binomial { cut, root, way }) };
        let chain = |way| -> Arc<dyn Steps> { Arc::new(Chain { members, bytes, root, way, segments }) };
        let trees = |way| -> Arc<dyn Steps> { Arc::new(RootedTrees { members, bytes, root, way, segments }) };
        let linear = |cut, way, has| -> Arc<dyn Steps> { Arc::new(Linear { cut, root, way, has }) };
        let spread = |cut, way| -> Arc<dyn Steps> { Arc::new(Spread { cut, root, way }) };
        Ok(match (collective, algorithm) {
            (C::AllReduce, A::Ring) => ring(cut, Around::Both),
            (C::AllReduce, A::RecursiveDoubling) => folded(Exchange::Whole),
            (C::AllReduce, A::HalvingDoubling) => folded(Exchange::HalveAndGather),
            (C::AllReduce, A::DoubleBinaryTree) => Arc::new(DoubleTree { members, bytes, segments }),
            (C::AllReduce | C::Barrier, A::Binomial) => phases(vec![binomial(Way::Up), binomial(Way::Down)]),
            (C::AllReduce, A::Direct) => phases(vec![at_once(Sizes::Theirs(cut), 0), at_once(Sizes::Own(cut), 0)]),
            (C::AllGather, A::Ring) => ring(all()?, Around::Gather),
            (C::AllGather, A::RecursiveDoubling) => doubling(all()?, Exchange::Gather)?,
            (C::AllGather, A::Bruck) => Arc::new(BruckGather { cut: all()? }),
            (C::AllGather, A::Pairwise) => in_turn(Sizes::Own(all()?)),
            (C::AllGather, A::Direct) => at_once(Sizes::Own(all()?), window),
            (C::ReduceScatter, A::Ring) => ring(cut, Around::Reduce),
            (C::ReduceScatter, A::RecursiveHalving) => doubling(cut, Exchange::Halve)?,
            (C::ReduceScatter, A::Pairwise) => in_turn(Sizes::Theirs(cut)),
            (C::ReduceScatter, A::Direct) => at_once(Sizes::Theirs(cut), window),
            (C::AllToAll, A::Pairwise) => in_turn(Sizes::Each(pairs)),
            (C::AllToAll, A::Direct) => at_once(Sizes::Each(pairs), window),
            (C::AllToAll, A::Bruck) => Arc::new(BruckAllToAll { members, pairs }),
            (C::AllToAll, A::Ring) => Arc::new(Relay { members, pairs }),
            (C::Broadcast, A::Binomial) => binomial(Way::Down),
            (C::Broadcast, A::Chain) => chain(Way::Down),
            (C::Broadcast, A::DoubleBinaryTree) => trees(Way::Down),
            (C::Broadcast, A::ScatterAllGather) => phases(vec![spread(cut, Way::Down), ring(cut, Around::Gather)]),
            (C::Broadcast, A::Direct) => linear(cut, Way::Down, Has::Whole),
            (C::Reduce, A::Binomial) => binomial(Way::Up),
            (C::Reduce, A::Chain) => chain(Way::Up),
            (C::Reduce, A::DoubleBinaryTree) => trees(Way::Up),
            (C::Reduce, A::Direct) => linear(cut, Way::Up, Has::Whole),
            (C::Gather, A::Binomial) => spread(all()?, Way::Up),
            (C::Gather, A::Direct) => linear(all()?, Way::Up, Has::Blocks),
            (C::Scatter, A::Binomial) => spread(all()?, Way::Down),
            (C::Scatter, A::Direct) => linear(all()?, Way::Down, Has::Blocks),
            (C::Barrier, A::Dissemination) => Arc::new(Dissemination { members, bytes }),
            (C::Barrier, A::Direct) => {
                phases(vec![linear(cut, Way::Up, Has::Whole), linear(cut, Way::Down, Has::Whole)])
            }
            (collective, A::Hierarchical) => {
                let groups = groups(&self.groups, members)?;
                Hierarchical { members, bytes, root, groups }.steps(*collective, &pairs)?
            }
            _ => return Err(unsupported(*collective, *algorithm)),
        })
    }

    fn power_of_two(&self) -> Result<(), Error> {
        match self.members.is_power_of_two() {
            true => Ok(()),
            false => {
                let Self { collective, algorithm, members, .. } = self;
                let message = format!("{collective} by {algorithm} needs a power of two of members, not {members}");
                Err(Error { key: Some("algorithm"), ..Error::new(message) })
            }
        }
    }
}

/// Bytes of all members together.
pub(crate) fn gathered(bytes: u64, members: u32) -> Result<u64, Error> {
    let all = bytes.checked_mul(u64::from(members));
    all.ok_or_else(|| Error::key("bytes", bytes, format!("those of {members} members are more than 2^64")))
}

pub(crate) fn unsupported(collective: Collective, algorithm: Algorithm) -> Error {
    let known: Vec<_> = collective.algorithms().iter().map(|known| known.name()).collect();
    Error::key("algorithm", algorithm, format!("does no {collective}: expected one of {}", known.join(", ")))
}
