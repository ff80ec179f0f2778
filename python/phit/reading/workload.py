"""Programs of communicating ranks: read, written, converted, made by name, or built operation by operation.

A program lists the computations, sends and receives of every rank, and the dependencies between them. Files are GOAL,
as text or in its binary form, Chakra execution traces, or MPI calls as dumpi2ascii prints them; each may be compressed
by gzip. MPI programs may also be archives of OTF2 (`pip install 'phit[otf2]'`).

>>> from phit import workload
>>> program = workload.Program(2)
>>> first = program.calc(0, 1000)
>>> sent = program.send(0, 4096, to=1, after=[first])
>>> program.recv(1, 4096, source=0)
0
>>> program.save("pair.goal")  # doctest: +SKIP
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import phit._phit as _phit
from phit._phit import WorkloadError
from phit.base.errors import InputError

__all__ = ["ANY", "Operation", "Program", "convert", "info", "kinds", "make", "notes", "read"]

ANY = -1
"""As a source: any rank. As a tag: any tag."""

_ANY = 2**32 - 1
_KINDS: tuple[Literal["calc"], Literal["send"], Literal["recv"]] = ("calc", "send", "recv")


@contextmanager
def _translated() -> Iterator[None]:
    """Raises the engine's errors as errors of this package."""
    try:
        yield
    except WorkloadError as error:
        raised = InputError(str(error), error.key)
        raised.file, raised.line = error.file, error.line
        raise raised from None


@dataclass(frozen=True)
class Operation:
    """One operation of a rank."""

    kind: Literal["calc", "send", "recv"]
    amount: int
    """Units of time for a computation; bytes for a message."""
    peer: int | None = None
    """The rank at the other end of a message. A receive may accept messages of `ANY` rank."""
    tag: int = 0
    """Distinguishes messages between the same two ranks; `ANY` matches every tag."""
    cpu: int = 0
    """The CPU of the rank that executes the operation."""
    nic: int = 0
    """The network interface of the rank that the message uses."""
    after: tuple[int, ...] = ()
    """Numbers of operations of the same rank that must end before this one starts."""
    after_start: tuple[int, ...] = ()
    """Numbers of operations of the same rank that must start before this one starts."""


