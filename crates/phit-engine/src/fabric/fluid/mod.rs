//! The fluid network: each message is a flow that has a rate on every link of its route. Rates change only when a flow
//! begins or ends, so a run takes time for each message, whatever its size.
//!
//! [`Flows`] and the rules of sharing know nothing of messages and routers. [`Case`] runs flows over given routes.

mod case;
mod ends;
mod flows;
mod levels;
mod network;
mod params;
mod rates;
mod ways;

pub use case::{Case, CaseError, CaseFlow, CaseLink, Solved};
pub use flows::{FIRST, Flows, Hop};
pub use params::{Fluid, Sharing, Sources};

/// How flows share links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The shares of a link.
    pub sharing: Sharing,
    /// True if what stands in one queue moves at one pace, see [`Fluid::head_of_line`].
    pub coupled: bool,
}
