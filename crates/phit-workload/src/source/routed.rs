//! Tokens on their way to the experts of a layer and back.

use crate::collective::{Algorithm, Collective, Members, Pairs, Steps};
use crate::error::Error;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::sync::Arc;

/// The all-to-all between ranks that share experts.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) members: u32,
    /// Bytes that each member sends, including its own.
    pub(super) bytes: u64,
    pub(super) algorithm: Algorithm,
    /// Sizes of groups, for the hierarchical algorithm.
    pub(super) group: Vec<u32>,
}

/// How tokens go to experts.
#[derive(Debug)]
pub(super) enum Routed {
    /// To nobody.
    Nothing,
    /// By the shares of each layer, which hold exactly.
    Shares {
        /// There and back.
        steps: Vec<[Arc<dyn Steps>; 2]>,
        /// Shares of the members, which add up to 1; none if all are equal.
        shares: Vec<Vec<f64>>,
    },
    /// Drawn for each layer, micro-batch and group.
    Drawn { exchange: Exchange, shares: Vec<Vec<f64>>, tokens: u64, seed: u64 },
}

impl Exchange {
    fn steps(&self, pairs: Pairs) -> Result<Arc<dyn Steps>, Error> {
        let bytes = self.bytes / u64::from(self.members);
        let all = Members::new(Collective::AllToAll, self.algorithm, self.members, bytes);
        Members { pairs: Some(pairs), groups: self.group.clone(), ..all }.steps()
    }
}

/// Most bytes of the tables of shares.
const MOST_SHARES: usize = 1 << 24;

impl Routed {
    /// From a skew or from shares by layer, and the tokens of a member if their experts are drawn.
    pub(super) fn new(
        exchange: Exchange,
        (skew, given): (f64, &[Vec<f64>]),
        tokens: Option<u64>,
        seed: u64,
    ) -> Result<Self, Error> {
        let Exchange { members, bytes, .. } = exchange;
        if tokens == Some(0) {
            return Err(Error::key("drawn_tokens", 0, "expected 1 or more"));
        }
        if !given.is_empty() && skew > 0.0 {
            return Err(Error::key("skew", skew, "expected none with `expert_shares`"));
        }
        let mut shares = vec![];
        for (layer, of_layer) in given.iter().enumerate() {
            let sum: f64 = of_layer.iter().sum();
            let shown = || format!("a list of {} numbers for layer {layer}", of_layer.len());
            if of_layer.len() != members as usize {
                let expected = format!("expected one for each of expert = {members} ranks");
                return Err(Error::key("expert_shares", shown(), expected));
            }
            if of_layer.iter().any(|share| !(*share >= 0.0 && share.is_finite())) || !(sum > 0.0 && sum.is_finite()) {
                let expected = "expected numbers of 0 or more, not all 0";
                return Err(Error::key("expert_shares", shown(), expected));
            }
            shares.push(of_layer.iter().map(|share| share / sum).collect::<Vec<f64>>());
        }
        if shares.iter().map(Vec::len).sum::<usize>() > MOST_SHARES {
            let expected = format!("expected at most {MOST_SHARES} numbers");
            return Err(Error::key("expert_shares", format!("{} lists", shares.len()), expected));
        }
        if members == 1 || bytes == 0 {
            return Ok(Self::Nothing);
        }
        let even = Pairs::Equal(bytes / u64::from(members));
        if skew > 0.0 {
            let places = super::collective::shuffled(members, seed);
            let weight = |member: &u32| libm::pow(f64::from(*member) + 1.0, -skew);
            let sum: f64 = places.iter().map(weight).sum();
            shares = vec![places.iter().map(|place| weight(place) / sum).collect()];
        }
        match tokens {
            Some(tokens) => {
                let shares = match shares.is_empty() {
                    true => vec![vec![1.0 / f64::from(members); members as usize]],
                    false => shares,
                };
                exchange.steps(even)?;
                Ok(Self::Drawn { exchange, shares, tokens, seed })
            }
            None => {
                let of_layer = |pairs: Pairs| {
                    let back = Pairs::Back(Arc::new(pairs.clone()));
                    let there = exchange.steps(pairs.clone())?;
                    let back = if matches!(pairs, Pairs::Equal(_)) { there.clone() } else { exchange.steps(back)? };
                    Ok::<_, Error>([there, back])
                };
                let each = shares.iter().map(|shares| Pairs::ByDestination(cut(bytes, shares).into()));
                let all = if shares.is_empty() { vec![even] } else { each.collect() };
                Ok(Self::Shares { steps: all.into_iter().map(of_layer).collect::<Result<_, _>>()?, shares })
            }
        }
    }

