//! Training steps, patterns and sequences by name.

use super::{ProgramParams, Site, made};
use crate::error::ScenarioError;
use phit_workload::Executable;
use phit_workload::source::{
    FftParams, HaloParams, IncastParams, PermutationParams, SequenceParams, Source, SweepParams, TrainingParams,
};
use std::sync::Arc;

macro_rules! programs {
    ($($params:ty),+ $(,)?) => {
        $(impl ProgramParams for $params {
            fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
                made(self, site)
            }

            fn counts_nanoseconds(&self) -> bool {
                Source::counts_nanoseconds(self)
            }
        })+
    };
}

programs!(FftParams, HaloParams, IncastParams, PermutationParams, SequenceParams, SweepParams, TrainingParams);
