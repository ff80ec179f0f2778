"""BookSim's traffic patterns, injection processes, packet sizes, classes and requests: the table `[traffic]`."""

import math
from collections.abc import Callable, Sequence

from phit.document import Document
from phit.importing.booksim.configuration import KINDS, Configuration, check_range, ranges
from phit.importing.booksim.grammar import called, elements
from phit.importing.booksim.network import Network
from phit.importing.moves import MOST_LISTED, moved, shift
from phit.importing.settings import Setting
from phit.peers.booksim import UNIFORM

MOST_DIGITS = 9


def traffic(given: Configuration, network: Network) -> None:
    """Puts the traffic into the scenario."""
    _planes(given)
    if given["classes"].value != 1:
        _classes(given, network)
        return
    before = len(given.findings.errors)
    pattern = _pattern(given, network)
    if pattern is not None:
        given.findings.put("traffic.pattern", pattern, given["traffic"])
    sizes, mean = _sizes(given)
    rate = given.number("injection_rate")
    requests = given.whole("use_read_write")
    if requests:
        rate, mean = _requests(given, rate)
    elif given.whole("injection_rate_uses_flits"):
        rate /= mean
    if len(given.findings.errors) > before:
        return
    if not 0 <= rate <= 1:
        given.refuse("injection_rate", "expected 0 to 1 packets per cycle")
        return
    load = float(f"{rate * mean:.12g}")
    given.findings.put("traffic.process", _process(given, rate, mean), given["injection_process"])
    sources: list[Setting] = [given["injection_rate"], given["injection_rate_uses_flits"]]
    given.findings.put("traffic.load", load, *sources)
    if not requests:
        given.findings.put("traffic.packet_size", sizes, given["packet_size"])


MOST_PLANES = 64


def _planes(given: Configuration) -> None:
    """Puts parallel networks into the scenario."""
    count = check_range(given, "subnets", 1, MOST_PLANES)
    if given.whole("use_read_write"):
        # Each kind of packets has a network of its own, or shares one with other kinds.
        networks = {kind: given.whole(f"{kind}_subnet") for kind in REQUESTS}
        for kind, network in networks.items():
            if not 0 <= network < count:
                given.refuse(f"{kind}_subnet", f"expected a network among the {count} of subnets")
            elif network != networks["read_request"]:
                expected = "expected the same network for requests and replies, for reads and writes"
                given.refuse(f"{kind}_subnet", f"cannot be expressed; {expected}")
        if count > 1:
            given.drop("subnets", "all packets go over one of the networks; the others, which are empty, are left out")
    elif count > 1 and given["classes"].value != 1:
        given.refuse("subnets", "cannot be expressed with several classes; expected 1")
    elif count > 1:
        given.findings.put("planes.count", count, given["subnets"])
        # An endpoint has one queue for all networks.
        given.findings.put("planes.injection", "serial")


MOST_CLASSES = 8


def _classes(given: Configuration, network: Network) -> None:
    """Puts several classes of packets into the scenario."""
    count = given["classes"].value
    if not isinstance(count, int) or not 1 <= count <= MOST_CLASSES:
        given.refuse("classes", f"expected 1 to {MOST_CLASSES}")
        return
    if any(each != "0" for each in elements(str(given["use_read_write"].value))):
        given.refuse("use_read_write", "cannot be expressed with several classes; expected 0")
        return
    before = len(given.findings.errors)
    by_class = str(given["priority"].value) == "class"
    if not by_class and given["priority"].value != "none":
        given.refuse("priority", "cannot be expressed with several classes; expected none or class")
    classes = [_class(given.of_class(number), network, by_class) for number in range(count)]
    if len(given.findings.errors) > before:
        return
    loads = [load for load, _ in classes]
    settings = ("injection_rate", "injection_rate_uses_flits")
    given.findings.put("traffic.load", float(f"{sum(loads):.12g}"), *(given[key] for key in settings))
    # If no class has a load, all classes have equal parts.
    tables = [{"weight": load if sum(loads) else 1.0} | table for load, table in classes]
    keys = ("classes", "traffic", "injection_process", "packet_size", *(("class_priority",) if by_class else ()))
    given.findings.put("traffic.classes", tables, *(given[key] for key in keys))


