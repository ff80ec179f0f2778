//! Section 4.1: which of several outputs an input takes.

use super::Busy;
use crate::engine::{Rng, Tick};
use crate::fabric::seams::routing::{OutputVc, Row as Outputs};
use crate::topology::Hop;

/// An output that leads to the destination of a head, with its known state.
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

/// The demerit of an output as one number. An output that cannot take the packet now has the largest demerit. Next
/// counts the known fill of its buffer, and last whether an earlier input has taken it in this cycle.
type Demerit = u64;

/// The allocation of one router in one cycle.
#[derive(Debug)]
pub(super) struct Allocator {
    /// Inputs know the outputs that earlier inputs have taken.
    sequential: bool,
    /// Outputs that cannot take the packet now come last.
    busy_last: bool,
    /// Bits of the fill that are known; `None`: all.
    precision: Option<u32>,
    /// Phits given in this cycle, by port.
    given: Vec<u32>,
    /// Ports with an entry there.
    touched: Vec<u16>,
    /// The outputs upwards of the router, as its heads compare them in this cycle.
    row: Row,
    /// The emptiest virtual channels of these outputs, where they have several.
    emptiest: Vec<OutputVc>,
    /// The outputs among which the latest head chose.
    outputs: Vec<Output>,
    /// The current demerit of each of them.
    demerits: Vec<Demerit>,
    /// Positions of equally good outputs.
    ties: Vec<u32>,
}

/// Neighbouring outputs, laid out once per router and cycle for all heads. Giving an output to a head changes no other
/// output. So equally good outputs are searched again only when none of them is left.
#[derive(Debug, Default)]
struct Row {
    /// Phits of the first flits of the heads; 0: nothing is laid out.
    phits: u32,
    /// Phits that a head takes of a buffer at once; 0 if outputs are compared by their heads.
    takes: u32,
    /// The first port.
    first: u16,
    /// Phits of the buffer behind each.
    capacity: u32,
    /// Phits charged against each at the beginning of the cycle; without entries where they are known exactly, so that
    /// the demerits tell them.
    depths: Vec<u32>,
    /// The current demerit of each: a [`Demerit`] in fewer bits, so that many are compared at once.
    demerits: Vec<i32>,
    /// The smallest demerit at the last search.
    least: i32,
    /// Positions of the smallest demerit, a bit each.
    ties: Vec<u64>,
    /// How many they are.
    count: u32,
}

/// In the demerits of a row: it cannot take the packet now.
const UNAVAILABLE: i32 = 1 << (ROW_BITS + 1);

/// Bits of a fill in a row.
pub(super) const ROW_BITS: u32 = 29;

/// Phits in a buffer that are told apart in a row: more than ever wait in one.
const DEEPEST: u32 = (1 << ROW_BITS) - 1;

impl Allocator {
    pub(super) fn new(sequential: bool, precision: Option<u32>, busy: Busy) -> Self {
        let busy_last = busy == Busy::Last;
        let (given, touched, outputs) = (Vec::new(), Vec::new(), Vec::new());
        let (row, emptiest, demerits, ties) = (Row::default(), Vec::new(), Vec::new(), Vec::new());
        Self { sequential, busy_last, precision, given, touched, row, emptiest, outputs, demerits, ties }
    }

    /// A new cycle, or another router.
    pub(super) fn begin(&mut self) {
        while let Some(port) = self.touched.pop() {
            self.given[usize::from(port)] = 0;
        }
        self.row.phits = 0;
    }

