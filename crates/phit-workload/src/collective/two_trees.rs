//! Two binary trees in which no member has children in both, each for half of the data.
//!
//! P. Sanders, J. Speck and J. L. Träff, "Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan",
//! Parallel Computing 35(12), 2009.

use super::binomial::Way;
use super::{Blocks, Cut, Step, Steps};

/// All-reduce, in segments: every segment goes up, combined, and down again. A lane is a segment of a tree.
#[derive(Debug)]
pub(crate) struct DoubleTree {
    pub(crate) members: u32,
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
}

/// Broadcast or reduction, in segments: the root is above two trees of all other members.
#[derive(Debug)]
pub(crate) struct RootedTrees {
    pub(crate) members: u32,
    pub(crate) bytes: u64,
    pub(crate) root: u32,
    pub(crate) way: Way,
    pub(crate) segments: u32,
}

/// Parent and children.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    parent: Option<u32>,
    children: Vec<u32>,
}

/// The binary tree whose numbers are in order: odd ones are leaves, and 0 is the root.
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
    // The largest existing subtree.
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
        // The leaves of one tree are inner nodes of the other: mirrored, or moved by one if the number of members is
        // odd.
        let other = |place| if members.is_multiple_of(2) { members - 1 - place } else { (place + 1) % members };
        let place = if members.is_multiple_of(2) { members - 1 - member } else { (member + members - 1) % members };
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
        let part = |peer| cut.part(peer, Blocks::one(lane));
        let parent = || parent.into_iter().map(part).collect();
        let children = || children.iter().copied().map(part).collect();
        match number {
            0 => Some(Step { receives: children(), reduces: true, ..Step::default() }),
            1 => Some(Step { sends: parent(), ..Step::default() }),
            2 => Some(Step { receives: parent(), ..Step::default() }),
            3 => Some(Step { sends: children(), ..Step::default() }),
            _ => None,
        }
    }
}

impl RootedTrees {
    /// Places are counted from the root.
    fn node(&self, tree: u32, place: u32) -> Node {
        let members = self.members;
        if tree == 0 {
            return in_order(members, place);
        }
        // As above, without the root.
        let other = |place: u32| match place {
            0 => 0,
            _ if members % 2 == 1 => members - place,
            _ => place % (members - 1) + 1,
        };
        let own = match place {
            0 => 0,
            _ if members % 2 == 1 => members - place,
            _ => (place + members - 3) % (members - 1) + 1,
        };
        let Node { parent, children } = in_order(members, own);
        Node { parent: parent.map(other), children: children.into_iter().map(other).collect() }
    }
}

impl Steps for RootedTrees {
    fn lanes(&self) -> u32 {
        2 * self.segments
    }

    fn step(&self, member: u32, lane: u32, number: u32) -> Option<Step> {
        let Self { members, bytes, root, way, segments: _ } = *self;
        let (ring, cut) = (Cut { members, bytes }, Cut { members: self.lanes(), bytes });
        let Node { parent, children } = self.node(lane % 2, ring.back(member, root));
        let part = |place| cut.part(ring.next(place, root), Blocks::one(lane));
        let parts = |places: &[u32]| places.iter().copied().map(part).collect();
        match (number, way) {
            (0, Way::Down) => Some(Step { receives: parts(parent.as_slice()), ..Step::default() }),
            (0, Way::Up) => Some(Step { receives: parts(&children), reduces: true, ..Step::default() }),
            (1, Way::Down) => Some(Step { sends: parts(&children), ..Step::default() }),
            (1, Way::Up) => Some(Step { sends: parts(parent.as_slice()), ..Step::default() }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::log2_up;
    use super::*;

    /// Checks two trees of `members`, in which all members except `skip` are inner nodes of at most one tree.
    fn check(members: u32, node: impl Fn(u32, u32) -> Node, skip: u32) {
        for tree in [0, 1] {
            let roots = (0..members).filter(|&m| node(tree, m).parent.is_none()).count();
            assert_eq!(roots, 1, "{members} members");
            for member in 0..members {
                let Node { parent, children } = node(tree, member);
                assert!(children.len() <= 2);
                children.iter().for_each(|&c| assert_eq!(node(tree, c).parent, Some(member)));
                parent.iter().for_each(|&p| assert!(node(tree, p).children.contains(&member)));
                let depth = std::iter::successors(Some(member), |&m| node(tree, m).parent).count() as u32;
                assert!(depth <= log2_up(members) + 1, "{members} members: depth {depth}");
            }
        }
        let inner = |tree, member| node(tree, member).children.len() > 1;
        assert!((skip..members).all(|member| !(inner(0, member) && inner(1, member))), "{members} members");
    }

    #[test]
    fn both_trees_span_all_members_and_share_no_inner_one() {
        for members in 1..70 {
            let pair = DoubleTree { members, bytes: 0, segments: 1 };
            check(members, |tree, member| pair.node(tree, member), 0);
            let rooted = RootedTrees { members, bytes: 0, root: 0, way: Way::Up, segments: 1 };
            check(members, |tree, member| rooted.node(tree, member), 1);
        }
    }
}
