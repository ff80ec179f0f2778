"""Processes of this machine that run the points of a sweep, and end with it however it ends.

Points are handed out in batches of about a second of work, and in smaller ones towards the end, so that short points do
not wait for messages. The process that has run a point stores its result at once. It reports finished points a few
times a second. An idle process gets points that another process has not begun.
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

from phit.base import machine, system
from phit.base.errors import SimulationError, one_line
from phit.mechanisms import execution

if TYPE_CHECKING:
    from phit.document.experiment import Point
    from phit.store.stored import Keeper

Answer = dict[str, Any]
"""The answer of a run: `summary` and `tables`."""

Answers = Generator[tuple[int, Answer | Exception], None, None]
"""Yields the answer of each point as it ends, with the position of the point."""

Shares = Callable[[Mapping[int, float]], None]
"""Receives the share that is done of each running point, by position."""

BATCH_SECONDS = 1.0
"""Seconds of work in a batch, approximately."""

TOLD_SECONDS = 0.1
"""Seconds between two reports of finished points by one process."""

POLL_SECONDS = 0.25
"""Seconds after which a running point is reported, and after which somebody who waits is told something."""

MEMORY_SECONDS = 0.25
"""Seconds for which a measurement of free memory is valid; measuring takes as long as a very short run."""

TRIES = 3
"""Processes that may be lost with a point before it counts as failed."""


class Memory:
    """The memory that this process may still take while `processes` processes run."""

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
    """A point in the form that a worker receives."""

    index: int
    scenario: str
    """The scenario as JSON text."""
    hash: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, index: int, point: "Point") -> "Task":
        """The task of the point at position `index`."""
        return cls(index, point.text, point.hash, point.values)


def simulate(task: Task, memory: Memory | None, tell: Callable[[int, float], None]) -> str:
    """Runs a point in the current process and returns its answer as JSON."""
    begun = time.monotonic()

    def told(done: int, planned: int) -> None:
        if time.monotonic() - begun > POLL_SECONDS:
            tell(task.index, done / planned if planned else 0.0)

    # The sender of the task has already checked consent for its Python functions.
    limit = memory.left() if memory is not None else None
    return execution.run(task.scenario, progress=told, memory=limit, trusted=True)


def run_here(
    points: "Sequence[Point]", told: Shares, *, keeper: "Keeper | None" = None, force: bool = False
) -> Answers:
    """Runs points one after another in this process; a `keeper` stores each as it ends."""
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
"""Messages of a worker: it is ready; answers with the seconds that they took; the share of a point that is done; points
that it returns without having begun them; an error that ends its work."""


GIVE_BACK: list[Task] = []
"""An empty list of tasks asks a worker to return the points that it has not begun."""


class _Worker:
    """Runs points in a process of its own, until the other end of its connection is closed."""

    def __init__(self, connection: Connection, keeper: "Keeper | None", memory: Memory | None) -> None:
        self._connection = connection
        self._keeper = keeper
        self._memory = memory
        self._waiting: deque[Task] = deque()
        self._come = threading.Semaphore(0)
        self._busy = threading.Lock()
        """Held while something is written that must not be cut off."""
        self._answers: list[tuple[int, str | Exception]] = []
        self._told = self._begun = time.monotonic()

    def work(self) -> None:
        """Runs tasks. Never returns: the process ends when its connection does."""
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
            # The process does not wait for a run to end, but it does wait for a file that is being written.
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
        """Reports an error that ends this sweep, and waits to be ended."""
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
            # If nobody receives the message, this process is about to end.
            self._connection.send((what, content))


def _sendable(error: Exception) -> Exception:
    """The error, or an error with its message if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an exception of somebody else's does when it is copied
        return SimulationError(f"{type(error).__name__}: {one_line(error)}")
    return error


def _serve(
    connection: Connection, inherited: Sequence[Connection], keeper: "Keeper | None", memory: Memory | None
) -> None:
    """The main function of a worker's process. The parent handles Ctrl-C."""
    for ending in system.ENDINGS:
        signal.signal(ending, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # While a worker holds ends of the parent's connections, no worker would notice that the parent has ended.
    for one in inherited:
        one.close()
    _Worker(connection, keeper, memory).work()


def _alone() -> bool:
    """Whether this process has a single thread.

    In a copy of the process, a lock held by another thread would never be freed.
    """
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


@contextmanager
def _interruptions_kept() -> Iterator[None]:
    """Defers interruptions until the block ends, because a half-imported module would stay half imported."""
    come: list[int] = []
    ours = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, *system.ENDINGS) if ours else ()
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
    """The process of a worker, as its parent sees it."""

    process: BaseProcess
    connection: Connection
    doing: dict[int, None] = field(default_factory=dict)
    """Points that it has not answered, in the order of handing out."""
    seconds: float | None = None
    """Recent seconds per point."""
    ready: bool = False
    """Whether it has sent a message yet."""
    asked: float = 0.0
    """When it was last asked to return points that it has not begun."""

    def room(self) -> int:
        """The number of points that it may have at a time."""
        return 1 if self.seconds is None else max(1, int(BATCH_SECONDS / max(self.seconds, 1e-6)))

    def send(self, tasks: list[Task]) -> None:
        """Sends it tasks. An empty list asks for the tasks that it has not begun."""
        # A message to a process that has ended is lost; its end is noticed when its connection is read.
        with suppress(OSError):
            self.connection.send(tasks)


class Workers:
    """Runs points in child processes, which end with this process however it ends.

    If this process has a single thread, the children are copies of it and so begin at once. Otherwise they are fresh
    processes.
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
        """Called once, when all workers have enough to do for a while."""
        self._waiting = deque(range(len(points)))
        self._left = len(points)
        self._tries: dict[int, int] = {}
        self._stillborn = 0
        """Processes in succession that ended before they were ready."""
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
        with system.interrupt_held():
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
            # Started before Ctrl-C is held back, because its start would release it.
            resource_tracker.ensure_running()
            inherited = []
        with system.interrupt_held():
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
        """Receives a message of a worker. The worker gets new tasks before its answers are yielded."""
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
        """Gives workers tasks, and asks one of them to return tasks.

        Each worker gets as many tasks as it has room for. If one stays idle, another is asked for tasks that it has not
        begun.
        """
        for worker in sorted(self._workers, key=lambda worker: len(worker.doing)):
            # Towards the end all workers have about equally many, and so end together.
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
        """Replaces a worker that has ended. The point that it was running is tried again."""
        worker.connection.close()
        worker.process.join()
        self._workers.remove(worker)
        code = worker.process.exitcode or 0
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        self._stillborn += not worker.ready
        if self._stillborn >= TRIES:
            words = f"{self._stillborn} processes of the sweep ended before they did anything ({how})"
            raise SimulationError(words)
        failed = []
        if worker.ready and worker.doing:
            # Among these are points that it had finished but not reported. Each is tried alone, which soon shows it.
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
            yield i, SimulationError(f"{TRIES} processes in succession were lost with it ({how})")
