//! Links by class: their settings in a scenario, and the settings in ticks. All kernels use them.

use crate::bandwidth::{Bandwidth, Injection, Rate};
use crate::engine::Tick;
use crate::fabric::seams::queueing::Division;
use crate::topology::{Peer, Topology};
use crate::traffic::Rates;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// The longest times of a router and of a link, in cycles.
pub(crate) const LONGEST: u32 = 1_000_000;

/// Most ticks that a router cycle is divided into where packets move as a whole.
pub(crate) const MOST_PARTS: Tick = 64;

/// [`MOST_PARTS`] for wormhole switching, where a link carries no more than a flit in a tick.
pub(crate) const MOST_FLITS: Tick = 256;

/// A buffer size: a number of phits, or `"infinite"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phits {
    /// This many phits.
    Finite(u32),
    /// No limit.
    Infinite,
}

impl Phits {
    /// The number of phits, if there is a limit.
    pub fn finite(self) -> Option<u32> {
        match self {
            Self::Finite(phits) => Some(phits),
            Self::Infinite => None,
        }
    }

    /// The number of phits; a very large number if infinite.
    pub fn or_huge(self) -> u32 {
        match self {
            Self::Finite(phits) => phits,
            Self::Infinite => i32::MAX as u32 / 2,
        }
    }
}

impl Serialize for Phits {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Finite(phits) => s.serialize_u32(*phits),
            Self::Infinite => s.serialize_str("infinite"),
        }
    }
}

impl<'de> Deserialize<'de> for Phits {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Phits;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number from 1 to 1000000000, or \"infinite\"")
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Phits, E> {
                match v {
                    1..=1_000_000_000 => Ok(Phits::Finite(v as u32)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Unsigned(v), &self)),
                }
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Phits, E> {
                match u64::try_from(v) {
                    Ok(v) => self.visit_u64(v),
                    Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(v), &self)),
                }
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Phits, E> {
                match v {
                    "infinite" => Ok(Phits::Infinite),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(v), &self)),
                }
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl JsonSchema for Phits {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "phits".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": 1_000_000_000}, {"const": "infinite"}]
        })
    }
}

/// The links of one class, and the input buffers at their ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkParams {
    /// Cycles from the first phit leaving an output to its arrival at the next input. Credits take equally long, unless
    /// `credit_latency` is given. For the class `endpoint`: from one cycle after generation to the router's input, and
    /// from its output to the endpoint.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub latency: u32,
    /// Cycles that a credit takes back over the link, if not `latency`. Some simulators give credits a separate
    /// channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub credit_latency: Option<u32>,
    /// Cycles that a credit for an injection queue takes from the router to the endpoint, which may use it at once
    /// (class `endpoint` only). If left out, it takes as long as a credit from the endpoint, including
    /// `router.credit_delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub injection_credit_latency: Option<u32>,
    /// Cycles from a router's output to the endpoint, if not `latency` (class `endpoint` only).
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub ejection_latency: Option<u32>,
    /// Phits that an endpoint has room for in each virtual channel (class `endpoint` only). It consumes a packet or
    /// flit in the cycle after its arrival, and the credit returns over the link. If left out, an endpoint accepts
    /// every packet at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "phits"))]
    pub ejection_buffer: Option<Phits>,
    /// Phits per cycle. A ratio such as 0.25 means a link slower than a phit per cycle.
    #[schemars(extend("x-unit" = "phits/cycle"))]
    pub bandwidth: Bandwidth,
    /// Phits per cycle from an endpoint into its router, if not `bandwidth` (class `endpoint` only). `"infinite"` means
    /// one packet per cycle, whatever its size; its phits then follow one another at `bandwidth`.
    #[schemars(extend("x-unit" = "phits/cycle"))]
    pub injection_bandwidth: Option<Injection>,
    /// Virtual channels (for the class `endpoint`: injection queues).
    #[schemars(range(min = 1, max = 1024))]
    pub vcs: u16,
    /// Size of the input buffer of each virtual channel, in phits.
    #[schemars(extend("x-unit" = "phits"))]
    pub buffer: Phits,
    /// Phits of its buffer that each virtual channel has to itself, if not `router.sharing.private` (with
    /// `router.sharing`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "phits"))]
    pub private: Option<u32>,
}

