//! A network of input-queued routers: its partitions, and how they are run.

use super::build::Plan;
use super::carriage::Carriage;
use super::cut::Cut;
use crate::engine::parallel::{Here, Inboxes, Runs, Schedule, Threads, advance};
use crate::engine::{Memory, Team, Tick};
use crate::fabric::executor::Executor;
use crate::fabric::input_queued::partition::Partition;
use crate::fabric::input_queued::post::mail::Mail;
use crate::fabric::input_queued::watching::audit::audit;
use crate::fabric::input_queued::watching::stuck::{Waiting, find_cycle};
use crate::fabric::{Caller, Fabric, LAST, News, Options, Progress, Sent, gathered};
use crate::measure::{Collector, RankRow, Share, Snapshot};
use crate::topology::Words;
use phit_workload::host::{Left, Message};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

/// A network of input-queued routers, or this process's share of one.
pub struct InputQueued {
    /// All partitions of the network, or this process's partitions.
    partitions: Vec<Partition>,
    /// By partition of the network: its incoming mail.
    inboxes: Inboxes<Mail>,
    schedule: Schedule,
    threads: Threads,
    now: Tick,
    longest_wait: Tick,
    /// Endpoints execute a program.
    executes: bool,
    /// Endpoints also draw traffic beside the program.
    beside: bool,
    /// The connection to other processes, if the network is shared out.
    carriage: Option<Carriage>,
}

impl InputQueued {
    pub(crate) fn new(plan: &Plan<'_>, options: Options) -> Self {
        let threads = options.threads.max(1);
        let cut = Cut::new(plan, threads, options.partitions);
        Self::of(plan, cut, threads, None)
    }

    /// This process's share of the network that `team` runs together; `None` if it cannot be cut into enough shares.
    pub(crate) fn share_of(plan: &Plan<'_>, options: Options, team: &Team) -> Option<Self> {
        let (threads, count) = (options.threads.max(1), team.count());
        let cut = Cut::new(plan, threads * count, options.partitions.map(|parts| parts.max(count)));
        let ends = cut.shares(plan, count)?;
        Some(Self::of(plan, cut, threads, Some(Carriage::new(team.clone(), ends))))
    }

    fn of(plan: &Plan<'_>, Cut { parts, schedule }: Cut, threads: usize, carriage: Option<Carriage>) -> Self {
        let own = carriage.as_ref().map_or(0..parts.len(), Carriage::own);
        let mut partitions = plan.build(&parts, own);
        partitions.iter_mut().for_each(|partition| partition.post.sort_for(schedule.lookahead));
        Self {
            carriage,
            inboxes: Inboxes::new(parts.len()),
            partitions,
            schedule,
            threads: Threads::new(threads),
            now: 0,
            longest_wait: plan.longest_wait(),
            executes: plan.workload.is_some(),
            beside: plan.workload.as_ref().is_some_and(|workload| !workload.traffic.is_empty()),
        }
    }

    /// True if mail is on its way between partitions.
    fn has_mail(&self) -> bool {
        let mut mail = self.partitions.iter().any(Partition::expects);
        self.inboxes.for_each(|_, _| mail = true);
        mail
    }

    /// Skips to the next tick in which something happens, without a turn of every partition for each epoch: hosts may
    /// calculate for long.
    fn skip_idle(&mut self, end: Tick) {
        let next = match self.has_mail() {
            true => self.now,
            false => self.partitions.iter().map(|partition| partition.next_busy(end)).min().unwrap_or(end),
        };
        let next = match &self.carriage {
            Some(carriage) => carriage.team().least(next.into()) as Tick,
            None => next,
        };
        if next <= self.now {
            return;
        }
        self.partitions.iter_mut().for_each(|partition| partition.now = next);
        self.now = next;
    }

    /// The partitions and the mail between them, for checks of their state.
    pub fn parts(&self) -> (&[Partition], &Inboxes<Mail>) {
        (&self.partitions, &self.inboxes)
    }

