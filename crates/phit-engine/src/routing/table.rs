//! Table-based routing: deterministic, or adaptive for what is not isolated.

use super::{Routing, RoutingContext, RoutingParams, View, Wants};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Legs, Proof, one_channel};
use crate::packet::Packet;
use crate::topology::{Hop, HopState, Hops, Leg, MOST_ENTRIES, RouteTable, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Distributed deterministic routing: every router has a table with one output port for each destination. The tables
/// are filled with minimal routes that are balanced over the links, in trees by the digits of the destination, and
/// single entries can be replaced; `phit routes` prints them.
///
/// All packets of a source and a destination take the same way, in one virtual channel of each link, unless `adaptive`
/// says otherwise.
///
/// ```toml
/// [routing]
/// kind = "table"
/// entries = [[0, 9, 5]]    # router 0 reaches endpoint 9 over port 5
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Table {
    /// Entries to be replaced: router, destination, output port. The port must lead to the destination on a minimal
    /// route. On the command line and in Python `file` names a CSV file of these columns instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<[u32; 3]>,
    /// Whether packets may leave the table's way: in every router those that no queue organisation has isolated take,
    /// of all outputs on minimal routes, the one that can take a packet soonest, of several the least occupied, the
    /// table's first. Isolated packets (`queueing.kind = "fbicm"`) keep to the table. Packets of a flow may then
    /// overtake one another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub adaptive: bool,
}

const LEG: Leg = Leg { index: 0, of: 1, to_group: false };

impl RoutingParams for Table {
    fn check(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        let (routers, endpoints) = (topology.routers(), topology.endpoints());
        if u64::from(routers) * u64::from(endpoints) > MOST_ENTRIES {
            let expected = format!(
                "tables of {routers} routers for {endpoints} destinations; expected at most {MOST_ENTRIES} entries in \
                 all"
            );
            return Err(ScenarioError::new("kind", "\"table\"", expected));
        }
        let vcs = topology.vcs_needed(LEG).0;
        let mut hops = Vec::new();
        for (index, &[router, destination, port]) in self.entries.iter().enumerate() {
            let refuse = |expected: String| {
                Err(ScenarioError::new(
                    format!("entries[{index}]"),
                    format!("[{router}, {destination}, {port}]"),
                    expected,
                ))
            };
            if router >= routers || destination >= endpoints {
                return refuse(format!("expected a router below {routers} and a destination below {endpoints}"));
            }
            let (to, ejection) = topology.attachment(destination);
            if to == router {
                if port != u32::from(ejection) {
                    return refuse(format!("endpoint {destination} is at port {ejection} of this router"));
                }
                continue;
            }
            hops.clear();
            let start = HopState { came_by: 0, came_in: 0, leg_hops: Hops::default() };
            topology.minimal_hops(router, to, LEG, start, &vcs, &mut hops);
            if !hops.iter().any(|hop| u32::from(hop.port) == port) {
                let ports: Vec<String> = hops.iter().map(|hop| hop.port.to_string()).collect();
                return refuse(format!("expected a port on a minimal route: one of {}", ports.join(", ")));
            }
        }
        Ok(())
    }

    fn vcs_needed(&self, topology: &dyn Topology) -> (Vec<u8>, String) {
        topology.vcs_needed(LEG)
    }

    fn proof(&self) -> Proof {
        Proof::legs(Legs::Minimal)
    }

    fn table(&self, topology: &dyn Topology) -> Option<Arc<RouteTable>> {
        let mut table = RouteTable::balanced(topology)?;
        for &[router, destination, port] in &self.entries {
            table.set(router, destination, port as u16);
        }
        table.adaptive = self.adaptive;
        Some(Arc::new(table))
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        match &context.table {
            Some(table) => Box::new(Rule { table: table.clone(), isolating: context.isolating, hops: Vec::new() }),
            // The scenario has been checked: a network without tables is not built.
            None => unreachable!("table-based routing without a table"),
        }
    }
}

struct Rule {
    table: Arc<RouteTable>,
    /// See [`RoutingContext::isolating`].
    isolating: u16,
    hops: Vec<Hop>,
}

impl Rule {
    /// The output, of those on minimal routes, that can take a packet soonest; of several the least occupied, and of
    /// these the table's.
    fn soonest(&mut self, view: &View<'_>, packet: &Packet) -> Option<Hop> {
        self.hops.clear();
        view.topology.minimal_hops(
            view.router,
            packet.destination_router,
            LEG,
            packet.hop_state(),
            view.vcs(),
            &mut self.hops,
        );
        let own = self.table.port(view.router, packet.destination);
        let size = u32::from(packet.size);
        let cost = |hop: &Hop| {
            let occupied = view.occupancy(hop.port, hop.vc);
            let full = occupied + size > view.capacity()[usize::from(view.class(hop.port))];
            (full, view.free_from(hop.port).max(view.now), occupied, hop.port != own)
        };
        self.hops.iter().min_by_key(|hop| cost(hop)).map(|hop| Hop { vcs: 1, ..*hop })
    }
}

impl Routing for Rule {
    fn wants(&self) -> Wants {
        Wants { redecide: self.table.adaptive, ..Wants::default() }
    }

    #[inline]
    fn route(&mut self, view: &mut View<'_>, _: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        if self.table.adaptive {
            if queue % self.isolating == 0 {
                return self.soonest(view, packet);
            }
            view.watch_chosen();
        }
        let port = self.table.port(view.router, packet.destination);
        Some(one_channel(view.topology, view.router, port, view.class(port), packet, view.vcs(), &mut self.hops))
    }
}
