//! What the links of endpoints carry, and how fast endpoints send.

use super::LoadUnit;

/// Bandwidths of endpoints' links, in phits per cycle. Endpoints with equal links are of one kind.
#[derive(Debug, Clone)]
pub struct Rates {
    /// By kind: of the link, and of the injection port, all planes together.
    kinds: Vec<(f64, f64)>,
    /// The kind of every endpoint; none if all are of one.
    of: Vec<u8>,
}

impl Rates {
    /// Of endpoints whose links and injection ports carry so much.
    pub fn alike(both: (f64, f64)) -> Self {
        Self { kinds: vec![both], of: Vec::new() }
    }

    /// Of endpoints with such links and injection ports, of at most 256 kinds.
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

    /// Those of some endpoints alone.
    pub(crate) fn of_some(&self, endpoints: &[u32]) -> Self {
        match self.of.is_empty() {
            true => self.clone(),
            false => Self::new(endpoints.iter().map(|endpoint| self.kinds[usize::from(self.of[*endpoint as usize])])),
        }
    }

    /// By kind: phits per cycle of a load of 1, and what an injection port carries. `bisection`: phits per cycle of the
    /// load that saturates the bisection.
    pub(super) fn units(&self, unit: LoadUnit, bisection: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.kinds.iter().map(move |&(link, injection)| match unit {
            LoadUnit::Link => (link, injection),
            LoadUnit::Phits => (1.0, injection),
            LoadUnit::Bisection => (bisection, injection),
        })
    }

    /// The kind of every endpoint; none if all are of one.
    pub(super) fn by_endpoint(&self) -> Vec<u8> {
        self.of.clone()
    }

    /// What is given for each of `endpoints` endpoints: phits per cycle of a load of 1. None if it is 1 for all.
    pub fn weights(&self, unit: LoadUnit, endpoints: u32) -> Vec<f64> {
        if unit != LoadUnit::Link || self.kinds.iter().all(|(link, _)| *link == 1.0) {
            return Vec::new();
        }
        let kind = |endpoint: u32| self.of.get(endpoint as usize).map_or(0, |kind| usize::from(*kind));
        (0..endpoints).map(|endpoint| self.kinds[kind(endpoint)].0).collect()
    }
}

impl From<f64> for Rates {
    /// Of links of a phit per cycle, and of injection ports that carry so much.
    fn from(injection: f64) -> Self {
        Self::alike((1.0, injection))
    }
}

impl From<&Self> for Rates {
    fn from(rates: &Self) -> Self {
        rates.clone()
    }
}
