"""The runs of every figure."""

from collections.abc import Callable, Iterable
from typing import Any

from phit.scenario import Document
from phit.studies.fbicm import traffic
from phit.studies.fbicm.network import QUEUEING, SCHEMES, VERSIONS, router, scenario, topology
from phit.studies.fbicm.setting import US, Network, Setting
from phit.studies.kit.plan import Case

COMPRESSIONS = (20, 40)
"""Of the I/O trace (figure 5.4)."""

SWITCH = 64
"""Ports of the switch of claim F11."""

LOW_LOAD = 0.1
"""At which there is no congestion, for claim F10."""


def network(setting: Setting) -> Document:
    """What all runs share, but for the size of the network."""
    return {"topology": topology(setting.networks[0])}


def _seeds(given: int | None, own: int) -> Iterable[int]:
    return range(1, (own if given is None else given) + 1)


def _over_time(setting: Setting, cycles: int) -> Document:
    return {"warmup": 0, "cycles": cycles, "series": {"by": "window", "bin": setting.bin}}


def uniform(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.1."""
    measure = {"warmup": setting.warmup, "cycles": setting.cycles}
    return [
        Case(
            {"network": net.name, "mechanism": scheme, "load": load, "seed": seed},
            scenario(net, scheme, traffic.uniform(load), measure, seed),
        )
        for net in setting.networks
        for scheme in SCHEMES
        for load in setting.loads
        for seed in _seeds(seeds, setting.seeds)
    ]


Spot = Callable[[Network, tuple[int, int]], Document]


def _spots(setting: Setting, seeds: int | None, case: Spot, end: Callable[[Network], int]) -> list[Case]:
    return [
        Case(
            {"network": net.name, "mechanism": scheme, "seed": seed},
            scenario(net, scheme, case(net, setting.hot), _over_time(setting, end(net)), seed),
        )
        for net in setting.networks
        for scheme in SCHEMES
        for seed in _seeds(seeds, setting.seeds)
    ]


def single(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.2."""
    return _spots(setting, seeds, traffic.single, lambda net: net.end)


def multiple(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.3: nobody asks for how long recovery takes."""
    begin, end = setting.hot
    return _spots(setting, seeds, traffic.multiple, lambda _: 2 * end - begin)


def io(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.4: network #1 only."""
    net = setting.networks[0]
    seconds = setting.io_seconds
    cycles = round(seconds / 20 * 1e9)
    measure = {"warmup": 0, "cycles": cycles, "series": {"by": "window", "bin": setting.bin}}
    found = []
    for compression in COMPRESSIONS:
        for scheme in SCHEMES:
            for seed in _seeds(seeds, setting.seeds):
                offered = {"load": 0.0, "trace": traffic.io(seed, net.endpoints, seconds, compression)}
                run = scenario(net, scheme, offered, measure, seed)
                # Whole messages are stored, however large.
                run["router"]["admittance_room"] = "infinite"
                labels = {"network": net.name, "mechanism": scheme, "compression": compression, "seed": seed}
                found.append(Case(labels, run))
    return found


def versions(setting: Setting, seeds: int | None) -> list[Case]:
    """Claim F10: both versions on cases #2 and #3, and without congestion."""
    net = setting.networks[0]
    probes = [{"kind": "queueing", "every": setting.bin}]
    found = []
    named: dict[str, Document] = {
        "single": traffic.single(net, setting.hot),
        "multiple": traffic.multiple(net, setting.hot),
        "none": traffic.uniform(LOW_LOAD),
    }
    for case, offered in named.items():
        for version in VERSIONS:
            for seed in _seeds(seeds, setting.version_seeds):
                labels = {"network": net.name, "mechanism": version, "case": case, "seed": seed}
                run = scenario(net, version, offered, {**_over_time(setting, net.end), "probes": probes}, seed)
                found.append(Case(labels, run))
    return found


def thresholds(setting: Setting, seeds: int | None) -> list[Case]:
    """The scan of the thresholds: case #2, with a shorter time before the hot spot, and case #1 at full load."""
    net = setting.networks[0]
    first, last = setting.scan_hot
    begin = first + (last - first) // 5
    offered = {
        "single": (traffic.single(net, setting.scan_hot), {"warmup": begin, "cycles": last - begin}),
        "uniform": (traffic.uniform(1.0), {"warmup": setting.warmup, "cycles": setting.warmup}),
    }
    found = []
    for case, (load, measure) in offered.items():
        choices = [("FBICM", detection, stop) for detection in setting.scan for stop in setting.scan]
        for scheme, detection, stop in [*choices, ("VOQnet", 0, 0)]:
            changes = {"detection": detection, "stop": stop, "go": stop // 2} if scheme == "FBICM" else {}
            labels = {"network": net.name, "mechanism": scheme, "case": case, "detection": detection, "stop": stop}
            for seed in _seeds(seeds, setting.seeds):
                run = scenario(net, scheme, load, measure, seed, **changes)
                found.append(Case({**labels, "seed": seed}, run))
    return found


def memory(setting: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
    """Table 5.3: the memories of both versions in networks of three sizes, as they are simulated."""
    sizes = [
        Network(f"{4**levels}", 4, levels, 0, US) for levels in ((3, 4, 5) if setting.endpoints > SWITCH // 2 else (2,))
    ]
    return [
        Case(
            {"mechanism": version, "endpoints": net.endpoints, "seed": 1},
            scenario(net, version, traffic.uniform(LOW_LOAD), {"warmup": 0, "cycles": US}, 1),
        )
        for net in sizes
        for version in VERSIONS
    ]


def limit(setting: Setting, seeds: int | None) -> list[Case]:
    """Claim F11: one large switch whose inputs have one queue each."""
    run: Document = {
        "topology": {"kind": "single", "endpoints": SWITCH},
        "router": {"links": {"endpoint": {"vcs": 1, "buffer": 8192, "latency": 1}}},
        "traffic": {"load": 1.0, "packet_size": 64, "pattern": {"kind": "uniform", "include_self": True}},
        "measure": {"warmup": setting.warmup, "cycles": setting.cycles, "histogram": False, "order": True},
    }
    return [Case({"mechanism": "1Q", "seed": seed}, {**run, "seed": seed}) for seed in _seeds(seeds, setting.seeds)]


def _elsewhere(
    name: str,
    graph: Document,
    routing: Document,
    scheme: str,
    endpoints: int,
    vcs: Document,
    setting: Setting,
    seed: int,
) -> Case:
    net = Network(name, 4, 3, endpoints // 2, setting.scan_end)
    sources = [e for e in range(endpoints) if e % 4 == 3 and e != net.target][: endpoints // 4]
    run: Document = {
        "seed": seed,
        "topology": graph,
        "router": router(scheme, endpoints, vcs),
        "routing": routing,
        "queueing": QUEUEING[scheme],
        "traffic": {"packet_size": 64, **traffic.spot(sources, [net.target], setting.scan_hot)},
        "measure": {
            "histogram": False,
            "order": True,
            "warmup": 0,
            "cycles": setting.scan_end,
            "series": {"by": "window", "bin": setting.bin},
        },
    }
    return Case({"network": name, "mechanism": scheme, "seed": seed}, run)


def elsewhere(setting: Setting, seeds: int | None) -> list[Case]:
    """Beyond the report: other networks with deterministic minimal routing, and a tree with adaptive ways up."""
    table: Document = {"kind": "table"}
    adaptive: Document = {"kind": "clos", "allocation": "greedy"}
    clos: Document = {"kind": "clos", "down": [8, 8], "up": [8]}
    dragonfly: Document = {"kind": "dragonfly", "p": 2, "a": 4, "h": 2}
    tree = topology(setting.networks[0])
    endpoints = setting.networks[0].endpoints
    local: Any = {"local": 2, "endpoint": 1}
    found = []
    for seed in _seeds(seeds, setting.seeds):
        found += [
            _elsewhere("folded Clos", clos, table, scheme, 64, {}, setting, seed) for scheme in ("1Q", "VOQsw", "FBICM")
        ]
        found += [
            _elsewhere("Dragonfly", dragonfly, table, scheme, 72, local, setting, seed)
            for scheme in ("1Q", "VOQsw", "FBICM")
        ]
        for scheme in ("1Q", "DBBM", "VOQsw"):
            found.append(_elsewhere("tree, adaptive", tree, adaptive, scheme, endpoints, {}, setting, seed))
        for scheme in ("1Q", "DBBM", "VOQsw", "FBICM"):
            found.append(_elsewhere("tree, tables", tree, table, scheme, endpoints, {}, setting, seed))
    return found


def lapse(setting: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
    """A congestion tree that grows and drains, with and without isolation."""
    net = setting.networks[0]
    probes = [{"kind": kind, "every": setting.frames} for kind in ("ports", "trees")]
    first, last = setting.moments[0], setting.moments[-1]
    measure = {"warmup": first, "cycles": last + 1 - first, "probes": probes}
    return [
        Case(
            {"network": net.name, "mechanism": scheme, "seed": 1},
            scenario(net, scheme, traffic.single(net, setting.hot), measure, 1),
        )
        for scheme in ("1Q", "FBICM")
    ]
