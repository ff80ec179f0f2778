//! The settings that the kernel reads for every flit. They follow from the router's parameters and from the calls that
//! the mechanisms want.

use super::choices::Choices;
use super::config::Config;
use super::kernel::{Compiled, Kernel};
use crate::engine::Tick;
use crate::fabric::Bandwidth;
use crate::fabric::input_queued::options::params::{Speculation, Switching, VcChoice};
use crate::fabric::links::{Cycles, LinkClass};
use crate::fabric::seams::routing::Wants;
use crate::fabric::sources::cycles;
use crate::packet::MOST_CLASSES;
use crate::traffic::Requests;

/// In [`Request::class`]: after all without it, injected packets included.
///
/// [`Request::class`]: crate::fabric::seams::allocator::Request::class
pub(crate) const AFTER_ALL: u8 = 2;

/// The settings that the kernel reads for every flit, side by side in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// Ticks from an output to whatever is at the far end, by class.
    pub latency: [Tick; MOST_CLASSES],
    /// Ticks that a credit for an input port takes to be usable, by class.
    pub credit_latency: [Tick; MOST_CLASSES],
    /// Ticks that a credit of an endpoint takes to be usable in its router.
    pub ejection_credit_latency: Tick,
    /// Phits per cycle of the link behind an output, by class.
    pub bandwidth: [Bandwidth; MOST_CLASSES],
    /// Phits per cycle in which flits arrive at an input, by class.
    pub arrival_bandwidth: [Bandwidth; MOST_CLASSES],
    /// The optional calls that the routing mechanism wants.
    pub wants: Wants,
    /// The named options.
    pub choices: Choices,
    /// The mechanism wants to know of outputs whose occupancy has grown.
    pub rereads: bool,
    /// A mechanism that re-decides is asked about blocked heads in every tick. One that decides for all heads of a
    /// router together always is.
    pub every_cycle: bool,
    /// Heads of an input that are decided about again are looked at in turn until one requests. The others could only
    /// lose.
    pub decides_in_turn: bool,
    /// Heads are decided about as soon as they come to the front.
    pub decides_at_front: bool,
    /// Heads that are decided about together may sleep until an output has room, see `waiting/watchers.rs`.
    pub batches_sleep: bool,
    /// The queueing organisation leaves the choice of queue to the routing mechanism.
    pub transparent: bool,
    /// It asks for the hop after next.
    pub looks_ahead: bool,
    /// Packets are sorted into the queues of their virtual channel when their heads arrive.
    pub sorts: bool,
    /// The queue organisation is managed.
    pub managed: bool,
    /// Queues that wait stand in lists, see [`crate::fabric::input_queued::waiting::wait_lists`]. This is for inputs of
    /// many queues, whose first packets ask for the same output until they are granted.
    pub lists: bool,
    /// Heads that can go nowhere wait at their outputs, see `cycle/sleeping.rs`. Each is decided about once, and waits
    /// only for its input, its output and credits.
    pub at_outputs: bool,
    /// Changes of an output that let heads go are told apart from others, see `waiting/watchers.rs`.
    pub exact_watches: bool,
    /// All packets of a queue take one way: the decision about the first packet holds for all.
    pub lasting: bool,
    /// A request of the first queue of an input goes before requests of its other queues.
    pub first_leads: bool,
    /// Endpoints have admittance queues.
    pub admits: bool,
    /// Queues of a virtual channel.
    pub queues: u32,
    /// Ports have rates of their own, see [`crate::fabric::input_queued::wiring::rates`].
    pub unequal: bool,
    /// Ticks of a router cycle: routers rest in all but the first of them, except for ports of fast links.
    pub fine: Tick,
    /// Transfers take no time in the crossbar.
    pub ideal: bool,
    /// Every packet is one flit and no channel is ever held: the kernel is compiled for this case on its own.
    pub single: bool,
    /// A packet may be allocated in the tick in which it comes to the front.
    pub immediate: bool,
    /// The row of the table of kernels that runs.
    pub(crate) kernel: Compiled,
    /// Grant to output.
    pub router_latency: Tick,
    /// It is kept how far packets of a queue have come: some are several flits, or come to the front later than their
    /// input port is free.
    pub progress: bool,
    /// Ticks per link cycle.
    pub ticks_per_cycle: Tick,
    /// Where these start.
    pub starts: Cycles,
    /// Cycles whose ticks fit in 32 bits.
    pub cycles: Tick,
    /// Ticks from an endpoint to its router.
    pub injection_latency: Tick,
    /// Phits per cycle from an endpoint to its router; `None`: a flit takes one cycle.
    pub injection_bandwidth: Option<Bandwidth>,
    /// Injection queues of an endpoint.
    pub injection_queues: u16,
    /// Phits of every packet; 0 if they differ.
    pub size: u32,
    /// By class: an output buffer is full while its link is taken for this many ticks. `None` if the two do not go
    /// together, see [`backlog`].
    pub backlog: Option<[Tick; MOST_CLASSES]>,
    /// To whoever requests the crossbar, packets are alike: all are of one size, and no arbiter asks for their age.
    pub alike: bool,
    /// Virtual channels are allocated in a stage of their own.
    pub staged: bool,
    /// Every input port has one queue and every output port one virtual channel, and both are allocated in turn.
    pub lone: bool,
    /// The topology is one of Phit's own, whose hops exist.
    pub own_topology: bool,
    /// Virtual channels of a link to an endpoint among which a packet chooses. It takes the first that is free: an
    /// endpoint consumes every packet. Where no channel is ever held, it takes the first.
    pub ejection_vcs: u8,
    /// By class, the credits of a virtual channel whose buffer is empty.
    pub full: [i32; MOST_CLASSES],
    /// Credits with which a virtual channel has room for any packet.
    pub enough: i32,
    /// An input port sends back the credit of one flit at the end of each cycle.
    pub credits_in_turn: bool,
    /// Endpoints have buffers of limited size, and send credits.
    pub endpoints_fill: bool,
    /// Packets are requests and replies.
    pub exchanges: bool,
    /// Packets are of several classes.
    pub classes: bool,
    /// Buffers pause their senders.
    pub pauses: bool,
    /// Packets are marked, endpoints notify one another, and sources are held back.
    pub controls: bool,
    /// Sources reserve time at destinations, and speculative packets are dropped.
    pub reserves: bool,
    /// Some packets take the second half of a port's virtual channels, in all links or in those to endpoints.
    pub parts_channels: bool,
    /// Whether the crossbar's allocator, and whether the channels' allocator, serve requests in the order of their
    /// packets' classes.
    pub ranked: (bool, bool),
    /// Endpoints send lost packets again.
    pub repeats: bool,
    /// Endpoints send one packet after another into several planes, of which this is one.
    pub serial: bool,
    /// Endpoints send drawn packets alone, one after another.
    pub in_turn: bool,
    /// Virtual networks, of which packets of each have virtual channels of their own.
    pub networks: u8,
    /// Requests and replies have injection queues of their own.
    pub parts_injection: bool,
    /// Endpoints have room for a limited number of requests, until they have been answered.
    pub endpoints_keep: bool,
    /// Ports have several paths through the crossbar, see [`crate::fabric::input_queued::allocation::paths`].
    pub several_paths: bool,
    /// Heads ask for the crossbar before they have a channel, see [`crate::fabric::input_queued::cycle::speculation`].
    pub speculates: bool,
    /// The number that is added to the class of such a request.
    pub speculative_class: u8,
    /// In the order of virtual channels' arbiters, the heads of one queue number stand side by side, for this many
    /// ports. 0: the heads of one port stand side by side.
    pub turns: u32,
    /// Virtual channels share the memory of their port, see [`crate::fabric::input_queued::state::pools`].
    pub shares: bool,
    /// Inputs waste proposals on outputs to endpoints that are taking a packet, see `cycle/vain.rs`.
    pub wastes: bool,
    /// Requests of packets that came over a link of a class below this one go after others: injected ones (1) or
    /// none (0).
    pub after_transit: u8,
    /// The routing mechanism has reserved channels for detours around faults.
    pub detours: bool,
}

