"""Tables of figures: means over seeds with 95 % confidence intervals.

A figure's table is a function of its labels (one row per case, the hash of its run as `point`) and of what is done; a
table without rows says that none of the runs is there.
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

    The interval of a quantity of which single runs have one is that of `pooled`. `saturated`: one of the runs is.
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
"""Level of the test by which the errors of seeds and of single runs are taken together."""


def pooled(deviation: float | None, within: Sequence[Spread | None]) -> float | None:
    """The half width of the interval of a mean over seeds, from their standard deviation and from each run's error.

    With one seed it is that of its run. With a few, the runs' errors say more about how far the mean is off than how
    far the seeds are apart, as long as that is no more than the errors explain: an F test decides, and if it finds
    nothing both are pooled by their degrees of freedom. Otherwise the seeds alone count, as where a run has no error.
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
    """Half widths of means over seeds alone, from deviations in `MEASURE_half` and the number of `seeds`."""
    t = pl.col("seeds").map_elements(lambda n: t_quantile(n) if n > 1 else None, return_dtype=pl.Float64)
    return (t * pl.col(f"{measure}{HALF}") / pl.col("seeds").sqrt()).alias(f"{measure}{HALF}")


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


CONTROL = "control_utilisation"
"""Columns of the table of points begin with it: share of the cycles of a class of links that control messages take."""


def with_control(table: pl.DataFrame, labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """A table of a figure with `control` besides: what control messages take of the links, of the class with most."""
    if table.is_empty():
        return table
    keys = [c for c in labels.columns if c not in ("seed", "point") and c in table.columns]
    found = runs(labels, done)
    shares = [c for c in found.columns if c.startswith(f"{CONTROL}.")]
    most = pl.max_horizontal(pl.col(shares).fill_null(0.0)) if shares else pl.lit(0.0)
    means = found.group_by(keys).agg(pl.len().alias("seeds"), *_mean_and_deviation(most, "control"))
    means = means.with_columns(half_widths("control")).drop("seeds")
    return table.join(means, on=keys, how="left", maintain_order="left")


def _mean_and_deviation(of: pl.Expr, name: str) -> tuple[pl.Expr, pl.Expr]:
    return of.mean().alias(name), of.std().alias(f"{name}{HALF}")
