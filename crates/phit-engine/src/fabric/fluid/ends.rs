//! The times at which something ends next, by number: a binary heap whose entries can be changed in place.

/// A place that is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// Times by number, the earliest first. Numbers of one time are in order.
#[derive(Debug, Default)]
pub(super) struct Ends {
    heap: Vec<(f64, u32)>,
    /// By number: its place in the heap.
    places: Vec<u32>,
}

impl Ends {
    /// The earliest time, and its number.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.heap.first().copied()
    }

    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.heap.drain(..).for_each(|(_, number)| self.places[number as usize] = NOWHERE);
    }

    /// Sets the time of `number`, or removes it.
    pub(super) fn set(&mut self, number: u32, time: Option<f64>) {
        if self.places.len() <= number as usize {
            self.places.resize(number as usize + 1, NOWHERE);
        }
        let place = self.places[number as usize];
        match (time, place) {
            (None, NOWHERE) => {}
            (None, _) => {
                self.places[number as usize] = NOWHERE;
                let Some(last) = self.heap.pop() else { return };
                if last.1 != number {
                    self.heap[place as usize] = last;
                    self.settle(place as usize);
                }
            }
            (Some(time), NOWHERE) => {
                self.heap.push((time, number));
                self.settle(self.heap.len() - 1);
            }
            (Some(time), _) => {
                self.heap[place as usize].0 = time;
                self.settle(place as usize);
            }
        }
    }

    /// Moves the entry at `place` to where it belongs.
    fn settle(&mut self, mut place: usize) {
        let before = |a: (f64, u32), b: (f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).is_lt();
        let entry = self.heap[place];
        while place > 0 && before(entry, self.heap[(place - 1) / 2]) {
            self.put((place - 1) / 2, place);
            place = (place - 1) / 2;
        }
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let Some(child) = children.reduce(|a, b| if before(self.heap[b], self.heap[a]) { b } else { a }) else {
                break;
            };
            if !before(self.heap[child], entry) {
                break;
            }
            self.put(child, place);
            place = child;
        }
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }

    /// Copies the entry at `from` to `to`.
    fn put(&mut self, from: usize, to: usize) {
        self.heap[to] = self.heap[from];
        self.places[self.heap[to].1 as usize] = to as u32;
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<(f64, u32)>() + self.places.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The heap answers as a sorted list does.
        #[test]
        fn the_first_is_the_earliest(steps in prop::collection::vec((0u32..12, prop::option::of(0u8..20)), 1..200)) {
            let mut ends = Ends::default();
            let mut all: [Option<f64>; 12] = [None; 12];
            for (number, time) in steps {
                let time = time.map(f64::from);
                ends.set(number, time);
                all[number as usize] = time;
                let listed = (0..).zip(all).filter_map(|(number, time)| Some((time?, number)));
                let first = listed.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                prop_assert_eq!(ends.first(), first);
            }
        }
    }
}
