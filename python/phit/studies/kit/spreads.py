"""Errors of means of single runs, from the runs' own intervals."""

from dataclasses import dataclass

import polars as pl

from phit.store.quantities import QUANTITIES, Error, error_of

MEASURES = tuple(q.name for q in QUANTITIES.values() if q.interval is not None)
"""Quantities for which a single run has an interval."""


@dataclass(frozen=True)
class Spread:
    """The squared standard error of a run's mean, and its degrees of freedom."""

    variance: float
    freedom: int


def spreads(points: pl.DataFrame, quantity: str) -> dict[str, Spread]:
    """The error of a quantity in each run, from the table of points; runs without an interval are left out."""
    half = QUANTITIES[quantity].interval
    if not {"point", half, f"{half}_batches"} <= set(points.columns):
        return {}
    wanted = [c for c in ("point", half, f"{half}_batches", "confidence") if c in points.columns and c is not None]
    errors = {str(row["point"]): error_of(row, quantity) for row in points.select(wanted).iter_rows(named=True)}
    return {run: Spread(error.standard**2, error.freedom) for run, error in errors.items() if isinstance(error, Error)}
