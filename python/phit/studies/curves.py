"""What rules of claims look at: tables of steady states, asked for one value at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from phit.studies.claims import NotRunError, SaturatedError


class Curves:
    """A table of steady states, asked for one value at a time."""

    def __init__(self, table: pl.DataFrame, figure: str) -> None:
        self._table = table
        self._figure = figure

    def _rows(self, **where: Any) -> pl.DataFrame:
        if self._table.is_empty():
            raise NotRunError(f"figure {self._figure} was not run")
        unknown = [key for key in where if key not in self._table.columns]
        if unknown:
            raise NotRunError(f"figure {self._figure} has no {', '.join(unknown)}")
        near = [
            (pl.col(key) - value).abs() < 1e-9 if isinstance(value, float) else pl.col(key) == value
            for key, value in where.items()
        ]
        return self._table.filter(*near) if near else self._table

    def _row(self, **where: Any) -> dict[str, Any]:
        rows = self._rows(**where)
        if rows.is_empty():
            raise NotRunError(f"figure {self._figure}: no run of {_words(where)}")
        if rows.height > 1:
            raise ValueError(f"figure {self._figure}: {rows.height} rows for {_words(where)}")
        return rows.row(0, named=True)

    def loads(self, **where: Any) -> list[float]:
        """Offered loads of a curve."""
        rows = self._rows(**where)
        if rows.is_empty():
            raise NotRunError(f"figure {self._figure}: no run of {_words(where)}")
        return [float(load) for load in rows["load"].unique().sort()]

    def values(self, column: str, **where: Any) -> list[Any]:
        """The values of a label."""
        rows = self._rows(**where)
        if column not in rows.columns:
            raise NotRunError(f"figure {self._figure} has no {column}")
        return rows[column].unique().sort().to_list()

    def latency(self, **where: Any) -> float:
        """Mean packet latency in cycles of a run that is not saturated."""
        row = self._row(**where)
        if row["saturated"]:
            raise SaturatedError(f"figure {self._figure}: saturated at {_words(where)}")
        if row["latency_mean"] is None:
            raise NotRunError(f"figure {self._figure}: no packet was delivered at {_words(where)}")
        return float(row["latency_mean"])

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
            raise NotRunError(f"figure {self._figure}: {_words(where)} is not saturated at its highest load {load:g}")
        return self.peak(**where)


def _words(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else f"{value}" for value in where.values())


def span(values: Sequence[float], pattern: str = "{:.3g}") -> str:
    """The least and the greatest of some values: `1.2 to 3.4`."""
    low, high = pattern.format(min(values)), pattern.format(max(values))
    return low if low == high else f"{low} to {high}"


def percent(ratios: Sequence[float]) -> str:
    """The span of some ratios as differences from 1 in percent: `-0.1 to +2.3 %`."""
    return f"{span([100 * (ratio - 1) for ratio in ratios], '{:+.1f}')} %"
