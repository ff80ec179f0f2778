//! A step of training a neural network of layers on ranks in four dimensions.

use super::routed::{Exchange, Routed};
use super::{CollectiveParams, Setting, Source, once, repeated};
use crate::accelerator::AcceleratorParams;
use crate::collective::{Algorithm, Blocks, Collective, Part, Parts, Step, Steps};
use crate::error::Error;
use crate::model::{Model, ModelParams};
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

/// Sizes and times of a layer on a rank.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    layers: u32,
    /// Time of attention and of the block after it, forward and backward.
    forward: [u64; 2],
    backward: [u64; 2],
    activation: u64,
    routed: u64,
    gradient: u64,
    expert_gradient: u64,
    /// Gradients of the embedding on a rank of the first stage, and of the output layer on a rank of the last.
    ends: [u64; 2],
}

/// A sum of gradients.
#[derive(Debug, Clone)]
struct Sum {
    /// Tasks of the backward pass that come before it.
    ready: u32,
    /// Whether the gradients are those of experts.
    experts: bool,
    steps: SomeSteps,
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

    /// The sizes and times that are given, or follow from the model.
    fn sizes(&self, setting: &Setting) -> Result<Sizes, Error> {
        let needs = |key: &'static str, of: &str| Error {
            key: Some(key),
            ..Error::new(format!("{key}: required without {of}"))
        };
        let model = self.model.as_deref().map(ModelParams::model).transpose()?;
        if self.batch == 0 {
            return Err(Error::key("batch", self.batch, "expected 1 or more"));
        }
        let own = match &model {
            None if self.accelerator.is_some() => {
                let message = "accelerator: its times are those of a model; expected `model` as well";
                return Err(Error { key: Some("accelerator"), ..Error::new(message) });
            }
            None => None,
            Some(model) => Some(self.of_model(model, setting)?),
        };
        let layers = self.layers.or(own.map(|own| own.layers)).ok_or_else(|| needs("layers", "a `model`"))?;
        let given = |given: Option<u64>, own: Option<u64>| given.or(own).unwrap_or(0);
        let halves = |time: u64| [time - time / 2, time / 2];
        let known = own.filter(|_| self.accelerator.is_some()).map(|own| own.forward);
        let forward = self.forward.map(halves).or(known);
        let forward = forward.ok_or_else(|| needs("forward", "`model` and `accelerator`"))?;
        let twice = || forward.map(|time| time.saturating_mul(2));
        Ok(Sizes {
            layers,
            forward,
            backward: match (self.backward, self.forward) {
                (Some(time), _) => halves(time),
                (None, Some(time)) => halves(time.saturating_mul(2)),
                (None, None) => twice(),
            },
            activation: given(self.activation_bytes, own.map(|own| own.activation)),
            routed: given(self.routed_bytes, own.map(|own| own.routed)),
            gradient: given(self.gradient_bytes, own.map(|own| own.gradient)),
            expert_gradient: given(self.expert_gradient_bytes, own.map(|own| own.expert_gradient)),
            ends: own.filter(|_| self.gradient_bytes.is_none()).map_or([0; 2], |own| own.ends),
        })
    }

    /// The sizes and times of a model.
    fn of_model(&self, model: &Model, setting: &Setting) -> Result<Sizes, Error> {
        let [tensor, expert] = [self.tensor, self.expert].map(u64::from);
        if expert > 1 && (model.experts == 0 || !u64::from(model.experts).is_multiple_of(expert)) {
            let expected = format!("expected a divisor of the model's experts, {}", model.experts);
            return Err(Error::key("expert", self.expert, expected));
        }
        let tokens = u64::from(self.batch) * u64::from(model.sequence);
        let activation = tokens.saturating_mul(model.token_bytes());
        let active = if model.experts == 0 { 1 } else { u64::from(model.active_experts) };
        // With the sequence divided, each rank of a tensor group sends its part to the experts.
        let divided = if self.sequence_parallel { tensor } else { 1 };
        let routed = if expert > 1 { (activation / divided).saturating_mul(active) } else { 0 };
        let share = |parameters: u64, ranks: u64| model.bytes(parameters).div_ceil(ranks);
        let time = match &self.accelerator {
            None => [0; 2],
            Some(accelerator) => {
                let roof = accelerator.roofline()?;
                let (count, ranks) = (tokens as f64, tensor as f64);
                let context = f64::from(model.sequence);
                // A block loads its parameters and its input, and stores its output.
                let moved =
                    |parameters: u64| model.bytes(parameters) as f64 / ranks + 2.0 * count * model.token_bytes() as f64;
                let attention = count * model.attention_operations(context) / ranks;
                let block = count * active as f64 * model.block_operations() / ranks;
                let of_block = match model.experts {
                    0 => model.block(),
                    _ => model.expert_layer() / expert,
                };
                [
                    setting.time(roof.nanoseconds(attention, moved(model.attention()))),
                    setting.time(roof.nanoseconds(block, moved(of_block))),
                ]
            }
        };
        Ok(Sizes {
            layers: model.layers,
            forward: time,
            backward: time,
            activation,
            routed,
            gradient: share(model.dense_layer(), tensor),
            expert_gradient: share(model.expert_layer(), tensor * expert),
            ends: [share(model.embedding(), tensor), share(model.output(), tensor)],
        })
    }
}