impl Settings {
    /// The optional calls that the routing mechanism wants.
    #[inline(always)]
    pub(crate) fn wants<K: Kernel>(&self) -> Wants {
        match K::CALLED {
            false => Wants::default(),
            true if K::ADAPTIVE => {
                Wants { redecide: true, batch: false, arrivals: false, settled: false, ..self.wants }
            }
            true if K::BATCHED && K::ALIKE => Wants { redecide: true, batch: true, ..Wants::default() },
            true if K::BATCHED => Wants { redecide: true, batch: true, settled: false, ..self.wants },
            true => self.wants,
        }
    }

    /// True if the queue organisation is managed.
    #[inline(always)]
    pub(crate) fn managed<K: Kernel>(&self) -> bool {
        K::MANAGED || K::EXTRAS && !K::LISTS && self.managed
    }

    /// The virtual channel of a queue of a port.
    #[inline(always)]
    pub(crate) fn channel_of(&self, queue: u32) -> u32 {
        // Nothing to be divided in the first, which is often the only one.
        if queue < self.queues { 0 } else { queue / self.queues }
    }

    /// Blocked heads sleep until what their decisions depend on changes, or, if they ask for channels of several
    /// outputs, until one may be free: see `waiting/watchers.rs`.
    #[inline(always)]
    pub(crate) fn watches<K: Kernel>(&self) -> bool {
        let Wants { redecide, batch, alternatives, .. } = self.wants::<K>();
        (redecide && (!batch || self.batches_sleep)) || (K::EXTRAS && alternatives)
    }

