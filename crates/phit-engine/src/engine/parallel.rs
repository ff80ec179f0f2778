//! Running partitions on threads, and in several processes.
//!
//! Partitions interact by mail that takes at least the lookahead, so each runs that long on its own. This helps a
//! single thread, too: a partition that runs a whole epoch keeps its state in the private cache. Mail for partitions of
//! other processes is carried there at the end of the epoch.

use super::Tick;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The mail from one partition to another.
pub trait Post: Default + Send {
    /// Memory of mail that has been read, for new mail.
    type Room: Send;
    /// Memory for the mail of `partitions` partitions.
    fn room(partitions: usize) -> Self::Room;
    /// True if it is empty.
    fn is_empty(&self) -> bool;
}

/// A partition that runs in epochs and exchanges mail.
pub(crate) trait Runs: Send {
    /// The mail that is exchanged.
    type Mail: Post;
    /// Brings the memory that it will need into the cache. The other partitions of its thread have driven it out.
    fn fetch(&self);
    /// Receives mail, to be handled at ticks from the current one on, and runs all ticks before `end`.
    fn run_until(&mut self, end: Tick, mail: Vec<Self::Mail>, outbox: &mut Outbox<Self::Mail>);
}

/// The outgoing mail of a thread's partitions: lent to one after another.
#[derive(Debug)]
pub(crate) struct Outbox<M: Post> {
    /// Mail by receiving partition.
    pub mail: Vec<M>,
    /// Memory for more mail.
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

/// The mail for each partition between two calls of [`advance`], from each thread that had some.
#[derive(Debug)]
pub struct Inboxes<M: Post> {
    mail: Vec<Mutex<Vec<M>>>,
    /// Memory that threads keep from one call to the next.
    rooms: Mutex<Vec<M::Room>>,
}

impl<M: Post> Inboxes<M> {
    /// Empty inboxes for `partitions` partitions.
    pub fn new(partitions: usize) -> Self {
        Self { mail: (0..partitions).map(|_| Mutex::new(Vec::new())).collect(), rooms: Mutex::default() }
    }

    /// Empty mail for all partitions, and room for it, for one of `threads` threads.
    pub(crate) fn outbox(&self, threads: usize) -> Outbox<M> {
        let room = lock(&self.rooms).pop().unwrap_or_else(|| M::room(self.len().div_ceil(threads)));
        Outbox { mail: (0..self.len()).map(|_| M::default()).collect(), room }
    }

    /// Keeps the memory of an empty outbox.
    pub(crate) fn keep(&self, outbox: Outbox<M>) {
        lock(&self.rooms).push(outbox.room);
    }

    /// Calls `see` with the memory that threads keep.
    pub fn for_each_room(&self, see: impl FnMut(&M::Room)) {
        lock(&self.rooms).iter().for_each(see);
    }

    /// Removes and returns the mail for partition `index`.
    pub(crate) fn take(&self, index: usize) -> Vec<M> {
        std::mem::take(&mut *lock(&self.mail[index]))
    }

    /// Adds mail for partition `index`.
    pub(crate) fn put(&self, index: usize, mail: M) {
        lock(&self.mail[index]).push(mail);
    }

    /// Number of partitions.
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

/// Partitions that take turns among themselves, more often than partitions of different clusters do.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// The partition after its last; its first is where the cluster before it ends.
    pub end: usize,
    /// Ticks that one of its partitions may run ahead of the others.
    pub lookahead: Tick,
}

/// The schedule: which partition runs when.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    /// All partitions, in clusters.
    pub clusters: Vec<Cluster>,
    /// Ticks that a cluster may run ahead of the others.
    pub lookahead: Tick,
}

impl Schedule {
    /// A schedule of `partitions` partitions, each a cluster of its own.
    pub(crate) fn whole(partitions: usize, lookahead: Tick) -> Self {
        let cluster = |end| Cluster { end, lookahead: Tick::MAX };
        Self { clusters: (1..=partitions).map(cluster).collect(), lookahead }
    }
}

/// Moves mail into the inboxes of its receivers.
fn deliver<M: Post>(outbox: &mut [M], inboxes: &[Mutex<Vec<M>>]) {
    for (mail, inbox) in outbox.iter_mut().zip(inboxes) {
        if !mail.is_empty() {
            lock(inbox).push(std::mem::take(mail));
        }
    }
}

/// Carries mail to and from partitions in other processes.
pub(crate) trait Carrier<M: Post>: Sync {
    /// Empties the inboxes of partitions elsewhere, and fills the inboxes here with mail from elsewhere.
    fn carry(&self, inboxes: &Inboxes<M>, room: &mut M::Room);
}

/// The threads on which the partitions of a network run. They are started when they are first needed, and kept as long
/// as the network runs.
#[derive(Debug)]
pub(crate) struct Threads {
    count: usize,
    /// All threads except the calling one.
    others: Option<ThreadPool>,
}

