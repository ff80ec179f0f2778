"""Tables of a run as data frames."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from phit.store.quantities import TABLES

if TYPE_CHECKING:
    # Most commands need no tables, and start in half the time without this library.
    import polars as pl


@cache
def _cells() -> "dict[str, pl.DataType]":
    """Types of the columns of tables."""
    import polars as pl

    return {
        "number": pl.Float64(),
        "whole": pl.Int64(),
        "flag": pl.Boolean(),
        "text": pl.String(),
        "wholes": pl.List(pl.Int64()),
        "texts": pl.List(pl.String()),
    }


def frame(table: str, columns: Mapping[str, list[Any]]) -> "pl.DataFrame":
    """A table of a run with the types that the engine declares, whatever its cells are."""
    import polars as pl

    declared = {c.name: _cells()[c.cell] for c in TABLES[table].columns} if table in TABLES else {}
    types = {name: type_ for name, type_ in declared.items() if name in columns}
    return pl.DataFrame(columns, schema_overrides=types, strict=False)
