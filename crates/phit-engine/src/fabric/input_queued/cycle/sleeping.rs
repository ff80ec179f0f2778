//! Heads that wait at their output, where the arbiter chooses among them.
//!
//! A head that cannot move sleeps at its output. It sleeps while its virtual channel has no room, and after it has lost
//! an allocation. If other heads sleep at the output, it also sleeps while the output is busy or its buffer is full.
//!
//! An output has a turn when it becomes free, when its buffer gets room, and when credits arrive. In its turn the
//! output looks at the heads that sleep there:
//!
//! * If one input port alone has heads there, these are looked at as if they had just come ([`Partition::wake`]).
//! * If the allocator goes by turns, and nobody there wants another output of the router in this tick, only the input
//!   whose turn it is requests ([`Partition::serve_first`]). The others could only lose.
//! * If not, all who can go request ([`Partition::serve_all`]).
//!
//! A head that loses sleeps on. No event is filed for it, and nothing looks at it before the next turn. So the work of
//! a grant does not grow with the number of heads that wait for the output.

use crate::engine::NONE;
use crate::engine::bits::bit;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::state::records::{Input, Output, Queue};
use crate::fabric::seams::allocator::Request;
use crate::packet::Packet;

impl Partition {
    /// The first queue of the router of `input`, port `port` of the partition.
    #[inline(always)]
    fn first_queue(&self, port: u32, input: &Input) -> u32 {
        self.inputs[port - u32::from(input.number)].queues
    }

    /// The head of `queue` of input `port` sleeps at `output`.
    #[inline(always)]
    pub(crate) fn sleep_at_output(&mut self, port: u32, queue: u32, output: u32) {
        let (input, &Queue { vc, vcs, .. }) = (&self.inputs[port], &self.queues[queue]);
        let (lane, number) = (queue - self.first_queue(port, input), input.number);
        self.at_outputs.enter((lane, number), vc..vc + vcs, &mut self.tables.outputs[output], output);
    }

    /// The head of `queue` of input `port` sleeps at `output` no more, if it did.
    #[inline(always)]
    pub(crate) fn leave_output(&mut self, port: u32, queue: u32, output: u32) {
        if self.tables.outputs[output].waiters == 0 {
            return;
        }
        let input = &self.inputs[port];
        let first = self.first_queue(port, input);
        let own = input.queues - first..input.queues + u32::from(input.count) - first;
        self.at_outputs.leave((queue - first, input.number), own, &mut self.tables.outputs[output], output);
    }

    /// `output` has been granted: it is its turn again when it is free, if somebody sleeps there.
    #[inline(always)]
    pub(crate) fn call_output_when_free(&mut self, output: u32) {
        let &Output { waiters, busy, .. } = &self.tables.outputs[output];
        if waiters != 0 {
            self.wake_output_at(output, busy);
        }
    }

    /// True if the head of `queue` of input `port` sleeps.
    #[inline(always)]
    pub(crate) fn sleeps_at_output(&self, port: u32, queue: u32) -> bool {
        let output = self.queues[queue].output;
        output != NONE && self.at_outputs.holds(output, queue - self.first_queue(port, &self.inputs[port]))
    }

    /// It may be the turn of `output`. If the heads of one input port alone sleep there, they are looked at.
    #[inline(always)]
    pub(crate) fn call_output<K: Kernel>(&mut self, output: u32) {
        let waiters = self.tables.outputs[output].waiters;
        if waiters == 0 {
            return;
        }
        let busy = self.tables.outputs[output].busy;
        if busy > self.agenda.next_look() {
            self.wake_output_at(output, busy);
        } else if waiters.is_power_of_two() {
            self.rouse_output::<K>(output);
        } else {
            self.at_outputs.call(output);
        }
    }

    /// Everybody who sleeps at `output` is looked at.
    #[inline(always)]
    pub(crate) fn rouse_output<K: Kernel>(&mut self, output: u32) {
        let place = self.at_outputs.place(output);
        if place == NONE {
            return;
        }
        let first = self.inputs[self.tables.first_port[self.tables.outputs[output].router]].queues;
        self.at_outputs.free_set(&mut self.tables.outputs[output], output);
        for word in 0..self.at_outputs.words() {
            let mut bits = self.at_outputs.take_word(place, word);
            while bits != 0 {
                let queue = first + word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.offer::<K>(self.queues[queue].port, queue);
            }
        }
    }

