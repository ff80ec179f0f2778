//! The order of a rank's tasks: passes over micro-batches, the blocks of layers, and messages between stages.

use super::sums::Sum;
use super::{
    ACTIVATIONS, BACKWARD_TAG, COMMUNICATION, COMPUTE, ERRORS, FIRST_TAG, FORWARD_TAG, GRADIENTS, Groups, OF_LAYER,
    PARAMETERS, Place, Schedule, SomeSteps, Training, TrainingParams,
};
use crate::collective::{Blocks, Part, Parts, Step};
use crate::script::{Communicator, Costs, Point, Task, Work};
use std::sync::Arc;

impl Training {
    /// Tasks of a pass.
    fn of_pass(&self) -> u32 {
        1 + OF_LAYER * self.layers
    }

    fn passes(&self) -> u32 {
        2 * self.params.micro_batches
    }

    /// Forward passes of a stage before its first backward pass.
    fn first_passes(&self, stage: u32) -> u32 {
        let count = self.params.micro_batches;
        match self.params.schedule {
            Schedule::GPipe => count,
            Schedule::OneForwardOneBackward => (self.params.pipeline - 1 - stage).min(count),
        }
    }

    /// The direction of a stage's pass, and its number among the passes of that direction.
    fn direction(&self, stage: u32, pass: u32) -> (bool, u32) {
        let (count, first) = (self.params.micro_batches, self.first_passes(stage));
        match pass.checked_sub(first) {
            None => (true, pass),
            Some(later) if later < 2 * (count - first) => match later % 2 {
                0 => (true, first + later / 2),
                _ => (false, later / 2),
            },
            Some(later) => (false, count - first + later - 2 * (count - first)),
        }
    }

    /// The pass that has this number among the passes of a direction.
    fn pass(&self, stage: u32, forward: bool, number: u32) -> u32 {
        let (count, first) = (self.params.micro_batches, self.first_passes(stage));
        match forward {
            true => number + number.saturating_sub(first),
            false => first + number + (number + 1).min(count - first),
        }
    }

    fn rank(&self, place: Place) -> u32 {
        let TrainingParams { data, tensor, expert, .. } = self.params;
        place.tensor + tensor * (place.expert + expert * (place.data + data * place.stage))
    }

    /// The rank that sends to this one in a pass, or receives from it.
    fn neighbour(&self, place: Place, on: bool) -> Option<u32> {
        let stage = if on { place.stage + 1 } else { place.stage.checked_sub(1)? };
        (stage < self.params.pipeline).then(|| self.rank(Place { stage, ..place }))
    }

    fn part(&self, peer: Option<u32>) -> Parts {
        let bytes = self.sizes.activation;
        peer.filter(|_| bytes > 0).map(|peer| Part { peer, bytes, blocks: Blocks::one(0) }).into_iter().collect()
    }

    fn collective(&self, groups: &Groups, steps: &SomeSteps, rank: u32, number: u32) -> Work {
        let (Some(steps), Some(ranks)) = (steps, groups.get(number as usize)) else {
            return Work::nothing();
        };
        let costs = Costs::combining(self.params.combine);
        // Ranks of a communicator are in ascending order.
        let member = ranks.partition_point(|other| *other < rank) as u32;
        Work::Collective(Arc::new(Communicator { ranks: ranks.clone(), steps: steps.clone(), costs }), member)
    }

    /// A collective among the ranks with the same parameters, of experts or of everything else.
    fn of_copies(&self, rank: u32, place: Place, experts: bool, steps: &SomeSteps) -> Work {
        let TrainingParams { tensor, expert, .. } = self.params;
        match experts {
            false => self.collective(&self.dense, steps, rank, place.tensor + tensor * place.stage),
            true => {
                let number = place.tensor + tensor * (place.expert + expert * place.stage);
                self.collective(&self.experts, steps, rank, number)
            }
        }
    }

