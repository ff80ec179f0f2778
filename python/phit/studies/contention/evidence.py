"""What the rules of the claims look at: curves by mechanism and responses over time."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from phit.studies.claims import NotRunError
from phit.studies.contention.setting import Setting
from phit.studies.curves import Curves

NOISE = 0.005
"""Relative difference below which two mechanisms that may be equal count as equal: seeds differ by less."""


class Responses:
    """A table of transients, asked for one mechanism at a time."""

    def __init__(self, table: pl.DataFrame, figure: str) -> None:
        self._table = table
        self._figure = figure

    def series(self, mechanism: str, column: str = "latency_mean") -> tuple[list[int], list[float]]:
        """Cycles from the change (the start of each bin) and values."""
        if self._table.is_empty():
            raise NotRunError(f"figure {self._figure} was not run")
        rows = self._table.filter(pl.col("mechanism") == mechanism).sort("t").drop_nulls(column)
        if rows.is_empty():
            raise NotRunError(f"figure {self._figure}: no run of {mechanism}")
        return rows["t"].to_list(), rows[column].to_list()

    def mean(self, mechanism: str, begin: int, end: int, column: str = "latency_mean") -> float:
        """Mean over the bins that start in `begin..end` cycles from the change."""
        times, values = self.series(mechanism, column)
        chosen = [value for t, value in zip(times, values, strict=True) if begin <= t < end]
        if not chosen:
            raise NotRunError(f"figure {self._figure}: no bin of {mechanism} in {begin} to {end} cycles")
        return sum(chosen) / len(chosen)


@dataclass(frozen=True)
class Evidence:
    """The tables of all figures, and the setting that they were run in."""

    tables: Mapping[str, pl.DataFrame]
    setting: Setting

    def _table(self, figure: str) -> pl.DataFrame:
        return self.tables.get(figure, pl.DataFrame())

    def curves(self, figure: str) -> Curves:
        """A figure of steady states."""
        return Curves(self._table(figure), figure)

    def responses(self, figure: str) -> Responses:
        """A figure of transients."""
        return Responses(self._table(figure), figure)
