//! SMSRP: packets are sent at once, and sources reserve time for those that routers drop.

use super::attempts::{Attempts, Speculation};
use super::reservations::{Waits, expiry, reservation_protocol};
use super::{Congestion, CongestionContext, CongestionParams, Notifications};
use crate::fabric::seams::reservation::{Dropping, InFlight, Reservations, Reserving};

reservation_protocol! {
    /// Small-Message Speculative Reservation Protocol (Jiang, Dennison and Dally, "Network endpoint congestion control
    /// for fine-grained communication", SC 2015).
    ///
    /// A source sends every packet speculatively, without a reservation. A router drops a speculative packet whose time
    /// to live is over, and sends a refusal to its source. Only then does the source send a reservation. The
    /// destination grants reservations in the order of their arrival: each takes the packet's phits times `overhead` of
    /// the destination's time. From the granted time on, less the time that the grant has taken, the source sends the
    /// packet again, and no router drops it. The destination acknowledges each speculative packet that it receives.
    /// Every packet of a message is on its own.
    ///
    /// Reservations, grants, acknowledgements (with refusals), speculative packets and granted packets have a fifth of
    /// the virtual channels of every link each. In allocators with `priority = "class"` grants go first, then
    /// reservations, acknowledgements, granted packets and speculative packets.
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
    /// packet_size = 4
    /// pattern = { kind = "hotspot", targets = [3], share = 0.3 }
    ///
    /// [congestion]
    /// kind = "smsrp"
    /// time_to_live = 60
    /// ```
    pub struct Smsrp {
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
        /// When a source sends speculative packets to a destination.
        pub speculation: Speculation,
    }
    defaults {
        time_to_live: 1000,
        expiry: Waits::Queueing,
        estimate: true,
        in_flight: 10,
        overhead: 1.05,
        speculation: Speculation::UntilRefused,
    }
    deduction {
        /// Share of a grant's time from the destination to the source by which the source begins before the granted
        /// time.
    }
}

impl CongestionParams for Smsrp {
    fn notifications(&self) -> Option<Notifications> {
        None
    }

    fn reservations(&self) -> Option<Reservations> {
        let in_flight = self.estimate.then_some(InFlight::Phits(self.in_flight));
        Some(self.properties(Dropping::Late(expiry(self.time_to_live, self.expiry, in_flight))))
    }

    fn build(&self, _: &CongestionContext) -> Option<Box<dyn Congestion>> {
        None
    }

    fn protocol(&self, context: &CongestionContext) -> Option<Box<dyn Reserving>> {
        Some(Box::new(Attempts::new(self.speculation, self.deduction, self.overhead, context)))
    }
}
