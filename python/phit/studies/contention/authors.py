"""FOGSim's own runs at h = 4, which show that the rules of the claims judge FOGSim like Phit.

FOGSim made the paper's figures. If its runs fail a rule, another simulator need not fulfil the rule.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import polars as pl

from phit.base.errors import InputError
from phit.peers.reference import CHECKOUT, Row, rows
from phit.store.quantities import SATURATED_BELOW
from phit.studies.contention import setting as scales
from phit.studies.contention.paper import Evidence, far
from phit.studies.contention.setting import Setting
from phit.studies.kit.claim import Fact, Judgement, NotRunError, SaturatedError
from phit.studies.kit.scale import Scale
from phit.studies.kit.tables import EACH, SEEDS

STEADY = "fogsim_h4_steady.csv"
SENSITIVITY = "fogsim_h4_sensitivity.csv"
TRANSIENT = "fogsim_h4_transient.csv"
FAR = "fogsim_h8_far.csv"
"""OLM and ECtN under ADV+h on the paper's network, at the load that decides claim C10."""

SHOWN = "tests/reference, and the page on agreement"
"""The place of the numbers."""

PAPER_THRESHOLDS = {
    "MIN": "",
    "OLM": "",
    "Base": "ContentionThreshold=6",
    "Hybrid": "ContentionThreshold=7",
    "ECtN": "ContentionThreshold=6 ContentionGlobalThreshold=10",
}
"""The thresholds of Table I for each mechanism, as its runs at h = 4 name them."""

ROUNDS = "ArbiterIterations"
"""Key for the number of allocation rounds, which changes little: the runs of MIN and OLM at 0.8 have two."""


def setting() -> Setting:
    """The network of these runs."""
    return scales.setting(Scale.SMALL)


def _rows(name: str) -> list[Row]:
    try:
        return rows(CHECKOUT, name)
    except InputError as error:
        raise NotRunError(str(error)) from None


def _steady(of: Iterable[Row]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "mechanism": row["mechanism"],
                "pattern": row["pattern"],
                "load": float(row["offered_load"]),
                "offered_load": float(row["offered_load"]),
                "accepted_load": float(row["accepted_load"]),
                "latency_mean": float(row["avg_packet_latency"]),
                "saturated": float(row["accepted_load"]) < SATURATED_BELOW * float(row["offered_load"]),
            }
            for row in of
        ]
    )


@cache
def evidence() -> Evidence:
    """Steady states and the change of traffic, with the thresholds that suit h = 4."""
    table = _steady(row for row in _rows(STEADY) if not row["extra_config"])
    of = setting()
    figures = {"5a": "UN", "5b": "ADV+1", "5c": far(of)}
    tables = {name: table.filter(pl.col("pattern") == pattern) for name, pattern in figures.items()}
    return Evidence({**tables, "7": _response()}, of)


def _response() -> pl.DataFrame:
    """Means over ten seeds, given as one because the seeds are not distinguished."""
    measures = {"latency_mean": "latency_mean", "misrouted_percent": "misrouted_percent"}
    return pl.DataFrame(
        [
            {
                "mechanism": row["mechanism"],
                "t": int(row["generation_cycle_bin_start"]),
                "seeds": int(row["seeds"]),
                SEEDS: [1],
                **{name: float(row[column]) for name, column in measures.items()},
                **{f"{name}{EACH}": [float(row[column])] for name, column in measures.items()},
            }
            for row in _rows(TRANSIENT)
        ]
    )


@cache
def with_paper_thresholds() -> Evidence:
    """UN at 0.8 with the thresholds of Table I."""

    def belongs(row: Row) -> bool:
        others = " ".join(pair for pair in row["extra_config"].split() if not pair.startswith(ROUNDS))
        wanted = PAPER_THRESHOLDS.get(row["mechanism"])
        return row["pattern"] == "UN" and row["offered_load"] == "0.8" and others == wanted

    return Evidence({"5a": _steady(row for row in _rows(SENSITIVITY) if belongs(row))}, setting())


@cache
def judged(rule: Callable[[Evidence], Judgement], of: Callable[[], Evidence] = evidence) -> Judgement | None:
    """The judgement of a rule on these runs; `None` if they are missing or lack the evidence that it needs."""
    try:
        return rule(of())
    except (NotRunError, SaturatedError):
        return None


def with_their_runs(rule: Callable[[Evidence], Judgement], evidence: Evidence) -> Judgement:
    """The judgement of a rule on these tables; its note has the measurement of FOGSim's runs."""
    found, theirs = rule(evidence), judged(rule)
    beside = f"FOGSim, h = 4: {theirs.measured}" if theirs else ""
    return replace(found, note="; ".join(filter(None, (found.note, beside))))


def fails(rule: Callable[[Evidence], Judgement], of: Callable[[], Evidence] = evidence) -> Fact | None:
    """The fact that these runs fail the rule, if they do."""
    found = judged(rule, of)
    if found is None or found.holds:
        return None
    return Fact(f"FOGSim's own runs at h = 4, judged by the same rule, differ as well: {found.measured}", SHOWN)


def ahead_on_the_papers_network(bound: float) -> Fact | None:
    """The fact that FOGSim's ECtN has less than `bound` times OLM's latency on the paper's network, too, if it has."""
    try:
        found = {row["mechanism"]: row for row in _rows(FAR)}
    except NotRunError:
        return None
    latency = {name: float(found[name]["avg_packet_latency"]) for name in ("OLM", "ECtN")}
    ratio = latency["ECtN"] / latency["OLM"]
    if ratio >= bound:
        return None
    row = found["OLM"]
    return Fact(
        f"FOGSim, run on the paper's network at {row['offered_load']} under {row['pattern']}, has ECtN at {ratio:.4f} "
        f"of OLM's latency as well, {latency['ECtN']:.2f} against {latency['OLM']:.2f} cycles: not behind it",
        SHOWN,
    )
