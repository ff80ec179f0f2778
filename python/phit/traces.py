"""Traces: messages from files, block-I/O traces as messages, and a generator of bursty I/O.

A trace is a list of messages in the order of their times: `(cycle, source, destination, phits)`, what `traffic.trace`
of a scenario holds. Two layouts are known by the names in the first line:

* messages: `time, source, destination, bytes`;
* block I/O: `timestamp, host, disk, type, offset, size`, in any case and order, further columns ignored; `hostname`,
  `disknumber`, `device`, `asu`, `lba`, `bytes`, `opcode` and `op` are other names of these.

A file without names, whose first field is a number, has the columns of one of them in this order, block I/O perhaps
with a response time at the end.
"""

import csv
import math
import random
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from phit.errors import InputError

OPTIONS = (
    "compression",
    "unit",
    "cycle_ns",
    "phit_bytes",
    "start",
    "limit",
    "hosts",
    "disks",
    "request_bytes",
    "skip_bad",
)
"""What a scenario can say about a trace besides its file."""

Message = tuple[int, int, int, int]
"""Cycle of generation, source endpoint, destination endpoint, phits."""

REQUEST_BYTES = 64
"""A request for data, or the acknowledgement of a write, if nobody says otherwise."""

NAMES = {
    "timestamp": "timestamp", "time": "time", "host": "host", "hostname": "host", "disk": "disk", "disknumber": "disk",
    "device": "disk", "asu": "disk", "type": "type", "opcode": "type", "op": "type",
    "offset": "offset", "lba": "offset",
    "size": "size", "bytes": "bytes", "source": "source", "src": "source", "destination": "destination",
    "dst": "destination",
}  # fmt: skip
"""Columns by the names that files have for them."""

MESSAGES = ("time", "source", "destination", "bytes")
BLOCK_IO = ("timestamp", "host", "disk", "type", "size")
NAMELESS = ("timestamp", "host", "disk", "type", "offset", "size")
"""The columns of block I/O where the file does not name them."""

UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "100ns": 100.0, "ns": 1.0}
"""Nanoseconds of a unit of time; `100ns` is that of Windows event tracing."""

READS, WRITES = frozenset({"r", "read", "0", "rs"}), frozenset({"w", "write", "1", "ws"})


@dataclass(frozen=True)
class Io:
    """A request of a block-I/O trace."""

    time: float
    """In nanoseconds."""
    host: str
    disk: str
    write: bool
    size: int
    """Bytes."""


