"""What an import finds out: settings of a file, what becomes of each, and the scenario."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phit.base.errors import InputError
from phit.base.text import quoted
from phit.document import Document
from phit.document.paths import set_path
from phit.importing.settings import Setting, Status, written


class RefusedError(InputError):
    """Settings that cannot be expressed, each with a line of its own."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = list(errors)


@dataclass
class Findings:
    """What has been found out so far."""

    document: Document = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    """By dotted path in the document, the settings that it comes from."""
    notes: list[tuple[Status, str]] = field(default_factory=list)
    """Settings that are not in the document, with the reason."""
    errors: list[InputError] = field(default_factory=list)

    def put(self, path: str, value: Any, *settings: Setting | str) -> None:
        """Sets the key at a dotted path of the scenario, with the settings that it comes from."""
        set_path(self.document, path, value)
        words = "; ".join(dict.fromkeys(str(setting) for setting in settings))
        if words:
            self.comments[path] = words

    def note(self, status: Status, setting: Setting | str, reason: str) -> None:
        """Says what has become of a setting that is not in the scenario."""
        place = f"{setting.place}: " if isinstance(setting, Setting) and setting.place else ""
        self.notes.append((status, f"{place}{setting}: {reason}"))

    def refuse(self, setting: Setting, expected: str) -> None:
        """Refuses a setting; the others are still looked at."""
        place = f"{setting.place}: " if setting.place else ""
        value = quoted(setting.value) if isinstance(setting.value, str) else written(setting.value)
        self.errors.append(InputError(f"{place}{setting.key} = {value}: {expected}"))

    def finished(self, simulator: str, files: Iterable[Path]) -> "Imported":
        """The import, or the refusal of all that cannot be expressed."""
        if self.errors:
            raise RefusedError(self.errors)
        return Imported(simulator, tuple(files), self.document, self.comments, tuple(self.notes))


@dataclass(frozen=True)
class Imported:
    """A configuration as a scenario or experiment."""

    simulator: str
    files: tuple[Path, ...]
    document: Document
    comments: Mapping[str, str]
    """By dotted path in the document, the settings that it comes from."""
    notes: tuple[tuple[Status, str], ...]
    """Settings that are not in it, with the reason."""

    @property
    def warnings(self) -> list[str]:
        """What a user has to know: everything that was left out and might matter."""
        return [text for status, text in self.notes if status in (Status.DROPPED, Status.STALE)]

    def to_toml(self) -> str:
        """The scenario as TOML, with the settings that each key comes from beside it."""
        # A run of another simulator's configuration writes none.
        from phit.importing.writing import commented

        return commented(self.simulator, self.files, self.document, self.comments, self.notes)
