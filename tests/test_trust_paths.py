"""Hostile results folders: names in files are never paths out of the folder, and damage is noticed."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.base import files, text
from phit.base.errors import ResultsError
from phit.document.experiment import Point
from phit.store import folder as results
from phit.store import stored
from phit.store.stacking import Stack

from .conftest import Cli, Write
from .hostile import FIXTURES, LOADS, MORE, one_error, plain_words, small


@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.from_regex(r"[./\\a\x00 ~-]{1,8}", fullmatch=True)
)
def test_a_name_is_one_step_down(name: str) -> None:
    place = Path("/results")
    accepted = files.is_name(name)
    if accepted:
        assert (place / name).parent == place
        assert Path(os.path.normpath(place / name)) == place / name
        assert not text.HIDDEN.search(name)
    made = files.name_of(name)
    assert Path(os.path.normpath(place / f"{made}.svg")).parent == place
    assert "\x00" not in made


@pytest.mark.parametrize("name", ["../../x", "/elsewhere/x", "..", ".hidden", "a/b", "a\\b", "", "x" * 101, "x ", 3])
def test_a_sweep_is_not_named_out_of_its_place(name: Any, cli: Cli, write: Write, tmp_path: Path) -> None:
    status, out, err = cli("sweep", write(small(sweep=LOADS | {"name": name})))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "sweep.name" in err
    assert "expected a name" in err
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.json"]


@contextmanager
def nothing_else_changes(place: Path, but: Path) -> Iterator[None]:
    """Nothing in the place changes except one of its folders."""

    def others() -> dict[Path, bytes]:
        found = (path for path in place.rglob("*") if path.is_file() and not path.is_relative_to(but))
        return {path: path.read_bytes() for path in found}

    before = others()
    yield
    assert others() == before


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a JSON value, lists by their first and last."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from nodes(inner, (*path, key))
    elif isinstance(value, list) and value:
        for i in {0, len(value) - 1}:
            yield from nodes(value[i], (*path, i))


WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**40, 2**63, 2**70, 0.5, 1e308, float("nan")]),
    st.sampled_from(["", "x", "../../precious", "../precious", "/tmp/x", "\x00", "a\x1b[2J", "=1", "[/x]", "x" * 5000]),
    st.sampled_from([[], {}, [[]], [None], {"kind": 1}, {"kind": "x"}, {"start": 1}, ["a", 1], [2**70], {"": 0}]),
)


def changed(data: st.DataObject, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a file with one thing changed, as one who means harm, or an older version, would write it."""
    *parents, last = data.draw(st.sampled_from([path for path in nodes(content) if path]))
    inside: Any = content
    for step in parents:
        inside = inside[step]
    change = data.draw(st.sampled_from(["value", "remove", "rename"]))
    if change == "value":
        inside[last] = data.draw(WRONG)
    elif change == "remove" or isinstance(inside, list):
        del inside[last]
    else:
        inside[data.draw(st.sampled_from(["../../overwritten", "points", "\x1b", "a", "x.y"]))] = inside.pop(last)
    content.pop("digest", None)
    return content


