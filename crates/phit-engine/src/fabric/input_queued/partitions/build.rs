//! From a blueprint to partitions.

use super::ports::{Ports, check_links, neighbours};
use crate::engine::{NONE, Rng, Stream, Tick, poll};
use crate::fabric::executor::{Executor, Seat};
use crate::fabric::input_queued::allocation::connections::Connections;
use crate::fabric::input_queued::allocation::paths::Paths;
use crate::fabric::input_queued::allocation::vc_allocation::{Arbiters, Asked, MOST_NUMBERS, Turns, VcAllocator};
use crate::fabric::input_queued::cycle::blocks;
use crate::fabric::input_queued::cycle::rounds;
use crate::fabric::input_queued::endpoints::endpoint::Endpoint;
use crate::fabric::input_queued::endpoints::hosted::Hosted;
use crate::fabric::input_queued::endpoints::repeats::Repeats;
use crate::fabric::input_queued::endpoints::seam::{SenderContext, Sending};
use crate::fabric::input_queued::mechanisms::management::Management;
use crate::fabric::input_queued::mechanisms::probing::Probing;
use crate::fabric::input_queued::mechanisms::signals::Signals;
use crate::fabric::input_queued::options::config::Config;
use crate::fabric::input_queued::options::kernel::General;
use crate::fabric::input_queued::options::params::{CreditRelease, RouterParams};
use crate::fabric::input_queued::options::settings::{Policies, Settings, Times};
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::post::office::PostOffice;
use crate::fabric::input_queued::state::pauses::Pauses;
use crate::fabric::input_queued::state::pools::Pools;
use crate::fabric::input_queued::state::records::{
    CreditTurn, Input, Output, OutputTables, OutputVc, Progress, Queue, SINK, UNLIMITED,
};
use crate::fabric::input_queued::waiting::agenda::Agenda;
use crate::fabric::input_queued::waiting::at_outputs::AtOutputs;
use crate::fabric::input_queued::waiting::wait_lists::WaitLists;
use crate::fabric::input_queued::waiting::watchers::Watchers;
use crate::fabric::input_queued::wiring::layout::{Hosts, Layout, endpoints_of};
use crate::fabric::input_queued::wiring::rates::PortRates;
use crate::fabric::input_queued::wiring::setup::{Frozen, Map, Setup};
use crate::fabric::links::LinkClass;
use crate::fabric::seams::allocator::{AllocatorContext, AllocatorParams, InTurn};
use crate::fabric::seams::queueing::QueueingContext;
use crate::fabric::seams::routing::{OutputBuffers, OutputChannels, OutputQueues, Routing, RoutingContext, Watches};
use crate::fabric::sources::cycles;
use crate::fabric::wires::Wires;
use crate::fabric::zero_load::Ways;
use crate::fabric::{Blueprint, longest_wait};
use crate::measure::Collector;
use crate::packet::Arena;
use crate::registry::Chosen;
use crate::topology::{Faulty, Known, Retransmit, Routers, Topology};
use crate::traffic::Requests;
use crate::workload::NO_SLOT;
use phit_workload::Ranks;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Everything that partitions are made from.
pub(crate) struct Plan<'a> {
    /// What the scenario says.
    blueprint: &'a Blueprint,
    /// Settings in ticks.
    pub(crate) config: Arc<Config>,
    /// Crossbar allocator.
    allocator: Arc<dyn AllocatorParams + Send + Sync>,
    /// Allocator of virtual channels, if it is not made up of arbiters.
    vc_allocator: Option<Arc<dyn AllocatorParams + Send + Sync>>,
    /// Most ports of any router of the network: allocators that count on from port to port must count alike in every
    /// partition.
    radix: u32,
    /// Smallest flit in phits.
    smallest_flit: u32,
    /// Largest flit in phits.
    largest_flit: u32,
}

impl Deref for Plan<'_> {
    type Target = Blueprint;
    fn deref(&self) -> &Blueprint {
        self.blueprint
    }
}

