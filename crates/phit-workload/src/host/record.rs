//! What hosts have done, and when.

use crate::plan::Which;
use crate::program::Operation;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What the CPUs of a rank have done, in units of time. With one CPU the four come to its finish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Calculated.
    pub calc: u64,
    /// Sent messages, or taken them in.
    pub overhead: u64,
    /// Had nothing to do while nothing was on its way that they waited for, or while an interface was taken.
    pub waiting: u64,
    /// Had nothing to do until a message came that was on its way.
    pub blocked: u64,
}

/// An operation that has been performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its rank.
    pub rank: u32,
    /// Its number.
    pub number: u32,
    /// What it was.
    pub operation: Operation,
    /// When it started.
    pub start: u64,
    /// When it ended, if it has.
    pub end: Option<u64>,
}

/// What a CPU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Doing {
    /// It calculates.
    Calc,
    /// It sends a message.
    Send,
    /// It takes a message in.
    Receive,
    /// See [`Usage::waiting`].
    Waiting,
    /// See [`Usage::blocked`].
    Blocked,
}

/// A time in which a CPU does one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its rank.
    pub rank: u32,
    /// The CPU.
    pub cpu: u8,
    /// What it does.
    pub doing: Doing,
    /// From when.
    pub start: u64,
    /// Until when.
    pub end: u64,
}

/// Operations that have been performed, as they come.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) spans: Vec<Span>,
    /// Those that have not ended.
    pub(super) open: FxHashMap<Which, usize>,
}
