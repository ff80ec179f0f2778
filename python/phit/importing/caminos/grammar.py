"""CAMINOS' configuration language: named records, lists, lists of experiments, numbers, texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.base.text import quoted

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<number>-?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)
    |"(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"
    |(?P<name>[a-zA-Z_\x80-\uffff][a-zA-Z0-9_\x80-\uffff]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)

DEEPEST = 64
"""Maximum number of nested records and lists."""


@dataclass(frozen=True)
class Record:
    """A named record, such as `Torus { sides: [8, 8] }`, with its place."""

    name: str
    members: tuple[tuple[str, Any, str], ...]
    """Keys, values and their places (file and line)."""
    place: str

    def __str__(self) -> str:
        inner = ", ".join(f"{key}: {shown(value)}" for key, value, _ in self.members)
        return f"{self.name} {{ {inner} }}" if inner else self.name


@dataclass(frozen=True)
class Experiments:
    """Alternative values, of which each makes separate simulations; values in lists of one name change together."""

    name: str
    values: tuple[Any, ...]
    place: str


def shown(value: Any) -> str:
    """A value as a configuration writes it, shortened."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, Experiments):
        return f"{value.name}![{', '.join(map(shown, value.values))}]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.tokens = list(self._scan(text))
        self.at = 0

    def _scan(self, text: str) -> Iterator[tuple[str, str, int]]:
        line = 1
        for found in _TOKEN.finditer(text):
            kind = str(found.lastgroup)
            if kind != "space":
                yield kind, found[kind], line
            line += found[0].count("\n")

    @property
    def place(self) -> str:
        line = self.tokens[min(self.at, len(self.tokens) - 1)][2] if self.tokens else 1
        return f"{self.where}:{line}"

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        at = self.at + ahead
        return self.tokens[at][:2] if at < len(self.tokens) else ("end", "the end")

    def next(self) -> tuple[str, str]:
        found = self.peek()
        self.at += 1
        return found

    def expect(self, sign: str) -> None:
        place, (_, found) = self.place, self.next()
        if found != sign:
            raise InputError(f"{place}: {quoted(found)}; expected {quoted(sign)}")

    def value(self, depth: int = 0) -> Any:
        place, (kind, text) = self.place, self.next()
        if depth > DEEPEST:
            raise InputError(f"{place}: expected at most {DEEPEST} levels of records and lists")
        if kind == "number":
            number = float(text)
            if abs(number) > 1e15:
                raise InputError(f"{place}: {quoted(text)}; expected a number of at most 1e15")
            return number
        if kind == "text":
            return re.sub(r"\\(.)", r"\1", text)
        if text == "[":
            return self.elements(depth)
        if text == "!":
            self.expect("[")
            return Experiments("", tuple(self.elements(depth)), place)
        if kind == "name":
            if text in ("true", "false"):
                return text == "true"
            if self.peek() == ("sign", "!"):
                self.next()
                self.expect("[")
                return Experiments(text, tuple(self.elements(depth)), place)
            return self.record(text, place, depth)
        if text == "=" or text == "where":
            raise InputError(f"{place}: expressions cannot be expressed; expected a value")
        raise InputError(f"{place}: {quoted(text)}; expected a value")

    def elements(self, depth: int) -> list[Any]:
        found = []
        while self.peek() != ("sign", "]"):
            found.append(self.value(depth + 1))
            if self.peek() == ("sign", ","):
                self.next()
            elif self.peek() != ("sign", "]"):
                self.expect("]")
        self.next()
        return found

    def record(self, name: str, place: str, depth: int) -> Record:
        members: list[tuple[str, Any, str]] = []
        if self.peek() == ("sign", "{"):
            self.next()
            while self.peek() != ("sign", "}"):
                here, (kind, key) = self.place, self.next()
                if kind != "name":
                    raise InputError(f"{here}: {quoted(key)}; expected a key or }}")
                self.expect(":")
                members.append((key, self.value(depth + 1), here))
                if self.peek() == ("sign", ","):
                    self.next()
                elif self.peek() != ("sign", "}"):
                    self.expect("}")
            self.next()
        return Record(name, tuple(members), place)


def parse(text: str, where: str | Path) -> Record:
    """The record that a file holds."""
    reader = _Reader(text, str(where))
    found = reader.value()
    if reader.peek()[0] != "end":
        raise InputError(f"{reader.place}: {quoted(reader.peek()[1])}; expected the end")
    if not isinstance(found, Record) or found.name != "Configuration":
        raise InputError(f"{where}: expected a record `Configuration {{ ... }}`")
    return found
