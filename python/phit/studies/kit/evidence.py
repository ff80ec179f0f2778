"""What rules of claims look at: the tables of all figures, asked for one value at a time.

What was not run raises `NotRunError`, a latency beyond saturation `SaturatedError`: a rule need not look for either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import polars as pl

from phit.studies.kit.claim import NotRunError, SaturatedError
from phit.studies.kit.scale import S

Tables = Mapping[str, pl.DataFrame]
"""The table of every figure, by the figure's name; empty if none of its runs is there."""


class Curves:
    """A table of steady states, asked for one value at a time; `where` picks rows by their labels."""

    def __init__(self, table: pl.DataFrame, name: str) -> None:
        """`name` is what messages call the table, as `figure 5b`."""
        self._table = table
        self._name = name

    def _rows(self, **where: Any) -> pl.DataFrame:
        if self._table.is_empty():
            raise NotRunError(f"{self._name} was not run")
        unknown = [key for key in where if key not in self._table.columns]
        if unknown:
            raise NotRunError(f"{self._name} has no {', '.join(unknown)}")
        near = [
            (pl.col(key) - value).abs() < 1e-9 if isinstance(value, float) else pl.col(key) == value
            for key, value in where.items()
        ]
        return self._table.filter(*near) if near else self._table

    def _row(self, **where: Any) -> dict[str, Any]:
        rows = self._rows(**where)
        if rows.is_empty():
            raise NotRunError(f"{self._name}: no run of {_words(where)}")
        if rows.height > 1:
            raise ValueError(f"{self._name}: {rows.height} rows for {_words(where)}")
        return rows.row(0, named=True)

    def loads(self, **where: Any) -> list[float]:
        """Offered loads of a curve."""
        rows = self._rows(**where)
        if rows.is_empty():
            raise NotRunError(f"{self._name}: no run of {_words(where)}")
        return [float(load) for load in rows["load"].unique().sort()]

    def values(self, column: str, **where: Any) -> list[Any]:
        """The values of a label."""
        rows = self._rows(**where)
        if column not in rows.columns:
            raise NotRunError(f"{self._name} has no {column}")
        return rows[column].unique().sort().to_list()

    def latency(self, **where: Any) -> float:
        """Mean packet latency in cycles of a run that is not saturated."""
        row = self._row(**where)
        if row["saturated"]:
            raise SaturatedError(f"{self._name}: saturated at {_words(where)}")
        if row["latency_mean"] is None:
            raise NotRunError(f"{self._name}: no packet was delivered at {_words(where)}")
        return float(row["latency_mean"])

    def latency_ratios(self, upper: str, lower: str, loads: Sequence[float]) -> list[float]:
        """Mean latency of one mechanism over that of another at each load."""
        return [self.latency(mechanism=upper, load=load) / self.latency(mechanism=lower, load=load) for load in loads]

    def accepted(self, **where: Any) -> float:
        """Accepted load in phits/(endpoint·cycle)."""
        return float(self._row(**where)["accepted_load"])

    def saturated(self, **where: Any) -> bool:
        """True if the run accepts less than is offered."""
        return bool(self._row(**where)["saturated"])

    def top(self, **where: Any) -> tuple[float, float]:
        """The highest offered load of a curve and the load that is accepted there."""
        load = self.loads(**where)[-1]
        return load, self.accepted(**where, load=load)

    def peak(self, **where: Any) -> float:
        """The most that a curve accepts."""
        return max(self.accepted(**where, load=load) for load in self.loads(**where))

    def saturation(self, **where: Any) -> float:
        """The most that a curve accepts, of a curve that goes on into saturation."""
        load = self.loads(**where)[-1]
        if not self.saturated(**where, load=load):
            raise NotRunError(f"{self._name}: {_words(where)} is not saturated at its highest load {load:g}")
        return self.peak(**where)


class Responses:
    """A table of transients, asked for one mechanism at a time."""

    def __init__(self, table: pl.DataFrame, name: str) -> None:
        """`name` is what messages call the table, as `figure 7`."""
        self._table = table
        self._name = name

    def series(self, mechanism: str, column: str = "latency_mean") -> tuple[list[int], list[float]]:
        """Cycles from the change (the start of each bin) and values."""
        if self._table.is_empty():
            raise NotRunError(f"{self._name} was not run")
        rows = self._table.filter(pl.col("mechanism") == mechanism).sort("t").drop_nulls(column)
        if rows.is_empty():
            raise NotRunError(f"{self._name}: no run of {mechanism}")
        return rows["t"].to_list(), rows[column].to_list()

    def mean(self, mechanism: str, begin: int, end: int, column: str = "latency_mean") -> float:
        """Mean over the bins that start in `begin..end` cycles from the change."""
        times, values = self.series(mechanism, column)
        chosen = [value for t, value in zip(times, values, strict=True) if begin <= t < end]
        if not chosen:
            raise NotRunError(f"{self._name}: no bin of {mechanism} in {begin} to {end} cycles")
        return sum(chosen) / len(chosen)


@dataclass(frozen=True)
class Evidence(Generic[S]):
    """The tables of all figures, and the setting that they were run in.

    A study whose rules ask for more has a class of its own that extends this one.
    """

    tables: Tables
    setting: S

    def rows(self, figure: str, **where: Any) -> pl.DataFrame:
        """The rows of a figure with these labels; without any if it was not run."""
        found = self.tables.get(figure, pl.DataFrame())
        for key, value in where.items():
            found = found.filter(pl.col(key) == value) if key in found.columns else found.head(0)
        return found

    def table(self, figure: str) -> pl.DataFrame:
        """The table of a figure that must have been run."""
        found = self.rows(figure)
        if found.is_empty():
            raise NotRunError(f"figure {figure} was not run")
        return found

    def curves(self, figure: str, **where: Any) -> Curves:
        """The steady states of a figure, or of a panel of it."""
        return Curves(self.rows(figure, **where), self.name(figure, **where))

    def responses(self, figure: str, **where: Any) -> Responses:
        """The transients of a figure, or of a panel of it."""
        return Responses(self.rows(figure, **where), self.name(figure, **where))

    def name(self, figure: str, **where: Any) -> str:
        """What messages call the rows of a figure; a figure that was not run has no panels."""
        panel = where if self.rows(figure).height else {}
        return f"figure {figure}" + "".join(f", {key} {value}" for key, value in panel.items())


def _words(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else f"{value}" for value in where.values())


def span(values: Sequence[float], pattern: str = "{:.3g}") -> str:
    """The least and the greatest of some values: `1.2 to 3.4`."""
    low, high = pattern.format(min(values)), pattern.format(max(values))
    return low if low == high else f"{low} to {high}"


def percent(ratios: Sequence[float]) -> str:
    """The span of some ratios as differences from 1 in percent: `-0.1 to +2.3 %`."""
    return f"{span([100 * (ratio - 1) for ratio in ratios], '{:+.1f}')} %"
