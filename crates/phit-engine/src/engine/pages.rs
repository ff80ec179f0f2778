//! Lists that are made and taken apart again and again.

use super::Bytes;

/// Bytes of a page, about.
const PAGE: usize = 1024;

/// A list in pages of one size. It grows without copying, holds half a page more than it needs, and the pages that one
/// list gives back are those that the next one takes: an allocator of memory has nothing to put together.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::new() }
    }
}

impl<T> Pages<T> {
    /// Adds an item at the end.
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        if self.last.len() == self.last.capacity() {
            self.turn();
        }
        self.last.push(item);
    }

    #[cold]
    #[inline(never)]
    fn turn(&mut self) {
        let page = std::mem::replace(&mut self.last, Vec::with_capacity((PAGE / size_of::<T>()).max(1)));
        if !page.is_empty() {
            self.full.push(page);
        }
    }

    /// True if there is no item.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.full.iter().map(Vec::len).sum::<usize>() + self.last.len()
    }

    /// The items in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.full.iter().chain(std::iter::once(&self.last)).flatten()
    }

    /// Takes the items out in order; pages that have been gone through are given back on the way.
    pub(crate) fn drain(self, mut item: impl FnMut(T)) {
        for page in self.full.into_iter().chain(std::iter::once(self.last)) {
            page.into_iter().for_each(&mut item);
        }
    }
}

impl<T> Bytes for Pages<T> {
    fn bytes(&self) -> usize {
        self.full.iter().map(Bytes::bytes).sum::<usize>() + self.full.bytes() + self.last.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_order_whatever_their_number() {
        for count in [0, 1, PAGE / 8 - 1, PAGE / 8, PAGE / 8 + 1, 1000] {
            let mut pages = Pages::default();
            (0..count as u64).for_each(|item| pages.push(item));
            assert_eq!((pages.len(), pages.is_empty()), (count, count == 0));
            assert!(pages.iter().copied().eq(0..count as u64));
            assert!(pages.bytes() <= count * 8 + PAGE + 24 * 8, "{} bytes for {count}", pages.bytes());
            let mut taken = Vec::new();
            pages.drain(|item| taken.push(item));
            assert!(taken.into_iter().eq(0..count as u64));
        }
    }
}
