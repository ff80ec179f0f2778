//! Families of networks: graphs with parameters, a file each.

mod dragonfly_plus;
mod galois;
mod hamming_mesh;
mod jellyfish;
mod polarfly;
mod rail_optimised;
mod slim_fly;
mod xgft;
mod xpander;

use super::graph::{Link, MOST_ROUTERS, Wiring};
use super::{Topology, limits};
use crate::error::ScenarioError;
pub use dragonfly_plus::DragonflyPlus;
pub use hamming_mesh::HammingMesh;
pub use jellyfish::Jellyfish;
pub use polarfly::PolarFly;
pub use rail_optimised::RailOptimised;
pub use slim_fly::SlimFly;
use std::sync::Arc;
pub use xgft::Xgft;
pub use xpander::Xpander;

/// The size of a family's network, and the keys that determine it.
struct Size {
    /// The key that gives the number of routers and of their links, and its value.
    of: (&'static str, String),
    /// The key that gives the number of endpoints, if it is there.
    each: &'static str,
    routers: u64,
    /// Number of links of the router with most links.
    links: u64,
    /// Endpoints of each router with endpoints, if the scenario gives a number.
    said: Option<u32>,
    /// Endpoints of each router with endpoints, if the scenario gives no number.
    else_endpoints: u64,
}

impl Size {
    /// Checks the size before anything is built. Returns the number of routers and of endpoints at each.
    fn check(&self) -> Result<(u32, u32), ScenarioError> {
        let (key, value) = &self.of;
        let &Self { routers, links, .. } = self;
        if routers > MOST_ROUTERS.into() {
            let expected = format!("{routers} routers; expected at most {MOST_ROUTERS}");
            return Err(ScenarioError::new(*key, value, expected));
        }
        limits::ports(key, value, links)?;
        let endpoints = self.said.map_or(self.else_endpoints, u64::from);
        let (key, value) = self.said.map_or((*key, value.clone()), |said| (self.each, said.to_string()));
        let value = &value;
        limits::ports(key, value, links + endpoints)?;
        Ok((limits::routers(key, value, routers, endpoints)?, endpoints as u32))
    }
}

/// A network with one class of links and equally many endpoints at every router. The family has checked its [`Size`].
fn regular(
    routers: u32,
    endpoints: u32,
    links: impl Iterator<Item = [u32; 2]>,
    group: u32,
) -> Result<Arc<dyn Topology>, ScenarioError> {
    let links = links.map(|ends| Link { ends, class: 1, ports: None }).collect();
    let endpoints = vec![endpoints; routers as usize];
    let wiring = Wiring { classes: vec!["link".into()], endpoints, bandwidth: Vec::new(), links, group };
    Ok(Arc::new(wiring.build()?))
}

/// The error for a random network that is not connected, or has routes that are too long.
fn ill_drawn(seed: u64, found: ScenarioError) -> ScenarioError {
    let between = found.value.unwrap_or_default();
    let expected = format!("the graph falls apart, {between}: {}; try another seed, or more links", found.expected);
    ScenarioError::new("seed", seed, expected)
}

#[cfg(test)]
mod tests;
