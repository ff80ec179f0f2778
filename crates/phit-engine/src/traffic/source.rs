//! The packets of each endpoint, drawn lazily.

use super::classes::Classes;
use super::packet_size::{PacketSizeKind, Sizes};
use super::patterns::{Anyone, Pattern, part_seed};
use super::planes::{Plane, Turn};
use super::processes::{Geometric, HORIZON, Process, ProcessState};
use super::rates::Rates;
use super::requests::Requests;
use super::trace::Trace;
use super::{LoadUnit, TrafficParams};
use crate::engine::{Rng, Stream, Table};
use crate::error::{ScenarioError, join};
use crate::topology::Topology;
use std::ops::Range;
use std::sync::Arc;

/// A packet that an endpoint generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generated {
    /// Cycle of generation; never decreases from one packet of an endpoint to the next.
    pub cycle: u32,
    /// Destination endpoint.
    pub destination: u32,
    /// Size in phits.
    pub size: u16,
}

/// The offered traffic of a run, shared by all endpoints.
#[derive(Debug)]
pub struct Traffic {
    /// Loads by start, at least one.
    loads: Vec<LoadPhase>,
    /// Patterns by start, at least one.
    patterns: Vec<PatternPhase>,
    sizes: Arc<dyn Sizes>,
    /// Packets of a message, and messages of an endpoint; `None` if packets are generated one by one.
    messages: Option<(u32, u32)>,
    /// Messages given one by one; they replace pattern and process.
    trace: Option<Trace>,
    /// Smallest packet at the end of a trace's message, in phits.
    end: u16,
    /// Parameters of requests, if packets are answered.
    requests: Option<Requests>,
    /// Classes of packets; if there are any, their traffic replaces everything else here.
    classes: Option<Classes>,
    /// A short form, if this is the commonest traffic.
    steady: Option<Steady>,
    /// The plane that takes part of the packets, if there are several planes.
    plane: Option<Plane>,
    /// Kind of every endpoint, see [`Rates`]; empty if all are of one kind.
    kinds: Table<u8>,
}

/// The commonest traffic: single packets of one size, generated independently at a constant load, to uniform
/// destinations.
#[derive(Debug)]
struct Steady {
    gap: Geometric,
    destinations: Anyone,
    size: u16,
}

/// The parameters that count the packets of an endpoint without drawing them.
struct Tally {
    gap: Geometric,
    /// Random words that the rest of a packet takes.
    words: u32,
    size: u16,
}

impl Steady {
    /// The short form of this traffic, if it is the commonest kind.
    fn of(loads: &[LoadPhase], patterns: &[PatternPhase], sizes: &dyn Sizes) -> Option<Self> {
        let ([load], [pattern], (size, largest)) = (loads, patterns, sizes.range()) else { return None };
        let [process] = &load.processes[..] else { return None };
        let (gap, destinations) = (process.independent()?, pattern.pattern.uniform()?);
        (size == largest).then_some(Self { gap, destinations, size })
    }

    #[inline(always)]
    fn next(&self, endpoint: u32, source: &mut Source) -> Option<Generated> {
        let cycle = source.state.cycle.saturating_add(self.gap.draw(&mut source.rng));
        source.state.cycle = cycle.saturating_add(1);
        let cycle = u32::try_from(cycle).ok()?;
        Some(Generated { cycle, destination: self.destinations.draw(endpoint, &mut source.rng), size: self.size })
    }
}

/// Refuses a load above the bandwidth of an endpoint's injection port. `one`: phits per cycle of a load of 1.
fn check_load(path: &str, load: f64, (one, most): (f64, f64)) -> Result<(), ScenarioError> {
    if load * one > most {
        let most = most / one;
        let expected =
            format!("expected at most {most} phits/(endpoint·cycle), what an endpoint's injection port carries");
        return Err(ScenarioError::new(path, load, expected));
    }
    Ok(())
}

