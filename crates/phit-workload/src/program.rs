//! Programs: the operations of every rank, and the dependencies between them.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fmt;

/// As a peer: any rank. As a tag: any tag.
pub const ANY: u32 = u32::MAX;

/// The action of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Action {
    /// Computes for this time, in units of time.
    Calc(u64),
    /// Sends a message.
    Send(Transfer),
    /// Waits for a message.
    Recv(Transfer),
}

/// A message as one of its two ends sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer {
    /// Size in bytes.
    pub bytes: u64,
    /// The rank at the other end; a receive may take messages of [`ANY`].
    pub peer: u32,
    /// Distinguishes messages between the same ranks. [`ANY`] matches every tag.
    pub tag: u32,
}

/// An operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operation {
    /// Its action.
    pub action: Action,
    /// The rank's CPU that it runs on.
    pub cpu: u8,
    /// The rank's network interface for a send or receive; 0 for a calculation.
    pub nic: u8,
}

impl Operation {
    /// A calculation on CPU 0.
    pub const fn calc(time: u64) -> Self {
        Self { action: Action::Calc(time), cpu: 0, nic: 0 }
    }

    /// A send from CPU and interface 0.
    pub const fn send(bytes: u64, peer: u32, tag: u32) -> Self {
        Self { action: Action::Send(Transfer { bytes, peer, tag }), cpu: 0, nic: 0 }
    }

    /// A receive on CPU and interface 0.
    pub const fn recv(bytes: u64, peer: u32, tag: u32) -> Self {
        Self { action: Action::Recv(Transfer { bytes, peer, tag }), cpu: 0, nic: 0 }
    }

    /// This operation on another CPU.
    pub const fn on(self, cpu: u8) -> Self {
        Self { cpu, ..self }
    }

    /// This operation by another interface.
    pub const fn by(self, nic: u8) -> Self {
        Self { nic, ..self }
    }
}

/// `send 8b to 3 tag 1`, the notation of GOAL, without values that are 0 by default.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |n: u32| if n == ANY { "-1".to_string() } else { n.to_string() };
        match self.action {
            Action::Calc(time) => write!(f, "calc {time}")?,
            Action::Send(Transfer { bytes, peer, .. }) => write!(f, "send {bytes}b to {peer}")?,
            Action::Recv(Transfer { bytes, peer, .. }) => write!(f, "recv {bytes}b from {}", number(peer))?,
        }
        if let Action::Send(Transfer { tag, .. }) | Action::Recv(Transfer { tag, .. }) = self.action
            && tag != 0
        {
            write!(f, " tag {}", number(tag))?;
        }
        if self.cpu != 0 {
            write!(f, " cpu {}", self.cpu)?;
        }
        if self.nic != 0 {
            write!(f, " nic {}", self.nic)?;
        }
        Ok(())
    }
}

/// The event of another operation that an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Until {
    /// Its end.
    Done,
    /// Its start.
    Started,
}

/// A waiting operation of a rank, and the event that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Successor {
    /// The number of the waiting operation, within its rank.
    pub operation: u32,
    /// The event.
    pub until: Until,
}

/// In [`Program::edges`]: the successor waits for the start.
const STARTED: u32 = 1 << 31;

/// Most operations of a rank: their numbers leave one bit free.
pub const MOST_OPERATIONS: usize = (STARTED - 1) as usize;

/// Most operations that a message names.
const MOST_NAMED: usize = 8;

/// A stored operation, 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Stored {
    /// Units of time, or bytes.
    amount: u64,
    peer: u32,
    tag: u32,
    /// Index of the first of its successors in the edges of the rank.
    first: u32,
    kind: Kind,
    cpu: u8,
    nic: u8,
}

const _: () = assert!(size_of::<Stored>() == 24);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Calc,
    Send,
    Recv,
}

impl Stored {
    fn new(operation: Operation, first: u32) -> Self {
        let Operation { action, cpu, nic } = operation;
        let (kind, amount, peer, tag) = match action {
            Action::Calc(time) => (Kind::Calc, time, 0, 0),
            Action::Send(Transfer { bytes, peer, tag }) => (Kind::Send, bytes, peer, tag),
            Action::Recv(Transfer { bytes, peer, tag }) => (Kind::Recv, bytes, peer, tag),
        };
        Self { amount, peer, tag, first, kind, cpu, nic }
    }

    fn operation(&self) -> Operation {
        let transfer = Transfer { bytes: self.amount, peer: self.peer, tag: self.tag };
        let action = match self.kind {
            Kind::Calc => Action::Calc(self.amount),
            Kind::Send => Action::Send(transfer),
            Kind::Recv => Action::Recv(transfer),
        };
        Operation { action, cpu: self.cpu, nic: self.nic }
    }
}

/// The first operation and edge of a rank, and their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    operations: usize,
    edges: usize,
    count: u32,
    edge_count: u32,
}

