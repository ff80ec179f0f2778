"""What happens after UN becomes ADV+1 at a load of 0.2: figures 7 to 9, claims C12 to C16 (sections V-B and V-C)."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from phit.plots import Chart
from phit.scenario import Document
from phit.studies.contention.paper import (
    ADAPTIVE,
    COUNTERS,
    LOOK,
    MECHANISMS,
    UNIFORM,
    Evidence,
    adversarial,
    note,
    scenario,
    study,
)
from phit.studies.contention.setting import PERIOD, Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import LATENCY, Charts, finished, panel, rule
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.evidence import Responses
from phit.studies.kit.margin import Check, above, all_of, below, between, exact
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import Value, nominal

TRANSIENT_LOAD = 0.2
"""Offered load."""

LARGE = {"local": 256, "global": 2048}
"""Phits per virtual channel of figure 8's input buffers."""


def change_of_traffic(setting: Setting, mechanism: str, seed: int, *, large: bool = False) -> Document:
    """UN that becomes ADV+1, with a time series by the cycle of generation."""
    changes = MECHANISMS[mechanism].large_buffers if large else {}
    document = scenario(setting, mechanism, UNIFORM, TRANSIENT_LOAD, seed, **changes)
    if large:
        for link, phits in LARGE.items():
            document["router"]["links"][link]["buffer"] = phits
    document["traffic"]["changes"] = [{"cycle": setting.change, "pattern": adversarial(1)}]
    document["measure"] = {
        "warmup": setting.settle,
        "cycles": setting.before + setting.after,
        "count": "generated",
        "series": {"by": "generation", "bin": setting.bin},
        "histogram": False,
    }
    return document


def _runs(setting: Setting, seeds: int | None, names: Iterable[str], *, large: bool = False) -> list[Case]:
    return [
        Case(
            {
                "mechanism": name,
                "buffers": "large" if large else "small",
                "load": TRANSIENT_LOAD,
                "change": setting.change,
                "seed": seed,
            },
            change_of_traffic(setting, name, seed, large=large),
        )
        for name in names
        for seed in seeds_of(seeds, setting.transient_seeds)
    ]


TIME = "Cycle of generation, from the change of traffic"
MISROUTED = "Globally misrouted packets (%)"


def _lines(table: pl.DataFrame, column: str, y_title: str, until: int) -> Chart:
    shown = table.filter(pl.col("t").is_between(-100, until))
    lines = panel(shown, "mechanism", "t", column, LOOK, TIME, y_title, dots=False, width=520, domain=(-100, until))
    return rule(lines, 0)


def _notes(table: pl.DataFrame, setting: Setting, buffers: str) -> tuple[str, str]:
    times = table["t"].unique().sort()
    width = int(times[1] - times[0]) if len(times) > 1 else setting.bin
    seeds = str(table["seeds"].max())
    change = f"UN to ADV+1 at 0, load {TRANSIENT_LOAD:g}; {seeds} seed{'s' * (seeds != '1')}"
    return (
        f"{note(setting)}; buffers of {buffers} phits per local and global VC",
        f"{change}, bins of {width} cycles, no other smoothing",
    )


TOLERANCE = 0.1
"""A response has settled when it stays within this share of its final value."""

FINAL_SHARE = 0.25
"""Share of the recorded time, at its end, whose mean is the final value."""


def settling_time(times: Sequence[float], values: Sequence[float], tolerance: float = TOLERANCE) -> float | None:
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


UPDATE_SPAN = (PERIOD + 20, 5 * PERIOD)
"""C13: cycles from the change, when the counters sent at 100 have arrived; local links take 10."""

UNIFORM_SPAN = (-300, -150)
"""C14: cycles from the change; packets generated then arrive before it."""

SETTLED_FROM = 500
"""C14, C16: cycles from the change until everything but PB has settled."""

CLOSE = 0.02
"""A narrower band than that of the rules, for the notes."""


def _settling(responses: Responses, mechanism: str) -> Value | None:
    times, _ = responses.series(mechanism)
    width = times[1] - times[0] if len(times) > 1 else 0.0
    return responses.of_mean(settling_time, mechanism, what="settling", resolution=width)


def _misrouting(responses: Responses, names: Sequence[str]) -> str:
    """How long the misrouted share takes to settle, which tells more where latencies hardly differ; decides nothing."""
    times = {name: settling_time(*responses.series(name, "misrouted_percent")) for name in names}
    closely = {name: settling_time(*responses.series(name), CLOSE) for name in names}
    return f"misrouted share: {_words(times)}; latency to within {CLOSE:.0%}: {_words(closely)}"