impl<'a> Plan<'a> {
    /// Ticks and phits of `params`, for the network of `blueprint`.
    pub(crate) fn new<A: Chosen<dyn AllocatorParams + Send + Sync>>(
        params: &RouterParams<A>,
        blueprint: &'a Blueprint,
    ) -> Self {
        let networks = blueprint.traffic.requests().map_or(blueprint.congestion.networks(), Requests::networks);
        let shared = (networks, blueprint.routing.reserved());
        let (smallest, largest) = blueprint.packet_sizes();
        let topology = &*blueprint.topology;
        let mut config = Config::new(params, &blueprint.links, blueprint.division, shared);
        config.pauses = params.pause_rule(topology, largest.into());
        Self {
            // The last flit of a packet may have any size.
            radix: (0..topology.routers()).map(|router| u32::from(topology.ports(router))).max().unwrap_or(0),
            smallest_flit: if config.moves_packets() { u32::from(smallest) } else { 1 },
            largest_flit: u32::from(largest).min(config.buffers.flit_size),
            config: Arc::new(config),
            allocator: params.allocator.shared(),
            vc_allocator: params.vc_allocator.as_ref().map(Chosen::shared),
            blueprint,
        }
    }

    /// By link class: the shortest time in ticks from a decision at one end of a link to its effect at the other.
    pub(crate) fn lookaheads(&self) -> Vec<Tick> {
        let config = &self.config;
        let credit_release = match config.choices.credit_release {
            CreditRelease::Allocation => 0,
            CreditRelease::Input => 1,
            CreditRelease::Output => config.latency,
        };
        let marks = self.congestion.notifications().is_some();
        let messages = marks
            || config.choices.links_choose()
            || config.choices.credits_at_link
            || config.choices.pauses
            || self.routing.sends_messages()
            || self.queueing.sends_messages();
        let of_class = |link: &LinkClass| {
            // Control messages, marks and packets that start by themselves take the link's latency alone.
            (config.latency + link.latency)
                .min((credit_release + link.credit_latency + config.credit_delay).max(1))
                .min(if messages { link.latency.max(1) } else { Tick::MAX })
        };
        config.links.iter().map(of_class).collect()
    }

    /// Pairs of routers at which the rails of one rank are: what it does takes place at once at all of them.
    pub(crate) fn together(&self) -> Vec<(u32, u32)> {
        let Some(workload) = &self.workload else { return Vec::new() };
        let router = |endpoint: u32| self.topology.attachment(endpoint).0;
        let ranks = workload.endpoints.chunks(workload.each() as usize);
        ranks.flat_map(|own| own.windows(2).map(|pair| (router(pair[0]), router(pair[1])))).collect()
    }

    /// Bytes of the tables of `router`'s ports and queues.
    pub(crate) fn bytes_of(&self, router: u32) -> u64 {
        poll();
        let of_port = |port: u16| {
            let queues = u64::from(self.config.links[self.topology.port(router, port).class as usize].queues);
            (size_of::<Input>() + size_of::<Output>()) as u64 + queues * size_of::<(Queue, OutputVc)>() as u64
        };
        (0..self.topology.ports(router)).map(of_port).sum()
    }

    /// How sources send packets again that were lost or refused, if they do.
    fn retransmit(&self) -> Option<Retransmit> {
        let lost = self.topology.faulty().and_then(Faulty::retransmit);
        let timeout = self.workload.as_ref().and_then(|workload| workload.timeout);
        lost.or(timeout.map(|timeout| Retransmit { timeout, attempts: u8::MAX }))
    }

    /// True if a link has never worked that packets may take for want of another way: no detours are taken, and other
    /// links break.
    pub(crate) fn loses(&self, router: u32, port: u16) -> bool {
        let faulty = self.topology.faulty().filter(|faulty| !faulty.breakdowns().is_empty());
        self.routing.reserved() == 0 && faulty.is_some_and(|faulty| faulty.is_dead(router, port))
    }

    /// Ticks in which some flit must move if any can.
    pub(crate) fn longest_wait(&self) -> Tick {
        let config = &self.config;
        let frame = config.pauses.map_or(0, |rule| config.links.serialisation(rule.frame, config.links.slowest()));
        let inside = [config.latency, config.allocation_delay, config.credit_delay, frame];
        // Packets whose flits alternate in an output buffer end all at once.
        let packets = u32::from(config.links[0].queues) + 4;
        longest_wait(&config.links, &inside, packets, self.traffic.packet_sizes().1.into())
    }

