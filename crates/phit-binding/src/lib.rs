//! The Python extension `phit._phit`: JSON in, JSON out, as thin as possible.
//!
//! ```text
//!  phit (Python) ── JSON text ──► _phit.run, _phit.schema, ... ── Value ──► phit_engine
//!                ◄─ JSON text ──                               ◄─ Value ──
//! ```
//!
//! An extension with its own mechanisms adds them to the engine (`RoutingKind::add` and its like) and then [`fill`]s
//! its module. It then has all functions of Phit's own extension:
//!
//! ```ignore
//! #[pymodule]
//! fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
//!     RoutingKind::add::<MyRouting>("my_routing");
//!     phit_binding::fill(module)
//! }
//! ```
//!
//! `phit new-mechanism` writes such a crate, complete with tests; `make test-crate` builds it.
//!
//! # Promises
//!
//! * A function accepts and returns JSON text, or plain numbers and strings. It holds no logic of the simulation.
//! * An error of the engine becomes an exception of `phit` with the message, path, value and expectation.
//! * Long runs release Python's lock, and check for Ctrl-C several times a second.

mod fluid;
mod foreign;
mod network;
mod peers;
mod positions;
mod workload;

use phit_engine::effort;
use phit_engine::engine::{GivenUp, Team, watched};
use phit_engine::error::ScenarioError as EngineError;
use phit_engine::flow;
use phit_engine::measure::Cost;
use phit_engine::result::Outcome;
use phit_engine::run::{self as engine, Options, RunError, Simulation, Stopped};
use phit_engine::scenario::Scenario;
use phit_engine::topology::Named;
use phit_engine::trace::{Chosen, trace};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

// Exceptions are named by the module from which Python imports them, so that they can be sent from one process to
// another.
create_exception!(phit, PhitError, PyValueError, "The base of all errors of Phit.");
create_exception!(phit, ScenarioError, PhitError, "A scenario that cannot be simulated.");

fn scenario_error(py: Python<'_>, error: &EngineError) -> PyErr {
    let raised = described(py, error);
    let errors: Vec<PyErr> = error.clone().each().iter().map(|one| described(py, one)).collect();
    let set = || raised.value(py).setattr("errors", PyList::new(py, errors.iter().map(|one| one.value(py)))?);
    set().err().unwrap_or(raised)
}

/// The exception for an error, with attributes that describe the first error.
fn described(py: Python<'_>, error: &EngineError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let value = raised.value(py);
    let set = || -> PyResult<()> {
        value.setattr("path", &error.path)?;
        value.setattr("value", error.value.as_deref())?;
        value.setattr("expected", &error.expected)?;
        value.setattr("nearest", error.nearest.as_deref())?;
        value.setattr("file", py.None())?;
        value.setattr("line", py.None())?;
        value.setattr("errors", PyList::empty(py))
    };
    set().err().unwrap_or(raised)
}

fn read_document(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|e| PhitError::new_err(format!("the scenario is not a JSON document: {e}")))
}

fn read(py: Python<'_>, text: &str) -> PyResult<Scenario> {
    let value = read_document(text)?;
    Scenario::from_value(&value).map_err(|e| scenario_error(py, &e))
}

/// Does `work` of the engine, of unknown length, until a signal asks to end it.
fn patiently<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, EngineError> + Send) -> PyResult<T> {
    let (done, raised) = py.detach(|| patient(|| (), work));
    match done {
        Ok(done) => done.map_err(|error| scenario_error(py, &error)),
        Err(GivenUp) => Err(raised.unwrap_or_else(interrupted)),
    }
}

fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err("the run was stopped")
}

/// [`patiently`] with `tell` called a few times a second. Also returns the exception that a signal raised.
fn patient<T>(tell: impl Fn() + 'static, work: impl FnOnce() -> T) -> (Result<T, GivenUp>, Option<PyErr>) {
    let heard = Heard::default();
    let done = given_time(Duration::ZERO, &heard, tell, work);
    (done, heard.take().map(|(raised, _)| raised))
}

/// The exception that a signal raised, and the time.
type Heard = Rc<RefCell<Option<(PyErr, Instant)>>>;

/// Time for work to end by itself after a signal.
const GRACE: Duration = Duration::from_secs(2);

