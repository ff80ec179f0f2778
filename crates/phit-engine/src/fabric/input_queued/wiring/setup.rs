//! What never changes in a run, and what only failures change.

use crate::engine::{Bytes, Table, tables_of};
use crate::fabric::input_queued::options::config::Config;
use crate::fabric::input_queued::options::kernel::Kernel;
use crate::fabric::input_queued::options::settings::{Settings, Times};
use crate::topology::{Known, Location, RouteTable, Routers, Topology};
use crate::traffic::Traffic;
use std::ops::Deref;
use std::sync::Arc;

/// What never changes in a run: every stage reads it.
pub(crate) struct Setup {
    /// The partition's number.
    pub index: u32,
    pub config: Arc<Config>,
    pub settings: Settings,
    pub traffic: Arc<Traffic>,
    /// Ticks that flits take, by size in phits.
    pub times: Vec<Times>,
    /// Ticks that a flit takes where all packets have one size.
    pub unit: Times,
    /// The partition's routers.
    pub routers: Routers,
    /// Of each router, where it stands in its topology; without entries unless hops are decided ahead.
    pub locations: Table<Location>,
    /// First destination of each injection queue but the first, where the destination decides: queue
    /// `destination * queues / endpoints`.
    pub injection_bounds: Vec<u32>,
    /// Most queues of any input port.
    pub widest: u32,
    /// Where the queues of a block of routers end, if they are gone through in blocks.
    pub blocks: Vec<u32>,
}

impl Setup {
    /// Bytes by table.
    pub(crate) fn tables(&self) -> Vec<(&'static str, usize)> {
        tables_of!(self, Self {
            routers, locations, times, injection_bounds, blocks;
            index, config, traffic, unit, settings, widest
        })
    }
}

/// A value that can be read and not changed.
pub(crate) struct Frozen<T>(T);

impl<T> Frozen<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, to make another one from it.
    #[cfg(test)]
    pub(crate) fn thawed(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Deref for Frozen<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The network as it is now: only failures and repairs change it (`faults/breakdown.rs`).
pub(crate) struct Map {
    pub topology: Arc<dyn Topology>,
    /// The same, if it is one whose minimal hops are compiled into the kernel.
    pub known: Known,
    /// The tables in which the mechanism's decisions stand, if they do and nothing has broken yet.
    pub tabled: Option<Arc<RouteTable>>,
    /// The router at the far end of each output, `NONE` where there is none; without entries if the queue organisation
    /// does not choose a queue there.
    pub neighbours: Table<u32>,
}

impl Map {
    /// Bytes by table.
    pub(crate) fn tables(&self) -> Vec<(&'static str, usize)> {
        tables_of!(self, Self { neighbours; topology, known, tabled })
    }

    /// True if all packets of a queue take one way: what has been decided for the first holds for all.
    #[inline(always)]
    pub(crate) fn lasting<K: Kernel>(&self, settings: &Settings) -> bool {
        K::TABLES && K::LISTS && settings.lasting && self.tabled.is_some()
    }
}
