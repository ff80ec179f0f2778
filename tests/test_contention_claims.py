"""The rules of the contention study's claims on made-up tables: each holds and differs where it should."""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from phit.store.quantities import SATURATED_BELOW
from phit.studies.contention import authors, study
from phit.studies.contention.load import adversarial_bound
from phit.studies.contention.paper import Evidence, network, patterns
from phit.studies.contention.response import dominant_period, settling_time
from phit.studies.contention.setting import setting
from phit.studies.contention.thresholds import COLUMN
from phit.studies.contention.transient import flag_limit
from phit.studies.kit.bounds import bound_of
from phit.studies.kit.claim import Finding, Verdict, judge, markdown, read, rich_table, write
from phit.studies.kit.scale import Scale

from .conftest import without_errors

BY_ID = {claim.id: claim for claim in study.claims}

Row = dict[str, Any]
Latency = Callable[[float], float]

UNIFORM_LOADS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
ADVERSARIAL_LOADS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55)


def rows(name: str, loads: Iterable[float], latency: Latency, limit: float, **labels: Any) -> list[Row]:
    """A curve that accepts the offered load up to a limit."""
    return [
        {
            "mechanism": name,
            **labels,
            "load": load,
            "offered_load": load,
            "accepted_load": min(load, limit),
            "latency_mean": latency(load),
            "saturated": min(load, limit) < SATURATED_BELOW * load,
        }
        for load in loads
    ]


def always(latency: float) -> Latency:
    """One latency at every load."""
    return lambda _: latency


def rising(factor: float) -> Latency:
    """A latency that grows with the load."""
    return lambda load: 150 * (1 + load / 5) * factor


def uniform() -> list[Row]:
    """Figure 5a as the paper has it: curves above MIN's by shares, accepting up to limits."""
    curves = {
        "MIN": (0.0, 0.80),
        "PB": (0.05, 0.80),
        "OLM": (0.04, 0.85),
        "Base": (0.001, 0.84),
        "Hybrid": (0.02, 0.87),
        "ECtN": (0.001, 0.84),
    }
    return [row for name, (more, limit) in curves.items() for row in rows(name, UNIFORM_LOADS, rising(1 + more), limit)]


def adversarial(valiant: float = 300) -> list[Row]:
    """Figures 5b and 5c: flat latencies, MIN with 1/(a·p) = 1/128."""
    found = rows("MIN", (0.004, 0.01, 0.05), always(150), 1 / 128)
    flat: dict[str, Latency] = {
        "VAL": always(valiant),
        "PB": always(310),
        "OLM": always(250),
        "Base": lambda load: 200 if load < 0.05 else 260,
        "Hybrid": always(255),
        "ECtN": always(240),
    }
    for name, latency in flat.items():
        found += rows(name, ADVERSARIAL_LOADS, latency, 0.49)
    return found


def far() -> list[Row]:
    """Figure 5c."""
    found = adversarial(valiant=280)
    return [row | {"latency_mean": 265.0} if row["mechanism"] == "ECtN" else row for row in found]


def mixes() -> list[Row]:
    """Figure 6."""
    latency = {"OLM": 250.0, "Base": 260.0, "Hybrid": 240.0, "ECtN": 230.0}
    return [
        row
        for name, value in latency.items()
        for share in (0, 20, 50, 100)
        for row in rows(name, (0.35,), always(value), 1.0, uniform_percent=share)
    ]


def step(name: str, settled: int, *, final: float = 250.0, swing: float = 0.0, until: int = 5000) -> list[Row]:
    """A response that overshoots until it settles, in bins of 10 cycles, and then swings with a period of 500."""
    found = []
    for t in range(-500, until, 10):
        overshoot = 0.5 * final if 0 <= t < settled else 0.0
        value = 150.0 if t < 0 else final + overshoot + swing * math.sin(2 * math.pi * t / 500)
        found.append({"mechanism": name, "t": t, "latency_mean": value, "misrouted_percent": 0.5 if t < 0 else 99.0})
    return found


