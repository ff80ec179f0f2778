//! Single packets, tick by tick: their routers, times, and reasons for waiting.
//!
//! Watching does not change a run. So interesting packets can be found in one run and followed in another.

use crate::engine::Tick;
use crate::error::ScenarioError;
use crate::fabric::Options;
use crate::fabric::input_queued::{Ended, Follower, InputQueued, Journey, Visit, Wait};
use crate::run::{Progress, RunError, Simulation, Stopped};
use crate::scenario::{Scenario, Warmup};
use crate::topology::{Lookup, Named, Topology};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::ops::Range;

/// Which packets are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// Packets of an endpoint, by their numbers from 0.
    Numbered {
        /// The endpoint, by its number or its name.
        source: Named,
        /// Its packets.
        numbers: Range<u32>,
    },
    /// The packets with the highest latency, this many, among those that arrive in the measured time.
    Slowest(usize),
}

/// Ticks between two checks whether to go on.
const LOOK: Tick = 256;

/// Follows packets of a scenario with input-queued routers, as JSON: a list of packets in the order of their
/// generation, with times in cycles.
pub fn trace(scenario: &Scenario, chosen: &Chosen, progress: Progress<'_>) -> Result<Value, RunError> {
    let options = Options { threads: 1, partitions: Some(1) };
    let start = || Simulation::new(scenario, options);
    let simulation = start()?;
    let cycle = simulation.blueprint().links.ticks_per_cycle;
    if simulation.kernel::<InputQueued>().is_none() {
        let expected = "packets are followed in networks of input-queued routers; expected `input_queued`";
        return Err(ScenarioError::missing("router.kind", expected).into());
    }
    // The wanted packets are sent before `sending` ends, and may be under way until `end`.
    let mut asked = None;
    let (wanted, sending, end) = match chosen {
        Chosen::Numbered { source, numbers } => {
            let topology = &*simulation.blueprint().topology;
            let source = Lookup::new(topology).endpoint(|| "source".into(), source)?;
            asked = Some((source, numbers));
            let [sending, end] = last(scenario).map(|cycles| cycles.saturating_mul(cycle));
            (numbers.clone().map(|number| (source, number)).collect(), sending, end)
        }
        Chosen::Slowest(count) => {
            let outcome = simulation.run(progress)?;
            let at = |cycles: u64| Tick::try_from(cycles.saturating_mul(cycle.into())).unwrap_or(Tick::MAX);
            let end = at(outcome.warmup_cycles + outcome.cycles + outcome.drain_cycles);
            let window = at(outcome.warmup_cycles)..at(outcome.warmup_cycles + outcome.cycles);
            (slowest(start()?, *count, window, end, progress)?, end, end)
        }
    };
    let mut follower = Follower::new(wanted);
    let mut simulation = start()?;
    watch(&mut simulation, end, progress, |network, now| {
        follower.look(&network.parts().0[0]);
        !follower.is_done() && (now < sending || follower.has_begun())
    })?;
    if let (Some((source, numbers)), false) = (asked, follower.has_begun()) {
        let (sent, asked) = (follower.sent_by(source), numbers.start.max(follower.sent_by(source)));
        let expected = format!(
            "{} sends {sent} packets in {} cycles, which are numbered from 0",
            simulation.blueprint().topology.words().endpoint(source),
            simulation.now() / cycle
        );
        return Err(ScenarioError::new("number", asked, expected).into());
    }
    let topology = &*simulation.blueprint().topology;
    let cycles = |ticks: Tick| f64::from(ticks) / f64::from(cycle);
    Ok(Value::Array(follower.finish().iter().map(|journey| shown(journey, topology, &cycles)).collect()))
}

/// The last possible cycle of the measured time of `scenario`, and of its run.
fn last(scenario: &Scenario) -> [u32; 2] {
    if scenario.workload.is_some() {
        return [1 << 31; 2];
    }
    let measure = &scenario.measure;
    let warmup = match measure.warmup {
        Warmup::Cycles(cycles) => cycles,
        Warmup::Auto => measure.max_warmup,
    };
    let measured = warmup.saturating_add(measure.cycles);
    [measured, measured.saturating_add(measure.max_drain)]
}

/// Of the packets that arrive in `window`, the ones with the highest latency, by source and number.
fn slowest(
    mut simulation: Simulation,
    count: usize,
    window: Range<Tick>,
    end: Tick,
    progress: Progress<'_>,
) -> Result<Vec<(u32, u32)>, RunError> {
    let mut follower = Follower::new(Vec::new());
    let mut found: Vec<Ended> = Vec::new();
    let order = |ended: &Ended| (Reverse(ended.end - ended.generated), ended.generated, ended.source, ended.number);
    watch(&mut simulation, end, progress, |network, _| {
        let ended = follower.look(&network.parts().0[0]);
        found.extend(ended.iter().filter(|ended| window.contains(&ended.end)));
        if found.len() > 4096 + 2 * count {
            found.sort_by_key(order);
            found.truncate(count);
        }
        true
    })?;
    found.sort_by_key(order);
    found.truncate(count);
    Ok(found.iter().map(|ended| (ended.source, ended.number)).collect())
}

/// Runs up to `end`, one tick at a time where anything happens, as long as `see` returns true.
fn watch(
    simulation: &mut Simulation,
    end: Tick,
    progress: Progress<'_>,
    mut see: impl FnMut(&InputQueued, Tick) -> bool,
) -> Result<(), RunError> {
    let cycle = simulation.blueprint().links.ticks_per_cycle;
    let mut looked = 0;
    while simulation.now() < end {
        let next = simulation.fabric().idle_until(end).clamp(simulation.now() + 1, end);
        simulation.advance_to(next);
        let network = simulation.kernel::<InputQueued>().expect("looked at before");
        if !see(network, next) || simulation.blueprint().workload.is_some() && simulation.fabric().at_rest() {
            break;
        }
        if next - looked >= LOOK {
            looked = next;
            if !progress(next / cycle, end / cycle) {
                return Err(Stopped { partial: None }.into());
            }
        }
    }
    Ok(())
}

fn shown(journey: &Journey, topology: &dyn Topology, cycles: &dyn Fn(Tick) -> f64) -> Value {
    let words = topology.words();
    json!({
        "source": journey.source,
        "source_name": words.endpoint_name(journey.source),
        "number": journey.number,
        "destination": journey.destination,
        "destination_name": words.endpoint_name(journey.destination),
        "size": journey.size,
        "flits": journey.flits,
        "generated": cycles(journey.generated),
        "sent": cycles(journey.sent),
        "end": journey.end.map(cycles),
        "lost": journey.lost,
        "visits": journey.visits.iter().map(|visit| visited(visit, topology, cycles)).collect::<Vec<_>>(),
    })
}

fn visited(visit: &Visit, topology: &dyn Topology, cycles: &dyn Fn(Tick) -> f64) -> Value {
    let words = topology.words();
    let waited = Wait::ALL.map(|(wait, name)| (name.to_owned(), json!(cycles(visit.waited[wait as usize]))));
    json!({
        "router": visit.router,
        "router_name": words.router_name(visit.router),
        "input": visit.input,
        "input_name": words.port_name(visit.router, visit.input),
        "link": topology.classes()[visit.class as usize],
        "queue": visit.queue,
        "entered": cycles(visit.entered),
        "waited": Map::from_iter(waited),
        "left": visit.left.map(cycles),
        "tail": visit.tail.map(cycles),
        "output": visit.output,
        "output_name": visit.output.and_then(|output| words.port_name(visit.router, output)),
        "vc": visit.vc,
    })
}
