//! A step of training a neural network of layers on ranks in four dimensions.

use super::{CollectiveParams, Setting, Source, once, repeated};
use crate::collective::{Algorithm, Blocks, Collective, Part, Parts, Step, Steps};
use crate::error::Error;
use crate::script::{Communicator, Costs, Point, Script, Task, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A step of training a network of equal layers, by four numbers: `data`, `tensor`, `pipeline` and `expert` parallel
/// ranks, whose product is the number of ranks. Numbers of ranks count first within a tensor group, then within an
/// expert group, then within a data group, and last over the stages of the pipeline.
///
/// Every micro-batch goes forward through the stages and back. In a layer, tensor parallel ranks all-reduce its
/// activations twice in each direction (Shoeybi et al., "Megatron-LM", arXiv 1909.08053, 2019). Expert parallel ranks
/// exchange the inputs of their experts all to all, and then the results (Lepikhin et al., "GShard", ICLR 2021). The
/// schedule is GPipe's (Huang et al., NeurIPS 2019), or one forward and one backward pass in turn, with a flush
/// (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021).
/// After the last backward pass of a layer, its gradients are all-reduced by all ranks that hold the same parameters.
/// For experts these are `data` ranks, for all other parameters `data` times `expert` ranks. Then comes the optimizer.
///
/// Calculations run on CPU 0 of a rank, messages on CPU 1, so they overlap.
///
/// ```toml
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "training"
/// data = 2
/// pipeline = 2
/// layers = 2
/// forward = 1000
/// activation_bytes = 4096
/// gradient_bytes = 8192
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct TrainingParams {
    /// Copies of all parameters.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub data: u32,
    /// Ranks that share each layer.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub tensor: u32,
    /// Stages that share the layers, equally.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub pipeline: u32,
    /// Ranks that share the experts of each layer.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub expert: u32,
    /// Layers, a multiple of `pipeline`.
    #[schemars(range(min = 1, max = 100_000))]
    pub layers: u32,
    /// Micro-batches of a step.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 100_000))]
    pub micro_batches: u32,
    /// The order of a stage's passes.
    #[serde(default)]
    pub schedule: Schedule,
    /// Duration of a layer's forward pass of one micro-batch on a rank.
    #[schemars(extend("x-unit" = "units of time"))]
    pub forward: u64,
    /// Duration of a layer's backward pass; twice the forward pass if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "units of time"))]
    pub backward: Option<u64>,
    /// Duration of the optimizer.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub optimizer: u64,
    /// Bytes of the activations of one micro-batch, which go from stage to stage and are all-reduced in a layer.
    #[serde(default)]
    #[schemars(extend("x-unit" = "bytes"))]
    pub activation_bytes: u64,
    /// Bytes of activations that a rank sends to experts in one all-to-all, including its own.
    #[serde(default)]
    #[schemars(extend("x-unit" = "bytes"))]
    pub routed_bytes: u64,
    /// Skew of the demand for experts, see `collective`.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub skew: f64,
    /// Bytes of the gradients of a layer on a rank, without experts.
    #[serde(default)]
    #[schemars(extend("x-unit" = "bytes"))]
    pub gradient_bytes: u64,
    /// Bytes of the gradients of a layer's experts on a rank.
    #[serde(default)]
    #[schemars(extend("x-unit" = "bytes"))]
    pub expert_gradient_bytes: u64,
    /// Whether each rank stores and updates only its share of the parameters. Then gradients are reduced and scattered,
    /// and parameters are gathered after the optimizer (Rajbhandari et al., "ZeRO", SC 2020).
    #[serde(default)]
    pub sharded: bool,
    /// Whether the gradients of a layer are summed while the backward pass goes on with earlier layers. Otherwise, they
    /// are summed after the whole pass.
    #[serde(default = "yes")]
    pub overlap: bool,
    /// Algorithm among tensor parallel ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub tensor_algorithm: Option<Algorithm>,
    /// Algorithm among expert parallel ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expert_algorithm: Option<Algorithm>,
    /// Algorithm for the sums of gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub data_algorithm: Option<Algorithm>,
    /// Time to combine a byte, in a reduction.
    #[serde(default)]
    #[schemars(range(min = 0))]
    #[schemars(extend("x-unit" = "units of time"))]
    pub combine: f64,
    /// Number of training steps, one after another.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
}

/// The order of a pipeline stage's passes over micro-batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Schedule {
    /// As many forward passes as there are later stages, then a forward and a backward pass in turn.
    #[default]
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// All forward passes, then all backward passes in the opposite order.
    #[serde(rename = "gpipe")]
    GPipe,
}

