"""Traces of MPI programs in the Open Trace Format 2, as Score-P records them.

The calls of every rank are written as `dumpi2ascii` would print them, and the DUMPI reader reads them. So the meaning
of each call, and the refusal of unsupported ones, stand in one place. (D. Eschweiler et al., "Open Trace Format 2: The
Next Generation of Scalable Trace Formats and Support Libraries", ParCo 2011.)
"""

import re
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import phit._phit as _phit
from phit.base.errors import InputError

__all__ = ["PACKAGE", "calls"]

PACKAGE = "otf2"
"""The package that reads archives."""

_SPLIT = {"MPI_Allreduce": "count", "MPI_Allgather": "sendcount", "MPI_Alltoall": "sendcount"}
"""Collectives in which all ranks send and receive, with DUMPI's name for the number of elements in a block."""
_TO_ROOT = {"MPI_Reduce": "count", "MPI_Gather": "sendcount"}
_FROM_ROOT = {"MPI_Bcast": "count", "MPI_Scatter": "recvcount"}
_COLLECTIVES = {"BARRIER": "MPI_Barrier", "BCAST": "MPI_Bcast"} | {
    name.removeprefix("MPI_").upper(): name for name in (*_SPLIT, *_TO_ROOT, *_FROM_ROOT)
}
"""Calls by the name of their operation in OTF2."""

_QUIET = re.compile(
    r"MPI_(I?[bsr]?send|I?recv|Sendrecv(_replace)?|(Wait|Test)(all|any|some)?|Request_free|Start(all)?)", re.IGNORECASE
)
"""Calls that may have no recorded message: with the null process, or without a request that has ended."""

_NANOSECONDS = 10**9


@dataclass
class _Call:
    """A call of a rank, or a part of a call, as DUMPI prints it."""

    name: str
    start: int
    end: int = 0
    values: dict[str, str] = field(default_factory=dict)
    block: int | None = None
    """Bytes of a collective from or to each member, if this rank's sizes tell."""


@dataclass
class _Rank:
    """The state of a rank while its events are read."""

    calls: list[_Call] = field(default_factory=list)
    region: str | None = None
    """The call that the rank is in."""
    start: int = 0
    parts: list[_Call] = field(default_factory=list)
    """The parts of that call so far."""
    ended: list[int] = field(default_factory=list)
    """Requests that have ended in that call."""
    requests: dict[int, int] = field(default_factory=dict)
    """Unique numbers of the requests under way, by their numbers in the archive."""
    receives: dict[int, _Call] = field(default_factory=dict)
    """Receives that have not ended, by request."""
    made: int = 0


_made: dict[tuple[Any, ...], tuple[tempfile.TemporaryDirectory[str], Path]] = {}
"""Files made from archives, by path, and by sizes and times of change of the archive's files."""
_making = threading.Lock()


def calls(path: str | Path) -> Path:
    """Writes the calls of an archive as files of DUMPI's text and returns the file of rank 0.

    The files stay until this process ends.

    The engine calls this if the file of a trace is the anchor of an archive.

    Args:
        path: the anchor file, `NAME.otf2`.

    Raises:
        InputError: the package `otf2` is not installed, the archive cannot be read, or it contains something unknown.
            The error names archive, rank and time.
    """
    path = Path(path)
    with _making:
        state = [(file, (found := file.stat()).st_mtime_ns, found.st_size) for file in _phit.workload_files(path)]
        key = (path.absolute(), *state)
        if key not in _made:
            ranks = _read(path)
            folder = tempfile.TemporaryDirectory(prefix="phit-otf2-")
            for rank, own in enumerate(ranks):
                _write(own, Path(folder.name) / f"calls-{rank}.txt")
            _made[key] = (folder, Path(folder.name) / "calls-0.txt")
        return _made[key][1]


def _error(path: Path, where: str | None, message: str) -> InputError:
    error = InputError(": ".join(part for part in (str(path), where, message) if part))
    error.file = path
    return error


def _read(path: Path) -> list[list[_Call]]:
    try:
        import _otf2
        import otf2
        from otf2.error import Error, TraceReaderError
    except ImportError:
        raise InputError(f"{path}: needs the package {PACKAGE}; `pip install 'phit[{PACKAGE}]'`") from None
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with otf2.reader.open(str(path)) as trace:
            return _Reading(path, trace.definitions).all(trace.events)
    except (Error, TraceReaderError, _otf2.Error) as error:
        raise InputError(f"{path}: no archive that can be read: {' '.join(str(error).split())}") from None


