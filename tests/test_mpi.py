"""One run by several processes: their messages, their errors, and real MPI jobs.

The processes are threads of this process, which exchange letters through queues. `make test-mpi` installs Open MPI and
also runs the tests that start MPI jobs; other runs skip these.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.running import mpi
from phit.running.letters import DATA, FLAG
from phit.running.letters import Letter as Carried
from phit.store.quantities import MACHINE
from phit.store.result import Result

ASKED = "PHIT_MPI" in os.environ

Letter = tuple[int, bytearray]


def dragonfly(**measure: Any) -> dict[str, Any]:
    links = {"default": {"latency": 5, "vcs": 5, "buffer": 32}, "global": {"latency": 60, "vcs": 5, "buffer": 128}}
    return {
        "topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2},
        "router": {"links": links},
        "routing": "par",
        "traffic": {"load": 0.3, "packet_size": 4},
        "measure": {"warmup": 300, "cycles": 500, "links": True, "endpoints": True} | measure,
    }


def model(result: Result) -> tuple[dict[str, Any], Any]:
    """The part of a result that does not depend on its execution."""
    return {key: value for key, value in result.summary.items() if key not in MACHINE}, result.answer()["tables"]


class Queues:
    """A transport between threads; it fails in round `lost`, before it has sent anything."""

    def __init__(self, rank: int, between: list[list["queue.Queue[Letter]"]], lost: int | None) -> None:
        self.rank, self.count, self.beside = rank, len(between), len(between)
        self.between, self.lost, self.rounds = between, lost, 0

    def idle(self) -> None:
        pass

    def round(self, letters: Sequence[Carried], kind: int) -> list[Letter]:
        self.rounds += 1
        if self.rounds == self.lost:
            raise MemoryError("no room for letters")
        others = [process for process in range(self.count) if process != self.rank]
        for process in others:
            self.between[self.rank][process].put((kind, bytearray(letters[process])))
        came = [(DATA, bytearray())] * self.count
        for process in others:
            came[process] = self.between[process][self.rank].get(timeout=60)
        return came


@contextmanager
def job(count: int, lost: int | None = None) -> Iterator[tuple[mpi.Job, list[int]]]:
    """A job of threads, the last of which may be lost in a round; and the statuses that the others end with."""
    between: list[list[queue.Queue[Letter]]] = [[queue.Queue() for _ in range(count)] for _ in range(count)]
    last = count - 1
    jobs = [mpi.Job(Queues(rank, between, lost if rank == last else None)) for rank in range(count)]
    statuses: list[int] = []
    others = [threading.Thread(target=lambda job: statuses.append(job.serve()), args=(job,)) for job in jobs[1:]]
    for thread in others:
        thread.start()
    yield jobs[0], statuses
    jobs[0].end(7)
    for thread in others:
        thread.join(timeout=60)
    assert statuses == [7] * last


@pytest.mark.parametrize("count", [1, 2, 3])
def test_results_are_those_of_one_process(count: int) -> None:
    one = phit.run(dragonfly())
    with job(count) as (first, _):
        assert model(phit.run(dragonfly(), among=first)) == model(one)
        assert len(first.costs) == count
        sent = [cost["sent_bytes"] for cost in first.costs]
        assert all(sent) if count > 1 else not any(sent)


def test_the_first_process_tells_of_errors_and_others_stay() -> None:
    with job(3) as (first, statuses):
        with pytest.raises(phit.ScenarioError, match=r'routing.kind = "ugal_g": cannot be run by 3 processes'):
            phit.run(dragonfly() | {"routing": "ugal_g"}, among=first)
        probe = {"kind": "python_probe", "file": "probe.py", "function": "look", "source": "def look(): ..."}
        with pytest.raises(phit.InputError, match="Python functions run in one process, without --mpi"):
            first.run(json.dumps(dragonfly(probes=[probe])))
        assert not statuses
        assert phit.run(dragonfly(cycles=100), among=first)["packets"] > 0


def test_threads_that_share_a_core_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    with job(2) as (first, _):
        with pytest.warns(UserWarning, match=r"a process of 2 threads to 1 core; `mpirun --bind-to none` gives"):
            first.run(json.dumps(dragonfly(cycles=100)), threads=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first.run(json.dumps(dragonfly(cycles=100)), threads=1)


def test_a_process_that_fails_ends_the_run_and_no_other_waits() -> None:
    with job(3, lost=20) as (first, _):
        with pytest.raises(phit.SimulationError, match="process 2: no room for letters"):
            phit.run(dragonfly(), among=first)
        assert model(phit.run(dragonfly(), among=first)) == model(phit.run(dragonfly()))


def test_without_mpi_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi, "_joined", None)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.delitem(sys.modules, "phit.running.mpi_transport", raising=False)
    with pytest.raises(phit.InputError, match=r"--mpi: expected the extra phit\[mpi\] and an MPI library"):
        mpi.join()


if ASKED:
    MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]

    def start(count: int, *arguments: str | Path) -> "subprocess.Popen[str]":
        command = [*MPIRUN, "-n", str(count), sys.executable, "-m", "phit", "run", *map(str, arguments), FLAG]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ours(text: str) -> list[str]:
        """The lines that are not mpirun's."""
        return [line for line in text.splitlines() if line.startswith("phit:")]

    @pytest.fixture
    def scenario(tmp_path: Path) -> Path:
        path = tmp_path / "scenario.json"
        path.write_text(json.dumps(dragonfly(probes=[{"kind": "buffers", "every": 50}])))
        return path

    @pytest.mark.parametrize(("count", "threads"), [(2, 1), (3, 1), (2, 2)])
    def test_mpi_gives_the_results_of_one_process(scenario: Path, count: int, threads: int) -> None:
        job = start(count, scenario, "--json", "--threads", str(threads))
        out, err = job.communicate(timeout=100)
        assert job.returncode == 0, err
        found = json.loads(out)
        one = phit.run(scenario)
        tables = found.pop("tables")
        assert ({key: value for key, value in found.items() if key not in MACHINE}, tables) == model(one)
        assert found["threads"] == count * threads

    def test_mpi_runs_programs_and_faults(tmp_path: Path) -> None:
        halo = {"kind": "halo", "dims": [8, 8], "bytes": [4000]}
        program = {key: value for key, value in dragonfly().items() if key in ("topology", "router", "routing")}
        program |= {"workload": halo, "units": {"phit": "4 B"}, "measure": {"messages": True}}
        faults = dragonfly()
        faults["routing"] = "minimal"
        faults["topology"] = {"kind": "torus", "dims": [6, 6], "faults": {"later": [{"cycle": 400, "links": [[0, 1]]}]}}
        faults["router"] = {"links": {"default": {"latency": 5, "vcs": 8, "buffer": 32}}}
        faults["routing"] = {"kind": "dfsssp"}
        for number, document in enumerate((program, faults)):
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps(document))
            folder = tmp_path / f"out{number}"
            job = start(2, path, "--out", folder)
            _, err = job.communicate(timeout=100)
            assert job.returncode == 0, err
            (point,) = (folder / "points").glob("*.json")
            kept = json.loads(point.read_text())
            one = phit.run(path)
            for key, value in model(one)[0].items():
                assert key == "scenario" or kept["summary"][key] == value, key

    def test_mpi_says_what_is_wrong_once(scenario: Path, tmp_path: Path) -> None:
        for arguments, words in (
            ([tmp_path / "none.toml"], "none.toml: no such file"),
            ([scenario, "--set", "routing=ugal_g"], 'routing.kind = "ugal_g": cannot be run by 3 processes'),
            ([scenario, "--set", "topology.p=x"], "topology.p"),
        ):
            job = start(3, *arguments)
            _, err = job.communicate(timeout=100)
            assert job.returncode == 2, err
            (line,) = ours(err)
            assert words in line

    def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
        path = tmp_path / "long.json"
        path.write_text(json.dumps(dragonfly(cycles=50_000_000)))
        job = start(3, path)
        time.sleep(6)
        children = subprocess.run(["pgrep", "-f", str(path)], capture_output=True, text=True, check=True).stdout.split()
        assert len(children) >= 4
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=30)
        assert job.returncode != 0
        left = subprocess.run(["pgrep", "-f", str(path)], capture_output=True, text=True, check=False).stdout.split()
        assert not left

    MEASURE = """
import json, sys, phit
from phit.running import mpi
job = mpi.join()
if job.rank:
    sys.exit(job.serve())
document = json.load(open(sys.argv[1]))
def peaks(h):
    phit.run(document | {"topology": {"kind": "dragonfly", "p": h, "a": 2 * h, "h": h}}, among=job)
    return [cost["peak_memory_bytes"] for cost in job.costs]
before = peaks(2)
print(json.dumps([after - own for after, own in zip(peaks(12), before)]))
job.end()
"""

    def test_memory_of_a_process_falls_with_their_number(tmp_path: Path) -> None:
        script, path = tmp_path / "measure.py", tmp_path / "large.json"
        script.write_text(MEASURE)
        large = dragonfly(warmup=0, cycles=60, links=False, endpoints=False, histogram=False)
        large["traffic"]["load"] = 0.1
        path.write_text(json.dumps(large))
        taken = {}
        for count in (1, 2, 4):
            command = [*MPIRUN, "-n", str(count), sys.executable, str(script), str(path)]
            out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=110).stdout
            taken[count] = json.loads(out)
        (one,) = taken[1]
        # The first process gathers what all have counted.
        assert max(taken[2]) < 0.65 * one
        assert max(taken[4]) < 0.45 * one
        assert max(taken[4][1:]) < 0.35 * one
