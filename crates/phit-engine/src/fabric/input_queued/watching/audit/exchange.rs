//! Requests and replies.

use super::pending::Pending;
use crate::engine::parallel::Inboxes;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::post::mail::Mail;
use crate::fabric::input_queued::state::lost::Kind;
use std::collections::HashMap;

/// Every request without a reply is one packet, or waits for its reply to be sent.
pub(super) fn answered(partitions: &[Partition], inboxes: &Inboxes<Mail>, held_packets: u64) -> Result<(), String> {
    let mut sum = (0, held_packets);
    for partition in partitions {
        let Some(exchange) = partition.sending.exchange() else { return Ok(()) };
        sum.0 += exchange.waiting()?;
        let drawn = partition.endpoints.iter().map(|endpoint| endpoint.next.is_some());
        let repeats = partition.repeats.as_ref();
        let again = |e, kind| repeats.is_some_and(|repeats| repeats.has_begun(e, kind));
        sum.1 += exchange.unsent(drawn, again) + exchange.given_up();
        sum.1 += repeats.map_or(0, |repeats| repeats.unsent());
    }
    inboxes.for_each(|_, mail| sum.1 += (mail.again.len() + mail.ended.len()) as u64);
    // A packet whose flits are in several partitions is in the arena of each. A lost packet stays in an arena until all
    // of its parts have been thrown away.
    let whole = partitions.iter().all(|partition| partition.setup.settings.single);
    let exact = whole || partitions.len() == 1 && partitions[0].repeats.is_none();
    match sum.0 == sum.1 || !exact {
        true => Ok(()),
        false => Err(format!("{} requests without a reply, but {} requests and replies", sum.0, sum.1)),
    }
}

/// Checks the room for requests at each endpoint. Its parts add up: free room, room that comes free, room of requests
/// that have been sent there, and room of requests that it keeps.
pub(super) fn kept(partition: &Partition, pending: &Pending) -> Result<(), String> {
    // A packet of several flits may have been sent in part.
    let Some(exchange) = partition.sending.exchange().filter(|_| partition.setup.settings.single) else {
        return Ok(());
    };
    let Some(room) = partition.setup.traffic.requests().and_then(|requests| requests.room) else { return Ok(()) };
    // Requests that have left the network and have not been delivered, by endpoint.
    let mut coming = HashMap::<u32, u64>::new();
    for packet in pending.ejected.iter().map(|&packet| &partition.packets[packet]) {
        if Kind::of(packet) == Kind::Request {
            *coming.entry(packet.destination).or_default() += u64::from(packet.size);
        }
    }
    for (e, endpoint) in (0..).zip(partition.endpoints.iter()) {
        let output = &partition.tables.outputs[partition.queues[endpoint.queues].port];
        let channels = output.vc..output.vc + u32::from(output.vcs / 2);
        let free: i64 = channels.clone().map(|channel| i64::from(partition.tables.channels[channel].credits)).sum();
        let back: u64 = channels.clone().filter_map(|channel| pending.credits.get(&channel)).sum();
        let kept: u64 = exchange.kept(e).map(|(_, phits)| u64::from(phits)).sum();
        let coming = coming.get(&endpoint.number).copied().unwrap_or(0);
        let all = u64::from(room) * u64::from(output.vcs / 2);
        if free < 0 || free as u64 + back + kept + coming != all {
            return Err(format!(
                "endpoint {}: room for {free} phits of requests, {back} coming free, {kept} kept, {coming} coming: not \
                 {all}",
                endpoint.number
            ));
        }
    }
    Ok(())
}
