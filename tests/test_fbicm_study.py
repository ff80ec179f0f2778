"""`phit reproduce fbicm`: its cases, its tables and the rules of its claims."""

import json
from pathlib import Path

import phit
import polars as pl
import pytest
from phit.studies.fbicm import beyond, bursts, cost, study, transient
from phit.studies.fbicm.paper import SCHEMES, Evidence
from phit.studies.fbicm.setting import NET_1, NET_2, setting
from phit.studies.kit.claim import judge
from phit.studies.kit.scale import Scale

from .conftest import Cli, without_errors


@pytest.mark.usefixtures("sketched")
def test_figures_from_end_to_end(cli: Cli, tmp_path: Path) -> None:
    figures = [part for name in ("5.2", "versions", "tree") for part in ("--figure", name)]
    status, out, err = cli("reproduce", "fbicm", "--scale", "smoke", "--output", tmp_path, "--jobs", 1, *figures)
    assert status == 0, err
    table = pl.read_parquet(tmp_path / "tables" / "5.2.parquet")
    assert set(table["mechanism"]) == set(SCHEMES)
    frames = pl.read_parquet(tmp_path / "tables" / "tree.parquet")
    assert frames.filter(pl.col("mechanism") == "1Q")["lines"].max() == 0
    assert frames.filter(pl.col("trees").is_not_null()).height > 0
    lapse = tmp_path / "figures" / "tree_lapse.svg"
    moments = setting(Scale.SMOKE).moments
    assert lapse.read_text().count("data-t=") == len(moments) > 10
    assert lapse.stat().st_size < 500_000
    found = {row["id"]: row["verdict"] for row in json.loads((tmp_path / "claims.json").read_text())}
    assert list(found) == [claim.id for claim in study.claims]
    assert (found["F1"], found["F9"], found["F10"]) == ("not run", "holds", "undecided")
    # Shown are the claims that these figures say something of; the others are counted.
    shown = {name for name, verdict in found.items() if verdict != "not run"}
    assert {name for name in found if f" {name} " in out} == shown
    assert f"{len(found) - len(shown)} claims belong to figures that have not been run" in err


def test_every_case_is_a_valid_scenario() -> None:
    of = setting(Scale.PAPER)
    for figure in study.figures.values():
        for case in figure.cases(of, None):
            if "trace" in case.scenario["traffic"]:
                continue
            completed = phit.complete(case.scenario)
            assert completed["measure"]["order"] is True, figure.name


