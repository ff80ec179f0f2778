//! Links, routers and endpoints that break during a run, and work again.
//!
//! Flits and credits on a link still arrive when it breaks. Every flit that is granted later is lost, and its credits
//! never return, so that the link takes no more than a buffer's worth before routing knows of the failure. Then the
//! graph changes, and the mechanism decides again about every head that has not been granted. When the link works
//! again, its sender gets back the credits of the lost flits.
//!
//! A broken router is a router with all its links broken, and a broken endpoint one with a broken link to its router.
//! An endpoint generates nothing while it is broken.

use crate::engine::{NONE, Tick};
use crate::fabric::News;
use crate::fabric::input_queued::options::kernel::{General, Kernel};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::outages::Outage;
use crate::fabric::input_queued::state::records::{BROKEN, Output, UNLIMITED};
use crate::fabric::input_queued::state::severed::Cut;
use crate::fabric::seams::routing::Changes;
use crate::fabric::sources::Sources;
use crate::packet::Packet;
use crate::topology::Known;

impl Partition {
    /// Breaks the outputs `dead`, given as (router, port): they lead nowhere from now on. Repairs the outputs `back`.
    pub(crate) fn break_links(&mut self, dead: &[(u32, u16)], back: &[(u32, u16)]) {
        // From now on, a packet's way depends on more than the tables.
        self.map.tabled = None;
        for output in self.outputs_among(dead) {
            let channels = usize::from(self.tables.outputs[output].vcs);
            let neighbour = self.map.neighbours.get(output as usize).copied().unwrap_or(NONE);
            let far_partition = std::mem::replace(&mut self.tables.outputs[output].far_partition, BROKEN);
            let none = vec![0; channels];
            self.outages.begin(Outage { output, far_partition, neighbour, lost: none.clone(), aside: none });
            self.silence(output);
        }
        let broken = self.outputs_among(dead);
        self.cut_at(Some(&broken), |_, _| 0, Cut::Front);
        for output in self.outputs_among(back) {
            let Some(outage) = self.outages.end(output) else { continue };
            let Outage { far_partition, neighbour, lost, aside, .. } = outage;
            self.tables.outputs[output].far_partition = far_partition;
            for (channel, (lost, aside)) in (self.tables.outputs[output].vc..).zip(lost.iter().zip(&aside)) {
                self.tables.channels[channel].credits += lost + aside;
            }
            if let Some(there) = self.map.neighbours.get_mut(output as usize) {
                *there = neighbour;
            }
            self.speak(output);
        }
        // A packet that has begun to leave over a broken output cannot be completed over the repaired one.
        let repaired = self.outputs_among(back);
        self.cut_at(Some(&repaired), |_, _| 0, Cut::Whole);
        if !back.is_empty() {
            self.wake_everybody();
        }
    }

    /// Routing learns of failures and repairs. Packets that still leave over a broken link, because no other way
    /// exists, wait for no credit. If a mechanism has reserved channels for detours, packets take these channels, and
    /// the mechanism sees the broken link as full.
    pub(crate) fn reroute(&mut self, news: &News<'_>) {
        self.map.topology = news.graph.clone();
        self.map.known = Known::Other;
        self.routing.rerouted(self.now, news.phase, news.table.as_ref());
        let dead = self.outputs_among(news.dead);
        self.cut_at(Some(&dead), |_, _| 0, Cut::Whole);
        self.cut_stretched(news);
        for output in self.outputs_among(news.dead) {
            let &Output { vc: first, vcs, class, .. } = &self.tables.outputs[output];
            let held: Vec<bool> = (first..first + u32::from(vcs)).map(|channel| self.is_kept(channel)).collect();
            let Some(outage) = self.outages.of_mut(output) else { continue };
            for ((channel, aside), held) in (first..).zip(&mut outage.aside).zip(held) {
                let full = class > 0 && self.setup.settings.detours && !held;
                let credits = if full { 0 } else { UNLIMITED };
                *aside += std::mem::replace(&mut self.tables.channels[channel].credits, credits) - credits;
            }
            if let Some(neighbour) = self.map.neighbours.get_mut(output as usize) {
                *neighbour = NONE;
            }
        }
        for queue in 0..self.queues.len() as u32 {
            let sent = self.progress(queue).sent;
            let q = &mut self.queues[queue];
            if q.first != NONE && sent == 0 && q.vcs != 0 {
                q.output = NONE;
            }
        }
        self.wake_everybody();
    }

    /// True if a packet holds `channel` and has not begun to leave.
    fn is_kept(&self, channel: u32) -> bool {
        let owner = self.tables.owners.get(channel as usize).copied().unwrap_or(NONE);
        owner != NONE && self.progress(owner).sent == 0
    }

