//! Trees: binomial ones and chains for a broadcast or a reduction, a pair of binary ones for an all-reduce.
//!
//! P. Sanders, J. Speck and J. L. Träff, "Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan",
//! Parallel Computing 35(12), 2009. E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective
//! Communication: Theory, Practice, and Experience", CCPE 19(13), 2007.

use super::{Blocks, Cut, Part, Step, Steps, log2_up};

/// Which way data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the root: broadcast.
    Down,
    /// To the root, summed up: reduction.
    Up,
}

/// In round k of a broadcast each of the first 2^k members sends to the one 2^k further on; a reduction goes back.
#[derive(Debug)]
pub(crate) struct Binomial {
    pub(crate) cut: Cut,
    pub(crate) root: u32,
    pub(crate) way: Way,
}

impl Steps for Binomial {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { cut, root, way } = *self;
        let place = cut.back(member, root);
        // Rounds in which the member has a child: all after the one in which it has its parent.
        let own = place.checked_ilog2().map_or(0, |round| round + 1);
        let children = log2_up(cut.members).saturating_sub(own);
        let steps = children + u32::from(place > 0);
        if number >= steps {
            return None;
        }
        let part = |place| cut.part(cut.next(place, root), Blocks { first: 0, count: cut.members });
        let (parent_at, round) = match way {
            Way::Down => (0, own + number.saturating_sub(u32::from(place > 0))),
            Way::Up => (children, (own + children - 1).saturating_sub(number)),
        };
        if place > 0 && number == parent_at {
            let parent = vec![part(place - (1 << (own - 1)))];
            return Some(match way {
                Way::Down => Step { receives: parent, ..Step::default() },
                Way::Up => Step { sends: parent, ..Step::default() },
            });
        }
        let child: Vec<Part> =
            (place + (1 << round) < cut.members).then(|| part(place + (1 << round))).into_iter().collect();
        Some(match way {
            Way::Down => Step { sends: child, ..Step::default() },
            Way::Up => Step { reduces: !child.is_empty(), receives: child, ..Step::default() },
        })
    }
}

/// A chain from the root on, in segments: while one comes, the one before it goes on.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) members: u32,
    pub(crate) bytes: u64,
    pub(crate) root: u32,
    pub(crate) way: Way,
    pub(crate) segments: u32,
}

impl Steps for Chain {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let Self { members, bytes, root, way, segments } = *self;
        let ring = Cut { members, bytes };
        let cut = Cut { members: segments, bytes };
        let place = ring.back(member, root);
        // Its place along the way of the data.
        let along = if way == Way::Down { place } else { members - 1 - place };
        let (has_before, has_after) = (along > 0, along + 1 < members);
        let sent = if has_before { number.checked_sub(1) } else { Some(number) };
        let sent = sent.filter(|segment| *segment < segments && has_after);
        let received = Some(number).filter(|segment| *segment < segments && has_before);
        if sent.is_none() && received.is_none() {
            return None;
        }
        let part = |on: bool, segment| {
            let peer = if on == (way == Way::Down) { ring.next(member, 1) } else { ring.back(member, 1) };
            cut.part(peer, Blocks { first: segment, count: 1 })
        };
        Some(Step {
            sends: sent.map(|segment| part(true, segment)).into_iter().collect(),
            receives: received.map(|segment| part(false, segment)).into_iter().collect(),
            reduces: way == Way::Up && received.is_some(),
        })
    }
}

/// Two binary trees in which no member has children in both, each for half of the data, in segments: every segment goes
/// up, summed, and down again. A lane is a segment of a tree.
#[derive(Debug)]
pub(crate) struct DoubleTree {
    pub(crate) members: u32,
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
}

/// Parent and children.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    parent: Option<u32>,
    children: Vec<u32>,
}

/// The binary tree in which the numbers stand in order: odd ones are leaves, and 0 is the root.
fn in_order(members: u32, place: u32) -> Node {
    if place == 0 {
        let child = (members > 1).then(|| members.next_power_of_two() >> 1);
        return Node { parent: None, children: child.into_iter().collect() };
    }
    let bit = 1 << place.trailing_zeros();
    let above = (place ^ bit) | (bit << 1);
    let parent = if above < members { above } else { place ^ bit };
    let half = bit >> 1;
    let left = (half > 0).then(|| place - half);
    // The largest subtree that is there.
    let right = std::iter::successors(Some(half), |half| Some(half >> 1))
        .take_while(|half| *half > 0)
        .map(|half| place + half)
        .find(|right| *right < members);
    Node { parent: Some(parent), children: left.into_iter().chain(right).collect() }
}

impl DoubleTree {
    fn node(&self, tree: u32, member: u32) -> Node {
        let members = self.members;
        if tree == 0 {
            return in_order(members, member);
        }
        // The leaves of one tree are inside the other: mirrored, or moved on by one if their number is odd.
        let other = |place| if members % 2 == 0 { members - 1 - place } else { (place + 1) % members };
        let place = if members % 2 == 0 { members - 1 - member } else { (member + members - 1) % members };
        let Node { parent, children } = in_order(members, place);
        Node { parent: parent.map(other), children: children.into_iter().map(other).collect() }
    }
}

impl Steps for DoubleTree {
    fn lanes(&self) -> u32 {
        2 * self.segments
    }

    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        let cut = Cut { members: self.lanes(), bytes: self.bytes };
        let Node { parent, children } = self.node(lane % 2, member);
        let part = |peer| cut.part(peer, Blocks { first: lane, count: 1 });
        let parent = || parent.into_iter().map(part).collect();
        let children = || children.iter().copied().map(part).collect::<Vec<_>>();
        match number {
            0 => Some(Step { receives: children(), reduces: true, ..Step::default() }),
            1 => Some(Step { sends: parent(), ..Step::default() }),
            2 => Some(Step { receives: parent(), ..Step::default() }),
            3 => Some(Step { sends: children(), ..Step::default() }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_trees_span_all_members_and_share_no_inner_one() {
        for members in 1..70 {
            let pair = DoubleTree { members, bytes: 0, segments: 1 };
            for tree in [0, 1] {
                let roots = (0..members).filter(|&m| pair.node(tree, m).parent.is_none()).count();
                assert_eq!(roots, 1, "{members} members");
                for member in 0..members {
                    let Node { parent, children } = pair.node(tree, member);
                    assert!(children.len() <= 2);
                    children.iter().for_each(|&c| assert_eq!(pair.node(tree, c).parent, Some(member)));
                    parent.iter().for_each(|&p| assert!(pair.node(tree, p).children.contains(&member)));
                    let depth = std::iter::successors(Some(member), |&m| pair.node(tree, m).parent).count() as u32;
                    assert!(depth <= log2_up(members) + 1, "{members} members: depth {depth}");
                }
            }
            let inner = |tree, member| pair.node(tree, member).children.len() > 1;
            assert!((0..members).all(|member| !(inner(0, member) && inner(1, member))), "{members} members");
        }
    }
}