/// The operations of all ranks with their order: 24 bytes per operation, 4 per dependency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    places: Vec<Place>,
    operations: Vec<Stored>,
    edges: Vec<u32>,
    cpus: u8,
    nics: u8,
}

impl Program {
    /// A program of `ranks` ranks, without operations.
    pub fn new(ranks: u32) -> Self {
        Self { places: vec![Place::default(); ranks as usize], cpus: 1, nics: 1, ..Self::default() }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.places.len() as u32
    }

    /// Number of operations of a rank.
    pub fn len(&self, rank: u32) -> u32 {
        self.places[rank as usize].count
    }

    /// Number of operations of all ranks.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Number of dependencies of all ranks.
    pub fn dependencies(&self) -> usize {
        self.edges.len()
    }

    /// CPUs of a rank: the largest number that an operation names, plus one.
    pub fn cpus(&self) -> usize {
        usize::from(self.cpus)
    }

    /// Network interfaces of a rank: the largest number that an operation names, plus one.
    pub fn nics(&self) -> usize {
        usize::from(self.nics)
    }

    /// An operation, by its number within its rank.
    pub fn operation(&self, rank: u32, number: u32) -> Operation {
        self.stored(rank, number).operation()
    }

    /// The operations of a rank, by their numbers.
    pub fn of(&self, rank: u32) -> impl ExactSizeIterator<Item = Operation> {
        let Place { operations, count, .. } = self.places[rank as usize];
        self.operations[operations..operations + count as usize].iter().map(Stored::operation)
    }

    /// The operations that wait for an operation, in the order in which they were added.
    pub fn successors(&self, rank: u32, number: u32) -> impl ExactSizeIterator<Item = Successor> {
        let Place { operations, edges, count, edge_count } = self.places[rank as usize];
        let first = self.operations[operations + number as usize].first;
        let end = if number + 1 < count { self.operations[operations + number as usize + 1].first } else { edge_count };
        self.edges[edges + first as usize..edges + end as usize].iter().map(|&edge| {
            let until = if edge & STARTED == 0 { Until::Done } else { Until::Started };
            Successor { operation: edge & !STARTED, until }
        })
    }

    /// For every operation, rank by rank, the number of dependencies that it waits for.
    pub fn waiting(&self) -> Vec<u32> {
        let mut found = vec![0; self.operations.len()];
        for (rank, place) in (0..).zip(&self.places) {
            self.count_waiting(rank, &mut found[place.operations..place.operations + place.count as usize]);
        }
        found
    }

    /// Adds to `found`, which has an entry for every operation of a rank, the number of dependencies that each waits
    /// for.
    pub(crate) fn count_waiting(&self, rank: u32, found: &mut [u32]) {
        let place = self.places[rank as usize];
        for edge in &self.edges[place.edges..place.edges + place.edge_count as usize] {
            found[(edge & !STARTED) as usize] += 1;
        }
    }

