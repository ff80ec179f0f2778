//! LHRP: the last router drops packets to a congested endpoint, and grants them a time.

use super::attempts::{Attempts, Speculation};
use super::reservations::reservation_protocol;
use super::{Congestion, CongestionContext, CongestionParams, Notifications};
use crate::fabric::seams::reservation::{Dropping, Reservations, Reserving};

reservation_protocol! {
    /// Last-Hop Reservation Protocol (Jiang, Dennison and Dally, "Network endpoint congestion control for fine-grained
    /// communication", SC 2015).
    ///
    /// A source sends every packet speculatively, without a reservation. Only the router of its destination may drop
    /// it: it does so when the packet comes to the front of its queue while more phits than `threshold` of data wait in
    /// the router for this destination. The router keeps the schedule of its endpoints. It reserves time for the
    /// packet, its phits times `overhead`, and sends a refusal with this time to the source. From this time on, less
    /// the time that the refusal has taken, the source sends the packet again, and no router drops it. The destination
    /// acknowledges each speculative packet that it receives. Every packet of a message is on its own. There are no
    /// reservations and no grants besides refusals.
    ///
    /// Acknowledgements (with refusals), speculative packets and granted packets have a third of the virtual channels
    /// of every link each. In allocators with `priority = "class"` acknowledgements go first, then granted packets,
    /// then speculative packets.
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
    /// vcs = 3
    /// buffer = 64
    ///
    /// [traffic]
    /// packet_size = 4
    /// pattern = { kind = "hotspot", targets = [3], share = 0.3 }
    ///
    /// [congestion]
    /// kind = "lhrp"
    /// threshold = 40
    /// ```
    pub struct Lhrp {
        /// Most phits of data that wait in the last router for an endpoint when a speculative packet to it is not
        /// dropped. A packet counts whole, from the arrival of its head until its head starts on the link to the
        /// endpoint.
        #[schemars(extend("x-unit" = "phits"))]
        pub threshold: u32,
        /// When a source sends speculative packets to a destination.
        pub speculation: Speculation,
    }
    defaults {
        threshold: 1000,
        overhead: 1.0,
        speculation: Speculation::UntilRefused,
    }
    deduction {
        /// Share of a refusal's time from the last router to the source by which the source begins before the granted
        /// time.
    }
}

impl CongestionParams for Lhrp {
    fn notifications(&self) -> Option<Notifications> {
        None
    }

    fn reservations(&self) -> Option<Reservations> {
        Some(self.properties(Dropping::AtLastHop { threshold: self.threshold }))
    }

    fn build(&self, _: &CongestionContext) -> Option<Box<dyn Congestion>> {
        None
    }

    fn protocol(&self, context: &CongestionContext) -> Option<Box<dyn Reserving>> {
        Some(Box::new(Attempts::new(self.speculation, self.deduction, self.overhead, context)))
    }
}
