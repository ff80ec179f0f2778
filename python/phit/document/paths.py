"""Dotted paths of keys: looked up, set and listed."""

import copy
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phit.base.errors import InputError
from phit.base.text import quoted
from phit.document import Document
from phit.document.limits import LEVELS
from phit.document.origins import Located


def parse_value(text: str) -> Any:
    """A value as TOML reads it; text that is not TOML is a string."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    value = table.get("value")
    return text if len(table) != 1 or not is_json(value) else value


def is_json(value: Any) -> bool:
    """Whether JSON can hold a value."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def apply_settings(document: Document, settings: Iterable[str]) -> Document:
    """The document after each ``dotted.key=value`` is set, as by `--set` on the command line."""
    result = copy.deepcopy(document)
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(f"--set {setting}: expected dotted.key=value, for example traffic.load=0.4")
        set_path(result, key.strip(), parse_value(value.strip()))
        if isinstance(result, Located):
            result.origin = result.origin.with_setting(key.strip(), setting)
    return result


def set_path(document: Document, path: str, value: Any) -> None:
    """Sets the key at a dotted path. Missing tables are made; a bare name becomes a table with that `kind`."""
    *parents, last = path.split(".")
    if len(parents) >= LEVELS:
        raise InputError(f"{quoted(path)}: expected a dotted path of at most {LEVELS} parts")
    if not all((*parents, last)):
        raise InputError(f"{quoted(path)}: expected a dotted path, for example traffic.load")
    here: Any = document
    for i, key in enumerate(parents):
        if isinstance(here, list):
            here = here[_index(here, key, path)]
            continue
        child = here.get(key)
        if isinstance(child, str):
            child = here[key] = {"kind": child}
        elif child is None:
            child = here[key] = {}
        elif not isinstance(child, dict | list):
            parent = ".".join(parents[: i + 1])
            raise InputError(f"{parent} = {quoted(child)}: not a table, so it has no key {quoted(path)}")
        here = child
    if isinstance(here, list):
        here[_index(here, last, path)] = copy.deepcopy(value)
    elif isinstance(here, dict):
        here[last] = copy.deepcopy(value)
    else:
        raise InputError(f"{path}: {'.'.join(parents)} is not a table")


def _index(values: list[Any], key: str, path: str) -> int:
    if key.isdecimal() and int(key) < len(values):
        return int(key)
    raise InputError(f"{path}: {quoted(key)} is not a position in a list of {len(values)}")


def get_path(document: Mapping[str, Any], path: str, default: Any = None) -> Any:
    """The value at a dotted path, or `default`."""
    here: Any = document
    for key in path.split("."):
        if isinstance(here, Mapping) and key in here:
            here = here[key]
        elif isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        else:
            return default
    return here


def flatten(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`(dotted path, value)` of every leaf; a list is a leaf."""
    for key, value in document.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{path}.")
        else:
            yield path, value


def paths(document: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted path of every key, tables included."""
    for key, value in document.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from paths(value, f"{prefix}{key}.")