    /// The index of an operation among the operations of all ranks.
    pub fn index(&self, rank: u32, number: u32) -> usize {
        self.places[rank as usize].operations + number as usize
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> usize {
        let Self { places, operations, edges, cpus: _, nics: _ } = self;
        places.capacity() * size_of::<Place>()
            + operations.capacity() * size_of::<Stored>()
            + edges.capacity() * size_of::<u32>()
    }

    /// Sets the operations of rank `rank`, which has none yet.
    ///
    /// # Panics
    ///
    /// If there is no such rank, or if it has operations already.
    pub fn set(&mut self, rank: u32, list: RankProgram) {
        let place = &mut self.places[rank as usize];
        assert!(place.count == 0, "rank {rank} has operations already");
        let RankProgram { operations, dependencies } = list;
        let (first, edges) = (self.operations.len(), self.edges.len());
        *place =
            Place { operations: first, edges, count: operations.len() as u32, edge_count: dependencies.len() as u32 };
        // Counting sort by predecessor. It keeps the order of operations that wait for one predecessor.
        let mut next = vec![0u32; operations.len() + 1];
        dependencies.iter().for_each(|(before, _)| next[*before as usize + 1] += 1);
        for i in 1..next.len() {
            next[i] += next[i - 1];
        }
        grow(&mut self.operations, operations.len());
        grow(&mut self.edges, dependencies.len());
        self.operations.extend(operations.iter().zip(&next).map(|(op, first)| Stored::new(*op, *first)));
        self.edges.resize(edges + dependencies.len(), 0);
        for (before, successor) in dependencies {
            let at = &mut next[before as usize];
            self.edges[edges + *at as usize] = successor;
            *at += 1;
        }
        for operation in &operations {
            self.cpus = self.cpus.max(operation.cpu.saturating_add(1));
            self.nics = self.nics.max(operation.nic.saturating_add(1));
        }
    }

    /// The operations and dependencies of one rank.
    pub fn rank(&self, rank: u32) -> RankProgram {
        let operations = self.of(rank).collect();
        let waits = |number| self.successors(rank, number).map(move |successor| (number, successor));
        let mark = |until| if until == Until::Started { STARTED } else { 0 };
        let dependencies =
            (0..self.len(rank)).flat_map(waits).map(|(number, s)| (number, s.operation | mark(s.until))).collect();
        RankProgram { operations, dependencies }
    }

    /// Passes on the ranks one by one.
    pub fn each_rank(&self, ranks: &mut dyn RankSink) -> Result<(), Error> {
        ranks.begin(self.ranks())?;
        (0..self.ranks()).try_for_each(|rank| ranks.rank(rank, self.rank(rank)))
    }

    /// Converts calculations to another unit of time, of which an old one has `over / under`, rounded to the nearest.
    pub fn rescale(&mut self, (over, under): (u128, u128)) {
        for stored in self.operations.iter_mut().filter(|stored| stored.kind == Kind::Calc) {
            let scaled = u128::from(stored.amount).saturating_mul(over).saturating_add(under / 2) / under;
            stored.amount = u64::try_from(scaled).unwrap_or(u64::MAX);
        }
    }

    /// Releases the memory reserved for more ranks.
    pub fn shrink(&mut self) {
        self.operations.shrink_to_fit();
        self.edges.shrink_to_fit();
    }

    /// Refuses a program that no run can execute: messages to ranks that do not exist, or operations that wait for one
    /// another.
    pub fn check(&self) -> Result<(), Error> {
        for rank in 0..self.ranks() {
            self.check_peers(rank).and_then(|()| self.check_order(rank)).map_err(|error| error.of(rank))?;
        }
        Ok(())
    }

    /// Refuses a program without operations: the source was not a program, or not all of it.
    pub fn refuse_empty(&self) -> Result<(), Error> {
        if self.operations.is_empty() { Err(Error::empty(self.ranks())) } else { Ok(()) }
    }

    fn check_peers(&self, rank: u32) -> Result<(), Error> {
        for (number, operation) in self.of(rank).enumerate() {
            let (peer, any) = match operation.action {
                Action::Calc(_) => continue,
                Action::Send(transfer) => (transfer.peer, false),
                Action::Recv(transfer) => (transfer.peer, transfer.peer == ANY),
            };
            if peer >= self.ranks() && !any {
                let message = format!("operation {number}, {operation}: expected a rank below {}", self.ranks());
                return Err(Error::new(message));
            }
        }
        Ok(())
    }

    /// Removes operations that wait for nothing until none is left, or only cycles and operations that wait for them.
    pub(crate) fn check_order(&self, rank: u32) -> Result<(), Error> {
        let mut waiting = vec![0u32; self.len(rank) as usize];
        let all = 0..self.len(rank);
        all.clone().flat_map(|n| self.successors(rank, n)).for_each(|s| waiting[s.operation as usize] += 1);
        let mut free: Vec<u32> = all.clone().filter(|&number| waiting[number as usize] == 0).collect();
        let mut taken = 0;
        while let Some(number) = free.pop() {
            taken += 1;
            for successor in self.successors(rank, number) {
                let waits = &mut waiting[successor.operation as usize];
                *waits -= 1;
                if *waits == 0 {
                    free.push(successor.operation);
                }
            }
        }
        if taken == self.len(rank) {
            return Ok(());
        }
        // Each remaining operation waits for another one: following them leads into a cycle.
        let mut before = vec![u32::MAX; waiting.len()];
        for number in all.filter(|&number| waiting[number as usize] > 0) {
            self.successors(rank, number).for_each(|s| before[s.operation as usize] = number);
        }
        let start = (0..).zip(&waiting).find(|(_, waits)| **waits > 0).map_or(0, |(number, _)| number);
        let mut on_way = vec![false; waiting.len()];
        let mut at = start;
        while !std::mem::replace(&mut on_way[at as usize], true) {
            at = before[at as usize];
        }
        let (first, mut circle) = (at, vec![]);
        loop {
            circle.push(format!("{at} ({})", self.operation(rank, at)));
            at = before[at as usize];
            if at == first || circle.len() == MOST_NAMED {
                break;
            }
        }
        let message = format!("operations wait for one another: {}", circle.join(" for "));
        Err(Error { operation: Some(first), ..Error::new(message) })
    }

    fn stored(&self, rank: u32, number: u32) -> &Stored {
        let Place { operations, count, .. } = self.places[rank as usize];
        assert!(number < count, "rank {rank} has {count} operations, asked for number {number}");
        &self.operations[operations + number as usize]
    }
}

/// Makes room for `more` elements, plus an eighth: a list that grows for long would otherwise reserve twice its size.
fn grow<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / 8));
    }
}

