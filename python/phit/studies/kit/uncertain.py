"""Values with standard errors, of means over seeds or of single runs, that know the runs they come from.

The library `uncertainties` carries errors through arithmetic, to first order: ratios, differences and means of values
have errors of their own, and remember from which values these come. It has no order of uncertain values: `least`,
`greatest` and `nominal` look at the estimates, and whether a value keeps a bound is a `Check`.

A standard error here is the half width of the 95 % interval over 1.96, so that two of them are that interval, whatever
the number of seeds: with few seeds Student's t makes it larger than the standard deviation of the mean.
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
"""An estimate with its standard error. Where one is expected a number will do, which has no error."""

CONFIDENCE = 0.95
"""Of the intervals whose half widths tables hold."""

Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Standard errors of a normal distribution in such a half width: 1.96."""

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """What an estimate comes from."""

    runs: tuple[str, ...]
    """Hashes of the runs whose mean it is; empty if they are not known."""
    name: str = field(compare=False)
    """What messages call it, as `figure 5a, ECtN, 0.1`."""
    column: str = ""
    """The quantity."""
    step: bool = False
    """True if the error is that of a step in which the value is known: further seeds do not lessen it."""


def t_quantile(runs: int) -> float:
    """By what the standard error of a mean of so many runs is multiplied for the half width of its interval."""
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, runs - 1))


def measured(value: float, half: float | None, source: Source) -> Value:
    """An estimate, and the half width of its 95 % interval: `None` if it is not known, as of a single run without.

    The same quantity of the same runs is the same variable wherever it is asked for, so that it cancels in a difference
    of two values that both depend on it.
    """
    unknown = half is None or math.isnan(half)
    return _variable(float(value), None if unknown else float(half or 0.0), source, "" if source.runs else source.name)


@cache
def _variable(value: float, half: float | None, source: Source, _name: str) -> Value:
    """`_name` tells sources without runs apart."""
    return Variable(value, math.nan if half is None else half / Z, tag=source)


def nominal(value: Value | float) -> float:
    """The estimate alone."""
    return float(nominal_value(value))


def error(value: Value | float) -> float:
    """The standard error: 0 of what is exact, not a number where it is not known."""
    return float(std_dev(value))


def least(values: Iterable[Value]) -> Value:
    """The value with the least estimate."""
    return min(values, key=nominal)


def greatest(values: Iterable[Value]) -> Value:
    """The value with the greatest estimate."""
    return max(values, key=nominal)


def mean(values: Sequence[Value]) -> Value:
    """The mean of some values."""
    return sum(values[1:], start=values[0]) / len(values)


def sources(value: Value | float) -> list[tuple[Source, float]]:
    """What the error of a value comes from, the largest part first; what is not known comes before all others."""
    if not isinstance(value, UFloat):
        return []
    parts = [(part.tag, float(size)) for part, size in value.error_components().items() if size != 0.0]
    return sorted(parts, key=lambda part: (-math.inf if math.isnan(part[1]) else -part[1], part[0].name))


def in_steps(value: float, step: float, source: Source) -> Value:
    """A value that may lie anywhere in a step, as a load between two of a grid."""
    return measured(value, Z * step / math.sqrt(12), replace(source, step=True))


def over_seeds(values: Sequence[float], source: Source) -> Value:
    """The mean of one value of each seed."""
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
    """A function of all seeds together, as a settling time of their mean, with the error that the jackknife gives it.

    The error comes from what the function is without some of the seeds (Efron and Tibshirani, *An Introduction to the
    Bootstrap*, chapter 11): with few seeds without one after the other, with `HALVES_FROM` or more without one half of
    them after another. A settling time jumps from one bin to another as a seed is left out; such a function has an
    error by the jackknife that leaves out many (section 11.7), and none, or one that is far too large, by that which
    leaves out one. Where half of the seeds are too noisy to tell when something has settled, it is wide: all of them
    are not much less so. The error is not known with one seed, or where the function has no value without some seeds.

    Args:
        function: of what was measured with all seeds; `None` where it has no value.
        per_seed: what was measured, seed by seed.
        source: the runs.
        resolution: steps in which the function varies, as the width of a bin: the value may lie anywhere in one, and
            has that error besides.
    """
    whole = function(per_seed)
    if whole is None:
        return None
    n = len(per_seed)
    some = [function(chosen) for chosen in (_halves(per_seed) if n >= HALVES_FROM else _all_but_one(per_seed))]
    if not some or any(value is None for value in some):
        return measured(whole, None, source)
    left_out = n // 2 if n >= HALVES_FROM else 1
    # Without d of n seeds a mean of the others varies (n - d)/d times as little as all possible ones together.
    spread = math.sqrt((n - left_out) / left_out * float(np.var(np.array(some, dtype=float))))
    return measured(whole, t_quantile(n) * spread, source) + in_steps(0.0, resolution, source)


HALVES_FROM = 8
"""Seeds from which on halves are left out: of fewer there are too few different halves."""

HALVES = 100
"""Halves that are left out, drawn at random: the error is then known to 7 %."""


def _all_but_one(per_seed: Sequence[T]) -> list[Sequence[T]]:
    n = len(per_seed)
    return [[*per_seed[:i], *per_seed[i + 1 :]] for i in range(n)] if n > 1 else []


def _halves(per_seed: Sequence[T]) -> list[Sequence[T]]:
    """What is left without a half of the seeds, the same halves every time."""
    n = len(per_seed)
    rng = np.random.default_rng(1)
    return [[per_seed[i] for i in rng.permutation(n)[n // 2 :]] for _ in range(HALVES)]
