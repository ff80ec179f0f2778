"""BookSim's configuration language: `key = value;`, comments from `//` to the end of the line, lists in braces.

The simulator's output repeats its configuration, and is read as well.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phit.base.errors import InputError
from phit.base.text import quoted
from phit.importing.settings import Setting

Value = int | float | str

# As in the simulator's scanner, the longest match counts, and the first of equally long ones.
_TOKENS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("comment", re.compile(r"//[^\n]*")),
    ("space", re.compile(r"[ \t\r\f\v]+")),
    ("line", re.compile(r"\n")),
    ("word", re.compile(r"\{[A-Za-z0-9_\-.({,)}]+(?:,[A-Za-z0-9_\-.({,)}]+)*\}")),
    ("whole", re.compile(r"-?[0-9]+")),
    ("number", re.compile(r"-?[0-9]*\.[0-9]+")),
    ("number", re.compile(r"-?(?:[0-9]*\.)?[0-9]+[eE][+-]?[0-9]+")),
    ("word", re.compile(r"[A-Za-z_\-/.][A-Za-z0-9_\-/.+({,)}]*")),
    ("sign", re.compile(r".", re.DOTALL)),
)

MOST_DIGITS = 300
"""Maximum number of digits of a number in a configuration."""


@dataclass(frozen=True)
class Token:
    """A token with its line."""

    kind: str
    text: str
    line: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a configuration, without comments and spaces."""
    place, line = 0, 1
    while place < len(text):
        found = ((kind, pattern.match(text, place)) for kind, pattern in _TOKENS)
        kind, match = max(((k, m) for k, m in found if m), key=lambda pair: pair[1].end())
        place = match.end()
        if kind == "line":
            line += 1
        elif kind not in ("comment", "space"):
            yield Token(kind, match[0], line)


def settings(text: str, where: str, path: Path | None = None) -> Iterator[Setting]:
    """The settings of a configuration in their order; `where` is its place in words."""
    waiting = tokens(text)
    for key in waiting:
        parts = [key]
        for token in waiting:
            parts.append(token)
            if token.text == ";":
                break
        place = f"{where}:{key.line}" if path else where
        kinds = [part.kind for part in parts]
        shape = len(parts) == 4 and kinds[0] == "word" and parts[1].text == "=" and parts[3].text == ";"
        if not shape or kinds[2] == "sign":
            shown = quoted(" ".join(part.text for part in parts))
            raise InputError(f"{place}: {shown}; expected `key = value;`")
        yield Setting(key.text, _value(parts[2], place), place)


_BEGIN, _END = "BEGIN Configuration File: ", "END Configuration File: "
_OVERRIDE = "OVERRIDE Parameter: "


def of_file(text: str, path: Path) -> Iterator[Setting]:
    """The settings of a configuration, or of a configuration repeated in the simulator's output."""
    if text.startswith(_BEGIN):
        return iter(repeated(text, str(path)))
    return settings(text, str(path), path)


def repeated(output: str, where: str) -> list[Setting]:
    """The settings of files repeated in the output, then those of the command line, in their order."""
    found: list[Setting] = []
    inside: list[str] | None = None
    for line in output.splitlines():
        if line.startswith(_BEGIN):
            inside = []
        elif inside is not None and _END in line:
            # BookSim prints the last character of the file twice.
            rest = line.partition(_END)[0].rstrip()
            found += settings(_once("\n".join([*inside, rest])), where)
            inside = None
        elif inside is not None:
            inside.append(line)
        elif line.startswith(_OVERRIDE):
            found += settings(f"{line.removeprefix(_OVERRIDE)};", where)
    return found


def _once(body: str) -> str:
    """The text without the second copy of its last character, unless that is a blank."""
    return body[:-1] if body.endswith(";;") else body


def _value(token: Token, place: str) -> Value:
    if token.kind == "word":
        return token.text
    if len(token.text) > MOST_DIGITS:
        raise InputError(f"{place}: a number of {len(token.text):,} characters; expected at most {MOST_DIGITS}")
    return int(token.text) if token.kind == "whole" else float(token.text)


def elements(text: str) -> list[str]:
    """The elements of a list in braces, or the text itself as a single element. Inner lists stay whole."""
    if not text.startswith("{"):
        return [text] if text else []
    found, depth, start = [], 0, 1
    for place in range(1, len(text)):
        sign = text[place]
        if sign == "{":
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
        elif sign in ",}" and not depth:
            found += [text[start:place]] if place > start else []
            start = place + 1
    return found


def called(text: str) -> tuple[str, list[str]]:
    """The name and the parameters of a call such as `hotspot({3,5},{1,2})`, as texts."""
    name, bracket, rest = text.partition("(")
    if not bracket:
        return name, []
    inner = rest.rpartition(")")[0] if ")" in rest else rest
    return name, elements(inner)
