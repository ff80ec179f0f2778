"""The overview: what ran, on which network, and the results in a few numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

import phit._phit as _phit
from phit.base.durations import duration
from phit.base.errors import ScenarioError
from phit.base.numbers import readable, readable_half
from phit.base.text import shortened
from phit.base.times import unit_of
from phit.document import Document
from phit.document.experiment import label
from phit.document.inlining import to_json
from phit.document.labels import label_of
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render
from phit.store.quantities import HEADLINES, QUANTITIES, Quantity, reason_of

LONGEST = 90
"""Maximum number of characters of a network's description."""


@dataclass(frozen=True)
class Tile:
    """A number with its name."""

    name: str
    value: str
    unit: str = ""
    of: str = ""
    """The point that it belongs to, or another remark."""


def _build(source: Source) -> Content:
    single = source.points.height == 1
    tiles = _of_a_run(source) if single else _of_a_sweep(source)
    return Content(render("overview.html", sentence=_sentence(source), tiles=tiles, left=source.folder.planned))


def _sentence(source: Source) -> str:
    """The experiment in one line."""
    scenario = next((s for s in source.scenarios if s), {})
    parts = []
    if any(key.startswith("topology") for key in source.varying):
        parts.append("several networks")
    elif "topology" in scenario:
        parts.append(network(scenario))
        rows = scenario["topology"].get("left_out", [])
        parts += [f"left out: {row['what']}: {readable(row['count'])}" for row in rows]
    for column in ("routing", "pattern"):
        if column in source.points.columns:
            kinds = [label_of(kind) for kind in source.points[column].drop_nulls().unique(maintain_order=True)]
            parts.append(_enumerated(kinds, f"{len(kinds)} {column}s"))
    return " · ".join(part for part in parts if part)


def _enumerated(words: list[str], otherwise: str) -> str:
    return ", ".join(words) if len(words) <= 6 else otherwise


def network(scenario: Document) -> str:
    """A network in words: its kind, its parameters and its number of endpoints."""
    topology = scenario["topology"]
    small = {key: value for key, value in topology.items() if isinstance(value, int | float) or key == "kind"}
    small |= {k: v for k, v in topology.items() if isinstance(v, list) and v and all(isinstance(n, int) for n in v)}
    kind, *numbers = str(label(small)).split(" ")
    described = " ".join([label_of(kind), *numbers])
    try:
        endpoints = f", {readable(int(_phit.endpoints(to_json(scenario))))} endpoints"
    except (ScenarioError, ValueError, RuntimeError):
        endpoints = ""
    return f"{shortened(described, LONGEST)}{endpoints}"


def _of_a_run(source: Source) -> list[Tile]:
    (row,) = source.points.iter_rows(named=True)
    shown = (q for q in HEADLINES if row.get(q.name) is not None and q.name in row)
    return [_tile(q, row) for q in shown if q.name != "cycle_seconds"]


def _tile(quantity: Quantity, row: Mapping[str, Any]) -> Tile:
    """A number with its interval, or the reason why there is none.

    If the length of a cycle is known, a time is shown in the most readable unit, with its cycles below.
    """
    value, cycle = row[quantity.name], row.get("cycle_seconds")
    half = row.get(quantity.interval) if quantity.interval else None
    reason = reason_of(row, quantity.name)
    notes = [] if reason is None else [f"no interval: {reason}"]
    unit = quantity.unit
    if quantity.time and cycle:
        notes.insert(0, f"{readable(value)} {quantity.unit}")
        best = unit_of(cycle, value)
        unit, value, half = best.name, best.of(value), None if half is None else best.of(half)
    text = readable(value) + ("" if half is None else f" ± {readable_half(half)}")
    return Tile(quantity.words, text, unit, "; ".join(notes))


def _of_a_sweep(source: Source) -> list[Tile]:
    points = source.points
    seeds = points["seed"].n_unique() if "seed" in points.columns else 1
    tiles = [Tile("points", readable(points.height), "", f"of {seeds} seeds" if seeds > 1 else "")]
    if "saturated" in points.columns:
        tiles.append(Tile("saturated", readable(int(points["saturated"].cast(pl.Int64).sum() or 0)), "points"))
    if "steady" in points.columns:
        unknown = points.filter(pl.col("steady").is_in(["no", "unknown"]) & ~pl.col("saturated")).height
        tiles.append(Tile("not known to be steady", readable(unknown), "points"))
    for column, greatest, words in (
        ("accepted_load", True, "most accepted"),
        ("latency_mean", False, "least mean latency"),
        ("latency_p99", False, "least 99th percentile"),
        ("completion", False, "shortest completion"),
    ):
        found = _extreme(source, column, greatest)
        if found is not None:
            value, at = found
            tiles.append(Tile(words, readable(value), QUANTITIES[column].unit, source.names[at]))
    spent = float(points["cpu_seconds"].sum() or 0) if "cpu_seconds" in points.columns else 0.0
    return [*tiles, Tile("CPU time", duration(spent))] if spent else tiles


def _extreme(source: Source, column: str, greatest: bool) -> tuple[Any, int] | None:
    if column not in source.points.columns or not source.points[column].dtype.is_numeric():
        return None
    values = source.points[column]
    at = values.arg_max() if greatest else values.arg_min()
    return None if at is None or values[at] is None else (values[at], at)


SECTION = Section("overview", "Overview", _build)
