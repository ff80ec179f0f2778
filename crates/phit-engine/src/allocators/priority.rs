//! Priority of requests, which precedes the choice of an allocator's arbiters.

use super::Request;
use crate::fabric::seams::allocator::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Priority of requests at every choice of an allocator: among the queues of an input, at inputs and at outputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// None: the arbiters choose.
    #[default]
    None,
    /// Requests of the packet generated first. The arbiters choose among packets of one cycle.
    Age,
    /// Requests of the packet whose class has the higher `priority`, for traffic with classes. The arbiters choose
    /// among packets of equal priority.
    Class,
}

impl Priority {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The keys of requests at an arbiter, of which the smallest wins. They extend the arbiter's own keys, of at most 62
/// bits, which decide among equals.
pub(super) trait Order: Send + 'static {
    type Key: Key;
    /// True if it reads [`Request::birth`].
    const BY_AGE: bool;
    /// True if [`Request::birth`] is the rank of the packet's class.
    const BY_CLASS: bool;
    /// At an input, and among its queues.
    fn at_input(request: &Request, key: u64) -> Self::Key;
    /// At an input that chooses among outputs. There, requests without a channel follow all requests with one.
    fn among_outputs(request: &Request, key: u64) -> Self::Key;
    /// At an output.
    fn at_output(request: &Request, key: u64) -> Self::Key;
}

/// [`Priority::None`]: at outputs, the lower class goes first.
pub(super) struct Equal;

impl Order for Equal {
    type Key = u64;
    const BY_AGE: bool = false;
    const BY_CLASS: bool = false;

    #[inline(always)]
    fn at_input(_: &Request, key: u64) -> u64 {
        key
    }

    #[inline(always)]
    fn among_outputs(request: &Request, key: u64) -> u64 {
        key | u64::from(request.class >> 1) << 62
    }

    #[inline(always)]
    fn at_output(request: &Request, key: u64) -> u64 {
        key | u64::from(request.class) << 62
    }
}

/// By [`Request::birth`]. At inputs, too, requests without a channel follow all requests with one. Otherwise, their
/// classes precede it at outputs only.
pub(super) struct Ranked<const BY_CLASS: bool>;

/// [`Priority::Age`]
pub(super) type OldestFirst = Ranked<false>;

/// [`Priority::Class`]
pub(super) type HighestFirst = Ranked<true>;

impl<const BY_CLASS: bool> Order for Ranked<BY_CLASS> {
    type Key = u128;
    const BY_AGE: bool = true;
    const BY_CLASS: bool = BY_CLASS;

    #[inline]
    fn at_input(request: &Request, key: u64) -> u128 {
        u128::from(request.class >> 1) << 96 | u128::from(request.birth) << 64 | u128::from(key)
    }

    #[inline]
    fn among_outputs(request: &Request, key: u64) -> u128 {
        Self::at_input(request, key)
    }

    #[inline]
    fn at_output(request: &Request, key: u64) -> u128 {
        u128::from(request.class) << 96 | u128::from(request.birth) << 64 | u128::from(key)
    }
}
