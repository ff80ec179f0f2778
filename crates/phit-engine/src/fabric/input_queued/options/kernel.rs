//! What the kernel is compiled for, and which of its compilations fits a network.

use super::settings::Settings;
use crate::fabric::seams::routing::Wants;

/// What the kernel is compiled for: whatever it knows to be absent costs nothing.
pub(crate) trait Kernel {
    /// Every packet is one flit.
    const WHOLE: bool = false;
    /// Channels are held by packets, see [`Settings::single`].
    const HELD: bool = true;
    /// They are allocated in a stage of their own.
    const STAGED: bool = false;
    /// Queues and endpoints do nothing out of the ordinary, see [`Compiled::Adaptive`]; nor do routers and links, if
    /// not [`Self::EXTRAS`].
    const BARE: bool = false;
    /// Routers, links or endpoints may do something that few scenarios ask for, whatever the queue organisation.
    const EXTRAS: bool = !Self::BARE;
    /// The queue organisation is managed, and a head may be allocated at once.
    const MANAGED: bool = false;
    /// A head asks for one output, once in a tick, and notes it if another has asked for one of its ports.
    const NOTED: bool = Self::BARE && !Self::HELD;
    /// Nor does the routing mechanism, see [`Compiled::Plain`].
    const PLAIN: bool = false;
    /// The routing mechanism may want optional calls.
    const CALLED: bool = !Self::PLAIN;
    /// The mechanism decides about blocked heads again when what they watch has changed.
    const ADAPTIVE: bool = false;
    /// The mechanism decides for all heads of a router at once, and again in every tick.
    const BATCHED: bool = false;
    /// Queues wait in lists, see [`Settings::lists`].
    const LISTS: bool = false;
    /// What a routing mechanism says in tables is read there, see [`Routing::tables`].
    ///
    /// [`Routing::tables`]: crate::fabric::seams::routing::Routing::tables
    const TABLES: bool = !Self::EXTRAS && !Self::BARE;
    /// Packets differ in their ways alone: all are of one size, output buffers are known by the time for which their
    /// link is taken, and no arbiter asks for a packet's age.
    const ALIKE: bool = false;
    /// All packets are of one size, and no arbiter asks for their age.
    const SIZED: bool = Self::ALIKE;
    /// They take the minimal hops of one of Phit's own topologies.
    const SETTLED: bool = false;
    /// Heads ask for the crossbar before they have a channel, see [`crate::fabric::input_queued::cycle::speculation`]; credits may take turns, and
    /// endpoints may fill.
    const SPECULATIVE: bool = false;
    /// Every input port has one queue, and every output port one virtual channel, see [`crate::fabric::input_queued::cycle::lone`].
    const LONE: bool = false;
    /// Routers are gone through a few at a time: nothing but what travels leads from one to another.
    const IN_BLOCKS: bool = Self::STAGED && !Self::EXTRAS;
    /// Heads that hold a channel are listed on their own: no others ask for the crossbar.
    const APART: bool = Self::IN_BLOCKS && !Self::SPECULATIVE;
}

/// Whatever the settings ask for.
pub(crate) struct General;
/// Packets of one flit.
pub(crate) struct Single;
/// Packets of one flit, and queues that wait in lists.
pub(crate) struct Listed;
/// The same and nothing out of the ordinary, but for the choice of queue.
pub(crate) struct ListedBare;
/// Packets of one flit and of one size, a managed queue organisation, and nothing else out of the ordinary.
pub(crate) struct Managed;
/// Packets of one flit, heads that are decided about again, and nothing else out of the ordinary.
pub(crate) struct Adaptive;
/// The same for packets that are alike.
pub(crate) struct AdaptiveAlike;
/// Packets of one flit, decisions for all heads of a router at once, and nothing else out of the ordinary.
pub(crate) struct Batched;
/// The same for packets that are alike, and a mechanism that is called for nothing else.
pub(crate) struct BatchedAlike;
/// Packets of one flit and nothing out of the ordinary.
pub(crate) struct Plain;
/// The same for packets of one size that take the topology's minimal hops.
pub(crate) struct Fixed;
/// The same with channels that are allocated in a stage of their own.
pub(crate) struct Staged;
/// The same, and heads that speculate, credits that take turns and endpoints that fill.
pub(crate) struct Speculative;
/// The same, where every port has one queue and one channel.
pub(crate) struct Lone;
/// [`Staged`], and routers, links and endpoints of other simulators: whatever these do out of the ordinary.
pub(crate) struct StagedExtras;