PATHS = ["../../precious", "../precious", "precious", "{absolute}", "..", "x/../../precious", "\x00", "precious\n"]
"""Names that are none; as a hash each would be a file outside of `points/`."""


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("command", ["report", "plot", "sweep", "merge"])
def test_a_hash_is_no_path(command: str, name: str, kept: Path, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder, manifest = Path(shutil.copytree(kept, tmp_path / "a" / "r")), tmp_path / "a" / "r" / "manifest.json"
    for place in (tmp_path, tmp_path / "a", folder, folder / "points"):
        (place / "precious.json").write_text("{}")
    content = json.loads(manifest.read_text())
    name = name.format(absolute=tmp_path / "precious")
    content["points"].append({"hash": name, "values": {"traffic.load": 0.1}, "state": "done"})
    manifest.write_text(json.dumps(content))
    document = write(small(sweep=LOADS | {"name": "r"}))
    with nothing_else_changes(tmp_path, tmp_path / "nowhere"):
        status, out, err = cli(command, *((document, "--out") if command == "sweep" else ()), folder)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"{manifest}: corrupt (" in err
    assert "points[2].hash = " in err or "a text without control" in err


@pytest.mark.parametrize("name", ["../../overwritten", "/overwritten", "points", "histograms", "a.b", "a\n", "", "A"])
def test_the_name_of_a_table_is_no_path(name: str, kept: Path, tmp_path: Path) -> None:
    path = next((kept / "points").iterdir())
    point = json.loads(path.read_text())
    del point["digest"]
    point["tables"][name] = {"a": [1]}
    place = tmp_path / path.name
    place.write_text(json.dumps(point))
    with pytest.raises(ResultsError, match="expected the name of a table"):
        stored.read_point(place)


def names_what_is_wrong(said: str) -> None:
    assert re.search(r" = .*: expected|this key is missing|; expected|expected", said), said
    plain_words(said)


@settings(deadline=None, max_examples=200 * MORE, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_what_is_read_can_be_used(data: st.DataObject, kept: Path, tmp_path: Path) -> None:
    """Any value is replaced or removed: either tables can be made of the result, or it is refused with its key."""
    victim = data.draw(st.sampled_from([kept / "manifest.json", *sorted((kept / "points").iterdir())]))
    content = changed(data, json.loads(victim.read_text()))
    path = tmp_path / victim.name
    path.write_text(json.dumps(content))
    try:
        if victim.name == "manifest.json":
            for entry in stored.read_manifest_file(path)["points"]:
                assert Point(entry["values"], {}).columns.keys() == entry["values"].keys()
            return
        point = stored.read_point(path)
    except ResultsError as error:
        names_what_is_wrong(str(error))
        return
    row = results.point_row(point["hash"], Point(point["values"], point["summary"]["scenario"]), point["summary"])
    results.points_frame([row])
    for name, columns in point["tables"].items():
        stack = Stack(name)
        stack.add(point["hash"], row, columns)
        stack.frame([point["hash"]])


@settings(deadline=None, max_examples=8 * MORE, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_folders_with_wrong_contents_are_refused_or_mended(
    data: st.DataObject, kept: Path, cli: Cli, tmp_path: Path
) -> None:
    """Any value of the manifest or a point becomes any other, or goes: one line at most, nothing outside touched."""
    place = Path(shutil.copytree(kept.parent, tmp_path / "place", dirs_exist_ok=False))
    try:
        folder = place / "r"
        (place / "precious.json").write_text("{}")
        (folder / "precious.json").write_text("{}")
        victim = data.draw(st.sampled_from([folder / "manifest.json", *sorted((folder / "points").iterdir())]))
        content = changed(data, json.loads(victim.read_text()))
        victim.write_text(json.dumps(content))
        document = small(sweep=LOADS | {"name": "r"})
        (place / "scenario.json").write_text(json.dumps(document))
        before = (folder / "precious.json").read_bytes()
        with nothing_else_changes(place, folder):
            for command in (
                ["report"],
                ["report", "--csv"],
                ["sweep", place / "scenario.json", "--workers", 1, "--out"],
            ):
                status, out, err = cli(*command, folder)
                one_error(status, err)
                plain_words(out)
            if status == 0:
                assert cli("report", folder)[0] == 0
        assert (folder / "precious.json").read_bytes() == before
        assert {path.parent for path in place.rglob("*")} <= {place, folder, folder / "points"}
    finally:
        shutil.rmtree(place)


def damaged(folder: Path) -> list[str]:
    return [path.name for path in (folder / "points").glob("*.damaged")]


def test_every_changed_digit_of_a_point_is_noticed(kept: Path, tmp_path: Path) -> None:
    path = next((kept / "points").iterdir())
    content = path.read_bytes()
    place = tmp_path / path.name
    digits = [i for i, byte in enumerate(content) if chr(byte).isdigit()]
    for i in digits[:: len(digits) // 100]:
        other = bytearray(content)
        other[i] = ord("0") + (other[i] - ord("0") + 1) % 10
        place.write_bytes(other)
        # A number may be written in several ways: 0.25 and 0.250.
        if json.loads(other) != json.loads(content):
            with pytest.raises(ResultsError):
                stored.read_point(place)
    place.write_bytes(content)
    assert stored.read_point(place)["digest"].startswith("sha256:")


def test_points_of_older_versions_get_a_digest(kept: Path, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(kept, tmp_path / "r"))
    for path in (folder / "points").iterdir():
        point = json.loads(path.read_text())
        del point["digest"]
        path.write_text(json.dumps(point))
    status, _, err = cli("sweep", write(small(sweep=LOADS | {"name": "r"})), "--out", folder)
    assert (status, "0 points to run, 2 already there" in err) == (0, True)
    assert all("digest" in json.loads(path.read_text()) for path in (folder / "points").iterdir())
    assert not damaged(folder)


def test_a_damaged_point_is_put_aside(kept: Path, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(kept, tmp_path / "r"))
    path = next((folder / "points").iterdir())
    point = json.loads(path.read_text())
    point["summary"]["packets"] += 1
    path.write_text(json.dumps(point))
    status, _, err = cli("sweep", write(small(sweep=LOADS | {"name": "r"})), "--out", folder)
    assert (status, "1 points to run, 1 already there" in err) == (0, True)
    assert f"{path}: cannot read this finished point" in err
    assert "its digest does not match" in err
    assert damaged(folder) == [f"{path.stem}.damaged"]
    assert json.loads(path.read_text())["summary"]["packets"] == point["summary"]["packets"] - 1


@pytest.mark.parametrize("name", [".lock", "points", "manifest.json"])
def test_links_lead_nowhere(name: str, kept: Path, cli: Cli, write: Write, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(kept, tmp_path / "r"))
    elsewhere = tmp_path / "elsewhere"
    (folder / name).rename(elsewhere)
    if elsewhere.is_dir():
        (elsewhere / ".mine.json.12345678.tmp").write_text("")
    (folder / name).symlink_to(elsewhere)
    document = write(small(sweep=LOADS | {"name": "r"}))
    with nothing_else_changes(tmp_path, folder):
        status, _, err = cli("sweep", document, "--out", folder)
    one_error(status, err)
    assert status == 2


def test_a_full_disk_is_one_line_and_the_same_command_resumes(cli: Cli, write: Write, tmp_path: Path) -> None:
    document, folder = write(small(sweep=LOADS | {"name": "r"})), tmp_path / "r"
    # Processes share memory through a file, too.
    limited = f"ulimit -f 1; exec {sys.executable} -m phit sweep {document} --out {tmp_path / 'p'} --workers 2"
    ended = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
    assert ended.returncode == 2
    assert re.search(
        rf"^phit: error: {tmp_path}/p/.*: cannot be written \(File too large\)$", ended.stderr, re.MULTILINE
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failed = 0
    for most in (0, 1, 500, 1500, 2500, 3500, 5000, 7000, 9000, 12000, 16000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            status, _, err = cli("sweep", document, "--out", folder, "--workers", 1, "--plot")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        one_error(status, err)
        failed += status != 0
        if status:
            assert "cannot" in err
            assert not list(tmp_path.rglob("*.tmp"))
    assert failed > 5
    status, _, err = cli("sweep", document, "--out", folder, "--workers", 1)
    assert status == 0
    assert "2 already there" in err
    assert pl.read_parquet(folder / "points.parquet").height == 2
