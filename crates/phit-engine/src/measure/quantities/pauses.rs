//! Pauses of links under priority-based flow control.

use super::Counts;
use crate::measure::declare::{NUMBER, Part, Quantity, Shape, When, unit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Counts in the measured time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    frames: u64,
    begun: u64,
    ticks: u64,
    beyond: u32,
}

impl Pauses {
    /// A frame is put on a link.
    pub fn frames(&mut self, recorded: bool) {
        self.frames += u64::from(recorded);
    }

    /// A virtual channel of a link pauses.
    pub fn begins(&mut self, recorded: bool) {
        self.begun += u64::from(recorded);
    }

    /// A pause has lasted for `ticks` of the measured time.
    pub fn lasted(&mut self, ticks: u32) {
        self.ticks += u64::from(ticks);
    }

    /// A buffer exceeds xoff by `phits`.
    pub fn exceeds(&mut self, phits: u32, recorded: bool) {
        if recorded {
            self.beyond = self.beyond.max(phits);
        }
    }
}

impl Counts for Pauses {
    const QUANTITIES: &'static [Quantity] = &[Quantity {
        name: "pauses",
        words: "pauses of links",
        about: "What priority-based flow control did in the measured time.",
        shape: Shape::Parts(&[
            Part {
                name: "frames",
                words: "pause frames",
                unit: unit::NONE,
                about: "Frames that input ports have sent, to pause their senders or to let them go on.",
            },
            Part {
                name: "begun",
                words: "pauses begun",
                unit: unit::NONE,
                about: "How often a virtual channel of a link has been paused.",
            },
            Part {
                name: "time",
                words: "time paused",
                unit: unit::CYCLES,
                about: "Time in which virtual channels of links were paused, added up over all of them.",
            },
            Part {
                name: "headroom",
                words: "headroom used",
                unit: unit::PHITS,
                about: "Most phits by which a buffer exceeded xoff. Its headroom is never less.",
            },
        ]),
        there: When::Some("with `router.flow_control = \"pfc\"`"),
        value: |at| {
            let Pauses { frames, begun, ticks, beyond } = &at.counters.pauses;
            let time = *ticks as f64 / f64::from(at.window.ticks_per_cycle);
            json!(at.pauses.then(|| json!({ "frames": frames, "begun": begun, "time": time, "headroom": beyond })))
        },
        ..NUMBER
    }];

    fn merge(&mut self, Self { frames, begun, ticks, beyond }: &Self) {
        self.frames += frames;
        self.begun += begun;
        self.ticks += ticks;
        self.beyond = self.beyond.max(*beyond);
    }
}
