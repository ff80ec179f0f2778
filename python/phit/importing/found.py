"""The findings of an import: settings of a file, the treatment of each, and the scenario."""

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
    """Settings that cannot be expressed, each on a line of its own."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = list(errors)


@dataclass
class Findings:
    """The findings so far."""

    document: Document = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    """The settings from which each key comes, by its dotted path in the document."""
    notes: list[tuple[Status, str]] = field(default_factory=list)
    """Settings that are not in the document, with the reason."""
    errors: list[InputError] = field(default_factory=list)

    def put(self, path: str, value: Any, *settings: Setting | str) -> None:
        """Sets the key at a dotted path of the scenario, and records the settings from which it comes."""
        set_path(self.document, path, value)
        words = "; ".join(dict.fromkeys(str(setting) for setting in settings))
        if words:
            self.comments[path] = words

    def note(self, status: Status, setting: Setting | str, reason: str) -> None:
        """Records the treatment of a setting that is not in the scenario."""
        place = f"{setting.place}: " if isinstance(setting, Setting) and setting.place else ""
        self.notes.append((status, f"{place}{setting}: {reason}"))

    def refuse(self, setting: Setting, expected: str) -> None:
        """Refuses a setting. Other settings are still checked."""
        place = f"{setting.place}: " if setting.place else ""
        value = quoted(setting.value) if isinstance(setting.value, str) else written(setting.value)
        self.errors.append(InputError(f"{place}{setting.key} = {value}: {expected}"))

    def finished(self, simulator: str, files: Iterable[Path]) -> "Imported":
        """The import, or the refusal of all settings that cannot be expressed."""
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
    """The settings from which each key comes, by its dotted path in the document."""
    notes: tuple[tuple[Status, str], ...]
    """Settings that are not in the document, with the reason."""

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user: settings that were left out and may matter."""
        return [text for status, text in self.notes if status in (Status.DROPPED, Status.STALE)]

    def to_toml(self) -> str:
        """The scenario as TOML, with comments that name the settings from which each key comes."""
        # Running an imported configuration needs no TOML.
        from phit.importing.writing import commented

        return commented(self.simulator, self.files, self.document, self.comments, self.notes)
