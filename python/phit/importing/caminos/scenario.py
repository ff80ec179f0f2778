"""Converts CAMINOS' records to a scenario."""

import math
from collections.abc import Callable
from typing import Any

from phit.document import Document
from phit.importing.caminos.grammar import Record, shown
from phit.importing.found import Findings
from phit.importing.moves import MOST_LISTED, moved
from phit.importing.settings import Setting, Status

MOST = 1 << 24

REPORTED = ("statistics_", "temporal_statistics", "memory_report_period", "launch_configurations", "legend_name")
"""Prefixes of keys that change no result."""


class Fields:
    """The members of a record, with a record of those that have been read."""

    def __init__(self, record: Any, findings: Findings, where: Setting | None = None) -> None:
        self.findings = findings
        if not isinstance(record, Record):
            findings.refuse(where or Setting("value", shown(record)), "expected a record")
            record = Record("", (), "")
        self.record = record
        self.values = {key: Setting(key, value, place) for key, value, place in record.members}
        self.asked: set[str] = set()

    def setting(self, key: str, default: Any = None) -> Setting:
        """A member, or its default; a missing member without a default is refused."""
        self.asked.add(key)
        if key not in self.values:
            self.values[key] = Setting(key, default, self.record.place)
            if default is None:
                self.findings.refuse(Setting(self.record.name, key, self.record.place), f"expected a key {key}")
        found = self.values[key]
        return Setting(key, found.value if isinstance(found.value, str) else shown(found.value), found.place)

    def value(self, key: str, default: Any = None) -> Any:
        """The value of a member."""
        self.setting(key, default)
        return self.values[key].value

    def number(self, key: str, least: float, most: float, default: float | None = None) -> float:
        """A number between bounds."""
        value = self.value(key, default)
        if isinstance(value, float | int) and not isinstance(value, bool) and least <= value <= most:
            return float(value)
        if value is not None:
            self.refuse(key, f"expected a number, {least:g} to {most:g}")
        return least

    def whole(self, key: str, least: int, most: int = MOST, default: int | None = None) -> int:
        """A whole number between bounds."""
        value = self.number(key, least, most, default)
        if value != int(value):
            self.refuse(key, "expected a whole number")
        return int(value)

    def wholes(self, key: str, least: int, most: int = MOST) -> list[int]:
        """A list of whole numbers."""
        value = self.value(key)
        numbers = value if isinstance(value, list) else [math.nan]
        if all(isinstance(n, float) and least <= n <= most and n == int(n) for n in numbers) and len(numbers) <= 64:
            return [int(n) for n in numbers]
        if value is not None:
            self.refuse(key, f"expected a list of whole numbers, {least} to {most}")
        return []

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.value(key, default)
        if not isinstance(value, bool):
            self.refuse(key, "expected true or false")
            return default
        return value

    def refuse(self, key: str, expected: str) -> None:
        """Refuses a member."""
        self.findings.refuse(self.setting(key), expected)

    def drop(self, key: str, reason: str) -> None:
        """Leaves a member out, with a warning."""
        self.findings.note(Status.DROPPED, self.setting(key), reason)

    def finish(self) -> None:
        """Records the treatment of members that nothing has read."""
        for key in self.values:
            if key in self.asked:
                continue
            if key.startswith(REPORTED):
                self.findings.note(Status.IGNORED, self.setting(key), "changes no measurement")
            else:
                self.findings.refuse(self.setting(key), f"cannot be expressed in a {self.record.name}")


def translate(configuration: Record, findings: Findings) -> None:
    """Puts a configuration without lists of experiments into the scenario."""
    given = Fields(configuration, findings)
    findings.put("seed", given.whole("random_seed", 0, 2**31 - 1), given.setting("random_seed"))
    warmup, measured = given.whole("warmup", 0), given.whole("measured", 1)
    findings.put("measure.warmup", warmup, given.setting("warmup"))
    findings.put("measure.cycles", measured, given.setting("measured"))
    for key in ("general_frequency_divisor",):
        if given.number(key, 0, 1 << 20, 1) not in (0, 1):
            given.refuse(key, "cannot be expressed; expected 1")
    if "server_queue_size" in given.values:
        given.drop("server_queue_size", "packets wait at their endpoint without limit")
    packet = given.whole("maximum_packet_size", 1, 1 << 15)
    topology = Fields(given.value("topology"), findings, given.setting("topology"))
    classes, endpoints = _topology(topology)
    if not findings.errors:
        router = Fields(given.value("router"), findings, given.setting("router"))
        _router(router, given, classes, packet)
        _routing(given, topology.record.name)
        _bubble(router, topology.record.name, packet)
        router.finish()
        _traffic(Fields(given.value("traffic"), findings, given.setting("traffic")), endpoints, packet)
    given.finish()


