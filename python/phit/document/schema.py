"""The JSON Schema of whole documents and of single kinds."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import phit._phit as _phit
from phit import mechanisms
from phit.document.sections import REFERENCE, SECTIONS, Schema
from phit.reading import fabrics
from phit.reading.fabrics import INFINIBAND
from phit.reading.trace_options import OPTIONS


@cache
def _engine() -> Schema:
    """The engine's schema, made on first use: it takes longer than many commands."""
    made: Schema = json.loads(_phit.schema())
    return made


def _path() -> str:
    """A pattern for dotted paths, which start with a section."""
    return rf"^({'|'.join(_engine()['properties'])})(\.|$)"


def begins_with_section(path: str) -> bool:
    """True for a dotted path that starts with a section of a scenario."""
    return re.match(_path(), path) is not None


NUMBER_OR_QUANTITY: list[Schema] = [
    {"type": "number"},
    *({"$ref": f"#/$defs/{kind}"} for kind in ("time", "size", "rate")),
]


def _definitions() -> Schema:
    return {
        "sweep_range": {
            "description": "Numbers from `start` to `stop`, in steps of `step`, or `count` of them.",
            "type": "object",
            "properties": {name: {"anyOf": NUMBER_OR_QUANTITY} for name in ("start", "stop", "step")}
            | {"count": {"type": "integer", "minimum": 1}},
            "additionalProperties": False,
            "oneOf": [{"required": ["start", "stop", "step"]}, {"required": ["start", "stop", "count"]}],
        },
        "sweep_values": {"anyOf": [{"type": "array"}, {"$ref": "#/$defs/sweep_range"}]},
        "sweep_table": {
            "type": "object",
            "additionalProperties": {"anyOf": [{"$ref": "#/$defs/sweep_values"}, {"$ref": "#/$defs/sweep_table"}]},
        },
        "sweep_keys": {"$ref": "#/$defs/sweep_table", "propertyNames": {"pattern": _path()}},
        "sweep_curve": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Name of the curve in plots."}},
            "propertyNames": {"pattern": rf"{_path()}|^name$"},
        },
        "trace_file": {
            "description": "The file of a trace, and the units of its numbers.",
            "type": "object",
            "required": ["file"],
            "additionalProperties": False,
            "properties": {
                "file": {"type": "string", "description": "CSV or Parquet file, found from the scenario's folder."}
            }
            | {name: option.schema for name, option in OPTIONS.items()},
        },
    }


def described() -> Schema:
    """The schema of all sections of a complete scenario; references point to its `$defs`."""
    document: Schema = copy.deepcopy(_engine())
    document["$defs"] |= _definitions()
    document["properties"] |= SECTIONS
    _add_files(document["properties"], document["$defs"])
    return document


_KINDS_OF = {
    "topology": ("properties", "topology"),
    "routing": ("properties", "routing"),
    "queueing": ("properties", "queueing"),
    "congestion": ("properties", "congestion"),
    "pattern": ("$defs", "traffic_pattern"),
    "process": ("$defs", "injection_process"),
    "packet_size": ("$defs", "packet_size"),
    "allocator": ("$defs", "allocator"),
    "probe": ("$defs", "probe"),
    "workload": ("$defs", "workload"),
    "placement": ("$defs", "placement"),
}
"""Places of the document that describe the kinds of a concept. All kinds of routers share one table."""


def of_kind(concept: str, kind: str, own: Schema) -> Schema:
    """The schema of a kind as part of the whole document, with units; references point to `described()`.

    `own` is the engine's schema of this kind alone.
    """
    document = described()
    if concept in _KINDS_OF:
        part, name = _KINDS_OF[concept]
        return _kind(document[part][name], kind)
    shared = document["properties"][concept]["properties"]
    return {**own, "properties": {key: shared.get(key, value) for key, value in own["properties"].items()}}


