//! Packets that were lost, and requests and replies: what endpoints hear.

use crate::engine::Tick;
use crate::fabric::input_queued::endpoints::seam::Sending;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::lost::{Again, Ending};

impl Partition {
    /// A packet is lost: its source hears of it, or it is given up.
    #[cold]
    #[inline(never)]
    pub(crate) fn lose(&mut self, index: u32) {
        let packet = self.packets[index];
        self.part_ends(index);
        let (cycle, cycles) = (self.setup.settings.ticks_per_cycle, self.setup.settings.cycles);
        let Some(repeats) = &self.repeats else { return self.collector.lost(&packet, self.now) };
        let home = |endpoint: u32| repeats.home(endpoint);
        match repeats.after(&packet, self.now, cycle, cycles) {
            Some(again) => match home(again.source) {
                home if self.post.is_own(home) => self.take_back(again, self.now),
                home => self.post.mail_to(home).again.push(again),
            },
            None => {
                let asked = self.setup.settings.exchanges;
                let ending = asked.then(|| repeats.ending(&packet, self.now, cycle, cycles)).flatten();
                match ending.map(|ending| (home(ending.source), ending)) {
                    Some((home, ending)) if self.post.is_own(home) => self.expect_ending(ending, self.now),
                    Some((home, ending)) => self.post.mail_to(home).ended.push(ending),
                    None => {}
                }
                self.collector.lost(&packet, self.now);
            }
        }
    }

    /// An endpoint of this partition is to send a packet again; everything before tick `now` has been handled.
    pub(crate) fn take_back(&mut self, again: Again, now: Tick) {
        let (Some(e), Some(repeats)) = (self.place_of(again.source), &mut self.repeats) else { return };
        repeats.take_back(e, again);
        self.file_after(now, again.at, kind::SEND, e, 0);
    }

    /// An endpoint of this partition will hear that there is no reply; everything before tick `now` has been handled.
    pub(crate) fn expect_ending(&mut self, ending: Ending, now: Tick) {
        let Some(e) = self.place_of(ending.source) else { return };
        let Sending::Exchanging(exchange) = &mut self.sending else { return };
        exchange.expect(e, ending);
        self.file_after(now, ending.at, kind::SEND, e, 0);
    }

    /// The tail of `packet`, a request or a reply that came in virtual channel `vc`, has reached its endpoint.
    #[cold]
    #[inline(never)]
    pub(crate) fn exchanged(&mut self, packet: u32, vc: u32) {
        let packet = self.packets[packet];
        let Some(e) = self.place_of(packet.destination) else { return };
        if let (Sending::Exchanging(exchange), mut site) = self.sending_of(e) {
            exchange.arrived(e, &packet, vc, &mut site);
        }
        self.agenda.add_sender(e);
    }

    /// The place in the partition of an endpoint of the network.
    pub(crate) fn place_of(&self, endpoint: u32) -> Option<u32> {
        self.endpoints.binary_search_by_key(&endpoint, |endpoint| endpoint.number).ok().map(|place| place as u32)
    }
}
