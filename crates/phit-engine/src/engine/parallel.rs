//! Running partitions on threads, and in several processes.
//!
//! Partitions interact by mail that takes at least the lookahead, so each runs that long on its own. The same holds on
//! one thread: a partition that runs a whole epoch keeps its state in the private cache. Mail for partitions of other
//! processes is carried there when the epoch is over.

use super::Tick;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What partitions send to one another.
pub trait Post: Default + Send {
    /// Memory of mail that has been read, for mail to be written.
    type Room: Send;
    /// Room for the mail of so many partitions.
    fn room(partitions: usize) -> Self::Room;
    /// True if there is nothing in it.
    fn is_empty(&self) -> bool;
}

/// What runs in epochs and exchanges mail.
pub(crate) trait Runs: Send {
    /// What is exchanged.
    type Mail: Post;
    /// Brings what it is going to need into the cache: it has been driven out by the others of its thread.
    fn fetch(&self);
    /// Takes in mail, to be handled at ticks from the current one on, and runs all ticks before `end`.
    fn run_until(&mut self, end: Tick, mail: Vec<Self::Mail>, outbox: &mut Outbox<Self::Mail>);
}

/// What the partitions of a thread send: it is lent to one after the other.
#[derive(Debug)]
pub(crate) struct Outbox<M: Post> {
    /// By partition.
    pub mail: Vec<M>,
    /// For more of it.
    pub room: M::Room,
}

/// A barrier that spins briefly and then yields: epochs may be as short as microseconds.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    abandoned: AtomicBool,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Waits for all threads; false if one has panicked.
    fn wait(&self) -> bool {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.fetch_add(1, Ordering::Release);
        } else {
            let mut spins = 0u32;
            while self.generation.load(Ordering::Acquire) == generation {
                if self.abandoned.load(Ordering::Relaxed) {
                    return false;
                }
                spins += 1;
                if spins < 2000 { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
        !self.abandoned.load(Ordering::Relaxed)
    }
}

/// Lets the other threads go when this one unwinds.
struct Abandon<'a>(&'a Barrier);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandoned.store(true, Ordering::Relaxed);
        }
    }
}

/// The mail that waits for each partition between two calls of [`advance`], from each thread that had some.
#[derive(Debug)]
pub struct Inboxes<M: Post> {
    mail: Vec<Mutex<Vec<M>>>,
    /// What threads keep from one call to the next.
    rooms: Mutex<Vec<M::Room>>,
}

impl<M: Post> Inboxes<M> {
    /// Empty inboxes for `partitions` partitions.
    pub fn new(partitions: usize) -> Self {
        Self { mail: (0..partitions).map(|_| Mutex::new(Vec::new())).collect(), rooms: Mutex::default() }
    }

    /// Empty mail for all partitions, and room for it, for one of `threads` threads.
    fn outbox(&self, threads: usize) -> Outbox<M> {
        let room = lock(&self.rooms).pop().unwrap_or_else(|| M::room(self.len().div_ceil(threads)));
        Outbox { mail: (0..self.len()).map(|_| M::default()).collect(), room }
    }

    /// Calls `see` with the room that threads keep.
    pub fn for_each_room(&self, see: impl FnMut(&M::Room)) {
        lock(&self.rooms).iter().for_each(see);
    }

    /// Takes the mail for partition `index` away.
    pub(crate) fn take(&self, index: usize) -> Vec<M> {
        std::mem::take(&mut *lock(&self.mail[index]))
    }

    /// Puts mail there for partition `index`.
    pub(crate) fn put(&self, index: usize, mail: M) {
        lock(&self.mail[index]).push(mail);
    }

    /// Partitions.
    pub(crate) fn len(&self) -> usize {
        self.mail.len()
    }

    /// Calls `see` with the mail of every partition.
    pub fn for_each(&self, mut see: impl FnMut(usize, &M)) {
        self.mail.iter().enumerate().for_each(|(index, mail)| lock(mail).iter().for_each(|mail| see(index, mail)));
    }
}

fn lock<M>(mutex: &Mutex<M>) -> MutexGuard<'_, M> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Partitions that take turns among themselves, more often than those of different clusters do.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// The partition after its last; its first is where the cluster before it ends.
    pub end: usize,
    /// Ticks that one of its partitions may run ahead of the others.
    pub lookahead: Tick,
}

