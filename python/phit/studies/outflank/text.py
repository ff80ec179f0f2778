"""The paper's tables beside what was measured, in Markdown."""

from collections.abc import Sequence

import polars as pl

from phit.studies.claims import NotRunError
from phit.studies.outflank.cases import ANSWERS, CREDITS
from phit.studies.outflank.evidence import Curves
from phit.studies.outflank.numbers import (
    PATTERNS,
    ROUTINGS,
    SIDES,
    TABLE_3,
    TABLE_3_COLUMNS,
    sustained,
)
from phit.studies.outflank.rules import low_load_shares
from phit.studies.outflank.setting import Setting


def _lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    line = "| {} |".format
    parts = [line(" | ".join(headings)), line(" | ".join("---" for _ in headings))]
    return "\n".join([*parts, *(line(" | ".join(row)) for row in rows)])


def _sustained(curves: Curves, pattern: str, k: int, routing: str) -> str:
    try:
        return f"{curves.by_lifetime(pattern, k, routing).load:.2f}"
    except NotRunError:
        return "–"


def throughput(table: pl.DataFrame, of: Setting) -> str:
    """Table 2: ours, and the paper's in brackets; a dash where the runs that decide are missing."""
    curves = Curves(table, "table 2")
    sides = [k for k in SIDES if k in of.sides]
    headings = ["pattern", *(f"{routing}, k = {k}" for routing in ROUTINGS for k in sides)]
    rows = [
        [
            pattern,
            *(
                f"{_sustained(curves, pattern, k, routing)} ({sustained(pattern, routing, k):.2f})"
                for routing in ROUTINGS
                for k in sides
            ),
        ]
        for pattern in PATTERNS
    ]
    return f"{_lines(headings, rows)}\n\nIn brackets: the paper's." if sides else ""


def derouted(table: pl.DataFrame, of: Setting) -> str:
    """Table 3: ours at low load on the largest network; the paper's, of k = 16, in brackets."""
    curves = Curves(table, "table 3")
    rows = []
    for pattern in PATTERNS:
        try:
            ours = [f"{share:.3f}" for share in low_load_shares(curves, pattern, of.largest)]
        except NotRunError:
            ours = ["–"] * len(TABLE_3_COLUMNS)
        rows.append(
            [pattern, *(f"{mine} ({printed:.2f})" for mine, printed in zip(ours, TABLE_3[pattern], strict=True))]
        )
    return f"{_lines(['pattern', *TABLE_3_COLUMNS], rows)}\n\nk = {of.largest}; in brackets: the paper's, k = 16."


def acceptance(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """Times and shares with answers beside those with credits."""
    if table.is_empty():
        return ""
    keys = ["pattern", "routing", "load"]
    sides = [table.filter(pl.col("acceptance") == by) for by in (ANSWERS, CREDITS)]
    both = sides[0].join(sides[1], on=keys, suffix="_credits", maintain_order="left")
    columns = {"network_us": 3, "derouted": 3, "delivered": 3, "lifetime_us": 3}
    rows = []
    for row in both.iter_rows(named=True):
        pairs = [f"{row[name]:.{digits}f} / {row[f'{name}_credits']:.{digits}f}" for name, digits in columns.items()]
        difference = f"{100 * (row['network_us'] / row['network_us_credits'] - 1):+.1f} %"
        rows.append([row["pattern"], row["routing"], f"{row['load']:.2f}", pairs[0], difference, *pairs[1:]])
    headings = ["pattern", "routing", "load", "in the network (µs)", "difference", "derouted", "delivered"]
    return f"{_lines([*headings, 'lifetime (µs)'], rows)}\n\nWith answers / with credits."


def shares(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """Lifetimes and shares, row by row."""
    if table.is_empty():
        return ""
    skipped = {
        "reading",
        "rules",
        "seeds",
        "lifetime_us_half",
        "network_us",
        "packets",
        "packet_hops",
        "cpu_seconds",
        "converged",
    }
    columns = [column for column in table.columns if column not in skipped]
    rows = [
        [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row]
        for row in table.select(columns).rows()
    ]
    return _lines(columns, rows)
