"""The paper's tables beside what was measured, in Markdown."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from phit.markdown import markdown_table
from phit.studies.kit.claim import NotRunError
from phit.studies.outflank.cases import ACCEPTANCES, ANSWERS, CREDITS
from phit.studies.outflank.evidence import SHARE, Curves
from phit.studies.outflank.model import AUTHOR, PAPER
from phit.studies.outflank.numbers import (
    PATTERNS,
    ROUTINGS,
    SIDES,
    TABLE_3,
    TABLE_3_COLUMNS,
    sustained,
)
from phit.studies.outflank.rules import low_load_shares
from phit.studies.outflank.setting import STEP, Setting

MISSING = "–"

Text = Callable[[pl.DataFrame, Setting], str]

HEADINGS = {
    "rules": "rules",
    "variant": "variant",
    "compression": "compression",
    "load": "offered load (gamma_0)",
    "lifetime_us": "lifetime (µs)",
    "network_us": "in the network (µs)",
    "hops": "hops",
    "derouted": "derouted (%)",
    "oidn": "by OIDN (%)",
    "widn": "by WIDN (%)",
    "delivered": "delivered (%)",
}
"""Of the columns of tables, with units; labels are their own headings."""

_DIGITS = {"load": 2, "lifetime_us": 2, "network_us": 3, "hops": 3, "derouted": 1, "oidn": 1, "widn": 1, "delivered": 1}


def _cell(column: str, value: float | str | None) -> str:
    if value is None:
        return MISSING
    if isinstance(value, str | int):
        return str(value)
    return f"{value * (100 if '%' in HEADINGS[column] else 1):.{_DIGITS[column]}f}"


def _of_kind(row: Mapping[str, Any], name: str) -> Any:
    """A value of a row; only OFR has derouted packets of several kinds."""
    return None if name in ("oidn", "widn") and row["routing"] != "OFR" else row[name]


def columns(*names: str) -> Text:
    """A function that shows these columns of a table, row by row."""

    def show(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
        cells = ([_cell(name, _of_kind(row, name)) for name in names] for row in table.iter_rows(named=True))
        return markdown_table([HEADINGS.get(name, name) for name in names], cells)

    return show


def _sustained(curves: Curves, pattern: str, k: int, routing: str) -> str:
    try:
        return f"{curves.by_lifetime(pattern, k, routing).load:.2f}"
    except NotRunError:
        return MISSING


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
    return f"{markdown_table(headings, rows)}\n\nIn brackets: the paper's." if sides else ""


def derouted(table: pl.DataFrame, of: Setting) -> str:
    """Table 3: ours at low load on the largest network; the paper's, of k = 16, in brackets."""
    curves = Curves(table, "table 3")
    rows = []
    for pattern in PATTERNS:
        try:
            ours = [f"{share:.3f}" for share in low_load_shares(curves, pattern, of.largest)]
        except NotRunError:
            ours = [MISSING] * len(TABLE_3_COLUMNS)
        rows.append(
            [pattern, *(f"{mine} ({printed:.2f})" for mine, printed in zip(ours, TABLE_3[pattern], strict=True))]
        )
    table_3 = markdown_table(["pattern", *TABLE_3_COLUMNS], rows)
    return f"{table_3}\n\nShares of all packets, k = {of.largest}; in brackets: the paper's, k = 16."


def _delivered(curves: Curves, pattern: str, k: int, routing: str) -> str:
    try:
        found = curves.by_delivery(pattern, k, routing)
        least = float(min(curves.rows(pattern=pattern, k=k, routing=routing)["load"]))
    except NotRunError:
        return MISSING
    if not found.load:
        return f"< {least:.2f}"
    return f"{'' if found.bounded else '≥ '}{found.load:.2f}"


def _against_the_claims(curves: Curves, k: int) -> str:
    """What becomes of claims O1 to O3 at one size if gamma* is read from what is delivered."""
    try:
        ours = {(p, r): curves.by_delivery(p, k, r) for p in PATTERNS for r in ROUTINGS}
    except NotRunError:
        return ""
    paper = {(p, r): sustained(p, r, k) for p, r in ours}
    equal = sum(found.bounded and abs(found.load - paper[cell]) < STEP / 2 for cell, found in ours.items())

    def outcome(loads: Mapping[tuple[str, str], float], other: str) -> str:
        steps = [round((loads[p, "OFR"] - loads[p, other]) / STEP) for p in PATTERNS]
        return f"{sum(s > 0 for s in steps)} won, {sum(s < 0 for s in steps)} lost, {steps.count(0)} drawn"

    found = {cell: sustained_.load for cell, sustained_ in ours.items()}
    return (
        f"\n\nRead so, {equal} of the {len(ours)} numbers at k = {k} are those of table 2. OFR against POR: "
        f"{outcome(found, 'POR')} ({outcome(paper, 'POR')} in table 2); against ABR: {outcome(found, 'ABR')} "
        f"({outcome(paper, 'ABR')} in table 2)."
    )


