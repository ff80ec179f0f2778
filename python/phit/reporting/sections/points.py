"""The table of all points, to sort and to filter; each opens its scenario and its distribution."""

from typing import Any

import polars as pl

from phit.experiment import heading
from phit.labels import label_of
from phit.quantities import HEADLINES, find
from phit.report import readable_cell
from phit.reporting.section import Content, Section
from phit.reporting.source import Source, rows_of
from phit.reporting.templates import render
from phit.text import shortened

BINS = 48
"""Of a distribution."""

MOST_POINTS = 20_000
"""Points of the table; of more the first ones."""

LONGEST = 200
"""Most characters of a value of a scenario."""


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
    """All headline quantities of each point, for the window that a point opens."""
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
    """By number of the point: width of a bin in cycles, where the first begins, and the packets in each."""
    table = source.table("histogram")
    if table is None:
        return {}
    return {str(at): binned(rows) for at, rows in rows_of(table) if at < MOST_POINTS}


def binned(rows: pl.DataFrame) -> dict[str, Any]:
    """A distribution in bins of equal width, without the longest of a thousand latencies."""
    rows = rows.sort("latency")
    total = int(rows["packets"].sum() or 0)
    within = rows.filter(rows["packets"].cum_sum() - rows["packets"] < 0.999 * total)
    first, last = int(within["latency"].min() or 0), int(within["latency"].max() or 0)  # type: ignore[arg-type]
    width = max(1, -(-(last - first + 1) // BINS))
    bins = [0] * ((last - first) // width + 1)
    for latency, count in within.select("latency", "packets").iter_rows():
        bins[(latency - first) // width] += count
    return {"first": first, "width": width, "packets": bins, "total": total}


SECTION = Section("points", "Points", _build)
