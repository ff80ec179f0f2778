"""Where each curve saturates: the largest load that it sustains, and the most that it accepts."""

from dataclasses import dataclass

import polars as pl

from phit.quantities import SATURATED_BELOW
from phit.reporting.section import Content, Section
from phit.reporting.source import Source
from phit.reporting.templates import render
from phit.result import readable

LOADS = ("traffic.load", "offered_load")


@dataclass(frozen=True)
class Row:
    """A curve."""

    panel: str
    name: str
    sustained: float | None
    """The largest load that it sustains, with all smaller ones."""
    saturated: float | None
    """The smallest one from which on it does not."""
    accepted: float | None
    """The most that it accepts, mean over seeds."""
    latency: float | None
    """Mean latency at its smallest load, in cycles, mean over seeds."""

    @property
    def words(self) -> str:
        """Where it saturates."""
        if self.sustained is None:
            return f"saturated at every load, from {readable(self.saturated)}"
        if self.saturated is None:
            return f"sustains {readable(self.sustained)}, the largest load"
        return f"between {readable(self.sustained)} and {readable(self.saturated)}"


def _build(source: Source) -> Content | None:
    plot = source.manifest.get("plot", {})
    if source.curves is None or plot.get("x", LOADS[0]) not in LOADS or "saturated" not in source.points.columns:
        return None
    rows = [
        _row(str(panel), str(name), own)
        for (panel, name), own in source.curves.group_by("panel", "series", maintain_order=True)
    ]
    most = max((row.accepted or 0.0 for row in rows), default=0.0) or 1.0
    panels = len({row.panel for row in rows}) > 1
    return Content(
        render("saturation.html", rows=rows, most=most, panels=panels, readable=readable, share=SATURATED_BELOW)
    )


def _row(panel: str, name: str, own: pl.DataFrame) -> Row:
    columns = {c: pl.col(c).cast(pl.Float64).mean() for c in ("accepted_load", "latency_mean") if c in own.columns}
    loads = own.group_by("x").agg(pl.col("saturated").any(), **columns).sort("x")
    gone = loads.filter(pl.col("saturated"))["x"]
    first = float(gone[0]) if len(gone) else None
    below = loads if first is None else loads.filter(pl.col("x") < first)
    sustained = float(below["x"][-1]) if below.height else None
    accepted = loads["accepted_load"].max() if "accepted_load" in columns else None
    latency = loads["latency_mean"][0] if "latency_mean" in columns else None
    return Row(panel, name, sustained, first, accepted, latency)  # type: ignore[arg-type]


SECTION = Section("saturation", "Saturation", _build)
