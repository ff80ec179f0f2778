"""Curves of latency and accepted load: Phit as lines with bands, the other simulator as rings."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.lazily import lazily
from phit.drawing.plots import COLOURS, Chart, save, title_of
from phit.peers.comparison import SHARES, Comparison
from phit.studies.kit.charts import finished

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

MEASURES = {
    "latency_mean": "latency",
    "accepted_load": "throughput",
    "misrouted_globally": "misrouting",
}
"""Measures that are drawn, with their names."""

PATTERNS = ("UN", "ADV+1", "ADV+4")
"""Curves of a panel of FOGSim's, in the order of their colours."""

PANELS_IN_A_ROW = 3

CEILING = 4.0
"""A latency axis ends at this many times the curve's lowest latency."""


def write(comparisons: Sequence[Comparison], folder: Path) -> list[Path]:
    """Writes a plot per simulator and measure as SVG; returns their paths."""
    written = []
    for simulator in dict.fromkeys(c.case.simulator for c in comparisons):
        for measure in MEASURES:
            rows = table(comparisons, simulator, measure)
            if rows.height:
                stem = folder / f"{simulator.lower()}_{measure.split('_')[0]}"
                written += save(figure(rows, simulator, measure), stem, ("svg",))
    return written


def table(comparisons: Sequence[Comparison], simulator: str, measure: str) -> pl.DataFrame:
    """The points of the curves: panel, curve, load, theirs and ours with its interval."""
    found: list[dict[str, Any]] = []
    for c in comparisons:
        if c.case.simulator != simulator or c.measure != measure or c.case.setting:
            continue
        *network, last = c.case.series.split(", ")
        # FOGSim's series are network, mechanism, pattern: one panel holds a mechanism with all patterns.
        panel, curve = (", ".join(network), last) if simulator == "FOGSim" else (c.case.series, "")
        found.append(
            {
                "panel": panel,
                "curve": curve,
                "load": c.case.load,
                "theirs": c.theirs,
                "ours": c.ours,
                "low": c.ours - c.half,
                "high": c.ours + c.half,
            }
        )
    curves = pl.DataFrame(found)
    if curves.is_empty():
        return curves
    # A single point is no curve.
    return curves.filter(pl.len().over("panel", "curve") > 1).sort("panel", "curve", "load", maintain_order=True)


def figure(rows: pl.DataFrame, simulator: str, measure: str) -> Chart:
    """All panels of one simulator and measure."""
    names = sorted(rows["curve"].unique().to_list(), key=[*PATTERNS, ""].index)
    panels = rows["panel"].unique(maintain_order=True).to_list()
    charts = [_panel(rows.filter(pl.col("panel") == name), name, measure, names) for name in panels]
    note = f"lines: Phit, with 95 % confidence bands; rings: {simulator}"
    if measure == "latency_mean":
        note += f"; the axis ends at {CEILING:g} times the lowest latency"
    return in_rows(charts, f"Phit and {simulator}: {MEASURES[measure]}", note)


def in_rows(panels: Sequence[Chart], title: str, note: str) -> Chart:
    """Panels in rows of three, with more distance than in the studies, where panels share a legend."""
    rows = [alt.hconcat(*panels[i : i + PANELS_IN_A_ROW], spacing=40) for i in range(0, len(panels), PANELS_IN_A_ROW)]
    return finished(alt.vconcat(*rows, spacing=28), title, [note])


def _panel(rows: pl.DataFrame, name: str, measure: str, names: list[str]) -> Chart:
    latency, share = measure == "latency_mean", measure in SHARES
    right = max(rows["load"]) * 1.05
    if latency:
        lowest = float(rows["theirs"].min())  # type: ignore[arg-type]
        top, bottom = CEILING * lowest, 0.0
    else:
        top, bottom = 1.05 if share else 1.08 * max(*rows["theirs"], *rows["ours"]), 0.0
    x = alt.X(
        "load:Q",
        title=title_of("traffic.load"),
        scale=alt.Scale(domain=[0, right], nice=False),
        axis=alt.Axis(tickCount=6),
    )
    scale = alt.Scale(domain=[bottom, top], nice=False)
    colour = alt.Color(
        "curve:N",
        scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
        legend=alt.Legend(title=None) if len(names) > 1 else None,
    )
    base = alt.Chart(rows)
    layers: list[Any] = []
    if not latency and not share:
        end = min(right, top)
        ideal = pl.DataFrame({"load": [0.0, end], "ours": [0.0, end]})
        layers.append(
            alt.Chart(ideal)
            .mark_line(color="#999", strokeDash=[4, 4], strokeWidth=1, clip=True)
            .encode(x, alt.Y("ours:Q", title=title_of(measure), scale=scale))
        )
    layers += [
        base.mark_area(opacity=0.22, clip=True).encode(
            x, alt.Y("low:Q", title=title_of(measure), scale=scale), alt.Y2("high:Q"), colour
        ),
        base.mark_line(strokeWidth=1.8, clip=True).encode(
            x, alt.Y("ours:Q", title=title_of(measure), scale=scale), colour
        ),
        base.mark_point(filled=True, size=22, opacity=1, clip=True).encode(
            x, alt.Y("ours:Q", title=title_of(measure), scale=scale), colour
        ),
        base.mark_point(filled=False, size=110, strokeWidth=1.8, opacity=1, clip=True).encode(
            x, alt.Y("theirs:Q", title=title_of(measure), scale=scale), colour
        ),
    ]
    title = alt.TitleParams(name, anchor="middle", fontSize=13)
    return alt.layer(*layers).properties(width=300, height=230, title=title)