/// The process from cycle `start` on.
#[derive(Debug)]
struct LoadPhase {
    start: u64,
    /// Load in phits/(endpoint·cycle); the largest of any endpoint.
    load: f64,
    /// Process by kind of endpoints, see [`Rates`].
    processes: Vec<Box<dyn Process>>,
}

/// The pattern from cycle `start` on.
#[derive(Debug)]
struct PatternPhase {
    start: u64,
    pattern: Arc<dyn Pattern>,
}

/// The message whose packets an endpoint is sending.
#[derive(Debug, Clone, Copy, Default)]
struct Message {
    cycle: u32,
    destination: u32,
    /// Packets still to come.
    left: u32,
    /// Messages begun.
    begun: u32,
    /// Planes of the next packets, if there are several planes.
    turn: Turn,
}

/// The position of one endpoint in its sequence of packets, 48 bytes.
#[derive(Debug, Clone)]
pub struct Source {
    message: Option<Box<Message>>,
    rng: Rng,
    state: ProcessState,
    /// Index of the current load.
    load: u32,
    /// Index of the pattern of the latest packet.
    pattern: u32,
}

impl Traffic {
    /// Fits the traffic to a topology. `rates` are those of its endpoints. `bisection` is the load that saturates the
    /// network's bisection, in phits/(endpoint·cycle), if the network has one. `seed` is the scenario's. Error paths
    /// start with `traffic`.
    pub fn build(
        params: &TrafficParams,
        topology: &dyn Topology,
        rates: impl Into<Rates>,
        bisection: Option<f64>,
        seed: u64,
    ) -> Result<Self, ScenarioError> {
        let unit = match (params.load_unit, bisection) {
            (LoadUnit::Link | LoadUnit::Phits, _) => 1.0,
            (LoadUnit::Bisection, Some(load)) => load,
            (LoadUnit::Bisection, None) => {
                let reason = "needs a torus or mesh, whose bisection is known";
                return Err(ScenarioError::new("traffic.load_unit", "\"bisection\"", reason));
            }
        };
        Self::fit(params, topology, &rates.into(), unit, seed).map_err(|e| e.under("traffic"))
    }

