"""A run of another simulator from its printed output: the configuration and the numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

from phit.importing.found import Imported


@dataclass(frozen=True)
class Printed:
    """A run of another simulator."""

    imported: Imported
    """The scenario of the run."""
    numbers: Mapping[str, float]
    """Its measurements, by quantity of Phit's summary."""
    saturated: bool
    """Whether its output says that it could not carry the load; its latencies are then meaningless."""
