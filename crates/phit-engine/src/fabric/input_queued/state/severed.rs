//! Packets of several flits that have lost a part, and the cuts due in this tick (`faults/severed.rs` makes them).

/// A cut of a packet at a queue. Cuts of one tick are made in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cut {
    /// The first packet of the queue is cut where it leaves: a part of it is beyond, the rest is thrown away.
    Front,
    /// The first packet of the queue is thrown away as a whole: the link had broken before its head came.
    Whole,
    /// No more comes of the last packet of the queue.
    Behind,
}

/// Packets of a partition of which a part is lost.
#[derive(Debug, Default)]
pub(crate) struct Severed {
    /// Queues with the cuts of this tick.
    due: Vec<(u32, Cut)>,
    /// Queues whose only packet is thrown away as it comes.
    draining: Vec<u32>,
    /// Packets that are in parts: each once for every part but one, none of which leads to another.
    parts: Vec<u32>,
    /// Phits thrown away, less the phits of packets that count as lost.
    discarded: i64,
}

impl Severed {
    /// A packet of `queue` is cut in this tick.
    pub(crate) fn cut(&mut self, queue: u32, cut: Cut) {
        self.due.push((queue, cut));
    }

    /// True if packets are cut in this tick.
    #[inline(always)]
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The packets to be cut in this tick by queue: in order, whatever the order in which they became known.
    /// [`Self::done`] gives the list back.
    pub(crate) fn take_due(&mut self) -> Vec<(u32, Cut)> {
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable();
        due
    }

    /// The packets `due` have been cut.
    pub(crate) fn done(&mut self, mut due: Vec<(u32, Cut)>) {
        due.clear();
        self.due = due;
    }

    /// From now on the only packet of `queue` is thrown away as it comes.
    pub(crate) fn drain(&mut self, queue: u32) {
        self.draining.push(queue);
    }

    /// True if some packet is thrown away as it comes.
    #[inline]
    pub(crate) fn drains_any(&self) -> bool {
        !self.draining.is_empty()
    }

    /// True if the packet of `queue` is thrown away as it comes.
    #[inline]
    pub(crate) fn drains(&self, queue: u32) -> bool {
        self.draining.contains(&queue)
    }

    /// The packet of `queue` has come; false if it was not thrown away.
    pub(crate) fn stop_draining(&mut self, queue: u32) -> bool {
        let place = self.draining.iter().position(|draining| *draining == queue);
        place.map(|place| self.draining.swap_remove(place)).is_some()
    }

    /// `packet` is in one part more.
    pub(crate) fn add_part(&mut self, packet: u32) {
        self.parts.push(packet);
    }

    /// A part of `packet` ends; false if it was the only one.
    pub(crate) fn end_part(&mut self, packet: u32) -> bool {
        let place = self.parts.iter().position(|part| *part == packet);
        place.map(|place| self.parts.swap_remove(place)).is_some()
    }

    /// True if `packet` is in several parts.
    pub(crate) fn has_parts(&self, packet: u32) -> bool {
        self.parts.contains(&packet)
    }

    /// `phits` have been thrown away.
    pub(crate) fn discard(&mut self, phits: u32) {
        self.discarded += i64::from(phits);
    }

    /// A packet of `phits` counts as lost.
    pub(crate) fn count_lost(&mut self, phits: u16) {
        self.discarded -= i64::from(phits);
    }

    /// Phits thrown away, less the phits of packets that count as lost.
    pub(crate) fn discarded(&self) -> i64 {
        self.discarded
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.due.capacity() * size_of::<(u32, Cut)>() + (self.draining.capacity() + self.parts.capacity()) * 4
    }
}
