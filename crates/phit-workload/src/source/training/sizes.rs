//! Sizes and times of a layer on a rank.

use super::{Setting, TrainingParams};
use crate::accelerator::{Layer, Tokens};
use crate::error::Error;
use crate::model::{Model, ModelParams};

/// Sizes and times of a layer on a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub layers: u32,
    /// Time of attention and of the block after it, forward and backward.
    pub forward: [u64; 2],
    pub backward: [u64; 2],
    pub activation: u64,
    pub routed: u64,
    pub gradient: u64,
    pub expert_gradient: u64,
    /// Gradients of the embedding on a rank of the first stage, and of the output layer on a rank of the last.
    pub ends: [u64; 2],
}
impl TrainingParams {
    /// The sizes and times that are given, or follow from the model.
    pub(super) fn sizes(&self, setting: &Setting) -> Result<Sizes, Error> {
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
                let layer = Layer { model, roof: accelerator.roofline()?, tensor: self.tensor, expert: self.expert };
                let context = f64::from(model.sequence);
                let tokens = Tokens { count: tokens as f64, context, ..Tokens::default() };
                layer.blocks(&tokens).map(|time| setting.time(time))
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
