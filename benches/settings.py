"""The settings of `benches/cliffs.py`: networks in which one option is varied at a time.

A group is a network. Its first setting is the plain one, with which the others are compared. Keys of changes are dotted
paths. A key `links.vcs` applies to all links: `router.links.default.vcs`.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Document = dict[str, Any]
Changes = Mapping[str, Any]
Unit = Literal["hop", "message", "cycle", "second"]

MECHANISMS = "./examples/mechanisms.py"


@dataclass(frozen=True)
class Setting:
    """Two runs of different lengths, whose difference is counted, or a proof, which is timed."""

    group: str
    name: str
    unit: Unit
    short: Document
    long: Document
    messages: int = 0
    """How many more messages the longer run has."""
    is_plain: bool = False

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


def changed(document: Document, changes: Changes) -> Document:
    """A document with keys set. A key that is set to nothing is removed."""
    found = copy.deepcopy(document)
    for path, value in changes.items():
        *tables, key = (f"router.links.default.{path[6:]}" if path.startswith("links.") else path).split(".")
        inner = found
        for name in tables:
            inner = inner.setdefault(name, {})
        if value is None:
            inner.pop(key, None)
        else:
            inner[key] = copy.deepcopy(value)
    return found


def runs(group: str, base: Document, variants: Mapping[str, Changes], unit: Unit = "hop") -> Iterator[Setting]:
    """Settings of a network, the plain one first: a run, and one of twice as many cycles."""
    for place, (name, changes) in enumerate(variants.items()):
        short = changed(base, changes)
        long = changed(short, {"measure.cycles": 2 * short["measure"]["cycles"]})
        yield Setting(group, name, unit, short, long, is_plain=place == 0)


def network(topology: Document, router: Document, load: float, size: int, warmup: int) -> Document:
    """A scenario of minimal routes and uniform traffic."""
    return {
        "seed": 1,
        "topology": topology,
        "router": router,
        "routing": {"kind": "minimal"},
        "traffic": {"pattern": "uniform", "load": load, "packet_size": size},
        "measure": {"warmup": warmup, "cycles": 200},
    }


def links(latency: int, vcs: int, buffer: int) -> Document:
    """Links that are all alike."""
    return {"default": {"latency": latency, "vcs": vcs, "buffer": buffer}}


ADVERSARIAL = {"traffic.pattern": {"kind": "adversarial", "offset": 1}}
FULL = {"traffic.load": 1.0}
HOT = {"traffic.pattern": {"kind": "hotspot", "targets": [0], "share": 0.1}}
FLITS = {"router.switching": "wormhole", "router.flit_size": 1}
STAGE = {"router.vc_allocation": "stage"}


def to(*targets: int) -> Changes:
    """All packets go to these endpoints."""
    return {"traffic.pattern": {"kind": "hotspot", "targets": list(targets), "share": 1.0}}


def routing(kind: str, **options: Any) -> Changes:
    """Another mechanism."""
    return {"routing": {"kind": kind, **options}}


# Dragonflies

DRAGONFLY = network(
    {"kind": "dragonfly", "p": 3, "a": 6, "h": 3},
    {
        "latency": 5,
        "speedup": 2,
        "output_buffer": 32,
        "links": {
            "endpoint": {"vcs": 3},
            "local": {"latency": 10, "vcs": 5, "buffer": 32},
            "global": {"latency": 100, "vcs": 3, "buffer": 256},
            "default": {"vcs": 3},
        },
    },
    load=0.3,
    size=8,
    warmup=800,
)


def between(vcs: int, far: int | None = None) -> Changes:
    """Virtual channels of local and of global links."""
    return {"router.links.local.vcs": vcs, "router.links.global.vcs": far or vcs}


ADAPTIVE: dict[str, Changes] = {
    "valiant": {},
    "ugal_l": {},
    "ugal_g": {},
    "par": {},
    "par_graph": between(7),
    "polarized": between(9),
    "piggyback": {},
    "olm": {},
    "contention_base": {},
    "contention_hybrid": {},
    "contention_graph": between(7),
    "ectn": {},
    "tpr": {},
}
"""Mechanisms that misroute, and the channels that they need."""


def misrouting() -> Iterator[tuple[str, Changes]]:
    """Every adaptive mechanism under uniform and adversarial traffic, and saturated by both."""
    for kind, channels in ADAPTIVE.items():
        own = {**routing(kind), **channels}
        yield f"{kind}, UN 0.3", own
        yield f"{kind}, UN 1.0", {**own, **FULL}
        yield f"{kind}, ADV+1 0.3", {**own, **ADVERSARIAL}
        yield f"{kind}, ADV+1 1.0", {**own, **ADVERSARIAL, **FULL}
        if kind in ("ugal_l", "piggyback", "olm", "contention_base", "ectn"):
            yield f"{kind}, a tenth to one endpoint, 0.6", {**own, **HOT, "traffic.load": 0.6}


def minimal_dragonfly() -> Iterator[tuple[str, Changes]]:
    """Minimal routes: loads and patterns."""
    for load in (0.001, 0.01, 0.1, 0.6, 0.9, 1.0):
        yield f"minimal, UN {load}", {"traffic.load": load}
    for load in (0.05, 0.3, 1.0):
        yield f"minimal, ADV+1 {load}", {**ADVERSARIAL, "traffic.load": load}
    yield "minimal, a tenth to one endpoint, 0.3", HOT
    yield "minimal, all to 4 endpoints, 0.3", to(0, 50, 100, 200)
    yield "minimal, permutation 0.3", {"traffic.pattern": "permutation"}
    yield "minimal, bursts of 200 packets, 0.3", {"traffic.process": {"kind": "on_off", "burst": 200}}
    yield (
        "minimal, bursts of 5,000 packets, 0.1",
        {
            "traffic.process": {"kind": "on_off", "burst": 5000},
            "traffic.load": 0.1,
        },
    )
    for p in (2, 4):
        yield f"minimal, p={p}", {"topology": {"kind": "dragonfly", "p": p, "a": 2 * p, "h": p}}


def other_routes() -> Iterator[tuple[str, Changes]]:
    """Routes by tables, other versions of ECtN, functions in Python."""
    for kind in ("dragonfly_phases", "up_down", "lash", "table"):
        yield f"{kind}, UN 0.3", routing(kind)
    yield "dfsssp, UN 0.3", {**routing("dfsssp"), **between(6)}
    for updates in ("full", "asynchronous"):
        yield f"ectn, updates {updates}, UN 0.3", routing("ectn", updates=updates)
    yield "ectn, period of 10 cycles, UN 0.3", routing("ectn", period=10)
    yield "olm, decided every cycle, UN 1.0", {**routing("olm"), **FULL, "router.redecision": "every_cycle"}
    trigger = routing("python_trigger", function="crowded", file=MECHANISMS)
    yield "trigger in Python, ADV+1 0.3", {**trigger, **ADVERSARIAL}
    yield "rule in Python, UN 0.3", {**routing("python_rule", function="emptiest", file=MECHANISMS), **between(7)}
    yield (
        "pattern in Python, 0.3",
        {"traffic.pattern": {"kind": "python_pattern", "function": "near", "file": MECHANISMS}},
    )


def routers() -> Iterator[tuple[str, Changes]]:
    """Options of the router, under minimal routes."""
    for key, values in {
        "speedup": (1, 1.5, 4),
        "output_buffer": ("infinite", 8),
        "allocation_rounds": (3,),
        "allocation_delay": (2,),
        "credit_delay": (2,),
        "credit_channel": ("one_per_cycle",),
        "input_speedup": (2,),
        "output_speedup": (2,),
        "switching": ("store_and_forward",),
        "vc_allocation": ("stage", "speculative"),
        "transit_priority": (True,),
        "admittance": ("per_destination",),
    }.items():
        for value in values:
            yield f"{key} {value}", {f"router.{key}": value}
    yield "clock crossbar, speedup 2", {"router.clock": "crossbar"}
    yield "clock crossbar, speedup 1.2", {"router.clock": "crossbar", "router.speedup": 1.2}
    yield "input_speedup 3, output_speedup 3", {"router.input_speedup": 3, "router.output_speedup": 3}
    for key, value in (("output_buffer", 8), ("allocation_rounds", 3), ("admittance", "per_destination")):
        yield f"{key} {value}, load 1.0", {f"router.{key}": value, **FULL}
    for vcs in (2, 3, 8, 16):
        yield f"{vcs} channels", between(vcs)
    yield "16 channels, load 1.0", {**between(16), **FULL}
    yield "infinite buffers", {"router.links.local.buffer": "infinite", "router.links.global.buffer": "infinite"}
    yield "endpoints of 32 phits", {"router.links.endpoint.ejection_buffer": 32}
    kinds = ("separable_output_first", "islip", "pim", "wavefront", "lonely_output", "maximum_matching", "ideal")
    for kind in kinds:
        yield f"allocator {kind}", {"router.allocator": kind}
        yield f"allocator {kind}, load 1.0", {"router.allocator": kind, **FULL}
    for key, value in (
        ("arbiter", "least_recently_served"),
        ("arbiter", "random"),
        ("arbiter", "age"),
        ("priority", "age"),
        ("among", "outputs"),
    ):
        yield f"{key} {value}", {"router.allocator": {"kind": "separable_input_first", key: value}}
    yield "allocator islip, 4 iterations", {"router.allocator": {"kind": "islip", "iterations": 4}}


def flits() -> Iterator[tuple[str, Changes]]:
    """Wormhole switching, and shared buffers."""
    for size in (1, 2, 8):
        yield f"wormhole, packets of {8 // size} flits", {**FLITS, "router.flit_size": size}
    yield "wormhole, packets of 64 flits", {**FLITS, "traffic.packet_size": 64}
    for way in ("stage", "speculative"):
        yield f"wormhole, vc_allocation {way}", {**FLITS, "router.vc_allocation": way}
    for limit in ("none", "even", "halved"):
        yield f"wormhole, sharing {limit}", {"router.switching": "wormhole", "router.sharing": {"limit": limit}}
    yield "sharing none, load 1.0", {**STAGE, **FULL, "router.sharing": {"limit": "none", "private": 8}}


def traffic() -> Iterator[tuple[str, Changes]]:
    """Sizes, classes, requests, messages, planes, queue organisations."""
    yield "packets of 1, 8 and 32 phits", {"traffic.packet_size": {"kind": "choice", "sizes": [1, 8, 32]}}
    yield "packets of 1 to 16 phits", {"traffic.packet_size": {"kind": "uniform", "min": 1, "max": 16}}
    classes = {"traffic.classes": [{"weight": 4}, {"weight": 1, "priority": 1}, {"weight": 2, "packet_size": 16}]}
    yield "three classes", classes
    by_class = {"router.allocator": {"kind": "separable_input_first", "priority": "class"}}
    yield "three classes, priority class", {**classes, **by_class}
    channels = {**between(6, 4), "router.links.endpoint.vcs": 4}
    limited = {"outstanding": 4, "read_request": 1, "read_reply": 8}
    yield "4 requests outstanding", {**channels, "traffic.requests": limited}
    yield "requests without limit", {**channels, "traffic.requests": {}}
    yield "messages of 96 packets", {"traffic.message": {"packets": 96}}
    yield "messages of 96 packets, load 1.0", {"traffic.message": {"packets": 96}, **FULL}
    small = {"topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2}}
    yield "four planes, load 1.0", {**small, **FULL, "planes": {"count": 4}}
    yield (
        "four planes, serial, load 0.8",
        {
            **small,
            "planes": {"count": 4, "injection": "serial"},
            "traffic.load": 0.8,
        },
    )
    yield "load that changes to the same", {"traffic.changes": [{"cycle": 100, "load": 0.3}]}
    kinds = ("local", "global", "endpoint")
    large = {f"router.links.{kind}.buffer": 4096 for kind in kinds} | {"router.links.endpoint.vcs": 1}
    for queueing in ("voqsw", "dbbm"):
        yield f"queueing {queueing}", {**large, "queueing": {"kind": queueing}}
    each = {f"router.links.{kind}.buffer": 342 * 16 for kind in kinds}
    yield (
        "queueing voqnet",
        {
            **each,
            **between(2, 1),
            "router.links.endpoint.vcs": 1,
            "queueing": {"kind": "voqnet"},
        },
    )


def watched() -> Iterator[tuple[str, Changes]]:
    """Probes, tables of results, faults."""
    for kind, every in (("buffers", 10), ("ports", 100), ("arrivals", 10)):
        yield f"probe {kind} every {every} cycles", {"measure.probes": [{"kind": kind, "every": every}]}
    counters = {"measure.probes": [{"kind": "counters", "every": 10}]}
    yield "contention_base, probe counters every 10 cycles", {**routing("contention_base"), **counters}
    yield "series, bins of one cycle", {"measure.series": {"bin": 1}}
    yield "series, bins of 100 cycles by window", {"measure.series": {"bin": 100, "by": "window"}}
    for keys in (("order",), ("links",), ("links", "endpoints", "order")):
        yield f"measured: {', '.join(keys)}", {f"measure.{key}": True for key in keys}
    yield "packets counted when generated", {"measure.count": "generated"}
    broken = [[0, 1], [7, 8]]
    yield "two broken links", {"topology.faults": {"links": broken}}
    channels = between(6, 4)
    for when, cycle in (("past", 200), ("future", 1_000_000)):
        later = {"topology.faults": {"later": [{"cycle": cycle, "links": broken}]}}
        yield f"two links that break later ({when})", {**channels, **later}
    dead = {"topology.faults": {"later": [{"cycle": 200, "routers": [5]}]}}
    yield "a router that breaks later (past)", {**channels, **dead}


def dragonflies() -> Iterator[Setting]:
    """All settings of the Dragonfly."""
    variants: dict[str, Changes] = {"minimal, UN 0.3": {}}
    for some in (minimal_dragonfly, misrouting, other_routes, routers, flits, traffic, watched):
        variants.update(some())
    return runs("dragonfly", DRAGONFLY, variants)


# Tori, meshes, HyperX

TORUS = network({"kind": "torus", "dims": [8, 8]}, {"latency": 2, "links": links(1, 2, 32)}, 0.4, 8, 500)
TORUS["routing"] = {"kind": "dimension_order"}

BOOKSIM: Changes = {
    **FLITS,
    **STAGE,
    "router.credit_delay": 2,
    "router.injection_queue": "round_robin",
    "router.allocator": "islip",
    "router.links.endpoint": {"latency": 1, "ejection_latency": 0, "vcs": 4, "buffer": 8},
    "links.vcs": 4,
    "links.buffer": 8,
}
"""The pipeline of BookSim's routers."""

