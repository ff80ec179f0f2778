//! Collectives by name.

use super::{ProgramParams, Site};
use crate::error::ScenarioError;
use phit_workload::Executable;
use phit_workload::collective::Algorithm;
use phit_workload::source::CollectiveParams;
use std::collections::BTreeMap;
use std::sync::Arc;

impl ProgramParams for CollectiveParams {
    fn executable(&self, site: &Site<'_>) -> Result<Arc<dyn Executable>, ScenarioError> {
        let mut params = self.clone();
        // The topology's groups of the ranks' endpoints: the members are grouped by them, in this order.
        if self.algorithm == Some(Algorithm::Hierarchical) && self.communicators.is_empty() && self.groups.is_empty() {
            let ranks = self.ranks.unwrap_or(site.free.len() as u32);
            let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (rank, endpoint) in (0..).zip(site.place(ranks)?) {
                let group = site.topology.group_of(site.topology.attachment(endpoint).0);
                groups.entry(group).or_default().push(rank);
            }
            params.groups = groups.values().map(|members| members.len() as u32).collect();
            params.communicators = vec![groups.into_values().flatten().collect()];
        }
        super::made(&params, site)
    }
}
