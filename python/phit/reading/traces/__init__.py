"""Traces: messages from files, block-I/O traces as messages, and a generator of bursty I/O.

A trace is a list of messages in the order of their times: `(cycle, source, destination, phits)`, as in `traffic.trace`
of a scenario. Two layouts are recognised by the names in the first line:

* messages: `time, source, destination, bytes`;
* block I/O: `timestamp, host, disk, type, offset, size`, in any order and case; synonyms are `hostname`, `disknumber`,
  `device`, `asu`, `lba`, `bytes`, `opcode` and `op`.

Further columns are not used, and a warning names them.

A file without names starts with a number. It has the columns of one layout in this order; block I/O may have a response
time at the end.
"""

import warnings
from collections.abc import Mapping
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.reading.trace_options import UNITS, check, exact
from phit.reading.traces.block_io import REQUEST_BYTES, Io, block_io_messages, bursty, write
from phit.reading.traces.reading import MOST, Reader, Scale, Skipped, messages, requests

__all__ = [
    "REQUEST_BYTES",
    "UNITS",
    "Io",
    "Message",
    "Skipped",
    "block_io_messages",
    "bursty",
    "inline",
    "read",
    "write",
]

Message = tuple[int, int, int, int]
"""Cycle of generation, source endpoint, destination endpoint, phits."""


def read(
    path: str | Path,
    endpoints: int,
    *,
    compression: float = 1.0,
    unit: str | None = None,
    cycle_ns: float | Fraction = 1,
    phit_bytes: float | Fraction = 1,
    start: int = 0,
    limit: int | None = None,
    hosts: Mapping[str, int] | None = None,
    disks: Mapping[str, int] | None = None,
    request_bytes: int = REQUEST_BYTES,
    skip_bad: bool = False,
) -> tuple[list[Message], Skipped]:
    """The messages of a file, and a record of the lines that were left out.

    Args:
        path: CSV (by its header) or Parquet.
        endpoints: number of endpoints of the network.
        compression: times are divided by it.
        unit: unit of times: s, ms, us, 100ns or ns. By default ns for messages and s for block I/O. By default ns for
            messages and s for block I/O.
        cycle_ns: nanoseconds of a cycle.
        phit_bytes: bytes of a phit.
        start: cycle of the earliest time of the file.
        limit: messages from this cycle on are left out.
        hosts: endpoint of each host of a block-I/O trace. By default, hosts get even endpoints in the order of their
            names.
        disks: endpoint of each disk (`HOST/DISK`). By default, disks get odd endpoints in the order of their names.
        request_bytes: bytes of a read request, and of the acknowledgement of a write.
        skip_bad: whether to leave out and count lines that cannot be read.
    """
    given = {
        "compression": compression,
        "unit": unit,
        "cycle_ns": cycle_ns,
        "phit_bytes": phit_bytes,
        "start": start,
        "limit": limit,
        "hosts": hosts,
        "disks": disks,
        "request_bytes": request_bytes,
        "skip_bad": skip_bad,
    }
    check({key: value for key, value in given.items() if value is not None})
    reader = Reader(Path(path), skip_bad=skip_bad)
    rows = reader.rows()
    first = next(rows, None)
    if first is None:
        return [], reader.skipped
    again = chain([first], rows)
    block = "timestamp" in first[1]
    cycles = UNITS[unit or ("s" if block else "ns")] / exact(compression) / exact(cycle_ns)
    scale = Scale(cycles, exact(phit_bytes), start, limit)
    if block and (phits := scale.phits(request_bytes)) > MOST:
        raise InputError(f"request_bytes = {request_bytes}: that is {phits:,} phits; expected at most {MOST:,}")
    if block:
        timed = block_io_messages(list(requests(reader, again, scale)), endpoints, hosts, disks, request_bytes)
    else:
        timed = list(messages(reader, again, scale, endpoints))
    found = [(int(cycle), source, to, scale.phits(size)) for cycle, source, to, size in timed]
    return [message for message in found if limit is None or message[0] < limit], reader.skipped


def inline(trace: str | Mapping[str, Any], endpoints: int, units: Mapping[str, Fraction]) -> list[list[int]]:
    """The messages of a scenario's `traffic.trace`: a file's name, or a table with `file` and options of `read`.

    `units` are `cycle_ns` and `phit_bytes` of the scenario, if it gives them.
    """
    options = {"file": trace} if isinstance(trace, str) else dict(trace)
    file = options.pop("file", None)
    if not isinstance(file, str):
        raise InputError("traffic.trace.file: this key is required: the name of a CSV or Parquet file")
    check(options, "traffic.trace.")
    found, skipped = read(Path(file), endpoints, **{**units, **options})
    lines = "1 line" if skipped.lines == 1 else f"{skipped.lines:,} lines"
    left_out = f"{lines} left out; the first is {skipped.first}"
    if not found:
        # The engine takes a list without messages for no trace, and would generate traffic.
        why = f" ({left_out})" if skipped.lines else ""
        raise InputError(f'traffic.trace.file = "{file}": no message is left; expected at least one{why}')
    if skipped.lines:
        warnings.warn(f"{file}: {left_out}", stacklevel=2)
    return [list(message) for message in found]
