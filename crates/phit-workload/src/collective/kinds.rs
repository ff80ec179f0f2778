//! The collectives and their algorithms by name.

use super::bruck::{BruckAllToAll, BruckGather, Dissemination};
use super::doubling::{Doubling, Exchange};
use super::folded::{Folded, largest_power};
use super::hierarchical::{Phase, Phased};
use super::pairwise::{Pairwise, Relay, Sizes};
use super::ring::{Around, Ring};
use super::tree::{Binomial, Chain, DoubleTree, Way};
use super::{Blocks, Cut, Step, Steps};
use crate::error::Error;
use std::fmt;
use std::sync::Arc;

/// What a collective does. Bytes are those of the whole vector that each member has, or gets, but where said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// All get the sum.
    AllReduce,
    /// All get everything; bytes are those that one member has.
    AllGather,
    /// Each gets its block of the sum.
    ReduceScatter,
    /// Each has something for every other one; bytes are those for one of them.
    AllToAll,
    /// All get what the root has.
    Broadcast,
    /// The root gets the sum.
    Reduce,
    /// None goes on before all are there; bytes are those of a message.
    Barrier,
}

/// How it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// From each member to the next.
    Ring,
    /// With partners at distances 1, 2, 4...: everything that is there.
    RecursiveDoubling,
    /// With partners at distances ..., 4, 2, 1: half of what is left.
    RecursiveHalving,
    /// Recursive halving, then recursive doubling (Rabenseifner).
    HalvingDoubling,
    /// Distances 1, 2, 4..., for any number of members.
    Bruck,
    /// With each of the others in turn.
    Pairwise,
    /// With all others at once.
    Direct,
    /// A binomial tree.
    Binomial,
    /// A chain, in segments.
    Chain,
    /// Two binary trees, in segments.
    DoubleBinaryTree,
    /// To those 1, 2, 4... places on.
    Dissemination,
    /// By the communicator's groups: reduce-scatter inside, all-reduce across, all-gather inside.
    Hierarchical,
}

/// Every collective with the algorithms that do it, the usual one first.
const TABLE: &[(Collective, &[Algorithm])] = {
    use Algorithm::*;
    &[
        (Collective::AllReduce, &[Ring, RecursiveDoubling, HalvingDoubling, DoubleBinaryTree, Direct, Hierarchical]),
        (Collective::AllGather, &[Ring, RecursiveDoubling, Bruck, Direct]),
        (Collective::ReduceScatter, &[Ring, RecursiveHalving, Pairwise, Direct]),
        (Collective::AllToAll, &[Pairwise, Bruck, Direct, Ring]),
        (Collective::Broadcast, &[Binomial, Chain]),
        (Collective::Reduce, &[Binomial, Chain]),
        (Collective::Barrier, &[Dissemination, Binomial]),
    ]
};

impl Collective {
    /// All of them.
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
            Self::Barrier => "barrier",
        }
    }

    /// Its algorithms, the usual one first.
    pub fn algorithms(self) -> &'static [Algorithm] {
        TABLE.iter().find(|(collective, _)| *collective == self).map_or(&[], |(_, algorithms)| algorithms)
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

/// The members of a collective, and how it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// What.
    pub collective: Collective,
    /// How.
    pub algorithm: Algorithm,
    /// Number of members.
    pub members: u32,
    /// Bytes, see [`Collective`].
    pub bytes: u64,
    /// Member from which a broadcast goes out, or to which a reduction comes.
    pub root: u32,
    /// Parts of the bytes that go their ways independently.
    pub chunks: u32,
    /// Segments of a chain or of a binary tree's half.
    pub segments: u32,
    /// Bytes by source and destination of an all-to-all, row by row, in place of `bytes`.
    pub matrix: Option<Vec<u64>>,
    /// Members by group, for the hierarchical algorithm: groups of equal sizes.
    pub groups: Vec<Vec<u32>>,
}

impl Members {
    /// A collective in one piece, rooted at member 0.
    pub fn new(collective: Collective, algorithm: Algorithm, members: u32, bytes: u64) -> Self {
        let (root, chunks, segments) = (0, 1, 1);
        Self { collective, algorithm, members, bytes, root, chunks, segments, matrix: None, groups: vec![] }
    }

