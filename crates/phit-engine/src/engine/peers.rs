//! One run in several processes: their communication.
//!
//! All processes make equal calls in equal order, like one program that is run several times. Values that decide what
//! to do next, such as the time of a step or a count of packets, are exchanged first. So all processes decide alike.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

/// The processes of a run, as one of them sees them.
pub trait Peers: Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn count(&self) -> usize;

    /// Sends a letter to every other process, of `lengths[p]` bytes to process `p`, and receives one from each. First
    /// all letters are written, then all are read, in the order of the processes. The implementation owns the memory
    /// and reuses it from one exchange to the next: letters are long, and there are thousands.
    fn exchange(&self, lengths: &[usize], letters: &mut dyn Letters) -> Result<(), Parted>;
}

/// Writes letters to other processes, and reads theirs. The [`Peers`] are not called meanwhile.
pub trait Letters {
    /// Writes the letter to a process. It must write every byte.
    fn write(&mut self, process: usize, letter: &mut [u8]);

    /// Reads the letter of a process.
    fn read(&mut self, process: usize, letter: &[u8]);
}

/// The processes of a run have lost contact, for this reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Parted(pub String);

/// The processes of a run, for questions to all of them. If one does not answer, the stack is unwound with [`Parted`],
/// up to the entrance of the run.
#[derive(Clone)]
pub struct Team(Arc<dyn Peers>);

impl Team {
    /// These processes.
    pub fn new(peers: Arc<dyn Peers>) -> Self {
        Self(peers)
    }

    /// The number of this process, from 0.
    pub fn rank(&self) -> usize {
        self.0.rank()
    }

    /// True for the process that returns the results.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Number of processes.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// See [`Peers::exchange`].
    pub(crate) fn exchange(&self, lengths: &[usize], letters: &mut dyn Letters) {
        self.0.exchange(lengths, letters).unwrap_or_else(|parted| resume_unwind(Box::new(parted)));
    }

    /// The values of all processes, by process.
    pub(crate) fn each<T: Serialize + DeserializeOwned>(&self, own: T) -> Vec<T> {
        let bytes = written(&own);
        self.gathered(own, vec![bytes; self.count()])
    }

    /// The values of all processes, for the first process; `None` for the others.
    pub(crate) fn for_first<T: Serialize + DeserializeOwned>(&self, own: T) -> Option<Vec<T>> {
        let mut mail = vec![Vec::new(); self.count()];
        match self.is_first() {
            true => Some(self.gathered(own, mail)),
            false => {
                mail[0] = written(&own);
                self.swap(&mail);
                None
            }
        }
    }

    fn gathered<T: DeserializeOwned>(&self, own: T, mail: Vec<Vec<u8>>) -> Vec<T> {
        let mut all: Vec<T> = self.swap(&mail).iter().map(|bytes| read(bytes)).collect();
        all.insert(self.rank(), own);
        all
    }

    /// Sends `mail[p]` to process `p`, and returns the mail for this process.
    fn swap(&self, mail: &[Vec<u8>]) -> Vec<Vec<u8>> {
        /// The letters sent, and the letters received.
        struct Whole<'a>(&'a [Vec<u8>], Vec<Vec<u8>>);
        impl Letters for Whole<'_> {
            fn write(&mut self, process: usize, letter: &mut [u8]) {
                letter.copy_from_slice(&self.0[process]);
            }

            fn read(&mut self, _: usize, letter: &[u8]) {
                self.1.push(letter.to_vec());
            }
        }
        let lengths: Vec<usize> = mail.iter().map(Vec::len).collect();
        let mut whole = Whole(mail, Vec::new());
        self.exchange(&lengths, &mut whole);
        whole.1
    }

    /// The sums over all processes.
    pub(crate) fn sums<const N: usize>(&self, own: [u64; N]) -> [u64; N] {
        let add = |mut sums: [u64; N], of: Vec<u64>| {
            sums.iter_mut().zip(of).for_each(|(sum, count)| *sum += count);
            sums
        };
        self.each(own.to_vec()).into_iter().fold([0; N], add)
    }

    /// The largest value of all processes.
    pub(crate) fn largest(&self, own: u64) -> u64 {
        self.each(own).into_iter().max().unwrap_or(own)
    }

    /// The smallest value of all processes.
    pub(crate) fn least(&self, own: u64) -> u64 {
        self.each(own).into_iter().min().unwrap_or(own)
    }

    /// True if it is true in all processes.
    pub(crate) fn all(&self, own: bool) -> bool {
        self.each(own).into_iter().all(|it| it)
    }
}

/// As bytes.
pub(crate) fn written<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).unwrap_or_else(|error| garbled(error))
}

/// The value that a process has written.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).unwrap_or_else(|error| garbled(error))
}

/// The static text equal to `name` in this process: one of a few, such as the names of observables.
pub(crate) fn named(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.get(name) {
        Some(name) => name,
        None => {
            let kept: &'static str = name.to_owned().leak();
            names.insert(kept);
            kept
        }
    }
}

/// A process has sent a letter that this one does not understand.
#[cold]
pub(crate) fn garbled(why: impl std::fmt::Display) -> ! {
    let words = "expected processes of one version of Phit, all with the same scenario";
    resume_unwind(Box::new(Parted(format!("another process of the run is not understood ({why}); {words}"))))
}
