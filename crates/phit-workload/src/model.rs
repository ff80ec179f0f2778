//! The arithmetic of a transformer's sizes: parameters, operations and bytes from layers, width and vocabulary.

use crate::error::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A transformer, by its published name or by its sizes. Sizes given beside a name replace those of the named model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ModelParams {
    /// A published model. Without it, `layers`, `hidden`, `heads`, `vocabulary` and `sequence` are required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// Number of layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub layers: Option<u32>,
    /// Width: values of a token between two layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: Option<u32>,
    /// Heads of attention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub heads: Option<u32>,
    /// Heads of keys and values; equal to `heads` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub kv_heads: Option<u32>,
    /// Values of a head; `hidden` divided by `heads` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub head_size: Option<u32>,
    /// Inner width of the feed-forward block, or of each expert; four times `hidden` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub feed_forward: Option<u32>,
    /// Whether the feed-forward block has a gate: three matrices instead of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<bool>,
    /// Whether matrices and norms have biases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub biases: Option<bool>,
    /// Whether positions have learned embeddings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_positions: Option<bool>,
    /// Number of different tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub vocabulary: Option<u32>,
    /// Whether the output layer shares the matrix of the embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied: Option<bool>,
    /// Tokens of a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub sequence: Option<u32>,
    /// Experts of a layer; 0 for one feed-forward block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub experts: Option<u32>,
    /// Experts that each token uses; 2 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub active_experts: Option<u32>,
    /// Bytes of a parameter, a gradient or an activation; 2 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16))]
    #[schemars(extend("x-unit" = "bytes"))]
    pub value_bytes: Option<u32>,
}

/// Published models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Name {
    /// GPT-3 6.7B (Brown et al., arXiv 2005.14165, table 2.1).
    #[serde(rename = "gpt3_6.7b")]
    Gpt3Small,
    /// GPT-3 175B (Brown et al., arXiv 2005.14165, table 2.1).
    #[serde(rename = "gpt3_175b")]
    Gpt3,
    /// Llama 2 7B (Touvron et al., arXiv 2307.09288).
    #[serde(rename = "llama2_7b")]
    Llama2Small,
    /// Llama 2 13B (Touvron et al., arXiv 2307.09288).
    #[serde(rename = "llama2_13b")]
    Llama2Medium,
    /// Llama 2 70B (Touvron et al., arXiv 2307.09288).
    #[serde(rename = "llama2_70b")]
    Llama2,
    /// Llama 3 8B (Grattafiori et al., arXiv 2407.21783, table 3).
    #[serde(rename = "llama3_8b")]
    Llama3Small,
    /// Llama 3 70B (Grattafiori et al., arXiv 2407.21783, table 3).
    #[serde(rename = "llama3_70b")]
    Llama3Medium,
    /// Llama 3 405B (Grattafiori et al., arXiv 2407.21783, table 3).
    #[serde(rename = "llama3_405b")]
    Llama3,
    /// Mixtral 8x7B (Jiang et al., arXiv 2401.04088, table 1).
    #[serde(rename = "mixtral_8x7b")]
    Mixtral,
}

impl Name {
    /// Every published model.
    pub const ALL: [Self; 9] = [
        Self::Gpt3Small,
        Self::Gpt3,
        Self::Llama2Small,
        Self::Llama2Medium,
        Self::Llama2,
        Self::Llama3Small,
        Self::Llama3Medium,
        Self::Llama3,
        Self::Mixtral,
    ];

    /// The published sizes.
    pub fn model(self) -> Model {
        let llama = |layers, hidden, heads, kv_heads, feed_forward, vocabulary, sequence| Model {
            layers,
            hidden,
            heads,
            kv_heads,
            head_size: 128,
            feed_forward,
            gated: true,
            biases: false,
            learned_positions: false,
            vocabulary,
            tied: false,
            sequence,
            experts: 0,
            active_experts: 2,
            value_bytes: 2,
        };
        let gpt3 = |layers, hidden, heads| Model {
            gated: false,
            biases: true,
            learned_positions: true,
            tied: true,
            ..llama(layers, hidden, heads, heads, 4 * hidden, 50_257, 2048)
        };
        match self {
            Self::Gpt3Small => gpt3(32, 4096, 32),
            Self::Gpt3 => gpt3(96, 12_288, 96),
            Self::Llama2Small => llama(32, 4096, 32, 32, 11_008, 32_000, 4096),
            Self::Llama2Medium => llama(40, 5120, 40, 40, 13_824, 32_000, 4096),
            Self::Llama2 => llama(80, 8192, 64, 8, 28_672, 32_000, 4096),
            Self::Llama3Small => llama(32, 4096, 32, 8, 14_336, 128_256, 8192),
            Self::Llama3Medium => llama(80, 8192, 64, 8, 28_672, 128_256, 8192),
            Self::Llama3 => llama(126, 16_384, 128, 8, 53_248, 128_256, 8192),
            Self::Mixtral => Model { experts: 8, ..llama(32, 4096, 32, 8, 14_336, 32_000, 32_768) },
        }
    }
}

