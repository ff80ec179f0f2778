"""The JSON Schema accepts every document that a run accepts, with quantities and sweeps, and rejects the others."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import phit
import pytest
from jsonschema import Draft202012Validator
from phit.document.paths import set_path

from .conftest import ROOT, TINY, Cli, Write, tiny
from .test_docs import PAGES, blocks

SCHEMA = phit.schema()
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def problems(document: Any) -> list[str]:
    return [error.message[:300] for error in VALIDATOR.iter_errors(document)]


def test_kinds_of_routers_may_use_one_word_for_different_things() -> None:
    """`sharing` is a memory's table in one kind, and a rule by name in another."""
    for sharing in ("per_input", "max_min"):
        document = tiny() | {"router": {"kind": "fluid", "sharing": sharing}}
        assert problems(document) == []
    assert problems(tiny() | {"router": {"kind": "fluid", "sharing": "equal"}}) != []


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every table of a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from parts(part)
    elif isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from parts(part)


def test_references_are_to_definitions_at_the_root() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    references = {part["$ref"] for part in parts(SCHEMA) if isinstance(part.get("$ref"), str)}
    assert len(references) > 30
    for reference in references:
        assert re.fullmatch(r"#/\$defs/\w+", reference), reference
        assert reference.removeprefix("#/$defs/") in SCHEMA["$defs"]
    assert sum("$defs" in part for part in parts(SCHEMA)) == 1


