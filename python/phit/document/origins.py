"""Where the keys of a document come from: the line of a file, or a setting."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import phit._phit as _phit
from phit.base.errors import InputError, ScenarioError


@dataclass(frozen=True)
class Origin:
    """The file of a document, and what `--set` changed in it."""

    file: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of every key, by its path; empty if the format does not tell."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings by the path of their key, as they were written."""

    @classmethod
    def of_file(cls, path: Path, text: str) -> "Origin":
        """The origin of what stands in a file."""
        return cls(path, {} if path.suffix == ".json" else json.loads(_phit.toml_lines(text)))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Origin":
        return self

    def with_setting(self, key: str, setting: str) -> "Origin":
        """The same, with one more setting."""
        return replace(self, settings={**self.settings, _path(key): setting})

    def at_point(self, keys: Iterable[str]) -> "Origin":
        """The origin of one point of a sweep: its keys stand where they are swept."""
        swept: dict[str, list[int]] = {}
        for path, line in self.lines.items():
            section = re.match(r"sweep\.(product|zip\[\d+\]|curves\[\d+\])\.", path)
            if section:
                swept.setdefault(path[section.end() :], []).append(line)
        if any(setting.startswith("sweep") for setting in self.settings):
            # Which of the values a setting has replaced is not known here.
            return self
        lines = {_path(key): swept[key][0] for key in keys if len(swept.get(key, ())) == 1}
        return replace(self, lines={**self.lines, **lines})

    def place(self, path: str) -> tuple[str, int | None]:
        """Where the key at `path` comes from, in words: a file with the line, if it is known, or a setting."""
        here = _path(path)
        while here:
            if here in self.settings:
                return f"--set {self.settings[here]}", None
            if here in self.lines:
                return f"{self.file}:{self.lines[here]}", self.lines[here]
            here = here[: max(here.rfind("."), here.rfind("["), 0)]
        return (str(self.file), None) if self.file else ("", None)


def _path(key: str) -> str:
    """A path in one spelling: positions of lists in brackets, as in `changes[0].load`."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", key)


class Located(dict[str, Any]):
    """A document with its origin."""

    def __init__(self, document: Mapping[str, Any], origin: Origin) -> None:
        super().__init__(document)
        self.origin = origin


@contextmanager
def located(document: Mapping[str, Any]) -> Iterator[None]:
    """Puts in front of errors where their keys stand, as far as the document knows."""
    try:
        yield
    except (ScenarioError, InputError) as error:
        _point_elsewhere(error)
        origin = getattr(document, "origin", None)
        if isinstance(origin, Origin):
            _locate(error, origin)
        raise


UNKNOWN = re.compile(r"unknown (?:section|key)\b")
GUESS = re.compile(r' \(did you mean "[^"]*"\?\)$')


def _point_elsewhere(error: ScenarioError | InputError) -> None:
    """Says of keys that are unknown where they stand where there are such keys."""
    each = error.errors if isinstance(error, ScenarioError) else []
    for one in [error, *each]:
        text = str(one)
        if one.path is None or "\n" in text or not UNKNOWN.search(text):
            continue
        from phit.document.slips import elsewhere

        # A key of that very name is a better guess than one that looks like it.
        if there := elsewhere(one.path):
            one.args = (f"{GUESS.sub('', text)}{there}",)
    if len(each) > 1:
        error.args = ("\n".join(str(one) for one in each),)


def _locate(error: ScenarioError | InputError, origin: Origin) -> None:
    if error.path is None or error.file is not None:
        return
    each = error.errors if isinstance(error, ScenarioError) else []
    for one in [error, *each]:
        place, line = origin.place(one.path or "")
        one.file, one.line = origin.file, line
        one.args = (f"{place}: {one}" if place else str(one),)
    if each:
        error.args = ("\n".join(str(one) for one in each),)
