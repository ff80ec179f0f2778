"""Numbers that describe a response over time: how long it takes to settle, how it oscillates."""

from collections.abc import Sequence

import numpy as np

TOLERANCE = 0.1
"""A response has settled when it stays within this share of its final value."""

FINAL_SHARE = 0.25
"""Share of the recorded time, at its end, whose mean is the final value."""


def settling_time(times: Sequence[int], values: Sequence[float], tolerance: float = TOLERANCE) -> int | None:
    """Cycles from 0 until the values stay within `tolerance` of their final value; `None` if they do not settle.

    `times` are the starts of equal bins in cycles; the answer is the end of the last bin outside: one bin at least.
    """
    after = [(t, value) for t, value in zip(times, values, strict=True) if t >= 0]
    if len(after) < 8:
        return None
    width = after[1][0] - after[0][0]
    last = after[-max(1, round(FINAL_SHARE * len(after))) :]
    final = sum(value for _, value in last) / len(last)
    outside = [t for t, value in after if abs(value - final) > tolerance * final]
    if outside and outside[-1] >= last[0][0]:
        return None
    return outside[-1] + width if outside else width


def dominant_period(times: Sequence[int], values: Sequence[float]) -> float:
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
