//! `[router]` with `kind = "input_queued"`: the one configurable router and its links.

use crate::bandwidth::Bandwidth;
use crate::fabric::links::{LONGEST, LinkTable, Phits};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The flits of an output buffer are counted in 16 bits.
const LARGEST_OUTPUT_BUFFER: u32 = 65_534;

/// How packets move (Dally and Towles, *Principles and Practices of Interconnection Networks*, chapter 13).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Switching {
    /// The packet is the flit: it advances when the next buffer has room for all of it, before its tail has arrived.
    #[default]
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
    /// When its packet, or its flit under wormhole switching, is granted the crossbar (FOGSim, versions 4 and 5).
    Allocation,
    /// When its last phit has left the input buffer (textbook; BookSim).
    Input,
    /// When its first phit leaves the output buffer of the same router (FOGSim, versions 2 and 3).
    Output,
}

/// When a flit takes its room in an output buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputRoom {
    /// When it is granted: a buffer never holds more than its size.
    #[default]
    Granted,
    /// When it has crossed: the flits of the last round of allocation do not count yet, and a buffer can hold more than
    /// its size by these flits. A flit returns its room as it starts on the link, not in the tick after it (BookSim).
    /// Wormhole switching only.
    Crossed,
}

impl OutputRoom {
    fn is_at_the_grant(&self) -> bool {
        *self == Self::Granted
    }
}

/// Which flit of an output buffer the link takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputOrder {
    /// The flit that has crossed first. Packets of several virtual channels mix on the link.
    #[default]
    Crossing,
    /// The next flit of the packet whose flit it took last, if this flit has crossed. Otherwise, a flit of another
    /// packet that it has begun, or else the head that has crossed first (BookSim's branch `SRP_IAR`).
    Packets,
}

impl OutputOrder {
    fn is_of_crossing(&self) -> bool {
        *self == Self::Crossing
    }
}

/// How packets without data cross that have an output buffer of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlCrossing {
    /// In the place of a flit: a connected packet of the same input or output rests for a tick.
    #[default]
    Interrupts,
    /// Beside a flit of a connected packet: one input and one output carry both in one tick. A refusal in a channel of
    /// speculative packets waits for the end of the connection (BookSim's branch `hotspot_reservation`).
    Beside,
}

impl ControlCrossing {
    fn is_in_place(&self) -> bool {
        *self == Self::Interrupts
    }
}

/// The room in output buffers for which packets without data wait that have one of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlRoom {
    /// Room in their own buffer.
    #[default]
    Own,
    /// Room in both buffers of the output (BookSim's branch `hotspot_reservation`).
    Both,
}

impl ControlRoom {
    fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// When the routing mechanism is asked about a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// When its input is free, so that it could be granted.
    #[default]
    InputFree,
    /// As soon as it comes to the front of its queue, while the packet before it still crosses (SST's merlin). If that
    /// packet is granted in this cycle, it does not count yet. Mechanisms that decide again about blocked heads, or
    /// count heads, are asked as always.
    Front,
}

impl Decision {
    fn is_input_free(&self) -> bool {
        *self == Self::InputFree
    }
}

/// When a packet takes its credit of the next input buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditUse {
    /// When it is granted the crossbar, so that nothing blocks an output buffer.
    #[default]
    Grant,
    /// When it starts on the link (SST's merlin). Every virtual channel of a port has an output buffer, whose room is
    /// taken with the grant. The channels take turns at the link, as far as the next buffers have room for a packet. So
    /// packets without credits fill output buffers, and routing mechanisms see these: the occupancy of a channel is
    /// that of its output buffer.
    Link,
}

impl CreditUse {
    fn is_grant(&self) -> bool {
        *self == Self::Grant
    }
}

/// When an output to an endpoint may be granted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ejection {
    /// When its side of the crossbar is free, as any other output.
    #[default]
    OutputFree,
    /// When its endpoint takes no phit. A packet may be granted in every cycle, while earlier ones still cross or wait
    /// in the output buffer, up to and including the cycle in which the endpoint begins to take the next one. The
    /// following grant comes when that one has been taken (FOGSim, versions 4 and 5).
    ///
    /// With the allocator `separable_input_first`, a head asks for its output also while the endpoint takes a packet,
    /// if the output buffer has room. This request is never granted. But it can be the one that its input proposes, and
    /// then the input's other packets get nothing in this cycle.
    EndpointIdle,
}