    /// First tags of the collectives among tensor parallel ranks, among expert parallel ranks, and of the two kinds of
    /// gradients; then the first tags of the two kinds of parameters that are gathered meanwhile.
    pub(super) fn first_tags(&self) -> [u32; 6] {
        let [tensor, expert, dense, experts] = self.lanes;
        let mut next = FIRST_TAG;
        [tensor, expert, dense, experts, dense, experts].map(|lanes| {
            next += lanes;
            next - lanes
        })
    }

    /// The all-to-all of a layer and a micro-batch: to the experts, or back.
    fn exchange(&self, rank: u32, place: Place, (layer, batch): (u32, u32), back: bool) -> Work {
        let TrainingParams { data, tensor, .. } = self.params;
        let number = place.tensor + tensor * (place.data + data * place.stage);
        let layer = place.stage * self.layers + layer;
        let steps = self.routed.steps(layer, batch, number, back);
        self.collective(&self.expert, &steps, rank, number)
    }

    /// The time of a block, in proportion to the tokens of its experts if that is asked for.
    fn of_experts(&self, time: u64, place: Place, (layer, batch): (u32, u32)) -> u64 {
        if !self.params.expert_load {
            return time;
        }
        let TrainingParams { data, tensor, .. } = self.params;
        let number = place.tensor + tensor * (place.data + data * place.stage);
        let layer = place.stage * self.layers + layer;
        // Ranks of a tensor group share the tokens of the same experts.
        let first = number - place.tensor;
        let number = if self.params.sequence_parallel { first..first + tensor } else { first..first + 1 };
        let count = f64::from(number.end - number.start);
        let load: f64 = number.map(|number| self.routed.load(layer, batch, number, place.expert)).sum();
        (time as f64 * load / count).round() as u64
    }

    pub(super) fn compute(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
        let TrainingParams { data, expert, .. } = self.params;
        let tags = self.first_tags();
        let (pass, task) = (number / self.of_pass(), number % self.of_pass());
        if pass >= self.passes() {
            return self.finish(rank, place, number - self.passes() * self.of_pass());
        }
        let (forward, batch) = self.direction(place.stage, pass);
        let Some(task) = task.checked_sub(1) else {
            let receives = self.part(self.neighbour(place, !forward));
            let tag = if forward { FORWARD_TAG } else { BACKWARD_TAG };
            let work = Work::exchange(Step { receives, ..Step::default() });
            return Some(Task { cpu: COMMUNICATION, tag, ..Task::new(work) });
        };
        let on_tensor = |steps: &SomeSteps| {
            let number = place.expert + expert * (place.data + data * place.stage);
            let work = self.collective(&self.tensor, steps, rank, number);
            Task { cpu: COMMUNICATION, tag: tags[0], ..Task::new(work) }
        };
        let visit = task / OF_LAYER;
        let layer = if forward { visit } else { self.layers - 1 - visit };
        let all_to_all = |back| {
            let work = self.exchange(rank, place, (layer, batch), back);
            Task { cpu: COMMUNICATION, tag: tags[1], ..Task::new(work) }
        };
        let [attention, block] = if forward { self.sizes.forward } else { self.sizes.backward };
        // Attention, then the experts, or the layers in their place; and back. Data that all ranks need is summed where
        // a block of the layer ends. On the way back, a block begins there.
        let mut made = match (task % OF_LAYER, forward) {
            (0 | 3, true) | (0 | 5, false) => on_tensor(&self.before),
            (1, true) | (6, false) => Task::new(Work::Calc(attention)),
            (2 | 7, true) | (4 | 7, false) => on_tensor(&self.after),
            (5, true) | (2, false) => Task::new(Work::Calc(self.of_experts(block, place, (layer, batch)))),
            (4, true) | (1, false) => all_to_all(false),
            _ => all_to_all(true),
        };
        if self.params.zero == 3 && task % OF_LAYER == 0 {
            made.after.push(Point { stream: PARAMETERS, tasks: 2 * (pass * self.layers + visit + 1) });
        }
        Some(made)
    }

