"""Whatever goes wrong, the command line answers with one line and an exit status."""

from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.base.markdown import markdown_table
from phit.cli import running

from .conftest import Cli, Write
from .hostile import SMALL, UNFORESEEN, one_error, plain_words, small


class Panic(BaseException):
    """An exception like the panic of a Rust library."""


RAISED = [
    (RuntimeError("x\ny\x1b"), 1, "RuntimeError: x y\\u001b"),
    (Panic("index out of bounds"), 1, "Panic: index out of bounds"),
    (RecursionError("deep"), 1, "RecursionError: deep"),
    (MemoryError(), 1, "not enough memory"),
    (KeyError("a" * 100_000), 1, "KeyError: "),
    (OSError(28, "No space left on device"), 2, "No space left on device"),
    (OSError("odd"), 2, "odd"),
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), 1, "UnicodeEncodeError"),
    (pl.exceptions.ComputeError("x"), 1, "ComputeError: x"),
]


@pytest.mark.parametrize(("error", "status", "words"), RAISED, ids=lambda x: type(x).__name__)
def test_whatever_is_raised_is_one_line(
    error: BaseException, status: int, words: str, cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(running, "document_of", fail)
    found, out, err = cli("run", write(SMALL))
    assert (found, out, err.count("\n")) == (status, "", 1)
    assert words in err
    assert len(err) < 2500
    plain_words(err)
    monkeypatch.setenv("PHIT_DEBUG", "1")
    assert ("Traceback" in cli("run", write(SMALL))[2]) == (status == 1)


def test_a_deadlock_is_one_line(cli: Cli, write: Write) -> None:
    """A ring without the bubble that keeps it moving."""
    links = {"default": {"latency": 2, "vcs": 3, "buffer": 16}, "endpoint": {"bandwidth": 3, "buffer": 16}}
    ring = {
        "topology": {"kind": "torus", "dims": [8]},
        "router": {"node": {"answer": 1}, "links": links},
        "routing": {"kind": "abr", "bubble": 0, "half_way": "plus"},
        "traffic": {
            "pattern": "tornado",
            "load": 0.9,
            "load_unit": "phits",
            "packet_size": 8,
            "message": {"packets": 12},
        },
        "measure": {"warmup": 2000, "cycles": 400_000},
    }
    status, out, err = cli("run", write(ring))
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "deadlock" in err
    assert UNFORESEEN not in err
    with pytest.raises(phit.SimulationError, match="deadlock"):
        phit.run(ring)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nan.toml", '[topology]\nkind = "single"\nendpoints = 4\n[traffic]\nload = nan\ntrace = "t.csv"\n'),
        ("dots.toml", ".".join(["a"] * 600) + " = 1\n"),
        ("nested.toml", "a = " + "[" * 3000 + "]" * 3000),
        ("nested.json", '{"a":' * 200 + "1" + "}" * 200),
        ("open.json", "[" * 200_000),
        ("digits.toml", "seed = 1" + "0" * 5000),
        ("digits.json", '{"seed": 1' + "0" * 5000 + "}"),
        ("hidden.json", '{"seed": "\\ud800"}'),
    ],
)
def test_documents_that_no_reader_can_hold(name: str, content: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time,source,destination,bytes\n0,0,3,64\n")
    (tmp_path / name).write_text(content)
    for command in ("run", "sweep", "verify"):
        status, out, err = cli(command, tmp_path / name)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert name in err
        one_error(status, err)


def test_a_long_dotted_key_is_refused(cli: Cli, write: Write) -> None:
    for key in (".".join(["a"] * 600), ".".join(["traffic"] * 33)):
        status, _, err = cli("run", write(SMALL), "--set", f"{key}=1")
        assert (status, err.count("\n")) == (2, 1)
        assert "at most 32 parts" in err
        status, _, err = cli("sweep", write(small(sweep={"product": {key: [1]}})))
        assert (status, err.count("\n")) == (2, 1)


def test_cells_of_markdown_cannot_end_their_table() -> None:
    assert markdown_table(["a"], [["x|y"]]).splitlines()[-1] == "| x&#124;y |"
