"""The keys of a section of a scenario, as its JSON Schema describes them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

REQUIRED, NONE = "required", "none"
"""Words for a key without a default: it is required, or stays unset."""


UNITS = {
    "cycles": "cycles",
    "router cycles": "router cycles",
    "units of time": "units of time",
    "nanoseconds": "ns",
    "bits": "bits",
    "bytes/nanosecond": "bytes/ns",
    "phits": "phits",
    "phits/cycle": "phits/cycle",
    "bytes": "bytes",
    "load": "phits/(endpoint·cycle)",
}
"""Units of keys, by the schema's `x-unit`. Each key also takes a quantity with a unit, such as "200 ns"."""

WORDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}
"""Names of types of values, by the schema's type."""

NUMBERS = frozenset({"integer", "number"})

QUANTITIES = {"time": 'a time ("200 ns")', "size": 'a size ("512 B")', "rate": 'a rate ("20 Gb/s")'}
"""Names of quantities with a unit, by their definition in the schema."""

TABLE_WORDS = frozenset({"properties", "additionalProperties", "propertyNames"})
"""Words that only schemas of tables have."""

ELSEWHERE = frozenset({"TrafficParams"})
"""Definitions of tables whose keys are listed with a section."""


@dataclass(frozen=True)
class Key:
    """One key of a scenario."""

    path: str
    """Path with the tables around the key. `CLASS` stands for any name, `[]` for an element of a list."""
    default: str
    """The default as a scenario writes it, or `REQUIRED`, or `NONE`."""
    unit: str
    """Unit of a number; empty if it has no unit or the key takes no number."""
    type: str
    """The values that it takes, in words, with unit and bounds: `whole number of cycles, 1 to 8; or a time`."""
    meaning: str
    names: tuple[tuple[str, str], ...]
    """The names that it may take, each with its meaning; empty if it takes other values."""

    @property
    def has_default(self) -> bool:
        """Whether the completed scenario has a value for this key if it is left out."""
        return self.default not in (REQUIRED, NONE)


def keys(schema: Schema, root: Schema | None = None, prefix: str = "") -> Iterator[Key]:
    """All keys of a schema except `kind`, with those of inner tables. References are looked up in `root`."""
    root = schema if root is None else root
    for key, value in schema.get("properties", {}).items():
        if key == "kind" or not isinstance(value, dict):
            continue
        found = resolved(value, root)
        default, meaning = _default(key, found, schema), _line(found.get("description", ""))
        unit = UNITS.get(found.get("x-unit", ""), "")
        yield Key(prefix + key, default, unit, _type(value, root, unit), meaning, _names(found, root))
        for inner, name in _tables(value, root):
            yield from keys(inner, root, f"{prefix}{key}{name}")


def _tables(schema: Schema, root: Schema) -> Iterator[tuple[Schema, str]]:
    """The tables that a value may be or hold, each with the text between its path and the paths of its keys."""
    for option in _alternatives(schema, root):
        if "properties" in option:
            yield option, "."
        elif isinstance(option.get("additionalProperties"), dict):
            yield resolved(option["additionalProperties"], root), ".CLASS."
        elif isinstance(option.get("items"), dict):
            for inner, name in _tables(option["items"], root):
                yield inner, f"[]{name}"


def _alternatives(schema: Schema, root: Schema) -> Iterator[Schema]:
    """The alternatives of a value, with references resolved. Null and tables that are listed elsewhere are left out."""
    if schema.get("$ref", "").rpartition("/")[2] in ELSEWHERE or schema.get("type") == "null":
        return
    found = resolved(schema, root)
    if isinstance(found.get("anyOf"), list) and "properties" not in found:
        for option in found["anyOf"]:
            yield from _alternatives(option, root)
    else:
        yield found


def _type(schema: Schema, root: Schema, unit: str = "") -> str:
    """The values that a schema allows, in words. Numbers are in `unit`."""
    return "; or ".join(dict.fromkeys(_types(schema, root, unit)))


def _types(schema: Schema, root: Schema, unit: str) -> Iterator[str]:
    definition = schema.get("$ref", "").rpartition("/")[2]
    if definition in QUANTITIES:
        yield QUANTITIES[definition]
        return
    found = resolved(schema, root)
    if isinstance(found.get("anyOf"), list) and "properties" not in found:
        for option in found["anyOf"]:
            yield from _types(option, root, unit)
    elif "const" in found or "enum" in found:
        yield from (f"`{_toml(value)}`" for value in found.get("enum", [found.get("const")]) if value is not None)
    elif any(isinstance(option.get("const"), str) for option in found.get("oneOf", [])):
        yield "one of the names"
    elif "oneOf" in found and "properties" not in found:
        yield "table with a `kind`"
    else:
        named = found.get("type", "object" if TABLE_WORDS & found.keys() else [])
        for name in [named] if isinstance(named, str) else named:
            if name == "array":
                of = _type(found["items"], root) if isinstance(found.get("items"), dict) else ""
                yield f"list of {of}" if of else "list"
            elif name == "object":
                yield "table"
            elif name != "null":
                yield WORDS[name] + (f" of {unit}" if unit and name in NUMBERS else "") + _bounds(found)


def _bounds(schema: Schema) -> str:
    """The bounds of a number in words; empty if it has none."""
    low, high, above = (schema.get(name) for name in ("minimum", "maximum", "exclusiveMinimum"))
    if above is not None:
        return f", more than {above:g}" + (f", at most {_number(high)}" if high is not None else "")
    if low is not None and high is not None:
        return f", {_number(low)} to {_number(high)}"
    if low is not None:
        return f", {_number(low)} or more"
    return f", at most {_number(high)}" if high is not None else ""


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def resolved(schema: Schema, root: Schema) -> Schema:
    """The schema that a reference points to."""
    reference = schema.get("$ref", "")
    if not reference.startswith("#/"):
        return schema
    found: Any = root
    for step in reference[2:].split("/"):
        found = found[step]
    return {**found, **{k: v for k, v in schema.items() if k != "$ref"}}


def _names(schema: Schema, root: Schema) -> tuple[tuple[str, str], ...]:
    options = [option for found in _alternatives(schema, root) for option in found.get("oneOf", [])]
    named = [option for option in options if isinstance(option.get("const"), str)]
    return tuple((option["const"], _line(option.get("description", ""))) for option in named)


def _default(key: str, schema: Schema, table: Schema) -> str:
    if key in table.get("required", []):
        return REQUIRED
    value = schema.get("default")
    if value is None and schema.get("type") == "boolean":
        # Documents and the schema leave the key out where it is false.
        value = False
    return NONE if value in (None, [], {}) else _toml(value)


def _toml(value: Any) -> str:
    """A value as a scenario writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    text: str = json.dumps(value, ensure_ascii=False)
    return text


def _line(text: str) -> str:
    return " ".join(text.split())
