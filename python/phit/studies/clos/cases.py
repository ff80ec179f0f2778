"""The router of the study, and the runs of every figure."""

from collections.abc import Iterable, Mapping
from typing import Any

from phit.scenario import Document
from phit.studies.clos.setting import (
    BOUNDED_LOAD,
    BUFFER,
    CONFIDENCE,
    HALF_WIDTH,
    HISTOGRAM_LOAD,
    LONG,
    RATIO_LOAD,
    SNAPSHOT_LOAD,
    UNBOUNDED_LOAD,
    Setting,
    levels,
    stages,
)
from phit.studies.kit.plan import Case, Labels

INFINITE = "infinite"

SPEEDUP = 4
"""Flits that an output takes in a cycle, each from another input. With 4 and FIFO inputs a switch of many ports accepts
0.996 of the full load under uniform traffic, with 3 no more than 0.976."""

CREDIT_DELAY = 2
"""Cycles from a flit's leaving a buffer to the use of its credit. The paper does not give it; 16 entries cover it."""

WORST = "worst_case_uniform"

ALGORITHMS: Mapping[str, Document] = {
    "oblivious": {"allocation": "oblivious"},
    "sequential": {"allocation": "sequential"},
    "greedy": {"allocation": "greedy"},
    "sequential_r(2)": {"allocation": "sequential_r", "samples": 2},
    "greedy_r(2)": {"allocation": "greedy_r", "samples": 2},
}
"""What `[routing]` says besides the kind, by the paper's names."""

EARLY = 0.7
"""Up to this load greedy allocation, which saturates early, is run at every load, and then at the highest."""

COMPARED = ("oblivious", "sequential")
"""What section 3 compares: ideal adaptive routing is the sequential allocation."""


def router(buffer: int | str, flits: int) -> Document:
    """An input-queued router of one cycle and one channel, whose crossbar does not limit the network (section 3.2).

    Whole packets are switched where buffers hold any number of them, so that an output takes several at once; of the
    long packets not two fit into 16 entries: these are switched flit by flit.
    """
    whole = flits == 1 or buffer == INFINITE
    return {
        "latency": 1,
        "clock": "crossbar",
        "speedup": SPEEDUP,
        "inputs": "link",
        "cut_through": "input",
        "switching": "virtual_cut_through" if whole else "wormhole",
        "credit_delay": CREDIT_DELAY,
        "links": {
            "default": {"latency": 0, "vcs": 1, "buffer": buffer},
            "endpoint": {"latency": 0, "vcs": 1, "buffer": INFINITE},
        },
    }


def topology(endpoints: int, radix: int) -> Document:
    """A folded Clos network."""
    down, up = levels(endpoints, radix)
    return {"kind": "clos", "down": down, "up": up}


def network(setting: Setting) -> Document:
    """What most runs share."""
    return {"topology": topology(setting.endpoints, setting.radix)}


