//! Scripts: programs that need not be stored, because each task of a rank can be computed.
//!
//! A rank has one or several *streams*, each a sequence of *tasks*: a calculation, messages, or its part of a
//! collective. A task begins when the task before it in its stream has ended, and also given numbers of tasks in other
//! streams. A task is computed from the numbers of its rank, its stream and itself. [`crate::generated`] makes it when
//! it is due; [`Scripts::store`] makes all of them.

use crate::collective::{Pair, Step, Steps};
use crate::patience::poll;
use crate::program::{Operation, Program, RankProgram};
use std::fmt::Debug;
use std::sync::Arc;

/// The cost of a collective to its members besides its messages, in units of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Costs {
    /// Before the first step of a lane.
    pub start: u64,
    /// After each step whose messages a member waits for.
    pub step: u64,
    /// For each combined byte.
    pub combine: f64,
}

impl Costs {
    /// The cost of combining alone.
    pub fn combining(combine: f64) -> Self {
        Self { combine, ..Self::default() }
    }

    /// The time of the calculation after a step.
    pub(crate) fn after(&self, step: &Step) -> u64 {
        let fixed = if step.receives.is_empty() { 0 } else { self.step };
        match self.combine == 0.0 {
            true => fixed,
            false => fixed.saturating_add((step.reduced() as f64 * self.combine).round() as u64),
        }
    }

    /// True if there is no calculation after any step.
    pub(crate) fn is_free(&self) -> bool {
        self.step == 0 && self.combine == 0.0
    }
}

/// Ranks, in the order of their members, and the collective that they perform.
#[derive(Debug, Clone)]
pub struct Communicator {
    /// The ranks.
    pub ranks: Arc<[u32]>,
    /// The steps of the collective.
    pub steps: Arc<dyn Steps>,
    /// Its cost.
    pub costs: Costs,
}

impl Communicator {
    /// A member's step, if it is known to be a pair without a calculation after it. Peers are ranks.
    #[inline]
    pub(crate) fn pair(&self, member: u32, lane: u32, number: u32) -> Option<Pair> {
        if !self.costs.is_free() {
            return None;
        }
        let mut pair = self.steps.pair(member, lane, number)?;
        for part in [&mut pair.send, &mut pair.receive] {
            part.peer = self.ranks[part.peer as usize];
        }
        Some(pair)
    }
}

/// The work of a task.
#[derive(Debug, Clone)]
pub enum Work {
    /// Computes for this time, in units of time.
    Calc(u64),
    /// Sends and receives at once; peers are ranks.
    Exchange(Box<Step>),
    /// The part of this member in a collective.
    Collective(Arc<Communicator>, u32),
}

impl Work {
    /// No work.
    pub fn nothing() -> Self {
        Self::exchange(Step::default())
    }

    /// Messages that are sent and received at once.
    pub fn exchange(step: Step) -> Self {
        Self::Exchange(Box::new(step))
    }

    pub(crate) fn lanes(&self) -> u32 {
        match self {
            Self::Calc(_) | Self::Exchange(_) => 1,
            Self::Collective(communicator, _) => communicator.steps.lanes(),
        }
    }

    /// The calculation at the start of a lane.
    pub(crate) fn start(&self) -> u64 {
        match self {
            Self::Calc(time) => *time,
            Self::Exchange(_) => 0,
            Self::Collective(communicator, _) => communicator.costs.start,
        }
    }

    /// A step of a lane, whose peers are ranks, and the time of the calculation after its receives.
    pub(crate) fn step(&self, lane: u32, number: u32) -> Option<(Step, u64)> {
        let (mut step, time) = self.members_step(lane, number)?;
        step.sends.iter_mut().chain(&mut step.receives).for_each(|part| part.peer = self.rank_of(part.peer));
        Some((step, time))
    }

    /// [`Self::step`] with the peers as [`Self::rank_of`] accepts them.
    #[inline]
    pub(crate) fn members_step(&self, lane: u32, number: u32) -> Option<(Step, u64)> {
        match self {
            Self::Calc(_) => None,
            Self::Exchange(step) => (number == 0).then(|| (Step::clone(step), 0)),
            Self::Collective(communicator, member) => {
                let step = communicator.steps.step(*member, lane, number)?;
                let time = communicator.costs.after(&step);
                Some((step, time))
            }
        }
    }

    /// True if the sizes of all messages are known to satisfy `fits`, see [`Script::every_size`].
    fn every_size(&self, fits: &dyn Fn(u64) -> bool, budget: &mut usize) -> bool {
        if let Self::Collective(communicator, _) = self
            && let Some(known) = communicator.steps.every_size(fits)
        {
            return known;
        }
        (0..self.lanes()).all(|lane| {
            let mut steps = (0..).map_while(|number| self.members_step(lane, number));
            steps.all(|(step, _)| {
                *budget = budget.saturating_sub(1 + step.sends.len() + step.receives.len());
                *budget > 0 && step.sends.iter().all(|part| fits(part.bytes))
            })
        })
    }

