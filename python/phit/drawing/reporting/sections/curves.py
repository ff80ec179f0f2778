"""Curves over the offered load, or over another swept key: a panel for each pattern, with confidence bands."""

from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.lazily import lazily
from phit.drawing import plots
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render
from phit.store.quantities import diverges

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

HEIGHT = 260
"""Height of a panel in pixels."""

MOST_PANELS = 24
"""Maximum number of panels of a quantity; the first ones are shown."""

CHOSEN = "chosen == null || indexof(chosen, datum.series) >= 0"
"""A test for curves that are not faded; the script sets `chosen`."""

TITLES = {"latency_mean": "Latency", "accepted_load": "Throughput"}


def _build(source: Source) -> Content | None:
    drawn = source.curves
    if drawn is None:
        return None
    plot = source.manifest.get("plot", {})
    wanted = [str(plot["y"])] if plot.get("y") in source.points.columns else ["latency_mean", "accepted_load"]
    if "completion" in source.points.columns and source.points["completion"].null_count() < source.points.height:
        wanted = ["completion", *wanted]
    log = bool(plot.get("log"))
    figures, charts = [], dict[str, Any]()
    names = drawn["series"].unique(maintain_order=True).to_list()
    for y in (y for y in wanted if y in drawn.columns):
        rows = _with_points(plots.curves(drawn, y), drawn)
        if log:
            rows = plots.above_zero(rows)
        if rows.is_empty():
            continue
        panels = rows["panel"].unique(maintain_order=True).to_list()
        limit = plots.top_of(rows, y, log=log)
        own = []
        for i, panel in enumerate(panels[:MOST_PANELS]):
            charts[f"{y}-{i}"] = _panel(source, rows.filter(pl.col("panel") == panel), y, names, limit, log=log)
            own.append({"id": f"{y}-{i}", "name": panel})
        notes = []
        if diverges(y) and not log:
            notes.append("▲ the curve goes on above: saturated")
            notes += [said] if (said := plots.without_finite_points(drawn, rows)) else []
        elif y == "accepted_load":
            notes.append("dashed: accepted = offered")
        notes += [plots.HOLLOW] if plots.has_hollow(rows, limit) else []
        figures.append(
            {"title": TITLES.get(y, plots.title_of(y)), "panels": own, "notes": notes, "more": len(panels) - len(own)}
        )
    if not figures:
        return None
    legend = [{"name": name, "colour": i % len(plots.COLOURS)} for i, name in enumerate(names)]
    seeds = "seed" in source.varying
    return Content(render("curves.html", figures=figures, legend=legend, seeds=seeds), {"names": names}, charts)


def _with_points(rows: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """The rows with the numbers of the points that each row averages, as one text."""
    keys = ["panel", "series", "x"]
    whose = numbered.group_by(keys, maintain_order=True).agg(pl.col("at").cast(pl.String).str.join(" ").alias("points"))
    return rows.join(whose, on=keys, how="left", maintain_order="left")


def _panel(source: Source, rows: pl.DataFrame, y: str, names: list[str], limit: float, *, log: bool) -> Any:
    plot = source.manifest.get("plot", {})
    x_title = plots.x_title_of(source.points, plot)
    chart = plots.panel_of(rows, "", x_title, y, names, CHOSEN, limit=limit, log=log, keys=["points"], legend=False)
    chosen = alt.param(name="chosen", value=None)
    return chart.add_params(chosen).properties(width="container", height=HEIGHT)


SECTION = Section("curves", "Curves", _build)