class Program:
    """The operations of all ranks with their dependencies, numbered from 0 in each rank."""

    def __init__(self, ranks: int) -> None:
        if ranks < 1:
            raise InputError(f"ranks = {ranks}: expected 1 rank or more")
        self._ranks: list[list[Operation]] = [[] for _ in range(ranks)]

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self._ranks)

    def operations(self, rank: int) -> Sequence[Operation]:
        """The operations of a rank, by their numbers."""
        return tuple(self._ranks[self._checked(rank)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._ranks == other._ranks

    def __hash__(self) -> int:
        return hash(tuple(tuple(operations) for operations in self._ranks))

    def __repr__(self) -> str:
        return f"Program of {self.ranks} ranks, {sum(map(len, self._ranks))} operations"

    def calc(
        self, rank: int, time: int, *, cpu: int = 0, after: Iterable[int] = (), after_start: Iterable[int] = ()
    ) -> int:
        """Adds a computation of `time` units of time to `rank`. Returns the number of the operation."""
        return self.add(rank, Operation("calc", time, None, 0, cpu, 0, tuple(after), tuple(after_start)))

    def send(
        self,
        rank: int,
        size: int,
        to: int,
        *,
        tag: int = 0,
        cpu: int = 0,
        nic: int = 0,
        after: Iterable[int] = (),
        after_start: Iterable[int] = (),
    ) -> int:
        """Adds a message of `size` bytes from `rank` to another rank. Returns the number of the operation."""
        return self.add(rank, Operation("send", size, to, tag, cpu, nic, tuple(after), tuple(after_start)))

    def recv(
        self,
        rank: int,
        size: int,
        source: int,
        *,
        tag: int = 0,
        cpu: int = 0,
        nic: int = 0,
        after: Iterable[int] = (),
        after_start: Iterable[int] = (),
    ) -> int:
        """Adds a receive of a message from another rank, or from `ANY`, to `rank`. Returns the operation's number."""
        return self.add(rank, Operation("recv", size, source, tag, cpu, nic, tuple(after), tuple(after_start)))

    def add(self, rank: int, operation: Operation) -> int:
        """Adds an operation to a rank and returns its number. Operations that it waits for may be added later."""
        list_ = self._ranks[self._checked(rank)]
        self._check(rank, operation)
        list_.append(operation)
        return len(list_) - 1

    def save(self, path: str | Path) -> None:
        """Writes the program as GOAL: binary if the name ends in .bin, compressed if .gz follows."""
        columns = [([_row(one) for one in rank], list(_dependencies(rank))) for rank in self._ranks]
        with _translated():
            _phit.workload_write(json.dumps(columns), Path(path))

    def _checked(self, rank: int) -> int:
        if not 0 <= rank < self.ranks:
            raise InputError(f"rank {rank}: expected 0 to {self.ranks - 1}")
        return rank

    def _check(self, rank: int, one: Operation) -> None:
        place = f"rank {rank}, operation {len(self._ranks[rank])}"
        if one.kind not in _KINDS:
            raise InputError(f"{place}: kind = {one.kind!r}: expected one of {', '.join(_KINDS)}")
        lowest = ANY if one.kind == "recv" else 0
        if one.kind != "calc" and not (one.peer is not None and lowest <= one.peer < self.ranks):
            raise InputError(f"{place}: {one.kind} with rank {one.peer}: expected {lowest} to {self.ranks - 1}")
        bounds = (("amount", one.amount, 0, 2**64), ("tag", one.tag, ANY, _ANY), ("cpu", one.cpu, 0, 255))
        for name, value, low, end in (*bounds, ("nic", one.nic, 0, 255)):
            if not low <= value < end:
                raise InputError(f"{place}: {name} = {value}: expected {low} to {end - 1}")
        if any(number < 0 for number in (*one.after, *one.after_start)):
            raise InputError(f"{place}: waits for a negative number: operations count from 0")


def _row(one: Operation) -> list[int]:
    peer = 0 if one.peer is None else one.peer
    return [_KINDS.index(one.kind), one.amount, peer % 2**32, one.tag % 2**32, one.cpu, one.nic]


def _dependencies(rank: Sequence[Operation]) -> Iterator[tuple[int, int, bool]]:
    for number, one in enumerate(rank):
        yield from ((before, number, False) for before in one.after)
        yield from ((before, number, True) for before in one.after_start)


def read(path: str | Path, **options: Any) -> Program:
    """The program in a file, or in a folder of traces.

    Args:
        path: a GOAL file; or a Chakra trace, as its folder or any of its files `PREFIX.RANK.et`; or any of the files
            `PREFIX-RANK.txt` of MPI calls; or the anchor file `NAME.otf2` of an archive.
        options: options of the trace, see `convert`.
    """
    with _translated():
        columns = json.loads(_phit.workload_read(Path(path), json.dumps(options)))
    program = Program(max(len(columns), 1))
    for operations, (rows, dependencies) in zip(program._ranks, columns, strict=False):
        waits: dict[tuple[int, bool], list[int]] = {}
        for before, after, started in dependencies:
            waits.setdefault((after, started), []).append(before)
        for number, (kind, amount, peer, tag, cpu, nic) in enumerate(rows):
            after, after_start = (tuple(waits.get((number, started), ())) for started in (False, True))
            named = None if _KINDS[kind] == "calc" else _number(peer)
            operations.append(Operation(_KINDS[kind], amount, named, _number(tag), cpu, nic, after, after_start))
    return program


def _number(number: int) -> int:
    return ANY if number == _ANY else number


def info(path: str | Path, **options: Any) -> dict[str, int]:
    """The size of the program in a file: ranks, operations, messages, bytes, and time of computations."""
    with _translated():
        found: dict[str, int] = json.loads(_phit.workload_info(Path(path), json.dumps(options)))
    return found


def notes(path: str | Path, **options: Any) -> list[str]:
    """Remarks about a Chakra trace besides its numbers: GPU operations whose order nothing enforces.

    Args:
        path: the trace, as its folder or any of its files; other programs have no remarks.
        options: options of the trace, see `convert`.
    """
    with _translated():
        return list(_phit.workload_notes(Path(path), json.dumps(options)))


def convert(source: str | Path, target: str | Path, **options: Any) -> None:
    """Reads a program and writes it as GOAL: binary if the name ends in .bin, compressed if .gz follows.

    From a GOAL file whose ranks are in order, only one rank is in memory at a time.

    Args:
        source: a GOAL file; or a Chakra trace, as its folder or any of its files `PREFIX.RANK.et`; or any of the files
            `PREFIX-RANK.txt` of MPI calls; or the anchor file `NAME.otf2` of an archive.
        target: the file to write.
        options: options of the trace. For all traces: `algorithms` by collective; `delay` before a collective and after
            each of its receives, in nanoseconds; `combine`, the nanoseconds for each byte that is combined. For Chakra
            also: `dependencies` ("data" or "data_and_control"); `streams` ("as_given" or "in_order", in which a GPU
            executes each of its streams in order); `compute` ("duration", `{"roofline": {"peak", "bandwidth"}}` in
            operations and bytes per nanosecond, or `{"accelerator": {"name"}}`); `memory` (`{"latency", "bandwidth"}`);
            `chunks`; `groups` (ranks by name).
    """
    with _translated():
        _phit.workload_convert(Path(source), Path(target), json.dumps(options))


def make(
    parameters: Mapping[str, Any],
    path: str | Path,
    *,
    ranks: int | None = None,
    groups: Sequence[int] = (),
    seed: int = 1,
) -> dict[str, int]:
    """Makes a program from its parameters and writes it as GOAL.

    The parameters are a table with `kind`, as in `[workload]`.

    Args:
        parameters: `kind` and the keys of that kind, see `kinds`.
        path: the file to write: the binary form if the name ends in .bin, compressed if .gz follows.
        ranks: number of ranks, if the parameters do not imply it.
        groups: sizes of groups of consecutive ranks, for hierarchical algorithms.
        seed: seed of random choices.

    Returns:
        The size of the program, as `info` returns it.
    """
    with _translated():
        text = json.dumps(dict(parameters))
        found: dict[str, int] = json.loads(_phit.workload_make(text, Path(path), ranks, list(groups), seed))
    return found


def kinds() -> list[dict[str, Any]]:
    """The programs that can be made: for each `kind`, `description` and `schema` of its keys."""
    found: list[dict[str, Any]] = json.loads(_phit.workload_kinds())
    return found
