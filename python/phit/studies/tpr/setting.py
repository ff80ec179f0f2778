"""The scales of the study: network, loads, cycles and seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phit.studies.kit.scale import Scale

Loads = tuple[float, ...]
"""Offered loads in packets/(endpoint·cycle), of one phit each."""

UR, ADV = "UR", "ADV"
"""Uniform traffic, and all traffic of router i to router i + 1 (section IV-C)."""


def nlc(uniform: int) -> str:
    """The name of a node-level mix: each packet is uniform with this probability, in percent."""
    return f"NLC({uniform},{100 - uniform})"


def rlc(uniform: int) -> str:
    """The name of a router-level mix, by the percentage of routers that send uniform traffic."""
    return f"RLC({uniform},{100 - uniform})"


MIXES = (50, 20, 80)
"""Percent of uniform traffic in figures 4 to 6 and 7 to 9."""


@dataclass(frozen=True)
class Setting:
    """Everything that depends on the scale."""

    scale: Scale
    rows: int
    columns: int
    column_links: int
    endpoints_per_router: int
    warmup: int
    """Cycles before the measurement."""
    cycles: int
    """Measured cycles."""
    seeds: int
    loads: Mapping[str, Loads]
    """By pattern: the loads of the adaptive mechanisms."""
    valiant_uniform: Loads
    """Loads of VLB under UR, half of which it carries."""
    valiant_mixed: Loads
    """Loads of VLB in mixes, to which it is blind."""
    minimal_adversarial: Loads
    """Loads of MIN under ADV, where it saturates at one packet per cycle and router."""
    minimal_mixed: Loads
    """Loads of MIN in mixes."""
    search_warmup: int
    """Cycles before the measurement of the search for a reading."""
    search_cycles: int
    edge: Loads
    """Loads around saturation of UGAL-L and TPR in the mix of claim T12, on a fine grid."""
    counted: Loads
    """Loads of tables I and II."""
    scan: Mapping[str, Loads]
    """Loads at which `thr` is scanned, by pattern; windows are compared at the loads of mixes, too."""
    thresholds: tuple[float, ...]
    """The values of `thr` that are scanned."""
    windows: tuple[int, ...]
    """Lengths of the counters' window that are compared, in cycles."""
    groups: int
    """Groups of the full Cascade."""
    group_rows: int
    group_columns: int
    group_global_ports: int
    group_endpoints: int
    group_warmup: int
    """Cycles before the measurement of the full Cascade, whose global links take 100."""
    group_cycles: int
    group_seeds: int
    group_loads: Mapping[str, Loads]
    """By pattern: loads of the full Cascade."""

    @property
    def routers(self) -> int:
        """Routers of the group."""
        return self.rows * self.columns

    @property
    def endpoints(self) -> int:
        """Endpoints of the group."""
        return self.routers * self.endpoints_per_router


def _loads(
    uniform: Loads, adversarial: Loads, half: Loads, more_adversarial: Loads, more_uniform: Loads
) -> dict[str, Loads]:
    by_share = dict(zip(MIXES, (half, more_adversarial, more_uniform), strict=True))
    mixes = {name(share): loads for name in (nlc, rlc) for share, loads in by_share.items()}
    return {UR: uniform, ADV: adversarial, **mixes}


