"""Processes of this machine that run the points of a sweep, and end with it however it ends.

They are given points in batches, so that short points wait for nobody: as many as take about a second, fewer towards
the end. Each point is kept by the process that has run it, as soon as it has finished; what it has come to is told a
few times a second. A process that has nothing to do is given what another has not begun.
"""

import json
import math
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from phit.base import machine
from phit.base.errors import SimulationError, one_line
from phit.mechanisms import execution

if TYPE_CHECKING:
    from phit.document.experiment import Point
    from phit.store.stored import Keeper

Answer = dict[str, Any]
"""What a run gives: `summary` and `tables`."""

Answers = Generator[tuple[int, Answer | Exception], None, None]
"""The answers of points as they come, each with the point's position."""

Shares = Callable[[Mapping[int, float]], None]
"""Told which share is done of points that are running, by position."""

BATCH_SECONDS = 1.0
"""About how much work a process is given at a time."""

TOLD_SECONDS = 0.1
"""Between two words of a process on points that it has finished."""

POLL_SECONDS = 0.25
"""How long a point runs before something is told of it, and how long somebody waits who is told nothing."""

MEMORY_SECONDS = 0.25
"""How long it counts how much memory is free: to find out takes as long as a very short run."""

TRIES = 3
"""Processes that may be lost with one point before it counts as failed."""


class Memory:
    """What this process may take from now on, where so many run."""

    def __init__(self, processes: int = 1) -> None:
        self._processes = processes
        self._asked: float | None = None
        self._found: int | None = None

    def left(self) -> int | None:
        """Bytes; `None` where the system does not tell."""
        now = time.monotonic()
        if self._asked is None or now - self._asked > MEMORY_SECONDS:
            self._asked, self._found = now, machine.memory(self._processes)
        return self._found


@dataclass(frozen=True)
class Task:
    """A point as whoever runs it gets it."""

    index: int
    scenario: str
    """JSON text."""
    hash: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, index: int, point: "Point") -> "Task":
        """Of the point at this position."""
        return cls(index, point.text, point.hash, point.values)


def simulate(task: Task, memory: Memory | None, tell: Callable[[int, float], None]) -> str:
    """Runs a point, in whichever process: its answer as JSON."""
    begun = time.monotonic()

    def told(done: int, planned: int) -> None:
        if time.monotonic() - begun > POLL_SECONDS:
            tell(task.index, done / planned if planned else 0.0)

    # Whoever has made a task of it has asked for consent.
    limit = memory.left() if memory is not None else None
    return execution.run(task.scenario, progress=told, memory=limit, trusted=True)


def run_here(
    points: "Sequence[Point]", told: Shares, *, keeper: "Keeper | None" = None, force: bool = False
) -> Answers:
    """Runs points one after another in this process, and keeps each as it finishes if there is a keeper."""
    memory = None if force else Memory()
    for i, point in enumerate(points):
        try:
            text = simulate(Task.of(i, point), memory, lambda index, share: told({index: share}))
        except Exception as error:  # a point that fails must not take the others with it
            yield i, error
            continue
        answer = json.loads(text)
        if keeper is not None:
            keeper.keep(point.hash, point.values, answer, text)
        yield i, answer


READY, ANSWERS, SHARE, BACK, BROKEN = range(5)
"""What a worker says: that it listens; answers with the seconds that they took; which share of a point is done; what it
gives back, not having begun it; that it cannot go on, and why."""


GIVE_BACK: list[Task] = []
"""What a worker is sent that shall give back what it has not begun: nothing to do."""


