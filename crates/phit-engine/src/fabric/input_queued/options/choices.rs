//! The router's named options, as the kernel reads them.
//!
//! An option is a key of [`RouterParams`] and a field here. The checks of a network, the choice of its kernel, and the
//! stages of the cycle all read this field.

use super::pace::Pace;
use super::params::{
    Clock, Connection, ControlCrossing, ControlRoom, CreditChannel, CreditRelease, CreditUse, CutThrough, Decision,
    Ejection, FlowControl, InjectionQueue, Inputs, OutputOrder, OutputRoom, Redecision, RouterParams, Speculation,
    VcAllocation, VcChoice, VcEligible, VcPreferred, VcReuse, VcTurns,
};

/// The values of the options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices {
    /// The steps of routers that rest in some ticks, if they do: their times are then counted in steps.
    pub pace: Option<Pace>,
    /// Virtual channels are allocated in a stage of their own.
    pub vc_stage: bool,
    /// Heads ask for the crossbar in that stage already: after other requests, or like them.
    pub speculation: Option<Speculation>,
    /// The crossbar connects an input with an output for a packet, see
    /// [`crate::fabric::input_queued::allocation::connections`].
    pub connects_packets: bool,
    /// A virtual channel is given to the next packet when its buffer is empty and all credits are back.
    pub reuse_when_empty: bool,
    /// Heads ask for no virtual channel that has no room for a flit.
    pub full_is_taken: bool,
    /// Heads ask for no virtual channel that has no room for the packet, and endpoints begin no such packet.
    pub packet_needs_room: bool,
    /// Heads prefer virtual channels whose buffers are empty.
    pub prefers_empty: bool,
    /// The choice among the virtual channels of a hop.
    pub vc_choice: VcChoice,
    /// In the order of virtual channels' arbiters, heads of equal queue numbers stand side by side.
    pub turns_by_queue: bool,
    /// Buffers pause their senders, which have no credits.
    pub pauses: bool,
    /// When credits are sent.
    pub credit_release: CreditRelease,
    /// Packets take credits when they start on the link, see [`crate::fabric::seams::routing::OutputChannels`].
    pub credits_at_link: bool,
    /// Links send the flits of one packet after another, as far as these are there.
    pub links_send_packets: bool,
    /// Phits of the output buffer of packets without data, if they have one of their own.
    pub control_buffer: Option<u32>,
    /// These packets cross beside flits of connected packets.
    pub control_crosses_beside: bool,
    /// These packets wait for room for data, too.
    pub control_waits_for_data: bool,
    /// A flit counts in its output buffer once it has crossed.
    pub counts_when_crossed: bool,
    /// Outputs to endpoints are granted while their endpoints are idle, see [`Ejection::EndpointIdle`].
    pub ejects_when_idle: bool,
    /// An input port sends back the credit of one flit at the end of each cycle.
    pub credits_take_turns: bool,
    /// A packet that crosses while it arrives keeps its input until its tail is in.
    pub cut_through_holds_input: bool,
    /// A packet that crosses while it arrives keeps its output until its tail is in.
    pub cut_through_holds_output: bool,
    /// An input sends no more than a phit per link cycle into the crossbar.
    pub inputs_at_link_rate: bool,
    /// Paths of each input port and of each output port through the crossbar, see
    /// [`crate::fabric::input_queued::allocation::paths`].
    pub paths: (u32, u32),
    /// Rounds of allocation in a tick, see [`crate::fabric::input_queued::cycle::rounds`].
    pub rounds: u32,
    /// Transit before injected traffic.
    pub transit_priority: bool,
    /// Choice of injection queue.
    pub injection_queue: InjectionQueue,
    /// Heads are decided about as soon as they come to the front.
    pub decides_at_front: bool,
    /// Blocked heads of a mechanism that re-decides are asked about in every tick.
    pub redecide_every_cycle: bool,
}

