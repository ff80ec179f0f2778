//! A calculation.

use super::{Setting, Source};
use crate::error::Error;
use crate::script::{Calc, Script};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Calculation: all ranks compute for a time, for example between the collectives of a sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct CalcParams {
    /// Duration of the calculation.
    #[schemars(extend("x-unit" = "units of time"))]
    pub time: u64,
}

impl Source for CalcParams {
    fn fits_all(&self) -> bool {
        true
    }

    fn scripts(&self, _setting: &Setting) -> Result<Vec<Arc<dyn Script>>, Error> {
        Ok(vec![Arc::new(Calc(self.time))])
    }
}
