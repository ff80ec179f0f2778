//! Programs of ranks: files read, written and made, JSON in and out.

use crate::PhitError;
use phit_workload::archive;
use phit_workload::chakra;
use phit_workload::file::{self, Input};
use phit_workload::source::{self, SourceKind};
use phit_workload::{Action, Error, Operation, Program, RankProgram, Totals, Transfer, Until};
use pyo3::create_exception;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

create_exception!(phit.workload, WorkloadError, PhitError, "A program that cannot be read, made or written.");

fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let raised = WorkloadError::new_err(error.to_string());
    let value = raised.value(py);
    let set = || -> PyResult<()> {
        value.setattr("file", error.file.as_deref())?;
        value.setattr("line", error.line)?;
        value.setattr("rank", error.rank)?;
        value.setattr("key", error.key)
    };
    set().err().unwrap_or(raised)
}

fn parsed<T: serde::de::DeserializeOwned>(py: Python<'_>, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| raised(py, &Error::new(error.to_string())))
}

/// For archives of OTF2, which the package reads: the file of rank 0 among those that it makes from the archive at
/// `path`.
fn calls_of(path: &Path) -> Result<PathBuf, Error> {
    Python::attach(|py| {
        let calls = py.import("phit.reading.otf2").and_then(|module| module.call_method1("calls", (path,)));
        calls.and_then(|calls| calls.extract::<PathBuf>()).map_err(|error| {
            let message = error.value(py).to_string();
            let start = format!("{}: ", path.display());
            Error::new(message.strip_prefix(&start).unwrap_or(&message))
        })
    })
}

/// Contents of a program's file (JSON text).
#[pyfunction]
fn workload_info(py: Python<'_>, path: PathBuf, options: &str) -> PyResult<String> {
    let options: chakra::Options = parsed(py, options)?;
    let found = py.detach(|| Input::File(&path, &options).totals());
    found.map(|totals| shown(&totals)).map_err(|error| raised(py, &error))
}

/// The files of a program: all files of a trace, in the order of the ranks, or the single file of GOAL.
#[pyfunction]
fn workload_files(py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| file::files(&path)).map_err(|error| raised(py, &error))
}

/// Facts about a Chakra trace that a reader should know besides the program.
#[pyfunction]
fn workload_notes(py: Python<'_>, path: PathBuf, options: &str) -> PyResult<Vec<String>> {
    let options: chakra::Options = parsed(py, options)?;
    let found = py.detach(|| if chakra::is_trace(&path) { chakra::notes(&path, &options) } else { Ok(vec![]) });
    found.map_err(|error| raised(py, &error))
}

fn shown(totals: &Totals) -> String {
    serde_json::to_string(totals).unwrap_or_default()
}

/// Read a program and write it as GOAL.
#[pyfunction]
fn workload_convert(py: Python<'_>, path: PathBuf, target: PathBuf, options: &str) -> PyResult<()> {
    let options: chakra::Options = parsed(py, options)?;
    py.detach(|| Input::File(&path, &options).write(&target)).map_err(|error| raised(py, &error))
}

/// Make a program from its parameters (JSON text), and write it as GOAL; return its contents (JSON text).
#[pyfunction]
fn workload_make(
    py: Python<'_>,
    parameters: &str,
    target: PathBuf,
    ranks: Option<u32>,
    groups: Vec<u32>,
    seed: u64,
) -> PyResult<String> {
    let kind: SourceKind = parsed(py, parameters)?;
    let made = py.detach(|| {
        let scripts = source::scripts(kind.source(), ranks, &groups, seed)?;
        let input = Input::Scripts(&scripts);
        input.write(&target)?;
        input.totals()
    });
    made.map(|totals| shown(&totals)).map_err(|error| raised(py, &error))
}

/// The kinds of programs that can be made, with descriptions and schemas (JSON text).
#[pyfunction]
fn workload_kinds() -> String {
    let kinds = SourceKind::schemas().into_iter().map(|(kind, schema)| {
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        json!({ "kind": kind, "description": description, "schema": schema })
    });
    Value::Array(kinds.collect()).to_string()
}

/// By rank: operations as (type, amount, peer, tag, CPU, interface), and dependencies as (before, after, on the start).
type Columns = Vec<(Vec<(u8, u64, u32, u32, u8, u8)>, Vec<(u32, u32, bool)>)>;

const CALC: u8 = 0;
const SEND: u8 = 1;
const RECV: u8 = 2;

/// Read a program: operations and dependencies of each rank (JSON text).
#[pyfunction]
fn workload_read(py: Python<'_>, path: PathBuf, options: &str) -> PyResult<String> {
    let options: chakra::Options = parsed(py, options)?;
    let program = py.detach(|| Input::File(&path, &options).read()).map_err(|error| raised(py, &error))?;
    let operation = |operation: Operation| {
        let (kind, amount, Transfer { peer, tag, .. }) = match operation.action {
            Action::Calc(time) => (CALC, time, Transfer { bytes: 0, peer: 0, tag: 0 }),
            Action::Send(transfer) => (SEND, transfer.bytes, transfer),
            Action::Recv(transfer) => (RECV, transfer.bytes, transfer),
        };
        (kind, amount, peer, tag, operation.cpu, operation.nic)
    };
    let rank = |rank| {
        let list = program.rank(rank);
        let dependencies = list.dependencies().map(|(before, after, until)| (before, after, until == Until::Started));
        (list.operations().map(operation).collect(), dependencies.collect())
    };
    let columns: Columns = (0..program.ranks()).map(rank).collect();
    Ok(serde_json::to_string(&columns).unwrap_or_default())
}

/// Write a program, given as `workload_read` returns it, as GOAL.
#[pyfunction]
fn workload_write(py: Python<'_>, program: &str, target: PathBuf) -> PyResult<()> {
    let columns: Columns = parsed(py, program)?;
    py.detach(|| {
        let mut program = Program::new(columns.len() as u32);
        for (rank, (operations, dependencies)) in (0..).zip(columns) {
            let mut list = RankProgram::default();
            for (kind, amount, peer, tag, cpu, nic) in operations {
                let transfer = Transfer { bytes: amount, peer, tag };
                let action = match kind {
                    CALC => Action::Calc(amount),
                    SEND => Action::Send(transfer),
                    _ => Action::Recv(transfer),
                };
                list.push(Operation { action, cpu, nic });
            }
            for (before, after, started) in dependencies {
                if before.max(after) >= list.len() {
                    let message = format!("operations {before} and {after}: it has {}", list.len());
                    return Err(Error::new(message).of(rank));
                }
                list.order(before, after, if started { Until::Started } else { Until::Done });
            }
            program.set(rank, list);
        }
        program.check()?;
        Input::Program(&program).write(&target)
    })
    .map_err(|error| raised(py, &error))
}

/// Adds these functions to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("WorkloadError", module.py().get_type::<WorkloadError>())?;
    archive::register(calls_of);
    module.add_function(wrap_pyfunction!(workload_info, module)?)?;
    module.add_function(wrap_pyfunction!(workload_files, module)?)?;
    module.add_function(wrap_pyfunction!(workload_notes, module)?)?;
    module.add_function(wrap_pyfunction!(workload_convert, module)?)?;
    module.add_function(wrap_pyfunction!(workload_make, module)?)?;
    module.add_function(wrap_pyfunction!(workload_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(workload_read, module)?)?;
    module.add_function(wrap_pyfunction!(workload_write, module)?)
}