    fn fit(
        params: &TrafficParams,
        topology: &dyn Topology,
        rates: &Rates,
        bisection: f64,
        seed: u64,
    ) -> Result<Self, ScenarioError> {
        params.check()?;
        let of_class = |own: &TrafficParams, seed: u64| Self::fit(own, topology, rates, bisection, seed);
        let units: Vec<(f64, f64)> = rates.units(params.load_unit, bisection).collect();
        if let Some(classes) = Classes::build(params, of_class, seed)? {
            let changes = params.changes.iter().enumerate();
            let changes = changes.filter_map(|(i, change)| Some((format!("changes[{i}].load"), change.load?)));
            for (path, load) in std::iter::once(("load".to_owned(), params.load)).chain(changes) {
                units.iter().try_for_each(|unit| check_load(&path, load, *unit))?;
            }
            let none = Self::silent(topology.endpoints(), params.packet_sizes()?)?;
            return Ok(Self { classes: Some(classes), ..none });
        }
        let sizes = params.packet_size.params().build().map_err(|e| e.under("packet_size"))?;
        let messages = params.message.as_ref().map(|m| (m.packets, m.count.unwrap_or(u32::MAX)));
        let requests = params.answered(seed)?;
        let burst = match (&requests, messages) {
            (Some(requests), _) => requests.mean(),
            (None, Some((packets, _))) => sizes.mean() * f64::from(packets),
            (None, None) => sizes.mean(),
        };
        // Endpoints that wait for replies slow down by themselves, so their load needs no check.
        let waits = requests.as_ref().is_some_and(|requests| requests.outstanding.is_some());
        let load_phase = |path: &str, start: u32, given: f64| {
            let refuse = |reason: String| ScenarioError::new(path, given, reason);
            let of_kind = |&(one, most): &(f64, f64)| {
                if !waits {
                    check_load(path, given, (one, most))?;
                }
                // Endpoints that only wait for replies generate as fast as possible, independent of their link.
                let load = if waits && given == burst { burst } else { given * one };
                if load > burst {
                    return Err(refuse(format!(
                        "expected at most {} phits/(endpoint·cycle): one packet per cycle of the mean packet size",
                        burst / one
                    )));
                }
                let peaks = if params.load_unit == LoadUnit::Link { one } else { 1.0 };
                params.process.params().build_in(peaks, load, burst).map_err(refuse)
            };
            let processes = units.iter().map(of_kind).collect::<Result<_, _>>()?;
            let most = units.iter().map(|(one, _)| one).fold(0.0, |most: f64, one| most.max(*one));
            Ok(LoadPhase { start: u64::from(start), load: given * most, processes })
        };
        let mut loads = vec![load_phase("load", 0, params.load)?];
        let first = params.pattern.build(topology, seed).map_err(|e| e.under("pattern"))?;
        let mut patterns = vec![PatternPhase { start: 0, pattern: first }];
        for (i, change) in params.changes.iter().enumerate() {
            let path = format!("changes[{i}]");
            if let Some(load) = change.load {
                loads.push(load_phase(&join(&path, "load"), change.cycle, load)?);
            }
            if let Some(pattern) = &change.pattern {
                let built = pattern.build(topology, part_seed(seed, i));
                let pattern = built.map_err(|e| e.under(&join(&path, "pattern")))?;
                patterns.push(PatternPhase { start: u64::from(change.cycle), pattern });
            }
        }
        let trace = match params.trace.is_empty() {
            true => None,
            false => Some(Trace::new(&params.trace, topology, sizes.range().1)?),
        };
        let steady = match (&trace, messages) {
            (None, None) => Steady::of(&loads, &patterns, &*sizes),
            _ => None,
        };
        let kinds = rates.by_endpoint().into();
        let (classes, plane) = (None, None);
        Ok(Self { loads, patterns, sizes, messages, trace, end: 1, requests, classes, steady, plane, kinds })
    }

    /// No traffic, with packets from `smallest` to `largest` phits: the traffic of endpoints that execute a program.
    pub fn silent(endpoints: u32, (smallest, largest): (u16, u16)) -> Result<Self, ScenarioError> {
        let sizes = PacketSizeKind::phits(largest).params().build()?;
        let trace = Some(Trace::none(endpoints, largest));
        let (loads, patterns) = (vec![], vec![]);
        Ok(Self {
            loads,
            patterns,
            sizes,
            messages: None,
            trace,
            end: smallest,
            requests: None,
            classes: None,
            steady: None,
            plane: None,
            kinds: Table::default(),
        })
    }

    /// The packets of one plane alone, see [`Plane`].
    pub fn on_plane(self, plane: &Plane) -> Self {
        let classes = self.classes.map(|Classes { traffic, ranks }| Classes {
            traffic: traffic.into_iter().map(|class| class.on_plane(plane)).collect(),
            ranks,
        });
        Self { classes, steady: None, plane: Some(plane.clone()), ..self }
    }

    /// The start of the sequence of `endpoint`; `seed` is the scenario's.
    pub fn source(&self, endpoint: u32, seed: u64) -> Source {
        let seed = self.plane.as_ref().map_or(seed, |plane| plane.of_sources(seed));
        let mut rng = Rng::new(seed, Stream::Source, u64::from(endpoint));
        let state = match self.trace {
            None => self.process(&self.loads[0], endpoint).start(0, &mut rng),
            Some(_) => ProcessState::default(),
        };
        let message = match &self.plane {
            None => self.messages.map(|_| Box::default()),
            Some(plane) => Some(Box::new(Message { turn: plane.start(endpoint), ..Message::default() })),
        };
        Source { message, rng, state, load: 0, pattern: 0 }
    }

