//! Programs that are never stored: each operation is generated when it is due, and forgotten when it has ended.

use crate::cache::fetch;
use crate::collective::{Pair, Part};
use crate::patience::poll;
use crate::plan::{Exchange, Executable, Phase, Plan, Released};
use crate::program::{Action, Operation, Transfer};
use crate::ranks::Ranks;
use crate::sample::spread;
use crate::script::{Communicator, Point, Script, Scripts, Task, Work};
use smallvec::{Array, SmallVec};
use std::sync::Arc;

/// Running scripts, for all ranks or some of them.
#[derive(Debug)]
pub struct Generated {
    scripts: Arc<Scripts>,
    ranks: Ranks,
    cpus: u8,
    /// State by place of the rank. For a rank that is [`Paired`], the state is up to date only there.
    state: Vec<State>,
    /// By place of the rank.
    pairs: Vec<Option<Paired>>,
    /// Number of ranks that are paired.
    paired: usize,
    /// By place of the rank, if phases are recorded: when the rank ended each of its parts.
    ends: Option<Vec<Vec<u64>>>,
}

impl Executable for Scripts {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn operations(&self) -> Option<u64> {
        None
    }

    fn plan(self: Arc<Self>, ranks: Ranks) -> Box<dyn Plan> {
        Box::new(Generated::of(self, ranks))
    }

    fn bytes(&self) -> usize {
        self.parts() * size_of::<(Arc<dyn Script>, u32)>()
    }

    fn state(&self) -> f64 {
        let ranks = f64::from(self.ranks);
        let some = spread(SAMPLED, self.ranks);
        // Consecutive repetitions of a script are one part.
        let mut parts: Vec<&Arc<dyn Script>> =
            (0..).map_while(|number| self.part(number)).map(|part| &part.0).collect();
        parts.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let of_part = |script: &&Arc<dyn Script>| some.iter().map(|&rank| begun(&***script, rank)).sum::<f64>();
        let most = parts.iter().map(of_part).fold(0.0, f64::max);
        ranks * size_of::<(State, Option<Paired>)>() as f64 + most * ranks / some.len().max(1) as f64
    }

    fn every_size(&self, fits: &dyn Fn(u64) -> bool) -> bool {
        let mut budget = LOOKED_AT;
        let mut parts: Vec<&Arc<dyn Script>> =
            (0..).map_while(|number| self.part(number)).map(|part| &part.0).collect();
        parts.dedup_by(|a, b| Arc::ptr_eq(a, b));
        parts.iter().all(|script| script.every_size(self.ranks, fits, &mut budget))
    }
}

/// Most messages that are checked to learn whether all sizes fit. To generate more of them would take longer than it
/// saves.
const LOOKED_AT: usize = 1 << 18;

/// Measured bytes of a released operation: its number here, its event at the host, its message or receive. The lists
/// double as they grow.
const OPERATION: f64 = 220.0;

/// Number of ranks, or lanes, whose state is counted as a sample.
const SAMPLED: u32 = 16;

/// Bytes of a rank's streams, including the operations that the first task of each releases at once.
fn begun(script: &dyn Script, rank: u32) -> f64 {
    let of_task = |task: Task| {
        poll();
        let lanes = task.work.lanes();
        let some = spread(SAMPLED, lanes);
        let messages =
            |&lane: &u32| task.work.step(lane, 0).map_or(0, |(step, _)| step.sends.len() + step.receives.len()) as f64;
        let operations = some.iter().map(messages).sum::<f64>() / some.len().max(1) as f64;
        f64::from(lanes) * (size_of::<Lane>() as f64 + operations * OPERATION)
    };
    let stream = |stream| size_of::<Stream>() as f64 + script.task(rank, stream, 0).map_or(0.0, of_task);
    (0..script.streams()).map(stream).sum()
}

/// The position of a rank. It needs no separate memory if the rank has one stream of one lane, as most have.
#[derive(Debug, Default)]
struct State {
    /// Number of the current script; at the end, the number of scripts.
    part: u32,
    streams: SmallVec<[Stream; 1]>,
    /// When the part before it ended.
    start: u64,
    numbers: Numbers,
}

