"""BookSim's topologies and routing functions: the tables `[topology]` and `[routing]`, and the links' latencies."""

from collections.abc import Callable
from dataclasses import dataclass, field

from phit.base.text import quoted
from phit.document import Document
from phit.importing.booksim import anynet, express
from phit.importing.booksim.configuration import Configuration, check_range, ranges
from phit.importing.settings import Status
from phit.peers.booksim import ADAPTIVE_UP, OBLIVIOUS_UP

MOST_ENDPOINTS = 1 << 20
"""Maximum number of endpoints of an imported network."""


MOST_LENGTHS = 7
"""Maximum number of classes of links between routers."""

MOST_ENTRIES = 1 << 20
"""Maximum number of routing table entries that are written into a scenario."""


@dataclass
class Network:
    """Properties of the network that other parts of a configuration need."""

    endpoints: int
    channels: dict[str, int] = field(default_factory=dict)
    """Latency of links by class, in cycles; `default` for all."""
    attachment: int = 1
    """Latency of the links of endpoints in cycles."""
    numbering: list[int] | None = None
    """Phit's number for each of BookSim's endpoints, if they differ."""
    whole_flits: bool = False
    vcs: dict[str, int] = field(default_factory=dict)
    """Virtual channels by class, if a routing function uses fewer than exist."""
    groups: int = 0
    """Groups of a Dragonfly."""
    outputs: int = 0
    """Outputs of a router, if all hops of a packet are known when it is sent."""
    halves: int = 1
    """Number of parts into which virtual channels are divided; a packet takes channels of one part."""


def network(given: Configuration) -> Network | None:
    """Puts topology and routing into the scenario; `None` if the topology is refused."""
    name = str(given["topology"].value)
    build = _TOPOLOGIES.get(name)
    if build is None:
        given.refuse("topology", f"cannot be expressed; expected one of {', '.join(_TOPOLOGIES)}")
        return None
    before = len(given.findings.errors)
    found = build(given)
    if len(given.findings.errors) > before:
        return None
    if found.endpoints > MOST_ENDPOINTS:
        given.refuse("k", f"{found.endpoints:,} endpoints; expected at most {MOST_ENDPOINTS:,}")
        return None
    return found


def _choose(given: Configuration, choices: dict[str, Document]) -> str:
    """The name of the routing function; puts its table into the scenario."""
    name = str(given["routing_function"].value)
    if name in choices:
        given.findings.put("routing", dict(choices[name]), given["routing_function"])
        # Without a routing stage, the endpoint computes the route.
        if choices[name] in DECIDING and not given.whole("routing_delay"):
            given.findings.put("routing.decide", "sending", given["routing_delay"])
        return name
    topology = quoted(given["topology"].value)
    if name == "none":
        given.refuse("routing_function", f"expected one of {', '.join(choices)}, which `topology` {topology} has")
    else:
        expected = f"cannot be expressed for `topology` {topology}; expected one of {', '.join(choices)}"
        given.refuse("routing_function", expected)
    return ""


ORDER: Document = {"kind": "dimension_order"}
VALIANT: Document = {"kind": "valiant", "stop": "anywhere"}
EITHER_ORDER: Document = {"kind": "o1turn"}
ORDER_BY_OCCUPANCY: Document = EITHER_ORDER | {"choice": "occupancy"}
MINIMAL_STOP: Document = VALIANT | {"stop": "minimal"}
BALANCED: Document = ORDER | {"rings": "balanced"}
OVERLAPPING: Document = ORDER | {"rings": "overlapping"}
"""BookSim's halves of an odd number of channels, which share the middle channel."""
MINIMAL_ADAPTIVE: Document = {"kind": "minimal_adaptive", "ways": "lowest"}
"""Of several hops with equal priority, BookSim's sets keep the first."""
PHASES: Document = {"kind": "dragonfly_phases"}
FORETOLD = ("dor", "dim_order", "dor_no_express", "ran_min")
"""Routing functions for which all hops are known when a packet is sent."""
UGAL: Document = {"kind": "ugal_l", "stop": "between", "queue": "port"}
DECIDING = (UGAL, ORDER_BY_OCCUPANCY)
"""Routing functions that decide by queues, when an endpoint sends a packet or when it is at the head of its queue."""