impl Ejection {
    fn is_when_output_free(&self) -> bool {
        *self == Self::OutputFree
    }
}

/// How many credits an input port sends back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditChannel {
    /// All there are, each on its own way at once.
    Unlimited,
    /// One flit's in each link cycle, at the cycle's end; the others wait for their turn. Flits that leave an input in
    /// one tick send theirs together (BookSim).
    OnePerCycle,
}

/// The ports that a packet keeps busy if it crosses before its tail has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutThrough {
    /// Its input and its output, until its last phit has arrived (textbook).
    Both,
    /// Its input until its last phit has arrived, its output only for the time that its phits need at the crossbar's
    /// speed (FOGSim).
    Input,
    /// None: its input and its output are free after the time that its phits need at the crossbar's speed, even if
    /// phits still arrive (SST's merlin).
    Neither,
}

/// Crossbar frequency over link frequency, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speedup(u32);

impl Speedup {
    /// Parts of 1.
    pub(crate) const PARTS: u32 = 1000;

    const LARGEST: u32 = 64;

    /// This many thousandths.
    #[cfg(test)]
    pub(crate) fn of_parts(parts: u32) -> Self {
        Self(parts)
    }

    /// Thousandths.
    pub(crate) fn parts(self) -> u32 {
        self.0
    }

    /// True if it is a whole number.
    pub(crate) fn is_whole(self) -> bool {
        self.0.is_multiple_of(Self::PARTS)
    }

    /// The whole number that is no smaller.
    pub(crate) fn rounded_up(self) -> u32 {
        self.0.div_ceil(Self::PARTS)
    }
}

impl Default for Speedup {
    fn default() -> Self {
        Self(Self::PARTS)
    }
}

impl Serialize for Speedup {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.is_whole() {
            true => s.serialize_u32(self.rounded_up()),
            false => s.serialize_f64(f64::from(self.0) / f64::from(Self::PARTS)),
        }
    }
}

impl<'de> Deserialize<'de> for Speedup {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Speedup;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "a number from 1 to {}, of at most three decimals", Speedup::LARGEST)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Speedup, E> {
                match u32::try_from(v) {
                    Ok(whole @ 1..=Speedup::LARGEST) => Ok(Speedup(whole * Speedup::PARTS)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Unsigned(v), &self)),
                }
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Speedup, E> {
                match u64::try_from(v) {
                    Ok(v) => self.visit_u64(v),
                    Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(v), &self)),
                }
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Speedup, E> {
                let parts = (v * f64::from(Speedup::PARTS)).round();
                let (least, most) = (f64::from(Speedup::PARTS), f64::from(Speedup::LARGEST * Speedup::PARTS));
                // A decimal is rarely a binary fraction: `v` stands for the thousandth that is written like it.
                match (least..=most).contains(&parts) && parts / f64::from(Speedup::PARTS) == v {
                    true => Ok(Speedup(parts as u32)),
                    false => Err(E::invalid_value(serde::de::Unexpected::Float(v), &self)),
                }
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl JsonSchema for Speedup {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "speedup".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 1, "maximum": Self::LARGEST })
    }
}

/// How often the router allocates, and the effect of a speedup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// One allocation per link cycle; the speedup shortens each transfer through the crossbar, to no less than one
    /// cycle (FOGSim).
    Link,
    /// `speedup` allocations per link cycle, each stage of the router taking one of these shorter cycles (BookSim).
    /// With a fractional speedup s, link cycle c, counted from 0, has ⌊(c + 1) s⌋ - ⌊c s⌋ of them, directly one after
    /// another.
    Crossbar,
}

