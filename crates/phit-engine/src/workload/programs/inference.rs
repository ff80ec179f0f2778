//! Serving a language model.

use super::{ProgramParams, Site, at_key};
use crate::error::ScenarioError;
use phit_workload::Executable;
use phit_workload::inference::{InferenceParams, Serving};
use phit_workload::source::Setting;
use std::sync::Arc;

impl ProgramParams for InferenceParams {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        let ranks = self.ranks().map_err(|error| at_key(error, ""))?;
        let setting = Setting { ranks, groups: Vec::new(), seed: site.seed, nanosecond: site.nanosecond };
        let serving = Serving::new(self, &setting, site.unit).map_err(|error| at_key(error, ""))?;
        Ok(Arc::new(serving))
    }

    fn counts_nanoseconds(&self) -> bool {
        true
    }

    fn decides_together(&self) -> bool {
        true
    }
}