ON_TORUS = {
    "valiant": 4,
    "ugal_l": 4,
    "ugal_g": 4,
    "abr": 3,
    "por": 3,
    "goal": 3,
    "outflank": 3,
    "contention_grid": 3,
    "contention_graph": 16,
    "polarized": 29,
    "par_graph": 17,
    "tpr": 4,
    "up_down": 3,
    "dfsssp": 8,
    "lash": 8,
    "table": 3,
    "o1turn": 4,
}
"""Mechanisms on the torus, and their channels."""


def torus_flits() -> Iterator[tuple[str, Changes]]:
    """Wormhole switching, as BookSim has it and with channels allocated as the switch is."""
    for size in (1, 4, 16):
        own = {**BOOKSIM, "traffic.packet_size": size}
        yield f"wormhole, {size} flits, VC stage, 0.4", own
        yield f"wormhole, {size} flits, VC stage, 1.0", {**own, **FULL}
        yield f"wormhole, {size} flits, VC with the switch, 0.4", {**FLITS, "traffic.packet_size": size}
    four = {**BOOKSIM, "traffic.packet_size": 4}
    for vcs in (2, 8, 16):
        yield f"wormhole, {vcs} channels", {**four, "links.vcs": vcs, "router.links.endpoint.vcs": vcs}
    for allocator in ("separable_input_first", "separable_output_first", "pim", "wavefront", "lonely_output"):
        yield f"wormhole, vc_allocator {allocator}", {**four, "router.vc_allocator": allocator}
    yield "wormhole, vc_allocator maximum_matching", {**four, "router.vc_allocator": "maximum_matching"}
    for allocator in ("wavefront", "maximum_matching"):
        yield f"wormhole, vc_allocator {allocator}, 1.0", {**four, **FULL, "router.vc_allocator": allocator}
    yield "wormhole, speculative", {**four, "router.vc_allocation": "speculative"}
    yield "wormhole, speculative, 1.0", {**four, **FULL, "router.vc_allocation": "speculative"}
    yield "wormhole, vc_reuse empty", {**four, "router.vc_reuse": "empty"}
    yield "wormhole, connections of packets", {**four, "router.connection": "packet"}
    yield "wormhole, sharing", {**four, "router.sharing": {"limit": "none"}}
    oldest = {"kind": "separable_input_first", "priority": "age"}
    yield (
        "wormhole, channels with room, by age",
        {
            **four,
            "router.vc_allocator": oldest,
            "router.vc_eligible": "with_room",
            "router.vc_turns": "queues",
        },
    )