/// How fast an input port feeds the crossbar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// As fast as the crossbar: the speedup applies to inputs and outputs.
    Crossbar,
    /// One phit per link cycle: the speedup applies to outputs alone, each of which takes flits of up to `speedup`
    /// inputs in a cycle.
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
    /// In that stage, and in the same cycle a head already asks for the crossbar, if some VC that it may take is free
    /// and has room. A grant that comes without the VC is lost for all (Peh and Dally, HPCA 2001; BookSim's
    /// `speculative`).
    Speculative,
}

/// How requests of heads that have no output virtual channel yet rank among others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speculation {
    /// After requests of heads that have one, at outputs, and at inputs that choose among outputs.
    #[default]
    After,
    /// Like requests of heads that have one.
    Alike,
}

impl Speculation {
    fn is_after(&self) -> bool {
        *self == Self::After
    }
}

/// How long a pair of ports stays connected in the crossbar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// For a flit; every flit asks again.
    #[default]
    Flit,
    /// Until the packet's tail has crossed, or its next flit is not there or has no credit: nobody else gets the two
    /// ports meanwhile (BookSim's `hold_switch_for_packet`).
    Packet,
}

impl Connection {
    fn is_for_a_flit(&self) -> bool {
        *self == Self::Flit
    }
}

/// When a virtual channel that a packet has held is given to the next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VcReuse {
    /// When the tail has been granted: packets stand behind one another in the buffer at its far end.
    Tail,
    /// When that buffer is empty, too, and all its credits have come back: it holds one packet at a time (atomic
    /// allocation; BookSim's `wait_for_tail_credit`). A channel with a buffer of B flits and a credit loop of R cycles
    /// then carries a packet of L flits, at most B, in L - 1 + R cycles.
    Empty,
}

impl VcReuse {
    fn is_tail(&self) -> bool {
        *self == Self::Tail
    }
}

/// The free virtual channels that a head may ask for in a stage of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VcEligible {
    /// All: a channel may still have no room, because earlier packets have not left its buffer.
    #[default]
    Free,
    /// Only channels with room for a flit (BookSim's `vc_busy_when_full`).
    WithRoom,
    /// Only channels with room for the whole packet, as for virtual cut-through. An endpoint begins a packet only if
    /// its injection queue has room for the whole packet.
    WithPacketRoom,
}

impl VcEligible {
    fn is_free(&self) -> bool {
        *self == Self::Free
    }
}

/// Which of several virtual channels a head prefers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VcPreferred {
    /// The channel whose turn it is.
    #[default]
    Any,
    /// A channel whose buffer is empty and whose credits are all back (BookSim's `vc_prioritize_empty`).
    Empty,
}

impl VcPreferred {
    fn is_any(&self) -> bool {
        *self == Self::Any
    }
}

/// Which of the virtual channels that its hop permits a packet takes, of those with room for it. Where channels come
/// with the crossbar, a blocked packet chooses again whenever it asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VcChoice {
    /// The channel with most room, the lowest of equals.
    #[default]
    Roomiest,
    /// The channel with most room, the highest of equals (`LOWEST_OCCUPANCY` of FOGSim).
    RoomiestHighest,
    /// The lowest channel.
    Lowest,
    /// The highest channel.
    Highest,
    /// Any, with equal probability.
    Random,
}

impl VcChoice {
    fn is_roomiest(&self) -> bool {
        *self == Self::Roomiest
    }
}

/// In which order the heads of a router have their turn at a virtual channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VcTurns {
    /// Port by port: all queues of a port, then all queues of the next port.
    #[default]
    Ports,
    /// Queue by queue: the first of every port, then the second of every port (BookSim's `vc_shuffle_requests`).
    Queues,
}

impl VcTurns {
    fn is_ports(&self) -> bool {
        *self == Self::Ports
    }
}

/// How much of a shared buffer one virtual channel may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldLimit {
    /// All phits that the others leave (BookSim's `buffer_policy = shared`).
    #[default]
    None,
    /// `most` phits (BookSim's `limited`).
    Fixed,
    /// An equal part for every channel that a packet holds at the time (BookSim's `dynamic`).
    Even,
    /// All of it while one channel is held, half for two, a quarter for three or four, and so on (BookSim's
    /// `shifting`).
    Halved,
}

