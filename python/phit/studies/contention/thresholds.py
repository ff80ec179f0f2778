"""The misrouting threshold and the counters: figure 10, section VI-A, claim C17."""

import math
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from phit.plots import SHAPES
from phit.scenario import Document
from phit.studies.contention.cost import Shape, table_one
from phit.studies.contention.paper import (
    NOISE,
    UNIFORM,
    UNIT,
    Evidence,
    by_pattern,
    note,
    patterns,
    scenario,
    study,
)
from phit.studies.contention.setting import Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import LOAD_MARKS, Charts, Look, beside, finished, latency_and_load, seeds_note
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.margin import Check, above, all_of, below, between, exact
from phit.studies.kit.plan import Case, Labels, seeds_of
from phit.studies.kit.uncertain import Source, Value, nominal, over_seeds


@study.figure(
    "10",
    title="The misrouting threshold",
    caption="Base with thresholds from 3 to 12: latency and accepted load under UN and ADV+1.",
)
def thresholds(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 10: Base with other thresholds."""
    plans = {"UN": setting.threshold_uniform_loads, "ADV+1": setting.threshold_adversarial_loads}
    return [
        Case(
            {"mechanism": name, "pattern": pattern, "threshold": threshold, "load": load, "seed": seed},
            scenario(setting, name, patterns(setting)[pattern], load, seed, threshold=threshold),
        )
        for name in ("Base",)
        for pattern, loads in plans.items()
        for threshold in setting.swept_thresholds
        for load in loads
        for seed in seeds_of(seeds, setting.seeds)
    ]


VIRIDIS = (
    "#440154",
    "#482878",
    "#3e4989",
    "#31688e",
    "#26828e",
    "#1f9e89",
    "#35b779",
    "#6ece58",
    "#b5de2b",
    "#e8d419",
)
"""From low to high thresholds."""


def _look(values: Sequence[str]) -> Look:
    last = max(len(values) - 1, 1)
    colours = {name: VIRIDIS[round(i * (len(VIRIDIS) - 1) / last)] for i, name in enumerate(values)}
    return Look(colours, {name: SHAPES[i % len(SHAPES)] for i, name in enumerate(values)})


@thresholds.draw
def _threshold_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    look = _look([f"th = {value}" for value in table["threshold"].unique().sort()])
    named = table.with_columns(curve=pl.format("th = {}", pl.col("threshold")))
    columns = [latency_and_load(rows, "curve", look, UNIT, title=pattern) for pattern, rows in by_pattern(named)]
    notes = (f"{note(setting)}; {seeds_note(table)}", LOAD_MARKS)
    return {"10": finished(beside(*columns), "Figure 10: Base with other thresholds", notes)}


PROBE: Document = {"kind": "counters", "every": 100}
"""`[measure] probes`: the mean contention counter over all output ports, every so many cycles."""


@study.figure(
    "counters",
    title="The contention counters",
    caption="Base under saturated UN, with the mean counter over all output ports (section VI-A).",
    table=tables.runs,
)
def counters(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-A: the counters of Base under saturated UN."""
    found = []
    for name in ("Base",):
        for seed in seeds_of(seeds, setting.seeds):
            load = max(setting.uniform_loads)
            document = scenario(setting, name, UNIFORM, load, seed)
            document["measure"]["probes"] = [PROBE]
            labels: Labels = {"mechanism": name, "pattern": "UN", "load": load, "probe": "counters", "seed": seed}
            found.append(Case(labels, document))
    return found


COLUMN = "probes.contention"
"""Column of the table of points: mean contention counter over all output ports and looks of the measurement."""


def mean_counter(table: pl.DataFrame | None) -> Value | None:
    """The mean contention counter over all output ports, mean over runs; `None` if it was not recorded."""
    if table is None or COLUMN not in table.columns or table.is_empty():
        return None
    values = table[COLUMN].cast(pl.Float64).drop_nulls().to_list()
    runs = tuple(sorted(table["point"])) if "point" in table.columns else ()
    return over_seeds(values, Source(runs, "counters", COLUMN)) if values else None


THRESHOLD_LOAD = 0.3
"""Load of ADV+1 at which C17 compares latencies."""


@study.claim(
    "C17",
    figure="10",
    statement="Low thresholds hurt throughput under UN, high ones latency under ADV; the mean counter under saturated "
    "UN is about the mean number of VCs per input",
    paper="monotone over th = 3 to 12 but for 0.5 %, worse below 2 × VCs (6) and above p (8); mean counter 2.74 ± 15 %",
    remark=(
        "The latency under ADV+1 rises with the threshold as it should. The throughput under UN rises up to a "
        "threshold of 6 to 8, and falls from there towards MIN's, because counters that hardly ever trigger leave "
        "packets on their minimal routes. The mean counter is 1.71, not 2.74: the estimate takes every channel of "
        "every input port to have a head, but under UN local channel 2 and global channel 1 hold misrouted packets "
        "alone."
    ),
)
def low_and_high_hurt(evidence: Evidence) -> Judgement:
    """Throughput under UN grows with the threshold up to 6, latency under ADV beyond 8; mean counter 2.74."""
    curves, setting = evidence.curves("10"), evidence.setting
    shape = table_one() if setting.h == 8 else Shape(setting.p, setting.a, setting.h)
    expected = shape.mean_vcs
    lowest, highest = round(2 * expected + 0.5), setting.p
    values = curves.values("threshold")
    if not values or min(values) >= lowest or max(values) <= highest:
        raise NotRunError(f"figure 10: no thresholds on both sides of {lowest} and {highest}")
    load = max(curves.loads(mechanism="Base", pattern="UN"))
    if not curves.saturated(mechanism="Base", pattern="UN", threshold=min(values), load=load):
        raise NotRunError(f"figure 10: UN at {load:g} does not saturate the lowest threshold")
    accepted = [curves.accepted(mechanism="Base", pattern="UN", threshold=th, load=load) for th in values]
    where = {"mechanism": "Base", "pattern": "ADV+1", "load": THRESHOLD_LOAD}
    # A threshold so high that the network saturates has no latency; it hurts more than any that has one.
    gone = [th for th in values if th > highest and curves.saturated(**where, threshold=th)]
    latency = [None if th in gone else curves.latency(**where, threshold=th) for th in values]
    counter = mean_counter(evidence.tables.get("counters"))
    if counter is None:
        raise NotRunError("the contention counters were not recorded")
    low, high = _nearest(values, lowest), _nearest(values, highest)
    near = latency[values.index(high)]
    checks = [
        _grows(accepted),
        _grows(latency),
        below(accepted[0], (1 - NOISE) * accepted[values.index(low)], strict=True),
        _grows([near, latency[-1]], by=NOISE),
        between(counter / expected, 0.85, 1.15),
    ]
    shown = [math.inf if value is None else nominal(value) for value in (latency[0], near, latency[-1])]
    carried = [nominal(value) for value in (accepted[0], accepted[values.index(low)], accepted[-1])]
    note = f"ADV+1 at {THRESHOLD_LOAD:g} saturates with th = {', '.join(map(str, gone))}" if gone else ""
    return Judgement(
        all_of(checks),
        f"accepted under UN at {load:g}: {carried[0]:.3f} (th = {values[0]}), {carried[1]:.3f} "
        f"({low}), {carried[2]:.3f} ({values[-1]}); latency under ADV+1 at {THRESHOLD_LOAD:g}: {shown[0]:.1f}, "
        f"{shown[1]:.1f} ({high}), {shown[2]:.1f}; "
        f"mean counter {nominal(counter):.2f}, mean VCs {expected:.2f}",
        note,
    )


def _nearest(values: list[int], wanted: int) -> int:
    return min(values, key=lambda value: abs(value - wanted))


def _grows(values: Sequence[Value | None], by: float = -NOISE) -> Check:
    """Every value is above the one before by a share, or not below it but for noise; `None` is above all others."""

    def grows(x: Value | None, y: Value | None) -> Check:
        return exact(y is None) if x is None or y is None else above(y, (1 + by) * x, strict=by > 0)

    return all_of(grows(x, y) for x, y in pairwise(values))
