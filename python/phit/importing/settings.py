"""Settings of a configuration and their treatment."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """The treatment of a key."""

    TAKEN = "taken"
    IGNORED = "ignored"
    DROPPED = "dropped"
    STALE = "stale"
    REFUSED = "refused"


MEANING = {
    Status.TAKEN: "The key is converted; values that cannot be expressed are refused.",
    Status.IGNORED: "The simulator itself never reads the key, or the key has no effect there.",
    Status.DROPPED: "The key is left out with a warning: it changes no measurement, or only as the words say.",
    Status.STALE: "The simulator no longer knows the key; it is left out with a warning.",
    Status.REFUSED: "The key cannot be expressed: any value except the default is refused.",
}
"""The treatments in words."""


@dataclass(frozen=True)
class Setting:
    """A key with the value set for it."""

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
