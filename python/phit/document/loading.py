"""Documents, read from a file or given as a mapping."""

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.base.files import foreign
from phit.base.text import shortened
from phit.document import Document, Source
from phit.document.limits import LEVELS, check_values
from phit.document.named_files import with_files
from phit.document.origins import Located, Origin
from phit.document.sections import REFERENCE

_LEAVES = frozenset({str, int, float, bool, type(None)})


def copied(value: Any) -> Any:
    """A deep copy of a document or a part of one."""
    if type(value) is dict:
        return {key: copied(inner) for key, inner in value.items()}
    if type(value) is list:
        return [copied(inner) for inner in value]
    if isinstance(value, Located):
        return Located({key: copied(inner) for key, inner in value.items()}, value.origin)
    return value if type(value) in _LEAVES else copy.deepcopy(value)


def load(source: Source) -> Document:
    """The document in a TOML or JSON file, or a copy of the given one.

    Files that a document names are found from the folder of its file; for a given mapping, from the current folder. The
    key `$schema`, by which editors find the JSON Schema, is left out.
    """
    if isinstance(source, Mapping):
        check_values(source)
        document: Document = copied(source if isinstance(source, Located) else dict(source))
        document.pop(REFERENCE, None)
        return document
    path = Path(source)
    try:
        content = path.read_bytes()
        if why := foreign(content):
            raise InputError(f"{path}: cannot be read ({why})")
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    document = _read(path, text)
    document.pop(REFERENCE, None)
    return document


def _read(path: Path, text: str) -> Document:
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except json.JSONDecodeError as error:
        from phit.document import slips

        comma = "; leave out the comma before the closing bracket" if slips.comma_before(text, error.pos) else ""
        raise InputError(f"{path}: not valid JSON: {error}{comma}") from None
    except tomllib.TOMLDecodeError as error:
        from phit.document import slips

        # The parser stops behind the error: on its line, or at the beginning of the next.
        line = re.search(r"\(at line (\d+), column", str(error))
        meant = slips.line_meant(text, int(line[1])) if line else None
        write = f"; write `{meant}`" if meant else ""
        raise InputError(f"{path}: not valid TOML: {shortened(str(error))}{write}") from None
    except RecursionError:
        raise InputError(f"{path}: too many levels of tables and lists; expected at most {LEVELS}") from None
    except ValueError as error:
        # The text has an integer of thousands of digits.
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: expected a table with the sections of a scenario")
    try:
        check_values(document)
    except InputError as error:
        raise InputError(f"{path}: {error}", error.path) from None
    return Located(with_files(document, path.parent), Origin.of_file(path, text))


def for_reading(source: Source) -> Document:
    """The document of a source for reading only: a given mapping is not copied, so its tables are the caller's."""
    if not isinstance(source, Mapping):
        return load(source)
    check_values(source)
    document = Located(source, source.origin) if isinstance(source, Located) else dict(source)
    document.pop(REFERENCE, None)
    return document