    /// [`Self::sorts`].
    #[inline(always)]
    pub(crate) fn sorts<K: Kernel>(&self) -> bool {
        K::EXTRAS && !K::LISTS && !K::BARE && self.sorts
    }

    /// [`Self::at_outputs`].
    #[inline(always)]
    pub(crate) fn at_outputs<K: Kernel>(&self) -> bool {
        K::SLEEPERS && (K::PLAIN || self.at_outputs)
    }

    /// True if a head may be allocated in the tick in which it comes to the front.
    #[inline(always)]
    pub(crate) fn immediate<K: Kernel>(&self) -> bool {
        !K::EXTRAS || self.immediate
    }

    /// [`Self::progress`].
    #[inline(always)]
    pub(crate) fn progress<K: Kernel>(&self) -> bool {
        match K::EXTRAS {
            false => self.wants::<K>().heads,
            true => self.progress,
        }
    }

    /// True if the mechanism wants to know of changed occupancies of outputs of `class`.
    #[inline(always)]
    pub(crate) fn minds<K: Kernel>(&self, class: u8) -> bool {
        let Wants { occupancy, occupancy_class, .. } = self.wants::<K>();
        occupancy && (occupancy_class == 0 || occupancy_class == class)
    }

    /// [`Self::speculates`].
    #[inline(always)]
    pub(crate) fn speculates<K: Kernel>(&self) -> bool {
        K::SPECULATIVE || K::EXTRAS && self.speculates
    }

    /// [`Self::credits_in_turn`].
    #[inline(always)]
    pub(crate) fn credits_in_turn<K: Kernel>(&self) -> bool {
        (K::SPECULATIVE || K::EXTRAS) && self.credits_in_turn
    }

    /// [`Self::endpoints_fill`].
    #[inline(always)]
    pub(crate) fn endpoints_fill<K: Kernel>(&self) -> bool {
        (K::SPECULATIVE || K::EXTRAS) && self.endpoints_fill
    }

    /// True if transfers take no time in the crossbar.
    #[inline(always)]
    pub(crate) fn ideal<K: Kernel>(&self) -> bool {
        K::EXTRAS && self.ideal
    }

