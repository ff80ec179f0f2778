"""The scales of the study."""

from dataclasses import dataclass
from typing import Any

from phit.studies.kit.scale import Scale


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale."""

    scale: Scale
    sides: tuple[int, ...]
    """k of the networks of k x k x k routers."""
    messages: int
    """Messages of each node; the paper's runs have 32."""
    packets: int
    """Packets of a message; M of table 1."""
    margin: int
    """Steps of the grid beyond the paper's gamma* up to which a curve is run."""
    seeds: int
    decisive_seeds: int
    """Seeds of the runs near gamma* under uniform traffic, the only pattern that draws anything."""
    settling: int
    """Messages before the measurement of steady states: nine are a round of the Butterfly on 512 nodes."""
    measured: int
    """Messages of the measurement."""

    @property
    def largest(self) -> int:
        """Side of the largest network."""
        return self.sides[-1]


_SMOKE: dict[str, Any] = {
    "scale": Scale.SMOKE,
    "sides": (4,),
    "messages": 6,
    "packets": 24,
    "margin": 1,
    "seeds": 1,
    "decisive_seeds": 1,
    "settling": 6,
    "measured": 6,
}

_SMALL: dict[str, Any] = {
    "scale": Scale.SMALL,
    "sides": (8,),
    "messages": 32,
    "packets": 96,
    "margin": 3,
    "seeds": 1,
    "decisive_seeds": 3,
    "settling": 9,
    "measured": 18,
}

_PAPER: dict[str, Any] = {**_SMALL, "scale": Scale.PAPER, "sides": (8, 16)}


def setting(scale: Scale) -> Setting:
    """The setting of a scale."""
    return Setting(**{Scale.SMOKE: _SMOKE, Scale.SMALL: _SMALL, Scale.PAPER: _PAPER}[scale])