def _class(given: Configuration, network: Network, by_class: bool) -> tuple[float, Document]:
    """Load and table of a class, from a configuration reduced to this class."""
    pattern = _pattern(given, network)
    sizes, mean = _sizes(given)
    rate = given.number("injection_rate")
    if given.whole("injection_rate_uses_flits"):
        rate /= mean
    if not 0 <= rate <= 1:
        given.refuse("injection_rate", "expected 0 to 1 packets per cycle")
        return 0.0, {}
    table: Document = {"pattern": pattern, "process": _process(given, rate, mean), "packet_size": sizes}
    if by_class:
        table["priority"] = _priority(given)
    return float(f"{rate * mean:.12g}"), table


def _priority(given: Configuration) -> int:
    """The priority of a class; higher priorities go first."""
    most = 255
    priority = given.whole("class_priority")
    if not 0 <= priority <= most:
        given.refuse("class_priority", f"expected 0 to {most}")
        return 0
    return priority


def _sizes(given: Configuration) -> tuple[int | Document, float]:
    """Sizes of packets in flits, and their mean."""
    # The sizes of the first class, which may themselves be a list.
    sizes = _numbers(given, "packet_size", 1, 1 << 16)
    if len(sizes) == 1:
        return sizes[0], float(sizes[0])
    weights = _numbers(given, "packet_size_rate", 0, 1 << 20)
    weights += [weights[-1]] * (len(sizes) - len(weights))
    weights = weights[: len(sizes)]
    if not sum(weights):
        given.refuse("packet_size_rate", "expected a rate above 0")
        return 1, 1.0
    mean = sum(s * w for s, w in zip(sizes, weights, strict=True)) / sum(weights)
    return {"kind": "choice", "sizes": sizes, "weights": weights}, mean


def _numbers(given: Configuration, key: str, least: int, most: int) -> list[int]:
    """Whole numbers of the first class: a single one, or an inner list of the list of classes."""
    value = given[key].value
    texts = elements(given.text(key)) if isinstance(value, str) else [str(value)]
    if not texts or any(not t.isdecimal() or len(t) > MOST_DIGITS or not least <= int(t) <= most for t in texts):
        given.refuse(key, f"expected whole numbers, {least} to {most}")
        return [max(least, 1)]
    return [int(text) for text in texts]


def _process(given: Configuration, rate: float, mean: float) -> str | Document:
    """The injection process for `rate` packets per cycle of `mean` flits each."""
    kind, parameters = called(given.text("injection_process"))
    if kind == "bernoulli":
        return "bernoulli"
    if kind != "on_off":
        given.refuse("injection_process", "cannot be expressed; expected bernoulli or on_off")
        return "bernoulli"
    begin, end, peak = (
        _parameter(given, parameters, place, key) for place, key in enumerate(("burst_alpha", "burst_beta", "burst_r1"))
    )
    if sum(value < 0 for value in (begin, end, peak)) != 1:
        given.refuse("injection_process", "expected two of burst_alpha, burst_beta, burst_r1, the third negative")
        return "bernoulli"
    if end < 0 and rate > 0:
        end = begin * (peak - rate) / rate
    if peak < 0 and begin > 0:
        peak = rate * (begin + end) / begin
    if not 0 < end <= 1 or not rate <= peak <= 1 or peak == 0:
        given.refuse("injection_process", "expected bursts that end, of at most one packet a cycle")
        return "bernoulli"
    return {"kind": "on_off", "burst": float(f"{1 / end:.12g}"), "peak": float(f"{peak * mean:.12g}")}


def _parameter(given: Configuration, parameters: Sequence[str], place: int, key: str) -> float:
    if place >= len(parameters):
        return given.number(key)
    try:
        value = float(parameters[place])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        given.refuse("injection_process", "expected numbers as its parameters")
        return -1.0
    return value


REQUESTS = {kind: f"{kind}_size" for kind in KINDS}