    /// The head of `queue` has asked for `output` and lost: it sleeps there, unless its input port is busy now.
    #[inline(always)]
    pub(crate) fn lose_at_output<K: Kernel>(&mut self, loser: &Request) {
        let &Request { queue, port, output, .. } = loser;
        if self.inputs[port].busy > self.agenda.next_look() {
            self.leave_output(port, queue, output);
            return self.offer::<K>(port, queue);
        }
        self.sleep_at_output(port, queue, output);
        let busy = self.tables.outputs[output].busy;
        if busy > self.agenda.next_look() {
            self.wake_output_at(output, busy);
        } else {
            self.at_outputs.call(output);
        }
    }

    /// Heads that sleep at outputs whose turn it is request these outputs, if they can go. `requests` is in the order
    /// of queues, before and afterwards.
    #[inline(always)]
    pub(crate) fn serve_outputs<K: Kernel>(&mut self, requests: &mut Vec<Request>) {
        if self.at_outputs.has_due() {
            self.serve_due::<K>(requests);
        }
    }

    #[inline(never)]
    fn serve_due<K: Kernel>(&mut self, requests: &mut Vec<Request>) {
        let serving = self.at_outputs.take_due();
        let mut served = std::mem::take(self.at_outputs.lists().1);
        let mut awake = &requests[..];
        let mut rest = &serving[..];
        while let Some(&first) = rest.first() {
            let end = self.tables.first_port[self.tables.outputs[first].router + 1];
            let (due, others) = rest.split_at(rest.iter().take_while(|output| **output < end).count());
            self.serve_router::<K>(due, &mut awake, &mut served);
            rest = others;
        }
        self.at_outputs.served(serving);
        merge(requests, &served);
        served.clear();
        *self.at_outputs.lists().1 = served;
        self.scratch.contended.sort();
    }

    /// The turn of the outputs `due` of one router. `awake`: the requests of heads that do not sleep, of this and of
    /// later routers.
    #[inline(always)]
    fn serve_router<K: Kernel>(&mut self, due: &[u32], awake: &mut &[Request], served: &mut Vec<Request>) {
        let mut open = std::mem::take(self.at_outputs.lists().0);
        // Inputs with heads at one of the open outputs, and those with heads at several, or that request already.
        let (mut known, mut shared) = (0u64, 0u64);
        for &output in due {
            if self.is_open::<K>(output) {
                let waiters = self.tables.outputs[output].waiters;
                (known, shared) = (known | waiters, shared | known & waiters);
                open.push(output);
            }
        }
        if let Some(&output) = open.first() {
            let router = self.tables.outputs[output].router;
            let before = awake.iter().take_while(|request| request.router < router).count();
            let own = awake[before..].iter().take_while(|request| request.router == router).count();
            let own = &awake[before..][..own];
            *awake = &awake[before..];
            let wanted = |output: u32| own.iter().any(|request| request.output == output);
            own.iter().for_each(|request| shared |= bit(request.input.into()));
            let from = served.len();
            let (mut contends, mut parts) = (false, 0);
            self.at_outputs.all().clear();
            for &output in &open {
                let place = served.len();
                let waiters = self.tables.outputs[output].waiters;
                let apart = (self.at_outputs.lone() || waiters & shared == 0) && !wanted(output);
                match self.allocator.turn_at_output(output).filter(|_| apart) {
                    Some(turn) => {
                        self.serve_first::<K>(output, turn.into(), served);
                        parts += 1;
                        contends |= served.len() > place + 1;
                    }
                    None => self.at_outputs.add_all(output),
                }
            }
            if !self.at_outputs.all().is_empty() {
                self.serve_all::<K>(router, served);
                contends = true;
                parts += 1;
            }
            if parts > 1 {
                served[from..].sort_unstable_by_key(|request| request.queue);
            }
            if contends && served.len() > from {
                self.scratch.contended.push(router);
            }
        }
        open.clear();
        *self.at_outputs.lists().0 = open;
    }

    /// True if some head that sleeps at `output` might go in this tick, by the state of the output alone. If only time
    /// has to pass, the output's next turn is filed.
    #[inline(always)]
    fn is_open<K: Kernel>(&mut self, output: u32) -> bool {
        let &Output { waiters, busy, vc, vcs, .. } = &self.tables.outputs[output];
        if waiters == 0 {
            return false;
        }
        if busy > self.now {
            self.wake_output_at(output, busy);
            return false;
        }
        let size = if K::SIZED || self.setup.settings.alike { self.setup.settings.size } else { 1 };
        if let Some(room) = self.full_until::<K>(output, size) {
            self.wake_output_at(output, room);
            return false;
        }
        (vc..vc + u32::from(vcs)).any(|channel| self.tables.channels[channel].credits >= size as i32)
    }