_SMOKE: dict[str, Any] = {
    "scale": Scale.SMOKE,
    "rows": 2,
    "columns": 4,
    "column_links": 3,
    "endpoints_per_router": 5,
    "warmup": 200,
    "cycles": 400,
    "seeds": 1,
    "loads": _loads((0.05, 0.8, 1.0), (0.05, 0.4, 0.5), (0.05, 0.6), (0.05, 0.6), (0.05, 0.9)),
    "valiant_uniform": (0.05, 0.6),
    "valiant_mixed": (0.1, 0.6),
    "minimal_adversarial": (0.05, 0.25),
    "minimal_mixed": (0.1, 0.5),
    "search_warmup": 200,
    "search_cycles": 400,
    "edge": (0.6, 0.9),
    "counted": (0.1, 0.44, 0.9),
    "scan": {UR: (0.8,), nlc(50): (0.1,)},
    "thresholds": (0.0, 0.5, 1.5),
    "windows": (16, 128),
    "groups": 3,
    "group_rows": 2,
    "group_columns": 3,
    "group_global_ports": 2,
    "group_endpoints": 2,
    "group_warmup": 300,
    "group_cycles": 400,
    "group_seeds": 1,
    "group_loads": {UR: (0.2,), ADV: (0.2,), nlc(50): (0.2,)},
}

_SMALL: dict[str, Any] = {
    **_SMOKE,
    "scale": Scale.SMALL,
    "rows": 3,
    "columns": 8,
    "column_links": 3,
    "endpoints_per_router": 9,
    "warmup": 2000,
    "cycles": 4000,
    "loads": _loads(
        (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0),
        (0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5),
        (0.05, 0.1, 0.2, 0.4, 0.5, 0.6, 0.7),
        (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        (0.05, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8),
    ),
    "valiant_uniform": (0.05, 0.2, 0.4, 0.5),
    "valiant_mixed": (0.1, 0.3, 0.5),
    "minimal_adversarial": (0.05, 0.1, 0.15),
    "minimal_mixed": (0.05, 0.1, 0.3),
    "edge": tuple(round(0.6 + 0.02 * i, 2) for i in range(11)),
    "scan": {UR: (0.4, 0.8, 1.0), ADV: (0.05, 0.1), nlc(50): (0.1, 0.2)},
    "thresholds": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5),
    "windows": (16, 64, 128, 512),
    "groups": 5,
    "group_columns": 4,
    "group_rows": 3,
    "group_global_ports": 3,
    "group_endpoints": 3,
    "group_warmup": 3000,
    "group_cycles": 3000,
    "group_seeds": 3,
    "group_loads": {UR: (0.1, 0.4, 0.7), ADV: (0.1, 0.3, 0.5), nlc(50): (0.1, 0.4, 0.6)},
}

_PAPER: dict[str, Any] = {
    **_SMALL,
    "scale": Scale.PAPER,
    "rows": 6,
    "columns": 16,
    "column_links": 3,
    "endpoints_per_router": 18,
    "warmup": 10_000,
    "cycles": 50_000,
    "search_warmup": 600,
    "search_cycles": 800,
    "loads": _loads(
        (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.85, 0.9),
        (0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.42, 0.44, 0.48),
        (0.05, 0.1, 0.2, 0.4, 0.5, 0.55, 0.6),
        (0.05, 0.1, 0.2, 0.4, 0.45, 0.5),
        (0.05, 0.1, 0.15, 0.2, 0.4, 0.6, 0.7, 0.75, 0.8, 0.85),
    ),
    "valiant_uniform": (0.05, 0.1, 0.2, 0.3, 0.4, 0.48),
    "valiant_mixed": (0.1, 0.3, 0.48),
    "edge": tuple(round(0.68 + 0.01 * i, 2) for i in range(10)),
    "scan": {UR: (0.9,), nlc(80): (0.1, 0.2), nlc(50): (0.05,)},
    "thresholds": (0.0, 0.5, 1.0, 1.4),
    "windows": (32, 128, 512),
    "minimal_adversarial": (0.02, 0.05, 0.055, 0.06),
    "minimal_mixed": (0.05, 0.1, 0.2),
    "groups": 9,
    "group_rows": 4,
    "group_columns": 6,
    "group_global_ports": 4,
    "group_endpoints": 4,
}


def setting(scale: Scale) -> Setting:
    """The setting of a scale."""
    return Setting(**{Scale.SMOKE: _SMOKE, Scale.SMALL: _SMALL, Scale.PAPER: _PAPER}[scale])