    /// Lanes of an all-to-all.
    pub(super) fn lanes(&self) -> Result<u32, Error> {
        Ok(match self {
            Self::Nothing => 0,
            Self::Shares { steps, .. } => steps.iter().flatten().map(|steps| steps.lanes()).max().unwrap_or(0),
            Self::Drawn { exchange, .. } => {
                exchange.steps(Pairs::Equal(exchange.bytes / u64::from(exchange.members)))?.lanes()
            }
        })
    }

    /// The steps of a layer's all-to-all in a group: to the experts, or back.
    pub(super) fn steps(&self, layer: u32, batch: u32, group: u32, back: bool) -> Option<Arc<dyn Steps>> {
        match self {
            Self::Nothing => None,
            Self::Shares { steps, .. } => Some(steps[layer as usize % steps.len()][usize::from(back)].clone()),
            Self::Drawn { exchange, shares, tokens, seed } => {
                let shares = &shares[layer as usize % shares.len()];
                let rows = (0..exchange.members).flat_map(|source| {
                    let counts = drawn(*tokens, shares, mixed(*seed, [layer, batch, group, source]));
                    counted(exchange.bytes, *tokens, &counts)
                });
                let there = Pairs::Matrix(rows.collect());
                exchange.steps(if back { Pairs::Back(Arc::new(there)) } else { there }).ok()
            }
        }
    }

    /// The tokens of a member's experts, as a multiple of the mean.
    pub(super) fn load(&self, layer: u32, batch: u32, group: u32, member: u32) -> f64 {
        match self {
            Self::Nothing => 1.0,
            Self::Shares { shares, .. } if shares.is_empty() => 1.0,
            Self::Shares { shares, .. } => {
                let shares = &shares[layer as usize % shares.len()];
                shares[member as usize] * shares.len() as f64
            }
            Self::Drawn { exchange, shares, tokens, seed } => {
                let shares = &shares[layer as usize % shares.len()];
                let own = |source| drawn(*tokens, shares, mixed(*seed, [layer, batch, group, source]))[member as usize];
                (0..exchange.members).map(own).sum::<u64>() as f64 / *tokens as f64
            }
        }
    }
}

/// Bytes by shares. Cumulative sums are rounded, so that all parts add up to the total.
fn cut(bytes: u64, shares: &[f64]) -> Vec<u64> {
    let (mut share, mut before) = (0.0, 0);
    let last = shares.len() - 1;
    let part = |(number, own): (usize, &f64)| {
        share += own;
        let end = if number == last { bytes } else { ((bytes as f64 * share).round() as u64).clamp(before, bytes) };
        end - std::mem::replace(&mut before, end)
    };
    shares.iter().enumerate().map(part).collect()
}

/// Bytes by numbers of tokens, which add up to the total.
fn counted(bytes: u64, tokens: u64, counts: &[u64]) -> Vec<u64> {
    let (mut count, mut before) = (0u128, 0);
    let part = |own: &u64| {
        count += u128::from(*own);
        let end = (u128::from(bytes) * count / u128::from(tokens)) as u64;
        end - std::mem::replace(&mut before, end)
    };
    counts.iter().map(part).collect()
}

