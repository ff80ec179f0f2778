"""Intervals and steadiness as a person meets them: in runs, tables, plots, comparisons and searches for saturation."""

import copy
import json
from typing import Any

import phit
import polars as pl
import pytest
from phit.drawing import plots
from phit.drawing.comparing import Side, compared
from phit.drawing.hints import hints
from phit.drawing.short import short_rows, without_interval
from phit.running.saturation import LONGER, Rule
from phit.store.quantities import QUANTITIES

from .conftest import Cli, Write, tiny

MEANS = [QUANTITIES["accepted_load"], QUANTITIES["latency_mean"]]

SMOKE: dict[str, Any] = {"router__speedup": 2, "measure__warmup": 2000, "measure__cycles": 4000}
"""With `tiny`: the network of `examples/dragonfly_smoke.toml`, and its time."""


def queue(load: float, seed: int, cycles: int) -> dict[str, Any]:
    """Queues with a closed form: four outputs of a switch."""
    return {
        "seed": seed,
        "topology": {"kind": "single", "endpoints": 4},
        "router": {"allocator": "ideal"},
        "traffic": {"pattern": {"kind": "uniform", "include_self": True}, "load": load, "packet_size": 1},
        "measure": {"warmup": 2000, "cycles": cycles},
    }


@pytest.mark.parametrize(("load", "told"), [(0.5, 20), (0.9, 0)])
def test_seeds_of_one_scenario_are_not_told_apart(load: float, told: int) -> None:
    """Two runs of a scenario differ in one pair of twenty at most; far from saturation most pairs are judged."""
    sides = [Side((phit.run(queue(load, seed, 3000)).summary,)) for seed in range(80)]
    results = pl.concat([compared(a, b, MEANS).results for a, b in zip(sides[::2], sides[1::2], strict=True)])
    of_latency = results.filter(pl.col("quantity") == "latency_mean")
    assert results["verdict"].is_in(["higher", "lower"]).sum() <= 4
    assert of_latency["verdict"].is_in(["open", "same"]).sum() >= told
    undecided = results.filter(pl.col("verdict") == "undecided")
    assert undecided.height == results["reason"].drop_nulls().len()


def test_a_network_that_still_fills_is_seen() -> None:
    """Minimal routing at 0.85: these runs average 253 cycles, where 200,000 cycles give some 390."""
    runs = [phit.run(tiny(**SMOKE, traffic__load=0.85, seed=seed)) for seed in range(1, 9)]
    assert sum(run["latency_mean"] for run in runs) / len(runs) < 330
    assert all(run["latency_ci"] is None and run["latency_ci_reason"] for run in runs)
    words = [run["steady"] for run in runs]
    assert words.count("yes") <= 1
    assert "no" in words
    assert all(run["converged"] is None for run in runs)
    unsteady = next(run for run in runs if run["steady"] == "no")
    assert [hint.rule for hint in hints(unsteady.summary)].count("not-steady") == 1
    assert str(unsteady["steady_reason"]) in str(hints(unsteady.summary)[-1])


def test_a_warm_up_waits_for_a_steady_state() -> None:
    document = tiny(**SMOKE, traffic__load=0.85) | {"seed": 3}
    document["measure"] |= {"warmup": "auto", "max_warmup": 40_000}
    assert phit.run(document)["warmup_cycles"] > 10_000
    document["traffic"]["load"] = 0.2
    assert phit.run(document)["warmup_cycles"] < 10_000


def test_a_load_that_a_longer_run_loses_is_not_sustained(cli: Cli, write: Write) -> None:
    """UGAL-L under ADV+1 at 0.29: a short run accepts 0.97 of it or more, one of five times the cycles 0.94."""
    short = SMOKE | {"measure__warmup": 500, "measure__cycles": 2000}
    pattern = {"kind": "adversarial", "offset": 1}
    document = tiny(**short, routing__kind="ugal_l", traffic__pattern=pattern)
    found = phit.saturate(document, first=0.1, last=0.3, step=0.19)
    assert (found.sustained, found.saturated) == (0.1, 0.29)
    assert {(trial.longer, trial.decided) for trial in found.trials} <= {(1, True), (1, False), (LONGER, True)}
    options = ("--from", 0.1, "--to", 0.3, "--grid", 0.19, "--json", "--no-bound")
    status, out, err = cli("saturate", write(document), *options)
    assert status == 0, err
    assert json.loads(out)["sustained"] == 0.1


