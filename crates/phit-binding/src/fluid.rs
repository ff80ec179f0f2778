//! Flows over given routes.

use crate::PhitError;
use phit_engine::fabric::fluid::{Case, Rule, Sharing};
use pyo3::prelude::*;
use serde_json::json;

/// Run flows over given routes (JSON text). Returns the end of each flow, and the rates of all flows if all are active
/// at once (JSON text).
#[pyfunction]
fn fluid_case(py: Python<'_>, case: &str, sharing: &str, head_of_line: bool) -> PyResult<String> {
    let refused = |error: &dyn std::fmt::Display| PhitError::new_err(error.to_string());
    let case: Case = serde_json::from_str(case).map_err(|error| refused(&error))?;
    let sharing: Sharing = serde_json::from_value(json!(sharing)).map_err(|error| refused(&error))?;
    let rule = Rule { sharing, coupled: head_of_line };
    let found = py.detach(|| case.solve(rule).and_then(|solved| Ok((solved, case.rates(rule)?))));
    let (solved, rates) = found.map_err(|error| refused(&error))?;
    Ok(json!({ "ends": solved.ends, "events": solved.events, "rates": rates }).to_string())
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fluid_case, module)?)
}