def test_the_traffic_of_table_5_2() -> None:
    of = setting(Scale.PAPER)
    assert [net.target for net in of.networks] == [32, 123]
    assert of.loads[-1] == 1.0
    for net in (NET_1, NET_2):
        for sources in (transient.spread_sources(net), transient.crowded_sources(net)):
            assert len(set(sources)) == len(sources) == net.endpoints // 4
            assert max(sources) < net.endpoints
        assert net.target not in transient.spread_sources(net)
        for offered in (transient.single(net, of.hot), transient.multiple(net, of.hot)):
            # 75 % of the sources at 100 % of their links all the time, the others from 1000 to 1300 µs.
            assert offered["load"] == 1.0
            before, (begin, end) = offered["pattern"], offered["changes"]
            assert (begin["cycle"], end["cycle"]) == (1_000_000, 1_300_000)
            assert before == end["pattern"] == begin["pattern"] | {"parts": before["parts"]}
            assert before["background"] == begin["pattern"]["background"] == {"kind": "uniform"}
            (quiet,), (loud,) = before["parts"], begin["pattern"]["parts"]
            assert "pattern" not in quiet
            assert quiet["endpoints"] == loud["endpoints"]
            assert len(loud["endpoints"]) == net.endpoints // 4
            assert loud["pattern"]["share"] == 1.0
        assert transient.single(net, of.hot)["changes"][0]["pattern"]["parts"][0]["pattern"]["targets"] == [net.target]
        # More destinations than a list of eight holds, all behind one link upwards of a leaf switch.
        shared = transient.shared_destinations(net)
        assert len(shared) > 8
        routes = phit.routes(
            {
                "topology": {"kind": "k_ary_n_tree", "arity": 4, "levels": net.levels},
                "routing": "table",
                "router": {"links": {"default": {"vcs": 1}}},
                "traffic": {"load": 0.1},
            }
        )
        leaf = transient.crowded_sources(net)[0] // net.arity
        ports = {routes[leaf][d] for d in shared if d // net.arity != leaf}
        assert len(ports) == 1


def test_the_cost_model_is_table_5_3() -> None:
    rows = cost.of_scenario(None).rows
    assert [(row.first, row.new) for row in rows] == [(1072, 176), (4144, 176), (16432, 176)]
    assert [row.voqnet for row in rows[:2]] == [16384, 65536]


def evidence(values: dict[str, float], *, after: float | None = None) -> Evidence:
    """Throughput over time: 0.75 before the hot spot, the given values while it is there, 0.75 (or `after` for 1Q)
    after it."""
    of = setting(Scale.SMALL)
    rows = [
        {
            "network": "#1",
            "mechanism": scheme,
            "t": float(t),
            "accepted_load": value
            if 1000 <= t < 1300
            else (after if after and scheme == "1Q" and 1300 <= t < 1600 else 0.75),
            "out_of_order": 0,
        }
        for scheme, value in values.items()
        for t in range(800, 2000, 10)
    ]
    return Evidence({"5.2": without_errors(rows)}, of)


GOOD = {"1Q": 0.14, "DBBM": 0.68, "VOQsw": 0.62, "VOQnet": 0.757, "FBICM": 0.74}


@pytest.mark.parametrize(
    ("claim", "changes", "after", "holds"),
    [
        ("F3", {}, 0.3, True),
        ("F3", {"FBICM": 0.70}, 0.3, False),
        ("F4", {}, 0.3, True),
        ("F4", {"DBBM": 0.60}, 0.3, False),
        ("F4", {"DBBM": 0.50, "VOQsw": 0.4}, 0.3, False),
        ("F5", {}, 0.3, True),
        # All recover within a bin.
        ("F5", {}, None, "undecided"),
        ("F5", {"VOQsw": 0.1}, 0.3, False),
        ("F9", {}, 0.3, True),
        ("F1", {}, 0.3, None),
    ],
)
def test_rules_tell_the_shapes_apart(
    claim: str, changes: dict[str, float], after: float | None, holds: bool | str | None
) -> None:
    found = next(c for c in study.claims if c.id == claim)
    verdict = judge(found, evidence(GOOD | changes, after=after)).verdict
    words: dict[bool | str | None, str] = {True: "holds", False: "differs", None: "not run"}
    expected = words.get(holds, str(holds))
    assert verdict == expected


def bursts_table(changes: dict[tuple[str, int, str], float], seeds: int = 3) -> pl.DataFrame:
    """Runs of I/O that fulfil claim F7, except `changes` by scheme, compression and measure."""
    usual = {"1Q": (200.0, 0.40), "DBBM": (150.0, 0.42), "VOQsw": (150.0, 0.42), "VOQnet": (100.0, 0.45)}
    rows = []
    for scheme, (latency, accepted) in {**usual, "FBICM": (101.0, 0.449)}.items():
        for compression in (20, 40, 80):
            for seed in range(1, seeds + 1):
                # Traces differ far more than schemes do: ratios are taken trace by trace.
                factor = 1 + seed
                rows.append(
                    {
                        "mechanism": scheme,
                        "compression": compression,
                        "seed": seed,
                        "latency_us": factor * changes.get((scheme, compression, "latency_us"), latency),
                        "accepted_load": changes.get((scheme, compression, "accepted_load"), accepted) / factor,
                        "out_of_order": 0,
                    }
                )
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        # Compressed 20 times latency counts, and throughput does not.
        ({("DBBM", 20, "latency_us"): 99.0}, "differs"),
        ({("FBICM", 20, "latency_us"): 106.0}, "differs"),
        ({("FBICM", 20, "accepted_load"): 0.3}, "holds"),
        # From 40 times on it is the other way round.
        ({("VOQsw", 40, "accepted_load"): 0.451}, "differs"),
        ({("VOQnet", 80, "accepted_load"): 0.48}, "differs"),
        ({("FBICM", 80, "latency_us"): 300.0}, "holds"),
    ],
)
def test_io_is_judged_by_what_tells_schemes_apart(changes: dict[tuple[str, int, str], float], verdict: str) -> None:
    claim = next(claim for claim in study.claims if claim.id == "F7")
    finding = judge(claim, Evidence({"bursts": bursts_table(changes)}, setting(Scale.SMALL)))
    assert finding.verdict == verdict
    assert finding.first is not None
    assert finding.first.verdict == "not run"


def test_one_trace_decides_nothing() -> None:
    claim = next(claim for claim in study.claims if claim.id == "F7")
    of = setting(Scale.SMALL)
    assert judge(claim, Evidence({"bursts": bursts_table({}, seeds=1)}, of)).verdict == "undecided"
    text = bursts.whole_runs.prose(bursts_table({}), of)
    assert "| 40 | FBICM | 303.0 | 0.1621 | 1.010 ± 0.000 | 0.998 ± 0.000 |" in text


def test_adaptive_tables_and_isolation_are_put_into_a_sentence() -> None:
    found = {
        "1Q, tables": 0.3,
        "1Q, adaptive": 0.5,
        "VOQsw, adaptive": 0.5,
        "FBICM, tables": 0.4,
        "FBICM, adaptive": 0.6,
    }
    rows = [
        {"mechanism": name, "case": case, "t": float(t), "accepted_load": value if case == beyond.CONFLICTS else 0.7}
        for name, value in found.items()
        for case in (beyond.HOT, beyond.CONFLICTS)
        for t in range(0, 800, 10)
    ]
    text = beyond.adaptive.prose(without_errors(rows), setting(Scale.SMALL))
    assert "carries +50.0 ± 0.0 % against FBICM over tables under the permutation (+20.0 ± 0.0 % against" in text