/// Does `work`. It is given up some time after a signal was `heard`, or at the next signal.
fn given_time<T>(
    grace: Duration,
    heard: &Heard,
    tell: impl Fn() + 'static,
    work: impl FnOnce() -> T,
) -> Result<T, GivenUp> {
    let heard = heard.clone();
    let go_on = move || {
        let signal = Python::attach(|py| {
            tell();
            py.check_signals().err()
        });
        let mut heard = heard.borrow_mut();
        match (signal, &*heard) {
            (None, None) => true,
            (None, Some((_, since))) => since.elapsed() < grace,
            (Some(raised), None) => {
                *heard = Some((raised, Instant::now()));
                !grace.is_zero()
            }
            (Some(_), Some(_)) => false,
        }
    };
    watched(Box::new(go_on), work)
}

/// Validate a scenario and return it with every default filled in (JSON text in and out).
#[pyfunction]
fn complete(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    patiently(py, || engine::prepare(&scenario))?;
    Ok(scenario.to_value().to_string())
}

/// Check the random parts of a valid scenario (JSON text) with other seeds than its own.
#[pyfunction]
fn check_seeds(py: Python<'_>, scenario: &str, seeds: Vec<u64>) -> PyResult<()> {
    let scenario = read(py, scenario)?;
    patiently(py, || engine::check_seeds(&scenario, &seeds))
}

/// Expected memory of a scenario's run (JSON text): bytes by part, endpoints, routers (JSON text).
#[pyfunction]
fn needs(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let needs = patiently(py, || engine::needs(&scenario))?;
    let parts = needs.parts.iter().map(|(&what, bytes)| (what.to_owned(), json!(bytes.round() as u64)));
    let parts: serde_json::Map<String, Value> = parts.collect();
    let bytes = needs.bytes().round() as u64;
    Ok(json!({ "bytes": bytes, "endpoints": needs.endpoints, "routers": needs.routers, "parts": parts }).to_string())
}

/// Run a scenario (JSON text) and return its summary and tables (JSON text). Refused if it is expected to take more
/// than `memory` bytes. If a signal stops the run, the raised exception has the results so far as its attribute
/// `partial`.
#[pyfunction]
#[pyo3(signature = (scenario, threads = 1, progress = None, partitions = None, memory = None))]
fn run(
    py: Python<'_>,
    scenario: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
    partitions: Option<usize>,
    memory: Option<u64>,
) -> PyResult<String> {
    let text = executed(py, scenario, Options { threads, partitions }, progress, memory, None)?;
    text.ok_or_else(|| PyRuntimeError::new_err("the result is with another process"))
}

/// Run a scenario together with other processes. `peers` has their `count`, the `rank` of this one, and `exchange`,
/// which takes bytes for each and returns a bytearray from each. The first process returns the result, the others
/// return nothing.
#[pyfunction]
#[pyo3(signature = (scenario, peers, threads = 1, progress = None, partitions = None, memory = None))]
fn run_together(
    py: Python<'_>,
    scenario: &str,
    peers: Py<PyAny>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    partitions: Option<usize>,
    memory: Option<u64>,
) -> PyResult<Option<String>> {
    let peers = Arc::new(peers::Foreign::new(py, peers)?);
    executed(py, scenario, Options { threads, partitions }, progress, memory, Some(peers))
}

