"""Charts of the ranks of a workload: their activities over time, and the sums of their times."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.lazily import lazily
from phit.base.times import CYCLES, TimeUnit
from phit.drawing.plots import THIS_RUN, Chart, styled, title_of

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

STATES = {
    "calc": ("calculates", "#0072B2"),
    "send": ("sends", "#009E73"),
    "receive": ("takes in a message", "#56B4E9"),
    "waiting": ("waits", "#DDDDDD"),
    "blocked": ("blocked on the network", "#D55E00"),
}
"""Activities of a CPU, in words and as a colour."""

PARTS = {
    "calc": ("calculates", "#0072B2"),
    "overhead": ("sends, takes in messages", "#009E73"),
    "waiting": STATES["waiting"],
    "blocked": STATES["blocked"],
}
"""Columns of the table of ranks that add up to the times of their CPUs."""

MOST_TRACKS = 256
"""Maximum number of tracks in a chart; with more, tracks at equal distances are shown."""

MOST_BARS = 20_000
"""Maximum number of bars in a chart; with more, each pixel shows the activity that took most of its time."""

MOST_PANELS = 4
"""Maximum number of points in one figure."""

WIDTH, HEIGHT, LARGEST, SMALLEST = 760, 900, 18, 3
"""Sizes of a chart, and largest and smallest height of a track, in pixels."""


def of_tracks(tracks: pl.DataFrame, names: Mapping[str, str] | None = None, unit: TimeUnit = CYCLES) -> Chart:
    """The activities of every CPU of every rank over time: a row for each CPU, a panel for each point.

    Args:
        tracks: the table `tracks` of a result, with a column `point` if it has several points.
        names: names of the points.
        unit: the unit of times.
    """
    timed = _timed(tracks, ("start", "end"), unit)
    return _panels(timed, names or {}, partial(_tracks_of_a_run, unit=unit), "What ranks do")


def of_ranks(ranks: pl.DataFrame, names: Mapping[str, str] | None = None, unit: TimeUnit = CYCLES) -> Chart:
    """The times of every rank by activity: a bar for each rank, a panel for each point.

    Args:
        ranks: the table `ranks` of a result, with a column `point` if it has several points.
        names: names of the points.
        unit: the unit of times.
    """
    timed = _timed(ranks, tuple(PARTS), unit)
    return _panels(timed, names or {}, partial(_times_of_a_run, unit=unit), "Times of ranks")


def _timed(table: pl.DataFrame, columns: Sequence[str], unit: TimeUnit) -> pl.DataFrame:
    """The table with these columns converted from cycles to a unit."""
    return table if unit == CYCLES else table.with_columns(pl.col(columns) * unit.per_cycle)


def _panels(table: pl.DataFrame, names: Mapping[str, str], draw: Any, title: str) -> Chart:
    points = table["point"].unique(maintain_order=True).to_list() if "point" in table.columns else [None]
    panels, notes = [], dict[str, None]()
    for point in points[:MOST_PANELS]:
        rows = table if point is None else table.filter(pl.col("point") == point)
        chart, note = draw(rows)
        notes |= dict.fromkeys(note)
        name = THIS_RUN if point is None else names.get(point, str(point)[:8])
        panels.append(chart if name == THIS_RUN else chart.properties(title=name))
    if len(points) > MOST_PANELS:
        notes[f"the first {MOST_PANELS} of {len(points)} points"] = None
    return styled(alt.vconcat(*panels, spacing=24), title, list(notes))


def _tracks_of_a_run(tracks: pl.DataFrame, unit: TimeUnit) -> tuple[Chart, list[str]]:
    several = tracks["cpu"].n_unique() > 1
    labelled = tracks.with_columns(track=_label(several))
    order = labelled.select("rank", "cpu", "track").unique().sort("rank", "cpu")["track"].to_list()
    shown, notes = _thinned(order)
    rows = labelled.filter(pl.col("track").is_in(shown))
    if rows.height > MOST_BARS:
        rows = coarse(rows, WIDTH)
        notes.append("each pixel shows what took most of its time")
    if rows.is_empty():
        notes.append("no rank takes any time")
    words = {state: word for state, (word, _) in STATES.items()}
    rows = rows.with_columns(doing=pl.col("state").replace_strict(words, return_dtype=pl.String))
    chart = (
        alt.Chart(rows.select("track", "doing", "start", "end"))
        .mark_bar(height=alt.RelativeBandSize(0.86))
        .encode(
            alt.X(
                "start:Q",
                title=f"Time ({unit.name})",
                scale=alt.Scale(domain=[0, _last(rows["end"])], nice=False),
                axis=alt.Axis(tickCount=8),
            ),
            alt.X2("end:Q"),
            _track_axis(shown, "Rank, CPU" if several else title_of("rank", "tracks")),
            _colour(dict(STATES.values())),
            tooltip=[
                alt.Tooltip("track:N", title="rank"),
                alt.Tooltip("doing:N", title="state"),
                alt.Tooltip("start:Q", title=f"Start ({unit.name})", format=",~g"),
                alt.Tooltip("end:Q", title=f"End ({unit.name})", format=",~g"),
            ],
        )
        .properties(width=WIDTH, height=_height(len(shown)))
    )
    return chart, notes


def _label(several: bool) -> pl.Expr:
    rank = pl.col("rank").cast(pl.String)
    return pl.format("{}, {}", rank, pl.col("cpu")) if several else rank


def coarse(tracks: pl.DataFrame, slots: int) -> pl.DataFrame:
    """Tracks with at most `slots` bars each: equal parts of the time, each with the activity that took most of it."""
    length = max(_last(tracks["end"]) / slots, 1e-9)
    first, last = (pl.col("start") / length).floor(), (pl.col("end") / length).ceil().clip(upper_bound=slots)
    slot = pl.int_ranges(first.cast(pl.Int64), last.cast(pl.Int64))
    parts = tracks.with_columns(slot=slot).explode("slot").drop_nulls("slot")
    begin, end = pl.col("slot") * length, (pl.col("slot") + 1) * length
    taken = pl.min_horizontal("end", end) - pl.max_horizontal("start", begin)
    most = (
        parts.group_by("rank", "cpu", "track", "slot", "state")
        .agg(taken.sum().alias("taken"))
        .sort("taken", "state", descending=[True, False])
        .unique(["track", "slot"], keep="first", maintain_order=True)
        .sort("rank", "cpu", "slot")
    )
    # Consecutive slots of one state are one bar.
    run = (
        pl.struct("track", "state").rle_id() + (pl.col("slot") != pl.col("slot").shift() + 1).fill_null(True).cum_sum()
    )
    return (
        most.with_columns(run=run)
        .group_by("run", "track", "rank", "cpu", "state", maintain_order=True)
        .agg(start=pl.col("slot").min() * length, end=(pl.col("slot").max() + 1) * length)
        .drop("run")
    )


def _times_of_a_run(ranks: pl.DataFrame, unit: TimeUnit) -> tuple[Chart, list[str]]:
    order = ranks.sort("rank")["rank"].cast(pl.String).to_list()
    shown, notes = _thinned(order)
    words = {part: word for part, (word, _) in PARTS.items()}
    rows = (
        ranks.with_columns(track=pl.col("rank").cast(pl.String))
        .filter(pl.col("track").is_in(shown))
        .unpivot(list(PARTS), index=["track"], variable_name="part", value_name="cycles")
        .with_columns(doing=pl.col("part").replace_strict(words, return_dtype=pl.String))
        .with_columns(place=pl.col("part").replace_strict({p: i for i, p in enumerate(PARTS)}, return_dtype=pl.Int64))
    )
    if not rows["cycles"].sum():
        notes.append("no rank takes any time")
    chart = (
        alt.Chart(rows.select("track", "doing", "place", "cycles"))
        .mark_bar(height=alt.RelativeBandSize(0.86))
        .encode(
            alt.X(
                "cycles:Q",
                title=f"Time of all CPUs of a rank ({unit.name})",
                scale=alt.Scale(nice=False),
                axis=alt.Axis(tickCount=8),
            ).stack("zero"),
            _track_axis(shown, title_of("rank", "ranks")),
            _colour(dict(PARTS.values())),
            alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("track:N", title="rank"),
                alt.Tooltip("doing:N", title="state"),
                alt.Tooltip("cycles:Q", title=unit.name, format=",~g"),
            ],
        )
        .properties(width=WIDTH, height=_height(len(shown)))
    )
    return chart, notes


def _thinned(order: list[str]) -> tuple[list[str], list[str]]:
    """The tracks that are shown, and a note about those that are left out."""
    step = -(-len(order) // MOST_TRACKS)
    return order[:: max(step, 1)], [f"one of {step} of {len(order):,} tracks"] if step > 1 else []


def _last(column: pl.Series) -> float:
    return float(column.max() or 1)  # type: ignore[arg-type]


def _size(tracks: int) -> int:
    """The height of each track in pixels."""
    return max(SMALLEST, min(LARGEST, HEIGHT // max(tracks, 1)))


def _height(tracks: int) -> int:
    return max(tracks, 1) * _size(tracks)


def _track_axis(tracks: list[str], title: str) -> "alt.Y":
    """Tracks from top to bottom, of which as many are named as can be read."""
    step = -(-12 // _size(len(tracks)))
    axis = alt.Axis(values=tracks[::step], ticks=False, grid=False, labelOverlap=False)
    return alt.Y("track:N", title=title, sort=tracks, scale=alt.Scale(domain=tracks, padding=0), axis=axis)


def _colour(colours: Mapping[str, str]) -> "alt.Color":
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color("doing:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", direction="horizontal"))
