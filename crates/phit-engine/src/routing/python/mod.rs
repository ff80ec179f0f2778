//! Routing mechanisms written in Python: functions that `numba` compiles, called through C pointers.

mod calls;
mod rule;
mod trigger;

pub(super) use rule::PythonRule;
pub(super) use trigger::PythonTrigger;

use crate::foreign::RouterSeen;
use crate::routing::RouterView;
use crate::routing::contention::Counters;

/// The functions' view of a router.
#[inline]
fn seen<'a>(view: &'a RouterView<'_>, counters: &'a Counters, parameters: &'a [f64]) -> RouterSeen<'a> {
    let at = std::ptr::from_ref(view).cast();
    RouterSeen::new(&calls::CALLS, at, view.router, parameters, counters.all(view.router), view.ports())
}
