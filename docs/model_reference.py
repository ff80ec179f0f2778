"""Writes the page `model.md` from the catalogue of the engine when the documentation is built."""

import json
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
}

SECTIONS = ("router", "traffic", "measure")

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
            parts += [f"## `[{name}]`", section.get("description", "").strip(), keys(section)]
    for concept, entries in phit.catalogue().items():
        parts.append(f"## {TITLES.get(concept, concept)}")
        for entry in entries:
            parts += [f"### {concept}: `{entry['kind']}`", entry["description"].strip(), keys(entry["schema"])]
    return "\n\n".join(part for part in parts if part) + "\n"


def resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference points to."""
    reference = schema.get("$ref", "")
    if not reference.startswith("#/"):
        return schema
    found: Any = root
    for step in reference[2:].split("/"):
        found = found[step]
    return {**found, **{k: v for k, v in schema.items() if k != "$ref"}}


def keys(schema: dict[str, Any]) -> str:
    """A table of the keys of a schema; nothing if there are none."""
    required = schema.get("required", [])
    rows = [
        f"| `{key}` | {default(key, value, required)} | {cell(value.get('description', ''))} |"
        for key, value in schema.get("properties", {}).items()
        if key != "kind" and isinstance(value, dict)
    ]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows]) if rows else ""


def default(key: str, schema: dict[str, Any], required: list[str]) -> str:
    """The default of a key in words."""
    if key in required:
        return "required"
    value = schema.get("default")
    return "none" if value is None else f"`{cell(json.dumps(value, ensure_ascii=False))}`"


def cell(text: str) -> str:
    """Text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def on_files(files: Any, config: Any) -> Any:
    """Adds the page to the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "model.md", content=page()))
    return files
