//! The kernels: the compilations of a router's cycle, and which of them runs a network.
//!
//! A kernel is a row of the table below: its name, the networks that it admits, and its features. The first row that
//! admits a network runs it. Every row that admits a network gives the same results; earlier rows are faster, because
//! they are compiled for less.

use super::settings::Settings;
use crate::fabric::seams::routing::Wants;

/// The features of a row of the table. A kernel spends nothing on features that it is compiled without.
pub(crate) trait Kernel {
    /// Every packet is one flit.
    const WHOLE: bool = false;
    /// Packets hold virtual channels, see [`Settings::single`].
    const HELD: bool = false;
    /// Virtual channels are allocated in a stage of their own.
    const STAGED: bool = false;
    /// Queues and endpoints do nothing that few scenarios ask for.
    const BARE: bool = false;
    /// Routers, links or endpoints may do something that few scenarios ask for.
    const EXTRAS: bool = false;
    /// The queue organisation is managed, and a head may be allocated in the tick in which it comes to the front.
    const MANAGED: bool = false;
    /// A head asks for one output, once in a tick, and notes it if another has asked for one of its ports.
    const NOTED: bool = Self::BARE && !Self::HELD;
    /// The routing mechanism wants no optional call.
    const PLAIN: bool = false;
    /// The routing mechanism may want optional calls.
    const CALLED: bool = false;
    /// The mechanism decides about blocked heads again when an output that they watch has changed.
    const ADAPTIVE: bool = false;
    /// The mechanism decides for all heads of a router at once, and again in every tick.
    const BATCHED: bool = false;
    /// Queues wait in lists, see [`Settings::lists`].
    const LISTS: bool = false;
    /// Decisions of a routing mechanism with tables are read from its tables, see [`Routing::tables`].
    ///
    /// [`Routing::tables`]: crate::fabric::seams::routing::Routing::tables
    const TABLES: bool = !Self::EXTRAS && !Self::BARE;
    /// Packets have one size, no arbiter asks for their age, and the room of an output buffer follows from the time for
    /// which its link is taken.
    const ALIKE: bool = false;
    /// There may be congestion control.
    const CONTROLS: bool = Self::EXTRAS && !Self::BARE;
    /// Packets have one size, and no arbiter asks for their age.
    const SIZED: bool = Self::ALIKE;
    /// Packets take the minimal hops of one of Phit's own topologies.
    const SETTLED: bool = false;
    /// Heads ask for the crossbar before they have a channel, credits may take turns, and endpoints may fill.
    const SPECULATIVE: bool = false;
    /// Every input port has one queue, and every output port one virtual channel.
    const LONE: bool = false;
    /// Routers are gone through a few at a time: only travelling packets and credits lead from one to another.
    const IN_BLOCKS: bool = Self::STAGED && !Self::EXTRAS;
    /// Heads that can go nowhere wait at their outputs, see [`Settings::at_outputs`].
    const SLEEPERS: bool = !Self::HELD && !Self::LISTS && (Self::PLAIN || Self::EXTRAS);
    /// Heads that hold a channel are listed apart: no others ask for the crossbar.
    const APART: bool = Self::IN_BLOCKS && !Self::SPECULATIVE;
}