/// The ranks of a collective.
#[derive(Debug, Clone, Copy)]
enum Among {
    Tensor,
    Expert,
    Data,
}

impl Among {
    /// The keys of their algorithm and of their groups.
    fn keys(self) -> [&'static str; 2] {
        match self {
            Self::Tensor => ["tensor_algorithm", "tensor_group"],
            Self::Expert => ["expert_algorithm", "expert_group"],
            Self::Data => ["data_algorithm", "data_group"],
        }
    }

    fn group(self, params: &TrainingParams) -> Option<u32> {
        match self {
            Self::Tensor => params.tensor_group,
            Self::Expert => params.expert_group,
            Self::Data => params.data_group,
        }
    }

    fn without_group(self) -> Error {
        let [algorithm, group] = self.keys();
        let message = format!("{group}: {algorithm} = hierarchical needs the number of ranks of a group");
        Error { key: Some(group), ..Error::new(message) }
    }

    /// An error of a collective, by the keys of these ranks.
    fn named(self, error: Error) -> Error {
        let [algorithm, group] = self.keys();
        let (old, new) = match error.key {
            Some(old @ "algorithm") => (old, algorithm),
            Some(old @ "groups") => (old, group),
            _ => return error,
        };
        let message = match error.message.strip_prefix(old) {
            Some(rest) => format!("{new}{rest}"),
            None => error.message,
        };
        Error { key: Some(new), message, ..error }
    }
}

/// Gradients of one kind in the order of a backward pass, cut into buckets. Each piece is the number of tasks before it
/// and its bytes, and so is each bucket.
fn buckets(pieces: &[(u32, u64)], bucket: Option<u64>) -> Vec<(u32, u64)> {
    let Some(bucket) = bucket else { return pieces.to_vec() };
    let mut found = vec![];
    let (mut held, mut last) = (0, 0);
    for &(ready, bytes) in pieces.iter().filter(|(_, bytes)| *bytes > 0) {
        let mut left = bytes;
        while left >= bucket - held {
            left -= bucket - held;
            held = 0;
            found.push((ready, bucket));
        }
        (held, last) = (held + left, ready);
    }
    if held > 0 {
        found.push((last, held));
    }
    found
}

