"""Hostile files: what comes from a file is data, never a path out of the folder, markup, a formula or an abort."""

import copy
import csv
import io
import json
import os
import re
import resource
import shutil
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phit import files, results, stored, text, traces
from phit.cli import running
from phit.cli.app import out
from phit.errors import InputError, ResultsError
from phit.experiment import Point
from phit.markdown import markdown_table
from rich.table import Table

from .conftest import Cli, Write

FIXTURES = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
MORE = int(os.environ.get("PHIT_MORE", "1"))
"""So many times as many examples."""

UNFORESEEN = "this should not happen"

SMALL: dict[str, Any] = {
    "topology": {"kind": "single", "endpoints": 4},
    "traffic": {"load": 0.1},
    "measure": {"warmup": 10, "cycles": 100, "series": {"bin": 50}, "links": True},
}
LOADS = {"product": {"traffic.load": [0.1, 0.2]}}

HOSTILE = (
    "</script><hostile>",
    "<!--<script><hostile>",
    "]]></title><hostile/>",
    "[/x]",
    "[bold red]x[/bold red] :smile:",
    "=HYPERLINK(1)",
    "@SUM(A1)",
    "+1+cmd|x",
    "-2+3",
    "a|b\n|c\td",
    "[x](javascript:y) ![z](http://w) `v`",
    "{0} %s \\ \\x1b $e^{x}$ \"' &amp;",
)
"""Texts that can stand in a document, and mean something somewhere."""

HIDDEN = st.text(max_size=4).flatmap(
    lambda around: st.sampled_from("\x00\x07\x08\x1b\r\x7f\x9b\u202e\u2066\ufeff\ufffe\U000e0041").map(
        lambda hidden: around + hidden + around
    )
)


def small(**sections: Any) -> dict[str, Any]:
    return copy.deepcopy(SMALL) | sections


def plain_words(said: str) -> None:
    """What a terminal gets has nothing hidden in it."""
    assert not text.HIDDEN.search(said.replace("\n", "").replace("\t", "")), said


def one_error(status: int, err: str) -> None:
    """One line, and an exit status."""
    assert UNFORESEEN not in err
    lines = [line for line in err.splitlines() if line.startswith("phit: error:")]
    assert status in (0, 1, 2)
    assert len(lines) == (status != 0), err
    assert "Traceback" not in err
    plain_words(err)


# Paths


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


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of two points, with tables."""
    folder = tmp_path_factory.mktemp("kept") / "r"
    phit.sweep(small(sweep=LOADS | {"name": "r"}), folder, workers=1)
    return folder


@contextmanager
def nothing_else_changes(place: Path, but: Path) -> Iterator[None]:
    """Nothing in the place changes but what is in one of its folders."""

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
@pytest.mark.parametrize("command", ["report", "plot", "sweep"])
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
    """Any value becomes any other, or goes, and tables can be made of what is read, or it is refused by its key."""
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
        results.stacked(point["hash"], Point(point["values"], point["summary"]["scenario"]), name, columns)


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
    assert f"{path}: this finished point cannot be read" in err
    assert "its digest is another" in err
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


# Texts


def string_keys(schema: Any, root: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every key of a document whose value may be a text, from the schema."""
    if not isinstance(schema, dict) or len(path) > 6:
        return
    if "$ref" in schema:
        found = root
        for step in schema["$ref"][2:].split("/"):
            found = found[step]
        yield from string_keys(found, root, path)
    if "string" in (schema.get("type"), *(schema["type"] if isinstance(schema.get("type"), list) else ())):
        yield path
    for word in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(word, ()):
            yield from string_keys(inner, root, path)
    for key, inner in schema.get("properties", {}).items():
        yield from string_keys(inner, root, (*path, key))
    if "items" in schema:
        yield from string_keys(schema["items"], root, (*path, 0))


def placed(path: tuple[Any, ...], value: Any) -> Any:
    """The value at a path of a document that has nothing else."""
    for step in reversed(path):
        value = [value] if step == 0 else {step: value}
    return value


SCHEMA = phit.schema()
TEXT_KEYS = sorted({path for path in string_keys(SCHEMA, SCHEMA) if path != ("$schema",)}, key=repr)


def test_the_schema_has_the_texts_that_are_known() -> None:
    known = {("plot", "title"), ("plot", "x"), ("sweep", "name"), ("sweep", "curves", 0, "name"), ("routing", "file")}
    assert known | {("traffic", "trace"), ("traffic", "trace", "file")} <= set(TEXT_KEYS)