/// Receives the ranks of a program one by one, so that the program need not be stored.
pub trait RankSink {
    /// Number of ranks. Called once, before any of them.
    fn begin(&mut self, ranks: u32) -> Result<(), Error>;

    /// The operations of a rank. Called once for each rank.
    fn rank(&mut self, rank: u32, list: RankProgram) -> Result<(), Error>;
}

/// A program assembled from its ranks, in any order.
impl RankSink for Program {
    fn begin(&mut self, ranks: u32) -> Result<(), Error> {
        *self = Self::new(ranks);
        Ok(())
    }

    fn rank(&mut self, rank: u32, list: RankProgram) -> Result<(), Error> {
        self.set(rank, list);
        Ok(())
    }
}

/// The operations of one rank, added one by one.
#[derive(Debug, Clone, Default)]
pub struct RankProgram {
    operations: Vec<Operation>,
    /// The operation waited for, and the waiting one, with the mark [`STARTED`].
    dependencies: Vec<(u32, u32)>,
}

impl RankProgram {
    /// Adds an operation and returns its number.
    ///
    /// # Panics
    ///
    /// Beyond [`MOST_OPERATIONS`].
    pub fn push(&mut self, operation: Operation) -> u32 {
        assert!(self.operations.len() < MOST_OPERATIONS, "a rank has at most {MOST_OPERATIONS} operations");
        self.operations.push(operation);
        self.operations.len() as u32 - 1
    }

    /// Makes room for so many more operations.
    pub(crate) fn reserve(&mut self, operations: usize) {
        self.operations.reserve_exact(operations);
    }

    /// Operation `after` may not start before `before` has ended, or has started.
    ///
    /// # Panics
    ///
    /// If there is no operation of one of these numbers.
    pub fn order(&mut self, before: u32, after: u32, until: Until) {
        let count = self.len();
        assert!(before < count && after < count, "operations {before} and {after} of {count}");
        let mark = if until == Until::Started { STARTED } else { 0 };
        self.dependencies.push((before, after | mark));
    }

    /// Sorts the dependencies from `first` on, and so the order in which operations released by one operation start, by
    /// a key of the waiting operations.
    pub(crate) fn order_successors(&mut self, first: usize, key: impl Fn(u32) -> u32) {
        self.dependencies[first..].sort_by_key(|(_, after)| key(after & !STARTED));
    }

    /// Adds an operation that waits until all of `before` have ended, and returns its number.
    pub fn after(&mut self, before: &[u32], operation: Operation) -> u32 {
        let number = self.push(operation);
        before.iter().for_each(|&one| self.order(one, number, Until::Done));
        number
    }

    /// Number of operations.
    pub fn len(&self) -> u32 {
        self.operations.len() as u32
    }

    /// The operations, by their numbers.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = Operation> {
        self.operations.iter().copied()
    }

    /// The dependencies in the order in which they were added: predecessor, successor, and event.
    pub fn dependencies(&self) -> impl ExactSizeIterator<Item = (u32, u32, Until)> {
        self.dependencies.iter().map(|(before, after)| {
            let until = if after & STARTED == 0 { Until::Done } else { Until::Started };
            (*before, after & !STARTED, until)
        })
    }

    /// True if there are no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_stay_in_the_order_in_which_they_were_said() {
        let mut rank = RankProgram::default();
        let [a, b, c] = [1, 2, 3].map(|time| rank.push(Operation::calc(time)));
        rank.order(a, c, Until::Started);
        rank.order(b, c, Until::Done);
        rank.order(a, b, Until::Done);
        let mut program = Program::new(2);
        program.set(1, rank);
        let of = |number| program.successors(1, number).map(|s| (s.operation, s.until)).collect::<Vec<_>>();
        assert_eq!(of(a), [(c, Until::Started), (b, Until::Done)]);
        assert_eq!(of(b), [(c, Until::Done)]);
        assert_eq!(of(c), []);
        assert_eq!(program.waiting(), [0, 1, 2]);
        assert_eq!((program.len(0), program.len(1)), (0, 3));
    }

    #[test]
    fn ranks_may_come_in_any_order() {
        let mut program = Program::new(3);
        for rank in [2, 0] {
            let mut list = RankProgram::default();
            let first = list.push(Operation::send(u64::from(rank), 1, 7).on(1).by(2));
            list.after(&[first], Operation::recv(8, ANY, ANY));
            program.set(rank, list);
        }
        assert_eq!(program.operation(0, 0).to_string(), "send 0b to 1 tag 7 cpu 1 nic 2");
        assert_eq!(program.operation(2, 1).to_string(), "recv 8b from -1 tag -1");
        assert_eq!((program.cpus(), program.nics()), (2, 3));
        assert_eq!(program.of(2).len(), 2);
        assert_eq!(program.index(0, 1), 3);
    }
}
