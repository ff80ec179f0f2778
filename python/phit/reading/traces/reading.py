"""Reads traces line by line."""

import csv
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path

from phit.base.errors import InputError
from phit.base.files import opened, read_parquet
from phit.base.text import quoted
from phit.reading.traces.block_io import Io

NAMES = {
    "timestamp": "timestamp", "time": "time", "host": "host", "hostname": "host", "disk": "disk", "disknumber": "disk",
    "device": "disk", "asu": "disk", "type": "type", "opcode": "type", "op": "type",
    "offset": "offset", "lba": "offset",
    "size": "size", "bytes": "bytes", "source": "source", "src": "source", "destination": "destination",
    "dst": "destination",
}  # fmt: skip
"""Columns by their names in files."""

MESSAGES = ("time", "source", "destination", "bytes")
BLOCK_IO = ("timestamp", "host", "disk", "type", "size")
NAMELESS = ("timestamp", "host", "disk", "type", "offset", "size")
"""The columns of block I/O in a file without names."""

NEEDLESS = ("offset", "responsetime")
"""Columns of block I/O that a network does not use."""

PARQUET = frozenset({".parquet", ".pq"})
"""Suffixes of Parquet files, in lower case."""

MOST = 2**32 - 1
"""Largest cycle of a trace, and largest number of phits of a message."""

EXACT = Context(prec=100, Emin=-99, Emax=99, traps=[])
"""Context for reading numbers: more digits than any file has, and NaN for text that is no number."""

READS, WRITES = frozenset({"r", "read", "0", "rs"}), frozenset({"w", "write", "1", "ws"})


@dataclass
class Skipped:
    """Lines that were left out because they were unreadable."""

    lines: int = 0
    first: str = ""


