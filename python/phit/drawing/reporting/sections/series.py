"""Latency and throughput over time, with the events of the network and its traffic."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from phit.base.times import CYCLES, TimeUnit
from phit.document.happenings import COLOURS as MARKS
from phit.document.happenings import happenings
from phit.drawing.plots import COLOURS, title_of
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source, points_in, rows_of, spread
from phit.drawing.reporting.templates import render

TOGETHER = 8
"""Maximum number of points that are drawn together."""

MOST_POINTS = 40
"""Maximum number of points to choose from; they are taken at equal distances."""

MOST_BINS = 240
"""Maximum number of bins of a point; further bins are combined."""

SHOWN = ("latency_mean", "accepted_load")

CHOSEN = "chosen == null || indexof(chosen, datum.at) >= 0"


def _build(source: Source) -> Content | None:
    table = source.table("series")
    if table is None:
        return None
    there = points_in(table)
    kept = spread(there, MOST_POINTS)
    rows = rows_of(table, kept)
    together = len(kept) <= TOGETHER
    values = [value for at in kept for value in _bins(at, rows[at])]
    # If all points have equal marks, they share one set.
    marks = [{"at": at, **asdict(mark)} for at in kept for mark in happenings(source.scenarios[at])]
    points: list[dict[str, Any]] = [
        {"at": at, "name": source.names[at], "colour": i % len(COLOURS)} for i, at in enumerate(kept)
    ]
    unit = source.time_unit(rows["cycle"].max() for rows in rows.values())
    charts = {y: _chart(y, values, marks, kept, unit, single=not together) for y in SHOWN}
    kinds = list(dict.fromkeys(mark["kind"] for mark in marks))
    return Content(
        render(
            "series.html",
            points=points,
            together=together,
            figures=[(y, title_of(y, "series")) for y in SHOWN],
            kinds=kinds,
            left_out=len(there) - len(kept),
        ),
        {"first": None if together else kept[0]},
        charts,
    )


def _bins(at: int, rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """A point's bins, combined if there are many: means of latency by packets, of throughput by bins."""
    several = -(-rows.height // MOST_BINS)
    rows = rows.sort("cycle").select("cycle", "packets", *SHOWN)
    if several > 1:
        packets = pl.col("packets").cast(pl.Float64)
        whole = pl.col("latency_mean") * packets
        rows = (
            rows.with_row_index("bin")
            .group_by(pl.col("bin") // several, maintain_order=True)
            .agg(
                pl.col("cycle").first(),
                (whole.sum() / packets.filter(pl.col("latency_mean").is_not_null()).sum()).alias("latency_mean"),
                pl.col("accepted_load").mean(),
            )
        )
    for cycle, latency, accepted in rows.select("cycle", *SHOWN).iter_rows():
        yield {"at": at, "cycle": cycle, "latency_mean": _rounded(latency), "accepted_load": _rounded(accepted)}


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else float(f"{value:.5g}")


def _chart(
    y: str,
    values: list[dict[str, Any]],
    marks: list[dict[str, Any]],
    order: list[int],
    unit: TimeUnit,
    single: bool,
) -> Any:
    colour: Any = {
        "field": "at",
        "type": "nominal",
        "scale": {"domain": order, "range": [COLOURS[i % len(COLOURS)] for i in range(len(order))]},
        "legend": None,
    }
    if single:
        colour = {"value": COLOURS[0]}
    title = title_of("cycle", "series") if unit == CYCLES else f"Time ({unit.name})"
    cycle: dict[str, Any] = {
        "field": "time",
        "type": "quantitative",
        "title": title,
        "scale": {"nice": False},
        "axis": {"tickCount": 6},
    }
    axis = {"field": y, "type": "quantitative", "title": None, "scale": {"zero": True}}
    when = [{"field": "cycle", "type": "quantitative", "title": "cycle", "format": ","}]
    if unit != CYCLES:
        when.insert(0, {"field": "time", "type": "quantitative", "title": unit.name, "format": ",.4~g"})
    tips = [
        *when,
        {"field": y, "type": "quantitative", "title": title_of(y, "series"), "format": ".4~g"},
    ]
    line = {
        "data": {"values": [_timed({k: row[k] for k in ("at", "cycle", y)}, unit) for row in values]},
        "transform": [{"filter": CHOSEN}],
        "mark": {"type": "line", "strokeWidth": 1.8, "point": {"size": 90, "opacity": 0}},
        "encoding": {"x": cycle, "y": axis, "color": colour, "tooltip": tips},
    }
    rules = {
        "data": {"values": [_timed(mark, unit) for mark in marks]},
        "transform": [{"filter": CHOSEN}, {"aggregate": [], "groupby": ["time", "cycle", "kind", "words"]}],
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": "time", "type": "quantitative"},
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": list(MARKS), "range": list(MARKS.values())},
                "legend": None,
            },
            "tooltip": [{"field": "words", "title": "what"}, *when],
        },
    }
    layers = [line, rules] if marks else [line]
    return {
        "params": [{"name": "chosen", "value": None}],
        "width": "container",
        "height": 220,
        "layer": layers,
        "resolve": {"scale": {"color": "independent"}},
    }


def _timed(row: dict[str, Any], unit: TimeUnit) -> dict[str, Any]:
    """A row with its cycle as a time."""
    time = unit.of(row["cycle"])
    return row | {"time": time if unit == CYCLES else _rounded(time)}


SECTION = Section("series", "Over time", _build)
