"""Use of links: on a picture of the network, the busiest links, and sums by class."""

from typing import Any

import polars as pl

from phit.document.inlining import to_json
from phit.drawing.layout import described, layout_of
from phit.drawing.reporting.network import packed, ports_of
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source, points_in, rows_of, spread
from phit.drawing.reporting.templates import render

BUDGET = 900_000
"""Maximum number of links on a page, over all points."""

MOST_POINTS = 60
"""Maximum number of points whose links are on a page."""

FINEST = 250
"""Steps between utilisation 0 and 1."""

MOST_NETWORKS = 3
"""Maximum number of different networks."""


def _build(source: Source) -> Content | None:
    table = source.table("links")
    if table is None:
        return None
    there = points_in(table)
    longest = int(table.group_by("at").len()["len"].max() or 1)  # type: ignore[arg-type]
    # The description of a network's links takes as much room as the links of some runs.
    most = max(1, min(MOST_POINTS, BUDGET // longest - 6))
    networks: dict[str, int] = {}
    made: list[dict[str, Any]] = []
    points = []
    for at, own in rows_of(table, spread(there, most)).items():
        scenario = source.scenarios[at]
        key = f"{own.height} {to_json(scenario.get('topology', {}))}"
        if key not in networks:
            if len(networks) == MOST_NETWORKS:
                continue
            networks[key] = len(made)
            layout = layout_of(scenario) if scenario else None
            made.append(ports_of(own) | {"layout": None if layout is None else described(layout)})
        use = (own["utilisation"].fill_null(0.0) * FINEST).round().clip(0, 255).cast(pl.Int64)
        points.append(
            {"at": at, "name": source.names[at], "network": networks[key], "use": packed(use.to_numpy(), "u1")}
        )
    data = {"networks": made, "points": points, "finest": FINEST}
    return Content(render("links.html", points=points, left_out=len(there) - len(points)), data)


SECTION = Section("links", "Links", _build)
