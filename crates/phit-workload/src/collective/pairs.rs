//! The data that each member has for each other one, in an all-to-all.

use std::sync::Arc;

/// Bytes from member to member. A member's data for itself is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// Equal bytes for all pairs.
    Equal(u64),
    /// By destination: the bytes that every member has for it.
    ByDestination(Arc<[u64]>),
    /// By source and destination, row by row.
    Matrix(Arc<[u64]>),
    /// The way back: what each member got from another one goes to it.
    Back(Arc<Pairs>),
    /// One of several parts of other pairs. Sizes of parts differ by at most one byte.
    Chunk(Arc<Pairs>, u32, u32),
}

impl Pairs {
    /// Bytes of `source` for `destination`, of `members` members.
    #[inline]
    pub fn bytes(&self, members: u32, source: u32, destination: u32) -> u64 {
        match self {
            Self::Equal(bytes) => *bytes,
            Self::ByDestination(bytes) => bytes[destination as usize],
            Self::Matrix(bytes) => bytes[source as usize * members as usize + destination as usize],
            Self::Back(of) => of.bytes(members, destination, source),
            Self::Chunk(of, chunk, chunks) => Self::chunk(of.bytes(members, source, destination), *chunk, *chunks),
        }
    }

    fn chunk(bytes: u64, chunk: u32, chunks: u32) -> u64 {
        bytes / u64::from(chunks) + u64::from(u64::from(chunk) < bytes % u64::from(chunks))
    }

    /// True if all pairs have equal bytes.
    pub(crate) fn is_equal(&self) -> bool {
        match self {
            Self::Equal(_) => true,
            Self::ByDestination(_) | Self::Matrix(_) => false,
            Self::Back(of) | Self::Chunk(of, ..) => of.is_equal(),
        }
    }

    /// True if every member has equally many bytes for a destination.
    pub(crate) fn same_from_all(&self) -> bool {
        match self {
            Self::Equal(_) | Self::ByDestination(_) => true,
            Self::Matrix(_) => false,
            Self::Back(of) => of.is_equal(),
            Self::Chunk(of, ..) => of.same_from_all(),
        }
    }

    /// Destinations in different demand, such as the experts of a mixture. The k-th in demand gets a share in
    /// proportion to 1/k^`skew` (Zipf's law) of each member's data, which is `bytes` times the number of members.
    /// `place` returns the rank of a destination in this order, from 0.
    pub fn skewed(members: u32, bytes: u64, skew: f64, place: impl Fn(u32) -> u32) -> Self {
        let weight = |member: u32| libm::pow(f64::from(place(member)) + 1.0, -skew);
        let sum: f64 = (0..members).map(weight).sum();
        let all = bytes as f64 * f64::from(members);
        // Cumulative sums are rounded, so that all parts add up to the total.
        let mut before = (0.0, 0);
        let each = (0..members).map(|member| {
            let share = before.0 + weight(member) / sum;
            let end = (all * share).round() as u64;
            let own = end - before.1;
            before = (share, end);
            own
        });
        Self::ByDestination(each.collect())
    }
}
