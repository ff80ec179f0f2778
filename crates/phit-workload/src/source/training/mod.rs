//! A step of training a neural network of layers on ranks in four dimensions: its parameters, and its script.
//!
//! `sizes` says how large and how long everything is, `sums` which gradients and parameters are exchanged, and
//! `schedule` in which order a rank does its tasks.

mod schedule;
mod sizes;
mod sums;

use super::routed::{Exchange, Routed};
use super::{Setting, Source, once, repeated};
use crate::accelerator::AcceleratorParams;
use crate::collective::{Algorithm, Collective, Steps};
use crate::error::Error;
use crate::model::ModelParams;
use crate::script::{Script, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sizes::Sizes;
use std::sync::Arc;
use sums::{Among, Exchanges, Sum};

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
/// Sizes and times stand in the keys, or follow from a `model` and an `accelerator`. A key takes precedence.
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
    /// The network, from which layers, sizes and, with an `accelerator`, times follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelParams>>,
    /// The accelerator of a rank, from which the times of the `model` follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<AcceleratorParams>,
    /// Sequences of the `model` in a micro-batch.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub batch: u32,
    /// Layers, a multiple of `pipeline`. Required without a `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub layers: Option<u32>,
    /// Micro-batches of a step.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 100_000))]
    pub micro_batches: u32,
    /// The order of a stage's passes.
    #[serde(default)]
    pub schedule: Schedule,
    /// Duration of a layer's forward pass of one micro-batch on a rank. Required without `model` and `accelerator`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "units of time"))]
    pub forward: Option<u64>,
    /// Duration of a layer's backward pass; twice the forward pass if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "units of time"))]
    pub backward: Option<u64>,
    /// Duration of the optimizer.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub optimizer: u64,
    /// Bytes of the activations of one micro-batch, which go from stage to stage and are all-reduced in a layer.
    /// Without a `model`, none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "bytes"))]
    pub activation_bytes: Option<u64>,
    /// Bytes of activations that a rank sends to experts in one all-to-all, including its own. Without a `model`, none
    /// if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "bytes"))]
    pub routed_bytes: Option<u64>,
    /// Skew of the demand for experts, see `collective`.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub skew: f64,
    /// Bytes of the gradients of a layer on a rank, without experts. Without a `model`, none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "bytes"))]
    pub gradient_bytes: Option<u64>,
    /// Bytes of the gradients of a layer's experts on a rank. Without a `model`, none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "bytes"))]
    pub expert_gradient_bytes: Option<u64>,
    /// Tokens of a micro-batch that each rank sends to experts. If given, the expert of each token is drawn, by the
    /// shares of `expert_shares` or `skew`, for each layer and micro-batch anew. If left out, shares hold exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub drawn_tokens: Option<u64>,
    /// Shares of the expert parallel ranks in the tokens, for each layer a list of numbers that need not add up to 1,
    /// such as the token counts of a trace. Layers beyond the last list begin with the first again. Replaces `skew`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expert_shares: Vec<Vec<f64>>,
    /// Whether the block of experts takes time in proportion to the tokens of its experts. Otherwise, it takes the time
    /// of the mean.
    #[serde(default)]
    pub expert_load: bool,
    /// Whether each rank stores and updates only its share of the parameters: equal to `zero = 1`.
    #[serde(default)]
    pub sharded: bool,
    /// Stage of ZeRO (Rajbhandari et al., SC 2020): what ranks with the same parameters share instead of storing it
    /// whole. 0: nothing; gradients are all-reduced. 1: the optimizer's state; gradients are reduced and scattered
    /// after the last backward pass, and parameters are gathered after the optimizer. 2: gradients as well, which are
    /// reduced and scattered after each backward pass. 3: parameters as well; those of a layer are gathered before each
    /// pass through it, while the layer before it calculates.
    #[serde(default)]
    #[schemars(range(max = 3))]
    pub zero: u8,
    /// Bytes of a bucket of gradients: gradients of several layers, in the order of the backward pass, are summed
    /// together, and a large layer in several buckets. If left out, each layer is a bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "bytes"))]
    pub bucket_bytes: Option<u64>,
    /// Whether tensor parallel ranks divide the sequence between the blocks of a layer. An all-gather before each block
    /// and a reduce-scatter after it then replace the all-reduce, and stages send each rank's part (Korthikanti et al.,
    /// "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023).
    #[serde(default)]
    pub sequence_parallel: bool,
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
    /// Rounds into which the steps of each ring are merged, see `collective`: fewer messages, for steps of thousands of
    /// ranks. Other algorithms stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rounds: Option<u32>,
    /// Ranks of a tensor group that are close together, such as in a node, for the algorithm `hierarchical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tensor_group: Option<u32>,
    /// Ranks of an expert group that are close together, for the algorithm `hierarchical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub expert_group: Option<u32>,
    /// Ranks with the same parameters that are close together, for the algorithm `hierarchical`. Gradients are summed
    /// inside such groups, then across them among the ranks at one place, and the sums are gathered inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub data_group: Option<u32>,
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

    fn counts_nanoseconds(&self) -> bool {
        self.accelerator.is_some()
    }

    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        repeated(vec![Arc::new(Training::new(self, setting)?)], self.times)
    }
}