def _size(sides: list[int], each: int) -> int:
    return each * math.prod(sides)


def _topology(given: Fields) -> tuple[list[str], int]:
    """Puts the topology into the scenario. Returns the link classes in CAMINOS' order, and the number of endpoints."""
    name, document = given.record.name, {}
    kinds = {"Mesh": "mesh", "Torus": "torus", "Hamming": "hyperx"}
    classes, endpoints = [], 0
    if name in kinds:
        sides, each = given.wholes("sides", 2, 1 << 12), given.whole("servers_per_router", 1, 1 << 12)
        document = {"kind": kinds[name], "dims": sides, "endpoints_per_router": each}
        classes, endpoints = [f"dim{d}" for d in range(len(sides))], _size(sides, each)
        if not 1 <= len(sides) <= 6 or endpoints > 1 << 20:
            given.refuse("sides", "expected 1 to 6 sides, and at most 1,048,576 endpoints")
    elif name in ("Dragonfly", "CanonicDragonfly"):
        h, p = given.whole("global_ports_per_router", 1, 256), given.whole("servers_per_router", 1, 256)
        a = given.whole("group_size", 1, 512, 2 * h)
        groups = given.whole("number_of_groups", 1, 1 << 17, a * h + 1)
        arrangement = Fields(given.value("global_arrangement", Record("Palmtree", (), "")), given.findings)
        if arrangement.record.name != "Palmtree":
            given.refuse("global_arrangement", "cannot be expressed; expected Palmtree")
        if given.number("global_lag", 1, 1 << 10, 1) != 1 or groups != a * h + 1:
            given.refuse("number_of_groups", f"cannot be expressed; expected {a * h + 1}, and a lag of 1")
        document = {"kind": "dragonfly", "p": p, "a": a, "h": h}
        classes, endpoints = ["local", "global"], groups * a * p
    else:
        expected = f"cannot be expressed; expected {', '.join(kinds)} or Dragonfly"
        given.findings.refuse(Setting("topology", name, given.record.place), expected)
    given.findings.put("topology", document, str(given.record))
    given.finish()
    return classes, endpoints


def _router(given: Fields, configuration: Fields, classes: list[str], packet: int) -> None:
    name = given.record.name
    document: Document = {}
    vcs, buffer = given.whole("virtual_channels", 1, 255), given.whole("buffer_size", 1)
    flit = given.whole("flit_size", 1, 1 << 15)
    if name == "Basic":
        given.value("delay", 0.0)
        document = {"latency": 0, "allocator": {"kind": "ideal"}}
    elif name == "InputOutput":
        delay = "crossbar_delay" if "crossbar_delay" in given.values else "delay"
        document = {"latency": given.whole(delay, 1), "allocator": _allocator(given)}
        if given.number("crossbar_frequency_divisor", 0, 1 << 10, 1) not in (0, 1):
            given.refuse("crossbar_frequency_divisor", "cannot be expressed; expected 1")
    else:
        expected = "cannot be expressed; expected Basic or InputOutput"
        given.findings.refuse(Setting("router", name, given.record.place), expected)
    if flit >= packet:
        document["switching"] = "virtual_cut_through"
    else:
        document |= {"switching": "wormhole", "flit_size": flit}
    document["transit_priority"] = given.flag("intransit_priority", False)
    if "output_buffer_size" in given.values:
        document["output_buffer"] = min(given.whole("output_buffer_size", 1) * vcs, 65_534)
    _policies(given)
    for key in ("allow_request_busy_port", "neglect_busy_output", "output_prioritize_lowest_label"):
        if key in given.values:
            given.setting(key)
            given.findings.note(Status.IGNORED, given.setting(key), "Phit requests what can be granted")
    for key, value in document.items():
        given.findings.put(f"router.{key}", value)
    given.findings.comments["router.latency"] = str(name)
    link = {"vcs": vcs, "buffer": buffer}
    *others, servers = _links(configuration, len(classes))
    servers["latency"] = max(servers["latency"] - 1, 0)
    if any("bandwidth" in own for own in (servers, *others)):
        # The speeds of CAMINOS' crossbars and servers do not change.
        given.findings.put("router.crossbar_bandwidth", 1)
    if "bandwidth" in servers:
        given.findings.put("traffic.load_unit", "phits")
    for key, values in zip(("endpoint", *classes), (servers, *others), strict=True):
        values |= link
        given.findings.put(f"router.links.{key}", values)


