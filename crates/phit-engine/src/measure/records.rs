//! What probes have recorded: of each name the number, sum and largest of the values of every time.

use crate::engine::Tick;
use std::collections::BTreeMap;

/// Number, sum and largest of some values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest.
    pub max: u32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

/// What the probes of a run have recorded.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// By probe, name and tick.
    tallies: BTreeMap<(usize, String, Tick), Tally>,
}

impl Records {
    /// Takes in what probe number `probe` records by name at tick `now`.
    pub(crate) fn note(&mut self, probe: usize, now: Tick, look: impl FnOnce(&mut dyn FnMut(&str, u32))) {
        let mut found: BTreeMap<String, Tally> = BTreeMap::new();
        look(&mut |name, value| {
            let one = Tally { count: 1, sum: value.into(), max: value };
            match found.get_mut(name) {
                Some(tally) => tally.add(one),
                None => {
                    found.insert(name.to_owned(), one);
                }
            }
        });
        for (name, tally) in found {
            self.tallies.entry((probe, name, now)).or_default().add(tally);
        }
    }

    /// Takes in what was recorded in another partition.
    pub fn merge(&mut self, other: &Self) {
        for (key, tally) in &other.tallies {
            self.tallies.entry(key.clone()).or_default().add(*tally);
        }
    }

    /// All records in order: number of the probe, name, tick, tally.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str, Tick, Tally)> {
        self.tallies.iter().map(|((probe, name, at), tally)| (*probe, name.as_str(), *at, *tally))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.tallies.len() * (size_of::<(usize, String, Tick, Tally)>() + 24)
    }
}
