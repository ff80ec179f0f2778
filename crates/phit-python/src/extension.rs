//! The Python extension `phit._phit`.

use pyo3::prelude::*;

#[pymodule]
fn _phit(module: &Bound<'_, PyModule>) -> PyResult<()> {
    phit_binding::fill(module)
}
