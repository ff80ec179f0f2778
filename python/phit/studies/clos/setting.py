"""The scales of the study: networks, loads and precision of the measurements."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phit.studies.kit.scale import Scale

Loads = tuple[float, ...]
"""Offered loads in flits/(endpoint·cycle)."""

HALF_WIDTH = 0.03
CONFIDENCE = 0.99
"""Latency and accepted load are measured to within 3 % with a confidence of 99 % (section 3.2)."""


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale."""

    scale: Scale
    radix: int
    """Ports of a router of the network with three stages."""
    large: int
    """Endpoints of the networks of figures 2 and 10a, in which the radix varies."""
    radices: tuple[int, ...]
    """Radices of these networks."""
    warmup: int
    """Cycles before the measurement."""
    cycles: int
    """Measured cycles at least."""
    most: int
    """Measured cycles at most, where the measurement is not precise enough before."""
    settled: int
    """Cycles before the measurement of figure 2, on latencies close to saturation, at least; see `warmup_of`."""
    full_warmup: int
    """Cycles before the measurement with infinite buffers at `FULL`, where queues take the longest to settle."""
    near_warmup: int
    """Cycles before the measurement of long packets near saturation, at `NEAR` and above (figures 14b and 16)."""
    near_cycles: int
    """Measured cycles of these runs."""
    large_warmup: int
    large_cycles: int
    """Cycles of warm-up of figure 10a, on throughput, at least, and measured cycles of the networks of `large`
    endpoints."""
    seeds: int
    close_seeds: int
    """Seeds of runs that decide by a few percent, or by values without an interval of their own: figures 5, 6 and 16,
    and one and two samples in figure 12."""
    loads: Loads
    """Offered loads of the latency curves."""
    few: Loads
    """Offered loads of figure 10b, for throughput."""
    large_loads: Loads
    """Offered loads of figure 10a."""
    fault_loads: Loads
    """Offered loads of figures 7b and 15."""
    long_fault_loads: Loads
    """Offered loads of figure 16, with long packets."""
    near: Mapping[int, Loads]
    """Offered loads near saturation of figure 14, by flits of a packet."""
    samples: tuple[int, ...]
    """Values of n in figure 12."""
    arrival_loads: Loads
    """Offered loads of figure 11."""
    arrival_cycles: int
    """Cycles in which its heads are counted, at least."""
    sizes: tuple[int, ...]
    """Packet sizes of figure 10b in flits."""
    bits: tuple[int, ...]
    """Bits of precision in figures 14 and 15."""

    @property
    def half(self) -> int:
        """Up-ports of a router, as many as down-ports."""
        return self.radix // 2

    @property
    def endpoints(self) -> int:
        """Endpoints of the network with three stages."""
        return self.half**2

    def warmup_of(self, radix: int) -> int:
        """Warm-up of the network of `large` endpoints and that radix: queues settle stage after stage.

        Greedy allocation at radix 4, with 23 stages, accepts 0.934 of a load of 0.98 after 500
        cycles, and 0.957 after 1,500. Latencies at 0.95 take longer: with less than 2,300 cycles (`settled`) single
        ratios of figure 2 are 0.03 off.
        """
        return max(self.large_warmup, SETTLING * stages(self.large, radix))


BUFFER = 16
"""Entries of an input buffer, where buffers are finite (section 3.2.2)."""

LONG = 10
"""Flits of the long packets of figures 14b and 16."""

NEAR = 0.45
"""Offered load from which on networks with long packets are near saturation, at 0.5 or so: queues take thousands of
cycles to settle there."""

SETTLING = 100
"""Cycles of warm-up for each stage of a network of many, at least."""

HISTOGRAM_LOAD = 0.9
"""Offered load of figures 5 and 12."""

