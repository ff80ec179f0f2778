"""The scales of the study: networks, loads, times."""

from dataclasses import dataclass
from typing import Any

from phit.studies.kit.scale import Scale


@dataclass(frozen=True)
class Network:
    """A k-ary n-tree of table 5.1."""

    name: str
    """Its number in the report, as `#1`."""
    arity: int
    levels: int
    target: int
    """Destination of the single hot spot (table 5.2)."""
    end: int
    """Cycles of a run with a hot spot: until every scheme has recovered."""

    @property
    def endpoints(self) -> int:
        """Endpoints of the network."""
        return int(self.arity**self.levels)

    @property
    def switches(self) -> int:
        """Switches of the network."""
        return int(self.levels * self.arity ** (self.levels - 1))


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale. A cycle is a nanosecond, a phit a byte."""

    scale: Scale
    networks: tuple[Network, ...]
    loads: tuple[float, ...]
    """Offered loads of figure 5.1, as shares of the links."""
    warmup: int
    """Cycles before the measurement of a steady state."""
    cycles: int
    """Measured cycles of a steady state."""
    seeds: int
    version_seeds: int
    """Seeds of the comparison of FBICM's two versions, which differ by less than single runs do."""
    hot: tuple[int, int]
    """Cycles in which the hot spot begins and ends."""
    bin: int
    """Cycles of a bin of the figures over time."""
    scan_hot: tuple[int, int]
    """Cycles in which the hot spot of the threshold scan begins and ends."""
    scan_end: int
    scan: tuple[int, ...]
    """Thresholds in phits, for detection and for Stop."""
    io_seeds: int
    """Traces of I/O, one for each seed."""
    adaptive_seeds: int
    """Seeds of the comparison with adaptive routing."""
    io_seconds: float
    """Length of the I/O trace before its compression by 20, and of the run after it, in seconds."""
    frames: int
    """Cycles between two frames of the time-lapse while the tree grows; then five times as many."""

    @property
    def endpoints(self) -> int:
        """Endpoints of the largest network."""
        return max(network.endpoints for network in self.networks)

    @property
    def io_cycles(self) -> int:
        """Cycles of a run of the I/O trace."""
        return round(self.io_seconds / 20 * 1e6 * US)

    @property
    def window(self) -> tuple[int, int]:
        """When the hot spot begins and ends, in microseconds."""
        return self.hot[0] // US, self.hot[1] // US

    @property
    def moments(self) -> list[int]:
        """Cycles of the frames of the time-lapse, in the first network.

        Until the hot spot has been over for twice as long as it lasted, or the run ends.
        """
        begin, end = self.hot
        last = min(3 * end - 2 * begin, self.networks[0].end - self.frames)
        growth = begin + 10 * self.frames
        return [*range(begin - 2 * self.frames, growth, self.frames), *range(growth, last + 1, 5 * self.frames)]


US = 1000
"""Cycles of a microsecond."""

NET_1 = Network("#1", 4, 3, 32, 2000 * US)
NET_2 = Network("#2", 4, 4, 123, 3000 * US)

_FULL: dict[str, Any] = {
    "loads": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "warmup": 50 * US,
    "cycles": 100 * US,
    "seeds": 1,
    "version_seeds": 20,
    "hot": (1000 * US, 1300 * US),
    "bin": 10 * US,
    "scan_hot": (200 * US, 500 * US),
    "scan_end": 800 * US,
    "scan": (128, 256, 512, 1024),
    "io_seeds": 3,
    "adaptive_seeds": 3,
    "io_seconds": 0.04,
    "frames": 5 * US,
}

_SMOKE: dict[str, Any] = {
    **_FULL,
    "version_seeds": 1,
    "loads": (0.3, 1.0),
    "warmup": 5 * US,
    "cycles": 10 * US,
    "hot": (20 * US, 40 * US),
    "bin": 5 * US,
    "scan_hot": (10 * US, 25 * US),
    "scan_end": 40 * US,
    "scan": (256, 1024),
    "io_seeds": 1,
    "adaptive_seeds": 1,
    "io_seconds": 0.004,
    "frames": 2 * US,
}


def setting(scale: Scale) -> Setting:
    """The setting of a scale."""
    match scale:
        case Scale.SMOKE:
            return Setting(scale, (Network("#0", 4, 2, 9, 70 * US),), **_SMOKE)
        case Scale.SMALL:
            return Setting(scale, (NET_1,), **_FULL)
        case Scale.PAPER:
            return Setting(scale, (NET_1, NET_2), **_FULL)
