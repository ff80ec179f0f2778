//! Sets of routers: the routers of one partition.

use crate::engine::{NONE, Table};
use std::sync::Arc;

/// The routers of one partition of a network, in ascending order of their numbers in the network.
///
/// A mechanism keeps a table with an entry for each of them, and finds a router's entry by [`Self::place`].
#[derive(Debug, Clone)]
pub struct Routers {
    numbers: Table<u32>,
    /// For every router of the network: its place among the routers of its own partition.
    places: Arc<Table<u32>>,
}

impl Routers {
    /// One set for each of `parts` partitions, where router `number` is in partition `homes[number]`.
    pub(crate) fn of_parts(homes: &[u32], parts: usize) -> Vec<Self> {
        let mut numbers = vec![Vec::new(); parts];
        let places = homes.iter().zip(0..).map(|(&home, number)| {
            let part = &mut numbers[home as usize];
            part.push(number);
            part.len() as u32 - 1
        });
        let places: Arc<Table<u32>> = Arc::new(places.collect::<Vec<_>>().into());
        numbers.into_iter().map(|numbers| Self { numbers: numbers.into(), places: places.clone() }).collect()
    }

    /// This set, in ascending order, in a network of `routers` routers.
    pub(crate) fn some(numbers: Vec<u32>, routers: u32) -> Self {
        let mut places = vec![0; routers as usize];
        numbers.iter().zip(0..).for_each(|(&number, place)| places[number as usize] = place);
        Self { numbers: numbers.into(), places: Arc::new(places.into()) }
    }

    /// How many they are.
    #[inline]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Their numbers, in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        self.numbers.iter().copied()
    }

    /// The smallest number. The set must not be empty.
    pub fn first(&self) -> u32 {
        self.numbers.first().copied().unwrap_or(NONE)
    }

    /// The number in the network of the router at `place` of this set.
    #[inline]
    pub(crate) fn number(&self, place: u32) -> u32 {
        self.numbers[place]
    }

    /// The place of `router` in this set, which must include it.
    #[inline]
    pub fn place(&self, router: u32) -> usize {
        self.places[router] as usize
    }

    /// True if `router` is one of them.
    pub fn contains(&self, router: u32) -> bool {
        self.numbers.get(self.place(router)) == Some(&router)
    }

    /// Bytes of memory, without tables that all partitions share.
    pub(crate) fn bytes(&self) -> usize {
        self.numbers.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_numbers_are_inverse() {
        let parts = Routers::of_parts(&[1, 0, 1, 1, 0], 2);
        let numbers = |part: &Routers| part.iter().collect::<Vec<_>>();
        assert_eq!((numbers(&parts[0]), numbers(&parts[1])), (vec![1, 4], vec![0, 2, 3]));
        for (part, other) in [(&parts[0], &parts[1]), (&parts[1], &parts[0])] {
            for router in part.iter() {
                assert_eq!(part.number(part.place(router) as u32), router);
                assert!(part.contains(router) && !other.contains(router));
            }
        }
    }
}
