//! Shared by kernels that carry whole messages: what endpoints have sent and received, and the results of a program.

use crate::engine::poll;
use crate::measure::{MessageRow, OperationRow, PhaseRow, Programs, RankRow, TrackRow};
use crate::workload::{Packets, Workload};
use phit_workload::host::Message;
use phit_workload::network::{Hop, Network};
use phit_workload::run::{Carried, Finish};
use std::sync::Arc;

/// Phits of a message, including its packets' headers.
pub(super) fn phits(packets: &Packets, bytes: u64) -> u64 {
    let (count, last) = packets.cut(bytes);
    (count - 1).saturating_mul(packets.full().into()).saturating_add(last.into())
}

/// Sum of all counts, or the largest number if it overflows.
pub(super) fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Counts the phits of messages as they enter the network.
pub(super) struct Counted<N> {
    pub inner: N,
    /// Phits that each endpoint has sent, and has received.
    pub count: (Vec<u64>, Vec<u64>),
    pub of: Arc<Workload>,
}

impl<N: Network> Network for Counted<N> {
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop {
        poll();
        if hops == 0 && message.source != message.destination {
            let phits = phits(&self.of.packets, message.bytes);
            for (counts, rank) in [(&mut self.count.0, message.source), (&mut self.count.1, message.destination)] {
                let count = &mut counts[self.of.endpoint(rank, message.nic) as usize];
                *count = count.saturating_add(phits);
            }
        }
        self.inner.hop(message, hops, now)
    }

    fn queued(&self, rank: u32, rail: u8, now: u64) -> u64 {
        self.inner.queued(rank, rail, now)
    }

    fn is_ideal(&self) -> bool {
        self.inner.is_ideal()
    }

    fn overtakes(&self) -> bool {
        self.inner.overtakes()
    }

    fn next(&mut self) -> Option<u64> {
        self.inner.next()
    }

    fn advance(&mut self, now: u64, arrived: &mut Vec<(u64, Message)>) {
        self.inner.advance(now, arrived);
    }
}

/// The rows of a program's results.
pub(super) fn rows(finish: &Finish, workload: &Workload) -> Programs {
    let rank = |((rank, &finish), &usage): ((u32, &u64), _)| RankRow {
        rank,
        job: workload.job_of(rank).name.clone(),
        endpoint: workload.endpoint(rank, 0),
        finish,
        usage,
    };
    let message = |carried: &Carried| {
        let row = MessageRow::new(&carried.message, workload.rails);
        MessageRow { last: Some(carried.arrived), matched: carried.matched, ..row }
    };
    Programs {
        ranks: (0..).zip(&finish.ranks).zip(&finish.usage).map(rank).collect(),
        messages: finish.messages.iter().map(message).collect(),
        operations: finish.operations.iter().map(|span| OperationRow(*span)).collect(),
        tracks: finish.stretches.iter().map(|stretch| TrackRow(*stretch)).collect(),
        phases: (0..).zip(&finish.phases).flat_map(|(rank, phases)| PhaseRow::of(rank, phases.clone())).collect(),
        ..Programs::default()
    }
}
