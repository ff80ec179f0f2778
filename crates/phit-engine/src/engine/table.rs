//! Tables whose indices are right by construction.

pub(crate) use phit_workload::cache::fetch;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A fixed table read with 32-bit indices that are known to be in range.
///
/// The kernel makes some fifty table accesses for every flit that it moves. Every index that it uses has one of three
/// origins. It was written into the tables when they were built (and checked by
/// [`check_links`](crate::fabric::input_queued::partitions::ports)). Or the indexed structure itself handed it out (an
/// arena's places, a wheel's nodes). Or it was computed from such indices by masks and bounded loops. Debug builds, and
/// so all tests, check each access.
#[derive(Debug, Clone)]
pub struct Table<T>(Vec<T>);

impl<T> From<Vec<T>> for Table<T> {
    fn from(mut items: Vec<T>) -> Self {
        items.shrink_to_fit();
        Self(items)
    }
}

/// Makes room for `more` items, and for an eighth more, where a vector would double.
#[inline]
pub(crate) fn reserve_gently<T>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        items.reserve_exact(more.max(items.len() / 8).max(16));
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }

    /// Brings the whole table into the cache.
    pub fn fetch(&self) {
        fetch(&self.0);
    }

    /// Brings an entry into the cache before it is needed. The index need not exist.
    #[inline]
    #[allow(unsafe_code)]
    pub fn prefetch(&self, index: u32) {
        let entry = self.0.as_ptr().wrapping_add(index as usize);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint to the cache reads nothing, so any address will do.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(entry.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = entry;
    }

    /// Adds an entry and returns its index.
    #[inline]
    pub fn push(&mut self, item: T) -> u32 {
        reserve_gently(&mut self.0, 1);
        self.0.push(item);
        self.0.len() as u32 - 1
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[allow(unsafe_code)]
impl<T> Index<u32> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        debug_assert!((index as usize) < self.0.len(), "index {index} of a table of {}", self.0.len());
        // SAFETY: the index is in range by construction, see the type's documentation; a table never shrinks.
        unsafe { self.0.get_unchecked(index as usize) }
    }
}

#[allow(unsafe_code)]
impl<T> IndexMut<u32> for Table<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        debug_assert!((index as usize) < self.0.len(), "index {index} of a table of {}", self.0.len());
        // SAFETY: the index is in range by construction, see the type's documentation; a table never shrinks.
        unsafe { self.0.get_unchecked_mut(index as usize) }
    }
}
