"""Sweeps on clusters: Dask with killed workers, Slurm with lost jobs, and cancellation.

The clusters are real, and consist of this machine only. `make test-cluster` installs their software and runs these
tests; other runs skip them.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.base.errors import SimulationError
from phit.document.experiment import Experiment
from phit.document.inlining import to_json
from phit.running import executors, slurm
from phit.running.executors import ours
from phit.running.where import Cluster, Where
from phit.store.quantities import MACHINE

from . import cluster
from .conftest import Cli, Start, Write, tiny

ASKED = "PHIT_CLUSTER" in os.environ
POINTS = 8


def experiment(cycles: int = 600, **asked: Any) -> dict[str, Any]:
    document = tiny(measure__cycles=cycles, measure__histogram=True)
    return document | {"sweep": {"name": "far", "seeds": POINTS}, "cluster": asked}


def tables(folder: Path) -> list[bytes]:
    points = pl.read_parquet(folder / "points.parquet").drop(MACHINE, strict=False)
    return [points.write_ipc(None).getvalue(), (folder / "histograms.parquet").read_bytes()]


def points_in(folder: Path) -> int:
    return sum(1 for _ in (folder / "points").glob("*.json"))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"partitoin": "x"}, "cluster.partitoin: unknown key; expected one of partition"),
        ({"time": "long"}, "cluster.time long: expected a time such as 2h"),
        ({"batch": "0s"}, "cluster.batch = 0s: expected more than 0"),
        ({"jobs": 0}, "cluster.jobs = 0: expected a whole number"),
        ({"account": 7}, "cluster.account = 7: expected a text"),
    ],
)
def test_what_no_cluster_can_be_asked_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(phit.InputError, match=words):
        Cluster.of(table)


def test_options_count_before_the_experiment(cli: Cli, write: Write) -> None:
    assert Cluster.of({"time": "2h", "account": "a"}, {"time": "3h"}) == Cluster(time="3h", account="a")
    # It says where points run, so that neither the points nor a single run know of it.
    assert Experiment.read(experiment(time="2h")).points() == Experiment.read(experiment()).points()
    assert cli("run", write(tiny() | {"cluster": {"time": "2h"}}))[0] == 0
    with pytest.raises(phit.InputError, match="expected local, slurm or dask://HOST:PORT"):
        Where(executor="nearby")


def test_answers_of_another_engine_are_refused() -> None:
    same, other = ({"summary": {"version": version}, "tables": {}} for version in (phit.__version__, "0.0.1"))
    assert ours(same) is same
    assert "Phit 0.0.1" in str(ours(other))


def test_a_job_that_is_run_again_keeps_what_it_had_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "answers.jsonl"
    batch = [(i, to_json(point.scenario)) for i, point in enumerate(Experiment.read(experiment()).points()[:3])]
    slurm.work_through(str(file), batch, force=False)
    whole = file.read_text()
    first = whole.splitlines(keepends=True)[0]
    file.write_text(first + '{"point": 1, "ans')
    run: list[int] = []
    execute = executors.execute

    def noted(i: int, scenario: str, force: bool) -> str:
        run.append(i)
        return execute(i, scenario, force)

    monkeypatch.setattr(slurm, "execute", noted)
    slurm.work_through(str(file), batch, force=False)
    assert run == [1, 2]
    assert [json.loads(line)["point"] for line in file.read_text().splitlines()] == [0, 1, 2]
    assert file.read_text().startswith(first)


def test_a_point_that_no_job_survives_fails_and_the_others_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 0.0)
    made: list[list[int]] = []

    class Cursed(slurm._Submitted):
        """Jobs that answer all points up to the second, and are lost with that one."""

        def submit(self, batches: Any, say: Any, tries: int = 1) -> None:  # noqa: ARG002
            for left in batches:
                made.append(list(left))
                job = slurm._Job(tmp_path / f"{len(made)}", dict(left), tries=tries, logs=["log"])
                answered = [i for i in left if 2 not in left or i < 2]
                job.file.write_text("".join(json.dumps({"point": i, "error": "done"}) + "\n" for i in answered))
                self._running.append(job)

        def _known(self) -> set[str]:
            return set()

    cursed = Cursed(tmp_path, Cluster(), False)
    cursed.submit([dict.fromkeys(range(4), "")], print)
    found = dict(cursed.answers(print))
    assert {i: str(answer) for i, answer in found.items() if i != 2} == dict.fromkeys((0, 1, 3), "done")
    assert isinstance(found[2], SimulationError)
    assert "3 jobs in succession were lost with it" in str(found[2])
    # The job that answered something before it was lost does not count.
    assert made == [[0, 1, 2, 3], [2, 3], [2, 3], [2, 3], [3]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], list[bytes]]:
    """The tables of a run on this machine."""

    def run(cycles: int) -> list[bytes]:
        folder = tmp_path_factory.mktemp("whole")
        phit.sweep(experiment(cycles), folder, workers=1)
        return tables(folder)

    return run


@pytest.mark.skipif(not ASKED, reason="make test-cluster")
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_that_loses_a_worker(
    start: Start, write: Write, whole: Callable[[int], list[bytes]], tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    cycles = 40_000
    (tmp_path / "dask").mkdir()
    with cluster.dask(tmp_path / "dask", workers=2) as there:
        process = start("sweep", write(experiment(cycles)), "--out", tmp_path / "r", "--executor", there.address)
        cluster.until(lambda: points_in(tmp_path / "r") >= 2, "points")
        assert points_in(tmp_path / "r") < POINTS
        there.workers[0].kill()
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "2 workers" in err
        assert tables(tmp_path / "r") == whole(cycles)


@pytest.mark.skipif(not ASKED, reason="make test-cluster")
def test_where_no_scheduler_is_the_message_says_so(cli: Cli, write: Write, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    status, _, err = cli("sweep", write(experiment()), "--out", tmp_path / "r", "--executor", "dask://127.0.0.1:1")
    (line,) = [line for line in err.splitlines() if line.startswith("phit: error:")]
    assert status == 2
    assert "dask://127.0.0.1:1: no Dask scheduler answers there" in line


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Slurm with one node, which commands of this process and those that it starts find."""
    pytest.importorskip("submitit")
    if not cluster.has_slurm():
        pytest.skip("Slurm is not installed")
    with cluster.slurm(tmp_path_factory.mktemp("slurm")) as env, pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        yield