_SMOKE: dict[str, Any] = {
    "scale": Scale.SMOKE,
    "radix": 16,
    "large": 64,
    "radices": (4, 8, 16),
    "warmup": 200,
    "cycles": 300,
    "most": 300,
    "settled": 200,
    "full_warmup": 200,
    "near_warmup": 200,
    "near_cycles": 300,
    "large_warmup": 200,
    "large_cycles": 300,
    "seeds": 1,
    "close_seeds": 1,
    "loads": (0.2, 0.8, 0.9, 0.95, 0.98),
    "few": (0.5, 0.98),
    "large_loads": (0.5, 0.98),
    "fault_loads": (0.3, 0.9),
    "long_fault_loads": (0.2, 0.4),
    "near": {1: (0.8,), LONG: (0.4,)},
    "arrival_loads": (0.2, 0.8),
    "arrival_cycles": 300,
    "samples": (1, 2, 8),
    "sizes": (1, 4),
    "bits": (0, 2, 4),
}

_SMALL: dict[str, Any] = {
    "scale": Scale.SMALL,
    "radix": 32,
    "large": 256,
    "radices": (4, 8, 16, 32),
    "warmup": 1500,
    "cycles": 2000,
    "most": 8000,
    "settled": 2300,
    "full_warmup": 5000,
    "near_warmup": 8000,
    "near_cycles": 4000,
    "large_warmup": 1500,
    "large_cycles": 2000,
    "seeds": 1,
    "close_seeds": 5,
    "loads": (0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98),
    "few": (0.3, 0.5, 0.7, 0.9, 0.98),
    "large_loads": (0.3, 0.5, 0.7, 0.9, 0.98),
    "long_fault_loads": (0.1, 0.2, 0.3, 0.35, 0.4, 0.43, 0.46, 0.5),
    "fault_loads": (0.1, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95),
    "near": {1: (0.75, 0.8, 0.83, 0.85), LONG: (0.4, 0.43, 0.46, 0.48, 0.49)},
    "arrival_loads": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
    "arrival_cycles": 1000,
    "samples": (1, 2, 3, 4, 8, 16),
    "sizes": (1, 2, 4, 8),
    "bits": (0, 1, 2, 3, 4),
}

_PAPER: dict[str, Any] = {
    "scale": Scale.PAPER,
    "radix": 64,
    "large": 4096,
    "radices": (4, 8, 16, 32, 64, 128),
    "warmup": 1000,
    "cycles": 1000,
    "most": 2500,
    "settled": 2300,
    "full_warmup": 5000,
    "near_warmup": 8000,
    "near_cycles": 4000,
    "large_warmup": 500,
    "large_cycles": 400,
    "seeds": 1,
    "close_seeds": 5,
    "loads": (0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98),
    "few": (0.5, 0.75, 0.98),
    "large_loads": (0.5, 0.98),
    "long_fault_loads": (0.1, 0.2, 0.3, 0.4, 0.43, 0.46, 0.48, 0.5),
    "fault_loads": (0.2, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95),
    "near": {1: (0.75, 0.8, 0.83, 0.85), LONG: (0.4, 0.43, 0.46, 0.48, 0.49)},
    "arrival_loads": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
    "arrival_cycles": 1000,
    "samples": (1, 2, 3, 4, 8, 16, 32),
    "sizes": (1, 2, 4, 8),
    "bits": (0, 1, 2, 3, 4),
}


def setting(scale: Scale) -> Setting:
    """The setting of a scale."""
    return Setting(**{Scale.SMOKE: _SMOKE, Scale.SMALL: _SMALL, Scale.PAPER: _PAPER}[scale])


def levels(endpoints: int, radix: int) -> tuple[list[int], list[int]]:
    """Down-ports and up-ports by level of a folded Clos network of routers of that radix, with few levels.

    All levels have as many ports up as down; the routers at the top have as many ports down as are needed.
    """
    half, below = radix // 2, 1
    while half ** (below + 1) < endpoints:
        below += 1
    top, rest = divmod(endpoints, half**below)
    if rest or top < 2:
        raise ValueError(f"{endpoints} endpoints: no folded Clos network of radix {radix}")
    return [half] * below + [top], [half] * below


def stages(endpoints: int, radix: int) -> int:
    """Stages of that network unfolded: 2x + 1 for x levels below the top."""
    return 2 * len(levels(endpoints, radix)[1]) + 1
