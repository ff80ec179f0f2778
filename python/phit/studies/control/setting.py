"""The scales of the study: networks, times, loads and seeds. A cycle is a nanosecond, a phit a byte."""

from dataclasses import dataclass
from typing import Any

from phit.studies.kit.scale import Scale

TREE, DRAGONFLY, SLIM_FLY = "fat tree", "Dragonfly", "Slim Fly"
NETWORKS = (TREE, DRAGONFLY, SLIM_FLY)

US = 1000
"""Cycles of a microsecond."""


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale."""

    scale: Scale
    arity: int
    levels: int
    """The fat tree is a k-ary n-tree."""
    h: int
    """Global links of a router of the Dragonfly, which is balanced."""
    q: int
    """Order of the Slim Fly."""
    fan_ins: tuple[int, ...]
    """Aggressors of an incast. Figures with one incast have the first number."""
    load: float
    """Offered load of every endpoint, as a share of its link."""
    warmup: int
    """Cycles before the measurement of a steady state: timers of controls take long."""
    cycles: int
    """Measured cycles of a steady state."""
    seeds: int
    before: int
    """Cycles before the incast that comes and goes."""
    during: int
    """Cycles for which it stays."""
    after: int
    """Recorded cycles after it."""
    bin: int
    """Cycles of a bin of the recording."""
    moves: tuple[int, ...]
    """Cycles after which a moving hot spot goes to another endpoint."""
    loads: tuple[float, ...]
    """Offered loads of uniform traffic."""
    ranks: int
    """Ranks of the all-reduce beside an aggressor."""
    kilobytes: int
    """Size of its vector in KiB."""


_SMALL: dict[str, Any] = {
    "scale": Scale.SMALL,
    "arity": 4,
    "levels": 3,
    "h": 2,
    "q": 5,
    "fan_ins": (12, 40),
    "load": 0.4,
    "warmup": 200 * US,
    "cycles": 200 * US,
    "seeds": 3,
    "before": 50 * US,
    "during": 200 * US,
    "after": 250 * US,
    "bin": 5 * US,
    "moves": (10 * US, 40 * US, 160 * US),
    "loads": (0.3, 0.5, 0.7, 0.9, 1.0),
    "ranks": 16,
    "kilobytes": 256,
}

_SMOKE: dict[str, Any] = {
    **_SMALL,
    "scale": Scale.SMOKE,
    "levels": 2,
    "fan_ins": (6, 10),
    "warmup": 4 * US,
    "cycles": 4 * US,
    "seeds": 1,
    "before": 4 * US,
    "during": 8 * US,
    "after": 8 * US,
    "bin": US,
    "moves": (2 * US,),
    "loads": (0.5, 1.0),
    "ranks": 6,
    "kilobytes": 8,
}

_PAPER: dict[str, Any] = {
    **_SMALL,
    "scale": Scale.PAPER,
    "arity": 8,
    "h": 4,
    "q": 7,
}


def setting(scale: Scale) -> Setting:
    """The setting of a scale."""
    return Setting(**{Scale.SMOKE: _SMOKE, Scale.SMALL: _SMALL, Scale.PAPER: _PAPER}[scale])