@cache
def _made() -> str:
    scenario = copy.deepcopy(_engine())
    properties, definitions = scenario["properties"], scenario["$defs"]
    _add_files(properties, definitions)
    needed = {word: scenario.pop(word) for word in ("required", "anyOf")}
    complete = needed | {"properties": properties | {"traffic": _with_load(properties)}}
    document = scenario | {
        "title": "Phit scenario or experiment",
        "properties": {
            REFERENCE: {"type": "string", "description": "This schema, for editors; a run ignores it."},
            **_without_required(properties),
            **SECTIONS,
        },
        # A sweep may supply keys that the scenario lacks.
        "if": {"not": {"required": ["sweep"]}},
        "then": {"$ref": "#/$defs/complete"},
        "$defs": {
            **_without_required(definitions),
            **_definitions(),
            "complete": _only_checks(complete),
            **{f"complete_{name}": _only_checks(schema) for name, schema in (definitions | _definitions()).items()},
        },
    }
    return json.dumps(document)


def schema() -> Schema:
    """The JSON Schema (draft 2020-12) of a scenario or experiment document."""
    found: Schema = json.loads(_made())
    return found


def takes_lists(path: str) -> bool:
    """Whether a list may stand at a dotted path of a document; true for a path that the schema does not know."""
    root = schema()
    here = [root]
    for step in re.findall(r"[^.\[\]]+", path):
        found = []
        for table in _open(here, root):
            inner = table.get("properties", {}).get(step, table.get("additionalProperties"))
            found += [table["items"]] if step.isdecimal() and "items" in table else []
            found += [inner] if isinstance(inner, dict) else []
        here = found
    kinds = [kind.get("type", "array") for kind in _open(here, root) if kind.keys() & {"type", "const", "enum"}]
    return not kinds or any("array" in kind for kind in kinds)


def _open(schemas: list[Schema], root: Schema) -> Iterator[Schema]:
    """These schemas, their alternatives, and all schemas that they refer to."""
    for part in schemas:
        yield part
        named = part.get("$ref")
        inner = [_definition(named, root)] if named is not None else []
        yield from _open([*inner, *(one for word in ("oneOf", "anyOf", "allOf") for one in part.get(word, ()))], root)


def _definition(reference: str, root: Schema) -> Schema:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return cast("Schema", found)


def _add_files(properties: Schema, definitions: Schema) -> None:
    """Adds the keys for files: `topology.file`, `routing.file`, `traffic.trace` and files of Python functions."""
    graph = _kind(properties["topology"], "graph")
    said = [key for key in graph["required"] if key != "kind"]
    graph |= {"required": ["kind"], "anyOf": [{"required": ["file"]}, {"required": said}]}
    graph["properties"]["file"] = {
        "type": "string",
        "description": "File of the network, found from the scenario's folder. It takes the place of `routers`, "
        "`links` and `classes`. Formats: an edge list (`.csv` with the columns source and target, and if needed class, "
        "latency, bandwidth, buffer and parallel), GraphML (`.graphml`), GML (`.gml`), DOT (`.dot`, `.gv`), node-link "
        "JSON or InfraGraph (`.json`, InfraGraph also `.yaml`), or an adjacency list (`.adjlist`).",
    }
    for section, (keys, required) in _files_kinds().items():
        properties[section]["oneOf"].append(_own_kind(section, {"kind": {"const": INFINIBAND}} | keys))
        if not required:
            names = next(kind["enum"] for kind in properties[section]["oneOf"] if "enum" in kind)
            names.append(INFINIBAND)
    table = _kind(properties["routing"], "table")
    layers = table["properties"]["layers"]
    rows = {word: layers.pop(word) for word in list(layers) if word not in ("description", "default")}
    layers["anyOf"] = [rows, {"type": "string"}]
    table["properties"]["file"] = {
        "type": "string",
        "description": "CSV file with the columns router, destination and port, found from the scenario's folder. It "
        "takes the place of `entries`.",
    }
    for name in ("up_down", "ftree"):
        # A path of a file of GUIDs may replace the list.
        roots = _kind(properties["routing"], name)["properties"]["roots"]
        listed = {word: roots.pop(word) for word in list(roots) if word not in ("description", "default")}
        roots["anyOf"] = [listed, {"type": "string"}]
    # A path of a CSV file may replace the shares of experts, and the requests of inference.
    files = {"training": "expert_shares", "inference": "trace"}
    for section in (*properties.values(), *definitions.values()):
        for kind in section.get("oneOf", ()):
            key = files.get(kind.get("properties", {}).get("kind", {}).get("const"))
            if key is not None:
                given = kind["properties"][key]
                listed = {word: given.pop(word) for word in list(given) if word not in ("description", "default")}
                given["anyOf"] = [listed, {"type": "string"}]
    for section in (*properties.values(), *definitions.values()):
        _add_python_files(section)
    trace = properties["traffic"]["properties"]["trace"]
    messages = {word: trace.pop(word) for word in list(trace) if word not in ("description", "default")}
    trace["anyOf"] = [messages, {"type": "string"}, {"$ref": "#/$defs/trace_file"}]


