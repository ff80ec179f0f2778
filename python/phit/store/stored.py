"""The JSON files of a results folder: their schema, and the check that they are unchanged.

A folder may come from anywhere. Its manifest and points are read only here. The values that are returned have the
declared types, valid names, and no hidden characters.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phit.base.errors import InputError, ResultsError
from phit.base.files import read_bytes, write_atomically
from phit.base.text import HIDDEN, quoted
from phit.document import Document
from phit.document.identity import canonical
from phit.document.limits import check_values
from phit.document.sections import keys_of
from phit.store.quantities import QUANTITIES, TABLES, Cell

FORMAT = 2
"""Format of a results folder. Since format 2, rows of the table of probes are typed."""

MANIFEST = "manifest.json"
POINTS = "points"
TABLE_FILES = {name: f"{'histograms' if name == 'histogram' else name}.parquet" for name in TABLES}
"""File of each table, in which the tables of all points are stacked."""

_HASH = {"type": "string", "pattern": r"^[0-9a-f]{32}\Z", "description": "32 hexadecimal digits"}
_TABLE = {"type": "object", "description": "a table"}
_KIND = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string", "description": "a name"}},
    "description": "a table with `kind`",
}
_SCENARIO = {
    "type": "object",
    "description": "a scenario",
    "properties": {
        "topology": _KIND,
        "routing": _KIND,
        "traffic": {"type": "object", "properties": {"pattern": {"anyOf": [{"not": {"type": "object"}}, _KIND]}}},
    },
}
_VALUES = {"type": "object", "description": "a table of the swept keys"}
_PLOT = {
    "type": "object",
    "description": "the table [plot]",
    "properties": {
        name: {"type": ["string", "number", "boolean"], "description": "a text"} for name in keys_of("plot")
    },
}

_POINT_ENTRY = {
    "type": "object",
    "description": "a table with hash, values and state",
    "required": ["hash", "values", "state"],
    "properties": {
        "hash": _HASH,
        "values": _VALUES,
        "state": {"enum": ["planned", "partial", "done"], "description": '"planned", "partial" or "done"'},
    },
}
_STRETCH = {
    "type": "object",
    "description": "a table with points, wall_seconds and processes",
    "required": ["points", "wall_seconds", "processes"],
    "properties": {
        "points": {"type": "integer", "minimum": 0, "description": "a number of points"},
        "wall_seconds": {"type": "number", "minimum": 0, "description": "a number of seconds"},
        "processes": {"type": ["integer", "null"], "minimum": 0, "description": "a number of processes, or null"},
    },
}
MANIFEST_SCHEMA: Document = {
    "type": "object",
    "description": "a table",
    "required": ["format", "points"],
    "properties": {
        "phit": {"type": "string", "description": "a version"},
        "engine": {"type": "string", "description": "a version"},
        "name": {"type": "string", "description": "a name"},
        "scenario": _TABLE,
        "sweep": _TABLE,
        "plot": _PLOT,
        "points": {"type": "array", "items": _POINT_ENTRY, "description": "a list of points"},
        "stretches": {"type": "array", "items": _STRETCH, "description": "a list of stretches of time"},
    },
}
"""Schema of a manifest in the current format."""

_OF_SHAPE: dict[str, Document] = {
    "number": {"type": ["number", "null"], "description": "a number or null"},
    "whole": {"type": ["integer", "null"], "description": "a whole number or null"},
    "flag": {"type": ["boolean", "null"], "description": "true, false or null"},
    "text": {"type": ["string", "null"], "description": "a text or null"},
}
POINT_SCHEMA: Document = {
    "type": "object",
    "description": "a table",
    "required": ["hash", "values", "summary", "tables"],
    "properties": {
        "hash": _HASH,
        "values": _VALUES,
        "digest": {"type": "string", "description": "a digest"},
        "summary": {
            "type": "object",
            "description": "a summary",
            "required": ["scenario"],
            "properties": {q.name: _OF_SHAPE[q.shape] for q in QUANTITIES.values() if q.scalar}
            | {"scenario": _SCENARIO},
        },
        "tables": {
            "type": "object",
            "description": "tables of results",
            # In small letters, and different from the table of points, because file names follow from these names.
            "propertyNames": {
                # `$` would also match before a line break.
                "pattern": r"^(?!(points|histograms)\Z)[a-z][a-z_]{0,30}\Z",
                "description": "the name of a table",
            },
            "additionalProperties": {
                "type": "object",
                "description": "a table of columns",
                "additionalProperties": {"type": "array", "description": "a column"},
            },
        },
    },
}
"""Schema of a point, except the cells of its tables."""

_CELLS: dict[Cell, tuple[frozenset[type], str]] = {
    "number": (frozenset({int, float, type(None)}), "numbers"),
    "whole": (frozenset({int, type(None)}), "whole numbers"),
    "flag": (frozenset({bool, type(None)}), "true or false"),
    "text": (frozenset({str, type(None)}), "texts"),
    "wholes": (frozenset({list, type(None)}), "lists of whole numbers"),
    "texts": (frozenset({list, type(None)}), "lists of texts"),
}


def manifest_text(manifest: Document) -> str:
    """A manifest as JSON: a line for each of its keys, points and stretches."""
    return _lined(manifest, " ")


def write_manifest(path: Path, manifest: Document) -> None:
    """Writes a manifest, atomically."""
    _write(path, manifest_text(manifest), synced=True)


def _lined(value: Any, indent: str = "") -> str:
    """JSON with a line for each key or element, and for each element of a list of tables inside."""
    if indent and isinstance(value, dict):
        lines = [f"{indent}{json.dumps(key, ensure_ascii=False)}: {_lined(inner)}" for key, inner in value.items()]
        return "{\n" + ",\n".join(lines) + "\n}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {json.dumps(inner, ensure_ascii=False)}" for inner in value) + "\n ]"
    return json.dumps(value, ensure_ascii=False)


def _write(path: Path, text: str, *, synced: bool) -> None:
    write_atomically(path, lambda file: file.write(text.encode()), synced=synced)


def digest(content: Mapping[str, Any]) -> str:
    """The digest of all content of a point, except the digest itself."""
    bare = {key: value for key, value in content.items() if key != "digest"}
    return f"sha256:{hashlib.sha256(canonical(bare).encode()).hexdigest()}"


def write_point(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a point with its digest, atomically."""
    _write(path, json.dumps({**content, "digest": digest(content)}, ensure_ascii=False), synced=True)


