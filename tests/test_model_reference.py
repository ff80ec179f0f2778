"""The model reference has every kind and every key, with its default and its meaning."""

import functools
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import phit
import phit.cli
import pytest

from .conftest import ROOT

REFERENCE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "model_reference.py"))
PAGE: str = REFERENCE["page"]()

REMEDY = "`make schema` writes it"


@functools.cache
def pages() -> dict[str, str]:
    """All pages of the reference, made by a process in which no test has added anything."""
    program = "import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])['pages']()))"
    script = str(ROOT / "docs" / "model_reference.py")
    done = subprocess.run([sys.executable, "-c", program, script], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_every_kind_has_a_heading() -> None:
    for concept, entries in phit.catalogue().items():
        for entry in entries:
            assert f"### {concept}: `{entry['kind']}`\n" in PAGE


def test_every_key_says_what_it_means() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]*) \| (.*) \|$", PAGE, re.MULTILINE)
    for key, default, meaning in rows:
        assert default, key
        assert len(meaning) > 10, key
    keys = {key for key, _, _ in rows}
    assert {"links.CLASS.buffer", "changes[].cycle", "until.half_width", "series.bin", "injection_queue"} <= keys


NAMES_FILES = {"goal", "chakra", "trace", "file"}
"""Kinds whose scenario needs a file of the user."""

FABRICS = {("topology", "infiniband"), ("routing", "infiniband")}
"""Concepts and kinds whose scenario is made from the files of a fabric."""

FUNCTIONS = {"python_trigger", "python_rule", "python_pattern", "python_probe"}
"""Kinds whose scenario needs a Python function; the guide's page on them is executed, too."""

BASE: dict[str, Any] = {
    "units": {"phit": "8 B", "cycle": "1 ns"},
    "topology": {"kind": "torus", "dims": [4, 4]},
    "router": {"links": {"default": {"vcs": 8}}},
    "traffic": {"load": 0.1},
    "measure": {"warmup": 100, "cycles": 200},
}
"""A scenario for the parts that a description leaves out."""


def completed(own: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """The scenario of a description, with sections of `base` that it leaves out."""
    found = dict(base)
    for key, value in own.items():
        there = found.get(key)
        merged = isinstance(value, dict) and isinstance(there, dict) and key != "topology"
        found[key] = completed(value, there) if merged and isinstance(there, dict) else value
    return found


def described() -> Iterator[tuple[str, str, str]]:
    """Concept, kind and description of every kind that a scenario alone can show."""
    for concept, entries in phit.catalogue().items():
        for entry in entries:
            kind = entry["kind"]
            if kind not in FUNCTIONS and (concept, kind) not in FABRICS:
                yield concept, kind, entry["description"]


@pytest.mark.parametrize(("concept", "kind", "text"), list(described()), ids=lambda value: value.split()[0])
def test_every_kind_has_a_scenario(concept: str, kind: str, text: str) -> None:
    examples = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    assert examples, f"{concept} {kind}: the description has no scenario"
    for example in examples:
        assert f"'{kind}'" in repr(example), (concept, kind)
        if kind not in NAMES_FILES:
            left_out = ("traffic", "measure") if "workload" in example else ()
            base = {key: value for key, value in BASE.items() if key not in left_out}
            phit.complete(completed(example, base))


def test_names_are_explained() -> None:
    assert '<br>`"least_occupied"`: The queue with most room' in PAGE
    assert '<br>`"wormhole"`: ' in PAGE


COUNTED_OTHERWISE = {
    "cycle": "what a cycle is",
    "phit": "what a phit is",
    "units": "what both are",
    "batches": "parts of a time",
    "injection_rate": "a multiple of a load",
    "local_low": "packets per cycle",
    "global_low": "packets per cycle",
    "precision": "parts of means",
    "factor": "times as many",
    "precompute": "at most two cycles of the router",
    "redecide": "true or false",
    "trace": "messages",
    "traffic": "a table",
    "cycle_ns": "nanoseconds",
    "phit_bytes": "bytes",
    "start": "of a file, in cycles",
    "limit": "of a file, in cycles",
    "credit_threshold": "a share of phits",
    "allocation_rounds": "rounds",
}
"""Keys that mention cycles or phits but take no quantity with a unit, with their meaning."""


def keys(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of the schema with its description."""
    if isinstance(schema, list):
        for part in schema:
            yield from keys(part)
    elif isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
        for part in schema.values():
            yield from keys(part)


def test_every_number_of_cycles_or_phits_takes_a_unit() -> None:
    seen = set()
    for key, schema in keys(phit.schema()):
        counted = re.search(r"(?<!\")\b(cycles?|phits?)\b(?!\.\w)", schema.get("description", ""), re.IGNORECASE)
        if counted and "x-unit" not in json.dumps(schema):
            assert key in COUNTED_OTHERWISE, (key, schema["description"])
            seen.add(key)
    assert seen == set(COUNTED_OTHERWISE)


@pytest.mark.parametrize("name", ["model.md", "results.md", "commands.md"])
def test_the_repository_has_the_reference_of_this_code(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert pages()[name] == written, f"docs/{name} is of another state of the code: {REMEDY}"


def test_every_command_and_option_is_in_the_reference() -> None:
    page = pages()["commands.md"]
    for module, names in phit.cli.MODULES.items():
        for name in names:
            assert f"## `phit {name}" in page, (module, name)
    assert re.search(r"^\| `--set KEY=VALUE` \| Set a key", page, re.MULTILINE)
    assert re.search(r"^\| `FILE` \| .* \| \*\*required\*\* \|$", page, re.MULTILINE)


def messages(page: str) -> set[str]:
    return set(re.findall(r"^- (.+)$", page, re.MULTILINE))


def test_errors_are_in_the_reference() -> None:
    now = messages(pages()["errors.md"])
    # Single words of a message may be newer than the page, which `make schema` and `make docs` write.
    written = messages((ROOT / "docs" / "errors.md").read_text(encoding="utf-8"))
    assert len(now & written) > 0.9 * len(now), f"docs/errors.md is of another state of the code: {REMEDY}"
    for words in ("no such study; expected one of", "expected a table with the sections of a scenario"):
        assert any(words in text for text in now), words
