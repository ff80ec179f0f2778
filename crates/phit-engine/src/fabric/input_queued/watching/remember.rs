//! What a partition remembers when no packet is in the network: see [`Memory`].
//!
//! Every field of [`Partition`] is named here. So a new field must be added to the memory, or be shown not to matter.

use crate::engine::{Memory, Tick};
use crate::fabric::LAST;
use crate::fabric::input_queued::endpoints::endpoint::Endpoint;
use crate::fabric::input_queued::endpoints::seam::Sending;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::{Input, Output, Progress, Queue};
use crate::fabric::input_queued::wiring::setup::Setup;
use crate::fabric::seams::routing::OutputTables;

/// Cycles after which a crossbar of any frequency is at the same place of its pace.
const PACE: u64 = 1000;

impl Partition {
    /// True if no packet, credit, message or wake-up is on its way, and nothing is to be looked at.
    pub(crate) fn is_empty(&self) -> bool {
        let hosts = self.hosted.as_ref().and_then(|hosted| hosted.executor().next());
        self.at_rest()
            && hosts.is_none()
            && !self.expects()
            && !self.signals.has_messages()
            && !self.signals.has_outgoing()
            && !self.signals.has_notices()
            && !self.is_pending()
            && self.post.next_tick(self.now, LAST) == LAST
    }

    /// Adds the state of an empty partition, see [`Self::is_empty`].
    ///
    /// Lists of packets, of sleepers and of things to do are empty. Their order and their free places do not matter,
    /// because results do not depend on the number of partitions, which changes both.
    pub(crate) fn remember(&self, memory: &mut Memory) {
        let Self {
            setup,
            // It changes only when links break: then nothing is compared.
            map: _,
            routing,
            queueing,
            management,
            allocator,
            vc_allocator,
            rngs,
            inputs,
            queues,
            progress,
            tables,
            latest,
            next_credit,
            paths,
            rates: _,
            pools,
            connections,
            endpoints,
            injection_rngs,
            // Empty.
            agenda: _,
            at_outputs: _,
            lists: _,
            watchers: _,
            packets: _,
            now,
            post: _,
            // Counts, and scratch memory.
            collector: _,
            offered_phits: _,
            requests: _,
            scratch: _,
            losers: _,
            heads: _,
            alternatives: _,
            waiting: _,
            discards: _,
            watched: _,
            wires: _,
            // Links break: then nothing is compared.
            severed: _,
            outages: _,
            signals,
            probing,
            hosted,
            sending,
            repeats,
        } = self;
        phase(setup, *now, memory);
        // Without periods the next one is in the last tick of all.
        memory
            .add(Some(signals.next_period()).filter(|at| *at < Tick::MAX).map_or(0, |at| 1 + at.saturating_sub(*now)));
        if signals.pauses().is_some() {
            memory.cannot("pauses");
        }
        if probing.next() < Tick::MAX {
            memory.cannot("probes");
        }
        routing.remember(memory);
        if !queueing.timeless() {
            memory.cannot("the queue organisation's choices");
        }
        if let Some(manager) = management.manager() {
            manager.remember(memory);
        }
        (0..queues.len() as u32).filter_map(|queue| management.sorted(queue)).for_each(|queue| memory.add(queue));
        allocator.remember(memory);
        if allocator.ideal() || paths.is_some() {
            memory.cannot("requests that cross in turn");
        }
        vc_allocator.iter().for_each(|allocator| allocator.remember(memory));
        rngs.iter().chain(injection_rngs.iter()).for_each(|rng| memory.stream(rng));
        inputs.iter().for_each(|input| remember_input(input, memory));
        queues.iter().for_each(|queue| remember_queue(queue, memory));
        for &Progress { eligible, arrived, sent } in progress.iter() {
            memory.free_from(eligible);
            memory.add_all([arrived, sent]);
        }
        remember_outputs(tables, memory);
        let turns = next_credit.iter().map(|turn| &turn.next);
        latest.iter().chain(turns).for_each(|tick| memory.free_from(*tick));
        if connections.is_some() {
            memory.cannot("connections through the crossbar");
        }
        pools.iter().for_each(|pools| memory.text(pools));
        endpoints.iter().for_each(|endpoint| remember_endpoint(endpoint, memory));
        hosted.iter().for_each(|hosted| hosted.executor().remember(memory));
        match sending {
            Sending::InTurn(_) => {}
            Sending::Admitted(admittances) => admittances.remember(memory),
            _ => memory.cannot("the state of senders"),
        }
        if repeats.is_some() {
            memory.cannot("packets that are sent again");
        }
    }
}

/// The place of the present in a cycle, and in the pace of the crossbar.
fn phase(setup: &Setup, now: Tick, memory: &mut Memory) {
    let ticks = setup.settings.ticks_per_cycle;
    memory.add(now % ticks);
    if setup.settings.choices.pace.is_some() {
        memory.add(u64::from(now / ticks) % PACE);
    }
}

fn remember_input(input: &Input, memory: &mut Memory) {
    let &Input {
        busy, queues: _, router: _, upstream_partition: _, upstream: _, number: _, count: _, class: _, ..
    } = input;
    let &Input { waking, ready, asleep, .. } = input;
    memory.free_from(busy);
    memory.add_all([u16::from(waking), ready, asleep]);
}

fn remember_queue(queue: &Queue, memory: &mut Memory) {
    // Packets are numbered by their places, and there are none.
    let &Queue { first: _, last: _, port: _, output, vc, vcs } = queue;
    memory.add_all([output, vc.into(), vcs.into()]);
}

fn remember_outputs(tables: &OutputTables, memory: &mut Memory) {
    let OutputTables {
        first_port: _,
        outputs,
        channels,
        charged,
        owners,
        // Flits that have left return their room when it is needed.
        buffers: _,
        queues,
        lines,
        ready,
        // A grant of this tick, and there is none.
        granted: _,
        round: _,
        behind: _,
    } = tables;
    for output in outputs.iter() {
        // `asked` only says which outputs may be contended.
        let &Output { waiters, phits: _, busy, free, wake: _, vc: _, router: _, far_partition: _, asked: _, .. } =
            output;
        memory.add(waiters);
        memory.free_from(busy);
        memory.free_from(free);
    }
    channels.iter().for_each(|channel| memory.add(i64::from(channel.credits) as u64));
    charged.iter().chain(owners.iter()).for_each(|word| memory.add(*word));
    ready.iter().for_each(|tick| memory.free_from(*tick));
    if queues.is_some() {
        memory.cannot("buffers of packets without data");
    }
    if lines.is_some() {
        memory.cannot("links that take packets in turn");
    }
}

fn remember_endpoint(endpoint: &Endpoint, memory: &mut Memory) {
    // Its packets are those of the program, so its source draws none. `wake` is past.
    let &Endpoint { source: _, next: _, free, wake: _, channel: _, queues: _, sent, lane, blocked, .. } = endpoint;
    memory.free_from(free);
    memory.add_all([sent, lane, u16::from(blocked)]);
}