/// The operations of a rank that have been released.
#[derive(Debug, Default)]
struct Numbers {
    /// Operations by number.
    operations: SmallVec<[Running; 2]>,
    /// Numbers of operations that have ended.
    free: SmallVec<[u32; 4]>,
}

/// The state of a released operation.
#[derive(Debug, Clone, Copy)]
struct Running {
    stream: u32,
    lane: u32,
    cpu: u8,
    receives: bool,
}

/// The changing state of a rank that only does one step after another, each with one message in both directions. A send
/// has ended when it has been performed, so only the receive is open.
#[derive(Debug)]
struct Paired {
    communicator: Arc<Communicator>,
    member: u32,
    /// The next step.
    next: u32,
    tag: u32,
    /// The number of the open receive, and the number of the next receive.
    awaited: u32,
    spare: u32,
}

impl Paired {
    /// See [`Plan::exchange`].
    #[inline]
    fn exchange(&mut self, rank: u32, eager: u64) -> Option<Exchange> {
        let Pair { send, receive, .. } = self.communicator.pair(self.member, 0, self.next)?;
        if send.peer == rank || receive.peer == rank || send.bytes > eager {
            return None;
        }
        self.next += 1;
        // The send takes the number of the ended receive, and the next receive the number of the operation before.
        std::mem::swap(&mut self.awaited, &mut self.spare);
        let transfer = |part: Part| Transfer { bytes: part.bytes, peer: part.peer, tag: self.tag };
        Some(Exchange { sent: self.spare, send: transfer(send), awaited: self.awaited, receive: transfer(receive) })
    }
}

/// The position of a stream.
#[derive(Debug, Default)]
struct Stream {
    /// Number of ended tasks.
    ended: u32,
    /// When the last of them ended, or will end,
    time: u64,
    /// and also all of them from this one on; earlier tasks ended before.
    since: u32,
    /// The task that runs, or waits for others.
    task: Option<Task>,
    runs: bool,
    /// True if there is no further task.
    is_over: bool,
    lanes: SmallVec<[Lane; 1]>,
    lanes_left: u32,
}

/// The position of a lane.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    /// The next step.
    next: u32,
    /// Number of operations of the current step that have not ended.
    left: u32,
    /// Number of receives among them.
    receives: u32,
    /// Time of the calculation after the receives.
    calc: u64,
    /// When the ended operations of the step ended, or will end; and the receives.
    time: u64,
    received: u64,
}

impl Generated {
    /// Scripts before they begin.
    pub fn new(scripts: Scripts) -> Self {
        let ranks = Ranks::all(scripts.ranks);
        Self::of(Arc::new(scripts), ranks)
    }

    /// The part of these ranks.
    pub fn of(scripts: Arc<Scripts>, ranks: Ranks) -> Self {
        let state = (0..ranks.len()).map(|_| State::default()).collect();
        let pairs = (0..ranks.len()).map(|_| None).collect();
        Self { cpus: scripts.cpus(), scripts, ranks, state, pairs, paired: 0, ends: None }
    }

    /// With one CPU, the time at which it is free determines when all operations have ended that an operation waited
    /// for.
    fn settle(&self, released: &mut [Released]) {
        if self.cpus == 1 {
            released.iter_mut().for_each(|released| released.earliest = 0);
        }
    }

    /// Writes back the state of the rank at `place` that changed while it was [`Paired`].
    #[cold]
    fn end_pairs(&mut self, place: usize) {
        if let Some(paired) = self.pairs[place].take() {
            self.paired -= 1;
            self.state[place].end_pairs(&paired);
        }
    }

    /// Starts everything that a rank can start.
    fn advance(&mut self, rank: u32, released: &mut Vec<Released>) {
        let Self { scripts, ranks, state, ends, .. } = self;
        let place = ranks.place(rank);
        let state = &mut state[place];
        while let Some((script, tag)) = scripts.part(state.part) {
            // A rank may have nothing to do in any number of parts.
            poll();
            if state.streams.is_empty() {
                state.streams.resize_with(script.streams() as usize, Stream::default);
                let start = state.start;
                state.streams.iter_mut().for_each(|stream| stream.time = start);
            }
            while (0..state.streams.len()).any(|stream| state.begin(rank, stream, &**script, *tag, released)) {}
            if !state.streams.iter().all(|stream| stream.is_over) {
                return;
            }
            state.start = state.streams.iter().map(|stream| stream.time).max().unwrap_or(state.start);
            if let Some(ends) = ends {
                ends[place].push(state.start);
            }
            state.streams.clear();
            state.part += 1;
        }
    }
}