def _key(name: str) -> str:
    """The name of a column in lower case, without spaces around it and without underscores."""
    return name.strip().lower().replace("_", "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Scale:
    """Conversion of a file's times and sizes to cycles and phits."""

    def __init__(self, cycles: Fraction, phit: Fraction, start: int, limit: int | None) -> None:
        """Sets the scale.

        Args:
            cycles: a unit of time in cycles.
            phit: a phit in bytes.
            start: the cycle of the first time.
            limit: the cycle at which the trace ends, if it is limited.
        """
        # Kept as whole numbers, because properties of fractions are slow.
        self.cycles, self.time = cycles.numerator, cycles.denominator
        self.bytes, self.phit = phit.numerator, phit.denominator
        self.largest = MOST * phit.numerator // phit.denominator
        self.start = start
        self.limit = limit

    def phits(self, size: int) -> int:
        """The number of phits of `size` bytes."""
        return max(1, -(-size * self.phit // self.bytes))


class Reader:
    """Reads a file line by line. Unreadable lines are refused with line and column, or counted."""

    def __init__(self, path: Path, *, skip_bad: bool) -> None:
        self.path = path
        self.skip_bad = skip_bad
        self.skipped = Skipped()
        self._last: int | Decimal = -1
        self._origin: int | Decimal | None = None

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Line numbers, and fields by the known names of their columns."""
        if self.path.suffix.lower() in PARQUET:
            yield from self._parquet()
            return
        try:
            with opened(self.path, encoding="utf-8-sig", newline="") as file:
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
            # After a quote that is never closed, the rest of the file is one field.
            raise InputError(f"{self.path}: line {reader.line_num}: {error}") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None
        except UnicodeDecodeError:
            raise InputError(f"{self.path}: cannot be read (it is no text in UTF-8)") from None

    def _parquet(self) -> Iterator[tuple[int, dict[str, str]]]:
        try:
            table = read_parquet(self.path)
        except FileNotFoundError:
            raise InputError(f"{self.path}: no such file") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None
        columns = self._columns(table.columns)
        for line, row in enumerate(table.iter_rows(), 1):
            yield line, {name: str(row[at]).strip() for name, at in columns.items()}

    def _columns(self, header: Sequence[str]) -> dict[str, int]:
        known = {NAMES[n]: i for i, name in enumerate(header) if (n := _key(name)) in NAMES}
        for layout in (MESSAGES, BLOCK_IO):
            if set(layout) <= set(known):
                self._warn_of_others(header, layout)
                return {name: known[name] for name in layout}
        # The message does not quote the file, because a scenario may name any file.
        layouts: list[Sequence[str]] = [MESSAGES, BLOCK_IO]
        nearest = max(layouts, key=lambda names: len(set(names) & set(known)))
        missing = ", ".join(name for name in nearest if name not in known)
        wanted = f"{', '.join(MESSAGES)} or {', '.join(BLOCK_IO)}"
        raise InputError(f"{self.path}: line 1: the columns {missing} are missing; expected {wanted}")

    def _warn_of_others(self, header: Sequence[str], layout: Sequence[str]) -> None:
        """Warns of columns that are not used: a trace may contain more than is simulated."""
        others = [name for name in header if NAMES.get(_key(name), _key(name)) not in (*layout, *NEEDLESS)]
        if others:
            shown = ", ".join(map(quoted, others[:5])) + f" and {len(others) - 5} more" * (len(others) > 5)
            warnings.warn(f"{self.path}: columns that are not used: {shown}", stacklevel=2)

    def _places(self, first: Sequence[str]) -> dict[str, int]:
        """Columns of a file without names, in the order of a layout; block I/O may have a response time at the end."""
        if len(first) == len(MESSAGES):
            return {name: at for at, name in enumerate(MESSAGES)}
        if len(first) in (len(NAMELESS), len(NAMELESS) + 1):
            return {name: NAMELESS.index(name) for name in BLOCK_IO}
        wanted = f"{', '.join(MESSAGES)} or {', '.join(NAMELESS)}"
        raise InputError(f"{self.path}: line 1: {len(first)} fields without names; expected {wanted}")

    def bad(self, line: int, what: str) -> None:
        """Refuses an unreadable line, or counts it."""
        if not self.skip_bad:
            raise InputError(f"{self.path}: line {line}: {what}")
        self.skipped.lines += 1
        self.skipped.first = self.skipped.first or f"line {line}: {what}"

    def number(self, line: int, row: Mapping[str, str], column: str) -> int | Decimal | None:
        """A field as a number that is not negative, with all of its digits."""
        text = row[column]
        if text.isdecimal() and len(text) < EXACT.prec:
            return int(text)
        value = EXACT.create_decimal(text)
        if value.is_finite() and value >= 0:
            return value
        self.bad(line, f"column {column}: {quoted(text)}; expected a number, 0 or more")
        return None

    def in_order(self, line: int, column: str, time: int | Decimal) -> bool:
        """Whether the time is not before the previous one; otherwise the line is bad."""
        if time < self._last:
            self.bad(line, f"column {column}: {time} after {self._last}; expected ascending times")
            return False
        self._last = time
        return True

    def fits(self, line: int, column: str, size: int | Decimal, scale: Scale) -> bool:
        """Whether a message of `size` bytes has at most the maximum number of phits; otherwise the line is bad."""
        if size > scale.largest:
            phits = scale.phits(int(size))
            self.bad(line, f"column {column}: {size} bytes are {phits:,} phits; expected at most {MOST:,}")
            return False
        return True

    def cycle(self, line: int, column: str, time: int | Decimal, scale: Scale) -> int:
        """The cycle of a time, counted from the first requested one.

        It is rounded to the nearest cycle, halves to even.
        """
        if self._origin is None:
            self._origin = time
        # Computed with whole numbers, because times since 1601 or 1970 have more digits than floating-point numbers.
        offset, parts = EXACT.subtract(time, self._origin).as_integer_ratio()
        parts *= scale.time
        cycle, rest = divmod(offset * scale.cycles, parts)
        cycle += scale.start + (2 * rest > parts or (2 * rest == parts and cycle % 2))
        if cycle > MOST and (scale.limit is None or cycle < scale.limit):
            raise InputError(
                f"{self.path}: line {line}: column {column}: {time} is cycle {cycle:,}; expected at most {MOST:,} "
                "cycles: check unit, or give a greater compression or a limit"
            )
        return cycle


def messages(
    reader: Reader, rows: Iterable[tuple[int, dict[str, str]]], scale: Scale, endpoints: int
) -> Iterator[tuple[int, int, int, int]]:
    """Cycle, source, destination and bytes of each line."""
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
        elif reader.fits(line, "bytes", size, scale):
            yield reader.cycle(line, "time", time, scale), int(source), int(destination), int(size)


def requests(reader: Reader, rows: Iterable[tuple[int, dict[str, str]]], scale: Scale) -> Iterator[Io]:
    """Block I/O requests of each line, with times in cycles."""
    for line, row in rows:
        time, size = reader.number(line, row, "timestamp"), reader.number(line, row, "size")
        if time is None or size is None or not reader.in_order(line, "timestamp", time):
            continue
        kind = row["type"].lower()
        if kind not in READS | WRITES:
            reader.bad(line, f"column type: {quoted(row['type'])}; expected Read or Write")
            continue
        if not reader.fits(line, "size", size, scale):
            continue
        time_in_cycles = reader.cycle(line, "timestamp", time, scale)
        yield Io(time_in_cycles, row["host"], row["disk"], kind in WRITES, int(size))