/// Most sums of gradients of a stage.
const MOST_SUMS: u64 = 1_000_000;

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
        let of = |what: Collective,
                  how: Option<Algorithm>,
                  members: u32,
                  bytes: u64,
                  among: Among|
         -> Result<SomeSteps, Error> {
            if members == 1 || bytes == 0 {
                return Ok(None);
            }
            let group = among.group(params);
            if how == Some(Algorithm::Hierarchical) && group.is_none() {
                return Err(among.without_group());
            }
            let groups = group.into_iter().collect();
            let is_ring = how.unwrap_or(what.usual()) == Algorithm::Ring;
            let rounds = params.rounds.filter(|_| is_ring);
            let params = CollectiveParams { algorithm: how, groups, rounds, ..CollectiveParams::new(what, bytes) };
            let setting = Setting { groups: vec![], ..setting.clone() };
            let steps = params.members(members, &setting).and_then(|members| members.steps());
            Ok(Some(steps.map_err(|error| among.named(error))?))
        };
        let own = |bytes: u64, members: u32| bytes.div_ceil(u64::from(members));
        // An algorithm of sums may not exist for the half of an all-reduce.
        let half = |what: Collective, how: Option<Algorithm>| how.filter(|how| what.algorithms().contains(how));
        let copies = data * expert;
        let (before, after, sent) = {
            let (how, bytes, group) = (params.tensor_algorithm, sizes.activation, Among::Tensor);
            match params.sequence_parallel {
                false => (None, of(Collective::AllReduce, how, tensor, bytes, group)?, bytes),
                true => {
                    let (gather, scatter) = (Collective::AllGather, Collective::ReduceScatter);
                    let before = of(gather, half(gather, how), tensor, own(bytes, tensor), group)?;
                    (before, of(scatter, half(scatter, how), tensor, bytes, group)?, own(bytes, tensor))
                }
            }
        };
        let sum = if zero == 0 { Collective::AllReduce } else { Collective::ReduceScatter };
        let how = if zero == 0 { params.data_algorithm } else { half(sum, params.data_algorithm) };
        let mut sums = vec![];
        for stage in 0..pipeline {
            // A layer is complete when its last task has ended, an end of the network with the layer beside it.
            let ends = params.ends_of(&sizes, stage);
            let piece = |bytes: u64| move |layer: u32| (1 + OF_LAYER * (layer + 1), bytes);
            let mut dense: Vec<(u32, u64)> = (0..layers).map(piece(sizes.gradient)).collect();
            if ends[1] > 0 {
                dense.insert(0, piece(ends[1])(0));
            }
            if ends[0] > 0 {
                dense.push(piece(ends[0])(layers - 1));
            }
            let experts: Vec<(u32, u64)> = (0..layers).map(piece(sizes.expert_gradient)).collect();
            if let Some(bucket) = params.bucket_bytes {
                let all: u64 = dense.iter().chain(&experts).fold(0, |all, (_, bytes)| all.saturating_add(*bytes));
                if bucket == 0 {
                    return Err(Error::key("bucket_bytes", bucket, "expected 1 or more"));
                }
                if all / bucket > MOST_SUMS {
                    let expected = format!("expected at most {MOST_SUMS} buckets of a stage's {all} bytes");
                    return Err(Error::key("bucket_bytes", bucket, expected));
                }
            }
            let mut of_stage = vec![];
            let mut known: Vec<(bool, u64, SomeSteps)> = vec![];
            for (pieces, of_experts, members) in [(dense, false, copies), (experts, true, data)] {
                for (ready, bytes) in buckets(&pieces, params.bucket_bytes) {
                    let made = known.iter().find(|(experts, size, _)| *experts == of_experts && *size == bytes);
                    let steps = match made {
                        Some((.., steps)) => steps.clone(),
                        None => of(sum, how, members, bytes, Among::Data)?,
                    };
                    known.push((of_experts, bytes, steps.clone()));
                    known.truncate(16);
                    of_stage.push(Sum { ready, experts: of_experts, steps });
                }
            }
            // The sort is stable: of two that are ready at once, experts come last.
            of_stage.sort_by_key(|sum| sum.ready);
            sums.push(of_stage);
        }
        let gather = half(Collective::AllGather, params.data_algorithm);
        let gathered = |bytes: u64, members| of(Collective::AllGather, gather, members, bytes, Among::Data);
        let (mut gathers, mut first_gathers) = (vec![], vec![]);
        for stage in 0..pipeline {
            let ends: u64 = params.ends_of(&sizes, stage).iter().map(|bytes| own(*bytes, copies)).sum();
            let (dense, experts) = (own(sizes.gradient, copies), own(sizes.expert_gradient, data));
            let count = u64::from(layers);
            let (each, first) = match zero {
                0 => ([None, None], None),
                3 => (
                    [gathered(dense, copies)?, gathered(experts, data)?],
                    gathered(dense.saturating_add(ends), copies)?,
                ),
                _ => {
                    let all = dense.saturating_mul(count).saturating_add(ends);
                    ([gathered(all, copies)?, gathered(experts.saturating_mul(count), data)?], None)
                }
            };
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
    fn first_tags(&self) -> [u32; 6] {
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

    fn compute(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
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

    fn gradients(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
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
    fn parameters(&self, rank: u32, place: Place, number: u32) -> Option<Task> {
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
    fn sent(&self, place: Place, forward: bool, number: u32) -> Option<Task> {
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
