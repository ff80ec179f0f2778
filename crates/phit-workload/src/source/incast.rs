//! Incast: many ranks send to one.

use super::{Setting, Source, after_calc, once};
use crate::collective::{Blocks, Part, Step};
use crate::error::Error;
use crate::script::{Script, Task, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Incast: many ranks send to one at the same time. (Phanishayee et al., "Measurement and Analysis of TCP Throughput
/// Collapse in Cluster-based Storage Systems", FAST 2008.)
///
/// ```toml
/// [units]
/// phit = "2 B"
/// cycle = "1 ns"
///
/// [workload]
/// kind = "incast"
/// ranks = 8
/// bytes = 4096
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct IncastParams {
    /// Number of ranks; equal to the number of endpoints if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ranks: Option<u32>,
    /// The rank that receives.
    #[serde(default)]
    pub root: u32,
    /// Number of ranks that send: the first ranks except the root. All if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<u32>,
    /// Bytes of a message.
    #[schemars(extend("x-unit" = "bytes"))]
    pub bytes: u64,
    /// Messages of each source, all at once.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub messages: u32,
    /// Duration of a calculation before each repetition.
    #[serde(default)]
    #[schemars(extend("x-unit" = "units of time"))]
    pub calc: u64,
    /// Number of repetitions: the root goes on when it has received all messages.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
}

impl Source for IncastParams {
    fn ranks(&self) -> Option<u32> {
        self.ranks
    }

    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        let Self { ranks: _, root, sources, bytes, messages, calc, times } = *self;
        if root >= setting.ranks {
            return Err(Error::key("root", root, format!("expected a rank below {}", setting.ranks)));
        }
        let others = setting.ranks - 1;
        if let Some(sources) = sources.filter(|sources| *sources > others) {
            return Err(Error::key("sources", sources, format!("expected at most {others}")));
        }
        let sources = sources.unwrap_or(others);
        after_calc(calc, Incast { root, sources, bytes, messages }, times)
    }
}

#[derive(Debug)]
struct Incast {
    root: u32,
    sources: u32,
    bytes: u64,
    messages: u32,
}

impl Script for Incast {
    fn name(&self) -> &'static str {
        "incast"
    }

    fn task(&self, rank: u32, _stream: u32, number: u32) -> Option<Task> {
        let Self { root, sources, bytes, messages } = *self;
        let is_source = |rank: u32| rank != root && rank - u32::from(rank > root) < sources;
        let from = |peer| (0..messages).map(move |_| Part { peer, bytes, blocks: Blocks::one(0) });
        let step = match rank == root {
            true => Step {
                receives: (0..sources).map(|place| place + u32::from(place >= root)).flat_map(from).collect(),
                ..Step::default()
            },
            false if is_source(rank) => Step { sends: from(root).collect(), ..Step::default() },
            false => return None,
        };
        (number == 0).then(|| Task::new(Work::exchange(step)))
    }
}
