//! The largest network that the engine's indices can name.

use crate::error::ScenarioError;
use std::fmt::Display;

/// Most endpoints of a network, and most routers.
const MOST: u64 = u32::MAX as u64 / 2;

/// Checks that a network of `routers` routers with `ports` ports each, `endpoints` of them to endpoints, can be indexed
/// (16-bit ports, 31-bit routers and endpoints) and returns the number of routers. `path` and `value` are the key to
/// blame.
pub(super) fn routers(
    path: &str,
    value: impl Display,
    routers: u64,
    endpoints: u64,
    ports: u64,
) -> Result<u32, ScenarioError> {
    let most_ports = u64::from(u16::MAX);
    if ports > most_ports {
        let expected = format!("a router would have {ports} ports; expected at most {most_ports}");
        return Err(ScenarioError::new(path, value, expected));
    }
    match routers.checked_mul(endpoints.max(1)) {
        Some(count) if count <= MOST => Ok(routers as u32),
        _ => {
            let expected =
                format!("{routers} routers with {endpoints} endpoints each; expected at most {MOST} endpoints in all");
            Err(ScenarioError::new(path, value, expected))
        }
    }
}

/// Refuses a count of zero.
pub(super) fn positive(key: &str, count: u32) -> Result<(), ScenarioError> {
    match count {
        0 => Err(ScenarioError::new(key, count, "expected a whole number, 1 or more")),
        _ => Ok(()),
    }
}
