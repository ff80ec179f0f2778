//! Kinds of events. The kind is the list of the wheel in which the event stands. Rare kinds share a list, and the top
//! bits of the target tell them apart. In mail, these bits tell all kinds apart.

use crate::engine::{Event, Tick, Wheel};

/// A flit arrives in queue `target`: the head of packet `data`, or a later flit if `data` is `NONE`.
pub(crate) const ARRIVAL: u32 = 0;
/// Credit for output port `target`, or for the endpoint `target` less the number of ports: a virtual channel and a
/// number of phits, packed in `data` by `pack_credit`.
pub(crate) const CREDIT: u32 = 1;
/// The tail of packet `target` has reached its endpoint in virtual channel `data`.
pub(crate) const DELIVERY: u32 = 2;
/// Input port `target` may be free again.
pub(crate) const INPUT: u32 = 3;
/// Output port `target` may be free again; or, if `data` is not 0, the endpoint behind it has begun to take a packet
/// until tick `data`.
pub(crate) const OUTPUT: u32 = 4;
/// The front of queue `target` may be allocated from now on.
pub(crate) const READY: u32 = 5;
/// Endpoint `target` may have something to send.
pub(crate) const SEND: u32 = 6;
/// The tail of the first packet of queue `target` has left it (for mechanisms that count heads).
pub(crate) const TAIL: u32 = 7;
/// Control message `target` has come.
pub(crate) const MESSAGE: u32 = 8;
/// The tail of packet `target` has gone over a broken link.
pub(crate) const LOSS: u32 = 9;

/// A manager wants to review input port `target`.
pub(crate) const REVIEW: u32 = 10;

/// Hosts have something to do: they do it in every tick in which anything happens.
pub(crate) const HOST: u32 = 11;

/// No more comes of the packet that is coming to queue `target`.
pub(crate) const CUT: u32 = 12;

/// The head of a packet of data is put on the link behind output `target`, where a router may mark it.
pub(crate) const DEPARTURE: u32 = 13;

/// The head that enters queue `target` in this tick has been marked.
pub(crate) const MARK: u32 = 14;

/// The head of packet `target` has reached its endpoint, and its tail has not.
pub(crate) const HEAD: u32 = 15;

/// Bits of the index below the kind.
const SHIFT: u32 = 28;
/// Largest index.
const MASK: u32 = (1 << SHIFT) - 1;

/// The list of the wheel for events of a kind. The last list has all rare kinds.
#[inline(always)]
pub(crate) const fn list(kind: u32) -> u32 {
    if kind < RARE { kind } else { RARE }
}

/// The list of the rare kinds.
pub(crate) const RARE: u32 = crate::engine::LISTS - 1;

/// Files an event for tick `at` in the wheel of a partition that has handled everything up to tick `now`.
#[inline(always)]
pub(crate) fn file_in(wheel: &mut Wheel, (now, at): (Tick, Tick), kind: u32, target: u32, data: u32) {
    wheel.insert(now, at, list(kind), listed(kind, target, data));
}

/// The event as it stands in its list.
#[inline(always)]
const fn listed(kind: u32, target: u32, data: u32) -> Event {
    let tag = if kind < RARE { 0 } else { kind << SHIFT };
    Event { target: tag | target, data }
}

/// Kind and target of an event of `list`.
#[inline(always)]
pub(crate) const fn of_listed(list: u32, event: Event) -> (u32, u32) {
    if list < RARE { (list, event.target) } else { of_mail(event) }
}

/// The event as it goes by mail.
#[inline(always)]
pub(crate) const fn mailed(kind: u32, target: u32, data: u32) -> Event {
    Event { target: kind << SHIFT | target, data }
}

/// Kind and target of an event that has come by mail.
#[inline(always)]
pub(crate) const fn of_mail(event: Event) -> (u32, u32) {
    (event.target >> SHIFT, event.target & MASK)
}

/// In the data of a credit: it is for room in the output buffer in front of the link, where packets take the next input
/// buffer's credits at the link.
pub(crate) const ROOM: u32 = 1 << 31;

/// A virtual channel (up to 1,024) and a flit's size in phits in one word.
#[inline]
pub(crate) fn pack_credit(vc: u32, phits: u32) -> u32 {
    vc << 20 | phits
}

#[inline]
pub(crate) fn unpack_credit(data: u32) -> (u32, i32) {
    (data >> 20, (data & 0xf_ffff) as i32)
}
