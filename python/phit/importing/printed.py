"""What another simulator has printed of a run: its configuration and its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

from phit.importing.found import Imported


@dataclass(frozen=True)
class Printed:
    """A run of another simulator's."""

    imported: Imported
    """The scenario of the same run."""
    numbers: Mapping[str, float]
    """By quantity of Phit's summary, what it measured."""
    saturated: bool
    """Whether it says itself that it could not carry the load: then latencies mean nothing."""