impl Default for LinkParams {
    fn default() -> Self {
        Self {
            latency: 1,
            credit_latency: None,
            injection_credit_latency: None,
            ejection_latency: None,
            ejection_buffer: None,
            bandwidth: Bandwidth::ONE,
            injection_bandwidth: None,
            vcs: 2,
            buffer: Phits::Finite(32),
            private: None,
        }
    }
}

/// Links by class; `default` stands for the classes that are not listed.
pub(super) type LinkTable = BTreeMap<String, LinkParams>;

/// The links of `class`.
pub(super) fn link(table: &LinkTable, class: &str) -> LinkParams {
    table.get(class).or_else(|| table.get("default")).cloned().unwrap_or_default()
}

/// A link class in ticks.
#[derive(Debug, Clone)]
pub struct LinkClass {
    /// Latency from output to input.
    pub latency: Tick,
    /// Latency of a credit, from input to output.
    pub credit_latency: Tick,
    /// Latency of a credit for an injection queue, without the router's delay of credits (class `endpoint`). `None`:
    /// the latency of other credits, with the delay.
    pub injection_credit_latency: Option<Tick>,
    /// Latency from router to endpoint (class `endpoint`).
    pub ejection_latency: Tick,
    /// Phits that an endpoint has room for; `None` if it accepts every packet at once.
    pub ejection_buffer: Option<u32>,
    /// Phits per cycle.
    pub bandwidth: Bandwidth,
    /// Phits per cycle from an endpoint into its router; `None` if unlimited.
    pub injection_bandwidth: Option<Bandwidth>,
    /// True if an endpoint injects as fast as its link.
    pub injects_as_link: bool,
    /// Queues of an input port, over all its virtual channels.
    pub queues: u16,
    /// Phits of a queue's memory; or of a virtual channel's memory, if its queues share it.
    pub buffer: u32,
    /// Phits of it that are the channel's own where channels share memory, if not as in other classes.
    pub private: Option<u32>,
}

/// All link classes, in the topology's order.
#[derive(Debug, Clone)]
pub struct LinkClasses {
    /// Ticks per link cycle.
    pub ticks_per_cycle: Tick,
    classes: Vec<LinkClass>,
    /// Phits per cycle of the link of every endpoint; empty if the class's bandwidth holds for all.
    endpoints: Arc<[Bandwidth]>,
    /// Ticks of a router cycle, if some link carries several flits in a cycle.
    fine: Tick,
    /// Phits of a flit, as a rate: a link that carries more in a cycle is a fast link.
    flit: Bandwidth,
}

impl Deref for LinkClasses {
    type Target = [LinkClass];
    #[inline]
    fn deref(&self) -> &[LinkClass] {
        &self.classes
    }
}

impl LinkClasses {
    /// Ticks and phits of the links of `classes`, with buffers divided as `division` says.
    pub fn new(table: &LinkTable, topology: &dyn Topology, ticks_per_cycle: Tick, division: Division) -> Self {
        let parts = division.parts();
        let class = |class: &String| {
            let link = link(table, class);
            LinkClass {
                latency: link.latency * ticks_per_cycle,
                credit_latency: link.credit_latency.unwrap_or(link.latency) * ticks_per_cycle,
                injection_credit_latency: link.injection_credit_latency.map(|cycles| cycles * ticks_per_cycle),
                ejection_latency: link.ejection_latency.unwrap_or(link.latency) * ticks_per_cycle,
                ejection_buffer: link.ejection_buffer.and_then(Phits::finite),
                bandwidth: link.bandwidth,
                injection_bandwidth: link.injection_bandwidth.map_or(Some(link.bandwidth), Injection::finite),
                injects_as_link: link.injection_bandwidth.is_none(),
                queues: (u32::from(link.vcs) * division.queues) as u16,
                buffer: link.buffer.or_huge() / parts,
                private: link.private,
            }
        };
        let classes: Vec<LinkClass> = topology.classes().iter().map(class).collect();
        let own = |endpoint: u32| topology.endpoint_bandwidth(endpoint).unwrap_or(classes[0].bandwidth);
        let endpoints: Arc<[Bandwidth]> = match topology.endpoint_bandwidth(0) {
            None => Arc::default(),
            Some(_) => (0..topology.endpoints()).map(own).collect(),
        };
        Self { ticks_per_cycle, classes, endpoints, fine: 1, flit: Bandwidth::UNLIMITED }
    }