    /// Horizon that covers nearly all events.
    fn horizon(&self) -> Tick {
        let config = &self.config;
        let link = config.links.longest();
        let queued = config.buffers.output_buffer.unwrap_or(0) + self.largest_flit;
        (2 * config.latency
            + link
            + config.credit_delay
            + (queued + self.largest_flit) * config.links.ticks_per_cycle
            + 16)
            .clamp(256, 8192)
    }

    /// The partitions `own`, of one for each of `parts`, which hold every router once.
    pub(crate) fn build(&self, parts: &[Routers], own: Range<usize>) -> Vec<Partition> {
        let mut layout = Layout::new(parts, &*self.topology, &self.config);
        layout.hosts = self.hosts(&layout);
        if self.retransmit().is_some() {
            let home = |endpoint| layout.partition_of(self.topology.attachment(endpoint).0);
            layout.homes_of_endpoints = (0..self.topology.endpoints()).map(home).collect();
        }
        let partition = |index| {
            let mut partition = self.partition(index, &layout);
            partition.start();
            partition
        };
        let partitions: Vec<Partition> = own.map(partition).collect();
        check_links(&partitions, &layout.sizes);
        partitions
    }

    /// Bytes by table of a partition of these routers, empty: it is made and thrown away.
    pub(crate) fn tables_of(&self, routers: Routers) -> Vec<(&'static str, usize)> {
        let parts = [routers];
        self.partition(0, &Layout::sample(&parts)).tables()
    }

    /// The routing mechanism for `routers`.
    fn mechanism(&self, routers: Routers) -> Box<dyn Routing> {
        let division = self.config.buffers.division;
        self.routing.build(&RoutingContext {
            topology: self.topology.clone(),
            routers,
            vcs: self.config.buffers.vcs.clone(),
            queues: self.config.links.iter().map(|l| l.queues).collect(),
            isolating: if division.shared { division.queues as u16 } else { 1 },
            packet_size: self.traffic.packet_sizes().1.into(),
            ticks_per_cycle: self.config.links.ticks_per_cycle,
            latency: self.config.links.iter().map(|link| link.latency).collect(),
            ahead: self.queueing.looks_ahead() || self.queueing.sorts(),
            seed: self.seed,
            table: self.table.clone(),
            widening: (self.routing.proof().reference())
                .and_then(|legs| self.queueing.widening(legs, &self.config.buffers.vcs)),
        })
    }

    /// What the queue organisation is given for `routers`.
    fn organisation(&self, routers: Routers) -> QueueingContext {
        QueueingContext {
            topology: self.topology.clone(),
            routers,
            vcs: self.config.buffers.vcs.clone(),
            table: self.table.clone(),
            packet_size: self.traffic.packet_sizes().1.into(),
            ticks_per_cycle: self.config.links.ticks_per_cycle,
            reference: self.routing.proof().reference(),
        }
    }

    /// What the endpoints of a partition execute.
    fn hosted(&self, index: usize, layout: &Layout<'_>) -> Option<Box<Hosted>> {
        let (workload, shared) = (self.workload.as_ref()?, layout.hosts.as_ref()?);
        let cycle = self.config.links.ticks_per_cycle;
        let asked = self.rows;
        let (seats, ranks) = (shared.seats.clone(), shared.parts[index].clone());
        let executor = Executor::new(workload.clone(), seats, ranks, asked, cycle, cycles(cycle));
        let mut own: Vec<u32> =
            layout.parts[index].iter().flat_map(|router| endpoints_of(&*self.topology, router)).collect();
        own.sort_unstable();
        let slots = shared.slots.clone();
        let with_slot = (0..).zip(&own).map(|(place, &endpoint)| (slots[endpoint as usize], place));
        let mut places: Vec<(u32, u32)> = with_slot.filter(|(slot, _)| *slot != NO_SLOT).collect();
        places.sort_unstable();
        let places = places.into_iter().map(|(_, place)| place).collect();
        let homes = (shared.homes.clone(), slots, places);
        Some(Box::new(Hosted::new(executor, workload.clone(), homes, shared.ways.clone())))
    }

