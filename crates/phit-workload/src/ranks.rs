//! Sets of ranks whose hosts are executed together.

use std::sync::Arc;

/// Ranks in ascending order: all ranks of a program, or the ranks of one part of a network.
#[derive(Debug, Clone)]
pub struct Ranks {
    len: u32,
    /// `None` for all ranks.
    part: Option<Part>,
}

/// Ranks of a part of a network.
#[derive(Debug, Clone)]
struct Part {
    numbers: Arc<[u32]>,
    /// For every rank: its place in its own part.
    places: Arc<[u32]>,
}

impl Ranks {
    /// All of `count` ranks.
    pub fn all(count: u32) -> Self {
        Self { len: count, part: None }
    }

    /// One set for each of `parts` parts, where rank `number` is in part `homes[number]`.
    pub fn of_parts(homes: &[u32], parts: usize) -> Vec<Self> {
        let mut numbers = vec![Vec::new(); parts];
        let places: Arc<[u32]> = (0..)
            .zip(homes)
            .map(|(number, &home)| {
                let part = &mut numbers[home as usize];
                part.push(number);
                part.len() as u32 - 1
            })
            .collect();
        let part = |numbers: Vec<u32>| Self {
            len: numbers.len() as u32,
            part: Some(Part { numbers: numbers.into(), places: places.clone() }),
        };
        numbers.into_iter().map(part).collect()
    }

    /// These of `all` ranks, in ascending order.
    pub fn some(numbers: Vec<u32>, all: u32) -> Self {
        if numbers.len() == all as usize {
            return Self::all(all);
        }
        let mut places = vec![0; all as usize];
        (0..).zip(&numbers).for_each(|(place, &number)| places[number as usize] = place);
        Self { len: numbers.len() as u32, part: Some(Part { numbers: numbers.into(), places: places.into() }) }
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rank at `place` of this set.
    pub fn number(&self, place: usize) -> u32 {
        self.part.as_ref().map_or(place as u32, |part| part.numbers[place])
    }

    /// The place of `rank` in this set, which must include it.
    #[inline]
    pub fn place(&self, rank: u32) -> usize {
        match &self.part {
            None => rank as usize,
            Some(part) => part.places[rank as usize] as usize,
        }
    }

    /// Their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        (0..self.len()).map(|place| self.number(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_numbers_are_inverse() {
        let parts = Ranks::of_parts(&[1, 0, 1, 1, 0], 3);
        let numbers: Vec<Vec<u32>> = parts.iter().map(|part| part.iter().collect()).collect();
        assert_eq!(numbers, [vec![1, 4], vec![0, 2, 3], vec![]]);
        for part in parts.iter().chain([&Ranks::all(4)]) {
            assert!(part.iter().enumerate().all(|(place, rank)| part.place(rank) == place));
        }
    }
}