    /// The next packet of `endpoint`, which has this source; `None` if it never sends again.
    #[inline(always)]
    pub fn next(&self, endpoint: u32, source: &mut Source) -> Option<Generated> {
        match &self.steady {
            Some(steady) => steady.next(endpoint, source),
            None => self.next_of_any(endpoint, source),
        }
    }

    /// The next packet of `endpoint`, for traffic of any kind.
    #[inline(never)]
    fn next_of_any(&self, endpoint: u32, source: &mut Source) -> Option<Generated> {
        let Some(plane) = &self.plane else { return self.next_of_all(endpoint, source) };
        loop {
            let packet = self.next_of_all(endpoint, source)?;
            if let Some(message) = &mut source.message
                && plane.takes(packet, &mut message.turn, &mut source.rng)
            {
                return Some(packet);
            }
        }
    }

    /// The next packet, whichever plane it takes.
    #[inline(always)]
    fn next_of_all(&self, endpoint: u32, source: &mut Source) -> Option<Generated> {
        if let Some(trace) = &self.trace {
            return trace.next(endpoint, &mut source.state);
        }
        match self.messages {
            None => self.drawn(endpoint, source, None),
            Some((packets, count)) => self.next_of_message(endpoint, source, packets, count),
        }
    }

    /// How to count the packets of `endpoint` without drawing them; `None` if they have to be drawn. It is possible if
    /// packets belong to no messages and have one size, load and pattern never change, and gaps between packets are
    /// independent.
    fn tally(&self, endpoint: u32) -> Option<Tally> {
        if let Some(Steady { gap, size, .. }) = &self.steady {
            return Some(Tally { gap: gap.clone(), words: 1, size: *size });
        }
        let special = self.trace.is_some() || self.messages.is_some() || self.plane.is_some();
        let ([load], [PatternPhase { pattern, .. }], false) = (&self.loads[..], &self.patterns[..], special) else {
            return None;
        };
        let gap = self.process(load, endpoint).independent()?;
        Some(Tally { gap, words: pattern.words(endpoint)?, size: self.sizes.fixed()? })
    }

    /// The packets of `endpoint` in `cycles`, and their phits, from the one on that `source` draws next; `None` if they
    /// have to be drawn.
    pub fn count(&self, endpoint: u32, source: &Source, cycles: Range<u64>) -> Option<(u64, u64)> {
        let Tally { gap, words, size } = self.tally(endpoint)?;
        let (mut rng, mut next, mut packets) = (source.rng.clone(), source.state.cycle, 0);
        loop {
            let cycle = next.saturating_add(gap.draw(&mut rng));
            if cycle >= cycles.end.min(HORIZON) {
                return Some((packets, packets * u64::from(size)));
            }
            packets += u64::from(cycle >= cycles.start);
            next = cycle + 1;
            (0..words).for_each(|_| {
                rng.bits();
            });
        }
    }

    /// Removes the rest of the message that `endpoint` is sending, and returns its packets and phits. They all have the
    /// cycle of the packet before. Returns nothing if their sizes must be drawn. A message may have billions of
    /// packets, so they are not drawn one by one.
    pub fn rest_of_message(&self, endpoint: u32, source: &mut Source) -> (u64, u64) {
        if self.plane.is_some() {
            // Each packet must draw its plane.
            return (0, 0);
        }
        if let Some(trace) = &self.trace {
            return trace.rest(endpoint, &mut source.state);
        }
        let (smallest, size) = self.sizes.range();
        match source.message.as_deref_mut() {
            Some(message) if smallest == size => {
                let left = u64::from(std::mem::take(&mut message.left));
                (left, left * u64::from(size))
            }
            _ => (0, 0),
        }
    }