/// When which partition runs.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    /// All partitions, in clusters.
    pub clusters: Vec<Cluster>,
    /// Ticks that a cluster may run ahead of the others.
    pub lookahead: Tick,
}

impl Schedule {
    /// Of `partitions` partitions, each a cluster of its own.
    pub(crate) fn whole(partitions: usize, lookahead: Tick) -> Self {
        let cluster = |end| Cluster { end, lookahead: Tick::MAX };
        Self { clusters: (1..=partitions).map(cluster).collect(), lookahead }
    }
}

/// Moves mail to where its receivers find it.
fn deliver<M: Post>(outbox: &mut [M], inboxes: &[Mutex<Vec<M>>]) {
    for (mail, inbox) in outbox.iter_mut().zip(inboxes) {
        if !mail.is_empty() {
            lock(inbox).push(std::mem::take(mail));
        }
    }
}

/// What brings mail to partitions in other processes, and from there.
pub(crate) trait Carrier<M: Post>: Sync {
    /// Empties the inboxes of partitions elsewhere, and fills those here with what has come for them.
    fn carry(&self, inboxes: &Inboxes<M>, room: &mut M::Room);
}

/// Of a network in several processes: what of it is here.
pub(crate) struct Here<'a, M: Post> {
    /// The first partition of this process.
    pub first: usize,
    /// What leads to the others.
    pub carrier: &'a dyn Carrier<M>,
}

/// Advances all partitions from tick `now` to tick `end` by `schedule`, on `threads` threads. `partitions` are all, or
/// those that are `here`.
pub(crate) fn advance<P: Runs>(
    partitions: &mut [P],
    inboxes: &Inboxes<P::Mail>,
    threads: usize,
    schedule: &Schedule,
    (now, end): (Tick, Tick),
    here: Option<&Here<'_, P::Mail>>,
) {
    let first = here.map_or(0, |here| here.first);
    let count = |end: usize| schedule.clusters.partition_point(|cluster| cluster.end <= end);
    let own = &schedule.clusters[count(first)..count(first + partitions.len())];
    let threads = threads.clamp(1, own.len().max(1));
    let barrier = Barrier::new(threads);
    let work = |first: usize, own: &mut [P], clusters: &[Cluster], last: bool| {
        let _abandon = Abandon(&barrier);
        let mut outbox = inboxes.outbox(threads);
        let mut at = now;
        while at < end {
            let from = at;
            at += schedule.lookahead.min(end - at);
            let alone = own.len() == 1;
            let mut start = first;
            for &Cluster { end, lookahead } in clusters {
                let mut until = from;
                while until < at {
                    until += lookahead.min(at - until);
                    for index in start..end {
                        let partition = &mut own[index - first];
                        if !alone {
                            partition.fetch();
                        }
                        let mail = std::mem::take(&mut *lock(&inboxes.mail[index]));
                        partition.run_until(until, mail, &mut outbox);
                    }
                    // Nobody else runs, or sends to, these partitions before the epoch's end.
                    if until < at {
                        deliver(&mut outbox.mail[start..end], &inboxes.mail[start..end]);
                    }
                }
                start = end;
            }
            // Nobody may post before all have fetched what the last epoch left them: mail kept apart by epochs needs
            // only the memory of one.
            if !barrier.wait() {
                return;
            }
            deliver(&mut outbox.mail, &inboxes.mail);
            if !barrier.wait() {
                return;
            }
            if let Some(Here { carrier, .. }) = here {
                if last {
                    carrier.carry(inboxes, &mut outbox.room);
                }
                if !barrier.wait() {
                    return;
                }
            }
        }
        lock(&inboxes.rooms).push(outbox.room);
    };
    if threads == 1 {
        work(first, partitions, own, true);
        return;
    }
    std::thread::scope(|scope| {
        let (mut rest, mut clusters) = (partitions, own);
        let mut first = first;
        for thread in 0..threads {
            let (turns, later) = clusters.split_at(clusters.len() / (threads - thread));
            clusters = later;
            let end = turns.last().map_or(first, |cluster| cluster.end);
            let (own, others) = rest.split_at_mut(end - first);
            rest = others;
            let (start, work) = (first, &work);
            first = end;
            match thread + 1 == threads {
                // This thread is asked whether the work is still wanted, and speaks for the process.
                true => work(start, own, turns, true),
                false => drop(scope.spawn(move || work(start, own, turns, false))),
            }
        }
    });
}