/// The kernels that are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiled {
    /// [`General`]
    General,
    /// [`Single`]
    Single,
    /// [`Listed`]
    Listed,
    /// [`ListedBare`]: no ideal crossbar, no delay before allocation, no optional call.
    ListedBare,
    /// [`Managed`]: the same.
    Managed,
    /// [`Adaptive`]: no choice of queue, no ideal crossbar, no delay before allocation.
    Adaptive,
    /// [`AdaptiveAlike`]: besides, packets are alike, see [`Kernel::ALIKE`].
    AdaptiveAlike,
    /// [`Batched`]: no choice of queue, no ideal crossbar, no delay before allocation.
    Batched,
    /// [`BatchedAlike`]: besides, packets are alike, and no other optional call.
    BatchedAlike,
    /// [`Plain`]: the same, and no optional call.
    Plain,
    /// [`Fixed`]: besides, packets are alike and take the minimal hops of one of Phit's own topologies.
    Fixed,
    /// [`Staged`]: the same, but for channels that are allocated in a stage of their own.
    Staged,
    /// [`Speculative`]: the same, but that heads speculate, credits may take turns, and endpoints may fill.
    Speculative,
    /// [`Lone`]: the same, and every port has one queue and one channel.
    Lone,
    /// [`StagedExtras`]: [`Staged`], but for what routers, links and endpoints do out of the ordinary.
    StagedExtras,
}

impl Compiled {
    /// [`Kernel::IN_BLOCKS`], [`Kernel::APART`].
    pub(crate) fn blocks(self) -> (bool, bool) {
        match self {
            Self::Staged => (Staged::IN_BLOCKS, Staged::APART),
            Self::Speculative => (Speculative::IN_BLOCKS, Speculative::APART),
            Self::Lone => (Lone::IN_BLOCKS, Lone::APART),
            _ => (false, false),
        }
    }

    /// The kernel for these settings. They are listed one by one, so that a new one is not forgotten here.
    pub(crate) fn of(settings: &Settings) -> Self {
        let Settings {
            // Numbers, and choices that every kernel makes as it goes.
            injection_latency: _,
            injection_bandwidth: _,
            injection_queues: _,
            latency: _,
            credit_latency: _,
            ejection_credit_latency: _,
            bandwidth: _,
            arrival_bandwidth: _,
            rereads: _,
            at_outputs: _,
            lasting: _,
            first_leads: _,
            queues: _,
            router_latency: _,
            ticks_per_cycle: _,
            // With rates of ports.
            fine: _,
            starts: _,
            cycles: _,
            ejection_vcs: _,
            full: _,
            enough: _,
            credit_at_output: _,
            cut_through_holds_output: _,
            after_transit: _,
            detours: _,
            networks: _,
            speculative_class: _,
            prefers_empty: _,
            endpoints_keep: _,
            in_turn: _,
            // Not transparent, and in no lists.
            looks_ahead: _,
            kernel: _,
            progress: _,
            // What a kernel may know of.
            single,
            lists,
            // What the bare kernels do without.
            wants,
            every_cycle,
            transparent,
            managed,
            admits,
            ideal,
            immediate,
            credits_in_turn,
            endpoints_fill,
            exchanges,
            classes,
            ranked,
            inputs_at_link_rate,
            reuse_when_empty,
            repeats,
            serial,
            several_paths,
            rounds,
            speculates,
            connects_packets,
            pace,
            full_is_taken,
            turns,
            shares,
            unequal,
            // What the kernels for packets that are alike know.
            size: _,
            backlog,
            alike,
            own_topology,
            staged,
            lone,
        } = *settings;
        let called = Wants { settled: false, ..wants } != Wants::default();
        // What routers and links do while packets come, stay and leave as under any kernel.
        let odder = inputs_at_link_rate
            || reuse_when_empty
            || several_paths
            || rounds > 1
            || connects_packets
            || pace.is_some()
            || full_is_taken
            || turns > 0
            || shares
            || unequal
            || ranked != (false, false);
        let odd = odder || speculates || credits_in_turn || endpoints_fill;
        let asked = wants.ejects || wants.sends || wants.after_grants || wants.alternatives;
        let rare = ideal || exchanges || classes || repeats || serial || asked;
        let extras = odd || rare;
        let usual = transparent && immediate && !managed && !admits && !rare;
        let bare = usual && !odd;
        let plain = bare && !called;
        let quiet = immediate && !extras && !called;
        let adaptive = wants.redecide && !wants.batch && !wants.arrivals && !every_cycle;
        let batched = wants.redecide && wants.batch;
        let batched_only = wants == Wants { redecide: true, batch: true, ..Wants::default() };
        let sized = alike;
        let alike = alike && backlog.is_some();
        let fixed = wants.settled && own_topology && alike;
        match single {
            true if plain && fixed => Self::Fixed,
            true if plain => Self::Plain,
            true if bare && adaptive && alike => Self::AdaptiveAlike,
            true if bare && adaptive => Self::Adaptive,
            true if bare && batched_only && alike => Self::BatchedAlike,
            true if bare && batched => Self::Batched,
            true if lists && quiet => Self::ListedBare,
            true if lists => Self::Listed,
            true if managed && quiet && sized => Self::Managed,
            true => Self::Single,
            // Of packets of one size the time of output buffers is known only if they are one flit.
            false if plain && fixed && staged => Self::Staged,
            false if usual && !called && fixed && staged && speculates && !odder && lone => Self::Lone,
            false if usual && !called && fixed && staged && speculates && !odder => Self::Speculative,
            false if usual && !called && fixed && staged => Self::StagedExtras,
            false => Self::General,
        }
    }
}

