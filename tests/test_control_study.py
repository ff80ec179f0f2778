"""`phit reproduce control`: equal networks, every scheme proved, and measures relative to the run without incast."""

import dataclasses
import json
import math
from pathlib import Path

import phit
import polars as pl
import pytest
from phit.studies.control import collective, study, tuning, victims
from phit.studies.control.networks import CONTROLS, MAKERS, NONE, SCHEMES, TOGETHER, Network, Scheme, network, scheme
from phit.studies.control.question import ALONE, VICTIMS, flows, incast, jain, scenario
from phit.studies.control.reaction import settled
from phit.studies.control.setting import DRAGONFLY, NETWORKS, TREE, setting
from phit.studies.control.spots import FAN_IN, small_spots
from phit.studies.kit.evidence import Responses
from phit.studies.kit.scale import Scale

from .conftest import Cli

SMALL = setting(Scale.SMALL)


@pytest.mark.usefixtures("sketched")
def test_figures_from_end_to_end(cli: Cli, tmp_path: Path) -> None:
    figures = [part for name in ("victims", "reaction", "spots", "collective") for part in ("--figure", name)]
    status, _, err = cli("reproduce", "control", "--scale", "smoke", "--output", tmp_path, "--jobs", 1, *figures)
    assert status == 0, err
    table = pl.read_parquet(tmp_path / "tables" / "victims.parquet")
    alone = table.filter(pl.col("incast") == ALONE)
    assert alone["rate"].to_list() == alone["slowdown"].to_list() == alone["slowdown_p99"].to_list() == [1.0, 1.0]
    beside = table.filter(pl.col("incast") != ALONE)
    assert set(beside["mechanism"]) == {of.name for of in SCHEMES}
    assert all(0 < value <= 1 + 1e-12 for column in ("hot", "jain") for value in beside[column])
    throttling = beside.filter(pl.col("mechanism").is_in([*CONTROLS, *TOGETHER]))
    assert (
        beside.filter(pl.col("notifications").is_not_null())["mechanism"].to_list() == throttling["mechanism"].to_list()
    )
    series = pl.read_parquet(tmp_path / "tables" / "reaction.parquet")
    # Nobody sends to the target on purpose before the incast begins.
    hot = series.filter(pl.col("flow") == "hot")
    early, rates = (rows["rate"].to_list() for rows in (hot.filter(pl.col("t") < 3), hot))
    assert max(early) < 0.9 < max(rates)
    slowdowns = pl.read_parquet(tmp_path / "tables" / "collective.parquet")["slowdown"].to_list()
    assert len(slowdowns) == sum(not of.reserves for of in SCHEMES)
    assert min(slowdowns) >= 1 - 1e-9
    found = {row["id"]: row["verdict"] for row in json.loads((tmp_path / "claims.json").read_text())}
    assert list(found) == [claim.id for claim in study.claims]
    assert (found["G14"], found["G16"]) == ("not run", "not run")


@pytest.mark.parametrize("of", SCHEMES, ids=lambda of: of.name)
@pytest.mark.parametrize("name", NETWORKS)
def test_every_scheme_is_free_of_deadlock_on_every_network(name: str, of: Scheme) -> None:
    on = network(name, setting(Scale.SMALL))
    document = scenario(on, of, {"load": 0.4, "pattern": incast(on, on.aggressors(12))}, {"warmup": 0, "cycles": 10}, 1)
    assert phit.verify(document)["proved"]


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_the_sizes_that_tables_say(name: str, scale: Scale) -> None:
    on = network(name, setting(scale))
    document = scenario(
        on, scheme(NONE), {"load": 0.1, "pattern": "uniform"}, {"warmup": 0, "cycles": 2, "endpoints": True}, 1
    )
    assert phit.run(document).tables["endpoints"].height == on.endpoints


@pytest.mark.parametrize("on", [make(SMALL) for make in MAKERS.values()], ids=lambda on: on.name)
def test_schemes_differ_in_queues_and_controls_alone(on: Network) -> None:
    routers = {of.name: on.router(of) for of in SCHEMES if of.name != "VOQnet"}
    links = [routers[of.name]["links"] for of in SCHEMES if of.name != "VOQnet" and not of.reserves]
    assert all(each == links[0] for each in links)
    for of in SCHEMES:
        if of.reserves:
            own = routers[of.name]["links"]
            assert all(own[name]["vcs"] == of.kinds * links[0][name]["vcs"] for name in own)
            assert all(link["vcs"] * link["buffer"] <= 8192 for link in own.values())
    assert {name for name, router in routers.items() if "admittance" not in router} == {*CONTROLS, *TOGETHER}
    assert all(link["vcs"] * link["buffer"] <= 8192 for link in links[0].values())
    sources = on.aggressors(40)
    assert len(set(sources)) == 40
    assert on.target() not in sources
    assert len(flows(on, sources)) == 42


