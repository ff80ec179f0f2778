//! The seams: the traits that a kernel requires of the policies in a scenario, and the views through which policies see
//! the kernel.
//!
//! A seam knows no kernel and no policy.

pub(crate) mod allocator;
pub(crate) mod bubble;
pub(crate) mod congestion;
pub(crate) mod probe;
pub(crate) mod queueing;
pub(crate) mod reservation;
pub(crate) mod routing;