    /// What each member does. Refuses a number of members that the algorithm is not made for.
    pub fn steps(&self) -> Result<Arc<dyn Steps>, Error> {
        let Self { collective, members, bytes, root, chunks, segments, matrix, .. } = self;
        if *members == 0 {
            return Err(Error::new(format!("{collective} of no members")));
        }
        if root >= members {
            return Err(Error::new(format!("root {root}: expected a member below {members}")));
        }
        if *chunks == 0 || *segments == 0 {
            return Err(Error::new("0 chunks or segments: expected 1 or more"));
        }
        if matrix.as_ref().is_some_and(|matrix| matrix.len() != *members as usize * *members as usize) {
            return Err(Error::new(format!("a matrix of {members} rows and columns is expected")));
        }
        if *chunks == 1 {
            return self.whole(*bytes);
        }
        if matrix.is_some() {
            return Err(Error::new("an all-to-all by a matrix goes in one chunk"));
        }
        let cut = Cut { members: *chunks, bytes: *bytes };
        let size = |chunk| cut.size(Blocks { first: chunk, count: 1 });
        let mut made: Vec<(u64, Arc<dyn Steps>)> = vec![];
        for chunk in [0, chunks - 1] {
            if !made.iter().any(|(bytes, _)| *bytes == size(chunk)) {
                made.push((size(chunk), self.whole(size(chunk))?));
            }
        }
        let of = |chunk| made.iter().find(|(bytes, _)| *bytes == size(chunk)).map(|(_, steps)| steps.clone());
        Ok(Arc::new(Chunked { chunks: (0..*chunks).filter_map(of).collect() }))
    }

    fn whole(&self, bytes: u64) -> Result<Arc<dyn Steps>, Error> {
        use {Algorithm as A, Collective as C};
        let Self { collective, algorithm, members, root, segments, matrix, .. } = self;
        let (members, root, segments) = (*members, *root, *segments);
        let cut = Cut { members, bytes };
        let gathered = || match bytes.checked_mul(u64::from(members)) {
            Some(bytes) => Ok(Cut { members, bytes }),
            None => Err(Error::new(format!("{bytes} bytes of {members} members: more than 2^64 in all"))),
        };
        let ring = |cut, around| -> Arc<dyn Steps> { Arc::new(Ring { cut, around }) };
        let doubling = |cut, exchange| -> Result<Arc<dyn Steps>, Error> {
            self.power_of_two()?;
            Ok(Arc::new(Doubling { cut, exchange }))
        };
        let folded = |exchange| -> Arc<dyn Steps> {
            let inner = Cut { members: largest_power(members), bytes };
            Arc::new(Folded { members, bytes, inner: Doubling { cut: inner, exchange } })
        };
        let pairwise = |sizes, at_once| -> Arc<dyn Steps> { Arc::new(Pairwise { members, sizes, at_once }) };
        let to_all = || matrix.clone().map_or(Sizes::Equal(bytes), Sizes::Matrix);
        Ok(match (collective, algorithm) {
            (C::AllReduce, A::Ring) => ring(cut, Around::Both),
            (C::AllReduce, A::RecursiveDoubling) => folded(Exchange::Whole),
            (C::AllReduce, A::HalvingDoubling) => folded(Exchange::HalveAndGather),
            (C::AllReduce, A::DoubleBinaryTree) => Arc::new(DoubleTree { members, bytes, segments }),
            (C::AllReduce, A::Direct) => {
                let all = same(members);
                let phase = |sizes| Phase { of: all.clone(), steps: vec![pairwise(sizes, members); members as usize] };
                Arc::new(Phased::new(vec![phase(Sizes::Theirs(cut)), phase(Sizes::Own(cut))]))
            }
            (C::AllReduce, A::Hierarchical) => self.hierarchical(bytes)?,
            (C::AllGather, A::Ring) => ring(gathered()?, Around::Gather),
            (C::AllGather, A::RecursiveDoubling) => doubling(gathered()?, Exchange::Gather)?,
            (C::AllGather, A::Bruck) => Arc::new(BruckGather { cut: gathered()? }),
            (C::AllGather, A::Direct) => pairwise(Sizes::Own(gathered()?), members),
            (C::ReduceScatter, A::Ring) => ring(cut, Around::Reduce),
            (C::ReduceScatter, A::RecursiveHalving) => doubling(cut, Exchange::Halve)?,
            (C::ReduceScatter, A::Pairwise) => pairwise(Sizes::Theirs(cut), 1),
            (C::ReduceScatter, A::Direct) => pairwise(Sizes::Theirs(cut), members),
            (C::AllToAll, A::Pairwise) => pairwise(to_all(), 1),
            (C::AllToAll, A::Direct) => pairwise(to_all(), members),
            (C::AllToAll, A::Bruck) if matrix.is_none() => Arc::new(BruckAllToAll { members, bytes }),
            (C::AllToAll, A::Ring) if matrix.is_none() => Arc::new(Relay { members, bytes }),
            (C::Broadcast, A::Binomial) => Arc::new(Binomial { cut, root, way: Way::Down }),
            (C::Broadcast, A::Chain) => Arc::new(Chain { members, bytes, root, way: Way::Down, segments }),
            (C::Reduce, A::Binomial) => Arc::new(Binomial { cut, root, way: Way::Up }),
            (C::Reduce, A::Chain) => Arc::new(Chain { members, bytes, root, way: Way::Up, segments }),
            (C::Barrier, A::Dissemination) => Arc::new(Dissemination { members, bytes }),
            (C::Barrier, A::Binomial) => {
                let all = same(members);
                let phase = |way| {
                    let steps: Arc<dyn Steps> = Arc::new(Binomial { cut, root: 0, way });
                    Phase { of: all.clone(), steps: vec![steps; members as usize] }
                };
                Arc::new(Phased::new(vec![phase(Way::Up), phase(Way::Down)]))
            }
            _ => {
                let known: Vec<_> = collective.algorithms().iter().map(|known| known.name()).collect();
                let what = if matrix.is_some() { " by a matrix" } else { "" };
                let message = format!("{algorithm} does no {collective}{what}: expected one of {}", known.join(", "));
                return Err(Error::new(message));
            }
        })
    }

