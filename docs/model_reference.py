"""Adds the pages `model.md`, made from the catalogue of the engine, and `contributing.md` to the documentation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import phit

TITLES = {
    "topology": "Topologies",
    "routing": "Routing mechanisms",
    "queueing": "Queue organisations",
    "pattern": "Traffic patterns",
    "process": "Injection processes",
    "packet_size": "Packet sizes",
    "allocator": "Allocators",
    "probe": "Probes",
}

SECTIONS = ("router", "traffic", "measure")

PLACES = {
    "topology": "[topology]",
    "routing": "[routing]",
    "queueing": "[queueing]",
    "pattern": "traffic.pattern",
    "process": "traffic.process",
    "packet_size": "traffic.packet_size",
    "allocator": "router.allocator",
    "probe": "measure.probes",
}

SECTION_NOTES = {
    "router": (
        "The router: input buffers with queues, routing, allocation, a crossbar, output buffers, "
        'links. Router cycles are link cycles unless `clock = "crossbar"`. Links are described by class: `CLASS` is '
        "`endpoint` or a class of the topology (`local` and `global` in a Dragonfly, `dim0`, `dim1`, ... in grids, "
        "`level1`, `level2`, ... in a folded Clos network), and a class takes what it does not say from the class "
        "`default`."
    ),
    "traffic": "The offered traffic: who sends what to whom and when.",
    "measure": "What is measured and for how long.",
}

INTRODUCTION = """# Model reference

Everything that a scenario can name, with its keys and their defaults. This page is made from the descriptions in the
engine's source; `phit list` and `phit schema` show the same on the command line.
"""


def page() -> str:
    """The Markdown of the whole page."""
    parts = [INTRODUCTION.strip()]
    schema = phit.schema()
    for name in SECTIONS:
        section = resolved(schema.get("properties", {}).get(name, {}), schema)
        if "properties" in section:
            parts += [f"## `[{name}]`", SECTION_NOTES.get(name, section.get("description", "")), table(section, schema)]
    for concept, entries in phit.catalogue().items():
        parts.append(f"## {TITLES.get(concept, concept)}")
        parts.append(f"In a scenario: `{PLACES[concept]}`." if concept in PLACES else "")
        for entry in entries:
            own = entry["schema"]
            parts += [f"### {concept}: `{entry['kind']}`", entry["description"].strip(), table(own, own) or "No keys."]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference points to."""
    reference = schema.get("$ref", "")
    if not reference.startswith("#/"):
        return schema
    found: Any = root
    for step in reference[2:].split("/"):
        found = found[step]
    return {**found, **{k: v for k, v in schema.items() if k != "$ref"}}


def table(schema: dict[str, Any], root: dict[str, Any]) -> str:
    """A table of the keys of a schema, those of tables within it too; nothing if there are none."""
    rows = [f"| `{key}` | {default} | {cell(meaning)} |" for key, default, meaning in rows_of(schema, root, "")]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows]) if rows else ""


def rows_of(schema: dict[str, Any], root: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    """`(key, default, meaning)` of every key."""
    for key, value in schema.get("properties", {}).items():
        if key == "kind" or not isinstance(value, dict):
            continue
        found = resolved(value, root)
        yield prefix + key, default(key, found, schema.get("required", [])), meaning(found)
        inner, name = found, f"{prefix}{key}."
        if isinstance(found.get("additionalProperties"), dict):
            inner, name = resolved(found["additionalProperties"], root), f"{prefix}{key}.CLASS."
        elif isinstance(found.get("items"), dict):
            inner, name = resolved(found["items"], root), f"{prefix}{key}[]."
        yield from rows_of(inner, root, name)


def meaning(schema: dict[str, Any]) -> str:
    """The description of a key, with the names that it may take and what each of them means."""
    named = [option for option in schema.get("oneOf", []) if isinstance(option.get("const"), str)]
    text: str = schema.get("description", "").strip()
    return text + "".join(f'<br>`"{o["const"]}"`: {o.get("description", "").strip()}' for o in named)


def default(key: str, schema: dict[str, Any], required: list[str]) -> str:
    """The default of a key in words."""
    if key in required:
        return "required"
    value = schema.get("default")
    if value in (None, [], {}):
        return "none"
    return f"`{cell(toml(value))}`"


def toml(value: Any) -> str:
    """A value as it stands in a scenario."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    text: str = json.dumps(value, ensure_ascii=False)
    return text


def cell(text: str) -> str:
    """Text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages to the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "model.md", content=page()))
    contributing = Path(config.config_file_path).with_name("CONTRIBUTING.md")
    files.append(File.generated(config, "contributing.md", content=contributing.read_text(encoding="utf-8")))
    return files
