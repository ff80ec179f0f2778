"""Tables of figures: means over seeds with 95 % confidence intervals.

A figure's table is a function of its labels (one row per case, the hash of its run as `point`) and of what is done; a
table without rows says that none of the runs is there.
"""

import polars as pl
from scipy import stats

from phit.quantities import QUANTITIES
from phit.studies.kit.plan import Done
from phit.studies.kit.uncertain import Z, t_quantile

HALF = "_half"
"""Of the column beside a measure that holds half the width of its 95 % interval; null where that is not known."""

RUNS = "runs"
"""Column with the hashes of the runs that a row is the mean of."""

SEEDS = "seed_each"
"""Column with the seeds of a row of a table of transients."""

EACH = "_each"
"""Of the column beside a measure of such a table that holds the value of each of these seeds."""

of_runs = pl.col("point").alias(RUNS)
"""What an aggregate over runs keeps of them, so that claims know what they rest on."""


def runs(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The finished runs of a figure: labels and everything that was measured."""
    measured = done.points.drop([c for c in labels.columns if c != "point"], strict=False)
    return labels.join(measured, on="point", how="inner", maintain_order="left")


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case of a figure: means over its seeds, `_half` the half width of their 95 % interval.

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
        *(pl.col(m).cast(pl.Float64).std().alias(f"{m}{HALF}") for m in measures),
        *(at_confidence(c).first() for c in singles.values()),
        pl.col("saturated").any(),
        pl.col("cpu_seconds").sum(),
        of_runs,
    )
    halves = [half_widths(m, singles.get(m)) for m in measures]
    return table.with_columns(halves).drop(singles.values()).sort(keys, maintain_order=True)


def at_confidence(interval: str) -> pl.Expr:
    """Half widths of runs, whose level is `confidence`, at that of the tables.

    By the normal distribution: for the 20 batches of a run or more Student's t changes by 4 % less between 95 and 99 %.
    """
    level = pl.col("confidence").cast(pl.Float64)
    factor = level.map_elements(lambda own: Z / float(stats.norm.ppf((1 + own) / 2)), return_dtype=pl.Float64)
    return (pl.col(interval).cast(pl.Float64) * factor).alias(interval)


def half_widths(measure: str, single: str | None = None) -> pl.Expr:
    """Half widths, from standard deviations in `MEASURE_half` and the number of `seeds`; `single` is for one seed."""
    t = pl.col("seeds").map_elements(lambda n: t_quantile(n) if n > 1 else None, return_dtype=pl.Float64)
    alone = pl.col(single) if single else pl.lit(None, pl.Float64)
    several = t * pl.col(f"{measure}{HALF}") / pl.col("seeds").sqrt()
    return pl.when(pl.col("seeds") > 1).then(several).otherwise(alone).alias(f"{measure}{HALF}")


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
    measures = ("latency_mean", "misrouted_percent")
    if found.is_empty():
        return pl.DataFrame()
    found = found.with_columns(
        t=pl.col("cycle").cast(pl.Int64) - pl.col("change").cast(pl.Int64), misrouted_percent=100 * pl.col(share)
    )
    table = (
        found.drop_nulls("latency_mean")
        .group_by([*keys, "t"], maintain_order=True)
        .agg(pl.len().alias("seeds"), *over_seeds(*measures), of_runs)
    )
    return table.with_columns(half_widths(m) for m in measures).sort([*keys, "t"], maintain_order=True)


def over_seeds(*measures: str) -> list[pl.Expr]:
    """Aggregates of measures over seeds: means, deviations for `half_widths`, and what each seed has."""
    of_one = ((pl.col(m).mean(), pl.col(m).std().alias(f"{m}{HALF}"), pl.col(m).alias(f"{m}{EACH}")) for m in measures)
    return [pl.col("seed").cast(pl.Int64).alias(SEEDS), *(each for three in of_one for each in three)]
