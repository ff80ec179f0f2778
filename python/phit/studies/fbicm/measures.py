"""Tables of the figures."""

import polars as pl

from phit.studies.fbicm.setting import US
from phit.studies.kit import tables
from phit.studies.kit.plan import Done
from phit.timelapse import port_frames

QUEUEING = (
    "detections",
    "lines_allocated",
    "lines_freed",
    "line_lifetime",
    "without_line",
    "cam_on",
    "cams",
    "cam_bytes",
    "allocations_sent",
    "allocation_bits",
    "updates_sent",
    "update_bits",
    "stops_sent",
    "stop_bits",
    "gos_sent",
    "go_bits",
    "deallocations_sent",
    "deallocation_bits",
)
"""What FBICM counts."""


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Figure 5.1 and others: means over seeds, and the packets that came out of order."""
    table = tables.steady(labels, done)
    if table.is_empty():
        return table
    keys = [c for c in labels.columns if c not in ("seed", "point")]
    order = tables.runs(labels, done).group_by(keys).agg(pl.col("out_of_order").sum())
    return table.join(order, on=keys, how="left", maintain_order="left", nulls_equal=True)


def over_time(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case and bin: `t` in microseconds, accepted load as a share of the links, mean over seeds."""
    keys = [c for c in labels.columns if c not in ("seed", "point")]
    if labels.is_empty() or done.series.is_empty() or "accepted_load" not in done.series.columns:
        return pl.DataFrame()
    order = tables.runs(labels, done).select("point", "out_of_order")
    found = labels.join(done.series.select("point", "cycle", "accepted_load"), on="point", how="inner")
    found = found.join(order, on="point", how="left").with_columns(t=pl.col("cycle").cast(pl.Float64) / US)
    if found.is_empty():
        return pl.DataFrame()
    table = found.group_by([*keys, "t"], maintain_order=True).agg(
        pl.len().alias("seeds"),
        pl.col("accepted_load").mean(),
        pl.col("accepted_load").std().alias("accepted_load_half"),
        pl.col("out_of_order").sum(),
    )
    return table.with_columns(tables.half_widths("accepted_load")).sort([*keys, "t"], maintain_order=True)


def counts(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per run: what FBICM has counted."""
    found = tables.runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    keys = [c for c in labels.columns if c != "point"]
    named = {f"queueing.{name}": name for name in QUEUEING if f"queueing.{name}" in found.columns}
    table = found.select(*keys, "accepted_load", "cycles", "out_of_order", *named).rename(named)
    notes = [name for name in named.values() if name.endswith("_bits")]
    return table.with_columns(
        bits=pl.sum_horizontal(notes),
        lifetime=pl.col("line_lifetime") / pl.col("lines_freed"),
        cam_share=pl.col("cam_on") / (pl.col("cams") * pl.col("cycles")),
        bytes_per_cam=pl.col("cam_bytes") / pl.col("cams"),
    )


def frames(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per input port, frame and scheme: see `phit.timelapse.port_frames`; `t` is in microseconds."""
    if labels.is_empty() or done.probes.is_empty():
        return pl.DataFrame()
    found = labels.join(done.probes.filter(pl.col("probe").is_in(["ports", "trees"])), on="point", how="inner")
    if found.is_empty():
        return pl.DataFrame()
    return port_frames(found, ["mechanism"]).with_columns(t=pl.col("cycle").cast(pl.Float64) / US)
