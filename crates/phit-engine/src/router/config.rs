//! The router's parameters turned into ticks and phits, shared by all partitions.

use crate::engine::Tick;
use crate::router::allocator::AllocatorKind;
use crate::scenario::router::{
    Clock, CreditRelease, InjectionQueue, LinkParams, Phits, RouterParams, Switching, VcAllocation,
};

/// A link class in ticks.
#[derive(Debug, Clone)]
pub struct LinkClass {
    /// Output to input.
    pub latency: Tick,
    /// Router to endpoint (class `endpoint`).
    pub ejection_latency: Tick,
    /// Phits per cycle.
    pub bandwidth: u32,
    /// Phits per cycle from an endpoint into its router; `None` if unlimited.
    pub injection_bandwidth: Option<u32>,
    /// Virtual channels (queues).
    pub vcs: u16,
    /// Phits per virtual channel.
    pub buffer: u32,
}

/// The kernel's settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// Ticks per link cycle.
    pub ticks_per_cycle: Tick,
    /// Grant to output.
    pub latency: Tick,
    /// Front of the queue to first allocation.
    pub allocation_delay: Tick,
    /// Crossbar frequency over link frequency.
    pub speedup: u32,
    /// Arrival of a credit to its use.
    pub credit_delay: Tick,
    /// How packets move.
    pub switching: Switching,
    /// Phits per flit; larger than any packet where the packet is the flit.
    pub flit_size: u32,
    /// VCs are allocated in a stage of their own.
    pub vc_stage: bool,
    /// Credits are sent when the flit leaves the output buffer.
    pub credit_at_output: bool,
    /// Transit before injected traffic.
    pub transit_priority: bool,
    /// Phits per output buffer; `None` if unlimited.
    pub output_buffer: Option<u32>,
    /// Choice of injection queue.
    pub injection_queue: InjectionQueue,
    /// Crossbar allocator.
    pub allocator: AllocatorKind,
    /// Link classes, in the topology's order.
    pub links: Vec<LinkClass>,
    /// Virtual channels per class.
    pub vcs: Vec<u8>,
    /// Buffer size per class.
    pub capacity: Vec<u32>,
}

impl Config {
    /// Ticks and phits of `params` for the given link classes.
    pub fn new(params: &RouterParams, classes: &[String]) -> Self {
        let ticks_per_cycle = match params.clock {
            Clock::Link => 1,
            Clock::Crossbar => params.speedup,
        };
        let link = |class: &String| {
            let link: LinkParams =
                params.links.get(class).or_else(|| params.links.get("default")).cloned().unwrap_or_default();
            LinkClass {
                latency: link.latency * ticks_per_cycle,
                ejection_latency: link.ejection_latency.unwrap_or(link.latency) * ticks_per_cycle,
                bandwidth: link.bandwidth,
                injection_bandwidth: match link.injection_bandwidth {
                    Some(Phits::Infinite) => None,
                    Some(Phits::Finite(phits)) => Some(phits),
                    None => Some(link.bandwidth),
                },
                vcs: link.vcs,
                buffer: link.buffer.or_huge(),
            }
        };
        let links: Vec<LinkClass> = classes.iter().map(link).collect();
        Self {
            ticks_per_cycle,
            latency: params.latency,
            allocation_delay: params.allocation_delay,
            speedup: params.speedup,
            credit_delay: params.credit_delay * ticks_per_cycle,
            switching: params.switching,
            flit_size: match params.switching {
                Switching::Wormhole => params.flit_size,
                Switching::VirtualCutThrough | Switching::StoreAndForward => u32::from(u16::MAX) + 1,
            },
            vc_stage: params.vc_allocation == VcAllocation::Stage,
            credit_at_output: params.credit_release == CreditRelease::Output,
            transit_priority: params.transit_priority,
            output_buffer: match params.output_buffer {
                Phits::Finite(phits) => Some(phits),
                Phits::Infinite => None,
            },
            injection_queue: params.injection_queue,
            allocator: params.allocator.clone(),
            vcs: links.iter().map(|l| l.vcs.min(255) as u8).collect(),
            capacity: links.iter().map(|l| l.buffer).collect(),
            links,
        }
    }

    /// Ticks for `phits` through the crossbar.
    #[inline]
    pub fn crossing(&self, phits: u32) -> Tick {
        if self.speedup == 1 {
            phits * self.ticks_per_cycle
        } else {
            (phits * self.ticks_per_cycle).div_ceil(self.speedup)
        }
    }

    /// Ticks for `phits` over a link of `bandwidth` phits per cycle.
    #[inline]
    pub fn serialisation(&self, phits: u32, bandwidth: u32) -> Tick {
        if bandwidth == 1 { phits * self.ticks_per_cycle } else { phits.div_ceil(bandwidth) * self.ticks_per_cycle }
    }

    /// `tick` or the next start of a link cycle.
    #[inline]
    pub fn align(&self, tick: Tick) -> Tick {
        if self.ticks_per_cycle == 1 { tick } else { tick.next_multiple_of(self.ticks_per_cycle) }
    }

    /// Flits of a packet of `size` phits.
    #[inline]
    pub fn flits(&self, size: u16) -> u16 {
        u32::from(size).div_ceil(self.flit_size) as u16
    }

    /// Phits of flit number `flit` of a packet of `size` phits.
    #[inline]
    pub fn flit_phits(&self, size: u16, flit: u16) -> u32 {
        (u32::from(size) - u32::from(flit) * self.flit_size).min(self.flit_size)
    }
}