fn executed(
    py: Python<'_>,
    scenario: &str,
    options: Options,
    progress: Option<Py<PyAny>>,
    memory: Option<u64>,
    peers: Option<Arc<peers::Foreign>>,
) -> PyResult<Option<String>> {
    let scenario = read(py, scenario)?;
    let (start, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
    let shown = |outcome: &Outcome| {
        let mut summary = outcome.summary();
        summary.extend(outcome.execution(Cost {
            cpu_seconds: cpu.elapsed().as_secs_f64(),
            wall_seconds: start.elapsed().as_secs_f64(),
            peak_memory_bytes: peak_memory_bytes(),
        }));
        summary.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
        if outcome.stopped() {
            summary.insert("stopped".into(), json!(true));
        }
        summary.insert("scenario".into(), outcome.scenario().to_value());
        // As text at once: tables may be large.
        format!(r#"{{"summary":{},"tables":{}}}"#, Value::Object(summary), outcome.tables_text())
    };
    let mut raised = None;
    // While a network is built, there is no other progress to report.
    let (teller, planned) = (progress.as_ref().map(|progress| progress.clone_ref(py)), scenario.measure.cycles.max(1));
    let team = peers.clone().map(|peers| Team::new(peers));
    let result = py.detach(|| -> Result<Option<String>, RunError> {
        let tell = move || {
            if let Some(progress) = &teller {
                // An exception in it is raised again when the network runs.
                Python::attach(|py| drop(progress.call1(py, (0, planned))));
            }
        };
        let (built, signal) = patient(tell, || Simulation::among(&scenario, options, memory, team));
        let Ok(built) = built else {
            raised = signal;
            return Err(Stopped { partial: None }.into());
        };
        let mut report = reporter(&progress, &mut raised);
        let simulation = built?;
        if scenario.workload.is_none() {
            return simulation.run_together(&mut report).map(|outcome| outcome.as_ref().map(shown));
        }
        // Hosts may have much to do in a cycle, and the ideal network does everything at once. Otherwise, the run stops
        // between two cycles, and its results so far are kept.
        let heard = Heard::default();
        let mut stoppable = |done, planned| heard.borrow().is_none() && report(done, planned);
        let work = || simulation.run_together(&mut stoppable).map(|outcome| outcome.as_ref().map(shown));
        let done = given_time(GRACE, &heard, || (), work).unwrap_or(Err(Stopped { partial: None }.into()));
        drop(report);
        let Some((signal, _)) = heard.take() else { return done };
        raised = raised.take().or(Some(signal));
        // The run has ended in the meantime, but its caller does not wait for it any more.
        done.and(Err(Stopped { partial: None }.into()))
    });
    raised = raised.or_else(|| peers.and_then(|peers| peers.raised()));
    result.map_err(|error| failed(py, error, raised, &shown))
}

/// Tells `progress` a few times a second how far a run is. Stops the run if a signal arrives or `progress` raises.
fn reporter<'a>(progress: &'a Option<Py<PyAny>>, raised: &'a mut Option<PyErr>) -> impl FnMut(u32, u32) -> bool + 'a {
    let mut told: Option<Instant> = None;
    move |done, planned| {
        if told.is_some_and(|at| at.elapsed() < Duration::from_millis(200)) {
            return true;
        }
        told = Some(Instant::now());
        Python::attach(|py| {
            let called = match progress {
                Some(progress) => progress.call1(py, (done, planned)).map(|_| ()),
                None => Ok(()),
            };
            *raised = called.and_then(|()| py.check_signals()).err();
        });
        raised.is_none()
    }
}

/// The exception for a run without a result; `raised` is the exception of the signal that stopped it, if any.
fn failed(py: Python<'_>, error: RunError, raised: Option<PyErr>, shown: &dyn Fn(&Outcome) -> String) -> PyErr {
    match error {
        RunError::Scenario(error) => scenario_error(py, &error),
        RunError::Deadlock(_) | RunError::Unfinished(_) => PyRuntimeError::new_err(error.to_string()),
        RunError::Parted(parted) => raised.unwrap_or_else(|| PyRuntimeError::new_err(parted.to_string())),
        RunError::Stopped(Stopped { partial }) => {
            let raised = raised.unwrap_or_else(interrupted);
            let kept = partial.map(|outcome| raised.value(py).setattr("partial", shown(&outcome)));
            kept.and_then(Result::err).unwrap_or(raised)
        }
    }
}

/// An endpoint, by its number or its name.
#[derive(FromPyObject)]
enum Endpoint {
    Number(u32),
    Name(String),
}

impl From<Endpoint> for Named {
    fn from(endpoint: Endpoint) -> Self {
        match endpoint {
            Endpoint::Number(number) => Self::Number(number),
            Endpoint::Name(name) => Self::Name(name),
        }
    }
}

/// Follow packets of a scenario (JSON text) and return their routes (JSON text): `count` packets of endpoint `source`
/// from `number` on, or without `source` the `count` packets with the highest latency.
#[pyfunction]
#[pyo3(signature = (scenario, source, number, count, progress = None))]
fn trace_packets(
    py: Python<'_>,
    scenario: &str,
    source: Option<Endpoint>,
    number: u32,
    count: u32,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let chosen = match source {
        Some(source) => Chosen::Numbered { source: source.into(), numbers: number..number.saturating_add(count) },
        None => Chosen::Slowest(count as usize),
    };
    let mut raised = None;
    let found = py.detach(|| trace(&scenario, &chosen, &mut reporter(&progress, &mut raised)));
    // A stopped run has no journeys.
    let nothing = |_: &Outcome| "null".to_owned();
    found.map(|value| value.to_string()).map_err(|error| failed(py, error, raised, &nothing))
}

/// Largest resident set of this process so far, in bytes; `None` if the system does not report it.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// The JSON Schema of a scenario document.
#[pyfunction]
fn schema() -> String {
    phit_engine::scenario::schema().to_string()
}

/// The line of every key of a TOML document, by its dotted path (JSON text).
#[pyfunction]
fn toml_lines(text: &str) -> String {
    Value::Object(positions::lines(text)).to_string()
}

/// The kinds of every concept, with descriptions and schemas.
#[pyfunction]
fn catalogue() -> String {
    phit_engine::catalogue::catalogue().to_string()
}

/// Contents of results: quantities, tables with their columns, observables of probes, the rule of saturation.
#[pyfunction]
fn quantities() -> String {
    phit_engine::catalogue::quantities().to_string()
}

/// Prove the scenario's routes free of deadlock by their channel dependency graph; return a report (JSON text).
#[pyfunction]
fn verify(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let report = patiently(py, || engine::verify(&scenario))?;
    Ok(report.to_string())
}

/// The virtual channels that a scenario's routing needs, by class of links, and why (JSON text).
#[pyfunction]
fn channels(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let found = patiently(py, || engine::channels(&scenario))?;
    Ok(found.to_string())
}

/// The routing tables of a scenario: for each router the output port for every destination (JSON text).
#[pyfunction]
fn routes(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let table = patiently(py, || engine::routes(&scenario))?;
    Ok(table.to_string())
}

/// The number of endpoints of a scenario (JSON text).
#[pyfunction]
fn endpoints(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let topology = patiently(py, || scenario.topology.build())?;
    Ok(topology.endpoints().to_string())
}

/// Length of a cycle and size of a phit of a scenario (JSON text), as far as they are known (JSON text).
#[pyfunction]
fn units(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let units = read(py, scenario)?.units.unwrap_or_default();
    let found = [("cycle_ns", units.cycle_nanoseconds()), ("phit_bytes", units.phit_bytes())];
    let said = found.into_iter().filter_map(|(key, value)| Some((key.to_string(), Value::from(value?))));
    Ok(Value::Object(said.collect()).to_string())
}

/// Expected flit-hops of a scenario (JSON text), in total.
#[pyfunction]
fn expected_hops(py: Python<'_>, scenario: &str) -> PyResult<f64> {
    let scenario = read(py, scenario)?;
    patiently(py, || effort::expected_hops(&scenario))
}

/// The links of a scenario and the destinations of its endpoints' packets, for bounds of the throughput (JSON text).
#[pyfunction]
fn flows(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let found = patiently(py, || flow::network(&scenario))?;
    Ok(found.to_string())
}

/// The ports of a scenario's minimal routes towards every router (JSON text).
#[pyfunction]
fn minimal_ports(py: Python<'_>, scenario: &str) -> PyResult<String> {
    let scenario = read(py, scenario)?;
    let found = patiently(py, || flow::minimal_ports(&scenario))?;
    Ok(found.to_string())
}

/// Adds to a module everything that the package `phit` requires of its extension.
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("PhitError", module.py().get_type::<PhitError>())?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_function(wrap_pyfunction!(complete, module)?)?;
    module.add_function(wrap_pyfunction!(check_seeds, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(trace_packets, module)?)?;
    module.add_function(wrap_pyfunction!(run_together, module)?)?;
    module.add_function(wrap_pyfunction!(needs, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(toml_lines, module)?)?;
    module.add_function(wrap_pyfunction!(quantities, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(routes, module)?)?;
    module.add_function(wrap_pyfunction!(channels, module)?)?;
    module.add_function(wrap_pyfunction!(endpoints, module)?)?;
    module.add_function(wrap_pyfunction!(units, module)?)?;
    module.add_function(wrap_pyfunction!(expected_hops, module)?)?;
    module.add_function(wrap_pyfunction!(flows, module)?)?;
    module.add_function(wrap_pyfunction!(minimal_ports, module)?)?;
    fluid::add(module)?;
    foreign::add(module)?;
    network::add(module)?;
    workload::add(module)
}
