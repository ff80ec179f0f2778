//! Programs without operations of their own: a caller sends the messages while the network runs.

use crate::plan::{Executable, Plan, Released};
use crate::ranks::Ranks;
use std::sync::Arc;

/// Ranks that send what their caller says, when it says so. Every message is received when it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Called {
    /// Number of ranks.
    pub ranks: u32,
}

impl Executable for Called {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn operations(&self) -> Option<u64> {
        None
    }

    fn plan(self: Arc<Self>, ranks: Ranks) -> Box<dyn Plan> {
        Box::new(Nothing(ranks))
    }

    fn bytes(&self) -> usize {
        0
    }

    fn state(&self) -> f64 {
        0.0
    }

    fn every_size(&self, _fits: &dyn Fn(u64) -> bool) -> bool {
        false
    }
}

/// The plan of [`Called`] ranks: it releases nothing.
#[derive(Debug)]
struct Nothing(Ranks);

impl Plan for Nothing {
    fn ranks(&self) -> &Ranks {
        &self.0
    }

    fn cpus(&self) -> usize {
        1
    }

    fn nics(&self) -> usize {
        1
    }

    fn begin(&mut self, _rank: u32, _released: &mut Vec<Released>) {}

    fn cpu_of(&self, _rank: u32, _number: u32) -> u8 {
        0
    }

    fn hears_of_starts(&self) -> bool {
        false
    }

    fn receives_all(&self) -> bool {
        true
    }

    fn started(&mut self, _rank: u32, _number: u32, _time: u64, _released: &mut Vec<Released>) {}

    fn done(&mut self, _rank: u32, _number: u32, _time: u64, _released: &mut Vec<Released>) {}

    fn unperformed(&self, _rank: u32) -> Vec<u32> {
        Vec::new()
    }

    fn bytes(&self) -> usize {
        0
    }
}
