"""Means of independent runs and their confidence intervals."""

import statistics
from collections.abc import Sequence

T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Student's t for a two-sided 95 % interval, by degrees of freedom from 1."""


def half_width(values: Sequence[float]) -> float:
    """Half width of the 95 % confidence interval of the mean of independent runs."""
    n = len(values)
    if n < 2:
        return 0.0
    t = T95[n - 2] if n - 2 < len(T95) else 1.96
    return float(t * statistics.stdev(values) / n**0.5)
