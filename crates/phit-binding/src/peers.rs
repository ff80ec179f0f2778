//! Processes that Python code joins: what they say to one another goes through a Python object, as bytes.

use phit_engine::engine::{Parted, Peers};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyByteArrayMethods, PyBytes, PyList};
use std::sync::{Mutex, PoisonError};

/// An object with `rank`, `count` and `exchange`.
pub(crate) struct Foreign {
    rank: usize,
    count: usize,
    object: Py<PyAny>,
    /// What an exchange has raised.
    raised: Mutex<Option<PyErr>>,
}

impl Foreign {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let number = |name: &str| object.getattr(py, name)?.extract::<usize>(py);
        Ok(Self { rank: number("rank")?, count: number("count")?, raised: Mutex::new(None), object })
    }

    /// What an exchange has raised, once.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn exchanged(&self, py: Python<'_>, mail: &[Vec<u8>]) -> PyResult<Vec<Vec<u8>>> {
        let mail = PyList::new(py, mail.iter().map(|letter| PyBytes::new(py, letter)))?;
        let came = self.object.call_method1(py, "exchange", (mail,))?;
        let came: Vec<Bound<'_, PyByteArray>> = came.extract(py)?;
        Ok(came.iter().map(PyByteArrayMethods::to_vec).collect())
    }
}

impl Peers for Foreign {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(&self, mail: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Parted> {
        Python::attach(|py| {
            self.exchanged(py, &mail).map_err(|error| {
                let parted = Parted(error.to_string());
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                parted
            })
        })
    }
}