def test_small_hot_spots_share_no_endpoint() -> None:
    on = network(TREE, SMALL)
    spots = small_spots(on)
    ends = [end for target, sources in spots for end in (target, *sources)]
    assert len(ends) == len(set(ends)) == len(spots) * (FAN_IN + 1) == 20


def test_measures_are_those_of_the_flows() -> None:
    rows = {"flow": ["3", "5", "hot", VICTIMS], "accepted_rate": [0.3, 0.1, 0.2, 6.0]}
    found = victims._measured(pl.DataFrame({**rows, "latency_mean": [9.0] * 4, "latency_p99": [20] * 4}))
    assert found["hot"] == pytest.approx(0.6)
    assert found["jain"] == pytest.approx(0.4**2 / (2 * (0.09 + 0.01)))
    assert found["accepted"] == pytest.approx(6.6)
    assert jain([0.25] * 4) == 1
    assert jain([1.0, 0, 0, 0]) == 0.25
    assert jain([0.0, 0.0]) is None


def test_a_line_of_several_destinations_can_tie_a_victim_to_a_hot_spot() -> None:
    """The second placement on the Dragonfly: docs/congestion.md tells why the list of destinations decides there."""
    on, short = network(DRAGONFLY, SMALL), dataclasses.replace(SMALL, kilobytes=16)

    def finish(of: str, *, alone: bool = False, **queueing: int) -> float:
        document = collective.workload(on, scheme(of), short, 2, alone=alone)
        document["queueing"] |= queueing
        jobs = phit.run(document).tables["jobs"]
        return float(jobs.filter(pl.col("job") == collective.TRAINING)["finish"][0])

    alone = finish(NONE, alone=True)
    shared, own = (finish("FBICM", destinations=destinations) / alone for destinations in (8, 1))
    assert own < 1.02
    assert shared == pytest.approx(finish(NONE) / alone, rel=0.02)
    assert shared > 3


def responses(rates: dict[int, float]) -> Responses:
    """Victims of one scheme with a rate of 1 in all bins of the small setting but these."""
    bins = range((SMALL.before + SMALL.during + SMALL.after) // SMALL.bin)
    rows = [
        {
            "mechanism": "FBICM",
            "t": float(i * SMALL.bin / 1000),
            "rate": rates.get(i, 1.0),
            "rate_each": [rates.get(i, 1.0)],
            "seed_each": [1],
            "runs": ["a"],
        }
        for i in bins
    ]
    return Responses(pl.DataFrame(rows), "figure reaction")


def test_times_end_with_the_last_bin_below_the_rate_before() -> None:
    width, begin, end = SMALL.bin / 1000, SMALL.before // SMALL.bin, (SMALL.before + SMALL.during) // SMALL.bin
    react, recover = settled(SMALL, responses({begin + 2: 0.5}), "FBICM")
    assert react is not None
    assert recover is not None
    assert (react.nominal_value, recover.nominal_value) == (3 * width, 0)
    react, recover = settled(SMALL, responses({end - 1: 0.5, end + 4: 0.9}), "FBICM")
    assert react is None
    assert recover is not None
    assert recover.nominal_value == 5 * width
    react, _ = settled(SMALL, responses({begin: 0.96}), "FBICM")
    assert react is not None
    assert react.nominal_value == 0


def test_parameters_of_the_schemes_stand_on_their_maps() -> None:
    for name, (first, second) in tuning.MAPS.items():
        chosen = scheme(name).congestion or {}
        for axis in (first, second):
            assert all(chosen[key] in axis.values for key in (axis.key, *axis.also)), name
    assert math.prod(len(axis.values) for axis in tuning.MAPS["ECN"]) == 15


def test_rules_have_no_errors_without_runs() -> None:
    assert {finding.verdict for finding in study.judge({}, SMALL)} == {"not run"}
