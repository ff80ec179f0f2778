//! Long work that can be given up: checks, builds and proofs report now and then that they are still running.

use std::cell::{Cell, RefCell};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Called a few times a second; returns false to give the work up.
pub type GoOn = Box<dyn FnMut() -> bool>;

/// The work was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenUp;

/// Time between two questions.
const PATIENCE: Duration = Duration::from_millis(100);

/// Calls of [`poll`] between two looks at the clock.
const CALLS: u32 = 64;

struct Watch {
    go_on: GoOn,
    due: Instant,
}

thread_local! {
    static WATCH: RefCell<Option<Rc<RefCell<Watch>>>> = const { RefCell::new(None) };
    static CALLED: Cell<u32> = const { Cell::new(0) };
}

/// Reports that work goes on. For loops whose turns take microseconds. If the work is watched and is to be given up,
/// this does not return: the stack is unwound to [`watched`].
#[inline]
pub fn poll() {
    CALLED.with(|called| {
        called.set(called.get().wrapping_add(1));
        if called.get() % CALLS == 0 {
            look();
        }
    });
}

#[cold]
fn look() {
    let Some(watch) = WATCH.with_borrow(Option::clone) else { return };
    // `go_on` itself may not watch work of its own.
    let Ok(mut watch) = watch.try_borrow_mut() else { return };
    if Instant::now() < watch.due {
        return;
    }
    let goes_on = (watch.go_on)();
    watch.due = Instant::now() + PATIENCE;
    drop(watch);
    if !goes_on {
        resume_unwind(Box::new(GivenUp));
    }
}

/// Does `work`, and calls `go_on` a few times a second to learn whether it is still wanted.
pub fn watched<T>(go_on: GoOn, work: impl FnOnce() -> T) -> Result<T, GivenUp> {
    let watch = Rc::new(RefCell::new(Watch { go_on, due: Instant::now() + PATIENCE }));
    let before = WATCH.with_borrow_mut(|place| place.replace(watch));
    let done = catch_unwind(AssertUnwindSafe(work));
    WATCH.with_borrow_mut(|place| *place = before);
    done.map_err(|payload| match payload.downcast::<GivenUp>() {
        Ok(given_up) => *given_up,
        Err(other) => resume_unwind(other),
    })
}

/// Does work that cannot report, such as a library's. If it is watched, it runs on a thread of its own, which is
/// abandoned if the work is given up.
pub fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if WATCH.with_borrow(Option::is_none) {
        return work();
    }
    let (sender, done) = channel();
    let worker = thread::spawn(move || drop(sender.send(work())));
    loop {
        match done.recv_timeout(PATIENCE) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => look(),
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("a thread that has ended without a result or a panic"),
            },
        }
    }
}

/// A reader that reports, for work that lasts as long as there is more to read.
#[derive(Debug)]
pub struct Patiently<R>(pub R);

impl<R: Read> Read for Patiently<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        look();
        self.0.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_aside_is_given_up_and_hands_on_what_it_finds() {
        assert_eq!(aside(|| 7), 7);
        assert_eq!(watched(Box::new(|| true), || aside(|| 7)), Ok(7));
        let start = Instant::now();
        let slept = watched(Box::new(|| false), || aside(|| thread::sleep(Duration::from_secs(60))));
        assert!(slept == Err(GivenUp) && start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        let panic = catch_unwind(|| watched(Box::new(|| true), || aside(|| resume_unwind(Box::new("other")))));
        assert_eq!(panic.map(|_: Result<(), GivenUp>| ()).unwrap_err().downcast_ref(), Some(&"other"));
    }

    fn long() -> u32 {
        let start = Instant::now();
        let mut turns = 0;
        while start.elapsed() < Duration::from_secs(5) {
            poll();
            turns += 1;
        }
        turns
    }

    #[test]
    fn work_is_given_up_when_it_is_not_wanted() {
        let start = Instant::now();
        let asked = Rc::new(Cell::new(0));
        let count = asked.clone();
        let go_on = move || {
            count.set(count.get() + 1);
            count.get() < 3
        };
        assert_eq!(watched(Box::new(go_on), long), Err(GivenUp));
        assert!(asked.get() == 3 && start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        assert!(WATCH.with_borrow(Option::is_none));
        assert_eq!(watched(Box::new(|| false), || 7), Ok(7), "short work is done");
    }

    #[test]
    fn reading_is_given_up() {
        let endless = || std::io::copy(&mut Patiently(std::io::repeat(1)), &mut std::io::sink());
        assert!(matches!(watched(Box::new(|| false), endless), Err(GivenUp)));
    }

    #[test]
    fn other_panics_go_on() {
        let panic = catch_unwind(|| watched(Box::new(|| true), || resume_unwind(Box::new("other"))));
        let payload = panic.map(|_: Result<(), GivenUp>| ()).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"other"));
    }
}
