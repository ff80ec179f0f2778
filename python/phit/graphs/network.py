"""A network while it is read: routers, endpoints and links by the names that a file has for them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phit.errors import InputError
from phit.text import quoted

ENDPOINT = frozenset({"endpoint", "host", "hca", "ca", "nic", "server"})
"""Values of a node's `type` that make it an endpoint, in small letters."""

ROUTER = frozenset({"router", "switch"})
"""Values that make it a router, as having none does."""

OVERRIDES = ("latency", "bandwidth", "buffer")
"""Attributes of a link that take the place of those of its class."""

MOST_CLASSES = 7
"""Most classes of links of a network, the endpoints' own not counted."""

MOST_PARALLEL = 1024


@dataclass
class Node:
    """A node, where it was found, and how many endpoints it says it has."""

    where: str
    is_endpoint: bool
    endpoints: int | None


@dataclass
class Edge:
    """An edge, where it was found, its class and what it says instead of it."""

    ends: tuple[str, str]
    where: str
    kind: str
    overrides: tuple[tuple[str, int | float], ...]
    parallel: int


class Network:
    """Nodes and edges, checked as they come."""

    def __init__(self, source: str) -> None:
        """`source` is the file, for errors."""
        self.source = source
        self.nodes: dict[str, Node] = {}
        self.edges: dict[frozenset[str], Edge] = {}

    def fail(self, where: str, message: str) -> InputError:
        """An error at a place of the source."""
        return InputError(f"{self.source}: {where}: {message}", "topology.file")

    def node(self, name: str, attributes: Mapping[str, Any], where: str) -> None:
        """Adds a node."""
        if name in self.nodes:
            raise self.fail(where, f"node {quoted(name)} is there already: {self.nodes[name].where}")
        kind = str(attributes.get("type", "router")).strip().lower()
        if kind not in ENDPOINT | ROUTER:
            raise self.fail(where, f"type = {quoted(kind)}; expected one of {', '.join(sorted(ENDPOINT | ROUTER))}")
        endpoints = self._number(attributes, "endpoints", where, 0)
        self.nodes[name] = Node(where, kind in ENDPOINT, endpoints)

    def edge(self, a: str, b: str, attributes: Mapping[str, Any], where: str) -> None:
        """Adds an edge, and its nodes if they are not there yet."""
        for name in (a, b):
            if name not in self.nodes:
                self.nodes[name] = Node(where, False, None)
        if a == b:
            raise self.fail(where, f"a link from {quoted(a)} to itself; expected two different routers")
        ends = frozenset((a, b))
        if ends in self.edges:
            expected = f"{self.edges[ends].where} has it already; expected `parallel` for a number of parallel links"
            raise self.fail(where, f"the link between {quoted(a)} and {quoted(b)} is there twice: {expected}")
        numbers = {
            "latency": self._number(attributes, "latency", where, 0),
            "bandwidth": self._bandwidth(attributes, where),
            "buffer": self._number(attributes, "buffer", where, 1),
        }
        overrides = tuple((name, number) for name, number in numbers.items() if number is not None)
        parallel = self._number(attributes, "parallel", where, 1) or 1
        if parallel > MOST_PARALLEL:
            raise self.fail(where, f"parallel = {parallel}; expected at most {MOST_PARALLEL}")
        self.edges[ends] = Edge((a, b), where, _text(attributes.get("class")) or "link", overrides, parallel)

    def join(self, a: str, b: str, attributes: Mapping[str, Any], where: str) -> None:
        """Adds an edge, or one more in parallel to one that is the same."""
        edge = self.edges.get(frozenset((a, b)))
        if edge is None:
            self.edge(a, b, attributes, where)
        elif (_text(attributes.get("class")) or "link") != edge.kind:
            raise self.fail(where, f"links of two kinds between {quoted(a)} and {quoted(b)}; expected one kind")
        else:
            edge.parallel += 1
            if edge.parallel > MOST_PARALLEL:
                raise self.fail(where, f"more than {MOST_PARALLEL} parallel links between {quoted(a)} and {quoted(b)}")

    def add(self, graph: Any) -> None:
        """Adds all nodes and edges of a graph of `networkx` or `rustworkx`, or of a matrix of links."""
        if hasattr(graph, "weighted_edge_list"):
            self._add_indexed(graph)
        elif hasattr(graph, "nodes"):
            for node, attributes in graph.nodes(data=True):
                self.node(str(node), attributes, f"node {quoted(str(node))}")
            for a, b, attributes in graph.edges(data=True):
                self.edge(str(a), str(b), attributes, f"edge {quoted(str(a))} to {quoted(str(b))}")
        else:
            self._add_matrix(graph)

    def _add_indexed(self, graph: Any) -> None:
        """Adds a graph of `rustworkx`: what its nodes and edges carry are their attributes, if it is a mapping."""
        for index in graph.node_indices():
            self.node(str(index), _attributes(graph[index]), f"node {index}")
        for a, b, carried in graph.weighted_edge_list():
            self.edge(str(a), str(b), _attributes(carried), f"edge {a} to {b}")

    def _add_matrix(self, matrix: Any) -> None:
        """Adds a square, symmetric matrix: between routers a and b the number of parallel links, 0 for none."""
        try:
            rows = [list(row) for row in matrix]
        except TypeError:
            expected = "expected a graph of networkx or rustworkx, or a matrix of links"
            raise InputError(f"{type(matrix).__name__}: {expected}") from None
        for a, row in enumerate(rows):
            if len(row) != len(rows):
                raise InputError(f"row {a} of the matrix has {len(row)} values; expected {len(rows)}, as it has rows")
            self.node(str(a), {}, f"row {a}")
        for a, row in enumerate(rows):
            for b, links in enumerate(row):
                if rows[b][a] != links:
                    raise InputError(f"links from {a} to {b}: {links}, and back: {rows[b][a]}; expected as many")
                if links != 0 and a <= b:
                    where = f"row {a}, column {b} of the matrix"
                    self.edge(str(a), str(b), {"parallel": links}, where)

    def _number(self, attributes: Mapping[str, Any], key: str, where: str, least: int) -> int | None:
        value = attributes.get(key)
        if value is None or value == "":
            return None
        try:
            number = int(value)
            exact = float(value) == number and not isinstance(value, bool)
        except (TypeError, ValueError, OverflowError):
            exact, number = False, 0
        if not exact or number < least:
            raise self.fail(where, f"{key} = {quoted(value)}; expected a whole number of {least} or more")
        return number

    def _bandwidth(self, attributes: Mapping[str, Any], where: str) -> int | float | None:
        """Phits per cycle; of a link that is slower than one, a ratio."""
        value = attributes.get("bandwidth")
        if value is None or value == "" or isinstance(value, bool):
            return self._number(attributes, "bandwidth", where, 1)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number < math.inf:
            raise self.fail(where, f"bandwidth = {quoted(value)}; expected phits per cycle, a number above 0")
        return int(number) if number == int(number) else number

    def section(self, endpoints: int | None, group: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """`[topology]`, and keys of `router.links` by class."""
        routers = self._routers()
        number = {name: index for index, name in enumerate(routers)}
        attached = self._attached(number)
        counts = [self.nodes[name].endpoints for name in routers]
        listed: int | list[int]
        if endpoints is not None:
            if attached or any(count is not None for count in counts):
                raise InputError(
                    f"topology.endpoints = {quoted(endpoints)}: {self.source} says how many there are; "
                    "expected it to be left out",
                    "topology.endpoints",
                )
            listed = endpoints
        elif attached:
            listed = [attached.get(name, 0) for name in routers]
        else:
            listed = [1 if count is None else count for count in counts]
        between = [edge for edge in self.edges.values() if all(end in number for end in edge.ends)]
        self._check_whole(routers, between)
        names, links = self._classes(between)
        links |= self._endpoint_links(number)
        classes = {name: index for index, name in enumerate(names)}
        rows = [
            [number[edge.ends[0]], number[edge.ends[1]], *([classes[_class(edge)]] if classes[_class(edge)] else [])]
            for edge in between
            for _ in range(edge.parallel)
        ]
        section = {"kind": "graph", "routers": len(routers), "endpoints": listed, "links": rows}
        section |= {"classes": names} if names != ["link"] else {}
        return section | ({"group": group} if group != 1 else {}), links

    def _routers(self) -> list[str]:
        names = [name for name, node in self.nodes.items() if not node.is_endpoint]
        if not names:
            raise InputError(f"{self.source}: no routers; expected a network with links", "topology.file")
        numbered = [str(index) for index in range(len(names))]
        return numbered if set(names) == set(numbered) else names

    def _attached(self, number: Mapping[str, int]) -> dict[str, int]:
        """How many endpoints that are nodes each router has."""
        router: dict[str, str] = {}
        for edge in self.edges.values():
            for end, other in (edge.ends, edge.ends[::-1]):
                if end in number:
                    continue
                if other not in number:
                    raise self.fail(edge.where, f"a link between two endpoints, {quoted(end)} and {quoted(other)}")
                if end in router or edge.parallel > 1:
                    expected = "expected one: a host with several is as many endpoints, or a router with one endpoint"
                    raise self.fail(edge.where, f"endpoint {quoted(end)} has several links; {expected}")
                router[end] = other
        for name, node in self.nodes.items():
            if node.is_endpoint and name not in router:
                raise self.fail(node.where, f"endpoint {quoted(name)} has no link; expected one to a router")
        counts: dict[str, int] = {}
        for name in router.values():
            counts[name] = counts.get(name, 0) + 1
        return counts

    def _endpoint_links(self, number: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        """What the links of endpoints that are nodes say for `router.links.endpoint`."""
        edges = [edge for edge in self.edges.values() if not all(end in number for end in edge.ends)]
        if unlike := next((edge for edge in edges if edge.overrides != edges[0].overrides), None):
            said = [", ".join(f"{key} = {value}" for key, value in edge.overrides) for edge in (edges[0], unlike)]
            expected = f"{said[1] or 'nothing'} here and {said[0] or 'nothing'} at {edges[0].where}"
            raise self.fail(unlike.where, f"links of endpoints of two kinds: {expected}; expected the same for all")
        return {"endpoint": dict(edges[0].overrides)} if edges and edges[0].overrides else {}

    def _check_whole(self, routers: list[str], edges: list[Edge]) -> None:
        """Names two routers that no links join."""
        around: dict[str, list[str]] = {name: [] for name in routers}
        for edge in edges:
            around[edge.ends[0]].append(edge.ends[1])
            around[edge.ends[1]].append(edge.ends[0])
        seen, waiting = {routers[0]}, [routers[0]]
        while waiting:
            new = [name for name in around[waiting.pop()] if name not in seen]
            seen.update(new)
            waiting.extend(new)
        if (lost := next((name for name in routers if name not in seen), None)) is not None:
            parts = f"{len(seen)} of {len(routers)} routers are joined to {quoted(routers[0])}"
            raise self.fail(
                self.nodes[lost].where if lost in self.nodes else "the links",
                f"no links lead from router {quoted(lost)} to {quoted(routers[0])} ({parts}); expected one network",
            )

    def _classes(self, edges: list[Edge]) -> tuple[list[str], dict[str, dict[str, Any]]]:
        """Names of classes in the order of links, and what they say for `router.links`."""
        names: dict[str, dict[str, Any]] = {}
        for edge in edges:
            names.setdefault(_class(edge), dict(edge.overrides))
            if len(names) > MOST_CLASSES:
                expected = f"expected at most {MOST_CLASSES} kinds of links in all"
                raise self.fail(edge.where, f"another class of links, {quoted(_class(edge))}; {expected}")
        return list(names) or ["link"], {name: keys for name, keys in names.items() if keys}


def _attributes(carried: Any) -> Mapping[str, Any]:
    """What a node or an edge carries, as far as it is attributes."""
    return carried if isinstance(carried, Mapping) else {}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _class(edge: Edge) -> str:
    """The name of an edge's class: links of other latencies, bandwidths or buffers are a class of their own."""
    return " ".join([edge.kind, *(f"{key}={value}" for key, value in edge.overrides)])
