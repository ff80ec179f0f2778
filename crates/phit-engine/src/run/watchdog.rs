//! The watchdog: notices that nothing moves any more, and reports who waits for whom.

use crate::engine::Tick;
use crate::fabric::{Fabric, Progress};

/// Watches a run at regular ticks.
#[derive(Debug, Clone)]
pub(super) struct Watchdog {
    span: Tick,
    next: Tick,
    /// Progress of the network, or of each of its planes, at the last check.
    last: Vec<Progress>,
}

impl Watchdog {
    /// A watchdog that checks every `span` ticks from tick `now` on.
    pub(super) fn new(now: Tick, span: Tick) -> Self {
        Self { span, next: now.saturating_add(span), last: Vec::new() }
    }

    /// The tick of its next check.
    pub(super) fn next(&self) -> Tick {
        self.next
    }

    /// Checks a network that has reached [`Self::next`]. It is stuck if it holds packets and no flit of them has moved
    /// since the last check; then the error says who waits for whom.
    pub(super) fn look(&mut self, fabric: &dyn Fabric) -> Result<(), String> {
        let now = self.next;
        self.next = self.next.saturating_add(self.span);
        let planes = fabric.planes();
        if planes.is_empty() {
            return self.look_at(0, "the network", fabric, now);
        }
        let mut planes = planes.iter().enumerate();
        planes.try_for_each(|(number, plane)| self.look_at(number, &format!("plane {number}"), &**plane, now))
    }

    fn look_at(&mut self, place: usize, name: &str, fabric: &dyn Fabric, now: Tick) -> Result<(), String> {
        let progress = fabric.progress();
        if self.last.len() <= place {
            self.last.resize(place + 1, Progress::default());
        }
        let moved = std::mem::replace(&mut self.last[place], progress).done != progress.done;
        if moved || progress.held == 0 {
            return Ok(());
        }
        let (held, span, who) = (progress.held, self.span, fabric.stuck());
        Err(format!(
            "deadlock: {held} packets are in {name}, and none has moved in the {span} ticks before tick {now}: {who}"
        ))
    }
}
