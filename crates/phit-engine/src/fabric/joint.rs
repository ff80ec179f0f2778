//! A network that several processes run together. Every question about it is answered for all of them.

use super::{Fabric, News, Progress, gathered};
use crate::engine::{Team, Tick};
use crate::measure::{Collector, Share, Snapshot};
use phit_workload::host::{Left, Message};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

/// This process's share of a network, and the processes with the other shares. Collectors and snapshots cover this
/// share only; all other answers are equal in every process.
pub(crate) struct Joint {
    own: Box<dyn Fabric>,
    team: Team,
}

impl Joint {
    /// The network, of which `own` is this process's share.
    pub(crate) fn new(own: Box<dyn Fabric>, team: Team) -> Self {
        Self { own, team }
    }
}

impl Fabric for Joint {
    fn advance(&mut self, end: Tick) {
        self.own.advance(end);
    }

    fn epoch(&self) -> Tick {
        self.own.epoch()
    }

    fn open_window(&mut self, span: Range<Tick>) {
        self.own.open_window(span);
    }

    fn close_window(&mut self) -> u64 {
        let [packets] = self.team.sums([self.own.close_window()]);
        packets
    }

    fn break_links(&mut self, dead: &[(u32, u16)], back: &[(u32, u16)]) {
        self.own.break_links(dead, back);
    }

    fn reroute(&mut self, news: &News<'_>) {
        self.own.reroute(news);
    }

    fn snapshot(&self) -> Snapshot {
        self.own.snapshot()
    }

    fn share(&self) -> Option<Share> {
        self.own.share()
    }

    fn collectors(&self) -> Vec<&Collector> {
        self.own.collectors()
    }

    fn tables(&self) -> BTreeMap<&'static str, usize> {
        let mut all = self.own.tables();
        // Every process has equal tables.
        let each = self.team.each(all.values().copied().collect::<Vec<usize>>());
        for (place, sum) in all.values_mut().enumerate() {
            *sum = each.iter().map(|of| of[place]).sum();
        }
        all
    }

    fn bytes_here(&self) -> usize {
        self.own.bytes()
    }

    fn partitions(&self) -> usize {
        self.own.partitions()
    }

    fn progress(&self) -> Progress {
        let Progress { done: [injected, delivered, hops], held } = self.own.progress();
        let [injected, delivered, hops, held] = self.team.sums([injected, delivered, hops, held]);
        Progress { done: [injected, delivered, hops], held }
    }

    fn longest_wait(&self) -> Tick {
        self.own.longest_wait()
    }

    fn stuck(&self) -> String {
        self.own.stuck()
    }

    fn at_rest(&self) -> bool {
        self.team.all(self.own.at_rest())
    }

    fn idle_until(&self, end: Tick) -> Tick {
        self.team.least(self.own.idle_until(end).into()) as Tick
    }

    fn performed(&self) -> u64 {
        let [operations] = self.team.sums([self.own.performed()]);
        operations
    }

    fn finish(&self) -> u64 {
        self.team.largest(self.own.finish())
    }

    fn left(&self) -> (Left, Vec<Message>) {
        gathered(self.team.each(self.own.left()))
    }

    fn beyond(&self) -> bool {
        !self.team.all(!self.own.beyond())
    }

    fn close_program(&mut self) {
        self.own.close_program();
    }

    fn audit(&self) -> Result<(), String> {
        self.own.audit()
    }

    fn as_any(&self) -> &dyn Any {
        self.own.as_any()
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self.own.as_any_mut()
    }
}
