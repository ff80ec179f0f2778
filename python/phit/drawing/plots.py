"""Plots as altair charts, drawn from tables of results: PNG, SVG, PDF and interactive HTML from one description."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.errors import InputError
from phit.base.files import write_atomically
from phit.base.lazily import lazily
from phit.base.nearest import hint
from phit.base.text import harmless, in_script, plain, quoted, shortened
from phit.base.times import CYCLES, TimeUnit
from phit.document.experiment import CURVE
from phit.document.happenings import COLOURS as MARKS
from phit.document.happenings import Happening
from phit.document.labels import label_of
from phit.store.quantities import diverges, interval, title

if TYPE_CHECKING:
    import altair as alt
    import vl_convert
else:
    alt = lazily("altair")
    vl_convert = lazily("vl_convert")
from phit.base.statistics import half_width

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's palette, which can be distinguished with any colour vision."""

HOLLOW = "hollow: not known to be steady"
"""Meaning of a hollow mark: the run of the point is not steady, or too short to tell."""

THIS_RUN = "this run"
"""The name of a point that is the only one of a table."""

SHAPES = ("circle", "square", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right", "stroke")
"""Marks of curves; the triangle that points up is for saturation."""

Chart = Any
"""An altair chart of any shape: change it further, or `save` it."""


def title_of(column: str, table: str | None = None) -> str:
    """The axis title of a column of the table of points, or of another table."""
    return title(column, table)


def varying(points: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns that have more than one value."""
    return [column for column in columns if column in points.columns and points[column].n_unique() > 1]


def series_of(points: pl.DataFrame, swept: Sequence[str], plot: Mapping[str, Any]) -> pl.DataFrame:
    """The points with the columns `x`, `series` and `panel`, which determine where they are drawn."""
    for role in ("x", "y", "colour", "facet"):
        column = plot.get(role)
        if column is not None and column not in points.columns:
            found = hint(str(column), points.columns)
            known = f"; `phit list quantities` describes the columns: {listed(points.columns)}"
            raise InputError(f"plot.{role} = {quoted(column)}: no such column in the table of points{found}{known}")
    x = plot.get("x") or next((c for c in ("traffic.load", "offered_load") if c in points.columns), None)
    if x is None:
        raise InputError("plot.x: expected the column of the horizontal axis")
    facet = plot.get("facet") or next(iter(varying(points, [c for c in ("pattern",) if c != plot.get("colour")])), None)
    colour = [plot["colour"]] if "colour" in plot else _colours(points, swept, {x, facet})
    names = [_labels(points, column).fill_null("–") for column in colour]
    series = pl.concat_str(names, separator=", ") if names else pl.lit("all points")
    panel = _labels(points, facet) if facet else pl.lit("")
    return points.with_columns(x=pl.col(x).cast(pl.Float64), series=series, panel=panel)


def _labels(points: pl.DataFrame, column: str) -> pl.Expr:
    """Labels of the values of a column; names of curves stay as the user wrote them."""
    texts = pl.col(column).cast(pl.String)
    if column == CURVE:
        return texts
    known = points[column].cast(pl.String).drop_nulls().unique().to_list()
    return texts.replace({text: label_of(text) for text in known})


def listed(columns: Sequence[str]) -> str:
    """Names of columns for a message."""
    return shortened(plain(", ".join(columns)), 1200)


def _colours(points: pl.DataFrame, swept: Sequence[str], taken: set[str | None]) -> list[str]:
    """The columns that distinguish curves: their names, or routing and every other key that varies."""
    if points.get_column(CURVE, default=pl.Series([None])).null_count() == 0 and varying(points, [CURVE]):
        return [CURVE]
    others = [k for k in swept if k not in taken and k != "seed" and not k.startswith(("routing", "traffic.pattern"))]
    return varying(points, ["routing", *others, *([] if "pattern" in taken else ["pattern"])])


def curves(points: pl.DataFrame, y: str) -> pl.DataFrame:
    """One row per series, panel and x: mean of `y` over seeds, its confidence interval, whether it saturated.

    `half`, `low` and `high` are null without an interval. `unsteady` is true if a run is not known to be steady.
    """
    half = interval(y)
    single = pl.col(half).first() if half is not None and half in points.columns else pl.lit(None)
    # In saturation, a quantity such as latency grows with the queues, so its saturated points are marked. Other curves,
    # such as accepted load, show saturation themselves.
    told = pl.lit(value=False) if diverges(y) else pl.col("saturated").fill_null(value=False)
    known = pl.col("steady") if "steady" in points.columns else pl.lit(None, dtype=pl.String)
    unsteady = known.is_in(["no", "unknown"]).fill_null(value=False) & ~told
    grouped = (
        points.filter(pl.col(y).is_not_null())
        .group_by("panel", "series", "x", maintain_order=True)
        .agg(
            pl.col(y).cast(pl.Float64).mean().alias("y"),
            pl.col(y).cast(pl.Float64).alias("values"),
            pl.col("saturated").any(),
            single.cast(pl.Float64).alias("single"),
            unsteady.any().alias("unsteady"),
            pl.len().alias("seeds"),
        )
    )
    widths = [half_width(row["values"]) if row["seeds"] > 1 else row["single"] for row in grouped.iter_rows(named=True)]
    return grouped.with_columns(half=pl.Series(widths, dtype=pl.Float64)).with_columns(
        low=pl.col("y") - pl.col("half"), high=pl.col("y") + pl.col("half")
    )


def curve_table(points: pl.DataFrame, y: str, swept: Sequence[str], plot: Mapping[str, Any]) -> pl.DataFrame:
    """The data of curves: a row for each panel, curve and x, with the mean of `y` and its interval.

    Panels and curves have numbers besides their names, because typesetting programs select rows by numbers more easily.
    """
    rows = curves(series_of(points, swept, plot), y)
    number = {
        f"{name}_number": pl.col(name).replace_strict(
            known := rows[name].unique(maintain_order=True).to_list(), range(1, len(known) + 1), return_dtype=pl.Int64
        )
        for name in ("panel", "series")
    }
    return (
        rows.sort("x", maintain_order=True)
        .with_columns(**number)
        .sort("panel_number", "series_number", maintain_order=True)
        .select(
            *("panel_number", "panel"),
            pl.col("series_number").alias("curve_number"),
            pl.col("series").alias("curve"),
            "x",
            pl.col("y").alias("mean"),
            pl.col("half").alias("half_width"),
            *("low", "high"),
            pl.col("seeds").alias("runs"),
            "saturated",
        )
    )


def above_zero(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of `curves` that logarithmic axes can show, with their intervals if they have any."""
    return rows.filter(pl.col("x") > 0, pl.col("y") > 0, (pl.col("low") > 0).fill_null(True))


def latency_limit(rows: pl.DataFrame) -> float:
    """The end of a latency axis: above every unsaturated point, but not so high that these points lie flat."""
    calm = rows.filter(~pl.col("saturated"))
    shown = calm if calm.height else rows
    lowest = [float(v) for v in shown.group_by("series").agg(pl.col("y").min())["y"]]
    highest = float(shown.select(pl.col("y").quantile(0.9)).item())
    return float(max(2.5 * max(lowest), min(1.15 * highest, 6 * max(lowest))))


def crossings(rows: pl.DataFrame, limit: float) -> pl.DataFrame:
    """The points where each curve leaves the axis upwards. A curve with several `part`s has no line between them."""
    found = []
    for (series,), curve in rows.group_by("series", maintain_order=True):
        before: dict[str, Any] | None = None
        for row in curve.sort("x").iter_rows(named=True):
            if row["y"] > limit:
                x = row["x"]
                if before is not None and before.get("part") == row.get("part"):
                    x = before["x"] + (limit - before["y"]) / (row["y"] - before["y"]) * (row["x"] - before["x"])
                found.append({"series": series, "x": x, "y": limit, "saturated at": row["x"]})
                break
            before = row
    schema = {"series": pl.String, "x": pl.Float64, "y": pl.Float64, "saturated at": pl.Float64}
    return pl.DataFrame(found, schema=schema)


def load_curves(
    points: pl.DataFrame, y: str = "latency_mean", swept: Sequence[str] = (), plot: Mapping[str, Any] | None = None
) -> Chart:
    """A quantity against offered load: a line per routing, a panel per pattern, bands where intervals are known.

    Latency axes end above saturation, where a triangle marks each curve that continues. Accepted load has the ideal
    diagonal.
    """
    plot = plot or {}
    drawn = series_of(points, swept, plot)
    rows = curves(drawn, y)
    log = bool(plot.get("log"))
    if log:
        rows = above_zero(rows)
    if rows.is_empty():
        raise InputError(f"plot: no point has a value of {quoted(y)}{' above 0, as plot.log needs' * log}")
    names = rows["series"].unique(maintain_order=True).to_list()
    chosen = alt.selection_point(fields=["series"], bind="legend", name="chosen")
    panels = rows["panel"].unique(maintain_order=True).to_list()
    x_title = x_title_of(points, plot)
    limit = top_of(rows, y, log=log)
    charts = [
        panel_of(rows.filter(pl.col("panel") == panel), panel, x_title, y, names, chosen, limit=limit, log=log)
        for panel in panels
    ]
    clipped = diverges(y) and not log
    notes = [
        "▲ saturated: the curve goes on above" if clipped else "dashed: accepted = offered" * (y == "accepted_load")
    ]
    notes += [HOLLOW] if has_hollow(rows, limit) else []
    notes += [unseen] if clipped and (unseen := without_finite_points(drawn, rows)) else []
    text = plot.get("title") or {"latency_mean": "Latency", "accepted_load": "Throughput"}.get(y, title_of(y))
    return styled(_with_legend(charts, chosen), str(text), notes[0] if len(notes) == 1 else notes)


def x_title_of(points: pl.DataFrame, plot: Mapping[str, Any]) -> str:
    """The title of the horizontal axis of curves."""
    return title_of(plot.get("x") or ("traffic.load" if "traffic.load" in points.columns else "offered_load"))


def top_of(rows: pl.DataFrame, y: str, *, log: bool = False) -> float:
    """The end of the vertical axis of curves: the same in all panels, so that they can be compared."""
    if diverges(y) and not log:
        return latency_limit(rows)
    top = rows.select(pl.max_horizontal(pl.col("high").max(), pl.col("y").max())).item()
    return float(top or 1) * 1.06


def has_hollow(rows: pl.DataFrame, limit: float) -> bool:
    """Whether a point in the drawn range is not known to be steady."""
    return not rows.filter(pl.col("unsteady"), pl.col("y") <= limit).is_empty()


def without_finite_points(drawn: pl.DataFrame, rows: pl.DataFrame) -> str:
    """The curves without a point below saturation, in words; empty if there are none."""
    found = []
    for (panel, series), own in drawn.group_by("panel", "series", maintain_order=True):
        shown = rows.filter(pl.col("panel") == panel, pl.col("series") == series, ~pl.col("saturated"))
        if shown.is_empty():
            where = f" ({panel})" if panel and drawn["panel"].n_unique() > 1 else ""
            first = own["x"].drop_nulls().min()
            found.append(f"{series}{where}" + ("" if first is None else f" from {float(first):.3g}"))  # type: ignore[arg-type]
    return f"saturated at every load shown: {'; '.join(found)}" if found else ""


def _with_legend(charts: list[Any], chosen: Any) -> Any:
    """The panels in rows of three, with one legend that selects curves in all of them."""
    rows = [alt.hconcat(*charts[i : i + 3], bounds="flush", spacing=78) for i in range(0, len(charts), 3)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Automatically deduplicated selection parameter")
        whole = rows[0] if len(rows) == 1 else alt.vconcat(*rows, spacing=24)
        return whole.add_params(chosen)


def _log(*columns: pl.Series) -> "alt.Scale":
    """A logarithmic axis for the values of these columns."""
    values = [float(value) for column in columns for value in column.drop_nulls()]
    return alt.Scale(type="log", domain=[min(values), max(values)], nice=True)


def panel_of(
    rows: pl.DataFrame,
    panel: str,
    x_title: str,
    y: str,
    names: list[str],
    chosen: Any,
    *,
    limit: float,
    log: bool = False,
    keys: Sequence[str] = (),
    legend: bool = True,
) -> Chart:
    """One panel of curves.

    Args:
        rows: rows of `curves` for this panel.
        panel: its title.
        x_title: title of the horizontal axis.
        y: the quantity.
        names: all curves of the figure, so that each has its colour and mark in every panel.
        chosen: a selection, or a test of rows. Curves for which it is false are faded.
        limit: where the vertical axis ends.
        log: whether both axes are logarithmic.
        keys: further columns for readers of the chart's data.
        legend: whether the chart has a legend.
    """
    clipped = diverges(y) and not log
    right = float(rows["x"].max() or 1)  # type: ignore[arg-type]
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(domain=[0, right * 1.03], nice=False), axis=alt.Axis(tickCount=7))
    axis = alt.Y("y:Q", title=title_of(y), scale=alt.Scale(domain=[0, limit], nice=False))
    if log:
        ticks = alt.Axis(format="~s", tickCount=7)
        x = alt.X("x:Q", title=x_title, scale=_log(rows["x"]), axis=ticks)
        axis = alt.Y("y:Q", title=title_of(y), scale=_log(rows["y"], rows["low"], rows["high"]), axis=ticks)
    scale = alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in range(len(names))])
    key = alt.Legend(title=None, symbolSize=90, symbolStrokeWidth=2) if legend and len(names) > 1 else None
    colour = alt.Color("series:N", scale=scale, legend=key)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names, range=shapes), legend=key)
    faded = alt.condition(chosen, alt.value(1.0), alt.value(0.15))
    tips = [
        alt.Tooltip("series:N", title="curve"),
        alt.Tooltip("x:Q", title=x_title, format=".4~g"),
        alt.Tooltip("y:Q", title=title_of(y), format=".4~g"),
        alt.Tooltip("half:Q", title="± (95 %)", format=".2~g"),
        alt.Tooltip("saturated:N", title="saturated"),
        alt.Tooltip("unsteady:N", title="not known to be steady"),
    ]
    data = rows.select("x", "y", "series", "saturated", "unsteady", "half", "low", "high", *keys)
    base = alt.Chart(data)
    layers: list[Any] = []
    if y == "accepted_load" and not log:
        ideal = pl.DataFrame({"x": [0.0, min(right, limit)], "y": [0.0, min(right, limit)]})
        layers.append(
            alt.Chart(ideal).mark_line(color="#888", strokeDash=[5, 4], strokeWidth=1.2, clip=True).encode(x, axis)
        )
    band = base.mark_area(opacity=0.18, clip=True).encode(
        x, alt.Y("low:Q", title=title_of(y)), alt.Y2("high:Q"), colour
    )
    line = base.mark_line(strokeWidth=2, clip=True).encode(x, axis, colour, opacity=faded)
    dots = base.mark_point(filled=True, size=48, clip=True, opacity=1).encode(
        x, axis, colour, shape, opacity=faded, tooltip=tips
    )
    layers += [band, line, dots]
    if rows["unsteady"].any():
        hollow = alt.Chart(data.filter("unsteady")).mark_point(
            filled=True, size=12, clip=True, opacity=1, color="white"
        )
        layers.append(hollow.encode(x, axis, tooltip=tips))
    if clipped:
        gone = crossings(rows, limit)
        tip = [alt.Tooltip("series:N", title="curve"), alt.Tooltip("saturated at:Q", format=".4~g")]
        marks = alt.Chart(gone).mark_point(shape="triangle-up", filled=True, size=110, opacity=1, yOffset=5)
        layers.append(marks.encode(x, axis, alt.Color("series:N", scale=scale, legend=None), tooltip=tip))
    chart = alt.layer(*layers).properties(width=340, height=280)
    return chart.properties(title=alt.TitleParams(panel, anchor="middle", fontSize=14)) if panel else chart