impl Choices {
    /// The options of `params`.
    pub(crate) fn new<A>(params: &RouterParams<A>) -> Self {
        Self {
            pace: Pace::new(params.speedup).filter(|_| params.clock == Clock::Crossbar),
            vc_stage: params.vc_allocation != VcAllocation::WithSwitch,
            speculation: (params.vc_allocation == VcAllocation::Speculative).then_some(params.speculation),
            connects_packets: params.connection == Connection::Packet,
            reuse_when_empty: params.vc_reuse == VcReuse::Empty,
            full_is_taken: params.vc_eligible != VcEligible::Free,
            packet_needs_room: params.vc_eligible == VcEligible::WithPacketRoom,
            prefers_empty: params.vc_preferred == VcPreferred::Empty,
            vc_choice: params.vc_choice,
            turns_by_queue: params.vc_turns == VcTurns::Queues,
            pauses: params.flow_control == FlowControl::Pfc,
            credit_release: params.credit_release,
            credits_at_link: params.credit_use == CreditUse::Link,
            links_send_packets: params.output_order == OutputOrder::Packets,
            control_buffer: params.control_buffer,
            control_crosses_beside: params.control_crossing == ControlCrossing::Beside,
            control_waits_for_data: params.control_room == ControlRoom::Both,
            counts_when_crossed: params.output_room == OutputRoom::Crossed,
            ejects_when_idle: params.ejection == Ejection::EndpointIdle,
            credits_take_turns: params.credit_channel == CreditChannel::OnePerCycle,
            cut_through_holds_input: params.cut_through != CutThrough::Neither,
            cut_through_holds_output: params.cut_through == CutThrough::Both,
            inputs_at_link_rate: params.inputs == Inputs::Link,
            paths: (params.input_speedup, params.output_speedup),
            rounds: params.allocation_rounds,
            transit_priority: params.transit_priority,
            injection_queue: params.injection_queue,
            decides_at_front: params.decision == Decision::Front,
            redecide_every_cycle: params.redecision == Redecision::EveryCycle,
        }
    }

    /// True if links choose among the flits of output buffers when they take them.
    pub(crate) fn links_choose(&self) -> bool {
        self.links_send_packets || self.control_buffer.is_some()
    }

    /// True if the options need a kernel with [`Kernel::EXTRAS`]. All choices are listed, so that a new one is not
    /// forgotten here.
    ///
    /// [`Kernel::EXTRAS`]: super::kernel::Kernel::EXTRAS
    pub(crate) fn are_rare(&self) -> bool {
        let Self {
            // All kernels support these choices.
            credit_release: _,
            // All kernels of flits support this choice.
            counts_when_crossed: _,
            // Only with `full_is_taken`.
            packet_needs_room: _,
            cut_through_holds_input: _,
            cut_through_holds_output: _,
            prefers_empty: _,
            // Only with `control_buffer`.
            control_crosses_beside: _,
            control_waits_for_data: _,
            transit_priority: _,
            injection_queue: _,
            // These choices have settings of their own.
            vc_stage: _,
            speculation: _,
            turns_by_queue: _,
            credits_take_turns: _,
            pauses: _,
            paths: _,
            redecide_every_cycle: _,
            // Only kernels with extras support these choices.
            credits_at_link,
            decides_at_front,
            links_send_packets,
            control_buffer,
            ejects_when_idle,
            vc_choice,
            inputs_at_link_rate,
            reuse_when_empty,
            rounds,
            connects_packets,
            pace,
            full_is_taken,
        } = *self;
        let rules = inputs_at_link_rate
            || credits_at_link
            || decides_at_front
            || links_send_packets
            || reuse_when_empty
            || ejects_when_idle
            || full_is_taken;
        let rules = rules || vc_choice != VcChoice::Roomiest || control_buffer.is_some();
        rules || rounds > 1 || connects_packets || pace.is_some()
    }
}
