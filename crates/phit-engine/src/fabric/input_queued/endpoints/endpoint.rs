//! Endpoints: the source queue and the injection link of each.

use super::seam::{Flit, Next, Sender, SenderContext, Site};
use crate::engine::Tick;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::settings::Settings;
use crate::fabric::input_queued::state::lost::Kind;
use crate::traffic::{Generated, Source, Traffic};

/// An endpoint as a sender.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// Where the sequence of packets stands.
    pub source: Source,
    /// Next packet to send; `None` if there is none for ever.
    pub next: Option<Generated>,
    /// First tick at which the injection link is free.
    pub free: Tick,
    /// Tick of the latest wake-up filed for it.
    pub wake: Tick,
    /// First of its channels, which hold the credits of its injection queues.
    pub channel: u32,
    /// First of its injection queues.
    pub queues: u32,
    /// Flits of the next packet that have been sent.
    pub sent: u16,
    /// Queue of the packet being sent, and the one after the last used.
    pub lane: u16,
    /// True if it waits for credits.
    pub blocked: bool,
    /// Its router in the partition.
    pub router: u32,
    /// Its number in the network.
    pub number: u32,
    /// Packets sent into the network's injection queues, in phits.
    pub phits: u64,
}

impl Endpoint {
    /// The packet that has been drawn is sent when those before it have been, in other planes, too.
    #[cold]
    #[inline(never)]
    pub(crate) fn follow_other_planes(&mut self, traffic: &Traffic, settings: &Settings) {
        if let Some(cycle) = traffic.begins(&self.source) {
            // Packets of later cycles are not sent at all.
            let cycle = cycle.min(settings.cycles);
            self.free = self.free.max(cycle * settings.ticks_per_cycle);
        }
    }
}

/// Endpoints send the packets that they draw, one after another, and before these any packets that were lost.
#[derive(Debug)]
pub(crate) struct InTurn;

impl Sender for InTurn {
    fn new(_: &SenderContext<'_>) -> Option<Self> {
        Some(Self)
    }

    fn next<K: Kernel>(&mut self, e: u32, at: &mut Site<'_>) -> Next {
        if !at.works {
            at.give_up(e, at.now);
            return Next::NOTHING;
        }
        let (endpoint, now) = (&*at.endpoint, at.now);
        let again = at.repeats.as_ref().and_then(|repeats| repeats.next(e, Kind::Request));
        let due = [again.map(|again| again.at), endpoint.next.map(|packet| at.earliest(&packet))];
        let [first, second] = due.map(|tick| tick.map(|tick| tick.max(endpoint.free)));
        let is_due = |tick: Option<Tick>| tick.is_some_and(|tick| tick <= now);
        // Flits of two packets do not mix.
        let begun = at.repeats.as_ref().is_some_and(|repeats| repeats.has_begun(e, Kind::Request));
        let own = endpoint.sent > 0 && !begun;
        let (packet, mark) = match (again, endpoint.next) {
            (Some(again), _) if is_due(first) && !own => (again.generated(), again.mark()),
            (_, Some(packet)) if is_due(second) => (packet, 0),
            _ => return Next::Wait { at: first.into_iter().chain(second).min(), blocked: false },
        };
        let (before, stream) = (endpoint.sent, 0);
        let size = at.setup.config.flit_phits(packet.size, before);
        match at.room.lane::<K>(endpoint, packet, size) {
            Some(lane) => Next::Send(Flit { packet, size, lane, before, mark, stream }),
            None => Next::Wait { at: None, blocked: true },
        }
    }

    fn sent(&mut self, e: u32, flit: &Flit, at: &mut Site<'_>) {
        let more = at.endpoint.sent > 0;
        match flit.mark {
            0 if more => {}
            0 => at.draw(),
            _ => at.sent_again(e, Kind::Request, more),
        }
    }
}