impl Threads {
    /// `count` threads, at least one.
    pub(crate) fn new(count: usize) -> Self {
        Self { count: count.max(1), others: None }
    }

    /// Number of threads for `most` pieces of work, at most one for each piece. If the machine starts no more threads,
    /// it is one: the result is equal.
    fn start(&mut self, most: usize) -> usize {
        let count = self.count.clamp(1, most.max(1));
        if count > 1 && self.others.is_none() {
            let name = |number| format!("partitions {}", number + 1);
            self.others = ThreadPoolBuilder::new().num_threads(count - 1).thread_name(name).build().ok();
        }
        self.others.as_ref().map_or(1, |others| others.current_num_threads() + 1)
    }
}

/// This process's part of a network in several processes.
pub(crate) struct Here<'a, M: Post> {
    /// The first partition of this process.
    pub first: usize,
    /// Carries mail to and from the other processes.
    pub carrier: &'a dyn Carrier<M>,
}

/// The clusters of a thread, by number, and the number of them that have begun their turn in this epoch. In a cache
/// line of its own, since all threads ask for remaining clusters.
#[repr(align(64))]
struct Share {
    clusters: Range<usize>,
    begun: AtomicUsize,
}

impl Share {
    /// One entry for each of `threads` threads, with equal numbers of `clusters`.
    fn of(clusters: Range<usize>, threads: usize) -> Vec<Self> {
        let mut start = clusters.start;
        let share = |thread| {
            let end = start + (clusters.end - start) / (threads - thread);
            Self { clusters: std::mem::replace(&mut start, end)..end, begun: AtomicUsize::new(0) }
        };
        (0..threads).map(share).collect()
    }

    /// The next cluster whose turn it is, for any thread.
    fn next(&self) -> Option<usize> {
        let cluster = self.clusters.start + self.begun.fetch_add(1, Ordering::Relaxed);
        self.clusters.contains(&cluster).then_some(cluster)
    }

    /// An epoch begins.
    fn begin(&self) {
        self.begun.store(0, Ordering::Relaxed);
    }
}