def tori() -> Iterator[Setting]:
    """All settings of the torus."""
    variants: dict[str, Changes] = {"dimension order, 0.4": {}}
    variants |= {f"dimension order, {load}": {"traffic.load": load} for load in (0.001, 0.05, 0.8, 1.0)}
    variants |= {f"rings {rings}": routing("dimension_order", rings=rings) for rings in ("balanced", "bubble")}
    variants.update(torus_flits())
    variants |= {f"{kind}, 0.4": {**routing(kind), "links.vcs": vcs} for kind, vcs in ON_TORUS.items()}
    node = {"kind": "packet_node", "node": {"answer": 1}, "links": {"default": {"latency": 1, "vcs": 3, "buffer": 64}}}
    for kind in ("abr", "por", "goal", "outflank"):
        variants[f"{kind}, 1.0"] = {**routing(kind), **FULL, "links.vcs": 3}
        variants[f"{kind}, packet-level nodes, 0.4"] = {**routing(kind), "router": node}
        variants[f"{kind}, packet-level nodes, 1.0"] = {**routing(kind), **FULL, "router": node}
    variants["noq, 10 channels"] = {"links.vcs": 10, "queueing": {"kind": "noq"}}
    for load in (0.4, 1.0):
        variants[f"tornado, {load}"] = {"traffic.pattern": "tornado", "traffic.load": load}
    room = {"outstanding": 4, "room": 32}
    variants["requests, replies with room"] = {
        "links.vcs": 4,
        "router.links.endpoint": {"vcs": 2},
        "traffic.requests": room,
    }
    shared = {"kind": "torus", "dims": [6, 6], "endpoints_per_router": 8}
    variants["8 endpoints a router, 0.05"] = {"topology": shared, "traffic.load": 0.05}
    yield from runs("torus", TORUS, variants)
    yield from runs("3-D torus", changed(TORUS, {"topology.dims": [6, 6, 6]}), {"dimension order, 0.4": {}})


