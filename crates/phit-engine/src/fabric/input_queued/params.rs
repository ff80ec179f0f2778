//! `[router]`: the one configurable router and its links.

use crate::allocators::AllocatorKind;
use crate::fabric::packet_node::params::NodeParams;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Longest latency of anything, in cycles.
const LONGEST: u32 = 1_000_000;

/// The flits of an output buffer are counted in 16 bits.
const LARGEST_OUTPUT_BUFFER: u32 = 65_534;

/// A buffer size: a number of phits, or `"infinite"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phits {
    /// This many phits.
    Finite(u32),
    /// No limit.
    Infinite,
}

impl Phits {
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
        schemars::json_schema!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 1_000_000_000}, {"const": "infinite"}]})
    }
}

/// How packets move (Dally and Towles, *Principles and Practices of Interconnection Networks*, chapter 13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Switching {
    /// The packet is the flit: it advances when the next buffer has room for all of it, before its tail has arrived.
    VirtualCutThrough,
    /// The packet is the flit and advances only when its tail has arrived.
    StoreAndForward,
    /// Flits of `flit_size` phits advance one by one; a packet holds its virtual channel from head to tail.
    Wormhole,
}

/// When the credit for a flit's space in an input buffer is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditRelease {
    /// When its last phit has left the input buffer (textbook; BookSim).
    Input,
    /// When its first phit leaves the output buffer of the same router (FOGSim).
    Output,
}

/// How many credits an input port sends back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditChannel {
    /// All there are, each on its own way at once.
    Unlimited,
    /// One flit's in each link cycle, at the cycle's end; the others wait for their turn (BookSim).
    OnePerCycle,
}

/// What a packet keeps busy that crosses before its tail has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutThrough {
    /// Its input and its output, until its last phit has arrived (textbook).
    Both,
    /// Its input until then, its output only for the time that its phits need at the crossbar's speed (FOGSim).
    Input,
}

/// How often the router allocates, and what a speedup does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// One allocation per link cycle; the speedup shortens each transfer through the crossbar, to no less than one
    /// cycle (FOGSim).
    Link,
    /// `speedup` allocations per link cycle, each stage of the router taking one of these shorter cycles (BookSim).
    Crossbar,
}

/// How fast an input port feeds the crossbar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// As fast as the crossbar: the speedup is one of inputs and outputs.
    Crossbar,
    /// One phit per link cycle: the speedup is one of outputs alone, each of which takes flits of up to `speedup` inputs in a cycle.
    Link,
}

/// When a head obtains its output virtual channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VcAllocation {
    /// With the crossbar grant, in one step.
    WithSwitch,
    /// In a stage of its own, one router cycle before its first request for the crossbar; the VC is held until the tail
    /// has been granted.
    Stage,
}

/// Which queue of its injection port an endpoint puts a packet into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InjectionQueue {
    /// By destination: queue `destination * queues / endpoints` (FOGSim).
    Destination,
    /// In turn, the first with room (BookSim).
    RoundRobin,
    /// The one with most room, the lowest-numbered of equals.
    LeastOccupied,
}

/// The queues in which the packets of an endpoint wait for room in its injection queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Admittance {
    /// One queue, first come first served.
    Single,
    /// One queue for each destination, in turn: a packet waits for none to another endpoint. The packet is the flit.
    PerDestination,
}

/// When a routing mechanism that may change its mind is asked again about a blocked head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Redecision {
    /// When something that its decision depends on has changed.
    OnChange,
    /// In every cycle: the same results, only slower, if the mechanism names all that its decisions depend on.
    EveryCycle,
}

/// One class of links and the input buffers at their ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkParams {
    /// Cycles from the first phit leaving an output to its arrival at the next input. Credits take as long, if `credit_latency`
    /// does not say otherwise. For the class `endpoint`: from generation plus one cycle to the router's input, and from its
    /// output to the endpoint.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub latency: u32,
    /// Cycles that a credit takes back over the link, where they differ from `latency`: a simulator may give credits
    /// a channel of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub credit_latency: Option<u32>,
    /// Cycles from a router's output to the endpoint, where it differs from `latency` (class `endpoint` only).
    #[schemars(extend("x-unit" = "cycles"))]
    pub ejection_latency: Option<u32>,
    /// Phits that an endpoint has room for in each virtual channel (class `endpoint` only). It consumes a packet or flit in the
    /// cycle after it has arrived, and the credit comes back over the link. If left out, an endpoint takes whatever comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "phits"))]
    pub ejection_buffer: Option<Phits>,
    /// Phits per cycle.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits/cycle"))]
    pub bandwidth: u32,
    /// Phits per cycle from an endpoint into its router where it differs from `bandwidth` (class `endpoint` only);
    /// `"infinite"`: a packet a cycle whatever its size, whose phits then
    /// follow one another at `bandwidth`.
    #[schemars(extend("x-unit" = "phits/cycle"))]
    pub injection_bandwidth: Option<Phits>,
    /// Virtual channels (for the class `endpoint`: injection queues).
    #[schemars(range(min = 1, max = 1024))]
    pub vcs: u16,
    /// Size of the input buffer of each virtual channel, in phits.
    #[schemars(extend("x-unit" = "phits"))]
    pub buffer: Phits,
}

