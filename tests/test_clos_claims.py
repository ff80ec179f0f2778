"""The rules of the Clos study's claims on made-up tables: each holds and differs where it should."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from phit.store.quantities import SATURATED_BELOW
from phit.studies.clos import study
from phit.studies.clos.allocation import ARRIVALS, two_or_more
from phit.studies.clos.load import latency_ratio
from phit.studies.clos.paper import Evidence
from phit.studies.clos.setting import setting
from phit.studies.kit.claim import Finding, Verdict, judge
from phit.studies.kit.scale import Scale

from .conftest import without_errors

BY_ID = {claim.id: claim for claim in study.claims}

Row = dict[str, Any]
Rows = list[Row]

LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
FAULT_LOADS = (0.2, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)


def curve(loads: Iterable[float], limit: float, factor: float = 1.0, *, flat: bool = False, **labels: Any) -> Rows:
    """A curve that accepts the offered load up to a limit; latency rises with the load unless it is flat."""
    return [
        {
            **labels,
            "load": load,
            "offered_load": load,
            "accepted_load": min(load, limit),
            "latency_mean": 5.0 if flat else 5.0 + factor * load / (1 - load),
            "saturated": limit < SATURATED_BELOW * load,
        }
        for load in loads
    ]


def both(
    loads: Iterable[float], limits: tuple[float, float], factors: tuple[float, float] = (2.0, 1.0), **labels: Any
) -> Rows:
    """Oblivious and sequential."""
    names = zip(("oblivious", "sequential"), limits, factors, strict=True)
    return [row for name, limit, factor in names for row in curve(loads, limit, factor, mechanism=name, **labels)]


def complement(*, flat: bool) -> Rows:
    """Figure 4d."""
    rows = both(LOADS, (1.0, 1.0), panel="d")
    return [row for row in rows if row["mechanism"] == "oblivious"] + curve(
        LOADS, 1.0, flat=flat, mechanism="sequential", panel="d"
    )


def stages(shift: float) -> Rows:
    """Figure 2: ratios above the formula by a shift."""
    return [
        {"stages": s, "radix": r, "ratio": latency_ratio(s) + shift, "formula": latency_ratio(s)}
        for s, r in ((3, 128), (5, 64), (5, 32), (7, 16), (11, 8), (23, 4))
    ]


def distribution(mean: float, deviation: float) -> Rows:
    """Figure 5."""
    return [
        {"mechanism": "oblivious", "latency": 9, "latency_mean": mean, "latency_std": 10.0},
        {"mechanism": "sequential", "latency": 9, "latency_mean": 10.0, "latency_std": deviation},
    ]


def fullest(oblivious: float, sequential: float, most: int = 16) -> Rows:
    """Figure 6."""
    return [
        {"mechanism": name, "router": 32, "fullest": mean, "most": float(greatest), "all_mean": 0.5}
        for name, mean, greatest in (("oblivious", oblivious, most), ("sequential", sequential, 7))
    ]


def allocations(panel: str, two_sequential: float, two_greedy: float, greedy: float = 0.58) -> Rows:
    """Figure 9: latencies as multiples of sequential's."""
    rows = curve(LOADS, 1.0, mechanism="sequential", panel=panel)
    for name, factor in (("sequential_r(2)", two_sequential), ("greedy_r(2)", two_greedy)):
        rows += [{**row, "mechanism": name, "latency_mean": factor * row["latency_mean"]} for row in rows[: len(LOADS)]]
    return rows + curve(LOADS, greedy, mechanism="greedy", panel=panel)


def peaks(column: str, limits: dict[int, float]) -> Rows:
    """Curves that saturate at these loads, by a label."""
    return [{**row, column: value} for value, limit in limits.items() for row in curve((0.5, 0.98), limit)]


def samples(
    greedy: tuple[float, float, float], sequential: tuple[float, float, float], *, saturated: bool, seeds: int = 5
) -> Rows:
    """Figure 12: latencies with 1, 2 and 32 samples."""
    return [
        {
            "mechanism": name,
            "samples": n,
            "load": 0.9,
            "seeds": seeds,
            "latency_mean": value,
            "saturated": saturated and name == "greedy_r(n)" and n == 32,
        }
        for name, values in (("greedy_r(n)", greedy), ("sequential_r(n)", sequential))
        for n, value in zip((1, 2, 32), values, strict=True)
    ]


def bits(flits: int, latencies: dict[int, float]) -> Rows:
    """Figure 14: at 0.8, not quite carried at 0.85, and saturated at 0.9."""
    accepted = {0.7: 0.7, 0.8: 0.8, 0.85: 0.84, 0.9: 0.84}
    return [
        {
            "flits": flits,
            "bits": of,
            "load": load,
            "accepted_load": accepted[load],
            "latency_mean": 2 * value if load == 0.85 and of else value,
            "saturated": load > 0.85,
        }
        for of, value in latencies.items()
        for load in accepted
    ]


