"""The table of all points, which can be sorted and filtered; each point opens its scenario and its distribution."""

from typing import Any

import polars as pl

from phit.base.text import shortened
from phit.document.experiment import heading
from phit.document.labels import label_of
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render
from phit.drawing.short import readable_cell
from phit.store.quantities import HEADLINES, find

BINS = 48
"""Number of bins of a distribution."""

MOST_POINTS = 20_000
"""Maximum number of points in the table; the first ones are shown."""

LONGEST = 200
"""Maximum number of characters of a value of a scenario."""


def _build(source: Source) -> Content:
    shown = source.points.head(MOST_POINTS)
    columns = _columns(source)
    data = {
        "columns": [{"name": c["name"], "unit": c["unit"], "numeric": c["numeric"]} for c in columns],
        "rows": list(zip(*(_cells(shown, c["key"]) for c in columns), strict=True)),
        "names": source.names[:MOST_POINTS],
        "details": _details(shown),
        "common": _nested(source.common),
        "differences": [{k: _short(v) for k, v in d.items()} for d in source.differences()[:MOST_POINTS]],
        "distributions": _distributions(source),
        "hashes": [hash_[:8] for hash_ in shown["point"]],
    }
    return Content(
        render("points.html", count=source.points.height, shown=shown.height, single=shown.height == 1), data
    )


def _columns(source: Source) -> list[dict[str, Any]]:
    """The swept keys, then the headlines that any point has."""
    points = source.points
    keys = [key for key in source.folder.swept if key in points.columns]
    told = [key for key in ("routing", "pattern") if not keys and key in points.columns]
    quantities = [q for q in HEADLINES if q.name in points.columns and points[q.name].null_count() < points.height]
    found = [{"key": key, "name": heading(key), "unit": _unit(key)} for key in [*told, *keys]]
    found += [
        {"key": q.name, "name": q.heading or q.words, "unit": q.unit}
        for q in quantities
        if not (q.name == "offered_load" and "traffic.load" in keys)
    ]
    return [c | {"numeric": points[c["key"]].dtype.is_numeric()} for c in found]


def _unit(key: str) -> str:
    found = find(key)
    return "" if found is None else found.unit


def _cells(points: pl.DataFrame, column: str) -> list[Any]:
    values = points[column]
    if values.dtype.is_float():
        return [None if v is None else float(f"{v:.6g}") for v in values]
    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        return values.to_list()
    return [None if v is None else label_of(readable_cell(v)) for v in values.to_list()]


def _details(points: pl.DataFrame) -> dict[str, Any]:
    """All headline quantities of each point, for the window that opens for a point."""
    shown = [q for q in HEADLINES if q.name in points.columns]
    return {
        "names": [[q.words, q.unit] for q in shown],
        "values": list(zip(*(_cells(points, q.name) for q in shown), strict=True)) if shown else [],
    }


def _short(value: Any) -> Any:
    return (
        shortened(value if isinstance(value, str) else str(value), LONGEST) if isinstance(value, str | list) else value
    )


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as tables of their sections."""
    found: dict[str, Any] = {}
    for key, value in flat.items():
        section, _, rest = key.partition(".")
        if rest:
            found.setdefault(section, {})[rest] = _short(value)
        else:
            found[section] = _short(value)
    return found


def _distributions(source: Source) -> dict[str, Any]:
    """By number of the point: width of a bin in cycles, start of the first bin, and the packets in each."""
    table = source.table("histogram")
    if table is None:
        return {}
    return {str(at): bins for at, bins in binned(table.filter(pl.col("at") < MOST_POINTS)).items()}


def binned(table: pl.DataFrame) -> dict[int, dict[str, Any]]:
    """Each point's distribution in bins of equal width, without the longest 0.1 % of latencies."""
    latency, packets = pl.col("latency").cast(pl.Int64), pl.col("packets").cast(pl.Int64)
    before = packets.cum_sum() - packets
    within = (
        table.select("at", latency, packets)
        .sort("at", "latency")
        .with_columns(before=before.over("at"), total=packets.sum().over("at"))
        .filter(pl.col("before") < 0.999 * pl.col("total"))
        .with_columns(first=latency.min().over("at"), last=latency.max().over("at"))
        .with_columns(width=((pl.col("last") - pl.col("first")) // BINS + 1))
        .with_columns(bin=(latency - pl.col("first")) // pl.col("width"))
    )
    found: dict[int, dict[str, Any]] = {}
    each = within.group_by("at", "first", "last", "width", "total", "bin", maintain_order=True).agg(packets.sum())
    for at, first, last, width, total, number, count in each.iter_rows():
        point = found.get(at)
        if point is None:
            bins = [0] * ((last - first) // width + 1)
            point = found[at] = {"first": first, "width": width, "packets": bins, "total": total}
        point["packets"][number] = count
    return found


SECTION = Section("points", "Points", _build)
