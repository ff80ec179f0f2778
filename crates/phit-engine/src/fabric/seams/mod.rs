//! The seams: what a kernel asks of the policies that a scenario chooses, and the views through which they see it.
//!
//! A seam knows no kernel and no policy.

pub(crate) mod allocator;
pub(crate) mod bubble;
pub(crate) mod probe;
pub(crate) mod queueing;
pub(crate) mod routing;
