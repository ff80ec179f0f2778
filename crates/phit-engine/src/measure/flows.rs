//! `measure.flows`: packets that a run counts by themselves, by source and destination.

use crate::error::ScenarioError;
use crate::topology::{Lookup, Named, Topology, check_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Packets from some endpoints to some endpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FlowParams {
    /// Name in results.
    pub name: String,
    /// Endpoints that send the packets, by their numbers or names. If left out, all endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<Named>>,
    /// Endpoints that receive the packets, by their numbers or names. If left out, all endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<Named>>,
}

/// A bit for each flow, so `measure.flows` has at most 64.
type Bits = u64;

/// The flow of a packet by its source and destination: the first one that has both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorting {
    /// For each endpoint, the flows that it may send.
    sources: Arc<[Bits]>,
    /// For each endpoint, the flows that it may receive.
    destinations: Arc<[Bits]>,
    /// Number of flows; 0 if none is counted by itself.
    pub(super) flows: usize,
}

impl Sorting {
    /// Reads the flows of a scenario. Error paths are relative to `measure`.
    pub(crate) fn new(flows: &[FlowParams], topology: &dyn Topology) -> Result<Self, ScenarioError> {
        if flows.is_empty() {
            return Ok(Self::default());
        }
        for (index, flow) in flows.iter().enumerate() {
            check_name(format!("flows[{index}].name"), &flow.name)?;
            if flows[..index].iter().any(|other| other.name == flow.name) {
                let expected = "expected a name that no other flow has";
                return Err(ScenarioError::new(format!("flows[{index}].name"), format!("{:?}", flow.name), expected));
            }
        }
        let lookup = Lookup::new(topology);
        let bits = |key: &str, listed: fn(&FlowParams) -> Option<&[Named]>| {
            let mut found = vec![0; topology.endpoints() as usize];
            for (index, flow) in flows.iter().enumerate() {
                let bit: Bits = 1 << index;
                match listed(flow) {
                    None => found.iter_mut().for_each(|bits| *bits |= bit),
                    Some([]) => {
                        let expected = "expected one endpoint at least; leave it out for all endpoints";
                        return Err(ScenarioError::new(format!("flows[{index}].{key}"), "[]", expected));
                    }
                    Some(some) => {
                        let path = format!("flows[{index}].{key}");
                        for (place, endpoint) in lookup.listed_endpoints(&path, some)?.into_iter().enumerate() {
                            if found[endpoint as usize] & bit != 0 {
                                let expected = "expected another endpoint: it is listed before";
                                return Err(ScenarioError::new(format!("{path}[{place}]"), endpoint, expected));
                            }
                            found[endpoint as usize] |= bit;
                        }
                    }
                }
            }
            Ok(found.into())
        };
        Ok(Self {
            sources: bits("sources", |flow| flow.sources.as_deref())?,
            destinations: bits("destinations", |flow| flow.destinations.as_deref())?,
            flows: flows.len(),
        })
    }

    /// The flow to which a packet belongs, if there is one.
    pub(super) fn of(&self, source: u32, destination: u32) -> Option<usize> {
        let both = self.sources.get(source as usize)? & self.destinations.get(destination as usize)?;
        (both != 0).then(|| both.trailing_zeros() as usize)
    }
}