    /// Cuts packets that stretch over several channels. They hold channels on their old way while they go on by a new
    /// way. They might therefore wait for one another in a cycle that neither set of ways has. Where new ways are parts
    /// of the ways in the whole network, only packets on detours are cut.
    fn cut_stretched(&mut self, news: &News<'_>) {
        let layers = news.table.as_ref().is_some_and(|table| table.layers().is_some());
        if !layers && !self.setup.settings.detours {
            return;
        }
        let first = |partition: &Self, output: u32| match partition.tables.outputs[output].class {
            0 => u16::MAX,
            _ if layers => 0,
            class => partition.setup.config.buffers.vcs[usize::from(class)].into(),
        };
        self.cut_at(None, first, Cut::Front);
    }

    /// Every waiting queue is looked at again in this tick.
    fn wake_everybody(&mut self) {
        // The next look is in this tick, whenever the last one was.
        self.agenda.look_in(self.now);
        match self.setup.settings.lists {
            true => self.wake_all_lists(),
            false => {
                for output in 0..self.tables.outputs.len() as u32 {
                    match () {
                        () if self.setup.settings.at_outputs => self.rouse_output::<General>(output),
                        () if self.setup.settings.watches::<General>() => {
                            self.rouse_watchers::<General>(output, Changes::ALL);
                        }
                        () => self.wake::<General>(output),
                    }
                }
                // Some queues wait for the tick in which an output is free, but may not want this output any more.
                for queue in 0..self.queues.len() as u32 {
                    if self.queues[queue].first != NONE {
                        self.offer::<General>(self.queues[queue].port, queue);
                    }
                }
            }
        }
    }

    /// The `outputs` of this partition, as its port numbers.
    fn outputs_among(&self, outputs: &[(u32, u16)]) -> Vec<u32> {
        let here = outputs.iter().filter(|(router, _)| self.setup.routers.contains(*router));
        here.map(|&(router, port)| self.tables.first_port[self.setup.routers.place(router) as u32] + u32::from(port))
            .collect()
    }

    /// A flit is lost in channel `vc` of an output that does not work.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_loss(&mut self, output: u32, vc: u16, size: u32) {
        if let Some(outage) = self.outages.of_mut(output) {
            outage.lost[usize::from(vc)] += size as i32;
        }
    }

    /// The endpoint at an output, if there is one.
    fn endpoint_at(&self, output: u32) -> Option<u32> {
        let router = self.tables.outputs[output].router;
        let port = (output - self.tables.first_port[router]) as u16;
        let there = |e: &u32| {
            let endpoint = &self.endpoints[*e];
            endpoint.router == router && self.map.topology.attachment(endpoint.number).1 == port
        };
        (self.tables.outputs[output].class == 0).then(|| (0..self.endpoints.len() as u32).find(there)).flatten()
    }

    /// The endpoint at an output generates nothing from now on. Its packets that have not been sent are dropped.
    fn silence(&mut self, output: u32) {
        let Some(e) = self.endpoint_at(output) else { return };
        if self.endpoints[e].sent > 0 {
            self.endpoints[e].sent = 0;
            self.stop_sending(e, self.endpoints[e].lane);
        }
        let ticks_per_cycle = self.setup.settings.ticks_per_cycle;
        let born = |cycle: Tick| cycle * ticks_per_cycle;
        while let Some(packet) = self.endpoints[e].next.filter(|packet| born(packet.cycle) < self.now) {
            self.collector.dropped(born(packet.cycle));
            self.draw::<General>(e);
        }
        let (sending, mut site) = self.sending_of(e);
        sending.fail(e, &mut site);
        // Packets due in this tick are given up later in this tick.
        site.give_up(e, site.now.saturating_sub(1));
        let first = self.endpoints[e].next.take();
        if let Some(packet) = first.filter(|packet| self.collector.span().contains(&born(packet.cycle))) {
            self.collector.counters.flow.not_generated(packet.size);
        }
        self.outages.silence(e, first);
    }

    /// The endpoint at an output works again, and continues with the packets that it would have generated from now on.
    fn speak(&mut self, output: u32) {
        let Some(e) = self.endpoint_at(output) else { return };
        let Some(mut next) = self.outages.speak(e) else { return };
        let cycle = self.setup.settings.ticks_per_cycle;
        let sources =
            Sources { traffic: &self.setup.traffic, ticks_per_cycle: cycle, cycles: self.setup.settings.cycles };
        let endpoint = &mut self.endpoints[e];
        while next.is_some_and(|packet| packet.cycle * cycle < self.now) {
            next = sources.following(endpoint.number, &mut endpoint.source);
        }
        if let Some(packet) = next {
            self.collector.generated(packet.cycle * cycle, packet.size);
        }
        endpoint.next = next;
        self.agenda.add_sender(e);
    }

    /// Discards the first packets of queues for which no way is left.
    #[cold]
    #[inline(never)]
    pub(crate) fn discard_all<K: Kernel>(&mut self) {
        while let Some(queue) = self.discards.pop() {
            let packet = self.queues[queue].first;
            let Packet { size, flits, entry, .. } = self.packets[packet];
            if flits > 1 {
                self.drain::<K>(queue);
                continue;
            }
            let left = self.throw_away(queue, size.into(), entry);
            self.drop_first::<K>(queue, packet, left);
        }
    }
}