def small_buffers() -> list[Row]:
    """Figure 7."""
    settled = {"PB": 400, "OLM": 330, "Base": 60, "Hybrid": 70}
    found = [row for name, t in settled.items() for row in step(name, t)]
    return [*found, *step("ECtN", 60, final=240)]


def large_buffers() -> list[Row]:
    """Figure 8."""
    settled = {"PB": 2000, "OLM": 3500, "Base": 60, "Hybrid": 70, "ECtN": 70}
    return [row for name, t in settled.items() for row in step(name, t)]


def thresholds() -> list[Row]:
    """Figure 10: throughput rises up to a threshold of 6, latency beyond 8."""
    found = []
    for threshold in range(3, 13):
        limit = 0.6 + 0.05 * min(threshold, 6)
        latency = 250.0 + 10 * max(threshold - 8, 0)
        labels = {"threshold": threshold}
        found += rows("Base", (0.3, 1.0), always(160), limit, pattern="UN", **labels)
        found += rows("Base", (0.1, 0.3), always(latency), 0.5, pattern="ADV+1", **labels)
    return found


def updates() -> list[Row]:
    """ECtN with its updates for nothing and on the wire."""
    return [
        row
        for pattern, limit in (("UN", 0.8), ("ADV+1", 0.5))
        for updates, latency, share in (("free", 240.0, 0.0), ("full", 245.0, 0.07))
        for row in rows(
            "ECtN", (0.1, 0.3, 1.0), always(latency), limit, pattern=pattern, updates=updates, control=share
        )
    ]


def tables() -> dict[str, list[Row]]:
    """Every figure as the paper has it."""
    return {
        "5a": uniform(),
        "5b": adversarial(),
        "5c": far(),
        "6": mixes(),
        "7": small_buffers(),
        "8": large_buffers(),
        "9": [*step("PB", 0, swing=40), *step("ECtN", 0, swing=2)],
        "10": thresholds(),
        "counters": [{"mechanism": "Base", COLUMN: 2.7}] * 2,
        "overhead": updates(),
    }


def found(claim: str, data: dict[str, list[Row]]) -> Finding:
    """The verdict on a claim."""
    evidence = Evidence({name: without_errors(those) for name, those in data.items()}, setting(Scale.PAPER))
    return judge(BY_ID[claim], evidence)


FIGURES = {
    **dict.fromkeys(("C1", "C2", "C3", "C4"), "5a"),
    **dict.fromkeys(("C5", "C6", "C7", "C8", "C9"), "5b"),
    "C10": "5c",
    "C11": "6",
    "C12": "7",
    "C13": "7",
    "C14": "7",
    "C15": "8",
    "C16": "9",
    "C17": "10",
    "C18": "overhead",
}
"""The figure whose table decides each claim."""


def test_every_claim_has_a_rule_and_a_case() -> None:
    assert list(BY_ID) == [f"C{i}" for i in range(1, 19)] == list(FIGURES)


@pytest.mark.parametrize("claim", BY_ID)
def test_claims_hold_as_the_paper_has_it(claim: str) -> None:
    finding = found(claim, tables())
    assert finding.verdict is Verdict.HOLDS, finding
    assert len(finding.measured) > 10


@pytest.mark.parametrize("claim", BY_ID)
def test_claims_without_their_figure_are_not_run(claim: str) -> None:
    data = tables()
    del data[FIGURES[claim]]
    finding = found(claim, data)
    assert (finding.verdict, finding.measured) == (Verdict.NOT_RUN, "–")
    assert "not run" in finding.note


