"""Whether a value keeps a bound, and by how many standard errors: what the rules of claims are made of."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from phit.studies.kit.uncertain import Source, Value, error, nominal, sources

DECIDED = 2.0
"""Standard errors from which on a margin decides: with fewer, other seeds might have decided otherwise."""


@dataclass(frozen=True)
class Check:
    """A statement that holds or not by a margin."""

    holds: bool
    margin: float
    """Standard errors, positive on the side that holds; infinite if no chance is involved, not a number if the error is
    not known."""
    of: Value | float = 0.0
    """What decides: the difference of a value and its bound."""

    @property
    def exact(self) -> bool:
        """True if no chance is involved."""
        return math.isinf(self.margin)

    @property
    def decided(self) -> bool:
        """True if the margin is wide enough."""
        return abs(self.margin) >= DECIDED

    @property
    def sources(self) -> list[tuple[Source, float]]:
        """What the error comes from, the largest part first."""
        return sources(self.of)


def exact(holds: bool) -> Check:
    """A statement in which no chance is involved, as one about storage or a theorem."""
    return Check(holds, math.inf if holds else -math.inf)


def above(value: Value | float, bound: Value | float, *, strict: bool = False) -> Check:
    """The value is `bound` or more; more, if `strict`. The bound may be a value with an error, too."""
    difference = value - bound
    distance, size = nominal(difference), error(difference)
    holds = distance > 0 or (distance == 0 and not strict)
    if size == 0 or math.isinf(distance):
        return Check(holds, math.inf if holds else -math.inf, difference)
    return Check(holds, distance / size, difference)


def below(value: Value | float, bound: Value | float, *, strict: bool = False) -> Check:
    """The value is `bound` or less; less, if `strict`."""
    return above(bound, value, strict=strict)


def between(value: Value | float, low: Value | float, high: Value | float) -> Check:
    """The value is `low` to `high`, both included."""
    return all_of([above(value, low), below(value, high)])


def not_(check: Check) -> Check:
    """The statement does not hold."""
    return Check(not check.holds, -check.margin, check.of)


def at_least(count: int, checks: Iterable[Check]) -> Check:
    """So many of the statements hold, or more: the margin is the one of that rank, counted from the widest.

    A statement whose margin is not known stands between those that hold and those that do not, so that it decides only
    where its outcome matters.
    """
    ranked = sorted(checks, key=_rank, reverse=True)
    if count <= 0:
        return exact(True)
    if count > len(ranked):
        return exact(False)
    return ranked[count - 1]


def _rank(check: Check) -> tuple[float, bool]:
    return (0.0 if math.isnan(check.margin) else check.margin), check.holds


def all_of(checks: Iterable[Check]) -> Check:
    """All of the statements hold: the margin is the least of theirs."""
    found = list(checks)
    return at_least(len(found), found)


def any_of(checks: Iterable[Check]) -> Check:
    """One of the statements holds, or more: the margin is the greatest of theirs."""
    return at_least(1, checks)
