//! Serving a language model: prefill and decode on separate groups of ranks, with continuous batching.
//!
//! `load` draws the requests, `passes` says how long a pass through the model takes and what its ranks exchange, and
//! `plan` decides, while the program runs, which requests go through the model next.

mod load;
mod passes;
mod plan;

pub use load::{Arrivals, Lengths};
pub use plan::{Served, Serving};

use crate::accelerator::AcceleratorParams;
use crate::collective::Algorithm;
use crate::error::Error;
use crate::model::ModelParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Serving a language model. Some groups of ranks read prompts (prefill), others generate tokens (decode), as in Zhong
/// et al., "DistServe", OSDI 2024, and Patel et al., "Splitwise", ISCA 2024. The ranks of a group share each layer of
/// the model (tensor parallelism). Ranks are numbered group by group, prefill groups first.
///
/// Requests go to the prefill groups in turn, and to the decode groups in turn. A prefill group takes waiting requests
/// in the order of arrival, up to `prefill.batch` in a pass. The pass generates the first token. Then each of its ranks
/// sends its part of the keys and values of the prompt to the decode group, while the prefill group goes on.
///
/// A decode group generates one token of each of its requests in a pass. Between two passes, requests that have ended
/// leave, and requests whose keys and values have arrived join (continuous batching: Yu et al., "Orca", OSDI 2022).
///
/// The first rank of a group decides what goes into a pass and tells the other ranks, by a message of 64 bytes. The
/// other ranks of a decode group tell it by such messages that keys and values have arrived. In a pass, the ranks of a
/// group all-reduce their activations twice in a layer.
///
/// Times of passes follow from `model` and `accelerator`, or stand in `times`. Arrivals are nanoseconds, so
/// `units.cycle` is required. Calculations run on CPU 0 of a rank, messages on CPU 1, so they overlap.
///
/// ```toml
/// [units]
/// phit = "16 B"
/// cycle = "1 ns"
///
/// [topology]
/// kind = "single"
/// endpoints = 4
///
/// [workload]
/// kind = "inference"
/// prefill = { tensor = 2 }
/// decode = { tensor = 2, batch = 16 }
/// requests = 4
/// arrivals = { kind = "poisson", rate = 100_000 }
/// prompt = { kind = "uniform", least = 8, most = 32 }
/// output = { kind = "fixed", tokens = 4 }
/// times = { pass = 1000, token = 10 }
/// cache_bytes = 256
/// activation_bytes = 512
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct InferenceParams {
    /// Groups of ranks that read prompts.
    #[serde(default)]
    pub prefill: Prefill,
    /// Groups of ranks that generate tokens.
    #[serde(default)]
    pub decode: Decode,
    /// Number of requests. Required without a `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests: Option<u32>,
    /// When requests arrive. Required without a `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Tokens of prompts. Required without a `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Lengths>,
    /// Tokens that are generated for a request. Required without a `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Lengths>,
    /// Requests in the order of arrival, instead of drawn ones: for each its time of arrival in nanoseconds, the tokens
    /// of its prompt and the tokens to be generated. Also the path of a CSV file with these three numbers in a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<(f64, u32, u32)>,
    /// The model, from which sizes and, with an `accelerator`, times follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelParams>>,
    /// The accelerator of a rank, from which the times of the `model` follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<AcceleratorParams>,
    /// Times of passes, instead of those of model and accelerator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Times>,
    /// Bytes of a token's keys and values, of all layers and ranks. Required without a `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "bytes"))]
    pub cache_bytes: Option<u64>,
    /// Bytes of a token's activations that the ranks of a group all-reduce at a time. Without a `model`, none if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "bytes"))]
    pub activation_bytes: Option<u64>,
    /// All-reduces of a pass: a divisor of twice the layers, which it is if left out. With fewer, neighbouring ones are
    /// merged: the bytes stay, and the latencies of the others are left out. Without a `model`, 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200_000))]
    pub exchanges: Option<u32>,
    /// Algorithm of the all-reduces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub tensor_algorithm: Option<Algorithm>,
}

/// Declares groups of ranks: the keys that all have, and more.
macro_rules! groups {
    ($(#[$about:meta])* $name:ident, batch = $batch:literal $(, $(#[$key_about:meta])* $key:ident: $kind:ty)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[schemars(inline)]
        pub struct $name {
            /// Number of groups.
            #[schemars(range(min = 1))]
            pub groups: u32,
            /// Ranks of a group, which share each layer.
            #[schemars(range(min = 1))]
            pub tensor: u32,
            /// Most requests of a pass.
            #[schemars(range(min = 1))]
            pub batch: u32,
            $($(#[$key_about])* pub $key: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { groups: 1, tensor: 1, batch: $batch $(, $key: Default::default())* }
            }
        }
    };
}

groups! {
    /// Groups of ranks that read prompts.
    Prefill, batch = 1
}

groups! {
    /// Groups of ranks that generate tokens.
    Decode, batch = 64,
    /// Tokens whose keys and values fit into the memory of a group; any number if left out. A request joins if its
    /// prompt and all tokens to be generated fit beside those of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    cache_tokens: Option<u64>
}

/// The time of a pass: a sum of these. Also in units of time for each token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct Times {
    /// Time of any pass.
    #[schemars(extend("x-unit" = "units of time"))]
    pub pass: u64,
    /// Time of each token that goes through the model: of a prompt in a prefill pass, one for each request in a decode
    /// pass.
    #[schemars(extend("x-unit" = "units of time"))]
    pub token: u64,
    /// Time of each earlier token of a request in a decode pass, whose keys and values are loaded.
    #[schemars(extend("x-unit" = "units of time"))]
    pub context: u64,
}

/// Most ranks of the program.
const MOST_RANKS: u64 = 1 << 24;

impl InferenceParams {
    /// The number of ranks.
    pub fn ranks(&self) -> Result<u32, Error> {
        let Self { prefill, decode, .. } = self;
        for (key, value) in [
            ("prefill.groups", prefill.groups),
            ("prefill.tensor", prefill.tensor),
            ("prefill.batch", prefill.batch),
            ("decode.groups", decode.groups),
            ("decode.tensor", decode.tensor),
            ("decode.batch", decode.batch),
        ] {
            if value == 0 {
                return Err(Error::key(key, value, "expected 1 or more"));
            }
        }
        let of = |groups: u32, tensor: u32| u64::from(groups) * u64::from(tensor);
        let ranks = of(prefill.groups, prefill.tensor) + of(decode.groups, decode.tensor);
        match u32::try_from(ranks) {
            Ok(ranks) if u64::from(ranks) <= MOST_RANKS => Ok(ranks),
            _ => Err(Error::key("decode.groups", decode.groups, format!("expected at most {MOST_RANKS} ranks in all"))),
        }
    }
}
