"""Shell completion: keys and values of `--set`, kinds and studies."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from phit.base.text import first_sentence

PLACES = {
    "topology": "topology",
    "router": "router",
    "routing": "routing",
    "queueing": "queueing",
    "congestion": "congestion",
    "allocator": "router.allocator",
    "pattern": "traffic.pattern",
    "process": "traffic.process",
    "packet_size": "traffic.packet_size",
    "workload": "workload",
}
"""Section of a scenario for the kinds of each concept."""

Found = list[tuple[str, str]]
"""Completions with their meanings."""


def settings(context: typer.Context, incomplete: str) -> Found:
    """Keys of a scenario, or, after `KEY=`, the names that the key takes."""
    document = _document(context.params.get("file"))
    key, equals, _ = incomplete.partition("=")
    if equals:
        values = ((f"{key}={name}", meaning) for name, meaning in _names(key))
        return [(text, meaning) for text, meaning in values if text.startswith(incomplete)]
    return [(f"{path}=", meaning) for path, meaning in _keys(document) if path.startswith(key)]


def concepts(incomplete: str) -> list[str]:
    """The arguments of `phit list`."""
    import phit
    from phit.cli import listing
    from phit.document.schema import described
    from phit.document.sections import SECTIONS

    names = dict.fromkeys([*phit.catalogue(), *described()["properties"], *SECTIONS, *listing.LISTS])
    return [name for name in names if name.startswith(incomplete)]


def kinds(context: typer.Context, incomplete: str) -> Found:
    """The kinds of the concept in the command `phit list`."""
    import phit

    entries = phit.catalogue().get(str(context.params.get("name")), [])
    return [(e["kind"], first_sentence(e["description"])) for e in entries if e["kind"].startswith(incomplete)]


def studies(incomplete: str) -> list[str]:
    """The studies that can be reproduced."""
    from phit.studies import registry

    return [name for name in registry.names() if name.startswith(incomplete)]


def executors(incomplete: str) -> list[str]:
    """The values of `--executor`."""
    from phit.running.where import DASK, LOCAL, SLURM

    return [name for name in (LOCAL, SLURM, DASK) if name.startswith(incomplete)]


def _document(file: Any) -> Mapping[str, Any]:
    """The document that the command names, as far as it can be read: completion never fails."""
    from phit.base.errors import PhitError
    from phit.document.loading import load

    try:
        return load(Path(file)) if file is not None else {}
    except (PhitError, OSError):
        return {}


def _keys(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All keys. Keys of kinds and of link classes are those that the document uses."""
    import phit
    from phit.document.keys import keys, resolved
    from phit.document.paths import get_path
    from phit.document.schema import described

    schema = described()
    links = get_path(document, "router.links", {})
    classes = list(links) if isinstance(links, Mapping) else []
    found: dict[str, str] = {}
    for section, value in schema["properties"].items():
        inside = resolved(value, schema)
        if "properties" not in inside:
            found[section] = inside.get("description", "")
        for key in keys(inside, schema, f"{section}."):
            found[key.path] = key.meaning
    for concept, entries in phit.catalogue().items():
        if concept not in PLACES:
            continue
        place = PLACES[concept]
        own = get_path(document, place, None)
        kind = own.get("kind") if isinstance(own, Mapping) else own
        found[f"{place}.kind"] = f"Kind of the {concept}."
        for entry in entries:
            if kind is None or entry["kind"] == kind:
                found |= {key.path: key.meaning for key in keys(entry["schema"], None, f"{place}.")}
    for path, meaning in found.items():
        for name in classes if ".CLASS." in path else [""]:
            if "[]" not in path:
                yield path.replace(".CLASS.", f".{name}."), first_sentence(meaning)


def _names(key: str) -> Iterator[tuple[str, str]]:
    """The names that a key takes."""
    import phit
    from phit.document.keys import keys, resolved
    from phit.document.schema import described

    for concept, entries in phit.catalogue().items():
        place = PLACES.get(concept)
        if place is not None and key in (place, f"{place}.kind"):
            yield from ((entry["kind"], first_sentence(entry["description"])) for entry in entries)
    section = key.partition(".")[0]
    schema = described()
    inside = resolved(schema["properties"].get(section, {}), schema)
    for one in keys(inside, schema, f"{section}."):
        if one.path == key or (".CLASS." in one.path and _matches(one.path, key)):
            yield from ((name, first_sentence(meaning)) for name, meaning in one.names)


def _matches(path: str, key: str) -> bool:
    return len(path.split(".")) == len(key.split(".")) and all(
        a in ("CLASS", b) for a, b in zip(path.split("."), key.split("."), strict=True)
    )
