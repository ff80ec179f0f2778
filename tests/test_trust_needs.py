"""Runs have a size that is told before, and can be stopped."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit import _phit
from phit.base import machine

from .conftest import Cli, Start, Write
from .hostile import SMALL, one_error, small

HUGE: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [90, 90, 90]},
    "traffic": {"load": 0.1, "packet_size": 8},
    "measure": {"warmup": 10, "cycles": 20},
}


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a gigabyte."""
    monkeypatch.setattr(machine, "memory", lambda processes=1: 10**9 // processes)


@pytest.mark.usefixtures("narrow")
def test_what_does_not_fit_is_refused_in_one_line(cli: Cli, write: Write) -> None:
    for command in (("run",), ("saturate", "--no-bound")):
        status, out, err = cli(command[0], write(HUGE), *command[1:])
        one_error(status, err)
        assert (status, out) == (2, "")
        assert "729,000 endpoints" in err
        assert "1.0 GB" in err
    with pytest.raises(phit.ScenarioError, match="729,000 endpoints"):
        phit.run(HUGE)


@pytest.mark.usefixtures("narrow")
def test_a_point_that_does_not_fit_leaves_the_others(cli: Cli, write: Write, tmp_path: Path) -> None:
    points = {"product": {"topology": [SMALL["topology"], HUGE["topology"]]}}
    target = tmp_path / "out"
    # In this process, because other processes would see the real machine.
    status, _, err = cli("sweep", write(small(sweep=points)), "--out", target, "--workers", 1)
    assert status == 1
    assert "1 of 2 points failed" in err
    assert "729,000 endpoints" in err
    assert len(list((target / "points").glob("*.json"))) == 1


def test_force_is_the_users_word(monkeypatch: pytest.MonkeyPatch, cli: Cli, write: Write) -> None:
    monkeypatch.setattr(machine, "memory", lambda processes=1: 1000)  # noqa: ARG005
    assert cli("run", write(SMALL))[0] == 2
    assert cli("run", write(SMALL), "--force")[0] == 0
    assert phit.run(SMALL, force=True)["packets"] > 0


def test_what_the_machine_has_left() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    left = machine.memory()
    assert left is not None
    assert 0 < left <= 4 * total
    half = machine.memory(2)
    assert half is not None
    assert half < left
    code = "import phit.base.machine as m; print(m.memory())"
    limited = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, resource.RLIM_INFINITY)),
    )
    assert 0 < int(limited.stdout) < 1_500_000_000


def test_needs_say_what_takes_what() -> None:
    needs = json.loads(_phit.needs(json.dumps(HUGE)))
    assert needs["routers"] == needs["endpoints"] == 90**3
    assert needs["bytes"] == pytest.approx(sum(needs["parts"].values()), rel=1e-6)
    assert 1e9 < needs["bytes"] < 2e9


def processor_seconds(process: "subprocess.Popen[str]") -> float:
    """Processor time of a process so far."""
    # The name of the command, in parentheses, may have spaces.
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_leaves_a_partial_result(start: Start, write: Write) -> None:
    # By processor time, and of a run of minutes: machines differ in how long they take to begin and to end.
    cycles = 2_000_000_000
    path = write(small(measure={"warmup": 10, "cycles": cycles, "batches": 1000, "histogram": False}))
    running = start("run", path, "--json")
    while running.poll() is None and processor_seconds(running) < 1.5:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    summary = json.loads(out)
    assert summary["stopped"] is True
    assert 0 < summary["cycles"] < cycles
    assert summary["packets"] > 0
    assert "partial result" in err


def test_a_signal_leaves_what_a_program_has_done() -> None:
    program = {"kind": "collective", "collective": "all_to_all", "bytes": 1_000_000, "times": 1000}
    document = {
        "units": {"phit": "8 B"},
        "topology": {"kind": "single", "endpoints": 8},
        "workload": program,
        "measure": {"phases": True},
    }

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    # By processor time: a busy machine may take long to begin.
    before = signal.signal(signal.SIGPROF, interrupt)
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.7)
        with pytest.raises(KeyboardInterrupt) as caught:
            phit.run(document)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    partial = caught.value.partial  # type: ignore[attr-defined]
    assert partial["stopped"] is True
    assert partial["packets"] > 0
    assert partial["completion"] is None
    assert partial.tables["ranks"]["finish"].is_null().all()
    assert partial.tables["phases"].filter(pl.col("end") > partial["cycles"]).is_empty()
    assert partial.tables["ranks"]["blocked"].sum() > 0


def test_a_stopped_run_is_stored_as_partial_until_it_is_run_again(
    cli: Cli, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = write(small()), tmp_path / "results"
    whole = phit.run(small())

    def stopped(*_: Any, **__: Any) -> None:
        error = KeyboardInterrupt()
        tables = {name: table.to_dict(as_series=False) for name, table in whole.tables.items()}
        error.partial = phit.Result(whole.summary | {"stopped": True, "cycles": 50}, tables)  # type: ignore[attr-defined]
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(phit, "run", stopped)
        status, _, err = cli("run", path, "--out", folder)
    assert status == 130
    assert f"the partial result is in {folder}" in err
    (entry,) = json.loads((folder / "manifest.json").read_text())["points"]
    assert entry["state"] == "partial"
    table = pl.read_parquet(folder / "points.parquet")
    assert (table["stopped"].to_list(), table["cycles"].to_list()) == ([True], [50])
    assert pl.read_parquet(folder / "series.parquet").height > 0
    status, _, err = cli("report", folder)
    assert (status, "a partial result" in err) == (0, True)

    (left,) = (folder / "points").glob("*.partial")
    left.write_text(left.read_text().replace('"cycles": 50', '"cycles": 51'))
    with monkeypatch.context() as patched:
        patched.setattr(phit, "run", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
        assert cli("run", path, "--out", folder)[0] == 130
    assert left.exists(), "what nothing has taken the place of stays"

    status, _, _ = cli("run", path, "--out", folder)
    assert status == 0
    (entry,) = json.loads((folder / "manifest.json").read_text())["points"]
    assert (entry["state"], left.exists()) == ("done", False)
    assert "stopped" not in pl.read_parquet(folder / "points.parquet").columns
