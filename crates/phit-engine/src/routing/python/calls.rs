//! The calls of a function about a router.
//!
//! Nothing here panics, because a panic must not leave a C function. Every number is checked before it is used, and a
//! number without meaning gives -1.

use crate::engine::Rng;
use crate::foreign::{RouterCalls, RouterSeen};
use crate::packet::Packet;
use crate::routing::{RouterView, ladder};

/// The view behind the calls.
#[allow(unsafe_code)]
fn view<'a>(seen: *const RouterSeen<'a>) -> &'a RouterView<'a> {
    // SAFETY: a function may pass on only the pointer that it was given (`foreign::register`). This pointer leads to a
    // `RouterSeen` on the stack of the caller, made by `super::seen` with the address of a `RouterView` that lives
    // until the function has returned. Both are only read.
    unsafe { &*(*seen).view().cast::<RouterView<'a>>() }
}

/// The port of that number.
fn port(view: &RouterView<'_>, number: i64) -> Option<u16> {
    u16::try_from(number).ok().filter(|port| *port < view.ports())
}

/// The virtual channel of that number.
fn channel(view: &RouterView<'_>, port: u16, number: i64) -> Option<u8> {
    let count = view.vcs().get(usize::from(view.class(port))).copied().unwrap_or(0);
    u8::try_from(number).ok().filter(|vc| *vc < count)
}

fn router(view: &RouterView<'_>, number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|router| *router < view.topology.routers())
}

/// An answer; -1 if there is none.
fn answer(found: Option<impl Into<i64>>) -> i64 {
    found.map_or(-1, Into::into)
}

pub(super) static CALLS: RouterCalls = RouterCalls {
    link_class,
    vcs,
    capacity,
    occupancy,
    port_occupancy,
    idle,
    takes,
    neighbour,
    distance,
    group,
    routers,
    draw,
    permits,
    random,
    below,
};

extern "C" fn link_class(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    let view = view(seen);
    answer(port(view, number).map(|port| view.class(port)))
}

extern "C" fn vcs(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    let view = view(seen);
    answer(port(view, number).and_then(|port| view.vcs().get(usize::from(view.class(port))).copied()))
}

extern "C" fn capacity(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    let view = view(seen);
    answer(port(view, number).and_then(|port| view.capacity().get(usize::from(view.class(port))).copied()))
}

extern "C" fn occupancy(seen: *const RouterSeen<'_>, number: i64, vc: i64) -> i64 {
    let view = view(seen);
    let place = port(view, number).and_then(|port| Some((port, channel(view, port, vc)?)));
    answer(place.map(|(port, vc)| view.occupancy(port, vc)))
}

extern "C" fn port_occupancy(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    let view = view(seen);
    answer(port(view, number).map(|port| view.port_occupancy(port)))
}

extern "C" fn idle(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    let view = view(seen);
    answer(port(view, number).map(|port| view.idle(port)))
}

extern "C" fn takes(seen: *const RouterSeen<'_>, number: i64, vc: i64, phits: i64) -> i64 {
    let view = view(seen);
    let place = port(view, number).and_then(|port| Some((port, channel(view, port, vc)?)));
    answer(place.and_then(|(port, vc)| Some(view.takes(port, vc, u32::try_from(phits).ok()?))))
}

extern "C" fn neighbour(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    let view = view(seen);
    answer(port(view, number).and_then(|port| ladder::behind(view.topology, view.router, port)))
}

extern "C" fn distance(seen: *const RouterSeen<'_>, from: i64, to: i64) -> i64 {
    let view = view(seen);
    let ends = router(view, from).and_then(|from| Some((from, router(view, to)?)));
    answer(ends.map(|(from, to)| view.topology.distance(from, to)))
}

extern "C" fn group(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    let view = view(seen);
    answer(router(view, number).map(|router| view.topology.group_of(router)))
}

extern "C" fn routers(seen: *const RouterSeen<'_>) -> i64 {
    view(seen).topology.routers().into()
}

/// The packet that a function hands over.
#[allow(unsafe_code)]
fn handed<'a>(packet: *const Packet) -> &'a Packet {
    // SAFETY: a function may pass on only the packet that it was given (`foreign::register`). It is a reference of its
    // caller's, which outlives the function's run and through which nothing is written meanwhile.
    unsafe { &*packet }
}

extern "C" fn draw(seen: *const RouterSeen<'_>, packet: *const Packet, stream: i64) -> f64 {
    view(seen).stream_of(handed(packet), view(seen).router, stream as u8).unit()
}

#[allow(unsafe_code)]
extern "C" fn permits(seen: *const RouterSeen<'_>, packet: *const Packet, number: i64) -> i64 {
    let view = view(seen);
    // SAFETY: `seen` is the pointer that the function was given, see `view`.
    let left = unsafe { (*seen).left };
    answer(port(view, number).map(|port| may_take(view, handed(packet), port, left)))
}

/// True if a packet may take `port` and a minimal route of at most `left` links from behind it.
pub(super) fn may_take(view: &RouterView<'_>, packet: &Packet, port: u16, left: u32) -> bool {
    ladder::behind(view.topology, view.router, port)
        .is_some_and(|next| view.topology.distance(next, packet.destination_router) <= left)
}

/// The stream that a function may draw from, if any.
#[allow(unsafe_code)]
fn stream<'a>(seen: *const RouterSeen<'_>) -> Option<&'a mut Rng> {
    // SAFETY: `seen` is the pointer that the function was given, see `view`. The stream in it is null, or comes from a
    // mutable reference that `RouterSeen::of_route` holds as long as the function runs. It runs in one thread and waits
    // for the call, so that the reference made here is the only one in use until the call returns.
    unsafe { (*seen).rng().as_mut() }
}

extern "C" fn random(seen: *const RouterSeen<'_>) -> f64 {
    stream(seen).map_or(0.0, Rng::unit)
}

extern "C" fn below(seen: *const RouterSeen<'_>, number: i64) -> i64 {
    match (stream(seen), u32::try_from(number)) {
        (Some(rng), Ok(number @ 1..)) => rng.below(number).into(),
        _ => 0,
    }
}
