//! Prefetching of memory that is about to be used.

use std::mem::MaybeUninit;

/// Bytes of a cache line, or fewer. A wrong guess only costs time.
const CACHE_LINE: usize = 64;

/// Reads a byte of every cache line, so that all items are in the cache for the accesses that follow. In order, they
/// arrive several times as fast as line by line on demand.
#[allow(unsafe_code)]
pub fn fetch<T>(items: &[T]) {
    let bytes = items.as_ptr().cast::<MaybeUninit<u8>>();
    for at in (0..size_of_val(items)).step_by(CACHE_LINE) {
        // SAFETY: `at` lies within the items. A byte may be uninitialised padding.
        unsafe { bytes.add(at).read_volatile() };
    }
}
