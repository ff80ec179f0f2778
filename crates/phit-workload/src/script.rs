//! What ranks do, task by task: programs that need not be stored.
//!
//! A rank has one or several *streams*, each a sequence of *tasks*: a calculation, messages, its part of a collective.
//! A task begins when the one before it in its stream has ended, and so many of other streams. Each task follows from
//! the numbers of its rank, its stream and itself; [`crate::generated`] makes it when it is due, [`Scripts::store`]
//! makes all.

use crate::collective::{Pair, Step, Steps};
use crate::patience::poll;
use crate::program::{Operation, Program, RankProgram};
use std::fmt::Debug;
use std::sync::Arc;

/// What a collective costs its members beside its messages, in units of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Costs {
    /// Before the first step of a lane.
    pub start: u64,
    /// After the messages of a step that a member waits for.
    pub step: u64,
    /// For each byte that is combined.
    pub combine: f64,
}

impl Costs {
    /// Of combining alone.
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

/// Ranks, in the order of their members, and what they do together.
#[derive(Debug, Clone)]
pub struct Communicator {
    /// The ranks.
    pub ranks: Arc<[u32]>,
    /// What they do.
    pub steps: Arc<dyn Steps>,
    /// What it costs.
    pub costs: Costs,
}

impl Communicator {
    /// A member's step that is known to be a pair, after which there is no calculation; peers are ranks.
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

/// What a rank does in a task.
#[derive(Debug, Clone)]
pub enum Work {
    /// It computes for so long, in units of time.
    Calc(u64),
    /// It sends and receives at once; peers are ranks.
    Exchange(Box<Step>),
    /// Its part of a collective, as this member.
    Collective(Arc<Communicator>, u32),
}

impl Work {
    /// Nothing.
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

    /// The calculation with which a lane begins.
    pub(crate) fn start(&self) -> u64 {
        match self {
            Self::Calc(time) => *time,
            Self::Exchange(_) => 0,
            Self::Collective(communicator, _) => communicator.costs.start,
        }
    }

    /// A step of a lane, whose peers are ranks, and the time of the calculation after what it receives.
    pub(crate) fn step(&self, lane: u32, number: u32) -> Option<(Step, u64)> {
        let (mut step, time) = self.members_step(lane, number)?;
        step.sends.iter_mut().chain(&mut step.receives).for_each(|part| part.peer = self.rank_of(part.peer));
        Some((step, time))
    }

    /// The same with the peers that [`Self::rank_of`] names.
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

    /// True if it is known that every message has a size that `fits`, see [`Script::every_size`].
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

    /// A step that is known to be a pair, after which there is no calculation; peers are ranks.
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

/// So many tasks of a stream of the same rank have ended.
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
    /// What is done.
    pub work: Work,
    /// What has to be, besides the task before it.
    pub after: Vec<Point>,
    /// The CPU on which it is done.
    pub cpu: u8,
    /// First tag of its messages, among those of the script: one for each lane.
    pub tag: u32,
}

impl Task {
    /// On CPU 0, after the one before it, with tag 0.
    pub fn new(work: Work) -> Self {
        Self { work, after: vec![], cpu: 0, tag: 0 }
    }
}

/// What all ranks do.
pub trait Script: Debug + Send + Sync {
    /// What it is, in a word.
    fn name(&self) -> &'static str;

    /// Streams of a rank.
    fn streams(&self) -> u32 {
        1
    }

    /// CPUs that tasks name.
    fn cpus(&self) -> u8 {
        1
    }

    /// Tags that messages have, from 0.
    fn tags(&self) -> u32 {
        1
    }

    /// A task of a rank's stream; `None` after the last.
    fn task(&self, rank: u32, stream: u32, number: u32) -> Option<Task>;

    /// True if it is known that every message of so many ranks has a size that `fits`. If they are looked at one after
    /// the other, `budget` says how many may be, and is less by them then.
    fn every_size(&self, ranks: u32, fits: &dyn Fn(u64) -> bool, budget: &mut usize) -> bool {
        let streams = (0..ranks).flat_map(|rank| (0..self.streams()).map(move |stream| (rank, stream)));
        streams.into_iter().all(|(rank, stream)| {
            poll();
            let mut tasks = (0..).map_while(|number| self.task(rank, stream, number));
            tasks.all(|task| task.work.every_size(fits, budget))
        })
    }
}

/// Scripts one after the other: a rank begins one when it has ended the one before.
#[derive(Debug, Clone)]
pub struct Scripts {
    /// Number of ranks.
    pub ranks: u32,
    parts: Vec<(Arc<dyn Script>, u32)>,
}

/// Tags are below it.
const TAGS: u32 = 1 << 31;

impl Scripts {
    /// For so many ranks. The same script several times may stand there as one object.
    pub fn new(ranks: u32, parts: impl IntoIterator<Item = Arc<dyn Script>>) -> Self {
        let mut next = 0u32;
        let mut known: Vec<(Arc<dyn Script>, u32)> = vec![];
        for part in parts {
            // Messages between two ranks with one tag are received in the order in which they are sent: a script may
            // have its tags again.
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

    /// The script of this place, and the first of its tags.
    pub(crate) fn part(&self, number: u32) -> Option<&(Arc<dyn Script>, u32)> {
        self.parts.get(number as usize)
    }

    /// Scripts one after the other, how many.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// CPUs that a rank needs.
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

/// What the next operation of a rank waits for: the ends of these operations.
pub type Frontier = Vec<u32>;

/// Adds the tasks of a rank; returns the operations with which the last ones end.
fn all_tasks(list: &mut RankProgram, script: &dyn Script, rank: u32, tag: u32, start: Frontier) -> Frontier {
    // Of each stream: the ends of its tasks, and the next one.
    let streams = script.streams();
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
                ends[stream].push(end);
                next[stream] = script.task(rank, stream as u32, ends[stream].len() as u32);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    debug_assert!(next.iter().all(Option::is_none), "streams of rank {rank} wait for one another: {next:?}");
    let mut last: Frontier = ends.iter().flat_map(|ends| ends.last().unwrap_or(&start)).copied().collect();
    last.sort_unstable();
    last.dedup();
    last
}

/// More dependencies between two steps go by way of an operation that takes no time; it waits for its CPU, though.
const MOST_EDGES: usize = 10_000;

/// Adds the operations of a task that waits for `start`; returns those with which it ends.
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

/// A collective in each of some communicators; a rank belongs to one of them, or does nothing.
#[derive(Debug)]
pub struct Communicators {
    each: Vec<Arc<Communicator>>,
    /// By rank: communicator and member, the former all ones if it takes no part.
    place: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

impl Communicators {
    /// For so many ranks.
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
