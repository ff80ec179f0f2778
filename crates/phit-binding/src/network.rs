//! Networks whose messages a caller sends.

use crate::{read_document, scenario_error};
use phit_engine::run::{self as engine, RunError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// A message that has arrived.
#[pyclass(frozen, get_all, module = "phit._phit")]
struct Completion {
    handle: u32,
    time: Py<PyAny>,
    source: u32,
    destination: u32,
    bytes: u64,
    tag: u32,
}

#[pymethods]
impl Completion {
    fn __repr__(&self) -> String {
        let Self { handle, time, source, destination, bytes, tag } = self;
        format!(
            "Completion(handle={handle}, time={time}, source={source}, destination={destination}, bytes={bytes}, \
             tag={tag})"
        )
    }
}

/// A network whose messages a caller sends.
#[pyclass(subclass, module = "phit._phit")]
struct Network(Mutex<engine::Network>);

/// An exception of the package.
fn raised(py: Python<'_>, name: &str, message: &str) -> PyErr {
    let class = py.import("phit.base.errors").and_then(|module| module.getattr(name));
    match class.and_then(|class| class.call1((message,))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The exception for a call that failed; `signal` is the exception of the signal that stopped it, if any.
fn failed(py: Python<'_>, error: RunError, signal: Option<PyErr>) -> PyErr {
    match error {
        RunError::Scenario(error) => raised(py, "InputError", &error.to_string()),
        RunError::Stopped(_) => signal.unwrap_or_else(crate::interrupted),
        RunError::Deadlock(_) | RunError::Unfinished(_) | RunError::Parted(_) => {
            raised(py, "SimulationError", &error.to_string())
        }
    }
}

fn refused(py: Python<'_>, key: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    raised(py, "InputError", &format!("{key} = {shown}: {expected}"))
}

/// Time between two checks for signals.
const PATIENCE: Duration = Duration::from_millis(100);

impl Network {
    /// The network, if no other thread uses it.
    fn alone(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, engine::Network>> {
        self.0.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                raised(py, "InputError", "the network is in use by another thread; expected one call at a time")
            }
            TryLockError::Poisoned(_) => PyRuntimeError::new_err("the network has failed in an earlier call"),
        })
    }

    /// Does `work` without Python's lock, until a signal asks to stop.
    fn patiently<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut engine::Network, &mut dyn FnMut() -> bool) -> Result<T, RunError> + Send,
    ) -> PyResult<T> {
        let mut network = self.alone(py)?;
        let network = &mut *network;
        let (done, signal) = py.detach(|| {
            let (mut signal, mut asked) = (None, None::<Instant>);
            let mut goes_on = || {
                // The first call only starts the clock: most calls are over long before.
                let asked = asked.get_or_insert_with(Instant::now);
                if asked.elapsed() >= PATIENCE {
                    *asked = Instant::now();
                    signal = Python::attach(|py| py.check_signals().err());
                }
                signal.is_none()
            };
            let done = work(network, &mut goes_on);
            (done, signal)
        });
        done.map_err(|error| failed(py, error, signal))
    }
}

/// A time in ticks, given in cycles or as a quantity.
fn ticks(network: &engine::Network, key: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let (py, each) = (value.py(), u64::from(network.ticks_per_cycle()));
    let expected = "expected a number of cycles from 0 on, or a time such as \"5 us\"";
    if let Ok(text) = value.downcast::<PyString>() {
        return network.ticks(key, &text.to_cow()?).map_err(|error| failed(py, error, None));
    }
    if value.is_instance_of::<PyBool>() {
        return Err(refused(py, key, value, expected));
    }
    if let Ok(cycles) = value.extract::<u64>() {
        return cycles.checked_mul(each).ok_or_else(|| refused(py, key, value, "expected fewer cycles"));
    }
    let parts = value.extract::<f64>().map_err(|_| refused(py, key, value, expected))? * each as f64;
    let ticks = parts.round();
    // A time that this module returned is a whole number of ticks again.
    if !(0.0..9e15).contains(&parts) || (parts - ticks).abs() > 1e-6 {
        let expected = match each {
            1 => "expected a whole number of cycles from 0 on".to_owned(),
            each => format!("expected a whole number of parts of cycles, of which each has {each}, from 0 on"),
        };
        return Err(refused(py, key, value, &expected));
    }
    Ok(ticks as u64)
}

