//! The ports of a partition's routers with their queues and channels, and the endpoints attached to them.

use super::build::Plan;
use crate::engine::{NONE, Tick, poll};
use crate::fabric::input_queued::endpoints::endpoint::Endpoint;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::pauses::OPEN;
use crate::fabric::input_queued::state::records::{BROKEN, Input, Output, OutputVc, Queue, SINK, UNLIMITED};
use crate::fabric::input_queued::wiring::layout::{Layout, Sizes};
use crate::topology::{Peer, Routers, Topology};

/// The ports of a partition, and the endpoints attached to them.
#[derive(Default)]
pub(crate) struct Ports {
    /// First port of each router; one more at the end.
    pub(crate) first_port: Vec<u32>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) channels: Vec<OutputVc>,
    /// Endpoint, router of the partition, port, first queue of the port.
    attached: Vec<(u32, u32, u32, u32)>,
}

impl Plan<'_> {
    /// The ports of a partition's routers, with their queues and channels.
    pub(crate) fn ports(&self, index: usize, layout: &Layout<'_>) -> Ports {
        let (topology, config) = (&*self.topology, &*self.config);
        let mut all = Ports::default();
        let room = self.traffic.requests().and_then(|requests| requests.room);
        // Where credits are taken at the link, a grant takes room in the output buffer.
        let behind = config.choices.credits_at_link.then_some(config.buffers.capacity[0] as i32);
        for (local, router) in layout.parts[index].iter().enumerate() {
            poll();
            all.first_port.push(all.inputs.len() as u32);
            for number in 0..topology.ports(router) {
                let port = topology.port(router, number);
                let link = &config.links[port.class as usize];
                let (index_in, lanes) = (all.inputs.len() as u32, link.queues);
                let (upstream_partition, sender) = match layout.upstream(router, number, port.peer) {
                    Some((from, out)) => (layout.partition_of(from), layout.first_port(from) + u32::from(out)),
                    None => (index as u32, NONE),
                };
                if let Peer::Endpoint(endpoint) = port.peer {
                    all.attached.push((endpoint, local as u32, index_in, all.queues.len() as u32));
                }
                all.inputs.push(Input {
                    busy: 0,
                    queues: all.queues.len() as u32,
                    router: local as u32,
                    upstream_partition,
                    upstream: sender,
                    number,
                    count: lanes,
                    class: port.class,
                    waking: false,
                    ready: 0,
                    asleep: 0,
                });
                all.queues.extend((0..lanes).map(|_| Queue::new(index_in)));
                let (far_partition, far_queue, credits) = match port.peer {
                    Peer::Endpoint(_) => {
                        let room = link.ejection_buffer.map_or(UNLIMITED, |phits| phits as i32);
                        (SINK, NONE, behind.unwrap_or(room))
                    }
                    Peer::Router { router: next, port: into } => {
                        let credits = if self.config.choices.pauses { OPEN } else { link.buffer as i32 };
                        let credits = behind.unwrap_or(credits);
                        (layout.partition_of(next), layout.queues(next, into), credits)
                    }
                    // A packet may be sent here when other links break, and is lost.
                    Peer::None if self.loses(router, number) => (BROKEN, NONE, UNLIMITED),
                    // Without credits nothing is ever granted to this output.
                    Peer::None => (SINK, NONE, 0),
                };
                all.outputs.push(Output {
                    busy: 0,
                    free: 0,
                    wake: 0,
                    vc: all.channels.len() as u32,
                    vcs: lanes,
                    class: port.class,
                    asked: 0,
                    router: local as u32,
                    far_partition,
                    far_queue,
                    phits: 0,
                    waiters: 0,
                });
                let first = all.channels.len();
                all.channels.extend(self.channels(lanes, credits));
                if let (Peer::Endpoint(_), Some(room)) = (port.peer, room) {
                    // Replies have the second half.
                    all.channels[first..][..usize::from(lanes / 2)].iter_mut().for_each(|it| it.credits = room as i32);
                }
            }
        }
        all.first_port.push(all.inputs.len() as u32);
        all.attached.sort_unstable();
        all
    }

    /// `lanes` channels. A channel has `credits` if packets come into its queue: where queues share a buffer, only into
    /// the first.
    fn channels(&self, lanes: u16, credits: i32) -> impl Iterator<Item = OutputVc> + use<> {
        let division = self.division;
        let enters = move |lane: u16| !division.shared || u32::from(lane) % division.queues == 0;
        (0..lanes).map(move |lane| OutputVc { credits: if enters(lane) { credits } else { 0 } })
    }

    /// The endpoints attached to `ports`, as the senders of their injection ports.
    pub(crate) fn endpoints(&self, ports: &mut Ports) -> Vec<Endpoint> {
        let link = &self.config.links[0];
        let outputs = ports.outputs.len() as u32;
        let mut endpoints = Vec::with_capacity(ports.attached.len());
        for &(endpoint, router, port, queues) in &ports.attached {
            poll();
            ports.inputs[port as usize].upstream = outputs + endpoints.len() as u32;
            endpoints.push(Endpoint {
                source: match self.workload.as_ref().and_then(|workload| workload.beside(endpoint)) {
                    Some((beside, _)) => beside.source(endpoint, self.seed),
                    None => self.traffic.source(endpoint, self.seed),
                },
                next: None,
                free: 0,
                wake: 0,
                channel: ports.channels.len() as u32,
                queues,
                sent: 0,
                lane: 0,
                blocked: false,
                router,
                number: endpoint,
                phits: 0,
            });
            let credits = if self.config.choices.pauses { OPEN } else { link.buffer as i32 };
            ports.channels.extend(self.channels(link.queues, credits));
        }
        endpoints
    }

    /// By input port: `Tick::MAX` if a wire of its own leads back to its sender, else 0; see
    /// [`Management::take_way_back`].
    pub(crate) fn ways_back(&self, routers: &Routers, inputs: &[Input], layout: &Layout<'_>) -> Vec<Tick> {
        let way_back = |input: &Input| {
            let router = routers.number(input.router);
            let at = self.topology.port(router, input.number).peer;
            let back = match (input.class, layout.upstream(router, input.number, at)) {
                (0, _) | (_, None) => true,
                (_, Some((router, port))) => at == Peer::Router { router, port },
            };
            if back { Tick::MAX } else { 0 }
        };
        inputs.iter().map(way_back).collect()
    }
}

