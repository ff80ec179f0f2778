//! Rates of endpoints: of their links and of their injection ports.

use super::LoadUnit;

/// Bandwidths of endpoints' links, in phits per cycle. Endpoints with equal links form a kind.
#[derive(Debug, Clone)]
pub struct Rates {
    /// By kind: bandwidth of the link, and of the injection ports over all planes.
    kinds: Vec<(f64, f64)>,
    /// Kind of every endpoint; empty if all are of one kind.
    of: Vec<u8>,
}

impl Rates {
    /// The rates of endpoints that are all alike, as (link, injection port).
    pub fn alike(both: (f64, f64)) -> Self {
        Self { kinds: vec![both], of: Vec::new() }
    }

    /// The rates of endpoints given one by one, as (link, injection port). There may be at most 256 kinds.
    pub fn new(all: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut kinds: Vec<(f64, f64)> = Vec::new();
        let of: Vec<u8> = all
            .map(|both| {
                let known = kinds.iter().position(|kind| *kind == both);
                known.unwrap_or_else(|| {
                    kinds.push(both);
                    kinds.len() - 1
                }) as u8
            })
            .collect();
        match kinds.len() {
            0 | 1 => Self { kinds, of: Vec::new() },
            _ => Self { kinds, of },
        }
    }

    /// The rates of these endpoints alone.
    pub(crate) fn of_some(&self, endpoints: &[u32]) -> Self {
        match self.of.is_empty() {
            true => self.clone(),
            false => Self::new(endpoints.iter().map(|endpoint| self.kinds[usize::from(self.of[*endpoint as usize])])),
        }
    }

    /// For each kind: phits per cycle at a load of 1, and the bandwidth of an injection port. `bisection`: the load, in
    /// phits per cycle, that saturates the bisection.
    pub(super) fn units(&self, unit: LoadUnit, bisection: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.kinds.iter().map(move |&(link, injection)| match unit {
            LoadUnit::Link => (link, injection),
            LoadUnit::Phits => (1.0, injection),
            LoadUnit::Bisection => (bisection, injection),
        })
    }

    /// Kind of every endpoint; empty if all are of one kind.
    pub(super) fn by_endpoint(&self) -> Vec<u8> {
        self.of.clone()
    }

    /// Phits per cycle at a load of 1, for each of `endpoints` endpoints. Empty if it is 1 for all.
    pub fn weights(&self, unit: LoadUnit, endpoints: u32) -> Vec<f64> {
        if unit != LoadUnit::Link || self.kinds.iter().all(|(link, _)| *link == 1.0) {
            return Vec::new();
        }
        let kind = |endpoint: u32| self.of.get(endpoint as usize).map_or(0, |kind| usize::from(*kind));
        (0..endpoints).map(|endpoint| self.kinds[kind(endpoint)].0).collect()
    }
}

impl From<f64> for Rates {
    /// Rates of endpoints with links of one phit per cycle and injection ports of this bandwidth.
    fn from(injection: f64) -> Self {
        Self::alike((1.0, injection))
    }
}

impl From<&Self> for Rates {
    fn from(rates: &Self) -> Self {
        rates.clone()
    }
}
