"""Common slips of notation: suggests the line that was meant for a line that cannot be parsed."""

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from phit.base.text import plain, shortened

LONGEST = 160
"""Maximum number of characters of a line that is shown."""

_STRING = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''


def _outside_strings(change: Callable[[str], str]) -> Callable[[str], str]:
    """Restricts a change to the parts of a line outside strings."""

    def changed(line: str) -> str:
        parts = re.split(f"({_STRING})", line)
        return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))

    return changed


def _replace(pattern: str, by: str) -> Callable[[str], str]:
    return _outside_strings(lambda part: re.sub(pattern, by, part))


_SLIPS: tuple[Callable[[str], str], ...] = (
    lambda line: re.sub("[\u201c\u201d\u201e]", '"', line),
    lambda line: re.sub(r"\s*[,;]\s*$", "", line),
    _replace(r",(\s*[}\]])", r"\1"),
    lambda line: re.sub(r"^(\s*[\w.\"-]+)\s*:(?!=)\s*", r"\1 = ", line),
    lambda line: re.sub(r"^(\s*[\w.\"-]+)\s*(?:==|:=)\s*", r"\1 = ", line),
    lambda line: re.sub(r"^(\s*[\w.\"-]+\s*=\s*\d+),(\d+\s*)$", r"\1.\2", line),
    _replace(r"(?<![\w.])\.(\d)", r"0.\1"),
    _replace(r"(?<![\w.])(\d+)\.(?![\d\w])", r"\1.0"),
    _replace(r"(?<![\w.])\+?0+(\d+)(?![\w.:-])", r"\1"),
    _replace(r"\b(True|False)\b", lambda found: found[0].lower()),  # type: ignore[arg-type]
    lambda line: re.sub(r"^(\s*[\w.\"-]+\s*=\s*)([A-Za-z][\w/.-]*)\s*$", r'\1"\2"', line),
    _replace(r"(=\s*)(?!true\b|false\b|inf\b|nan\b)([A-Za-z]\w*)", r'\1"\2"'),
)
"""Corrections of other notations; each turns a line into another."""


def line_meant(text: str, number: int) -> str | None:
    """The corrected line `number` of a TOML document, if a common slip explains why it cannot be parsed."""
    lines = text.splitlines()
    if not 1 <= number <= len(lines):
        return None
    for line in _meant(lines[number - 1]):
        try:
            tomllib.loads(line)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            continue
        return plain(shortened(line.strip(), LONGEST))
    return None


def _meant(line: str) -> Iterator[str]:
    """The line with one slip corrected, for each slip, then with all corrected."""
    for mend in _SLIPS:
        if (changed := mend(line)) != line:
            yield changed
    whole = line
    for mend in _SLIPS:
        whole = mend(whole)
    if whole != line:
        yield whole


def comma_before(text: str, position: int) -> bool:
    """Whether the only fault at this position of a JSON text is a comma before a closing bracket."""
    return text[:position].rstrip().endswith(",") and text[position:].lstrip()[:1] in ("}", "]")


@cache
def _places() -> dict[str, list[str]]:
    """The paths of all keys, by the last part of the path."""
    from phit.document.keys import keys, resolved
    from phit.document.schema import described

    document = described()
    found: dict[str, dict[str, None]] = {}

    def note(prefix: str, schema: dict[str, Any]) -> None:
        for key in keys(schema, document, prefix):
            found.setdefault(key.path.rpartition(".")[2], {})[key.path] = None

    for section, schema in document["properties"].items():
        for kind in resolved(schema, document).get("oneOf", [resolved(schema, document)]):
            note(f"{section}.", kind)
    return {name: list(paths) for name, paths in found.items()}


MOST_PLACES = 3
"""Maximum number of places that a message names."""


def elsewhere(path: str) -> str:
    """The places of known keys that have the name of an unknown one: ` (did you mean router.speedup?)`, or nothing."""
    here = re.sub(r"\[\d+\]", "[]", path)
    places = [place for place in _places().get(here.rpartition(".")[2], ()) if place != here]
    return f" (did you mean {' or '.join(places)}?)" if 0 < len(places) <= MOST_PLACES else ""
