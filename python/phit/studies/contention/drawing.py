"""The paper's figures as charts."""

from collections.abc import Sequence

import polars as pl

from phit.plots import COLOURS, SHAPES, Chart
from phit.studies.contention.setting import MIXED_LOAD, TRANSIENT_LOAD, Setting
from phit.studies.figures import Look, beside, finished, over, panel, rule, seeds_note

NAMES = ("MIN", "VAL", "PB", "OLM", "Base", "Hybrid", "ECtN")
ORDER = ("OLM", "ECtN", "Base", "PB", "VAL", "Hybrid", "MIN")

LOOK = Look(
    {name: COLOURS[ORDER.index(name)] for name in NAMES},
    {name: SHAPES[ORDER.index(name)] for name in NAMES},
)
"""The same colour and mark for a mechanism in every figure."""

LOAD = "Offered load (phits/(node·cycle))"
LATENCY = "Mean packet latency (cycles)"
ACCEPTED = "Accepted load (phits/(node·cycle))"
TIME = "Cycle of generation, from the change of traffic"
MISROUTED = "Globally misrouted packets (%)"

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


def _note(setting: Setting) -> str:
    return f"Dragonfly p={setting.p} a={setting.a} h={setting.h}, {setting.endpoints:,} nodes"


def load_figure(stem: str, pattern: str, table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figures 5a to 5c: latency over throughput."""
    chart = over(
        panel(table, "mechanism", "load", "latency_mean", LOOK, LOAD, LATENCY, clip=True),
        panel(table, "mechanism", "load", "accepted_load", LOOK, LOAD, ACCEPTED, diagonal=True),
    )
    notes = (f"{_note(setting)}; {seeds_note(table)}", "▲ the curve goes on above; dashed: accepted = offered")
    return {stem: finished(chart, f"Figure {stem}: latency and throughput under {pattern}", notes)}


def mix_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 6: latency against the share of UN."""
    title = "Traffic: ADV+1 (left) to UN (right), % UN"
    chart = panel(table, "mechanism", "uniform_percent", "latency_mean", LOOK, title, LATENCY, clip=True, width=460)
    notes = (f"{_note(setting)}; {seeds_note(table)}", f"offered load {MIXED_LOAD:g} phits/(node·cycle)")
    return {"6": finished(chart, "Figure 6: latency with mixed traffic", notes)}


def _transient(table: pl.DataFrame, column: str, y_title: str, until: int) -> Chart:
    shown = table.filter(pl.col("t").is_between(-100, until))
    lines = panel(shown, "mechanism", "t", column, LOOK, TIME, y_title, dots=False, width=520, domain=(-100, until))
    return rule(lines, 0)


def _transient_notes(table: pl.DataFrame, setting: Setting, buffers: str) -> tuple[str, str]:
    times = table["t"].unique().sort()
    width = int(times[1] - times[0]) if len(times) > 1 else setting.bin
    seeds = str(table["seeds"].max())
    change = f"UN to ADV+1 at 0, load {TRANSIENT_LOAD:g}; {seeds} seed{'s' * (seeds != '1')}"
    return (
        f"{_note(setting)}; buffers of {buffers} phits per local and global VC",
        f"{change}, bins of {width} cycles, no other smoothing",
    )


def transient_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figures 7a and 7b: latency and misrouting with small buffers."""
    notes = _transient_notes(table, setting, "32 and 256")
    latency = _transient(table, "latency_mean", LATENCY, 400)
    misrouted = _transient(table, "misrouted_percent", MISROUTED, 400)
    return {
        "7a": finished(latency, "Figure 7a: latency after a change of traffic", notes),
        "7b": finished(misrouted, "Figure 7b: misrouting after a change of traffic", notes),
    }


def large_buffers_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 8: latency with large buffers."""
    notes = _transient_notes(table, setting, "256 and 2,048")
    chart = _transient(table, "latency_mean", LATENCY, min(setting.after, 2000))
    return {"8": finished(chart, "Figure 8: latency after a change of traffic, large buffers", notes)}


def oscillation_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 9: PB and ECtN over a longer time."""
    notes = _transient_notes(table, setting, "32 and 256")
    chart = _transient(table, "latency_mean", LATENCY, min(setting.after, 4000))
    return {"9": finished(chart, "Figure 9: oscillations after a change of traffic", notes)}


def _by_pattern(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The rows of each pattern, UN first."""
    names = sorted(table["pattern"].unique(), key=lambda name: (name != "UN", name))
    return [(name, table.filter(pl.col("pattern") == name)) for name in names]


def _thresholds_look(values: Sequence[str]) -> Look:
    last = max(len(values) - 1, 1)
    colours = {name: VIRIDIS[round(i * (len(VIRIDIS) - 1) / last)] for i, name in enumerate(values)}
    return Look(colours, {name: SHAPES[i % len(SHAPES)] for i, name in enumerate(values)})


def threshold_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figures 10a and 10b: Base with other thresholds under UN and ADV+1."""
    values = [f"th = {value}" for value in table["threshold"].unique().sort()]
    look = _thresholds_look(values)
    named = table.with_columns(curve=pl.format("th = {}", pl.col("threshold")))
    columns = []
    for pattern, rows in _by_pattern(named):
        columns.append(
            over(
                panel(rows, "curve", "load", "latency_mean", look, LOAD, LATENCY, clip=True, title=pattern),
                panel(rows, "curve", "load", "accepted_load", look, LOAD, ACCEPTED, diagonal=True),
            )
        )
    notes = (f"{_note(setting)}; {seeds_note(table)}", "▲ the curve goes on above; dashed: accepted = offered")
    return {"10": finished(beside(*columns), "Figure 10: Base with other thresholds", notes)}


UPDATE_LOOK = Look({"free": COLOURS[1], "full": COLOURS[0]}, {"free": "circle", "full": "diamond"})


def overhead_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Section VI-B: ECtN with and without the traffic of its updates."""
    columns = [
        over(
            panel(rows, "updates", "load", "latency_mean", UPDATE_LOOK, LOAD, LATENCY, clip=True, title=pattern),
            panel(rows, "updates", "load", "accepted_load", UPDATE_LOOK, LOAD, ACCEPTED, diagonal=True),
        )
        for pattern, rows in _by_pattern(table)
    ]
    notes = (f"{_note(setting)}; {seeds_note(table)}", "full: the partial arrays are sent over the local links")
    return {"overhead": finished(beside(*columns), "Section VI-B: ECtN's updates on the wire", notes)}
