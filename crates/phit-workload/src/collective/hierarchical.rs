//! Collectives by groups of consecutive members: inside the groups, and across them.
//!
//! With groups of equal sizes, every member takes part across the groups, together with the members at its place in the
//! other groups. In some collectives, only one member of each group takes part across: its first member or the root.
//! These are broadcast, reduction and barrier, and an all-reduce of groups of different sizes.

use super::binomial::{Binomial, Way};
use super::bruck::Dissemination;
use super::pairs::Pairs;
use super::pairwise::{Pairwise, Sizes};
use super::phased::{Phase, Phased, Where};
use super::ring::{Around, Ring};
use super::{Blocks, Collective, Cut, Steps, total};
use crate::error::Error;
use std::ops::Range;
use std::sync::Arc;

/// The members of groups of these sizes. A single size is repeated for all groups.
pub(crate) fn groups(sizes: &[u32], members: u32) -> Result<Vec<Range<u32>>, Error> {
    let sizes: Vec<u32> = match sizes {
        [size] if *size > 0 && members.is_multiple_of(*size) => vec![*size; (members / size) as usize],
        _ => sizes.to_vec(),
    };
    let sum: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
    if sizes.contains(&0) || sum != u64::from(members) {
        let shown: Vec<String> = sizes.iter().take(8).map(u32::to_string).collect();
        let rest = if sizes.len() > 8 { ", ..." } else { "" };
        let expected = format!("expected sizes of groups that make up {members} members, each 1 or more");
        return Err(Error::key("groups", format!("[{}{rest}]", shown.join(", ")), expected));
    }
    let mut end = 0;
    let range = |size| {
        end += size;
        end - size..end
    };
    Ok(sizes.into_iter().map(range).collect())
}

/// A collective over groups.
pub(crate) struct Hierarchical {
    pub(crate) members: u32,
    pub(crate) bytes: u64,
    pub(crate) root: u32,
    pub(crate) groups: Vec<Range<u32>>,
}

impl Hierarchical {
    /// Size of the groups, if all are equal.
    fn size(&self) -> Option<u32> {
        let size = self.groups.first()?.len();
        self.groups.iter().all(|group| group.len() == size).then_some(size as u32)
    }

    fn equal(&self, collective: Collective) -> Result<u32, Error> {
        let sizes = || self.groups.iter().map(|group| group.len().to_string()).collect::<Vec<_>>().join(", ");
        self.size().ok_or_else(|| {
            Error::key("groups", format!("[{}]", sizes()), format!("{collective} needs groups of equal sizes"))
        })
    }

    /// A collective in each group. `steps` gets the group's number and size.
    fn inside(&self, mut steps: impl FnMut(u32, u32) -> (Arc<dyn Steps>, Where)) -> Phase {
        let each = (0..).zip(&self.groups).map(|(number, group)| {
            let (steps, blocks) = steps(number, group.len() as u32);
            (group.clone().collect(), steps, blocks)
        });
        Phase::of(self.members, each)
    }

    /// A collective for each place, among the members at that place in their groups, which must have one size. `steps`
    /// gets the place.
    fn across(&self, size: u32, steps: impl Fn(u32) -> (Arc<dyn Steps>, Where)) -> Phase {
        let each = (0..size).map(|place| {
            let (steps, blocks) = steps(place);
            (self.groups.iter().map(|group| group.start + place).collect(), steps, blocks)
        });
        Phase::of(self.members, each)
    }

    /// The member of each group that represents it.
    fn leaders(&self) -> Arc<[u32]> {
        let leader = |group: &Range<u32>| if group.contains(&self.root) { self.root } else { group.start };
        self.groups.iter().map(leader).collect()
    }

    fn among_leaders(&self, steps: Arc<dyn Steps>, blocks: Where) -> Phase {
        Phase::of(self.members, [(self.leaders(), steps, blocks)])
    }

    /// Between each leader and its group.
    fn with_leaders(&self, way: Way, blocks: u32) -> Phase {
        let leaders = self.leaders();
        self.inside(|group, members| {
            let root = leaders[group as usize] - self.groups[group as usize].start;
            let cut = Cut { members, bytes: self.bytes };
            (Arc::new(Binomial { cut, root, way }), Where::All(blocks))
        })
    }

    /// The group of the root.
    fn first(&self) -> u32 {
        self.groups.iter().position(|group| group.contains(&self.root)).unwrap_or(0) as u32
    }