    /// Divides ticks so that every link carries at most one flit of `flit` phits in a tick, if it carries at most
    /// `fills` phits in a cycle. A tick is divided into `most` ticks at most.
    pub(crate) fn divided(self, flit: u32, fills: f64, most: Tick) -> Self {
        let of_classes = self.iter().map(|link| link.bandwidth);
        let all = of_classes.chain(self.endpoints.iter().copied()).chain(self[0].injection_bandwidth);
        let fastest = all.max().unwrap_or(Bandwidth::ONE);
        let flit = Bandwidth::whole(flit);
        let fine = (fastest.to_f64().min(fills) / flit.to_f64()).ceil().clamp(1.0, f64::from(most.max(1))) as Tick;
        if fine == 1 {
            return self;
        }
        let class = |link: &LinkClass| LinkClass {
            latency: link.latency * fine,
            credit_latency: link.credit_latency * fine,
            ejection_latency: link.ejection_latency * fine,
            injection_credit_latency: link.injection_credit_latency.map(|ticks| ticks * fine),
            ..link.clone()
        };
        let classes = self.iter().map(class).collect();
        Self { ticks_per_cycle: self.ticks_per_cycle * fine, classes, fine, flit, ..self }
    }

    /// Bandwidth of the slowest link, at most a phit per cycle.
    pub(crate) fn slowest(&self) -> Bandwidth {
        let injection = self[0].injection_bandwidth;
        let all = self.iter().map(|link| link.bandwidth).chain(self.endpoints.iter().copied()).chain(injection);
        all.fold(Bandwidth::ONE, Ord::min)
    }

    /// Ticks of a router cycle: more than one if some link carries several flits in a cycle.
    pub(crate) fn fine(&self) -> Tick {
        self.fine
    }

    /// Phits of a flit, as a rate: a link that carries more in a cycle is a fast link.
    pub(crate) fn flit(&self) -> Bandwidth {
        self.flit
    }

    /// Phits per cycle of the link of `endpoint`.
    pub(crate) fn of_endpoint(&self, endpoint: u32) -> Bandwidth {
        self.endpoints.get(endpoint as usize).copied().unwrap_or(self.classes[0].bandwidth)
    }

    /// Phits per cycle from `endpoint` into its router; `None` if unlimited.
    pub(crate) fn injection_of(&self, endpoint: u32) -> Option<Bandwidth> {
        match self.classes[0].injects_as_link {
            true => Some(self.of_endpoint(endpoint)),
            false => self.classes[0].injection_bandwidth,
        }
    }

    /// Phits per cycle of the link behind `port` of `router`.
    pub(crate) fn of_port(&self, topology: &dyn Topology, router: u32, port: u16) -> Bandwidth {
        let there = topology.port(router, port);
        match there.peer {
            Peer::Endpoint(endpoint) => self.of_endpoint(endpoint),
            Peer::Router { .. } | Peer::None => self.classes[usize::from(there.class)].bandwidth,
        }
    }

    /// Rates of the endpoints.
    pub(crate) fn rates(&self, topology: &dyn Topology, planes: u32) -> Rates {
        let of = |endpoint: u32| {
            let injection = self.injection_of(endpoint).unwrap_or(self.of_endpoint(endpoint));
            (self.of_endpoint(endpoint).to_f64(), injection.to_f64() * f64::from(planes))
        };
        match self.endpoints.is_empty() {
            true => Rates::alike(of(0)),
            false => Rates::new((0..topology.endpoints()).map(of)),
        }
    }

    /// True if every link carries one phit per cycle.
    pub(crate) fn are_alike(&self) -> bool {
        let ones = |link: &LinkClass| link.bandwidth == Bandwidth::ONE;
        self.iter().all(ones)
            && self.endpoints.iter().all(|bandwidth| *bandwidth == Bandwidth::ONE)
            && self[0].injection_bandwidth.is_none_or(|bandwidth| bandwidth == Bandwidth::ONE)
    }

