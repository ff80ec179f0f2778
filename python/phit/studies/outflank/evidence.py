"""What the claims' rules ask of the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from phit.studies.kit import tables
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.plan import Done
from phit.studies.outflank.model import AUTHOR, PER_MICROSECOND
from phit.studies.outflank.numbers import ROUTINGS
from phit.studies.outflank.setting import FIRST, STEP, Setting

CUT = 1.40
"""A load of the author's short runs counts as sustained up to this multiple of the smallest low-load lifetime."""

SHARE = 0.98
"""A load of a long run counts as sustained if this share of it is delivered."""


def lifetimes(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per pattern, size, routing and load: means over seeds, times in microseconds."""
    found = tables.runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    keys = [column for column in labels.columns if column not in ("seed", "point")]
    per_microsecond = pl.col("reading").replace_strict(PER_MICROSECOND, return_dtype=pl.Float64)
    # A trace has no load.
    accepted = (pl.col("delivered") * pl.col("load")).alias("accepted")
    shares = {"derouted": "misrouted", "oidn": "misrouted_locally", "widn": "misrouted_globally"}
    return (
        found.group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("seeds"),
            (pl.col("latency_mean") / per_microsecond).mean().alias("lifetime_us"),
            (pl.col("latency_mean") / per_microsecond).std().alias("lifetime_us_half"),
            (pl.col("network_latency_mean") / per_microsecond).mean().alias("network_us"),
            pl.col("hops_mean").mean().alias("hops"),
            *(pl.col(column).cast(pl.Float64).mean().alias(name) for name, column in shares.items()),
            (pl.col("accepted_load") / pl.col("offered_load")).mean().alias("delivered"),
            pl.col("converged").all(),
            pl.col("packets").sum(),
            pl.col("packet_hops").sum(),
            pl.col("cpu_seconds").sum(),
        )
        .with_columns(tables.half_widths("lifetime_us"))
        .with_columns([accepted] if "load" in keys else [])
        .sort(keys, maintain_order=True)
    )


@dataclass(frozen=True)
class Sustained:
    """The largest sustained load of a curve."""

    load: float
    bounded: bool
    """False if the curve ends there: the true one may be larger."""


class Curves:
    """A table of lifetimes."""

    def __init__(self, table: pl.DataFrame, name: str) -> None:
        self._table = table
        self._name = name

    def rows(self, **where: Any) -> pl.DataFrame:
        """The rows with these labels."""
        if self._table.is_empty():
            raise NotRunError(f"{self._name} was not run")
        found = self._table.filter(*(pl.col(key) == value for key, value in where.items())).sort("load")
        if found.is_empty():
            words = ", ".join(str(value) for value in where.values())
            raise NotRunError(f"{self._name}: no run of {words}")
        return found

    def value(self, column: str, **where: Any) -> float:
        """One value."""
        return float(self.rows(**where)[column][0])

    def _last(self, keep: Sequence[bool], loads: Sequence[float]) -> Sustained:
        """The load before the first that is not sustained: the two must be neighbours on the grid."""
        last = 0.0
        for load, good in zip(loads, keep, strict=True):
            if not good:
                if last and load - last > STEP + 1e-6:
                    raise NotRunError(f"{self._name}: no run between loads {last:g} and {load:g}")
                return Sustained(last, bounded=True)
            last = load
        return Sustained(last, bounded=False)

    def by_lifetime(self, pattern: str, k: int, routing: str) -> Sustained:
        """gamma* of the author's short runs, by `CUT`."""
        low = min(self.value("lifetime_us", pattern=pattern, k=k, routing=name, load=FIRST) for name in ROUTINGS)
        rows = self.rows(pattern=pattern, k=k, routing=routing)
        found = self._last([time <= CUT * low for time in rows["lifetime_us"]], rows["load"].to_list())
        if not found.bounded:
            raise NotRunError(f"{self._name}: {pattern}, k={k}, {routing} is still sustained at {found.load:g}")
        return found

    def by_delivery(self, pattern: str, k: int, routing: str) -> Sustained:
        """gamma* of long runs, by `SHARE`."""
        rows = self.rows(pattern=pattern, k=k, routing=routing)
        return self._last([share >= SHARE for share in rows["delivered"]], rows["load"].to_list())


@dataclass(frozen=True)
class Evidence:
    """The tables of all figures, and the setting that they were run in."""

    tables: Mapping[str, pl.DataFrame]
    setting: Setting

    def curves(self, figure: str = "table2") -> Curves:
        """A table of lifetimes; that of table 2 holds all runs of the author's reading."""
        return Curves(self.tables.get(figure, pl.DataFrame()), figure)

    def reading(self) -> str:
        """The reading that claims are judged by."""
        return AUTHOR