class _Worker:
    """What runs points in a process of its own, until nobody holds the other end of its connection."""

    def __init__(self, connection: Connection, keeper: "Keeper | None", memory: Memory | None) -> None:
        self._connection = connection
        self._keeper = keeper
        self._memory = memory
        self._waiting: deque[Task] = deque()
        self._come = threading.Semaphore(0)
        self._busy = threading.Lock()
        """Held while something is written that must be whole."""
        self._answers: list[tuple[int, str | Exception]] = []
        self._told = self._begun = time.monotonic()

    def work(self) -> None:
        """Never returns: the process ends when its connection does."""
        threading.Thread(target=self._listen, daemon=True).start()
        self._say(READY, None)
        while True:
            if not self._waiting:
                self._tell()
            self._come.acquire()
            with suppress(IndexError):
                self._do(self._waiting.popleft())

    def _listen(self) -> None:
        try:
            while True:
                tasks: list[Task] = self._connection.recv()
                self._waiting.extend(tasks)
                for _ in tasks:
                    self._come.release()
                if not tasks:
                    self._give_back()
        except (EOFError, OSError):
            pass
        finally:
            # What runs is not waited for, but a file that is being written is.
            self._busy.acquire(timeout=10)
            os._exit(0)

    def _give_back(self) -> None:
        found = []
        with suppress(IndexError):
            while True:
                found.append(self._waiting.popleft().index)
        self._say(BACK, found)

    def _do(self, task: Task) -> None:
        if not self._answers:
            self._begun = time.monotonic()
        try:
            text = simulate(task, self._memory, lambda index, share: self._say(SHARE, (index, share)))
        except Exception as error:  # a point that fails must not take the others with it
            self._answers.append((task.index, _sendable(error)))
        except BaseException as error:  # a panic of the engine
            self._break(SimulationError(f"{type(error).__name__}: {one_line(error)}"))
        else:
            try:
                if self._keeper is not None:
                    with self._busy:
                        self._keeper.keep(task.hash, task.values, json.loads(text), text)
            except Exception as error:  # nothing can be kept any more
                self._break(error)
            self._answers.append((task.index, text))
        if time.monotonic() - self._told > TOLD_SECONDS:
            self._tell()

    def _break(self, error: Exception) -> None:
        """Says that no more comes of this sweep, and waits to be ended."""
        self._tell()
        self._say(BROKEN, _sendable(error))
        threading.Event().wait()

    def _tell(self) -> None:
        self._told = time.monotonic()
        if self._answers:
            self._say(ANSWERS, (self._answers, self._told - self._begun))
            self._answers = []
            self._begun = self._told

    def _say(self, what: int, content: Any) -> None:
        with self._busy, suppress(OSError):
            # If nobody listens any more this process is about to end.
            self._connection.send((what, content))


def _sendable(error: Exception) -> Exception:
    """The error, or its words if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an exception of somebody else's does when it is copied
        return SimulationError(f"{type(error).__name__}: {one_line(error)}")
    return error


def _serve(
    connection: Connection, inherited: Sequence[Connection], keeper: "Keeper | None", memory: Memory | None
) -> None:
    """What a worker's process does. Ctrl-C is its parent's affair."""
    for signals in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signals, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # As long as it holds the parent's ends no worker would hear that the parent has ended.
    for one in inherited:
        one.close()
    _Worker(connection, keeper, memory).work()


def _alone() -> bool:
    """Whether this process has no other thread: one could hold a lock that nobody would ever free in a copy of it."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


@contextmanager
def _sigint_held() -> Iterator[None]:
    """Processes and threads started inside never see Ctrl-C; one pressed meanwhile is delivered to us afterwards."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _interruptions_kept() -> Iterator[None]:
    """Whoever interrupts what is done inside does so when it is over: a module that is half imported stays so."""
    come: list[int] = []
    ours = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if ours else ()
    handlers = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, _: come.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for first in come[:1]:
            signal.raise_signal(first)


@dataclass
class _Process:
    """A worker's process as its parent sees it."""

    process: BaseProcess
    connection: Connection
    doing: dict[int, None] = field(default_factory=dict)
    """Points that it has not answered, in the order in which it was given them."""
    seconds: float | None = None
    """About how long a point takes of late."""
    ready: bool = False
    """Whether it has said anything yet."""
    asked: float = 0.0
    """When it was last asked to give back what it has not begun."""

    def room(self) -> int:
        """How many points it may have."""
        return 1 if self.seconds is None else max(1, int(BATCH_SECONDS / max(self.seconds, 1e-6)))

    def send(self, tasks: list[Task]) -> None:
        """Gives it tasks; none at all: asks for what it has not begun."""
        # What cannot be sent to a process that has ended is missed when its end is noticed.
        with suppress(OSError):
            self.connection.send(tasks)


