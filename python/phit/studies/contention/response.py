"""Settling and swings of a response to a change, computed from a time series.

The rule for settling to within a share of the step is common to all studies, in `kit.response`; the rule before it is
here.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Responses
from phit.studies.kit.response import FINAL_SHARE, adaptation_time
from phit.studies.kit.uncertain import Value

UNIFORM_SPAN = (-300, -150)
"""Cycles from the change that show the old steady state: packets generated in them arrive before the change."""

LEAST_BINS = 8
"""Minimum number of bins that show a response."""


def settling_time(times: Sequence[float], values: Sequence[float], tolerance: float) -> float | None:
    """Cycles from 0 until the values stay within `tolerance` of their final value; `None` if they do not settle.

    `times` are the starts of equal bins in cycles. The result is the end of the last bin outside the tolerance, at
    least one bin.
    """
    after = [(t, value) for t, value in zip(times, values, strict=True) if t >= 0]
    if len(after) < LEAST_BINS:
        return None
    last = after[-max(1, round(FINAL_SHARE * len(after))) :]
    final = float(np.mean([value for _, value in last]))
    width = after[1][0] - after[0][0]
    outside = [t for t, value in after if abs(value - final) > tolerance * final]
    if outside and outside[-1] >= last[0][0]:
        return None
    return outside[-1] + width if outside else width


def dominant_period(times: Sequence[float], values: Sequence[float]) -> float:
    """Period in cycles of the strongest oscillation of equally spaced values, without their linear trend.

    The peak of the periodogram; periods of more than a third of the time span are trend, not oscillation.
    """
    t, y = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    step = t[1] - t[0]
    y = y - np.polyval(np.polyfit(t, y, 1), t)
    power = np.abs(np.fft.rfft(y)) ** 2
    frequency = np.fft.rfftfreq(len(y), step)
    power[frequency < 3 / (len(y) * step)] = 0
    return float(1 / frequency[int(np.argmax(power))])


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of some values."""
    return float(np.std(np.asarray(values, dtype=float), ddof=1))


Times = dict[str, Value | None]
"""Settling times of mechanisms in cycles; `None` if they do not settle."""


def first_settling(responses: Responses, names: Iterable[str], tolerance: float) -> Times:
    """Time for the means over seeds of latencies to settle within a share of their final value."""

    def read(times: Sequence[float], values: Sequence[float]) -> float | None:
        return settling_time(times, values, tolerance)

    def width(name: str) -> float:
        times, _ = responses.series(name)
        return times[1] - times[0] if len(times) > 1 else 0.0

    return {name: responses.of_mean(read, name, what="settling", resolution=width(name)) for name in names}


def settling(responses: Responses, names: Iterable[str], tolerance: float) -> Times:
    """Time for latencies to settle within a share of the step."""
    return {name: adaptation_time(responses, name, tolerance) for name in names}


SETTLED_FROM = 500
"""Cycles from the change until all mechanisms except PB have settled."""

LONGEST_PERIOD = 700
"""Longest period in cycles; a record shorter than three of these periods does not show it."""


@dataclass(frozen=True)
class Swing:
    """The swing of a latency after it has settled."""

    period: Value
    """Period in cycles."""
    deviation: Value
    """Standard deviation in cycles."""
    percent: Value
    """Standard deviation in percent of the mean latency."""


def swing(responses: Responses, name: str) -> Swing:
    """The swing of a mechanism's latency from `SETTLED_FROM` on."""

    def later(times: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
        chosen = [(t, value) for t, value in zip(times, values, strict=True) if t >= SETTLED_FROM]
        return [t for t, _ in chosen], [value for _, value in chosen]

    def number(function: Callable[[list[float], list[float]], float], what: str, resolution: float = 0.0) -> Value:
        found = responses.of_mean(lambda t, y: function(*later(t, y)), name, what=what, resolution=resolution)
        assert found is not None, "these functions have a value for every series"
        return found

    times, values = later(*responses.series(name))
    length = times[-1] - times[0] if times else 0.0
    if length < 3 * LONGEST_PERIOD:
        raise NotRunError(f"{name}: recorded for too short a time: less than three periods of {LONGEST_PERIOD} cycles")
    # The periodogram has one frequency for each whole number of periods in the record.
    step = dominant_period(times, values) ** 2 / length
    return Swing(
        number(dominant_period, "period", step),
        number(lambda _, y: deviation(y), "deviation"),
        number(lambda _, y: 100 * deviation(y) / float(np.mean(y)), "deviation in per cent"),
    )