    /// The next request of `endpoint`, in cycle `from` at the earliest; the process goes on from there.
    pub fn request(&self, requests: &Requests, endpoint: u32, source: &mut Source, from: u32) -> Option<Generated> {
        let Generated { cycle, destination, .. } = self.next(endpoint, source)?;
        let cycle = cycle.max(from);
        source.state.cycle = source.state.cycle.max(u64::from(cycle) + 1);
        Some(Generated { cycle, destination, size: requests.sizes_of(endpoint, cycle)[0] })
    }

    /// The next packet of the current message, or the first of the next one.
    #[inline(never)]
    fn next_of_message(&self, endpoint: u32, source: &mut Source, packets: u32, count: u32) -> Option<Generated> {
        let mut message = source.message.as_deref().copied().unwrap_or_default();
        let size = if message.left > 0 {
            self.sizes.draw(&mut source.rng)
        } else {
            if message.begun >= count {
                return None;
            }
            let first = self.drawn(endpoint, source, Some(message.begun))?;
            (message.cycle, message.destination) = (first.cycle, first.destination);
            (message.left, message.begun) = (packets, message.begun + 1);
            first.size
        };
        message.left -= 1;
        if let Some(there) = source.message.as_deref_mut() {
            *there = message;
        }
        Some(Generated { cycle: message.cycle, destination: message.destination, size })
    }

    /// The next packet drawn from process and pattern. If there are messages, it is the first of the endpoint's message
    /// `number`.
    #[inline]
    fn drawn(&self, endpoint: u32, source: &mut Source, number: Option<u32>) -> Option<Generated> {
        loop {
            let cycle = self.next_cycle(endpoint, source)?;
            while let Some(later) = self.patterns.get(source.pattern as usize + 1) {
                if u64::from(cycle) < later.start {
                    break;
                }
                source.pattern += 1;
            }
            let pattern = &self.patterns[source.pattern as usize].pattern;
            let destination = match number {
                None => pattern.destination(endpoint, &mut source.rng),
                Some(number) => pattern.message_destination(endpoint, number, &mut source.rng),
            };
            if let Some(destination) = destination {
                return Some(Generated { cycle, destination, size: self.sizes.draw(&mut source.rng) });
            }
            // This endpoint never sends under this pattern. The next pattern decides, if there is one.
            if source.pattern as usize + 1 == self.patterns.len() {
                source.state.cycle = HORIZON;
                source.load = self.loads.len() as u32;
            }
        }
    }

