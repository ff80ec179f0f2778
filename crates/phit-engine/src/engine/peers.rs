//! One run in several processes: what they say to one another.
//!
//! All of them make the same calls in the same order, as one program does that is run several times: what one of them
//! decides by, such as the time that a step took or a count of packets, is exchanged first, so that all decide the
//! same.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

/// The processes of a run, as one of them sees them.
pub trait Peers: Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// How many they are.
    fn count(&self) -> usize;

    /// Sends a letter to every other process, of `lengths[p]` bytes to process `p`, and takes one from each. The memory
    /// is the carrier's, which needs none that is new from one exchange to the next: letters are long, and come by the
    /// thousand. First all are written, then all are read, in the order of the processes.
    fn exchange(&self, lengths: &[usize], letters: &mut dyn Letters) -> Result<(), Parted>;
}

/// Who writes letters to other processes, and reads theirs. What carries letters is not called meanwhile.
pub trait Letters {
    /// Writes the letter to a process, every byte of it.
    fn write(&mut self, process: usize, letter: &mut [u8]);

    /// Reads the letter of a process.
    fn read(&mut self, process: usize, letter: &[u8]);
}

/// The processes of a run have lost one another: why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Parted(pub String);

/// The processes of a run, for those who ask them all. Where one does not answer the stack is unwound with
/// [`Parted`], as far as the entrance of the run.
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

    /// True of the process that has the results.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// See [`Peers::exchange`].
    pub(crate) fn exchange(&self, lengths: &[usize], letters: &mut dyn Letters) {
        self.0.exchange(lengths, letters).unwrap_or_else(|parted| resume_unwind(Box::new(parted)));
    }

    /// What each process says, by process.
    pub(crate) fn each<T: Serialize + DeserializeOwned>(&self, own: T) -> Vec<T> {
        let bytes = written(&own);
        self.gathered(own, vec![bytes; self.count()])
    }

    /// The same, for the first process alone; nothing for the others.
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

    /// Hands `mail[p]` to process `p`, and returns what the others have for this one.
    fn swap(&self, mail: &[Vec<u8>]) -> Vec<Vec<u8>> {
        /// What is sent, and what has come.
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

    /// The largest of all.
    pub(crate) fn largest(&self, own: u64) -> u64 {
        self.each(own).into_iter().max().unwrap_or(own)
    }

    /// The least of all.
    pub(crate) fn least(&self, own: u64) -> u64 {
        self.each(own).into_iter().min().unwrap_or(own)
    }

    /// True if it is true of all.
    pub(crate) fn all(&self, own: bool) -> bool {
        self.each(own).into_iter().all(|it| it)
    }
}

/// As bytes.
pub(crate) fn written<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).unwrap_or_else(|error| garbled(error))
}

/// What a process has written.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> T {
    postcard::from_bytes(bytes).unwrap_or_else(|error| garbled(error))
}

/// The text that stands for `name` in this process: one of a few, such as the names of what probes record.
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

/// A process has sent what this one does not understand.
#[cold]
pub(crate) fn garbled(why: impl std::fmt::Display) -> ! {
    let words = "expected processes of one version of Phit, all with the same scenario";
    resume_unwind(Box::new(Parted(format!("another process of the run is not understood ({why}); {words}"))))
}
