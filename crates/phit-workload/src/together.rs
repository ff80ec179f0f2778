//! Parallel programs, each with its own ranks.

use crate::inference::Served;
use crate::plan::{Exchange, Executable, Phase, Plan, Released};
use crate::program::{ANY, Action, Operation};
use crate::ranks::Ranks;
use std::sync::Arc;

/// Programs that run at once. The ranks of each are numbered after the ranks of the program before.
#[derive(Debug, Default)]
pub struct Together {
    parts: Vec<Part>,
    ranks: u32,
}

#[derive(Debug, Clone)]
struct Part {
    program: Arc<dyn Executable>,
    /// Its first rank.
    first: u32,
    /// When it starts, in the hosts' unit of time.
    start: u64,
}

impl Together {
    /// Adds a program that starts at `start`, in the hosts' unit of time. Returns its first rank.
    pub fn add(&mut self, program: Arc<dyn Executable>, start: u64) -> u32 {
        let first = self.ranks;
        self.ranks += program.ranks();
        self.parts.push(Part { program, first, start });
        first
    }
}

impl Executable for Together {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn operations(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.program.operations()).sum()
    }

    fn plan(self: Arc<Self>, ranks: Ranks) -> Box<dyn Plan> {
        let part = |Part { program, first, start }: &Part| {
            let end = first + program.ranks();
            let own = ranks.iter().filter(|rank| (*first..end).contains(rank)).map(|rank| rank - first);
            let own = Ranks::some(own.collect(), program.ranks());
            Running { plan: program.clone().plan(own), first: *first, start: *start }
        };
        Box::new(TogetherPlan { parts: self.parts.iter().map(part).collect(), released: Vec::new(), ranks })
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.program.bytes()).sum()
    }

    fn state(&self) -> f64 {
        self.parts.iter().map(|part| part.program.state()).sum()
    }

    fn every_size(&self, fits: &dyn Fn(u64) -> bool) -> bool {
        self.parts.iter().all(|part| part.program.every_size(fits))
    }
}

/// The parts of all programs for some ranks.
#[derive(Debug)]
struct TogetherPlan {
    ranks: Ranks,
    parts: Vec<Running>,
    released: Vec<Released>,
}

#[derive(Debug)]
struct Running {
    plan: Box<dyn Plan>,
    first: u32,
    start: u64,
}

impl Running {
    /// An operation with its ranks numbered over all programs.
    fn named(&self, mut operation: Operation) -> Operation {
        if let Action::Send(transfer) | Action::Recv(transfer) = &mut operation.action
            && transfer.peer != ANY
        {
            transfer.peer += self.first;
        }
        operation
    }
}

impl TogetherPlan {
    fn of(&self, rank: u32) -> usize {
        self.parts.partition_point(|part| part.first <= rank) - 1
    }

    /// Asks the plan of a rank, which numbers its ranks from 0, for released operations.
    fn ask(
        &mut self,
        rank: u32,
        released: &mut Vec<Released>,
        ask: impl FnOnce(&mut dyn Plan, u32, &mut Vec<Released>),
    ) {
        let place = self.of(rank);
        let part = &mut self.parts[place];
        ask(&mut *part.plan, rank - part.first, &mut self.released);
        released.extend(self.released.drain(..).map(|own| Released {
            rank: own.rank + part.first,
            operation: part.named(own.operation),
            earliest: own.earliest.max(part.start),
            ..own
        }));
    }
}

impl Plan for TogetherPlan {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn cpus(&self) -> usize {
        self.parts.iter().map(|part| part.plan.cpus()).max().unwrap_or(1)
    }

    fn nics(&self) -> usize {
        self.parts.iter().map(|part| part.plan.nics()).max().unwrap_or(1)
    }

    fn begin(&mut self, rank: u32, released: &mut Vec<Released>) {
        self.ask(rank, released, |plan, rank, released| plan.begin(rank, released));
    }

    fn operation(&self, rank: u32, number: u32) -> Option<Operation> {
        let part = &self.parts[self.of(rank)];
        part.plan.operation(rank - part.first, number).map(|operation| part.named(operation))
    }

