//! Runs by several processes, which are threads here. They communicate only through channels of bytes.

use phit_engine::engine::{Letters, Parted, Peers, Team};
use phit_engine::result::Outcome;
use phit_engine::run::{Options, RunError, Simulation};
use phit_engine::scenario::Scenario;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// One of the processes.
struct Channels {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Channels {
    /// This many processes.
    fn new(count: usize) -> Vec<Self> {
        let mut all: Vec<Self> = (0..count).map(|rank| Self { rank, to: vec![], from: vec![] }).collect();
        for to in 0..count {
            for from in 0..count {
                let (sender, receiver) = channel();
                all[from].to.push(sender);
                all[to].from.push(Mutex::new(receiver));
            }
        }
        all
    }
}

impl Peers for Channels {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, lengths: &[usize], letters: &mut dyn Letters) -> Result<(), Parted> {
        let parted = |process: usize| Parted(format!("process {process} has ended"));
        let others = || (0..self.count()).filter(|process| *process != self.rank);
        for process in others() {
            // Every byte is to be written, whatever stood there.
            let mut letter = vec![0xa5; lengths[process]];
            letters.write(process, &mut letter);
            self.to[process].send(letter).map_err(|_| parted(process))?;
        }
        for process in others() {
            letters.read(process, &self.from[process].lock().unwrap().recv().map_err(|_| parted(process))?);
        }
        Ok(())
    }
}

/// The results of `work` in each of `count` processes, which gets its number and its view of all processes.
pub fn each<T: Send>(count: usize, work: impl Fn(usize, Team) -> T + Sync) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let start = |(rank, channels)| scope.spawn(move || work(rank, Team::new(Arc::new(channels))));
        let processes: Vec<_> = Channels::new(count).into_iter().enumerate().map(start).collect();
        processes.into_iter().map(|process| process.join().expect("no process has panicked")).collect()
    })
}

/// A run by `count` processes: its outcome, which only the first process has, or the error that all of them have.
pub fn run(scenario: &Scenario, options: Options, count: usize) -> Result<Outcome, RunError> {
    let work = |_, team| Simulation::among(scenario, options, None, Some(team))?.run_together(&mut |_, _| true);
    let mut all = each(count, work).into_iter();
    let first = all.next().expect("at least one process");
    for other in all {
        match (&first, other) {
            (Ok(Some(_)), Ok(None)) => {}
            (Err(error), Err(other)) => assert_eq!(error.to_string(), other.to_string()),
            (first, other) => panic!("one process has {:?}, another {:?}", first.as_ref().err(), other.err()),
        }
    }
    first.map(|outcome| outcome.expect("the first process has the outcome"))
}
