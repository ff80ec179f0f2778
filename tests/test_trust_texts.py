"""Hostile texts: what comes from a file is a text in every output, never markup, a formula or a control character."""

import csv
import io
import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.base import text
from phit.base.errors import InputError, ResultsError, failure
from phit.cli.speaking import out
from phit.store import stored
from rich.table import Table

from .conftest import Cli, Write
from .hostile import FIXTURES, HIDDEN, HOSTILE, MORE, UNFORESEEN, one_error, plain_words, small


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
    """The files of a results folder contain text only as text for the programs that read them."""
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
    """Hostile texts in a scenario and, if a scenario cannot hold them, in the tables of a folder."""
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
    from phit.drawing import report

    report.write_tables(report.Folder.read(folder))
    status, _, err = cli("report", folder, "--html", folder / "report.html")
    assert (status, err.count("\n")) == (0, 1)
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
    from phit.drawing import plots

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
    for kind in (InputError, ResultsError, phit.SimulationError, failure):
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
