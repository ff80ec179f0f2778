//! Records of the hosts' activities.

use crate::plan::Which;
use crate::program::Operation;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Times of a rank's CPUs by activity, in units of time. With one CPU, the four add up to its finish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Time of calculations.
    pub calc: u64,
    /// Time of sending and receiving messages.
    pub overhead: u64,
    /// Idle time without an expected message under way, or with a busy interface.
    pub waiting: u64,
    /// Idle time until the arrival of a message that was under way.
    pub blocked: u64,
}

impl Usage {
    /// Adds the times of `other`, `count` times.
    pub fn add(&mut self, other: &Self, count: u64) {
        let Self { calc, overhead, waiting, blocked } = other;
        let own = [&mut self.calc, &mut self.overhead, &mut self.waiting, &mut self.blocked];
        for (own, time) in own.into_iter().zip([calc, overhead, waiting, blocked]) {
            *own = own.saturating_add(time.saturating_mul(count));
        }
    }

    /// The times since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            calc: self.calc.saturating_sub(earlier.calc),
            overhead: self.overhead.saturating_sub(earlier.overhead),
            waiting: self.waiting.saturating_sub(earlier.waiting),
            blocked: self.blocked.saturating_sub(earlier.blocked),
        }
    }
}

/// An operation that has been performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its rank.
    pub rank: u32,
    /// Its number.
    pub number: u32,
    /// The operation itself.
    pub operation: Operation,
    /// When it started.
    pub start: u64,
    /// When it ended, if it has.
    pub end: Option<u64>,
}

/// The activity of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Doing {
    /// It calculates.
    Calc,
    /// It sends a message.
    Send,
    /// It receives a message.
    Receive,
    /// See [`Usage::waiting`].
    Waiting,
    /// See [`Usage::blocked`].
    Blocked,
}

/// An interval in which a CPU has one activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its rank.
    pub rank: u32,
    /// The CPU.
    pub cpu: u8,
    /// Its activity.
    pub doing: Doing,
    /// Its start.
    pub start: u64,
    /// Its end.
    pub end: u64,
}

/// Operations that have been performed, in the order of recording.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) spans: Vec<Span>,
    /// Operations that have not ended, by index.
    pub(super) open: FxHashMap<Which, usize>,
}
