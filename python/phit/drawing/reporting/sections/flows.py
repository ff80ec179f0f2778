"""Flows that a scenario counts by themselves (`measure.flows`): their rates and latencies at each point."""

from phit.base.numbers import readable
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render

MOST_ROWS = 400
"""Maximum number of rows on a page."""

COLUMNS = ("flow", "accepted_rate", "packets", "latency_mean", "latency_p50", "latency_p99", "latency_max")


def _build(source: Source) -> Content | None:
    table = source.table("flows")
    if table is None:
        return None
    shown = table.select("at", *COLUMNS).head(MOST_ROWS)
    rows = [{**row, "name": source.names[row["at"]]} for row in shown.iter_rows(named=True)]
    more = table.height - len(rows)
    return Content(
        render("flows.html", rows=rows, more=more, single=source.points.height == 1, readable=readable),
    )


SECTION = Section("flows", "Flows", _build)
