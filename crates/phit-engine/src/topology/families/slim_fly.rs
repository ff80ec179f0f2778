//! The Slim Fly: nearly the largest possible number of routers at diameter two.

use super::galois::Field;
use super::{Size, regular};
use crate::error::ScenarioError;
use crate::topology::{Faults, Topology, TopologyParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A Slim Fly (Besta and Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014): the graph of
/// McKay, Miller and Širáň over the field of q elements. It has 2 q^2 routers with (3 q - d) / 2 links each, where d is
/// -1, 0 or 1 and q = 4 w + d. No two routers are more than two links apart.
///
/// Router (s, x, y), of subgraph s = 0 or 1, has the number (s q + x) q + y. Groups are the q routers of equal s and x.
///
/// ```toml
/// [topology]
/// kind = "slim_fly"
/// q = 5    # 50 routers of 7 links and 4 endpoints
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlimFly {
    /// Elements of the field, 3 or more: a power of a prime, but not 2 more than a multiple of 4.
    #[schemars(range(min = 3, max = 181))]
    pub q: u32,
    /// Endpoints at each router; half as many as links, rounded up, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub endpoints_per_router: Option<u32>,
    /// Links, routers and endpoints that do not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

/// The generator sets X and X' (section II-B of the paper): differences of y between routers of equal s and x that are
/// linked, for s = 0 and 1. They are closed under the change of sign.
fn generators(field: &Field) -> [Vec<u32>; 2] {
    let q = field.q;
    let powers = |exponents: Vec<u32>| exponents.into_iter().map(|exponent| field.power(exponent)).collect();
    match q % 4 {
        3 => {
            let w = (q + 1) / 4;
            let of = |first: u32| (first..2 * w).step_by(2).chain((2 * w - 1 + first..4 * w - 1).step_by(2)).collect();
            [powers(of(0)), powers(of(1))]
        }
        _ => [powers((0..q - 1).step_by(2).collect()), powers((1..q).step_by(2).collect())],
    }
}

impl TopologyParams for SlimFly {
    fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    fn needs(&self) -> f64 {
        // The distance table has a byte for each pair of routers.
        let routers = 2.0 * f64::from(self.q) * f64::from(self.q);
        routers * routers
    }

    fn build(&self) -> Result<Arc<dyn Topology>, ScenarioError> {
        let q = self.q;
        let Some(field) = Field::new(q).filter(|_| q % 4 != 2) else {
            let expected =
                "expected a power of a prime that is not 2 more than a multiple of 4: 3, 4, 5, 7, 8, 9, 11, ...";
            return Err(ScenarioError::new("q", q, expected));
        };
        let generators = generators(&field);
        let degree = q + generators[0].len() as u32;
        let size = Size {
            of: ("q", q.to_string()),
            each: "endpoints_per_router",
            routers: 2 * u64::from(q) * u64::from(q),
            links: degree.into(),
            said: self.endpoints_per_router,
            else_endpoints: degree.div_ceil(2).into(),
        };
        let (routers, endpoints) = size.check()?;
        let number = |s: u32, x: u32, y: u32| (s * q + x) * q + y;
        let mut links = Vec::new();
        for (s, x, y) in (0..2).flat_map(|s| (0..q).flat_map(move |x| (0..q).map(move |y| (s, x, y)))) {
            let beside = generators[s as usize].iter().map(|&difference| field.add(y, difference));
            links.extend(beside.filter(|&other| other > y).map(|other| [number(s, x, y), number(s, x, other)]));
        }
        for (x, m, c) in (0..q).flat_map(|x| (0..q).flat_map(move |m| (0..q).map(move |c| (x, m, c)))) {
            let y = field.add(field.times(m, x), c);
            links.push([number(0, x, y), number(1, m, c)]);
        }
        regular(routers, endpoints, links.into_iter(), q)
    }
}
