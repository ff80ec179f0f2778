//! Sets of queues and of ports in one word each.
//!
//! Bit `b` stands for the members `b`, `b + 64`, `b + 128` and so on of a row; in a short set of 16 bits, for `b`, `b +
//! 16` and so on. So a set costs one word on every router. With up to 64 members (16 in a short set), a bit stands for
//! one member. With more, a reader of a bit must look at each of its members.

/// The bit of member `index`.
#[inline]
pub(crate) fn bit(index: u32) -> u64 {
    1 << (index % 64)
}

/// The bit of member `index` in a short set.
#[inline]
pub(crate) fn short_bit(index: u32) -> u16 {
    1 << (index % 16)
}

/// Distance of `client` from `pointer`, in cyclic order of `n` clients. No branch depends on it, because the processor
/// could not predict the first client.
#[inline]
pub(crate) fn turn(client: u32, pointer: u16, n: u32) -> u64 {
    let pointer = u32::from(pointer);
    u64::from(client + u32::from(client < pointer) * n - pointer)
}

/// The first member of `set`, of at most 64, from `from` on in cyclic order; 64 if there is none. No branch depends on
/// it, because the processor could not predict it.
#[inline(always)]
pub(crate) fn first_from(set: u64, from: u32) -> u32 {
    let ahead = set >> (from % 64) << (from % 64);
    (ahead | set & u64::from(ahead == 0).wrapping_neg()).trailing_zeros()
}

/// Calls `body` with each member, of `count` in all, whose bit is set in `word`.
#[inline]
pub(crate) fn for_each_member(word: u64, count: u32, body: impl FnMut(u32)) {
    members::<64>(word, count, body);
}

/// Calls `body` with each member, of `count` in all, whose bit is set in the short set `word`.
#[inline]
pub(crate) fn for_each_short_member(word: u16, count: u32, body: impl FnMut(u32)) {
    members::<16>(word.into(), count, body);
}

#[inline(always)]
fn members<const WIDTH: u32>(mut word: u64, count: u32, mut body: impl FnMut(u32)) {
    while word != 0 {
        let mut index = word.trailing_zeros();
        word &= word - 1;
        while index < count {
            body(index);
            index += WIDTH;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_from_a_member_on_comes_around() {
        let set = 1 << 3 | 1 << 40 | 1 << 63;
        assert_eq!([0, 3, 4, 40, 41, 63, 64].map(|from| first_from(set, from)), [3, 3, 40, 40, 63, 63, 3]);
        assert_eq!(first_from(1 << 3, 4), 3);
        assert_eq!(first_from(0, 4), 64);
    }

    #[test]
    fn a_bit_stands_for_every_64th_member() {
        let mut seen = Vec::new();
        for_each_member(bit(3) | bit(70), 140, |index| seen.push(index));
        assert_eq!(seen, [3, 67, 131, 6, 70, 134]);
        seen.clear();
        for_each_short_member(short_bit(3) | short_bit(22), 40, |index| seen.push(index));
        assert_eq!(seen, [3, 19, 35, 6, 22, 38]);
    }
}
