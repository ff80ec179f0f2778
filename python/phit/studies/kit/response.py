"""Duration of the response to a change of traffic: one rule for all studies."""

from collections.abc import Sequence
from itertools import pairwise

from phit.studies.kit.evidence import Responses
from phit.studies.kit.uncertain import Value

TOLERANCE = 0.1
"""A mechanism has adapted when its latency stays within this share of the step around its final value ..."""

SCATTER = 3.0
"""... or within this number of standard deviations of the final bins, if that is more."""

FINAL_SHARE = 0.25
"""Share of the recorded time after the change, at its end, whose mean is the final value."""

DRIFT = 0.2
"""Rise of the last quarter, as a share of the step, from which a response has no final value: the network saturates."""

RAMP = 2.5
"""This many standard deviations of its bins, if that is more; for a straight line the number would be 3.5."""

SATURATED = 5.0
"""Ratio of final to earlier latency from which the network counts as saturated.

Among packets that are generated late, only those that arrive are measured, so latencies need not rise further.
"""


def adaptation(times: Sequence[float], values: Sequence[float], tolerance: float = TOLERANCE) -> float | None:
    """Cycles from the change until the latency stays near its final value; `None` if it never does.

    The step is the difference between the final latency and the latency before the change. So the result does not
    depend on constant parts such as the zero-load latency. A bin is near if it is within a share of the step, or within
    three standard deviations of the bins that make the final value. The result is the end of the last two successive
    bins that deviate to the same side, or the end of the first bin: shorter times cannot be resolved.

    Args:
        times: starts of equal bins, in cycles from the change.
        values: mean latencies of the packets generated in each bin.
        tolerance: the share of the step.
    """
    before = [value for t, value in zip(times, values, strict=True) if t < 0]
    # Packets generated shortly before the change may meet the new traffic on their way.
    before = before[: (len(before) + 1) // 2]
    after = [(t, value) for t, value in zip(times, values, strict=True) if t >= 0]
    count = max(4, round(FINAL_SHARE * len(after)))
    if not before or len(after) < 2 * count:
        return None
    width = after[1][0] - after[0][0]
    old = sum(before) / len(before)
    last = [value for _, value in after[-count:]]
    final = sum(last) / count
    step = abs(final - old)
    half = count // 2
    drift = abs(sum(last[half:]) / (count - half) - sum(last[:half]) / half)
    deviation = (sum((value - final) ** 2 for value in last) / (count - 1)) ** 0.5
    if final > SATURATED * old:
        return None
    if 2 * drift > max(DRIFT * step, RAMP * deviation):
        return None
    near = max(tolerance * step, SCATTER * deviation)
    signs = [(value > final + near) - (value < final - near) for _, value in after]
    # A single bin may deviate by chance; a single bin at the start is part of the response.
    pairs = (i + 1 for i, (one, other) in enumerate(pairwise(signs)) if one and one == other)
    return float((max(pairs, default=0) + 1) * width)


def adaptation_time(responses: Responses, name: str, tolerance: float = TOLERANCE) -> Value | None:
    """The adaptation time of a mechanism's mean over seeds; `None` if it does not adapt."""
    times, _ = responses.series(name)
    width = times[1] - times[0] if len(times) > 1 else 0.0
    return responses.of_mean(
        lambda t, y: adaptation(t, y, tolerance), name, what=f"adaptation {tolerance:g}", resolution=width
    )
