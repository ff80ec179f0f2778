//! No congestion control.

use super::{Congestion, CongestionContext, CongestionParams, Notifications};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No congestion control: routers mark nothing, and sources send whenever there is room.
///
/// ```toml
/// [congestion]
/// kind = "none"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct None {}

impl CongestionParams for None {
    fn notifications(&self) -> Option<Notifications> {
        Option::None
    }

    fn build(&self, _: &CongestionContext) -> Option<Box<dyn Congestion>> {
        Option::None
    }
}
