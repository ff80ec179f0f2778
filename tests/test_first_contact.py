"""First contact: help without delay, completion, the offer to sweep, progress in logs."""

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import phit
import pytest
import typer
from phit.base.durations import duration
from phit.cli import completing
from phit.document.experiment import Experiment
from phit.running import progress

from .conftest import Cli, Write, tiny

SLOW = {"rich", "polars", "numpy", "altair", "jsonschema", "networkx", "distributed", "IPython", "xml", "hashlib"}
"""Libraries that help and version do without: they take longer to import than all the rest."""

READERS = {"importlib.metadata", "email", "phit.importing.booksim", "phit.importing.fogsim", "phit.drawing.perfetto"}
"""Modules that few commands need, and that would delay all others."""


@pytest.mark.parametrize("what", ["import phit", "from phit.cli import main; main(['--help'])"])
def test_what_takes_long_to_import_is_imported_when_it_is_used(what: str) -> None:
    program = f"import sys; {what}; print('|', *sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split("|")[-1].split())
    assert not (SLOW | READERS) & loaded
    assert "phit._phit" in loaded


def test_the_version_names_the_commit_of_the_engine(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phit, "commit", lambda: "0123456789ab")
    assert cli("--version")[:2] == (0, f"phit {phit.__version__} (0123456789ab)\n")
    monkeypatch.setattr(phit, "commit", lambda: None)
    assert cli("--version")[:2] == (0, f"phit {phit.__version__}\n")


def completed(incomplete: str, file: Path | None = None) -> list[str]:
    context: Any = SimpleNamespace(params={"file": file})
    return [text for text, _ in completing.settings(context, incomplete)]


def test_keys_and_names_are_completed(write: Write, tmp_path: Path) -> None:
    assert "traffic.load=" in completed("traffic.lo")
    assert {"routing.kind=valiant", "routing.kind=ugal_l"} <= set(completed("routing.kind="))
    assert completed("routing.kind=val") == ["routing.kind=valiant"]
    assert "traffic.pattern=uniform" in completed("traffic.pattern=u")
    assert "router.switching=wormhole" in completed("router.switching=")
    assert "measure.warmup=" in completed("measure.")
    # With a file: the keys of its kinds, and its classes of links.
    file = write(tiny())
    assert "router.links.global.buffer=" in completed("router.links.", file)
    assert {"topology.p=", "topology.a="} <= set(completed("topology.", file))
    assert not any("endpoints_per_router" in text for text in completed("topology.", file))
    # An unreadable file does not matter.
    assert completed("traffic.lo", tmp_path / "nowhere.toml")
    context: Any = SimpleNamespace(params={"name": "routing"})
    assert [kind for kind, _ in completing.kinds(context, "val")] == ["valiant"]
    assert "routing" in completing.concepts("rout")
    assert "contention" in completing.studies("cont")


def test_an_experiment_that_is_run_is_offered_as_a_sweep(
    cli: Cli, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tiny() | {"sweep": {"seeds": 2}})
    status, _, err = cli("run", file)
    assert (status, err.count("\n")) == (2, 1)
    assert f"use `phit sweep {file}`" in err
    asked: list[str] = []

    def confirm(text: str, **_: Any) -> bool:
        asked.append(text)
        return True

    monkeypatch.setattr(typer, "confirm", confirm)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    status, out, _ = cli("run", file, "--out", tmp_path / "r")
    assert (status, asked) == (0, ["Run it?"])
    assert "seed" in out
    assert len(list((tmp_path / "r" / "points").iterdir())) == 2


def test_a_log_has_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lines, points = progress.PlainReporter(), Experiment.read(tiny() | {"sweep": {"seeds": 4}}).points()
    lines.begin("x", points, 0)
    for second in range(40):
        now[0] = float(second)
        lines.shares({0: second / 40})
    run = progress.RunLines()
    run(0, 4000)
    for second in range(40, 80):
        now[0] = float(second)
        run(100 * (second - 39), 4000)
    err = capsys.readouterr().err.splitlines()
    assert [line for line in err if "of the work" in line] == [
        f"0 of 4 points, {share} of the work (about {left} left)"
        for share, left in (("7%", "2 min 29 s"), ("14%", "2 min 18 s"), ("21%", "2 min 7 s"))
    ]
    assert sum("of 4,000 cycles (about" in line for line in err) == 3


def test_a_notebook_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)

    def display(bar: str, **_: Any) -> Any:
        shown.append(bar)
        return handle

    class ZMQInteractiveShell:
        """As the kernel's shell is called."""

    library = SimpleNamespace(
        display=SimpleNamespace(display=display, HTML=str), get_ipython=lambda: ZMQInteractiveShell()
    )
    monkeypatch.setitem(sys.modules, "IPython", library)
    phit.sweep(tiny() | {"sweep": {"name": "a&b", "seeds": 2}}, workers=1, progress=True)
    assert shown[0].startswith("a&amp;b <progress max='1' value='0.000'></progress> 0 of 2 points")
    assert shown[-1] == "a&amp;b <progress max='1' value='1.000'></progress> 2 of 2 points"


def test_times_are_told_as_people_tell_them() -> None:
    told = [duration(seconds) for seconds in (0, 0.004, 0.137, 0.996, 8.2, 59.6, 200, 7500)]
    assert told == ["0 s", "0 s", "0.14 s", "1 s", "8 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]
