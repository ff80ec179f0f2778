"""Tables of figures: means over seeds with 95 % confidence intervals.

A figure's table is a function of its labels (one row per case, the hash of its run as `point`) and of what is done; a
table without rows says that none of the runs is there.
"""

from collections.abc import Sequence
from math import sqrt
from statistics import stdev

import polars as pl

from phit.plots import SATURATED_SHARE, T95
from phit.studies.kit.plan import Done

STEADY = ("accepted_load", "latency_mean", "latency_std", "latency_p99", "misrouted", "misrouted_globally", "hops_mean")
"""Measures of a steady state that tables hold, where a run has them."""

BATCH_INTERVALS = {"latency_mean": "latency_ci", "accepted_load": "accepted_ci"}
"""Columns with the interval of a single run, from its batch means."""


def runs(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The finished runs of a figure: labels and everything that was measured."""
    measured = done.points.drop([c for c in labels.columns if c != "point"], strict=False)
    return labels.join(measured, on="point", how="inner", maintain_order="left")


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case of a figure: means over its seeds, `_half` the half width of their interval.

    With one seed the interval is the one from the run's own batch means. `saturated`: one of the runs accepts less than
    95 % of the load offered.
    """
    keys = [c for c in labels.columns if c not in ("seed", "point")]
    found = runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    measures = [m for m in STEADY if m in found.columns]
    singles = {m: c for m, c in BATCH_INTERVALS.items() if c in found.columns}
    table = found.group_by(keys, maintain_order=True).agg(
        pl.len().alias("seeds"),
        pl.col("offered_load").mean(),
        *(pl.col(m).cast(pl.Float64).mean() for m in measures),
        *(pl.col(m).cast(pl.Float64).std().alias(f"{m}_half") for m in measures),
        *(pl.col(c).cast(pl.Float64).first() for c in singles.values()),
        (pl.col("accepted_load") < SATURATED_SHARE * pl.col("offered_load")).any().alias("saturated"),
        pl.col("cpu_seconds").sum(),
    )
    halves = [half_widths(m, singles.get(m)) for m in measures]
    return table.with_columns(halves).drop(singles.values()).sort(keys, maintain_order=True)


def half_widths(measure: str, single: str | None = None) -> pl.Expr:
    """Half widths, from standard deviations in `MEASURE_half` and the number of `seeds`; `single` is for one seed."""
    t = pl.col("seeds").replace_strict({n + 2: t for n, t in enumerate(T95)}, default=1.96, return_dtype=pl.Float64)
    alone = pl.col(single) if single else pl.lit(None, pl.Float64)
    several = t * pl.col(f"{measure}_half") / pl.col("seeds").sqrt()
    return pl.when(pl.col("seeds") > 1).then(several).otherwise(alone).alias(f"{measure}_half")


def half_width(values: Sequence[float]) -> float:
    """Half width of the 95 % interval of the mean of values from different seeds; 0 for one alone."""
    count = len(values)
    if count < 2:
        return 0.0
    return (T95[count - 2] if count - 2 < len(T95) else 1.96) * stdev(values) / sqrt(count)


def transient(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case and bin: `t` in cycles from the change of traffic (the label `change`), means over seeds.

    `latency_mean` is in cycles, by the cycle in which a packet was generated; `misrouted_percent` is the share of
    packets that were globally misrouted (misrouted in any way, if the engine does not tell them apart).
    """
    keys = [c for c in labels.columns if c not in ("seed", "point", "change")]
    series = done.series
    if series.is_empty() or labels.is_empty():
        return pl.DataFrame()
    share = "misrouted_globally" if "misrouted_globally" in series.columns else "misrouted"
    found = labels.join(series.select("point", "cycle", "latency_mean", share), on="point", how="inner")
    if found.is_empty():
        return pl.DataFrame()
    found = found.with_columns(
        t=pl.col("cycle").cast(pl.Int64) - pl.col("change").cast(pl.Int64), misrouted_percent=100 * pl.col(share)
    )
    table = (
        found.drop_nulls("latency_mean")
        .group_by([*keys, "t"], maintain_order=True)
        .agg(
            pl.len().alias("seeds"),
            pl.col("latency_mean").mean(),
            pl.col("latency_mean").std().alias("latency_mean_half"),
            pl.col("misrouted_percent").mean(),
            pl.col("misrouted_percent").std().alias("misrouted_percent_half"),
        )
    )
    table = table.with_columns(half_widths("latency_mean"), half_widths("misrouted_percent"))
    return table.sort([*keys, "t"], maintain_order=True)