    /// Queues that wait for one another in a cycle and can never move again.
    pub(crate) fn circle(&self) -> Option<Vec<Waiting>> {
        find_cycle(&self.partitions, self.carriage.as_ref().map(Carriage::team))
    }

    fn executors(&self) -> impl Iterator<Item = &Executor> {
        self.partitions.iter().filter_map(|partition| Some(partition.hosted.as_ref()?.executor()))
    }

    /// The only partition, for a caller who sends messages.
    fn whole(&mut self) -> Option<&mut Partition> {
        let [whole] = &mut self.partitions[..] else { return None };
        Some(whole)
    }

    /// The schedule of the partitions.
    #[cfg(test)]
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The partitions, for tests that put something of their own into them.
    #[cfg(test)]
    pub(crate) fn parts_mut(&mut self) -> &mut [Partition] {
        &mut self.partitions
    }
}

impl Caller for InputQueued {
    fn send(&mut self, sent: &[Sent]) {
        self.whole().into_iter().for_each(|whole| whole.call(sent));
    }

    fn go_on(&mut self, until: u64, first: bool) -> Option<u64> {
        let end = Tick::try_from(until).map_or(Tick::MAX, |until| until.saturating_add(1));
        let (mut now, mut outbox) = (self.now, self.inboxes.outbox(1));
        if let Some(whole) = self.whole() {
            whole.hosted.iter_mut().for_each(|hosted| hosted.stop_at_arrivals(first));
            whole.wires.run_until(end);
            whole.run_until(end, Vec::new(), &mut outbox);
            now = whole.now;
        }
        self.inboxes.keep(outbox);
        self.now = now;
        now.checked_sub(1).map(u64::from)
    }

    fn next(&mut self) -> Option<u64> {
        let whole = self.whole()?;
        let next = whole.next_busy(LAST);
        (next < LAST && !whole.at_rest()).then_some(next.into())
    }

    fn arrived(&mut self, list: &mut Vec<(u64, Message)>) {
        let hosted = self.whole().and_then(|whole| whole.hosted.as_mut());
        let arrived = hosted.and_then(|hosted| hosted.for_caller().arrived_for_caller.as_mut());
        arrived.into_iter().for_each(|arrived| list.append(arrived));
    }
}

impl Fabric for InputQueued {
    fn advance(&mut self, end: Tick) {
        if self.executes {
            self.skip_idle(end);
        }
        let here = self.carriage.as_ref().map(|carriage| Here { first: carriage.own().start, carrier: carriage });
        self.partitions.iter_mut().for_each(|partition| partition.wires.run_until(end));
        let Self { partitions, inboxes, threads, schedule, now, .. } = self;
        advance(partitions, inboxes, threads, schedule, (*now, end), here.as_ref());
        self.now = end;
    }

    fn epoch(&self) -> Tick {
        self.schedule.lookahead
    }

    fn open_window(&mut self, span: Range<Tick>) {
        self.partitions.iter_mut().for_each(|partition| partition.open_window(span.clone()));
    }

    fn close_window(&mut self) -> u64 {
        self.partitions.iter_mut().map(Partition::close_window).sum()
    }

    fn break_links(&mut self, dead: &[(u32, u16)], back: &[(u32, u16)]) {
        self.partitions.iter_mut().for_each(|partition| partition.break_links(dead, back));
    }

