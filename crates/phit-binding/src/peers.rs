//! Processes that Python code joins: what they say to one another goes through a Python object, as bytes.

use phit_engine::engine::{Letters, Parted, Peers};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyByteArrayMethods, PyList};
use std::sync::{Mutex, PoisonError};

/// Letters of so many bytes are written to memory that stays: the system would have to clear what is new. Between two
/// of them there are short ones, for which they would be given back.
const LONG: usize = 1 << 14;

/// An object with `rank`, `count` and `exchange`.
pub(crate) struct Foreign {
    rank: usize,
    count: usize,
    object: Py<PyAny>,
    /// By process: the long letters that it is sent, one after the other.
    long: Vec<Py<PyByteArray>>,
    /// What an exchange has raised.
    raised: Mutex<Option<PyErr>>,
}

impl Foreign {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        let number = |name: &str| object.getattr(py, name)?.extract::<usize>(py);
        let (rank, count) = (number("rank")?, number("count")?);
        let long = (0..count).map(|_| PyByteArray::new(py, &[]).unbind()).collect();
        Ok(Self { rank, count, raised: Mutex::new(None), object, long })
    }

    /// What an exchange has raised, once.
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
                // SAFETY: nobody has a view of the array, as its resizing shows. While `write` runs this thread holds
                // the lock of the interpreter and does not enter it: nobody gets a view, reads, writes or resizes it.
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

/// Gives an array this length. Fails while anybody has a view of it, such as a transfer that is under way.
fn resized(array: &Bound<'_, PyByteArray>, length: usize) -> PyResult<()> {
    // Python looks for views only where the length changes, which it does in one of the two.
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
