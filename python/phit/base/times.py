"""Times for people, in the unit in which they are between 1 and 1,000.

If a scenario gives the length of a cycle (`units.cycle`), tables, charts and pages show times in these units. Otherwise
they show cycles.
"""

from dataclasses import dataclass

LENGTHS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
"""The units and their lengths in seconds."""


@dataclass(frozen=True)
class TimeUnit:
    """A unit for times that results give in cycles."""

    name: str = "cycles"
    per_cycle: float = 1.0
    """Units in a cycle."""

    def of(self, cycles: float | None) -> float | None:
        """A time in cycles, converted to this unit. Without a conversion, a whole number of cycles stays whole."""
        if cycles is None or self.per_cycle == 1.0:
            return cycles
        return cycles * self.per_cycle


CYCLES = TimeUnit()
"""The unit of times that are shown in cycles."""


def unit_of(cycle_seconds: float | None, longest: float | None) -> TimeUnit:
    """The unit for a set of times of which the longest is `longest` cycles; cycles if their length is unknown."""
    if not cycle_seconds or not longest:
        return CYCLES
    name, length = _of(longest * cycle_seconds)
    return TimeUnit(name, cycle_seconds / length)


def readable_time(seconds: float) -> str:
    """A time in the unit in which it is between 1 and 1,000: "125.5 µs"."""
    name, length = _of(seconds)
    return f"{_digits(seconds / length)} {name}"


def _of(seconds: float) -> tuple[str, float]:
    """The largest unit in which the time, as shown, is at least 1; nanoseconds for shorter times."""
    shown = float(f"{seconds:.4g}")
    return next((unit for unit in LENGTHS if shown >= unit[1]), LENGTHS[-1])


def _digits(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
