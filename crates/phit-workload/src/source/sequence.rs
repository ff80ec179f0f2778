//! Several sources one after another.

use super::{Setting, Source, SourceKind, once, repeated};
use crate::error::Error;
use crate::script::Script;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Sources one after another: a rank begins a source when it has ended its part of the source before.
///
/// ```toml
/// [workload]
/// kind = "sequence"
/// times = 10
/// steps = [
///     { kind = "calc", time = 5000 },
///     { kind = "collective", collective = "all_reduce", bytes = 16384 },
/// ]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequenceParams {
    /// The sources, each a table with its `kind`.
    #[schemars(length(min = 1))]
    pub steps: Vec<SourceKind>,
    /// Number of repetitions.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub times: u32,
}

impl Source for SequenceParams {
    fn ranks(&self) -> Option<u32> {
        let steps = self.steps.iter().map(SourceKind::source).filter(|source| !source.fits_all());
        let each: Option<Vec<u32>> = steps.map(|source| source.ranks()).collect();
        each?.into_iter().max()
    }

    fn counts_nanoseconds(&self) -> bool {
        self.steps.iter().any(|step| step.source().counts_nanoseconds())
    }

    fn fits_all(&self) -> bool {
        self.steps.iter().all(|step| step.source().fits_all())
    }

    fn scripts(&self, setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        if self.steps.is_empty() {
            return Err(Error::key("steps", "[]", "expected one source or more"));
        }
        let mut all = vec![];
        for (number, step) in (0..).zip(&self.steps) {
            let source = step.source();
            let ranks = source.ranks().unwrap_or(setting.ranks);
            if ranks > setting.ranks {
                let message = format!("steps[{number}] has {ranks} ranks, expected at most {}", setting.ranks);
                return Err(Error { key: Some("steps"), ..Error::new(message) });
            }
            let setting = Setting { ranks, seed: setting.seed.wrapping_add(number), ..setting.clone() };
            let scripts = source.scripts(&setting).map_err(|error| Error {
                message: format!("steps[{number}].{}", error.message),
                key: Some("steps"),
                ..error
            })?;
            all.extend(scripts.into_iter().map(|script| -> Arc<dyn Script> { Arc::new(First { ranks, script }) }));
        }
        repeated(all, self.times)
    }
}

/// A script for the first ranks; the others do nothing.
#[derive(Debug)]
struct First {
    ranks: u32,
    script: Arc<dyn Script>,
}

impl Script for First {
    fn name(&self) -> &'static str {
        self.script.name()
    }

    fn streams(&self) -> u32 {
        self.script.streams()
    }

    fn cpus(&self) -> u8 {
        self.script.cpus()
    }

    fn tags(&self) -> u32 {
        self.script.tags()
    }

    fn task(&self, rank: u32, stream: u32, number: u32) -> Option<crate::script::Task> {
        if rank < self.ranks { self.script.task(rank, stream, number) } else { None }
    }
}
