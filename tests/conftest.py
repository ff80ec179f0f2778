"""Common parts of the tests: a tiny scenario, and the command line as a function and as a process."""

import copy
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import settings

from . import engine

engine.use()

import phit  # noqa: E402
from phit.cli import main  # noqa: E402
from phit.document.paths import set_path  # noqa: E402
from phit.studies.kit import charts  # noqa: E402
from phit.studies.kit.study import Figure  # noqa: E402

from .hostile import LOADS, small  # noqa: E402

# A busy machine is no fault: without a limit of its own a test may take its time.
settings.register_profile("phit", deadline=None)
settings.load_profile("phit")

ROOT = Path(__file__).resolve().parent.parent

TINY: dict[str, Any] = {
    "topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2},
    "router": {
        "latency": 5,
        "links": {
            "local": {"latency": 10, "vcs": 4, "buffer": 32},
            "global": {"latency": 100, "vcs": 2, "buffer": 256},
        },
    },
    "routing": {"kind": "minimal"},
    "traffic": {"pattern": "uniform", "load": 0.1, "packet_size": 8},
    "measure": {"warmup": 200, "cycles": 600},
}

Cli = Callable[..., tuple[int, str, str]]
Start = Callable[..., "subprocess.Popen[str]"]
Write = Callable[..., Path]


def tiny(**changes: Any) -> dict[str, Any]:
    """The tiny scenario with keys set; two underscores stand for the dot of a path."""
    document = copy.deepcopy(TINY)
    for path, value in changes.items():
        set_path(document, path.replace("__", "."), value)
    return document


def without_errors(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A made-up table of a figure whose numbers are exact: two seeds that agree in everything."""
    table = pl.DataFrame(rows, infer_schema_length=None)
    numbers = [name for name, kind in table.schema.items() if kind.is_numeric() and not name.endswith("_half")]
    same = {f"{name}_half": pl.lit(0.0) for name in numbers if f"{name}_half" not in table.columns}
    each = {f"{name}_each": pl.concat_list(name, name) for name in numbers}
    return table.with_columns(**same, **each, seed_each=pl.lit([1, 2]))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs the command line in this process: exit status, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Studies draw no charts until the returned patch is undone: for tests of runs and stored results."""
    monkeypatch.setattr(Figure, "charts", lambda *_: {})
    return monkeypatch


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies draw their charts in one format only."""
    monkeypatch.setattr(charts, "FORMATS", ("svg",))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a document as JSON."""

    def write(document: dict[str, Any], name: str = "scenario.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of two points, with tables: for tests that change copies of it."""
    folder = tmp_path_factory.mktemp("kept") / "r"
    phit.sweep(small(sweep=LOADS | {"name": "r"}), folder, workers=1)
    return folder


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the command line as a process, ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "phit", *(str(argument) for argument in arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