class Workers:
    """Runs points on processes of their own, which end with this one however it ends.

    They are copies of this process where it has a single thread, and so begin at once; elsewhere fresh ones.
    """

    def __init__(
        self,
        points: "Sequence[Point]",
        count: int,
        told: Shares,
        *,
        keeper: "Keeper | None" = None,
        force: bool = False,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        self._points = points
        self._count = count
        self._told = told
        self._keeper = keeper
        self._memory = None if force else Memory(count)
        self._meanwhile: Callable[[], object] | None = meanwhile
        """Called once, when all have enough to do for a while."""
        self._waiting = deque(range(len(points)))
        self._left = len(points)
        self._tries: dict[int, int] = {}
        self._stillborn = 0
        """Processes that have ended before they listened, one after another."""
        self._workers: list[_Process] = []

    def __enter__(self) -> Answers:
        try:
            for _ in range(self._count):
                self._start()
        except BaseException:
            self._end()
            raise
        return self._answers()

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        with _sigint_held():
            for worker in self._workers:
                worker.connection.close()
            for worker in self._workers:
                worker.process.join(10)
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join()

    def _start(self) -> None:
        context: Any = multiprocessing.get_context("fork" if _alone() else "spawn")
        ours, theirs = context.Pipe()
        if context.get_start_method() == "fork":
            inherited = [*(worker.connection for worker in self._workers), ours]
        else:
            # It would let go of Ctrl-C while that is held.
            resource_tracker.ensure_running()
            inherited = []
        with _sigint_held():
            arguments = (theirs, inherited, self._keeper, self._memory)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
        theirs.close()
        self._workers.append(_Process(process, ours))

    def _answers(self) -> Answers:
        self._hand_out()
        while self._left:
            ready = wait([worker.connection for worker in self._workers], POLL_SECONDS)
            if not ready:
                self._told({})
            for worker in [worker for worker in self._workers if worker.connection in ready]:
                yield from self._hear(worker)
            if self._meanwhile and (not ready or all(worker.seconds is not None for worker in self._workers)):
                with _interruptions_kept():
                    self._meanwhile()
                self._meanwhile = None

    def _hear(self, worker: _Process) -> Answers:
        """What a worker has come to; it is given more before anybody looks at that."""
        try:
            what, content = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._lost(worker)
            return
        if what == BROKEN:
            raise content
        if what == SHARE:
            index, share = content
            self._told({index: share})
            return
        found: list[tuple[int, str | Exception]] = []
        if what == READY:
            worker.ready, self._stillborn = True, 0
        elif what == BACK:
            self._put_back(worker, content)
        else:
            found, seconds = content
            for i, _ in found:
                worker.doing.pop(i, None)
            self._left -= len(found)
            each = seconds / len(found)
            worker.seconds = each if worker.seconds is None else (worker.seconds + each) / 2
        self._hand_out()
        for i, answer in found:
            yield i, json.loads(answer) if isinstance(answer, str) else answer

    def _hand_out(self) -> None:
        """Gives workers as much as they have room for, and asks back from one of them what another could begin."""
        for worker in sorted(self._workers, key=lambda worker: len(worker.doing)):
            # Towards the end all have about equally much, and end together.
            most = min(worker.room(), math.ceil(len(self._waiting) / (2 * self._count)))
            number = most - len(worker.doing)
            if number > 0 and (not worker.doing or number > most // 8):
                given = [self._waiting.popleft() for _ in range(number)]
                worker.doing.update(dict.fromkeys(given))
                worker.send([Task.of(i, self._points[i]) for i in given])
        if not self._waiting and any(not worker.doing for worker in self._workers):
            now = time.monotonic()
            busiest = max(self._workers, key=lambda worker: len(worker.doing))
            if len(busiest.doing) > 1 and now - busiest.asked > POLL_SECONDS:
                busiest.asked = now
                busiest.send(GIVE_BACK)

    def _put_back(self, worker: _Process, indices: Sequence[int]) -> None:
        for i in indices:
            del worker.doing[i]
        self._waiting.extendleft(reversed(indices))

    def _lost(self, worker: _Process) -> Answers:
        """Puts another process in the place of one that has ended; the point that it was at is tried again."""
        worker.connection.close()
        worker.process.join()
        self._workers.remove(worker)
        code = worker.process.exitcode or 0
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        self._stillborn += not worker.ready
        if self._stillborn >= TRIES:
            words = f"{self._stillborn} processes of the sweep have ended before they did anything ({how})"
            raise SimulationError(words)
        failed = []
        if worker.ready and worker.doing:
            # What it had finished and not told of is among these; it is found out soon, as each is tried by itself.
            first = next(iter(worker.doing))
            self._tries[first] = self._tries.get(first, 0) + 1
            if self._tries[first] >= TRIES:
                del worker.doing[first]
                failed.append(first)
        self._put_back(worker, list(worker.doing))
        self._left -= len(failed)
        self._start()
        self._hand_out()
        for i in failed:
            yield i, SimulationError(f"{TRIES} processes were lost with it, one after another ({how})")
