"""The scales of the study: network, thresholds, loads, cycles and seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phit.studies.kit.scale import Scale

Loads = tuple[float, ...]
"""Offered loads in phits/(endpoint·cycle)."""


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale."""

    scale: Scale
    p: int
    """Endpoints of a router."""
    a: int
    """Routers of a group."""
    h: int
    """Global links of a router."""
    thresholds: Mapping[str, Mapping[str, int]]
    """Contention thresholds by mechanism (Table I; at other sizes by the rule of section VI-A)."""
    warmup: int
    """Cycles before the measurement of a steady state."""
    cycles: int
    """Measured cycles of a steady state."""
    seeds: int
    """Seeds of steady states."""
    transient_seeds: int
    """Seeds of transients."""
    uniform_loads: Loads
    adversarial_loads: Loads
    minimal_loads: Loads
    """Loads of minimal routing under adversarial traffic, where it saturates at 1/(a·p)."""
    lowest_loads: Loads
    """Loads of ADV+1 around 1/(a·p), the load at which the single link to the next group is full."""
    uniform_shares: tuple[int, ...]
    """Percent of uniform traffic in the mixes of figure 6, without the pure patterns."""
    swept_thresholds: tuple[int, ...]
    """Thresholds of Base in figure 10."""
    threshold_uniform_loads: Loads
    threshold_adversarial_loads: Loads
    settle: int
    """Cycles of uniform traffic before a transient is recorded."""
    before: int
    """Recorded cycles before the change of traffic."""
    after: int
    """Recorded cycles after the change."""
    bin: int
    """Cycles in a bin of the transients: the only smoothing besides the mean over seeds."""

    @property
    def endpoints(self) -> int:
        """Endpoints of the network."""
        return self.p * self.a * (self.a * self.h + 1)

    @property
    def change(self) -> int:
        """The cycle in which the traffic changes; in this cycle ECtN sends its counters (section V-B)."""
        return self.settle + self.before


PERIOD = 100
"""Cycles between two updates of ECtN's partial counters (Table I)."""

_SMOKE: dict[str, Any] = {
    "scale": Scale.SMOKE,
    "p": 2,
    "a": 4,
    "h": 2,
    "thresholds": {
        "Base": {"threshold": 3},
        "Hybrid": {"threshold": 4},
        "ECtN": {"threshold": 3, "combined_threshold": 3},
    },
    "warmup": 500,
    "cycles": 1500,
    "seeds": 1,
    "transient_seeds": 1,
    "uniform_loads": (0.1, 0.5, 1.0),
    "adversarial_loads": (0.05, 0.2, 0.5),
    "minimal_loads": (0.05, 0.2),
    "lowest_loads": (0.05, 0.2),
    "uniform_shares": (50,),
    "swept_thresholds": (3, 6, 12),
    "threshold_uniform_loads": (0.5, 1.0),
    "threshold_adversarial_loads": (0.05, 0.3),
    "settle": 500,
    "before": 300,
    "after": 1500,
    "bin": 20,
}

_SMALL: dict[str, Any] = {
    "scale": Scale.SMALL,
    "p": 4,
    "a": 8,
    "h": 4,
    "thresholds": {
        "Base": {"threshold": 4},
        "Hybrid": {"threshold": 5},
        "ECtN": {"threshold": 4, "combined_threshold": 5},
    },
    "warmup": 4000,
    "cycles": 8000,
    "seeds": 1,
    "transient_seeds": 5,
    "uniform_loads": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "adversarial_loads": (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    "minimal_loads": (0.01, 0.02, 0.03, 0.05),
    "lowest_loads": (0.01, 0.02, 0.03, 0.04, 0.05),
    "uniform_shares": (20, 40, 60, 80),
    "swept_thresholds": tuple(range(3, 13)),
    "threshold_uniform_loads": (0.3, 0.6, 0.8, 1.0),
    "threshold_adversarial_loads": (0.05, 0.1, 0.2, 0.3, 0.4),
    "settle": 3000,
    "before": 500,
    "after": 5000,
    "bin": 5,
}

_PAPER: dict[str, Any] = {
    "scale": Scale.PAPER,
    "p": 8,
    "a": 16,
    "h": 8,
    "thresholds": {
        "Base": {"threshold": 6},
        "Hybrid": {"threshold": 7},
        "ECtN": {"threshold": 6, "combined_threshold": 10},
    },
    "warmup": 5000,
    "cycles": 15_000,
    "seeds": 3,
    "transient_seeds": 10,
    "uniform_loads": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0),
    "adversarial_loads": (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55),
    "minimal_loads": (0.004, 0.006, 0.01, 0.05),
    "lowest_loads": (0.004, 0.006, 0.0075, 0.01, 0.02),
    "uniform_shares": (20, 40, 60, 80),
    "swept_thresholds": tuple(range(3, 13)),
    "threshold_uniform_loads": (0.3, 0.6, 0.8, 1.0),
    "threshold_adversarial_loads": (0.1, 0.2, 0.3, 0.4),
    "settle": 3000,
    "before": 500,
    "after": 5000,
    "bin": 5,
}


def setting(scale: Scale) -> Setting:
    """The setting of a scale."""
    return Setting(**{Scale.SMOKE: _SMOKE, Scale.SMALL: _SMALL, Scale.PAPER: _PAPER}[scale])
