"""Times as people read them: in the unit in which they are from 1 to 1,000.

Where a scenario says how long a cycle is (`units.cycle`), tables, charts and pages show times by the rule of this
module; elsewhere they show cycles.
"""

from dataclasses import dataclass

LENGTHS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
"""The units, and how many seconds each is."""


@dataclass(frozen=True)
class TimeUnit:
    """A unit for times that results have in cycles."""

    name: str = "cycles"
    per_cycle: float = 1.0
    """Of these in a cycle."""

    def of(self, cycles: float | None) -> float | None:
        """A time in cycles in this unit; a whole number of cycles stays one."""
        if cycles is None or self.per_cycle == 1.0:
            return cycles
        return cycles * self.per_cycle


CYCLES = TimeUnit()
"""Cycles, as they are."""


def unit_of(cycle_seconds: float | None, longest: float | None) -> TimeUnit:
    """The unit for times of which the longest has so many cycles; cycles if nobody says how long they are."""
    if not cycle_seconds or not longest:
        return CYCLES
    name, length = _of(longest * cycle_seconds)
    return TimeUnit(name, cycle_seconds / length)


def readable_time(seconds: float) -> str:
    """A time in the unit in which it is from 1 to 1,000: "125.5 µs"."""
    name, length = _of(seconds)
    return f"{_digits(seconds / length)} {name}"


def _of(seconds: float) -> tuple[str, float]:
    """The largest unit of which a time has at least one as it is shown; nanoseconds if it has none of any."""
    shown = float(f"{seconds:.4g}")
    return next((unit for unit in LENGTHS if shown >= unit[1]), LENGTHS[-1])


def _digits(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
