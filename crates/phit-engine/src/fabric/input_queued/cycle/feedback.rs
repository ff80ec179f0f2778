//! Notifications of routers to the sources of packets: each router sends them on, before data, on a minimal route.

use crate::engine::{Rng, Tick};
use crate::fabric::input_queued::endpoints::seam::Sending;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::post::messages::{Message, Party};
use crate::fabric::input_queued::post::notices::Notice;
use crate::packet::{HopState, Hops, Leg, MOST_CLASSES};
use crate::topology::Peer;

impl Partition {
    /// Router `router` of the network notifies the source of a packet with these `ends`.
    #[cold]
    pub(crate) fn notify_source(&mut self, router: u32, (source, destination): (u32, u32), feedback: u8) {
        let notice = Notice { router, source, destination, feedback };
        let at = self.through_router(self.now);
        self.expect(at, Message { party: Party::Source, router, port: 0, payload: notice.payload() });
    }

    /// The tick in which a notification that comes to a router in tick `at` can be on a link.
    pub(crate) fn through_router(&self, at: Tick) -> Tick {
        let latency = self.setup.config.latency;
        let through = self.setup.config.choices.pace.map_or(at + latency, |pace| pace.after(at, latency));
        through.max(self.now + 1)
    }

    /// Sends on the notifications that have passed the routers of this partition by now, or hands them to sources.
    #[cold]
    #[inline(never)]
    pub(crate) fn relay_notices(&mut self) {
        for notice in self.signals.take_notices() {
            let Notice { router, source, .. } = notice;
            let (home, port) = self.map.known.attachment(&*self.map.topology, source);
            match router == home {
                true => self.relay(notice, port),
                false => {
                    // One of several minimal ways is drawn for each notification.
                    let mut rng = Rng::keyed(u64::from(self.now) << 32 | u64::from(source), router);
                    let state = HopState { came_by: 0, came_in: 0, leg_hops: Hops(0) };
                    let vcs = &self.setup.config.buffers.vcs;
                    let hop = self.map.topology.minimal_hop(router, home, Leg::ONLY, state, vcs, &mut rng);
                    self.relay(notice, hop.port);
                }
            }
        }
    }

    /// Puts `notice` on the link behind `port` of its router.
    fn relay(&mut self, notice: Notice, port: u16) {
        let local = self.setup.routers.place(notice.router) as u32;
        let index = self.tables.first_port[local] + u32::from(port);
        let Some(phits) = self.sending.throttle().map(|throttle| throttle.notification_phits()) else { return };
        let leaves = self.put_on_link(index, phits);
        let class = self.tables.outputs[index].class as usize % MOST_CLASSES;
        let at = leaves + self.setup.settings.latency[class].max(1);
        let payload = notice.payload();
        match self.map.topology.port(notice.router, port).peer {
            Peer::Router { router, .. } => {
                let far = self.tables.outputs[index].far_partition;
                let at = self.through_router(at);
                self.dispatch(far, at, Message { party: Party::Source, router, port: 0, payload });
            }
            // The last phit of the notification has come to the source.
            _ => self.expect(at, Message { party: Party::Flow, router: notice.source, port: 0, payload }),
        }
    }

    /// A notification has come to the source of the packet.
    pub(crate) fn hear_feedback(&mut self, payload: &[u16]) {
        let Notice { source, destination, feedback, .. } = Notice::of_payload(0, payload);
        let (now, recorded) = (self.now, self.collector.span().contains(&self.now));
        let (Some(e), Sending::Throttled(throttle)) = (self.place_of(source), &mut self.sending) else { return };
        throttle.fed_back(e, destination, feedback, now);
        self.collector.counters.congestion.fed_back(source, recorded);
        self.agenda.add_sender(e);
    }
}
