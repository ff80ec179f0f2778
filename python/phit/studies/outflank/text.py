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
    """Lifetimes and shares with answers beside those with credits."""
    if table.is_empty():
        return ""
    keys = ["pattern", "routing", "load"]
    sides = [table.filter(pl.col("acceptance") == by) for by in (ANSWERS, CREDITS)]
    both = sides[0].join(sides[1], on=keys, suffix="_credits", maintain_order="left")
    rows = [
        [
            row["pattern"],
            row["routing"],
            f"{row['load']:.2f}",
            f"{row['lifetime_us']:.3f}",
            f"{row['lifetime_us_credits']:.3f}",
            f"{100 * (row['lifetime_us'] / row['lifetime_us_credits'] - 1):+.1f} %",
            f"{row['derouted']:.3f}",
            f"{row['derouted_credits']:.3f}",
            f"{row['delivered']:.3f}",
            f"{row['delivered_credits']:.3f}",
        ]
        for row in both.iter_rows(named=True)
    ]
    headings = ["pattern", "routing", "load", "lifetime (µs), answers", "credits", "difference"]
    headings += ["derouted, answers", "credits", "delivered, answers", "credits"]
    return _lines(headings, rows)


def shares(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """Lifetimes and shares, row by row."""
    if table.is_empty():
        return ""
    skipped = {"reading", "rules", "seeds", "lifetime_us_half", "packets", "packet_hops", "cpu_seconds", "converged"}
    columns = [column for column in table.columns if column not in skipped]
    rows = [
        [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row]
        for row in table.select(columns).rows()
    ]
    return _lines(columns, rows)
