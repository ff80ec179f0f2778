//! Parallel planes: equal networks that exchange nothing. A question to them is answered for all planes together,
//! endpoint by endpoint.

use super::{Blueprint, Fabric, Progress};
use crate::engine::Tick;
use crate::measure::{Collector, Snapshot};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;

/// The networks of all planes. Endpoints do not fail there, and execute no programs.
pub(crate) struct Planes(Vec<Box<dyn Fabric>>);

impl Planes {
    /// The planes of `blueprint`. `build` makes each as if there were no other.
    pub(crate) fn new(blueprint: &Blueprint, build: impl Fn(&Blueprint) -> Box<dyn Fabric>) -> Self {
        Self((0..blueprint.planes.len()).map(|plane| build(&blueprint.of_plane(plane))).collect())
    }

    fn sum<T: std::iter::Sum>(&self, of: impl Fn(&dyn Fabric) -> T) -> T {
        self.0.iter().map(|plane| of(&**plane)).sum()
    }
}

impl Fabric for Planes {
    fn advance(&mut self, end: Tick) {
        self.0.iter_mut().for_each(|plane| plane.advance(end));
    }

    fn epoch(&self) -> Tick {
        self.0.iter().map(|plane| plane.epoch()).max().unwrap_or(0)
    }

    fn open_window(&mut self, span: Range<Tick>) {
        self.0.iter_mut().for_each(|plane| plane.open_window(span.clone()));
    }

    fn close_window(&mut self) -> u64 {
        self.0.iter_mut().map(|plane| plane.close_window()).sum()
    }

    fn snapshot(&self) -> Snapshot {
        let mut planes = self.0.iter().map(|plane| plane.snapshot());
        let first = planes.next().unwrap_or_default();
        planes.fold(first, |mut all, plane| {
            all.beside(plane);
            all
        })
    }

    fn collectors(&self) -> Vec<&Collector> {
        self.0.iter().flat_map(|plane| plane.collectors()).collect()
    }

    fn tables(&self) -> BTreeMap<&'static str, usize> {
        let mut all = BTreeMap::new();
        for (name, bytes) in self.0.iter().flat_map(|plane| plane.tables()) {
            *all.entry(name).or_default() += bytes;
        }
        all
    }

    fn partitions(&self) -> usize {
        self.sum(|plane| plane.partitions())
    }

    fn progress(&self) -> Progress {
        let mut all = Progress::default();
        for plane in &self.0 {
            let Progress { done, held } = plane.progress();
            all.done.iter_mut().zip(done).for_each(|(sum, done)| *sum = sum.wrapping_add(done));
            all.held += held;
        }
        all
    }

    fn longest_wait(&self) -> Tick {
        self.0.iter().map(|plane| plane.longest_wait()).max().unwrap_or(0)
    }

    fn stuck(&self) -> String {
        self.0.first().map(|plane| plane.stuck()).unwrap_or_default()
    }

    fn planes(&self) -> &[Box<dyn Fabric>] {
        &self.0
    }

    fn last(&self) -> u64 {
        self.0.iter().map(|plane| plane.last()).min().unwrap_or(0)
    }

    fn audit(&self) -> Result<(), String> {
        for (number, plane) in self.0.iter().enumerate() {
            plane.audit().map_err(|wrong| format!("plane {number}: {wrong}"))?;
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
