//! The C interface of `include/phit.h`, which describes every function.
//!
//! # Promises
//!
//! * A panic never leaves a function: it becomes `PHIT_FAILED`.
//! * Two threads that use one network at the same time do no harm: the second is refused.

use phit_engine::run::{Completion, Network, RunError};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, TryLockError};

const OK: c_int = 0;
const REFUSED: c_int = 1;
const FAILED: c_int = 2;

/// `PHIT_NEVER` and `PHIT_NOW`.
const NEVER: u64 = u64::MAX;

thread_local! {
    /// The text of the last error of this thread.
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps the text of an error.
fn keep(text: &str) {
    // A text with a zero inside, which no message has, would become empty.
    ERROR.with(|error| *error.borrow_mut() = CString::new(text).unwrap_or_default());
}

/// What a pointer to `phit_network` points to.
pub struct Handle(Mutex<State>);

struct State {
    network: Network,
    /// Completed messages that have not been fetched.
    completed: VecDeque<Completion>,
}

/// `phit_completion`.
#[repr(C)]
pub struct Arrived {
    time: u64,
    bytes: u64,
    handle: u32,
    source: u32,
    destination: u32,
    tag: u32,
}

/// `phit_stats`.
#[repr(C)]
pub struct Totals {
    sent: u64,
    completed: u64,
    bytes_sent: u64,
    bytes_completed: u64,
    latency_mean: f64,
    latency_max: u64,
}

/// What a call says that did not succeed.
enum Wrong {
    Refused(String),
    Failed(String),
}

impl From<RunError> for Wrong {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => Self::Refused(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
}

/// Does `work`. What goes wrong is kept for `phit_error`.
fn done<T>(work: impl FnOnce() -> Result<T, Wrong>) -> Result<T, c_int> {
    let wrong = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(wrong)) => wrong,
        Err(_) => Wrong::Failed("an error inside Phit".into()),
    };
    Err(match wrong {
        Wrong::Refused(text) => {
            keep(&text);
            REFUSED
        }
        Wrong::Failed(text) => {
            keep(&text);
            FAILED
        }
    })
}

/// Does `work` with a network that no other thread uses.
///
/// # Safety
///
/// `handle` is null, or comes from [`phit_open`] and has not been closed.
unsafe fn with<T>(handle: *const Handle, work: impl FnOnce(&mut State) -> Result<T, Wrong>) -> Result<T, c_int> {
    // SAFETY: the caller promises that the pointer is null or valid.
    let handle = unsafe { handle.as_ref() };
    done(|| {
        let handle = handle.ok_or_else(|| Wrong::Refused("network = NULL: expected a network of phit_open".into()))?;
        match handle.0.try_lock() {
            Ok(mut state) => work(&mut state),
            Err(TryLockError::WouldBlock) => {
                Err(Wrong::Refused("the network is in use by another thread; expected one call at a time".into()))
            }
            Err(TryLockError::Poisoned(_)) => Err(Wrong::Failed("the network has failed in an earlier call".into())),
        }
    })
}

/// The document in a text of TOML or JSON.
fn document(text: &CStr) -> Result<Value, Wrong> {
    let text = text.to_str().map_err(|_| Wrong::Refused("the scenario is not text in UTF-8".into()))?;
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).map_err(|error| Wrong::Refused(format!("not valid JSON: {error}"))),
        false => toml::from_str(text).map_err(|error| Wrong::Refused(format!("not valid TOML: {error}"))),
    }
}

/// See `phit.h`.
///
/// # Safety
///
/// `scenario` is null or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_open(scenario: *const c_char) -> *mut Handle {
    let opened = done(|| {
        if scenario.is_null() {
            return Err(Wrong::Refused("scenario = NULL: expected a text in TOML or JSON".into()));
        }
        // SAFETY: the pointer is not null, and the caller promises that the text ends with a zero.
        let document = document(unsafe { CStr::from_ptr(scenario) })?;
        let network = Network::new(&document, None).map_err(|error| Wrong::Refused(error.to_string()))?;
        Ok(Box::new(Handle(Mutex::new(State { network, completed: VecDeque::new() }))))
    });
    opened.map_or(ptr::null_mut(), Box::into_raw)
}

/// See `phit.h`.
///
/// # Safety
///
/// `network` is null, or comes from [`phit_open`] and has not been closed. No other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_close(network: *mut Handle) {
    if !network.is_null() {
        // SAFETY: the pointer came from `Box::into_raw`, and the caller promises that this is its last use.
        let network = unsafe { Box::from_raw(network) };
        // A panic while it is dropped has no one to tell.
        let _ = done(|| {
            drop(network);
            Ok(())
        });
    }
}

