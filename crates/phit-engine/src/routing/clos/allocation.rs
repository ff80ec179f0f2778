//! Section 4.1: which of several outputs an input takes.

use super::Busy;
use crate::engine::Rng;
use crate::topology::Hop;

/// An output that leads to the destination of a head, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    /// The hop over it.
    pub hop: Hop,
    /// Phits charged against the buffer at its far end; of several virtual channels, the emptiest counts.
    pub depth: u32,
    /// Phits of that buffer.
    pub capacity: u32,
    /// It can start a transfer.
    pub ready: bool,
}

/// How little an output is wanted, as one number. Most important is that it cannot take the packet now, then the fill
/// of its buffer as precisely as it is known, then that an input before has been given it in this cycle.
type Demerit = u64;

/// The allocation of one router in one cycle.
#[derive(Debug)]
pub(super) struct Allocator {
    /// Inputs know what those before them have been given.
    sequential: bool,
    /// Outputs that cannot take the packet now come last.
    busy_last: bool,
    /// Bits of the fill that are known; `None`: all.
    precision: Option<u32>,
    /// Phits given in this cycle, by port.
    given: Vec<u32>,
    /// Ports with an entry there.
    touched: Vec<u16>,
    /// The outputs among which the latest head chose.
    outputs: Vec<Output>,
    /// How little each of them is wanted by now.
    demerits: Vec<Demerit>,
    /// Places of those that are as good as each other.
    ties: Vec<u32>,
}

impl Allocator {
    pub(super) fn new(sequential: bool, precision: Option<u32>, busy: Busy) -> Self {
        let busy_last = busy == Busy::Last;
        let (given, touched, outputs) = (Vec::new(), Vec::new(), Vec::new());
        Self { sequential, busy_last, precision, given, touched, outputs, demerits: Vec::new(), ties: Vec::new() }
    }

    /// A new cycle, or another router.
    pub(super) fn begin(&mut self) {
        while let Some(port) = self.touched.pop() {
            self.given[usize::from(port)] = 0;
        }
    }

    /// An input has been given `port` for `phits`.
    pub(super) fn give(&mut self, port: u16, phits: u32) {
        if self.sequential {
            let index = usize::from(port);
            if index >= self.given.len() {
                self.given.resize(index + 1, 0);
            }
            self.given[index] += phits;
            self.touched.push(port);
        }
    }

    /// The best of `outputs` for a head that takes `phits` of a buffer at once. Ties are broken at random.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub(super) fn choose(&mut self, outputs: impl Iterator<Item = Output>, phits: u32, rng: &mut Rng) -> Hop {
        self.outputs.clear();
        self.outputs.extend(outputs);
        self.demerits.clear();
        for place in 0..self.outputs.len() {
            let demerit = self.demerit(&self.outputs[place], phits);
            self.demerits.push(demerit);
        }
        let best = self.draw_best(rng);
        self.outputs[best].hop
    }

    /// The same for outputs with these states (phits charged against the buffer, and whether a transfer can start), of
    /// neighbouring ports from `first` on, with buffers of `capacity` phits. Returns its place among them.
    #[inline]
    pub(super) fn choose_in_row(
        &mut self,
        first: u16,
        capacity: u32,
        states: impl ExactSizeIterator<Item = (u32, bool)>,
        phits: u32,
        rng: &mut Rng,
    ) -> usize {
        let first = usize::from(first);
        self.given.resize(self.given.len().max(first + states.len()), 0);
        self.demerits.resize(states.len(), 0);
        let outputs = self.demerits.iter_mut().zip(states).zip(&self.given[first..]);
        let (busy_last, precision) = (self.busy_last, self.precision);
        let mut least = Demerit::MAX;
        for ((place, (depth, ready)), &given) in outputs {
            let depth = depth + given;
            let unavailable = busy_last & (!ready | (capacity.saturating_sub(depth) < phits));
            let known = precision.map_or(depth, |bits| part(depth, capacity, bits));
            *place = demerit(unavailable, known, given);
            least = least.min(*place);
        }
        self.draw_among(least, rng)
    }

    /// The place of the least demerit; ties are broken at random.
    #[inline]
    fn draw_best(&mut self, rng: &mut Rng) -> usize {
        let least = self.demerits.iter().copied().fold(Demerit::MAX, Demerit::min);
        self.draw_among(least, rng)
    }

    /// The place of one of those with the demerit `least`, drawn at random.
    #[inline]
    fn draw_among(&mut self, least: Demerit, rng: &mut Rng) -> usize {
        self.ties.resize(self.demerits.len(), 0);
        let mut count = 0;
        for (place, demerit) in (0..).zip(&self.demerits) {
            // Written in any case, and kept if it is one: no branch that depends on it.
            self.ties[count] = place;
            count += usize::from(*demerit == least);
        }
        self.ties[if count == 1 { 0 } else { rng.below(count as u32) as usize }] as usize
    }

    #[inline]
    fn demerit(&self, output: &Output, phits: u32) -> Demerit {
        let given = self.given.get(usize::from(output.hop.port)).copied().unwrap_or(0);
        let depth = output.depth + given;
        let unavailable = self.busy_last && (!output.ready || output.capacity.saturating_sub(depth) < phits);
        demerit(unavailable, self.known(depth, output.capacity), given)
    }

    /// The leading bits of a fill: which part of the buffer it ends in (table 1).
    #[inline]
    fn known(&self, depth: u32, capacity: u32) -> u32 {
        match self.precision {
            None => depth,
            Some(bits) => part(depth, capacity, bits),
        }
    }
}