def delivery(table: pl.DataFrame, of: Setting) -> str:
    """gamma* of steady states, and the paper's in brackets."""
    k = of.sides[0]
    curves = Curves(table, "steady states")
    present = [pattern for pattern in PATTERNS if pattern in table["pattern"]]
    printed = {
        (pattern, routing): f" ({sustained(pattern, routing, k):.2f})" if k in SIDES else ""
        for pattern in PATTERNS
        for routing in ROUTINGS
    }
    rows = [
        [pattern, *(f"{_delivered(curves, pattern, k, name)}{printed[pattern, name]}" for name in ROUTINGS)]
        for pattern in present
    ]
    words = f"gamma*: the largest load of which {SHARE:.0%} is delivered, k = {k}; ≥: no larger one was run."
    brackets = " In brackets: table 2 of the paper." if k in SIDES else ""
    claims = _against_the_claims(curves, k) if k in SIDES else ""
    return f"{markdown_table(['pattern', *ROUTINGS], rows)}\n\n{words}{brackets}{claims}"


def divergence(table: pl.DataFrame, of: Setting) -> str:
    """gamma* of long runs of the Butterfly, and the paper's in brackets."""
    curves = Curves(table, "long runs")
    rows = []
    for k in of.sides:
        printed = [f" ({sustained('Butterfly/FFT', name, k):.2f})" if k in SIDES else "" for name in ROUTINGS]
        cells = [_delivered(curves, "Butterfly/FFT", k, name) for name in ROUTINGS]
        rows.append([str(k), *(cell + paper for cell, paper in zip(cells, printed, strict=True))])
    words = f"gamma*: the largest load of which {SHARE:.0%} is delivered; in brackets: table 2 of the paper."
    return f"{markdown_table(['k', *ROUTINGS], rows)}\n\n{words}"


def _side_by_side(
    table: pl.DataFrame, label: str, sides: Sequence[str], keys: Sequence[str], shown: Sequence[str]
) -> list[list[str]]:
    """A row of text for those rows of the table that differ in `label` alone, the values of all sides in one cell."""
    both = table.select(keys).unique(maintain_order=True)
    for side in sides:
        other = table.filter(pl.col(label) == side).select(*keys, pl.col(shown).name.suffix(f" {side}"))
        both = both.join(other, on=keys, how="left", maintain_order="left")
    return [
        [
            *(_cell(key, row[key]) for key in keys),
            *(" / ".join(_cell(name, row[f"{name} {side}"]) for side in sides) for name in shown),
        ]
        for row in both.iter_rows(named=True)
    ]


def acceptance(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """Times and shares with answers beside those with credits."""
    keys = ("pattern", "routing", "load")
    shown = ("network_us", "derouted", "delivered", "lifetime_us")
    rows = _side_by_side(table, "acceptance", ACCEPTANCES, keys, shown)
    order = "In the packet-level node with answers / in it with credits / in the input-queued router with credits."
    return f"{markdown_table([HEADINGS.get(name, name) for name in (*keys, *shown)], rows)}\n\n{order}"


def credited(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """Runs with answers beside the same with credits."""
    keys, shown = ("pattern", "routing", "load"), ("lifetime_us", "hops", "derouted")
    rows = _side_by_side(table, "acceptance", (ANSWERS, CREDITS), keys, shown)
    heading = [HEADINGS.get(name, name) for name in (*keys, *shown)]
    return f"{markdown_table(heading, rows)}\n\nWith answers / with credits."


def rules(table: pl.DataFrame, of: Setting) -> str:  # noqa: ARG001
    """The author's rules beside those of the text."""
    keys, shown = ("pattern", "routing", "load"), ("derouted", "hops", "lifetime_us")
    rows = _side_by_side(table, "rules", (AUTHOR, PAPER), keys, shown)
    heading = [HEADINGS.get(name, name) for name in (*keys, *shown)]
    return f"{markdown_table(heading, rows)}\n\nWith the author's rules / with those of the text."