/// A time in cycles.
fn cycles(py: Python<'_>, network: &engine::Network, ticks: u64) -> PyResult<Py<PyAny>> {
    let each = u64::from(network.ticks_per_cycle());
    Ok(match ticks % each {
        0 => (ticks / each).into_pyobject(py)?.into_any().unbind(),
        _ => (ticks as f64 / each as f64).into_pyobject(py)?.into_any().unbind(),
    })
}

/// A number that must be a whole one below `end`.
fn whole(key: &str, value: &Bound<'_, PyAny>, end: u64, expected: &str) -> PyResult<u64> {
    let found = if value.is_instance_of::<PyBool>() { None } else { value.extract::<u64>().ok() };
    found.filter(|number| *number < end).ok_or_else(|| refused(value.py(), key, value, expected))
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (scenario, memory = None))]
    fn new(py: Python<'_>, scenario: &str, memory: Option<u64>) -> PyResult<Self> {
        let document = read_document(scenario)?;
        let (built, signal) = py.detach(|| crate::patient(|| (), || engine::Network::new(&document, memory)));
        match built {
            Ok(Ok(network)) => Ok(Self(Mutex::new(network))),
            Ok(Err(error)) => Err(scenario_error(py, &error)),
            Err(_) => Err(signal.unwrap_or_else(crate::interrupted)),
        }
    }

    #[pyo3(signature = (source, destination, bytes, tag = None, at = None))]
    fn send(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        bytes: &Bound<'_, PyAny>,
        tag: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u32> {
        let mut network = self.alone(py)?;
        let bytes = match bytes.downcast::<PyString>() {
            Ok(text) => engine::Network::bytes("bytes", &text.to_cow()?).map_err(|error| failed(py, error, None))?,
            Err(_) => whole("bytes", bytes, u64::MAX, "expected a number of bytes, or a size such as \"64 KiB\"")?,
        };
        let rank = |key, value| Ok::<_, PyErr>(whole(key, value, 1 << 32, "expected the number of a rank")? as u32);
        let ends = (rank("source", source)?, rank("destination", destination)?);
        let tag =
            tag.map_or(Ok(0), |tag| whole("tag", tag, u32::MAX.into(), "expected a number from 0 to 4294967294"))?;
        let at = at.map(|at| ticks(&network, "at", at)).transpose()?;
        network.send(ends, bytes, tag as u32, at).map_err(|error| failed(py, error, None))
    }

    fn advance(&self, py: Python<'_>, until: &Bound<'_, PyAny>) -> PyResult<()> {
        let until = ticks(&*self.alone(py)?, "until", until)?;
        self.patiently(py, |network, goes_on| network.advance(until, goes_on))
    }

    #[pyo3(signature = (until = None))]
    fn advance_to_completion(&self, py: Python<'_>, until: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        let until = until.map(|until| ticks(&*self.alone(py)?, "until", until)).transpose()?;
        let found = self.patiently(py, |network, goes_on| network.advance_to_completion(until, goes_on))?;
        found.then(|| self.now(py)).transpose()
    }

    fn next_event(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let mut network = self.alone(py)?;
        let next = network.next_event();
        next.map(|ticks| cycles(py, &network, ticks)).transpose()
    }

    fn completed(&self, py: Python<'_>) -> PyResult<Vec<Py<Completion>>> {
        let mut network = self.alone(py)?;
        let found: Vec<engine::Completion> = network.completed().collect();
        let one = |found: engine::Completion| {
            let engine::Completion { handle, time, source, destination, bytes, tag } = found;
            Py::new(py, Completion { handle, time: cycles(py, &network, time)?, source, destination, bytes, tag })
        };
        found.into_iter().map(one).collect()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let network = self.alone(py)?;
        let found = PyDict::new(py);
        found.set_item("now", cycles(py, &network, network.now())?)?;
        for (name, value) in network.summary() {
            match (value.as_u64(), value.as_f64()) {
                (Some(count), _) => found.set_item(name, count)?,
                (None, number) => found.set_item(name, number)?,
            }
        }
        Ok(found)
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let network = self.alone(py)?;
        cycles(py, &network, network.now())
    }

    #[getter]
    fn ranks(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.alone(py)?.ranks())
    }

    #[getter]
    fn cycle_seconds(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.alone(py)?.cycle_seconds())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyValueError::new_err("a network under way cannot be sent to another process; send its scenario"))
    }
}

/// Adds the class to a module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Completion>()?;
    module.add_class::<Network>()
}
