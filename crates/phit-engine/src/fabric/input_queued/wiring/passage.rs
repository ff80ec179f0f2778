//! The times of a granted flit: on the crossbar, in the output buffer, on the link.

use crate::engine::Tick;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::pace::Pace;
use crate::fabric::input_queued::options::settings::{Settings, Times};
use std::hint::select_unpredictable;

/// The times of a granted flit.
pub(crate) struct Passage {
    /// From this tick on, its input may send the next flit.
    pub(crate) occupied: Tick,
    /// From this tick on, the crossbar side of its output is free.
    pub(crate) held: Tick,
    /// The flit has left the input buffer.
    pub(crate) left: Tick,
    /// The flit starts on the link.
    pub(crate) start: Tick,
    /// Parts of a tick by which the flit starts before `start`; a tick has 65536.
    pub(crate) early: u16,
    /// From this tick on, the link is free.
    pub(crate) free: Tick,
    /// The link has taken all phits.
    pub(crate) end: Tick,
    /// Class of that link.
    pub(crate) class: usize,
}

impl Passage {
    /// The passage of a flit of `size` phits. It came over a link of class `came_by`, and its first phit entered its
    /// queue at `entry`. It leaves over an output of `class` whose link is free from `free` on.
    #[inline(always)]
    pub(crate) fn new<K: Kernel>(
        settings: &Settings,
        times: &Times,
        (came_by, class): (usize, usize),
        (now, entry, free): (Tick, Tick, Tick),
        size: u32,
    ) -> Self {
        // A cut-through transfer lasts until the flit's last phit is in.
        let arrived = entry + times.arrival[came_by];
        let (needed, latency) = match settings.choices.pace {
            Some(pace) if K::EXTRAS => paced(pace, now, [times.crossing, settings.router_latency]),
            _ => (times.crossing, settings.router_latency),
        };
        let (busy, through) = match settings.ideal::<K>() {
            true => (now, later(now, arrived)),
            false => (later(now + needed, arrived), later(now + needed, arrived)),
        };
        let taken = if settings.choices.cut_through_holds_input { busy } else { busy.min(now + needed) };
        let serialisation = times.serialisation[class];
        // Its last phit does not leave before it has come through.
        let enters = later(now + serialisation, through) - serialisation + latency;
        let earliest = later(enters, free);
        let start = settings.starts.align(earliest);
        Self {
            occupied: match K::EXTRAS && settings.choices.inputs_at_link_rate {
                true => taken.max(now - now % settings.ticks_per_cycle + size * settings.ticks_per_cycle),
                false => taken,
            },
            held: if settings.choices.cut_through_holds_output { busy } else { now + needed },
            left: through.max(now + 1),
            start,
            early: 0,
            free: start + serialisation,
            end: start + serialisation,
            class,
        }
    }
}

/// The later of two ticks. No branch: a processor could not predict it.
#[inline(always)]
pub(crate) fn later(a: Tick, b: Tick) -> Tick {
    select_unpredictable(a < b, b, a)
}

/// Ticks from `now` until the routers have taken the given numbers of `steps`.
#[cold]
#[inline(never)]
pub(crate) fn paced(pace: Pace, now: Tick, steps: [Tick; 2]) -> (Tick, Tick) {
    let [crossing, latency] = steps.map(|steps| pace.after(now, steps) - now);
    (crossing, latency)
}
