"""A BookSim configuration: settings over defaults, with a record of the settings that have been read."""

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from phit.base.errors import InputError
from phit.base.nearest import hint
from phit.base.text import quoted
from phit.importing.booksim import grammar
from phit.importing.booksim.keys import KEYS, Key
from phit.importing.found import Findings
from phit.importing.settings import Setting, Status
from phit.importing.text import text_of


class Configuration:
    """Settings over the defaults of `KEYS`. As in BookSim, the last setting of a key counts."""

    def __init__(self, settings: Iterable[Setting], findings: Findings, folder: Path) -> None:
        self.findings = findings
        self.folder = folder
        self.given: dict[str, Setting] = {}
        self.read: set[str] = set()
        for setting in settings:
            key = KEYS.get(setting.key)
            if key is None:
                findings.refuse(setting, f"BookSim knows no such key{hint(setting.key, KEYS)}")
            elif expected := _mistyped(key, setting.value):
                findings.refuse(setting, f"expected {expected}")
            else:
                self.given[setting.key] = setting

    @staticmethod
    def settings_of(files: Sequence[Path], settings: Iterable[str]) -> list[Setting]:
        """The settings of the files, one after another, then the settings `KEY=VALUE`."""
        found: list[Setting] = []
        for path in files:
            found += grammar.of_file(text_of(path), path)
        for setting in settings:
            found += grammar.settings(f"{setting};", f"setting {quoted(setting)}")
        return found

    def __getitem__(self, key: str) -> Setting:
        """The setting of a key, or its default."""
        self.read.add(key)
        return self.given.get(key) or _Default(key, KEYS[key].default)

    def whole(self, key: str) -> int:
        """A whole number; the first element of a list."""
        value = self.number(key)
        return int(value)

    def number(self, key: str) -> float:
        """A number; the first element of a list."""
        value = self[key].value
        if isinstance(value, str):
            first = (grammar.elements(value) or [""])[0]
            try:
                value = float(first)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                self.refuse(key, "expected a number")
                return float(KEYS[key].default or 0)
        return float(value)

    def text(self, key: str) -> str:
        """A word; the first element of a list."""
        value = str(self[key].value)
        return (grammar.elements(value) or [""])[0] if KEYS[key].listed else value

    def of_class(self, number: int) -> "Configuration":
        """The configuration of one class of packets.

        Lists are reduced to the element of the class, or to their last element if they are shorter.
        """
        own = copy.copy(self)
        own.given = dict(self.given)
        for key, setting in self.given.items():
            found = grammar.elements(setting.value) if KEYS[key].listed and isinstance(setting.value, str) else []
            if found:
                own.given[key] = replace(setting, value=f"{{{found[min(number, len(found) - 1)]}}}")
        return own

    def refuse(self, key: str, expected: str) -> None:
        """Refuses the setting of a key."""
        self.findings.refuse(self[key], expected)

    def drop(self, key: str, reason: str) -> None:
        """Leaves the setting of a key out, with a warning."""
        self.findings.note(Status.DROPPED, self[key], reason)

    def about_the_rest(self) -> None:
        """Records the treatment of settings that nothing has read."""
        for name, setting in self.given.items():
            key = KEYS[name]
            changed = setting.value != key.default
            if key.status is Status.REFUSED:
                if changed:
                    self.findings.refuse(setting, f"cannot be expressed: {key.words}")
            elif key.status is not Status.TAKEN:
                if changed or key.status is not Status.DROPPED:
                    self.findings.note(key.status, setting, key.words)
            elif name not in self.read:
                self.findings.note(Status.IGNORED, setting, "has no effect with these settings")


class _Default(Setting):
    """The default of a key that is not set."""

    def __str__(self) -> str:
        return f"{super().__str__()} (default)"


def _mistyped(key: Key, value: grammar.Value) -> str:
    """The expected type if a value has the wrong one; empty otherwise."""
    if isinstance(key.default, str):
        # The name of a file may consist of digits.
        return "" if isinstance(value, str | int) else "a word"
    if isinstance(value, str):
        return "" if key.listed else "a number"
    if isinstance(key.default, int) and isinstance(value, float):
        return "a whole number"
    return ""


def check_range(configuration: Configuration, key: str, least: int, most: int) -> int:
    """A whole number between two bounds; after a refusal, the nearer bound."""
    value = configuration.number(key)
    if not least <= value <= most or value != int(value):
        configuration.refuse(key, f"expected a whole number, {least} to {most}")
        return min(max(least, int(min(max(value, least), most))), most)
    return int(value)


KINDS = ("read_request", "read_reply", "write_request", "write_reply")
"""Kinds of packets with `use_read_write`."""


def ranges(configuration: Configuration) -> dict[str, tuple[int, int]]:
    """The first and last virtual channel that each kind of packets may take, with `use_read_write`."""
    vcs = max(configuration.whole("num_vcs"), 1)
    found = {}
    for kind in KINDS:
        low, high = (0, vcs // 2 - 1) if "request" in kind else (vcs // 2, vcs - 1)
        begin, end = configuration.whole(f"{kind}_begin_vc"), configuration.whole(f"{kind}_end_vc")
        found[kind] = (low if begin < 0 else begin, high if end < 0 else end)
    return found


__all__ = ["KINDS", "Configuration", "InputError", "check_range", "ranges"]
