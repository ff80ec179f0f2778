//! The largest network that the engine's indices can name.

use super::Topology;
use crate::error::ScenarioError;
use std::fmt::Display;

/// Most endpoints of a network, and most routers.
pub(super) const MOST: u64 = u32::MAX as u64 / 2;

/// Checks that routers with `ports` ports can be indexed. If not, the error names `key` and `value`.
pub(super) fn ports(key: &str, value: impl Display, ports: u64) -> Result<u16, ScenarioError> {
    u16::try_from(ports).map_err(|_| {
        let expected = format!("a router would have {ports} ports; expected at most {}", u16::MAX);
        ScenarioError::new(key, value, expected)
    })
}

/// Checks that `routers` routers with `endpoints` endpoints each can be indexed, and returns the number of routers. If
/// not, the error names `key` and `value`.
pub(super) fn routers(key: &str, value: impl Display, routers: u64, endpoints: u64) -> Result<u32, ScenarioError> {
    match routers.checked_mul(endpoints.max(1)) {
        Some(count) if count <= MOST => Ok(routers as u32),
        _ => {
            let expected =
                format!("{routers} routers with {endpoints} endpoints each; expected at most {MOST} endpoints in all");
            Err(ScenarioError::new(key, value, expected))
        }
    }
}

/// Checks that packets can count, in 8 bits, the hops of routes of `legs` legs over the links of each dimension.
pub(crate) fn check_sides(topology: &dyn Topology, legs: u32) -> Result<(), ScenarioError> {
    let Some(sides) = topology.grid() else { return Ok(()) };
    for (d, &side) in sides.iter().enumerate() {
        let hops = match topology.wraps() {
            true => side / 2,
            // The diameter of a HyperX is the number of its dimensions.
            false => (side - 1).min(topology.diameter() + 1 - sides.len() as u32),
        };
        if hops.saturating_mul(legs) > u32::from(u8::MAX) {
            return Err(ScenarioError::new(
                format!("topology.dims[{d}]"),
                side,
                format!("routes of up to {} hops in one dimension; expected at most 255", hops.saturating_mul(legs)),
            ));
        }
    }
    Ok(())
}