/// The sizes of a transformer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Number of layers.
    pub layers: u32,
    /// Values of a token between two layers.
    pub hidden: u32,
    /// Heads of attention.
    pub heads: u32,
    /// Heads of keys and values.
    pub kv_heads: u32,
    /// Values of a head.
    pub head_size: u32,
    /// Inner width of the feed-forward block, or of each expert.
    pub feed_forward: u32,
    /// True if the feed-forward block has a gate.
    pub gated: bool,
    /// True if matrices and norms have biases.
    pub biases: bool,
    /// True if positions have learned embeddings.
    pub learned_positions: bool,
    /// Number of different tokens.
    pub vocabulary: u32,
    /// True if the output layer shares the matrix of the embedding.
    pub tied: bool,
    /// Tokens of a sequence.
    pub sequence: u32,
    /// Experts of a layer; 0 for one feed-forward block.
    pub experts: u32,
    /// Experts that each token uses.
    pub active_experts: u32,
    /// Bytes of a parameter, a gradient or an activation.
    pub value_bytes: u32,
}

impl ModelParams {
    /// The sizes.
    pub fn model(&self) -> Result<Model, Error> {
        let named = self.name.map(Name::model);
        let required = |key: &'static str, given: Option<u32>, named: Option<u32>| {
            given
                .or(named)
                .ok_or_else(|| Error { key: Some(key), ..Error::new(format!("{key}: required without `model.name`")) })
        };
        let hidden = required("model.hidden", self.hidden, named.map(|model| model.hidden))?;
        let heads = required("model.heads", self.heads, named.map(|model| model.heads))?;
        let head_size = match (self.head_size, named) {
            (Some(size), _) => size,
            (None, Some(model)) if self.hidden.is_none() && self.heads.is_none() => model.head_size,
            _ if heads > 0 && hidden.is_multiple_of(heads) => hidden / heads,
            _ => {
                let expected = format!("expected a divisor of hidden = {hidden}, or `model.head_size`");
                return Err(Error::key("model.heads", heads, expected));
            }
        };
        let kept = |given: Option<u32>, named: Option<u32>, otherwise: u32| given.or(named).unwrap_or(otherwise);
        let is = |given: Option<bool>, named: Option<bool>| given.or(named).unwrap_or(false);
        let model = Model {
            layers: required("model.layers", self.layers, named.map(|model| model.layers))?,
            hidden,
            heads,
            kv_heads: kept(self.kv_heads, named.filter(|_| self.heads.is_none()).map(|model| model.kv_heads), heads),
            head_size,
            feed_forward: kept(
                self.feed_forward,
                named.filter(|_| self.hidden.is_none()).map(|model| model.feed_forward),
                hidden.saturating_mul(4),
            ),
            gated: is(self.gated, named.map(|model| model.gated)),
            biases: is(self.biases, named.map(|model| model.biases)),
            learned_positions: is(self.learned_positions, named.map(|model| model.learned_positions)),
            vocabulary: required("model.vocabulary", self.vocabulary, named.map(|model| model.vocabulary))?,
            tied: is(self.tied, named.map(|model| model.tied)),
            sequence: required("model.sequence", self.sequence, named.map(|model| model.sequence))?,
            experts: kept(self.experts, named.map(|model| model.experts), 0),
            active_experts: kept(self.active_experts, named.map(|model| model.active_experts), 2),
            value_bytes: kept(self.value_bytes, named.map(|model| model.value_bytes), 2),
        };
        model.check().map(|()| model)
    }
}

