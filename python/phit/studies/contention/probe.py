"""The recorded contention counters."""

import polars as pl

COLUMN = "probes.contention"
"""Column of the table of points: mean contention counter over all output ports and looks of the measurement."""


def mean_counter(table: pl.DataFrame | None) -> float | None:
    """The mean contention counter over all output ports, mean over runs; `None` if it was not recorded."""
    if table is None or COLUMN not in table.columns or table.is_empty():
        return None
    value = table.select(pl.col(COLUMN).cast(pl.Float64).mean()).item()
    return None if value is None else float(value)