SYNCED_SECONDS = 0.5
"""Seconds after the last synced write from which the next point is synced as well."""


class Keeper:
    """Writes points into a folder as they finish. It can be sent to other processes that run points."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._synced = time.monotonic()

    def __reduce__(self) -> "tuple[type[Keeper], tuple[Path]]":
        return Keeper, (self.folder,)

    def path(self, hash_: str) -> Path:
        """The file of a point."""
        return self.folder / f"{hash_}.json"

    def keep(self, hash_: str, values: Mapping[str, Any], answer: Mapping[str, Any], text: str | None = None) -> None:
        """Writes the point of a run with this answer. `text` is the answer's JSON, if available."""
        # Not every short point is synced, so the machine's failure may lose some; a lost or damaged point is run again.
        now = time.monotonic()
        synced = now - self._synced > SYNCED_SECONDS
        point = {"hash": hash_, "values": values}
        text = json.dumps(answer, ensure_ascii=False) if text is None else text
        head = json.dumps({**point, "digest": digest({**point, **answer})}, ensure_ascii=False)
        _write(self.path(hash_), f"{head[:-1]}, {text[1:]}", synced=synced)
        self._synced = now if synced else self._synced


def read_point(path: Path) -> Document:
    """A point from an unchanged file. Files of older versions have no `digest`.

    Raises:
        FileNotFoundError: there is no such file.
        ResultsError: the content is invalid; the message names the key, its value, and what was expected.
    """
    point: Document = _parse(path)
    _check_contents(point)
    _check(point, POINT_SCHEMA)
    if point["hash"] != path.stem:
        raise ResultsError(f"hash = {quoted(point['hash'])}: expected the hash in the file's name")
    if "digest" in point and point["digest"] != digest(point):
        raise ResultsError("its digest does not match: the file has changed since it was written")
    for name, columns in point["tables"].items():
        _check_columns(name, columns)
    return point


def read_manifest_file(path: Path) -> Document:
    """The manifest in a file of any format, checked as far as the format is known.

    Raises:
        FileNotFoundError: there is no such file.
        ResultsError: see `read_point`.
    """
    manifest = _parse(path)
    _check_contents(manifest)
    if not isinstance(manifest, dict):
        raise ResultsError(f"it is {quoted(manifest)}: expected a table")
    if "format" not in manifest:
        raise ResultsError("format: this key is missing")
    number = manifest["format"]
    if isinstance(number, bool) or not isinstance(number, int):
        raise ResultsError(f"format = {quoted(number)}: expected a whole number")
    if number == FORMAT:
        _check(manifest, MANIFEST_SCHEMA)
    return manifest


def _parse(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path), parse_constant=_no_number)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ResultsError(f"cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ResultsError("too many levels of tables and lists") from None
    except ValueError as error:
        raise ResultsError(str(error)) from None


def _check_contents(value: Any) -> None:
    try:
        check_values(value, 2**64)
    except InputError as error:
        raise ResultsError(str(error)) from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name}: expected a finite number")


def _check(value: Any, schema: Document) -> None:
    # This library takes longer to import than most commands take.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        raise ResultsError(f"{path}{'.' if path else ''}{missing}: this key is missing")
    expected = error.schema.get("description", error.message)
    raise ResultsError(f"{path or 'it'} {'=' if path else 'is'} {quoted(error.instance)}: expected {expected}")


def _check_columns(table: str, columns: Mapping[str, list[Any]]) -> None:
    """Refuses a table whose columns have unequal lengths, or cells of undeclared types."""
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{quoted(name)} has {length}" for name, length in list(lengths.items())[:4])
        raise ResultsError(f"tables.{table}: expected columns of one length; {listed}")
    declared = {c.name: c.cell for c in TABLES[table].columns} if table in TABLES else {}
    for name, cells in columns.items():
        found = set(map(type, cells))
        cell = declared.get(name)
        types, words = _CELLS[cell] if cell else (frozenset(t for kinds, _ in _CELLS.values() for t in kinds), "cells")
        if wrong := found - types:
            value = next(value for value in cells if type(value) in wrong)
            raise ResultsError(f"tables.{table}.{name}: there is {quoted(value)}; expected {words}")
        if not cell and len(found - {type(None)}) > 1 and found - {int, float, type(None)}:
            raise ResultsError(f"tables.{table}.{name}: expected cells of one kind")
        for value in cells if list in found else ():
            if value is not None and set(map(type, value)) - {int}:
                raise ResultsError(f"tables.{table}.{name}: there is {quoted(value)}; expected lists of whole numbers")
        if HIDDEN.search(name):
            raise ResultsError(f"tables.{table}.{quoted(name)}: expected the name of a column")
