"""Errors of means of single runs, from the batches that a run's time is cut into.

Neighbouring batches are correlated where a batch is not long against the time in which the network forgets. Their
correlation is tested (von Neumann's ratio; Fishman, *Principles of Discrete Event Simulation*, section 5.7), and
batches are merged by two until it is no longer significant. What is left in the last few widens the error as an
autoregressive process of that correlation would.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from phit.lazily import lazily

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = lazily("scipy.stats")

LEVEL = 0.1
"""Of the test: independent batches are merged in one case of ten."""

LEAST = 10
"""Batches below which there are too few to merge: half of them would give no error worth the name."""

WEIGHTS = {"latency_mean": "packets", "accepted_load": None}
"""Quantities of the table of batches, and the column by which a batch counts; all alike without one."""


@dataclass(frozen=True)
class Spread:
    """The squared standard error of a run's mean, and the degrees of freedom that it is known with."""

    variance: float
    freedom: int


def correlation(values: Sequence[float] | NDArray[np.float64]) -> float:
    """The correlation of neighbours: 1 less half of von Neumann's ratio; 0 of equal values."""
    x = np.asarray(values, dtype=float)
    squares = float(np.sum((x - x.mean()) ** 2))
    return 1.0 - float(np.sum(np.diff(x) ** 2)) / (2.0 * squares) if squares > 0 else 0.0


def significant(found: float, batches: int) -> bool:
    """True if so many independent batches have a correlation of neighbours as large as that in one case of ten."""
    return found > float(stats.norm.ppf(1 - LEVEL)) * math.sqrt((batches - 2) / (batches**2 - 1))


def spread(values: Sequence[float], weights: Sequence[float] | None = None) -> Spread | None:
    """The error of the weighted mean of batches in their order; `None` for fewer than two that count.

    With weights it is that of a ratio estimator, as of a mean over packets.
    """
    w = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    x = np.asarray(values, dtype=float)
    kept = w > 0
    x, w = x[kept], w[kept]
    while True:
        n = len(x)
        if n < 2:
            return None
        mean = float(np.sum(w * x) / np.sum(w))
        off = w * (x - mean) / (np.sum(w) / n)
        found = correlation(off)
        if not significant(found, n):
            return Spread(float(np.sum(off**2)) / (n * (n - 1)), n - 1)
        if n < 2 * LEAST:
            wider = (1 + min(found, WORST)) / (1 - min(found, WORST))
            return Spread(wider * float(np.sum(off**2)) / (n * (n - 1)), n - 1)
        pairs = n // 2
        first = n - 2 * pairs
        both = w[first:].reshape(pairs, 2)
        x = np.sum(both * x[first:].reshape(pairs, 2), axis=1) / np.sum(both, axis=1)
        w = np.sum(both, axis=1)


WORST = 0.9
"""Correlation beyond which the error of a handful of batches would say nothing more."""


def spreads(batches: pl.DataFrame, quantity: str) -> dict[str, Spread]:
    """By run: the error of a quantity, from the table of batches; without runs whose batches say nothing of it."""
    weight = WEIGHTS[quantity]
    columns = [quantity, *([weight] if weight else [])]
    if not {"point", "batch", *columns} <= set(batches.columns):
        return {}
    found = {}
    for (run,), rows in batches.sort("batch", maintain_order=True).group_by("point", maintain_order=True):
        of_one = rows.drop_nulls(quantity)
        one = spread(of_one[quantity].to_list(), of_one[weight].to_list() if weight else None)
        if one is not None:
            found[str(run)] = one
    return found
