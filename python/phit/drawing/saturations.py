"""A chart of the loads that curves sustain."""

from typing import TYPE_CHECKING, Any

from phit.document.experiment import CURVE, heading
from phit.running.saturated_curves import NOT_SUSTAINED, SUSTAINED

if TYPE_CHECKING:
    import polars as pl


def bars(table: "pl.DataFrame", title: str = "Saturation") -> Any:
    """A bar for each row of the table of `saturations`, as a chart of Altair.

    The key with the most values is on the axis; the other keys are colours.
    """
    import altair as alt
    import polars as pl

    from phit.drawing.plots import COLOURS, styled

    keys = [name for name in table.columns if name not in (SUSTAINED, NOT_SUSTAINED, "latency_mean", "loads")]
    many = sorted((key for key in keys if table[key].n_unique() > 1), key=lambda key: -table[key].n_unique())
    many = [CURVE] if CURVE in many else many
    along, rest = (many[0], many[1:]) if many else ("", [])
    text = [pl.col(key).cast(pl.String).fill_null("") for key in rest]
    rows = table.select(
        pl.col(along).alias("x") if along else pl.lit("").alias("x"),
        pl.concat_str(text, separator=" ").alias("curve") if text else pl.lit("").alias("curve"),
        pl.col(SUSTAINED).fill_null(0.0).alias("y"),
        pl.col(NOT_SUSTAINED).alias("above"),
    )
    names = rows["curve"].unique(maintain_order=True).to_list()
    scale = alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in range(len(names))])
    colour = alt.Color("curve:N", scale=scale, legend=alt.Legend(title=None) if len(names) > 1 else None)
    tips = [
        alt.Tooltip("x:N", title=heading(along) or "scenario"),
        alt.Tooltip("curve:N"),
        alt.Tooltip("y:Q", title=SUSTAINED, format=".4~g"),
        alt.Tooltip("above:Q", title=NOT_SUSTAINED, format=".4~g"),
    ]
    chart = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            alt.X("x:N", title=heading(along) or None, sort=None, axis=alt.Axis(labelAngle=-30)),
            alt.Y("y:Q", title="Sustained load (phits/(endpoint·cycle))", scale=alt.Scale(zero=True)),
            colour,
            tooltip=tips,
            **({"xOffset": alt.XOffset("curve:N", sort=names)} if len(names) > 1 else {}),
        )
        .properties(width=max(240, 24 * rows.height), height=280)
    )
    return styled(chart, title, "the largest load that each curve sustains")
