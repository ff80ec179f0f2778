"""Time use of the ranks of a workload, the durations of its phases, and the results of its jobs."""

from typing import Any

import polars as pl

from phit.base.numbers import readable
from phit.base.times import TimeUnit
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source, points_in, rows_of, spread
from phit.drawing.reporting.templates import render
from phit.drawing.tracks import PARTS
from phit.store.quantities import TABLES

MOST_POINTS = 6
"""Maximum number of points that are shown; they are taken at equal distances."""

MOST_RANKS = 256
"""Maximum number of bars in a chart of ranks. With more ranks, each bar is the mean of several."""

MOST_PHASES = 20
"""Maximum number of phases in a table: those with the longest times."""

MOST_JOBS = 50
"""Maximum number of jobs in a table."""

JOB_TIMES = ("latency_mean", "latency_p50", "latency_p99", "message_latency_mean", "message_latency_p99")
"""Times of jobs that are shown, besides their start and finish."""


def _build(source: Source) -> Content | None:
    ranks = source.table("ranks")
    if ranks is None:
        return None
    there = points_in(ranks)
    kept = spread(there, MOST_POINTS)
    unit = source.time_unit(ranks["finish"])
    of_point = rows_of(ranks, kept)
    phases = _by_point(source.table("phases"), kept)
    jobs = _by_point(source.table("jobs"), kept)
    charts = {f"ranks-{at}": _of_ranks(of_point[at], unit) for at in kept}
    points = [
        {
            "at": at,
            "name": source.names[at],
            **_phases(phases.get(at), of_point[at], unit),
            "jobs": _jobs(jobs.get(at), unit),
        }
        for at in kept
    ]
    words = {column.name: column.words for column in TABLES["jobs"].columns}
    page = render(
        "workload.html",
        points=points,
        single=source.points.height == 1,
        unit=unit.name,
        parts=list(PARTS.values()),
        job_times=[words[name] for name in JOB_TIMES],
        most_jobs=MOST_JOBS,
        left_out=len(there) - len(kept),
    )
    return Content(page, None, charts)


def _by_point(table: pl.DataFrame | None, kept: list[int]) -> dict[int, pl.DataFrame]:
    return {} if table is None else rows_of(table, kept)


def _of_ranks(ranks: pl.DataFrame, unit: TimeUnit) -> dict[str, Any]:
    """The times of all ranks: a bar for each rank, or for several consecutive ranks."""
    several = -(-ranks.height // MOST_RANKS)
    bars = (
        ranks.sort("rank")
        .with_row_index("place")
        .group_by(pl.col("place") // several, maintain_order=True)
        .agg(pl.col("rank").min().alias("first"), pl.col(*PARTS).mean())
    )
    values = [
        {"first": first, "doing": words, "place": place, "time": time}
        for first, *parts in bars.select("first", *PARTS).iter_rows()
        for place, ((words, _), cycles) in enumerate(zip(PARTS.values(), parts, strict=True))
        if (time := _rounded(unit.of(cycles)))
    ]
    domain, colours = zip(*PARTS.values(), strict=True)
    rank = "rank" if several == 1 else f"first of {several} ranks"
    return {
        "width": "container",
        "height": 240,
        "data": {"values": values},
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": "first",
                "type": "ordinal",
                "title": "Rank",
                "scale": {"paddingInner": 0.1},
                "axis": {"labelAngle": 0, "labelOverlap": "greedy"},
            },
            "y": {"field": "time", "type": "quantitative", "title": f"Time of all CPUs ({unit.name})", "stack": "zero"},
            "color": {
                "field": "doing",
                "type": "nominal",
                "scale": {"domain": domain, "range": colours},
                "legend": None,
            },
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [
                {"field": "first", "type": "quantitative", "title": rank},
                {"field": "doing", "title": "state"},
                {"field": "time", "type": "quantitative", "title": unit.name, "format": ",.4~g"},
            ],
        },
    }


def _phases(phases: pl.DataFrame | None, ranks: pl.DataFrame, unit: TimeUnit) -> dict[str, Any]:
    """The longest phases of each job, in their order, with their times; and the number of all other phases."""
    if phases is None:
        return {"phases": [], "more_phases": 0}
    time = pl.col("end") - pl.col("start")
    of_jobs = phases.join(ranks.select("rank", "job"), on="rank", how="left")
    found = of_jobs.group_by("job", "phase", "kind", maintain_order=True).agg(
        pl.len().alias("ranks"),
        pl.col("start").min().alias("start"),
        pl.col("end").max().alias("end"),
        time.min().alias("least"),
        time.mean().alias("mean"),
        time.max().alias("most"),
    )
    longest = found.sort("mean", "phase", descending=[True, False]).head(MOST_PHASES)
    most = float(longest["mean"].max() or 0) or 1.0  # type: ignore[arg-type]
    rows = [
        {
            "job": row["job"] or "",
            "phase": row["phase"],
            "kind": row["kind"],
            "ranks": row["ranks"],
            "times": [readable(unit.of(row[name])) for name in ("start", "end", "least", "mean", "most")],
            "share": row["mean"] / most,
        }
        for row in longest.sort("job", "phase", nulls_last=False).iter_rows(named=True)
    ]
    return {"phases": rows, "more_phases": found.height - longest.height}


def _jobs(jobs: pl.DataFrame | None, unit: TimeUnit) -> list[dict[str, Any]]:
    """The jobs with their packets and messages."""
    if jobs is None:
        return []
    return [
        {
            "name": row["job"],
            "kind": row["kind"],
            "endpoints": len(row["endpoints"]),
            "times": [readable(unit.of(row.get(name))) for name in ("start", "finish", *JOB_TIMES)],
            "accepted": readable(row["accepted_load"]),
        }
        for row in jobs.head(MOST_JOBS).iter_rows(named=True)
    ]


def _rounded(value: float | None) -> float:
    return 0.0 if value is None else float(f"{value:.5g}")


SECTION = Section("workload", "Workload", _build)