impl Model {
    fn check(&self) -> Result<(), Error> {
        for (key, value, most) in [
            ("model.layers", self.layers, 100_000),
            ("model.hidden", self.hidden, 1_000_000),
            ("model.heads", self.heads, 1_000_000),
            ("model.kv_heads", self.kv_heads, 1_000_000),
            ("model.head_size", self.head_size, 1_000_000),
            ("model.feed_forward", self.feed_forward, 10_000_000),
            ("model.vocabulary", self.vocabulary, 1_000_000_000),
            ("model.sequence", self.sequence, 100_000_000),
            ("model.active_experts", self.active_experts, 1_000_000),
            ("model.value_bytes", self.value_bytes, 16),
        ] {
            if value == 0 || value > most {
                return Err(Error::key(key, value, format!("expected 1 to {most}")));
            }
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            let expected = format!("expected a divisor of heads = {}", self.heads);
            return Err(Error::key("model.kv_heads", self.kv_heads, expected));
        }
        if self.experts > 1_000_000 {
            return Err(Error::key("model.experts", self.experts, "expected 0 to 1000000"));
        }
        if self.experts > 0 && self.active_experts > self.experts {
            let expected = format!("expected at most experts = {}", self.experts);
            return Err(Error::key("model.active_experts", self.active_experts, expected));
        }
        Ok(())
    }

    /// Parameters of a layer's attention, with the norm before it.
    pub fn attention(&self) -> u64 {
        let [hidden, heads, kv_heads, size] = [self.hidden, self.heads, self.kv_heads, self.head_size].map(u64::from);
        let matrices = 2 * hidden * heads * size + 2 * hidden * kv_heads * size;
        let biases = if self.biases { heads * size + 2 * kv_heads * size + hidden } else { 0 };
        matrices + biases + self.norm()
    }

    /// Parameters of a feed-forward block, or of an expert.
    pub fn block(&self) -> u64 {
        let [hidden, inner] = [self.hidden, self.feed_forward].map(u64::from);
        let matrices = if self.gated { 3 } else { 2 } * hidden * inner;
        let biases = if self.biases { inner * if self.gated { 2 } else { 1 } + hidden } else { 0 };
        matrices + biases
    }

    fn norm(&self) -> u64 {
        u64::from(self.hidden) * if self.biases { 2 } else { 1 }
    }

    /// Parameters of a layer, without experts.
    pub fn dense_layer(&self) -> u64 {
        let second = match self.experts {
            0 => self.block(),
            experts => u64::from(self.hidden) * u64::from(experts),
        };
        self.attention() + self.norm() + second
    }

    /// Parameters of all experts of a layer.
    pub fn expert_layer(&self) -> u64 {
        u64::from(self.experts) * self.block()
    }

    /// Parameters of the embedding, with positions.
    pub fn embedding(&self) -> u64 {
        let positions = if self.learned_positions { self.sequence } else { 0 };
        u64::from(self.hidden) * (u64::from(self.vocabulary) + u64::from(positions))
    }

    /// Parameters of the output layer's own matrix and of the norm before it.
    pub fn output(&self) -> u64 {
        let matrix = if self.tied { 0 } else { u64::from(self.hidden) * u64::from(self.vocabulary) };
        matrix + self.norm()
    }

    /// All parameters.
    pub fn parameters(&self) -> u64 {
        u64::from(self.layers) * (self.dense_layer() + self.expert_layer()) + self.embedding() + self.output()
    }

    /// The parameters that a token uses.
    pub fn active_parameters(&self) -> u64 {
        let active = if self.experts == 0 { 0 } else { u64::from(self.active_experts) * self.block() };
        u64::from(self.layers) * (self.dense_layer() + active) + self.embedding() + self.output()
    }

    /// Operations of a layer's attention for a token among `context` tokens, forward: a multiplication and an addition
    /// for each value of its matrices, and for each value of a head with each token of the context, twice.
    pub fn attention_operations(&self, context: f64) -> f64 {
        let [hidden, heads, kv_heads, size] = [self.hidden, self.heads, self.kv_heads, self.head_size].map(f64::from);
        4.0 * hidden * size * (heads + kv_heads) + 4.0 * context * heads * size
    }

    /// Operations of a feed-forward block or of an expert for a token, forward.
    pub fn block_operations(&self) -> f64 {
        2.0 * if self.gated { 3.0 } else { 2.0 } * f64::from(self.hidden) * f64::from(self.feed_forward)
    }

    /// Operations of the output layer for a token, forward.
    pub fn output_operations(&self) -> f64 {
        2.0 * f64::from(self.hidden) * f64::from(self.vocabulary)
    }

    /// Bytes of a token's values between two layers.
    pub fn token_bytes(&self) -> u64 {
        u64::from(self.hidden) * u64::from(self.value_bytes)
    }

    /// Bytes of a token's keys and values in all layers.
    pub fn cache_bytes(&self) -> u64 {
        let [layers, kv_heads, size, bytes] =
            [self.layers, self.kv_heads, self.head_size, self.value_bytes].map(u64::from);
        2 * layers * kv_heads * size * bytes
    }