impl Kernel for General {}
impl Kernel for Single {
    const WHOLE: bool = true;
    const HELD: bool = false;
}
impl Kernel for Listed {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const LISTS: bool = true;
}
impl Kernel for ListedBare {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const LISTS: bool = true;
    const EXTRAS: bool = false;
    const CALLED: bool = false;
}
impl Kernel for Managed {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const EXTRAS: bool = false;
    const CALLED: bool = false;
    const MANAGED: bool = true;
    const SIZED: bool = true;
}
impl Kernel for Adaptive {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const BARE: bool = true;
    const ADAPTIVE: bool = true;
}
impl Kernel for AdaptiveAlike {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const BARE: bool = true;
    const ADAPTIVE: bool = true;
    const ALIKE: bool = true;
}
impl Kernel for Batched {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const BARE: bool = true;
    const BATCHED: bool = true;
}
impl Kernel for BatchedAlike {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const BARE: bool = true;
    const BATCHED: bool = true;
    const ALIKE: bool = true;
}
impl Kernel for Plain {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const BARE: bool = true;
    const PLAIN: bool = true;
}
impl Kernel for Fixed {
    const WHOLE: bool = true;
    const HELD: bool = false;
    const BARE: bool = true;
    const PLAIN: bool = true;
    const ALIKE: bool = true;
    const SETTLED: bool = true;
}
impl Kernel for Staged {
    const WHOLE: bool = true;
    const STAGED: bool = true;
    const BARE: bool = true;
    const PLAIN: bool = true;
    const ALIKE: bool = true;
    const SETTLED: bool = true;
}
impl Kernel for Speculative {
    const WHOLE: bool = true;
    const STAGED: bool = true;
    const BARE: bool = true;
    const PLAIN: bool = true;
    const ALIKE: bool = true;
    const SETTLED: bool = true;
    const SPECULATIVE: bool = true;
}
impl Kernel for Lone {
    const WHOLE: bool = true;
    const STAGED: bool = true;
    const BARE: bool = true;
    const PLAIN: bool = true;
    const ALIKE: bool = true;
    const SETTLED: bool = true;
    const SPECULATIVE: bool = true;
    const LONE: bool = true;
}
impl Kernel for StagedExtras {
    const WHOLE: bool = true;
    const STAGED: bool = true;
    const BARE: bool = true;
    const EXTRAS: bool = true;
    const PLAIN: bool = true;
    const ALIKE: bool = true;
    const SETTLED: bool = true;
}
