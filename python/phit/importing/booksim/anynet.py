"""BookSim's `anynet` files: routers, the nodes and routers linked to each, and latencies of links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phit.base.errors import InputError
from phit.base.text import quoted
from phit.importing.text import text_of

MOST_LINKS = 1 << 20
MOST_CLASSES = 7


@dataclass(frozen=True)
class AnyNet:
    """A network with its routes: a shortest path between every two routers, by the latencies of links."""

    endpoints: list[int]
    """Endpoints at each router."""
    numbering: list[int]
    """Phit's endpoint number for each node of the file."""
    attachment: int
    """Latency of the links of endpoints in cycles."""
    neighbours: list[dict[int, int]]
    """The neighbours of each router in their order, with the latency of the link in cycles."""

    def numbering_or_none(self) -> list[int] | None:
        """The numbers of nodes, if they differ from those in the file."""
        return None if self.numbering == list(range(len(self.numbering))) else self.numbering

    def _kinds(self) -> list[int]:
        """The latencies that occur, in ascending order; the position of each is its class."""
        return sorted({latency for row in self.neighbours for latency in row.values()})

    def classes(self) -> list[str]:
        """Names of the link classes."""
        return [_class(latency) for latency in self._kinds()] or ["link"]

    def latencies(self) -> dict[str, int]:
        """Latency of the links of each class in cycles."""
        return {_class(latency): latency for latency in self._kinds()} or {"default": 1}

    def links(self) -> list[list[int]]:
        """The links in Phit's form: two routers and a class."""
        kinds = self._kinds()
        return [
            [router, other, kinds.index(latency)] if len(kinds) > 1 else [router, other]
            for router, row in enumerate(self.neighbours)
            for other, latency in row.items()
            if router < other
        ]

    def _ports(self) -> list[dict[int, int]]:
        """The port of each router to each neighbour: endpoints come first, then links in the order of `links`."""
        found: list[dict[int, int]] = [{} for _ in self.neighbours]
        for a, b, *_ in self.links():
            for router, other in ((a, b), (b, a)):
                found[router][other] = self.endpoints[router] + len(found[router])
        return found

    def entries(self) -> list[list[int]]:
        """The routing tables: router, destination, port."""
        ports, first, found = self._ports(), self._first_endpoints(), []
        for router in range(len(self.endpoints)):
            step = self.first_steps(router)
            for to, count in enumerate(self.endpoints):
                for place in range(count):
                    port = place if to == router else ports[router][step[to]]
                    found.append([router, first[to] + place, port])
        return found

    def _first_endpoints(self) -> list[int]:
        return [sum(self.endpoints[:router]) for router in range(len(self.endpoints))]

    def first_steps(self, start: int) -> dict[int, int]:
        """The first router on the path from `start` to each router.

        Paths are Dijkstra's shortest paths; among equal ones, the lowest number comes first.
        """
        distance, step = {start: 0}, {start: start}
        waiting = set(range(len(self.endpoints)))
        while waiting:
            known = [router for router in waiting if router in distance]
            if not known:
                break
            nearest = min(known, key=lambda router: (distance[router], router))
            waiting.remove(nearest)
            for other, latency in self.neighbours[nearest].items():
                if distance[nearest] + latency < distance.get(other, 1 << 62):
                    distance[other] = distance[nearest] + latency
                    step[other] = other if nearest == start else step[nearest]
        return step

    def size(self) -> int:
        """Entries of the routing tables."""
        return len(self.endpoints) * len(self.numbering)

    def connected(self) -> bool:
        """Whether there is a path from the first router to every other."""
        return len(self.first_steps(0)) == len(self.endpoints)


def _class(latency: int) -> str:
    return f"cycles{latency}"


def read(path: Path) -> AnyNet:
    """Reads the network in a file, whose lines look like `router 0 node 0 node 1 router 1 5`."""
    routers: dict[int, dict[int, int]] = {}
    nodes: dict[int, tuple[int, int]] = {}
    for number, line in enumerate(text_of(path).splitlines(), 1):
        place = f"{path}:{number}"
        words = line.split()
        if not words:
            continue
        (head, own, _), *linked = _pairs(words, place)
        if head == "router":
            routers.setdefault(own, {})
        for kind, other, latency in linked:
            if head == kind == "node":
                raise InputError(f"{place}: {quoted(line)}: expected no links between nodes")
            if head == kind == "router":
                if own == other:
                    raise InputError(f"{place}: {quoted(line)}: router {own} is linked to itself")
                routers[own][other] = latency or 1
                routers.setdefault(other, {}).setdefault(own, 1)
                continue
            router, node = (own, other) if head == "router" else (other, own)
            routers.setdefault(router, {})
            if nodes.get(node, (router, 0))[0] != router:
                raise InputError(f"{place}: node {node} is linked to two routers")
            nodes[node] = (router, latency or nodes.get(node, (0, 1))[1])
    return _network(path, routers, nodes)


def _pairs(words: list[str], place: str) -> Iterator[tuple[str, int, int | None]]:
    """Kind and number of each item in a line, with the latency of the link to it."""
    at = 0
    while at < len(words):
        kind, name, after = (*words[at : at + 3], "", "")[:3]
        if kind not in ("router", "node") or not re.fullmatch(r"[0-9]{1,9}", name):
            expected = "expected `router` or `node` with a number, as in `router 0 node 0 router 1 5`"
            raise InputError(f"{place}: {quoted(f'{kind} {name}'.strip())}; {expected}")
        latency = int(after) if at and re.fullmatch(r"[0-9]{1,9}", after) else None
        if latency == 0:
            raise InputError(f"{place}: {kind} {name} {after}: expected a latency of 1 or more")
        yield kind, int(name), latency
        at += 2 if latency is None else 3


def _network(path: Path, routers: dict[int, dict[int, int]], nodes: dict[int, tuple[int, int]]) -> AnyNet:
    for name, numbers in (("routers", routers), ("nodes", nodes)):
        if sorted(numbers) != list(range(len(numbers))) or not numbers:
            raise InputError(f"{path}: expected {name} numbered from 0 on, without gaps")
    if sum(map(len, routers.values())) > MOST_LINKS:
        raise InputError(f"{path}: expected at most {MOST_LINKS:,} links")
    for router, row in routers.items():
        for other, latency in row.items():
            if routers[other][router] != latency:
                raise InputError(
                    f"{path}: the link from router {router} to {other} has {latency} cycles, the link back "
                    f"{routers[other][router]} (1 if the file does not say it); expected the same both ways"
                )
    if len(found := {latency for _, latency in nodes.values()}) > 1:
        raise InputError(f"{path}: links of nodes have {sorted(found)} cycles; expected equal latencies")
    if len(kinds := {latency for row in routers.values() for latency in row.values()}) > MOST_CLASSES:
        raise InputError(f"{path}: links have {len(kinds)} latencies; expected at most {MOST_CLASSES} different ones")
    endpoints = [0] * len(routers)
    for router, _ in nodes.values():
        endpoints[router] += 1
    # Phit numbers endpoints router by router.
    order = sorted(nodes, key=lambda node: (nodes[node][0], node))
    numbering = [0] * len(nodes)
    for number, node in enumerate(order):
        numbering[node] = number
    rows = [dict(sorted(routers[router].items())) for router in range(len(routers))]
    network = AnyNet(endpoints, numbering, found.pop(), rows)
    if not network.connected():
        raise InputError(f"{path}: expected a path from every router to every other")
    return network