ADVANTAGE = 2
"""Advantage of minimal routes, in flits times hops, in BookSim's UGAL on the flattened butterfly; it is a constant in
its source."""


def _threshold(given: Configuration) -> None:
    """Puts the threshold of UGAL into the scenario, converted to a number of packets."""
    size = given["packet_size"]
    if str(size.value) not in ("1", "2"):
        given.refuse("packet_size", f"expected 1 or 2 with ugal, whose threshold is {ADVANTAGE} flits times hops")
        return
    given.findings.put("routing.threshold", ADVANTAGE // int(size.value), given["routing_function"], size)


def _sides(given: Configuration) -> list[int]:
    return [check_range(given, "k", 2, 1 << 16)] * check_range(given, "n", 1, 6)


def _size(sides: list[int], each: int = 1) -> int:
    size = each
    for side in sides:
        size *= side
    return size


def _mesh(given: Configuration) -> Network:
    sides = _sides(given)
    given.findings.put("topology", {"kind": "mesh", "dims": sides}, given["topology"], given["k"], given["n"])
    choices = {
        "dor": ORDER,
        "dim_order": ORDER,
        "valiant": VALIANT,
        "romm": MINIMAL_STOP,
        "xy_yx": EITHER_ORDER,
        "adaptive_xy_yx": ORDER_BY_OCCUPANCY,
        "min_adapt": MINIMAL_ADAPTIVE,
        "planar_adapt": ORDER,
    }
    choice = _choose(given, choices)
    if choice == "valiant":
        _two_halves(given, "half of them for each half of a Valiant route")
    elif choice == "romm":
        _two_halves(given, "half of them for each half of a route")
    elif choice in ("xy_yx", "adaptive_xy_yx"):
        _two_halves(given, "half of them for each order of dimensions")
    elif choice == "min_adapt":
        _least_vcs(given, 2, "one of them for escape")
        if given.whole("vc_prioritize_empty") > 0:
            given.refuse("vc_prioritize_empty", "cannot be expressed with min_adapt; expected 0")
    if choice in ("adaptive_xy_yx", "min_adapt"):
        _without_requests(given)
    network = Network(_size(sides), {"default": 1}, outputs=_foretold(choice, 2 * len(sides) + 1))
    if choice == "planar_adapt":
        # Of hops with equal priority, BookSim's sets keep the first: dimension order in the last third of the channels.
        vcs = given.whole("num_vcs")
        _least_vcs(given, 3, "a third of them for each part of an adaptive plane")
        halves = 2 if _channels(given) != {vcs} else 1
        each = vcs // halves
        network.vcs = {"default": halves * (each - 2 * (each // 3))}
    return network


def _foretold(choice: str, outputs: int) -> int:
    """`Network.outputs` with this routing function."""
    return outputs if choice in FORETOLD else 0


def _torus(given: Configuration) -> Network:
    sides = _sides(given)
    given.findings.put("topology", {"kind": "torus", "dims": sides}, given["topology"], given["k"], given["n"])
    choice = _choose(given, {"dim_order": ORDER, "dim_order_bal": BALANCED, "valiant": VALIANT})
    outputs = _foretold(choice, 2 * len(sides) + 1)
    if choice == "dim_order_bal":
        _two_halves(given, "half of them behind the dateline")
    elif choice == "valiant":
        _parts(given, 4, "a quarter of them for each half of a Valiant route before and behind the dateline")
        if max(sides) > 3:
            given.drop("routing_function", "BookSim itself stops at a failed assertion with `valiant` on this torus")
    elif choice:
        _dateline(given, outputs)
    return Network(_size(sides), {"default": _latency(given, 2)}, outputs=outputs, halves=2)


def _least_vcs(given: Configuration, least: int, why: str) -> None:
    if given.whole("num_vcs") < least:
        given.refuse("num_vcs", f"expected at least {least}: {why}")


def _channels(given: Configuration) -> set[int]:
    """Numbers of virtual channels that a packet may take, by its kind if requests and replies have separate ranges."""
    if not given.whole("use_read_write"):
        return {given.whole("num_vcs")}
    return {last - first + 1 for first, last in ranges(given).values()}


def _parts(given: Configuration, parts: int, why: str) -> None:
    """Refuses numbers of channels that cannot be divided evenly, because BookSim's parts would then overlap."""
    if any(count < parts or count % parts for count in _channels(given)):
        expected = "an even number" if parts == 2 else f"a multiple of {parts}"
        of_each = " for each kind of packets" if given.whole("use_read_write") else ""
        given.refuse("num_vcs", f"expected {expected}{of_each}: {why}")


def _two_halves(given: Configuration, why: str) -> None:
    _parts(given, 2, why)


def _dateline(given: Configuration, outputs: int) -> None:
    """Divides channels into halves before and after the dateline of a ring."""
    _least_vcs(given, 2, "half of them behind the dateline")
    counts = _channels(given)
    if not any(count % 2 for count in counts):
        return
    if given.whole("noq"):
        # A share that ends before the middle channel is equal in halves that overlap.
        shares = [((count + 1) // 2 // outputs, count // 2 // outputs) for count in counts]
        if any(larger != smaller > 0 for larger, smaller in shares):
            given.refuse(
                "num_vcs", "cannot be expressed with noq: BookSim's halves of it overlap; expected an even number"
            )
        return
    if not all(count % 2 for count in counts):
        given.refuse("num_vcs", "expected an odd number for all kinds of packets, or an even one for all")
        return
    given.findings.put("routing", dict(OVERLAPPING), given["routing_function"], given["num_vcs"])
    words = "both halves have the virtual channel in the middle, as in BookSim: the network is not free of deadlock"
    given.findings.note(Status.DROPPED, given["num_vcs"], words)


def _without_requests(given: Configuration) -> None:
    if given.whole("use_read_write"):
        given.refuse("routing_function", "cannot be expressed with use_read_write; expected another")


def _latency(given: Configuration, planned: int) -> int:
    """Latency of links whose length in the floor plan is `planned` cycles."""
    return planned if given.whole("use_noc_latency") == 1 else 1


def _concentration(given: Configuration) -> tuple[int, int]:
    """Endpoints of a router, in a rectangle of the floor plan: columns and rows."""
    endpoints = check_range(given, "c", 1, 256)
    across, down = check_range(given, "xr", 1, 256), check_range(given, "yr", 1, 256)
    if across * down != endpoints:
        given.refuse("c", "expected c = xr * yr, as BookSim does itself")
    if given["x"].value != given["y"].value or across != down:
        given.drop("y", "BookSim stops where x is not y or xr not yr, unless built without its checks")
    return across, down


def _plan(routers: int, width: int, across: int, down: int) -> list[int] | None:
    """Phit's number for each endpoint if BookSim numbers endpoints row by row over a floor plan.

    The routers are in full rows of `width`; the endpoints of each are in a rectangle of `across` by `down`.
    """
    found = [0] * (routers * across * down)
    for router in range(routers):
        for y in range(down):
            for x in range(across):
                place = width * across * (down * (router // width) + y) + across * (router % width) + x
                if place < len(found):
                    found[place] = (router * down + y) * across + x
    return None if found == list(range(len(found))) else found


def _cmesh(given: Configuration) -> Network:
    sides = [check_range(given, "k", 2, 1 << 10)] * 2
    if given["n"].value != 2:
        given.refuse("n", "expected 2")
    side, down = _concentration(given)
    endpoints = side * down
    if endpoints != 4 or side != down:
        given.refuse("c", "expected 4: BookSim's own network is broken for others")
    numbering = _plan(sides[0] * sides[1], sides[0], side, down)
    if given["routing_function"].value == "dor":
        return _express_mesh(given, sides[0], endpoints, numbering)
    topology: Document = {"kind": "mesh", "dims": sides, "endpoints_per_router": endpoints}
    given.findings.put("topology", topology, given["topology"], given["k"], given["n"], given["c"])
    # `dor` was handled above; it is listed here so that the error names all possible functions.
    choice = _choose(given, {"dor": ORDER, "dor_no_express": ORDER, "xy_yx_no_express": EITHER_ORDER})
    if choice == "xy_yx_no_express":
        _two_halves(given, "half of them for each order of dimensions")
    latencies, outputs = {"default": _latency(given, side)}, _foretold(choice, 4 + endpoints)
    return Network(_size(sides, endpoints), latencies, numbering=numbering, outputs=outputs)


def _express_mesh(given: Configuration, side: int, endpoints: int, numbering: list[int] | None) -> Network:
    if side < 4 or side % 2:
        given.refuse("k", "expected an even number, 4 at least, with express channels")
        return Network(0)
    latencies = (_latency(given, 2), _latency(given, side))
    return _graph(given, express.mesh(side, endpoints, numbering, latencies), "dor", "k")


def _flatfly(given: Configuration) -> Network:
    dimensions, routers = check_range(given, "n", 1, 4), check_range(given, "k", 2, 256)
    sides = [routers] * dimensions
    across, down = _concentration(given)
    endpoints = across * down
    width = check_range(given, "x", 1, 1 << 16)
    if not given.findings.errors and _size(sides) % width:
        given.refuse("x", f"expected the {_size(sides)} routers to fill rows of x")
    topology: Document = {"kind": "hyperx", "dims": sides, "endpoints_per_router": endpoints}
    given.findings.put("topology", topology, given["topology"], given["k"], given["n"], given["c"])
    choices = {
        "ran_min": ORDER,
        "valiant": VALIANT | {"passing": "ends"},
        "ugal": UGAL,
        "xyyx": EITHER_ORDER,
        "adaptive_xyyx": ORDER_BY_OCCUPANCY,
    }
    choice = _choose(given, choices)
    if choice in ("valiant", "ugal"):
        _two_halves(given, "half of them for each half of a Valiant route")
    elif choice in ("xyyx", "adaptive_xyyx"):
        _two_halves(given, "half of them for each order of dimensions")
    if choice == "adaptive_xyyx":
        _without_requests(given)
    if choice == "ugal":
        _threshold(given)
    channels = {"default": 1}
    if given.whole("use_noc_latency") == 1 and not given.findings.errors:
        channels = _lengths(given, sides, (across, down))
        if max(across, down) > 3:
            given.drop("use_noc_latency", "links of endpoints have 1 cycle each, not their lengths")
    numbering = _plan(_size(sides), width, across, down)
    outputs = _foretold(choice, dimensions * (routers - 1) + endpoints)
    return Network(_size(sides, endpoints), channels, numbering=numbering, outputs=outputs)


def _lengths(given: Configuration, sides: list[int], steps: tuple[int, int]) -> dict[str, int]:
    """Gives the links of a flattened butterfly their lengths. Returns the latency of each class in cycles.

    `steps` are the steps between neighbouring routers in the floor plan, across and down.
    """
    # A row of the floor plan is the lowest dimension. Only this dimension may be shorter than the row.
    width = given.whole("x")
    if sides[0] > width or (len(sides) > 1 and sides[0] != width):
        given.refuse("use_noc_latency", "cannot be expressed where x is not k; expected 0")
        return {}
    each = [steps[0], *(steps[1] * width**dimension for dimension in range(len(sides) - 1))]
    lengths = {f"length{length}": length for step in each for length in range(step, step * sides[0], step)}
    if len(lengths) > MOST_LENGTHS:
        given.refuse("use_noc_latency", f"links have {len(lengths)} lengths, at most {MOST_LENGTHS} can be expressed")
        return {}
    given.findings.put("topology.lengths", each, given["use_noc_latency"], given["xr"], given["yr"])
    return lengths


def _tree(given: Configuration) -> Network:
    ports, levels = check_range(given, "k", 2, 1 << 12), check_range(given, "n", 2, 16)
    topology: Document = {"kind": "clos", "down": [ports] * levels, "up": [ports] * (levels - 1)}
    given.findings.put("topology", topology, given["topology"], given["k"], given["n"])
    choice = _choose(given, {"nca": OBLIVIOUS_UP, "anca": ADAPTIVE_UP})
    if choice == "anca" and (given.whole("num_vcs") > 1 or given["buffer_policy"].value != "private"):
        # BookSim compares the credits of all channels of an output.
        given.findings.put("routing.measure", "port", given["routing_function"])
    return Network(ports**levels, {"default": 1}, whole_flits=True)


def _qtree(given: Configuration) -> Network:
    for key, value in (("k", 4), ("n", 3)):
        if given[key].value != value:
            given.refuse(key, f"expected {value}, as BookSim does itself")
    topology: Document = {"kind": "clos", "down": [4, 4, 4], "up": [1, 1]}
    given.findings.put("topology", topology, given["topology"], given["k"], given["n"])
    _choose(given, {"nca": OBLIVIOUS_UP})
    return Network(64, {"default": 1}, whole_flits=True)


LOCAL, GLOBAL = 10, 100
"""Latencies of BookSim's Dragonfly links in cycles; they are constants in its source."""


def _dragonfly(given: Configuration) -> Network:
    size = check_range(given, "k", 1, 64)
    if given["n"].value != 1:
        given.refuse("n", "expected 1, as BookSim does itself")
    topology: Document = {"kind": "dragonfly", "p": size, "a": 2 * size, "h": size, "arrangement": "consecutive"}
    given.findings.put("topology", topology, given["topology"], given["k"])
    choice = _choose(given, {"min": PHASES | {"adaptive": False}, "ugal": PHASES})
    phases = 2
    if choice == "ugal":
        phases = 3
        if given.whole("num_vcs") != phases:
            given.refuse("num_vcs", f"expected {phases} with ugal, as BookSim does itself")
    _least_vcs(given, 2, "one before the global link, one from it on")
    groups = 2 * size * size + 1
    links = {"local": LOCAL, "global": GLOBAL}
    return Network(groups * 2 * size * size, links, vcs=dict.fromkeys(links, phases), groups=groups)


def _fly(given: Configuration) -> Network:
    endpoints = check_range(given, "k", 2, 65_535)
    if given["n"].value != 1:
        given.refuse("n", "cannot be expressed; expected 1: in `multistage` a packet passes an adapter more")
    given.findings.put("topology", {"kind": "single", "endpoints": endpoints}, given["topology"], given["k"])
    if _choose(given, {"dest_tag": {"kind": "minimal"}}):
        given.findings.document["routing"] = {"kind": "minimal"}
    return Network(endpoints, outputs=endpoints)


def _anynet(given: Configuration) -> Network:
    name = str(given["network_file"].value)
    if not name:
        given.refuse("network_file", "expected the name of a file")
        return Network(0)
    return _graph(given, anynet.read(given.folder / name), "min", "network_file")


def _graph(given: Configuration, graph: anynet.AnyNet, routing: str, key: str) -> Network:
    """A network written link by link, with the routing tables of its only routing function.

    Errors name the key `key`.
    """
    if graph.size() > MOST_ENTRIES:
        given.refuse(key, f"routing tables of {graph.size():,} entries; expected at most {MOST_ENTRIES:,}")
        return Network(0)
    # There is one route for each destination, so one layer of virtual channels.
    width = {"layer_width": vcs} if (vcs := check_range(given, "num_vcs", 1, 64)) > 1 else {}
    _choose(given, {routing: {"kind": "table", "entries": graph.entries(), "layers": [], **width}})
    table: Document = {"kind": "graph", "routers": len(graph.endpoints), "endpoints": graph.endpoints}
    table |= {"links": graph.links(), "classes": graph.classes()}
    given.findings.put("topology", table, given["topology"], given[key])
    return Network(len(graph.numbering), graph.latencies(), graph.attachment, graph.numbering_or_none())


_TOPOLOGIES: dict[str, Callable[[Configuration], Network]] = {
    "mesh": _mesh,
    "torus": _torus,
    "cmesh": _cmesh,
    "flatfly": _flatfly,
    "fattree": _tree,
    "qtree": _qtree,
    "dragonflynew": _dragonfly,
    "fly": _fly,
    "anynet": _anynet,
}