class _Reading:
    """An archive while it is read."""

    def __init__(self, path: Path, definitions: Any) -> None:
        self.path = path
        worlds = [group for group in definitions.groups if str(group.group_type).endswith("COMM_LOCATIONS")]
        worlds = [group for group in worlds if str(group.paradigm).endswith("MPI")]
        if len(worlds) != 1 or not worlds[0].members:
            raise InputError(f"{path}: expected a trace of one MPI program, has {len(worlds)}")
        self.world = tuple(worlds[0].members)
        self.number = {location: rank for rank, location in enumerate(self.world)}
        self.resolution = definitions.clock_properties.timer_resolution
        self.first: int | None = None
        self.ranks = [_Rank() for _ in self.world]

    def all(self, events: Any) -> list[list[_Call]]:
        """The calls of all ranks."""
        for location, event in events:
            if self.first is None:
                self.first = event.time
            time = (event.time - self.first) * _NANOSECONDS // self.resolution
            name = type(event).__name__
            rank = self.number.get(location)
            if rank is not None:
                self.take(rank, name, event, time)
            elif name.startswith(("Mpi", "Rma", "NonBlocking")):
                raise _error(
                    self.path, f"location {location.name}", f"{name}: expected MPI calls of one thread per rank"
                )
        for number, own in enumerate(self.ranks):
            if own.region is not None:
                raise _error(self.path, f"rank {number}", f"{own.region} never returns")
            if own.receives:
                call = next(iter(own.receives.values()))
                where = f"rank {number}, {call.start} ns after the first event"
                raise _error(self.path, where, "MPI_Irecv: a receive never ends")
        self.agree()
        return [rank.calls for rank in self.ranks]

    def take(self, number: int, name: str, event: Any, time: int) -> None:
        """Takes one event of a rank."""
        rank = self.ranks[number]

        def refuse(message: str) -> InputError:
            return _error(self.path, f"rank {number}, {time} ns after the first event", message)

        if name in ("Enter", "Leave"):
            if not str(event.region.paradigm).endswith("MPI"):
                return
            region = event.region.name
            if (rank.region is None) != (name == "Enter") or (name == "Leave" and rank.region != region):
                raise refuse(f"{name} of {region} within {rank.region or 'no call'}")
            if name == "Leave":
                _leave(rank, time)
            else:
                rank.region, rank.start = region, time
            return
        if not name.startswith(("Mpi", "Rma", "NonBlocking")) or name in ("MpiCollectiveBegin", "MpiRequestTest"):
            return
        if rank.region is None:
            raise refuse(f"{name} outside of any call")
        if name not in _EVENTS:
            raise refuse(f"{rank.region}: {name} is not known to the reader")
        if hasattr(event, "communicator"):
            group = getattr(event.communicator, "group", None)
            if group is None or tuple(group.members) != self.world:
                raise refuse(f"{rank.region}: communicator {event.communicator.name}: expected one of all ranks")
        try:
            _EVENTS[name](rank, event, time, len(self.world), number)
        except _UnknownError as error:
            raise refuse(f"{rank.region}: {error}") from None

    def agree(self) -> None:
        """Gives the root of a collective the size that other ranks record: its own count depends on its buffers."""
        each = [[call for call in rank.calls if call.block is not None or "root" in call.values] for rank in self.ranks]
        for together in zip(*each, strict=False):
            block = next((call.block for call in together if call.block is not None), 0)
            for call in together:
                count = {**_SPLIT, **_TO_ROOT, **_FROM_ROOT}[call.name]
                call.values |= _elements(count, call.block if call.block is not None else block)


class _UnknownError(Exception):
    """An event that the reader does not expect."""


def _leave(rank: _Rank, time: int) -> None:
    """Ends a call: its parts follow one another without a gap, and the last part gets the rest of the time."""
    assert rank.region is not None
    names = [part.name for part in rank.parts]
    if sorted(names) == ["MPI_Recv", "MPI_Send"]:
        send, recv = (
            next(part.values for part in rank.parts if part.name == name) for name in ("MPI_Send", "MPI_Recv")
        )
        both = {f"send{key}": value for key, value in send.items() if key not in ("dest", "comm", "datatype")}
        both |= {f"recv{key}": value for key, value in recv.items() if key not in ("source", "comm", "datatype")}
        both |= {"sendtype": _BYTE, "recvtype": _BYTE, "dest": send["dest"], "source": recv["source"], "comm": _WORLD}
        rank.parts = [_Call("MPI_Sendrecv", rank.start, values=both)]
    if rank.ended or (not rank.parts and _QUIET.fullmatch(rank.region)):
        requests = ", ".join(map(str, rank.ended))
        rank.parts.append(_Call("MPI_Waitall", rank.start, values={"requests": f"[{requests}]"}))
    parts = rank.parts or [_Call(rank.region, rank.start)]
    for part in parts:
        part.start = part.end = rank.start
    parts[-1].end = time
    rank.calls += parts
    rank.region, rank.parts, rank.ended = None, [], []