impl State {
    /// Starts the next task of a stream. True if the task has ended at once, or if the stream has.
    fn begin(&mut self, rank: u32, which: usize, script: &dyn Script, tag: u32, released: &mut Vec<Released>) -> bool {
        let stream = &mut self.streams[which];
        if stream.is_over || stream.runs {
            return false;
        }
        if stream.task.is_none() {
            stream.task = script.task(rank, which as u32, stream.ended);
            stream.is_over = stream.task.is_none();
        }
        let stream = &self.streams[which];
        let Some(task) = &stream.task else { return true };
        let there = |point: &Point| self.streams[point.stream as usize].ended >= point.tasks;
        if !task.after.iter().all(there) {
            return false;
        }
        let end = |point: &Point| {
            let other = &self.streams[point.stream as usize];
            // Tasks before that have ended earlier.
            if point.tasks > other.since { other.time } else { 0 }
        };
        let start = task.after.iter().map(end).fold(stream.time, u64::max);
        let (lanes, calc) = (task.work.lanes(), task.work.start());
        let stream = &mut self.streams[which];
        stream.runs = true;
        stream.lanes_left = lanes;
        stream.lanes.clear();
        stream.lanes.resize(lanes as usize, Lane { calc, time: start, received: start, ..Lane::default() });
        let Self { streams, numbers, .. } = self;
        for lane in 0..lanes {
            poll();
            streams[which].go_on((rank, which as u32, lane), tag, numbers, released);
        }
        self.end_task(which)
    }

    /// True if all lanes of the task have ended.
    fn end_task(&mut self, which: usize) -> bool {
        let stream = &mut self.streams[which];
        if stream.lanes_left > 0 {
            return false;
        }
        let time = stream.lanes.iter().map(|lane| lane.time).max().unwrap_or(0);
        if time > stream.time {
            (stream.time, stream.since) = (time, stream.ended);
        }
        stream.ended += 1;
        stream.task = None;
        stream.runs = false;
        true
    }

    /// See [`Plan::exchange`]. It changes what [`Self::done`] would change, for the receive and then for the send.
    #[inline]
    fn exchange(&mut self, (rank, number): (u32, u32), time: u64, tag: u32, eager: u64) -> Option<Exchange> {
        let Self { streams, numbers: Numbers { operations, free }, .. } = self;
        let Running { stream, lane, receives, .. } = operations[number as usize];
        let Stream { task, lanes, .. } = &mut streams[stream as usize];
        let (task, own) = (task.as_ref()?, &mut lanes[lane as usize]);
        if own.left != 1 || !receives || own.calc > 0 {
            return None;
        }
        let pair = task.work.pair(lane, own.next)?;
        if pair.send.peer == rank || pair.receive.peer == rank || pair.send.bytes > eager {
            return None;
        }
        // The send takes the number of the ended receive, and the next receive the number of the operation before.
        let awaited = free.last_mut()?;
        let exchange = {
            let tag = tag + task.tag + lane;
            let transfer = |part: Part| Transfer { bytes: part.bytes, peer: part.peer, tag };
            let (send, receive) = (transfer(pair.send), transfer(pair.receive));
            Exchange { sent: number, send, awaited: std::mem::replace(awaited, number), receive }
        };
        operations[number as usize] = Running { stream, lane, cpu: task.cpu, receives: false };
        operations[exchange.awaited as usize] = Running { stream, lane, cpu: task.cpu, receives: true };
        own.time = own.time.max(time);
        own.received = own.time;
        own.next += 1;
        (own.left, own.receives) = (1, 1);
        Some(exchange)
    }