    /// Bytes of these parameters.
    pub fn bytes(&self, parameters: u64) -> u64 {
        parameters * u64::from(self.value_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In billions, rounded as in print.
    fn billions(parameters: u64, digits: i32) -> f64 {
        let scale = 10f64.powi(digits);
        (parameters as f64 / 1e9 * scale).round() / scale
    }

    /// The counts of the papers that [`Name`] cites, and of the models' cards: Llama 2 and 3 as published on Hugging
    /// Face ("6.74B params" and so on), Mixtral's 47B in total and 13B active (arXiv 2401.04088, abstract).
    #[test]
    fn published_models_have_their_published_parameters() {
        for (name, expected, digits) in [
            (Name::Gpt3Small, 6.7, 1),
            (Name::Gpt3, 175.0, 0),
            (Name::Llama2Small, 6.74, 2),
            (Name::Llama2Medium, 13.0, 1),
            (Name::Llama2, 69.0, 1),
            (Name::Llama3Small, 8.03, 2),
            (Name::Llama3Medium, 70.6, 1),
            (Name::Llama3, 406.0, 0),
            (Name::Mixtral, 46.7, 1),
        ] {
            assert_eq!(billions(name.model().parameters(), digits), expected, "{name:?}");
        }
        assert_eq!(billions(Name::Mixtral.model().active_parameters(), 1), 12.9);
        assert_eq!(Name::ALL.len(), 9);
        for name in Name::ALL.into_iter().filter(|name| *name != Name::Mixtral) {
            assert_eq!(name.model().parameters(), name.model().active_parameters());
        }
    }

    /// Narayanan et al. (SC 2021), table 1: the models from 1.7 billion to a trillion parameters, with their formula of
    /// parameters, and of operations: 24 B s h^2 + 4 B s^2 h for a layer's forward pass.
    #[test]
    fn megatron_models_follow_the_formulas_of_their_paper() {
        for (hidden, layers, heads, expected) in [
            (2304, 24, 24, 1.7),
            (3072, 30, 32, 3.6),
            (4096, 36, 32, 7.5),
            (6144, 40, 48, 18.4),
            (8192, 48, 64, 39.1),
            (10_240, 60, 80, 76.1),
            (12_288, 80, 96, 145.6),
            (16_384, 96, 128, 310.1),
            (20_480, 105, 128, 529.6),
            (25_600, 128, 160, 1008.0),
        ] {
            let params = ModelParams {
                layers: Some(layers),
                hidden: Some(hidden),
                heads: Some(heads),
                vocabulary: Some(51_200),
                sequence: Some(2048),
                biases: Some(true),
                learned_positions: Some(true),
                tied: Some(true),
                ..ModelParams::default()
            };
            let model = params.model().unwrap();
            assert_eq!(billions(model.parameters(), 1), expected);
            let (h, s) = (f64::from(hidden), 2048.0);
            let forward = s * (model.attention_operations(s) + model.block_operations());
            assert_eq!(forward, 24.0 * s * h * h + 4.0 * s * s * h);
        }
    }

    #[test]
    fn sizes_that_make_no_model_are_named() {
        let error = |params: ModelParams| params.model().unwrap_err().to_string();
        let named = ModelParams { name: Some(Name::Llama3Small), ..ModelParams::default() };
        assert_eq!(error(ModelParams::default()), "model.hidden: required without `model.name`");
        assert_eq!(
            error(ModelParams { heads: Some(33), ..named.clone() }),
            "model.heads = 33: expected a divisor of hidden = 4096, or `model.head_size`"
        );
        assert_eq!(
            error(ModelParams { kv_heads: Some(5), ..named.clone() }),
            "model.kv_heads = 5: expected a divisor of heads = 32"
        );
        assert_eq!(
            error(ModelParams { experts: Some(1), ..named.clone() }),
            "model.active_experts = 2: expected at most experts = 1"
        );
        assert_eq!(error(ModelParams { layers: Some(0), ..named.clone() }), "model.layers = 0: expected 1 to 100000");
        // Half of the width has half of the heads' size, and a feed-forward block of its own width.
        let half = ModelParams { hidden: Some(2048), ..named }.model().unwrap();
        assert_eq!((half.head_size, half.feed_forward, half.kv_heads), (64, 8192, 8));
    }

    /// Keys and values of a token: 2 x layers x heads of keys and values x their size, of 2 bytes. Llama 3 70B keeps
    /// 320 KiB, and GPT-3 4.5 MiB, of a token.
    #[test]
    fn a_token_keeps_its_keys_and_values() {
        assert_eq!(Name::Llama3Medium.model().cache_bytes(), 320 << 10);
        assert_eq!(Name::Gpt3.model().cache_bytes(), 9 << 19);
    }
}
