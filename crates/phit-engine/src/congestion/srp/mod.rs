//! SRP: sources reserve time at the destination, and send speculatively until it is granted.

mod destination;
mod flow;
mod rule;

use super::reservations::{Waits, expiry, is_default, reservation_protocol};
use super::{Congestion, CongestionContext, CongestionParams, Notifications};
use crate::error::ScenarioError;
use crate::fabric::seams::reservation::{Dropping, InFlight, Reservations, Reserving};
use rule::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

reservation_protocol! {
    /// Speculative Reservation Protocol (Jiang, Becker, Michelogiannakis and Dally, "Network congestion avoidance
    /// through speculative reservation", HPCA 2012).
    ///
    /// A source sends a reservation before a message, or before each `chunk` of a long message. Until the grant comes,
    /// it sends packets of the message speculatively. A router drops a speculative packet whose time to live is over,
    /// and sends a refusal to its source. The source then sends nothing more of the message before the grant. The
    /// destination grants reservations in the order of their arrival: each takes its phits times `overhead` of the
    /// destination's time. From the granted time on, less the time that the grant has taken, the source sends the
    /// refused packets and those that have not been sent. No router drops these packets. The destination acknowledges
    /// each speculative packet that it receives, and refuses one whose reservation has not come. Messages of less than
    /// `least` phits take no part and are sent at once.
    ///
    /// Packets of one source to one destination that are generated in one cycle are a message. A source sends the
    /// messages to one destination one after another: a message is over when all its packets have been sent as granted
    /// ones or have been acknowledged.
    ///
    /// Reservations, grants, acknowledgements (with refusals), speculative packets and granted packets have a fifth of
    /// the virtual channels of every link each. In allocators with `priority = "class"` grants go first, then
    /// reservations, acknowledgements, granted packets and speculative packets.
    ///
    /// The defaults are those of the paper, with phits as its flits.
    ///
    /// ```toml
    /// [topology]
    /// kind = "k_ary_n_tree"
    /// arity = 4
    /// levels = 2
    ///
    /// [router]
    /// switching = "wormhole"
    /// vc_allocation = "stage"
    /// vc_eligible = "with_packet_room"
    ///
    /// [router.allocator]
    /// kind = "separable_input_first"
    /// priority = "class"
    ///
    /// [router.links.default]
    /// vcs = 5
    /// buffer = 64
    ///
    /// [traffic]
    /// packet_size = 8
    /// message = { packets = 4 }
    /// pattern = { kind = "hotspot", targets = [3], share = 0.3 }
    ///
    /// [congestion]
    /// kind = "srp"
    /// time_to_live = 60
    /// ```
    pub struct Srp {
        /// Time after which a speculative packet is dropped.
        #[schemars(range(max = 1_000_000))]
        #[schemars(extend("x-unit" = "cycles"))]
        pub time_to_live: u32,
        /// Which time counts.
        pub expiry: Waits,
        /// Whether a wait that is likely behind the output counts, too.
        pub estimate: bool,
        /// Phits for which an output may lack credits before they count as such a wait: phits and credits on the link.
        #[schemars(extend("x-unit" = "phits"))]
        pub in_flight: u32,
        /// True: twice the latency of the link behind the output counts in place of `in_flight`.
        #[serde(skip_serializing_if = "is_default")]
        pub round_trip: bool,
        /// True: a speculative packet gets no virtual channel behind an output while a granted packet has one there or
        /// waits in the output buffer. Needs `router.control_buffer`. (BookSim's branch `SRP_IAR`.)
        #[serde(skip_serializing_if = "is_default")]
        pub yields: bool,
        /// Most phits of one reservation. A packet is never divided.
        #[schemars(range(min = 1))]
        #[schemars(extend("x-unit" = "phits"))]
        pub chunk: u32,
        /// Smallest message that makes a reservation.
        #[schemars(extend("x-unit" = "phits"))]
        pub least: u32,
        /// False: nothing is sent before the grant.
        pub speculation: bool,
        /// How a reservation gets its turn at the source.
        pub reservations: ReservationTurn,
        /// True: a source with no other packet of a message sends unacknowledged packets again. The destination
        /// discards the packet that comes second.
        pub resend: bool,
        /// True: no new reservation before the end of the time of the last one.
        pub post_wait: bool,
        /// When a packet is sent that is refused after the granted time.
        pub late_refusals: LateRefusals,
    }
    defaults {
        time_to_live: 200,
        expiry: Waits::Queueing,
        estimate: true,
        in_flight: 10,
        round_trip: false,
        yields: false,
        overhead: 1.05,
        chunk: 512,
        least: 0,
        speculation: true,
        reservations: ReservationTurn::WithData,
        resend: false,
        post_wait: false,
        late_refusals: LateRefusals::Reserve,
    }
    deduction {
        /// Share of a grant's time from the destination to the source by which the source begins before the granted
        /// time.
    }
}

/// How a reservation gets its turn at the source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReservationTurn {
    /// One goes whenever the source sends data of any message, too.
    #[default]
    WithData,
    /// Messages take turns, and granted packets go before reservations.
    InTurn,
}

/// When a packet is sent that is refused after the granted time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateRefusals {
    /// With the next reservation.
    #[default]
    Reserve,
    /// At once, without a reservation (the authors' program).
    Send,
}

impl CongestionParams for Srp {
    fn notifications(&self) -> Option<Notifications> {
        None
    }

    fn reservations(&self) -> Option<Reservations> {
        let in_flight = match self.round_trip {
            true => InFlight::RoundTrip,
            false => InFlight::Phits(self.in_flight),
        };
        let in_flight = self.estimate.then_some(in_flight);
        Some(Reservations {
            reservations_first: self.reservations == ReservationTurn::WithData,
            announces: true,
            yields: self.yields,
            ..self.properties(Dropping::Late(expiry(self.time_to_live, self.expiry, in_flight)))
        })
    }

    fn check(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    fn build(&self, _: &CongestionContext) -> Option<Box<dyn Congestion>> {
        None
    }

    fn protocol(&self, context: &CongestionContext) -> Option<Box<dyn Reserving>> {
        Some(Box::new(Rule::new(self.clone(), context)))
    }
}