def _add_python_files(section: Schema) -> None:
    """Adds the key `file` to the kinds of a concept that take a Python function."""
    for kind in section.get("oneOf", ()):
        if kind.get("properties", {}).get("kind", {}).get("const") in mechanisms.KINDS:
            add_python_file(kind)


def add_python_file(schema: Schema) -> None:
    """Adds the key `file` of a Python function to the keys of a kind."""
    schema["properties"]["file"] = {
        "type": "string",
        "description": "Python file of the function, found from the scenario's folder. It takes the place of `source`.",
    }


def _files_kinds() -> dict[str, tuple[Schema, list[str]]]:
    """By section, the keys and required keys of the `infiniband` kind, which the engine receives as another kind."""
    return {"topology": (fabrics.KEYS, ["file"]), "routing": ({"lid": fabrics.LID}, [])}


def _own_kind(section: str, properties: Schema) -> Schema:
    required = [*(["kind"] if "kind" in properties else []), *_files_kinds()[section][1]]
    schema: Schema = {
        "description": fabrics.DESCRIPTIONS[section],
        "type": "object",
        "properties": copy.deepcopy(properties),
        "additionalProperties": False,
    }
    return schema | ({"required": required} if required else {})


def own_kinds() -> dict[str, dict[str, Any]]:
    """The kinds that the package itself adds, in the form of `phit.catalogue`: `kind`, `description` and `schema`."""
    [graph] = [one for one in json.loads(_phit.catalogue())["topology"] if one["kind"] == "graph"]
    definitions = {name: graph["schema"]["$defs"][name] for name in FAULTS}
    return {
        section: {
            "kind": INFINIBAND,
            "description": fabrics.DESCRIPTIONS[section],
            "schema": _own_kind(section, keys) | ({"$defs": definitions} if section == "topology" else {}),
        }
        for section, (keys, _) in _files_kinds().items()
    }


FAULTS = ("Faults", "Named", "Retransmit", "Later")
"""Definitions of the tables of faults."""


def _kind(section: Schema, name: str) -> Schema:
    """The schema of one kind of a section."""
    kinds: list[Schema] = section["oneOf"]
    [found] = [kind for kind in kinds if kind.get("properties", {}).get("kind", {}).get("const") == name]
    return found


def _with_load(properties: Schema) -> Schema:
    """The traffic of a complete scenario: it has a load, a trace, or a limit of outstanding requests."""
    traffic: Schema = properties["traffic"]
    required = [key for key in traffic["required"] if key != "load"]
    limited = {"properties": {"requests": {"required": ["outstanding"]}}, "required": ["requests"]}
    return traffic | {"required": required, "anyOf": [{"required": ["load"]}, {"required": ["trace"]}, limited]}


def _without_required(part: Any) -> Any:
    """A schema without required keys, except `kind`, which tells alternatives apart."""
    if isinstance(part, list):
        return [_without_required(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    found = {word: _without_required(inner) for word, inner in part.items() if word != "required"}
    if "kind" in part.get("required", []):
        found["required"] = ["kind"]
    return found


def _only_checks(part: Any, named: bool = False) -> Any:
    """A schema without descriptions, whose references point to other such schemas.

    `named`: the words are names of keys.
    """
    if isinstance(part, list):
        return [_only_checks(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    found = {}
    for word, inner in part.items():
        if not named and word == "$ref":
            found[word] = inner.replace("#/$defs/", "#/$defs/complete_")
        elif named or word not in ("description", "default", "title", "x-unit"):
            found[word] = _only_checks(inner, named=not named and word in ("properties", "$defs"))
    return found
