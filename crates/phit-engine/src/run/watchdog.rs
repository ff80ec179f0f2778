//! The watchdog: finds out that nothing moves any more, and who waits for whom.

use crate::engine::Tick;
use crate::fabric::{Fabric, Progress};

/// Watches a run at regular ticks.
#[derive(Debug, Clone)]
pub(super) struct Watchdog {
    span: Tick,
    next: Tick,
    last: Progress,
}

impl Watchdog {
    /// A watchdog that looks every `span` ticks from tick `now` on.
    pub(super) fn new(now: Tick, span: Tick) -> Self {
        Self { span, next: now.saturating_add(span), last: Progress::default() }
    }

    /// The tick at which it looks next.
    pub(super) fn next(&self) -> Tick {
        self.next
    }

    /// Looks at a network that has reached [`Self::next`]; says what is wrong if packets are in it and none of their
    /// flits has moved since the last look.
    pub(super) fn look(&mut self, fabric: &dyn Fabric) -> Result<(), String> {
        let (progress, now) = (fabric.progress(), self.next);
        self.next = self.next.saturating_add(self.span);
        let moved = std::mem::replace(&mut self.last, progress).done != progress.done;
        if moved || progress.held == 0 {
            return Ok(());
        }
        let (held, span, who) = (progress.held, self.span, fabric.stuck());
        Err(format!(
            "deadlock: {held} packets are in the network, and none has moved in the {span} ticks before tick {now}: \
             {who}"
        ))
    }
}
