"""Additions of the contention study to the paper: runs follow their description, and findings follow their tables."""

from typing import Any

import polars as pl
import pytest
from phit.document.completing import complete
from phit.studies.contention import beyond, study, thresholds, topologies
from phit.studies.contention.cost import table_one
from phit.studies.contention.setting import setting
from phit.studies.kit.plan import Done
from phit.studies.kit.scale import Scale

from .conftest import without_errors

PAPER = setting(Scale.PAPER)

OWN = ("updates", "statistical", "topologies", "counters", "piggyback", "piggyback-load")


@pytest.mark.parametrize("name", OWN)
def test_runs_are_scenarios(name: str) -> None:
    cases = study.figures[name].cases(PAPER, 1)
    # One of each kind of run is enough: the others differ in numbers.
    kinds = {(case.labels["mechanism"], case.labels.get("network")): case for case in cases}
    assert all(complete(case.scenario)["routing"]["kind"] for case in kinds.values())


@pytest.mark.parametrize("name", ["updates", "statistical"])
def test_figures_beyond_the_paper_are_of_a_small_network(name: str) -> None:
    small, paper = (study.figures[name].cases(setting(scale), 1) for scale in (Scale.SMALL, Scale.PAPER))
    assert [case.scenario for case in small] == [case.scenario for case in paper]
    assert all(case.scenario["topology"]["h"] == 4 for case in small)


def test_a_full_array_takes_as_many_phits_as_in_the_papers_network() -> None:
    of = beyond.of_beyond(PAPER)
    links = of.a * of.h
    assert table_one().global_links * 4 / 80 == links * 4 / beyond.phit_bits(of) == 6.4


def response(name: str, settled: int, control: float) -> list[dict[str, Any]]:
    """An overshoot until a cycle, in bins of 5."""
    return [
        {
            "mechanism": name,
            "t": t,
            "seeds": 2,
            "latency_mean": 150.0 if t < 0 else 290.0 if t < settled else 250.0,
            "control": control,
            "control_half": 0.0,
        }
        for t in range(-300, 1000, 5)
    ]


def test_the_finding_about_updates() -> None:
    table = without_errors(
        [*response("full", 110, 0.07), *response("incremental", 110, 0.01), *response("asynchronous", 30, 0.02)]
    )
    words = study.figures["updates"].prose(table, PAPER)
    assert "incremental updates take 1.0 % of the local links, and full arrays 7.0 %." in words
    assert "take 2.0 %. They settle after 30 ± 3 cycles instead of 110 ± 3." in words
    assert "| asynchronous | 2.00 ± 0.00 | 30 ± 3 | 150.0 | 250.0 |" in words


def test_fixed_thresholds_between_two_of_them() -> None:
    fixed = [(0.6, 260.0), (0.5, 270.0), (0.7, 280.0), (0.8, 340.0)]
    assert beyond.with_fixed(fixed, 0.75) == pytest.approx(310.0)
    # On the way back from 0.6 to 0.5 nothing is better than 0.6 itself.
    assert beyond.with_fixed(fixed, 0.55) == pytest.approx(260.0)
    assert beyond.with_fixed(fixed, 0.81) is None


def trade(trigger: str, threshold: int, accepted: float, latency: float) -> dict[str, Any]:
    return {
        "mechanism": trigger,
        "threshold": threshold,
        "seeds": 3,
        "accepted": accepted,
        "latency_mean": latency,
        "saturated": False,
        "misrouted_globally": 0.9,
    }


def test_the_finding_about_the_statistical_trigger() -> None:
    rows = [trade("fixed", 5, 0.7, 280.0), trade("fixed", 6, 0.8, 340.0), trade("step 0.5", 5, 0.75, 300.0)]
    words = study.figures["statistical"].prose(without_errors([*rows, trade("step 0.5", 4, 0.72, 300.0)]), PAPER)
    assert "1 of 2 statistical triggers have less latency" in words
    assert (
        "a step 0.5 from 5 heads on: it has 300 ± 0 cycles where fixed thresholds have 310 (-10), at 0.750 ± 0.000"
        in words
    )


def carried(mechanism: str, pattern: str, accepted: float, half: float = 0.01) -> dict[str, Any]:
    return {
        "network": "torus",
        "mechanism": mechanism,
        "pattern": pattern,
        "load": 1.0,
        "accepted_load": accepted,
        "accepted_load_half": half,
    }


def test_the_finding_about_other_networks() -> None:
    values = {"UN": (0.70, 0.70, 0.71), "transposition": (0.50, 0.25, 0.60), "tornado": (0.30, 0.10, 0.20)}
    names = tuple(topologies.NETWORKS["torus"].mechanisms)
    rows = [carried(name, pattern, v) for pattern, of in values.items() for name, v in zip(names, of, strict=True)]
    words = study.figures["topologies"].prose(pl.DataFrame(rows), PAPER)
    assert (
        "counters carry as much as adaptive bubble under UN, 17% less than adaptive bubble under transposition and 50% "
        "more than adaptive bubble under tornado." in words
    )
    assert "| counters | 0.700 ± 0.010 | 0.500 ± 0.010 | 0.300 ± 0.010 |" in words


def test_heads_are_counted_by_class_of_ports() -> None:
    """A router of one endpoint, two local and one global port, looked at twice."""
    labels = pl.DataFrame(
        [{"mechanism": "minimal", "point": "x", "p": 1, "local": 2, "global": 1, "routers": 1, "seed": 1}]
    )
    counts = [(cycle, index, count) for cycle in (0, 100, 200) for index, count in enumerate((1, 2, 4, 3))]
    ports = [(100, 0), (100, 1), (100, 3), (200, 0)]
    probes = pl.DataFrame(
        [
            *({"point": "x", "cycle": t, "index": i, "port": None, "mean": float(n * (t > 0))} for t, i, n in counts),
            *({"point": "x", "cycle": t, "index": None, "port": port, "mean": 8.0} for t, port in ports),
        ]
    )
    points = pl.DataFrame([{"point": "x", "warmup_cycles": 100, "cpu_seconds": 1.0}])
    row = study.figures["counters"].tabulate(labels, Done(points=points, probes=probes)).row(0, named=True)
    assert row[thresholds.COLUMN] == pytest.approx(2.5)
    assert (row["output_endpoint"], row["output_local"], row["output_global"]) == (1.0, 3.0, 3.0)
    # Both of two observations find the endpoint's port full; one finds one of two local ports full, and one the global
    # port.
    assert (row["input_endpoint"], row["input_local"], row["input_global"]) == (1.0, 0.25, 0.5)


def test_channels_of_minimal_routes() -> None:
    # Three queues of each of 8 endpoints, two of each of 15 local ports, one of each of 8 global ports: two an output.
    assert table_one().minimal_vcs == 24 + 30 + 8 == 2 * table_one().ports