/// One memory for the virtual channels of a port: as large as their buffers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sharing {
    /// Phits of the memory that each virtual channel has to itself, where its class of links says nothing else: at
    /// least a flit. If packets move as a whole and no stage allocates channels, it may be less, even 0. Then packets
    /// in other channels can fill the memory, and nothing prevents deadlock.
    #[schemars(extend("x-unit" = "phits"))]
    pub private: u32,
    /// How much of the memory one virtual channel may hold.
    pub limit: HoldLimit,
    /// The most phits that one virtual channel may hold, with `limit = "fixed"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub most: Option<u32>,
}

impl Default for Sharing {
    fn default() -> Self {
        Self { private: 1, limit: HoldLimit::None, most: None }
    }
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Most rounds of allocation in a router cycle.
const MOST_ROUNDS: u32 = 64;

/// Which queue of its injection port an endpoint puts a packet into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InjectionQueue {
    /// By destination: queue `destination * queues / endpoints` (FOGSim).
    Destination,
    /// In turn, the first queue with room (BookSim).
    RoundRobin,
    /// The queue with most room, the lowest-numbered of equals.
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

/// How the sender into a buffer learns whether there is room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowControl {
    /// By credits, which go back when flits leave the buffer.
    #[default]
    Credits,
    /// By pauses of a virtual channel (priority-based flow control, IEEE 802.1Qbb). A buffer that holds more than xoff
    /// phits sends a frame that pauses the sender, and another when it holds no more than xon. Frames take the time of
    /// the link back. The sender grants nothing to a paused channel. Flits that have been granted go on.
    Pfc,
}

impl FlowControl {
    fn is_by_credits(&self) -> bool {
        *self == Self::Credits
    }
}

/// Pauses of links, with `flow_control = "pfc"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Phits of a frame. The default is the smallest Ethernet frame in phits of 8 bytes.
    #[schemars(range(min = 1, max = 65_535))]
    #[schemars(extend("x-unit" = "phits"))]
    pub frame: u32,
    /// Phits of each buffer beyond xoff, for what still comes when the buffer has asked for a pause. Left out: the
    /// least that loses nothing, for each class of links.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub headroom: Option<u32>,
    /// Phits from xon up to xoff. Left out: the largest packet, or all of xoff if that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "phits"))]
    pub hysteresis: Option<u32>,
}

impl Default for Pfc {
    fn default() -> Self {
        Self { frame: 8, headroom: None, hysteresis: None }
    }
}