    /// The state that the next exchange depends on, if there is only one stream and one lane.
    fn paired(&self, tag: u32) -> Option<Paired> {
        let Self { streams, numbers: Numbers { operations, free }, .. } = self;
        let [Stream { task: Some(task), lanes, .. }] = &streams[..] else { return None };
        let ([lane], Work::Collective(communicator, member)) = (&lanes[..], &task.work) else { return None };
        let spare = *free.last()?;
        let awaited = (0..operations.len() as u32).find(|number| !free.contains(number))?;
        let (communicator, member, next, tag) = (communicator.clone(), *member, lane.next, tag + task.tag);
        Some(Paired { communicator, member, next, tag, awaited, spare })
    }

    /// Writes back the changed state. Times are those of the operation that ended last, which is reported next.
    fn end_pairs(&mut self, &Paired { next, awaited, spare, .. }: &Paired) {
        let Self { streams, numbers: Numbers { operations, free }, .. } = self;
        for stream in streams {
            stream.lanes.iter_mut().for_each(|lane| lane.next = next);
        }
        (operations[awaited as usize].receives, operations[spare as usize].receives) = (true, false);
        free.last_mut().into_iter().for_each(|free| *free = spare);
    }

    /// An operation ends at `time`. True if its task ends, too.
    fn done(&mut self, rank: u32, number: u32, time: u64, tag: u32, released: &mut Vec<Released>) -> bool {
        let Self { streams, numbers, .. } = self;
        let Running { stream: which, lane, receives, .. } = numbers.operations[number as usize];
        numbers.free.push(number);
        let stream = &mut streams[which as usize];
        let own = &mut stream.lanes[lane as usize];
        own.left -= 1;
        own.time = own.time.max(time);
        if receives {
            own.receives -= 1;
            own.received = own.received.max(time);
            // Received data is combined as soon as all of it is there, even if sends are still open.
            if own.receives == 0 && own.calc > 0 {
                let (received, calc) = (own.received, std::mem::take(&mut own.calc));
                own.left += 1;
                let cpu = stream.task.as_ref().map_or(0, |task| task.cpu);
                numbers.release((rank, which, lane), Operation::calc(calc).on(cpu), received, released);
                return false;
            }
        }
        if own.left > 0 {
            return false;
        }
        stream.go_on((rank, which, lane), tag, numbers, released);
        stream.lanes_left == 0 && self.end_task(which as usize)
    }
}

impl Stream {
    /// Releases the next operations of a lane whose operations have all ended. If there are none, the lane ends.
    /// `place` is rank, stream and lane.
    fn go_on(&mut self, place: (u32, u32, u32), tag: u32, numbers: &mut Numbers, released: &mut Vec<Released>) {
        let (.., lane) = place;
        let Some(task) = &self.task else { return };
        let (own, cpu, tag) = (&mut self.lanes[lane as usize], task.cpu, tag + task.tag + lane);
        while own.left == 0 {
            let (time, calc) = (own.time, std::mem::take(&mut own.calc));
            if calc > 0 {
                own.left = 1;
                return numbers.release(place, Operation::calc(calc).on(cpu), time, released);
            }
            let Some((step, calc)) = task.work.members_step(lane, own.next) else {
                self.lanes_left -= 1;
                return;
            };
            own.next += 1;
            own.receives = step.receives.len() as u32;
            own.left = own.receives + step.sends.len() as u32;
            own.received = time;
            own.calc = calc;
            for part in &step.sends {
                let send = Operation::send(part.bytes, task.work.rank_of(part.peer), tag).on(cpu);
                numbers.release(place, send, time, released);
            }
            for part in &step.receives {
                let recv = Operation::recv(part.bytes, task.work.rank_of(part.peer), tag).on(cpu);
                numbers.release(place, recv, time, released);
            }
        }
    }
}

impl Numbers {
    #[inline]
    fn release(
        &mut self,
        (rank, stream, lane): (u32, u32, u32),
        operation: Operation,
        earliest: u64,
        released: &mut Vec<Released>,
    ) {
        let receives = matches!(operation.action, Action::Recv(_));
        let made = Running { stream, lane, cpu: operation.cpu, receives };
        let number = match self.free.pop() {
            Some(number) => {
                self.operations[number as usize] = made;
                number
            }
            None => {
                self.operations.push(made);
                self.operations.len() as u32 - 1
            }
        };
        released.push(Released { rank, number, operation, earliest });
    }
}

