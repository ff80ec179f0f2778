"""Hostile traces and tables: damaged files are refused, and no message quotes a file that is no trace."""

import io
import os
import re
import shutil
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.base import files
from phit.base.errors import InputError, ResultsError
from phit.reading import traces
from phit.store import folder as results

from .conftest import Cli, Write
from .hostile import FIXTURES, MORE, small


@settings(deadline=None, max_examples=40 * MORE)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200), st.booleans())
def test_a_file_that_is_no_trace_is_not_told(content: str, lines: bool) -> None:
    """Its contents are in no message, as a scenario may name any file of the machine."""
    secret = "root:x:s3cret,hunter2," + content.replace("\x00", "")
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"phit-secret-{os.getpid()}.csv"
    path.write_text(secret + "\nmore:s3cret" * lines, encoding="utf-8", newline="")
    try:
        with pytest.raises(InputError) as raised:
            traces.read(path, 4)
        assert not re.search("s3cret|hunter2|root", str(raised.value))
    finally:
        path.unlink()


@settings(deadline=None, max_examples=60 * MORE, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_damaged_parquet_is_refused(data: st.DataObject, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = io.BytesIO()
    table = {"time": range(50), "source": 0, "destination": [i % 3 + 1 for i in range(50)], "bytes": 8}
    pl.DataFrame(table).write_parquet(whole)
    content = bytearray(whole.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "trace.parquet"
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content), len(content) // 2]))])
    with suppress(InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traces.read(path, 4)
    with suppress(OSError):
        files.read_parquet(path)
    assert capfd.readouterr().err == ""


def test_a_reader_that_panics_is_refused_in_silence(
    kept: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some damaged files make the reader panic: it writes to standard error and raises no `Exception`."""

    def panic(*_: Any, **__: Any) -> None:
        os.write(2, b"thread panicked at index out of bounds\n")
        raise pl.exceptions.PanicException("index out of bounds")

    path = Path(shutil.copy(kept / "points.parquet", tmp_path / "trace.parquet"))
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(InputError, match=r"trace\.parquet: cannot be read \(index out of bounds\)"):
        traces.read(path, 4)
    with pytest.raises(ResultsError, match=r"points\.parquet: corrupt \(index out of bounds\)"):
        results.read_table(kept)
    assert capfd.readouterr().err == ""


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("time,source,destination,bytes,depends\n0,0,3,64,1\n")
    with pytest.warns(UserWarning, match=r"trace\.csv: columns that are not used: 'depends'"):
        assert traces.read(path, 4)[0] == [(0, 0, 3, 64)]


def test_a_trace_outside_of_what_is_measured_is_told(cli: Cli, write: Write, tmp_path: Path) -> None:
    document = small(traffic={"trace": [[0, 0, 1, 4], [5, 1, 2, 4]]}) | {"measure": {"warmup": 50, "cycles": 100}}
    words = "no packet was measured: the messages are from cycles 0 to 5, but"
    with pytest.warns(UserWarning, match=words):
        phit.run(document)
    sweep = document | {"sweep": {"product": {"measure.warmup": [0, 50]}}}
    _, _, err = cli("sweep", write(sweep), "--out", tmp_path / "r", "--workers", 1)
    assert re.findall("warning: (.*?): traffic", err) == ["warmup=50"]