@settings(deadline=None, max_examples=50 * MORE, suppress_health_check=FIXTURES)
@given(path=st.sampled_from(TEXT_KEYS), hidden=HIDDEN)
def test_hidden_characters_are_refused_by_key(path: tuple[Any, ...], hidden: str, cli: Cli, write: Write) -> None:
    section, *rest = path
    document = small(**placed((section, *rest), hidden))
    for command in ("run", "sweep"):
        status, out, err = cli(command, write(document))
        assert (status, out, err.count("\n")) == (2, "", 1)
        one_error(status, err)
        key = "".join(f"[{step}]" if step == 0 else f".{step}" for step in path).lstrip(".")
        assert f"{key} = " in err
        assert "expected a text without control and other hidden characters" in err
    with pytest.raises(InputError, match="hidden characters"):
        phit.run(document)


class Tags(HTMLParser):
    """The elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.found.append(tag)

    handle_startendtag = handle_starttag


def check_outputs(folder: Path) -> None:
    """What programs read in a results folder means nothing but its text."""
    for path in folder.rglob("*.*"):
        if path.suffix == ".html":
            tags = Tags()
            tags.feed(path.read_text())
            assert "hostile" not in tags.found
            assert tags.found.count("script") <= 2
            # A comment that opens a script would swallow the end of ours.
            assert "<!--<script" not in path.read_text().split("vegaEmbed(")[-1]
        elif path.suffix == ".svg":
            assert not [e for e in ET.fromstring(path.read_bytes()).iter() if e.tag.endswith("hostile")]
        elif path.name == "points.csv":
            for row in csv.reader(io.StringIO(path.read_text())):
                for cell in row:
                    assert re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell) or not cell.startswith(("=", "+", "-", "@"))
                    plain_words(cell)
        elif path.suffix == ".md":
            said = path.read_text()
            plain_words(said)
            assert not re.search(r"<|(?<!\\)\[|(?<!\\)`", said)
            assert len({line.count("|") for line in said.splitlines()}) == 1


def test_texts_are_texts_in_every_output(cli: Cli, write: Write, tmp_path: Path) -> None:
    """Written into a scenario; and, with what a scenario cannot hold, into the tables of a folder."""
    curves = [{"name": said, "traffic.load": 0.1 + 0.01 * i} for i, said in enumerate(HOSTILE)]
    document = small(sweep={"name": "r", "curves": curves}, plot={"title": "".join(HOSTILE)})
    folder = tmp_path / "r"
    status, out, err = cli("sweep", write(document), "--out", folder, "--workers", 1)
    assert (status, err.count("phit: error")) == (0, 0)
    plain_words(out + err)
    points = pl.read_parquet(folder / "points.parquet")
    points = points.with_columns(curve=pl.col("curve") + pl.lit("\x1b]0;x\x07\x9b\u202e"))
    points.write_parquet(folder / "points.parquet")
    for options in ([], ["--csv"], ["--markdown"]):
        status, out, err = cli("report", folder, *options)
        assert (status, err) == (0, "")
        plain_words(out)
        if not options:
            assert all(said.split("\n")[0] in out for said in HOSTILE)
            rows = [line for line in out.splitlines() if line.strip()]
            assert len(rows) == len(("heading", "rule", *points["point"], "caption"))
    status, out, err = cli("plot", folder, "--y", "accepted_load")
    assert (status, err) == (0, "")
    from phit import report

    report.write_tables(report.Folder.read(folder))
    check_outputs(folder)
    assert (folder / "plots" / "accepted_load.svg").exists()


def test_tables_of_other_kinds_are_refused(kept: Path, cli: Cli, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(kept, tmp_path / "r"))
    points = pl.read_parquet(folder / "points.parquet")
    for wrong in (
        points.drop("saturated"),
        points.with_columns(saturated=pl.lit("x")),
        points.with_columns(latency_mean=pl.lit("x")),
        points.drop("traffic.load"),
        points.drop("point"),
    ):
        wrong.write_parquet(folder / "points.parquet")
        status, _, err = cli("plot", folder, "--format", "svg")
        one_error(status, err)
        assert status == 2


def test_a_chart_with_hidden_characters_is_drawn(tmp_path: Path) -> None:
    from phit import plots

    points = pl.DataFrame({"traffic.load": [0.1, 0.2], "accepted_load": [0.1, 0.2], "saturated": [False, False]})
    chart = plots.load_curves(points, "accepted_load", plot={"title": "a\x1b\x00\x08\ufffe\ud800b"})
    for path in plots.save(chart, tmp_path / "chart"):
        assert path.stat().st_size > 100
    assert "a\\u001b" in (tmp_path / "chart.svg").read_text()
    check_outputs(tmp_path)


@given(st.text(), st.integers(10, 100))
def test_plain_and_short_texts(said: str, most: int) -> None:
    assert not text.HIDDEN.search(text.plain(said))
    plain_words(text.plain_lines(said))
    short = text.shortened(said, most)
    assert short == said or len(short) <= most + 40
    assert not text.in_csv(said).startswith(("=", "@"))
    assert "<" not in text.in_markdown(said)
    assert json.loads(text.plain_lines(json.dumps(said, ensure_ascii=False))) == said
    assert text.plain("Größe 90° → λ 試驗 😀 é") == "Größe 90° → λ 試驗 😀 é"


@settings(deadline=None, max_examples=15 * MORE, suppress_health_check=FIXTURES)
@given(
    path=st.sampled_from([*TEXT_KEYS, ("x",), ("topology", "y"), ("measure", "cycles")]),
    which=st.sampled_from(["text", "list", "number", "table", "path"]),
)
def test_messages_have_an_end(path: tuple[Any, ...], which: str, cli: Cli, tmp_path: Path) -> None:
    long: dict[str, Any] = {"text": "z" * 200_000, "list": ["z" * 3000] * 100, "number": "digits", "path": "z" * 4000}
    value = long.get(which, {"z" * 9000: 1})
    document = small(**placed((*path[:-1], path[-1] * 50_000 if path[-1] in ("x", "y") else path[-1]), value))
    file = tmp_path / "long.json"
    file.write_text(json.dumps(document).replace('"digits"', "1" + "0" * 5000))
    for command in ("run", "sweep"):
        shutil.rmtree(tmp_path / "r", ignore_errors=True)
        status, _, err = cli(command, file, *(["--out", tmp_path / "r", "--workers", 1] if command == "sweep" else []))
        assert status in (0, 2)
        assert UNFORESEEN not in err
        assert all(len(line) < 2500 for line in err.splitlines())
        assert err.count("\n") <= 21


def test_errors_in_python_have_an_end() -> None:
    for kind in (InputError, ResultsError, phit.SimulationError, phit.PhitError):
        said = str(kind(f"start {'x' * 1_000_000} end"))
        assert said.startswith("start xxx")
        assert said.endswith("xxx end")
        assert len(said) < 2500


def test_every_table_of_the_terminal_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("[/x] \x1b[2J", caption="[bold]c\x07", title=":smile:\u202e")
    table.add_row("[red]x[/red]\x9b")
    out(table)
    said = capsys.readouterr().out
    plain_words(said)
    for words in ("[/x] \\u001b[2J", "[bold]c\\u0007", ":smile:\\u202e", "[red]x[/red]\\u009b"):
        assert words in said


@pytest.mark.parametrize("value", ["1e999", "-1e999", "NaN", "Infinity", "1" + "0" * 30, "1" + "0" * 5000, "[" * 99999])
def test_numbers_that_are_none_are_no_results(value: str, tmp_path: Path) -> None:
    for name, read in (("manifest", stored.read_manifest_file), ("0" * 32, stored.read_point)):
        path = tmp_path / f"{name}.json"
        path.write_text(f'{{"format": 2, "points": [], "scenario": {{"a": {value}}}}}')
        with pytest.raises(ResultsError, match=r"scenario\.a|finite|levels|digits"):
            read(path)


# Traces


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
    """As some damaged files make it: it writes to standard error and raises what is no `Exception`."""

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
    words = "no packet of it was measured: its messages are of the cycles 0 to 5, and"
    with pytest.warns(UserWarning, match=words):
        phit.run(document)
    sweep = document | {"sweep": {"product": {"measure.warmup": [0, 50]}}}
    _, _, err = cli("sweep", write(sweep), "--out", tmp_path / "r", "--workers", 1)
    assert re.findall("warning: (.*?): traffic", err) == ["warmup=50"]


# The border


class Panic(BaseException):
    """As that of a library in Rust."""


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

    monkeypatch.setattr(running, "load", fail)
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
        "traffic": {"pattern": "tornado", "load": 0.9, "packet_size": 8, "message": {"packets": 12}},
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