    /// Which partition holds which ranks.
    fn hosts(&self, layout: &Layout<'_>) -> Option<Hosts> {
        let workload = self.workload.as_ref()?;
        let topology = &*self.topology;
        let home = |&endpoint: &u32| layout.partition_of(topology.attachment(endpoint).0);
        // All rails of a rank are in one partition.
        let each = workload.each();
        let homes: Arc<[u32]> = workload.endpoints.iter().step_by(each as usize).map(home).collect();
        let parts = Ranks::of_parts(&homes, layout.parts.len());
        let place = |&slot: &u32| match slot {
            NO_SLOT => NO_SLOT,
            slot => parts[homes[(slot / each) as usize] as usize].place(slot / each) as u32 * each + slot % each,
        };
        Some(Hosts {
            slots: workload.slots.iter().map(place).collect(),
            seats: workload
                .endpoints
                .iter()
                .map(|endpoint| Seat { endpoint: *endpoint, home: home(endpoint) })
                .collect(),
            parts,
            homes,
            ways: Arc::new(Ways::new(self.blueprint, self.config.latency)),
        })
    }

    /// What allocates so many `channels` to heads of so many `queues`, which may ask for `alternatives`: those of
    /// `routers` with up to `radix` ports of up to `widest` queues each.
    fn vc_allocator(
        &self,
        (channels, queues): (u32, u32),
        (routers, radix, widest): (u32, u32, u32),
        alternatives: bool,
    ) -> VcAllocator {
        let width = radix * widest;
        let arbiters = |rule| VcAllocator::Arbiters(Arbiters::new(rule, channels, queues, width, width));
        let Some(asked) = &self.vc_allocator else {
            let all = self.allocator.considers_all();
            return arbiters((if all { InTurn::OutputsFirst } else { InTurn::InputsFirst }, Turns::Places));
        };
        // One that puts nobody first does what arbiters do, where a head asks at one output.
        let by_number =
            asked.in_turn().filter(|_| !alternatives && !self.config.choices.prefers_empty && width <= MOST_NUMBERS);
        if let Some(rule) = by_number {
            return arbiters((rule, Turns::Numbers));
        }
        // Heads are its inputs, channels its outputs.
        let context = AllocatorContext { ports: routers * width, radix: width, queues: 64 };
        let mut asked = asked.build(&context);
        // Where heads ask for one channel each, an allocator that takes turns does what arbiters do.
        let lone = widest == 1 && self.config.buffers.vcs.iter().all(|vcs| *vcs == 1) && !alternatives;
        if lone && !asked.by_age() && !asked.by_class() && asked.output_turns().is_some() {
            return arbiters((InTurn::InputsFirst, Turns::Places));
        }
        VcAllocator::Asked(Asked::new(asked, width))
    }

