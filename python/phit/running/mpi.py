"""One run on many machines: the processes of an MPI job simulate one network together.

From the command line, use `mpirun -n 4 phit run FILE --mpi`. In Python every process calls `join`. The first process
then calls `phit.run(..., among=job)`, and the others call `Job.serve` until it ends.

Processes communicate in rounds: in each round, every process sends a letter of bytes to every other one. A process that
fails says so in the next round, so that no other process waits for it.
"""

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import phit._phit as _phit
from phit import mechanisms
from phit.base import machine, system
from phit.base.errors import InputError, SimulationError, one_line
from phit.running.letters import DATA, FAILED, FLAG, Letter, Transport

Progress = Callable[[int, int], None]


class Elsewhere(Exception):  # noqa: N818
    """Another process of the job has failed."""

    def __init__(self, process: int, words: str) -> None:
        super().__init__(f"process {process}: {words}")


class Job:
    """The processes of a job, seen from one of them.

    `costs` has the cost of the last run for each process, and only in the first process:

    - `cpu_seconds`, and the `exchange_seconds` of them that were spent in exchanges. These include waiting for other
      processes if MPI waits busily;
    - `peak_memory_bytes`, where the system tells it;
    - `sent_bytes`, the bytes sent to other processes, and the number of `rounds`.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.rank, self.count = transport.rank, transport.count
        self.costs: list[dict[str, float]] = []
        self._sent = self._rounds = 0
        self._exchanging = 0.0

    def exchange(self, letters: Sequence[Letter]) -> list[bytearray]:
        """Sends a letter to each process, by its number, and returns one from each.

        They are valid until the next exchange.

        Raises:
            Elsewhere: another process has failed.
        """
        begin = time.thread_time()
        came = self._transport.round(letters, DATA)
        self._exchanging += time.thread_time() - begin
        self._sent += sum(len(letter) for process, letter in enumerate(letters) if process != self.rank)
        self._rounds += 1
        for process, (kind, letter) in enumerate(came):
            if kind == FAILED:
                raise Elsewhere(process, letter.decode(errors="replace"))
        return [letter for _, letter in came]

    def run(
        self, scenario: str, *, threads: int = 1, progress: Progress | None = None, memory: int | None = None
    ) -> str:
        """Runs a scenario (JSON text) in all processes, as `_phit.run` does. Only the first process may call it.

        Raises:
            InputError: the scenario names a Python function.
            SimulationError: another process has failed, or the run came to a deadlock.
        """
        for path, table in mechanisms.tables(json.loads(scenario)):
            function = table.get("function")
            raise InputError(f'{path}.function = "{function}": Python functions run in one process, without {FLAG}')
        cores = machine.cores()
        if cores < min(threads, os.cpu_count() or 1):
            words = (
                f"the launcher has bound a process of {threads} threads to {cores} {'core' if cores == 1 else 'cores'}"
            )
            warnings.warn(f"{words}; `mpirun --bind-to none` gives it all cores", stacklevel=2)
        self.costs = []
        self._ask({"scenario": scenario, "threads": threads, "limited": memory is not None})
        try:
            return self._simulate(scenario, threads, progress, memory is not None) or ""
        except Elsewhere as error:
            raise SimulationError(str(error)) from None

    def serve(self) -> int:
        """Takes part in the runs of the first process until that ends. Returns the exit status that it gives."""
        with _later() as look:
            while True:
                self._transport.idle()
                order: dict[str, Any] = json.loads(self.exchange([b""] * self.count)[0])
                if "status" in order:
                    return int(order["status"])
                # The first process has received the error and reports it to the user.
                with suppress(Exception, KeyboardInterrupt):
                    self._simulate(order["scenario"], order["threads"], look, order["limited"])

    def end(self, status: int = 0) -> None:
        """Ends the other processes with this exit status.

        Only the first process may call it, when nothing is left to run.
        """
        if self.rank == 0:
            self._ask({"status": status})

    def _ask(self, order: dict[str, Any]) -> None:
        with _later():
            self.exchange([json.dumps(order).encode()] * self.count)

    def _simulate(self, scenario: str, threads: int, progress: Progress | None, limited: bool) -> str | None:
        """Takes part in a run. Returns the answer in the first process."""
        with _later() as look:

            def tell(done: int, planned: int) -> None:
                look(done, planned)
                if progress is not None:
                    progress(done, planned)

            try:
                return self._shared(scenario, threads, tell, limited)
            except Elsewhere:
                raise
            except BaseException as error:
                self._transport.round([one_line(error).encode()] * self.count, FAILED)
                raise

    def _shared(self, scenario: str, threads: int, progress: Progress, limited: bool) -> str | None:
        self._sent = self._rounds = 0
        self._exchanging = 0.0
        cpu = time.process_time()
        limit = machine.memory(self._transport.beside) if limited else None
        answer = _phit.run_together(scenario, self, threads=threads, progress=progress, memory=limit)
        peak = system.peak_memory()
        own = {"cpu_seconds": time.process_time() - cpu, "exchange_seconds": self._exchanging}
        own |= {"sent_bytes": self._sent, "rounds": self._rounds}
        if peak is not None:
            own["peak_memory_bytes"] = peak
        costs = self.exchange([json.dumps(own).encode() if process == 0 else b"" for process in range(self.count)])
        if answer is None:
            return None
        self.costs = [own, *(json.loads(cost) for cost in costs[1:])]
        found = json.loads(answer)
        found["summary"]["cpu_seconds"] = sum(cost["cpu_seconds"] for cost in self.costs)
        peaks = [cost["peak_memory_bytes"] for cost in self.costs if "peak_memory_bytes" in cost]
        found["summary"]["peak_memory_bytes"] = max(peaks) if len(peaks) == self.count else None
        return json.dumps(found)


@contextmanager
def _later() -> Iterator[Progress]:
    """Defers signals that would end the process, so that no round is left half-way.

    The context yields a progress callback, which raises deferred signals between rounds.
    """
    received: list[tuple[int, Any]] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda done, planned: None  # noqa: ARG005
        return
    numbers = (signal.SIGINT, *system.ENDINGS)
    before = {number: signal.getsignal(number) for number in numbers}

    def receive(number: int, frame: FrameType | None) -> None:
        received.append((number, frame))

    told = False

    def look(done: int, planned: int) -> None:  # noqa: ARG001
        nonlocal told
        if received:
            told, (number, frame) = True, received[0]
            handler = before[signal.Signals(number)]
            if callable(handler):
                handler(number, frame)
            raise KeyboardInterrupt("the run was stopped")

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, receive)
    try:
        yield look
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received and not told:
            signal.raise_signal(received[0][0])


_joined: Job | None = None


def join() -> Job:
    """The job in which `mpirun` or a scheduler started this process; a job of one process if there is none.

    Raises:
        InputError: `mpi4py` is not installed, or finds no MPI.
    """
    global _joined
    if _joined is None:
        try:
            from phit.running.mpi_transport import World
        except (ImportError, RuntimeError) as error:
            words = "expected the extra phit[mpi] and an MPI library to be installed"
            raise InputError(f"{FLAG}: {words} ({one_line(error)})") from None
        _joined = Job(World())
    return _joined


def end(status: int) -> None:
    """Ends the other processes of the job that this process has joined, if it is the first of them."""
    if _joined is not None:
        _joined.end(status)
