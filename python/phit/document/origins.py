"""The origin of each key of a document: a line of a file, or a setting."""

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
    """The file of a document, and the changes that `--set` made."""

    file: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of every key, by its path; empty if the format gives no lines."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings as written, by the path of their key."""

    @classmethod
    def of_file(cls, path: Path, text: str) -> "Origin":
        """The origin of a document that stands in a file."""
        return cls(path, {} if path.suffix == ".json" else json.loads(_phit.toml_lines(text)))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Origin":
        return self

    def with_setting(self, key: str, setting: str) -> "Origin":
        """The origin with one more setting, which takes the place of all that stood below its key."""
        path = _path(key)

        def stays(other: str) -> bool:
            return not (other.startswith(path) and other[len(path) :].startswith((".", "[")))

        lines = {other: line for other, line in self.lines.items() if stays(other)}
        settings = {other: before for other, before in self.settings.items() if stays(other)}
        return replace(self, lines=lines, settings={**settings, path: setting})

    def at_point(self, keys: Iterable[str]) -> "Origin":
        """The origin of one point of a sweep: its swept keys stand in the lines of the sweep."""
        swept: dict[str, list[int]] = {}
        for path, line in self.lines.items():
            section = re.match(r"sweep\.(product|zip\[\d+\]|curves\[\d+\])\.", path)
            if section:
                swept.setdefault(path[section.end() :], []).append(line)
        if any(setting.startswith("sweep") for setting in self.settings):
            # A setting has replaced values, and it is not known which.
            return self
        lines = {_path(key): swept[key][0] for key in keys if len(swept.get(key, ())) == 1}
        return replace(self, lines={**self.lines, **lines})

    def place(self, path: str) -> tuple[str, int | None]:
        """The origin of the key at `path` in words: a file, with the line if it is known, or a setting."""
        here = _path(path)
        while here:
            if here in self.settings:
                return f"--set {self.settings[here]}", None
            if here in self.lines:
                return f"{self.file}:{self.lines[here]}", self.lines[here]
            here = here[: max(here.rfind("."), here.rfind("["), 0)]
        return (str(self.file), None) if self.file else ("", None)


def _path(key: str) -> str:
    """The path in one spelling: positions in lists are in brackets, as in `changes[0].load`."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", key)


class Located(dict[str, Any]):
    """A document with its origin."""

    def __init__(self, document: Mapping[str, Any], origin: Origin) -> None:
        super().__init__(document)
        self.origin = origin


@contextmanager
def located(document: Mapping[str, Any]) -> Iterator[None]:
    """Prefixes errors with the place of their keys, as far as the document knows it."""
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
    """Adds to an error about an unknown key the places where a key of that name exists."""
    each = error.errors if isinstance(error, ScenarioError) else []
    for one in [error, *each]:
        text = str(one)
        if one.path is None or "\n" in text or not UNKNOWN.search(text):
            continue
        from phit.document.slips import elsewhere

        # An existing key of the same name is a better guess than a similar name.
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
