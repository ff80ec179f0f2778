//! Links that break during a run.
//!
//! What is on the link arrives, and credits come back; whatever is granted from then on is lost, and its credits never
//! return, so that a link takes no more than a buffer's worth before routing knows of it. When routing knows, the graph
//! is another one, and every head that has not been granted is decided about again.

use super::config::General;
use super::partition::Partition;
use super::state::BROKEN;
use crate::engine::NONE;
use crate::topology::{Known, Topology};
use std::sync::Arc;

impl Partition {
    /// The outputs `dead`, as (router, port), lead nowhere from now on.
    pub(crate) fn break_links(&mut self, dead: &[(u32, u16)]) {
        for output in self.outputs_among(dead) {
            self.tables.outputs[output].far_partition = BROKEN;
        }
    }

    /// Routing knows of the broken links `dead`: `graph` is what is left. What still goes over them, because there is
    /// no other way, waits for no credit.
    pub(crate) fn reroute(&mut self, graph: &Arc<dyn Topology>, dead: &[(u32, u16)]) {
        self.topology = graph.clone();
        self.known = Known::Other;
        for output in self.outputs_among(dead) {
            let first = self.tables.outputs[output].vc;
            for channel in first..first + u32::from(self.tables.outputs[output].vcs) {
                self.tables.channels[channel].credits = super::build::UNLIMITED;
            }
            if let Some(neighbour) = self.neighbours.get_mut(output as usize) {
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
        // Those who wake look in this tick, whenever the last look was.
        self.next_look = self.now;
        match self.settings.lists {
            true => self.wake_all_lists(),
            false => {
                (0..self.tables.outputs.len() as u32).for_each(|output| self.wake::<General>(output));
                // Some wait for the tick in which an output is free that they may not want any more.
                for queue in 0..self.queues.len() as u32 {
                    if self.queues[queue].first != NONE {
                        self.offer::<General>(self.queues[queue].port, queue);
                    }
                }
            }
        }
    }

    /// Those of `dead` that are here.
    fn outputs_among(&self, dead: &[(u32, u16)]) -> Vec<u32> {
        let here = dead.iter().filter(|(router, _)| self.routers.contains(*router));
        here.map(|&(router, port)| self.tables.first_port[self.routers.place(router) as u32] + u32::from(port))
            .collect()
    }
}
