"""`phit reproduce` from end to end, at the scale that takes seconds."""

import json
import re
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from phit.running.sharding import Shard
from phit.running.where import Where
from phit.store.quantities import MACHINE
from phit.studies.contention import study
from phit.studies.contention.load import mixed
from phit.studies.contention.paper import MECHANISMS
from phit.studies.kit import page
from phit.studies.kit.plan import Case, Done, Plan
from phit.studies.kit.reproduce import _drawn, _run_shares, publish, reproduce
from phit.studies.kit.scale import Scale
from phit.studies.kit.study import READING, Figure
from phit.studies.kit.tables import steady, transient

from .conftest import Cli, Start


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of figure 5b, not drawn; tests work on copies."""
    folder = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "charts", lambda *_: {})
        reproduce(study, ["5b"], Scale.SMOKE, out=folder, where=Where(workers=1))
    return folder


def test_a_figure_from_end_to_end(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    command = ("reproduce", "contention", "--figure", "5b", "--scale", "smoke", "--output", folder, "--jobs", 1)
    status, out, err = cli(*command)
    assert status == 0, err
    assert "smoke scale: Dragonfly p=2 a=4 h=2, 72 endpoints" in err
    assert "runs, 0 of them done already; about" in err
    for suffix in ("png", "svg", "html"):
        assert (folder / "figures" / f"5b.{suffix}").stat().st_size > 1000
    table = pl.read_parquet(folder / "tables" / "5b.parquet")
    assert pl.read_csv(folder / "tables" / "5b.csv").shape == table.shape
    assert set(table["mechanism"]) == set(MECHANISMS)
    minimal = table.filter(pl.col("mechanism") == "MIN", pl.col("load") == 0.2)
    # One link of eight endpoints: 1/(a·p).
    assert minimal["accepted_load"].item() == pytest.approx(1 / 8, rel=0.02)
    assert minimal["saturated"].item()
    claims = {row["id"]: row for row in json.loads((folder / "claims.json").read_text())}
    assert list(claims) == [claim.id for claim in study.claims]
    judged = {"measured", "verdict", "note", "margin", "exact", "settled", "because"}
    assert set(claims["C1"]) == {"id", "figure", "statement", "paper"} | judged
    assert claims["C1"]["verdict"] == claims["C12"]["verdict"] == "not run"
    # The requested claims are shown, and other claims that these runs have decided.
    shown = {claim.id for claim in study.claims if re.search(rf"^ *{claim.id} ", out, re.MULTILINE)}
    assert shown >= {claim.id for claim in study.claims if claim.figure == "5b"}
    assert all(claims[name]["verdict"] != "not run" or "5b" in claims[name]["figure"] for name in shown)
    assert f"{len(study.claims) - len(shown)} claims belong to figures that have not been run" in err
    page = (folder / "report.md").read_text()
    assert "![Latency and throughput under ADV+1](figures/5b.png)" in page
    assert re.search(r" of CPU time in all, [\d.]+ s of wall time in 1 process\.", page)

    runs = len(list((folder / "points").glob("*.json")))
    status, again, err = cli(*command)
    assert (status, again) == (0, out)
    assert f"{runs} runs, {runs} of them done already" in err
    (stretch,) = json.loads((folder / "manifest.json").read_text())["stretches"]
    assert stretch["points"] == runs
    assert stretch["processes"] == 1


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_which_runs_were_left_out(reproduced: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(reproduced, tmp_path / "r"))
    every = len(study.figures["5b"].cases(study.setting(Scale.SMOKE), None))
    page_of = folder / "report.md"
    # Figures that share a run or two with this one are named, and not shown with next to nothing.
    assert f"\n{every} runs, " in page_of.read_text()
    assert "were left out" not in page_of.read_text()
    assert "too little to be shown: Figure 5a: Latency and throughput under uniform traffic; " in page_of.read_text()
    minimal = [
        path for path in (folder / "points").iterdir() if json.loads(path.read_text())["values"]["curve"] == "MIN"
    ]
    for path in minimal[:2]:
        path.unlink()
    reproduce(study, ["5b"], Scale.SMOKE, out=folder, run=False)
    assert f"\n{every - 2} of {every} runs, " in page_of.read_text()
    assert f"2 of the {every} runs were left out; each figure says how many it has." in page_of.read_text()


def test_figures_and_seeds_are_added(cli: Cli, tmp_path: Path, undrawn: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "results"
    short = ("--warmup", 100, "--cycles", 200)
    command = ("reproduce", "contention", "--scale", "smoke", *short, "--output", folder, "--jobs", 1, "--figure", "5a")
    assert cli(*command)[0] == 0
    first = {path: path.stat().st_mtime_ns for path in (folder / "points").iterdir()}
    status, _, err = cli(*command, "--figure", "6", "--seeds", 2)
    assert status == 0, err
    assert f"{len(first)} of them done already" in err
    after = {path: path.stat().st_mtime_ns for path in (folder / "points").iterdir()}
    assert after.items() > first.items()
    assert set(pl.read_parquet(folder / "tables" / "5a.parquet")["seeds"]) == {2}
    # Fewer seeds asked for: those that are there still count, and figures that were not asked for are drawn.
    undrawn.undo()
    assert cli(*command)[0] == 0
    assert set(pl.read_parquet(folder / "tables" / "5a.parquet")["seeds"]) == {2}
    assert (folder / "figures" / "6.png").exists()


def test_the_page_is_published_without_running(cli: Cli, tmp_path: Path, reproduced: Path) -> None:
    folder, docs = tmp_path / "results", tmp_path / "docs"
    shutil.copytree(reproduced, folder)
    command = ("reproduce", "contention", "--scale", "smoke", "--output", folder, "--no-run", "--publish", docs)
    status, _, err = cli(*command)
    assert status == 0, err
    assert "the others are left out" in err
    page = (docs / "contention.md").read_text()
    assert "](contention/5b.svg)" in page
    assert re.search(r"^\| C5 \| [^|]+ \| 5b \|", page, re.MULTILINE)
    for name in ("5b.svg", "claims.json"):
        assert (docs / "contention" / name).stat().st_size > 100
    assert not (folder / "tables" / "5a.csv").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_killed_study_goes_on(start: Start, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    arguments = ("reproduce", "contention", "--scale", "smoke", "--output", folder, "--jobs", 1, "--seeds", 1)
    command = (*arguments, "--figure", "5b", "--figure", "5c")
    process = start(*command)
    deadline = time.monotonic() + 60
    while len(list((folder / "points").glob("*.json"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(list((folder / "points").glob("*.json")))
    status, _, err = cli(*command)
    assert status == 0, err
    assert f"{kept} of them done already" in err


WRITTEN = ("report.md", "claims.json", "tables/5b.csv")


def lacking_two_of_each_shard(reproduced: Path, folder: Path) -> tuple[Path, list[set[str]]]:
    """A copy without figures in which each of two shards has two runs to do, and which these are."""
    shutil.copytree(reproduced, folder)
    for name in WRITTEN:
        (folder / name).unlink()
    points = Plan.of({"5b": study.figures["5b"].cases(study.setting(Scale.SMOKE), None)}).points
    gone = [{point.hash for point in Shard.parse(f"{i}/2").share(points)[:2]} for i in (1, 2)]
    for hash_ in gone[0] | gone[1]:
        (folder / "points" / f"{hash_}.json").unlink()
    return folder, gone


def there(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "points").glob("*.json")}


def of_the_model(folder: Path) -> pl.DataFrame:
    """The table of the figure, without what depends on the machine."""
    table = pl.read_parquet(folder / "tables" / "5b.parquet")
    return table.drop(name for name in table.columns if name.removesuffix("_half").removesuffix("_each") in MACHINE)


@pytest.mark.usefixtures("undrawn")
def test_shards_of_a_study_give_what_one_run_gives(cli: Cli, tmp_path: Path, reproduced: Path) -> None:
    command = ("reproduce", "contention", "--figure", "5b", "--scale", "smoke", "--jobs", 1, "--output")
    shared, gone = lacking_two_of_each_shard(reproduced, tmp_path / "shared")
    before = there(shared)
    for shard, own in zip(("1/2", "2/2"), gone, strict=True):
        status, out, err = cli(*command, shared, "--shard", shard)
        assert (status, out) == (0, ""), err
        assert f"shard {shard} is in {shared}; when all have ended, the same command without --shard" in err
        before |= own
        assert there(shared) == before
        assert not any((shared / name).exists() for name in WRITTEN)

    # Each in a folder of its own, put together.
    parts = [lacking_two_of_each_shard(reproduced, tmp_path / f"part{i}")[0] for i in (1, 2)]
    for part, shard in zip(parts, ("1/2", "2/2"), strict=True):
        assert cli(*command, part, "--shard", shard)[0] == 0
    merged = tmp_path / "merged"
    status, _, err = cli("merge", merged, *parts)
    assert status == 0, err
    assert there(merged) == there(shared)

    for folder in (shared, merged):
        status, _, err = cli(*command, folder)
        assert (status, "4 of them" in err) == (0, False), err
        assert of_the_model(folder).equals(of_the_model(reproduced))
        assert (folder / "claims.json").read_bytes() == (reproduced / "claims.json").read_bytes()
    status, _, err = cli(*command, shared, "--shard", "1/2", "--budget", "1h")
    assert (status, "--budget: expected no --shard" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["contenton"], ["contenton", 'did you mean "contention"']),
        (["contention", "--figure", "5d"], ["5d", "5a, 5b, 5c"]),
        (["contention", "--scale", "papr"], ["papr", 'did you mean "paper"']),
        (["contention", "--no-run", "--output", "nowhere"], ["nowhere", "no results of a study"]),
    ],
)
def test_bad_input(cli: Cli, arguments: list[str], words: list[str]) -> None:
    status, out, err = cli("reproduce", *arguments)
    assert (status, out) == (2, "")
    assert "Traceback" not in err
    for word in words:
        assert word in err


def test_panels_are_names_of_their_figure() -> None:
    assert [figure.name for figure in study.choose(["7b", "5a"])] == ["5a", "7"]
    assert [figure.name for figure in study.choose(["all"])] == list(study.figures)


def test_a_folder_of_another_scale_is_refused(cli: Cli, tmp_path: Path, reproduced: Path) -> None:
    shutil.copytree(reproduced, tmp_path, dirs_exist_ok=True)
    status, _, err = cli("reproduce", "contention", "--figure", "5b", "--scale", "small", "--output", tmp_path)
    assert status == 2
    assert "results of another experiment: topology.a is 4 there and 8 here" in err


@pytest.mark.parametrize("scale", Scale)
def test_every_run_of_every_scale_is_valid(scale: Scale) -> None:
    setting = study.setting(scale)
    plan = Plan.of({name: figure.cases(setting, 1) for name, figure in study.figures.items()})
    assert plan.points
    for name in plan.cases:
        labels = plan.labels(name)
        # Nothing else distinguishes the runs of a figure.
        assert labels.drop("point").is_unique().all() if labels.height else True


def test_the_traffic_changes_when_counters_are_sent() -> None:
    for scale in Scale:
        setting = study.setting(scale)
        assert setting.change % 100 == 0
        assert setting.change % setting.bin == 0


def test_mixes() -> None:
    assert mixed(0) == {"kind": "adversarial", "offset": 1}
    assert mixed(100) == {"kind": "uniform"}
    assert [part["weight"] for part in mixed(20)["parts"]] == [20, 80]


def test_means_over_seeds() -> None:
    labels = pl.DataFrame({"mechanism": ["A", "A", "B"], "seed": [1, 2, 1], "point": ["x", "y", "z"]})
    points = pl.DataFrame(
        {
            "point": ["x", "y", "z"],
            "offered_load": [0.5, 0.5, 0.5],
            "accepted_load": [0.5, 0.4, 0.5],
            "latency_mean": [100.0, 110.0, 90.0],
            "saturated": [False, True, False],
            "cpu_seconds": [1.0, 1.0, 1.0],
            # Seeds that are far apart have the interval of their mean; the run's own interval is that of a single run.
            "latency_ci": [0.1, 0.1, 3.0],
            "latency_ci_batches": [20, 20, 4],
            "accepted_ci": [None, None, 0.0],
            "accepted_ci_batches": [None, None, 4],
            "confidence": [0.95, 0.95, 0.95],
        }
    )
    first, second = steady(labels, Done(points=points)).iter_rows(named=True)
    assert (first["seeds"], first["latency_mean"], first["saturated"]) == (2, 105.0, True)
    # Student's t with one degree of freedom, of a standard deviation of 7.07 over the root of 2.
    assert first["latency_mean_half"] == pytest.approx(12.706 * 5.0, rel=1e-4)
    assert (second["seeds"], second["accepted_load_half"], second["saturated"]) == (1, 0.0, False)
    # The run's own interval, with an equal level.
    assert second["latency_mean_half"] == pytest.approx(3.0)
    assert first["runs"] == ["x", "y"]


def test_responses_over_seeds() -> None:
    labels = pl.DataFrame({"mechanism": ["A", "A"], "change": [100, 100], "seed": [1, 2], "point": ["x", "y"]})
    series = pl.DataFrame(
        {
            "point": ["x", "x", "y", "y"],
            "cycle": [90, 100, 90, 100],
            "latency_mean": [100.0, 200.0, 110.0, None],
            "misrouted": [0.0, 1.0, 0.1, 0.5],
        }
    )
    table = transient(labels, Done(series=series))
    assert table["t"].to_list() == [-10, 0]
    assert table["latency_mean"].to_list() == [105.0, 200.0]
    assert table["misrouted_percent"].to_list() == pytest.approx([5.0, 100.0])
    assert table["seeds"].to_list() == [2, 1]


def test_a_page_tells_what_was_left_out_and_what_was_added() -> None:
    setting = study.setting(Scale.SMOKE)
    part = page.Part(study.figures["5a"], [], runs=7, cpu_seconds=1.0, missing=4, further=2)
    findings, absent = study.judge({}, setting), [study.figures["6"], study.figures["updates"]]
    text = page.text(study, Scale.SMOKE, setting, findings, [part], "figures", not_run=absent)
    assert "4 of the 9 runs were left out; each figure says how many it has." in text
    assert "Besides, 2 runs are of further seeds" in text
    assert "5 of 9 runs and 2 of further seeds, 1 s of CPU time." in text
    assert "too little to be shown: Figure 6: Mixed traffic; Beyond the paper: what ECtN sends, and when." in text


def test_a_reading_with_next_to_no_runs_is_not_drawn() -> None:
    planned: list[Any] = [
        (Case({READING: reading, "load": load, "seed": seed}, {}), SimpleNamespace(hash=f"{reading}{load}{seed}"))
        for reading in ("full", "half", "less")
        for load in range(4)
        for seed in (1, 2)
    ]
    there = [f"full{load}1" for load in range(4)] + ["half02", "half11", "half12", "less01", "less02"]
    shares = _run_shares(planned, Done(frozenset(there)))
    assert shares == {"full": 1.0, "half": 0.5, "less": 0.25}
    table = pl.DataFrame({READING: ["full", "half", "less"], "load": [0, 0, 0]})
    assert _drawn(table, shares)[READING].to_list() == ["full", "half"]
    assert _drawn(table.drop(READING), {None: 0.1}).height == 3


def test_pictures_that_a_page_no_longer_shows_are_removed(tmp_path: Path) -> None:
    folder, docs = tmp_path / "results", tmp_path / "docs"
    (folder / "figures").mkdir(parents=True)
    (docs / "contention").mkdir(parents=True)
    for path in (folder / "figures" / "5b.svg", folder / "figures" / "5c.svg", docs / "contention" / "9.svg"):
        path.write_text("<svg/>")
    (folder / "claims.json").write_text("[]")
    (folder / "report.md").write_text("![a picture](figures/5b.png)\n")
    publish(study, folder, docs)
    assert {path.name for path in (docs / "contention").iterdir()} == {"5b.svg", "claims.json"}
    assert (docs / "contention.md").read_text() == "![a picture](contention/5b.svg)\n"