/// In which of 2^`bits` equal parts of a buffer of `capacity` a fill ends.
#[inline]
fn part(depth: u32, capacity: u32, bits: u32) -> u32 {
    let parts = 1u64 << bits;
    (u64::from(depth) * parts / u64::from(capacity.max(1))).min(parts - 1) as u32
}

#[inline]
fn demerit(unavailable: bool, depth: u32, given: u32) -> Demerit {
    u64::from(unavailable) << 40 | u64::from(depth) << 1 | u64::from(given > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Stream;

    const CAPACITY: u32 = 16;

    /// Outputs 0, 1, 2 ... with these credits.
    fn with_credits(credits: &[u32]) -> Vec<Output> {
        let output = |(port, &credits): (u16, &u32)| Output {
            hop: Hop { port, vc: 0, vcs: 1 },
            depth: CAPACITY - credits,
            capacity: CAPACITY,
            ready: true,
        };
        (0..).zip(credits).map(output).collect()
    }

    /// The outputs that `inputs` inputs are given one after the other.
    fn one_cycle(allocator: &mut Allocator, outputs: &[Output], inputs: usize, phits: u32, rng: &mut Rng) -> Vec<u16> {
        allocator.begin();
        let mut decide = || {
            let hop = allocator.choose(outputs.iter().copied(), phits, rng);
            allocator.give(hop.port, phits);
            hop.port
        };
        (0..inputs).map(|_| decide()).collect()
    }

    /// How often each output is chosen by the input after `before` others.
    fn frequencies(allocator: &mut Allocator, outputs: &[Output], before: usize, phits: u32) -> Vec<u32> {
        let mut rng = Rng::new(7, Stream::Router, 0);
        let mut count = vec![0; outputs.len()];
        for _ in 0..6000 {
            count[usize::from(one_cycle(allocator, outputs, before + 1, phits, &mut rng)[before])] += 1;
        }
        count
    }

    /// Every output of `among`, and no other, is chosen equally often, within six standard deviations.
    #[track_caller]
    fn assert_even(count: &[u32], among: &[usize]) {
        let mean = 6000 / among.len() as u32;
        for (port, &count) in count.iter().enumerate() {
            match among.contains(&port) {
                true => assert!(count.abs_diff(mean) <= (36.0 * f64::from(mean)).sqrt() as u32, "{port}: {count}"),
                false => assert_eq!(count, 0, "{port}"),
            }
        }
    }

    #[test]
    fn sequential_as_in_the_example_of_section_4_1() {
        // Credits 2, 2, 2, 3: the first input takes output 3; then all have 2, and those not given yet come first.
        let (outputs, mut rule) = (with_credits(&[2, 2, 2, 3]), Allocator::new(true, None, Busy::Last));
        assert_even(&frequencies(&mut rule, &outputs, 0, 1), &[3]);
        assert_even(&frequencies(&mut rule, &outputs, 1, 1), &[0, 1, 2]);
        let mut rng = Rng::new(1, Stream::Router, 0);
        for _ in 0..100 {
            // Four inputs take all four outputs; then they have 1, 1, 1 and 2 credits, of which 2 is best though given.
            let mut given = one_cycle(&mut rule, &outputs, 5, 1, &mut rng);
            given[..4].sort_unstable();
            assert_eq!(given, [0, 1, 2, 3, 3]);
        }
    }

    #[test]
    fn greedy_inputs_all_take_the_same_best_output() {
        let (outputs, mut rule) = (with_credits(&[2, 2, 2, 3]), Allocator::new(false, None, Busy::Last));
        let mut rng = Rng::new(1, Stream::Router, 0);
        assert_eq!(one_cycle(&mut rule, &outputs, 4, 1, &mut rng), [3; 4]);
        assert_even(&frequencies(&mut rule, &with_credits(&[5, 2, 5, 5]), 3, 1), &[0, 2, 3]);
    }

    #[test]
    fn more_credits_outweigh_having_been_given() {
        // Output 1 has been given once and still has more credits than the others.
        let (outputs, mut rule) = (with_credits(&[3, 9, 3]), Allocator::new(true, None, Busy::Last));
        assert_even(&frequencies(&mut rule, &outputs, 3, 1), &[1]);
        // In packets of eight phits one packet is as much as eight of one phit.
        assert_even(&frequencies(&mut rule, &with_credits(&[8, 12, 8]), 1, 8), &[0, 2]);
    }

    #[test]
    fn outputs_that_cannot_take_the_packet_come_last() {
        let mut outputs = with_credits(&[4, 16, 3, 5]);
        outputs[1].ready = false;
        let mut rule = Allocator::new(true, None, Busy::Last);
        assert_even(&frequencies(&mut rule, &outputs, 0, 1), &[3]);
        // Five phits fit into output 3 alone; six into none, and then the most credits count among those that are ready
        // or not.
        assert_even(&frequencies(&mut rule, &outputs, 0, 5), &[3]);
        assert_even(&frequencies(&mut rule, &outputs, 0, 6), &[1]);
        // What has been given leaves no room for another packet of five: the next one goes where it waits least.
        outputs[1].depth = CAPACITY;
        assert_even(&frequencies(&mut rule, &outputs, 1, 5), &[0]);
    }

    #[test]
    fn busy_outputs_may_be_as_good_as_others() {
        let mut outputs = with_credits(&[4, 16, 3, 5]);
        outputs[1].ready = false;
        let mut rule = Allocator::new(false, None, Busy::Ignored);
        assert_even(&frequencies(&mut rule, &outputs, 0, 1), &[1]);
        // A buffer that is too full for the packet is no worse than its fill says.
        assert_even(&frequencies(&mut rule, &with_credits(&[2, 2, 0]), 0, 3), &[0, 1]);
    }

    #[test]
    fn precision_as_in_table_1() {
        let known = |bits, depth| Allocator::new(true, Some(bits), Busy::Last).known(depth, CAPACITY);
        let all = |bits| (0..=CAPACITY).map(|depth| known(bits, depth)).collect::<Vec<_>>();
        assert_eq!(all(0), [0; 17]);
        assert_eq!(all(1), [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1], "more or fewer than 8 entries");
        assert_eq!(all(2), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3], "in steps of 4 entries");
        assert_eq!(all(4)[..16], (0..16).collect::<Vec<_>>()[..], "exactly; a full buffer is unavailable anyhow");
        assert_eq!(known(31, i32::MAX as u32), (1 << 31) - 1);
    }

    #[test]
    fn coarse_knowledge_makes_more_ties() {
        let outputs = with_credits(&[16, 15, 13, 12, 0]);
        assert_even(&frequencies(&mut Allocator::new(false, Some(4), Busy::Last), &outputs, 0, 1), &[0]);
        // Fills of 0, 1 and 3 are all below 4.
        assert_even(&frequencies(&mut Allocator::new(false, Some(2), Busy::Last), &outputs, 0, 1), &[0, 1, 2]);
        // Without any knowledge of the fill a full buffer is still not available.
        assert_even(&frequencies(&mut Allocator::new(false, Some(0), Busy::Last), &outputs, 0, 1), &[0, 1, 2, 3]);
        // In sequence, those given already come last: after three inputs one output is left.
        let mut rule = Allocator::new(true, Some(0), Busy::Last);
        let mut rng = Rng::new(3, Stream::Router, 0);
        for _ in 0..50 {
            let mut given = one_cycle(&mut rule, &outputs, 4, 1, &mut rng);
            given.sort_unstable();
            assert_eq!(given, [0, 1, 2, 3]);
        }
    }

    #[test]
    fn nothing_is_left_of_one_cycle_in_the_next() {
        let (outputs, mut rule) = (with_credits(&[4, 4]), Allocator::new(true, None, Busy::Last));
        let mut rng = Rng::new(3, Stream::Router, 0);
        one_cycle(&mut rule, &outputs, 5, 1, &mut rng);
        assert_even(&frequencies(&mut rule, &outputs, 0, 1), &[0, 1]);
    }
}
