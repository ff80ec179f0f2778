//! Passes through the model: their times, and the all-reduces among the ranks of a group.

use super::{InferenceParams, Times};
use crate::accelerator::{Layer, Roofline, Tokens};
use crate::collective::{Algorithm, Collective, Members, Steps};
use crate::error::Error;
use crate::model::{Model, ModelParams};
use crate::source::Setting;
use std::sync::Arc;

/// What goes through the model in a pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Batch {
    /// Requests.
    pub requests: u32,
    /// Tokens.
    pub tokens: u64,
    /// Sum over these of the tokens that each attends to.
    pub attended: f64,
    /// Earlier tokens, whose keys and values are loaded.
    pub cached: u64,
}

/// How the time of a pass is known.
#[derive(Debug)]
enum Known {
    Times(Times),
    Model(Box<Model>, Roofline),
}

/// The rules for the passes of all groups.
#[derive(Debug)]
pub(super) struct Passes {
    known: Known,
    setting: Setting,
    /// Bytes of a token's keys and values.
    cache: u64,
    /// Bytes of a token's activations in all-reduces of the model, and how many of these there are.
    activation: u64,
    merged: u64,
    /// All-reduces of a pass.
    exchanges: u32,
    algorithm: Algorithm,
}

/// A pass that a group makes.
#[derive(Debug)]
pub(super) struct Pass {
    /// The requests.
    pub requests: Vec<u32>,
    /// Times of the calculations before each all-reduce; empty for the end of the program.
    pub times: Vec<u64>,
    /// The all-reduce among the ranks of the group, if there are several.
    pub steps: Option<Arc<dyn Steps>>,
}

impl Pass {
    /// The end of the program.
    pub(super) fn end() -> Self {
        Self { requests: Vec::new(), times: Vec::new(), steps: None }
    }
}

impl Passes {
    pub(super) fn new(params: &InferenceParams, setting: &Setting) -> Result<Self, Error> {
        let missing = |key: &'static str, of: &str| Error {
            key: Some(key),
            ..Error::new(format!("{key}: required without {of}"))
        };
        let model = params.model.as_deref().map(ModelParams::model).transpose()?;
        let known = match (params.times, &model, &params.accelerator) {
            (Some(times), _, None) => Known::Times(times),
            (Some(_), ..) => {
                let message = "accelerator: the times are those of `times`; leave one of them out";
                return Err(Error { key: Some("accelerator"), ..Error::new(message) });
            }
            (None, Some(model), Some(accelerator)) => Known::Model(Box::new(*model), accelerator.roofline()?),
            (None, None, Some(_)) => {
                let message = "accelerator: its times are those of a model; expected `model` as well";
                return Err(Error { key: Some("accelerator"), ..Error::new(message) });
            }
            (None, _, None) => return Err(missing("times", "`model` and `accelerator`")),
        };
        let all = model.map(|model| 2 * model.layers);
        let exchanges = params.exchanges.or(all).unwrap_or(1);
        if exchanges == 0 || all.is_some_and(|all| !all.is_multiple_of(exchanges)) {
            let expected = match all {
                Some(all) => format!("expected a divisor of {all}, twice the layers of the model"),
                None => "expected 1 or more".into(),
            };
            return Err(Error::key("exchanges", exchanges, expected));
        }
        let passes = Self {
            known,
            setting: setting.clone(),
            cache: params
                .cache_bytes
                .or(model.map(|model| model.cache_bytes()))
                .ok_or_else(|| missing("cache_bytes", "a `model`"))?,
            activation: params.activation_bytes.or(model.map(|model| model.token_bytes())).unwrap_or(0),
            merged: u64::from(all.unwrap_or(exchanges) / exchanges),
            exchanges,
            algorithm: params.tensor_algorithm.unwrap_or(Collective::AllReduce.usual()),
        };
        for (key, tensor) in [("prefill.tensor", params.prefill.tensor), ("decode.tensor", params.decode.tensor)] {
            passes.steps(tensor, 1).map_err(|error| Error {
                key: Some("tensor_algorithm"),
                ..Error::new(format!("tensor_algorithm: {error}, with {key} = {tensor}"))
            })?;
        }
        Ok(passes)
    }

    /// Bytes of the keys and values of a prompt.
    pub(super) fn cache(&self, prompt: u32) -> u64 {
        self.cache.saturating_mul(prompt.into())
    }

    /// The all-reduce of a pass of these tokens, among `tensor` ranks.
    fn steps(&self, tensor: u32, tokens: u64) -> Result<Option<Arc<dyn Steps>>, Error> {
        let bytes = self.activation.saturating_mul(self.merged).saturating_mul(tokens);
        match tensor > 1 && bytes > 0 {
            true => Members::new(Collective::AllReduce, self.algorithm, tensor, bytes).steps().map(Some),
            false => Ok(None),
        }
    }

    /// The pass of a group of `tensor` ranks.
    pub(super) fn pass(&self, requests: Vec<u32>, batch: Batch, tensor: u32) -> Pass {
        // The algorithm has been tried with this number of ranks.
        let steps = self.steps(tensor, batch.tokens).ok().flatten();
        let ends: Vec<u64> = match steps.is_some() {
            true => (1..=self.exchanges).map(|number| self.until(batch, tensor, number)).collect(),
            false => vec![self.until(batch, tensor, self.exchanges)],
        };
        let mut before = 0;
        let times = ends.into_iter().map(|end| end - std::mem::replace(&mut before, end)).collect();
        Pass { requests, times, steps }
    }

    /// Time from the beginning of a pass until its all-reduce number `number`, without the all-reduces before.
    fn until(&self, batch: Batch, tensor: u32, number: u32) -> u64 {
        let Batch { requests, tokens, attended, cached } = batch;
        match &self.known {
            Known::Times(Times { pass, token, context }) => {
                let all = [*pass, token.saturating_mul(tokens), context.saturating_mul(cached)];
                let all = all.into_iter().fold(0, u64::saturating_add);
                (u128::from(all) * u128::from(number) / u128::from(self.exchanges)) as u64
            }
            Known::Model(model, roof) => {
                let layer = Layer { model, roof: *roof, tensor, expert: 1 };
                let count = tokens as f64;
                let context = attended / count.max(1.0);
                let [attention, block] =
                    layer.blocks(&Tokens { count, context, cached: cached as f64, ..Tokens::default() });
                let halves = u64::from(number) * self.merged;
                let mut time = (halves / 2) as f64 * (attention + block);
                if halves % 2 == 1 {
                    time += attention;
                }
                if number == self.exchanges {
                    // The output layer, for the last token of each request.
                    let ranks = f64::from(tensor);
                    let matrix = u64::from(model.hidden) * u64::from(model.vocabulary);
                    let operations = f64::from(requests) * model.output_operations() / ranks;
                    time += roof.nanoseconds(operations, model.bytes(matrix) as f64 / ranks);
                }
                self.setting.time(time)
            }
        }
    }
}
