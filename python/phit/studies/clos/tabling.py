"""The tables of the figures that are not curves of steady states."""

import polars as pl

from phit.studies import tables
from phit.studies.clos.closed import latency_ratio, two_or_more
from phit.studies.plan import Done

ADAPTIVE, OBLIVIOUS = "sequential", "oblivious"


BEYOND = 20
"""Times the latency of an empty network with three stages from which on a run counts as saturated: with half of the
routers congested and the others not, the accepted load alone tells too little."""


EMPTY = 4
"""Cycles of a packet through three stages, without those that its flits take."""


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Means of latency and accepted load; half widths are of 99 % intervals, from a run's own batch means."""
    means = tables.steady(labels, done.points)
    if means.is_empty():
        return means
    flits = pl.col("flits") if "flits" in means.columns else pl.lit(1)
    return means.with_columns(saturated=pl.col("saturated") | (pl.col("latency_mean") > BEYOND * (EMPTY + flits)))


def ratios(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Figure 2: one row per number of stages, with both latencies, their ratio and the formula's."""
    means = steady(labels, done)
    if means.is_empty():
        return means
    keys = ["radix", "stages"]
    sides = [
        means.filter(pl.col("mechanism") == name).select(
            *keys,
            pl.col("latency_mean").alias(name),
            pl.col("latency_mean_half").alias(f"{name}_half"),
            pl.col("accepted_load").alias(f"{name}_accepted"),
            "seeds",
            "cpu_seconds",
        )
        for name in (ADAPTIVE, OBLIVIOUS)
    ]
    joined = sides[0].join(sides[1].drop("seeds"), on=keys, suffix="_oblivious")
    ratio = pl.col(ADAPTIVE) / pl.col(OBLIVIOUS)
    errors = [(pl.col(f"{name}_half") / pl.col(name)).fill_null(0.0) ** 2 for name in (ADAPTIVE, OBLIVIOUS)]
    return joined.with_columns(
        ratio=ratio,
        ratio_half=ratio * (errors[0] + errors[1]).sqrt(),
        formula=pl.col("stages").map_elements(latency_ratio, return_dtype=pl.Float64),
    ).sort("stages")


def histograms(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Figure 5: the share of packets by latency, with mean and standard deviation of the whole distribution."""
    found = labels.join(done.histograms, on="point", how="inner") if "latency" in done.histograms.columns else None
    if found is None or found.is_empty():
        return pl.DataFrame()
    counts = found.group_by("mechanism", "latency", maintain_order=True).agg(pl.col("packets").sum())
    share = pl.col("packets") / pl.col("packets").sum().over("mechanism")
    means = steady(labels, done).select("mechanism", "latency_mean", "latency_std", "latency_mean_half", "seeds")
    return counts.with_columns(share=share).join(means, on="mechanism").sort("mechanism", "latency")


def snapshots(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Figure 6: by middle-stage router, phits in its fullest buffer: at the end, on average and at most.

    `all_mean` is the mean over all buffers of the middle stage.
    """
    found = labels.join(done.probes, on="point", how="inner") if "probe" in done.probes.columns else None
    if found is None or found.is_empty():
        return pl.DataFrame()
    found = found.filter(pl.col("seed") == pl.col("seed").min()).sort("cycle")
    everything = (
        found.filter(pl.col("quantity") == "all").group_by("mechanism").agg(pl.col("mean").mean().alias("all_mean"))
    )
    return (
        found.filter(pl.col("quantity") == "fullest", pl.col("router").is_not_null())
        .group_by("mechanism", "router")
        .agg(
            pl.col("max").last().alias("snapshot"),
            pl.col("mean").mean().alias("time_mean"),
            pl.col("max").max().alias("greatest"),
        )
        .join(everything, on="mechanism")
        .sort("mechanism", "router")
    )


PROBABILITIES = ((64, 1), (64, 8), (8, 1))
"""Radix and flits of a packet of the curves of figure 11."""


def probabilities() -> pl.DataFrame:
    """Figure 11: the probability that two or more heads arrive in one cycle."""
    rows = [
        {"radix": radix, "flits": flits, "load": load / 50, "probability": two_or_more(radix, flits, load / 50)}
        for radix, flits in PROBABILITIES
        for load in range(51)
    ]
    return pl.DataFrame(rows)


def of_precision(table: pl.DataFrame, flits: int) -> pl.DataFrame:
    """The rows of figure 14 for packets of that size, at the highest load at which no precision is saturated.

    Oblivious routing, `bits` -1, is left out if it is saturated there.
    """
    rows = table.filter(pl.col("flits") == flits)
    loads = rows.filter(pl.col("bits") >= 0).group_by("load").agg(pl.len(), pl.col("saturated").any())
    calm = loads.filter(~pl.col("saturated"), pl.col("len") == pl.col("len").max())
    chosen = rows.filter(pl.col("load") == calm["load"].max(), ~pl.col("saturated"))
    return chosen if calm.height else rows.head(0)
