"""Limits on the values of every document, wherever it comes from."""

import math
from collections.abc import Mapping
from typing import Any

from phit.base.errors import InputError
from phit.base.text import HIDDEN, LONGEST_TEXT, quoted
from phit.document.schema import takes_lists

LEVELS = 32
"""Maximum number of nested tables and lists, and of parts of a dotted path."""

LONG = 1000
"""Length of a list from which the schema is asked first whether a list may stand there."""

TABLES = ("", "topology", "planes", "router", "routing", "queueing", "congestion", "traffic", "measure", "units")
"""Sections, and the document itself, that have at most `LONG` keys."""

_BREAKS = "\n\t"
"""Hidden characters that are allowed in a text."""


def check_values(value: Any, largest: int = 10**300) -> None:
    """Refuses values that no document may hold. The error names the key.

    Refused are hidden characters in a text or key, texts longer than any path, numbers that are not finite or exceed
    `largest`, and too many levels of tables and lists.
    """
    waiting: list[tuple[Any, str, int]] = [(value, "", 0)]
    while waiting:
        here, place, level = waiting.pop()
        if level > LEVELS:
            start = quoted(place.split(".")[0])
            raise InputError(f"{start}: too many levels of tables and lists; expected at most {LEVELS}")
        # Frequent types come first, because the test for a mapping is slow.
        if isinstance(here, str):
            _check_text(here, place, _BREAKS, place)
        elif isinstance(here, float):
            if not math.isfinite(here):
                raise InputError(f"{place} = {here}: expected a finite number", place)
        elif isinstance(here, int):
            if abs(here) >= largest:
                raise InputError(f"{place} = {_long(here)}: expected a number below {largest:.0e}", place)
        elif isinstance(here, list | tuple):
            if len(here) > LONG and not takes_lists(place):
                raise InputError(f"{place}: a list of {len(here):,} values; expected no list here", place)
            others = (i for i, inner in enumerate(here) if type(inner) is not int)
            waiting.extend((here[i], f"{place}[{i}]", level + 1) for i in others)
            if (wide := next((n for n in here if type(n) is int and abs(n) >= largest), None)) is not None:
                raise InputError(f"{place}: there is {_long(wide)}; expected numbers below {largest:.0e}", place)
        elif isinstance(here, Mapping):
            if len(here) > LONG and place.split(".")[0] in TABLES:
                what = place or "the document"
                raise InputError(f"{what}: a table of {len(here):,} keys; expected at most {LONG:,}", place)
            for key, inner in here.items():
                if isinstance(key, str):
                    _check_text(key, f"a key of {place or 'the document'}", _BREAKS, place)
                waiting.append((inner, f"{place}.{key}" if place else str(key), level + 1))


def _long(number: int) -> str:
    # Python does not convert integers of thousands of digits to text.
    return f"a number of {number.bit_length():,} bits"


def _check_text(text: str, what: str, but: str, path: str) -> None:
    if HIDDEN.search(text) and any(found[0] not in but for found in HIDDEN.finditer(text)):
        raise InputError(f"{what} = {quoted(text)}: expected a text without control and other hidden characters", path)
    if len(text) > LONGEST_TEXT:
        raise InputError(f"{what} = {quoted(text)}: expected a text of at most {LONGEST_TEXT:,} characters", path)