    /// Virtual channels by class.
    pub fn vcs(&self, division: Division) -> Vec<u8> {
        self.vcs_of_each(division, 1)
    }

    /// Virtual channels by class of each of several virtual networks.
    pub fn vcs_of_each(&self, division: Division, networks: u16) -> Vec<u8> {
        let of_each = |l: &LinkClass| u32::from(l.queues) / division.queues / u32::from(networks);
        self.iter().map(|l| of_each(l).min(255) as u8).collect()
    }

    /// Virtual channels by class of each virtual network, without `reserved` channels between routers.
    pub fn vcs_but(&self, division: Division, networks: u16, reserved: u8) -> Vec<u8> {
        let mut vcs = self.vcs_of_each(division, networks);
        vcs.iter_mut().skip(1).for_each(|count| *count = count.saturating_sub(reserved));
        vcs
    }

    /// The longest latency of a link, in ticks, for phits or for credits.
    pub fn longest(&self) -> Tick {
        let longest = |link: &LinkClass| {
            let credit = link.credit_latency.max(link.injection_credit_latency.unwrap_or(0));
            link.latency.max(link.ejection_latency).max(credit)
        };
        self.iter().map(longest).max().unwrap_or(1)
    }

    /// The load that saturates the bisection of a torus or mesh under uniform traffic, in phits/(endpoint·cycle).
    pub fn bisection_load(&self, topology: &dyn Topology) -> Option<f64> {
        topology.bisection_load(&self.iter().map(|link| link.bandwidth.to_f64()).collect::<Vec<_>>())
    }

    /// The counting unit for phits on links of a class.
    pub fn rate_of_class(&self, class: u8) -> Rate {
        self[usize::from(class)].bandwidth.rate(self.ticks_per_cycle)
    }

    /// The counting unit for phits on the link behind `port` of `router`.
    pub fn rate_of_port(&self, topology: &dyn Topology, router: u32, port: u16) -> Rate {
        self.of_port(topology, router, port).rate(self.ticks_per_cycle)
    }

    /// The counting unit for phits on the link to `endpoint`.
    pub fn rate_of_endpoint(&self, endpoint: u32) -> Rate {
        self.of_endpoint(endpoint).rate(self.ticks_per_cycle)
    }

    /// The counting unit for phits from `endpoint` into its router.
    pub fn injection_rate(&self, endpoint: u32) -> Rate {
        self.injection_of(endpoint).unwrap_or(Bandwidth::UNLIMITED).rate(self.ticks_per_cycle)
    }

    /// Ticks for `phits` over a link of this bandwidth.
    #[inline]
    pub fn serialisation(&self, phits: u32, bandwidth: Bandwidth) -> Tick {
        bandwidth.cycles(phits).saturating_mul(self.ticks_per_cycle)
    }

    /// Ticks for `phits` from an endpoint into its router: by its bandwidth, or by the link's if injection is
    /// unlimited.
    pub(crate) fn injection_ticks(&self, phits: u32) -> Tick {
        let link = &self.classes[0];
        self.serialisation(phits, link.injection_bandwidth.unwrap_or(link.bandwidth))
    }

    /// `tick` or the next start of a link cycle.
    #[inline]
    pub fn align(&self, tick: Tick) -> Tick {
        align(tick, self.ticks_per_cycle)
    }
}

/// `tick` or the next start of a cycle of `ticks_per_cycle`.
#[inline]
pub(super) fn align(tick: Tick, ticks_per_cycle: Tick) -> Tick {
    Cycles::of(ticks_per_cycle).align(tick)
}

/// The starts of cycles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cycles {
    ticks: Tick,
    /// For a power of two: the bits of a tick that count from the start of a cycle. `None` otherwise.
    within: Option<Tick>,
}

impl Cycles {
    /// Cycles of this many ticks, at least one.
    #[inline]
    pub(super) fn of(ticks: Tick) -> Self {
        Self { ticks, within: ticks.is_power_of_two().then(|| ticks - 1) }
    }

    /// `tick` or the next start of a cycle.
    #[inline(always)]
    pub(super) fn align(self, tick: Tick) -> Tick {
        match self.within {
            Some(within) => (tick + within) & !within,
            None => tick.next_multiple_of(self.ticks),
        }
    }
}
