//! Requests and replies: the dependencies that answering endpoints add to those of channels.
//!
//! An answering endpoint does not accept every packet. A request waits at its destination for room, that is, until a
//! reply leaves. The reply waits in the injection queue of its router. So injection queues are channels, too, and the
//! graph includes both kinds of packets (Dally and Towles, *Principles and Practices of Interconnection Networks*,
//! section 14.1.4).

use super::cdg::{Channel, Flaw, Report};
use super::dependencies::{Dependencies, circle};
use crate::topology::{Peer, Topology, terminals};

/// Requests and replies. Both take the routes under proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Messages {
    /// Each kind has its own virtual channels, as many as are given.
    Apart,
    /// They share the virtual channels.
    Together,
}

/// Looks for a cycle among the channels of requests, the channels of replies if they are separate, and the injection
/// queues. Injection queues are numbered by network and router. `states` is for the report.
pub(super) fn conclude(
    dependencies: &Dependencies,
    topology: &dyn Topology,
    vcs: &[u8],
    messages: Messages,
    states: usize,
) -> Result<Report, Flaw> {
    let (count, routers) = (dependencies.ends.len() as u32, topology.routers());
    let replies = match messages {
        Messages::Apart => 1,
        Messages::Together => 0,
    };
    let injection = |network: u32, router: u32| (1 + replies) * count + network * routers + router;
    let mut after: Vec<Vec<u32>> = vec![Vec::new(); ((1 + replies) * (count + routers)) as usize];
    for network in 0..=replies {
        let of = |channel: u32| network * count + channel;
        for (channel, end) in (0..).zip(&dependencies.ends) {
            after[of(channel) as usize].extend(dependencies.of(channel).map(of));
            if dependencies.entered[channel as usize] {
                after[injection(network, end.channel.router) as usize].push(of(channel));
            }
        }
    }
    for (channel, end) in dependencies.ends.iter().enumerate().filter(|(channel, _)| dependencies.left[*channel]) {
        after[channel].push(injection(replies, end.router));
    }
    // A request may be for an endpoint of its own router.
    terminals(topology)
        .into_iter()
        .for_each(|router| after[injection(0, router) as usize].push(injection(replies, router)));

    let name = |node: u32| match node.checked_sub((1 + replies) * count) {
        None => {
            let end = dependencies.ends[(node % count) as usize];
            let first = if node < count { 0 } else { vcs[usize::from(end.class)] };
            Channel { vc: end.channel.vc.saturating_add(first), ..end.channel }
        }
        Some(place) => {
            let (network, router) = (place / routers, place % routers);
            let to_endpoint = |&port: &u16| matches!(topology.port(router, port).peer, Peer::Endpoint(_));
            let port = (0..topology.ports(router)).find(to_endpoint).unwrap_or(0);
            Channel { router, port, vc: network as u8 * vcs.first().copied().unwrap_or(1) }
        }
    };
    match circle(after.len(), |node| after[node as usize].iter().copied()) {
        Some(circle) => Err(Flaw::Cycle(circle.into_iter().map(name).collect())),
        None => Ok(Report {
            channels: ((1 + replies) * count) as usize,
            dependencies: after.iter().map(Vec::len).sum(),
            states,
        }),
    }
}
