"""What no document may hold, wherever it comes from."""

import math
from collections.abc import Mapping
from typing import Any

from phit.base.errors import InputError
from phit.base.text import HIDDEN, LONGEST_TEXT, quoted
from phit.document.schema import takes_lists

LEVELS = 32
"""Most levels of tables and lists within one another, and most parts of a dotted path."""

LONG = 1000
"""Values of a list from which on the schema is asked, before anything else is, whether a list may stand there."""

TABLES = ("", "topology", "planes", "router", "routing", "queueing", "traffic", "measure", "units")
"""Sections, and a document itself, whose tables have at most `LONG` keys."""

_BREAKS = "\n\t"
"""Hidden characters that a text may have."""


def check_values(value: Any, largest: int = 10**300) -> None:
    """Refuses what no document may hold, wherever it comes from: it names the key.

    That is hidden characters in a text or key, texts longer than any path, numbers that are not finite or beyond
    `largest`, and too many levels of tables and lists.
    """
    waiting: list[tuple[Any, str, int]] = [(value, "", 0)]
    while waiting:
        here, place, level = waiting.pop()
        if level > LEVELS:
            start = quoted(place.split(".")[0])
            raise InputError(f"{start}: too many levels of tables and lists; expected at most {LEVELS}")
        # The frequent ones first: to ask for a mapping takes long.
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
    # Python refuses to write a number of thousands of digits.
    return f"a number of {number.bit_length():,} bits"


def _check_text(text: str, what: str, but: str, path: str) -> None:
    if HIDDEN.search(text) and any(found[0] not in but for found in HIDDEN.finditer(text)):
        raise InputError(f"{what} = {quoted(text)}: expected a text without control and other hidden characters", path)
    if len(text) > LONGEST_TEXT:
        raise InputError(f"{what} = {quoted(text)}: expected a text of at most {LONGEST_TEXT:,} characters", path)
