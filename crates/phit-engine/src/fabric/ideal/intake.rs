//! The link to an endpoint, which carries the arriving messages.

use std::collections::BTreeMap;

/// The busy times of the link to an endpoint.
///
/// Messages are handled in the order of sending. Each takes the earliest free time of the link from its first phit on.
/// So the link never idles while there is something to carry: for any number of earliest messages, no link could
/// deliver all of them earlier.
/// however many these are, no link brings all any earlier.
#[derive(Debug, Clone, Default)]
pub(super) struct Intake {
    /// The busy ticks, from start to end. There is a gap between two intervals.
    taken: BTreeMap<u64, u64>,
}

impl Intake {
    /// Takes the earliest free `ticks` from tick `from` on, and returns the end of the last.
    pub(super) fn take(&mut self, from: u64, ticks: u64) -> u64 {
        if ticks == 0 {
            return from;
        }
        let (mut start, mut at, mut left) = (from, from, ticks);
        if let Some((&before, &end)) = self.taken.range(..=from).next_back()
            && end >= from
        {
            (start, at) = (before, end);
        }
        loop {
            let next = self.taken.range(at.max(start.saturating_add(1))..).next().map(|(&next, &end)| (next, end));
            let Some((next, end)) = next.filter(|(next, _)| next - at <= left) else { break };
            self.taken.remove(&next);
            left -= next - at;
            if left == 0 {
                self.taken.insert(start, end);
                return next;
            }
            at = end;
        }
        let end = at.saturating_add(left);
        self.taken.insert(start, end);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fill_the_gaps_that_others_left() {
        let mut link = Intake::default();
        assert_eq!(link.take(10, 5), 15);
        assert_eq!(link.take(20, 5), 25);
        // From 0 on: ten ticks before the first interval, then two of the gap.
        assert_eq!(link.take(0, 12), 17);
        assert_eq!(link.take(12, 3), 20, "up to the second");
        assert_eq!(link.taken, [(0, 25)].into());
        assert_eq!(link.take(3, 1), 26);
        assert_eq!(link.take(40, 1), 41);
        assert_eq!(link.take(0, 1), 27);
        assert_eq!(link.take(5, 0), 5);
    }

    #[test]
    fn no_two_take_the_same_tick() {
        let mut link = Intake::default();
        let mut free: Vec<bool> = vec![true; 400];
        for (from, ticks) in (0..60u64).map(|number| (number * 37 % 101, 1 + number * 13 % 7)) {
            let mut last = from;
            for _ in 0..ticks {
                last = (from..).find(|&tick| free[tick as usize]).unwrap();
                free[last as usize] = false;
            }
            assert_eq!(link.take(from, ticks), last + 1, "{ticks} from {from} on");
        }
    }
}