    fn cpu_of(&self, rank: u32, number: u32) -> u8 {
        let part = &self.parts[self.of(rank)];
        part.plan.cpu_of(rank - part.first, number)
    }

    fn hears_of_starts(&self) -> bool {
        self.parts.iter().any(|part| part.plan.hears_of_starts())
    }

    fn started(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>) {
        self.ask(rank, released, |plan, rank, released| plan.started(rank, number, time, released));
    }

    fn done(&mut self, rank: u32, number: u32, time: u64, released: &mut Vec<Released>) {
        self.ask(rank, released, |plan, rank, released| plan.done(rank, number, time, released));
    }

    fn exchange(&mut self, (rank, _): (u32, usize), number: u32, time: u64, eager: u64) -> Option<Exchange> {
        let which = self.of(rank);
        let Running { plan, first, .. } = &mut self.parts[which];
        let own = rank - *first;
        let place = plan.ranks().place(own);
        let mut exchange = plan.exchange((own, place), number, time, eager)?;
        exchange.send.peer += *first;
        exchange.receive.peer += *first;
        Some(exchange)
    }

    fn unperformed(&self, rank: u32) -> Vec<u32> {
        let Running { plan, first, .. } = &self.parts[self.of(rank)];
        plan.unperformed(rank - first)
    }

    fn note_phases(&mut self) {
        self.parts.iter_mut().for_each(|part| part.plan.note_phases());
    }

    fn phases(&self, rank: u32) -> Vec<Phase> {
        let Running { plan, first, start } = &self.parts[self.of(rank)];
        let begun = |phase: Phase| Phase { start: phase.start.max(*start), end: phase.end.max(*start), ..phase };
        plan.phases(rank - first).into_iter().map(begun).collect()
    }

    fn served(&self) -> Vec<Served> {
        let of = |part: &Running| -> Vec<Served> {
            part.plan.served().into_iter().map(|one| Served { rank: one.rank + part.first, ..one }).collect()
        };
        self.parts.iter().flat_map(of).collect()
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.plan.bytes()).sum()
    }

    fn fetch(&self) {
        self.parts.iter().for_each(|part| part.plan.fetch());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal;
    use crate::host::HostParams;
    use crate::network::Ideal;
    use crate::run::run;

    const PAIR: &str = "num_ranks 2\nrank 0 {\na: calc 10\nb: send 8b to 1\nb requires a\n}\n\
                        rank 1 {\nrecv 8b from -1\n}\n";

    #[test]
    fn programs_know_nothing_of_one_another() {
        let program = Arc::new(goal::read(PAIR.as_bytes()).unwrap());
        let mut together = Together::default();
        assert_eq!([together.add(program.clone(), 0), together.add(program, 100)], [0, 2]);
        let params = HostParams { overhead: 1, gap: 0, gap_per_byte: 0, overhead_per_byte: 0, eager: 100 };
        let plan = Arc::new(together).plan(Ranks::all(4));
        let finish = run(plan, params, Ideal(|_, _| 5));
        assert!(finish.left.is_empty());
        assert_eq!(finish.ranks, [11, 17, 111, 117]);
    }

    #[test]
    fn a_part_of_the_ranks_has_parts_of_the_programs() {
        let program = Arc::new(goal::read(PAIR.as_bytes()).unwrap());
        let mut together = Together::default();
        together.add(program.clone(), 0);
        together.add(program, 0);
        let [mut even, _] = <[Ranks; 2]>::try_from(Ranks::of_parts(&[0, 1, 0, 1], 2)).unwrap().map(|ranks| {
            let mut whole = Together::default();
            for part in &together.parts {
                whole.add(part.program.clone(), part.start);
            }
            Arc::new(whole).plan(ranks)
        });
        let mut released = vec![];
        even.begin(2, &mut released);
        let names = |released: &[Released]| -> Vec<String> {
            released.iter().map(|own| format!("{}.{} {}", own.rank, own.number, own.operation)).collect()
        };
        assert_eq!(names(&released), ["2.0 calc 10"]);
        released.clear();
        even.done(2, 0, 10, &mut released);
        assert_eq!(names(&released), ["2.1 send 8b to 3"]);
        assert_eq!(even.operation(2, 1), Some(released[0].operation));
    }
}