impl Plan for Generated {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn cpus(&self) -> usize {
        usize::from(self.cpus)
    }

    fn nics(&self) -> usize {
        1
    }

    fn begin(&mut self, rank: u32, released: &mut Vec<Released>) {
        let before = released.len();
        self.advance(rank, released);
        self.settle(&mut released[before..]);
    }

    fn cpu_of(&self, rank: u32, number: u32) -> u8 {
        self.state[self.ranks.place(rank)].numbers.operations[number as usize].cpu
    }

    fn hears_of_starts(&self) -> bool {
        false
    }

    fn started(&mut self, _rank: u32, _number: u32, _time: u64, _released: &mut Vec<Released>) {}

    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>) {
        let place = self.ranks.place(rank);
        if self.pairs[place].is_some() {
            self.end_pairs(place);
        }
        let state = &mut self.state[place];
        let tag = self.scripts.part(state.part).map_or(0, |(_, tag)| *tag);
        let before = released.len();
        if state.done(rank, number, time, tag, released) {
            self.advance(rank, released);
        }
        self.settle(&mut released[before..]);
    }

    #[inline]
    fn exchange(&mut self, (rank, place): (u32, usize), number: u32, time: u64, eager: u64) -> Option<Exchange> {
        if let Some(paired) = &mut self.pairs[place] {
            debug_assert_eq!(number, paired.awaited);
            return paired.exchange(rank, eager);
        }
        // With several CPUs it matters when, and on which CPU, the operations ended that an operation waits for.
        if self.cpus > 1 {
            return None;
        }
        let state = &mut self.state[place];
        let (_, tag) = self.scripts.part(state.part)?;
        let exchange = state.exchange((rank, number), time, *tag, eager)?;
        self.pairs[place] = state.paired(*tag);
        self.paired += usize::from(self.pairs[place].is_some());
        Some(exchange)
    }

    fn unperformed(&self, rank: u32) -> Vec<u32> {
        let place = self.ranks.place(rank);
        if let Some(paired) = &self.pairs[place] {
            return vec![paired.awaited];
        }
        let Numbers { operations, free } = &self.state[place].numbers;
        (0..operations.len() as u32).filter(|number| !free.contains(number)).collect()
    }

    fn note_phases(&mut self) {
        self.ends = Some(vec![vec![]; self.ranks.len()]);
    }

    fn phases(&self, rank: u32) -> Vec<Phase> {
        let ends = self.ends.as_ref().map_or(&[][..], |ends| &ends[self.ranks.place(rank)]);
        let mut start = 0;
        let phase = |(number, &end): (u32, &u64)| {
            let name = self.scripts.part(number).map_or("", |(script, _)| script.name());
            Phase { name, start: std::mem::replace(&mut start, end), end }
        };
        (0..).zip(ends).map(phase).collect()
    }

    fn bytes(&self) -> usize {
        let Self { scripts: _, ranks: _, cpus: _, state, pairs, paired: _, ends } = self;
        let of = |state: &State| {
            let State { part: _, start: _, streams, numbers: Numbers { operations, free } } = state;
            let lanes = |stream: &Stream| beyond(&stream.lanes);
            streams.iter().map(lanes).sum::<usize>() + beyond(streams) + beyond(operations) + beyond(free)
        };
        let noted = ends.iter().flatten().map(|ends| ends.capacity() * size_of::<u64>()).sum::<usize>();
        let pairs = pairs.capacity() * size_of::<Option<Paired>>();
        state.capacity() * size_of::<State>() + pairs + state.iter().map(of).sum::<usize>() + noted
    }

    fn fetch(&self) {
        fetch(&self.pairs);
        if 2 * self.paired < self.pairs.len() {
            fetch(&self.state);
        }
    }
}

/// Bytes of a list that exceeds its inline memory.
fn beyond<A: Array>(list: &SmallVec<A>) -> usize {
    if list.spilled() { list.capacity() * size_of::<A::Item>() } else { 0 }
}