/// A seed from a seed and numbers.
fn mixed(seed: u64, numbers: [u32; 4]) -> u64 {
    numbers.iter().fold(seed, |state, number| SplitMix64::seed_from_u64(state ^ u64::from(*number)).next_u64())
}

/// Numbers of tokens for each destination: each token draws its destination by the shares.
fn drawn(tokens: u64, shares: &[f64], seed: u64) -> Vec<u64> {
    let mut random = SplitMix64::seed_from_u64(seed);
    let (mut left, mut rest) = (tokens, 1.0);
    let last = shares.iter().rposition(|share| *share > 0.0).unwrap_or(0);
    let one = |(number, share): (usize, &f64)| {
        let count = match number == last {
            true => left,
            false => binomial(left, (share / rest).clamp(0.0, 1.0), &mut random),
        };
        rest -= share;
        left -= count;
        count
    };
    shares.iter().enumerate().map(one).collect()
}

/// A number of successes of `count` trials, each with this chance: exact if few are expected, or few are not; otherwise
/// the nearest to a normal variable of the same mean and deviation.
fn binomial(count: u64, chance: f64, random: &mut SplitMix64) -> u64 {
    /// Expected successes up to which each is drawn.
    const FEW: f64 = 32.0;
    let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    if chance > 0.5 {
        return count - binomial(count, 1.0 - chance, random);
    }
    if count == 0 || chance <= 0.0 {
        return 0;
    }
    let mean = count as f64 * chance;
    if mean <= FEW {
        // The trials up to the next success are geometric.
        let (mut found, mut passed) = (0, 0.0);
        loop {
            passed += (libm::log(uniform()) / libm::log1p(-chance)).floor() + 1.0;
            if passed > count as f64 {
                return found;
            }
            found += 1;
        }
    }
    let normal = libm::sqrt(-2.0 * libm::log(uniform())) * libm::cos(std::f64::consts::TAU * uniform());
    let value = mean + normal * libm::sqrt(mean * (1.0 - chance));
    (value.round().max(0.0) as u64).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every token goes to one destination, and mean and variance of the counts are those of the multinomial
    /// distribution, for few tokens and for many.
    #[test]
    fn drawn_tokens_follow_their_shares() {
        let shares = [0.5, 0.0, 0.3, 0.2];
        for tokens in [1, 40, 5000] {
            let rounds = 4000;
            let (mut sums, mut squares) = ([0.0; 4], [0.0; 4]);
            for seed in 0..rounds {
                let counts = drawn(tokens, &shares, seed);
                assert_eq!(counts.iter().sum::<u64>(), tokens);
                for (member, count) in counts.iter().enumerate() {
                    sums[member] += *count as f64;
                    squares[member] += (*count as f64).powi(2);
                }
            }
            for (member, share) in shares.iter().enumerate() {
                let mean = sums[member] / rounds as f64;
                let variance = squares[member] / rounds as f64 - mean * mean;
                let expected = tokens as f64 * share * (1.0 - share);
                // Five deviations of the mean, and of the variance of a nearly normal variable.
                assert!((mean - tokens as f64 * share).abs() <= 5.0 * (expected / rounds as f64).sqrt());
                assert!((variance - expected).abs() <= 5.0 * expected * (2.0 / rounds as f64).sqrt() + 0.02 * expected);
            }
        }
    }

    #[test]
    fn parts_add_up_to_the_bytes() {
        for bytes in [0, 1, 999, 1 << 40] {
            assert_eq!(cut(bytes, &[0.1, 0.2, 0.3, 0.4]).iter().sum::<u64>(), bytes);
            assert_eq!(counted(bytes, 10, &[1, 0, 7, 2]).iter().sum::<u64>(), bytes);
        }
        assert_eq!(cut(1000, &[0.1, 0.2, 0.7]), [100, 200, 700]);
        assert_eq!(counted(1000, 10, &[1, 2, 7]), [100, 200, 700]);
    }
}
