"""Adds the pages `model.md`, made from the catalogue of the engine, and `contributing.md` to the documentation."""

from pathlib import Path
from typing import Any

import phit
from phit.keys import Key, Schema, keys, resolved

TITLES = {
    "topology": "Topologies",
    "router": "Routers",
    "routing": "Routing mechanisms",
    "queueing": "Queue organisations",
    "pattern": "Traffic patterns",
    "process": "Injection processes",
    "packet_size": "Packet sizes",
    "allocator": "Allocators",
    "probe": "Probes",
}

SECTIONS = ("traffic", "measure")

PLACES = {
    "topology": "[topology]",
    "router": "[router]",
    "routing": "[routing]",
    "queueing": "[queueing]",
    "pattern": "traffic.pattern",
    "process": "traffic.process",
    "packet_size": "traffic.packet_size",
    "allocator": "router.allocator",
    "probe": "measure.probes",
}

NOTES = {
    "router": (
        "Without `kind` it is the input-queued router, or, with a table `node`, the packet-level node. "
        'Router cycles are link cycles unless `clock = "crossbar"`. Links are described by class: `CLASS` is '
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
            parts += [f"## `[{name}]`", NOTES[name], table(section, schema)]
    for concept, entries in phit.catalogue().items():
        parts.append(f"## {TITLES.get(concept, concept)}")
        parts.append(f"In a scenario: `{PLACES[concept]}`." if concept in PLACES else "")
        parts.append(NOTES.get(concept, ""))
        for entry in entries:
            own = entry["schema"]
            parts += [f"### {concept}: `{entry['kind']}`", entry["description"].strip(), table(own, own) or "No keys."]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def table(schema: Schema, root: Schema) -> str:
    """A table of the keys of a schema, those of tables within it too; nothing if there are none."""
    rows = [f"| `{key.path}` | {default(key)} | {meaning(key)} |" for key in keys(schema, root)]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows]) if rows else ""


def meaning(key: Key) -> str:
    """The description of a key, with the names that it may take and what each of them means."""
    return cell(key.meaning + "".join(f'<br>`"{name}"`: {text}' for name, text in key.names))


def default(key: Key) -> str:
    """The default of a key."""
    return f"`{cell(key.default)}`" if key.has_default else key.default


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