def meshes() -> Iterator[Setting]:
    """All settings of the mesh."""
    mesh = changed(TORUS, {"topology.kind": "mesh", "traffic.load": 0.2})
    own = {**routing("minimal_adaptive"), **STAGE, "router.vc_allocator": "separable_input_first", "links.vcs": 4}
    worm = {**own, **FLITS, "traffic.packet_size": 4}
    two = {**routing("o1turn"), "links.vcs": 4}
    variants: dict[str, Changes] = {
        "dimension order, 0.2": {},
        "dimension order, 1.0": FULL,
        "minimal_adaptive, 0.2": own,
        "minimal_adaptive, 1.0": {**own, **FULL},
        "minimal_adaptive, wormhole, 0.2": worm,
        "minimal_adaptive, wormhole, 1.0": {**worm, **FULL},
        "o1turn, 0.2": two,
        "o1turn by occupancy, 0.2": {**two, **routing("o1turn", choice="occupancy")},
    }
    return runs("mesh", mesh, variants)


ON_HYPERX = {
    "valiant": 4,
    "ugal_l": 4,
    "ugal_g": 4,
    "contention_grid": 4,
    "contention_graph": 4,
    "polarized": 6,
    "par_graph": 6,
    "tpr": 4,
    "dfsssp": 8,
    "lash": 8,
    "table": 2,
}
"""Mechanisms on the HyperX network, and their channels."""


