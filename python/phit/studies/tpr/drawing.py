"""The paper's figures as charts."""

from functools import partial

import polars as pl

from phit.plots import COLOURS, SHAPES, Chart
from phit.studies.kit.charts import Look, beside, finished, over, panel
from phit.studies.kit.study import READING
from phit.studies.tpr.readings import READINGS
from phit.studies.tpr.setting import ADV, UR, Setting

NAMES = ("MIN", "VLB", "UGAL-L", "UGAL-G", "TPR", "TPR by group")
ORDER = ("TPR", "UGAL-G", "UGAL-L", "VLB", "MIN", "TPR by group")

LOOK = Look(
    {name: COLOURS[ORDER.index(name)] for name in NAMES},
    {name: SHAPES[ORDER.index(name)] for name in NAMES},
)
"""The same colour and mark for a mechanism in every figure."""

LOAD = "Offered load (packets/(endpoint·cycle))"
LATENCY = "Mean packet latency (cycles)"
ACCEPTED = "Accepted load (packets/(endpoint·cycle))"
NONMINIMAL = "Nonminimal packets (%)"


def _seeds(table: pl.DataFrame) -> str:
    most = max(table["seeds"])
    return "one seed; bands: 95 % confidence from batch means" if most == 1 else f"means of {most} seeds, 95 % bands"


def _note(setting: Setting) -> str:
    return f"Cascade group of {setting.rows} x {setting.columns} routers, {setting.endpoints:,} endpoints"


def _shares(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        nonminimal=100 * pl.col("misrouted_globally"), nonminimal_half=100 * pl.col("misrouted_globally_half")
    )


MARKS = "▲ the curve goes on above; dashed: accepted = offered"


def load_figure(stem: str, title: str, table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figures 2 to 9: latency over accepted load over the share of nonminimal packets, a column for each reading."""
    columns = []
    for reading in (reading for reading in READINGS if reading.name in table[READING]):
        rows = _shares(table.filter(pl.col(READING) == reading.name))
        draw = partial(panel, rows, "mechanism", "load", look=LOOK, x_title=LOAD, width=330, legend=_names(table))
        columns.append(
            over(
                draw(y="latency_mean", y_title=LATENCY, clip=True, title=f"Reading: {reading.name}"),
                draw(y="accepted_load", y_title=ACCEPTED, diagonal=True),
                draw(y="nonminimal", y_title=NONMINIMAL, height=180),
            )
        )
    return {stem: finished(beside(*columns), title, (f"{_note(setting)}; {_seeds(table)}", MARKS))}


def _names(table: pl.DataFrame) -> list[str]:
    return table["mechanism"].unique(maintain_order=True).to_list()


def _columns(table: pl.DataFrame, look: Look, curve: str = "mechanism") -> Chart:
    """One column of panels for each pattern."""
    found = []
    for traffic in sorted(table["pattern"].unique(), key=lambda name: (name != UR, name != ADV, name)):
        rows = _shares(table.filter(pl.col("pattern") == traffic))
        found.append(
            over(
                panel(rows, curve, "load", "latency_mean", look, LOAD, LATENCY, clip=True, title=traffic, width=320),
                panel(rows, curve, "load", "accepted_load", look, LOAD, ACCEPTED, diagonal=True, width=320),
            )
        )
    return beside(*found)


def groups_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Beyond the paper: TPR between groups."""
    size = setting.groups * setting.group_rows * setting.group_columns * setting.group_endpoints
    shape = f"{setting.groups} groups of {setting.group_rows} x {setting.group_columns} routers, {size:,} endpoints"
    notes = (f"Cascade of {shape}; {_seeds(table)}", MARKS)
    return {"groups": finished(_columns(table, LOOK), "TPR between the groups of a Cascade", notes)}


def side_by_side_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Beyond the paper: TPR and contention counters."""
    names = table["mechanism"].unique(maintain_order=True).to_list()
    names = ["TPR", *(name for name in names if name != "TPR")]
    look = Look(dict(zip(names, COLOURS, strict=False)), dict(zip(names, SHAPES, strict=False)))
    notes = (f"{_note(setting)}; {_seeds(table)}", MARKS)
    return {"counters": finished(_columns(table, look), "TPR and contention counters on one group", notes)}


def _against(table: pl.DataFrame, setting: Setting, stem: str, x: str, title: str, x_title: str) -> dict[str, Chart]:
    """Latency against a parameter, a curve for each pattern and load."""
    rows = table.with_columns(curve=pl.format("{} at {}", pl.col("pattern"), pl.col("load")))
    if "window_kind" in rows.columns:
        rows = rows.with_columns(curve=pl.format("{}, {}", pl.col("curve"), pl.col("window_kind")))
    names = rows["curve"].unique(maintain_order=True).to_list()
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    shapes = {name: SHAPES[(i + i // len(COLOURS)) % len(SHAPES)] for i, name in enumerate(names)}
    chart = panel(rows, "curve", x, "latency_mean", Look(colours, shapes), x_title, LATENCY, clip=True)
    return {stem: finished(chart, title, (f"{_note(setting)}; {_seeds(table)}",))}


def scan_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """The scan of `thr`."""
    return _against(table, setting, "III", "thr", "Table III: TPR with other values of thr", "thr (packets/cycle)")


def windows_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Windows of several lengths."""
    return _against(table, setting, "window", "window", "TPR with other windows", "Window (cycles)")