/// The router: input buffers with queues, routing, allocation, a crossbar with latency and speedup, output buffers,
/// links.
///
/// ```toml
/// [router]
/// kind = "input_queued"
/// latency = 5
/// speedup = 2
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound(deserialize = "A: Deserialize<'de> + Default"))]
#[schemars(rename = "RouterParams", bound = "A: JsonSchema + Serialize + Default")]
pub struct RouterParams<A> {
    /// Router cycles from the grant of the crossbar to the output (buffer). With 0, a flit may be on the link in the
    /// cycle in which it is granted; links between routers then take at least a cycle.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "router cycles"))]
    pub latency: u32,
    /// Router cycles that a head spends at the front of its queue before it may first be allocated. They are its
    /// routing computation; the VC allocation stage, if any, comes after it. With 0, a head may be allocated in the
    /// cycle it arrives.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "router cycles"))]
    pub allocation_delay: u32,
    /// Crossbar frequency over link frequency, of at most three decimals.
    pub speedup: Speedup,
    /// Phits per cycle of the crossbar, before its speedup. If left out, it follows the links: a packet crosses at the
    /// rate of the faster of the two links that it comes and goes by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-unit" = "phits/cycle"))]
    pub crossbar_bandwidth: Option<Bandwidth>,
    /// Whether the speedup shortens transfers or adds allocation rounds.
    pub clock: Clock,
    /// Whether the speedup applies to inputs and outputs, or to outputs alone.
    pub inputs: Inputs,
    /// Paths from each input port into the crossbar. With n paths, queue q has path q modulo n. Flits of one input that
    /// have different paths cross at once (Dally and Towles, section 17.2).
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 64))]
    pub input_speedup: u32,
    /// Paths from the crossbar into each output port. With n paths, input i has path i modulo n. Flits on different
    /// paths come to one output at once. The link behind the output keeps its rate.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 64))]
    pub output_speedup: u32,
    /// How packets move.
    pub switching: Switching,
    /// Phits per flit under wormhole switching.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-unit" = "phits"))]
    pub flit_size: u32,
    /// When heads obtain output virtual channels.
    pub vc_allocation: VcAllocation,
    /// How virtual channels are allocated in a stage of their own. In this allocator, heads are inputs and channels are
    /// outputs: every head asks for the free ones among the channels that it may take. If left out, each channel
    /// chooses among the heads and each head among its channels, in turn, as iSLIP does. With `separable_input_first`,
    /// each head chooses first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vc_allocator: Option<A>,
    /// Which free virtual channels heads ask for (in a stage of their own).
    #[serde(skip_serializing_if = "VcEligible::is_free")]
    pub vc_eligible: VcEligible,
    /// Which of these channels heads prefer (with a `vc_allocator` that puts requests before others).
    #[serde(skip_serializing_if = "VcPreferred::is_any")]
    pub vc_preferred: VcPreferred,
    /// In which order heads have their turn at a virtual channel (in a stage of their own).
    #[serde(skip_serializing_if = "VcTurns::is_ports")]
    pub vc_turns: VcTurns,
    /// Which of several channels a packet takes, where channels come with the crossbar. Values other than the default
    /// need packets that move as a whole.
    #[serde(skip_serializing_if = "VcChoice::is_roomiest")]
    pub vc_choice: VcChoice,
    /// How requests without a channel rank among others (with `vc_allocation = "speculative"`).
    #[serde(skip_serializing_if = "Speculation::is_after")]
    pub speculation: Speculation,
    /// When a virtual channel is given to the next packet (wormhole switching only).
    #[serde(skip_serializing_if = "VcReuse::is_tail")]
    pub vc_reuse: VcReuse,
    /// How the crossbar is allocated.
    pub allocator: A,
    /// Rounds of allocation in a router cycle (FOGSim's `ArbiterIterations`). In each, inputs that have been granted
    /// nothing may ask again for outputs that have granted nothing. They ask for queues that they did not propose
    /// before, and for heads that decide again, with the resources that earlier rounds have left. More than 1 needs
    /// packets that move as a whole, and channels that come with the crossbar.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = MOST_ROUNDS))]
    pub allocation_rounds: u32,
    /// How long a pair of ports stays connected (wormhole switching only).
    #[serde(skip_serializing_if = "Connection::is_for_a_flit")]
    pub connection: Connection,
    /// Phits in the output buffer of each port, shared by its virtual channels and reserved at the grant. Credits for
    /// the next input buffer are taken at the grant too, so the output buffer is never blocked. `"infinite"` is limited
    /// by credits alone. With `credit_use = "link"`, each virtual channel has so many phits.
    #[schemars(extend("maximum" = LARGEST_OUTPUT_BUFFER))]
    #[schemars(extend("x-unit" = "phits"))]
    pub output_buffer: Phits,
    /// When a flit takes its room in an output buffer.
    #[serde(skip_serializing_if = "OutputRoom::is_at_the_grant")]
    pub output_room: OutputRoom,
    /// Which flit of an output buffer the link takes. `"packets"` needs `vc_allocation = "stage"`.
    #[serde(skip_serializing_if = "OutputOrder::is_of_crossing")]
    pub output_order: OutputOrder,
    /// Phits of a second output buffer of each port, for packets without data of a congestion control, with virtual
    /// channels of their own. The link takes these packets before data. They interrupt packets that the crossbar
    /// connects. Left out: they share the output buffer with data.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = LARGEST_OUTPUT_BUFFER))]
    #[schemars(extend("x-unit" = "phits"))]
    pub control_buffer: Option<u32>,
    /// How these packets cross.
    #[serde(skip_serializing_if = "ControlCrossing::is_in_place")]
    pub control_crossing: ControlCrossing,
    /// For which room these packets wait.
    #[serde(skip_serializing_if = "ControlRoom::is_own")]
    pub control_room: ControlRoom,
    /// When an output to an endpoint may be granted. Values other than the default need packets that move as a whole.
    #[serde(skip_serializing_if = "Ejection::is_when_output_free")]
    pub ejection: Ejection,
    /// How senders learn whether the next buffer has room.
    #[serde(skip_serializing_if = "FlowControl::is_by_credits")]
    pub flow_control: FlowControl,
    /// Frames and thresholds, with `flow_control = "pfc"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Pfc>,
    /// When credits are sent back.
    pub credit_release: CreditRelease,
    /// When packets take credits. `"link"` needs packets that move as a whole, and channels that come with the
    /// crossbar.
    #[serde(skip_serializing_if = "CreditUse::is_grant")]
    pub credit_use: CreditUse,
    /// How many credits an input port sends back at once. It matters where a speedup empties buffers faster than links
    /// fill them.
    pub credit_channel: CreditChannel,
    /// Cycles between the arrival of a credit and its use.
    #[schemars(range(max = LONGEST))]
    #[schemars(extend("x-unit" = "cycles"))]
    pub credit_delay: u32,
    /// The ports that a packet keeps busy if it crosses before its tail has arrived.
    pub cut_through: CutThrough,
    /// Transit traffic goes before injected traffic at every output.
    pub transit_priority: bool,
    /// Which injection queue a packet takes, unless the queue organisation says so.
    pub injection_queue: InjectionQueue,
    /// In which queues the packets of an endpoint wait for room in its injection queues.
    pub admittance: Admittance,
    /// Phits of each of these queues, with `per_destination`. A packet that finds no room is dropped at its source, as
    /// if it had not been generated. `"infinite"`: no limit.
    #[schemars(extend("x-unit" = "phits"))]
    pub admittance_room: Phits,
    /// When a mechanism decides about a head. `"front"` needs packets that move as a whole, channels that come with the
    /// crossbar, and `allocation_delay = 0`.
    #[serde(skip_serializing_if = "Decision::is_input_free")]
    pub decision: Decision,
    /// When adaptive mechanisms decide again about blocked heads.
    pub redecision: Redecision,
    /// How the virtual channels of a port share its memory, endpoints' ports included. With `links.endpoint.private`
    /// equal to `links.endpoint.buffer`, injection queues share nothing. Left out: each has a `buffer` of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// Links by class; `default` stands for the classes that are not listed.
    pub links: LinkTable,
}