def hyperx() -> Iterator[Setting]:
    """All settings of the HyperX network."""
    router = {"latency": 4, "speedup": 2, "links": links(5, 4, 64)}
    base = network({"kind": "hyperx", "dims": [6, 6], "endpoints_per_router": 6}, router, 0.4, 8, 400)
    variants: dict[str, Changes] = {"minimal, 0.4": {}}
    variants |= {f"minimal, {load}": {"traffic.load": load} for load in (0.001, 0.9, 1.0)}
    for kind, vcs in ON_HYPERX.items():
        own = {**routing(kind), "links.vcs": vcs}
        variants[f"{kind}, 0.4"] = own
        if kind in ("ugal_l", "contention_grid", "polarized", "tpr"):
            variants[f"{kind}, 1.0"] = {**own, **FULL}
    adaptive = {**routing("minimal_adaptive"), **STAGE, "router.vc_allocator": "separable_input_first"}
    variants["minimal_adaptive, 0.4"] = adaptive
    variants["contention_grid, nonminimal, 0.4"] = routing("contention_grid", alternatives="nonminimal")
    return runs("HyperX", base, variants)


# Folded Clos networks and trees

RADIX_128: Changes = {"topology": {"kind": "clos", "down": [64, 8], "up": [64]}}


def clos(allocation: str, **options: Any) -> Changes:
    """A way to allocate upward links."""
    return routing("clos", allocation=allocation, **options)


def folded_clos() -> Iterator[Setting]:
    """All settings of the folded Clos network."""
    router = {"latency": 2, "speedup": 2, "links": links(10, 1, 64)}
    base = network({"kind": "clos", "down": [8, 8, 8], "up": [8, 8]}, router, 0.5, 8, 400)
    sequential = clos("sequential")
    variants: dict[str, Changes] = {"minimal, 0.5": {}}
    for allocation in (
        "oblivious",
        "deterministic",
        "sequential",
        "greedy",
        "sequential_r",
        "greedy_r",
        "availability",
    ):
        variants[allocation] = clos(allocation)
    for vcs in (2, 4, 8):
        variants[f"sequential, {vcs} channels"] = {**sequential, "links.vcs": vcs}
    for allocation in ("greedy", "greedy_r", "oblivious"):
        variants[f"{allocation}, 2 channels"] = {**clos(allocation), "links.vcs": 2}
    for load in (0.001, 0.9, 1.0):
        variants[f"sequential, {load}"] = {**sequential, "traffic.load": load}
    variants["sequential, 2 channels, 1.0"] = {**sequential, **FULL, "links.vcs": 2}
    everything_to = to(0, 100, 200, 300)
    variants["sequential, a tenth to one endpoint"] = {**sequential, **HOT}
    variants["sequential, all to 4 endpoints"] = {**sequential, **everything_to}
    variants["oblivious, all to 4 endpoints"] = {**clos("oblivious"), **everything_to}
    variants["sequential, permutation"] = {**sequential, "traffic.pattern": "permutation"}
    sizes = {"kind": "choice", "sizes": [1, 8, 32]}
    also: dict[str, Changes] = {
        "speedup 1": {"router.speedup": 1},
        "speedup 1, 2 channels": {"router.speedup": 1, "links.vcs": 2},
        "allocator islip": {"router.allocator": "islip"},
        "wormhole, 8 flits": FLITS,
        "wormhole, 8 flits, 2 channels": {**FLITS, "links.vcs": 2},
        "output_buffer 16": {"router.output_buffer": 16},
        "packets of 1, 8 and 32 phits": {"traffic.packet_size": sizes},
        "clock crossbar": {"router.clock": "crossbar"},
        "a broken link": {"topology.faults": {"links": [[0, 64]]}},
    }
    variants |= {f"sequential, {name}": {**sequential, **changes} for name, changes in also.items()}
    variants["oblivious, wormhole, 8 flits"] = {**clos("oblivious"), **FLITS}
    variants["sequential, measure contention"] = clos("sequential", measure="contention")
    variants["sequential, decided once"] = clos("sequential", redecide=False)
    variants["sequential, precision 2"] = clos("sequential", precision=2)
    variants["greedy, decided ahead"] = clos("greedy", precompute=1)
    variants["minimal, radix 128"] = RADIX_128
    for allocation in ("sequential", "oblivious", "greedy"):
        variants[f"{allocation}, radix 128"] = {**RADIX_128, **clos(allocation)}
    variants["sequential, radix 128, 2 channels"] = {**RADIX_128, **sequential, "links.vcs": 2}
    variants["sequential, radix 128, 1.0"] = {**RADIX_128, **sequential, **FULL}
    for kind, vcs in (("ugal_l", 2), ("table", 1), ("up_down", 1), ("dfsssp", 2), ("lash", 2)):
        variants[kind] = {**routing(kind), "links.vcs": vcs}
    tree = {"kind": "xgft", "children": [16, 16], "parents": [1, 8]}
    variants["minimal, XGFT of 256 endpoints"] = {"topology": tree, "links.vcs": 2}
    return runs("folded Clos", base, variants)