    /// The settings of `config` for the policies at hand.
    pub(crate) fn new(config: &Config, policies: &Policies<'_>) -> Self {
        let &Policies {
            wants,
            detours,
            transparent,
            undivided,
            looks_ahead,
            sorts,
            managed,
            parts_replies,
            first_leads,
            lasting,
            ideal,
            by_age,
            proposes,
            own_topology,
            messages,
            sizes,
            requests,
            ranks,
            controls,
            reserves,
            by_class: ranked,
            repeats,
            serial,
            radix,
            in_turn,
        } = policies;
        let by_class = |value: &dyn Fn(&LinkClass) -> u32| {
            let mut table = [0; MOST_CLASSES];
            for (entry, link) in table.iter_mut().zip(config.links.iter()) {
                *entry = value(link);
            }
            table
        };
        let mut latency = by_class(&|link| link.latency);
        latency[0] = config.links[0].ejection_latency;
        let mut credit_latency = by_class(&|link| link.credit_latency + config.credit_delay);
        let ejection_credit_latency = credit_latency[0];
        if let Some(own) = config.links[0].injection_credit_latency {
            credit_latency[0] = own;
        }
        let mut bandwidth = [Bandwidth::ONE; MOST_CLASSES];
        bandwidth.iter_mut().zip(config.links.iter()).for_each(|(entry, link)| *entry = link.bandwidth);
        let mut arrival_bandwidth = bandwidth;
        arrival_bandwidth[0] = config.links[0].injection_bandwidth.unwrap_or(config.links[0].bandwidth);
        let mut full = by_class(&|link| link.buffer).map(|phits| phits as i32);
        let choices = config.choices;
        if choices.credits_at_link {
            full = by_class(&|_| config.buffers.capacity[0]).map(|phits| phits as i32);
        }
        // An endpoint without credits takes whatever comes.
        full[0] = config.links[0].ejection_buffer.map_or(0, |phits| phits as i32);
        let single = config.switching != Switching::Wormhole && !choices.vc_stage;
        let immediate = config.allocation_delay == 0 && config.switching != Switching::StoreAndForward;
        let size = if sizes.0 == sizes.1 { sizes.0.into() } else { 0 };
        let whole = u32::from(sizes.1) <= config.buffers.flit_size;
        let several_paths = choices.paths != (1, 1);
        let plain_crossbar = !several_paths && choices.rounds == 1;
        let wastes = single && choices.ejects_when_idle && proposes;
        // Only the state of its output and of one virtual channel there decides whether a head can go.
        let by_output = single
            && !managed
            && !sorts
            && plain_crossbar
            && !ideal
            && !config.follows_links()
            && !choices.reuse_when_empty
            && !choices.connects_packets
            && choices.pace.is_none()
            && choices.vc_choice == VcChoice::Roomiest
            && !wastes
            && config.sharing.is_none();
        let (unequal, late) = (config.follows_links(), choices.counts_when_crossed);
        let backlog = match whole && size > 0 && !messages && !managed && !several_paths && !unequal && !late {
            true => backlog(config, ideal, size, &arrival_bandwidth),
            false => None,
        };
        // Heads that are decided about together depend on one another.
        let must_ask = wants.batch || wants.every_tick;
        let settings = Self {
            injection_latency: config.links[0].latency,
            injection_bandwidth: config.links[0].injection_bandwidth,
            injection_queues: config.links[0].queues,
            size,
            backlog,
            alike: size > 0 && !by_age,
            own_topology,
            staged: choices.vc_stage,
            lone: in_turn
                && !choices.transit_priority
                && radix <= MOST_PORTS
                && config.links.iter().all(|link| link.queues == 1),
            latency,
            credit_latency,
            ejection_credit_latency,
            bandwidth,
            arrival_bandwidth,
            wants,
            choices,
            rereads: wants.occupancy || wants.redecide,
            every_cycle: choices.redecide_every_cycle || must_ask,
            decides_in_turn: by_output && wants.redecide && !must_ask,
            decides_at_front: choices.decides_at_front && !wants.batch && !wants.redecide && !wants.heads,
            batches_sleep: wants.batch
                && wants.redecide
                && wants.sleeps
                && !choices.credits_at_link
                && by_output
                && requests.is_none()
                && config.networks == 1
                && config.links.fine() == 1,
            transparent,
            looks_ahead,
            sorts,
            managed,
            first_leads,
            lasting,
            lists: single
                && !transparent
                && !undivided
                && !looks_ahead
                && !sorts
                && !managed
                && plain_crossbar
                && !wants.redecide
                && !wants.batch,
            at_outputs: by_output && !wants.redecide && !wants.batch,
            exact_watches: by_output,
            admits: config.admittance.is_some(),
            queues: config.buffers.division.queues,
            unequal,
            fine: config.links.fine(),
            ideal,
            single,
            router_latency: config.latency,
            ticks_per_cycle: config.links.ticks_per_cycle,
            starts: Cycles::of(config.links.ticks_per_cycle),
            // Rounds are counted in 32 bits, too.
            cycles: cycles(config.links.ticks_per_cycle * choices.rounds),
            ejection_vcs: match requests {
                _ if single => 1,
                None => config.buffers.vcs[0],
                Some(_) => (config.links[0].queues / 2).max(1) as u8,
            },
            enough: if choices.reuse_when_empty { i32::MAX } else { sizes.1.into() },
            full,
            // Of a topology of Phit's own everything is at work: nothing is discarded beside what leaves.
            credits_in_turn: choices.credits_take_turns
                && !(own_topology && !reserves && config.credits_come_apart(ideal)),
            endpoints_fill: config.links[0].ejection_buffer.is_some_and(|room| {
                // Whether all of them are back is asked for there.
                let reads = choices.reuse_when_empty || choices.prefers_empty || config.sharing.is_some() || reserves;
                let known = own_topology && requests.is_none() && !reads;
                !(known && config.endpoints_never_fill(room, sizes.1, ideal))
            }),
            exchanges: requests.is_some(),
            classes: ranks.is_some(),
            pauses: choices.pauses,
            controls,
            reserves,
            parts_channels: requests.is_some() || config.networks > 1,
            ranked,
            repeats,
            serial,
            in_turn: config.admittance.is_none()
                && requests.is_none()
                && ranks.is_none()
                && !(repeats || controls || reserves),
            networks: config.networks as u8,
            parts_injection: config.networks > 1 || parts_replies,
            endpoints_keep: requests.is_some_and(|requests| requests.room.is_some()),
            several_paths,
            turns: if choices.turns_by_queue { radix } else { 0 },
            speculates: choices.speculation.is_some(),
            speculative_class: if choices.speculation == Some(Speculation::After) { AFTER_ALL } else { 0 },
            shares: config.sharing.is_some(),
            wastes,
            after_transit: choices.transit_priority.into(),
            detours,
            immediate,
            kernel: Compiled::General,
            progress: true,
        };
        let kernel = Compiled::of(&settings);
        let progress = kernel.keeps_progress(&settings) || wants.heads;
        let at_outputs = settings.at_outputs && kernel.knows_sleepers();
        Self { kernel, progress, at_outputs, ..settings }
    }
}