def trial(steady: str, accepted: float, longer: int) -> tuple[bool, bool]:
    summary = {"accepted_load": accepted * 0.5, "offered_load": 0.5, "latency_mean": 50.0, "steady": steady}
    found = Rule().trial(0.5, [({}, summary)], [], longer)
    return found.decided, found.sustained


def test_longer_runs_decide_what_short_ones_leave_open() -> None:
    assert trial("yes", 1.0, 1) == (True, True)
    assert trial("unknown", 1.0, 1) == trial("no", 1.0, 1) == (False, False)
    assert trial("no", 0.9, 1) == trial("unknown", 0.9, 1) == (True, False)
    assert trial("unknown", 1.0, LONGER) == (True, True)
    assert trial("no", 0.98, LONGER) == (True, False)
    # Queues that become shorter are no loss.
    assert trial("no", 1.01, LONGER) == (True, True)


def test_tables_have_means_with_their_intervals_or_why_there_is_none(cli: Cli, write: Write) -> None:
    experiment = queue(0.5, 1, 3000) | {"sweep": {"name": "queue", "product": {"traffic.load": [0.5, 0.98]}}}
    points = phit.sweep(experiment, workers=1)
    headings, (known, unknown) = short_rows(points, ["traffic.load"])
    at = headings.index("latency")
    value, half = known[at].split(" ± ")
    assert float(value) == pytest.approx(points["latency_mean"][0], rel=1e-3)
    assert float(half) == pytest.approx(points["latency_ci"][0], rel=0.05)
    assert unknown[at].endswith(" ± ?")
    assert known[headings.index("steady")] == "yes"
    (line,) = [line for line in without_interval(points) if "latency" in line]
    assert line.startswith("no interval of the mean packet latency at 1 of 2 points: ")
    status, out, _ = cli("run", write(queue(0.5, 1, 3000)))
    assert status == 0
    assert f"{value} ± {half}" in out
    status, out, _ = cli("run", write(queue(0.98, 1, 3000)))
    assert "no interval: " in out


def test_points_that_are_not_known_to_be_steady_are_hollow() -> None:
    columns = ["offered_load", "accepted_load", "latency_mean", "latency_ci", "saturated", "steady"]
    rows = [
        (0.1, 0.1, 100.0, 1.0, False, "yes"),
        (0.5, 0.5, 200.0, None, False, "unknown"),
        (0.9, 0.6, 9e3, None, True, "no"),
    ]
    points = pl.DataFrame(rows, schema=columns, orient="row")
    drawn = plots.curves(plots.series_of(points, [], {}), "latency_mean")
    assert drawn["unsteady"].to_list() == [False, True, True]
    # In saturation the accepted load stays, and says itself that it is less than offered.
    assert plots.curves(plots.series_of(points, [], {}), "accepted_load")["unsteady"].to_list() == [False, True, False]
    assert drawn["half"].to_list() == [1.0, None, None]
    chart = plots.load_curves(points).to_dict()
    assert plots.HOLLOW in json.dumps(chart)
    assert plots.HOLLOW not in json.dumps(plots.load_curves(points.head(1)).to_dict())
    # A saturated point is marked if it is low enough to be drawn.
    steady = pl.col("steady") != "unknown"
    for latency, marked in [(9e3, False), (150.0, True)]:
        ends = points.filter(steady).with_columns(latency_mean=pl.when("saturated").then(latency).otherwise(100.0))
        assert (plots.HOLLOW in json.dumps(plots.load_curves(ends).to_dict())) is marked
    old = plots.curves(plots.series_of(points.drop("steady"), [], {}), "latency_mean")
    assert not old["unsteady"].any()
    assert plots.above_zero(drawn).height == 3


def test_a_run_has_one_interval_wherever_it_stands() -> None:
    document = queue(0.6, 1, 4000)
    asked = copy.deepcopy(document)
    asked["measure"]["precision"] = {"latency_mean": 0.2, "accepted_load": 0.2}
    plain, precise = phit.run(document), phit.run(asked)
    table = precise.tables["precision"]
    assert plain["latency_ci"] is not None
    if precise["cycles"] == plain["cycles"]:
        assert plain["latency_ci"] == precise["latency_ci"]
    assert table["half_width"].to_list() == [precise["latency_ci"], precise["accepted_ci"]]
    keys = ("offered_load", "accepted_load", "latency_mean", "latency_ci", "saturated", "steady")
    points = pl.DataFrame([{key: plain[key] for key in keys}])
    assert plots.curves(plots.series_of(points, [], {}), "latency_mean")["half"].to_list() == [plain["latency_ci"]]
