"""The saturation of curves, computed from the points of each curve."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from phit.base.numbers import readable


@dataclass(frozen=True)
class Curve:
    """A curve over the offered load."""

    panel: str
    name: str
    loads: tuple[tuple[float, float | None], ...]
    """Offered loads and the accepted loads there, as means over seeds."""
    sustained: float | None
    """The largest load that it sustains, with all smaller loads."""
    saturated: float | None
    """The smallest load at which any seed saturates."""
    accepted: float | None
    """The largest accepted load, mean over seeds."""
    latency: float | None
    """Mean latency at its smallest load, in cycles, mean over seeds."""

    @property
    def words(self) -> str:
        """The saturation in words."""
        if self.sustained is None:
            return f"saturated at every load, from {readable(self.saturated)}"
        if self.saturated is None:
            return f"sustains {readable(self.sustained)}, the largest load"
        return f"between {readable(self.sustained)} and {readable(self.saturated)}"


def curves_of(drawn: pl.DataFrame) -> Iterator[Curve]:
    """The curves of points with `x`, `series` and `panel` (`phit.drawing.plots.series_of`) and `saturated`."""
    placed = drawn.filter(pl.col("x").is_not_null())
    for (panel, name), own in placed.group_by("panel", "series", maintain_order=True):
        yield curve_of(str(panel), str(name), own)


def curve_of(panel: str, name: str, own: pl.DataFrame) -> Curve:
    """The curve of the points in `own`."""
    means = {
        column: pl.col(column).cast(pl.Float64).mean() if column in own.columns else pl.lit(None, dtype=pl.Float64)
        for column in ("accepted_load", "latency_mean")
    }
    saturated = pl.col("saturated").any() if "saturated" in own.columns else pl.lit(False)
    loads = own.group_by("x").agg(gone=saturated, **means).sort("x")
    gone = loads.filter(pl.col("gone"))["x"]
    first = float(gone[0]) if len(gone) else None
    below = loads if first is None else loads.filter(pl.col("x") < first)
    sustained = float(below["x"][-1]) if below.height else None
    pairs = tuple(loads.select("x", "accepted_load").iter_rows())
    most = max((accepted for _, accepted in pairs if accepted is not None), default=None)
    latency = loads["latency_mean"][0]
    return Curve(panel, name, pairs, sustained, first, most, None if latency is None else float(latency))