@pytest.mark.parametrize("claim", BY_ID)
def test_claims_without_one_of_the_mechanisms_are_not_run(claim: str) -> None:
    needed = {
        "C1": "Base",
        "C2": "PB",
        "C3": "Hybrid",
        "C6": "PB",
        "C7": "VAL",
        "C8": "Base",
        "C16": "PB",
        "C17": "Base",
    }
    name = needed.get(claim, "ECtN" if claim != "C12" else "Hybrid")
    data = tables()
    data[FIGURES[claim]] = [row for row in data[FIGURES[claim]] if row["mechanism"] != name] or [{"mechanism": "MIN"}]
    assert found(claim, data).verdict is Verdict.NOT_RUN


Where = Callable[[Row], bool]


def changed(rows: list[Row], where: Where, **changes: Any) -> list[Row]:
    """Rows with values set, or multiplied where a function is given."""
    new = []
    count = 0
    for row in rows:
        if not where(row):
            new.append(row)
            continue
        count += 1
        new.append(row | {key: value(row[key]) if callable(value) else value for key, value in changes.items()})
    assert count, "the change must change something"
    return new


def of(name: str, load: float | None = None, **labels: Any) -> Where:
    """Rows of a mechanism, at a load."""
    return lambda row: (
        row["mechanism"] == name
        and (load is None or abs(row["load"] - load) < 1e-9)
        and all(row.get(key) == value for key, value in labels.items())
    )


def times(factor: float) -> Callable[[float], float]:
    return lambda value: value * factor


DIFFERENT: list[tuple[str, str, Where, dict[str, Any]]] = [
    ("C1", "5a", of("Base", 0.5), {"latency_mean": times(1.03)}),
    ("C1", "5a", of("ECtN", 0.1), {"latency_mean": times(0.97)}),
    ("C2", "5a", of("OLM"), {"latency_mean": times(0.97)}),
    ("C2", "5a", of("PB", 0.1), {"latency_mean": times(0.9)}),
    ("C3", "5a", of("Hybrid", 0.3), {"latency_mean": times(1.1)}),
    ("C3", "5a", of("Hybrid", 0.1), {"latency_mean": times(0.9)}),
    ("C4", "5a", of("OLM", 1.0), {"accepted_load": 0.79}),
    ("C4", "5a", of("Hybrid", 1.0), {"accepted_load": 0.845}),
    ("C4", "5a", of("Base", 1.0), {"accepted_load": 0.805}),
    ("C5", "5b", of("ECtN"), {"accepted_load": times(0.9)}),
    ("C5", "5b", of("Hybrid"), {"accepted_load": times(0.96)}),
    ("C5", "5b", of("MIN"), {"accepted_load": times(1.2)}),
    ("C6", "5b", of("PB", 0.35), {"latency_mean": 299.0}),
    ("C6", "5b", of("PB"), {"accepted_load": times(1.03)}),
    ("C6", "5b", of("PB", 0.4), {"latency_mean": 380.0}),
    ("C7", "5b", of("OLM", 0.2), {"latency_mean": 301.0}),
    ("C8", "5b", of("Base", 0.01), {"latency_mean": 255.0}),
    ("C8", "5b", of("Base", 0.1), {"latency_mean": 245.0}),
    ("C8", "5b", of("Base", 0.45), {"latency_mean": 290.0}),
    ("C9", "5b", of("ECtN", 0.45), {"latency_mean": 251.0}),
    ("C10", "5c", of("ECtN", 0.2), {"latency_mean": 240.0}),
    ("C10", "5c", of("ECtN", 0.3), {"latency_mean": 300.0}),
    ("C10", "5c", of("ECtN", 0.3), {"latency_mean": 248.0}),
    ("C10", "5c", of("VAL", 0.1), {"latency_mean": 310.0}),
    ("C11", "6", of("ECtN", uniform_percent=20), {"latency_mean": 251.0}),
    ("C11", "6", of("Base", uniform_percent=50), {"latency_mean": 300.0}),
    ("C13", "7", of("ECtN"), {"latency_mean": times(1.1)}),
    ("C14", "7", of("Base"), {"misrouted_percent": 3.0}),
    ("C14", "7", of("ECtN"), {"misrouted_percent": times(0.9)}),
    ("C17", "10", of("Base", pattern="UN", threshold=3), {"accepted_load": 0.9}),
    ("C17", "10", of("Base", pattern="UN", threshold=5), {"accepted_load": 0.9}),
    ("C17", "10", of("Base", 0.3, pattern="ADV+1", threshold=9), {"latency_mean": 250.0}),
    ("C17", "10", of("Base", 0.3, pattern="ADV+1"), {"latency_mean": 250.0}),
    ("C17", "counters", of("Base"), {COLUMN: 3.3}),
    ("C18", "overhead", of("ECtN", 0.3, updates="full"), {"accepted_load": 0.29}),
]