fn yes() -> bool {
    true
}

impl Source for TrainingParams {
    fn ranks(&self) -> Option<u32> {
        Some(super::grid::size(&[self.tensor, self.expert, self.data, self.pipeline]))
    }

    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        repeated(vec![Arc::new(Training::new(self, setting)?)], self.times)
    }
}

/// Ranks that perform equal collectives, by the number of their communicator.
#[derive(Debug)]
struct Groups {
    ranks: Vec<Arc<[u32]>>,
    /// `None` if there is nothing to do.
    steps: Option<Arc<dyn Steps>>,
}

#[derive(Debug)]
struct Training {
    params: TrainingParams,
    layers: u32,
    backward: u64,
    tensor: Groups,
    expert: Groups,
    /// Gradients, and the gathering of parameters.
    dense: Groups,
    dense_gather: Groups,
    experts: Groups,
    experts_gather: Groups,
}

/// Streams of a rank.
const COMPUTE: u32 = 0;
const GRADIENTS: u32 = 1;
const ACTIVATIONS: u32 = 2;
const ERRORS: u32 = 3;

/// Tags: activations, their gradients, then the tags of the collectives.
const FORWARD_TAG: u32 = 0;
const BACKWARD_TAG: u32 = 1;
const FIRST_TAG: u32 = 2;

/// The CPU of messages.
const COMMUNICATION: u8 = 1;

/// Tasks of a layer in a pass.
const OF_LAYER: u32 = 6;

/// The position of a rank.
#[derive(Debug, Clone, Copy)]
struct Place {
    tensor: u32,
    expert: u32,
    data: u32,
    stage: u32,
}