def precomputed(one: float, two: float) -> Rows:
    """Figure 16: latencies as multiples of those without precomputation."""
    rows = curve((0.2, 0.4, 0.5), 0.45, precompute=0)
    for ahead, factor in ((1, one), (2, two)):
        rows += [{**row, "precompute": ahead, "latency_mean": factor * row["latency_mean"]} for row in rows[:3]]
    return rows


def probabilities(of_counted: float = 1.0, of_small: float = 1.0) -> Rows:
    """Figure 11: the closed form, or parts of it: in all networks, and with radix 8."""
    return [
        {
            "radix": radix,
            "flits": flits,
            "load": load,
            "probability": two_or_more(radix, flits, load) * of_counted * (of_small if radix == 8 else 1.0),
        }
        for radix, flits in ARRIVALS
        for load in (0.1, 0.5, 0.9)
    ]


WORST = both(LOADS, (1.0, 1.0), panel="a")

HOLDS: dict[str, tuple[str, Rows]] = {
    "K1": ("2", stages(0.05)),
    "K2": ("4", WORST),
    "K3": ("5", distribution(13.8, 8.0)),
    "K4": ("4", both(LOADS, (0.8, 0.88), panel="b")),
    "K5": ("4", both(LOADS, (1.0, 1.0), panel="c")),
    "K6": ("4", complement(flat=True)),
    "K7": ("6", fullest(5.0, 3.0)),
    "K8": ("7a", both(LOADS, (0.68, 1.0))),
    "K9": ("7b", both(FAULT_LOADS, (0.47, 0.92))),
    "K10": ("9", allocations("a", 1.1, 1.6)),
    "K11": ("9", allocations("b", 1.1, 1.15)),
    "K12": ("9", allocations("a", 1.1, 1.6) + allocations("b", 1.1, 1.15)),
    "K13": ("10a", peaks("radix", {4: 0.97, 8: 0.9, 16: 0.75, 32: 0.58, 64: 0.5})),
    "K14": ("10b", peaks("flits", {1: 0.5, 2: 0.6, 4: 0.7, 8: 0.8})),
    "K15": ("11", probabilities()),
    "K16": ("12", samples((20, 18, 99), (20, 15, 14), saturated=True)),
    "K17": ("14", bits(1, {0: 10.0, 2: 9.7, 4: 9.2})),
    "K18": ("14", bits(10, {0: 100.0, 2: 58.0, 3: 50.0, 4: 38.0})),
    "K19": ("15", peaks("bits", {0: 0.78, 1: 0.8, 2: 0.85, 3: 0.91, 4: 0.92})),
    "K20": ("16", precomputed(1.02, 1.1)),
}

DIFFERS: list[tuple[str, str, Rows]] = [
    ("K1", "2", stages(-0.01)),
    ("K1", "2", stages(0.1)),
    ("K1", "2", [{**row, "ratio": 0.7} for row in stages(0.05)]),
    ("K2", "4", both(LOADS, (0.95, 1.0), panel="a")),
    ("K2", "4", both(LOADS, (1.0, 1.0), (1.0, 2.0), panel="a")),
    ("K3", "5", distribution(12.0, 8.0)),
    ("K3", "5", distribution(13.8, 9.5)),
    ("K4", "4", both(LOADS, (0.8, 0.82), panel="b")),
    ("K4", "4", both(LOADS, (0.7, 0.9), panel="b")),
    ("K5", "4", both(LOADS, (1.0, 0.95), panel="c")),
    ("K5", "4", both(LOADS, (1.0, 1.0), (1.0, 1.0), panel="c")),
    ("K6", "4", complement(flat=False)),
    ("K7", "6", fullest(2.0, 1.4)),
    ("K7", "6", fullest(5.0, 3.0, most=15)),
    ("K8", "7a", both(LOADS, (0.75, 1.0))),
    ("K8", "7a", both(LOADS, (0.68, 0.9))),
    ("K9", "7b", both(FAULT_LOADS, (0.8, 0.92))),
    ("K10", "9", allocations("a", 1.1, 1.07)),
    ("K10", "9", allocations("a", 1.01, 1.6)),
    ("K11", "9", allocations("b", 1.1, 1.3)),
    ("K12", "9", allocations("a", 1.1, 1.6) + allocations("b", 1.1, 1.15, greedy=0.7)),
    ("K13", "10a", peaks("radix", {4: 0.93, 16: 0.75, 32: 0.58})),
    ("K13", "10a", peaks("radix", {4: 0.97, 16: 0.85, 32: 0.58})),
    ("K13", "10a", peaks("radix", {4: 0.97, 16: 0.75, 32: 0.58, 64: 0.62})),
    ("K14", "10b", peaks("flits", {1: 0.5, 2: 0.6, 4: 0.59, 8: 0.8})),
    ("K15", "11", probabilities(of_counted=0.96)),
    ("K15", "11", probabilities(of_small=0.9)),
    ("K16", "12", samples((20, 18, 17), (20, 15, 14), saturated=False)),
    ("K16", "12", samples((20, 15, 99), (20, 15, 14), saturated=True)),
    ("K16", "12", samples((20, 16.5, 99), (20, 15, 14), saturated=True)),
    ("K16", "12", samples((20, 18, 99), (20, 17, 16), saturated=True)),
    ("K16", "12", samples((20, 18, 99), (20, 15, 13), saturated=True)),
    ("K17", "14", bits(1, {0: 10.0, 2: 9.7, 4: 8.2})),
    ("K18", "14", bits(10, {0: 100.0, 2: 58.0, 3: 50.0, 4: 60.0})),
    ("K18", "14", bits(10, {0: 100.0, 2: 80.0, 3: 50.0, 4: 38.0})),
    ("K19", "15", peaks("bits", {0: 0.9, 2: 0.85, 3: 0.91, 4: 0.92})),
    ("K19", "15", peaks("bits", {0: 0.78, 2: 0.85, 3: 0.85, 4: 0.92})),
    ("K20", "16", precomputed(1.02, 1.3)),
    ("K20", "16", precomputed(1.08, 1.1)),
    ("K20", "16", precomputed(0.93, 1.1)),
    ("K20", "16", precomputed(1.02, 0.99)),
]


