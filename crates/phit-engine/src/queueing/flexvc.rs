//! FlexVC: a hop takes any virtual channel up to its place on the reference path.

use super::{Fit, Lanes, Place, Queueing, QueueingContext, QueueingParams, Widening};
use crate::engine::NONE;
use crate::error::ScenarioError;
use crate::fabric::seams::routing::Legs;
use crate::packet::{GROUP, Packet, REPLY};
use crate::topology::{Hop, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// The rule for the highest channel of a hop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Highest {
    /// The channel of the last hop of the reference path that this hop can be (`TBFLEX` of FOGSim).
    #[default]
    Position,
    /// By the group: the source's, the intermediate's or the destination's. A hop that does not lead to the destination
    /// may not take the highest channel (`FLEXIBLE` of FOGSim, versions 4 and 5). Spare global channels count as those
    /// of the first global hop, so the source's group uses fewer local channels than `position` gives it.
    Group,
}

/// Virtual channels of a link that replies alone may take, the highest ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replies {
    /// Of a local link.
    pub local: u8,
    /// Of a global link.
    pub global: u8,
}

/// FlexVC: a hop may take any virtual channel of its link up to the highest that its place on the route permits
/// (Fuentes, Vallejo, Beivide, Minkenberg and Valero, "FlexVC: Flexible virtual channel management in low-diameter
/// networks", IPDPS 2017).
///
/// The reference path is the longest route of the routing mechanism. In a Dragonfly, with l for local and g for global
/// hops, it is l g l for minimal routes, l g l g l for routes through a group, and l g l l g l for routes through a
/// router. The channels of this path are the highest of each link, in the order of the path. Spare channels lie below
/// them, and every hop may take them. A packet that goes to its destination directly may also take the channels of a
/// detour. `router.vc_choice` says which of the permitted channels a packet takes.
///
/// A blocked packet can always wait for the highest channel of its hop, and these rise along every route. So packets
/// must move as a whole. For a Dragonfly without faults. Of the mechanisms that compare queues, `piggyback`, `src_adp`
/// and `pb_acor` work with it: they compare the emptiest channels that the first hops may take, and flags depend on the
/// last global channel.
///
/// With requests, the channels of replies follow those of requests (section IV of the paper): a reference path for
/// each. A reply may take the channels of requests, too, and requests never take those of `replies`.
///
/// ```toml
/// [topology]
/// kind = "dragonfly"
/// p = 2
/// a = 4
/// h = 2
///
/// [router]
/// vc_choice = "roomiest_highest"
///
/// [router.links.local]
/// vcs = 4
///
/// [router.links.global]
/// vcs = 2
///
/// [routing]
/// kind = "minimal"
///
/// [queueing]
/// kind = "flexvc"
/// highest = "position"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlexVc {
    /// The rule for the highest channel of a hop.
    pub highest: Highest,
    /// The channels of replies, with `traffic.requests` of `virtual_networks = false`. Injection queues are then shared
    /// out between requests and replies. Left out: all packets take all channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replies: Option<Replies>,
}

/// Link classes of a Dragonfly.
const LOCAL: u8 = 1;
const GLOBAL: u8 = 2;

impl QueueingParams for FlexVc {
    fn undivided(&self) -> bool {
        true
    }

    fn check(&self, fit: &Fit<'_>) -> Result<(), ScenarioError> {
        let refuse = |expected: &str| Err(ScenarioError::new("kind", "\"flexvc\"", expected));
        if !fit.topology.is_dragonfly() || fit.topology.groups() < 2 || fit.topology.faulty().is_some() {
            return refuse("needs a dragonfly of at least two groups without faults");
        }
        if !fit.whole_packets {
            return refuse("needs switching of whole packets, and virtual channels allocated with the switch");
        }
        let Some(reference) = fit.reference else { return Ok(()) };
        let vcs: Vec<u8> = fit.vcs.iter().map(|vcs| (vcs / fit.networks).min(u8::MAX.into()) as u8).collect();
        let rule = Rule::new(self.highest, reference, &vcs);
        let requests = self.requests(reference, &vcs);
        if let (Some(Replies { local, global }), Some(requests)) = (self.replies, &requests) {
            let (path, left) = (rule.path, requests.all);
            let given = format!("{{ local = {local}, global = {global} }}");
            if local < path.0 || global < path.1 || left.0 < path.0 || left.1 < path.1 {
                let expected = format!(
                    "expected at least {} local and {} global channels for replies, and as many for requests, of {} \
                     and {}",
                    path.0, path.1, vcs[1], vcs[2]
                );
                return Err(ScenarioError::new("replies", given, expected));
            }
        }
        match rule.serves_all() && requests.is_none_or(|requests| requests.serves_all()) {
            true => Ok(()),
            false => Err(ScenarioError::new(
                "highest",
                "\"group\"",
                format!(
                    "leaves a hop of a detour no channel of {} local and {} global ones; expected more channels, or \
                     \"position\"",
                    vcs[1], vcs[2]
                ),
            )),
        }
    }

