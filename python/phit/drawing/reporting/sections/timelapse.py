"""Congestion over time: the occupancy of every port, frame by frame, on a picture of the network."""

import math
from typing import Any

import polars as pl

from phit.drawing.layout import described, layout_of
from phit.drawing.reporting.network import names_of, packed
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source, points_in, rows_of, spread
from phit.drawing.reporting.templates import render
from phit.drawing.timelapse import moments_of, port_frames

BUDGET = 260_000
"""Maximum number of occupied ports on a page, over all frames and points."""

MOST_POINTS = 4
"""Maximum number of points that are shown."""

MOST_FRAMES = 240
"""Maximum number of frames of a point."""

LEVELS = 8
"""Shades: each stands for twice as many phits as the previous one."""


def _build(source: Source) -> Content | None:
    table = source.table("probes")
    if table is None or "quantity" not in table.columns or "port phits" not in table["quantity"]:
        return None
    frames = port_frames(table, ["at"])
    if frames.is_empty():
        return None
    there = points_in(frames)
    kept = spread(there, MOST_POINTS)
    rows = rows_of(frames, kept)
    points = []
    for at in kept:
        points.append({"at": at, "name": source.names[at]} | _frames(rows[at], BUDGET // len(kept)))
        layout = layout_of(source.scenarios[at]) if source.scenarios[at] else None
        points[-1]["names"] = names_of(table.filter(pl.col("at") == at))
        points[-1]["layout"] = None if layout is None else described(layout)
    marked = any(rows[at]["lines"].sum() for at in kept)
    return Content(
        render("timelapse.html", points=points, left_out=len(there) - len(points), marked=marked),
        {"points": points, "levels": LEVELS},
    )


def _frames(rows: pl.DataFrame, budget: int) -> dict[str, Any]:
    """A point's frames: the number of ports in each, then the router, port and shade of each port in sequence."""
    capacity = int(rows["phits"].cast(pl.Int64).max() or 1)  # type: ignore[arg-type]
    cycles = moments_of(rows["cycle"])
    # Frames at equal distances, as many as fit on the page.
    step = max(math.ceil(len(cycles) / MOST_FRAMES), math.ceil(rows.height / budget))
    cycles = cycles[::step]
    shown = rows.filter(pl.col("cycle").is_in(cycles))
    marked = pl.col("lines") > 0
    halvings = (pl.lit(capacity) / pl.col("phits").clip(1)).log(2).floor()
    level = pl.when(pl.col("phits") > 0).then((LEVELS - halvings).clip(1, LEVELS)).otherwise(0).cast(pl.Int64)
    cells = shown.with_columns(shade=level + marked.cast(pl.Int64) * 16)
    counts = dict(cells.group_by("cycle").len().iter_rows())
    totals = dict(cells.group_by("cycle").agg(pl.col("phits").sum()).iter_rows())
    return {
        "capacity": capacity,
        "ports": int(rows["port"].cast(pl.Int64).max() or 0) + 1,  # type: ignore[arg-type]
        "cycles": cycles,
        "counts": [counts.get(cycle, 0) for cycle in cycles],
        "totals": [totals.get(cycle, 0) for cycle in cycles],
        "router": packed(cells["router"].to_numpy(), "u4"),
        "port": packed(cells["port"].to_numpy(), "u2"),
        "shade": packed(cells["shade"].to_numpy(), "u1"),
    }


SECTION = Section("timelapse", "Congestion", _build)