def found(claim: str, figure: str, rows: Rows) -> Finding:
    """The finding of a claim when a figure has these rows and no other figure was run."""
    return judge(BY_ID[claim], Evidence({figure: without_errors(rows)}, setting(Scale.PAPER)))


def test_every_claim_is_tested_both_ways() -> None:
    assert list(BY_ID) == [f"K{n}" for n in range(1, 21)]
    assert set(HOLDS) == set(BY_ID) == {claim for claim, _, _ in DIFFERS}


@pytest.mark.parametrize("claim", HOLDS)
def test_what_the_paper_shows_holds(claim: str) -> None:
    finding = found(claim, *HOLDS[claim])
    assert finding.verdict is Verdict.HOLDS, finding


@pytest.mark.parametrize(("claim", "figure", "rows"), DIFFERS)
def test_what_is_otherwise_differs(claim: str, figure: str, rows: Rows) -> None:
    finding = found(claim, figure, rows)
    assert finding.verdict is Verdict.DIFFERS, finding


@pytest.mark.parametrize("claim", BY_ID)
def test_without_runs_nothing_is_judged(claim: str) -> None:
    assert judge(BY_ID[claim], Evidence({}, setting(Scale.PAPER))).verdict is Verdict.NOT_RUN


MISSING: list[tuple[str, str, Callable[[Row], bool]]] = [
    ("K1", "2", lambda row: row["radix"] != 8),
    ("K2", "4", lambda row: row["load"] < 0.98),
    ("K4", "4", lambda row: row["load"] < 0.8),
    ("K9", "7b", lambda row: row["mechanism"] != "oblivious"),
    ("K13", "10a", lambda row: row["radix"] != 16),
    ("K15", "11", lambda row: row["radix"] != 8),
    ("K18", "14", lambda row: row["bits"] != 2),
    ("K19", "15", lambda row: row["bits"] != 3),
]


@pytest.mark.parametrize(("claim", "figure", "keep"), MISSING)
def test_with_some_runs_missing_nothing_is_judged(claim: str, figure: str, keep: Callable[[Row], bool]) -> None:
    rows = [row for row in HOLDS[claim][1] if keep(row)]
    assert found(claim, figure, rows).verdict is Verdict.NOT_RUN


def test_one_seed_does_not_tell_what_a_second_sample_saves() -> None:
    rows = samples((20, 18, 99), (20, 15, 14), saturated=True, seeds=4)
    assert found("K16", "12", rows).verdict is Verdict.NOT_RUN


NARROWER: list[tuple[str, str, Rows]] = [
    ("K16", "12", samples((20, 16.5, 99), (20, 15, 14), saturated=True)),
    ("K20", "16", precomputed(0.93, 1.1)),
    ("K20", "16", precomputed(1.02, 0.99)),
]


@pytest.mark.parametrize(("claim", "figure", "rows"), NARROWER)
def test_revised_rules_ask_for_more(claim: str, figure: str, rows: Rows) -> None:
    finding = found(claim, figure, rows)
    assert finding.verdict is Verdict.DIFFERS
    assert finding.first is not None
    assert (finding.first.verdict, finding.first.weaker) == (Verdict.HOLDS, False)


SAYS = {
    "K10": (allocations("a", 1.05, 1.06), "leaves 14% of the wait"),
    "K16": (samples((20, 16, 99), (20, 15, 14), saturated=True), "not 10 %"),
    "K19": (peaks("bits", {0: 0.9, 2: 0.9, 3: 0.9, 4: 0.9}), "loses at most 9.9%"),
}


@pytest.mark.parametrize("claim", SAYS)
def test_facts_say_why_a_claim_cannot_hold(claim: str) -> None:
    rows, says = SAYS[claim]
    finding = found(claim, HOLDS[claim][0], rows)
    assert finding.settled
    assert says in finding.because