@pytest.mark.parametrize(("claim", "figure", "where", "changes"), DIFFERENT)
def test_claims_differ(claim: str, figure: str, where: Where, changes: dict[str, Any]) -> None:
    data = tables()
    data[figure] = changed(data[figure], where, **changes)
    assert found(claim, data).verdict is Verdict.DIFFERS


SLOWER: list[tuple[str, str, str, dict[str, Any]]] = [
    ("C12", "7", "Base", {"settled": 180}),
    ("C12", "7", "Hybrid", {"settled": 5000}),
    ("C12", "7", "OLM", {"settled": 5000}),
    ("C15", "8", "OLM", {"settled": 900}),
    ("C15", "8", "PB", {"settled": 1000}),
    ("C15", "8", "Base", {"settled": 130}),
    ("C15", "8", "ECtN", {"settled": 5000}),
    ("C16", "9", "ECtN", {"settled": 0, "swing": 20}),
    ("C16", "9", "PB", {"settled": 0, "swing": 0.01}),
    ("C16", "9", "PB", {"settled": 0, "swing": 1.5}),
]


@pytest.mark.parametrize(("claim", "figure", "name", "response"), SLOWER)
def test_claims_about_responses_differ(claim: str, figure: str, name: str, response: dict[str, Any]) -> None:
    data = tables()
    if response["settled"] == 5000:
        # Never settles: it drifts until the end.
        rows_of_one = [row | {"latency_mean": 150.0 + max(row["t"], 0)} for row in step(name, 0)]
    else:
        rows_of_one = step(name, **response)
    data[figure] = [row for row in data[figure] if row["mechanism"] != name] + rows_of_one
    assert found(claim, data).verdict is Verdict.DIFFERS


def test_what_never_settles_takes_longer_than_was_recorded() -> None:
    data = tables()
    drift = [row | {"latency_mean": 150.0 + max(row["t"], 0)} for row in step("OLM", 0)]
    data["8"] = [row for row in data["8"] if row["mechanism"] != "OLM"] + drift
    assert found("C15", data).verdict is Verdict.HOLDS
    assert "OLM not settled" in found("C15", data).measured
    # 5,000 recorded cycles are more than 4 x 330, 300 are not.
    short = [row for row in drift if row["t"] < 300]
    data["8"] = [row for row in data["8"] if row["mechanism"] != "OLM"] + short
    assert found("C15", data).verdict is Verdict.DIFFERS


def test_a_threshold_that_saturates_hurts_if_it_is_high() -> None:
    data = tables()
    high = changed(data["10"], of("Base", 0.3, pattern="ADV+1", threshold=12), saturated=True)
    assert found("C17", data | {"10": high}).verdict is Verdict.HOLDS
    assert "saturates with th = 12" in found("C17", data | {"10": high}).note
    low = changed(data["10"], of("Base", 0.3, pattern="ADV+1", threshold=7), saturated=True)
    assert found("C17", data | {"10": low}).verdict is Verdict.DIFFERS


SATURATED = [("C1", "5a", "Base"), ("C2", "5a", "OLM"), ("C7", "5b", "OLM"), ("C9", "5b", "OLM"), ("C11", "6", "OLM")]


