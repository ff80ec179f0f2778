//! Which requests go before others wherever an allocator chooses, whatever its arbiters say.

use super::Request;
use crate::fabric::seams::allocator::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which requests go before others at every choice of an allocator: among the queues of an input, at inputs and at
/// outputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// None: the arbiters choose.
    #[default]
    None,
    /// Those of the packet generated first. The arbiters choose among packets of one cycle.
    Age,
    /// Those of the packet whose class has the higher `priority`, of traffic that has classes. The arbiters choose
    /// among packets of equal ones.
    Class,
}

impl Priority {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The keys of requests at an arbiter, the smallest of which wins, from the keys by which it chooses among equals: of
/// at most 62 bits.
pub(super) trait Order: Send + 'static {
    type Key: Key;
    /// True if it reads [`Request::birth`].
    const BY_AGE: bool;
    /// True if that is the rank of the packet's class.
    const BY_CLASS: bool;
    /// At an input, and among its queues.
    fn at_input(request: &Request, key: u64) -> Self::Key;
    /// At an input that chooses among outputs, where requests without a channel come after all that have one.
    fn among_outputs(request: &Request, key: u64) -> Self::Key;
    /// At an output.
    fn at_output(request: &Request, key: u64) -> Self::Key;
}

/// [`Priority::None`]: at outputs the lower class first.
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

/// By what [`Request::birth`] says. Requests without a channel come after all that have one, at inputs, too; otherwise
/// their classes go before it at outputs alone.
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