def _words(times: Mapping[str, Value | float | None]) -> str:
    found = {name: "not settled" if t is None else f"{nominal(t):g} cycles" for name, t in times.items()}
    return ", ".join(f"{name} {words}" for name, words in found.items())


@study.figure(
    "7",
    title="A change of traffic",
    caption="Latency and globally misrouted packets by cycle of generation after UN becomes ADV+1.",
    parts=("7a", "7b"),
    table=tables.transient,
)
def small_buffers(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 7."""
    return _runs(setting, seeds, ADAPTIVE)


@small_buffers.draw
def _small_buffers_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    notes = _notes(table, setting, "32 and 256")
    latency = _lines(table, "latency_mean", LATENCY, 400)
    misrouted = _lines(table, "misrouted_percent", MISROUTED, 400)
    return {
        "7a": finished(latency, "Figure 7a: latency after a change of traffic", notes),
        "7b": finished(misrouted, "Figure 7b: misrouting after a change of traffic", notes),
    }


@study.claim(
    "C12",
    figure="7a",
    statement="After UN becomes ADV+1 Base and Hybrid settle within tens of cycles, OLM and PB need about 100",
    paper="settling to within 10 % of the new latency: Base, Hybrid ≤ 1/3 of OLM's time",
    remark=(
        "Latencies are within 10 % of their final value from the first bin on, whatever the mechanism, so that this "
        "rule cannot tell them apart. In the narrower band of the note they come in the paper's order. Phit's curves "
        "of all five mechanisms agree with FOGSim's at h = 4 in every window of 20 cycles (see the page on agreement)."
    ),
)
def reaction(evidence: Evidence) -> Judgement:
    """Base and Hybrid settle in at most a third of OLM's time."""
    responses = evidence.responses("7")
    times = {name: _settling(responses, name) for name in ("Base", "Hybrid", "OLM", "PB")}
    base, hybrid, reference = times["Base"], times["Hybrid"], times["OLM"]
    if reference is None:
        return Judgement(exact(False), _words(times), "OLM does not settle, so there is no time to compare with")
    check = all_of(exact(False) if time is None else below(time, reference / 3) for time in (base, hybrid))
    return Judgement(check, _words(times), _misrouting(responses, list(times)))


@study.claim(
    "C13",
    figure="7a",
    statement="ECtN follows Base until the next update of the partial counters, then improves on it",
    paper="latency after the update below Base's",
)
def after_the_update(evidence: Evidence) -> Judgement:
    """After the next update ECtN's latency is below Base's."""
    responses = evidence.responses("7")
    before = {name: responses.mean(name, 20, PERIOD) for name in ("ECtN", "Base")}
    after = {name: responses.mean(name, *UPDATE_SPAN) for name in ("ECtN", "Base")}
    return Judgement(
        below(after["ECtN"], after["Base"], strict=True),
        f"{_pair(before)} at 20 to {PERIOD} cycles; {_pair(after)} at {UPDATE_SPAN[0]} to {UPDATE_SPAN[1]}",
    )


def _pair(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} {nominal(value):.1f}" for name, value in values.items())


@study.claim(
    "C14",
    figure="7b",
    statement="With counters the misrouted share settles near 0 % under UN and near 100 % under ADV+1",
    paper="at most 2 % and at least 95 %",
    remark=(
        "Base and ECtN are at 0.0 % and 100 %. Hybrid's 3.4 % under UN are packets that its credits misroute, "
        "not its counters; OLM's share is higher."
    ),
)
def all_or_nothing(evidence: Evidence) -> Judgement:
    """With counters at most 2 % of the packets are globally misrouted under UN, at least 95 % under ADV+1."""
    responses = evidence.responses("7")
    end = responses.series(COUNTERS[0])[0][-1] + 1
    if end <= SETTLED_FROM:
        raise NotRunError(f"figure 7: recorded for {end} cycles only")
    column = "misrouted_percent"
    found = {
        name: (responses.mean(name, *UNIFORM_SPAN, column), responses.mean(name, SETTLED_FROM, end, column))
        for name in COUNTERS
    }
    check = all_of(check for uniform, later in found.values() for check in (below(uniform, 2), above(later, 95)))
    words = (f"{name} {nominal(u):.1f} % and {nominal(a):.1f} %" for name, (u, a) in found.items())
    return Judgement(check, ", ".join(words))


@study.figure(
    "8",
    title="A change of traffic, large buffers",
    caption="Figure 7a with input buffers of 256 phits per local and 2,048 phits per global virtual channel.",
    table=tables.transient,
)
def large_buffers(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 8."""
    return _runs(setting, seeds, ADAPTIVE, large=True)


@large_buffers.draw
def _large_buffers_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    notes = _notes(table, setting, "256 and 2,048")
    chart = _lines(table, "latency_mean", LATENCY, min(setting.after, 2000))
    return {"8": finished(chart, "Figure 8: latency after a change of traffic, large buffers", notes)}


@study.claim(
    "C15",
    figure="8",
    statement="With buffers of 256 and 2,048 phits OLM needs about 1,000 cycles and PB about 500, the counters no "
    "longer than before",
    paper="OLM and PB at least 4 times their time with small buffers, Base and ECtN at most 1.5 times",
    remark=(
        "OLM needs fifty times as long (to within 2 %: 845 cycles, the paper says about 1,000), the counters no longer "
        "than before. Only PB fails: with the coefficient that brings it close to VAL its flags come in time."
    ),
)
def credits_take_longer(evidence: Evidence) -> Judgement:
    """With large buffers OLM and PB take at least 4 times as long to settle, Base and ECtN at most 1.5 times."""
    small, large = evidence.responses("7"), evidence.responses("8")
    names = ("OLM", "PB", "Base", "ECtN")
    before = {name: _settling(small, name) for name in names}
    after = {name: _settling(large, name) for name in names}

    def slower(name: str) -> Check:
        first, second = before[name], after[name]
        # What has not settled in the recorded time takes longer than that.
        second = large.series(name)[0][-1] if second is None else second
        return exact(False) if first is None else above(second, 4 * first)

    def as_fast(name: str) -> Check:
        first, second = before[name], after[name]
        return exact(False) if first is None or second is None else below(second, 1.5 * first)

    check = all_of([slower("OLM"), slower("PB"), as_fast("Base"), as_fast("ECtN")])
    note = f"small, {_misrouting(small, names)}; large, {_misrouting(large, names)}"
    return Judgement(check, f"small buffers: {_words(before)}; large: {_words(after)}", note)


@study.figure(
    "9",
    title="Oscillations",
    caption="Figure 7a over a longer time: PB, whose decisions feed back on the flags that they depend on, and ECtN.",
    table=tables.transient,
)
def oscillations(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 9."""
    return _runs(setting, seeds, ("PB", "ECtN"))


@oscillations.draw
def _oscillation_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    notes = _notes(table, setting, "32 and 256")
    chart = _lines(table, "latency_mean", LATENCY, min(setting.after, 4000))
    return {"9": finished(chart, "Figure 9: oscillations after a change of traffic", notes)}


@study.claim(
    "C16",
    figure="9",
    statement="PB oscillates with a period of about 500 cycles after the change; ECtN is flat",
    paper="period 300 to 700 cycles; ECtN's standard deviation below 1/3 of PB's",
)
def oscillation(evidence: Evidence) -> Judgement:
    """PB's latency oscillates with a period of 300 to 700 cycles; ECtN's deviation is below a third of PB's."""
    responses = evidence.responses("9")
    length = 0.0
    for name in ("PB", "ECtN"):
        times = [t for t in responses.series(name)[0] if t >= SETTLED_FROM]
        length = times[-1] - times[0] if times else 0.0
        if length < 2100:
            raise NotRunError("figure 9: recorded for too short a time: less than three periods of 700 cycles")

    def later(times: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
        chosen = [(t, value) for t, value in zip(times, values, strict=True) if t >= SETTLED_FROM]
        return [t for t, _ in chosen], [value for _, value in chosen]

    # The periodogram has a frequency for each whole number of periods in the time.
    step = dominant_period(*later(*responses.series("PB"))) ** 2 / length
    period = responses.of_mean(lambda *s: dominant_period(*later(*s)), "PB", what="period", resolution=step)
    swing = {
        name: responses.of_mean(lambda *s: deviation(later(*s)[1]), name, what="deviation") for name in ("PB", "ECtN")
    }
    check = all_of([between(period, 300, 700), below(swing["ECtN"], swing["PB"] / 3, strict=True)])
    return Judgement(
        check,
        f"PB's period {nominal(period):.0f} cycles; standard deviation from {SETTLED_FROM} cycles on: PB "
        f"{nominal(swing['PB']):.1f}, ECtN {nominal(swing['ECtN']):.1f} cycles",
    )