def trees() -> Iterator[Setting]:
    """All settings of the k-ary n-tree: organisations of queues."""
    router = {"admittance": "per_destination", "links": {"default": {"vcs": 1, "buffer": 1024}}}
    base = network({"kind": "k_ary_n_tree", "arity": 4, "levels": 4}, router, 0.5, 16, 1000)
    base["routing"] = {"kind": "table"}
    variants: dict[str, Changes] = {
        "table, UN 0.5": {},
        "table, adaptive, UN 0.5": routing("table", adaptive=True),
        "minimal, UN 0.5": routing("minimal"),
        "table, one admittance queue, UN 0.5": {"router.admittance": "single"},
    }
    part = {"endpoints": list(range(3, 256, 16)), "pattern": {"kind": "hotspot", "targets": [32], "share": 1.0}}
    senders = {"traffic.pattern": {"kind": "by_endpoint", "background": "uniform", "parts": [part]}}
    for kind in ("virtual_channels", "dbbm", "voqsw", "voqnet", "fbicm"):
        own = {"links.buffer": 8192, "queueing": {"kind": kind}}
        if kind != "virtual_channels":
            variants[f"{kind}, UN 0.5"] = own
        variants[f"{kind}, UN 1.0"] = {**own, **FULL}
        variants[f"{kind}, 16 senders to one, 0.9"] = {**own, **senders, "traffic.load": 0.9}
        variants[f"{kind}, all to one, 0.5"] = {**own, **to(32)}
    first = {"links.buffer": 8192, "queueing": {"kind": "fbicm", "version": "first"}}
    variants["fbicm, first version, 16 senders to one, 0.9"] = {**first, **senders, "traffic.load": 0.9}
    return runs("4-ary 4-tree", base, variants)


# Graphs


def graphs() -> Iterator[Setting]:
    """Slim Fly, Jellyfish, an InfiniBand fabric."""
    router = {"latency": 2, "links": links(5, 8, 32)}
    base = network({"kind": "slim_fly", "q": 5}, router, 0.3, 4, 300)
    kinds = ("valiant", "ugal_l", "ugal_g", "polarized", "par_graph", "contention_graph", "table", "up_down")
    variants: dict[str, Changes] = {"minimal, 0.3": {}}
    variants |= {f"{kind}, 0.3": routing(kind) for kind in (*kinds, "dfsssp", "lash", "tpr")}
    variants |= {f"{kind}, 1.0": {**routing(kind), **FULL} for kind in ("ugal_l", "polarized")}
    yield from runs("Slim Fly", base, variants)

    jellyfish = {"kind": "jellyfish", "routers": 60, "links": 8, "endpoints_per_router": 4}
    variants = {"minimal, 0.2": {}}
    for kind, vcs in (("ugal_l", 8), ("polarized", 13), ("dfsssp", 8), ("contention_graph", 8)):
        variants[f"{kind}, 0.2"] = {**routing(kind), "links.vcs": vcs}
    yield from runs("Jellyfish", changed(base, {"topology": jellyfish, "traffic.load": 0.2}), variants)

    folder = "./tests/reference/infiniband"
    fabric = {
        "kind": "infiniband",
        "file": f"{folder}/ibnetdiscover/rr24d6_full.txt",
        "tables": f"{folder}/lfts/rr24d6_updnroot.txt",
    }
    base = network(fabric, {"latency": 2, "links": links(2, 4, 32)}, 0.1, 4, 500)
    variants = {"minimal, 0.1": {}}
    variants |= {f"{kind}, 0.1": routing(kind) for kind in ("infiniband", "up_down", "dfsssp", "lash")}
    yield from runs("InfiniBand fabric", base, variants)


