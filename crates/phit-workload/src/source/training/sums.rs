//! The collectives of a training step: within layers, the sums of gradients, and the parameters that are gathered.

use super::sizes::Sizes;
use super::{OF_LAYER, Setting, SomeSteps, TrainingParams};
use crate::collective::{Algorithm, Collective};
use crate::error::Error;
use crate::source::CollectiveParams;

/// A sum of gradients.
#[derive(Debug, Clone)]
pub(super) struct Sum {
    /// Tasks of the backward pass that come before it.
    pub ready: u32,
    /// Whether the gradients are those of experts.
    pub experts: bool,
    pub steps: SomeSteps,
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

/// The ranks of a collective.
#[derive(Debug, Clone, Copy)]
pub(super) enum Among {
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

    pub(super) fn without_group(self) -> Error {
        let [algorithm, group] = self.keys();
        let message = format!("{group}: {algorithm} = hierarchical needs the number of ranks of a group");
        Error { key: Some(group), ..Error::new(message) }
    }

    /// An error of a collective, by the keys of these ranks.
    pub(super) fn named(self, error: Error) -> Error {
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

/// Each rank's share of bytes.
fn own(bytes: u64, members: u32) -> u64 {
    bytes.div_ceil(u64::from(members))
}

/// The algorithm, if it exists for this collective. An algorithm of sums may not exist for the half of an all-reduce.
fn half(what: Collective, how: Option<Algorithm>) -> Option<Algorithm> {
    how.filter(|how| what.algorithms().contains(how))
}

/// Makes the collectives of a step.
pub(super) struct Exchanges<'a> {
    params: &'a TrainingParams,
    sizes: &'a Sizes,
    setting: Setting,
    /// The stage of ZeRO.
    zero: u8,
}

impl<'a> Exchanges<'a> {
    pub(super) fn new(params: &'a TrainingParams, sizes: &'a Sizes, setting: &Setting, zero: u8) -> Self {
        Self { params, sizes, setting: Setting { groups: vec![], ..setting.clone() }, zero }
    }

    /// Ranks that hold the same parameters, of everything but experts.
    fn copies(&self) -> u32 {
        self.params.data * self.params.expert
    }

    /// A collective; `None` if there is nothing to do.
    fn of(
        &self,
        what: Collective,
        how: Option<Algorithm>,
        members: u32,
        bytes: u64,
        among: Among,
    ) -> Result<SomeSteps, Error> {
        if members == 1 || bytes == 0 {
            return Ok(None);
        }
        let group = among.group(self.params);
        if how == Some(Algorithm::Hierarchical) && group.is_none() {
            return Err(among.without_group());
        }
        let groups = group.into_iter().collect();
        let is_ring = how.unwrap_or(what.usual()) == Algorithm::Ring;
        let rounds = self.params.rounds.filter(|_| is_ring);
        let params = CollectiveParams { algorithm: how, groups, rounds, ..CollectiveParams::new(what, bytes) };
        let steps = params.members(members, &self.setting).and_then(|members| members.steps());
        Ok(Some(steps.map_err(|error| among.named(error))?))
    }

    /// Before and after a block of a layer, among tensor parallel ranks; and the bytes that a rank sends to the next
    /// stage.
    pub(super) fn of_blocks(&self) -> Result<(SomeSteps, SomeSteps, u64), Error> {
        let (tensor, how, bytes) = (self.params.tensor, self.params.tensor_algorithm, self.sizes.activation);
        let group = Among::Tensor;
        if !self.params.sequence_parallel {
            return Ok((None, self.of(Collective::AllReduce, how, tensor, bytes, group)?, bytes));
        }
        let (gather, scatter) = (Collective::AllGather, Collective::ReduceScatter);
        let before = self.of(gather, half(gather, how), tensor, own(bytes, tensor), group)?;
        let after = self.of(scatter, half(scatter, how), tensor, bytes, group)?;
        Ok((before, after, own(bytes, tensor)))
    }

    /// The sums of a stage of so many layers, in the order in which they are ready.
    pub(super) fn sums(&self, stage: u32, layers: u32) -> Result<Vec<Sum>, Error> {
        let Self { params, sizes, .. } = *self;
        let sum = if self.zero == 0 { Collective::AllReduce } else { Collective::ReduceScatter };
        let how = if self.zero == 0 { params.data_algorithm } else { half(sum, params.data_algorithm) };
        // A layer is complete when its last task has ended, an end of the network with the layer beside it.
        let ends = params.ends_of(sizes, stage);
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
        for (pieces, of_experts, members) in [(dense, false, self.copies()), (experts, true, params.data)] {
            for (ready, bytes) in buckets(&pieces, params.bucket_bytes) {
                let made = known.iter().find(|(experts, size, _)| *experts == of_experts && *size == bytes);
                let steps = match made {
                    Some((.., steps)) => steps.clone(),
                    None => self.of(sum, how, members, bytes, Among::Data)?,
                };
                known.push((of_experts, bytes, steps.clone()));
                known.truncate(16);
                of_stage.push(Sum { ready, experts: of_experts, steps });
            }
        }
        // The sort is stable: of two that are ready at once, experts come last.
        of_stage.sort_by_key(|sum| sum.ready);
        Ok(of_stage)
    }

    /// The parameters that a stage of so many layers gathers: of the whole stage or of one layer, without experts and
    /// of experts; then those of the first layer with the embedding.
    pub(super) fn gathers(&self, stage: u32, layers: u32) -> Result<([SomeSteps; 2], SomeSteps), Error> {
        let Self { params, sizes, .. } = *self;
        let (copies, data) = (self.copies(), params.data);
        let how = half(Collective::AllGather, params.data_algorithm);
        let gathered = |bytes: u64, members| self.of(Collective::AllGather, how, members, bytes, Among::Data);
        let ends: u64 = params.ends_of(sizes, stage).iter().map(|bytes| own(*bytes, copies)).sum();
        let (dense, experts) = (own(sizes.gradient, copies), own(sizes.expert_gradient, data));
        let count = u64::from(layers);
        Ok(match self.zero {
            0 => ([None, None], None),
            3 => ([gathered(dense, copies)?, gathered(experts, data)?], gathered(dense.saturating_add(ends), copies)?),
            _ => {
                let all = dense.saturating_mul(count).saturating_add(ends);
                ([gathered(all, copies)?, gathered(experts.saturating_mul(count), data)?], None)
            }
        })
    }
}
