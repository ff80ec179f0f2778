//! The router's parameters turned into ticks and phits, shared by all partitions.

use super::pace::Pace;
use crate::engine::Tick;
use crate::fabric::Bandwidth;
use crate::fabric::input_queued::options::params::{
    Admittance, Clock, Connection, CreditChannel, CreditRelease, CutThrough, InjectionQueue, Inputs, Redecision,
    RouterParams, Sharing, Speculation, Speedup, Switching, VcAllocation, VcEligible, VcPreferred, VcReuse, VcTurns,
};
use crate::fabric::links::{LinkClasses, Phits};
use crate::fabric::seams::queueing::Division;
use crate::fabric::seams::routing::Buffers;

/// The kernel's settings.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// Grant to output.
    pub latency: Tick,
    /// Front of the queue to first allocation.
    pub allocation_delay: Tick,
    /// Crossbar frequency over link frequency.
    pub speedup: Speedup,
    /// The crossbar's own rate, in phits per cycle, if it does not follow the links.
    pub crossbar: Option<Bandwidth>,
    /// The steps of routers that rest in some ticks, in which their times are counted then.
    pub pace: Option<Pace>,
    /// Arrival of a credit to its use.
    pub credit_delay: Tick,
    /// How packets move.
    pub switching: Switching,
    /// VCs are allocated in a stage of their own.
    pub vc_stage: bool,
    /// Heads ask for the crossbar in that stage already, if so after others or not.
    pub speculation: Option<Speculation>,
    /// The crossbar connects an input with an output for a packet.
    pub connects_packets: bool,
    /// A virtual channel is given to the next packet when its buffer is empty and all credits are back.
    pub reuse_when_empty: bool,
    /// Heads ask for no virtual channel that has no room for a flit.
    pub full_is_taken: bool,
    /// Heads prefer virtual channels whose buffers are empty.
    pub prefers_empty: bool,
    /// In the order of virtual channels' arbiters the heads of one queue number stand side by side.
    pub turns_by_queue: bool,
    /// Credits are sent when the flit leaves the output buffer.
    pub credit_at_output: bool,
    /// An input port sends back the credit of one flit at the end of each cycle.
    pub credits_in_turn: bool,
    /// A packet that crosses while it arrives keeps its output as long as its input.
    pub cut_through_holds_output: bool,
    /// An input sends no more than a phit per link cycle into the crossbar.
    pub inputs_at_link_rate: bool,
    /// Paths of each input port and of each output port through the crossbar.
    pub paths: (u32, u32),
    /// Rounds of allocation in a tick.
    pub rounds: u32,
    /// Transit before injected traffic.
    pub transit_priority: bool,
    /// Choice of injection queue.
    pub injection_queue: InjectionQueue,
    /// Room of each admittance queue in phits, if endpoints have any.
    pub admittance: Option<Phits>,
    /// Blocked heads of a mechanism that re-decides are asked about in every tick.
    pub redecide_every_cycle: bool,
    /// Links, by class.
    pub links: LinkClasses,
    /// The buffers behind outputs.
    pub buffers: Buffers,
    /// Virtual networks; `buffers` has the virtual channels of one.
    pub networks: u16,
    /// How virtual channels share the memory of their port, if they do.
    pub sharing: Option<Sharing>,
}

/// Phits of a flit where the packet is the flit: more than those of any packet, whose sizes are 16-bit numbers.
pub(crate) const WHOLE_PACKET: u32 = u16::MAX as u32 + 1;

