//! Checks of a scenario that several kernels share: the settings of links, and room in buffers.

use super::Demands;
use super::links::{LinkParams, LinkTable, Phits};
use crate::error::ScenarioError;
use crate::topology::Topology;

/// The settings of a class, and the path of their table.
pub(crate) fn described(table: &LinkTable, class: &str) -> (String, LinkParams) {
    let key = if table.contains_key(class) || !table.contains_key("default") { class } else { "default" };
    (format!("router.links.{key}"), table.get(key).cloned().unwrap_or_default())
}

/// Refuses classes that the topology does not have, and settings that no kernel accepts. `shares`: the virtual channels
/// of a port share its memory.
pub(crate) fn check(table: &LinkTable, topology: &dyn Topology, shares: bool) -> Result<(), ScenarioError> {
    let known: Vec<&str> = topology.classes().iter().map(String::as_str).chain(["default"]).collect();
    for (class, params) in table {
        if !known.contains(&class.as_str()) {
            let mut error =
                ScenarioError::unknown(format!("router.links.{class}"), class, "link class of this topology", known);
            error.value = None;
            return Err(error);
        }
        let path = |key: &str| format!("router.links.{class}.{key}");
        let endpoints_own = [
            ("injection_credit_latency", params.injection_credit_latency.is_some()),
            ("ejection_latency", params.ejection_latency.is_some()),
            ("ejection_buffer", params.ejection_buffer.is_some()),
            ("injection_bandwidth", params.injection_bandwidth.is_some()),
        ];
        if let Some((key, _)) = endpoints_own.iter().find(|(_, given)| class != "endpoint" && *given) {
            return Err(ScenarioError::new(path(key), "given", "only the class endpoint has this key"));
        }
        if let Some(private) = params.private.filter(|_| !shares) {
            let expected = "expected router.sharing: elsewhere channels have all of their buffers to themselves";
            return Err(ScenarioError::new(path("private"), private, expected));
        }
    }
    Ok(())
}

/// Refuses buffers that are too small for the routing mechanism's packets, or whose queues lack room for `unit` phits
/// each. A unit is whatever moves at once; `what` and `switching` name it in the message.
pub(crate) fn check_room(
    table: &LinkTable,
    demands: &Demands<'_>,
    unit: u32,
    what: &str,
    switching: &str,
) -> Result<(), ScenarioError> {
    let parts = demands.queueing.division(demands.topology).parts();
    let largest = demands.packet_size;
    for class in demands.topology.classes() {
        let (path, params) = described(table, class);
        let packets = if class == "endpoint" { 1 } else { demands.routing.packets_per_buffer() };
        if packets > 1 && params.buffer.or_huge() / packets < largest {
            return Err(ScenarioError::new(
                format!("{path}.buffer"),
                params.buffer.or_huge(),
                format!(
                    "routing {:?} needs room for {packets} packets of {largest} phits on {class} links: one of them \
                     stays free",
                    demands.routing_kind
                ),
            ));
        }
        let ejection = params.ejection_buffer.unwrap_or(Phits::Infinite);
        fits(format!("{path}.ejection_buffer"), ejection, unit, what, switching)?;
        let path = format!("{path}.buffer");
        match params.buffer {
            Phits::Finite(phits) if parts > 1 && phits / parts < unit => {
                let expected = format!(
                    "expected at least {} phits: {parts} queues of {unit} phits, the largest {what}",
                    u64::from(parts) * u64::from(unit)
                );
                return Err(ScenarioError::new(path, phits, expected));
            }
            size => fits(path, size, unit, what, switching)?,
        }
    }
    Ok(())
}

/// Refuses a buffer without room for `unit` phits.
pub(crate) fn fits(path: String, size: Phits, unit: u32, what: &str, switching: &str) -> Result<(), ScenarioError> {
    match size {
        Phits::Finite(phits) if phits < unit => Err(ScenarioError::new(
            path,
            phits,
            format!(
                "expected at least {unit} phits: a {what} is the unit of flow control under {switching} switching and \
                 must fit"
            ),
        )),
        _ => Ok(()),
    }
}
