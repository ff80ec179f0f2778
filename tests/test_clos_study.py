"""The Clos study: closed forms, the throughput bound with faults, costs, runs and tables."""

import json
from itertools import pairwise
from pathlib import Path

import phit
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.document import Document
from phit.studies.clos import bound, cost, paper, study
from phit.studies.clos.allocation import throughput, two_or_more
from phit.studies.clos.load import latency_ratio
from phit.studies.clos.setting import BUFFER, levels, setting, stages
from phit.studies.clos.uplinks import random_wait, sampled_wait
from phit.studies.kit.plan import Plan
from phit.studies.kit.scale import Scale

from .conftest import Cli, Write

PAPER = setting(Scale.PAPER)


def test_stages_and_radix() -> None:
    # Section 3.1: 4K nodes take 3 stages of radix-128 routers and 23 of radix 4.
    assert {radix: stages(4096, radix) for radix in PAPER.radices} == {4: 23, 8: 11, 16: 7, 32: 5, 64: 5, 128: 3}
    assert levels(1024, 64) == ([32, 32], [32])
    assert levels(4096, 64) == ([32, 32, 4], [32, 32])
    with pytest.raises(ValueError, match="100 endpoints: no folded Clos network of radix 64"):
        levels(100, 64)


def test_the_formula_of_section_3_1() -> None:
    assert latency_ratio(3) == pytest.approx(2 / 3)
    assert latency_ratio(23) == pytest.approx(12 / 23)


def test_two_or_more_heads() -> None:
    # For both of two inputs: p squared. The probability is 0 without load, and 1 for many inputs at full load.
    assert two_or_more(2, 1, 0.3) == pytest.approx(0.09)
    assert two_or_more(2, 4, 0.8) == pytest.approx(0.04)
    assert two_or_more(64, 1, 0.0) == 0.0
    assert two_or_more(64, 1, 1.0) == pytest.approx(1.0)
    for load in (0.2, 0.5, 0.9):
        assert two_or_more(64, 8, load) == pytest.approx(two_or_more(8, 1, load), abs=0.06)


def without_links(half: int, faults: set[tuple[int, int]]) -> Document:
    """A network of three stages without some links of a leaf and a middle-stage router."""
    links = [[leaf, half + middle] for leaf, middle in sorted(faults)]
    return {**paper.topology(half * half, 2 * half), "faults": {"links": links}}


def test_the_bound_without_faults_is_the_full_load() -> None:
    assert paper.most(paper.topology(64, 16)) == 1
    assert bound.oblivious(8, 8, [], around="uniform") == pytest.approx(1.0)
    assert bound.oblivious(8, 8, [], around="next") == pytest.approx(1.0)


def test_the_bound_with_one_fault() -> None:
    # A leaf with 3 of its 4 links: all of its traffic, in both directions, uses these.
    assert paper.most(without_links(4, {(0, 0)})) == pytest.approx(3 / 4)
    # Drawn again: each link of leaf 0 carries 4/3. Taken by the next: the link of middle router 1 carries 2.
    assert bound.oblivious(4, 4, [(0, 0)], around="uniform") == pytest.approx(3 / 4)
    assert bound.oblivious(4, 4, [(0, 0)], around="next") == pytest.approx(1 / 2)


def test_the_bound_of_the_papers_faults() -> None:
    dead = paper.faults(PAPER)
    assert len(set(dead)) == 16
    # A leaf with 31 of 32 links. If its link to R33 is missing, the link to R34 takes the draws of R33. It also takes
    # the draws of R32 for the 8 of 31 leaves that R32 does not reach.
    assert paper.bounds(PAPER)["adaptive"] == pytest.approx(31 / 32)
    assert bound.oblivious(32, 32, dead, around="next") == pytest.approx(1 / (2 + 8 / 31))
    assert 0.9 < bound.oblivious(32, 32, dead, around="uniform") <= 31 / 32 + 1e-9


@settings(max_examples=12, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4))
def test_no_division_beats_the_linear_program(faults: set[tuple[int, int]]) -> None:
    ways = [{m for m in range(5) if (leaf, m) not in faults} for leaf in range(5)]
    if all(a & b for a in ways for b in ways):
        best = paper.most(without_links(5, faults))
        links = [5 - sum(leaf == of for leaf, _ in faults) for of in range(5)]
        assert best <= min(links) / 5 + 1e-9
        for around in ("uniform", "next"):
            assert bound.oblivious(5, 5, faults, around=around) <= best + 1e-9


