//! Functions compiled by the caller and called through C pointers: the way in which a Python function becomes a
//! mechanism.
//!
//! A document names such a function by its role, name and source text, never by an address. The program that compiles
//! the text [`register`]s the result before a network with it is built. This module defines the C structs that a
//! function sees. [`layout`] tells the functions' compiler where their fields are.

use crate::engine::{Rng, Tick};
use crate::error::{ScenarioError, join};
use crate::packet::Packet;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ptr;
use std::sync::{LazyLock, PoisonError, RwLock};

/// The role of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Decides when a packet leaves its minimal route.
    Trigger,
    /// Decides over which port a packet goes on.
    Rule,
    /// Decides the destination of a packet.
    Pattern,
    /// Observes the ports of routers.
    Probe,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Trigger, Self::Rule, Self::Pattern, Self::Probe];

    /// The `kind` of tables that name such functions.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Trigger => "python_trigger",
            Self::Rule => "python_rule",
            Self::Pattern => "python_pattern",
            Self::Probe => "python_probe",
        }
    }

    /// The role of functions that tables of a `kind` name.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.kind() == kind)
    }
}

/// The identity of a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// Its role.
    pub role: Role,
    /// Its name in the source text.
    pub function: String,
    /// The source text, line by line.
    pub source: Vec<String>,
}

impl Name {
    /// The name of a function in a table; refuses a table that names none.
    pub fn new(role: Role, function: &str, source: &[String]) -> Result<Self, ScenarioError> {
        if function.is_empty() {
            return Err(ScenarioError::missing("function", "expected the name of a Python function"));
        }
        if source.is_empty() {
            return Err(ScenarioError::missing("source", "expected its source text, or the `file` in which it stands"));
        }
        Ok(Self { role, function: function.to_owned(), source: source.to_vec() })
    }
}

/// Numbers for the parameters of a function, by their names.
pub type Parameters = BTreeMap<String, f64>;

/// The parameters' values in the order of their names, as functions see them.
pub(crate) fn values(parameters: &Parameters) -> Vec<f64> {
    parameters.values().copied().collect()
}

/// A routing mechanism's function sees a router through this struct.
///
/// Arguments and results of its calls are whole numbers of 64 bits. A call with a number that does not exist in the
/// network returns -1.
#[repr(C)]
pub struct RouterSeen<'a> {
    calls: *const RouterCalls,
    /// The object behind the calls, opaque to functions.
    view: *const (),
    /// The router's random stream; null where no random draws are allowed.
    rng: *mut Rng,
    parameters: *const f64,
    heads: *const u16,
    /// This router.
    pub router: u32,
    /// The packet's minimal output port.
    pub minimal: u16,
    /// Number of ports.
    pub ports: u16,
    /// Input port at which the packet stands.
    pub port: u16,
    /// Its queue at that port.
    pub queue: u16,
    /// Number of links that the packet may take after the next one.
    pub left: u32,
    parameter_count: u32,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> RouterSeen<'a> {
    /// A view of a router. `heads` has at least one counter for each port.
    pub(crate) fn new(
        calls: &'static RouterCalls,
        view: *const (),
        router: u32,
        parameters: &'a [f64],
        heads: &'a [u16],
        ports: u16,
    ) -> Self {
        debug_assert!(heads.len() >= usize::from(ports));
        let ports = ports.min(u16::try_from(heads.len()).unwrap_or(u16::MAX));
        Self {
            calls,
            view,
            rng: ptr::null_mut(),
            parameters: parameters.as_ptr(),
            heads: heads.as_ptr(),
            router,
            minimal: 0,
            ports,
            port: 0,
            queue: 0,
            left: 0,
            parameter_count: u32::try_from(parameters.len()).unwrap_or(0),
            lifetime: PhantomData,
        }
    }

    /// This view for the packet at the head of a queue of an input port, with its minimal output port.
    pub(crate) fn of_head(self, minimal: u16, port: u16, queue: u16) -> Self {
        Self { minimal, port, queue, ..self }
    }

    /// This view for a packet that may take `left` links after the next one, with a random stream.
    pub(crate) fn of_route(self, left: u32, rng: &'a mut Rng) -> Self {
        Self { left, rng: ptr::from_mut(rng), ..self }
    }

    /// The object behind the calls.
    pub(crate) fn view(&self) -> *const () {
        self.view
    }

    /// The random stream, if there is one.
    pub(crate) fn rng(&self) -> *mut Rng {
        self.rng
    }

    /// The parameters given in the document, in the order of their names.
    #[allow(unsafe_code)]
    pub fn parameters(&self) -> &'a [f64] {
        // SAFETY: only `new` makes this struct. It took pointer and length from one slice, which outlives `'a`.
        unsafe { std::slice::from_raw_parts(self.parameters, self.parameter_count as usize) }
    }

    /// Number of heads that want each output port.
    #[allow(unsafe_code)]
    pub fn heads(&self) -> &'a [u16] {
        // SAFETY: only `new` makes this struct. The slice behind the pointer outlives `'a` and has at least `ports`
        // elements.
        unsafe { std::slice::from_raw_parts(self.heads, self.ports.into()) }
    }

    /// The questions that can be asked about the router.
    #[allow(unsafe_code)]
    pub fn calls(&self) -> &'static RouterCalls {
        // SAFETY: only `new` makes this struct, and it took the pointer from a reference that lives for ever.
        unsafe { &*self.calls }
    }
}

