"""Open choices of the paper: `thr` of table III, the window of the counters, and choices other than the text's."""

import polars as pl

from phit.base.markdown import markdown_table
from phit.studies.kit.charts import LATENCY, Charts, Look, finished, panel, seeds_note
from phit.studies.kit.plan import Case, Labels, seeds_of
from phit.studies.tpr.paper import (
    ADAPTIVE,
    BUFFER,
    CREDIT_LATENCY,
    INJECTION_QUEUES,
    LINK_BUFFER,
    LOCAL_LOW,
    MINIMAL_CANDIDATES,
    Changes,
    apply,
    describe,
    routing,
    scenario,
    study,
)
from phit.studies.tpr.setting import ADV, UR, Setting


@study.figure(
    "III",
    title="Table III: the value of thr",
    caption="Two regions of table III go minimally below `thr`, which the paper names without a value. Latency of TPR "
    "with other values, where it matters most.",
    is_table=True,
)
def thresholds(setting: Setting, seeds: int | None) -> list[Case]:
    """TPR with several values of `thr`."""
    return [
        Case(
            {"mechanism": "TPR", "pattern": traffic, "thr": thr, "load": load, "seed": seed},
            scenario(setting, routing("TPR", thr=thr), traffic, load, seed),
        )
        for traffic, loads in setting.scan.items()
        for load in loads
        for thr in setting.thresholds
        for seed in seeds_of(seeds, setting.seeds)
    ]


def _against(
    table: pl.DataFrame, setting: Setting, x: str, x_title: str, curve: pl.Expr, title: str, stem: str
) -> Charts:
    """Latency against a parameter; `curve` names the line of a row."""
    rows = table.with_columns(curve=curve)
    look = Look.of(rows["curve"].unique(maintain_order=True).to_list())
    chart = panel(rows, "curve", x, "latency_mean", look, x_title, LATENCY, clip=True)
    return {stem: finished(chart, title, (f"{describe(setting)}; {seeds_note(table)}",))}


@thresholds.draw
def _threshold_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    curve = pl.format("{} at {}", pl.col("pattern"), pl.col("load"))
    title = "Table III: TPR with other values of thr"
    return _against(table, setting, "thr", "thr (packets/cycle)", curve, title, "III")


@study.figure(
    "window",
    title="The window of the counters",
    caption="The paper's window is 128 cycles and may slide or tumble.",
)
def windows(setting: Setting, seeds: int | None) -> list[Case]:
    """TPR with sliding and tumbling windows of several lengths."""
    return [
        Case(
            {"mechanism": "TPR", "pattern": traffic, "window_kind": kind, "window": window, "load": load, "seed": seed},
            scenario(setting, routing("TPR", window=window, window_kind=kind), traffic, load, seed),
        )
        for traffic, loads in setting.scan.items()
        if traffic not in (UR, ADV)
        for load in loads
        for kind in ("sliding", "tumbling")
        for window in setting.windows
        for seed in seeds_of(seeds, setting.seeds)
    ]


@windows.draw
def _window_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    curve = pl.format("{} at {}, {}", pl.col("pattern"), pl.col("load"), pl.col("window_kind"))
    return _against(table, setting, "window", "Window (cycles)", curve, "TPR with other windows", "window")


ONE_ROUTE = "one minimal candidate"
CREDITS = "credits after 1 cycle"
ONE_QUEUE = "one injection queue"
TWICE = f"buffers of {2 * BUFFER}"
ONE_CHANNEL = "one channel"
LOW_LIMITS = {f"low_l = {value:g}": value for value in (1.0, 1.2)}

CHOICES: dict[str, Changes] = {
    ONE_ROUTE: {MINIMAL_CANDIDATES: 1},
    CREDITS: {CREDIT_LATENCY: 1},
    ONE_QUEUE: {INJECTION_QUEUES: 1},
    TWICE: {LINK_BUFFER: 2 * BUFFER},
    ONE_CHANNEL: {"topology.channels": "one"},
    **{name: {LOCAL_LOW: value} for name, value in LOW_LIMITS.items()},
}
"""The keys and values of each choice."""


@study.figure(
    "choices",
    title="Choices that the paper leaves open",
    caption="One choice at a time that is not the text's, where it shows: one minimal candidate, credits that come "
    "back in a cycle, one injection queue for each endpoint, larger buffers, one virtual channel for each hop, another "
    "low_l.",
)
def choices(setting: Setting, seeds: int | None) -> list[Case]:
    """One choice at a time against the text, where it shows."""
    low, high = setting.loads[UR][0], setting.loads[UR][-1]
    light, heavy = setting.loads[ADV][0], setting.loads[ADV][-2]
    wanted: list[tuple[str, str, float, str]] = [
        *(("UGAL-L", UR, load, ONE_ROUTE) for load in (low, high)),
        ("UGAL-G", UR, high, ONE_ROUTE),
        ("TPR", UR, high, ONE_ROUTE),
        ("UGAL-L", UR, low, CREDITS),
        *((name, ADV, heavy, CREDITS) for name in ("UGAL-L", "UGAL-G")),
        ("MIN", UR, high, ONE_QUEUE),
        ("UGAL-L", ADV, heavy, ONE_QUEUE),
        *((name, ADV, heavy, TWICE) for name in ("VLB", *ADAPTIVE)),
        *(("UGAL-L", ADV, load, ONE_CHANNEL) for load in (light, heavy)),
        ("UGAL-G", ADV, heavy, ONE_CHANNEL),
        *(("TPR", ADV, light, choice) for choice in LOW_LIMITS),
    ]

    def of(name: str, traffic: str, load: float, choice: str, seed: int) -> Case:
        document = apply(CHOICES[choice], scenario(setting, routing(name), traffic, load, seed))
        labels: Labels = {"choice": choice, "mechanism": name, "pattern": traffic, "load": load, "seed": seed}
        return Case(labels, document)

    return [of(*one, seed) for one in wanted for seed in seeds_of(seeds, setting.seeds)]


@choices.text
def _choices_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    head = ("choice", "mechanism", "pattern", "offered", "accepted", "latency (cycles)", "nonminimal")
    columns = ("choice", "mechanism", "pattern", "load", "accepted_load", "latency_mean", "misrouted_globally")
    return markdown_table(
        head,
        (
            (choice, name, pattern, f"{load:g}", f"{accepted:.3f}", f"{latency:.1f}", f"{share:.1%}")
            for choice, name, pattern, load, accepted, latency, share in table.select(columns).iter_rows()
        ),
    )