def _requests(given: Configuration, rate: float) -> tuple[float, float]:
    """Puts requests and replies into the scenario.

    Returns the rate of requests, and the mean flits of a request and its reply.
    """
    sizes = {name: _numbers(given, key, 1, 1 << 16)[0] for name, key in REQUESTS.items()}
    writes = given.number("write_fraction")
    if not 0 <= writes <= 1:
        given.refuse("write_fraction", "expected 0 to 1")
        writes = 0.5
    if given.whole("injection_rate_uses_flits"):
        rate /= sum(sizes.values()) // 2
    read, write = (sizes[f"{kind}_request"] + sizes[f"{kind}_reply"] for kind in ("read", "write"))
    for name, key in REQUESTS.items():
        given.findings.put(f"traffic.requests.{name}", sizes[name], given[key])
    given.findings.put("traffic.requests.writes", writes, given["write_fraction"])
    # A reply is made in the cycle after its request arrives, and waits in the same source queue as requests.
    given.findings.put("traffic.requests.service", 1)
    given.findings.put("traffic.requests.source_queue", "together", given["use_read_write"])
    given.findings.put("traffic.requests.virtual_networks", _virtual_networks(given))
    return rate, (1 - writes) * read + writes * write


def _virtual_networks(given: Configuration) -> bool:
    """Whether requests and replies have half of the virtual channels each; otherwise they share all."""
    vcs = max(given.whole("num_vcs"), 1)
    half, found = vcs // 2, ranges(given)
    for kind, (begin, end) in found.items():
        if not 0 <= begin <= end < vcs:
            given.refuse(f"{kind}_end_vc", f"expected channels among the {vcs} of num_vcs")
    if all(each == (0, vcs - 1) for each in found.values()):
        return False
    asked = [found["read_request"], found["write_request"]]
    answered = [found["read_reply"], found["write_reply"]]
    if vcs % 2 or max(end for _, end in asked) >= half or min(begin for begin, _ in answered) < half:
        expected = (
            "expected all channels for all kinds, or requests in the first half of them and replies in the second"
        )
        given.refuse("read_request_end_vc", f"cannot be expressed; {expected}")
    elif asked != [(0, half - 1)] * 2 or answered != [(half, vcs - 1)] * 2:
        given.drop("read_request_end_vc", "requests and replies have half of the virtual channels each")
    return True


def _pattern(given: Configuration, network: Network) -> str | Document | None:
    """The pattern, with Phit's endpoint numbers."""
    kind, parameters = called(given.text("traffic"))
    make = _PATTERNS.get(kind)
    if make is None:
        given.refuse("traffic", f"BookSim has no such pattern; expected one of {', '.join(_PATTERNS)}")
        return None
    if network.endpoints < 1:
        return None
    return make(given, network, parameters)


def _uniform(given: Configuration, network: Network, parameters: list[str]) -> Document:  # noqa: ARG001
    return UNIFORM


def _moved(given: Configuration, network: Network, to: Callable[[int], int]) -> Document | None:
    """The pattern in which each of BookSim's endpoints sends to one other."""
    size = network.endpoints
    if size > MOST_LISTED:
        given.refuse("traffic", f"cannot be expressed for more than {MOST_LISTED:,} endpoints")
        return None
    if network.numbering is None:
        return moved(size, to)
    targets = {network.numbering[endpoint]: network.numbering[to(endpoint)] for endpoint in range(size)}
    return moved(size, targets.__getitem__)


def _bits(own: str, to: Callable[[int, int], int], *, symmetric: bool = False) -> "_Make":
    """A permutation of bits, by its name in Phit. `symmetric`: the order of a router's endpoints does not matter."""

    def make(given: Configuration, network: Network, parameters: list[str]) -> str | Document | None:  # noqa: ARG001
        size = network.endpoints
        width = size.bit_length() - 1
        if size != 1 << width or (own == "transpose" and width % 2):
            power = "four" if own == "transpose" else "two"
            given.refuse("traffic", f"{size} endpoints; expected a power of {power}, as BookSim does itself")
            return None
        if network.numbering is None or symmetric:
            return own
        return _moved(given, network, lambda source: to(source, width))

    return make


