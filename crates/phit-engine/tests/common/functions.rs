//! Functions in the form that a compiler of Python would produce, written in Rust. Scenarios of the tests name them.

use phit_engine::foreign::{
    self, Functions, Name, PortSeen, Role, RouterSeen, RuleFunctions, SourceSeen, TriggerFunctions,
};
use phit_engine::packet::Packet;

/// Registers all functions. Repeated calls do no harm.
pub fn register() {
    let trigger = |fires, admits, minds, reads_heads, reads_outputs| {
        Functions::Trigger(TriggerFunctions { fires, admits, minds, reads_heads, reads_outputs })
    };
    let rule = |decides, reads_heads| Functions::Rule(RuleFunctions { decides, reads_heads });
    for (role, function, functions) in [
        (Role::Trigger, "base", trigger(contended, Some(calm), None, true, false)),
        (Role::Trigger, "mindful", trigger(contended, Some(calm), Some(crossed), true, false)),
        (Role::Trigger, "fuller", trigger(fuller, None, None, false, true)),
        (Role::Rule, "counters", rule(counters, true)),
        (Role::Rule, "minimal", rule(minimal, false)),
        (Role::Pattern, "turn", Functions::Pattern(turn)),
        (Role::Pattern, "others", Functions::Pattern(others)),
        (Role::Probe, "held", Functions::Probe(held)),
        (Role::Probe, "charged", Functions::Probe(charged)),
    ] {
        let name = Name { role, function: function.to_owned(), source: source(function) };
        // SAFETY: these are functions of the types that the engine requires, and they live as long as the process. They
        // read only through the pointers that they are given, call only the calls of their views, and do not panic:
        // they index with `get`.
        unsafe { foreign::register(name, functions) };
    }
}

/// Replaces the source text of a function.
pub fn source(function: &str) -> Vec<String> {
    vec!["# In Rust.".to_owned(), format!("def {function}(): ...")]
}

fn heads(seen: &RouterSeen<'_>, port: i64) -> f64 {
    usize::try_from(port).ok().and_then(|port| seen.heads().get(port)).copied().unwrap_or(0).into()
}

fn parameter(seen: &RouterSeen<'_>, index: usize) -> f64 {
    seen.parameters().get(index).copied().unwrap_or(0.0)
}

// SAFETY, for all functions below: the engine calls them with pointers to a view, and to a packet, which are valid
// while they run. They pass on no other pointers.

unsafe extern "C" fn contended(seen: *const RouterSeen<'_>, _: *const Packet) -> u8 {
    let seen = unsafe { &*seen };
    u8::from(heads(seen, seen.minimal.into()) > parameter(seen, 0))
}

unsafe extern "C" fn calm(seen: *const RouterSeen<'_>, _: *const Packet, port: i64) -> u8 {
    let seen = unsafe { &*seen };
    u8::from(heads(seen, port) < parameter(seen, 0))
}

/// The steps that Base minds: to the threshold, and to the first count beyond it.
unsafe extern "C" fn crossed(seen: *const RouterSeen<'_>, _: i64, count: i64) -> u8 {
    let over = count - parameter(unsafe { &*seen }, 0) as i64;
    u8::from(over == 0 || over == 1)
}

/// Leaves a port that is fuller than its two neighbours by number, for one packet in two.
unsafe extern "C" fn fuller(seen: *const RouterSeen<'_>, packet: *const Packet) -> u8 {
    let router = unsafe { &*seen };
    let (calls, port) = (router.calls(), i64::from(router.minimal));
    let of = |port: i64| unsafe { (calls.port_occupancy)(seen, port) };
    let full = of(port) > of(port - 1).max(of(port + 1)).max(0);
    u8::from(full && unsafe { (calls.draw)(seen, packet, 1) } < 0.5)
}

/// Contention counters on any network, at the source's router, as the kernel's own `contention_graph` has them.
unsafe extern "C" fn counters(seen: *const RouterSeen<'_>, packet: *const Packet) -> i64 {
    let (router, of) = unsafe { (&*seen, &*packet) };
    let (calls, minimal) = (router.calls(), i64::from(router.minimal));
    let threshold = parameter(router, 0);
    if of.hops.total() > 0 || heads(router, minimal) <= threshold {
        return minimal;
    }
    let takes = |port: i64| unsafe { (calls.takes)(seen, port, 0, of.size.into()) } == 1;
    let may = |port: i64| port != minimal && unsafe { (calls.permits)(seen, packet, port) } == 1;
    let found = |port: &i64| may(*port) && takes(*port) && heads(router, *port) < threshold;
    let count = (0..i64::from(router.ports)).filter(found).count();
    if count == 0 {
        return minimal;
    }
    let drawn = unsafe { (calls.below)(seen, count as i64) } as usize;
    (0..i64::from(router.ports)).filter(found).nth(drawn).unwrap_or(minimal)
}

unsafe extern "C" fn minimal(seen: *const RouterSeen<'_>, _: *const Packet) -> i64 {
    unsafe { &*seen }.minimal.into()
}

/// The endpoint opposite by number.
unsafe extern "C" fn turn(seen: *const SourceSeen<'_>) -> i64 {
    let seen = unsafe { &*seen };
    i64::from((seen.source + seen.endpoints / 2) % seen.endpoints.max(1))
}

/// Any endpoint but the source.
unsafe extern "C" fn others(seen: *const SourceSeen<'_>) -> i64 {
    let source = unsafe { &*seen };
    let drawn = unsafe { (source.calls().below)(seen, i64::from(source.endpoints) - 1) };
    drawn + i64::from(drawn >= i64::from(source.source))
}

/// Phits in all queues of a port, or nothing where there are none.
unsafe extern "C" fn held(seen: *const PortSeen<'_>) -> i64 {
    let port = unsafe { &*seen };
    let of = |queue: u16| unsafe { (port.calls().input_phits)(seen, queue.into()) };
    let phits: i64 = (0..port.queues).map(of).sum();
    if phits > 0 { phits } else { -1 }
}

/// Phits charged against the first channel of a port.
unsafe extern "C" fn charged(seen: *const PortSeen<'_>) -> i64 {
    unsafe { ((*seen).calls().output_phits)(seen, 0) }
}
