//! PolarFly: nearly the largest possible number of routers at diameter two.

use super::galois::Field;
use super::{Size, regular};
use crate::error::ScenarioError;
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// PolarFly (Lakhotia, Besta, Monroe, Isham, Iff, Hoefler and Petrini, "PolarFly: a cost-effective and flexible
/// low-diameter topology", SC 2022): the polarity graph of Erdős and Rényi over the field of q elements. Its q^2 + q +
/// 1 routers are the points of the projective plane, and two are linked if they are orthogonal. A router has q + 1
/// links; the q + 1 routers that are orthogonal to themselves have q links. No two routers are more than two links
/// apart.
///
/// Points (1, a, b) come first, in the order of a and then b, then (0, 1, b), then (0, 0, 1).
///
/// ```toml
/// [topology]
/// kind = "polarfly"
/// q = 7    # 57 routers of 8 links and 4 endpoints
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolarFly {
    /// Elements of the field: a power of a prime.
    #[schemars(range(min = 2, max = 251))]
    pub q: u32,
    /// Endpoints at each router; half as many as links, rounded up, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: Option<u32>,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

impl TopologyParams for PolarFly {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn needs(&self) -> f64 {
        // The distance table has a byte for each pair of routers.
        let routers = f64::from(self.q) * (f64::from(self.q) + 1.0) + 1.0;
        routers * routers
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let q = self.q;
        let Some(field) = Field::new(q) else {
            return Err(ScenarioError::new("q", q, "expected a power of a prime: 2, 3, 4, 5, 7, 8, 9, 11, ..."));
        };
        let size = Size {
            of: ("q", q.to_string()),
            each: "endpoints_per_router",
            routers: u64::from(q) * u64::from(q) + u64::from(q) + 1,
            links: u64::from(q) + 1,
            said: self.endpoints_per_router,
            else_endpoints: u64::from(q + 1).div_ceil(2),
        };
        let (count, endpoints) = size.check()?;
        let mut points: Vec<[u32; 3]> = (0..q).flat_map(|a| (0..q).map(move |b| [1, a, b])).collect();
        points.extend((0..q).map(|b| [0, 1, b]));
        points.push([0, 0, 1]);
        let product =
            |u: &[u32; 3], v: &[u32; 3]| u.iter().zip(v).fold(0, |sum, (&u, &v)| field.add(sum, field.times(u, v)));
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| [a, b]));
        let orthogonal = |ends: &[u32; 2]| product(&points[ends[0] as usize], &points[ends[1] as usize]) == 0;
        regular(count, endpoints, pairs.filter(orthogonal), 1)
    }
}
