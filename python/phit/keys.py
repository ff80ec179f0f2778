"""The keys of a part of a scenario, as its JSON Schema describes them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

REQUIRED, NONE = "required", "none"
"""What stands in place of a default."""


UNITS = {
    "cycles": "cycles",
    "phits": "phits",
    "phits/cycle": "phits/cycle",
    "bytes": "bytes",
    "load": "phits/(endpoint·cycle)",
}
"""What keys count, by `x-unit` of the schema; each takes a quantity with a unit as well, as "200 ns"."""


@dataclass(frozen=True)
class Key:
    """One key."""

    path: str
    """With the tables that it is in: `CLASS` stands for any name, `[]` for an element of a list."""
    default: str
    """As it stands in a scenario, or `REQUIRED`, or `NONE`."""
    unit: str
    """What its number counts; empty if it has none, or takes something else."""
    meaning: str
    names: tuple[tuple[str, str], ...]
    """The names that it may take, each with what it means; none if it takes something else."""

    @property
    def has_default(self) -> bool:
        """Whether a value stands in a scenario that leaves it out."""
        return self.default not in (REQUIRED, NONE)


def keys(schema: Schema, root: Schema | None = None, prefix: str = "") -> Iterator[Key]:
    """All keys of a schema but `kind`, those of the tables within it too; references are looked up in `root`."""
    root = schema if root is None else root
    for key, value in schema.get("properties", {}).items():
        if key == "kind" or not isinstance(value, dict):
            continue
        found = resolved(value, root)
        default, meaning = _default(key, found, schema), _line(found.get("description", ""))
        yield Key(prefix + key, default, UNITS.get(found.get("x-unit", ""), ""), meaning, _names(found))
        inner, name = found, f"{prefix}{key}."
        if isinstance(found.get("additionalProperties"), dict):
            inner, name = resolved(found["additionalProperties"], root), f"{prefix}{key}.CLASS."
        elif isinstance(found.get("items"), dict):
            inner, name = resolved(found["items"], root), f"{prefix}{key}[]."
        yield from keys(inner, root, name)


def resolved(schema: Schema, root: Schema) -> Schema:
    """The schema that a reference points to."""
    reference = schema.get("$ref", "")
    if not reference.startswith("#/"):
        return schema
    found: Any = root
    for step in reference[2:].split("/"):
        found = found[step]
    return {**found, **{k: v for k, v in schema.items() if k != "$ref"}}


def _names(schema: Schema) -> tuple[tuple[str, str], ...]:
    named = [option for option in schema.get("oneOf", []) if isinstance(option.get("const"), str)]
    return tuple((option["const"], _line(option.get("description", ""))) for option in named)


def _default(key: str, schema: Schema, table: Schema) -> str:
    if key in table.get("required", []):
        return REQUIRED
    value = schema.get("default")
    return NONE if value in (None, [], {}) else _toml(value)


def _toml(value: Any) -> str:
    """A value as it stands in a scenario."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    text: str = json.dumps(value, ensure_ascii=False)
    return text


def _line(text: str) -> str:
    return " ".join(text.split())
