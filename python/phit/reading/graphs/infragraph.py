"""InfraGraph: devices, their instances, and edges between components of instances, in JSON.

This is the model of InfraGraph by the Open Compute Project and Keysight (infragraph.dev). Instances of a device become
routers if it has a component of `choice` switch or port. In all other instances, every component with an edge to a
router is a network interface and becomes an endpoint. Edges inside devices are left out and counted.
"""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from phit.base.text import quoted, shortened
from phit.reading.graphs.network import Network
from phit.reading.graphs.rates import gigabits_per_second

SWITCH = frozenset({"switch", "port"})
"""Values of a component's `choice` that make its device a router."""

HOST = frozenset({"nic", "xpu", "npu", "gpu"})
"""Values of a component's `choice` that make its device no router, whatever other components it has."""

SCHEMES = ("one2one", "many2many")
"""Ways to join the components of two instances: components with equal positions, as far as both sides have them, or
every component with every other.

Instances are joined in the order of their numbers.
"""

MOST_INDICES = 100_000
"""Maximum number of components on one side of an edge."""

MOST_LINKS = 2_000_000
"""Maximum number of links of all edges."""

GIGABITS = {"gigabits_per_second": 1.0, "gigabytes_per_second": 8.0}
"""Units of a link's bandwidth."""

_INDEX = r"(?:-?\d{1,9})?"
_SLICE = re.compile(rf"^([^\[\]]+)(?:\[({_INDEX})(:({_INDEX})(?::({_INDEX}))?)?\])?$", re.ASCII)


def is_infragraph(document: Any) -> bool:
    """True of a document with devices, instances and edges."""
    return isinstance(document, dict) and all(
        isinstance(document.get(key), list) for key in ("devices", "instances", "edges")
    )


def read(document: Mapping[str, Any], network: Network) -> None:
    """Adds the routers, endpoints and links of a document."""
    components = {
        name: {part: (count, choice) for part, count, choice in _components(device, f"devices[{index}]", network)}
        for index, device in enumerate(document["devices"])
        for name in [_name(device, f"devices[{index}]", network)]
    }
    for index, device in enumerate(document["devices"]):
        inside = device.get("edges")
        if isinstance(inside, list) and inside:
            network.left_out.add("edges inside devices", f"devices[{index}]", len(inside))
    instances: dict[str, tuple[int, dict[str, tuple[int, str]]]] = {}
    for index, instance in enumerate(document["instances"]):
        where = f"instances[{index}]"
        name, device = _name(instance, where, network), instance.get("device")
        if device not in components:
            raise network.fail(where, f"there is no device {quoted(device)}")
        instances[name] = (_count(instance, where, network), components[device])
        if _is_router(components[device]):
            for number in range(instances[name][0]):
                network.node(f"{name}.{number}", {}, where)
    bandwidths = _bandwidths(document.get("links", []), network)
    left = MOST_LINKS
    for index, edge in enumerate(document["edges"]):
        left -= _edge(edge, f"edges[{index}]", instances, bandwidths, network, left)


def _edge(
    edge: Any,
    where: str,
    instances: Mapping[str, tuple[int, dict[str, tuple[int, str]]]],
    bandwidths: Mapping[str, str | None],
    network: Network,
    most: int,
) -> int:
    """Adds the links of an edge, at most `most`, and returns their number."""
    if not isinstance(edge, dict):
        raise network.fail(where, f"{shortened(quoted(edge), 80)}; expected a table with `ep1` and `ep2`")
    sides = [_side(edge.get(end), f"{where}.{end}", instances, network) for end in ("ep1", "ep2")]
    scheme = edge.get("scheme", SCHEMES[0])
    if scheme not in SCHEMES:
        raise network.fail(where, f"scheme = {quoted(scheme)}; expected one of {', '.join(SCHEMES)}")
    if len(sides[0]) != len(sides[1]):
        raise network.fail(
            where, f"{len(sides[0])} instances at ep1 and {len(sides[1])} at ep2; expected equal numbers"
        )
    count = sum(len(a) * len(b) if scheme == SCHEMES[1] else min(len(a), len(b)) for a, b in zip(*sides, strict=True))
    if count > most:
        raise network.fail(where, f"more than {MOST_LINKS:,} links with this edge; expected fewer")
    joined = product if scheme == SCHEMES[1] else zip
    pairs = [pair for both in zip(*sides, strict=True) for pair in joined(*both)]
    link = edge.get("link")
    if link is not None and link not in bandwidths:
        raise network.fail(where, f"there is no link {quoted(link)}")
    attributes: dict[str, Any] = {"class": link, "bandwidth": bandwidths.get(str(link))}
    for ends in pairs:
        for node, is_router in ends:
            if not is_router and node not in network.nodes:
                network.node(node, {"type": "endpoint"}, where)
        network.edge(ends[0][0], ends[1][0], attributes, where)
    return count


