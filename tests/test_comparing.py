"""Comparisons: matching points, significance and messages; and watched sweeps."""

import json
import math
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import phit
import polars as pl
import pytest
from phit.base.errors import InputError, ResultsError
from phit.drawing.comparing import Side, compared
from phit.drawing.reporting.saturation import curve_of, curves_of
from phit.drawing.watching import Watched, sparkline
from phit.store.quantities import QUANTITIES
from scipy import stats

from .conftest import Cli, Write, tiny
from .hostile import LOADS, small

LATENCY, ACCEPTED = QUANTITIES["latency_mean"], QUANTITIES["accepted_load"]


def summary(latency: float, half: float | None = None, seed: int = 1, **keys: Any) -> dict[str, Any]:
    scenario = {"seed": seed, **keys}
    interval = {"latency_ci": half, "latency_ci_batches": None if half is None else 20, "latency_ci_reason": None}
    return {"latency_mean": latency, **interval, "confidence": 0.95, "scenario": scenario}


def row(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = compared(Side(tuple(a)), Side(tuple(b)), [LATENCY]).results.to_dicts()
    return found


def test_seeds_are_compared_by_welchs_test() -> None:
    ours, theirs = [10.0, 12.0, 11.0, 13.5], [16.0, 17.0, 15.0]
    found = row([summary(v, seed=i) for i, v in enumerate(ours)], [summary(v, seed=i) for i, v in enumerate(theirs)])
    expected = stats.ttest_ind(theirs, ours, equal_var=False)
    assert found["p"] == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert found["half_width"] == pytest.approx((interval.high - interval.low) / 2)
    assert found["difference"] == pytest.approx(np.mean(theirs) - np.mean(ours))
    assert found["relative"] == pytest.approx(np.mean(theirs) / np.mean(ours) - 1)
    assert found["verdict"] == "higher"


def test_single_runs_are_compared_by_their_batches() -> None:
    t = float(stats.t.ppf(0.975, 19))
    found = row([summary(100.0, 2.0 * t)], [summary(104.0, 1.0 * t)])
    error = math.hypot(2.0, 1.0)
    freedom = error**4 / (2.0**4 / 19 + 1.0 / 19)
    assert found["p"] == pytest.approx(2 * stats.t.sf(4 / error, freedom))
    assert found["verdict"] == "open"
    assert row([summary(100.0, 0.1)], [summary(90.0, 0.1)])["verdict"] == "lower"
    without = summary(90.0) | {"latency_ci_reason": "saturated"}
    found = row([summary(100.0, 0.1)], [without])
    assert (found["verdict"], found["reason"], found["half_width"]) == ("undecided", "B: saturated", None)
    assert row([summary(100.0, 1.0)], [summary(100.0, 1.0)])["verdict"] == "same"


def test_of_many_points_without_a_difference_none_is_told_apart() -> None:
    """Holm: the probability of any wrong verdict on 40 points is 5 %; each by itself would make two of them."""
    draw = np.random.default_rng(4)
    wrong = 0
    for _ in range(40):
        sides = []
        for _ in range(2):
            values = draw.normal(100.0, 1.0, (40, 5))
            sides.append(
                Side(tuple(summary(v, seed=s, load=i) for i, own in enumerate(values) for s, v in enumerate(own)))
            )
        found = compared(sides[0], sides[1], [LATENCY]).results
        assert found.height == 40
        wrong += found["verdict"].is_in(["higher", "lower"]).any()
    # 40 trials at 5 %: 2 expected, 3 standard deviations above are 6.1.
    assert wrong <= 6


def test_points_are_matched_by_what_varies() -> None:
    def sweep(buffer: int, loads: list[float]) -> Side:
        return Side(tuple(summary(load, router={"buffer": buffer}, traffic={"load": load}) for load in loads))

    found = compared(sweep(32, [0.1, 0.2, 0.3]), sweep(64, [0.2, 0.3, 0.4, 0.5]), [LATENCY])
    assert found.keys == ("traffic.load",)
    assert found.results["traffic.load"].to_list() == ["0.2", "0.3"]
    assert found.unmatched == (1, 2)
    first, second = found.scenario
    assert (first.key, first.a, first.b) == ("router.buffer", (32,), (64,))
    assert (second.key, second.a) == ("traffic.load", (0.1, 0.2, 0.3))


def test_keys_that_follow_from_others_are_left_out() -> None:
    def sweep(*kinds: str) -> Side:
        return Side(tuple(summary(1.0, routing={"kind": kind, "via": f"of {kind}"}) for kind in kinds))

    found = compared(sweep("minimal", "ugal_l"), sweep("ugal_l", "minimal"), [LATENCY])
    assert found.keys == ("routing.kind",)
    assert found.results["routing.kind"].to_list() == ["minimal", "UGAL-L"]
    assert found.scenario == ()


def test_folders_are_compared(kept: Path, tmp_path: Path, cli: Cli) -> None:
    same = shutil.copytree(kept, tmp_path / "same")
    status, out, err = cli("compare", kept, same)
    assert (status, err) == (0, "")
    assert "The scenarios are the same." in out
    assert out.count("the same at 2") == 2
    phit.sweep(
        small(sweep=LOADS | {"name": "r"}, seed=9, measure={"warmup": 10, "cycles": 3000}), tmp_path / "long", workers=1
    )
    status, out, err = cli("compare", kept, tmp_path / "long", "--json")
    found = json.loads(out)
    assert {entry["key"] for entry in found["scenario"]} >= {"measure.cycles"}
    assert {entry["traffic.load"] for entry in found["results"]} == {"0.1", "0.2"}
    ours = pl.read_parquet(kept / "points.parquet").filter(pl.col("traffic.load") == 0.1)["accepted_load"][0]
    (one,) = [r for r in found["results"] if r["traffic.load"] == "0.1" and r["quantity"] == "accepted_load"]
    assert one["a"] == ours


def test_scenarios_are_run_and_compared(cli: Cli, write: Write) -> None:
    time = {"measure__warmup": 1000, "measure__cycles": 12_000}
    slow = write(tiny(router__latency=50, **time), "slow.json")
    status, out, err = cli("compare", write(tiny(**time)), slow, "--y", "latency_mean", "--y", "hops_mean")
    assert (status, err) == (0, "")
    line = next(line for line in out.splitlines() if "router.latency" in line)
    assert line.split() == ["router.latency", "5", "50"]
    assert "of 1 points higher in B at 1" in out
    assert "Mean hops" in out


def test_what_cannot_be_compared_is_refused(kept: Path, cli: Cli, write: Write, tmp_path: Path) -> None:
    swept = write(small(sweep=LOADS))
    for arguments, words in (
        ((kept, swept), "has a [sweep]"),
        ((kept, kept, "--y", "latency"), "no quantity with one number"),
        ((kept, tmp_path), "not a results folder"),
    ):
        status, _, err = cli("compare", *arguments)
        assert (status, err.count("\n")) == (2, 1)
        assert words in err
    with pytest.raises(InputError, match="sweep"):
        phit.compare(kept, swept)
    gone = shutil.copytree(kept, tmp_path / "gone")
    next((gone / "points").iterdir()).unlink()
    with pytest.raises(ResultsError, match="this point is missing"):
        phit.compare(kept, gone)


@pytest.fixture
def half(kept: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A sweep of two points of which one has finished, as its folder is while it runs; and the other's file."""
    folder = Path(shutil.copytree(kept, tmp_path / "half"))
    manifest = json.loads((folder / "manifest.json").read_text())
    for entry in manifest["points"]:
        entry["state"] = "planned"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for table in folder.glob("*.parquet"):
        table.unlink()
    other = folder / "points" / f"{manifest['points'][1]['hash']}.json"
    return folder, other.rename(tmp_path / other.name)


def test_a_running_sweep_is_watched(half: tuple[Path, Path], cli: Cli) -> None:
    folder, other = half
    status, out, err = cli("watch", folder)
    assert (status, err) == (0, "")
    assert "1 of 2 points" in out
    assert "load=0.1: accepted" in out
    watched = Watched(folder)
    watched.look()
    assert not watched.over
    other.rename(folder / "points" / other.name)
    watched.look()
    assert watched.over
    status, out, _ = cli("watch", folder, "--once")
    assert "2 of 2 points" in out
    assert "sustains 0.2" in out or "not yet" in out


def test_rates_are_those_of_late(half: tuple[Path, Path]) -> None:
    watched = Watched(half[0])
    now = time.time()
    assert watched.rate(now) is None
    watched._finished = {"old": now - 9999, **{str(i): now - 60 + 6 * i for i in range(10)}}
    assert watched.rate(now) == pytest.approx(10 / 60)


def test_bars_are_as_high_as_what_is_accepted() -> None:
    points = pl.DataFrame({"x": [0.3, 0.1, 0.2], "accepted_load": [0.2, 0.1, None], "saturated": [True, False, False]})
    curve = curve_of("", "a", points)
    assert sparkline(curve, 0.2) == "▅·█"
    assert (curve.sustained, curve.saturated) == (0.2, 0.3)


def test_who_watches_nothing_is_told(tmp_path: Path, cli: Cli) -> None:
    status, _, err = cli("watch", tmp_path / "none")
    assert (status, "no such results folder" in err) == (2, True)


def test_points_without_a_place_on_the_axis_are_on_no_curve() -> None:
    columns = {"panel": "", "series": ["a", "a", "b"], "x": [0.1, None, None], "saturated": False}
    assert [(curve.name, curve.loads) for curve in curves_of(pl.DataFrame(columns))] == [("a", ((0.1, None),))]
