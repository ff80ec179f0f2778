"""Charts with a uniform look: lines with confidence bands, one colour for a curve in all panels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.lazily import lazily
from phit.drawing.plots import COLOURS, SHAPES, Chart, crossings, latency_limit, save, styled

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

FORMATS = ("png", "svg", "html")

LEVEL = "95 %"
"""Default confidence level of bands."""


PALETTE = (
    *COLOURS,
    *("#999999", "#7B3294", "#882255", "#44AA99", "#999933", "#AA4499", "#332288", "#661100"),
    *("#DDCC77", "#117733", "#88CCEE", "#CC6677", "#6699CC", "#AA4466", "#4477AA", "#BBBBBB"),
)
"""The palette, and further colours for figures with more than eight curves."""


Charts = dict[str, Chart]
"""Charts of a figure by file name without suffix."""


@dataclass(frozen=True)
class Look:
    """Colours and marks of curves by name, in the order of the legend."""

    colours: Mapping[str, str]
    shapes: Mapping[str, str]

    @classmethod
    def of(cls, names: Sequence[str], order: Sequence[str] = ()) -> "Look":
        """The palette's colours and marks, assigned in an order that may differ from the legend's."""
        place = {name: i for i, name in enumerate(order or names)}
        return cls(
            {name: PALETTE[place[name] % len(PALETTE)] for name in names},
            # Marks repeat with other colours.
            {name: SHAPES[(place[name] + place[name] // len(COLOURS)) % len(SHAPES)] for name in names},
        )

    def legend(self, names: Sequence[str], *, dots: bool) -> dict[str, Any]:
        """Encodings of colour and mark; the legend lists the curves that are present."""
        shown = [name for name in self.colours if name in names]
        legend = alt.Legend(title=None, symbolSize=90, symbolStrokeWidth=2, symbolOpacity=1)
        scale = alt.Scale(domain=shown, range=[self.colours[name] for name in shown])
        found: dict[str, Any] = {"color": alt.Color("series:N", scale=scale, legend=legend)}
        if dots:
            marks = alt.Scale(domain=shown, range=[self.shapes[name] for name in shown])
            found["shape"] = alt.Shape("series:N", scale=marks, legend=legend)
        return found


def panel(
    table: pl.DataFrame,
    curve: str,
    x: str,
    y: str,
    look: Look,
    x_title: str,
    y_title: str,
    *,
    title: str = "",
    clip: bool = False,
    diagonal: bool = False,
    dots: bool = True,
    width: int = 400,
    height: int = 250,
    domain: tuple[float, float] | None = None,
    level: str = LEVEL,
    legend: Sequence[str] = (),
    ticks: int = 8,
    step: float | None = None,
    top: float | None = None,
) -> Chart:
    """Lines of a table with a column of curves, with bands where `Y_half` has half widths.

    Args:
        table: means with half widths.
        curve: column that distinguishes curves.
        x: column of the horizontal axis.
        y: column of the vertical axis.
        look: colours and marks.
        x_title: title with unit.
        y_title: title with unit.
        title: title of the panel.
        clip: whether to end the vertical axis above the curves that are not `saturated`. Triangles mark saturated
            curves, which have no band.
        diagonal: whether to draw y = x, dashed.
        dots: whether to mark the points.
        width: width in pixels.
        height: height in pixels.
        domain: range of the horizontal axis.
        level: confidence level of the bands.
        legend: curves of the legend; by default those of the table. Panels side by side share a legend only if their
            legends are equal.
        ticks: approximate number of ticks of the horizontal axis.
        step: step of the grid of `x`: a line breaks where a grid point is missing.
        top: end of the vertical axis, with `clip`; by default the curves determine it.
    """
    half = pl.col(f"{y}_half").fill_null(0.0) if f"{y}_half" in table.columns else pl.lit(0.0)
    if clip and "saturated" in table.columns:
        # Beyond saturation there is no steady latency, and so no interval.
        half = pl.when(pl.col("saturated")).then(0.0).otherwise(half)
    rows = table.drop_nulls(y).select(
        pl.col(curve).alias("series"),
        pl.col(x).cast(pl.Float64).alias("x"),
        pl.col(y).alias("y"),
        low=pl.col(y) - half,
        high=pl.col(y) + half,
        saturated=pl.col("saturated") if "saturated" in table.columns else pl.lit(False),
    )
    rows = _in_parts(rows, step)
    names = list(legend) or rows["series"].unique(maintain_order=True).to_list()
    limit = (top or latency_limit(rows)) if clip else _top(rows)
    left, right = domain or (0.0, 1.03 * max(rows["x"], default=1.0))
    axis_x = alt.X(
        "x:Q", title=x_title, scale=alt.Scale(domain=[left, right], nice=False), axis=alt.Axis(tickCount=ticks)
    )
    axis_y = alt.Y("y:Q", title=y_title, scale=alt.Scale(domain=[0, limit], nice=False), axis=_axis_y())
    line_colour = look.legend(names, dots=dots)["color"]
    tips = [
        alt.Tooltip("series:N", title="curve"),
        alt.Tooltip("x:Q", title=x_title, format=".4~g"),
        alt.Tooltip("y:Q", title=y_title, format=".4~g"),
        alt.Tooltip("low:Q", title=f"from ({level})", format=".4~g"),
        alt.Tooltip("high:Q", title=f"to ({level})", format=".4~g"),
    ]
    base = alt.Chart(rows)
    layers: list[Any] = []
    if diagonal:
        end = min(right, limit)
        ideal = pl.DataFrame({"x": [0.0, end], "y": [0.0, end]})
        layers.append(
            alt.Chart(ideal)
            .mark_line(color="#888", strokeDash=[5, 4], strokeWidth=1.2, clip=True)
            .encode(axis_x, axis_y)
        )
    layers.append(
        base.mark_area(opacity=0.18, clip=True).encode(
            axis_x, alt.Y("low:Q", title=y_title, axis=_axis_y()), alt.Y2("high:Q"), line_colour, detail="part:N"
        )
    )
    layers.append(
        base.mark_line(strokeWidth=1.8, clip=True).encode(
            axis_x, axis_y, line_colour, detail="part:N", **({} if dots else {"tooltip": tips})
        )
    )
    if dots:
        layers.append(
            base.mark_point(filled=True, size=46, opacity=1, clip=True).encode(
                axis_x, axis_y, tooltip=tips, **look.legend(names, dots=True)
            )
        )
    if clip and (gone := crossings(rows, limit)).height:
        marks = alt.Chart(gone).mark_point(shape="triangle-up", filled=True, size=100, opacity=1, yOffset=5)
        layers.append(marks.encode(axis_x, axis_y, line_colour))
    chart = alt.layer(*layers).properties(width=width, height=height)
    return chart.properties(title=alt.TitleParams(title, anchor="middle", fontSize=14)) if title else chart


LATENCY = "Mean packet latency (cycles)"


def load_axis(unit: str) -> str:
    """The title of an axis of offered loads, with a unit such as `phits/(node·cycle)`."""
    return f"Offered load ({unit})"


def latency_and_load(
    table: pl.DataFrame, curve: str, look: Look, unit: str, *, title: str = "", width: int = 400, level: str = LEVEL
) -> Chart:
    """Mean latency over accepted load, both against the offered load, in a unit such as `phits/(node·cycle)`."""
    x_title = load_axis(unit)
    return over(
        panel(
            table,
            curve,
            "load",
            "latency_mean",
            look,
            x_title,
            LATENCY,
            clip=True,
            title=title,
            width=width,
            level=level,
        ),
        panel(
            table,
            curve,
            "load",
            "accepted_load",
            look,
            x_title,
            f"Accepted load ({unit})",
            diagonal=True,
            width=width,
            level=level,
        ),
    )


LOAD_MARKS = "▲ the curve goes on above; dashed: accepted = offered"
"""Meaning of marks and lines in `latency_and_load`."""


def _in_parts(rows: pl.DataFrame, step: float | None) -> pl.DataFrame:
    """The rows of every series, with the `part` of the line to which they belong."""
    if step is None:
        return rows.with_columns(part=pl.lit(0))
    ordered = rows.sort("series", "x", maintain_order=True)
    gap = (pl.col("x").diff() > 1.5 * step).fill_null(value=False)
    return ordered.with_columns(part=gap.cast(pl.Int64).cum_sum().over("series"))


def blank(x_title: str, y_title: str, domain: tuple[float, float], title: str, width: int, height: int) -> Chart:
    """An empty panel for curves without runs."""
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(domain=list(domain), nice=False), axis=alt.Axis(tickCount=8))
    y = alt.Y(
        "y:Q", title=y_title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(minExtent=38, labels=False, ticks=False)
    )
    middle = pl.DataFrame({"x": [sum(domain) / 2], "y": [0.5]})
    text = alt.Chart(middle).mark_text(text="not run", fontSize=13, color="#777").encode(x, y)
    return text.properties(width=width, height=height, title=alt.TitleParams(title, anchor="middle", fontSize=14))


def _axis_y() -> "alt.Axis":
    """Axis labels of constant width, so that panels above each other are aligned."""
    return alt.Axis(minExtent=38, tickCount=6)


def _top(rows: pl.DataFrame) -> float:
    """The end of a vertical axis: above the bands, except that a wide band does not flatten the lines."""
    tops = (min(high, 1.3 * y) for high, y in rows.select("high", "y").iter_rows())
    return 1.05 * max(tops, default=0.0) or 1.0


def rule(chart: Chart, x: float) -> Chart:
    """The panel with a dashed vertical line."""
    line = alt.Chart(pl.DataFrame({"x": [float(x)]})).mark_rule(color="#555", strokeDash=[4, 3]).encode(alt.X("x:Q"))
    return alt.layer(chart, line)


def seeds_note(table: pl.DataFrame, level: str = LEVEL, *, batches: bool = True) -> str:
    """The meaning of the bands in a table of means over seeds.

    `level` is the confidence level of a single run's own interval. Without `batches`, a single run has no interval.
    """
    low, high = min(table["seeds"]), max(table["seeds"])
    if high == 1:
        return f"one seed; bands: {level} confidence, where the run has an interval" if batches else "one seed"
    return f"means of {high if low == high else f'{low} to {high}'} seeds with 95 % confidence bands"


def over(*charts: Chart) -> Chart:
    """Panels above each other."""
    return alt.vconcat(*charts, spacing=12)


def beside(*charts: Chart) -> Chart:
    """Panels side by side."""
    return alt.hconcat(*charts, spacing=24)


def in_rows(panels: Sequence[Chart], each: int = 2) -> Chart:
    """Panels in rows of `each`."""
    return over(*(beside(*panels[i : i + each]) for i in range(0, len(panels), each)))


def finished(chart: Chart, title: str, notes: Sequence[str]) -> Chart:
    """The chart with its title and notes below it."""
    return styled(chart, title, list(notes))


def write(charts: Mapping[str, Chart], folder: Path) -> list[Path]:
    """Writes every chart as PNG, SVG and interactive HTML."""
    return [path for stem, chart in charts.items() for path in save(chart, folder / stem, FORMATS)]