@dataclass
class Skipped:
    """Lines that were left out because they could not be read."""

    lines: int = 0
    first: str = ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Reader:
    """Reads a file line by line; what cannot be read is refused with line and column, or counted."""

    def __init__(self, path: Path, *, skip_bad: bool) -> None:
        self.path = path
        self.skip_bad = skip_bad
        self.skipped = Skipped()
        self._last = -math.inf

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Line number and fields by the known names of their columns."""
        if self.path.suffix == ".parquet":
            yield from self._parquet()
            return
        try:
            with self.path.open(encoding="utf-8", newline="") as file:
                reader = csv.reader(file)
                header = next(reader, None)
                if not header:
                    raise InputError(f"{self.path}: empty; expected a line with the names of the columns")
                named = not _is_number(header[0])
                columns = self._columns(header) if named else self._places(header)
                for fields in reader if named else chain([header], reader):
                    if not fields:
                        continue
                    if len(fields) != len(header):
                        at = min(len(fields), len(header)) + 1
                        what = f"column {at}: {len(fields)} fields; expected {len(header)}, as in the first line"
                        self.bad(reader.line_num, what)
                        continue
                    yield reader.line_num, {name: fields[at].strip() for name, at in columns.items()}
        except FileNotFoundError:
            raise InputError(f"{self.path}: no such file") from None
        except csv.Error as error:
            # Of a quote that is never closed the rest of the file is one field.
            raise InputError(f"{self.path}: line {reader.line_num}: {error}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: cannot be read ({error})") from None

    def _parquet(self) -> Iterator[tuple[int, dict[str, str]]]:
        try:
            table = pl.read_parquet(self.path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self.path}: cannot be read ({error})") from None
        columns = self._columns(table.columns)
        for line, row in enumerate(table.iter_rows(), 1):
            yield line, {name: str(row[at]) for name, at in columns.items()}

    def _columns(self, header: Sequence[str]) -> dict[str, int]:
        known = {NAMES[n]: i for i, name in enumerate(header) if (n := name.strip().lower().replace("_", "")) in NAMES}
        for layout in (MESSAGES, BLOCK_IO):
            if set(layout) <= set(known):
                return {name: known[name] for name in layout}
        wanted = f"{', '.join(MESSAGES)} or {', '.join(BLOCK_IO)}"
        raise InputError(f"{self.path}: line 1: the columns are {', '.join(header)}; expected {wanted}")

    def _places(self, first: Sequence[str]) -> dict[str, int]:
        """Columns without names: in the order of a layout, block I/O perhaps with a response time after it."""
        if len(first) == len(MESSAGES):
            return {name: at for at, name in enumerate(MESSAGES)}
        if len(first) in (len(NAMELESS), len(NAMELESS) + 1):
            return {name: NAMELESS.index(name) for name in BLOCK_IO}
        wanted = f"{', '.join(MESSAGES)} or {', '.join(NAMELESS)}"
        raise InputError(f"{self.path}: line 1: {len(first)} fields without names; expected {wanted}")

    def bad(self, line: int, what: str) -> None:
        """A line cannot be read."""
        if not self.skip_bad:
            raise InputError(f"{self.path}: line {line}: {what}")
        self.skipped.lines += 1
        self.skipped.first = self.skipped.first or f"line {line}: {what}"

    def number(self, line: int, row: Mapping[str, str], column: str) -> float | None:
        """A field as a number that is not negative."""
        try:
            value = float(row[column])
        except ValueError:
            value = math.nan
        if math.isfinite(value) and value >= 0:
            return value
        self.bad(line, f"column {column}: {row[column]!r}; expected a number, 0 or more")
        return None

    def in_order(self, line: int, column: str, time: float) -> bool:
        """True if times do not go back."""
        if time < self._last:
            self.bad(line, f"column {column}: {time:.10g} after {self._last:.10g}; expected ascending times")
            return False
        self._last = time
        return True


def read(
    path: str | Path,
    endpoints: int,
    *,
    compression: float = 1.0,
    unit: str = "",
    cycle_ns: float = 1.0,
    phit_bytes: float = 1.0,
    start: int = 0,
    limit: int | None = None,
    hosts: Mapping[str, int] | None = None,
    disks: Mapping[str, int] | None = None,
    request_bytes: int = REQUEST_BYTES,
    skip_bad: bool = False,
) -> tuple[list[Message], Skipped]:
    """The messages of a file, and what was left out.

    Args:
        path: CSV (by its header) or Parquet.
        endpoints: of the network.
        compression: times are divided by it.
        unit: of times: s, ms, us, 100ns or ns. By default ns for messages and s for block I/O.
        cycle_ns: nanoseconds of a cycle.
        phit_bytes: bytes of a phit.
        start: cycle of the earliest time of the file.
        limit: messages from this cycle on are left out.
        hosts: endpoint of each host of a block-I/O trace; by default in order of their names, over the even endpoints.
        disks: the same of disks (`HOST/DISK`); by default over the odd endpoints.
        request_bytes: of a request for data and of the acknowledgement of a write.
        skip_bad: leave out and count what cannot be read.
    """
    if unit and unit not in UNITS:
        raise InputError(f"unit = {unit!r}: expected one of {', '.join(UNITS)}")
    if not compression > 0:
        raise InputError(f"compression = {compression}: expected a number more than 0")
    reader = Reader(Path(path), skip_bad=skip_bad)
    rows = reader.rows()
    first = next(rows, None)
    if first is None:
        return [], reader.skipped
    again = (row for group in ([first], rows) for row in group)
    block = "timestamp" in first[1]
    scale = UNITS[unit or ("s" if block else "ns")] / compression / cycle_ns
    if block:
        requests = list(_requests(reader, again))
        timed = block_io_messages(requests, endpoints, hosts, disks, request_bytes)
    else:
        timed = list(_messages(reader, again, endpoints))
    origin = min((time for time, *_ in timed), default=0.0)
    found = [
        (start + round((time - origin) * scale), source, to, max(1, math.ceil(size / phit_bytes)))
        for time, source, to, size in timed
    ]
    found.sort(key=lambda message: message[0])
    return [message for message in found if limit is None or message[0] < limit], reader.skipped


def _messages(
    reader: Reader, rows: Iterable[tuple[int, dict[str, str]]], endpoints: int
) -> Iterator[tuple[float, int, int, int]]:
    for line, row in rows:
        numbers = [reader.number(line, row, column) for column in MESSAGES]
        if None in numbers:
            continue
        time, source, destination, size = (number for number in numbers if number is not None)
        if not reader.in_order(line, "time", time):
            continue
        outside = [c for c, v in (("source", source), ("destination", destination)) if v >= endpoints or v != int(v)]
        if outside:
            reader.bad(line, f"column {outside[0]}: {row[outside[0]]}; expected an endpoint, 0 to {endpoints - 1}")
        elif size < 1:
            reader.bad(line, f"column bytes: {row['bytes']}; expected 1 or more")
        else:
            yield time, int(source), int(destination), int(size)


def _requests(reader: Reader, rows: Iterable[tuple[int, dict[str, str]]]) -> Iterator[Io]:
    for line, row in rows:
        time, size = reader.number(line, row, "timestamp"), reader.number(line, row, "size")
        if time is None or size is None or not reader.in_order(line, "timestamp", time):
            continue
        kind = row["type"].lower()
        if kind not in READS | WRITES:
            reader.bad(line, f"column type: {row['type']!r}; expected Read or Write")
            continue
        yield Io(time, row["host"], row["disk"], kind in WRITES, int(size))


def _places(
    names: Iterable[str], endpoints: int, first: int, given: Mapping[str, int] | None, what: str
) -> dict[str, int]:
    """The endpoint of every name: the given ones, or every second from the first on, as often round as needed."""
    distinct = sorted(set(names))
    if given is None:
        places = max(1, (endpoints - first + 1) // 2)
        return {name: min(first + 2 * (i % places), endpoints - 1) for i, name in enumerate(distinct)}
    for name in distinct:
        if name not in given:
            raise InputError(f"{what}: no endpoint is given for {name!r}")
        if not 0 <= given[name] < endpoints:
            raise InputError(f"{what}.{name} = {given[name]}: expected an endpoint, 0 to {endpoints - 1}")
    return dict(given)


def block_io_messages(
    requests: Sequence[Io],
    endpoints: int,
    hosts: Mapping[str, int] | None = None,
    disks: Mapping[str, int] | None = None,
    request_bytes: int = REQUEST_BYTES,
) -> list[tuple[float, int, int, int]]:
    """Messages of requests: time in the unit of the requests, source, destination, bytes.

    A read is a small message from host to disk, and the data back; a write is the data, and a small message back.
    Both are sent at the
    time of the request: a trace says nothing of when the disk answers.
    """
    names = [f"{io.host}/{io.disk}" for io in requests]
    at_host = _places((io.host for io in requests), endpoints, 0, hosts, "hosts")
    at_disk = _places(names, endpoints, 1, disks, "disks")
    found = []
    for io, name in zip(requests, names, strict=True):
        host, disk = at_host[io.host], at_disk[name]
        there, back = (max(io.size, 1), request_bytes) if io.write else (request_bytes, max(io.size, 1))
        found += [(io.time, host, disk, there), (io.time, disk, host, back)]
    return found


def bursty(
    *, seed: int = 1, hosts: int = 32, disks: int = 32, seconds: float = 0.04, rate: float = 3000.0, skew: float = 0.8
) -> list[Io]:
    """A bursty, self-similar block-I/O trace: a stand-in for recorded ones, which are rarely free to use.

    Every host is a source that is on and off for times of a Pareto distribution with infinite variance (shape 1.4),
    whose sum over
    hosts is self-similar (Willinger, Taqqu, Sherman and Wilson, 1997); while on it sends requests at random times, to
    one disk for
    each time that it is on. Disks are popular by Zipf's law; sizes are those of a file system.

    Args:
        seed: of the random numbers.
        hosts: number of hosts.
        disks: number of disks.
        seconds: length.
        rate: requests of a host in a second, on average.
        skew: exponent of Zipf's law.
    """
    rng = random.Random(seed)
    shape, shortest, on_share = 1.4, seconds / 200, 0.3
    weights = [1 / (rank + 1) ** skew for rank in range(disks)]
    order = rng.sample(range(disks), disks)
    sizes, shares = (4096, 8192, 16384, 65536), (0.3, 0.5, 0.15, 0.05)
    requests = []
    for host in range(hosts):
        time = -rng.uniform(0, seconds / 4)
        while time < seconds:
            busy = shortest * rng.paretovariate(shape)
            disk = order[rng.choices(range(disks), weights)[0]]
            at = time + rng.expovariate(rate / on_share)
            while at < min(time + busy, seconds):
                if at >= 0:
                    size = rng.choices(sizes, shares)[0]
                    requests.append(Io(at * 1e9, f"h{host:02}", f"d{disk:02}", rng.random() < 0.45, size))
                at += rng.expovariate(rate / on_share)
            idle = shortest * (1 - on_share) / on_share * rng.paretovariate(shape)
            time += busy + idle
    return sorted(requests, key=lambda io: io.time)


def write(requests: Iterable[Io], path: str | Path) -> None:
    """Writes a block-I/O trace as CSV, with times in seconds."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("timestamp", "host", "disk", "type", "offset", "size"))
        for io in requests:
            writer.writerow((f"{io.time / 1e9:.9f}", io.host, io.disk, "Write" if io.write else "Read", 0, io.size))


def inline(trace: str | Mapping[str, Any], endpoints: int) -> list[list[int]]:
    """The messages of a scenario's `traffic.trace`: a file's name, or a table with `file` and options of `read`."""
    options = {"file": trace} if isinstance(trace, str) else dict(trace)
    file = options.pop("file", None)
    if not isinstance(file, str):
        raise InputError("traffic.trace.file: this key is required: the name of a CSV or Parquet file")
    for key in options:
        if key not in OPTIONS:
            raise InputError(f"traffic.trace.{key}: no such key; expected one of file, {', '.join(OPTIONS)}")
    messages, skipped = read(Path(file), endpoints, **options)
    if skipped.lines:
        lines = "1 line" if skipped.lines == 1 else f"{skipped.lines:,} lines"
        warnings.warn(f"{file}: {lines} left out; the first is {skipped.first}", stacklevel=2)
    return [list(message) for message in messages]