    fn follows_positions(&self) -> bool {
        true
    }

    fn widening(&self, reference: Legs, vcs: &[u8]) -> Option<Arc<dyn Widening>> {
        Some(Arc::new(Rule::new(self.highest, reference, vcs)))
    }

    fn widening_of_requests(&self, reference: Legs, vcs: &[u8]) -> Option<Arc<dyn Widening>> {
        self.requests(reference, vcs).map(|rule| Arc::new(rule) as Arc<dyn Widening>)
    }

    fn parts_replies(&self) -> bool {
        self.replies.is_some()
    }

    fn build(&self, context: &QueueingContext) -> Box<dyn Queueing> {
        let reference = context.reference.unwrap_or(Legs::Minimal);
        Box::new(AtPorts {
            rule: Rule::new(self.highest, reference, &context.vcs),
            requests: self.requests(reference, &context.vcs),
            global: context.topology.class_ports(context.routers.first(), GLOBAL),
        })
    }
}

impl FlexVc {
    /// The rule of requests, where replies have channels of their own.
    fn requests(&self, reference: Legs, vcs: &[u8]) -> Option<Rule> {
        let Replies { local, global } = self.replies?;
        let of = |class: u8, above: u8| vcs.get(usize::from(class)).map_or(0, |vcs| vcs.saturating_sub(above));
        Some(Rule::new(self.highest, reference, &[1, of(LOCAL, local), of(GLOBAL, global)]))
    }
}

/// The group in which a packet takes a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Source,
    /// Of its intermediate router, or behind it.
    Intermediate,
    Destination,
}

/// A hop of a route.
#[derive(Debug, Clone, Copy)]
struct Step {
    place: Place,
    /// The group in which it begins.
    group: Group,
}

/// The numbers of channels that hops may take: always the lowest ones.
#[derive(Debug, Clone, Copy)]
struct Rule {
    highest: Highest,
    /// Channels of a local and of a global link.
    all: (u8, u8),
    /// Local and global hops of the reference path.
    path: (u8, u8),
}

impl Rule {
    fn new(highest: Highest, reference: Legs, vcs: &[u8]) -> Self {
        let path = match reference {
            Legs::Minimal | Legs::Direct => (2, 1),
            Legs::ToGroup => (3, 2),
            Legs::ToRouter => (4, 2),
        };
        let of = |class: u8| vcs.get(usize::from(class)).copied().unwrap_or(1);
        Self { highest, all: (of(LOCAL), of(GLOBAL)), path }
    }

    /// The number of channels that a hop may take.
    fn count(&self, Step { place, group }: Step) -> u8 {
        match self.highest {
            Highest::Position => self.by_position(place),
            Highest::Group => self.by_group(place, group),
        }
    }

    /// Local and global channels that the reference path does not need.
    fn spare(&self) -> (u8, u8) {
        (self.all.0.saturating_sub(self.path.0), self.all.1.saturating_sub(self.path.1))
    }

    fn by_position(&self, Place { class, first_leg, at_target }: Place) -> u8 {
        let ((local, global), (spare_local, spare_global)) = (self.all, self.spare());
        match (class, first_leg, at_target) {
            (GLOBAL, true, _) => spare_global + 1,
            (GLOBAL, false, _) => global,
            (_, true, false) => spare_local + 1,
            (_, true, true) => spare_local + 2,
            (_, false, true) => local,
            // The last local hop is in the group of the destination.
            (_, false, false) => local.saturating_sub(1).max(1),
        }
    }

    fn by_group(&self, Place { class, first_leg, .. }: Place, group: Group) -> u8 {
        let ((local, global), (spare_local, spare_global)) = (self.all, self.spare());
        // By local hop of the reference path: the global hops before it.
        let before: &[u8] = match self.path.0 {
            2 => &[0, 1],
            3 => &[0, 1, 2],
            _ => &[0, 1, 1, 2],
        };
        let up_to = |most| {
            let hops = before.iter().filter(|globals| spare_global.saturating_add(**globals) <= most);
            spare_local + hops.count() as u8
        };
        let count = match (class, group) {
            (GLOBAL, _) => global,
            (_, Group::Source) => up_to(0),
            (_, Group::Intermediate) => up_to(1),
            (_, Group::Destination) => local,
        };
        count.saturating_sub(u8::from(first_leg))
    }

    /// True if every hop may take a channel.
    fn serves_all(&self) -> bool {
        let detours = self.path.1 > 1;
        let legs: &[bool] = if detours { &[true, false] } else { &[false] };
        let groups: &[Group] = match detours {
            true => &[Group::Source, Group::Intermediate, Group::Destination],
            false => &[Group::Source, Group::Destination],
        };
        legs.iter().all(|&first_leg| {
            groups.iter().all(|&group| {
                let count = |class| self.count(Step { place: Place { class, first_leg, at_target: false }, group });
                count(LOCAL) > 0 && count(GLOBAL) > 0
            })
        })
    }
}

