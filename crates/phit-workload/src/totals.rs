//! The contents of a program, in numbers.

use crate::error::Error;
use crate::program::{Action, RankProgram, RankSink};
use serde::Serialize;

/// Totals of a program, counted rank by rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Ranks.
    pub ranks: u32,
    /// CPUs of a rank: the largest number that an operation names, plus one.
    pub cpus: u32,
    /// Network interfaces of a rank: the largest number that an operation names, plus one.
    pub nics: u32,
    /// Operations of all ranks.
    pub operations: u64,
    /// Operations of the rank with most operations.
    pub most_operations: u64,
    /// Calculations.
    pub calcs: u64,
    /// Messages sent.
    pub sends: u64,
    /// Messages waited for.
    pub receives: u64,
    /// Dependencies.
    pub dependencies: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Bytes of the rank that sends most.
    pub most_bytes: u64,
    /// The largest message, in bytes.
    pub largest_message: u64,
    /// Time of all calculations.
    pub calc_time: u64,
    /// Time of the rank that computes longest.
    pub most_calc_time: u64,
}

impl RankSink for Totals {
    fn begin(&mut self, ranks: u32) -> Result<(), Error> {
        *self = Self { ranks, cpus: 1, nics: 1, ..Self::default() };
        Ok(())
    }

    fn rank(&mut self, _rank: u32, list: RankProgram) -> Result<(), Error> {
        let (mut bytes, mut time) = (0u64, 0u64);
        for operation in list.operations() {
            self.cpus = self.cpus.max(u32::from(operation.cpu) + 1);
            self.nics = self.nics.max(u32::from(operation.nic) + 1);
            match operation.action {
                Action::Calc(own) => {
                    self.calcs += 1;
                    time = time.saturating_add(own);
                }
                Action::Send(transfer) => {
                    self.sends += 1;
                    bytes = bytes.saturating_add(transfer.bytes);
                    self.largest_message = self.largest_message.max(transfer.bytes);
                }
                Action::Recv(_) => self.receives += 1,
            }
        }
        self.operations += u64::from(list.len());
        self.most_operations = self.most_operations.max(u64::from(list.len()));
        self.dependencies += list.dependencies().len() as u64;
        self.bytes = self.bytes.saturating_add(bytes);
        self.most_bytes = self.most_bytes.max(bytes);
        self.calc_time = self.calc_time.saturating_add(time);
        self.most_calc_time = self.most_calc_time.max(time);
        Ok(())
    }
}