    fn power_of_two(&self) -> Result<(), Error> {
        match self.members.is_power_of_two() {
            true => Ok(()),
            false => {
                let Self { collective, algorithm, members, .. } = self;
                let message = format!("{collective} by {algorithm} needs a power of two of members, not {members}");
                Err(Error::new(message))
            }
        }
    }

    fn hierarchical(&self, bytes: u64) -> Result<Arc<dyn Steps>, Error> {
        let Self { members, groups, .. } = self;
        let inside = groups.first().map_or(0, Vec::len);
        if inside == 0 || groups.iter().any(|group| group.len() != inside) {
            let sizes: Vec<String> = groups.iter().map(|group| group.len().to_string()).collect();
            let message = format!("groups of equal sizes are expected, not of {}", sizes.join(", "));
            return Err(Error::new(message));
        }
        let mut seen = vec![false; *members as usize];
        for &member in groups.iter().flatten() {
            if seen.get_mut(member as usize).is_none_or(|seen| std::mem::replace(seen, true)) {
                return Err(Error::new(format!("member {member}: expected each of 0 to {} once", members - 1)));
            }
        }
        if seen.iter().any(|seen| !seen) {
            return Err(Error::new(format!("groups of all {members} members are expected")));
        }
        let cut = Cut { members: inside as u32, bytes };
        let within = |around| {
            let steps: Arc<dyn Steps> = Arc::new(Ring { cut, around });
            phase(*members, groups, |_| steps.clone())
        };
        let across: Vec<Vec<u32>> =
            (0..inside).map(|place| groups.iter().map(|group| group[place]).collect()).collect();
        let between = phase(*members, &across, |place| {
            let bytes = cut.size(Blocks { first: place, count: 1 });
            Arc::new(Ring { cut: Cut { members: groups.len() as u32, bytes }, around: Around::Both })
        });
        Ok(Arc::new(Phased::new(vec![within(Around::Reduce), between, within(Around::Gather)])))
    }
}

/// All members as they are.
fn same(members: u32) -> Vec<(Arc<[u32]>, u32)> {
    let all: Arc<[u32]> = (0..members).collect();
    (0..members).map(|member| (all.clone(), member)).collect()
}

/// A phase in which each of some communicators does its own; `steps` is given its number.
fn phase(members: u32, groups: &[Vec<u32>], steps: impl Fn(u32) -> Arc<dyn Steps>) -> Phase {
    let mut found = vec![None; members as usize];
    for (number, group) in (0..).zip(groups) {
        let (own, all): (_, Arc<[u32]>) = (steps(number), group.as_slice().into());
        for (place, &member) in (0..).zip(group) {
            found[member as usize] = Some(((all.clone(), place), own.clone()));
        }
    }
    let (of, steps) = found.into_iter().flatten().unzip();
    Phase { of, steps }
}

/// Each chunk in lanes of its own.
#[derive(Debug)]
struct Chunked {
    chunks: Vec<Arc<dyn Steps>>,
}

impl Steps for Chunked {
    fn lanes(&self) -> u32 {
        self.chunks.iter().map(|chunk| chunk.lanes()).sum()
    }

    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        let each = self.chunks[0].lanes();
        self.chunks[(lane / each) as usize].step(member, lane % each, number)
    }
}
