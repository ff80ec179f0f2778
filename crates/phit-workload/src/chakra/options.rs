//! Choices that a trace leaves open.

use crate::accelerator::AcceleratorParams;
use crate::collective::{Algorithm, Collective};
use crate::error::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The dependencies of a node that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Dependencies {
    /// Dependencies on data only, like version 1 of the feeder. In traces of PyTorch, the other dependencies name the
    /// caller.
    #[default]
    Data,
    /// Dependencies on data and on control, like version 3 of the feeder.
    DataAndControl,
}

/// The order of a GPU's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Streams {
    /// The order of dependencies; beyond that, the order of ids, as soon as the accelerator is free.
    #[default]
    AsGiven,
    /// Operations of one stream (attribute `stream`) one after another, as on a GPU: by their start times, or by their
    /// ids if there are no times. Traces of PyTorch lack these dependencies (mlcommons/chakra, issue 215).
    InOrder,
}

/// The duration of calculations.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(inline)]
pub enum Compute {
    /// The duration in the trace.
    #[default]
    Duration,
    /// The roofline model of its operations and bytes, except on the CPU. An operation takes a nanosecond divided by
    /// `peak`, or the time to load its data at `bandwidth`, whichever is longer.
    Roofline {
        /// Operations in a nanosecond.
        peak: f64,
        /// Bytes in a nanosecond.
        #[schemars(extend("x-unit" = "bytes/nanosecond"))]
        bandwidth: f64,
    },
    /// The roofline model with the rates of an accelerator, by its name or with an efficiency.
    Accelerator(AcceleratorParams),
}

/// The duration of a load or a store.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Memory {
    /// Nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub latency: f64,
    /// Bytes in a nanosecond.
    #[schemars(extend("x-unit" = "bytes/nanosecond"))]
    pub bandwidth: f64,
}

/// Choices that a trace leaves open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Options {
    /// The dependencies that count.
    pub dependencies: Dependencies,
    /// Whether operations of one stream of a GPU wait for one another.
    pub streams: Streams,
    /// The duration of calculations.
    pub compute: Compute,
    /// The duration of loads and stores. If left out, they are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The algorithm of each collective; for collectives not listed here, the usual one.
    pub algorithms: BTreeMap<Collective, Algorithm>,
    /// Number of parts into which a collective is cut, sent one after another.
    #[schemars(range(min = 1))]
    pub chunks: u32,
    /// Time before a collective begins, and again after each step's messages have been received, in nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub delay: u64,
    /// Time for each byte that a collective combines, in nanoseconds.
    #[schemars(extend("x-unit" = "nanoseconds"))]
    pub combine: f64,
    /// The ranks of each group that a collective may name. A collective without a group has all ranks.
    pub groups: BTreeMap<String, Vec<u32>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dependencies: Dependencies::default(),
            streams: Streams::default(),
            compute: Compute::default(),
            memory: None,
            algorithms: BTreeMap::new(),
            chunks: 1,
            delay: 0,
            combine: 0.0,
            groups: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Refuses rates that give no finite time.
    pub(super) fn check(&self) -> Result<(), Error> {
        let above = |key, rate: f64| match rate > 0.0 && rate.is_finite() {
            true => Ok(()),
            false => Err(Error::key(key, rate, "expected a number above 0")),
        };
        let time = |key, time: f64| match time >= 0.0 && time.is_finite() {
            true => Ok(()),
            false => Err(Error::key(key, time, "expected 0 or more")),
        };
        if self.chunks == 0 {
            return Err(Error::key("chunks", 0, "expected 1 or more"));
        }
        if let Compute::Roofline { peak, bandwidth } = self.compute {
            above("compute.roofline.peak", peak)?;
            above("compute.roofline.bandwidth", bandwidth)?;
        }
        if let Compute::Accelerator(accelerator) = self.compute {
            accelerator.roofline().map_err(|error| Error {
                key: match error.key {
                    Some("accelerator.peak") => Some("compute.accelerator.peak"),
                    Some("accelerator.bandwidth") => Some("compute.accelerator.bandwidth"),
                    _ => Some("compute.accelerator.efficiency"),
                },
                message: format!("compute.{}", error.message),
                ..error
            })?;
        }
        if let Some(Memory { latency, bandwidth }) = self.memory {
            time("memory.latency", latency)?;
            above("memory.bandwidth", bandwidth)?;
        }
        time("combine", self.combine)
    }
}