/// Ranks that perform equal collectives, by the number of their communicator.
type Groups = Vec<Arc<[u32]>>;

/// The steps of a collective; `None` if there is nothing to do.
type SomeSteps = Option<Arc<dyn Steps>>;

#[derive(Debug)]
struct Training {
    params: TrainingParams,
    sizes: Sizes,
    /// Layers of a stage.
    layers: u32,
    tensor: Groups,
    expert: Groups,
    dense: Groups,
    experts: Groups,
    /// Before and after a block of a layer, among tensor parallel ranks.
    before: SomeSteps,
    after: SomeSteps,
    routed: Routed,
    /// Sums of gradients after a backward pass, by stage.
    sums: Vec<Vec<Sum>>,
    /// Parameters that are gathered: of the whole stage after the optimizer, or of one layer. By stage, and whether
    /// they are experts'.
    gathers: Vec<[SomeSteps; 2]>,
    /// The parameters of the first layer, with the embedding.
    first_gathers: Vec<SomeSteps>,
    /// Most lanes of each kind of collective.
    lanes: [u32; 4],
}
/// Streams of a rank. Of two that could go on at once, the first does, as the first operations of a stored program do:
/// parameters are stored before the pass through their layer.
const PARAMETERS: u32 = 0;
const COMPUTE: u32 = 1;
const GRADIENTS: u32 = 2;
const ACTIVATIONS: u32 = 3;
const ERRORS: u32 = 4;

/// Tags: activations, their gradients, then the tags of the collectives.
const FORWARD_TAG: u32 = 0;
const BACKWARD_TAG: u32 = 1;
const FIRST_TAG: u32 = 2;

/// The CPU of messages.
const COMMUNICATION: u8 = 1;

/// Tasks of a layer in a pass: four in each of its two blocks.
const OF_LAYER: u32 = 8;

/// The position of a rank.
#[derive(Debug, Clone, Copy)]
struct Place {
    tensor: u32,
    expert: u32,
    data: u32,
    stage: u32,
}
impl TrainingParams {
    /// Gradients of the embedding and of the output layer on a rank of a stage.
    fn ends_of(&self, sizes: &Sizes, stage: u32) -> [u64; 2] {
        let at = |is: bool, bytes: u64| if is { bytes } else { 0 };
        [at(stage == 0, sizes.ends[0]), at(stage + 1 == self.pipeline, sizes.ends[1])]
    }

    /// How tokens go to experts.
    fn routed(&self, sizes: &Sizes, setting: &Setting) -> Result<Routed, Error> {
        let bytes = sizes.routed / u64::from(self.expert) * u64::from(self.expert);
        let algorithm = self.expert_algorithm.unwrap_or(Collective::AllToAll.usual());
        let group = self.expert_group.into_iter().collect();
        let exchange = Exchange { members: self.expert, bytes, algorithm, group };
        if algorithm == Algorithm::Hierarchical && self.expert_group.is_none() {
            return Err(Among::Expert.without_group());
        }
        let made = Routed::new(exchange, (self.skew, &self.expert_shares), self.drawn_tokens, setting.seed);
        made.map_err(|error| Among::Expert.named(error))
    }

    /// The stage of ZeRO.
    fn stage(&self) -> Result<u8, Error> {
        match (self.sharded, self.zero) {
            (_, 4..) => Err(Error::key("zero", self.zero, "expected 0 to 3")),
            (true, 0) => Ok(1),
            (true, 2..) => Err(Error::key("sharded", true, format!("is zero = 1, and zero = {} is given", self.zero))),
            (_, zero) => Ok(zero),
        }
    }
}

