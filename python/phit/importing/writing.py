"""Writes an imported scenario as TOML with comments."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from phit.base.text import plain
from phit.document import Document
from phit.importing.settings import Status

SECTIONS = {"router.links", "traffic.pattern", "traffic.requests", "sweep.product"}
"""Nested tables that have a heading of their own, as do tables within them."""

ORDER = ("seed", "topology", "planes", "router", "routing", "queueing", "congestion", "traffic", "measure", "sweep")
"""Order of the sections."""

WIDTH = 100
"""A list with longer text is written in several lines."""

HEADINGS = {
    Status.IGNORED: "Without effect in the simulator itself",
    Status.DROPPED: "Left out",
    Status.STALE: "Left out, as the simulator no longer knows them",
}


def commented(
    simulator: str,
    files: Sequence[Path],
    document: Document,
    comments: Mapping[str, str],
    notes: Sequence[tuple[Status, str]],
) -> str:
    """An imported document as TOML. Each line names the setting it comes from; settings left out are listed first."""
    names = ", ".join(plain(path.name) for path in files)
    lines = [f"# From {names}, by `phit import {simulator}`"]
    for status, heading in HEADINGS.items():
        texts = [plain(text) for found, text in notes if found is status]
        if texts:
            lines += [f"# {heading}:", *(f"#   {text}" for text in texts)]
    ordered = {key: document[key] for key in ORDER if key in document} | document
    lines += _table(ordered, "", comments)
    return "\n".join(lines) + "\n"


def _table(table: Mapping[str, Any], path: str, comments: Mapping[str, str]) -> Iterator[str]:
    """The lines of a table: its values, then its inner tables, each with a heading."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping) and _heads(_join(path, key))}
    for key, value in table.items():
        if key not in inner:
            here = _join(path, key)
            comment = "; ".join(text for at, text in comments.items() if at == here or at.startswith(f"{here}."))
            yield f"{_key(key)} = {_value(value)}" + (f"  # {plain(comment)}" if comment else "")
    for key, value in inner.items():
        here = _join(path, key)
        if any(not isinstance(v, Mapping) or not _heads(_join(here, k)) for k, v in value.items()) or not value:
            comment = comments.get(here, "")
            yield ""
            yield f"[{_dotted(here)}]" + (f"  # {plain(comment)}" if comment else "")
        yield from _table(value, here, comments)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _heads(path: str) -> bool:
    """Whether the table at `path` has a heading."""
    return "." not in path or path in SECTIONS or path.rpartition(".")[0] == "router.links"


def _dotted(path: str) -> str:
    return ".".join(_key(part) for part in path.split("."))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(k)} = {_value(v)}' for k, v in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        text = f"[{', '.join(map(_value, value))}]"
        if len(text) <= WIDTH or not value:
            return text
        rows, row = [], ""
        for each in map(_value, value):
            if row and len(row) + len(each) > WIDTH:
                rows.append(row)
                row = ""
            row += f"{each}, "
        return "[\n" + "".join(f"  {each.rstrip()}\n" for each in [*rows, row]) + "]"
    # JSON writes strings, numbers and booleans as TOML does, except characters for which TOML has no escape.
    return json.dumps(value)