def _links(configuration: Fields, count: int) -> list[Document]:
    """Latency and bandwidth of each class of links; the class of endpoint links is last."""
    records = configuration.value("link_classes")
    found: list[Document] = []
    for record in records if isinstance(records, list) else []:
        one = Fields(record, configuration.findings)
        link: Document = {"latency": one.whole("delay", 1, 1 << 16)}
        divisor = one.whole("frequency_divisor", 0, MOST_CYCLES, 1)
        if divisor > 1:
            link["bandwidth"] = 1 / divisor
            reason = f"a packet starts when the link is free, there in cycles that {divisor} divides"
            configuration.findings.note(Status.DROPPED, one.setting("frequency_divisor"), reason)
        one.finish()
        found.append(link)
    if len(found) <= count:
        configuration.refuse("link_classes", f"expected {count + 1} of them, the endpoints' after the others")
        return [{"latency": 1} for _ in range(count + 1)]
    return found[: count + 1]


def _allocator(given: Fields) -> Document:
    allocator = Fields(given.value("allocator"), given.findings, given.setting("allocator"))
    name = allocator.record.name
    allocator.value("seed", 0.0)
    if name in ("Random", "RandomPriority"):
        document: Document = {"kind": "separable_input_first", "arbiter": "random"}
    elif name == "Islip":
        document = {"kind": "islip", "iterations": allocator.whole("num_iter", 1, 255, 1)}
    else:
        given.refuse("allocator", "cannot be expressed; expected Random, RandomPriority or Islip")
        document = {}
    allocator.finish()
    return document


MOST_CYCLES = 1000
"""Maximum number of cycles of a phit on a link."""


SIMPLE = ("EnforceFlowControl", "LowestLabel", "Random", "Identity")


def _policies(given: Fields) -> None:
    policies = given.value("virtual_channel_policies")
    names = [one.name for one in policies if isinstance(one, Record)] if isinstance(policies, list) else []
    if "EnforceFlowControl" not in names:
        given.refuse("virtual_channel_policies", "expected EnforceFlowControl among them")
    elif set(names) - set(SIMPLE):
        given.drop("virtual_channel_policies", "a channel is taken by its credits")


PER_HOP = ("ChannelsPerHop", "ChannelsPerHopPerLinkClass", "AscendantChannelsWithLinkClass", "ChannelMap")
"""Records that choose the channels of a routing; the topology has a rule of its own."""


def _routing(configuration: Fields, topology: str) -> None:
    setting = configuration.setting("routing")
    given = Fields(configuration.value("routing"), configuration.findings, setting)
    while given.record.name in PER_HOP:
        for key in ("channels", "map", "bases", "width"):
            given.value(key, [])
        given.finish()
        given = Fields(given.value("routing"), configuration.findings, setting)
    name, grid = given.record.name, topology in ("Mesh", "Hamming", "Torus")
    document: Document = {}
    if name == "DOR" and grid:
        order = given.wholes("order", 0, 5)
        if order != sorted(order):
            given.refuse("order", "cannot be expressed; expected the lowest dimension first")
        document = {"kind": "dimension_order"}
    elif name == "Shortest" and not grid:
        document = {"kind": "minimal"}
    elif name == "Valiant":
        parts = [given.value(key, Record("Shortest", (), "")) for key in ("first", "second")]
        if any(_innermost(part) not in (("DOR",) if grid else ("Shortest",)) for part in parts):
            given.findings.refuse(setting, f"cannot be expressed; expected halves by {'DOR' if grid else 'Shortest'}")
        document = {"kind": "valiant", "stop": "anywhere"}
    else:
        expected = "cannot be expressed; expected DOR on a Mesh, Torus or Hamming, Shortest on a Dragonfly, or Valiant"
        configuration.findings.refuse(setting, expected)
    configuration.findings.put("routing", document, str(given.record))
    given.finish()


def _bubble(router: Fields, topology: str, packet: int) -> None:
    """Free space that packets leave in the rings that they enter."""
    if not router.flag("bubble", False):
        return
    if topology != "Torus":
        router.drop("bubble", "without rings, a packet needs only its own room")
        return
    routing = router.findings.document["routing"]
    if routing.get("kind") != "dimension_order":
        router.refuse("bubble", "cannot be expressed but with DOR; expected false")
    elif router.record.name != "InputOutput":
        router.refuse(
            "bubble", f"cannot be expressed in {router.record.name}, which grants all at once; expected false"
        )
    elif router.whole("flit_size", 1) < packet:
        router.refuse("flit_size", f"expected {packet}, the size of a packet, with bubble")
    elif router.whole("buffer_size", 1) < 2 * packet:
        router.refuse("buffer_size", f"expected at least {2 * packet}, two packets, with bubble")
    else:
        router.findings.put("routing.rings", "bubble", router.setting("bubble"))
        if "output_buffer_size" in router.values:
            router.drop("output_buffer_size", "there, too, a packet that enters a ring needs room for another")