/// What the settings depend on besides the router's parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policies<'a> {
    /// The optional calls that the routing mechanism wants.
    pub wants: Wants,
    /// It has reserved channels for detours around faults.
    pub detours: bool,
    /// The queue organisation leaves the choice of queue to the routing mechanism.
    pub transparent: bool,
    /// It leaves buffers undivided.
    pub undivided: bool,
    /// It asks for the hop after next.
    pub looks_ahead: bool,
    /// Packets are sorted into the queues of their virtual channel when their heads arrive.
    pub sorts: bool,
    /// The queue organisation is managed.
    pub managed: bool,
    /// It has channels for replies alone.
    pub parts_replies: bool,
    /// It puts the first queue of an input before the others.
    pub first_leads: bool,
    /// All packets of a queue take one way.
    pub lasting: bool,
    /// The allocator is ideal.
    pub ideal: bool,
    /// The allocator asks for the age of packets.
    pub by_age: bool,
    /// Inputs propose a request each before outputs choose.
    pub proposes: bool,
    /// The topology is one of Phit's own.
    pub own_topology: bool,
    /// Control messages take links' time, too.
    pub messages: bool,
    /// Phits of the smallest and of the largest packet.
    pub sizes: (u16, u16),
    /// What packets ask for, if they are requests.
    pub requests: Option<&'a Requests>,
    /// The ranks of the classes of packets, if there are several.
    pub ranks: Option<&'a [u8]>,
    /// There is congestion control with notifications.
    pub controls: bool,
    /// There is a reservation protocol.
    pub reserves: bool,
    /// The crossbar's allocator asks for the class of packets, and that of channels.
    pub by_class: (bool, bool),
    /// Endpoints send again what was lost.
    pub repeats: bool,
    /// Endpoints send one packet after another into several planes, of which this is one.
    pub serial: bool,
    /// Most ports of a router.
    pub radix: u32,
    /// The outputs of the crossbar choose in turn among inputs with one request each, and so do channels among heads.
    pub in_turn: bool,
}

