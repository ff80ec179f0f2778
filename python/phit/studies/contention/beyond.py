"""Open questions of the paper: cheaper and faster updates of ECtN (section VI-B), and a statistical trigger (VI-C).

All runs use a Dragonfly of 1,056 endpoints, where many runs are cheap, at the small and at the paper's scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.studies.contention import setting as scales
from phit.studies.contention.cost import PHIT_BITS, Shape, table_one
from phit.studies.contention.paper import UNIFORM, UNIT, adversarial, note, scenario, study
from phit.studies.contention.response import UNIFORM_SPAN, Times, settling
from phit.studies.contention.setting import PERIOD, Setting
from phit.studies.contention.transient import change_of_traffic, time_panel
from phit.studies.kit import tables
from phit.studies.kit.charts import LATENCY, Charts, Look, finished, panel, seeds_note
from phit.studies.kit.evidence import Responses
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.response import TOLERANCE
from phit.studies.kit.scale import Scale
from phit.studies.kit.uncertain import Value, error, nominal


def of_beyond(setting: Setting) -> Setting:
    """The network and the runs of these figures: those of the small scale, but shorter and with several seeds."""
    if setting.scale is Scale.SMOKE:
        return setting
    return replace(scales.setting(Scale.SMALL), warmup=1500, cycles=2000, seeds=3, transient_seeds=10, after=1000)


def in_words(value: Value | float | None, pattern: str = "{:.0f}") -> str:
    """A value with half the width of its 95 % interval, if it is known: `250 ± 3`."""
    if value is None:
        return "none"
    half = 1.96 * error(value)
    return pattern.format(nominal(value)) + (f" ± {pattern.format(half)}" if half == half and half > 0 else "")


def of_row(row: Mapping[str, Any], column: str, pattern: str) -> str:
    """A value in a row of a table, with half the width of its 95 % interval."""
    half = row.get(f"{column}_half")
    return pattern.format(row[column]) + (f" ± {pattern.format(half)}" if half is not None else "")


ABRUPT = 2
"""Change of a counter, in heads, that is sent between two periods."""

LONGER = 4
"""Factor by which the period of asynchronous updates is longer than the period of the others."""

CHECKED = 10
"""Cycles between two checks for counters that have changed abruptly."""

UPDATES: dict[str, Document] = {
    "free": {"updates": "free"},
    "full": {"updates": "full"},
    "nonempty": {"updates": "nonempty"},
    "incremental": {"updates": "incremental"},
    "asynchronous": {
        "updates": "asynchronous",
        "period": LONGER * PERIOD,
        "check_period": CHECKED,
        "abrupt": ABRUPT,
    },
}
"""Ways to send the partial arrays: contents and times."""

UPDATE_LOOK = Look.of(tuple(UPDATES))


def phit_bits(setting: Setting) -> int:
    """Bits of a phit with which a partial array takes as many phits as in the paper's network."""
    links = Shape(setting.p, setting.a, setting.h).global_links
    return max(1, round(PHIT_BITS * links / table_one().global_links))