/// Makes a type, its features and an entry of [`Compiled`] of each row, and the macro `in_kernel` that calls a method
/// for the kernel of a partition. `$d` is a dollar sign, for that macro.
macro_rules! kernels {
    ($d:tt $(
        $(#[doc = $doc:literal])+
        $name:ident admits |$network:ident| $admits:expr; has $($feature:ident)*;
    )*) => {
        $(
            $(#[doc = $doc])+
            pub(crate) struct $name;

            impl Kernel for $name {
                $(const $feature: bool = true;)*
            }
        )*

        /// The rows of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Compiled {
            $(
                $(#[doc = $doc])+
                $name,
            )*
        }

        impl Compiled {
            /// All rows, in the order of the table.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            /// [`Kernel::IN_BLOCKS`], [`Kernel::APART`].
            pub(crate) fn blocks(self) -> (bool, bool) {
                match self {
                    $(Self::$name => ($name::IN_BLOCKS, $name::APART),)*
                }
            }

            /// True if the kernel reads how far a queue's packets have come although no mechanism counts heads.
            pub(crate) fn keeps_progress(self, settings: &Settings) -> bool {
                match self {
                    $(Self::$name => $name::EXTRAS && !($name::LISTS && settings.immediate),)*
                }
            }

            /// [`Kernel::SLEEPERS`].
            pub(crate) fn knows_sleepers(self) -> bool {
                match self {
                    $(Self::$name => $name::SLEEPERS,)*
                }
            }

            /// True if the kernel can run `network`.
            fn admits(self, network: &Network) -> bool {
                match self {
                    $(Self::$name => (|$network: &Network| $admits)(network),)*
                }
            }
        }

        /// Calls a method that is compiled for every kernel, for the kernel of the partition's settings.
        macro_rules! in_kernel {
            ($d self:ident, $d method:ident($d($d argument:expr),*)) => {
                match $d self.setup.settings.kernel {
                    $(
                        $crate::fabric::input_queued::options::kernel::Compiled::$name => {
                            use $crate::fabric::input_queued::options::kernel::$name as Row;
                            $d self.$d method::<Row>($d($d argument),*)
                        }
                    )*
                }
            };
        }
        pub(crate) use in_kernel;
    };
}

kernels! { $
    /// Packets of one flit and one size on the minimal hops of one of Phit's own topologies; nothing else that few
    /// scenarios ask for.
    Fixed admits |n| n.single && n.plain && n.fixed;
        has WHOLE BARE PLAIN ALIKE SETTLED;

    /// Packets of one flit, decisions that are never changed, and nothing that few scenarios ask for.
    Plain admits |n| n.single && n.plain;
        has WHOLE BARE PLAIN;

    /// Packets of one flit and one size, and heads that are decided about again when an output that they watch has
    /// changed.
    AdaptiveAlike admits |n| n.single && n.bare && n.adaptive && n.alike;
        has WHOLE BARE CALLED ADAPTIVE ALIKE;

    /// Packets of one flit, and heads that are decided about again when an output that they watch has changed.
    Adaptive admits |n| n.single && n.bare && n.adaptive;
        has WHOLE BARE CALLED ADAPTIVE;

    /// Packets of one flit and one size, and a mechanism that is called for all heads of a router at once and for
    /// nothing else.
    BatchedAlike admits |n| n.single && n.bare && n.batched_only && n.alike;
        has WHOLE BARE CALLED BATCHED ALIKE;

    /// Packets of one flit, and decisions for all heads of a router at once.
    Batched admits |n| n.single && n.bare && n.batched;
        has WHOLE BARE CALLED BATCHED;

    /// Packets of one flit, queues that wait in lists, and nothing else that few scenarios ask for.
    ListedBare admits |n| n.single && n.lists && n.quiet;
        has WHOLE LISTS;

    /// Packets of one flit, queues that wait in lists, and whatever else the settings ask for.
    Listed admits |n| n.single && n.lists;
        has WHOLE EXTRAS CALLED LISTS;

    /// Packets of one flit and one size, a managed queue organisation, and nothing else that few scenarios ask for.
    Managed admits |n| n.single && n.managed && n.quiet && n.sized;
        has WHOLE MANAGED SIZED;

    /// Packets of one flit, and whatever else the settings ask for.
    Single admits |n| n.single && !n.lists;
        has WHOLE EXTRAS CALLED;

    /// Packets of one flit and one size on the minimal hops of one of Phit's own topologies, and virtual channels that
    /// are allocated in a stage of their own.
    Staged admits |n| n.staged_usual && n.plain;
        has WHOLE HELD STAGED BARE PLAIN ALIKE SETTLED;

    /// Packets of one flit and one size on the minimal hops of one of Phit's own topologies, one queue and one virtual
    /// channel a port, and heads that ask for the channel and the crossbar in one cycle.
    Lone admits |n| n.staged_usual && n.speculates && !n.odder && n.lone;
        has WHOLE HELD STAGED BARE PLAIN ALIKE SETTLED SPECULATIVE LONE;

    /// Packets of one flit and one size on the minimal hops of one of Phit's own topologies, and heads that ask for a
    /// virtual channel and the crossbar in one cycle.
    Speculative admits |n| n.staged_usual && n.speculates && !n.odder;
        has WHOLE HELD STAGED BARE PLAIN ALIKE SETTLED SPECULATIVE;

    /// Packets of one flit and one size on the minimal hops of one of Phit's own topologies, virtual channels that are
    /// allocated in a stage of their own, and whatever routers, links and endpoints of other simulators do.
    StagedExtras admits |n| n.staged_usual;
        has WHOLE HELD STAGED BARE EXTRAS PLAIN ALIKE SETTLED;

    /// Packets that hold virtual channels, and whatever else the settings ask for.
    General admits |n| !n.single;
        has HELD EXTRAS CALLED;
}

/// The properties of a network that decide which kernels can run it.
struct Network {
    /// Packets are one flit and hold no virtual channels.
    single: bool,
    /// Queues wait in lists.
    lists: bool,
    /// The queue organisation is managed.
    managed: bool,
    /// Packets have one size, and no arbiter asks for their age.
    sized: bool,
    /// Besides, the room of an output buffer follows from the time for which its link is taken.
    alike: bool,
    /// Packets that are alike take the minimal hops of one of Phit's own topologies.
    fixed: bool,
    /// Nothing that few scenarios ask for, of queues, endpoints, routers and links, but optional calls.
    bare: bool,
    /// Besides, the mechanism wants no optional call.
    plain: bool,
    /// Nothing that few scenarios ask for, and no optional call; any queue organisation.
    quiet: bool,
    /// The mechanism decides about blocked heads again when an output that they watch has changed.
    adaptive: bool,
    /// The mechanism decides for all heads of a router at once.
    batched: bool,
    /// The mechanism wants no other optional call besides.
    batched_only: bool,
    /// Packets are fixed, virtual channels are allocated in a stage of their own, and queues and endpoints do nothing
    /// that few scenarios ask for.
    staged_usual: bool,
    /// Heads ask for the crossbar before they have a channel.
    speculates: bool,
    /// Routers or links do something that few scenarios ask for besides speculation, credits in turn and endpoints that
    /// fill.
    odder: bool,
    /// Every port has one queue and one virtual channel.
    lone: bool,
}

impl Network {
    /// The properties that follow from `settings`. All settings are listed, so that a new one is not forgotten here.
    fn of(settings: &Settings) -> Self {
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
            decides_at_front: _,
            decides_in_turn: _,
            exact_watches: _,
            batches_sleep: _,
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
            after_transit: _,
            detours: _,
            // With a choice that is rare.
            wastes: _,
            networks: _,
            parts_channels: _,
            parts_injection: _,
            speculative_class: _,
            endpoints_keep: _,
            in_turn: _,
            // Not transparent, and in no lists.
            looks_ahead: _,
            sorts: _,
            kernel: _,
            progress: _,
            // Features that a kernel may have or lack.
            single,
            lists,
            // Features that the bare kernels lack.
            wants,
            choices,
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
            controls,
            reserves,
            pauses,
            ranked,
            repeats,
            serial,
            several_paths,
            speculates,
            turns,
            shares,
            unequal,
            // Properties of packets that are alike.
            size: _,
            backlog,
            alike,
            own_topology,
            staged,
            lone,
        } = *settings;
        let called = Wants { settled: false, ..wants } != Wants::default();
        // Features of routers and links that leave the arrival and departure of packets as they are.
        let odder = choices.are_rare() || several_paths || turns > 0 || shares || unequal || ranked != (false, false);
        let odd = odder || speculates || credits_in_turn || endpoints_fill;
        let asked = wants.ejects || wants.sends || wants.after_grants || wants.alternatives;
        let rare = ideal || exchanges || classes || controls || reserves || pauses || repeats || serial || asked;
        let extras = odd || rare;
        let usual = transparent && immediate && !managed && !admits && !rare;
        let bare = usual && !odd;
        let plain = bare && !called;
        let quiet = immediate && !extras && !called;
        let adaptive = wants.redecide && !wants.batch && !wants.arrivals && !every_cycle;
        let batched = wants.redecide && wants.batch;
        let batched_only = wants == Wants { redecide: true, batch: true, sleeps: wants.sleeps, ..Wants::default() };
        let sized = alike;
        let alike = alike && backlog.is_some();
        let fixed = wants.settled && own_topology && alike;
        Self {
            single,
            lists,
            managed,
            sized,
            alike,
            fixed,
            bare,
            plain,
            quiet,
            adaptive,
            batched,
            batched_only,
            // The time of output buffers is known only if packets have one size and are one flit.
            staged_usual: !single && usual && !called && fixed && staged,
            speculates,
            odder,
            lone,
        }
    }
}

impl Compiled {
    /// The kernel for these settings: the first row that admits them.
    pub(crate) fn of(settings: &Settings) -> Self {
        let network = Network::of(settings);
        #[cfg(test)]
        if let Some(row) = FORCED.get().filter(|row| row.admits(&network)) {
            return row;
        }
        let admits = |row: &&Self| row.admits(&network);
        *Self::ALL.iter().find(admits).expect("the last rows admit whatever the others do not")
    }
}

#[cfg(test)]
thread_local! {
    /// The row that runs the networks that are built on this thread, if it admits them.
    static FORCED: std::cell::Cell<Option<Compiled>> = const { std::cell::Cell::new(None) };
}

/// Builds something with `row` for the kernel of all networks that it admits.
#[cfg(test)]
pub(crate) fn forced<T>(row: Compiled, build: impl FnOnce() -> T) -> T {
    FORCED.set(Some(row));
    let built = build();
    FORCED.set(None);
    built
}
