"""Tables of figures: means over seeds with 95 % confidence intervals.

A figure's table is a function of its labels (one row per case, the hash of its run as `point`) and of what is done; a
table without rows says that none of the runs is there.
"""

import polars as pl

from phit.plots import T95
from phit.quantities import QUANTITIES
from phit.studies.kit.plan import Done


def runs(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The finished runs of a figure: labels and everything that was measured."""
    measured = done.points.drop([c for c in labels.columns if c != "point"], strict=False)
    return labels.join(measured, on="point", how="inner", maintain_order="left")


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case of a figure: means over its seeds, `_half` the half width of their interval.

    With one seed the interval is the one from the run's own batch means. `saturated`: one of the runs is.
    """
    keys = [c for c in labels.columns if c not in ("seed", "point")]
    found = runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    averaged = (q.name for q in QUANTITIES.values() if q.steady and q.name != "offered_load")
    measures = [m for m in averaged if m in found.columns and m not in keys]
    intervals = {m: QUANTITIES[m].interval for m in measures}
    singles = {m: c for m, c in intervals.items() if c is not None and c in found.columns}
    table = found.group_by(keys, maintain_order=True).agg(
        pl.len().alias("seeds"),
        pl.col("offered_load").mean(),
        *(pl.col(m).cast(pl.Float64).mean() for m in measures),
        *(pl.col(m).cast(pl.Float64).std().alias(f"{m}_half") for m in measures),
        *(pl.col(c).cast(pl.Float64).first() for c in singles.values()),
        pl.col("saturated").any(),
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