def _reversed_bits(source: int, width: int) -> int:
    return int(f"{source:0{width}b}"[::-1], 2) if width else 0


def _transposed(source: int, width: int) -> int:
    half = width // 2
    return source >> half | (source & (1 << half) - 1) << half


def _digits(native: str, step: Callable[[int], int]) -> "_Make":
    """A move by a number of places, which `step` gives, in every dimension of the grid of endpoints."""

    def make(given: Configuration, network: Network, parameters: list[str]) -> str | Document | None:
        keys = ("k", "n", "xr")
        asked = [_whole(given, parameters, place, key) for place, key in enumerate(keys)]
        if None in asked:
            return None
        k, n, xr = (int(value or 0) for value in asked)
        side = k * xr
        if not 1 <= n <= 8 or side < 1 or side**n != network.endpoints:
            given.refuse("traffic", f"expected a grid of {network.endpoints} endpoints, (k xr)^n; not {side}^{n}")
            return None
        grid = str(given["topology"].value) in ("mesh", "torus", "flatfly")
        if network.numbering is None and xr == 1 and grid and not parameters and side > 2:
            return native

        def to(source: int) -> int:
            result, weight = 0, 1
            for _ in range(n):
                result += weight * ((source // weight % side + step(side)) % side)
                weight *= side
            return result

        return _moved(given, network, to)

    return make


def _whole(given: Configuration, parameters: Sequence[str], place: int, key: str) -> int | None:
    """A parameter of the pattern, or the key that replaces it."""
    if place >= len(parameters):
        return given.whole(key)
    if not parameters[place].isdecimal() or len(parameters[place]) > MOST_DIGITS:
        given.refuse("traffic", "expected whole numbers as its parameters")
        return None
    return int(parameters[place])


def _random_permutation(given: Configuration, network: Network, parameters: list[str]) -> Document | None:  # noqa: ARG001
    seed = _whole(given, parameters, 0, "perm_seed")
    if seed is None:
        return None
    if given.text("perm_seed") == "time":
        seed = 0
    given.drop("traffic", "the random permutation differs from BookSim's")
    return {"kind": "permutation", "seed": max(seed, 0), "fixed_points": True}


def _nodes(given: Configuration, network: Network, text: str) -> list[int] | None:
    """BookSim's endpoints in a list."""
    found = elements(text)
    if not found or any(not node.isdecimal() or len(node) > MOST_DIGITS for node in found):
        given.refuse("traffic", "expected a list of endpoints as its parameter")
        return None
    nodes = [int(node) for node in found]
    if max(nodes) >= network.endpoints:
        given.refuse("traffic", f"expected endpoints below {network.endpoints}")
        return None
    return nodes


def _hotspot(given: Configuration, network: Network, parameters: list[str]) -> Document | None:
    nodes = _nodes(given, network, parameters[0]) if parameters else None
    if nodes is None:
        if not parameters:
            given.refuse("traffic", "expected endpoints as its parameter: BookSim draws one, which cannot be known")
        return None
    rates = elements(parameters[1]) if len(parameters) > 1 else ["1"]
    if not rates or any(not rate.isdecimal() or len(rate) > MOST_DIGITS or int(rate) < 1 for rate in rates):
        given.refuse("traffic", "expected whole rates of 1 or more")
        return None
    weights = [int(rate) for rate in rates] + [int(rates[-1])] * len(nodes)
    numbers = network.numbering or range(network.endpoints)
    parts = [(weight, _all_to(numbers[node])) for node, weight in zip(nodes, weights, strict=False)]
    return parts[0][1] if len(parts) == 1 else _mix(*parts)


def _all_to(endpoint: int) -> Document:
    """The pattern in which all endpoints send to one, which sends to itself."""
    own = {"endpoints": [endpoint], "pattern": shift(0, 1)}
    others = {"kind": "hotspot", "targets": [endpoint], "share": 1.0}
    return {"kind": "by_endpoint", "parts": [own], "background": others}


def _background(given: Configuration, network: Network, parameters: list[str]) -> Document | None:
    excluded = _nodes(given, network, parameters[0]) if parameters else None
    if excluded is None:
        if not parameters:
            given.refuse("traffic", "expected a list of endpoints as its parameter")
        return None
    numbers = network.numbering or range(network.endpoints)
    others = sorted(set(numbers) - {numbers[node] for node in excluded})
    if not others or network.endpoints > MOST_LISTED:
        given.refuse("traffic", f"expected endpoints to send to, of at most {MOST_LISTED:,}")
        return None
    given.drop("traffic", "an endpoint never draws itself")
    return {"kind": "hotspot", "targets": others, "share": 1.0}


def _diagonal(given: Configuration, network: Network, parameters: list[str]) -> Document | None:  # noqa: ARG001
    size = network.endpoints
    next_one = _moved(given, network, lambda source: (source + 1) % size)
    return _mix((1, next_one), (2, shift(0, 1))) if next_one else None


def _asymmetric(given: Configuration, network: Network, parameters: list[str]) -> Document | None:  # noqa: ARG001
    half = network.endpoints // 2
    if network.endpoints % 2:
        given.refuse("traffic", f"{network.endpoints} endpoints; expected an even number")
        return None
    low = _moved(given, network, lambda source: source % half)
    high = _moved(given, network, lambda source: source % half + half)
    return _mix((1, low), (1, high)) if low and high else None


def _taper(given: Configuration, network: Network, parameters: list[str]) -> Document | None:  # noqa: ARG001
    if network.endpoints != 64:
        given.refuse("traffic", f"{network.endpoints} endpoints; expected 64, as BookSim does itself")
        return None
    near = [(row, place) for row in (-8, 0, 8) for place in (-1, 0, 1)]
    parts = [_moved(given, network, _by(row + place, 64)) for row, place in near]
    return _mix((9, UNIFORM), *((1, part) for part in parts if part))


def _by(offset: int, size: int) -> Callable[[int], int]:
    return lambda source: (source + offset) % size


def _column(place: int, side: int) -> Callable[[int], int]:
    return lambda source: place * side + source // side


def _bad_column(given: Configuration, network: Network, parameters: list[str]) -> Document | None:
    asked = [_whole(given, parameters, place, key) for place, key in enumerate(("k", "n", "xr"))]
    if None in asked:
        return None
    side = int(asked[0] or 0) * int(asked[2] or 0)
    if side < 1 or side * side != network.endpoints or side > 64:
        given.refuse("traffic", "expected (k xr)^2 endpoints, at most 64 of them in a row")
        return None
    parts = [_moved(given, network, _column(place, side)) for place in range(side)]
    return _mix(*((1, part) for part in parts if part))


def _bad_dragon(given: Configuration, network: Network, parameters: list[str]) -> Document | None:
    size = _whole(given, parameters, 0, "k")
    if not network.groups or size != given.whole("k"):
        given.refuse("traffic", "cannot be expressed; expected topology = dragonflynew and its own k")
        return None
    return {"kind": "adversarial", "offset": 1}


def _mix(*parts: tuple[int, Document]) -> Document:
    return {"kind": "mix", "parts": [{"weight": weight, "pattern": pattern} for weight, pattern in parts]}


_Make = Callable[[Configuration, Network, list[str]], str | Document | None]

_PATTERNS: dict[str, _Make] = {
    "uniform": _uniform,
    "bitcomp": _bits("bit_complement", lambda source, width: source ^ (1 << width) - 1, symmetric=True),
    "bitrev": _bits("bit_reverse", _reversed_bits),
    "transpose": _bits("transpose", _transposed),
    "shuffle": _bits("shuffle", lambda source, width: (source << 1 | source >> width - 1) & (1 << width) - 1),
    "tornado": _digits("tornado", lambda side: (side + 1) // 2 - 1),
    "neighbor": _digits("neighbor", lambda side: 1 % side),
    "randperm": _random_permutation,
    "hotspot": _hotspot,
    "background": _background,
    "diagonal": _diagonal,
    "asymmetric": _asymmetric,
    "taper64": _taper,
    "bad_dragon": _bad_dragon,
    "badperm_yarc": _bad_column,
}
"""BookSim's patterns. Its shuffle rotates the bits to the left."""
