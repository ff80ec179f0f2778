//! Lists that are filled and emptied again and again.

use super::{Bytes, fetch};

/// Approximate bytes of a page.
const PAGE: usize = 512;

/// A list in pages of one size. It grows without copying, and on average holds half a page more than it needs.
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

/// Empty pages: a list that is emptied returns its pages, and the next list takes them.
#[derive(Debug)]
pub(crate) struct Spare<T> {
    pages: Vec<Vec<T>>,
    /// Most pages that are kept; more are returned to the system. The numbers of lists that are read and filled differ
    /// from epoch to epoch, so the largest numbers of all would add up.
    most: usize,
}

impl<T> Spare<T> {
    /// Keeps `most` pages.
    pub(crate) fn new(most: usize) -> Self {
        Self { pages: Vec::new(), most }
    }

    /// Keeps `most` pages from now on, and releases all others. Returns the number of pages kept.
    pub(crate) fn keep(&mut self, most: usize) -> usize {
        self.pages.truncate(most);
        std::mem::replace(&mut self.most, most)
    }

    fn give(&mut self, mut page: Vec<T>) {
        if self.pages.len() < self.most && page.capacity() > 0 {
            page.clear();
            self.pages.push(page);
        }
    }

    fn take(&mut self) -> Vec<T> {
        self.pages.pop().unwrap_or_else(|| Vec::with_capacity((PAGE / size_of::<T>()).max(1)))
    }
}

impl<T> Bytes for Spare<T> {
    fn bytes(&self) -> usize {
        self.pages.iter().map(Bytes::bytes).sum::<usize>() + self.pages.bytes()
    }
}

impl<T> Pages<T> {
    /// Adds an item at the end. If a new page is needed, it comes from `spare`.
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T, spare: &mut Spare<T>) {
        if self.last.len() == self.last.capacity() {
            self.turn(spare);
        }
        self.last.push(item);
    }

    #[cold]
    #[inline(never)]
    fn turn(&mut self, spare: &mut Spare<T>) {
        let page = std::mem::replace(&mut self.last, spare.take());
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

    /// The items in order, page by page.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &[T]> {
        self.full.iter().chain(std::iter::once(&self.last)).map(Vec::as_slice)
    }

    /// Gives all pages to `spare`.
    pub(crate) fn give(self, spare: &mut Spare<T>) {
        self.full.into_iter().chain([self.last]).for_each(|page| spare.give(page));
    }

    /// Calls `see` with all items in order. Finished pages are given to `spare` on the way.
    #[inline(always)]
    pub(crate) fn consume(mut self, spare: &mut Spare<T>, mut see: impl FnMut(&T)) {
        self.full.push(self.last);
        // Other threads have filled them, long ago.
        self.full.iter().for_each(|page| fetch(page));
        for page in self.full {
            page.iter().for_each(&mut see);
            spare.give(page);
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
        const MOST: usize = 4;
        let mut spare = Spare::new(MOST);
        for count in [0, 1, PAGE / 8 - 1, PAGE / 8, PAGE / 8 + 1, 1000] {
            let mut pages = Pages::default();
            (0..count as u64).for_each(|item| pages.push(item, &mut spare));
            assert_eq!((pages.len(), pages.is_empty()), (count, count == 0));
            assert!(pages.iter().copied().eq(0..count as u64));
            assert!(pages.bytes() <= count * 8 + PAGE + 24 * 8, "{} bytes for {count}", pages.bytes());
            let mut taken = Vec::new();
            pages.consume(&mut spare, |item| taken.push(*item));
            assert!(taken.into_iter().eq(0..count as u64));
            assert!(spare.pages.len() <= MOST && spare.pages.iter().all(Vec::is_empty));
        }
    }
}
