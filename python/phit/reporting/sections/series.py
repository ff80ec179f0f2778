"""Latency and throughput over time, with what happens to the network and to its traffic on the way."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from phit.plots import COLOURS, title_of
from phit.reporting.section import Content, Section
from phit.reporting.source import Source, points_in, rows_of, spread
from phit.reporting.templates import render
from phit.scenario import Document, get_path

TOGETHER = 8
"""Most points that are drawn at once."""

MOST_POINTS = 40
"""Points that can be chosen; of more some at equal distances."""

MOST_BINS = 240
"""Of a point; more are brought together."""

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
    # All points at once share one set of marks where it is the same.
    marks = [{"at": at, **mark} for at in kept for mark in events(source.scenarios[at])]
    points: list[dict[str, Any]] = [
        {"at": at, "name": source.names[at], "colour": i % len(COLOURS)} for i, at in enumerate(kept)
    ]
    charts = {y: _chart(y, values, marks, kept, single=not together) for y in SHOWN}
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
    """A point's bins, several as one where there are many: means of latency by packets, of throughput by bins."""
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


def events(scenario: Document) -> Iterator[dict[str, Any]]:
    """What happens in a run, by cycle: the end of the warm-up, faults, changes of the traffic."""
    warmup = get_path(scenario, "measure.warmup", None)
    if _cycle(warmup):
        yield {"cycle": warmup, "kind": "measured from here", "words": "end of the warm-up"}
    for key, kind in (("topology.faults.later", "fault"), ("traffic.changes", "change of traffic")):
        entries = get_path(scenario, key, None)
        for entry in entries if isinstance(entries, list) else [entries]:
            if not isinstance(entry, dict) or not _cycle(entry.get("cycle")):
                continue
            numbers = {k: v for k, v in entry.items() if isinstance(v, int | float) and k != "cycle"}
            said = ", ".join(f"{k} {v}" for k, v in numbers.items())
            yield {"cycle": entry["cycle"], "kind": kind, "words": f"{kind}{f': {said}' if said else ''}"}


def _cycle(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _chart(y: str, values: list[dict[str, Any]], marks: list[dict[str, Any]], order: list[int], single: bool) -> Any:
    colour: Any = {
        "field": "at",
        "type": "nominal",
        "scale": {"domain": order, "range": [COLOURS[i % len(COLOURS)] for i in range(len(order))]},
        "legend": None,
    }
    if single:
        colour = {"value": COLOURS[0]}
    cycle: dict[str, Any] = {
        "field": "cycle",
        "type": "quantitative",
        "title": title_of("cycle", "series"),
        "scale": {"nice": False},
        "axis": {"tickCount": 6},
    }
    axis = {"field": y, "type": "quantitative", "title": None, "scale": {"zero": True}}
    tips = [
        {"field": "cycle", "type": "quantitative", "title": "cycle", "format": ","},
        {"field": y, "type": "quantitative", "title": title_of(y, "series"), "format": ".4~g"},
    ]
    line = {
        "data": {"values": [{k: row[k] for k in ("at", "cycle", y)} for row in values]},
        "transform": [{"filter": CHOSEN}],
        "mark": {"type": "line", "strokeWidth": 1.8, "point": {"size": 90, "opacity": 0}},
        "encoding": {"x": cycle, "y": axis, "color": colour, "tooltip": tips},
    }
    kinds = {"fault": "#D55E00", "change of traffic": "#CC79A7", "measured from here": "#888888"}
    rules = {
        "data": {"values": marks},
        "transform": [{"filter": CHOSEN}, {"aggregate": [], "groupby": ["cycle", "kind", "words"]}],
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": "cycle", "type": "quantitative"},
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": list(kinds), "range": list(kinds.values())},
                "legend": None,
            },
            "tooltip": [{"field": "words", "title": "what"}, {"field": "cycle", "title": "cycle", "format": ","}],
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


SECTION = Section("series", "Over time", _build)
