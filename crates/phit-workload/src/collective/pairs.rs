//! How much each member has for each other one, in an all-to-all.

use std::sync::Arc;

/// Bytes from member to member. What a member has for itself stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// The same for all.
    Equal(u64),
    /// By destination: what every member has for it.
    ByDestination(Arc<[u64]>),
    /// By source and destination, row by row.
    Matrix(Arc<[u64]>),
    /// One of several parts of these, of equal sizes but for one byte.
    Chunk(Arc<Pairs>, u32, u32),
}

impl Pairs {
    /// Bytes of `source` for `destination`, of so many members.
    #[inline]
    pub fn bytes(&self, members: u32, source: u32, destination: u32) -> u64 {
        match self {
            Self::Equal(bytes) => *bytes,
            Self::ByDestination(bytes) => bytes[destination as usize],
            Self::Matrix(bytes) => bytes[source as usize * members as usize + destination as usize],
            Self::Chunk(of, chunk, chunks) => Self::chunk(of.bytes(members, source, destination), *chunk, *chunks),
        }
    }

    fn chunk(bytes: u64, chunk: u32, chunks: u32) -> u64 {
        bytes / u64::from(chunks) + u64::from(u64::from(chunk) < bytes % u64::from(chunks))
    }

    /// True if all pairs have the same.
    pub(crate) fn is_equal(&self) -> bool {
        match self {
            Self::Equal(_) => true,
            Self::ByDestination(_) | Self::Matrix(_) => false,
            Self::Chunk(of, ..) => of.is_equal(),
        }
    }

    /// True if every member has the same for a destination.
    pub(crate) fn same_from_all(&self) -> bool {
        match self {
            Self::Equal(_) | Self::ByDestination(_) => true,
            Self::Matrix(_) => false,
            Self::Chunk(of, ..) => of.same_from_all(),
        }
    }

    /// Destinations that differ in how much everyone has for them, as the experts of a mixture do: the k-th in demand
    /// gets a share in proportion to 1/k^`skew` (Zipf's law) of what a member has in all, which is `bytes` for each.
    /// `place` says which one that is, from 0.
    pub fn skewed(members: u32, bytes: u64, skew: f64, place: impl Fn(u32) -> u32) -> Self {
        let weight = |member: u32| libm::pow(f64::from(place(member)) + 1.0, -skew);
        let sum: f64 = (0..members).map(weight).sum();
        let all = bytes as f64 * f64::from(members);
        // Rounded up to each place: together they are all there is.
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