@pytest.mark.parametrize(("claim", "figure", "name"), SATURATED)
def test_a_saturated_latency_never_passes(claim: str, figure: str, name: str) -> None:
    data = tables()
    data[figure] = changed(data[figure], of(name), saturated=True)
    finding = found(claim, data)
    assert (finding.verdict, finding.measured) == (Verdict.DIFFERS, "saturated")
    assert name in finding.note


@pytest.mark.parametrize(("claim", "figure"), [("C1", "5a"), ("C4", "5a"), ("C5", "5b"), ("C17", "10")])
def test_claims_about_saturation_need_saturation(claim: str, figure: str) -> None:
    data = tables()
    data[figure] = changed(data[figure], lambda _: True, saturated=False)
    assert found(claim, data).verdict is Verdict.NOT_RUN


@pytest.mark.parametrize(("claim", "load"), [("C6", 0.4), ("C7", 0.1), ("C8", 0.01), ("C9", 0.45)])
def test_a_load_that_a_claim_names_must_be_there(claim: str, load: float) -> None:
    data = tables()
    data["5b"] = [row for row in data["5b"] if abs(row["load"] - load) > 1e-9]
    assert found(claim, data).verdict is Verdict.NOT_RUN


def test_counters_that_were_not_recorded() -> None:
    data = tables()
    data["counters"] = [{"mechanism": "Base"}]
    assert found("C17", data).verdict is Verdict.NOT_RUN


def test_the_bound_under_adv_1_is_that_of_the_linear_program() -> None:
    of = setting(Scale.SMOKE)
    found = bound_of(network(of)["topology"], patterns(of)["ADV+1"])
    assert found.load == adversarial_bound(of) == Fraction(9, 16)
    assert found.minimal_load == Fraction(1, of.a * of.p)


def test_settling_time() -> None:
    times_ = list(range(-50, 1000, 10))
    assert settling_time(times_, [100.0 if t < 70 else 200.0 for t in times_], 0.1) == 70
    assert settling_time(times_, [200.0] * len(times_), 0.1) == 10
    assert settling_time(times_, [100.0 + t for t in times_], 0.1) is None
    assert settling_time(times_[:8], [1.0] * 8, 0.1) is None


REVISED: list[tuple[str, str, list[Row], Verdict, Verdict]] = [
    ("C5", "5b", changed(adversarial(), of("Hybrid"), accepted_load=times(0.96)), Verdict.DIFFERS, Verdict.HOLDS),
    ("C6", "5b", changed(adversarial(), of("PB", 0.4), latency_mean=380.0), Verdict.DIFFERS, Verdict.HOLDS),
    ("C8", "5b", changed(adversarial(), of("Base", 0.01), latency_mean=252.0), Verdict.HOLDS, Verdict.DIFFERS),
    ("C16", "9", [*step("PB", 0, swing=1.5), *step("ECtN", 0, swing=0.1)], Verdict.DIFFERS, Verdict.HOLDS),
    (
        "C18",
        "overhead",
        changed(updates(), of("ECtN", 0.3, updates="full"), saturated=True),
        Verdict.HOLDS,
        Verdict.DIFFERS,
    ),
    (
        "C17",
        "10",
        changed(thresholds(), of("Base", 1.0, threshold=12), accepted_load=0.8),
        Verdict.HOLDS,
        Verdict.DIFFERS,
    ),
]
"""Claims with tables that the revised rule and the first one judge differently."""


@pytest.mark.parametrize(("claim", "figure", "rows_of_one", "verdict", "before"), REVISED)
def test_a_claim_is_judged_by_the_rule_before_as_well(
    claim: str, figure: str, rows_of_one: list[Row], verdict: Verdict, before: Verdict
) -> None:
    finding = found(claim, tables() | {figure: rows_of_one})
    assert finding.verdict is verdict, finding
    assert finding.first is not None
    assert finding.first.verdict is before, finding.first