def test_descriptions_are_without_markup_of_rust() -> None:
    texts = [part["description"] for part in parts(SCHEMA) if isinstance(part.get("description"), str)]
    texts += [entry["description"] for entries in phit.catalogue().values() for entry in entries]
    assert len(texts) > 300
    for text in texts:
        assert not re.search(r"\[`|\]\(|::|\]\[", text), text


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_accepted_and_name_the_schema(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    document = tomllib.loads(text)
    assert problems(document) == []
    directive = re.match(r"#:schema (\S+)\n", text)
    assert directive
    assert json.loads((example.parent / directive[1]).read_text(encoding="utf-8")) == SCHEMA, "run `make schema`"
    # With the files that it names found from its folder.
    base = {key: value for key, value in phit.load(example).items() if key not in ("sweep", "plot")}
    if "sweep" not in document:
        assert problems(phit.complete(base)) == []


def test_taplo_accepts_the_examples_and_rejects_a_mistake(tmp_path: Path) -> None:
    taplo = Path(sys.executable).with_name("taplo")
    done = subprocess.run([taplo, "lint", *EXAMPLES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    bad = tmp_path / "bad.toml"
    directive = f"#:schema {(ROOT / 'docs' / 'phit.schema.json').as_uri()}\n"
    bad.write_text(directive + EXAMPLES[0].read_text(encoding="utf-8").replace("[router]\n", "[router]\nlatecy = 1\n"))
    done = subprocess.run([taplo, "lint", bad], capture_output=True, text=True, check=False)
    assert "latecy" in done.stderr
    assert done.returncode != 0


def merged(block: str) -> dict[str, Any]:
    """A document of the guide, or a part of one put into a small scenario."""
    document = tomllib.loads(block)
    if "workload" not in document and "traffic" in document and "load" not in document["traffic"]:
        document["traffic"] |= {"load": TINY["traffic"]["load"]}
    return document if {"topology", "traffic"} <= document.keys() else {**TINY, **document}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_documents_of_the_guide_are_accepted(page: Path) -> None:
    for block in blocks(page, "toml"):
        assert problems(merged(block)) == [], block


def test_the_documents_in_descriptions_are_accepted() -> None:
    found = 0
    for entries in phit.catalogue().values():
        for entry in entries:
            for block in re.findall(r"^```toml\n(.*?)^```$", entry["description"], re.MULTILINE | re.DOTALL):
                document = merged(block)
                document.setdefault("traffic", {}).setdefault("load", 0.1)
                assert problems(document) == [], block
                found += 1
    assert found > 10


def test_completed_scenarios_are_accepted() -> None:
    node = tiny(
        topology={"kind": "torus", "dims": [4, 4]},
        routing__kind="outflank",
        router={"node": {}, "links": {"default": {"vcs": 3, "buffer": 32}, "endpoint": {"vcs": 1}}},
    )
    for document in (tiny(), tiny(measure__until={}, measure__series={}), node):
        assert problems(phit.complete(document)) == []


ACCEPTED: dict[str, dict[str, Any]] = {
    "a bare name": tiny(routing="minimal", queueing="voqsw"),
    "a time": tiny(router__links__global__latency="20 ns", measure__warmup="1.5 us"),
    "a fraction": tiny(router__latency="1/60 ns", units={"cycle": "1/60 ns"}),
    "sizes": tiny(traffic__packet_size={"kind": "choice", "sizes": ["16 B", 8]}),
    "a rate as a load": tiny(traffic__load="2 Gb/s"),
    "the name of the schema": {"$schema": "phit.schema.json", **tiny()},
    "a trace and no load": {**tiny(), "traffic": {"trace": "messages.csv"}},
    "a pattern within a pattern": tiny(
        traffic__pattern={"kind": "hotspot", "targets": [1], "share": 0.1, "background": {"kind": "shift"}}
    ),
    "a sweep of what the scenario lacks": {
        "topology": {"kind": "dragonfly"},
        "sweep": {
            "zip": [{"topology.p": [1, 2], "topology.a": [2, 4], "topology.h": [1, 2]}],
            "product": {"traffic": {"load": [0.1]}},
        },
    },
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_right_is_accepted(case: str) -> None:
    assert problems(ACCEPTED[case]) == []


MISTAKES: dict[str, dict[str, Any]] = {
    "unknown section": tiny(trafic={}),
    "missing topology": {"traffic": {"load": 0.1}},
    "missing load": {**tiny(), "traffic": {}},
    "missing key of a kind": tiny(topology={"kind": "dragonfly", "p": 2, "a": 4}),
    "bare name of a kind with keys": tiny(topology="dragonfly"),
    "unknown key": tiny(traffic__lod=0.2),
    "unknown key of a kind": tiny(topology__q=1),
    "key of another kind": tiny(routing={"kind": "minimal", "via": "router"}),
    "unknown key of a class of links": tiny(router__links__local__latecy=3),
    "misspelt kind": tiny(routing__kind="minmal"),
    "misspelt bare kind": tiny(traffic__pattern="unifrom"),
    "misspelt kind within a kind": tiny(
        traffic__pattern={"kind": "hotspot", "targets": [1], "share": 0.1, "background": "unifrom"}
    ),
    "misspelt name": tiny(router__switching="wormhol"),
    "no kind": tiny(routing={}),
    "a string for a number": tiny(topology__p="two"),
    "a number for a name": tiny(router__switching=1),
    "a number for a table": tiny(router=1),
    "a number for a yes or no": tiny(measure__histogram=1),
    "a fraction for a whole number": tiny(topology__p=2.5),
    "too small": tiny(router__speedup=0),
    "too large": tiny(router__speedup=65),
    "not below the bound": tiny(measure__confidence=1),
    "negative load": tiny(traffic__load=-0.1),
    "empty list": tiny(topology={"kind": "torus", "dims": []}),
    "element out of bounds": tiny(topology={"kind": "torus", "dims": [4, 1]}),
    "output buffer too large": tiny(router__output_buffer=70_000),
    "a size for a time": tiny(router__links__local__latency="16 B"),
    "a time for a load": tiny(traffic__load="3 ns"),
    "a quantity for a number": tiny(router__links__local__vcs="3 ns"),
    "no unit": tiny(router__links__local__latency="16 parsecs"),
    "unknown key of a sweep": tiny() | {"sweep": {"prodct": {}}},
    "a single value for a swept key": tiny() | {"sweep": {"product": {"traffic.load": 0.1}}},
    "a range without an end": tiny() | {"sweep": {"product": {"traffic.load": {"start": 0, "step": 1}}}},
    "a swept key of no section": tiny() | {"sweep": {"product": {"trafic.load": [0.1]}}},
    "no seeds": tiny() | {"sweep": {"seeds": 0}},
    "unknown key of a plot": tiny() | {"plot": {"color": "pattern"}},
    "unknown key of a trace": {**tiny(), "traffic": {"trace": {"file": "a.csv", "compresion": 2}}},
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_rejected_and_refused(case: str, cli: Cli, write: Write) -> None:
    document = MISTAKES[case]
    assert problems(document)
    command = "sweep" if "sweep" in document else "run"
    if "plot" not in document:
        status, _, err = cli(command, write(document), *(["--workers", 1] if command == "sweep" else []))
        assert status == 2, err


QUANTITIES = """200 ns|1/60 ns| 0.8ns |1 / 60 us|5 µs|3 ms|2 s|.5 ps|5. ns|1.2.3 ns|-1 ns|ns|1e3 ns|16 B|4 KiB|4 kiB
4 KB|4 kB|3 Mbit|3 Mb|3 MBit|1 Kib|1 TiB|20 Gb/s|20 Gbps|20 GBps|2.5 GB/s|2 GiB/s|2 Gbit/s|2 Gb/ s|2 gb/s|2 b/s|2 bps
2 bitps|2 parsec|2|two"""


@pytest.mark.parametrize("text", re.split(r"[|\n]", QUANTITIES))
def test_quantities_are_those_of_the_engine(text: str) -> None:
    keys = {"time": "router.links.local.latency", "size": "traffic.packet_size", "rate": "traffic.load"}
    for kind, key in keys.items():
        pattern = SCHEMA["$defs"][kind]["pattern"]
        document = tiny()
        set_path(document, key, text)
        try:
            phit.complete(document)
            read = True
        except phit.ScenarioError as error:
            # A quantity of the right kind may be refused later for its value.
            words = (
                "is no unit",
                "expected a number and a unit",
                "expected a time",
                "expected a size",
                "expected a rate",
            )
            # The refusal of a plain number beside a quantity mentions the quantity only after it was read.
            read = f"beside {key} = " in str(error) or all(
                word not in str(error)
                for word in (*words, "a whole number", "expected a number", "unknown packet size")
            )
        assert bool(re.search(pattern, text)) == read, (kind, key)


def test_the_key_that_names_the_schema_changes_nothing(write: Write) -> None:
    named = {"$schema": "../docs/phit.schema.json", **tiny()}
    assert phit.complete(write(named)) == phit.complete(named) == phit.complete(tiny())


def test_the_command_prints_it(cli: Cli) -> None:
    status, out, _ = cli("schema")
    assert (status, json.loads(out)) == (0, SCHEMA)
