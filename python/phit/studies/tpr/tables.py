"""Tables of figures: those that all studies share, and the counters of tables I and II."""

import polars as pl

from phit.studies import tables
from phit.studies.plan import Done


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Means of steady states."""
    return tables.steady(labels, done.points)


COUNTERS = {"sent_to_next": "probes.sent 1", "through": "probes.through"}
"""Counter of packets that router 0 sends to router 1, and mean counter of through packets over all ports."""


def counters(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Tables I and II: mean counters over looks and seeds."""
    found = tables.runs(labels, done.points)
    if found.is_empty() or any(column not in found.columns for column in COUNTERS.values()):
        return pl.DataFrame()
    return found.group_by("pattern", "load", maintain_order=True).agg(
        pl.len().alias("seeds"),
        *(pl.col(column).cast(pl.Float64).mean().alias(name) for name, column in COUNTERS.items()),
        pl.col("accepted_load").mean(),
        pl.col("misrouted_globally").mean(),
        pl.col("cpu_seconds").sum(),
    )