impl Default for LinkParams {
    fn default() -> Self {
        Self {
            latency: 1,
            credit_latency: None,
            ejection_latency: None,
            ejection_buffer: None,
            bandwidth: 1,
            injection_bandwidth: None,
            vcs: 2,
            buffer: Phits::Finite(32),
        }
    }
}

/// The router: input buffers with queues, routing, allocation, a crossbar with latency and speedup, output buffers, links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RouterParams {
    /// Router cycles from the grant of the crossbar to the output (buffer).
    #[schemars(range(min = 1, max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub latency: u32,
    /// Router cycles that a head spends at the front of its queue before it may first be allocated (its routing
    /// computation; the VC allocation stage, if any, comes after it). 0: in the cycle it arrives.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub allocation_delay: u32,
    /// Crossbar frequency over link frequency, a whole number.
    #[schemars(range(min = 1, max = 64))]
    pub speedup: u32,
    /// Whether the speedup shortens transfers or adds allocation rounds.
    pub clock: Clock,
    /// What the speedup is one of.
    pub inputs: Inputs,
    /// How packets move.
    pub switching: Switching,
    /// Phits per flit under wormhole switching.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub flit_size: u32,
    /// When heads obtain output virtual channels.
    pub vc_allocation: VcAllocation,
    /// How the crossbar (and, in a stage of its own, virtual channels) are allocated.
    pub allocator: AllocatorKind,
    /// Phits in the output buffer of each port, shared by its virtual channels and reserved at the grant. Credits for the
    /// next input buffer are taken at the grant too, so it is never blocked; `"infinite"` is limited by them alone.
    #[schemars(extend("maximum" = LARGEST_OUTPUT_BUFFER))]
    #[schemars(extend("x-unit" = "phits"))]
    pub output_buffer: Phits,
    /// When credits are sent back.
    pub credit_release: CreditRelease,
    /// How many credits an input port sends back at once. It matters where a speedup empties buffers faster than links fill
    /// them.
    pub credit_channel: CreditChannel,
    /// Cycles between the arrival of a credit and its use.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub credit_delay: u32,
    /// What a packet that crosses before its tail has arrived keeps busy.
    pub cut_through: CutThrough,
    /// Transit traffic goes before injected traffic at every output.
    pub transit_priority: bool,
    /// Which injection queue a packet takes, unless the queue organisation says so.
    pub injection_queue: InjectionQueue,
    /// In which queues the packets of an endpoint wait before that.
    pub admittance: Admittance,
    /// Phits of each of these queues, with `per_destination`: a packet that finds no room is dropped at its source, as if it had not
    /// been generated. `"infinite"`: no limit.
    #[schemars(extend("x-unit" = "phits"))]
    pub admittance_room: Phits,
    /// When adaptive mechanisms decide again about blocked heads.
    pub redecision: Redecision,
    /// Links by class; `default` stands for the classes that are not listed.
    pub links: BTreeMap<String, LinkParams>,
    /// If there, the packet-level node takes the place of the input-queued router, and of this table it reads the links alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeParams>,
}

impl RouterParams {
    /// The links of `class`.
    pub fn link(&self, class: &str) -> LinkParams {
        self.links.get(class).or_else(|| self.links.get("default")).cloned().unwrap_or_default()
    }
}

impl Default for RouterParams {
    fn default() -> Self {
        Self {
            latency: 1,
            allocation_delay: 0,
            speedup: 1,
            clock: Clock::Link,
            inputs: Inputs::Crossbar,
            switching: Switching::VirtualCutThrough,
            flit_size: 1,
            vc_allocation: VcAllocation::WithSwitch,
            allocator: AllocatorKind::SeparableInputFirst(Default::default()),
            output_buffer: Phits::Infinite,
            credit_release: CreditRelease::Input,
            credit_channel: CreditChannel::Unlimited,
            credit_delay: 0,
            cut_through: CutThrough::Both,
            transit_priority: false,
            injection_queue: InjectionQueue::LeastOccupied,
            admittance: Admittance::Single,
            admittance_room: Phits::Infinite,
            redecision: Redecision::OnChange,
            links: BTreeMap::new(),
            node: None,
        }
    }
}
