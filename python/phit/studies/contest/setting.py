"""The scales of the study: three networks, their memories, loads, cycles and seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phit.studies.kit.scale import Scale

Loads = tuple[float, ...]
"""Offered loads in phits/(endpoint·cycle)."""

DRAGONFLY, CLOS, TORUS = "Dragonfly", "folded Clos network", "torus"
NETWORKS = (DRAGONFLY, CLOS, TORUS)

UN, ADV, PERM, HOT = "UN", "ADV", "permutation", "hot spot"
"""Uniform traffic; the network's adversary; a permutation drawn at random; a hot spot beside uniform traffic."""

ADVH, ADVC, MIX = "ADV+h", "ADVc", "UN and ADV"
"""On a Dragonfly only: the group h further; the h groups behind one router; half of the packets uniform, half
adversarial."""

PATTERNS = (UN, ADV, PERM)
"""Patterns for which the whole curve is run, on every network."""

MORE_PATTERNS = {DRAGONFLY: (ADVH, ADVC, MIX)}
"""Further ones by network."""


def patterns(network: str) -> tuple[str, ...]:
    """The patterns for which the whole curve is run on a network."""
    return (*PATTERNS, *MORE_PATTERNS.get(network, ()))


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale."""

    scale: Scale
    h: int
    """Global links of a router of the Dragonfly, which is balanced: p = h endpoints and a = 2h routers in a group."""
    arity: int
    levels: int
    """Levels of the k-ary n-tree, which is the folded Clos network."""
    sides: tuple[int, ...]
    """Sides of the torus."""
    memory: Mapping[str, int]
    """Phits of an input port by network; `global_memory` is for ports behind global links of the Dragonfly."""
    global_memory: int
    warmup: int
    """Cycles before the measurement of a steady state."""
    cycles: int
    """Measured cycles of a steady state."""
    seeds: int
    """Seeds of steady states; each draws another permutation."""
    change_seeds: int
    """Seeds of changes of traffic."""
    uniform_loads: Loads
    adversarial_loads: Mapping[str, Loads]
    """Offered loads under the adversary, by network."""
    permutation_loads: Loads
    change_load: Mapping[str, float]
    """Offered load of the change of traffic by network: more than minimal routing can carry afterwards."""
    settle: int
    """Cycles of uniform traffic before a change is recorded."""
    before: int
    """Recorded cycles before the change."""
    after: int
    """Recorded cycles after the change."""
    bin: int
    """Cycles of a bin of the recording."""

    def loads(self, network: str) -> dict[str, Loads]:
        """The offered loads of every pattern on a network."""
        return {
            UN: self.uniform_loads,
            ADV: self.adversarial_loads[network],
            PERM: self.permutation_loads,
            HOT: (HALF,),
            **dict.fromkeys(MORE_PATTERNS.get(network, ()), self.adversarial_loads[network]),
        }


HALF = 0.5
"""Half of the load that an endpoint can send: for comparing latencies, and for the background of the hot spot."""

_SMALL: dict[str, Any] = {
    "scale": Scale.SMALL,
    "h": 3,
    "arity": 4,
    "levels": 3,
    "sides": (8, 8),
    "memory": {DRAGONFLY: 256, CLOS: 512, TORUS: 512},
    "global_memory": 512,
    "warmup": 2000,
    "cycles": 3000,
    "seeds": 3,
    "change_seeds": 16,
    "uniform_loads": (0.2, 0.5, 0.8, 1.0),
    "adversarial_loads": {
        DRAGONFLY: (0.1, 0.3, 0.5),
        CLOS: (0.2, 0.5, 0.8, 1.0),
        TORUS: (0.2, 0.4, 0.6),
    },
    "permutation_loads": (0.5, 1.0),
    "change_load": {DRAGONFLY: 0.2, CLOS: 0.4, TORUS: 0.35},
    "settle": 1500,
    "before": 500,
    "after": 3000,
    "bin": 20,
}

_SMOKE: dict[str, Any] = {
    **_SMALL,
    "scale": Scale.SMOKE,
    "h": 2,
    "arity": 2,
    "sides": (4, 4),
    "warmup": 200,
    "cycles": 300,
    "seeds": 1,
    "change_seeds": 1,
    "uniform_loads": (0.5, 1.0),
    "adversarial_loads": dict.fromkeys(NETWORKS, (0.2, 0.6)),
    "permutation_loads": (0.6,),
    "settle": 200,
    "before": 200,
    "after": 600,
}

_PAPER: dict[str, Any] = {
    **_SMALL,
    "scale": Scale.PAPER,
    "h": 6,
    "uniform_loads": (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "adversarial_loads": {
        DRAGONFLY: (0.1, 0.2, 0.3, 0.4, 0.45, 0.5),
        CLOS: (0.2, 0.4, 0.6, 0.8, 1.0),
        TORUS: (0.2, 0.3, 0.4, 0.5, 0.6),
    },
    "permutation_loads": (0.2, 0.4, 0.6, 0.8, 1.0),
    "arity": 8,
    "sides": (8, 8, 8),
    "memory": {DRAGONFLY: 512, CLOS: 512, TORUS: 512},
    "global_memory": 1024,
    "warmup": 5000,
    "cycles": 10_000,
    "change_seeds": 10,
    "settle": 3000,
    "after": 5000,
}


def setting(scale: Scale) -> Setting:
    """The setting of a scale."""
    return Setting(**{Scale.SMOKE: _SMOKE, Scale.SMALL: _SMALL, Scale.PAPER: _PAPER}[scale])
