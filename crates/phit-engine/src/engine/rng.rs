//! Random streams: one per endpoint, router and purpose, so that the order of visits does not matter.

pub(super) use rand_core::RngCore;
use rand_core::SeedableRng;
use rand_xoshiro::Xoroshiro128PlusPlus;

/// The purpose of a stream, one of the values that it is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Stream {
    /// Generation of packets at an endpoint.
    Source = 1,
    /// Decisions of a router.
    Router = 2,
    /// Construction of a traffic pattern (a random permutation).
    Pattern = 3,
    /// Construction of a topology (faults).
    Topology = 4,
    /// Injection decisions of an endpoint.
    Injection = 5,
    /// Placement of ranks.
    Placement = 6,
}

/// A random stream of 16 bytes.
#[derive(Debug, Clone)]
pub struct Rng(Xoroshiro128PlusPlus);

/// The finaliser of SplitMix64: mixes all bits of a word.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream of (`seed`, `stream`, `index`).
    pub fn new(seed: u64, stream: Stream, index: u64) -> Self {
        let a = mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let b = mix(a ^ (stream as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
        let c = mix(b ^ index.wrapping_mul(0x8cb9_2ba7_2f3d_8dd7));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&c.to_le_bytes());
        bytes[8..].copy_from_slice(&mix(c ^ b).to_le_bytes());
        Self(Xoroshiro128PlusPlus::from_seed(bytes))
    }

    /// The stream of a pair of keys, made with a few instructions.
    #[inline]
    pub fn keyed(a: u64, b: u32) -> Self {
        let first = mix(a ^ u64::from(b).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..].copy_from_slice(&(first ^ 0x9e37_79b9_7f4a_7c15).to_le_bytes());
        Self(Xoroshiro128PlusPlus::from_seed(bytes))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`; `n` must be positive. The bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u32
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        Self::unit_of(self.bits())
    }

    /// The value of [`Self::unit`] if these are the next bits.
    #[inline]
    pub(crate) fn unit_of(bits: u64) -> f64 {
        (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Shuffles a slice uniformly (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}