    /// After all passes: the optimizer, and the tasks that follow it.
    fn finish(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
        let tags = self.first_tags();
        let gather = |experts: bool| {
            let steps = &self.gathers[place.stage as usize][usize::from(experts)];
            let work = self.of_copies(rank, place, experts, if self.params.zero == 3 { &None } else { steps });
            Some(Task { cpu: COMMUNICATION, tag: tags[2 + usize::from(experts)], ..Task::new(work) })
        };
        match number {
            0 => {
                let sums = self.sums[place.stage as usize].len() as u32;
                let gradients = Point { stream: GRADIENTS, tasks: self.summed_passes() * sums };
                let sent = [ACTIVATIONS, ERRORS].map(|stream| Point { stream, tasks: self.params.micro_batches });
                let after = [gradients].into_iter().chain(sent).collect();
                Some(Task { after, ..Task::new(Work::Calc(self.params.optimizer)) })
            }
            1 => gather(false),
            2 => gather(true),
            _ => None,
        }
    }

    /// Backward passes after which gradients are summed.
    fn summed_passes(&self) -> u32 {
        if self.params.zero < 2 { 1 } else { self.params.micro_batches }
    }

    pub(super) fn gradients(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
        let sums = &self.sums[place.stage as usize];
        let (pass, which) = (number.checked_div(sums.len() as u32)?, number % sums.len() as u32);
        let batch = (self.params.micro_batches - self.summed_passes()).checked_add(pass)?;
        if batch >= self.params.micro_batches {
            return None;
        }
        let Sum { ready, experts, steps } = &sums[which as usize];
        let first = self.pass(place.stage, false, batch) * self.of_pass();
        let tasks = first + if self.params.overlap { *ready } else { self.of_pass() };
        let tag = self.first_tags()[2 + usize::from(*experts)];
        let work = self.of_copies(rank, place, *experts, steps);
        Some(Task { work, after: vec![Point { stream: COMPUTE, tasks }], cpu: COMMUNICATION, tag })
    }

    /// The parameters of a layer, for each pass through it: first those of everything but experts, then of experts.
    pub(super) fn parameters(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
        let (visit, experts) = (number / 2, number % 2 == 1);
        let (pass, layer) = (visit / self.layers, visit % self.layers);
        if self.params.zero < 3 || pass >= self.passes() {
            return None;
        }
        let (forward, _) = self.direction(place.stage, pass);
        // The ends of the network come with the first layer of a pass forward, and the last of a pass back.
        let with_ends = if forward { layer == 0 } else { layer + 1 == self.layers };
        let stage = place.stage as usize;
        let steps = match (experts, with_ends) {
            (false, true) => &self.first_gathers[stage],
            _ => &self.gathers[stage][usize::from(experts)],
        };
        // The layer before it has begun: everything before that layer has ended.
        let after = visit.checked_sub(1).map(|before| Point {
            stream: COMPUTE,
            tasks: before / self.layers * self.of_pass()
                + if before % self.layers == 0 { 0 } else { 1 + OF_LAYER * (before % self.layers) },
        });
        let work = self.of_copies(rank, place, experts, steps);
        let tag = self.first_tags()[4 + usize::from(experts)];
        Some(Task { work, after: after.into_iter().collect(), cpu: COMMUNICATION, tag })
    }

    /// The messages to the next stage, or to the stage before.
    pub(super) fn sent(&self, place: Place, forward: bool, number: u32) -> Option<Task> {
        if number >= self.params.micro_batches {
            return None;
        }
        let pass = self.pass(place.stage, forward, number);
        let sends = self.part(self.neighbour(place, forward));
        let after = vec![Point { stream: COMPUTE, tasks: (pass + 1) * self.of_pass() }];
        let tag = if forward { FORWARD_TAG } else { BACKWARD_TAG };
        let work = Work::exchange(Step { sends, ..Step::default() });
        Some(Task { work, after, cpu: COMMUNICATION, tag })
    }
}
