"""Checks whether a value satisfies a bound, and by how many standard errors: the parts of claims' rules."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from phit.studies.kit.uncertain import Source, Value, error, nominal, sources

DECIDED = 2.0
"""Smallest margin, in standard errors, that decides. With less, other seeds might have decided otherwise."""


@dataclass(frozen=True)
class Check:
    """A statement that holds or not, with a margin."""

    holds: bool
    margin: float
    """Standard errors, positive if the statement holds; infinite if no chance is involved, NaN if unknown."""
    of: Value | float = 0.0
    """The deciding value: the difference of a value and its bound."""

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
        """The sources of the error, with the size of their parts, the largest first."""
        return sources(self.of)


def exact(holds: bool) -> Check:
    """A statement without chance, for example about storage, or a theorem."""
    return Check(holds, math.inf if holds else -math.inf)


def above(value: Value | float, bound: Value | float, *, strict: bool = False) -> Check:
    """Check that the value is at least `bound`, or more than `bound` if `strict`. The bound may have an error, too."""
    difference = value - bound
    distance, size = nominal(difference), error(difference)
    holds = distance > 0 or (distance == 0 and not strict)
    if size == 0 or math.isinf(distance):
        return Check(holds, math.inf if holds else -math.inf, difference)
    return Check(holds, distance / size, difference)


def below(value: Value | float, bound: Value | float, *, strict: bool = False) -> Check:
    """Check that the value is at most `bound`, or less than `bound` if `strict`."""
    return above(bound, value, strict=strict)


def between(value: Value | float, low: Value | float, high: Value | float) -> Check:
    """Check that the value is between `low` and `high`, both included."""
    return all_of([above(value, low), below(value, high)])


def not_(check: Check) -> Check:
    """Check that the statement does not hold."""
    return Check(not check.holds, -check.margin, check.of)


def at_least(count: int, checks: Iterable[Check]) -> Check:
    """Check that at least `count` of the statements hold. The margin has this rank among theirs, from the widest.

    Statements with unknown margins are ranked between those that hold and those that do not, so they decide only if
    their outcome matters.
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
    """Check that all statements hold: the margin is the smallest of theirs."""
    found = list(checks)
    return at_least(len(found), found)


def any_of(checks: Iterable[Check]) -> Check:
    """Check that at least one statement holds: the margin is the largest of theirs."""
    return at_least(1, checks)