    /// A step, if it is known to be a pair without a calculation after it. Peers are ranks.
    #[inline]
    pub(crate) fn pair(&self, lane: u32, number: u32) -> Option<Pair> {
        let Self::Collective(communicator, member) = self else { return None };
        communicator.pair(*member, lane, number)
    }

    /// The rank of a peer.
    #[inline]
    pub(crate) fn rank_of(&self, peer: u32) -> u32 {
        match self {
            Self::Calc(_) | Self::Exchange(_) => peer,
            Self::Collective(communicator, _) => communicator.ranks[peer as usize],
        }
    }
}

/// A point in another stream of the rank: this many tasks of it have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The stream.
    pub stream: u32,
    /// The number of tasks.
    pub tasks: u32,
}

/// A task of a stream.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its work.
    pub work: Work,
    /// Points that must be reached, besides the end of the task before it.
    pub after: Vec<Point>,
    /// The CPU that it runs on.
    pub cpu: u8,
    /// First tag of its messages, among the tags of the script: one for each lane.
    pub tag: u32,
}

impl Task {
    /// On CPU 0, after the task before it, with tag 0.
    pub fn new(work: Work) -> Self {
        Self { work, after: vec![], cpu: 0, tag: 0 }
    }
}

/// The work of all ranks.
pub trait Script: Debug + Send + Sync {
    /// Its kind, in a word.
    fn name(&self) -> &'static str;

    /// Streams of a rank.
    fn streams(&self) -> u32 {
        1
    }

    /// Number of CPUs that tasks name.
    fn cpus(&self) -> u8 {
        1
    }

    /// Number of tags that messages use, from 0.
    fn tags(&self) -> u32 {
        1
    }

    /// A task of a rank's stream; `None` after the last.
    fn task(&self, rank: u32, stream: u32, number: u32) -> Option<Task>;

    /// True if the sizes of all messages of `ranks` ranks are known to satisfy `fits`. `budget` limits the number of
    /// messages that may be checked one by one, and is reduced by that number.
    fn every_size(&self, ranks: u32, fits: &dyn Fn(u64) -> bool, budget: &mut usize) -> bool {
        let streams = (0..ranks).flat_map(|rank| (0..self.streams()).map(move |stream| (rank, stream)));
        streams.into_iter().all(|(rank, stream)| {
            poll();
            let mut tasks = (0..).map_while(|number| self.task(rank, stream, number));
            tasks.all(|task| task.work.every_size(fits, budget))
        })
    }
}

/// Scripts one after another: a rank begins a script when it has ended the one before.
#[derive(Debug, Clone)]
pub struct Scripts {
    /// Number of ranks.
    pub ranks: u32,
    parts: Vec<(Arc<dyn Script>, u32)>,
}

/// Bound of the tags.
const TAGS: u32 = 1 << 31;

impl Scripts {
    /// Scripts for `ranks` ranks. A repeated script may be one shared object.
    pub fn new(ranks: u32, parts: impl IntoIterator<Item = Arc<dyn Script>>) -> Self {
        let mut next = 0u32;
        let mut known: Vec<(Arc<dyn Script>, u32)> = vec![];
        for part in parts {
            // Messages between two ranks with one tag are received in the order of sending, so a repeated script may
            // reuse its tags.
            let before = known.last().filter(|(last, _)| Arc::ptr_eq(last, &part)).map(|(_, tag)| *tag);
            let tag = before.unwrap_or_else(|| {
                let tag = if next > TAGS - part.tags().min(TAGS) { 0 } else { next };
                next = tag + part.tags();
                tag
            });
            known.push((part, tag));
        }
        Self { ranks, parts: known }
    }

    /// The script at this place, and its first tag.
    pub(crate) fn part(&self, number: u32) -> Option<&(Arc<dyn Script>, u32)> {
        self.parts.get(number as usize)
    }

    /// Number of scripts.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Number of CPUs that a rank needs.
    pub fn cpus(&self) -> u8 {
        self.parts.iter().map(|(script, _)| script.cpus()).max().unwrap_or(1)
    }

    /// The operations of a rank.
    pub fn rank(&self, rank: u32) -> RankProgram {
        let mut list = RankProgram::default();
        let mut start = Frontier::new();
        for (script, tag) in &self.parts {
            start = all_tasks(&mut list, &**script, rank, *tag, start);
        }
        list
    }

    /// All operations.
    pub fn store(&self) -> Program {
        let mut program = Program::new(self.ranks);
        (0..self.ranks).for_each(|rank| program.set(rank, self.rank(rank)));
        program
    }
}

/// The operations whose ends the next operation of a rank waits for.
pub type Frontier = Vec<u32>;