def histogram(table: pl.DataFrame, names: Mapping[str, str] | None = None, bins: int = 80) -> Chart:
    """Distribution of packet latency, with one line per point of a table with `latency`, `packets` and `point`."""
    names = names or {}
    if table.is_empty():
        raise InputError("plot: the histogram is empty")
    top = _quantile(table, 0.9995)
    width = max(1, round(top / bins))
    rows = (
        table.filter(pl.col("latency") <= top)
        .with_columns(bin=(pl.col("latency") // width) * width + width / 2, series=_series(table, names))
        .group_by("series", "bin")
        .agg(pl.col("packets").sum())
        .with_columns(share=pl.col("packets") / pl.col("packets").sum().over("series"))
        .sort("series", "bin")
    )
    chart = (
        alt.Chart(rows)
        .mark_line(interpolate="step", strokeWidth=1.8)
        .encode(
            alt.X("bin:Q", title=title_of("latency", "histogram"), scale=alt.Scale(nice=True)),
            alt.Y("share:Q", title="Share of packets", axis=alt.Axis(format="~%")),
            _colour(rows),
            tooltip=["series", alt.Tooltip("bin:Q", title="latency"), alt.Tooltip("share:Q", format=".2%")],
        )
        .properties(width=520, height=280)
    )
    return styled(chart, "Distribution of packet latency", f"bins of {width} cycles")


def _quantile(table: pl.DataFrame, share: float) -> float:
    whole = table.group_by("latency").agg(pl.col("packets").sum()).sort("latency")
    reached = whole.filter(pl.col("packets").cum_sum() >= share * float(whole["packets"].sum()))
    return float(reached["latency"][0]) if reached.height else float(whole["latency"][-1])


def time_series(
    table: pl.DataFrame,
    y: str = "latency_mean",
    names: Mapping[str, str] | None = None,
    marks: Iterable[Happening] = (),
    unit: TimeUnit = CYCLES,
) -> Chart:
    """A quantity over time, one line per point of a table with `cycle` and `point`.

    Args:
        table: the table `series` of a result.
        y: one of its columns.
        names: names of the points.
        marks: events, drawn as dashed lines; `phit.happenings` finds them in a scenario.
        unit: the unit of the horizontal axis.
    """
    if y not in table.columns:
        found = f"{hint(y, table.columns)}; it has {listed(table.columns)}"
        raise InputError(f"plot: the time series has no column {quoted(y)}{found}")
    rows = table.with_columns(series=_series(table, names or {})).select("series", "cycle", y).drop_nulls()
    in_cycles = unit == CYCLES
    axis_title = title_of("cycle", "series") if in_cycles else f"Time ({unit.name})"
    rows = rows.with_columns(time=pl.col("cycle") if in_cycles else pl.col("cycle") * unit.per_cycle)
    x = alt.X("time:Q", title=axis_title, scale=alt.Scale(nice=False))
    when = ["cycle"] if in_cycles else [alt.Tooltip("time:Q", title=unit.name, format=",.4~g"), "cycle"]
    lines = (
        alt.Chart(rows)
        .mark_line(strokeWidth=1.8)
        .encode(
            x,
            alt.Y(f"{y}:Q", title=title_of(y, "series"), scale=alt.Scale(zero=True)),
            _colour(rows),
            tooltip=["series", *when, alt.Tooltip(f"{y}:Q", format=".4~g")],
        )
    )
    chart = lines if (rules := _marked(marks, unit, x, when)) is None else lines + rules
    heading = f"{title_of(y, 'series').split(' (')[0]} over time"
    return styled(chart.resolve_scale(color="independent").properties(width=520, height=280), heading, "")


def _marked(marks: Iterable[Happening], unit: TimeUnit, x: "alt.X", when: list[Any]) -> Chart | None:
    """A dashed line for each event, with a legend of their kinds; `None` without events."""
    known = dict.fromkeys(marks)
    if not known:
        return None
    rows = pl.DataFrame(
        [{"time": unit.of(mark.cycle), "cycle": mark.cycle, "kind": mark.kind, "what": mark.words} for mark in known],
        schema={"time": pl.Float64, "cycle": pl.Float64, "kind": pl.String, "what": pl.String},
    )
    kinds = [kind for kind in MARKS if kind in set(rows["kind"])]
    scale = alt.Scale(domain=kinds, range=[MARKS[kind] for kind in kinds])
    legend = alt.Legend(title=None, symbolDash=[3, 2], symbolStrokeWidth=2)
    return (
        alt.Chart(rows)
        .mark_rule(strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x, alt.Color("kind:N", scale=scale, legend=legend), tooltip=["what", *when])
    )


def link_utilisation(table: pl.DataFrame, names: Mapping[str, str] | None = None) -> Chart:
    """Distribution of link utilisation by link class, one panel per point of a table with `class` and `utilisation`."""
    counted = (
        table.with_columns(
            series=_series(table, names or {}),
            slot=(pl.col("utilisation") * 25).floor().clip(0, 24).cast(pl.Int64),
        )
        .group_by("series", "class", "slot")
        .agg(pl.len().alias("links"))
    )
    # The line covers empty bins, too. It ends at 1, so the last bin is drawn twice.
    slots = pl.DataFrame({"at": range(26)}).with_columns(slot=pl.col("at").clip(0, 24))
    rows = (
        counted.select("series", "class")
        .unique()
        .join(slots, how="cross")
        .join(counted, on=["series", "class", "slot"], how="left")
        .with_columns(pl.col("links").fill_null(0), bin=pl.col("at") / 25)
        .with_columns(
            share=pl.col("links") / pl.col("links").filter(pl.col("at") < 25).sum().over("series", "class"),
            range=pl.format("{} to {}", pl.col("slot") / 25, (pl.col("slot") + 1) / 25),
        )
        .sort("series", "class", "at")
    )
    classes = sorted(rows["class"].unique().to_list(), key=lambda name: (name != "endpoint", name))
    charts = [
        alt.Chart(panel)
        .mark_area(interpolate="step-after", fillOpacity=0.2, line={"strokeWidth": 1.8})
        .encode(
            alt.X("bin:Q", title=title_of("utilisation", "links"), scale=alt.Scale(domain=[0, 1])),
            alt.Y("share:Q", title="Share of the links of a class", axis=alt.Axis(format="~%")).stack(None),
            alt.Color("class:N", title="Links", scale=alt.Scale(domain=classes, range=list(COLOURS[: len(classes)]))),
            tooltip=["class", alt.Tooltip("range:N", title="utilisation"), "links"],
        )
        .properties(width=340, height=240, title="" if name == THIS_RUN else str(name))
        for (name,), panel in rows.group_by("series", maintain_order=True)
    ]
    return styled(
        alt.vconcat(*(alt.hconcat(*charts[i : i + 3]) for i in range(0, len(charts), 3))),
        "Link utilisation",
        "bins of 0.04, each class of links by itself",
    )


def _series(table: pl.DataFrame, names: Mapping[str, str]) -> pl.Expr:
    if "point" not in table.columns:
        return pl.lit(THIS_RUN)
    return pl.col("point").replace_strict(names, default=pl.col("point").str.head(8), return_dtype=pl.String)


def _colour(rows: pl.DataFrame) -> "alt.Color":
    names = rows["series"].unique().sort().to_list()
    legend = None if len(names) == 1 else alt.Legend(title=None, labelLimit=320)
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    return alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), legend=legend)