def slight(name: str, settled: int) -> list[Row]:
    """A response whose overshoot is 5 % of its final value, and so an eighth of the step."""
    return [row | {"latency_mean": min(row["latency_mean"], 262.5)} for row in step(name, settled)]


def test_the_first_rule_of_reactions_did_not_see_them() -> None:
    settled = {"PB": 400, "OLM": 330, "Base": 60, "Hybrid": 70}
    data = tables() | {"7": [row for name, t in settled.items() for row in slight(name, t)]}
    finding = found("C12", data)
    assert finding.verdict is Verdict.HOLDS
    assert finding.first is not None
    assert finding.first.verdict is Verdict.DIFFERS
    assert "OLM 10 cycles" in finding.first.measured


def test_the_authors_runs_are_judged_by_the_same_rules() -> None:
    response = authors.evidence().responses("7")
    assert response.series("OLM")[0][0] == -300
    assert "Base 10 cycles, Hybrid 5 cycles, OLM 55 cycles, PB 165 cycles" in found("C12", tables()).note
    assert "Hybrid 2.1 % and 87.6 %" in found("C14", tables()).note
    curves = authors.with_paper_thresholds().curves("5a")
    assert set(curves.values("mechanism")) == {"MIN", "OLM", "Base", "Hybrid", "ECtN"}
    hybrid, olm = (curves.accepted(mechanism=name, load=0.8) for name in ("Hybrid", "OLM"))
    assert (hybrid / olm - 1).nominal_value == pytest.approx(-0.005, abs=0.001)


FACTS: list[tuple[str, str, list[Row], str]] = [
    ("C4", "5a", changed(uniform(), of("Hybrid", 1.0), accepted_load=0.84), "Hybrid 0.782"),
    ("C8", "5b", changed(adversarial(), of("Base", 0.01), latency_mean=255.0), "offer 1.28 phits per cycle"),
    ("C10", "5c", changed(far(), of("ECtN", 0.1), latency_mean=247.0), "on the paper's network at 0.1"),
    ("C14", "7", [*small_buffers()], "2.1 %"),
    ("C15", "8", [*(r for r in large_buffers() if r["mechanism"] != "PB"), *step("PB", 400)], "66 phits"),
    ("C17", "counters", [{"mechanism": "Base", COLUMN: 1.7}] * 2, "at most 2.00"),
]
"""Claims that differ for a reason that is known, and what says so."""


@pytest.mark.parametrize(("claim", "figure", "rows_of_one", "words"), FACTS)
def test_a_fact_settles_a_claim_that_differs(claim: str, figure: str, rows_of_one: list[Row], words: str) -> None:
    if claim == "C14":
        rows_of_one = [
            row | {"misrouted_percent": 3.4} if row["mechanism"] in ("Hybrid", "OLM") and row["t"] < 0 else row
            for row in rows_of_one
        ]
    finding = found(claim, tables() | {figure: rows_of_one})
    assert finding.verdict is Verdict.DIFFERS
    assert finding.settled
    assert words in finding.because


def test_below_the_limit_of_the_minimal_link_the_first_zone_is_told() -> None:
    data = tables() | {"5b": changed(adversarial(), of("Base", 0.01), latency_mean=255.0)}
    lowest = [*rows("OLM", (0.004, 0.01), always(150), 1.0), *rows("Base", (0.004, 0.01), always(153), 1.0)]
    because = found("C8", data | {"lowest": lowest}).because
    assert "at 0.004, Base's latency is +2.0 % of OLM's" in because


def with_coefficients(latency: float, swing: float) -> dict[str, list[Row]]:
    """PB with the other coefficients: its latency under ADV+1, and how it swings; with the own one it hardly does."""
    names = ("1.5", "2")
    return {
        "9": [*step("PB", 0, swing=1.5), *step("ECtN", 0, swing=0.1)],
        "piggyback": [
            row | {"parameters": f"coefficient {name}", "buffers": "small"}
            for name in names
            for row in step("PB", 0, swing=swing)
        ],
        "piggyback-load": [
            row for name in names for row in rows(f"PB, {name}", (0.3, 0.35, 0.4, 0.55), always(latency), 0.45)
        ],
    }