def _innermost(record: Any) -> str:
    while isinstance(record, Record) and record.name in PER_HOP:
        record = next((value for key, value, _ in record.members if key == "routing"), None)
    return record.name if isinstance(record, Record) else ""


def _traffic(given: Fields, endpoints: int, packet: int) -> None:
    name = given.record.name
    if name != "HomogeneousTraffic":
        setting = Setting("traffic", name, given.record.place)
        given.findings.refuse(setting, "cannot be expressed; expected HomogeneousTraffic")
        return
    key = "tasks" if "tasks" in given.values else "servers"
    if given.whole(key, 1) != endpoints:
        given.refuse(key, f"expected {endpoints}, the number of endpoints in the topology")
    size = given.whole("message_size", 1, MOST)
    given.findings.put("traffic.load", given.number("load", 0, 1), given.setting("load"))
    given.findings.put("traffic.packet_size", min(size, packet), given.setting("message_size"))
    if size > packet:
        if size % packet:
            given.refuse("message_size", f"expected whole packets of {packet} phits")
        given.findings.put("traffic.message.packets", size // packet, given.setting("message_size"))
    setting = given.setting("pattern")
    pattern = _pattern(Fields(given.value("pattern"), given.findings, setting), setting, endpoints)
    given.findings.put("traffic.pattern", pattern, setting)
    given.finish()


def _pattern(given: Fields, setting: Setting, endpoints: int) -> Document:
    make = _PATTERNS.get(given.record.name)
    if make is None:
        given.findings.refuse(setting, f"cannot be expressed; expected one of {', '.join(_PATTERNS)}")
        return {}
    document = make(given, endpoints)
    given.finish()
    return document


def _uniform(given: Fields, endpoints: int) -> Document:  # noqa: ARG001
    return {"kind": "uniform", "include_self": given.flag("allow_self", False)}


def _permutation(given: Fields, endpoints: int) -> Document:  # noqa: ARG001
    reason = "the random permutation differs from CAMINOS's"
    given.findings.note(Status.DROPPED, Setting("pattern", given.record.name, given.record.place), reason)
    return {"kind": "permutation", "fixed_points": True}


def _hotspots(given: Fields, endpoints: int) -> Document:
    targets = given.wholes("destinations", 0, endpoints - 1)
    if given.number("extra_random_destinations", 0, 1, 0) or not targets or len(set(targets)) != len(targets):
        given.refuse("destinations", "expected different destinations, and no random ones")
    return {"kind": "hotspot", "targets": targets, "share": 1.0}


def _random_mix(given: Fields, endpoints: int) -> Document:
    patterns, weights = given.value("patterns"), given.wholes("weights", 0)
    records = patterns if isinstance(patterns, list) else []
    if len(records) != len(weights) or not sum(weights):
        given.refuse("weights", "expected one for each pattern, not all 0")
        return {}
    setting = given.setting("patterns")
    made = (_pattern(Fields(each, given.findings, setting), setting, endpoints) for each in records)
    return {"kind": "mix", "parts": [{"weight": w, "pattern": p} for w, p in zip(weights, made, strict=True)]}


def _cartesian(given: Fields, endpoints: int) -> Document:
    """A move of coordinates. The endpoints form a box of the given sides; the first dimension changes fastest."""
    sides = given.wholes("sides", 1)
    none = [0] * len(sides)
    shift = given.wholes("shift", -MOST) if "shift" in given.values else none
    order = given.wholes("permute", 0, max(len(sides) - 1, 0)) if "permute" in given.values else list(range(len(sides)))
    right = math.prod(sides) == endpoints and len(shift) == len(sides) and sorted(order) == list(range(len(sides)))
    if not right or [sides[d] for d in order] != sides or endpoints > MOST_LISTED:
        expected = f"expected sides with {endpoints} points (at most {MOST_LISTED:,}), and moves within the box"
        given.refuse("sides", expected)
        return {}

    def to(source: int) -> int:
        rest, place = source, []
        for side in sides:
            rest, coordinate = divmod(rest, side)
            place.append(coordinate)
        moving = [(c + s) % side for c, s, side in zip(place, shift, sides, strict=True)]
        target, weight = 0, 1
        for d, side in zip(order, sides, strict=True):
            target, weight = target + moving[d] * weight, weight * side
        return target

    return moved(endpoints, to)


_PATTERNS: dict[str, Callable[[Fields, int], Document]] = {
    "Uniform": _uniform,
    "RandomPermutation": _permutation,
    "CartesianTransform": _cartesian,
    "Hotspots": _hotspots,
    "RandomMix": _random_mix,
}