/// The router behind each port of `routers`; `NONE` where there is none.
pub(crate) fn neighbours(topology: &dyn Topology, routers: &Routers) -> Vec<u32> {
    let behind = |router: u32| {
        (0..topology.ports(router)).map(move |port| match topology.port(router, port).peer {
            Peer::Router { router: next, .. } => next,
            Peer::Endpoint(_) | Peer::None => NONE,
        })
    };
    routers.iter().flat_map(behind).collect()
}

/// Checks every index that stands in the tables against the table it points into: the kernel follows them unchecked.
///
/// # Panics
///
/// If one points outside, which only a topology that contradicts itself can bring about.
pub(crate) fn check_links(partitions: &[Partition], sizes: &[Sizes]) {
    for partition in partitions {
        let (ports, queues, channels) =
            (partition.inputs.len(), partition.queues.len(), partition.tables.channels.len());
        let Sizes { ports: outputs, queues: inputs, endpoints } = sizes[partition.setup.index as usize];
        assert_eq!((outputs as usize, inputs as usize), (partition.tables.outputs.len(), queues), "ports or queues");
        assert_eq!(endpoints as usize, partition.endpoints.len(), "endpoints of a partition");
        assert!(partition.queues.iter().all(|queue| (queue.port as usize) < ports), "a queue has no port");
        for input in partition.inputs.iter() {
            assert!(input.queues as usize + input.count as usize <= queues, "an input port has no queues");
            assert!((input.router as usize) + 1 < partition.tables.first_port.len(), "an input port has no router");
            let sender = sizes[input.upstream_partition as usize];
            let senders = sender.ports + sender.endpoints;
            assert!(input.upstream == NONE || input.upstream < senders, "an input port has no sender");
        }
        for output in partition.tables.outputs.iter() {
            assert!(output.vc as usize + output.vcs as usize <= channels, "an output port has no channels");
            let far = sizes.get(output.far_partition as usize).map(|far| far.queues);
            let room = |far: u32| output.far_queue + u32::from(output.vcs) <= far;
            assert!(output.far_partition >= BROKEN || far.is_some_and(room), "an output port leads nowhere");
        }
        for endpoint in partition.endpoints.iter() {
            let lanes = partition.setup.config.links[0].queues as usize;
            assert!(endpoint.channel as usize + lanes <= channels, "an endpoint has no channels");
            assert!(endpoint.queues as usize + lanes <= queues, "an endpoint has no injection queues");
        }
    }
}
