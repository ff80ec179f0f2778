//! Processes joined by Python code: their messages go through a Python object, as bytes.

use phit_engine::engine::{Letters, Parted, Peers};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyByteArrayMethods, PyList};
use std::sync::{Mutex, PoisonError};

/// From this number of bytes on, letters are written to memory that is kept: the system would have to clear new memory.
/// Between two long letters there are short ones, for which the memory would be released.
const LONG: usize = 1 << 14;

/// An object with `rank`, `count` and `exchange`.
pub(crate) struct Foreign {
    rank: usize,
    count: usize,
    object: Py<PyAny>,
    /// By process: the memory of long letters to it, one after another.
    long: Vec<Py<PyByteArray>>,
    /// The exception that an exchange has raised.
    raised: Mutex<Option<PyErr>>,
}

impl Foreign {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let number = |name: &str| object.getattr(py, name)?.extract::<usize>(py);
        let (rank, count) = (number("rank")?, number("count")?);
        let long = (0..count).map(|_| PyByteArray::new(py, &[]).unbind()).collect();
        Ok(Self { rank, count, raised: Mutex::new(None), object, long })
    }

    /// The exception that an exchange has raised, once.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn exchanged(&self, py: Python<'_>, lengths: &[usize], letters: &mut dyn Letters) -> PyResult<()> {
        let sent = PyList::empty(py);
        for (process, &length) in lengths.iter().enumerate() {
            if process == self.rank {
                sent.append(PyByteArray::new(py, &[]))?;
            } else if length < LONG {
                let write = |letter: &mut [u8]| {
                    letters.write(process, letter);
                    Ok(())
                };
                sent.append(PyByteArray::new_with(py, length, write)?)?;
            } else {
                let letter = self.long[process].bind(py);
                resized(letter, length)?;
                // SAFETY: no other view of the array exists, as its resizing shows. While `write` runs, this thread
                // holds the interpreter's lock and does not enter the interpreter. So no other code gets a view, reads,
                // writes or resizes it.
                letters.write(process, unsafe { letter.as_bytes_mut() });
                sent.append(letter)?;
            }
        }
        let came = self.object.call_method1(py, "exchange", (sent,))?;
        let came: Vec<Bound<'_, PyByteArray>> = came.extract(py)?;
        for process in (0..self.count).filter(|process| *process != self.rank) {
            let letter = &came[process];
            resized(letter, letter.len())?;
            // SAFETY: as above, for `read`.
            letters.read(process, unsafe { letter.as_bytes() });
        }
        Ok(())
    }
}

/// Gives an array this length. Fails if a view of it exists, such as a transfer under way.
fn resized(array: &Bound<'_, PyByteArray>, length: usize) -> PyResult<()> {
    // Python only checks for views if the length changes. One of the two calls changes it.
    array.resize(length + 1)?;
    array.resize(length)
}

impl Peers for Foreign {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(&self, lengths: &[usize], letters: &mut dyn Letters) -> Result<(), Parted> {
        Python::attach(|py| {
            self.exchanged(py, lengths, letters).map_err(|error| {
                let parted = Parted(error.to_string());
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                parted
            })
        })
    }
}