impl Training {
    fn new(params: &TrainingParams, setting: &Setting) -> Result<Self, Error> {
        let TrainingParams { data, tensor, pipeline, expert, micro_batches, .. } = *params;
        for (key, value) in [("data", data), ("tensor", tensor), ("pipeline", pipeline), ("expert", expert)] {
            if value == 0 {
                return Err(Error::key(key, value, "expected 1 or more"));
            }
        }
        let sizes = params.sizes(setting)?;
        for (key, value) in [("layers", sizes.layers), ("micro_batches", micro_batches)] {
            if value == 0 || value > 100_000 {
                return Err(Error::key(key, value, "expected 1 to 100000"));
            }
        }
        if !sizes.layers.is_multiple_of(pipeline) {
            return Err(Error::key("layers", sizes.layers, format!("expected a multiple of pipeline = {pipeline}")));
        }
        for (key, value) in [("skew", params.skew), ("combine", params.combine)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::key(key, value, "expected 0 or more"));
            }
        }
        if params.rounds == Some(0) {
            return Err(Error::key("rounds", 0, "expected 1 or more"));
        }
        let layers = sizes.layers / pipeline;
        if 2 * u64::from(micro_batches) * (1 + u64::from(OF_LAYER) * u64::from(layers)) > u64::from(u32::MAX) / 2 {
            return Err(Error::key("micro_batches", micro_batches, "expected fewer passes of fewer layers"));
        }
        let zero = params.stage()?;
        let made = Exchanges::new(params, &sizes, setting, zero);
        let (before, after, sent) = made.of_blocks()?;
        let copies = data * expert;
        let (mut sums, mut gathers, mut first_gathers) = (vec![], vec![], vec![]);
        for stage in 0..pipeline {
            sums.push(made.sums(stage, layers)?);
            let (each, first) = made.gathers(stage, layers)?;
            gathers.push(each);
            first_gathers.push(first);
        }
        let place = |rank: u32| Place::of(rank, params);
        // `number` returns the communicator of a rank, out of `count`.
        let groups = |count: u32, number: &dyn Fn(Place) -> u32| -> Groups {
            let mut ranks = vec![vec![]; count as usize];
            (0..setting.ranks).for_each(|rank| ranks[number(place(rank)) as usize].push(rank));
            ranks.into_iter().map(Arc::from).collect()
        };
        let routed = params.routed(&sizes, setting)?;
        let most =
            |all: &mut dyn Iterator<Item = &SomeSteps>| all.flatten().map(|steps| steps.lanes()).max().unwrap_or(0);
        let lanes = [
            most(&mut [&before, &after].into_iter()),
            routed.lanes()?,
            most(
                &mut sums
                    .iter()
                    .flatten()
                    .filter(|sum| !sum.experts)
                    .map(|sum| &sum.steps)
                    .chain(gathers.iter().map(|of| &of[0]))
                    .chain(&first_gathers),
            ),
            most(
                &mut sums
                    .iter()
                    .flatten()
                    .filter(|sum| sum.experts)
                    .map(|sum| &sum.steps)
                    .chain(gathers.iter().map(|of| &of[1])),
            ),
        ];
        Ok(Self {
            layers,
            tensor: groups(copies * pipeline, &|p| p.expert + expert * (p.data + data * p.stage)),
            expert: groups(tensor * data * pipeline, &|p| p.tensor + tensor * (p.data + data * p.stage)),
            dense: groups(tensor * pipeline, &|p| p.tensor + tensor * p.stage),
            experts: groups(tensor * pipeline * expert, &|p| p.tensor + tensor * (p.expert + expert * p.stage)),
            before,
            after,
            routed,
            sums,
            gathers,
            first_gathers,
            lanes,
            sizes: Sizes { activation: sent, ..sizes },
            params: TrainingParams { zero, ..params.clone() },
        })
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
        5
    }

    fn cpus(&self) -> u8 {
        2
    }

    fn tags(&self) -> u32 {
        let [.., dense, experts] = self.first_tags();
        if self.params.zero == 3 { experts + self.lanes[3] } else { dense }
    }

    fn task(&self, rank: u32, stream: u32, number: u32) -> Option<Task> {
        let place = Place::of(rank, &self.params);
        match stream {
            COMPUTE => self.compute(rank, place, number),
            GRADIENTS => self.gradients(rank, place, number),
            ACTIVATIONS => self.sent(place, true, number),
            ERRORS => self.sent(place, false, number),
            PARAMETERS => self.parameters(rank, place, number),
            _ => None,
        }
    }
}
