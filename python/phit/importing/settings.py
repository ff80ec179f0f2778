"""Settings of a configuration, and what becomes of each."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What becomes of a key."""

    TAKEN = "taken"
    IGNORED = "ignored"
    DROPPED = "dropped"
    STALE = "stale"
    REFUSED = "refused"


MEANING = {
    Status.TAKEN: "It becomes keys of the scenario; values that cannot be expressed are refused.",
    Status.IGNORED: "The simulator itself never reads it, or it has no effect there.",
    Status.DROPPED: "It is left out, with a warning: it changes nothing that is measured, or only what the words say.",
    Status.STALE: "The simulator no longer knows it; it is left out, with a warning.",
    Status.REFUSED: "It cannot be expressed: any value but the default is refused.",
}
"""The statuses in words."""


@dataclass(frozen=True)
class Setting:
    """A key as it is set somewhere."""

    key: str
    value: Any
    place: str = ""
    """File and line, or the setting on the command line."""

    def __str__(self) -> str:
        return f"{self.key} = {written(self.value)}"


def written(value: Any) -> str:
    """A value as configurations write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return f"{{{','.join(written(each) for each in value)}}}"
    return str(value)