    /// The process of an endpoint.
    #[inline]
    fn process<'a>(&self, phase: &'a LoadPhase, endpoint: u32) -> &'a dyn Process {
        let kind = self.kinds.get(endpoint as usize).map_or(0, |kind| usize::from(*kind));
        &*phase.processes[kind]
    }

    /// The cycle of the next packet.
    #[inline]
    fn next_cycle(&self, endpoint: u32, source: &mut Source) -> Option<u32> {
        loop {
            let phase = self.loads.get(source.load as usize)?;
            let cycle = self.process(phase, endpoint).next(&mut source.state, &mut source.rng);
            let Some(later) = self.loads.get(source.load as usize + 1) else {
                if cycle >= HORIZON {
                    source.load += 1;
                }
                return u32::try_from(cycle).ok();
            };
            if cycle < later.start {
                return u32::try_from(cycle).ok();
            }
            // Packets that the old load would have generated later do not happen.
            source.load += 1;
            source.state = self.process(later, endpoint).start(later.start, &mut source.rng);
        }
    }

    /// Offered load in `cycle`, in phits/(endpoint·cycle); the largest of any endpoint that ever sends.
    pub fn expected_load(&self, cycle: u32) -> f64 {
        if let Some(classes) = &self.classes {
            return classes.traffic.iter().map(|class| class.expected_load(cycle)).sum();
        }
        let phase = self.loads.iter().rev().find(|phase| phase.start <= u64::from(cycle));
        phase.map_or(0.0, |phase| phase.load) * self.plane.as_ref().map_or(1.0, Plane::share)
    }

    /// Mean and variance of the phits that `endpoints` endpoints together generate in a long time, per cycle. `None` if
    /// the load changes, or if replies or a list of messages decide what is generated.
    pub fn offered(&self, endpoints: u32) -> Option<(f64, f64)> {
        if let Some(Classes { traffic, .. }) = &self.classes {
            return traffic.iter().try_fold((0.0, 0.0), |(mean, variance), class| {
                let own = class.offered(endpoints)?;
                Some((mean + own.0, variance + own.1))
            });
        }
        let ([phase], None, None, None) = (&self.loads[..], &self.trace, &self.requests, &self.plane) else {
            return None;
        };
        let packets = f64::from(self.messages.map_or(1, |(packets, _)| packets));
        // Phits of an event of the process: of a packet, or of a message.
        let (phits, spread) = (packets * self.sizes.mean(), packets * self.sizes.variance());
        let (mean, variance) = (0..endpoints).fold((0.0, 0.0), |(mean, variance), endpoint| {
            let (events, varying) = self.process(phase, endpoint).moments();
            (mean + events * phits, variance + varying * phits * phits + events * spread)
        });
        Some((mean, variance))
    }

    /// The first cycle in which the latest packet of `source` can be sent, with serial injection into several planes.
    pub fn begins(&self, source: &Source) -> Option<u32> {
        let message = source.message.as_deref().filter(|_| self.is_serial())?;
        Some(message.turn.begins)
    }

    /// True with serial injection: an endpoint sends one packet after another into several planes.
    pub fn is_serial(&self) -> bool {
        self.plane.as_ref().is_some_and(Plane::serial)
    }

    /// Number of packets that `endpoint` sends in total; infinite if it never stops.
    pub fn most_packets(&self, endpoint: u32) -> f64 {
        if self.classes.is_some() {
            return f64::INFINITY;
        }
        match (&self.trace, self.messages) {
            (Some(trace), _) => trace.packets(endpoint) as f64,
            // Requests, and an equal number of replies.
            _ if self.requests.is_some() => {
                let count = self.requests.as_ref().and_then(|requests| requests.count);
                count.map_or(f64::INFINITY, |count| 2.0 * f64::from(count))
            }
            (None, Some((packets, count))) if count < u32::MAX => f64::from(packets) * f64::from(count),
            _ => f64::INFINITY,
        }
    }

    /// Mean packet size in phits.
    pub fn mean_packet_size(&self) -> f64 {
        match (&self.classes, &self.requests) {
            (Some(classes), _) => classes.mean_packet_size(),
            (None, Some(requests)) => requests.mean() / 2.0,
            (None, None) => self.sizes.mean(),
        }
    }

    /// Its classes, if packets have several: they replace the sequences of packets here.
    pub fn classes(&self) -> Option<&Classes> {
        self.classes.as_ref()
    }

    /// The traffic of each class, or this one.
    pub fn by_class(&self) -> &[Self] {
        self.classes.as_ref().map_or(std::slice::from_ref(self), |classes| &classes.traffic)
    }

    /// The parameters of requests, if packets are requests.
    pub fn requests(&self) -> Option<&Requests> {
        self.requests.as_ref()
    }

    /// Smallest and largest packet size in phits.
    pub fn packet_sizes(&self) -> (u16, u16) {
        let (smallest, largest) = self.requests.as_ref().map_or(self.sizes.range(), Requests::range);
        if self.trace.is_some() { (self.end, largest) } else { (smallest, largest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::patterns::toy::Toy;
    use serde_json::{Value, json};

    fn build(value: Value, max_load: f64) -> Result<Traffic, ScenarioError> {
        let params = TrafficParams::from_value("traffic", &value)?;
        Traffic::build(&params, &Toy::new(6, 2, 2), max_load, None, 1)
    }

    #[test]
    fn a_source_is_small() {
        assert!(size_of::<Source>() <= 48, "{}", size_of::<Source>());
    }

    #[test]
    fn loads_that_cannot_be_generated_are_refused() {
        let error = |value, max_load| build(value, max_load).unwrap_err().to_string();
        assert_eq!(
            error(json!({ "load": 1.5, "packet_size": 8 }), 1.0),
            "traffic.load = 1.5: expected at most 1 phits/(endpoint·cycle), what an endpoint's injection port carries"
        );
        let changes = json!({ "load": 0.5, "packet_size": 8, "changes": [{ "cycle": 9, "load": 1.5 }] });
        assert!(error(changes, 1.0).starts_with("traffic.changes[0].load = 1.5: expected at most 1 "));
        assert!(error(json!({ "load": 1.5 }), f64::INFINITY).contains("one packet per cycle"));
        assert!(build(json!({ "load": 1.0 }), 1.0).is_ok());
        let on_off = json!({ "load": 0.6, "process": { "kind": "on_off", "burst": 9, "peak": 0.5 } });
        assert!(error(on_off, 1.0).starts_with("traffic.load = 0.6: expected at most the load within a burst"));
    }

    #[test]
    fn a_pattern_that_does_not_fit_is_refused_at_its_path() {
        let error = build(json!({ "load": 0.5, "pattern": "bit_reverse" }), 1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "traffic.pattern = \"bit_reverse\": this pattern fits topologies whose number of endpoints is a power of \
             two; this one has 12"
        );
        let value =
            json!({ "load": 0.5, "changes": [{ "cycle": 1, "pattern": { "kind": "adversarial", "offset": 3 } }] });
        assert_eq!(build(value, 1.0).unwrap_err().path, "traffic.changes[0].pattern.offset");
    }

    #[test]
    fn the_expected_load_follows_the_changes() {
        let changes =
            json!([{ "cycle": 10, "load": 0.4 }, { "cycle": 20, "pattern": "shift" }, { "cycle": 30, "load": 0 }]);
        let traffic = build(json!({ "load": 0.1, "changes": changes }), 1.0).unwrap();
        let expected = [(0, 0.1), (9, 0.1), (10, 0.4), (29, 0.4), (30, 0.0), (u32::MAX, 0.0)];
        for (cycle, load) in expected {
            assert_eq!(traffic.expected_load(cycle), load);
        }
    }

    #[test]
    fn offered_phits_have_their_mean_and_variance() {
        let of = |value| build(value, 1.0).unwrap().offered(12);
        let near = |value: Value, mean: f64, variance: f64| {
            let found = of(value.clone()).unwrap();
            assert!((found.0 - mean).abs() + (found.1 - variance).abs() < 1e-12, "{value}: {found:?}");
        };
        // In each cycle an endpoint of twelve generates a packet of 4 phits with probability 1/10.
        near(json!({ "load": 0.4, "packet_size": 4 }), 4.8, 12.0 * 16.0 * 0.09);
        // A message of 5 such packets with probability 1/50.
        near(json!({ "load": 0.4, "packet_size": 4, "message": { "packets": 5 } }), 4.8, 12.0 * 400.0 * 0.0196);
        // Packets of 1 or 3 phits with probability 1/10: the mean of the squares is 5.
        let sizes = json!({ "kind": "choice", "sizes": [1, 3] });
        near(json!({ "load": 0.2, "packet_size": sizes }), 2.4, 12.0 * (0.5 - 0.04));
        // Numbers of a period vary, if at all, by one packet. Sizes still vary by 1.
        near(json!({ "load": 0.2, "packet_size": sizes, "process": "periodic" }), 2.4, 1.2);
        let classes = json!([{ "name": "a" }, { "name": "b", "packet_size": 2 }]);
        near(json!({ "load": 0.4, "packet_size": 4, "classes": classes }), 4.8, 12.0 * (16.0 * 0.0475 + 4.0 * 0.09));
        assert_eq!(of(json!({ "trace": [[0, 0, 1, 8]], "packet_size": 8 })), None);
        assert_eq!(of(json!({ "load": 0.4, "changes": [{ "cycle": 5, "load": 0.3 }] })), None);
    }

    #[test]
    fn packets_are_counted_as_they_are_drawn() {
        let hot = |targets: Value, share: f64| json!({ "kind": "hotspot", "targets": targets, "share": share });
        let behind = |share: f64| {
            let mut pattern = hot(json!([3]), share);
            pattern["background"] = json!("shift");
            pattern
        };
        let patterns = [
            json!("uniform"),
            json!("adversarial"),
            json!("shift"),
            json!("tornado"),
            json!("permutation"),
            hot(json!([3]), 1.0),
            hot(json!([3, 5]), 0.3),
            hot(json!([3]), 0.0),
            behind(1.0),
            behind(0.3),
        ];
        let mut counted = 0;
        for pattern in patterns {
            for packet_size in [json!(4), json!({ "kind": "choice", "sizes": [4, 4] })] {
                let traffic = json!({ "load": 0.7, "packet_size": packet_size, "pattern": pattern });
                let traffic = build(traffic, 1.0).unwrap();
                for endpoint in 0..12 {
                    let mut source = traffic.source(endpoint, 5);
                    traffic.next(endpoint, &mut source);
                    let Some(count) = traffic.count(endpoint, &source, 40..900) else { continue };
                    let drawn = std::iter::from_fn(|| traffic.next(endpoint, &mut source));
                    let drawn = drawn.take_while(|packet| packet.cycle < 900).filter(|packet| packet.cycle >= 40);
                    let packets = drawn.count() as u64;
                    assert_eq!(count, (packets, 4 * packets), "{pattern} {endpoint}");
                    counted += 1;
                }
            }
        }
        assert!(counted > 100, "{counted} sources were counted");
    }

    /// Only endpoint 0 sends.
    #[derive(Debug)]
    struct OnlyZero;

    impl Pattern for OnlyZero {
        fn destination(&self, source: u32, _: &mut Rng) -> Option<u32> {
            (source == 0).then_some(7)
        }
    }

    #[test]
    fn an_endpoint_that_does_not_send_under_a_pattern_waits_for_the_next() {
        let changes = json!([{ "cycle": 50, "pattern": "shift" }, { "cycle": 90, "pattern": "uniform" }]);
        let mut traffic = build(json!({ "load": 1, "changes": changes }), 1.0).unwrap();
        traffic.patterns[0].pattern = Arc::new(OnlyZero);
        traffic.patterns[2].pattern = Arc::new(OnlyZero);
        let sequence = |endpoint| {
            let mut source = traffic.source(endpoint, 1);
            std::iter::from_fn(|| traffic.next(endpoint, &mut source)).take(200).collect::<Vec<_>>()
        };
        assert_eq!(sequence(0).len(), 200);
        assert!(sequence(3).iter().map(|p| (p.cycle, p.destination)).eq((50..90).map(|c| (c, 4))));
        let mut source = traffic.source(3, 1);
        assert_eq!((0..41).filter_map(|_| traffic.next(3, &mut source)).count(), 40);
        assert_eq!(traffic.next(3, &mut source), None, "None stays None");
    }

    #[test]
    fn time_ends_with_32_bits() {
        let changes = json!([{ "cycle": u32::MAX - 4, "load": 1 }]);
        let traffic = build(json!({ "load": 0, "changes": changes }), 1.0).unwrap();
        let mut source = traffic.source(0, 1);
        let cycles: Vec<u32> = std::iter::from_fn(|| traffic.next(0, &mut source)).map(|p| p.cycle).collect();
        assert!(cycles.into_iter().eq(u32::MAX - 4..=u32::MAX));
        assert_eq!(traffic.next(0, &mut source), None);
    }
}
