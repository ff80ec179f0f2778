"""Runs points on any `concurrent.futures`-style executor; by default on one process per core.

`phit.dask` and `phit.slurm` bring them to clusters.
"""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from phit import _phit, machine
from phit.errors import SimulationError
from phit.mechanisms import running

Answer = dict[str, Any]
Fractions = Callable[[Sequence[float]], None]
"""Told, by position, which share of each point is done."""

POLL_SECONDS = 0.25

_fractions: Any = None


def execute(index: int, scenario: str, force: bool = False, share: int = 1) -> str:
    """Runs one point; in a worker of the default executor its progress goes to shared memory.

    Unless `force` is true, a point is refused that needs more memory than this process may take, where so many run.
    """
    limit = None if force else machine.memory(share)
    # Whoever has sent it has asked for consent.
    tell = None if _fractions is None else _tell(index)
    return running.run(scenario, progress=tell, memory=limit, trusted=True)


def _tell(index: int) -> Callable[[int, int], None]:
    def tell(done: int, planned: int) -> None:
        _fractions[index] = done / planned if planned else 0.0

    return tell


def _begin_worker(parent: Connection, fractions: Any) -> None:
    """Leaves Ctrl-C to the parent, and ends this process at once when the parent ends or closes its side."""
    global _fractions
    _fractions = fractions
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        with suppress(EOFError, OSError):
            parent.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _sigint_held() -> Iterator[None]:
    """Processes and threads started inside never see Ctrl-C; one pressed meanwhile is delivered to us afterwards."""
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def run_here(
    scenarios: Sequence[str], told: Fractions, force: bool = False
) -> Iterator[tuple[int, Answer | Exception]]:
    """Runs scenarios one after another in this process."""
    shares = [0.0] * len(scenarios)
    for i, scenario in enumerate(scenarios):

        def tell(done: int, planned: int, i: int = i) -> None:
            shares[i] = done / planned if planned else 0.0
            told(shares)

        try:
            limit = None if force else machine.memory()
            answer: Answer | Exception = json.loads(running.run(scenario, progress=tell, memory=limit))
        except Exception as error:  # a point that fails must not take the others with it
            answer = error
        shares[i] = 1.0
        yield i, answer


def processes(workers: int | None, points: int) -> int:
    """How many processes run so many points: as many as asked for, by default one per core."""
    return min(workers or machine.cores(), points)


def run_in_processes(
    scenarios: Sequence[str], workers: int | None, told: Fractions, force: bool = False
) -> Iterator[tuple[int, Answer | Exception]]:
    """Runs scenarios on fresh processes, which end with this one however it ends."""
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    try:
        fractions = context.RawArray("d", len(scenarios))
    except OSError:
        # It is a file, for which there may be no room: how far points are is not told, then.
        fractions = None
    count = processes(workers, len(scenarios))
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin_worker, initargs=(theirs, fractions))
    try:
        with _sigint_held():
            futures = _submit(pool, scenarios, force, count)
        yield from _as_completed(futures, lambda: None if fractions is None else told(fractions))
        pool.shutdown()
    finally:
        ours.close()
        pool.shutdown(wait=False, cancel_futures=True)


def run_on(
    executor: Executor, scenarios: Sequence[str], force: bool = False
) -> Iterator[tuple[int, Answer | Exception]]:
    """Runs scenarios on an executor that somebody else owns."""
    futures = _submit(executor, scenarios, force)
    try:
        yield from _as_completed(futures, lambda: None)
    finally:
        for future in futures:
            future.cancel()


def _submit(executor: Executor, scenarios: Sequence[str], force: bool, share: int = 1) -> "dict[Future[str], int]":
    return {executor.submit(execute, i, scenario, force, share): i for i, scenario in enumerate(scenarios)}


def ours(answer: Answer) -> Answer | Exception:
    """The answer, unless another engine gave it: its numbers may be others."""
    there = answer["summary"].get("version", _phit.__version__)
    if there == _phit.__version__:
        return answer
    return SimulationError(f"it was run by Phit {there}, this one is {_phit.__version__}: install the same everywhere")


def _as_completed(
    futures: "dict[Future[str], int]", tick: Callable[[], None]
) -> Iterator[tuple[int, Answer | Exception]]:
    # A future tells when it is done: to wait for the first of all takes work in proportion to how many are left.
    done: SimpleQueue[Future[str]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    left, told = len(futures), time.monotonic()
    while left:
        with suppress(Empty):
            future = done.get(timeout=POLL_SECONDS)
            left -= 1
            error = future.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield futures[future], error if error is not None else ours(json.loads(future.result()))
        if time.monotonic() - told >= POLL_SECONDS:
            told = time.monotonic()
            tick()