impl Widening for Rule {
    fn count(&self, place: Place) -> u8 {
        let group = if place.at_target { Group::Destination } else { Group::Source };
        self.count(Step { place, group })
    }

    fn unproved(&self) -> Option<&'static str> {
        // Where the destination is decides about hops to the intermediate router, and a proof follows these alone.
        let unknown = "with highest = \"group\" the channels of a detour depend on where its destination is";
        (self.highest == Highest::Group && self.path.1 > 1).then_some(unknown)
    }
}

/// The rules, and the ports of global links, which are the same at every router.
struct AtPorts {
    /// Of all packets, or of replies.
    rule: Rule,
    /// Of requests, if it is another.
    requests: Option<Rule>,
    global: Range<u16>,
}

impl Queueing for AtPorts {
    fn timeless(&self) -> bool {
        true
    }

    fn select(&self, topology: &dyn Topology, next: u32, packet: &Packet, hop: Hop) -> Lanes {
        // A local hop ends in the group where it begins. For a global hop the group does not matter.
        let here = topology.group_of(next);
        let destination = topology.group_of(packet.destination_router);
        let intermediate = match packet.intermediate {
            NONE => None,
            group if group & GROUP != 0 => Some(group & !GROUP),
            router => Some(topology.group_of(router)),
        };
        let place = Place {
            class: if self.global.contains(&hop.port) { GLOBAL } else { LOCAL },
            first_leg: intermediate.is_some(),
            at_target: intermediate.unwrap_or(destination) == here,
        };
        let behind = packet.legs == 2 && packet.leg == 1;
        let group = match () {
            () if here == destination => Group::Destination,
            () if intermediate == Some(here) || behind => Group::Intermediate,
            () => Group::Source,
        };
        let rule = self.requests.as_ref().filter(|_| packet.misrouted & REPLY == 0).unwrap_or(&self.rule);
        Lanes { first: 0, count: rule.count(Step { place, group }).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Place = Place { class: LOCAL, first_leg: false, at_target: false };

    fn counts(highest: Highest, reference: Legs, vcs: (u8, u8)) -> Vec<u8> {
        let rule = Rule::new(highest, reference, &[1, vcs.0, vcs.1]);
        let out = Place { first_leg: true, ..HOME };
        let places = [
            (out, Group::Source),
            (Place { class: GLOBAL, ..out }, Group::Source),
            (Place { at_target: true, ..out }, Group::Intermediate),
            (HOME, Group::Source),
            (HOME, Group::Intermediate),
            (Place { class: GLOBAL, ..HOME }, Group::Intermediate),
            (Place { at_target: true, ..HOME }, Group::Destination),
        ];
        places.into_iter().map(|(place, group)| rule.count(Step { place, group })).collect()
    }

    #[test]
    fn channels_by_position_are_those_up_to_the_last_hop_that_this_one_can_be() {
        // l0 g0 l1 l2 g1 l3: out, out over a global link, out at the router; home from there on.
        assert_eq!(counts(Highest::Position, Legs::ToRouter, (4, 2)), [1, 1, 2, 3, 3, 2, 4]);
        assert_eq!(counts(Highest::Position, Legs::ToRouter, (8, 4)), [5, 3, 6, 7, 7, 4, 8]);
        assert_eq!(counts(Highest::Position, Legs::ToGroup, (3, 2))[3..], [2, 2, 2, 3]);
        assert_eq!(counts(Highest::Position, Legs::Minimal, (2, 1))[3..], [1, 1, 1, 2]);
        assert_eq!(counts(Highest::Position, Legs::Minimal, (8, 4))[3..], [7, 7, 4, 8]);
    }

    #[test]
    fn spare_global_channels_take_local_ones_from_the_group_of_the_source() {
        // Two local and one global channel are spare: s0 s1 S0 l2 g1 l3 l4 g2 l5.
        assert_eq!(counts(Highest::Group, Legs::ToRouter, (6, 3)), [1, 2, 2, 2, 3, 3, 6]);
        assert_eq!(counts(Highest::Group, Legs::Minimal, (4, 2))[3..], [2, 3, 2, 4]);
        assert_eq!(counts(Highest::Group, Legs::Minimal, (2, 1))[3..], [1, 2, 1, 2]);
        // Without spare channels a detour's first hop has none.
        assert!(!Rule::new(Highest::Group, Legs::ToRouter, &[1, 4, 2]).serves_all());
        assert!(Rule::new(Highest::Group, Legs::ToRouter, &[1, 6, 3]).serves_all());
    }
}
