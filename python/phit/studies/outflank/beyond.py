"""What the paper does not show: other parameters, other networks, recorded traffic."""

from functools import cache

from phit import traces
from phit.scenario import Document
from phit.studies.kit.plan import Case, Labels
from phit.studies.outflank import model
from phit.studies.outflank.cases import author, seeds_of
from phit.studies.outflank.model import AUTHOR, PAPER
from phit.studies.outflank.numbers import ROUTINGS
from phit.studies.outflank.setting import Setting

VARIANTS: dict[str, Document] = {
    **{f"eta {eta:g}": {"eta": eta} for eta in (0.5, 1.0, 2.0, 4.0)},
    **{f"Delta {delta}": {"delta": delta} for delta in (1, 3)},
    "Delta d/4": {"delta_share": 0.25},
    "Delta d/2": {"delta_share": 0.5},
}
"""Other parameters of OFR; those of the paper are eta 2 and Delta 2."""

SENSITIVITY_LOADS = (0.4, 0.7)
"""Well below gamma* of OFR under uniform traffic at k = 8, and at it."""


def sensitivity(setting: Setting, seeds: int | None) -> list[Case]:
    """OFR with other parameters, under uniform traffic, whose packets have all distances; by both readings' rules."""
    found = []
    for rules in (AUTHOR, PAPER):
        for name, change in VARIANTS.items():
            for gamma in SENSITIVITY_LOADS:
                for seed in seeds_of(seeds, setting.seeds):
                    case = author(setting, "Uniform", "OFR", setting.sides[0], gamma, seed)
                    routing = {**model.ROUTINGS[rules]["OFR"], **change}
                    labels: Labels = {**case.labels, "rules": rules, "variant": name}
                    found.append(Case(labels, {**case.scenario, "routing": routing}))
    return found


NETWORKS: dict[str, Document] = {
    "mesh 8 x 8 x 8": {"kind": "mesh", "dims": [8, 8, 8]},
    "torus 16 x 16": {"kind": "torus", "dims": [16, 16]},
    "torus 4 x 4 x 4 x 4 x 2": {"kind": "torus", "dims": [4, 4, 4, 4, 2]},
    "torus 4 x 4 x 4 x 2 x 3 x 2": {"kind": "torus", "dims": [4, 4, 4, 2, 3, 2]},
}
"""Those of five and six dimensions have the shapes of BlueGene/Q's and the K computer's."""

LOADS = (0.2, 0.4, 0.6, 0.8)


def _steady(
    setting: Setting, topology: Document, pattern: Document, rule: Document, gamma: float, seed: int
) -> Document:
    # On a mesh the bisection carries half as much, so that messages are twice as far apart.
    period = model.message_cycles(topology["dims"], gamma, setting.packets, PAPER) * (1 + (topology["kind"] == "mesh"))
    return model.steady(
        topology,
        pattern,
        rule,
        gamma,
        warmup=round(setting.settling * period),
        cycles=round(setting.measured * period),
        seed=seed,
        packets=setting.packets,
        switching="virtual_cut_through",
    )


def _rule(topology: Document, routing: str) -> Document:
    rule = model.ROUTINGS[PAPER][routing]
    return {**rule, "idns": "outflank"} if (topology["kind"], routing) == ("mesh", "OFR") else rule


def networks(setting: Setting, seeds: int | None) -> list[Case]:
    """Other networks under virtual cut-through."""
    found = []
    for name, topology in NETWORKS.items():
        for routing in ROUTINGS:
            if (topology["kind"], routing) == ("mesh", "POR"):
                continue
            for gamma in LOADS:
                for seed in seeds_of(seeds, setting.seeds):
                    labels: Labels = {
                        "reading": PAPER,
                        "network": name,
                        "routing": routing,
                        "load": gamma,
                        "seed": seed,
                    }
                    scenario = _steady(setting, topology, {"kind": "uniform"}, _rule(topology, routing), gamma, seed)
                    found.append(Case(labels, scenario))
    return found


MESH_ETAS = (2.0, 0.5, 0.1)
"""The paper's weight of the dilation, and smaller ones."""

MESH_PATTERNS = ("Uniform", "3D Transposition")

MESH_LOADS = (0.4, 0.8)


def mesh(setting: Setting, seeds: int | None) -> list[Case]:
    """On a mesh, whether a smaller weight of the dilation makes OutFlank IDNs of use."""
    topology = NETWORKS["mesh 8 x 8 x 8"]
    rules = {
        "ABR": model.ROUTINGS[PAPER]["ABR"],
        **{f"OFR, eta {eta:g}": {**_rule(topology, "OFR"), "eta": eta} for eta in MESH_ETAS},
    }
    return [
        Case(
            {"reading": PAPER, "pattern": pattern, "load": gamma, "variant": name, "routing": name[:3], "seed": seed},
            _steady(setting, topology, model.PATTERNS[pattern], rule, gamma, seed),
        )
        for pattern in MESH_PATTERNS
        for gamma in MESH_LOADS
        for name, rule in rules.items()
        for seed in seeds_of(seeds, setting.seeds)
    ]


COMPRESSIONS = (40, 80, 160)
"""By so much the times of the trace are divided, which raises the load."""

TRACE_SECONDS = 0.04
"""Of the trace at the highest compression; at a lower one so much less of it is sent, in the same time."""


@cache
def _messages(seed: int, endpoints: int, compression: int) -> list[list[int]]:
    """Block I/O of as many hosts as disks, in cycles and phits of the author's node."""
    seconds = TRACE_SECONDS * compression / COMPRESSIONS[-1]
    requests = traces.bursty(seed=seed, hosts=endpoints // 2, disks=endpoints // 2, seconds=seconds)
    per_nanosecond, per_byte = model.PER_MICROSECOND[AUTHOR] / 1000, model.PHITS_PER_BYTE
    timed = [
        [round(time * per_nanosecond / compression), source, to, size * per_byte]
        for time, source, to, size in traces.block_io_messages(requests, endpoints)
    ]
    return sorted(timed, key=lambda message: message[0])


def recorded(setting: Setting, seeds: int | None) -> list[Case]:
    """Bursty block I/O in the author's node, until everything is delivered: the paper's future work."""
    found = []
    k = setting.sides[0]
    for compression in COMPRESSIONS:
        for routing in ROUTINGS:
            for seed in seeds_of(seeds, setting.seeds):
                case = author(setting, "Uniform", routing, k, 0.1, seed)
                traffic = {
                    "load": 0.0,
                    "packet_size": case.scenario["traffic"]["packet_size"],
                    "trace": _messages(seed, k**3, compression),
                }
                cycles = round(TRACE_SECONDS / COMPRESSIONS[-1] * 1e6 * model.PER_MICROSECOND[AUTHOR]) + 1
                measure = {**case.scenario["measure"], "cycles": cycles}
                labels: Labels = {
                    "reading": AUTHOR,
                    "compression": compression,
                    "routing": routing,
                    "seed": seed,
                }
                found.append(Case(labels, {**case.scenario, "traffic": traffic, "measure": measure}))
    return found