/// Calls without arguments, and with one to three numbers.
type Ask0 = unsafe extern "C" fn(*const RouterSeen<'_>) -> i64;
type Ask1 = unsafe extern "C" fn(*const RouterSeen<'_>, i64) -> i64;
type Ask2 = unsafe extern "C" fn(*const RouterSeen<'_>, i64, i64) -> i64;
type Ask3 = unsafe extern "C" fn(*const RouterSeen<'_>, i64, i64, i64) -> i64;
type Draw = unsafe extern "C" fn(*const RouterSeen<'_>) -> f64;
type Permits = unsafe extern "C" fn(*const RouterSeen<'_>, *const Packet, i64) -> i64;
type OfPacket = unsafe extern "C" fn(*const RouterSeen<'_>, *const Packet, i64) -> f64;

/// The questions that a function can ask about a router.
#[repr(C)]
pub struct RouterCalls {
    /// Class of the link at a port.
    pub link_class: Ask1,
    /// Virtual channels of a port.
    pub vcs: Ask1,
    /// Size in phits of the buffer behind a virtual channel of a port.
    pub capacity: Ask1,
    /// Phits charged against a virtual channel (second argument) of an output port (first).
    pub occupancy: Ask2,
    /// Phits charged against all virtual channels of an output port.
    pub port_occupancy: Ask1,
    /// Whether a port's side of the crossbar is free now.
    pub idle: Ask1,
    /// Whether a virtual channel (second argument) of an output port (first) accepts this number of phits (third) now.
    pub takes: Ask3,
    /// The router behind a port, or -1.
    pub neighbour: Ask1,
    /// Links on a minimal route between two routers.
    pub distance: Ask2,
    /// The group of a router.
    pub group: Ask1,
    /// Number of routers.
    pub routers: Ask0,
    /// A number from 0 to 1 for a packet at this router, constant for each of 256 streams.
    pub draw: OfPacket,
    /// Whether a packet may go on over a port: the minimal route from there must not be too long.
    pub permits: Permits,
    /// A number from 0 to 1 from the router's random stream; 0 without one.
    pub random: Draw,
    /// A whole number below the argument, from the router's random stream.
    pub below: Ask1,
}

/// Whether a packet should leave its minimal output.
pub type Fires = unsafe extern "C" fn(*const RouterSeen<'_>, *const Packet) -> u8;
/// Whether a packet may take another output port instead.
pub type Admits = unsafe extern "C" fn(*const RouterSeen<'_>, *const Packet, i64) -> u8;
/// Whether it matters that an output port's (first argument) counter steps between a number of heads (second) and one
/// less.
pub type Minds = unsafe extern "C" fn(*const RouterSeen<'_>, i64, i64) -> u8;

/// The functions of a trigger.
#[derive(Debug, Clone, Copy)]
pub struct TriggerFunctions {
    /// The trigger.
    pub fires: Fires,
    /// The outputs that it leaves for; all if there is no such function.
    pub admits: Option<Admits>,
    /// The steps of counters that matter to it; all if there is no such function.
    pub minds: Option<Minds>,
    /// True if they read counters of heads.
    pub reads_heads: bool,
    /// True if they read the state of outputs.
    pub reads_outputs: bool,
}

/// Returns the output port of a packet; less than 0 for none yet.
pub type Decides = unsafe extern "C" fn(*const RouterSeen<'_>, *const Packet) -> i64;

/// The functions of a rule.
#[derive(Debug, Clone, Copy)]
pub struct RuleFunctions {
    /// The rule.
    pub decides: Decides,
    /// True if it reads counters of heads.
    pub reads_heads: bool,
}

/// A traffic pattern's function sees a source through this struct.
#[repr(C)]
pub struct SourceSeen<'a> {
    calls: *const SourceCalls,
    rng: *mut Rng,
    parameters: *const f64,
    /// The router of each endpoint.
    attachments: *const u32,
    /// Number of endpoints.
    pub endpoints: u32,
    /// Number of routers.
    pub routers: u32,
    /// Endpoint that generates the packet.
    pub source: u32,
    /// Number of messages that it has generated before.
    pub number: u32,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> SourceSeen<'a> {
    /// `attachments` has the router of each endpoint.
    pub(crate) fn new(
        calls: &'static SourceCalls,
        (source, number): (u32, u32),
        routers: u32,
        attachments: &'a [u32],
        parameters: &'a [f64],
        rng: &'a mut Rng,
    ) -> Self {
        Self {
            calls,
            rng: ptr::from_mut(rng),
            parameters: parameters.as_ptr(),
            attachments: attachments.as_ptr(),
            endpoints: u32::try_from(attachments.len()).unwrap_or(0),
            routers,
            source,
            number,
            lifetime: PhantomData,
        }
    }

    /// The source's random stream.
    pub(crate) fn rng(&self) -> *mut Rng {
        self.rng
    }

    /// The random draws on offer.
    #[allow(unsafe_code)]
    pub fn calls(&self) -> &'static SourceCalls {
        // SAFETY: only `new` makes this struct, and it took the pointer from a reference that lives for ever.
        unsafe { &*self.calls }
    }
}

/// The random draws on offer for a packet.
#[repr(C)]
pub struct SourceCalls {
    /// A number from 0 to 1 from the source's random stream.
    pub random: unsafe extern "C" fn(*const SourceSeen<'_>) -> f64,
    /// A whole number below the argument, from the source's random stream.
    pub below: unsafe extern "C" fn(*const SourceSeen<'_>, i64) -> i64,
}

/// Returns the destination endpoint of a packet; less than 0 for none.
pub type Chooses = unsafe extern "C" fn(*const SourceSeen<'_>) -> i64;

/// A probe's function sees a port through this struct.
#[repr(C)]
pub struct PortSeen<'a> {
    calls: *const PortCalls,
    /// The object behind the calls, opaque to functions.
    at: *const (),
    parameters: *const f64,
    /// Router of the port.
    pub router: u32,
    /// The port.
    pub port: u16,
    /// Class of its link.
    pub link_class: u8,
    /// Virtual channels (queues) of the port.
    pub queues: u16,
    /// Router behind it; all ones if there is none.
    pub neighbour: u32,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> PortSeen<'a> {
    /// A view of a router's port. `at` is the object behind the calls.
    pub(crate) fn new(
        calls: &'static PortCalls,
        at: *const (),
        parameters: &'a [f64],
        (router, port): (u32, u16),
        (link_class, queues): (u8, u16),
        neighbour: u32,
    ) -> Self {
        let parameters = parameters.as_ptr();
        Self { calls, at, parameters, router, port, link_class, queues, neighbour, lifetime: PhantomData }
    }

    /// The object behind the calls.
    pub(crate) fn at(&self) -> *const () {
        self.at
    }

    /// The questions that can be asked about the port.
    #[allow(unsafe_code)]
    pub fn calls(&self) -> &'static PortCalls {
        // SAFETY: only `new` makes this struct, and it took the pointer from a reference that lives for ever.
        unsafe { &*self.calls }
    }
}

/// A question about a queue of a port.
type OfQueue = unsafe extern "C" fn(*const PortSeen<'_>, i64) -> i64;

/// The questions that a function can ask about a port.
#[repr(C)]
pub struct PortCalls {
    /// Phits in an input queue.
    pub input_phits: OfQueue,
    /// Phits charged against a virtual channel of the output; -1 if it leads to no router.
    pub output_phits: OfQueue,
    /// Heads that have entered an input queue in this cycle and are still in it.
    pub arrivals: OfQueue,
}

/// Returns the value of a port; less than 0 for none.
pub type Looks = unsafe extern "C" fn(*const PortSeen<'_>) -> i64;

/// The functions compiled from one source text.
#[derive(Debug, Clone, Copy)]
pub enum Functions {
    /// Of a trigger.
    Trigger(TriggerFunctions),
    /// Of a rule.
    Rule(RuleFunctions),
    /// Of a traffic pattern.
    Pattern(Chooses),
    /// Of a probe.
    Probe(Looks),
}

static REGISTERED: LazyLock<RwLock<HashMap<Name, Functions>>> = LazyLock::new(RwLock::default);

/// Registers functions under a name. Networks that are built later use the latest registration.
///
/// # Safety
///
/// For the rest of the process, every pointer must point to a function of its type that may be called from any thread,
/// several at a time. While a function runs, it may read through its argument pointers, within the fields that
/// [`layout`] describes. It may call the calls of its arguments with the pointers that it was given. It must not access
/// other memory that it does not own. It returns, and does not unwind.
#[allow(unsafe_code)]
pub unsafe fn register(name: Name, functions: Functions) {
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).insert(name, functions);
}

/// The functions registered under that name, if any.
pub fn find(name: &Name) -> Option<Functions> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
}

/// All names of functions in a document below `path`, with the paths of the tables.
pub fn names(path: &str, value: &Value, found: &mut Vec<(String, Name)>) {
    match value {
        Value::Object(table) => {
            let kind = table.get("kind").and_then(Value::as_str);
            if let Some(role) = kind.and_then(Role::of_kind) {
                let function = table.get("function").and_then(Value::as_str).unwrap_or_default().to_owned();
                let lines = table.get("source").and_then(Value::as_array).into_iter().flatten();
                let source = lines.filter_map(Value::as_str).map(str::to_owned).collect();
                found.push((path.to_owned(), Name { role, function, source }));
            }
            table.iter().for_each(|(key, inner)| names(&join(path, key), inner, found));
        }
        Value::Array(list) => {
            let inner = list.iter().enumerate().filter(|(_, inner)| inner.is_object());
            inner.for_each(|(i, inner)| names(&format!("{path}[{i}]"), inner, found));
        }
        _ => {}
    }
}

/// Where fields lie in a struct, with their types.
macro_rules! fields {
    ($of:ty { $($name:ident: $type:ident),+ $(,)? }) => {{
        $(const _: fn(&$of) = |of| {
            let _: &$type = &of.$name;
        };)+
        let fields = [$((stringify!($name), offset_of!($of, $name), stringify!($type))),+];
        fields.map(|(name, at, kind)| (name.to_owned(), json!([at, kind]))).into_iter().collect::<Map<_, _>>()
    }};
}

/// The positions of calls in a struct.
macro_rules! calls {
    ($of:ty { $($name:ident),+ $(,)? }) => {{
        let calls = [$((stringify!($name), offset_of!($of, $name))),+];
        calls.map(|(name, at)| (name.to_owned(), json!(at))).into_iter().collect::<Map<_, _>>()
    }};
}

/// The memory layout of the structs that functions see. For each struct: the fields with offset and type, and the calls
/// with the offset of their pointer.
pub fn layout() -> Value {
    json!({
        "packet": { "fields": fields!(Packet {
            source: u32, destination: u32, destination_router: u32, birth: Tick, size: u16, came_by: u8, came_in: u8,
            misrouted: u8,
        }), "hops": offset_of!(Packet, hops) },
        "router": {
            "fields": fields!(RouterSeen<'_> {
                router: u32, minimal: u16, ports: u16, port: u16, queue: u16, left: u32,
            }),
            "parameters": offset_of!(RouterSeen<'_>, parameters),
            "heads": offset_of!(RouterSeen<'_>, heads),
            "table": offset_of!(RouterSeen<'_>, calls),
            "calls": calls!(RouterCalls {
                link_class, vcs, capacity, occupancy, port_occupancy, idle, takes, neighbour, distance, group, routers,
                draw, permits, random, below,
            }),
        },
        "source": {
            "fields": fields!(SourceSeen<'_> { endpoints: u32, routers: u32, source: u32, number: u32 }),
            "parameters": offset_of!(SourceSeen<'_>, parameters),
            "attachments": offset_of!(SourceSeen<'_>, attachments),
            "table": offset_of!(SourceSeen<'_>, calls),
            "calls": calls!(SourceCalls { random, below }),
        },
        "port": {
            "fields": fields!(PortSeen<'_> { router: u32, port: u16, link_class: u8, queues: u16, neighbour: u32 }),
            "parameters": offset_of!(PortSeen<'_>, parameters),
            "table": offset_of!(PortSeen<'_>, calls),
            "calls": calls!(PortCalls { input_phits, output_phits, arrivals }),
        },
    })
}