    fn partition(&self, index: usize, layout: &Layout<'_>) -> Partition {
        let (topology, config) = (&*self.topology, &*self.config);
        let routers = layout.parts[index].clone();
        let count = routers.len();
        let radix = self.radix;
        let widest = u32::from(config.links.iter().map(|l| l.queues).max().unwrap_or(1));

        let mut all = self.ports(index, layout);
        let injection_channels = all.channels.len() as u32;
        let endpoints = self.endpoints(&mut all);
        let Ports { first_port, inputs, queues, outputs, mut channels, .. } = all;
        let ports = inputs.len() as u32;

        let routing = self.mechanism(routers.clone());
        let organisation = self.organisation(routers.clone());
        let queueing = self.queueing.build(&organisation);
        let manager = self.queueing.manager(&organisation, ports, endpoints.len() as u32);
        // To the allocator every path is a port.
        let each = config.choices.paths.0.max(config.choices.paths.1);
        let context = AllocatorContext { ports: ports * each, radix: radix * each, queues: widest };
        let mut allocator = self.allocator.build(&context);
        let staged = config.choices.vc_stage;
        let vc_allocator = staged
            .then_some((injection_channels, queues.len() as u32))
            .map(|counts| self.vc_allocator(counts, (count as u32, radix, widest), routing.wants().alternatives));
        let in_turn = matches!(vc_allocator, Some(VcAllocator::Arbiters(_))) && allocator.output_turns().is_some();
        let channels_by_class = vc_allocator.as_ref().is_some_and(VcAllocator::by_class);
        let settings = Settings::new(
            config,
            &Policies {
                wants: routing.wants(),
                detours: self.routing.reserved() > 0,
                transparent: queueing.transparent(),
                undivided: self.queueing.undivided(),
                looks_ahead: self.queueing.looks_ahead(),
                sorts: self.queueing.sorts(),
                managed: manager.is_some(),
                parts_replies: self.queueing.parts_replies(),
                first_leads: manager.as_ref().is_some_and(|manager| manager.first_leads()),
                lasting: routing.tables().is_some() && queueing.by_destination(),
                ideal: allocator.ideal(),
                by_age: allocator.by_age(),
                proposes: allocator.proposes(),
                own_topology: !matches!(self.topology.clone().known(), Known::Other),
                messages: self.routing.loads_links()
                    || self.queueing.sends_messages()
                    || self.congestion.routers_notify()
                    || config.choices.pauses,
                sizes: self.packet_sizes(),
                requests: self.traffic.requests(),
                controls: self.congestion.notifications().is_some(),
                reserves: self.congestion.reservations().is_some(),
                ranks: self.traffic.classes().map(|classes| &*classes.ranks),
                by_class: (allocator.by_class(), channels_by_class),
                repeats: self.retransmit().is_some(),
                serial: self.traffic.is_serial(),
                radix: self.radix,
                in_turn,
            },
        );

        let (in_blocks, apart) = settings.kernel.blocks();
        let blocks = if in_blocks { blocks::blocks(&first_port, &inputs, queues.len() as u32) } else { Vec::new() };
        let (lanes, total) = (u64::from(config.links[0].queues), u64::from(topology.endpoints()));
        let injection_bounds = (1..lanes).map(|lane| (lane * total).div_ceil(lanes) as u32).collect();
        let ways_back = match settings.managed {
            true => self.ways_back(&routers, &inputs, layout),
            false => Vec::new(),
        };
        let firsts: Vec<u32> = endpoints.iter().map(|endpoint| endpoint.channel).collect();
        let pools = config.sharing.map(|rule| Box::new(Pools::new(rule, config, (&outputs, &firsts), &mut channels)));
        let lists = match settings.lists {
            true => WaitLists::new(inputs.len(), radix, widest, channels.len(), queues.len()),
            false => WaitLists::default(),
        };
        let injection_rng = |endpoint: &Endpoint| Rng::new(self.seed, Stream::Injection, endpoint.number.into());
        let capacity = config.buffers.output_buffer;
        let crossing = if settings.choices.counts_when_crossed { settings.fine } else { 0 };
        let buffers = OutputBuffers::new(capacity, settings.backlog, outputs.len(), (self.smallest_flit, crossing));
        let most_queues = most_queues(&first_port, &inputs, queues.len());
        let watchers = match settings.watches::<General>() {
            true => {
                let first = first_port[..first_port.len() - 1].iter();
                let first = first.map(|port| inputs.get(*port as usize).map_or(0, |input| input.queues)).collect();
                Watchers::new((outputs.len(), channels.len()), first, most_queues, settings.exact_watches)
            }
            false => Watchers::default(),
        };
        let tables = OutputTables {
            first_port: first_port.into(),
            charged: vec![0; if pools.is_some() { channels.len() } else { 0 }].into(),
            owners: vec![NONE; if settings.single { 0 } else { channels.len() }].into(),
            ready: vec![0; if settings.wants.batch && buffers.by_time() { outputs.len() } else { 0 }].into(),
            buffers,
            queues: config.choices.links_choose().then(|| {
                let control = config.choices.control_buffer.unwrap_or(0);
                let by_packet = config.choices.links_send_packets;
                Box::new(OutputQueues::new(capacity, control, outputs.len(), (crossing, by_packet)))
            }),
            lines: config.choices.credits_at_link.then(|| {
                let credits = |output: &Output| match output.class {
                    _ if output.far_partition == SINK => UNLIMITED,
                    class => config.links[class as usize].buffer as i32,
                };
                Box::new(OutputChannels::new(outputs.iter().map(|output| (output.vcs, credits(output)))))
            }),
            granted: rounds::grants(if settings.choices.rounds > 1 { outputs.len() } else { 0 }),
            round: 0,
            behind: config.buffers.clone(),
            outputs: outputs.into(),
            channels: channels.into(),
        };
        let mut collector = Collector::new(self.window.clone());
        if let Some(workload) = &self.workload {
            collector.counters.programs.expect(workload, self.window.histogram);
            if workload.reorder.is_some() {
                collector.counters.receivers.deliver_in_order(workload.endpoints.len());
            }
        }
        let sending = Sending::new(&SenderContext {
            config,
            traffic: &self.traffic,
            topology,
            congestion: &*self.congestion,
            queues: queues.len() as u32,
            outputs: tables.outputs.len() as u32,
            endpoints: &endpoints,
            seed: self.seed,
            sample: layout.sample,
        });
        let kinds = 1 + u32::from(self.traffic.requests().is_some());
        let repeats = |rule| Box::new(Repeats::new(rule, layout.homes_of_endpoints.clone(), endpoints.len(), kinds));
        let repeats = self.retransmit().map(repeats);
        let senders = tables.outputs.len() + endpoints.len();
        let pauses = |rule| Box::new(Pauses::new(rule, queues.len(), inputs.len(), senders));
        let pauses = config.pauses.map(pauses);
        let known = self.topology.clone().known();
        let setup = Setup {
            index: index as u32,
            config: self.config.clone(),
            locations: if settings.wants.settled { known.locations(&routers) } else { Default::default() },
            traffic: self.traffic.clone(),
            unit: Times::new(config, &settings, settings.size),
            times: Times::table(config, &settings, self.largest_flit),
            settings,
            injection_bounds,
            widest,
            blocks,
            routers: routers.clone(),
        };
        let neighbours = if settings.transparent { Vec::new() } else { neighbours(topology, &routers) };
        let map = Map {
            topology: self.topology.clone(),
            known,
            tabled: routing.tables().cloned(),
            neighbours: neighbours.into(),
        };
        Partition {
            setup: Frozen::new(setup),
            map,
            routing,
            queueing,
            management: Management::new(manager, queues.len(), ways_back, settings.sorts),
            allocator,
            vc_allocator,
            rngs: routers.iter().map(|r| Rng::new(self.seed, Stream::Router, r.into())).collect::<Vec<_>>().into(),
            agenda: Agenda::new(queues.len(), in_blocks, apart),
            at_outputs: match settings.at_outputs {
                true => AtOutputs::new(inputs.len(), radix, most_queues, widest),
                false => AtOutputs::default(),
            },
            lists,
            watchers,
            rates: settings.unequal.then(|| {
                let own = endpoints.iter().map(|endpoint| endpoint.number);
                Box::new(PortRates::new(config, topology, routers.iter(), own, self.largest_flit))
            }),
            paths: settings
                .several_paths
                .then(|| Box::new(Paths::new(config.choices.paths.0, config.choices.paths.1, ports))),
            pools,
            connections: settings.choices.connects_packets.then(|| {
                Box::new(Connections::new(config.choices.paths, ports, config.choices.control_crosses_beside))
            }),
            next_credit: vec![CreditTurn::default(); if settings.credits_in_turn { inputs.len() } else { 0 }].into(),
            latest: vec![0; if settings.single { 0 } else { queues.len() }].into(),
            inputs: inputs.into(),
            progress: vec![Progress::default(); if settings.progress { queues.len() } else { 0 }].into(),
            queues: queues.into(),
            tables,
            injection_rngs: match settings.wants.settled {
                true => Vec::new(),
                false => endpoints.iter().map(injection_rng).collect(),
            }
            .into(),
            endpoints: endpoints.into(),
            packets: Arena::default(),
            now: 0,
            post: PostOffice::new(index as u32, self.horizon()),
            collector,
            offered_phits: 0,
            requests: Vec::new(),
            scratch: Default::default(),
            losers: Vec::new(),
            heads: Vec::new(),
            alternatives: Vec::new(),
            waiting: Vec::new(),
            discards: Vec::new(),
            severed: Default::default(),
            outages: Default::default(),
            signals: Signals::new(settings.wants.period > 0, if settings.wants.occupancy { count } else { 0 }, pauses),
            probing: Probing::new(self.probes.clone()),
            watched: Watches::default(),
            wires: Wires::default(),
            hosted: self.hosted(index, layout),
            sending,
            repeats,
        }
    }
}

/// Most queues of any router: of `count` in all, in the order of `inputs`, of which every router has those from its
/// first port to the first of the next.
fn most_queues(first_port: &[u32], inputs: &[Input], count: usize) -> u32 {
    let first = |port: u32| inputs.get(port as usize).map_or(count as u32, |input| input.queues);
    first_port.windows(2).map(|ports| first(ports[1]) - first(ports[0])).max().unwrap_or(0)
}
