//! The nine operating regions (TPR paper, sections III-B to III-D, table III).

use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of traffic that an impact indicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    /// Below the low threshold.
    Benign,
    /// Neither.
    Mixed,
    /// Above the high threshold.
    Adversarial,
}

impl Traffic {
    fn of(impact: f64, low: f64, high: f64) -> Self {
        if impact < low {
            Self::Benign
        } else if impact > high {
            Self::Adversarial
        } else {
            Self::Mixed
        }
    }
}

/// How a packet is routed in one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Region {
    /// UGAL-L with this offset T.
    Ugal(i32),
    /// One kind of routes.
    Only(Only),
    /// Minimally if the sum of both impacts is below `thr`, by UGAL-L with this offset otherwise.
    Depends(Depends),
}

/// Minimal routes or UGAL-L.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Depends {
    /// The offset.
    pub minimal_or: i32,
}

/// One kind of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Only {
    /// The cheaper minimal route.
    Minimal,
    /// The Valiant route with the shorter queue, whatever its length (path-length oblivious VLB).
    Valiant,
}

/// The action of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    /// Goes minimally.
    Minimal,
    /// Follows UGAL-L with this offset.
    Ugal(i32),
    /// Takes a Valiant route.
    Valiant,
}

/// Regions by global traffic (rows) and local traffic (columns): benign, mixed, adversarial.
pub(crate) type Table = [[Region; 3]; 3];

/// Table III.
pub(super) const TABLE_III: Table = [
    [Region::Depends(Depends { minimal_or: 64 }), Region::Ugal(-4), Region::Ugal(-48)],
    [Region::Depends(Depends { minimal_or: 64 }), Region::Ugal(-20), Region::Ugal(-64)],
    [Region::Ugal(48), Region::Ugal(-40), Region::Only(Only::Valiant)],
];

/// The thresholds between the regions, and the regions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Regions {
    /// Low and high threshold of the local impact.
    pub local: (f64, f64),
    /// Low and high threshold of the global impact.
    pub global: (f64, f64),
    /// Where [`Region::Depends`] changes over.
    pub thr: f64,
    /// The actions of the regions.
    pub table: Table,
}

impl Regions {
    /// Refuses thresholds in the wrong order.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        let pairs = [("local_low", "local_high", self.local), ("global_low", "global_high", self.global)];
        for (low_key, high_key, (low, high)) in pairs {
            if high < low {
                let expected = format!("expected a number from {low_key} = {low} up, in packets per cycle");
                return Err(ScenarioError::new(high_key, high, expected));
            }
        }
        Ok(())
    }

    /// The action of a packet with these impacts.
    pub(super) fn mechanism(&self, local: f64, global: f64) -> Mechanism {
        let row = Traffic::of(global, self.global.0, self.global.1) as usize;
        let column = Traffic::of(local, self.local.0, self.local.1) as usize;
        match self.table[row][column] {
            Region::Ugal(offset) => Mechanism::Ugal(offset),
            Region::Only(Only::Minimal) => Mechanism::Minimal,
            Region::Only(Only::Valiant) => Mechanism::Valiant,
            Region::Depends(_) if local + global < self.thr => Mechanism::Minimal,
            Region::Depends(Depends { minimal_or }) => Mechanism::Ugal(minimal_or),
        }
    }
}