# Single switches


def switches() -> Iterator[Setting]:
    """A switch of 64 and of 256 ports."""
    router = {"latency": 1, "links": {"endpoint": {"latency": 1, "vcs": 1, "buffer": 32}}}
    base = network({"kind": "single", "endpoints": 64}, router, 0.3, 4, 200)
    base.pop("routing")
    variants: dict[str, Changes] = {"64 ports, 0.3": {}}
    for ports in (64, 256):
        size = {"topology.endpoints": ports}
        full = {**size, **FULL}
        room = {"router.links.endpoint.buffer": 16 * ports}
        by_output = {**full, **room, "queueing": {"kind": "voqsw"}}
        for load in (0.01, 0.3, 0.9, 1.0):
            variants.setdefault(f"{ports} ports, {load}", {**size, "traffic.load": load})
        for kind in (
            "separable_output_first",
            "islip",
            "pim",
            "wavefront",
            "lonely_output",
            "maximum_matching",
        ):
            own = {"router.allocator": kind}
            variants[f"{ports} ports, {kind}, 0.5"] = {**size, **own, "traffic.load": 0.5}
            variants[f"{ports} ports, {kind}, 1.0"] = {**full, **own}
            variants[f"{ports} ports, {kind}, voqsw, 1.0"] = {**by_output, **own}
        variants[f"{ports} ports, voqsw, 1.0"] = by_output
        variants[f"{ports} ports, voqnet, 1.0"] = {**by_output, "queueing": {"kind": "voqnet"}}
        variants[f"{ports} ports, all to one, 0.5"] = {**size, **to(0), "traffic.load": 0.5}
        variants[f"{ports} ports, 8 channels, 1.0"] = {**full, "router.links.endpoint.vcs": 8}
        variants[f"{ports} ports, infinite buffers, 1.0"] = {**full, "router.links.endpoint.buffer": "infinite"}
        worm = {**size, **FLITS, **STAGE, "router.links.endpoint.vcs": 4}
        variants[f"{ports} ports, wormhole, 16 flits, 0.5"] = {
            **worm,
            "traffic.packet_size": 16,
            "traffic.load": 0.5,
        }
    return runs("single switch", base, variants)


# Sizes, and networks with nothing to do


def idle() -> Iterator[Setting]:
    """A Dragonfly of 1,056 endpoints on which nothing moves, by the cycle."""
    base = changed(DRAGONFLY, {"topology": {"kind": "dragonfly", "p": 4, "a": 8, "h": 4}, "traffic.load": 0.0})
    base["measure"] = {"warmup": 0, "cycles": 20_000}
    variants = {
        "minimal": {},
        "ectn": routing("ectn"),
        "ectn, updates asynchronous": routing("ectn", updates="asynchronous"),
    }
    return runs("idle Dragonfly", base, variants, unit="cycle")


def sizes() -> Iterator[Setting]:
    """Networks that differ in their size alone: a hop should cost the same."""
    dragonfly = {
        f"h={h}": {"topology": {"kind": "dragonfly", "p": h, "a": 2 * h, "h": h}, "measure.cycles": cycles}
        for h, cycles in ((2, 800), (4, 80), (6, 20))
    }
    yield from runs("Dragonfly by size", DRAGONFLY, dragonfly)
    torus = {f"{side}×{side}×{side}": {"topology.dims": [side] * 3, "measure.cycles": 60} for side in (6, 8, 12)}
    yield from runs("torus by size", changed(TORUS, {"traffic.load": 0.3}), torus)


# Programs


