//! Traffic beside programs: some endpoints exchange random packets while others execute a program.

use crate::bandwidth::Bandwidth;
use crate::engine::{Rng, Tick};
use crate::error::ScenarioError;
use crate::topology::{Hop, HopState, Leg, Names, Peer, Port, Topology, Words};
use crate::traffic::{Generated, Rates, Source, Traffic, TrafficParams};
use std::ops::Range;
use std::sync::Arc;

/// The traffic of a job, between its own endpoints.
#[derive(Debug)]
pub struct Beside {
    /// Number of the job.
    pub job: u32,
    /// First cycle in which a packet is generated.
    pub start: u32,
    /// Its endpoints, in the order of its pattern.
    pub endpoints: Arc<[u32]>,
    traffic: Traffic,
}

impl Beside {
    /// Fits the traffic to the endpoints of a job, which send at `rates`. `bisection` is the load that saturates the
    /// network's bisection. Error paths are relative to the job.
    pub(super) fn new(
        params: &TrafficParams,
        (job, start): (u32, u32),
        endpoints: &[u32],
        topology: &dyn Topology,
        (rates, bisection): (&Rates, Option<f64>),
        seed: u64,
    ) -> Result<Self, ScenarioError> {
        if params.requests.is_some() {
            let expected = "the traffic of a job is not answered; leave it out";
            return Err(ScenarioError::missing("traffic.requests", expected));
        }
        let own = Part::new(topology, endpoints);
        // Jobs with equal patterns draw different packets.
        let seed = seed ^ u64::from(job) << 32;
        let traffic = Traffic::build(params, &own, rates.of_some(endpoints), bisection, seed)?;
        Ok(Self { job, start, endpoints: endpoints.into(), traffic })
    }

    /// Phits of the smallest and of the largest packet.
    pub fn packet_sizes(&self) -> (u16, u16) {
        self.traffic.packet_sizes()
    }

    /// The start of the sequence of packets of `endpoint`; `seed` is the scenario's.
    pub fn source(&self, endpoint: u32, seed: u64) -> Source {
        self.traffic.source(endpoint, seed)
    }

    /// The next packet of the job's endpoint number `place`, if its cycle is before `cycles`.
    pub fn next(&self, place: u32, source: &mut Source, cycles: Tick) -> Option<Generated> {
        let Generated { cycle, destination, size } = self.traffic.next(place, source)?;
        let cycle = cycle.checked_add(self.start).filter(|cycle| *cycle < cycles)?;
        Some(Generated { cycle, destination: self.endpoints[destination as usize], size })
    }
}

/// A network reduced to the endpoints of a job, numbered from 0. For patterns only: its routes belong to the whole
/// network.
#[derive(Debug)]
struct Part<'a> {
    whole: &'a dyn Topology,
    endpoints: &'a [u32],
    /// The names of the job's endpoints, if endpoints have names.
    names: Option<Arc<Names>>,
}

impl<'a> Part<'a> {
    fn new(whole: &'a dyn Topology, endpoints: &'a [u32]) -> Self {
        let words = whole.words();
        let name = |&endpoint: &u32| words.endpoint_name(endpoint).map(str::to_owned);
        let own: Option<Vec<String>> = endpoints.iter().map(name).collect();
        let names = own.map(|endpoints| Arc::new(Names { endpoints, ..Names::default() }));
        Self { whole, endpoints, names }
    }
}

impl Topology for Part<'_> {
    fn classes(&self) -> &[String] {
        self.whole.classes()
    }
    fn routers(&self) -> u32 {
        self.whole.routers()
    }
    fn endpoints(&self) -> u32 {
        self.endpoints.len() as u32
    }
    fn endpoint_bandwidth(&self, endpoint: u32) -> Option<Bandwidth> {
        self.whole.endpoint_bandwidth(self.endpoints[endpoint as usize])
    }
    fn ports(&self, router: u32) -> u16 {
        self.whole.ports(router)
    }
    fn port(&self, router: u32, port: u16) -> Port {
        let Port { class, peer } = self.whole.port(router, port);
        let own = |endpoint: u32| self.endpoints.iter().position(|own| *own == endpoint);
        let peer = match peer {
            Peer::Endpoint(endpoint) => own(endpoint).map_or(Peer::None, |place| Peer::Endpoint(place as u32)),
            other => other,
        };
        Port { class, peer }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u16) {
        self.whole.attachment(self.endpoints[endpoint as usize])
    }
    fn hosts(&self) -> Range<u32> {
        self.whole.hosts()
    }
    fn words(&self) -> Words<'_> {
        Words::of(self.names.as_ref())
    }
    fn minimal_hops(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], out: &mut Vec<Hop>) {
        self.whole.minimal_hops(at, to, leg, state, vcs, out);
    }
    fn minimal_hop(&self, at: u32, to: u32, leg: Leg, state: HopState, vcs: &[u8], rng: &mut Rng) -> Hop {
        self.whole.minimal_hop(at, to, leg, state, vcs, rng)
    }
    fn vcs_needed(&self, leg: Leg) -> (Vec<u8>, String) {
        self.whole.vcs_needed(leg)
    }
    fn distance(&self, a: u32, b: u32) -> u32 {
        self.whole.distance(a, b)
    }
    fn diameter(&self) -> u32 {
        self.whole.diameter()
    }
    fn groups(&self) -> u32 {
        self.whole.groups()
    }
    fn group_of(&self, router: u32) -> u32 {
        self.whole.group_of(router)
    }
    fn group_routers(&self, group: u32) -> Range<u32> {
        self.whole.group_routers(group)
    }
}
