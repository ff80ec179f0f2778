//! The router kernel: input buffers with queues → route → allocate → crossbar → output buffers → links.
//!
//! A [`Partition`] holds a set of routers with their endpoints and everything that moves in them. Partitions interact
//! by messages over links only, so each can run ahead by the shortest latency between them.
//!
//! # One cycle of one router
//!
//! A partition runs tick by tick (`partition.rs`, `run_ticks`). In each tick its routers go through these stages:
//!
//! 1. **Events** (`cycle/events.rs`): whatever was filed for this tick takes place, kind by kind (`state/kind.rs`).
//!    Flits arrive and enter their queues (`state/records.rs`), credits come back, tails are delivered, ports become
//!    free. A queue whose head may now move becomes a candidate (`waiting/agenda.rs`).
//! 2. **Endpoints** (`cycle/sending.rs`): each endpoint sends flits into the injection queues that have room
//!    (`endpoints/room.rs`). A way of sending decides which packet is next (`endpoints/seam.rs`): the drawn packets in
//!    turn (`endpoint.rs`), admittance queues (`admittance.rs`), requests and replies (`exchange.rs`), or classes
//!    (`streams.rs`). Under congestion control (`throttle.rs`, `cycle/congestion.rs`) a flow sends when the mechanism
//!    lets it. Lost packets come first (`repeats.rs`). Programs make packets, too (`hosted.rs`).
//! 3. **Mechanisms** (`cycle/control.rs`, `cycle/managed.rs`): periods, changed occupancies and reviews of a managed
//!    queue organisation.
//! 4. **Look** (`cycle/step.rs`): each candidate is looked at. The routing mechanism names the output and the lanes of
//!    a new head (`cycle/heads.rs`). A head that has its output, a virtual channel and credits requests the crossbar.
//!    Any other head sleeps at its output until it is the output's turn (`cycle/sleeping.rs`). If its mechanism
//!    decides again, it sleeps until one of the changes that the mechanism has named (`cycle/waking.rs`). Where
//!    ports have many queues, it stands in the list of the resource that it lacks (`cycle/listing.rs`).
//! 5. **Virtual channels** (`cycle/channels.rs`, `allocation/vc_allocation.rs`), where they have a stage of their own.
//!    Heads may ask for channels of several outputs (`cycle/alternatives.rs`), or for the crossbar in the same cycle
//!    (`cycle/speculation.rs`).
//! 6. **Crossbar**: an allocator of `crate::allocators` grants requests. Some grants depend on more than the allocator
//!    (`cycle/grants.rs`): ports have several paths (`allocation/paths.rs`), or stay connected for a packet
//!    (`allocation/connections.rs`). Several rounds (`cycle/rounds.rs`) and ports with one queue each
//!    (`cycle/lone.rs`) have files of their own.
//! 7. **Transfer** (`cycle/transfer.rs`): a granted flit leaves its queue. When it is on the link, when it arrives and
//!    when its credit is back is known at once (`wiring/passage.rs`, or `wiring/rates.rs` for links of unequal
//!    bandwidth), and filed (`post/office.rs`). A flit or a credit for another partition goes by mail. A head that lost
//!    sleeps as well; a head whose mechanism decides again is a candidate again.
//!    With congestion control, a packet is marked when its head leaves the output buffer (`cycle/congestion.rs`).
//! 8. **Probes** (`watching/observe.rs`) read the state at the end of the tick.
//!
//! Stages are methods of [`Partition`]: the rooms `cycle`, `faults` and `watching`. The rooms before it hold state by
//! role, with private fields. `mechanisms` is what policies have asked for, `post` events and mail, `endpoints` what is
//! to be sent.
//!
//! Which parts of these stages are compiled in is decided by the first row of a table that admits the network
//! (`options/kernel.rs`).
//!
//! Modules stand in order here, too.

mod options;

mod wiring;

mod state;

mod waiting;

mod allocation;

mod post;

mod endpoints;

mod mechanisms;

mod partition;

mod faults;

mod cycle;

mod watching;

mod partitions;

mod seam;

pub(crate) use options::params::{RouterParams, Switching};
pub use partition::Partition;
pub use partitions::network::InputQueued;
pub use post::mail::Mail;
pub use watching::follow::{Ended, Follower, Journey, Visit, Wait};
#[cfg(test)]
pub(crate) use {cycle::control::router_view, options::kernel::General, state::kind, state::records::TAIL_PENDING};

#[cfg(test)]
mod tests;