    fn reroute(&mut self, news: &News<'_>) {
        self.partitions.iter_mut().for_each(|partition| partition.reroute(news));
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.partitions)
    }

    fn share(&self) -> Option<Share> {
        self.carriage.as_ref().map(|_| Share::of(&self.partitions))
    }

    fn collectors(&self) -> Vec<&Collector> {
        self.partitions.iter().map(Partition::collector).collect()
    }

    fn tables(&self) -> BTreeMap<&'static str, usize> {
        let mut tables = BTreeMap::new();
        for (name, bytes) in self.partitions.iter().flat_map(Partition::tables) {
            *tables.entry(name).or_default() += bytes;
        }
        self.inboxes.for_each(|_, mail| *tables.entry("mail").or_default() += mail.bytes());
        self.inboxes.for_each_room(|room| *tables.entry("mail").or_default() += room.bytes());
        tables
    }

    fn partitions(&self) -> usize {
        self.inboxes.len()
    }

    fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        let [injected, delivered, hops] = &mut progress.done;
        for partition in &self.partitions {
            *injected += partition.endpoints.iter().map(|e| e.phits).sum::<u64>();
            *delivered += partition.collector.counters.flow.packets;
            *hops += partition.collector.counters.work.flit_hops;
            progress.held += u64::from(partition.packets.live()) + partition.packets_coming();
        }
        self.inboxes.for_each(|_, mail| progress.held += mail.packets() as u64);
        progress
    }

    fn longest_wait(&self) -> Tick {
        self.longest_wait
    }

    fn stuck(&self) -> String {
        match self.circle() {
            None => "no circle of waiting packets was found".to_owned(),
            Some(cycle) => {
                let words =
                    self.partitions.first().map_or(Words::default(), |partition| partition.map.topology.words());
                cycle.iter().map(|waiting| waiting.said(words)).collect::<Vec<_>>().join("; ")
            }
        }
    }

    fn at_rest(&self) -> bool {
        let mut mail = false;
        match self.beside {
            // Packets of the traffic are always on their way.
            true => self.inboxes.for_each(|_, there| mail |= !there.announced.is_empty() || !there.words.is_empty()),
            false => mail = self.has_mail(),
        }
        !mail && self.partitions.iter().all(Partition::at_rest)
    }

    fn is_empty(&self) -> bool {
        let over = Fabric::finish(self) <= self.now.into();
        over && !self.has_mail() && self.partitions.iter().all(Partition::is_empty)
    }

    fn begin_again(&mut self, _at: u64) {
        self.partitions.iter_mut().for_each(Partition::begin_again);
    }

    fn remember(&self, memory: &mut Memory) {
        self.partitions.iter().for_each(|partition| partition.remember(memory));
    }

    fn take_counts(&mut self, blanks: &[Collector]) -> Option<Collector> {
        let mut all = blanks.first()?.clone();
        for (partition, blank) in self.partitions.iter_mut().zip(blanks) {
            all.merge(&std::mem::replace(&mut partition.collector, blank.clone()));
        }
        Some(all)
    }

    fn add_counts(&mut self, counts: &Collector) {
        self.partitions.first_mut().into_iter().for_each(|partition| partition.collector.merge(counts));
    }

    fn rank_rows(&self) -> Vec<RankRow> {
        let mut rows: Vec<RankRow> = self.executors().flat_map(|executor| executor.rows().ranks).collect();
        rows.sort_unstable_by_key(|row| row.rank);
        rows
    }

    fn idle_until(&self, end: Tick) -> Tick {
        if self.has_mail() || self.partitions.iter().any(|partition| partition.packets.live() > 0) {
            return 0;
        }
        self.partitions.iter().map(|partition| partition.next_busy(end)).min().unwrap_or(end)
    }

    fn caller(&mut self) -> Option<&mut dyn Caller> {
        self.whole()?.hosted.as_mut()?.for_caller().arrived_for_caller.get_or_insert_default();
        Some(self)
    }

    fn performed(&self) -> u64 {
        self.executors().map(Executor::performed).sum()
    }

    fn finish(&self) -> u64 {
        self.executors().map(Executor::finish).max().unwrap_or(0)
    }

    fn left(&self) -> (Left, Vec<Message>) {
        gathered(self.executors().map(Executor::left))
    }

    fn beyond(&self) -> bool {
        self.executors().any(|executor| executor.beyond)
    }

    fn close_program(&mut self) {
        for partition in &mut self.partitions {
            if let Some(hosted) = &partition.hosted {
                partition.collector.counters.programs.add(hosted.executor().rows());
            }
        }
    }

    fn audit(&self) -> Result<(), String> {
        audit(&self.partitions, &self.inboxes, self.progress().held)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
