"""Sweeps that are interrupted, killed, repeated, extended, and folders that are damaged."""

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.store.quantities import MACHINE

from .conftest import Cli, Start, Write, tiny

LOADS = [0.05, 0.1, 0.15]
SLOW_POINTS = 8


def experiment(loads: list[float] = LOADS, **changes: Any) -> dict[str, Any]:
    return tiny(**changes) | {"sweep": {"product": {"traffic.load": loads}}}


def slow() -> dict[str, Any]:
    """Points of some tenths of a second each."""
    return tiny(traffic__load=0.5, measure__cycles=100_000) | {"sweep": {"name": "slow", "seeds": SLOW_POINTS}}


def files(folder: Path) -> dict[str, int]:
    """The points in a folder, with the time at which each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "points").glob("*.json")}


def wait_for_points(folder: Path, process: "subprocess.Popen[str]", count: int = 1) -> None:
    deadline = time.monotonic() + 60
    while len(files(folder)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_sweep_gives_one_row_per_point_and_the_tables(tmp_path: Path) -> None:
    points = phit.sweep(experiment(measure__links=True, measure__histogram=True), tmp_path / "r", workers=2)
    assert points["traffic.load"].to_list() == LOADS
    assert points["accepted_load"].to_list() == pytest.approx(LOADS, rel=0.3)
    assert pl.read_parquet(tmp_path / "r" / "points.parquet").equals(points)
    for name in ("histograms", "links"):
        table = pl.read_parquet(tmp_path / "r" / f"{name}.parquet")
        assert set(table["point"]) == set(points["point"])
        assert set(table["traffic.load"]) == set(LOADS)
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert [entry["state"] for entry in manifest["points"]] == ["done"] * len(LOADS)
    assert manifest["phit"] == phit.__version__


def test_executors_agree(tmp_path: Path) -> None:
    here = phit.sweep(experiment(), workers=1).drop(MACHINE, strict=False)
    assert here.equals(phit.sweep(experiment(), workers=2).drop(MACHINE, strict=False))
    with ThreadPoolExecutor(2) as threads:
        assert here.equals(phit.sweep(experiment(), tmp_path / "r", executor=threads).drop(MACHINE, strict=False))


def test_points_are_added_without_repeating_old_ones(cli: Cli, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    assert cli("sweep", write(experiment()), "--out", folder, "--workers", 1)[0] == 0
    before = files(folder)
    status, _, err = cli("sweep", write(experiment([0.1, 0.3])), "--out", folder, "--workers", 1)
    assert status == 0
    assert "1 points to run, 1 already there" in err
    after = files(folder)
    assert {name: after[name] for name in before} == before
    assert len(after) == 4
    assert phit.sweep(write(experiment([0.3])), folder)["traffic.load"].to_list() == [0.3]
    assert set(pl.read_parquet(folder / "points.parquet")["traffic.load"]) == {*LOADS, 0.3}


def test_a_killed_sweep_resumes(start: Start, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    process = start("sweep", write(slow()), "--out", folder, "--workers", 2)
    wait_for_points(folder, process)
    process.send_signal(signal.SIGKILL)
    # The pipe closes only when the workers, too, have ended: nothing of the sweep outlives it.
    process.communicate(timeout=30)
    kept = files(folder)
    assert 0 < len(kept) < SLOW_POINTS
    for name in kept:
        json.loads((folder / "points" / name).read_text())
    status, _, err = cli("sweep", write(slow()), "--out", folder, "--workers", 2)
    assert status == 0
    assert f"{SLOW_POINTS - len(kept)} points to run, {len(kept)} already there" in err
    assert {name: files(folder)[name] for name in kept} == kept
    assert pl.read_parquet(folder / "points.parquet").height == SLOW_POINTS
    assert not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("workers", "sent", "status"), [(1, signal.SIGINT, 130), (2, signal.SIGINT, 130), (2, signal.SIGTERM, 143)]
)
def test_an_interrupted_sweep_keeps_what_has_finished_and_says_so(
    workers: int, sent: signal.Signals, status: int, start: Start, write: Write, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    process = start("sweep", write(slow()), "--out", folder, "--workers", workers)
    wait_for_points(folder, process)
    process.send_signal(sent)
    _, err = process.communicate(timeout=30)
    kept = len(files(folder))
    assert process.returncode == status, err
    assert f"phit: interrupted: {kept} of {SLOW_POINTS} points finished, kept in {folder}" in err
    assert "Traceback" not in err
    assert pl.read_parquet(folder / "points.parquet").height == kept


def test_two_processes_do_not_share_a_folder(start: Start, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    process = start("sweep", write(slow()), "--out", folder, "--workers", 1)
    wait_for_points(folder, process)
    status, out, err = cli("sweep", write(slow()), "--out", folder)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"another phit (process {process.pid}) is writing to this folder" in err


def test_a_lock_of_a_dead_process_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".lock").write_text("1\n")
    assert phit.sweep(experiment([0.1]), tmp_path / "r").height == 1


def test_a_folder_of_another_experiment_is_refused(cli: Cli, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    phit.sweep(experiment([0.1]), folder)
    before = files(folder)
    with pytest.raises(phit.ResultsError, match=r"topology\.h is 2 there and 1 here"):
        phit.sweep(experiment([0.1], topology__h=1), folder)
    with pytest.raises(phit.ResultsError, match="its experiment is 'experiment', this one is 'scenario'"):
        phit.sweep(write(experiment([0.1])), folder)
    status, _, err = cli("sweep", write(experiment([0.1])), "--out", folder)
    assert (status, err.count("\n")) == (2, 1)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"engine": "77"}))
    with pytest.raises(phit.ResultsError, match="its engine is 77"):
        phit.sweep(experiment([0.1]), folder)
    assert files(folder) == before


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(phit.ResultsError, match="not a results folder and not empty"):
        phit.sweep(experiment([0.1]), tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_corrupt_table_is_named_and_made_again(cli: Cli, write: Write, tmp_path: Path) -> None:
    folder, document = tmp_path / "r", write(experiment())
    cli("sweep", document, "--out", folder, "--workers", 1)
    before = files(folder)
    table = folder / "points.parquet"
    table.write_bytes(table.read_bytes()[:100])
    for command in ("report", "plot"):
        status, out, err = cli(command, folder)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert f"{table}: corrupt" in err
        assert "run the same `phit sweep` again" in err
    table.unlink()
    assert cli("sweep", document, "--out", folder)[0] == 0
    assert cli("report", folder)[0] == 0
    assert files(folder) == before


@pytest.mark.parametrize("content", ['{"format": 2, "poi', "[]", '{"format": 2}', "\x00"])
def test_a_corrupt_manifest_is_named_and_made_again(content: str, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder, document = tmp_path / "r", write(experiment())
    cli("sweep", document, "--out", folder, "--workers", 1)
    before = files(folder)
    manifest = folder / "manifest.json"
    manifest.write_text(content)
    for command in (["report", folder], ["plot", folder], ["sweep", document, "--out", folder]):
        status, out, err = cli(*command)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert f"{manifest}: corrupt" in err
        assert "delete this file" in err
    manifest.unlink()
    status, _, err = cli("sweep", document, "--out", folder)
    assert status == 0
    assert "0 points to run, 3 already there" in err
    assert files(folder) == before


def test_a_folder_of_another_format_is_refused_as_it_is(cli: Cli, write: Write, tmp_path: Path) -> None:
    folder, document = tmp_path / "r", write(experiment())
    cli("sweep", document, "--out", folder, "--workers", 1)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 1'))
    before = files(folder)
    for command in (["report", folder], ["sweep", document, "--out", folder]):
        status, out, err = cli(*command)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "results of format 1, but this version of phit reads format 2: choose another folder" in err
    assert files(folder) == before


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda _: b"{}"])
def test_a_corrupt_point_is_run_again_with_a_warning(damage: Any, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder, document = tmp_path / "r", write(experiment())
    cli("sweep", document, "--out", folder, "--workers", 1)
    rows = pl.read_parquet(folder / "points.parquet").select("point", "accepted_load", "latency_mean")
    victim = next((folder / "points").glob("*.json"))
    victim.write_bytes(damage(victim.read_bytes()))
    status, _, err = cli("sweep", document, "--out", folder)
    assert status == 0
    assert f"warning: {victim}: cannot read this finished point, so it is run again" in err
    assert "1 points to run, 2 already there" in err
    assert pl.read_parquet(folder / "points.parquet").select(rows.columns).equals(rows)
