//! The actions of managed queue organisations on a partition (see [`Manager`]).

use crate::engine::{NONE, Tick};
use crate::fabric::input_queued::options::kernel::{General, Single};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::post::messages::{Message, Party};
use crate::fabric::input_queued::state::kind;
use crate::fabric::input_queued::state::records::Queue;
use crate::fabric::seams::allocator::Request;
use crate::fabric::seams::queueing::{Manager, QueueSite};
use crate::fabric::seams::routing::Payload;
use crate::packet::{MOST_CLASSES, Packet};

impl Partition {
    /// Lets the manager do something, and puts it back.
    #[inline]
    fn manage(&mut self, act: impl FnOnce(&mut dyn Manager, &mut dyn QueueSite)) {
        if let Some(mut manager) = self.management.take() {
            act(&mut *manager, self);
            self.management.put_back(manager);
        }
    }

    /// A packet has come into `queue`.
    #[inline(always)]
    pub(crate) fn came(&mut self, queue: u32, packet: u32) {
        let port = self.queues[queue].port;
        let lane = (queue - self.inputs[port].queues) as u16;
        self.management.arrived(port, lane, &self.packets[packet]);
    }

    /// A packet has been granted and leaves `queue`.
    #[inline(always)]
    pub(crate) fn gone(&mut self, queue: u32, packet: u32) {
        let port = self.queues[queue].port;
        let lane = (queue - self.inputs[port].queues) as u16;
        self.management.left(port, lane, &self.packets[packet], self.now);
    }

    /// Reviews the ports at which something has happened.
    #[inline(never)]
    pub(crate) fn review(&mut self) {
        let ports = self.management.take_reviews();
        self.manage(|manager, site| ports.iter().for_each(|port| manager.review(site, *port)));
        self.management.reviewed(ports);
    }

    /// Keeps one request of each input: the request that the manager ranks first.
    #[inline(never)]
    pub(crate) fn choose(&mut self, requests: &mut Vec<Request>) {
        let Some(manager) = self.management.manager() else { return };
        let rank = |request: &Request| {
            let packet = self.queues[request.queue].first;
            manager.rank(request.port, request.lane, self.packets[packet].entry)
        };
        // Most requests are alone at their input, and often all are.
        let Some(shared) = requests.windows(2).position(|pair| pair[0].port == pair[1].port) else { return };
        let (mut kept, mut place) = (shared, shared);
        while let Some(first) = requests.get(place) {
            let (port, mut best, mut next) = (first.port, place, place + 1);
            // Ranks are read only where there is a choice.
            if requests.get(next).is_some_and(|request| request.port == port) {
                let mut least = rank(first);
                while let Some(request) = requests.get(next).filter(|request| request.port == port) {
                    let own = rank(request);
                    let loser = if own < least { std::mem::replace(&mut best, next) } else { next };
                    least = least.min(own);
                    self.agenda.add_again(requests[loser].queue);
                    next += 1;
                }
            }
            requests[kept] = requests[best];
            (kept, place) = (kept + 1, next);
        }
        requests.truncate(kept);
    }

    /// Moves the first packet of one queue of `port` to the end of another.
    pub(crate) fn move_head(&mut self, port: u32, from: u16, to: u16) {
        let queues = self.inputs[port].queues;
        let (from, to) = (queues + u32::from(from), queues + u32::from(to));
        let Queue { first: packet, last, .. } = self.queues[from];
        let empty = packet == last;
        self.moves_backlog((from, to), packet);
        let q = &mut self.queues[from];
        q.first = if empty { NONE } else { self.packets[packet].next };
        q.output = NONE;
        if empty {
            q.last = NONE;
        } else {
            let eligible = self.progress(from).eligible;
            self.come_to_front::<Single>(from, eligible.max(self.now));
        }
        let q = &mut self.queues[to];
        if q.first == NONE {
            *q = Queue { first: packet, last: packet, output: NONE, ..*q };
            self.whole_packet_is_last_in(to);
            self.come_to_front::<Single>(to, self.now);
        } else {
            let last = std::mem::replace(&mut q.last, packet);
            self.whole_packet_is_last_in(to);
            self.packets[last].next = packet;
        }
    }

    /// Notes that the last packet of `queue` has arrived completely, where progress is kept.
    fn whole_packet_is_last_in(&mut self, queue: u32) {
        if let Some(progress) = self.progress.get_mut(queue as usize) {
            progress.arrived = 1;
        }
    }

    /// Holds a queue of `port` back, or lets it go.
    pub(crate) fn hold(&mut self, port: u32, lane: u16, held: bool) {
        let queue = self.inputs[port].queues + u32::from(lane);
        let before = self.management.hold(queue, held);
        if before && !held && self.queues[queue].first != NONE {
            self.offer::<General>(port, queue);
        }
    }

    /// Sends a message to the sender into input `port`.
    pub(crate) fn notify(&mut self, port: u32, payload: Payload, phits: u32) {
        let input = &self.inputs[port];
        let (target, far) = (input.upstream, input.upstream_partition);
        // Where no link leads to the sender, there is a wire as for credits, as wide as the link.
        let time = self.link_time(port, phits.max(1));
        let leaves = match self.management.take_way_back(port, self.now, time) {
            None => self.put_on_link(port, phits.max(1)),
            Some(leaves) => {
                self.collector.counters.control.messages += 1;
                leaves
            }
        };
        let at = leaves + self.setup.settings.latency[self.tables.outputs[port].class as usize % MOST_CLASSES].max(1);
        self.dispatch(far, at, Message { party: Party::Sender, router: target, port: 0, payload });
    }

    /// A message has come for output or endpoint `target`.
    pub(crate) fn hear_as_sender(&mut self, target: u32, payload: &Payload) {
        let ports = self.tables.outputs.len() as u32;
        if target >= ports {
            self.manage(|manager, site| manager.hear_endpoint(site, target - ports, payload));
            return;
        }
        let router = self.tables.outputs[target].router;
        (self.tables.first_port[router]..self.tables.first_port[router + 1])
            .for_each(|port| self.management.review(port));
        self.manage(|manager, site| manager.hear(site, target, payload));
    }
}

impl QueueSite for Partition {
    #[inline]
    fn now(&self) -> Tick {
        self.now
    }

    #[inline]
    fn head(&self, port: u32, queue: u16) -> Option<&Packet> {
        let first = self.queues[self.inputs[port].queues + u32::from(queue)].first;
        (first != NONE).then(|| &self.packets[first])
    }

    fn move_head(&mut self, port: u32, from: u16, to: u16) {
        Partition::move_head(self, port, from, to);
    }

    fn hold(&mut self, port: u32, queue: u16, held: bool) {
        Partition::hold(self, port, queue, held);
    }

    fn review_at(&mut self, port: u32, at: Tick) {
        self.file(at, kind::REVIEW, port, 0);
    }

    fn hold_destination(&mut self, endpoint: u32, destination: u32, held: bool) {
        Partition::hold_destination(self, endpoint, destination, held);
    }

    fn notify(&mut self, port: u32, message: Payload, phits: u32) {
        Partition::notify(self, port, message, phits);
    }
}
