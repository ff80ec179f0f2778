//! Programs without operations: a caller sends the messages.

use super::{ProgramParams, Site};
use crate::error::ScenarioError;
use phit_workload::{Executable, called};
use serde::Serialize;
use std::sync::Arc;

/// Ranks at all endpoints that send what their caller says. No document names this kind: it has nothing to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Called {}

impl ProgramParams for Called {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        Ok(Arc::new(called::Called { ranks: site.free.len() as u32 / site.rails }))
    }
}
