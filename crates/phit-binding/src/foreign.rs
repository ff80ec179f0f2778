//! Functions compiled by Python, on their way into the engine.

use phit_engine::foreign::{self, Functions, Name, Role, RuleFunctions, TriggerFunctions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(layout, module)?)?;
    module.add_function(wrap_pyfunction!(register, module)?)
}

/// The memory layout of the structs that compiled functions see (JSON text).
#[pyfunction]
fn layout() -> String {
    foreign::layout().to_string()
}

/// Addresses of compiled functions, by the names of their types.
struct Addresses(BTreeMap<String, usize>);

impl Addresses {
    /// The function of that name, of type `F`.
    fn take<F: Copy>(&mut self, name: &str) -> PyResult<Option<F>> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let Some(address) = self.0.remove(name) else { return Ok(None) };
        if address == 0 {
            return Err(PyValueError::new_err(format!("{name}: expected an address")));
        }
        // SAFETY: `F` is the type of a C function's pointer in `phit_engine::foreign`, as large as an address, and the
        // address is not 0. The caller of `register` promises that a function of this type is there.
        Ok(Some(unsafe { std::mem::transmute_copy::<usize, F>(&address) }))
    }

    fn need<F: Copy>(&mut self, name: &str) -> PyResult<F> {
        self.take(name)?.ok_or_else(|| PyValueError::new_err(format!("{name}: this address is missing")))
    }
}

/// Register functions compiled from a source text, by their addresses. `reads` names the state that they look at.
///
/// The only caller is `phit.mechanisms.compiled`. It promises that every address is a C function of the named type, as
/// long as this process lives: it makes them with `numba.cfunc`, in nopython mode, with the types of `layout`, and
/// keeps them for ever.
#[pyfunction]
fn register(
    kind: &str,
    function: String,
    source: Vec<String>,
    addresses: BTreeMap<String, usize>,
    reads: Vec<String>,
) -> PyResult<()> {
    let role = Role::of_kind(kind).ok_or_else(|| PyValueError::new_err(format!("{kind}: no such kind")))?;
    let reads = |what: &str| reads.iter().any(|one| one == what);
    let mut addresses = Addresses(addresses);
    let functions = match role {
        Role::Trigger => Functions::Trigger(TriggerFunctions {
            fires: addresses.need("fires")?,
            admits: addresses.take("admits")?,
            minds: addresses.take("minds")?,
            reads_heads: reads("heads"),
            reads_outputs: reads("outputs"),
        }),
        Role::Rule => {
            Functions::Rule(RuleFunctions { decides: addresses.need("decides")?, reads_heads: reads("heads") })
        }
        Role::Pattern => Functions::Pattern(addresses.need("chooses")?),
        Role::Probe => Functions::Probe(addresses.need("looks")?),
    };
    // SAFETY: the caller promises it, see above. Functions of numba do not unwind: an exception is reported and the
    // function returns 0.
    unsafe { foreign::register(Name { role, function, source }, functions) };
    Ok(())
}