impl Config {
    /// Ticks and phits of `params` for the given links, with buffers divided as `division` says and virtual channels
    /// shared out among so many networks, the last ones between routers reserved.
    pub(crate) fn new<A>(
        params: &RouterParams<A>,
        links: &LinkClasses,
        division: Division,
        (networks, reserved): (u16, u8),
    ) -> Self {
        let parts = division.parts();
        let ticks_per_cycle = links.ticks_per_cycle;
        Self {
            latency: params.latency * links.fine(),
            allocation_delay: params.allocation_delay * links.fine(),
            speedup: params.speedup,
            crossbar: params.crossbar_bandwidth,
            pace: Pace::new(params.speedup).filter(|_| params.clock == Clock::Crossbar),
            credit_delay: params.credit_delay * ticks_per_cycle,
            switching: params.switching,
            vc_stage: params.vc_allocation != VcAllocation::WithSwitch,
            speculation: (params.vc_allocation == VcAllocation::Speculative).then_some(params.speculation),
            connects_packets: params.connection == Connection::Packet,
            reuse_when_empty: params.vc_reuse == VcReuse::Empty,
            full_is_taken: params.vc_eligible == VcEligible::WithRoom,
            prefers_empty: params.vc_preferred == VcPreferred::Empty,
            turns_by_queue: params.vc_turns == VcTurns::Queues,
            credit_at_output: params.credit_release == CreditRelease::Output,
            credits_in_turn: params.credit_channel == CreditChannel::OnePerCycle,
            cut_through_holds_output: params.cut_through == CutThrough::Both,
            inputs_at_link_rate: params.inputs == Inputs::Link,
            paths: (params.input_speedup, params.output_speedup),
            rounds: params.allocation_rounds,
            transit_priority: params.transit_priority,
            injection_queue: params.injection_queue,
            admittance: (params.admittance == Admittance::PerDestination).then_some(params.admittance_room),
            redecide_every_cycle: params.redecision == Redecision::EveryCycle,
            sharing: params.sharing,
            buffers: Buffers {
                division,
                vcs: links.vcs_but(division, networks, reserved),
                capacity: links.iter().map(|l| l.buffer * parts).collect(),
                flit_size: match params.switching {
                    Switching::Wormhole => params.flit_size,
                    Switching::VirtualCutThrough | Switching::StoreAndForward => WHOLE_PACKET,
                },
                output_buffer: params.output_buffer.finite(),
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
        cycle_apart && !ideal && self.paths == (1, 1) && !self.credit_at_output
    }

    /// True if the credits of an endpoint that has room for `room` phits in each virtual channel never keep a packet
    /// of at most `largest` phits waiting: where flits of one phit follow one another a cycle apart, so many are under
    /// way at most as there are cycles from a grant to the credit's return. What has a virtual channel of its own
    /// before it asks for the crossbar does not choose among them by credits, either.
    pub(crate) fn endpoints_never_fill(&self, room: u32, largest: u16, ideal: bool) -> bool {
        let link = &self.links[0];
        let single_phits = self.buffers.flit_size == 1 || largest == 1;
        let cycle_apart = self.links.ticks_per_cycle == 1 && !self.follows_links();
        let consumed = self.latency + 1 + link.ejection_latency + 1;
        let round_trip = consumed + link.credit_latency + self.credit_delay;
        let in_step = single_phits && cycle_apart && !ideal && self.paths == (1, 1) && self.vc_stage;
        in_step && room >= round_trip
    }

    /// True if ports have rates of their own, see [`crate::fabric::input_queued::wiring::rates`]: some link, or the
    /// crossbar, carries more or less than a phit in each cycle.
    pub(crate) fn follows_links(&self) -> bool {
        !self.links.are_alike() || self.crossbar.is_some_and(|rate| rate != Bandwidth::ONE)
    }

    /// What takes so long at the rate of the links takes so long in the crossbar.
    #[inline]
    pub(crate) fn sped_up(&self, time: u64) -> u64 {
        (time * u64::from(Speedup::PARTS)).div_ceil(self.speedup.parts().into())
    }

    /// Ticks for `phits` through the crossbar; steps where routers rest in some ticks.
    #[inline]
    pub(crate) fn crossing(&self, phits: u32) -> Tick {
        match self.pace {
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