    /// An input has been given `port` for `phits`.
    pub(super) fn give(&mut self, port: u16, phits: u32) {
        if self.sequential {
            let index = usize::from(port);
            if index >= self.given.len() {
                self.given.resize(index + 1, 0);
            }
            if self.given[index] == 0 {
                self.touched.push(port);
            }
            self.given[index] += phits;
            if self.row.phits != 0 {
                self.note_in_row(port, phits);
            }
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

    /// True if outputs are laid out for heads whose first flits have `phits`.
    #[inline]
    pub(super) fn has_row(&self, phits: u32) -> bool {
        self.row.phits == phits
    }

    /// Lays out the outputs `of` neighbouring ports from `first` on, for heads that take `phits` of a buffer at once.
    pub(super) fn lay_out(&mut self, first: u16, of: Outputs<'_>, phits: u32) {
        let Outputs { channels, vcs, ready, now, capacity } = of;
        let mut emptiest = std::mem::take(&mut self.emptiest);
        let channels = match vcs {
            1 => channels,
            _ => {
                let most = |of: &[OutputVc]| of.iter().map(|channel| channel.credits).max().unwrap_or(0);
                emptiest.clear();
                emptiest.extend(channels.chunks_exact(vcs).map(|of| OutputVc { credits: most(of) }));
                &emptiest
            }
        };
        let row = &mut self.row;
        (row.phits, row.takes, row.first, row.capacity, row.count) = (phits, phits, first, capacity, 0);
        let depth = |channel: &OutputVc| (capacity as i32 - channel.credits).max(0) as u32;
        let (busy_last, small) = (self.busy_last, capacity < phits);
        let unavailable = |ready: &Tick, channel: &OutputVc| {
            let lacks = busy_last & ((*ready > now) | (channel.credits < phits as i32) | small);
            i32::from(lacks) * UNAVAILABLE
        };
        let pairs = ready.iter().zip(channels);
        row.depths.clear();
        row.demerits.clear();
        match self.precision {
            None if capacity <= DEEPEST => {
                let demerit = |(ready, channel)| unavailable(ready, channel) + (depth(channel) << 1) as i32;
                row.demerits.extend(pairs.map(demerit));
            }
            precision => {
                row.depths.extend(channels.iter().map(depth));
                let demerit = |((ready, channel), depth): (_, &u32)| {
                    unavailable(ready, channel) + known(*depth, capacity, precision)
                };
                row.demerits.extend(pairs.zip(&row.depths).map(demerit));
            }
        }
        self.emptiest = emptiest;
        self.note_given();
    }

    /// Lays out outputs of neighbouring ports from `first` on, for heads whose first flits have `phits`. Each output is
    /// given by its depth and whether it can start a transfer now. A head takes `takes` of the `capacity` of an output.
    pub(super) fn lay_out_each(
        &mut self,
        (first, phits): (u16, u32),
        (capacity, takes): (u32, u32),
        outputs: impl Iterator<Item = (u32, bool)>,
    ) {
        let row = &mut self.row;
        (row.phits, row.takes, row.first, row.capacity, row.count) = (phits, takes, first, capacity, 0);
        row.depths.clear();
        row.demerits.clear();
        let exact = self.precision.is_none() && capacity <= DEEPEST;
        for (depth, ready) in outputs {
            let lacks = self.busy_last && (!ready || capacity.saturating_sub(depth) < takes);
            row.demerits.push(i32::from(lacks) * UNAVAILABLE + known(depth, capacity, self.precision));
            row.depths.extend((!exact).then_some(depth));
        }
        self.note_given();
    }

    /// Notes the grants of this cycle in the row.
    fn note_given(&mut self) {
        let end = usize::from(self.row.first) + self.row.demerits.len();
        if self.given.len() < end {
            self.given.resize(end, 0);
        }
        for place in 0..self.touched.len() {
            let port = self.touched[place];
            self.note_in_row(port, self.given[usize::from(port)]);
        }
    }

    /// The best of the ports laid out. Ties are broken at random.
    #[inline]
    pub(super) fn choose_in_row(&mut self, rng: &mut Rng) -> u16 {
        let row = &mut self.row;
        if row.count == 0 {
            row.find_ties();
        }
        row.first + row.tie(if row.count == 1 { 0 } else { rng.below(row.count) })
    }

    /// `more` phits have been given of `port`, which may be one of those laid out.
    #[inline]
    fn note_in_row(&mut self, port: u16, more: u32) {
        let row = &mut self.row;
        let place = usize::from(port.wrapping_sub(row.first));
        let Some(demerit) = row.demerits.get_mut(place) else { return };
        let depth = match row.depths.get(place) {
            None => (*demerit % UNAVAILABLE) as u32 / 2 + more,
            Some(depth) => depth + self.given[usize::from(port)],
        };
        let lacks = *demerit >= UNAVAILABLE || self.busy_last && row.capacity.saturating_sub(depth) < row.takes;
        let wanted = i32::from(lacks) * UNAVAILABLE + known(depth, row.capacity, self.precision) + 1;
        let was_best = row.count > 0 && *demerit == row.least;
        *demerit = wanted;
        // It can only have become worse.
        if was_best && wanted != row.least {
            row.ties[place / 64] &= !(1 << (place % 64));
            row.count -= 1;
        }
    }

    /// The place of the least demerit; ties are broken at random.
    #[inline]
    fn draw_best(&mut self, rng: &mut Rng) -> usize {
        let least = self.demerits.iter().copied().fold(Demerit::MAX, Demerit::min);
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

impl Row {
    /// Looks for the least demerit and for those that have it.
    #[inline]
    fn find_ties(&mut self) {
        let least = self.demerits.iter().copied().fold(i32::MAX, i32::min);
        self.least = least;
        self.ties.clear();
        self.ties.extend(self.demerits.chunks(64).map(|part| equal(part, least)));
        self.count = self.ties.iter().map(|word| word.count_ones()).sum();
    }

    /// The place of tie number `number`.
    #[inline]
    fn tie(&self, mut number: u32) -> u16 {
        for (first, &word) in (0..).step_by(64).zip(&self.ties) {
            let mut left = word;
            while left != 0 {
                if number == 0 {
                    return first + left.trailing_zeros() as u16;
                }
                number -= 1;
                left &= left - 1;
            }
        }
        unreachable!("there are fewer ties")
    }
}

/// Which of up to 64 demerits are `least`: a bit each.
#[inline]
fn equal(demerits: &[i32], least: i32) -> u64 {
    let mut same = [0; 64];
    for (same, demerit) in same.iter_mut().zip(demerits) {
        *same = u8::from(*demerit == least);
    }
    // The lowest bits of eight bytes, gathered in the highest byte of a product.
    let product = |bytes: [u8; 8]| u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080);
    let gathered = |bytes: &[u8]| bytes.try_into().map_or(0, |bytes| product(bytes) >> 56);
    let eights = same.chunks_exact(8).take(demerits.len().div_ceil(8));
    eights.zip((0..).step_by(8)).map(|(bytes, shift)| gathered(bytes) << shift).fold(0, |all, part| all | part)
}

/// The known fill of a buffer in the form of a row: doubled.
#[inline]
fn known(depth: u32, capacity: u32, precision: Option<u32>) -> i32 {
    let known = precision.map_or(depth, |bits| part(depth, capacity, bits));
    (known.min(DEEPEST) << 1) as i32
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
        // The given packets leave no room for another packet of five flits, so the next one takes the shortest wait.
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

    #[test]
    fn a_row_gives_what_the_outputs_one_by_one_give() {
        let mut draw = Rng::new(3, Stream::Pattern, 0);
        for round in 0..3000 {
            let (sequential, busy) = (round % 3 != 0, if round % 2 == 0 { Busy::Last } else { Busy::Ignored });
            let precision = [None, Some(0), Some(2)][round / 6 % 3];
            let (ports, first, capacity, now) = (1 + draw.below(70), draw.below(3) as u16, 4 + draw.below(20), 9);
            let vcs = 1 + round / 18 % 3;
            let channel = |_| OutputVc { credits: draw.below(capacity + 1) as i32 };
            let all: Vec<OutputVc> = (0..ports as usize * vcs).map(channel).collect();
            let emptiest = |of: &[OutputVc]| OutputVc { credits: of.iter().map(|of| of.credits).max().unwrap() };
            let channels: Vec<OutputVc> = all.chunks(vcs).map(emptiest).collect();
            let ready: Vec<Tick> = (0..ports).map(|_| now - 2 + draw.below(4)).collect();
            let row = Outputs { channels: &all, vcs, ready: &ready, now, capacity };
            let (mut one_by_one, mut in_row, mut in_numbers) = (Vec::new(), Vec::new(), Vec::new());
            let rule = || (Allocator::new(sequential, precision, busy), Rng::new(round as u64, Stream::Router, 0));
            let ((mut single, mut single_rng), (mut rows, mut row_rng)) = (rule(), rule());
            let (mut numbers, mut number_rng) = rule();
            [&mut single, &mut rows, &mut numbers].into_iter().for_each(Allocator::begin);
            // Heads of two sizes, and one that has an output already.
            for (head, &phits) in [1, 1, 3, 3, 3, 1, 1, 1, 1].iter().enumerate() {
                if head == 1 {
                    [&mut single, &mut rows, &mut numbers].into_iter().for_each(|rule| rule.give(first, 2));
                }
                let outputs = (first..).zip(channels.iter().zip(&ready)).map(|(port, (channel, ready))| Output {
                    hop: Hop { port, vc: 0, vcs: 1 },
                    depth: capacity - channel.credits as u32,
                    capacity,
                    ready: *ready <= now && channel.credits >= phits as i32,
                });
                let port = single.choose(outputs, phits, &mut single_rng).port;
                single.give(port, phits);
                one_by_one.push(port);
                if !rows.has_row(phits) {
                    rows.lay_out(first, row, phits);
                }
                let port = rows.choose_in_row(&mut row_rng);
                rows.give(port, phits);
                in_row.push(port);
                if !numbers.has_row(phits) {
                    let each = channels.iter().zip(&ready).map(|(channel, ready)| {
                        (capacity - channel.credits as u32, *ready <= now && channel.credits >= phits as i32)
                    });
                    numbers.lay_out_each((first, phits), (capacity, phits), each);
                }
                let port = numbers.choose_in_row(&mut number_rng);
                numbers.give(port, phits);
                in_numbers.push(port);
            }
            assert_eq!([&in_row, &in_numbers], [&one_by_one; 2], "round {round}: {row:?}");
            let random = single_rng.bits();
            assert_eq!([row_rng.bits(), number_rng.bits()], [random; 2], "as many random numbers");
        }
    }
}