/// Adds the tasks of a rank, and returns the operations with which the last ones end.
fn all_tasks(list: &mut RankProgram, script: &dyn Script, rank: u32, tag: u32, start: Frontier) -> Frontier {
    // For each stream: the ends of its tasks, and the next task.
    let streams = script.streams();
    let (first, dependencies) = (list.len(), list.dependencies().len());
    // The stream of each operation.
    let mut of: Vec<u32> = vec![];
    let mut ends: Vec<Vec<Frontier>> = vec![vec![]; streams as usize];
    let mut next: Vec<Option<Task>> = (0..streams).map(|stream| script.task(rank, stream, 0)).collect();
    loop {
        let mut moved = false;
        for stream in 0..streams as usize {
            while let Some(task) = &next[stream] {
                let there = |point: &Point| ends[point.stream as usize].len() >= point.tasks as usize;
                if !task.after.iter().all(there) {
                    break;
                }
                let mut before = ends[stream].last().unwrap_or(&start).clone();
                for point in task.after.iter().filter(|point| point.tasks > 0) {
                    before.extend(&ends[point.stream as usize][point.tasks as usize - 1]);
                }
                before.sort_unstable();
                before.dedup();
                let end = one_task(list, task, tag, before);
                of.resize((list.len() - first) as usize, stream as u32);
                ends[stream].push(end);
                next[stream] = script.task(rank, stream as u32, ends[stream].len() as u32);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    // Of operations that one operation releases, those of the first stream come first, as in a generated program.
    list.order_successors(dependencies, |operation| of[(operation - first) as usize]);
    debug_assert!(next.iter().all(Option::is_none), "streams of rank {rank} wait for one another: {next:?}");
    let mut last: Frontier = ends.iter().flat_map(|ends| ends.last().unwrap_or(&start)).copied().collect();
    last.sort_unstable();
    last.dedup();
    last
}

/// If two steps have more dependencies than this, an operation without duration joins them. It still waits for its CPU.
const MOST_EDGES: usize = 10_000;

/// Adds the operations of a task that waits for `start`. Returns the operations with which it ends.
pub(crate) fn one_task(list: &mut RankProgram, task: &Task, tag: u32, start: Frontier) -> Frontier {
    let mut ends = vec![];
    for lane in 0..task.work.lanes() {
        let tag = tag + task.tag + lane;
        let mut last = start.clone();
        let time = task.work.start();
        if time > 0 {
            last = vec![list.after(&last, Operation::calc(time).on(task.cpu))];
        }
        for (step, time) in (0..).map_while(|number| task.work.step(lane, number)) {
            let messages = step.sends.len() + step.receives.len();
            if last.len() > 1 && last.len() * messages > MOST_EDGES {
                last = vec![list.after(&last, Operation::calc(0).on(task.cpu))];
            }
            let mut now: Frontier = vec![];
            for part in &step.sends {
                now.push(list.after(&last, Operation::send(part.bytes, part.peer, tag).on(task.cpu)));
            }
            let sent = now.len();
            for part in &step.receives {
                now.push(list.after(&last, Operation::recv(part.bytes, part.peer, tag).on(task.cpu)));
            }
            if time > 0 {
                let received = now.split_off(sent);
                now.push(list.after(&received, Operation::calc(time).on(task.cpu)));
            }
            if !now.is_empty() {
                last = now;
            }
        }
        ends.extend(last);
    }
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// All ranks compute for so long, in units of time.
#[derive(Debug, Clone, Copy)]
pub struct Calc(pub u64);

impl Script for Calc {
    fn name(&self) -> &'static str {
        "calc"
    }

    fn task(&self, _rank: u32, _stream: u32, number: u32) -> Option<Task> {
        (number == 0).then(|| Task::new(Work::Calc(self.0)))
    }
}

/// A collective in each of some communicators. A rank belongs to one of them, or does nothing.
#[derive(Debug)]
pub struct Communicators {
    each: Vec<Arc<Communicator>>,
    /// By rank: communicator and member. The communicator is all ones for ranks that take no part.
    place: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

impl Communicators {
    /// For `ranks` ranks.
    pub fn new(ranks: u32, communicators: Vec<Communicator>) -> Self {
        let mut place = vec![(NONE, 0); ranks as usize];
        for (number, communicator) in (0..).zip(&communicators) {
            for (member, &rank) in (0..).zip(&*communicator.ranks) {
                place[rank as usize] = (number, member);
            }
        }
        Self { each: communicators.into_iter().map(Arc::new).collect(), place }
    }
}

impl Script for Communicators {
    fn name(&self) -> &'static str {
        "collective"
    }

    fn tags(&self) -> u32 {
        self.each.iter().map(|communicator| communicator.steps.lanes()).max().unwrap_or(0)
    }

    fn task(&self, rank: u32, _stream: u32, number: u32) -> Option<Task> {
        let (communicator, member) = self.place[rank as usize];
        let communicator = self.each.get(communicator as usize).filter(|_| number == 0)?;
        Some(Task::new(Work::Collective(communicator.clone(), member)))
    }

    fn every_size(&self, _ranks: u32, fits: &dyn Fn(u64) -> bool, budget: &mut usize) -> bool {
        self.each.iter().all(|communicator| {
            let of = |member| Work::Collective(communicator.clone(), member).every_size(fits, budget);
            match communicator.steps.every_size(fits) {
                Some(known) => known,
                None => (0..communicator.ranks.len() as u32).all(of),
            }
        })
    }
}
