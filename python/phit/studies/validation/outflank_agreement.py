"""How many of the rows of the OutFlank author's simulator agree, and whether the same loads are sustained."""

from collections.abc import Iterator, Sequence
from math import prod

import polars as pl

from phit.peers.comparison import NAMES, Comparison, Verdict
from phit.peers.outflank_author import CUT_WORDS, STEP
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.lifetimes import Lifetimes
from phit.studies.validation.outflank import SIMULATOR

__all__ = ["SIMULATOR", "sustained", "text"]

RULE = f"gamma* is the {CUT_WORDS}, in either simulator's numbers."


def _routers(network: str) -> int:
    return prod(int(side) for side in network.split("x"))


def _curves(comparisons: Sequence[Comparison], *, ours: bool) -> Lifetimes:
    """Lifetimes over load; the number of routers takes the place of k."""
    rows = []
    for c in comparisons:
        if c.case.simulator == SIMULATOR and c.measure == "latency_mean" and not c.case.setting:
            network, pattern, routing = c.case.series.split(", ")
            lifetime = c.ours if ours else c.theirs
            rows.append((_routers(network), pattern, routing, c.case.load, lifetime))
    return Lifetimes(pl.DataFrame(rows, schema=["k", "pattern", "routing", "load", "lifetime_us"], orient="row"), "")


def sustained(comparisons: Sequence[Comparison]) -> Iterator[tuple[str, float, float]]:
    """Network, pattern and routing; gamma* of the author's numbers, and of ours."""
    series = dict.fromkeys(c.case.series for c in comparisons if c.case.simulator == SIMULATOR and not c.case.setting)
    theirs, ours = (_curves(comparisons, ours=whose) for whose in (False, True))
    for name in series:
        network, pattern, routing = name.split(", ")
        try:
            loads = [curves.sustained(pattern, routing, _routers(network)) for curves in (theirs, ours)]
        except NotRunError:
            continue
        yield name, loads[0], loads[1]


def text(comparisons: Sequence[Comparison]) -> str:
    """In Markdown: rows that agree by measure, and loads that are sustained."""
    judged = [c for c in comparisons if c.case.simulator == SIMULATOR and c.verdict is not Verdict.SHOWN]
    lines = ["| | rows | agree |", "| --- | ---: | ---: |"]
    for measure in dict.fromkeys(c.measure for c in judged):
        those = [c for c in judged if c.measure == measure]
        agree = sum(c.verdict is Verdict.AGREES for c in those)
        lines.append(f"| {NAMES[measure]} | {len(those)} | {agree} |")
    found = list(sustained(comparisons))
    if not found:
        return "\n".join(lines)
    within = [row for row in found if abs(row[2] - row[1]) <= STEP + 1e-9]
    equal = sum(abs(ours - theirs) < STEP / 2 for _, theirs, ours in found)
    lines.append(f"| gamma*, within a step of {STEP:g} | {len(found)} | {len(within)} |")
    others = [f"{name} {theirs:.2f}, here {ours:.2f}" for name, theirs, ours in found if abs(ours - theirs) > STEP / 2]
    words = f" Not equal: {'; '.join(others)}." if others else ""
    return "\n".join([*lines, "", f"{RULE} {equal} of {len(found)} are equal.{words}"])
