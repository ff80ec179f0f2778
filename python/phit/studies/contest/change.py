"""Changes of traffic: uniform traffic becomes the network's adversary, and how long every mechanism takes to adapt."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from phit.studies.contest.load import SLUGS
from phit.studies.contest.networks import network
from phit.studies.contest.question import UNIFORM, look, pattern, scenario, study
from phit.studies.contest.setting import ADV, UN, Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import LATENCY, Charts, finished, panel, rule
from phit.studies.kit.evidence import Responses
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.study import Figure
from phit.studies.kit.uncertain import Value

TOLERANCE = 0.1
"""A mechanism has adapted when its latency stays within this share of the step from its final value ..."""

SCATTER = 3.0
"""... or within so many standard deviations of the final bins, if that is more."""

FINAL_SHARE = 0.25
"""Share of the recorded time after the change, at its end, whose mean is the final value."""

DRIFT = 0.2
"""A response whose last quarter rises by more than this share of the step has no final value: the network saturates."""


RAMP = 2.5
"""Or, if that is more, than so many standard deviations of its bins: of a straight line it would be 3.5."""

SATURATED = 5.0
"""Final latencies of more than so many times that before are those of a network that does not carry the load: of the
packets that are generated late only those are known that arrive, so that their latencies need not grow any more."""


def adaptation(times: Sequence[float], values: Sequence[float]) -> float | None:
    """Cycles from the change until the latency stays near its final value; `None` if it never does.

    The step is the difference between the final latency and that before the change. A bin is near if it is within a
    tenth of the step, or within three standard deviations of the bins that make the final value. The answer is the end
    of the last two bins one after the other that are not, on the same side, or of the first bin if it alone is not.

    Args:
        times: cycles from the change at which equal bins start.
        values: mean latencies of the packets that are generated in them.
    """
    before = [value for t, value in zip(times, values, strict=True) if t < 0]
    after = [(t, value) for t, value in zip(times, values, strict=True) if t >= 0]
    count = max(4, round(FINAL_SHARE * len(after)))
    if not before or len(after) < 2 * count:
        return None
    width = after[1][0] - after[0][0]
    last = [value for _, value in after[-count:]]
    final = sum(last) / count
    step = abs(final - sum(before) / len(before))
    half = count // 2
    drift = abs(sum(last[half:]) / (count - half) - sum(last[:half]) / half)
    deviation = (sum((value - final) ** 2 for value in last) / (count - 1)) ** 0.5
    if final > SATURATED * sum(before) / len(before):
        return None
    if 2 * drift > max(DRIFT * step, RAMP * deviation):
        return None
    near = max(TOLERANCE * step, SCATTER * deviation)
    signs = [(value > final + near) - (value < final - near) for _, value in after]
    # A single bin may lie outside by chance; one at the start is part of the response.
    pairs = (i + 1 for i, (one, other) in enumerate(pairwise(signs)) if one and one == other)
    last_outside = max(pairs, default=0 if signs[0] else -1)
    return float((last_outside + 1) * width)


def adaptation_time(responses: Responses, name: str) -> Value | None:
    """The adaptation time of a mechanism's mean over seeds; `None` if it does not adapt."""
    times, _ = responses.series(name)
    width = times[1] - times[0] if len(times) > 1 else 0.0
    return responses.of_mean(adaptation, name, what="adaptation", resolution=width)


def cases(name: str, setting: Setting, seeds: int | None) -> list[Case]:
    """Every mechanism of a network, while uniform traffic becomes its adversary."""
    on = network(name, setting)
    load, change = setting.change_load[name], setting.settle + setting.before
    traffic = {"pattern": UNIFORM, "load": load, "changes": [{"cycle": change, "pattern": pattern(on, ADV)}]}
    measure = {
        "warmup": setting.settle,
        "cycles": setting.before + setting.after,
        "count": "generated",
        # What does not adapt keeps its packets; what has been generated before the end of the recording is enough.
        "max_drain": setting.after,
        "series": {"by": "generation", "bin": setting.bin},
    }
    return [
        Case(
            {"network": name, "mechanism": of.name, "load": load, "change": change, "seed": seed},
            scenario(on, of, traffic, measure, seed),
        )
        for of in on.contestants
        for seed in seeds_of(seeds, setting.change_seeds)
    ]


SHOWN = 2000
"""Cycles after the change that are drawn."""


def _charts(name: str, table: pl.DataFrame, setting: Setting) -> Charts:
    on = network(name, setting)
    left, right = -setting.before, min(setting.after, SHOWN)
    shown = table.filter(pl.col("t").is_between(left, right))
    lowest = float(min(shown["latency_mean"], default=1.0))
    lines = panel(
        shown,
        "mechanism",
        "t",
        "latency_mean",
        look(on),
        "Cycle of generation, from the change of traffic",
        LATENCY,
        dots=False,
        clip=True,
        top=8 * lowest,
        width=560,
        height=320,
        domain=(left, right),
    )
    seeds = max(table["seeds"])
    load = setting.change_load[name]
    notes = (
        f"{on.words}; {UN} becomes {ADV} at 0, load {load:g}; {seeds} seed{'s' * (seeds > 1)}",
        f"bins of {setting.bin} cycles, no other smoothing; ▲ goes on above",
    )
    return {f"{SLUGS[name]}-change": finished(rule(lines, 0), f"A change of traffic on one {name}", notes)}


def _figure(name: str) -> Figure[Setting]:
    """The change of traffic on a network."""

    def runs(setting: Setting, seeds: int | None) -> list[Case]:
        return cases(name, setting, seeds)

    def draw(table: pl.DataFrame, setting: Setting) -> Charts:
        return _charts(name, table, setting)

    return study.figure(
        f"{SLUGS[name]}-change",
        title=f"A change of traffic: {name}",
        caption="Mean latency by cycle of generation after uniform traffic has become the network's adversary. How a "
        "time of adaptation is read off was settled on the runs at small scale: fresh seeds have not confirmed X1.",
        table=tables.transient,
        draw=draw,
    )(runs)


FIGURES: Mapping[str, Figure[Setting]] = {name: _figure(name) for name in SLUGS}
"""The figure of every network."""
