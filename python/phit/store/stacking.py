"""The tables of a results folder, stacked from the tables of its points."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phit.store.frames import frame
from phit.store.quantities import TABLES

if TYPE_CHECKING:
    # This library takes longer to import than many sweeps take; while points run, there is time for it.
    import polars as pl

ROWS = 1000
"""Maximum number of rows that wait to be stacked."""

Columns = Mapping[str, list[Any]]
"""A table of a run: a list of values for each column, of equal lengths."""


@dataclass
class _Waiting:
    """Rows of points that are stacked together: they have the same columns of the same types."""

    shape: Any = None
    first: Mapping[str, Any] = field(default_factory=dict)
    """The identifying columns of the first point."""
    ids: dict[str, list[Any]] = field(default_factory=dict)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    rows: int = 0


class Stack:
    """One table of all points, in which identifying columns of the point precede its own columns.

    Points may come in any order; if a point comes again, the last one counts. Rows of short runs are stacked many at a
    time, because making a frame of each takes as long as running it.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._frames: list[pl.DataFrame] = []
        self._rows = 0
        self._waiting = _Waiting()
        self._places: dict[str, tuple[int, int, tuple[str, ...]]] = {}
        """For each point: its first row, its number of rows, and their columns."""

    def add(self, hash_: str, ids: Mapping[str, Any], columns: Columns) -> None:
        """Adds the rows of a point. `ids` identify it, unless columns of its own have the same names."""
        shown = {key: value for key, value in ids.items() if key not in columns}
        shape = (self._types(shown, columns), tuple(columns))
        waiting = self._waiting
        if waiting.shape is None or waiting.shape != shape or waiting.rows > ROWS:
            self._put_together()
            waiting = self._waiting = _Waiting(shape, shown, {key: [] for key in shown}, {key: [] for key in columns})
        rows = len(next(iter(columns.values()), ()))
        for key, value in shown.items():
            waiting.ids[key] += [value] * rows
        for key, cells in columns.items():
            waiting.columns[key] += cells
        self._places[hash_] = (self._rows + waiting.rows, rows, (*shown, *columns))
        waiting.rows += rows
        if shape[0] is None:
            self._put_together()

    def _types(self, ids: Mapping[str, Any], columns: Columns) -> Any:
        """The types that rows in one stack share; `None` if these rows must be stacked alone.

        Types of undeclared columns follow from their cells.
        """
        declared = {column.name for column in TABLES[self._table].columns} if self._table in TABLES else set()
        known = all(type(value) in (str, bool, float) or _is_small(value) for value in ids.values())
        return tuple((key, type(value)) for key, value in ids.items()) if known and columns.keys() <= declared else None

    def _put_together(self) -> None:
        waiting, self._waiting = self._waiting, _Waiting()
        if waiting.shape is None:
            return
        import polars as pl

        own = frame(self._table, waiting.columns)
        # The types that polars gives to such literals.
        types = {
            key: pl.Series([value], dtype=pl.Int32 if _is_small(value) else None).dtype
            for key, value in waiting.first.items()
        }
        same = [pl.Series(key, cells, dtype=types[key]) for key, cells in waiting.ids.items()]
        self._frames.append(pl.DataFrame([*same, *(own.get_column(name) for name in waiting.columns)]))
        self._rows += waiting.rows

    def frame(self, hashes: Iterable[str]) -> "pl.DataFrame":
        """The rows of these points, in their order. A point without rows adds none."""
        import polars as pl

        self._put_together()
        whole = pl.concat(self._frames, how="diagonal_relaxed")
        places = [self._places[hash_] for hash_ in hashes if hash_ in self._places]
        names = dict.fromkeys(name for *_, names in places for name in names) or whole.columns
        first = pl.Series([first for first, *_ in places], dtype=pl.Int64)
        rows = pl.Series([rows for _, rows, _ in places], dtype=pl.Int64)
        order = pl.select(pl.int_ranges(first, first + rows).explode().drop_nulls()).to_series()
        # In one piece, so that the file does not depend on the order in which points have come.
        return whole.select(*names)[order].rechunk()


def _is_small(value: Any) -> bool:
    """Whether the value fits polars' type of small integers."""
    return type(value) is int and -(2**31) <= value < 2**31
