//! Table-based routing: deterministic, or adaptive for packets that are not isolated.

use super::layered::{self, MOST_LAYERS, Made, channels_needed, too_large};
use super::{Routing, RoutingContext, RoutingParams, View, Wants};
use crate::engine::{Memory, Tick, poll};
use crate::error::ScenarioError;
use crate::fabric::seams::routing::{Changes, Legs, Proof, one_channel};
use crate::packet::Packet;
use crate::topology::{
    ChannelMap, Hop, HopState, Hops, Layers, Leg, Lookup, MOST_ENTRIES, Named, RouteTable, Topology,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Distributed deterministic routing: every router has a table with one output port for each destination. The tables
/// are filled with minimal routes that are balanced over the links, in trees by the digits of the destination, and
/// single entries can be replaced; `phit routes` prints them.
///
/// All packets from a source to a destination take one route, in one virtual channel of each link, unless `adaptive` is
/// set. The topology determines the channel from the number of hops that a packet has taken. With `layers`, it is the
/// channel of the route's layer all the way, and routes need not be minimal.
///
/// A tree that is a graph (from a file, or an InfiniBand fabric) has no levels that the topology knows. A packet takes
/// another channel for each hop, so a tree of three levels needs four channels. `ftree`, `up_down` and `minhop` have
/// tables for such a tree in one channel. With `adaptive = true` packets take any of the shortest paths, in the same
/// channels.
///
/// ```toml
/// [topology]
/// kind = "torus"
/// dims = [4, 4]
///
/// [routing]
/// kind = "table"
/// entries = [[0, 9, 1]]    # router 0 reaches endpoint 9 over port 1
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Table {
    /// Entries to be replaced: router, destination, output port. Routers and destinations have their numbers or names.
    /// The port must lead to the destination on a minimal route. With `layers` these are all entries, if there are any,
    /// and every destination must be reached by them. On the command line and in Python `file` names a CSV file of
    /// these columns instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<(Named, Named, u32)>,
    /// Whether packets may leave the table's route. In every router, a packet that no queue organisation has isolated
    /// takes the output on a minimal route that can accept a packet soonest. Among several such outputs it takes the
    /// least occupied, and among these the table's output. Isolated packets (`queueing.kind = "fbicm"`) follow the
    /// table. Packets of a flow may then overtake each other.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub adaptive: bool,
    /// The layers of routes: source, destination, layer. Endpoints have their numbers or names. Routes that are not
    /// listed are in layer 0. On the command line and in Python it may be the name of a CSV file of these columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<(Named, Named, u32)>>,
    /// The virtual channels of layers, where they differ from the layers' numbers: router, input port, output port, and
    /// the channel of each layer, like SL-to-VL tables of InfiniBand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<(Named, u16, u16, Vec<u8>)>,
    /// Number of virtual channels of each layer, with `layers`: a packet takes any of them. With n channels, layer l
    /// has channels l n to l n + n - 1. 1 if left out, and with `channels`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub layer_width: Option<u8>,
    #[serde(skip)]
    #[schemars(skip)]
    made: Made,
}

/// A hint for scenarios with fewer channels than hops.
const ONE_CHANNEL: &str = "; in one channel all the way routes stay with `layers`, and with routing.kind = \
                           \"up_down\", \"dfsssp\", \"lash\", or in a tree \"ftree\"";

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
        if self.layers.is_some() {
            self.check_layers(topology)?;
            return self.tables(topology).map(drop);
        }
        if !self.channels.is_empty() {
            return Err(ScenarioError::missing("channels", "expected `layers` as well, whose channels these are"));
        }
        if let Some(width) = self.layer_width {
            let expected = "expected `layers` as well, whose channels these are";
            return Err(ScenarioError::new("layer_width", width, expected));
        }
        let vcs = topology.vcs_needed(LEG).0;
        let mut hops = Vec::new();
        for (index, [router, destination, port]) in self.numbered_entries(topology)?.into_iter().enumerate() {
            let refuse = |expected: String| {
                let (router, destination, _) = &self.entries[index];
                let value = format!("[{router}, {destination}, {port}]");
                Err(ScenarioError::new(format!("entries[{index}]"), value, expected))
            };
            let (to, ejection) = topology.attachment(destination);
            if to == router {
                if port != u32::from(ejection) {
                    let words = topology.words();
                    let there = words.port_alone(router, ejection);
                    return refuse(format!(
                        "{} is at port {there} of {}",
                        words.endpoint(destination),
                        words.router(router)
                    ));
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
        match self.layers {
            Some(_) => channels_needed(topology, self.tables(topology).ok().as_deref(), self.width()),
            None => {
                let (needed, mut reason) = topology.vcs_needed(LEG);
                if needed.iter().any(|&count| count > 1) {
                    reason.push_str(ONE_CHANNEL);
                }
                (needed, reason)
            }
        }
    }

    fn proof(&self) -> Proof {
        match self.layers {
            Some(_) => Proof::Tables,
            None => Proof::legs(Legs::Minimal),
        }
    }

    fn avoids_faults(&self) -> bool {
        true
    }

    fn reads_buffers(&self) -> bool {
        false
    }

    fn per_network(&self) -> bool {
        true
    }

    fn table(&self, topology: &dyn Topology) -> Option<Arc<RouteTable>> {
        self.tables(topology).ok()
    }

    fn build(&self, context: &RoutingContext) -> Box<dyn Routing> {
        match &context.table {
            Some(table) if table.layers().is_some() => Box::new(layered::Rule::new(Some(table), self.width())),
            Some(table) => Box::new(Rule {
                table: table.clone(),
                plain: !table.adaptive && context.vcs.iter().skip(1).all(|vcs| *vcs == 1),
                isolating: context.isolating,
                hops: Vec::new(),
            }),
            // The scenario has been checked: a network without tables is not built.
            None => unreachable!("table-based routing without a table"),
        }
    }
}

impl Table {
    /// Virtual channels of each layer.
    fn width(&self) -> u8 {
        self.layer_width.unwrap_or(1)
    }

    fn tables(&self, topology: &dyn Topology) -> Result<Arc<RouteTable>, ScenarioError> {
        let Self { entries, adaptive, layers, channels, layer_width: _, made: _ } = self;
        // Entries with names mean the routers that have these names here.
        let by_name = |named: &Named| matches!(named, Named::Name(_));
        let names = topology.words().names().filter(|_| {
            let pairs = entries.iter().chain(layers.iter().flatten());
            pairs.flat_map(|(a, b, _)| [a, b]).chain(channels.iter().map(|(router, ..)| router)).any(by_name)
        });
        let names = names.map(|names| (&names.routers, &names.endpoints));
        self.made.get(topology, (entries, adaptive, layers, channels, names), || {
            let whole = layers.is_some() && !entries.is_empty();
            let table = if whole { RouteTable::empty(topology) } else { RouteTable::balanced(topology) };
            let mut table = table.ok_or_else(|| too_large(topology.routers(), topology.endpoints()))?;
            for [router, destination, port] in self.numbered_entries(topology)? {
                table.set(router, destination, port as u16);
            }
            table.adaptive = *adaptive;
            Ok(match layers {
                Some(_) => table.with_layers(self.layered(topology)?),
                None => table,
            })
        })
    }

    /// The numbers of the entries' routers and destinations, with their ports.
    fn numbered_entries(&self, topology: &dyn Topology) -> Result<Vec<[u32; 3]>, ScenarioError> {
        numbered("entries", &self.entries, topology, |lookup, path, router| lookup.router(path, router))
    }

    /// The numbers of the layers' endpoints, with the layers.
    fn numbered_layers(&self, topology: &dyn Topology) -> Result<Vec<[u32; 3]>, ScenarioError> {
        let layers = self.layers.as_deref().unwrap_or_default();
        numbered("layers", layers, topology, |lookup, path, source| lookup.endpoint(path, source))
    }

    /// Rows of routers, if the endpoints of each have the same ones.
    fn layered(&self, topology: &dyn Topology) -> Result<Layers, ScenarioError> {
        let endpoints = topology.endpoints() as usize;
        let place = |source: u32, destination: u32| source as usize * endpoints + destination as usize;
        let mut by_endpoint = vec![0; endpoints * endpoints];
        for [from, to, layer] in self.numbered_layers(topology)? {
            by_endpoint[place(from, to)] = layer as u8;
        }
        let mut channels = None;
        if !self.channels.is_empty() {
            let most = by_endpoint.iter().max().map_or(1, |&most| most.saturating_add(1));
            let said = self.channels.iter().map(|(.., of_layers)| of_layers.len() as u8).max();
            let map = channels.insert(ChannelMap::new(topology, most.max(said.unwrap_or(0))));
            let lookup = Lookup::new(topology);
            for (index, (router, input, output, of_layers)) in self.channels.iter().enumerate() {
                let router = lookup.router(|| format!("channels[{index}][0]"), router)?;
                let row = map.channels_mut(router, *input, *output);
                row[..of_layers.len()].copy_from_slice(of_layers);
            }
        }
        let mut of_router = vec![0; topology.routers() as usize * endpoints];
        let mut known = vec![false; of_router.len()];
        for source in 0..endpoints {
            poll();
            let router = topology.attachment(source as u32).0 as usize;
            // An endpoint sends nothing to itself.
            for destination in (0..endpoints).filter(|&destination| destination != source) {
                let (layer, there) = (by_endpoint[source * endpoints + destination], router * endpoints + destination);
                if known[there] && of_router[there] != layer {
                    return Ok(Layers { rows: by_endpoint, by_endpoint: true, channels });
                }
                (of_router[there], known[there]) = (layer, true);
            }
        }
        Ok(Layers { rows: of_router, by_endpoint: false, channels })
    }

    fn check_layers(&self, topology: &dyn Topology) -> Result<(), ScenarioError> {
        let endpoints = topology.endpoints();
        if self.adaptive {
            return Err(ScenarioError::new(
                "adaptive",
                true,
                "expected false with `layers`: other ways are in no layer",
            ));
        }
        if self.width() > 1 && !self.channels.is_empty() {
            return Err(ScenarioError::new("layer_width", self.width(), "expected 1 with `channels`"));
        }
        if u64::from(endpoints) * u64::from(endpoints) > MOST_ENTRIES {
            return Err(too_large(endpoints, endpoints));
        }
        for (index, [router, _, port]) in self.numbered_entries(topology)?.into_iter().enumerate() {
            let ports = u32::from(topology.ports(router));
            if port >= ports {
                let expected = format!("expected a port of {}, 0 to {}", topology.words().router(router), ports - 1);
                return Err(ScenarioError::new(format!("entries[{index}][2]"), port, expected));
            }
        }
        for (index, [.., layer]) in self.numbered_layers(topology)?.into_iter().enumerate() {
            if layer >= MOST_LAYERS {
                let expected = format!("expected a layer below {MOST_LAYERS}");
                return Err(ScenarioError::new(format!("layers[{index}][2]"), layer, expected));
            }
        }
        let lookup = Lookup::new(topology);
        for (index, (router, input, output, of_layers)) in self.channels.iter().enumerate() {
            let ports = topology.ports(lookup.router(|| format!("channels[{index}][0]"), router)?);
            let right = input.max(output) < &ports && of_layers.len() < MOST_LAYERS as usize;
            if !right || of_layers.iter().any(|&vc| u32::from(vc) >= MOST_LAYERS) {
                let value = format!("[{router}, {input}, {output}, {of_layers:?}]");
                let expected = "expected a router, two of its ports, and a channel of each layer";
                return Err(ScenarioError::new(format!("channels[{index}]"), value, expected));
            }
        }
        Ok(())
    }
}

/// The numbers of rows of `key`, each of a place, an endpoint and a number: `place` finds that of the place.
fn numbered(
    key: &str,
    rows: &[(Named, Named, u32)],
    topology: &dyn Topology,
    place: impl Fn(&Lookup<'_>, &dyn Fn() -> String, &Named) -> Result<u32, ScenarioError>,
) -> Result<Vec<[u32; 3]>, ScenarioError> {
    let lookup = Lookup::new(topology);
    let numbered = |(index, (first, endpoint, number)): (usize, &(Named, Named, u32))| {
        let first = place(&lookup, &|| format!("{key}[{index}][0]"), first)?;
        Ok([first, lookup.endpoint(|| format!("{key}[{index}][1]"), endpoint)?, *number])
    };
    rows.iter().enumerate().map(numbered).collect()
}

struct Rule {
    table: Arc<RouteTable>,
    /// It says all: no other ways, and one virtual channel.
    plain: bool,
    /// See [`RoutingContext::isolating`].
    isolating: u16,
    hops: Vec<Hop>,
}

impl Rule {
    /// The output on a minimal route that can accept a packet soonest; among several, the least occupied; among these,
    /// the table's. If links have broken and no minimal route is left, the packet is lost on a former one.
    fn soonest(&mut self, view: &View<'_>, packet: &Packet) -> Hop {
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
        match self.hops.iter().min_by_key(|hop| cost(hop)) {
            Some(hop) => Hop { vcs: 1, ..*hop },
            None => view.minimal_hop(packet.destination_router, packet.hop_state(), &mut view.rng_of(packet)),
        }
    }
}

impl Routing for Rule {
    fn remember(&self, _memory: &mut Memory) {}

    fn wants(&self) -> Wants {
        Wants { redecide: self.table.adaptive, ..Wants::default() }
    }

    fn tables(&self) -> Option<&Arc<RouteTable>> {
        self.plain.then_some(&self.table)
    }

    fn rerouted(&mut self, _: Tick, _: usize, table: Option<&Arc<RouteTable>>) {
        if let Some(table) = table {
            self.table = table.clone();
        }
    }

    #[inline]
    fn route(&mut self, view: &mut View<'_>, _: u16, queue: u16, packet: &mut Packet) -> Option<Hop> {
        if self.table.adaptive {
            if queue.is_multiple_of(self.isolating) {
                return Some(self.soonest(view, packet));
            }
            view.watch_chosen_for(Changes::NONE);
        }
        let port = self.table.port(view.router, packet.destination);
        Some(one_channel(view.topology, view.router, port, view.class(port), packet, view.vcs(), &mut self.hops))
    }
}