def faults(setting: Setting) -> list[tuple[int, int]]:
    """Half as many faulty links as a router has ports down: pairs of a first-level router and a middle-stage one.

    Half of them are links of the first router of the middle stage (R32), half of the second (R33).
    """
    count = setting.half // 2
    return [(leaf, 0 if leaf < count // 2 else 1) for leaf in range(count)]


def faulty(setting: Setting) -> Document:
    """The network with these links faulty."""
    links = [[leaf, setting.half + middle] for leaf, middle in faults(setting)]
    return {**topology(setting.endpoints, setting.radix), "faults": {"links": links}}


def scenario(
    setting: Setting,
    algorithm: str,
    load: float,
    seed: int,
    *,
    buffer: int | str = INFINITE,
    pattern: str | Document = WORST,
    flits: int = 1,
    network: Document | None = None,
    measure: Document | None = None,
    **routing: Any,
) -> Document:
    """One run; further arguments are keys of `[routing]`."""
    return {
        "seed": seed,
        "topology": network or topology(setting.endpoints, setting.radix),
        "router": router(buffer, flits),
        "routing": {"kind": "clos", "decide": "cycle", **ALGORITHMS[algorithm], **routing},
        "traffic": {"pattern": pattern, "process": "bernoulli", "load": load, "packet_size": flits},
        "measure": {
            "warmup": setting.warmup,
            "cycles": setting.cycles,
            "count": "generated",
            "confidence": CONFIDENCE,
            "until": {"half_width": HALF_WIDTH, "confidence": CONFIDENCE, "max_cycles": setting.most},
            "max_drain": setting.cycles,
            **(measure or {}),
        },
    }


def throughput(warmup: int, cycles: int) -> Document:
    """`[measure]` of runs that look at accepted loads: nothing is drained."""
    return {"warmup": warmup, "cycles": cycles, "count": "delivered", "until": {"max_cycles": cycles}}


def _seeds(setting: Setting, given: int | None) -> Iterable[int]:
    return range(1, (setting.seeds if given is None else given) + 1)


def _curves(
    setting: Setting, seeds: int | None, names: Iterable[str], loads: Iterable[float], labels: Labels, **keys: Any
) -> list[Case]:
    return [
        Case({"mechanism": name, **labels, "load": load, "seed": seed}, scenario(setting, name, load, seed, **keys))
        for name in names
        for load in loads
        for seed in _seeds(setting, seeds)
    ]


def ratios(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 2: adaptive and oblivious latency over the number of stages, the fewest and cheapest first."""
    found = []
    for radix in reversed(setting.radices):
        labels: Labels = {"radix": radix, "stages": stages(setting.large, radix)}
        measure: Document = {"warmup": setting.warmup_of(radix), "cycles": setting.large_cycles}
        measure |= {
            "until": {"half_width": HALF_WIDTH, "confidence": CONFIDENCE, "max_cycles": 2 * setting.large_cycles}
        }
        keys = {"network": topology(setting.large, radix), "measure": measure}
        found += _curves(setting, seeds, COMPARED, [RATIO_LOAD], labels, **keys)
    return found


PANELS: Mapping[str, tuple[str, int | str]] = {
    "a": (WORST, INFINITE),
    "b": (WORST, BUFFER),
    "c": ("bit_reverse", INFINITE),
    "d": ("bit_complement", INFINITE),
}
"""Pattern and buffers of the panels of figure 4."""


def comparisons(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 4: adaptive and oblivious latency against load."""
    found = []
    for panel, (pattern, buffer) in PANELS.items():
        found += _curves(setting, seeds, COMPARED, setting.loads, {"panel": panel}, pattern=pattern, buffer=buffer)
    return found


def histograms(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5: the distribution of latencies."""
    return _curves(setting, seeds, COMPARED, [HISTOGRAM_LOAD], {})


def snapshots(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 6: the fullest buffer of every middle-stage router."""
    probe = {"kind": "fullest_buffers", "every": 50, "by_router": True}
    keys = {"buffer": BUFFER, "measure": {"probes": [probe]}}
    return _curves(setting, seeds, COMPARED, [SNAPSHOT_LOAD], {}, **keys)


def deterministic(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 7a: half of the traffic is routed deterministically, node i sends to i + k."""
    pattern = {"kind": "shift", "offset": setting.radix}
    keys = {"pattern": pattern, "deterministic_share": 0.5, "deterministic_by": "sum", "buffer": BUFFER}
    return _curves(setting, seeds, COMPARED, setting.loads, {}, **keys)


def with_faults(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 7b: faulty links."""
    keys = {"network": faulty(setting), "around_faults": "next", "buffer": BUFFER}
    return _curves(setting, seeds, COMPARED, setting.fault_loads, {}, **keys)


def allocations(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 9: the four allocations, with infinite and finite buffers."""
    names = [name for name in ALGORITHMS if name != "oblivious"]
    found = []
    for panel, buffer, load in (("a", INFINITE, UNBOUNDED_LOAD), ("b", BUFFER, BOUNDED_LOAD)):
        loads = sorted({*setting.loads, load})
        early = [load for load in loads if load <= EARLY or load == loads[-1]]
        for name in names:
            own = early if name == "greedy" else loads
            found += _curves(setting, seeds, [name], own, {"panel": panel}, buffer=buffer)
    return found


def radices(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 10a: greedy allocation in networks of routers of other radices."""
    found = []
    for radix in reversed(setting.radices):
        keys = {"network": topology(setting.large, radix)}
        measure = throughput(setting.warmup_of(radix), setting.large_cycles)
        found += _curves(setting, seeds, ["greedy"], setting.large_loads, {"radix": radix}, measure=measure, **keys)
    return found


def sizes(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 10b: greedy allocation with packets of several flits."""
    found = []
    for flits in setting.sizes:
        measure = throughput(setting.warmup, setting.cycles)
        found += _curves(setting, seeds, ["greedy"], setting.few, {"flits": flits}, flits=flits, measure=measure)
    return found


def samples(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 12: the number of samples; sequential allocation is the lower bound."""
    found = _curves(setting, seeds, ["sequential"], [HISTOGRAM_LOAD], {"samples": setting.half})
    for name in ("sequential_r(2)", "greedy_r(2)"):
        for n in setting.samples:
            cases = _curves(setting, seeds, [name], [HISTOGRAM_LOAD], {"samples": n}, samples=n)
            found += [Case({**case.labels, "mechanism": name.replace("2", "n")}, case.scenario) for case in cases]
    return found


def _precision(bits: int) -> Document:
    """Full precision is that of 16 entries."""
    return {"precision": bits}


def precisions(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 14: latency near saturation with less information, and without any."""
    found = []
    for flits, loads in setting.near.items():
        keys = {"buffer": BUFFER, "flits": flits}
        found += _curves(setting, seeds, ["oblivious"], loads, {"flits": flits, "bits": -1}, **keys)
        for bits in setting.bits:
            labels: Labels = {"flits": flits, "bits": bits}
            found += _curves(setting, seeds, ["sequential"], loads, labels, **keys, **_precision(bits))
    return found


LATE = 0.6
"""From this load on the precisions are compared with faults: below, they are alike."""


def precisions_with_faults(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 15: the same with faulty links."""
    found = []
    for bits in setting.bits:
        keys = {"network": faulty(setting), "around_faults": "next", "buffer": BUFFER}
        loads = [load for load in setting.fault_loads if load >= LATE]
        cases = _curves(setting, seeds, ["sequential"], loads, {}, **keys, **_precision(bits))
        found += [Case({**case.labels, "bits": bits}, case.scenario) for case in cases]
    return found


def precomputed(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 16: decisions computed one and two cycles ahead: faults, 10-flit packets, 2 bits."""
    found = []
    for ahead in (0, 1, 2):
        keys = {"network": faulty(setting), "around_faults": "next", "buffer": BUFFER, "flits": LONG}
        found += _curves(
            setting,
            seeds,
            ["greedy_r(2)"],
            setting.long_fault_loads,
            {"precompute": ahead, "flits": LONG},
            **keys,
            precision=2,
            precompute=ahead,
        )
    return found