/// By class: an output buffer is full while its link is taken for so many ticks. `None` if that does not follow.
///
/// The buffer has room for n packets of `size` phits, and one counts until it starts on the link. Where those that have
/// not started follow one another without a gap, the last but n starts n serialisations before the link is free again,
/// so that the buffer is full if that is not over. A gap could only come before a packet that leaves the crossbar later
/// than the link has taken the one before it, which was in the buffer when it was granted: none, if a packet is through
/// the router in the time that the link takes for the one before, and its last phit in the time that it takes for both.
fn backlog(
    config: &Config,
    ideal: bool,
    size: u32,
    arrival_bandwidth: &[Bandwidth; MOST_CLASSES],
) -> Option<[Tick; MOST_CLASSES]> {
    let mut backlog = [Tick::MAX; MOST_CLASSES];
    let Some(capacity) = config.buffers.output_buffer else { return Some(backlog) };
    if config.choices.pace.is_some() {
        return None;
    }
    let links = &config.links;
    let crossing = if ideal { 0 } else { config.crossing(size) };
    let arrivals = links.iter().zip(arrival_bandwidth).map(|(_, &bandwidth)| links.serialisation(size, bandwidth));
    let inside = config.latency + arrivals.max().unwrap_or(0).max(crossing);
    for (link, backlog) in links.iter().zip(&mut backlog) {
        let serialisation = links.serialisation(size, link.bandwidth);
        if config.latency > serialisation || inside > 2 * serialisation {
            return None;
        }
        *backlog = capacity / size * serialisation;
    }
    Some(backlog)
}

/// Ticks that a flit of one size takes, so that nothing is divided for a hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Through the crossbar.
    pub crossing: Tick,
    /// Onto the link behind an output, by class.
    pub serialisation: [Tick; MOST_CLASSES],
    /// From the link into an input, by class.
    pub arrival: [Tick; MOST_CLASSES],
}

impl Times {
    /// The times of a flit of `phits` phits.
    pub(crate) fn new(config: &Config, settings: &Settings, phits: u32) -> Self {
        Self {
            crossing: if settings.ideal { 0 } else { config.crossing(phits) },
            serialisation: settings.bandwidth.map(|bandwidth| config.links.serialisation(phits, bandwidth)),
            arrival: settings.arrival_bandwidth.map(|bandwidth| config.links.serialisation(phits, bandwidth)),
        }
    }

    /// The times of all flits up to `largest` phits, but no more than a cache easily holds.
    pub(crate) fn table(config: &Config, settings: &Settings, largest: u32) -> Vec<Self> {
        (0..=largest.min(TABULATED)).map(|phits| Self::new(config, settings, phits)).collect()
    }
}

/// Most ports of a router whose ports have one queue and one channel each, and are allocated as words of bits.
pub(crate) const MOST_PORTS: u32 = 64;

/// Flits of more phits have their times computed.
const TABULATED: u32 = 64;