def styled(chart: Any, title: str, note: str | list[str]) -> Any:
    """The chart with its title and the type sizes and lines of a printed figure."""
    heading = alt.TitleParams(title, subtitle=note or alt.Undefined, anchor="start", offset=12)
    look = alt.Config(
        title=alt.TitleConfig(fontSize=17, subtitleFontSize=12, subtitleColor="#555", font="sans-serif"),
        axis=alt.AxisConfig(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridColor="#e6e6e6", labelFlush=False
        ),
        legend=alt.LegendConfig(labelFontSize=13, titleFontSize=13, orient="right", symbolOpacity=1),
        view=alt.ViewConfig(stroke="#999"),
    )
    # In one call, because each call copies the whole chart.
    return chart.properties(title=heading, padding=12, background="white", config=look)


def save(chart: Any, stem: Path, formats: Sequence[str] = ("png", "svg", "html")) -> list[Path]:
    """Writes a chart as `stem.png`, `stem.svg`, `stem.html` and `stem.pdf`; the HTML page works offline."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in formats]
    if isinstance(chart, alt.TopLevelMixin):
        # Charts limit their rows themselves.
        with alt.data_transformers.enable("default", max_rows=None):
            description = chart.to_dict()
        drawn = _Drawn(harmless(description))
        for path in paths:
            content = getattr(drawn, path.suffix[1:])()
            write_atomically(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
    else:
        for path in paths:
            chart.save(path)
    return paths


class _Drawn:
    """A chart's description in every format; it is laid out only once."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._description = description

    @cached_property
    def _picture(self) -> str:
        picture: str = vl_convert.vegalite_to_svg(self._description, vl_version=vega_lite())
        return picture

    def svg(self) -> bytes:
        return self._picture.encode()

    def png(self) -> bytes:
        return vl_convert.svg_to_png(self._picture, scale=2)

    def pdf(self) -> bytes:
        return vl_convert.svg_to_pdf(self._picture)

    def html(self) -> bytes:
        return _PAGE.format(script=drawing_library(), description=in_script(self._description)).encode()


def vega_lite() -> str:
    """Version of Vega-Lite that altair writes."""
    return ".".join(alt.VEGALITE_VERSION.split(".")[:2])


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<style>#vis.vega-embed {{ width: 100%; display: flex; }}</style>
<script>{script}</script>
</head>
<body>
<div id="vis"></div>
<script>vegaEmbed("#vis", {description}, {{mode: "vega-lite"}}).catch(console.error);</script>
</body>
</html>
"""


@cache
def drawing_library() -> str:
    """The libraries that draw in a browser, as one script. Building it takes nearly a second, so it is built once."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vega_lite())
    return bundle
