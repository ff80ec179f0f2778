"""Tables and figures of the paper as charts."""

import polars as pl

from phit.plots import COLOURS, SHAPES, Chart
from phit.studies.figures import Look, beside, finished, over, panel
from phit.studies.outflank.numbers import PATTERNS, ROUTINGS
from phit.studies.outflank.setting import Setting

LOOK = Look(
    {name: COLOURS[i] for i, name in enumerate(("OFR", "POR", "ABR"))},
    {name: SHAPES[i] for i, name in enumerate(("OFR", "POR", "ABR"))},
)

LOAD = "Offered load (multiple of the bisection's)"
LIFETIME = "Mean packet lifetime (µs)"

SHARES = ("OFR (total)", "OFR (OIDN)", "OFR (WIDN)", "POR")
SHARE_LOOK = Look(
    {name: COLOURS[i] for i, name in enumerate(SHARES)}, {name: SHAPES[i] for i, name in enumerate(SHARES)}
)


def none(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:  # noqa: ARG001
    """A table needs no chart."""
    return {}


def lifetimes(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:
    """Figure 4: mean lifetime over load, a panel for each pattern."""
    panels = []
    for pattern in PATTERNS:
        rows = table.filter(pl.col("pattern") == pattern)
        if rows.is_empty():
            continue
        limit = 2.5 * float(rows["lifetime_us"].min())  # type: ignore[arg-type]
        shown = rows.with_columns(saturated=pl.col("lifetime_us") > limit)
        panels.append(
            panel(
                shown,
                "routing",
                "load",
                "lifetime_us",
                LOOK,
                LOAD,
                LIFETIME,
                clip=True,
                title=pattern,
                width=300,
                height=200,
            )
        )
    rows_of_panels = [beside(*panels[i : i + 2]) for i in range(0, len(panels), 2)]
    k = of.largest
    notes = (
        f"{k} x {k} x {k} routers, {of.messages} messages of {of.packets} packets for each node",
        "▲ goes on above",
    )
    return {"4": finished(over(*rows_of_panels), "Figure 4: mean packet lifetime", notes)}


def derouted(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:
    """Figure 5: shares of derouted packets over load, Butterfly."""
    columns = {
        "OFR (total)": ("OFR", "derouted"),
        "OFR (OIDN)": ("OFR", "oidn"),
        "OFR (WIDN)": ("OFR", "widn"),
        "POR": ("POR", "derouted"),
    }
    curves = [
        table.filter(pl.col("routing") == routing).select(
            pl.lit(name).alias("curve"),
            "load",
            (100 * pl.col(column)).alias("percent"),
            pl.lit(None, pl.Float64).alias("percent_half"),
        )
        for name, (routing, column) in columns.items()
    ]
    chart = panel(pl.concat(curves), "curve", "load", "percent", SHARE_LOOK, LOAD, "Derouted packets (%)", width=460)
    k = of.largest
    return {"5": finished(chart, "Figure 5: derouted packets, Butterfly/FFT", (f"{k} x {k} x {k} routers",))}


__all__ = ["LOOK", "ROUTINGS", "derouted", "lifetimes", "none"]