def queued(*options: str) -> list[str]:
    command = ["squeue", "--noheader", "--array", "--format=%F_%K", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(not ASKED, reason="make test-cluster")
@pytest.mark.usefixtures("node")
def test_slurm_runs_batches_and_a_job_that_is_lost_again(
    start: Start, write: Write, whole: Callable[[int], list[bytes]], tmp_path: Path
) -> None:
    cycles, folder = 6_000, tmp_path / "r"
    document = write(experiment(cycles, batch="0.015s", partition="nowhere", jobs=2))
    process = start("sweep", document, "--out", folder, "--executor", "slurm", "--partition", "short", "--time", "5m")
    cluster.until(lambda: bool(queued("--states=RUNNING")) or process.poll() is not None, "a running job")
    running = queued("--states=RUNNING")
    assert {name.split("_")[0] for name in queued()} == {running[0].split("_")[0]}, "one array"
    subprocess.run(["scancel", running[0]], check=True)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert f"job {running[0]} was lost with" in err
    assert tables(folder) == whole(cycles)
    assert not list(folder.glob("jobs-*"))


@pytest.mark.skipif(not ASKED, reason="make test-cluster")
@pytest.mark.usefixtures("node")
def test_an_interrupted_sweep_cancels_its_jobs(start: Start, write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    document = write(experiment(4_000_000, batch="10s"))
    process = start("sweep", document, "--out", folder, "--executor", "slurm")
    cluster.until(lambda: bool(queued("--states=RUNNING")) or process.poll() is not None, "a running job")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"points finished, kept in {folder}" in err
    cluster.until(lambda: not queued("--states=PENDING,RUNNING"), "no job left")


@pytest.mark.skipif(not ASKED, reason="make test-cluster")
@pytest.mark.usefixtures("node")
def test_what_slurm_refuses_is_one_line(cli: Cli, write: Write, tmp_path: Path) -> None:
    status, _, err = cli(
        "sweep", write(experiment()), "--out", tmp_path / "r", "--executor", "slurm", "--partition", "nowhere"
    )
    assert status == 2
    (line,) = [line for line in err.splitlines() if line.startswith("phit: error:")]
    assert "slurm: jobs cannot be submitted" in line
    assert "nowhere" in line