/// See `phit.h`.
#[unsafe(no_mangle)]
pub extern "C" fn phit_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_ranks(network: *const Handle) -> u32 {
    // SAFETY: the caller promises about `network` what `with` asks for.
    unsafe { with(network, |state| Ok(state.network.ranks())) }.unwrap_or(0)
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_ticks_per_cycle(network: *const Handle) -> u32 {
    // SAFETY: the caller promises about `network` what `with` asks for.
    unsafe { with(network, |state| Ok(state.network.ticks_per_cycle())) }.unwrap_or(0)
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_cycle_seconds(network: *const Handle) -> f64 {
    // SAFETY: the caller promises about `network` what `with` asks for.
    unsafe { with(network, |state| Ok(state.network.cycle_seconds().unwrap_or(0.0))) }.unwrap_or(0.0)
}

/// See `phit.h`.
///
/// # Safety
///
/// `network` is null, or comes from [`phit_open`] and has not been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_now(network: *const Handle) -> u64 {
    // SAFETY: the caller promises about `network` what `with` asks for.
    unsafe { with(network, |state| Ok(state.network.now())) }.unwrap_or(0)
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`]; `handle` is null, or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_send(
    network: *mut Handle,
    source: u32,
    destination: u32,
    bytes: u64,
    tag: u32,
    at: u64,
    handle: *mut u32,
) -> c_int {
    let at = (at != NEVER).then_some(at);
    // SAFETY: the caller promises about `network` what `with` asks for.
    let sent = unsafe { with(network, |state| Ok(state.network.send((source, destination), bytes, tag, at)?)) };
    match sent {
        Ok(number) => {
            if !handle.is_null() {
                // SAFETY: the pointer is not null, and the caller promises that it is valid for a write.
                unsafe { handle.write(number) };
            }
            OK
        }
        Err(status) => status,
    }
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_advance(network: *mut Handle, until: u64) -> c_int {
    // SAFETY: the caller promises about `network` what `with` asks for.
    let done = unsafe { with(network, |state| Ok(state.network.advance(until, &mut || true)?)) };
    done.map_or_else(|status| status, |()| OK)
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_advance_to_completion(network: *mut Handle, until: u64) -> c_int {
    // SAFETY: the caller promises about `network` what `with` asks for.
    let done = unsafe {
        with(network, |state| {
            let until = (until != NEVER).then_some(until);
            if state.completed.is_empty() {
                state.network.advance_to_completion(until, &mut || true)?;
            }
            Ok(())
        })
    };
    done.map_or_else(|status| status, |()| OK)
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_next_event(network: *mut Handle) -> u64 {
    // SAFETY: the caller promises about `network` what `with` asks for.
    unsafe { with(network, |state| Ok(state.network.next_event().unwrap_or(NEVER))) }.unwrap_or(NEVER)
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`]; `list` is valid for writes of `room` completions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_completed(network: *mut Handle, list: *mut Arrived, room: usize) -> usize {
    let room = if list.is_null() { 0 } else { room };
    // SAFETY: the caller promises about `network` what `with` asks for.
    let moved = unsafe {
        with(network, |state| {
            let State { network, completed } = state;
            completed.extend(network.completed());
            let count = room.min(completed.len());
            for (place, found) in completed.drain(..count).enumerate() {
                let Completion { handle, time, source, destination, bytes, tag } = found;
                // SAFETY: `place` is below `room`, for which the caller promises that the list is valid.
                list.add(place).write(Arrived { time, bytes, handle, source, destination, tag });
            }
            Ok(count)
        })
    };
    moved.unwrap_or(0)
}

/// See `phit.h`.
///
/// # Safety
///
/// As for [`phit_now`]; `stats` is null, or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phit_get_stats(network: *const Handle, stats: *mut Totals) {
    // SAFETY: the caller promises about `network` what `with` asks for.
    let found = unsafe { with(network, |state| Ok(state.network.stats())) };
    let (Ok(found), false) = (found, stats.is_null()) else { return };
    let totals = Totals {
        sent: found.sent,
        completed: found.completed,
        bytes_sent: found.bytes_sent,
        bytes_completed: found.bytes_completed,
        latency_mean: if found.completed == 0 { 0.0 } else { found.latency as f64 / found.completed as f64 },
        latency_max: found.latency_max,
    };
    // SAFETY: the pointer is not null, and the caller promises that it is valid for a write.
    unsafe { stats.write(totals) };
}
