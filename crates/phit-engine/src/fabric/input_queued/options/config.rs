//! The router's parameters turned into ticks and phits, shared by all partitions.

use super::choices::Choices;
use super::headroom::PauseRule;
use crate::engine::Tick;
use crate::fabric::Bandwidth;
use crate::fabric::input_queued::options::params::{
    Admittance, CreditRelease, RouterParams, Sharing, Speedup, Switching,
};
use crate::fabric::links::{LinkClasses, Phits};
use crate::fabric::seams::queueing::Division;
use crate::fabric::seams::routing::Buffers;

/// The kernel's settings.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// Ticks from the grant to the output; steps where routers rest in some ticks.
    pub latency: Tick,
    /// Ticks from the front of the queue to the first allocation; steps where routers rest in some ticks.
    pub allocation_delay: Tick,
    /// Crossbar frequency over link frequency.
    pub speedup: Speedup,
    /// The crossbar's own rate, in phits per cycle, if it does not follow the links.
    pub crossbar: Option<Bandwidth>,
    /// Ticks from the arrival of a credit to its use.
    pub credit_delay: Tick,
    /// The named options.
    pub choices: Choices,
    /// How packets move.
    pub switching: Switching,
    /// Room of each admittance queue in phits, if endpoints have any.
    pub admittance: Option<Phits>,
    /// Links, by class.
    pub links: LinkClasses,
    /// The buffers behind outputs.
    pub buffers: Buffers,
    /// Virtual networks; `buffers` has the virtual channels of one.
    pub networks: u16,
    /// How virtual channels share the memory of their port, if they do.
    pub sharing: Option<Sharing>,
    /// When buffers pause their senders, if they do.
    pub pauses: Option<PauseRule>,
}

/// Phits of a flit where the packet is the flit. No packet has as many, because packet sizes are 16-bit numbers.
pub(crate) const WHOLE_PACKET: u32 = u16::MAX as u32 + 1;

impl Config {
    /// Ticks and phits of `params` for the given links. `division` says how buffers are divided. The virtual channels
    /// are shared out among `networks` networks, and the last `reserved` channels between routers are reserved.
    pub(crate) fn new<A>(
        params: &RouterParams<A>,
        links: &LinkClasses,
        division: Division,
        (networks, reserved): (u16, u8),
    ) -> Self {
        let parts = division.parts();
        let ticks_per_cycle = links.ticks_per_cycle;
        let choices = Choices::new(params);
        // Where credits are taken at the link, the next buffer behind the crossbar is the output buffer of a channel.
        let next = params.output_buffer.finite().filter(|_| choices.credits_at_link);
        Self {
            latency: params.latency * links.fine(),
            allocation_delay: params.allocation_delay * links.fine(),
            speedup: params.speedup,
            crossbar: params.crossbar_bandwidth,
            credit_delay: params.credit_delay * ticks_per_cycle,
            choices,
            switching: params.switching,
            admittance: (params.admittance == Admittance::PerDestination).then_some(params.admittance_room),
            sharing: params.sharing,
            pauses: None,
            buffers: Buffers {
                division,
                vcs: links.vcs_but(division, networks, reserved),
                capacity: links.iter().map(|l| next.unwrap_or(l.buffer * parts)).collect(),
                flit_size: match params.switching {
                    Switching::Wormhole => params.flit_size,
                    Switching::VirtualCutThrough | Switching::StoreAndForward => WHOLE_PACKET,
                },
                output_buffer: if next.is_some() { None } else { params.output_buffer.finite() },
                ticks_per_cycle: links.ticks_per_cycle,
            },
            links: links.clone(),
            networks,
        }
    }

    /// True if packets move as a whole: the packet is the flit.
    pub(crate) fn moves_packets(&self) -> bool {
        self.buffers.flit_size >= WHOLE_PACKET
    }

    /// True if flits leave an input port a cycle or more apart, so that their credits need not wait for one another,
    /// where nothing is discarded.
    pub(crate) fn credits_come_apart(&self, ideal: bool) -> bool {
        let cycle_apart = self.links.ticks_per_cycle == 1 && !self.follows_links();
        cycle_apart && !ideal && self.choices.paths == (1, 1) && self.choices.credit_release != CreditRelease::Output
    }

    /// True if the credits of an endpoint never keep a packet of at most `largest` phits waiting. The endpoint has room
    /// for `room` phits in each virtual channel. Where flits of one phit follow one another a cycle apart, the phits
    /// under way are no more than the cycles from a grant to the credit's return. Besides, a head must not choose its
    /// virtual channel by credits: it has one before it asks for the crossbar.
    pub(crate) fn endpoints_never_fill(&self, room: u32, largest: u16, ideal: bool) -> bool {
        let link = &self.links[0];
        let single_phits = self.buffers.flit_size == 1 || largest == 1;
        let cycle_apart = self.links.ticks_per_cycle == 1 && !self.follows_links();
        let consumed = self.latency + 1 + link.ejection_latency + 1;
        let round_trip = consumed + link.credit_latency + self.credit_delay;
        let in_step = single_phits && cycle_apart && !ideal && self.choices.paths == (1, 1) && self.choices.vc_stage;
        in_step && room >= round_trip
    }

    /// True if ports have rates of their own, see [`crate::fabric::input_queued::wiring::rates`]: some link, or the
    /// crossbar, carries more or less than a phit in each cycle.
    pub(crate) fn follows_links(&self) -> bool {
        !self.links.are_alike() || self.crossbar.is_some_and(|rate| rate != Bandwidth::ONE)
    }

    /// The time in the crossbar of a transfer that takes `time` at the rate of the links.
    #[inline]
    pub(crate) fn sped_up(&self, time: u64) -> u64 {
        (time * u64::from(Speedup::PARTS)).div_ceil(self.speedup.parts().into())
    }

    /// Ticks for `phits` through the crossbar; steps where routers rest in some ticks.
    #[inline]
    pub(crate) fn crossing(&self, phits: u32) -> Tick {
        match self.choices.pace {
            Some(_) => phits,
            None => {
                let parts = u64::from(phits) * u64::from(self.links.ticks_per_cycle) * u64::from(Speedup::PARTS);
                parts.div_ceil(self.speedup.parts().into()) as Tick
            }
        }
    }

    /// Flits of a packet of `size` phits.
    #[inline]
    pub(crate) fn flits(&self, size: u16) -> u16 {
        if u32::from(size) <= self.buffers.flit_size {
            1
        } else {
            u32::from(size).div_ceil(self.buffers.flit_size) as u16
        }
    }

    /// Phits of flit number `flit` of a packet of `size` phits.
    #[inline]
    pub(crate) fn flit_phits(&self, size: u16, flit: u16) -> u32 {
        (u32::from(size) - u32::from(flit) * self.buffers.flit_size).min(self.buffers.flit_size)
    }

    /// Phits of the first `flits` flits of a packet of `size` phits.
    pub(crate) fn phits_of(&self, size: u16, flits: u16) -> u32 {
        (0..flits).map(|flit| self.flit_phits(size, flit)).sum()
    }
}