    /// The turn of `output`, if only one of its inputs matters: the first that can go, from number `turn` on in cyclic
    /// order. Where ranks differ, transit traffic goes before injected traffic.
    #[inline(always)]
    fn serve_first<K: Kernel>(&mut self, output: u32, turn: u32, served: &mut Vec<Request>) {
        let router = self.tables.outputs[output].router;
        let (first_port, end) = (self.tables.first_port[router], self.tables.first_port[router + 1]);
        let first = self.inputs[first_port].queues;
        let start = if first_port + turn < end { self.inputs[first_port + turn].queues - first } else { 0 };
        let ranks = self.setup.settings.after_transit > 0;
        for injected in if ranks { 0..2 } else { 0..1 } {
            let right = |class: u8| !ranks || (class < self.setup.settings.after_transit) == (injected == 1);
            let right = [right(0), right(1)];
            if self.serve_between::<K>(output, start..64 * self.at_outputs.words(), right, served)
                || self.serve_between::<K>(output, 0..start, right, served)
            {
                return;
            }
        }
    }

    /// Finds the first input port with a head that sleeps at `output` in a queue of `range`, and can go. All such heads
    /// of this port request the output. Returns false if there is none. `right`: whether injected heads may go, and
    /// others.
    #[inline(always)]
    fn serve_between<K: Kernel>(
        &mut self,
        output: u32,
        range: std::ops::Range<u32>,
        right: [bool; 2],
        served: &mut Vec<Request>,
    ) -> bool {
        let place = self.at_outputs.place(output);
        let first = self.inputs[self.tables.first_port[self.tables.outputs[output].router]].queues;
        let mut chosen = NONE;
        for word in range.start / 64..range.end.div_ceil(64) {
            let mut bits = self.at_outputs.word(place, word);
            if word == range.start / 64 {
                bits &= u64::MAX << (range.start % 64);
            }
            if word == range.end / 64 {
                bits &= !(u64::MAX << (range.end % 64));
            }
            while bits != 0 {
                let queue = first + word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let port = self.queues[queue].port;
                if chosen != NONE && port != chosen {
                    return true;
                }
                if right[usize::from(self.inputs[port].class > 0)]
                    && self.request_asleep::<K>(served, queue, port, output)
                {
                    chosen = port;
                }
            }
        }
        chosen != NONE
    }

    /// The turn of several outputs of `router`, whose sleeping heads have been added up: every head that can go
    /// requests.
    #[inline(always)]
    fn serve_all<K: Kernel>(&mut self, router: u32, served: &mut Vec<Request>) {
        let first = self.inputs[self.tables.first_port[router]].queues;
        for word in 0..self.at_outputs.all().len() {
            let mut bits = self.at_outputs.all()[word];
            while bits != 0 {
                let queue = first + word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let &Queue { port, output, .. } = &self.queues[queue];
                self.request_asleep::<K>(served, queue, port, output);
            }
        }
    }

    /// The head of `queue`, which sleeps at `output`, requests it if it can go. If its input port is busy, the output
    /// has another turn when the port is free.
    #[inline(always)]
    fn request_asleep<K: Kernel>(&mut self, requests: &mut Vec<Request>, queue: u32, port: u32, output: u32) -> bool {
        let input = &self.inputs[port];
        if input.busy > self.now {
            self.wait_for_input(port, queue);
            return false;
        }
        let &Queue { first, vc, vcs, .. } = &self.queues[queue];
        let (size, birth) = match K::SIZED || self.setup.settings.alike {
            true => (self.setup.settings.size, 0),
            false => {
                let &Packet { size, birth, .. } = &self.packets[first];
                let size = u32::from(size);
                if let Some(room) = self.full_until::<K>(output, size) {
                    self.wake_output_at(output, room);
                    return false;
                }
                (size, if K::EXTRAS && self.setup.settings.ranked.0 { self.rank(first) } else { birth })
            }
        };
        let channel = self.tables.outputs[output].vc;
        let Some(vc) = self.roomiest::<K>(channel, (vc, vcs), size) else { return false };
        self.request::<K>(requests, (queue, port, output), (vc, size, birth));
        true
    }
}

/// Puts `more` among `requests`, both in the order of queues.
#[inline(always)]
fn merge(requests: &mut Vec<Request>, more: &[Request]) {
    let Some(filler) = more.first() else { return };
    let (mut left, mut right) = (requests.len(), more.len());
    requests.resize(left + right, *filler);
    let mut to = left + right;
    while right > 0 {
        to -= 1;
        if left > 0 && requests[left - 1].queue > more[right - 1].queue {
            left -= 1;
            requests[to] = requests[left];
        } else {
            right -= 1;
            requests[to] = more[right];
        }
    }
}
