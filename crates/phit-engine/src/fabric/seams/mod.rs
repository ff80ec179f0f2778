//! The seams: what a kernel asks of the policies that a scenario chooses, and the views through which they see it.
//!
//! A seam knows no kernel and no policy.

pub mod allocator;
pub mod bubble;
pub mod probe;
pub mod queueing;
pub mod routing;
