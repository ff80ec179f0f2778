"""Tables of figures: means over seeds with 95 % confidence intervals.

A figure's table is a function of its labels (one row per case, with the hash of its run as `point`) and of the finished
runs. A table without rows means that none of the runs exists.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from phit.base.lazily import lazily
from phit.store.quantities import QUANTITIES
from phit.studies.kit.plan import Done
from phit.studies.kit.spreads import MEASURES, Spread, spreads
from phit.studies.kit.uncertain import t_quantile

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = lazily("scipy.stats")

HALF = "_half"
"""Suffix of the column with half the width of a measure's 95 % interval; null if it is unknown."""

RUNS = "runs"
"""Column with the hashes of the runs that a row averages."""

SEEDS = "seed_each"
"""Column with the seeds of a row, in a table of transients."""

EACH = "_each"
"""Suffix of the column with a measure's value for each of these seeds, in a table of transients."""

of_runs = pl.col("point").alias(RUNS)
"""Keeps the hashes of aggregated runs, so that claims know their sources."""


def runs(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The finished runs of a figure: labels and all measurements."""
    measured = done.points.drop([c for c in labels.columns if c != "point"], strict=False)
    return labels.join(measured, on="point", how="inner", maintain_order="left")


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case of a figure: means over its seeds.

    Columns with `_half` have half the width of their 95 % interval.

    If single runs have an interval of a quantity, its interval is that of `pooled`. `saturated` is true if any run is
    saturated. `saturated`: one of the runs is.
    """
    keys = [c for c in labels.columns if c not in ("seed", "point")]
    found = runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    averaged = (q.name for q in QUANTITIES.values() if q.steady and q.name != "offered_load")
    measures = [m for m in averaged if m in found.columns and m not in keys]
    table = found.group_by(keys, maintain_order=True).agg(
        pl.len().alias("seeds"),
        pl.col("offered_load").mean(),
        *(pl.col(m).cast(pl.Float64).mean() for m in measures),
        *(pl.col(m).cast(pl.Float64).std().alias(f"{m}{HALF}") for m in measures),
        pl.col("saturated").any(),
        pl.col("cpu_seconds").sum(),
        of_runs,
    )
    by_seeds = [half_widths(m) for m in measures if m not in MEASURES]
    by_both = [_pooled(table, m, spreads(found, m)) for m in MEASURES if m in measures]
    return table.with_columns(*by_seeds, *by_both).sort(keys, maintain_order=True)


def _pooled(table: pl.DataFrame, measure: str, of_runs: Mapping[str, Spread]) -> pl.Series:
    rows = table.select(f"{measure}{HALF}", RUNS).iter_rows()
    halves = [pooled(deviation, [of_runs.get(run) for run in hashes]) for deviation, hashes in rows]
    return pl.Series(f"{measure}{HALF}", halves, dtype=pl.Float64)


POOL = 0.25
"""Level of the test that decides whether the errors of seeds and of single runs are pooled."""


def pooled(deviation: float | None, within: Sequence[Spread | None]) -> float | None:
    """Half the width of the interval of a mean over seeds.

    It is computed from the standard deviation of the seeds, and from the error of each run. With one seed, the interval
    is that of its run. With a few seeds, the runs' errors determine the error of the mean better than the scatter of
    seeds does, unless the seeds scatter more than these errors explain. An F test decides: without a significant
    difference, both are pooled by their degrees of freedom. Otherwise, or if a run has no error, only the seeds count.
    """
    n = len(within)
    known = [one for one in within if one is not None]
    between = Spread(deviation**2 / n, n - 1) if deviation is not None and n > 1 else None
    if len(known) < n:
        return None if between is None else _half(between)
    inside = Spread(sum(one.variance for one in known) / n**2, sum(one.freedom for one in known))
    if between is None:
        return _half(inside)
    if between.variance > inside.variance * float(stats.f.ppf(1 - POOL, between.freedom, inside.freedom)):
        return _half(between)
    freedom = between.freedom + inside.freedom
    both = between.freedom * between.variance + inside.freedom * inside.variance
    return _half(Spread(both / freedom, freedom))


def _half(of: Spread) -> float:
    return t_quantile(of.freedom + 1) * math.sqrt(of.variance)


def half_widths(measure: str) -> pl.Expr:
    """Half widths of means from the scatter of seeds: deviations in `MEASURE_half` and the number of `seeds`."""
    t = pl.col("seeds").map_elements(lambda n: t_quantile(n) if n > 1 else None, return_dtype=pl.Float64)
    return (t * pl.col(f"{measure}{HALF}") / pl.col("seeds").sqrt()).alias(f"{measure}{HALF}")


def transient(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case and bin: `t` in cycles from the change of traffic (the label `change`), means over seeds.

    `latency_mean` is in cycles, by the cycle of a packet's generation. `misrouted_percent` is the share of globally
    misrouted packets, or of packets misrouted in any way if the engine does not distinguish them.
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
    """Aggregates of measures over seeds: means, deviations for `half_widths`, and the value of each seed."""
    of_one = ((pl.col(m).mean(), pl.col(m).std().alias(f"{m}{HALF}"), pl.col(m).alias(f"{m}{EACH}")) for m in measures)
    return [pl.col("seed").cast(pl.Int64).alias(SEEDS), *(each for three in of_one for each in three)]


CONTROL = "control_utilisation"
"""Prefix of columns with the share of a link class's cycles that control messages use, in the table of points."""


def with_unfairness(table: pl.DataFrame, labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The table of a figure with `unfairness`: the spread of the loads that routers inject."""
    there = "unfairness" in done.points.columns
    spread = pl.col("unfairness") if there else pl.lit(None)
    return _with_mean(table, labels, done, spread.cast(pl.Float64), "unfairness")


def with_control(table: pl.DataFrame, labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The table of a figure with `control`: the share of control messages in the link class that has most of them."""
    shares = [c for c in done.points.columns if c.startswith(f"{CONTROL}.")]
    most = pl.max_horizontal(pl.col(shares).fill_null(0.0)) if shares else pl.lit(0.0)
    return _with_mean(table, labels, done, most, "control")


def _with_mean(table: pl.DataFrame, labels: pl.DataFrame, done: Done, of: pl.Expr, name: str) -> pl.DataFrame:
    """The table of a figure with the mean over seeds of a value of its runs, and half the width of its interval."""
    if table.is_empty():
        return table
    keys = [c for c in labels.columns if c not in ("seed", "point") and c in table.columns]
    means = (
        runs(labels, done)
        .group_by(keys)
        .agg(pl.len().alias("seeds"), of.mean().alias(name), of.std().alias(f"{name}{HALF}"))
        .with_columns(half_widths(name))
        .drop("seeds")
    )
    return table.join(means, on=keys, how="left", maintain_order="left")
