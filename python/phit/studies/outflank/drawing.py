"""Tables and figures of the paper as charts."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt
import polars as pl

from phit.plots import COLOURS, SHAPES, Chart
from phit.studies.kit.charts import Look, beside, blank, finished, over, panel
from phit.studies.outflank.evidence import CUT
from phit.studies.outflank.numbers import PATTERNS
from phit.studies.outflank.setting import STEP, Setting

NAMES = ("OFR", "POR", "ABR")
LOOK = Look(
    {name: COLOURS[i] for i, name in enumerate(NAMES)},
    {name: SHAPES[i] for i, name in enumerate(NAMES)},
)

LOAD = "Offered load (multiple of the bisection's)"
LIFETIME = "Mean packet lifetime (µs)"
DELIVERED = "Delivered load (same unit)"

SHARES = {
    "OFR (total)": ("OFR", "derouted", 0),
    "OFR (OIDN)": ("OFR", "oidn", 3),
    "OFR (WIDN)": ("OFR", "widn", 5),
    "POR": ("POR", "derouted", 1),
}
"""Routing, column, and number of the colour: routings have the same in all figures."""
SHARE_LOOK = Look(
    {name: COLOURS[colour] for name, (_, _, colour) in SHARES.items()},
    {name: SHAPES[colour] for name, (_, _, colour) in SHARES.items()},
)

SIZE = {"width": 300, "height": 200}
TOP = 2.2
"""Where the axis of lifetimes ends, as a multiple of the shortest."""


def none(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:  # noqa: ARG001
    """A table needs no chart."""
    return {}


def _range(table: pl.DataFrame) -> tuple[float, float]:
    """The loads of all panels, so that these can be compared."""
    return 0.0, 1.03 * float(max(table["load"]))


def _rows(panels: Sequence[Chart]) -> Chart:
    """Panels, two in a row."""
    return over(*(beside(*panels[i : i + 2]) for i in range(0, len(panels), 2)))


def _level(chart: Chart, y: float) -> Chart:
    """The panel with a dashed horizontal line."""
    line = alt.Chart(pl.DataFrame({"y": [y]})).mark_rule(color="#777", strokeDash=[5, 4]).encode(alt.Y("y:Q"))
    return alt.layer(line, chart)


def _routings(rows: pl.DataFrame, y: str, y_title: str, **look: Any) -> Chart:
    """A curve for each routing; lines join neighbours of the grid alone, unless another is given."""
    return panel(rows, "routing", "load", y, LOOK, LOAD, y_title, legend=NAMES, **{"step": STEP, **SIZE, **look})


def lifetimes(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:
    """Figure 4: mean lifetime over load, a panel for each pattern."""
    domain = _range(table)
    panels = []
    for pattern in PATTERNS:
        rows = table.filter(pl.col("pattern") == pattern)
        if rows.is_empty():
            panels.append(blank(LOAD, LIFETIME, domain, pattern, **SIZE))
            continue
        shortest = float(min(rows["lifetime_us"]))
        chart = _routings(rows, "lifetime_us", LIFETIME, clip=True, top=TOP * shortest, title=pattern, domain=domain)
        panels.append(_level(chart, CUT * shortest))
    k = of.largest
    notes = (
        f"{k} × {k} × {k} routers, {of.messages} messages of {of.packets} packets for each node",
        f"dashed: {CUT:g} times the shortest, up to which a load counts as sustained; ▲ goes on above",
        "lines join neighbouring loads of the grid",
    )
    return {"4": finished(_rows(panels), "Figure 4: mean packet lifetime", notes)}


def derouted(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:
    """Figure 5: shares of derouted packets over load, Butterfly."""
    curves = [
        table.filter(pl.col("routing") == routing).select(
            pl.lit(name).alias("curve"),
            "load",
            (100 * pl.col(column)).alias("percent"),
            pl.lit(None, pl.Float64).alias("percent_half"),
        )
        for name, (routing, column, _) in SHARES.items()
    ]
    title = "Derouted packets (%)"
    chart = panel(pl.concat(curves), "curve", "load", "percent", SHARE_LOOK, LOAD, title, width=460, step=STEP)
    k = of.largest
    notes = (f"{k} × {k} × {k} routers; lines join neighbouring loads of the grid",)
    return {"5": finished(chart, "Figure 5: derouted packets, Butterfly/FFT", notes)}


def throughput(stem: str, title: str) -> Callable[[pl.DataFrame, Setting], dict[str, Chart]]:
    """A function that draws delivered over offered load, a panel for each pattern that was run."""

    def draw(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:
        # What is delivered of a load has no interval of its own: messages are sent at regular times.
        shown = table.with_columns(accepted_half=pl.lit(None, pl.Float64))
        domain = _range(table)
        panels = [
            _routings(rows, "accepted", DELIVERED, diagonal=True, title=pattern, domain=domain)
            for pattern in PATTERNS
            if (rows := shown.filter(pl.col("pattern") == pattern)).height
        ]
        k = of.sides[0]
        notes = (
            f"{k} × {k} × {k} routers",
            "dashed: everything is delivered; lines join neighbouring loads of the grid",
        )
        return {stem: finished(_rows(panels), title, notes)}

    return draw


def networks(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:  # noqa: ARG001
    """Lifetimes on other networks."""
    domain = _range(table)
    panels = []
    for name in table["network"].unique(maintain_order=True):
        rows = table.filter(pl.col("network") == name)
        top = min(3 * float(min(rows["lifetime_us"])), 1.15 * float(max(rows["lifetime_us"])))
        look = {"title": name, "step": None, "domain": domain}
        panels.append(_routings(rows, "lifetime_us", LIFETIME, clip=True, top=top, **look))
    notes = ("uniform traffic, virtual cut-through with credits; ▲ goes on above", "equal curves hide one another")
    return {"beyond": finished(_rows(panels), "Other networks: mean packet lifetime", notes)}
