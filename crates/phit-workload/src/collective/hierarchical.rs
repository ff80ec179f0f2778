//! All-reduce in three phases: reduce-scatter within each group, all-reduce of each block across the groups, all-gather
//! within each group.

use super::{Part, Step, Steps};
use std::sync::Arc;

/// What the members do in a phase: each takes part in one collective of a smaller communicator.
#[derive(Debug)]
pub(crate) struct Phase {
    /// By member: the members of its communicator, and its place among them.
    pub(crate) of: Vec<(Arc<[u32]>, u32)>,
    /// By member.
    pub(crate) steps: Vec<Arc<dyn Steps>>,
}

impl Phase {
    fn step(&self, member: u32, number: u32) -> Option<Step> {
        let (members, place) = &self.of[member as usize];
        let mut step = self.steps[member as usize].step(*place, 0, number)?;
        let rename = |part: &mut Part| part.peer = members[part.peer as usize];
        step.sends.iter_mut().chain(&mut step.receives).for_each(rename);
        Some(step)
    }
}

/// Phases one after the other, each of one lane.
#[derive(Debug)]
pub(crate) struct Phased {
    phases: Vec<Phase>,
    /// By phase and member: the first step.
    first: Vec<Vec<u32>>,
}

impl Phased {
    pub(crate) fn new(phases: Vec<Phase>) -> Self {
        let members = phases.first().map_or(0, |phase| phase.of.len());
        let mut sum = vec![0; members];
        let mut first = vec![];
        for phase in &phases {
            first.push(sum.clone());
            for (member, sum) in (0..).zip(&mut sum) {
                *sum += (0..).take_while(|number| phase.step(member, *number).is_some()).count() as u32;
            }
        }
        Self { phases, first }
    }
}

impl Steps for Phased {
    fn step(&self, member: u32, _lane: u32, number: u32) -> Option<Step> {
        let begins = |first: &Vec<u32>| first[member as usize] <= number;
        let phase = self.first.iter().rposition(begins)?;
        self.phases[phase].step(member, number - self.first[phase][member as usize])
    }
}
