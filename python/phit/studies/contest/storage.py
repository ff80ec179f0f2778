"""State of the mechanisms in a router besides packets, by the cost models of their studies."""

import math
from collections.abc import Mapping
from typing import Any

from phit.document import Document
from phit.studies import registry
from phit.studies.contest.networks import PHITS, Contestant, Network
from phit.studies.contest.question import UNIFORM, scenario

COUNTED = {
    "piggyback": "PB",
    "src_adp": "PB",
    "pb_acor": "PB",
    "contention_base": "Base",
    "contention_hybrid": "Hybrid",
    "ectn": "ECtN",
}
"""Names of routing kinds in the cost model of the contention study. Those with flags of global links share PB's."""

STATES = (3, 60, 100)
"""States of a router in ACOR, the most repeated decisions that it counts, and the cycles of a period: the defaults."""

ALLOCATIONS = {"sequential", "greedy", "sequential_r", "greedy_r"}

WHOLE_NETWORK = {"ugal_g"}
"""Routings that know the state of other routers at once, which no storage provides."""


def state_bits(on: Network, of: Contestant) -> float:
    """Bits of state of a router besides packets, credits and tables; infinite if it needs knowledge that no router has.

    Contention counters and PB's flags are counted by the cost model `contention`, and ACOR's states and the
    probabilities of QCN-Switch here. The state of outputs that a Clos router brings to its inputs is counted by `clos`,
    and FBICM's memories by `fbicm`.
    """
    kind = of.routing["kind"]
    if kind in WHOLE_NETWORK:
        return math.inf
    document = scenario(on, of, {"pattern": UNIFORM, "load": 0.1}, {}, 1)
    if of.queueing["kind"] == "fbicm":
        return _memories(on, of, document)
    states = _states(of)
    if kind in COUNTED:
        rows = _model("contention", document)["storage"]
        return float(sum(row["bits"] for row in rows if row["mechanism"] == COUNTED[kind]) + states)
    if kind == "contention_grid":
        return float(on.ports * int(of.routing["threshold"]).bit_length())
    if kind == "clos" and of.routing["allocation"] in ALLOCATIONS:
        return _allocation(on, of, document)
    if kind == "tpr":
        return _windows(on, of)
    if kind == "qcn_switch":
        return _probabilities(on)
    return float(states)


SAMPLE_BASE, RECOVERY = 50, 800
"""Cycles and packets between two samples of QCN-Switch, and phits between two steps of recovery: the defaults."""


def _probabilities(on: Network) -> float:
    """Of each port to a router a probability in percent, the phits since it rose, and the last sample with its age."""
    memory = max(phits for _, phits in on.links.values())
    bits = sum(most.bit_length() for most in (100, RECOVERY, memory, SAMPLE_BASE))
    return float((on.ports - on.topology["p"]) * bits)


def _states(of: Contestant) -> int:
    """The state of a router in ACOR, with its counters of decisions and of cycles; 0 if packets have the state."""
    kept = of.routing.get("states", {}).get("per") == "router"
    states, decisions, cycles = STATES
    return (states - 1).bit_length() + decisions.bit_length() + cycles.bit_length() if kept else 0


def _model(study: str, document: Document) -> Mapping[str, Any]:
    return registry.cost_model(study)(document).to_dict()


def _memories(on: Network, of: Contestant, document: Document) -> float:
    """CAMs of all virtual channels of all input ports."""
    lines = _model("fbicm", document)
    per_channel = 8 * lines["rows"][0]["new"]
    channels = sum(of.channels[name] * count for name, count in _inputs(on).items()) + _endpoint_ports(on)
    return float(channels * per_channel)


def _inputs(on: Network) -> dict[str, int]:
    """Input ports of a router by class of link, without those of endpoints."""
    if on.topology["kind"] == "dragonfly":
        return {"local": on.topology["a"] - 1, "global": on.topology["h"]}
    if on.topology["kind"] == "torus":
        return dict.fromkeys(on.links, 2)
    # Routers at the top have no upward ports, and routers at the bottom have endpoints below, so a middle router is
    # counted.
    return {next(iter(on.links)): 2 * on.topology["arity"]}


def _endpoint_ports(on: Network) -> int:
    return on.ports - sum(_inputs(on).values())


def _allocation(on: Network, of: Contestant, document: Document) -> float:
    """The state of upward outputs that is brought to the deciding inputs; counters instead of fills."""
    arity = on.topology["arity"]
    graph = {"kind": "clos", "down": [arity] * on.topology["levels"], "up": [arity] * (on.topology["levels"] - 1)}
    name = of.routing["allocation"] + ("(2)" if "samples" in of.routing else "")
    if of.routing.get("measure") == "contention":
        return float(arity * (2 * arity).bit_length())
    rows = _model("clos", {**document, "topology": graph})["by_radix"]
    return float(next(row["state_bits"] for row in rows if row["algorithm"] == name))


def _windows(on: Network, of: Contestant) -> float:
    """A counter for every destination and for every port to a router, each large enough for the packets of a window."""
    p, a, h = (on.topology[key] for key in ("p", "a", "h"))
    window = of.routing["window"] // PHITS
    sent, through = (math.ceil(math.log2(most + 1)) for most in (p * window, window))
    other_groups, other_routers = a * h, a - 1
    return float((other_groups + other_routers) * sent + (on.ports - p) * through)