_BYTE = "2 (MPI_BYTE)"
_WORLD = "2 (MPI_COMM_WORLD)"


def _elements(count: str, size: int) -> dict[str, str]:
    """A size of `size` bytes, under the names that a call uses for it."""
    return {count: str(size), count.removesuffix("count") + "type" if count != "count" else "datatype": _BYTE}


def _message(rank: _Rank, event: Any, name: str, peer: str, number: int, time: int) -> _Call:
    values = {peer: str(number), "tag": str(event.msg_tag), "comm": _WORLD} | _elements("count", event.msg_length)
    call = _Call(name, time, values=values)
    rank.parts.append(call)
    return call


def _request(rank: _Rank, call: _Call, event: Any) -> None:
    """Gives a request a new number, because an archive may reuse the number of a request that has ended."""
    rank.made += 1
    rank.requests[event.request_id] = rank.made
    call.values["request"] = f"[{rank.made}]"


def _ended(rank: _Rank, event: Any) -> int:
    number = rank.requests.pop(event.request_id, None)
    if number is None:
        raise _UnknownError(f"request {event.request_id} ends, and has not begun")
    rank.ended.append(number)
    return number


def _send(rank: _Rank, event: Any, time: int, _ranks: int, _number: int) -> None:
    _message(rank, event, "MPI_Send", "dest", event.receiver, time)


def _recv(rank: _Rank, event: Any, time: int, _ranks: int, _number: int) -> None:
    _message(rank, event, "MPI_Recv", "source", event.sender, time)


def _isend(rank: _Rank, event: Any, time: int, _ranks: int, _number: int) -> None:
    _request(rank, _message(rank, event, "MPI_Isend", "dest", event.receiver, time), event)


def _irecv_request(rank: _Rank, event: Any, time: int, _ranks: int, _number: int) -> None:
    # The sender and the size are known when the message has arrived.
    call = _Call("MPI_Irecv", time)
    rank.parts.append(call)
    _request(rank, call, event)
    rank.receives[rank.made] = call


def _isend_complete(rank: _Rank, event: Any, _time: int, _ranks: int, _number: int) -> None:
    _ended(rank, event)


def _irecv(rank: _Rank, event: Any, _time: int, _ranks: int, _number: int) -> None:
    call = rank.receives.pop(_ended(rank, event), None)
    if call is None:
        raise _UnknownError(f"request {event.request_id} ends as a receive, and has begun as a send")
    call.values |= {"source": str(event.sender), "tag": str(event.msg_tag), "comm": _WORLD}
    call.values |= _elements("count", event.msg_length)


def _collective(rank: _Rank, event: Any, time: int, ranks: int, number: int) -> None:
    operation = str(event.collective_op).rsplit(".", 1)[-1]
    name = _COLLECTIVES.get(operation)
    if name is None:
        raise _UnknownError(f"collective {operation}: expected one of {', '.join(sorted(_COLLECTIVES))}")
    call = _Call(name, time, values={"comm": _WORLD})
    if name in _SPLIT:
        call.block = _block(event.size_sent, ranks)
    elif name != "MPI_Barrier":
        call.values["root"] = str(event.root)
        if number != event.root:
            call.block = event.size_sent if name in _TO_ROOT else event.size_received
        elif ranks == 1:
            call.block = event.size_sent
    rank.parts.append(call)


def _block(size: int, ranks: int) -> int:
    """Bytes for each rank. Score-P counts a rank's own bytes unless they stay in place."""
    for count in (ranks, max(ranks - 1, 1)):
        if size % count == 0:
            return size // count
    raise _UnknownError(f"{size} bytes: expected as many for each of {ranks} ranks")


_EVENTS = {
    "MpiSend": _send,
    "MpiRecv": _recv,
    "MpiIsend": _isend,
    "MpiIsendComplete": _isend_complete,
    "MpiIrecvRequest": _irecv_request,
    "MpiIrecv": _irecv,
    "MpiCollectiveEnd": _collective,
}


def _write(calls: Sequence[_Call], path: Path) -> None:
    """Writes the calls of a rank."""
    lines: list[str] = []
    for call in calls:
        lines.append(f"{call.name} entering at walltime {_seconds(call.start)}")
        lines += (f"{_kind(key)} {key}={value}" for key, value in call.values.items())
        lines.append(f"{call.name} returning at walltime {_seconds(call.end)}")
    path.write_text("".join(f"{line}\n" for line in lines))


def _seconds(time: int) -> str:
    clock = f"{time // _NANOSECONDS}.{time % _NANOSECONDS:09d}"
    return f"{clock}, cputime {clock} seconds in thread 0."


def _kind(key: str) -> str:
    return "MPI_Comm" if key == "comm" else "MPI_Datatype" if key.endswith("type") else "int"