impl Training {
    fn new(params: &TrainingParams, setting: &Setting) -> Result<Self, Error> {
        let TrainingParams { data, tensor, pipeline, expert, layers, micro_batches, .. } = *params;
        for (key, value) in [("data", data), ("tensor", tensor), ("pipeline", pipeline), ("expert", expert)] {
            if value == 0 {
                return Err(Error::key(key, value, "expected 1 or more"));
            }
        }
        for (key, value) in [("layers", layers), ("micro_batches", micro_batches)] {
            if value == 0 || value > 100_000 {
                return Err(Error::key(key, value, "expected 1 to 100000"));
            }
        }
        if layers % pipeline != 0 {
            return Err(Error::key("layers", layers, format!("expected a multiple of pipeline = {pipeline}")));
        }
        for (key, value) in [("skew", params.skew), ("combine", params.combine)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::key(key, value, "expected 0 or more"));
            }
        }
        let (backward, passes) =
            (params.backward.unwrap_or(params.forward.saturating_mul(2)), 2 * u64::from(micro_batches));
        if passes * (1 + u64::from(OF_LAYER) * u64::from(layers / pipeline)) > u64::from(u32::MAX) / 2 {
            return Err(Error::key("micro_batches", micro_batches, "expected fewer passes of fewer layers"));
        }
        let place = |rank: u32| Place::of(rank, params);
        let steps = |what, how: Option<Algorithm>, members: u32, bytes: u64, skew| {
            if members == 1 || bytes == 0 {
                return Ok(None);
            }
            let params = CollectiveParams { algorithm: how, skew, ..CollectiveParams::new(what, bytes) };
            let setting = Setting { groups: vec![], ..setting.clone() };
            Ok::<_, Error>(Some(params.members(members, &setting)?.steps()?))
        };
        // `number` returns the communicator of a rank, out of `count`.
        let groups = |count: u32, number: &dyn Fn(Place) -> u32, steps| {
            let mut ranks = vec![vec![]; count as usize];
            (0..setting.ranks).for_each(|rank| ranks[number(place(rank)) as usize].push(rank));
            Groups { ranks: ranks.into_iter().map(Arc::from).collect(), steps }
        };
        let copies = data * expert;
        let own = |bytes: u64, members: u32| bytes.div_ceil(u64::from(members));
        let sum = if params.sharded { Collective::ReduceScatter } else { Collective::AllReduce };
        let (dense_bytes, expert_bytes) = (params.gradient_bytes, params.expert_gradient_bytes);
        // For all layers of the stage at once.
        let gathered = |bytes: u64| if params.sharded { bytes * u64::from(layers / pipeline) } else { 0 };
        let reduced = params.data_algorithm;
        let gather = reduced.filter(|how| Collective::AllGather.algorithms().contains(how));
        let of_dense: &dyn Fn(Place) -> u32 = &|p| p.tensor + tensor * p.stage;
        let of_experts: &dyn Fn(Place) -> u32 = &|p| p.tensor + tensor * (p.expert + expert * p.stage);
        let dense_count = tensor * pipeline;
        let experts_count = dense_count * expert;
        Ok(Self {
            layers: layers / pipeline,
            backward,
            tensor: groups(
                copies * pipeline,
                &|p| p.expert + expert * (p.data + data * p.stage),
                steps(Collective::AllReduce, params.tensor_algorithm, tensor, params.activation_bytes, 0.0)?,
            ),
            expert: groups(
                tensor * data * pipeline,
                &|p| p.tensor + tensor * (p.data + data * p.stage),
                steps(
                    Collective::AllToAll,
                    params.expert_algorithm,
                    expert,
                    params.routed_bytes / u64::from(expert),
                    params.skew,
                )?,
            ),
            dense: groups(dense_count, of_dense, steps(sum, reduced, copies, dense_bytes, 0.0)?),
            dense_gather: groups(
                dense_count,
                of_dense,
                steps(Collective::AllGather, gather, copies, gathered(own(dense_bytes, copies)), 0.0)?,
            ),
            experts: groups(experts_count, of_experts, steps(sum, reduced, data, expert_bytes, 0.0)?),
            experts_gather: groups(
                experts_count,
                of_experts,
                steps(Collective::AllGather, gather, data, gathered(own(expert_bytes, data)), 0.0)?,
            ),
            params: params.clone(),
        })
    }

    /// Tasks of a pass.
    fn of_pass(&self) -> u32 {
        1 + OF_LAYER * self.layers
    }

    fn passes(&self) -> u32 {
        2 * self.params.micro_batches
    }

    /// True if a pass of a stage goes forward.
    fn is_forward(&self, stage: u32, pass: u32) -> bool {
        let count = self.params.micro_batches;
        let first = match self.params.schedule {
            Schedule::GPipe => count,
            Schedule::OneForwardOneBackward => (self.params.pipeline - 1 - stage).min(count),
        };
        match pass.checked_sub(first) {
            None => true,
            Some(later) => later < 2 * (count - first) && later % 2 == 0,
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
        let bytes = self.params.activation_bytes;
        peer.filter(|_| bytes > 0).map(|peer| Part { peer, bytes, blocks: Blocks::one(0) }).into_iter().collect()
    }

    fn collective(&self, groups: &Groups, rank: u32, number: u32) -> Work {
        let (Some(steps), Some(ranks)) = (&groups.steps, groups.ranks.get(number as usize)) else {
            return Work::nothing();
        };
        let costs = Costs::combining(self.params.combine);
        // Ranks of a communicator are in ascending order.
        let member = ranks.partition_point(|other| *other < rank) as u32;
        Work::Collective(Arc::new(Communicator { ranks: ranks.clone(), steps: steps.clone(), costs }), member)
    }

    fn lanes(groups: &Groups) -> u32 {
        groups.steps.as_ref().map_or(0, |steps| steps.lanes())
    }

    /// First tags of the collectives among tensor parallel ranks, among expert parallel ranks, and of the two kinds of
    /// gradients.
    fn first_tags(&self) -> [u32; 4] {
        let expert = FIRST_TAG + Self::lanes(&self.tensor);
        let dense = expert + Self::lanes(&self.expert);
        [FIRST_TAG, expert, dense, dense + Self::lanes(&self.dense).max(Self::lanes(&self.dense_gather))]
    }

    fn compute(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
        let TrainingParams { data, tensor, expert, .. } = self.params;
        let tags = self.first_tags();
        let (pass, task) = (number / self.of_pass(), number % self.of_pass());
        if pass >= self.passes() {
            return self.finish(rank, place, number - self.passes() * self.of_pass());
        }
        let forward = self.is_forward(place.stage, pass);
        let Some(task) = task.checked_sub(1) else {
            let receives = self.part(self.neighbour(place, !forward));
            let tag = if forward { FORWARD_TAG } else { BACKWARD_TAG };
            let work = Work::exchange(Step { receives, ..Step::default() });
            return Some(Task { cpu: COMMUNICATION, tag, ..Task::new(work) });
        };
        let time = if forward { self.params.forward } else { self.backward };
        let all_reduce = || {
            let number = place.expert + expert * (place.data + data * place.stage);
            let work = self.collective(&self.tensor, rank, number);
            Task { cpu: COMMUNICATION, tag: tags[0], ..Task::new(work) }
        };
        let all_to_all = || {
            let number = place.tensor + tensor * (place.data + data * place.stage);
            let work = self.collective(&self.expert, rank, number);
            Task { cpu: COMMUNICATION, tag: tags[1], ..Task::new(work) }
        };
        // Attention, then the experts, or the layers in their place; and back. Data that all ranks need is summed where
        // a block of the layer ends. On the way back, a block begins there.
        Some(match (task % OF_LAYER, forward) {
            (0, true) | (4, false) => Task::new(Work::Calc(time - time / 2)),
            (3, true) | (1, false) => Task::new(Work::Calc(time / 2)),
            (2 | 4, true) | (0 | 2, false) => all_to_all(),
            _ => all_reduce(),
        })
    }

    /// After all passes: the optimizer, and the tasks that follow it.
    fn finish(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
        let TrainingParams { tensor, expert, .. } = self.params;
        let tags = self.first_tags();
        let (dense, experts) =
            (place.tensor + tensor * place.stage, place.tensor + tensor * (place.expert + expert * place.stage));
        let gather = |groups, number, tag| {
            let work = self.collective(groups, rank, number);
            Some(Task { cpu: COMMUNICATION, tag, ..Task::new(work) })
        };
        match number {
            0 => {
                let gradients = Point { stream: GRADIENTS, tasks: 2 * self.layers };
                let sent = [ACTIVATIONS, ERRORS].map(|stream| Point { stream, tasks: self.params.micro_batches });
                let after = [gradients].into_iter().chain(sent).collect();
                Some(Task { after, ..Task::new(Work::Calc(self.params.optimizer)) })
            }
            1 => gather(&self.dense_gather, dense, tags[2]),
            2 => gather(&self.experts_gather, experts, tags[3]),
            _ => None,
        }
    }

    fn gradients(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
        let TrainingParams { tensor, expert, overlap, .. } = self.params;
        let layer = number / 2;
        if layer >= self.layers {
            return None;
        }
        let tags = self.first_tags();
        let (work, tag) = match number % 2 {
            0 => (self.collective(&self.dense, rank, place.tensor + tensor * place.stage), tags[2]),
            _ => {
                let number = place.tensor + tensor * (place.expert + expert * place.stage);
                (self.collective(&self.experts, rank, number), tags[3])
            }
        };
        let last = (self.passes() - 1) * self.of_pass();
        let tasks = if overlap { last + 1 + OF_LAYER * (layer + 1) } else { last + self.of_pass() };
        Some(Task { work, after: vec![Point { stream: COMPUTE, tasks }], cpu: COMMUNICATION, tag })
    }

    /// The messages to the next stage, or to the stage before.
    fn sent(&self, place: Place, forward: bool, number: u32) -> Option<Task> {
        if number >= self.params.micro_batches {
            return None;
        }
        // The pass of this number among the passes in its direction.
        let pass = match (self.params.schedule, forward) {
            (Schedule::GPipe, true) => number,
            (Schedule::GPipe, false) => self.params.micro_batches + number,
            (Schedule::OneForwardOneBackward, _) => {
                let (count, first) = (self.params.micro_batches, self.params.pipeline - 1 - place.stage);
                let first = first.min(count);
                match forward {
                    true => number + number.saturating_sub(first),
                    false => first + number + (number + 1).min(count - first),
                }
            }
        };
        let sends = self.part(self.neighbour(place, forward));
        let after = vec![Point { stream: COMPUTE, tasks: (pass + 1) * self.of_pass() }];
        let tag = if forward { FORWARD_TAG } else { BACKWARD_TAG };
        let work = Work::exchange(Step { sends, ..Step::default() });
        Some(Task { work, after, cpu: COMMUNICATION, tag })
    }
}

impl Place {
    fn of(rank: u32, params: &TrainingParams) -> Self {
        let TrainingParams { data, tensor, expert, .. } = *params;
        let (group, copy) = (rank / tensor, rank / tensor / expert);
        Self { tensor: rank % tensor, expert: group % expert, data: copy % data, stage: copy / data }
    }
}

impl Script for Training {
    fn name(&self) -> &'static str {
        "training"
    }

    fn streams(&self) -> u32 {
        4
    }

    fn cpus(&self) -> u8 {
        2
    }

    fn tags(&self) -> u32 {
        let [.., experts] = self.first_tags();
        experts + Self::lanes(&self.experts).max(Self::lanes(&self.experts_gather))
    }

    fn task(&self, rank: u32, stream: u32, number: u32) -> Option<Task> {
        let place = Place::of(rank, &self.params);
        match stream {
            COMPUTE => self.compute(rank, place, number),
            GRADIENTS => self.gradients(rank, place, number),
            ACTIVATIONS => self.sent(place, true, number),
            ERRORS => self.sent(place, false, number),
            _ => None,
        }
    }
}