def latency(name: str, load: float, **keys: object) -> float:
    """Mean latency of a run at the smoke scale."""
    result = phit.run(paper.scenario(setting(Scale.SMOKE), name, load, 1, **keys))  # type: ignore[arg-type]
    assert result.latency_mean is not None
    return float(result.latency_mean)


def test_a_network_saturates_at_its_bound() -> None:
    of = setting(Scale.SMOKE)
    keys = {**paper.faulty(of), "measure": throughput(1000, 2000)}
    bounds = paper.bounds(of)
    for name, most in (("sequential", bounds["adaptive"]), ("oblivious", bounds["next"])):
        # Below, nothing grows; above, the sources of the most loaded router wait ever longer.
        below = latency(name, 0.9 * most, **keys)
        assert below < 20, name
        assert latency(name, min(1.2 * most, 0.99), **keys) > 3 * below, name


def test_bit_complement_is_free_of_congestion() -> None:
    # Every source sends to a router of its own: with one uplink for each input nothing ever waits.
    assert latency("sequential", 0.95, pattern="bit_complement") == pytest.approx(5.0)
    assert latency("oblivious", 0.95, pattern="bit_complement") > 8.0


def test_a_stage_takes_one_cycle() -> None:
    assert latency("sequential", 0.02) == pytest.approx(5.0, abs=0.05)


def test_sequential_sampling_of_one_output_is_oblivious() -> None:
    one = latency("sequential_r(2)", 0.7, samples=1)
    assert one == pytest.approx(latency("oblivious", 0.7), rel=0.1)


def rows(name: str, of: cost.Cost) -> dict[tuple[int, int], cost.Row]:
    """The rows of an allocation by radix and precision."""
    return {(row.radix, row.precision): row for row in (*of.by_radix, *of.by_precision) if row.algorithm == name}


def test_sequential_grows_with_the_square_of_the_radix() -> None:
    found = rows("sequential", cost.of_scenario(None))
    for small, large in pairwise(cost.RADICES):
        ratio = found[large, 4].comparators / found[small, 4].comparators
        assert 4 <= ratio <= 4.7, (small, large)
    assert found[64, 4].structure == "central"
    assert rows("sequential_r(2)", cost.of_scenario(None))[64, 4].structure == "central"


def test_greedy_with_two_samples_needs_a_single_comparison() -> None:
    of = cost.of_scenario(None)
    two = rows("greedy_r(2)", of)[64, 4]
    assert (two.structure, two.comparators_per_input, two.comparators, two.steps) == ("distributed", 1, 32, 1)
    assert rows("greedy", of)[64, 4].comparators_per_input == 31
    assert rows("oblivious", of)[64, 4].comparators == 0


def test_less_precision_narrows_comparators() -> None:
    # Table 1: 16 entries, so that 4 bits are all; 0 bits tell only whether an output is available.
    assert cost.Shape(32, 32).full == 4
    widths = [
        row.comparator_bits for _, row in sorted(rows("greedy", cost.of_scenario(None)).items()) if row.radix == 64
    ]
    assert widths == [1, 2, 3, 4, 5]


def test_only_distributed_allocations_are_precomputed() -> None:
    of = cost.of_scenario(None)
    ahead = {
        name: rows(name, of)[64, 4].precompute_bits
        for name in ("sequential", "sequential_r(2)", "greedy", "greedy_r(2)")
    }
    assert ahead == {"sequential": 0, "sequential_r(2)": 0, "greedy": 160, "greedy_r(2)": 160}


def test_costs_of_a_scenario(cli: Cli, write: Write) -> None:
    scenario: Document = {
        "topology": {"kind": "clos", "down": [24, 16], "up": [8]},
        "routing": {"kind": "clos", "allocation": "greedy_r", "samples": 3},
        "router": {"links": {"default": {"vcs": 1, "buffer": 8}}},
        "traffic": {"load": 0.3},
    }
    status, out, error = cli("cost", "clos", write(scenario), "--json")
    assert status == 0, error
    found = json.loads(out)
    assert found["entries"] == 8
    (row,) = [row for row in found["by_radix"] if row["algorithm"] == "greedy_r(3)"]
    assert (row["radix"], row["precision"], row["comparators"], row["random_bits"]) == (32, 3, 48, 24 * 3 * 3)
    status, _, error = cli("cost", "clos", "examples/dragonfly_small.toml")
    assert status != 0
    assert 'topology.kind = "dragonfly"' in error


