"""Tables of figures: those that all studies share, and the counters of tables I and II."""

import polars as pl

from phit.markdown import markdown_table
from phit.studies import tables
from phit.studies.plan import Done
from phit.studies.study import READING
from phit.studies.tpr.setting import Setting


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Means of steady states."""
    return tables.steady(labels, done.points)


COUNTERS = {"sent_to_next": "sent_to_next", "through": "probes.through"}
"""Counter of packets that router 0 sends to router 1, and mean counter of through packets over all ports."""


def counters(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Tables I and II: mean counters over looks and seeds."""
    found = tables.runs(labels, done.points)
    if found.is_empty() or done.probes.is_empty() or COUNTERS["through"] not in found.columns:
        return pl.DataFrame()
    # Of the router that is looked at alone, router 0, counter by counter.
    to_next = done.probes.filter(pl.col("quantity") == "sent", pl.col("index") == 1)
    sent = to_next.group_by("point").agg(pl.col("mean").mean().alias(COUNTERS["sent_to_next"]))
    found = found.join(sent, on="point", how="left", maintain_order="left")
    return found.group_by(READING, "pattern", "load", maintain_order=True).agg(
        pl.len().alias("seeds"),
        *(pl.col(column).cast(pl.Float64).mean().alias(name) for name, column in COUNTERS.items()),
        pl.col("accepted_load").mean(),
        pl.col("misrouted_globally").mean(),
        pl.col("cpu_seconds").sum(),
    )


def counters_text(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """Tables I and II in Markdown."""
    head = ("reading", "pattern", "offered", "accepted", "nonminimal", "sent to router 1", "through a port")
    columns = (READING, "pattern", "load", "accepted_load", "misrouted_globally", *COUNTERS)
    return markdown_table(
        head,
        (
            (reading, pattern, f"{load:g}", f"{accepted:.3f}", f"{share:.1%}", f"{sent:.3g}", f"{through:.3g}")
            for reading, pattern, load, accepted, share, sent, through in table.select(columns).iter_rows()
        ),
    )


def choices_text(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """What other choices do, in Markdown."""
    head = ("choice", "mechanism", "pattern", "offered", "accepted", "latency (cycles)", "nonminimal")
    columns = ("choice", "mechanism", "pattern", "load", "accepted_load", "latency_mean", "misrouted_globally")
    return markdown_table(
        head,
        (
            (choice, name, pattern, f"{load:g}", f"{accepted:.3f}", f"{latency:.1f}", f"{share:.1%}")
            for choice, name, pattern, load, accepted, latency, share in table.select(columns).iter_rows()
        ),
    )
