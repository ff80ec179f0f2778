"""The short table of a sweep: its swept keys and the most important measures."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phit.base.numbers import readable, readable_half
from phit.base.text import WIDTH, plain
from phit.document.experiment import heading
from phit.document.labels import label_of
from phit.store.quantities import HEADLINES, interval

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

CAPTION = "loads in phits/(endpoint·cycle), latencies in cycles"

COLOURED = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Environment variables that make output other than a terminal count as one."""

_NARROW = str.maketrans("", "", "–·…±")
"""Characters outside ASCII that are as wide as a letter."""


def readable_cell(value: Any) -> str:
    """A cell of a table as people read it."""
    if value is None:
        return readable(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def short_columns(points: "pl.DataFrame", swept: Sequence[str]) -> list[tuple[str, str]]:
    """`(column, heading)` of the short table: the swept keys and the available headline measures."""
    # The row of a single run names routing, pattern and load; in a sweep, the swept keys do.
    told = [key for key in ("routing", "pattern", "offered_load") if points.height == 1 and not swept]
    keys = [(key, key.removesuffix("_load")) for key in told if key in points.columns]
    keys += [(key, heading(key)) for key in swept if key in points.columns]
    there = {name for name in points.columns if points[name].null_count() < points.height}
    return keys + [
        (q.name, q.heading)
        for q in HEADLINES
        if q.heading is not None and q.name in (there if q.special else points.columns)
    ]


def short_rows(points: "pl.DataFrame", swept: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the short table."""
    columns = short_columns(points, swept)
    keys = set(swept)
    words = [map(_key_cell, points[name].to_list()) if name in keys else _cells(points, name) for name, _ in columns]
    return [name for _, name in columns], [list(row) for row in zip(*words, strict=True)]


def _key_cell(value: Any) -> str:
    """A swept value; kinds have their names in figures."""
    return label_of(readable_cell(value)) if isinstance(value, str) else readable_cell(value)


def _cell(value: Any) -> str:
    return label_of(value) if isinstance(value, str) else readable(value)


def _cells(points: "pl.DataFrame", name: str) -> list[str]:
    """The cells of a measure, each with half the width of its interval, or a question mark if there is no interval."""
    half = interval(name)
    if half is None or half not in points.columns:
        return [_cell(value) for value in points[name].to_list()]
    pairs = points.select(name, half).iter_rows()
    return [readable(v) if v is None else f"{readable(v)} ± {'?' if h is None else readable_half(h)}" for v, h in pairs]


def without_interval(points: "pl.DataFrame") -> list[str]:
    """Reasons why points have no interval, a line for each quantity and reason; empty if all have one."""
    lines = []
    for quantity in HEADLINES:
        half = interval(quantity.name)
        reasons = f"{half}_reason"
        if half is None or reasons not in points.columns:
            continue
        counts = points[reasons].drop_nulls().value_counts(sort=True)
        for reason, count in counts.iter_rows():
            lines.append(f"no interval of the {quantity.words} at {count:,} of {points.height:,} points: {reason}")
    return lines


def short_table(points: "pl.DataFrame", swept: Sequence[str]) -> "str | Table":
    """The short table: as text if it needs no colours and fits, otherwise as a table for a terminal."""
    headings, rows = short_rows(points, swept)
    rows = [[plain(cell) for cell in row] for row in rows]
    right = [points[column].dtype.is_numeric() for column, _ in short_columns(points, swept)]
    colours = sys.stdout.isatty() or any(name in os.environ for name in COLOURED)
    text = None if colours else _text(headings, rows, right)
    return _table(headings, rows, right) if text is None else text


def _text(headings: list[str], rows: list[list[str]], right: list[bool]) -> str | None:
    """The table that `_table` would print without colours, or `None` if widths are unknown.

    It is faster: `_table` takes as long as some runs.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    if sum(widths) + 3 * len(widths) - 1 > WIDTH or not _is_narrow(headings) or not all(map(_is_narrow, rows)):
        return None
    lines = [
        "   ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in (headings, *rows)
    ]
    rule = "─" * (sum(widths) + 3 * (len(widths) - 1))
    return "\n".join(["", *(f" {line}" for line in (lines[0], rule, *lines[1:])), "", CAPTION])


def _is_narrow(cells: list[str]) -> bool:
    """Whether every character has width one and each cell is a single line."""
    text = "".join(cells).translate(_NARROW)
    return text.isascii() and text.isprintable()


def _table(headings: list[str], rows: list[list[str]], right: list[bool]) -> "Table":
    # This library takes longer to import than some sweeps take.
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, caption=CAPTION, caption_justify="left", pad_edge=False)
    for name, to_right in zip(headings, right, strict=True):
        table.add_column(name, justify="right" if to_right else "left", header_style="bold", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table