def _side(
    side: Any, where: str, instances: Mapping[str, tuple[int, dict[str, tuple[int, str]]]], network: Network
) -> list[list[tuple[str, bool]]]:
    """The nodes on one side of an edge, by instance, each with whether it is a router."""
    if not isinstance(side, dict):
        raise network.fail(where, f"{shortened(quoted(side), 80)}; expected a table with `instance` and `component`")
    instance, spelt = _split(side.get("instance"), f"{where}.instance", network)
    if instance not in instances:
        raise network.fail(where, f"there is no instance {quoted(instance)}")
    count, components = instances[instance]
    component, part = _split(side.get("component"), f"{where}.component", network)
    if component not in components:
        raise network.fail(where, f"there is no component {quoted(component)} in {quoted(instance)}")
    is_router = _is_router(components)
    numbers = _indices(spelt, count, f"{where}.instance", network)
    parts = _indices(part, components[component][0], f"{where}.component", network)
    if len(numbers) * len(parts) > MOST_INDICES:
        raise network.fail(where, f"{len(numbers) * len(parts)} components; expected at most {MOST_INDICES}")
    name = "{0}.{1}" if is_router else "{0}.{1}.{2}.{3}"
    return [[(name.format(instance, number, component, index), is_router) for index in parts] for number in numbers]


def _split(text: Any, where: str, network: Network) -> tuple[str, re.Match[str]]:
    match = _SLICE.match(text) if isinstance(text, str) else None
    if match is None:
        raise network.fail(
            where, f"{shortened(quoted(text), 80)}; expected a name, or a name with indices, such as name[0:4]"
        )
    return match[1], match


def _indices(spelt: re.Match[str], count: int, where: str, network: Network) -> list[int]:
    """The indices of a Python slice; all indices if there is no slice."""
    first, colon, last, step = spelt.group(2, 3, 4, 5)
    if first is None or (colon is not None and not first and not last and not step):
        return list(range(count))
    if colon is None:
        if not first or not 0 <= int(first) < count:
            raise network.fail(where, f"index {quoted(first)}; expected a number below {count}")
        return [int(first)]
    numbers = [int(number) if number else None for number in (first, last, step)]
    if numbers[2] == 0:
        raise network.fail(where, "a step of 0; expected another")
    return list(range(count))[slice(*numbers)]


def _name(table: Any, where: str, network: Network) -> str:
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise network.fail(where, f"{shortened(quoted(table), 80)}; expected a table with `name`")
    return str(table["name"])


def _count(table: Mapping[str, Any], where: str, network: Network) -> int:
    count = table.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_INDICES:
        raise network.fail(where, f"count = {quoted(count)}; expected a whole number from 1 to {MOST_INDICES}")
    return count


def _components(device: Any, where: str, network: Network) -> list[tuple[str, int, str]]:
    parts = device.get("components") if isinstance(device, dict) else None
    if not isinstance(parts, list):
        raise network.fail(where, f"{shortened(quoted(device), 80)}; expected a table with `components`")
    named = [(part, f"{where}.components[{index}]") for index, part in enumerate(parts)]
    return [
        (_name(part, at, network), _count(part, at, network), str(part.get("choice", part.get("type", ""))))
        for part, at in named
    ]


def _is_router(components: Mapping[str, tuple[int, str]]) -> bool:
    """Whether a device is a router.

    A host may have a switch inside; a switch has neither network interfaces nor accelerators.

    A processor decides nothing: the generic switch of the infragraph package has a chip of this choice.
    """
    choices = {choice for _, choice in components.values()}
    return bool(choices & SWITCH) and not choices & HOST


def _bandwidths(links: Any, network: Network) -> dict[str, str | None]:
    """Bandwidths of links by name, as rates."""
    rates: dict[str, str | None] = {}
    for index, link in enumerate(links if isinstance(links, list) else []):
        where = f"links[{index}]"
        said = link.get("physical", {}) if isinstance(link, dict) else {}
        table = said.get("bandwidth", {}) if isinstance(said, dict) else {}
        found = [
            float(table[key]) * unit
            for key, unit in GIGABITS.items()
            if isinstance(table, dict) and isinstance(table.get(key), int | float)
        ]
        if found and (not 0.5 <= found[0] < 1e9):
            raise network.fail(where, f"{found[0]:g} Gb/s; expected a bandwidth of 1 Gb/s or more")
        rates[_name(link, where, network)] = gigabits_per_second(found[0]) if found else None
    return rates
