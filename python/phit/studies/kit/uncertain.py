"""Values with standard errors, from means over seeds or from single runs, that know their runs.

The library `uncertainties` propagates errors through arithmetic to first order: ratios, differences and means have
errors, and know the values from which they were computed. It defines no order of uncertain values: `least`, `greatest`
and `nominal` compare estimates, and a `Check` decides whether a value satisfies a bound.

A standard error here is half the width of the 95 % interval divided by 1.96, so that two of them make that interval for
any number of seeds. With few seeds, Student's t makes it larger than the standard deviation of the mean.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

import numpy as np
from uncertainties import UFloat, Variable, nominal_value, std_dev

from phit.base.lazily import lazily

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = lazily("scipy.stats")

Value: TypeAlias = UFloat
"""An estimate with its standard error. A plain number, which has no error, may be used instead."""

CONFIDENCE = 0.95
"""Confidence level of the intervals whose half widths tables hold."""

Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Standard errors of a normal distribution in such a half width: 1.96."""

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """The source of an estimate."""

    runs: tuple[str, ...]
    """Hashes of the runs of which it is the mean; empty if they are unknown."""
    name: str = field(compare=False)
    """Its name in messages, such as `figure 5a, ECtN, 0.1`."""
    column: str = ""
    """The quantity."""
    step: bool = False
    """True if the error comes from a step in which the value lies: further seeds do not reduce it."""


def t_quantile(runs: int) -> float:
    """The factor from the standard error of a mean of `runs` runs to half the width of its interval."""
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, runs - 1))


def measured(value: float, half: float | None, source: Source) -> Value:
    """An estimate from half the width of its 95 % interval.

    The half width is `None` if it is unknown, as for a single run without an interval.

    One quantity of the same runs is always the same variable, so it cancels in a difference of two values that depend
    on it.
    """
    unknown = half is None or math.isnan(half)
    return _variable(float(value), None if unknown else float(half or 0.0), source, "" if source.runs else source.name)


@cache
def _variable(value: float, half: float | None, source: Source, _name: str) -> Value:
    """A variable for a measurement; `_name` distinguishes sources without runs."""
    return Variable(value, math.nan if half is None else half / Z, tag=source)


def nominal(value: Value | float) -> float:
    """The estimate alone."""
    return float(nominal_value(value))


def error(value: Value | float) -> float:
    """The standard error: 0 for an exact value, NaN if it is unknown."""
    return float(std_dev(value))


def least(values: Iterable[Value]) -> Value:
    """The value with the smallest estimate."""
    return min(values, key=nominal)


def greatest(values: Iterable[Value]) -> Value:
    """The value with the greatest estimate."""
    return max(values, key=nominal)


def mean(values: Sequence[Value]) -> Value:
    """The mean of some values."""
    return sum(values[1:], start=values[0]) / len(values)


def sources(value: Value | float) -> list[tuple[Source, float]]:
    """The sources of a value's error, the largest part first; unknown parts come before all others."""
    if not isinstance(value, UFloat):
        return []
    parts = [(part.tag, float(size)) for part, size in value.error_components().items() if size != 0.0]
    return sorted(parts, key=lambda part: (-math.inf if math.isnan(part[1]) else -part[1], part[0].name))


def in_steps(value: float, step: float, source: Source) -> Value:
    """A value that may lie anywhere in a step, such as a load between two loads of a grid."""
    return measured(value, Z * step / math.sqrt(12), replace(source, step=True))


def over_seeds(values: Sequence[float], source: Source) -> Value:
    """The mean of one value per seed."""
    n = len(values)
    half = t_quantile(n) * float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else None
    return measured(float(np.mean(values)), half, source)


@overload
def jackknife(
    function: Callable[[Sequence[T]], float], per_seed: Sequence[T], source: Source, *, resolution: float = 0.0
) -> Value: ...


@overload
def jackknife(
    function: Callable[[Sequence[T]], float | None], per_seed: Sequence[T], source: Source, *, resolution: float = 0.0
) -> Value | None: ...


def jackknife(
    function: Callable[[Sequence[T]], float | None], per_seed: Sequence[T], source: Source, *, resolution: float = 0.0
) -> Value | None:
    """A function of all seeds together, such as the settling time of their mean, with its jackknife error.

    The error comes from the values of the function without some of the seeds (Efron and Tibshirani, *An Introduction to
    the Bootstrap*, chapter 11): with few seeds, each is left out in turn; with `HALVES_FROM` or more seeds, many halves
    are left out in turn. A settling time jumps between bins when a seed is left out. For such a function, the jackknife
    that leaves out many gives an error (section 11.7), but the one that leaves out a single seed gives none, or one
    that is far too large. If half of the seeds are too noisy to tell when something has settled, the error is wide,
    because all seeds are hardly less noisy. The error is unknown with one seed, or if the function has no value without
    some seeds.

    Args:
        function: a function of the measurements of all seeds; `None` if it has no value.
        per_seed: measurements of each seed.
        source: the runs.
        resolution: step in which the function varies, such as the width of a bin. The value may lie anywhere in a step,
            which adds an error.
    """
    whole = function(per_seed)
    if whole is None:
        return None
    n = len(per_seed)
    some = [function(chosen) for chosen in (_halves(per_seed) if n >= HALVES_FROM else _all_but_one(per_seed))]
    if not some or any(value is None for value in some):
        return measured(whole, None, source)
    left_out = n // 2 if n >= HALVES_FROM else 1
    # Without d of n seeds, the variance of a mean of the others is (n - d)/d times smaller than that of all seeds.
    spread = math.sqrt((n - left_out) / left_out * float(np.var(np.array(some, dtype=float))))
    return measured(whole, t_quantile(n) * spread, source) + in_steps(0.0, resolution, source)


HALVES_FROM = 8
"""Number of seeds from which halves are left out; fewer seeds have too few different halves."""

HALVES = 100
"""Number of random halves that are left out; the error is then known to 7 %."""


def _all_but_one(per_seed: Sequence[T]) -> list[Sequence[T]]:
    n = len(per_seed)
    return [[*per_seed[:i], *per_seed[i + 1 :]] for i in range(n)] if n > 1 else []


def _halves(per_seed: Sequence[T]) -> list[Sequence[T]]:
    """The seeds that remain after leaving out a half; always the same halves."""
    n = len(per_seed)
    rng = np.random.default_rng(1)
    return [[per_seed[i] for i in rng.permutation(n)[n // 2 :]] for _ in range(HALVES)]