/// Advances all partitions from tick `now` to tick `end` by `schedule`, on `threads`. `partitions` are all partitions,
/// or those that are `here`.
///
/// Each thread has partitions of its own, which may be in its cache. A thread that has finished its own partitions
/// takes remaining ones of other threads: cores differ in speed, and the machine may have other work for them.
pub(crate) fn advance<P: Runs>(
    partitions: &mut [P],
    inboxes: &Inboxes<P::Mail>,
    threads: &mut Threads,
    schedule: &Schedule,
    (now, end): (Tick, Tick),
    here: Option<&Here<'_, P::Mail>>,
) {
    let first = here.map_or(0, |here| here.first);
    let clusters = &schedule.clusters[..];
    let before = |end: usize| clusters.partition_point(|cluster| cluster.end <= end);
    let own = before(first)..before(first + partitions.len());
    let count = threads.start(own.len());
    let (barrier, shares) = (Barrier::new(count), Share::of(own, count));
    let alone = partitions.len() == count;
    // In an epoch, one thread asks for each partition once.
    let partitions: Vec<Mutex<&mut P>> = partitions.iter_mut().map(Mutex::new).collect();
    let turn = |cluster: usize, (from, at): (Tick, Tick), outbox: &mut Outbox<P::Mail>| {
        let Cluster { end, lookahead } = clusters[cluster];
        let start = cluster.checked_sub(1).map_or(0, |before| clusters[before].end);
        let mut until = from;
        while until < at {
            until += lookahead.min(at - until);
            for index in start..end {
                let mut partition = lock(&partitions[index - first]);
                if !alone {
                    partition.fetch();
                }
                let mail = std::mem::take(&mut *lock(&inboxes.mail[index]));
                partition.run_until(until, mail, outbox);
            }
            // Until the end of the epoch, no other thread runs these partitions, or sends to them.
            if until < at {
                deliver(&mut outbox.mail[start..end], &inboxes.mail[start..end]);
            }
        }
    };
    let work = |thread: usize| {
        let _abandon = Abandon(&barrier);
        let mut outbox = inboxes.outbox(count);
        let mut at = now;
        while at < end {
            let from = at;
            at += schedule.lookahead.min(end - at);
            for share in shares[thread..].iter().chain(&shares[..thread]) {
                while let Some(cluster) = share.next() {
                    turn(cluster, (from, at), &mut outbox);
                }
            }
            // No thread may send before all have fetched the mail of the last epoch. So mail needs the memory of one
            // epoch only.
            if !barrier.wait() {
                return;
            }
            shares[thread].begin();
            deliver(&mut outbox.mail, &inboxes.mail);
            if !barrier.wait() {
                return;
            }
            if let Some(Here { carrier, .. }) = here {
                if thread == 0 {
                    carrier.carry(inboxes, &mut outbox.room);
                }
                if !barrier.wait() {
                    return;
                }
            }
        }
        inboxes.keep(outbox);
    };
    // This thread, the first, is asked whether the work is still wanted, and answers for the process.
    let Some(others) = &threads.others else { return work(0) };
    others.in_place_scope(|scope| {
        // One piece for each thread: a thread that waits at the barrier takes no second piece.
        (1..count).for_each(|thread| {
            let work = &work;
            scope.spawn(move |_| work(thread));
        });
        work(0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;
    use std::time::{Duration, Instant};

    #[derive(Debug, Default, PartialEq)]
    struct Letters(Vec<(usize, Tick)>);

    impl Post for Letters {
        type Room = ();
        fn room(_: usize) {}
        fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }

    /// Writes to the next partition in every turn. In its first turn, it waits until `waits_for` has had its turn.
    struct Writer<'a> {
        number: usize,
        of: usize,
        turns: Vec<(Tick, Vec<(usize, Tick)>)>,
        had_turn: &'a [AtomicBool],
        waits_for: Option<usize>,
    }

    impl Runs for Writer<'_> {
        type Mail = Letters;
        fn fetch(&self) {}
        fn run_until(&mut self, end: Tick, mail: Vec<Letters>, outbox: &mut Outbox<Letters>) {
            self.had_turn[self.number].store(true, SeqCst);
            let since = Instant::now();
            while let Some(other) = self.waits_for.filter(|other| !self.had_turn[*other].load(SeqCst)) {
                assert!(since.elapsed() < Duration::from_secs(20), "nobody has taken over the turn of {other}");
                std::thread::yield_now();
            }
            self.turns.push((end, mail.into_iter().flat_map(|letters| letters.0).collect()));
            outbox.mail[(self.number + 1) % self.of].0.push((self.number, end));
        }
    }

    fn writers<'a>(had_turn: &'a [AtomicBool], waits: impl Fn(usize) -> Option<usize>) -> Vec<Writer<'a>> {
        let of = had_turn.len();
        (0..of).map(|number| Writer { number, of, turns: Vec::new(), had_turn, waits_for: waits(number) }).collect()
    }

    #[test]
    fn every_partition_has_each_turn_once_and_gets_the_mail_of_the_one_before() {
        for (partitions, count) in [(1, 1), (1, 4), (2, 2), (7, 1), (7, 3), (7, 7), (5, 9)] {
            let had_turn: Vec<AtomicBool> = (0..partitions).map(|_| AtomicBool::new(false)).collect();
            let mut writers = writers(&had_turn, |_| None);
            let (inboxes, schedule) = (Inboxes::new(partitions), Schedule::whole(partitions, 10));
            let mut threads = Threads::new(count);
            // The second call uses the threads of the first.
            for (now, end) in [(0, 35), (35, 50)] {
                advance(&mut writers, &inboxes, &mut threads, &schedule, (now, end), None);
            }
            for writer in &writers {
                let from = (writer.number + partitions - 1) % partitions;
                let ends = [10, 20, 30, 35, 45, 50];
                let mail = |turn: usize| turn.checked_sub(1).map(|before| (from, ends[before])).into_iter().collect();
                let expected: Vec<_> = (0..).zip(ends).map(|(turn, end)| (end, mail(turn))).collect();
                assert_eq!(writer.turns, expected, "{} of {partitions} on {count} threads", writer.number);
            }
        }
    }

    #[test]
    fn a_thread_that_is_done_takes_what_another_has_left() {
        // The first two partitions belong to one thread.
        let had_turn: Vec<AtomicBool> = (0..4).map(|_| AtomicBool::new(false)).collect();
        let mut writers = writers(&had_turn, |number| (number == 0).then_some(1));
        let mut threads = Threads::new(2);
        advance(&mut writers, &Inboxes::new(4), &mut threads, &Schedule::whole(4, 10), (0, 20), None);
        assert!(writers.iter().all(|writer| writer.turns.len() == 2));
    }

    #[test]
    #[should_panic(expected = "nothing comes of it")]
    fn a_thread_that_panics_lets_the_others_go() {
        struct Fails(bool);
        impl Runs for Fails {
            type Mail = Letters;
            fn fetch(&self) {}
            fn run_until(&mut self, _: Tick, _: Vec<Letters>, _: &mut Outbox<Letters>) {
                assert!(!self.0, "nothing comes of it");
            }
        }
        let mut partitions: Vec<Fails> = (0..6).map(|number| Fails(number == 4)).collect();
        advance(&mut partitions, &Inboxes::new(6), &mut Threads::new(3), &Schedule::whole(6, 10), (0, 1000), None);
    }
}
