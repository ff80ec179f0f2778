"""The tables of a results folder, put together from those of its points."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phit.store.frames import frame
from phit.store.quantities import TABLES

if TYPE_CHECKING:
    # It takes longer to import than many sweeps take: while points run there is time for it.
    import polars as pl

ROWS = 1000
"""Most rows that wait to be put together."""

Columns = Mapping[str, list[Any]]
"""A table of a run: a list of values for each column, of equal lengths."""


@dataclass
class _Waiting:
    """Rows of points that are put together in one go: they have the same columns of the same types."""

    shape: Any = None
    first: Mapping[str, Any] = field(default_factory=dict)
    """What tells the first point from others."""
    ids: dict[str, list[Any]] = field(default_factory=dict)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    rows: int = 0


class Stack:
    """One table of all points, each with what tells it from others in front of its own columns.

    Points come in any order, and of one that comes again the last counts. Rows of short runs are put together many
    at a time: to make a frame of each takes as long as to run it.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._frames: list[pl.DataFrame] = []
        self._rows = 0
        self._waiting = _Waiting()
        self._places: dict[str, tuple[int, int, tuple[str, ...]]] = {}
        """Of each point its first row, how many it has, and their columns."""

    def add(self, hash_: str, ids: Mapping[str, Any], columns: Columns) -> None:
        """The rows of a point, of which `ids` says which it is, as far as its own columns do not say otherwise."""
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
        """What rows that are put together have in common; nothing if these must be by themselves.

        Types of columns that nobody has declared follow from what is in them.
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
        # Of the types that polars gives to such literals.
        types = {
            key: pl.Series([value], dtype=pl.Int32 if _is_small(value) else None).dtype
            for key, value in waiting.first.items()
        }
        same = [pl.Series(key, cells, dtype=types[key]) for key, cells in waiting.ids.items()]
        self._frames.append(pl.DataFrame([*same, *(own.get_column(name) for name in waiting.columns)]))
        self._rows += waiting.rows

    def frame(self, hashes: Iterable[str]) -> "pl.DataFrame":
        """The rows of these points, in their order; of a point without any there are none."""
        import polars as pl

        self._put_together()
        whole = pl.concat(self._frames, how="diagonal_relaxed")
        places = [self._places[hash_] for hash_ in hashes if hash_ in self._places]
        names = dict.fromkeys(name for *_, names in places for name in names) or whole.columns
        first = pl.Series([first for first, *_ in places], dtype=pl.Int64)
        rows = pl.Series([rows for _, rows, _ in places], dtype=pl.Int64)
        order = pl.select(pl.int_ranges(first, first + rows).explode().drop_nulls()).to_series()
        # In one piece, so that the file is the same in whatever order points have come.
        return whole.select(*names)[order].rechunk()


def _is_small(value: Any) -> bool:
    """Whether a number has the type of small numbers."""
    return type(value) is int and -(2**31) <= value < 2**31