@pytest.mark.parametrize(
    ("latency", "swing", "settled"), [(400.0, 20.0, True), (310.0, 1.0, True), (310.0, 20.0, False)]
)
def test_no_coefficient_of_pb_fulfils_two_claims(latency: float, swing: float, settled: bool) -> None:
    finding = found("C16", tables() | with_coefficients(latency, swing))
    assert finding.verdict is Verdict.DIFFERS
    assert finding.settled is settled
    assert "with coefficient 2 PB's period 500 cycles" in finding.note
    assert "with a coefficient of 2" in found("C6", tables() | with_coefficients(latency, swing)).note


UNSETTLED: list[tuple[str, str, list[Row]]] = [
    # OLM accepts the most because Hybrid does, but Base fails; only counters; OLM fails; high thresholds do no harm.
    ("C4", "5a", changed(uniform(), of("Base", 1.0), accepted_load=0.805)),
    ("C8", "5b", changed(adversarial(), of("Base", 0.45), latency_mean=290.0)),
    ("C10", "5c", changed(far(), of("ECtN", 0.3), latency_mean=240.0)),
    ("C14", "7", changed(small_buffers(), of("Base"), misrouted_percent=3.0)),
    ("C15", "8", [*(r for r in large_buffers() if r["mechanism"] != "OLM"), *step("OLM", 900)]),
    ("C17", "10", changed(thresholds(), of("Base", 0.3, pattern="ADV+1"), latency_mean=250.0)),
]
"""Claims that differ for a reason other than the known one."""


@pytest.mark.parametrize(("claim", "figure", "rows_of_one"), UNSETTLED)
def test_a_fact_settles_nothing_else(claim: str, figure: str, rows_of_one: list[Row]) -> None:
    finding = found(claim, tables() | {figure: rows_of_one})
    assert finding.verdict is Verdict.DIFFERS
    assert not finding.settled


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An installation without a checkout."""
    cached = (authors.evidence, authors.with_paper_thresholds, authors.judged)
    monkeypatch.setattr(authors, "CHECKOUT", tmp_path)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


@pytest.mark.usefixtures("nowhere")
def test_without_the_tables_of_the_authors_runs_there_is_no_fact() -> None:
    data = tables()
    data["5a"] = changed(data["5a"], of("Hybrid", 1.0), accepted_load=0.84)
    finding = found("C4", data)
    assert (finding.verdict, finding.settled) == (Verdict.DIFFERS, False)
    assert found("C12", data).note == ""


def test_what_raises_a_flag_of_pb() -> None:
    # At p = h a global link carries 0.2 x 128/129 phits/cycle, charged for 210 cycles; T = 3 packets are 24 phits.
    assert flag_limit(setting(Scale.PAPER)) == pytest.approx(0.2 * 128 / 129 * 210 + 24)


@pytest.mark.parametrize("period", [320, 500, 690])
def test_dominant_period(period: int) -> None:
    times_ = list(range(0, 4500, 10))
    values = [300 - 0.02 * t + 20 * math.cos(2 * math.pi * t / period) for t in times_]
    assert dominant_period(times_, values) == pytest.approx(period, rel=0.08)


def test_findings_are_written_and_shown(tmp_path: Any) -> None:
    data = tables()
    del data["9"]
    findings = [found(claim, data) for claim in BY_ID]
    assert read(write(findings, tmp_path / "claims.json")) == findings
    text = markdown(findings)
    assert text.count("\n") == 1 + len(BY_ID)
    assert "| C16 | not run | 9 |" in text
    assert rich_table(findings).row_count == len(BY_ID)
