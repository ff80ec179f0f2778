"""The routing mechanisms of the paper: what `[routing]` says, and the virtual channels of local links.

The options that the paper leaves open are those of the simulator that made its figures: a counter at the threshold
triggers, Hybrid's candidates need room only, ECtN's are chosen by the router's own counters.
"""

from dataclasses import dataclass, field
from typing import Any

from phit.scenario import Document
from phit.studies.contention.setting import PERIOD, Setting


@dataclass(frozen=True)
class Mechanism:
    """A mechanism as the paper uses it."""

    routing: Document = field(repr=False)
    local_vcs: int = 3
    """Virtual channels of local links (Table I)."""
    large_buffers: Document = field(default_factory=dict)
    """Changes of `routing` with the large buffers of figure 8. The paper tunes OLM there but does not say how."""


RESTRICTION: Document = {"coefficient": 1.5, "packets": 5}
"""Packets of OLM and Hybrid leave a minimal global port because of credits only if it is occupied this much more than
the mean of its router's global ports. The paper does not name this; it is the default of its simulator."""

PB_COEFFICIENT = 1.0
"""PB flags a global link that holds more than this times the mean of its router's, plus T packets. The paper gives
T = 3 alone. The default of its simulator is 2; with it PB accepts 0.28 under ADV+1 at 0.35 (p = 8), where the paper
shows it slightly behind VAL."""

MECHANISMS = {
    "MIN": Mechanism({"kind": "minimal"}),
    "VAL": Mechanism({"kind": "valiant", "second_half": "next"}, local_vcs=4),
    "PB": Mechanism(
        {
            "kind": "piggyback",
            "coefficient": PB_COEFFICIENT,
            "local_threshold": 3,
            "global_threshold": 3,
            "second_half": "next",
        },
        local_vcs=4,
    ),
    "OLM": Mechanism({"kind": "olm", "threshold": 0.5, "restriction": RESTRICTION}),
    "Base": Mechanism({"kind": "contention_base", "comparison": "reaches"}),
    "Hybrid": Mechanism(
        {
            "kind": "contention_hybrid",
            "credit_threshold": 0.35,
            "comparison": "reaches",
            "candidates": "any",
            "restriction": RESTRICTION,
        },
    ),
    "ECtN": Mechanism(
        {"kind": "ectn", "period": PERIOD, "comparison": "reaches", "candidates": "local", "updates": "free"},
    ),
}
"""In the order of the paper's legends."""

COUNTERS = ("Base", "Hybrid", "ECtN")
"""The mechanisms with contention counters."""

ADAPTIVE = ("PB", "OLM", *COUNTERS)

PROBE: Document = {"kind": "counters", "every": 100}
"""`[measure] probes`: the mean contention counter over all output ports, every so many cycles."""


def routing(name: str, setting: Setting, **changes: Any) -> Document:
    """The `[routing]` of a mechanism at a scale."""
    return {**MECHANISMS[name].routing, **setting.thresholds.get(name, {}), **changes}