@pytest.mark.parametrize("scale", list(Scale))
def test_every_run_of_every_scale_is_valid(scale: Scale) -> None:
    of = setting(scale)
    plan = Plan.of({figure.name: figure.cases(of, 1) for figure in study.figures.values()})
    assert len(plan.points) == len({point.hash for point in plan.points}) > 50
    for point in plan.points:
        assert point.scenario["measure"]["confidence"] == 0.99
        assert point.scenario["router"]["links"]["default"]["buffer"] in (BUFFER, "infinite")


def test_a_name_may_stand_for_two_figures() -> None:
    assert [figure.name for figure in study.choose(["7"])] == ["7a", "7b"]
    assert [figure.name for figure in study.choose(["10", "4b"])] == ["4", "10a", "10b"]
    assert [figure.name for figure in study.choose(["7b"])] == ["7b"]


@pytest.mark.usefixtures("sketched")
def test_figures_from_end_to_end(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    chosen = [part for name in ("5", "6", "11") for part in ("--figure", name)]
    status, _, error = cli("reproduce", "clos", *chosen, "--scale", "smoke", "--output", out, "--jobs", 1)
    assert status == 0, error
    found = json.loads((out / "claims.json").read_text())
    assert [row["reading"] for row in found if row["id"] == "K1"] == [reading.name for reading in paper.READINGS]
    findings = {row["id"]: row for row in found if row["reading"] == "input"}
    assert findings["K15"]["verdict"] in ("holds", "undecided")
    assert findings["K3"]["verdict"] != "not run"
    assert findings["K1"]["verdict"] == "not run"
    shares = pl.read_csv(out / "tables" / "5.csv").group_by("reading", "mechanism").agg(pl.col("share").sum())["share"]
    assert all(share == pytest.approx(1.0) for share in shares)
    routers = pl.read_csv(out / "tables" / "6.csv")
    assert routers.height == len(paper.READINGS) * 2 * 8
    assert (routers["greatest"] >= routers["snapshot"]).all()
    heads = pl.read_csv(out / "tables" / "11.csv")
    for radix, flits, load, counted in heads.select("radix", "flits", "load", "heads").iter_rows():
        assert counted == pytest.approx(radix * load / flits, rel=0.1)
    assert (heads["probability"] - heads["formula"]).abs().max() < 0.03  # type: ignore[operator]
    drawn = {path.name for path in (out / "figures").glob("*.svg")}
    assert {"5.svg", "5-output.svg", "6.svg", "6-fitted.svg", "11.svg"} <= drawn


def test_runs_that_no_reading_changes_are_made_once() -> None:
    # Credits are no matter where buffers hold any number of flits and routing does not look at them.
    of = setting(Scale.SMOKE)
    for name, buffer, shared in (
        ("oblivious", "infinite", True),
        ("sequential", "infinite", False),
        ("oblivious", BUFFER, False),
    ):
        document = paper.scenario(of, name, 0.8, 1, buffer=buffer)
        others = [paper.under(reading, document) for reading in (paper.OUTPUT, paper.FITTED)]
        assert all((other == document) == shared for other in others), name
    document = paper.scenario(of, "oblivious", 0.8, 1)
    changes: list[Document] = [{}, {"credit_release": "output"}, {"credit_delay": paper.SLOW_CREDITS}]
    results = [phit.run({**document, "router": {**document["router"], **keys}}) for keys in changes]
    assert len({(result.latency_mean, result.latency_std, result.accepted_load) for result in results}) == 1


def test_waits_for_uplinks() -> None:
    # One output drawn: a queue with binomial arrivals. Two: the queues are nearly even.
    for load in (0.5, 0.7):
        assert sampled_wait(16, load, 1) == pytest.approx(random_wait(16, load), rel=0.05)
    assert random_wait(2, 0.5) == pytest.approx(0.25)
    assert sampled_wait(32, 0.9, 2) < 0.25 * random_wait(32, 0.9)
