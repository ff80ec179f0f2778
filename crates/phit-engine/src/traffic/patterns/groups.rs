//! The endpoints of every group, for patterns between groups.

use crate::topology::Topology;

/// The groups of a topology that have endpoints, numbered from 0 in the topology's order. Groups without endpoints,
/// such as the upper stages of a Clos network, do not count.
#[derive(Debug)]
pub(super) struct Groups {
    layout: Layout,
    /// The topology's indices of the groups that have endpoints, ascending.
    used: Vec<u32>,
}

#[derive(Debug)]
enum Layout {
    /// Group `g` has the endpoints `g * size..(g + 1) * size`.
    Even { size: u32 },
    /// Group `g` has `members[starts[g]..starts[g + 1]]`; endpoint `e` is the `position[e]`-th of `group[e]`.
    Lists { starts: Vec<u32>, members: Vec<u32>, group: Vec<u32>, position: Vec<u32> },
}

impl Groups {
    /// The groups of `topology`. Its endpoints may be numbered in any order.
    pub(super) fn of(topology: &dyn Topology) -> Self {
        let raw = (0..topology.endpoints()).map(|e| topology.group_of(topology.attachment(e).0));
        Self::new(topology.groups(), raw.collect())
    }

    /// The routers of `topology`, each as a group.
    pub(super) fn routers(topology: &dyn Topology) -> Self {
        let raw = (0..topology.endpoints()).map(|e| topology.attachment(e).0);
        Self::new(topology.routers(), raw.collect())
    }

    /// Endpoint `e` is in group `raw[e]` of `groups`.
    fn new(groups: u32, raw: Vec<u32>) -> Self {
        let mut sizes = vec![0u32; groups as usize];
        for &g in &raw {
            sizes[g as usize] += 1;
        }
        let used: Vec<u32> = (0..groups).filter(|&g| sizes[g as usize] > 0).collect();
        let mut number = vec![0u32; sizes.len()];
        for (i, &g) in used.iter().enumerate() {
            number[g as usize] = i as u32;
        }
        let group: Vec<u32> = raw.iter().map(|&g| number[g as usize]).collect();
        let size = (raw.len() / used.len().max(1)).max(1);
        if size * used.len() == raw.len() && group.iter().enumerate().all(|(e, &g)| e / size == g as usize) {
            return Self { layout: Layout::Even { size: size as u32 }, used };
        }
        let mut starts = vec![0u32];
        for &g in &used {
            starts.push(starts[starts.len() - 1] + sizes[g as usize]);
        }
        let mut filled = vec![0u32; used.len()];
        let mut members = vec![0u32; group.len()];
        let mut position = vec![0u32; group.len()];
        for (e, &g) in group.iter().enumerate() {
            position[e] = filled[g as usize];
            members[(starts[g as usize] + position[e]) as usize] = e as u32;
            filled[g as usize] += 1;
        }
        Self { layout: Layout::Lists { starts, members, group, position }, used }
    }

    /// The number of the topology's group `index` among the groups with endpoints, if it has endpoints.
    pub(super) fn number(&self, index: u32) -> Option<u32> {
        self.used.binary_search(&index).ok().map(|i| i as u32)
    }

    /// Number of groups that have endpoints.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.used.len() as u32
    }

    /// Group of `endpoint`.
    #[inline]
    pub(super) fn group_of(&self, endpoint: u32) -> u32 {
        match &self.layout {
            Layout::Even { size } => endpoint / size,
            Layout::Lists { group, .. } => group[endpoint as usize],
        }
    }

    /// Position of `endpoint` among the endpoints of its group.
    pub(super) fn position(&self, endpoint: u32) -> u32 {
        match &self.layout {
            Layout::Even { size } => endpoint % size,
            Layout::Lists { position, .. } => position[endpoint as usize],
        }
    }

    /// Number of endpoints of `group`.
    #[inline]
    pub(super) fn size(&self, group: u32) -> u32 {
        match &self.layout {
            Layout::Even { size } => *size,
            Layout::Lists { starts, .. } => starts[group as usize + 1] - starts[group as usize],
        }
    }

    /// The `index`-th endpoint of `group`.
    #[inline]
    pub(super) fn member(&self, group: u32, index: u32) -> u32 {
        match &self.layout {
            Layout::Even { size } => group * size + index,
            Layout::Lists { starts, members, .. } => members[(starts[group as usize] + index) as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_agree_with_the_definition() {
        let even: Vec<u32> = (0..12).map(|e| e / 4).collect();
        let interleaved: Vec<u32> = (0..12).map(|e| e % 3).collect();
        let uneven = vec![0, 0, 0, 2, 2, 4, 4, 4, 4];
        for (raw, is_even) in [(even, true), (interleaved, false), (uneven, false)] {
            let groups = Groups::new(6, raw.clone());
            assert_eq!(matches!(groups.layout, Layout::Even { .. }), is_even);
            for (e, &g) in raw.iter().enumerate() {
                let number = groups.number(g).unwrap();
                assert_eq!(groups.group_of(e as u32), number);
                assert_eq!(groups.member(number, groups.position(e as u32)), e as u32);
                assert_eq!(groups.size(number) as usize, raw.iter().filter(|&&x| x == g).count());
            }
        }
        assert_eq!(Groups::new(6, vec![0, 2]).number(1), None);
    }
}