def programs() -> Iterator[Setting]:
    """Programs of 72 ranks, by the message; the plain one is a ring of single packets."""
    ring = {"kind": "collective", "collective": "all_reduce", "algorithm": "ring"}
    rounds = 2 * 72 * 71
    everywhere = {"kind": "collective", "collective": "all_to_all", "algorithm": "direct"}
    pairs = 72 * 71

    def of(
        name: str, workload: Document, messages: int, times: tuple[int, int] = (1, 3), changes: Changes | None = None
    ) -> Setting:
        """Two runs of a program, of which one does it more often."""
        base = changed(DRAGONFLY, {"topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2}, **(changes or {})})
        base |= {"units": {"phit": "8 B"}, "measure": base["measure"] | {"warmup": None, "cycles": None}}
        base["measure"] = {key: value for key, value in base["measure"].items() if value is not None}
        del base["traffic"]
        short, long = (base | {"workload": {"packet_size": 8, **workload, "times": count}} for count in times)
        more = messages * (times[1] - times[0])
        return Setting("programs", name, "message", short, long, more, is_plain=name == "ring of 64 B")

    def ring_of(size: int, **options: Any) -> Document:
        return {**ring, "bytes": 72 * size, **options}

    yield of("ring of 64 B", ring_of(64), rounds)
    yield of("ring of 8 B", ring_of(8), rounds)
    yield of("ring of 1 KiB", ring_of(1024), rounds, (1, 2))
    yield of("ring of 64 B, overhead", ring_of(64, host={"overhead": 300}), rounds)
    gaps = {"overhead": 30, "gap": 20, "gap_per_byte": 1}
    yield of("ring of 64 B, overhead and gaps", ring_of(64, host=gaps), rounds)
    yield of("ring of 64 B, rendezvous", ring_of(64, host={"eager": 1}), rounds)
    yield of("ring of 64 B, 8 chunks", ring_of(64, chunks=8), 8 * rounds, (1, 2))
    recorded = {"measure.tracks": True, "measure.operations": True, "measure.messages": True}
    yield of("ring of 64 B, tracks, operations, messages", ring_of(64), rounds, changes=recorded)
    yield of("ring of 64 B, phases", ring_of(64), rounds, changes={"measure.phases": True})
    yield of("all-to-all, direct, 8 B", {**everywhere, "bytes": 8}, pairs)
    yield of("all-to-all, pairwise, 8 B", {**everywhere, "algorithm": "pairwise", "bytes": 8}, pairs)
    yield of("all-to-all, direct, 1 KiB", {**everywhere, "bytes": 1024}, pairs, (1, 2))
    yield of("all-to-all, direct, 1 KiB, ugal_l", {**everywhere, "bytes": 1024}, pairs, (1, 2), routing("ugal_l"))
    yield of("incast, 50 messages of 64 B", {"kind": "incast", "bytes": 64, "messages": 50}, 71 * 50)
    yield of("incast, 500 messages of 8 B", {"kind": "incast", "bytes": 8, "messages": 500}, 71 * 500, (1, 2))
    halo = {"kind": "halo", "dims": [8, 9], "bytes": [64]}
    yield of("halo, 64 B", halo, 4 * 72 - 34, (20, 60))
    yield of("halo, 64 B, calculations", {**halo, "calc": 1000}, 4 * 72 - 34, (20, 60))
    yield of("permutation, 100 messages of 64 B", {"kind": "permutation", "bytes": 64, "messages": 100}, 7200)
    yield of("barrier", {"kind": "collective", "collective": "barrier"}, 7 * 72, (20, 60))


# Proofs


def proofs() -> Iterator[Setting]:
    """Proofs of deadlock freedom, in seconds of processor time; the plain one is the smallest mesh."""
    mesh = changed(TORUS, {"topology.kind": "mesh"})
    adaptive = {**routing("minimal_adaptive"), **STAGE, "router.vc_allocator": "separable_input_first", "links.vcs": 4}
    graph = network({"kind": "slim_fly", "q": 5}, {"latency": 2, "links": links(5, 13, 32)}, 0.2, 4, 300)

    def of(name: str, document: Document) -> Setting:
        return Setting("proofs", name, "second", document, document, is_plain=name == "mesh 8×8, minimal_adaptive")

    for side in (8, 16, 24, 32):
        yield of(f"mesh {side}×{side}, minimal_adaptive", changed(mesh, {**adaptive, "topology.dims": [side, side]}))
    for routers in (125, 250, 500, 1000):
        size = {"kind": "jellyfish", "routers": routers, "links": 8, "endpoints_per_router": 4}
        for kind in ("valiant", "polarized", "par_graph"):
            own = {"topology": size, **routing(kind), "links.vcs": 20}
            yield of(f"Jellyfish of {routers:,} routers, {kind}", changed(graph, own))
    large = {"topology": {"kind": "slim_fly", "q": 23}, **routing("polarized"), "links.vcs": 8}
    yield of("Slim Fly of 1,058 routers, polarized", changed(graph, large))
    six = {"topology": {"kind": "dragonfly", "p": 6, "a": 12, "h": 6}, **routing("polarized"), **between(9)}
    yield of("Dragonfly of 876 routers, polarized", changed(DRAGONFLY, six))


def all_settings() -> dict[str, Setting]:
    """All settings by name."""
    groups = (
        dragonflies(),
        tori(),
        meshes(),
        hyperx(),
        folded_clos(),
        trees(),
        graphs(),
        switches(),
        idle(),
        sizes(),
        programs(),
        proofs(),
    )
    found = [setting for group in groups for setting in group]
    named = {str(setting): setting for setting in found}
    assert len(named) == len(found), "two settings of one name"
    return named
