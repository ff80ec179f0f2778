//! Deadlock freedom of detours around faults, which have virtual channels of their own.
//!
//! Packets of a mechanism may wait for those on detours, and these for one another alone: so no circle can lead through
//! both. What is followed are the hops of all detours, from every router to every other, in the graphs that follow one
//! another while packets on detours stay: those that came over a link in one graph may have their next hop in another.

use super::cdg::{Channel, Flaw, Report};
use super::dependencies::Dependencies;
use crate::topology::{Peer, Topology};

/// A hop over the link of an output, and one that may follow it.
pub(crate) type Follows<'a> = &'a mut dyn FnMut(u32, (u32, u16), (u32, u16));

/// Proves that no detours wait for one another in a circle, or shows how they do. `channels` is by link class the
/// channel that they take; `follow` calls what it is given with the number of a set of graphs, a hop, and one that may
/// follow it in one of these graphs.
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

/// Links that leave a router for others.
fn links(whole: &dyn Topology, router: u32) -> usize {
    let leads = |port: &u16| matches!(whole.port(router, *port).peer, Peer::Router { .. });
    (0..whole.ports(router)).filter(leads).count()
}
