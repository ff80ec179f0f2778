//! Deadlock freedom of detours around faults, which have virtual channels of their own.
//!
//! Packets of a mechanism may wait for packets on detours, but packets on detours wait only for one another. So no
//! cycle can lead through both. The proof follows the hops of all detours, from every router to every other. It
//! combines graphs that follow one another while packets stay on detours: a packet that came over a link in one graph
//! may take its next hop in another.

use super::cdg::{Channel, Flaw, Report};
use super::dependencies::Dependencies;
use crate::topology::{Peer, Topology};

/// Receives the number of a set of graphs, a hop over the link of an output, and a hop that may follow it.
pub(crate) type Follows<'a> = &'a mut dyn FnMut(u32, (u32, u16), (u32, u16));

/// Proves that packets on detours do not wait for one another in a cycle, or shows how they do. `channels` has the
/// detours' channel by link class. `follow` calls its argument for every pair of hops that may follow each other, with
/// the number of the set of graphs in which they may.
pub(crate) fn check(
    whole: &dyn Topology,
    channels: &[u8],
    follow: impl Fn(Follows<'_>) -> Result<(), Flaw>,
) -> Result<Report, Flaw> {
    let vcs: Vec<u8> = channels.iter().map(|channel| channel.saturating_add(1)).collect();
    let mut all = Report { channels: 0, dependencies: 0, states: 0 };
    let mut sets = 1;
    let mut set = 0;
    while set < sets {
        let mut dependencies = Dependencies::new(whole, &vcs);
        let (mut missing, mut states) = (None, 0);
        follow(&mut |number, held, asked| {
            sets = sets.max(number + 1);
            if number != set {
                return;
            }
            states += 1;
            let channel = |(router, port): (u32, u16)| {
                let class = usize::from(whole.port(router, port).class);
                Channel { router, port, vc: channels.get(class).copied().unwrap_or(0) }
            };
            let (from, to) = (channel(held), channel(asked));
            match (dependencies.number(from), dependencies.number(to)) {
                (Some(from), Some(to)) => dependencies.add(from, to),
                (None, _) => missing = missing.take().or(Some(Flaw::NoSuchChannel { from: held.0, channel: from })),
                (_, None) => missing = missing.take().or(Some(Flaw::NoSuchChannel { from: held.0, channel: to })),
            }
        })?;
        if let Some(flaw) = missing {
            return Err(flaw);
        }
        let report = dependencies.conclude(states)?;
        all.dependencies += report.dependencies;
        all.states += report.states;
        set += 1;
    }
    all.channels = (0..whole.routers()).map(|router| links(whole, router)).sum();
    Ok(all)
}

/// Number of links from a router to others.
fn links(whole: &dyn Topology, router: u32) -> usize {
    let leads = |port: &u16| matches!(whole.port(router, *port).peer, Peer::Router { .. });
    (0..whole.ports(router)).filter(leads).count()
}
