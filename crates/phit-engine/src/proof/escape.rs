//! Deadlock freedom by escape, for mechanisms whose packets may wait for one another in a circle but never have to.
//!
//! Under virtual cut-through (or store-and-forward) a packet needs room for all of itself in the next channel and
//! nothing else. If every packet, wherever it stands, is always permitted one *escape* hop for which it can wait, and
//! the channels can be put in an order in which every escape hop leads upwards, then no packets wait for ever: those in
//! the last channels are ejected, and so, from the last to the first, every channel keeps moving (García et al., ICPP
//! 2013, for OLM; the argument is that of Duato's escape channels, with channels shared by all packets). A packet must
//! not commit itself to another hop while it is blocked.
//!
//! The hops of all packets are followed from every router to every router; the dependencies are those of the escape
//! hops alone.

use super::cdg::{Channel, Flaw, Messages, Report, Walk};
use crate::engine::poll;
use crate::fabric::seams::routing::{Adaptive, Standing};
use crate::topology::{Hops, Topology};
use std::collections::HashSet;

/// Proves that every packet can always escape, or shows why not. Time grows with the square of the number of routers
/// and with the number of channels.
pub(crate) fn check(
    topology: &dyn Topology,
    mechanism: &dyn Adaptive,
    vcs: &[u8],
    messages: Option<Messages>,
) -> Result<Report, Flaw> {
    let mut walk = Walk::new(topology, vcs, messages);
    for to in topology.hosts() {
        follow(&mut walk, topology, mechanism, to, vcs)?;
    }
    walk.conclude()
}

fn follow(
    walk: &mut Walk<'_>,
    topology: &dyn Topology,
    mechanism: &dyn Adaptive,
    to: u32,
    vcs: &[u8],
) -> Result<(), Flaw> {
    let mut seen: HashSet<(Standing, Option<u32>)> = HashSet::new();
    let injected = |at| Standing { at, to, came: (0, 0), hops: Hops::default(), memo: 0 };
    let mut open: Vec<(u32, Standing, Option<u32>)> = topology.hosts().map(|r| (r, injected(r), None)).collect();
    let mut steps = Vec::new();
    while let Some((start, packet, holds)) = open.pop() {
        poll();
        if packet.at == to {
            walk.last.extend(holds);
            continue;
        }
        if !seen.insert((packet, holds)) {
            continue;
        }
        walk.states += 1;
        let longest = mechanism.longest(topology);
        if packet.hops.total() >= longest {
            return Err(Flaw::TooLong { from: start, hops: longest });
        }
        steps.clear();
        mechanism.steps(topology, &packet, vcs, &mut steps);
        if !steps.iter().any(|step| step.escape) {
            return Err(Flaw::Stranded { from: start, at: packet.at });
        }
        for step in &steps {
            for vc in step.hop.vc..step.hop.vc.saturating_add(step.hop.vcs) {
                let channel = Channel { router: packet.at, port: step.hop.port, vc };
                let Some(&next) = walk.index.get(&channel) else {
                    return Err(Flaw::NoSuchChannel { from: start, channel });
                };
                match holds {
                    _ if !step.escape => {}
                    Some(held) => drop(walk.dependencies.add_edge(held, next, ())),
                    None => drop(walk.first.insert(next)),
                }
                let end = walk.ends[next as usize];
                let mut hops = packet.hops;
                hops.add(end.class);
                let there = Standing { at: end.router, to, came: (end.class, vc), hops, memo: step.memo };
                open.push((start, there, Some(next)));
            }
        }
    }
    Ok(())
}