    pub(crate) fn steps(&self, collective: Collective, pairs: &Pairs) -> Result<Arc<dyn Steps>, Error> {
        let Self { members, bytes, .. } = *self;
        let count = self.groups.len() as u32;
        let ring = |cut, around| -> Arc<dyn Steps> { Arc::new(Ring { cut, around }) };
        // Equal groups: the blocks of a place are the blocks of its members, one in each group.
        let places = |size| Where::At { first: 0, each: 1, count, stride: size };
        let of_place = |size, place| Where::At { first: place, each: size, count: 1, stride: 1 };
        let inside =
            |size, bytes, around| self.inside(|_, _| (ring(Cut { members: size, bytes }, around), places(size)));
        let across = |size, bytes, around| {
            let whole = Cut { members: size, bytes };
            self.across(size, |place| {
                let bytes = whole.size(Blocks::one(place));
                (ring(Cut { members: count, bytes }, around), of_place(size, place))
            })
        };
        let tree = |way| -> Arc<dyn Steps> {
            Arc::new(Binomial { cut: Cut { members: count, bytes }, root: self.first(), way })
        };
        let phases = match collective {
            Collective::AllReduce => match self.size() {
                Some(size) => vec![
                    inside(size, bytes, Around::Reduce),
                    across(size, bytes, Around::Both),
                    inside(size, bytes, Around::Gather),
                ],
                None => vec![
                    self.with_leaders(Way::Up, count),
                    self.among_leaders(ring(Cut { members: count, bytes }, Around::Both), Where::Same),
                    self.with_leaders(Way::Down, count),
                ],
            },
            Collective::ReduceScatter => {
                let size = self.equal(collective)?;
                vec![inside(size, bytes, Around::Reduce), across(size, bytes, Around::Reduce)]
            }
            Collective::AllGather => {
                let size = self.equal(collective)?;
                let all = super::kinds::gathered(bytes, members)?;
                vec![across(size, all, Around::Gather), inside(size, all, Around::Gather)]
            }
            Collective::AllToAll => {
                let size = self.equal(collective)?;
                vec![self.to_places(size, pairs), self.to_groups(size, pairs)]
            }
            Collective::Broadcast => {
                vec![self.among_leaders(tree(Way::Down), Where::All(members)), self.with_leaders(Way::Down, members)]
            }
            Collective::Reduce => {
                vec![self.with_leaders(Way::Up, members), self.among_leaders(tree(Way::Up), Where::All(members))]
            }
            Collective::Barrier => vec![
                self.with_leaders(Way::Up, members),
                self.among_leaders(Arc::new(Dissemination { members: count, bytes }), Where::All(members)),
                self.with_leaders(Way::Down, members),
            ],
            Collective::Gather | Collective::Scatter => {
                return Err(super::kinds::unsupported(collective, super::Algorithm::Hierarchical));
            }
        };
        Ok(Arc::new(Phased(phases)))
    }

    /// All-to-all inside the groups: data for the members at a place, in any group.
    fn to_places(&self, size: u32, pairs: &Pairs) -> Phase {
        let count = self.groups.len() as u32;
        let of = |source, place| total((0..count).map(|g| pairs.bytes(self.members, source, g * size + place)));
        let in_turn = |pairs| -> Arc<dyn Steps> { Arc::new(Pairwise::in_turn(size, Sizes::Each(pairs))) };
        let same = pairs.same_from_all().then(|| in_turn(sums(pairs, size, |place| of(0, place))));
        self.inside(|group, _| {
            let matrix = || {
                let rows = (0..size).flat_map(|i| (0..size).map(move |j| (i, j)));
                in_turn(Pairs::Matrix(rows.map(|(i, j)| of(group * size + i, j)).collect()))
            };
            (same.clone().unwrap_or_else(matrix), Where::Same)
        })
    }

    /// All-to-all across the groups: the data of a group's members for another group.
    fn to_groups(&self, size: u32, pairs: &Pairs) -> Phase {
        let count = self.groups.len() as u32;
        self.across(size, |place| {
            let of = |group: u32, to: u32| {
                total((0..size).map(|i| pairs.bytes(self.members, group * size + i, to * size + place)))
            };
            let pairs = match pairs.same_from_all() {
                true => sums(pairs, count, |to| of(0, to)),
                false => {
                    let rows = (0..count).flat_map(|i| (0..count).map(move |j| (i, j)));
                    Pairs::Matrix(rows.map(|(i, j)| of(i, j)).collect())
                }
            };
            (Arc::new(Pairwise::in_turn(count, Sizes::Each(pairs))), Where::Same)
        })
    }
}

/// The sums of the data for each of several destinations, which are equal if the pairs are.
fn sums(pairs: &Pairs, destinations: u32, of: impl Fn(u32) -> u64) -> Pairs {
    match pairs.is_equal() {
        true => Pairs::Equal(of(0)),
        false => Pairs::ByDestination((0..destinations).map(of).collect()),
    }
}
