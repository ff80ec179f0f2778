//! Families of networks that are graphs with parameters, a file each.

mod dragonfly_plus;
mod galois;
mod jellyfish;
mod polarfly;
mod slim_fly;
mod xpander;

use super::graph::{Link, Wiring};
use super::{Topology, limits};
use crate::error::ScenarioError;
pub use dragonfly_plus::DragonflyPlus;
pub use jellyfish::Jellyfish;
pub use polarfly::PolarFly;
pub use slim_fly::SlimFly;
use std::sync::Arc;
pub use xpander::Xpander;

/// A network of one class of links in which every router has as many endpoints.
fn regular(
    routers: u32,
    endpoints: u32,
    links: impl Iterator<Item = [u32; 2]>,
    group: u32,
) -> Result<Arc<dyn Topology>, ScenarioError> {
    let links = links.map(|ends| Link { ends, class: 1, ports: None }).collect();
    let endpoints = vec![endpoints; routers as usize];
    let wiring = Wiring { classes: vec!["link".into()], endpoints, links, group };
    Ok(Arc::new(wiring.build()?))
}

/// Checks that so many routers can be numbered: the graph will say whether they are too many. `key` and `value` are to
/// blame if not.
fn routers(key: &str, value: u32, routers: u64) -> Result<u32, ScenarioError> {
    limits::routers(key, value, routers, 1)
}

#[cfg(test)]
mod tests;
