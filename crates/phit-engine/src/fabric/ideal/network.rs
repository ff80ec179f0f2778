//! What carries the messages of the ideal network, in each model.

use super::Model;
use super::intake::Intake;
use crate::engine::Tick;
use crate::fabric::whole::{Carries, phits};
use crate::fabric::zero_load::{Step, Way, Ways};
use crate::fabric::{Bandwidth, Blueprint};
use crate::workload::Workload;
use phit_workload::host::Message;
use phit_workload::network::{self, Hop, Network};
use std::collections::HashMap;
use std::sync::Arc;

/// What carries the messages of a model.
pub(super) fn carrier(model: Model, latency: Tick, blueprint: &Blueprint, of: &Arc<Workload>) -> Carrier {
    let endpoints = blueprint.topology.endpoints() as usize;
    let (ways, of) = (Ways::new(blueprint, latency), of.clone());
    match model {
        Model::Constant => Carrier::Constant(latency.into()),
        Model::ZeroLoad | Model::EndpointLinks => Carrier::ZeroLoad(ZeroLoad {
            ways,
            of,
            free: vec![0; endpoints],
            intakes: (model == Model::EndpointLinks).then(|| vec![Intake::default(); endpoints]),
            known: HashMap::new(),
        }),
        Model::StoreAndForward => {
            Carrier::Links(Links { ways, of, free: HashMap::new(), known: HashMap::new(), carried: HashMap::new() })
        }
    }
}

/// The messages of each model.
pub(super) enum Carrier {
    /// Every message takes this many ticks.
    Constant(u64),
    ZeroLoad(ZeroLoad),
    Links(Links),
}

impl Network for Carrier {
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop {
        match self {
            Self::Constant(latency) => network::Ideal(|_, _| *latency).hop(message, hops, now),
            Self::ZeroLoad(ways) => ways.hop(message, hops, now),
            Self::Links(links) => links.hop(message, hops, now),
        }
    }

    fn queued(&self, rank: u32, rail: u8, now: u64) -> u64 {
        match self {
            Self::ZeroLoad(ways) => ways.queued(rank, rail, now),
            Self::Constant(_) | Self::Links(_) => 0,
        }
    }

    fn is_ideal(&self) -> bool {
        matches!(self, Self::Constant(_))
    }
}

impl Carries for Carrier {
    fn carried(&self, _number: usize, router: u32, port: u16) -> u64 {
        match self {
            Self::Links(links) => links.carried.get(&(router, u32::from(port))).copied().unwrap_or(0),
            Self::Constant(_) | Self::ZeroLoad(_) => 0,
        }
    }
}

/// See [`Model::ZeroLoad`] and [`Model::EndpointLinks`].
pub(super) struct ZeroLoad {
    ways: Ways,
    of: Arc<Workload>,
    /// By endpoint: when its link into the network is free.
    free: Vec<u64>,
    /// By endpoint: its link out of the network, if that has a limit.
    intakes: Option<Vec<Intake>>,
    known: HashMap<(u32, u32), Way>,
}

impl Network for ZeroLoad {
    fn hop(&mut self, message: &Message, _hops: u32, now: u64) -> Hop {
        let Message { source, destination, bytes, nic, .. } = *message;
        if source == destination {
            return Hop::Arrives(now);
        }
        let [from, to] = [source, destination].map(|rank| self.of.endpoint(rank, nic));
        let of = if self.intakes.is_some() { Ways::together } else { Ways::between };
        let way = *self.known.entry((from, to)).or_insert_with(|| of(&self.ways, from, to));
        let phits = phits(&self.of.packets, bytes);
        let cycle = u64::from(self.ways.ticks_per_cycle());
        let time = |bandwidth: Bandwidth| bandwidth.cycles_of_message(phits).saturating_mul(cycle);
        let free = &mut self.free[from as usize];
        // Like every packet, it starts in the cycle after its generation.
        let start = now.div_ceil(cycle).saturating_add(1).saturating_mul(cycle).max(*free);
        *free = start.saturating_add(time(self.ways.injected(from)).max(cycle));
        let first = start.saturating_add(way.latency.into());
        let last = first.saturating_add(time(way.bandwidth));
        Hop::Arrives(match &mut self.intakes {
            Some(intakes) => intakes[to as usize].take(first, time(self.ways.ejected(to))).max(last),
            None => last,
        })
    }

    fn queued(&self, rank: u32, rail: u8, now: u64) -> u64 {
        self.free[self.of.endpoint(rank, rail) as usize].saturating_sub(now)
    }
}

/// See [`Model::StoreAndForward`].
pub(super) struct Links {
    ways: Ways,
    of: Arc<Workload>,
    /// By router, or endpoint, and port: when the link is free.
    free: HashMap<(u32, u32), u64>,
    known: HashMap<(u32, u32), Vec<Step>>,
    /// Phits that it has carried.
    carried: HashMap<(u32, u32), u64>,
}

impl Network for Links {
    fn hop(&mut self, message: &Message, hops: u32, now: u64) -> Hop {
        let Message { source, destination, bytes, nic, .. } = *message;
        if source == destination {
            return Hop::Arrives(now);
        }
        let [from, to] = [source, destination].map(|rank| self.of.endpoint(rank, nic));
        let steps = self.known.entry((from, to)).or_insert_with(|| self.ways.steps(from, to));
        let Some(step) = steps.get(hops as usize) else { return Hop::Arrives(now) };
        let phits = phits(&self.of.packets, bytes);
        let time = step.bandwidth.cycles_of_message(phits).saturating_mul(self.ways.ticks_per_cycle().into());
        let carried = self.carried.entry(step.link).or_default();
        *carried = carried.saturating_add(phits);
        let free = self.free.entry(step.link).or_default();
        *free = now.max(*free).saturating_add(time);
        let there = free.saturating_add(step.latency.into());
        match hops as usize + 1 == steps.len() {
            true => Hop::Arrives(there),
            false => Hop::Next(there),
        }
    }
}