def _with_control(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The transients, with the share of the links that control messages take in each row."""
    return tables.with_control(tables.transient(labels, done), labels, done)


@study.figure(
    "updates",
    title="Beyond the paper: what ECtN sends, and when",
    caption="UN becomes ADV+1 at a load of 0.2, on 1,056 endpoints, with the updates that section VI-B proposes "
    "really sent. There are full arrays, counters above zero, and changed counters, each every 100 cycles. "
    f"*Asynchronous* updates send all changes every {LONGER * PERIOD} cycles, and every {CHECKED} cycles the "
    f"counters that have changed by {ABRUPT} or more. Phits have a quarter of the paper's bits, as the "
    "arrays have a quarter of its counters.",
    table=_with_control,
)
def updates(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-B: ECtN with partial arrays sent in several ways."""
    of = of_beyond(setting)
    found = []
    for (name, change), seed in product(UPDATES.items(), seeds_of(seeds, of.transient_seeds)):
        document = change_of_traffic(of, "ECtN", seed)
        document["routing"] |= {**change, "phit_bits": phit_bits(of)}
        labels = {"mechanism": name, "load": document["traffic"]["load"], "change": of.change, "seed": seed}
        found.append(Case(labels, document))
    return found


@updates.draw
def _update_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    chart = time_panel(table, UPDATE_LOOK, "latency_mean", LATENCY, 300)
    notes = (f"{note(of_beyond(setting))}; {seeds_note(table, batches=False)}", "UN to ADV+1 at 0, load 0.2")
    return {"updates": finished(chart, "Section VI-B: ECtN's updates after a change of traffic", notes)}


@updates.text
def _update_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    responses = Responses(table, "figure updates")
    names = [name for name in UPDATES if name in table["mechanism"].unique()]
    end = max(table["t"]) + 1
    times = settling(responses, names, TOLERANCE)
    control = {name: table.filter(pl.col("mechanism") == name).row(0, named=True) for name in names}
    rows = [
        (
            name,
            of_row({key: 100 * (control[name][key] or 0) for key in ("control", "control_half")}, "control", "{:.2f}"),
            in_words(times[name]),
            in_words(responses.mean(name, *UNIFORM_SPAN), "{:.1f}"),
            in_words(responses.mean(name, end // 2, end), "{:.1f}"),
        )
        for name in names
    ]
    heads = ("updates", "% of local links", "settled after (cycles)", "latency under UN", "latency under ADV+1")
    return f"{markdown_table(heads, rows)}\n\n{_update_finding(times, control)}"


def _update_finding(times: Times, control: Mapping[str, Mapping[str, Any]]) -> str:
    """The result of asynchronous updates compared with full ones."""
    if not {"full", "incremental", "asynchronous"} <= times.keys():
        return ""
    share = {name: 100 * row["control"] for name, row in control.items()}
    quick, slow = times["asynchronous"], times["full"]
    if quick is None or slow is None:
        return ""
    return (
        f"**Finding:** incremental updates take {share['incremental']:.1f} % of the local links, and full arrays "
        f"{share['full']:.1f} %. Asynchronous updates, which are sent when a counter has changed by {ABRUPT} or "
        f"more, take {share['asynchronous']:.1f} %. They settle after {in_words(quick)} cycles instead of "
        f"{in_words(slow)}."
    )


STEPS: dict[str, Document | str] = {"fixed": "always", "0.5": {"probability": 0.5}, "0.2": {"probability": 0.2}}
"""Increases of the probability of leaving the minimal route, for every head from the threshold on."""

STEP_LOOK = Look.of(("fixed", "step 0.5", "step 0.2"))

TRIGGER_LOADS = {"UN": 1.0, "ADV+1": 0.3}
"""Throughput is compared under saturated UN, latency at this load of ADV+1 (as in C17)."""


def _step_name(step: str) -> str:
    return step if step == "fixed" else f"step {step}"


def _trade(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per trigger and threshold: accepted load under UN, and latency and misrouting under ADV+1."""
    table = tables.steady(labels, done)
    if table.is_empty():
        return table
    keys = ["mechanism", "threshold"]
    uniform = table.filter(pl.col("pattern") == "UN").select(
        *keys, "seeds", accepted="accepted_load", accepted_half="accepted_load_half"
    )
    adverse = table.filter(pl.col("pattern") == "ADV+1").select(
        *keys, "latency_mean", "latency_mean_half", "saturated", "misrouted_globally", "misrouted_globally_half"
    )
    return uniform.join(adverse, on=keys, how="inner", maintain_order="left")


@study.figure(
    "statistical",
    title="Beyond the paper: the statistical trigger",
    caption="Base on 1,056 endpoints with thresholds from 2 to 7: its accepted load under saturated UN against its "
    "latency under ADV+1 at 0.3. *Fixed*: a counter at its threshold sends every packet another way, as in "
    "the paper. Otherwise the probability of leaving the minimal route grows by a step with every head from "
    "the threshold on (section VI-C), so that part of the packets stays on it.",
    table=_trade,
)
def statistical(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-C: Base with a probability instead of a threshold."""
    of = of_beyond(setting)
    patterns = {"UN": UNIFORM, "ADV+1": adversarial(1)}
    return [
        Case(
            {"mechanism": _step_name(step), "threshold": threshold, "pattern": name, "load": load, "seed": seed},
            scenario(of, "Base", patterns[name], load, seed, threshold=threshold, trigger=trigger),
        )
        for (step, trigger), threshold, (name, load), seed in product(
            STEPS.items(), range(2, 8), TRIGGER_LOADS.items(), seeds_of(seeds, of.seeds)
        )
    ]


@statistical.draw
def _statistical_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    calm = table.filter(~pl.col("saturated"))
    if calm.is_empty():
        return {}
    domain = (0.95 * min(calm["accepted"]), 1.02 * max(calm["accepted"]))
    x_title = f"Accepted under UN at an offered load of 1 ({UNIT})"
    y_title = f"{LATENCY}, ADV+1 at {TRIGGER_LOADS['ADV+1']:g}"
    chart = panel(calm, "mechanism", "accepted", "latency_mean", STEP_LOOK, x_title, y_title, domain=domain, width=460)
    notes = (f"{note(of_beyond(setting))}; {seeds_note(table)}", "thresholds that saturate under ADV+1 are left out")
    return {"statistical": finished(chart, "Section VI-C: fixed and statistical triggers", notes)}


@statistical.text
def _statistical_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    rows = [
        (
            row["mechanism"],
            str(row["threshold"]),
            of_row(row, "accepted", "{:.3f}"),
            "saturated" if row["saturated"] else of_row(row, "latency_mean", "{:.1f}"),
            f"{100 * row['misrouted_globally']:.1f}",
        )
        for row in table.iter_rows(named=True)
    ]
    heads = ("trigger", "threshold", "accepted under UN", "latency under ADV+1", "misrouted globally (%)")
    finding = _statistical_finding(table.filter(~pl.col("saturated")))
    return f"{markdown_table(heads, rows)}\n\n{finding}"


def with_fixed(fixed: Sequence[tuple[float, float]], accepted: float) -> float | None:
    """Latency of fixed thresholds at an accepted load; `None` outside their range.

    Between two thresholds it is interpolated.
    """
    found = [latency for carried, latency in fixed if carried >= accepted]
    for (x, low), (y, high) in pairwise(fixed):
        if min(x, y) <= accepted <= max(x, y) and x != y:
            found.append(low + (high - low) * (accepted - x) / (y - x))
    return min(found, default=None)


def _statistical_finding(calm: pl.DataFrame) -> str:
    """The statistical trigger with the largest gain over fixed thresholds of equal throughput."""
    points = list(calm.filter(pl.col("mechanism") == "fixed").select("accepted", "latency_mean").iter_rows())
    gains = []
    for row in calm.filter(pl.col("mechanism") != "fixed").iter_rows(named=True):
        beside = with_fixed(points, row["accepted"])
        if beside is not None:
            gains.append((beside - row["latency_mean"], beside, row))
    if not gains:
        return ""
    gain, beside, row = max(gains, key=lambda found: found[0])
    better = sum(found[0] > 0 for found in gains)
    return (
        f"**Finding:** {better} of {len(gains)} statistical triggers have less latency under ADV+1 than fixed "
        f"thresholds that accept as much under UN. The best is a {row['mechanism']} from {row['threshold']} heads "
        f"on: it has {of_row(row, 'latency_mean', '{:.0f}')} cycles where fixed thresholds have {beside:.0f} "
        f"({-gain:+.0f}), at {of_row(row, 'accepted', '{:.3f}')} {UNIT}."
    )