impl<A: Default> Default for RouterParams<A> {
    fn default() -> Self {
        Self {
            latency: 1,
            allocation_delay: 0,
            speedup: Speedup::default(),
            crossbar_bandwidth: None,
            clock: Clock::Link,
            inputs: Inputs::Crossbar,
            input_speedup: 1,
            output_speedup: 1,
            switching: Switching::VirtualCutThrough,
            flit_size: 1,
            vc_allocation: VcAllocation::WithSwitch,
            vc_allocator: None,
            vc_eligible: VcEligible::Free,
            vc_preferred: VcPreferred::Any,
            vc_turns: VcTurns::Ports,
            vc_choice: VcChoice::Roomiest,
            speculation: Speculation::After,
            vc_reuse: VcReuse::Tail,
            allocator: A::default(),
            allocation_rounds: 1,
            connection: Connection::Flit,
            output_buffer: Phits::Infinite,
            output_room: OutputRoom::Granted,
            output_order: OutputOrder::Crossing,
            control_buffer: None,
            control_crossing: ControlCrossing::Interrupts,
            control_room: ControlRoom::Own,
            ejection: Ejection::OutputFree,
            flow_control: FlowControl::Credits,
            pfc: None,
            credit_release: CreditRelease::Input,
            credit_use: CreditUse::Grant,
            credit_channel: CreditChannel::Unlimited,
            credit_delay: 0,
            cut_through: CutThrough::Both,
            transit_priority: false,
            injection_queue: InjectionQueue::LeastOccupied,
            admittance: Admittance::Single,
            admittance_room: Phits::Infinite,
            decision: Decision::InputFree,
            redecision: Redecision::OnChange,
            sharing: None,
            links: LinkTable::new(),
        }
    }
}
