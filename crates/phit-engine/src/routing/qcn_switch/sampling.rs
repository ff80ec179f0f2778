//! Congestion points: they sample queues, and notify sources of packets in long ones.

use super::Point;
use super::ports::{Notice, Router, Waiting};
use super::rule::Rule;
use crate::engine::Tick;
use crate::routing::Site;

impl Rule {
    /// Samples the ports of a router that are due.
    pub(super) fn samples(&mut self, at: &mut Site<'_>) {
        let (local, now) = (at.local as usize, at.now);
        let base = self.params.sample_base * self.ticks_per_cycle;
        let mut next = Tick::MAX;
        for place in 0..self.routers[local].ports.len() {
            let Router { ports, rng, .. } = &mut self.routers[local];
            let port = &mut ports[place];
            if port.due > now {
                next = next.min(port.due);
                continue;
            }
            let phits = match self.params.point {
                Point::Output => {
                    let waiting = at.waiting(port.number);
                    let mut rest: u32 = port.held.iter().map(|packet| u32::from(packet.phits)).sum();
                    // The latest packets are those that wait.
                    let gone = port.held.iter().take_while(|packet| {
                        let is_gone = rest > waiting;
                        rest -= u32::from(packet.phits);
                        is_gone
                    });
                    let gone = gone.count();
                    port.held.drain(..gone);
                    waiting
                }
                _ => port.phits(now),
            };
            if phits == 0 {
                // The next packet brings the sample.
                continue;
            }
            port.due = now + base;
            next = next.min(port.due);
            let feedback = self.params.feedback(phits, port.before);
            port.before = phits;
            if feedback == 0 || !rng.chance(self.params.notify) {
                continue;
            }
            let culprit = match self.params.point {
                Point::Output => port.held.first().copied(),
                _ => {
                    let count = port.packets().count() as u32;
                    port.packets().nth(rng.below(count) as usize).copied()
                }
            };
            if let Some(packet) = culprit {
                self.notifies(at, packet, feedback);
            }
        }
        self.routers[local].check = next;
    }

    /// Notifies, at place `local`, the source of `packet`, which stands in the queue of `port`.
    fn notifies(&mut self, at: &mut Site<'_>, packet: Waiting, feedback: u8) {
        let local = at.local as usize;
        let (home, _) = at.topology.attachment(packet.source);
        let here = at.topology.group_of(at.router);
        if self.params.point == Point::Output && home == at.router {
            if packet.to != at.router {
                let port = self.minimal_port(at, packet.to);
                self.reacts(local, port, feedback, at.now);
            }
            return;
        }
        self.passes_on(at, Notice { source: packet.source, feedback });
        if self.params.own && at.topology.group_of(packet.to) != here {
            let port = self.minimal_port(at, packet.to);
            self.lowers(local, port, f64::from(feedback));
        }
    }
}
