"""A network while it is read: routers, endpoints and links, by the names in the file."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from phit.base.errors import InputError
from phit.base.left_out import LeftOut
from phit.base.text import quoted
from phit.reading.graphs.names import called, distinct
from phit.reading.graphs.rates import commonest, example, quantity, size

ENDPOINT = frozenset({"endpoint", "host", "hca", "ca", "nic", "server"})
"""Values of a node's `type` that make it an endpoint, in lower case."""

ROUTER = frozenset({"router", "switch"})
"""Values of a node's `type` that make it a router, as does a missing `type`."""

OVERRIDES = ("latency", "bandwidth", "buffer")
"""Attributes of a link that override those of its class."""

OF_NODES = frozenset({"id", "label", "name", "type", "endpoints"})
"""Attributes of a node that the reader uses, or that name the node."""

OF_LINKS = frozenset({"id", "key", "source", "target", "label", "class", "parallel", *OVERRIDES})
"""Attributes of a link that the reader uses, or that name the link."""

SPEEDS = ("LinkSpeed", "LinkSpeedRaw", "speed", "capacity")
"""Attributes by which other tools give the speed of a link, in units of their own."""

SPEED = re.compile(r"\d+(\.\d+)?\s*[kMGT](E|bE|b(it|ps)?(/s)?)?", re.IGNORECASE)
"""A speed as editors' labels of links have it: 100G, 10 GbE, 400 Gb/s."""

MOST_NAMED = 8
"""Maximum number of attributes that are named among the things left out."""

MOST_CLASSES = 7
"""Maximum number of classes of links in a network, besides the class of endpoint links."""

MOST_PARALLEL = 1024
"""Maximum number of parallel links that one entry of a file may stand for."""


@dataclass
class Node:
    """A node: its place in the file, its label, its type, and its number of endpoints."""

    where: str
    label: str
    kind: str
    endpoints: int | None

    @property
    def is_endpoint(self) -> bool:
        """Whether it is an endpoint of the network; an unknown type makes a router."""
        return self.kind in ENDPOINT


@dataclass
class Edge:
    """An edge: its place in the file, its class, and the attributes that override the class."""

    ends: tuple[str, str]
    where: str
    kind: str
    overrides: tuple[tuple[str, int | float | str], ...]
    parallel: int


class Network:
    """Nodes and edges, checked as they come.

    Two edges between the same nodes are parallel links. Edges of a node to itself are left out: no packet takes them.
    """

    def __init__(self, source: str) -> None:
        """Creates an empty network; `source` is the file that errors name."""
        self.source = source
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.left_out = LeftOut()
        self.foreign: dict[str, str] = {}
        """Attributes of nodes and links that the reader does not use, each with its first place."""
        self.directed = False
        """Whether an edge from a to b does not imply one from b to a: both together may be one link."""

    def fail(self, where: str, message: str) -> InputError:
        """An error at a place of the source."""
        return InputError(f"{self.source}: {where}: {message}", "topology.file")

    def node(self, name: str, attributes: Mapping[str, Any], where: str) -> None:
        """Adds a node."""
        if name in self.nodes:
            raise self.fail(where, f"node {quoted(name)} is already defined: {self.nodes[name].where}")
        self._foreign(attributes, OF_NODES, where)
        kind = _text(attributes.get("type")).lower()
        endpoints = self._number(attributes, "endpoints", where, 0)
        label = _text(attributes.get("label")) or _text(attributes.get("name")) or name
        self.nodes[name] = Node(where, label, kind, endpoints)

    def _foreign(self, attributes: Mapping[str, Any], known: frozenset[str], where: str) -> None:
        """Records attributes that the reader does not use."""
        for name in attributes:
            if name not in known and name not in self.foreign:
                self.foreign[str(name)] = where

    def edge(self, a: str, b: str, attributes: Mapping[str, Any], where: str) -> None:
        """Adds an edge, and its nodes if they are new."""
        for name in (a, b):
            if name not in self.nodes:
                self.nodes[name] = Node(where, name, "", None)
        self._foreign(attributes, OF_LINKS, where)
        speeds = [_text(attributes.get(name)) for name in SPEEDS]
        labelled = SPEED.fullmatch(_text(attributes.get("label")).strip())
        if (any(speeds) or labelled) and not _text(attributes.get("bandwidth")):
            self.left_out.add("speeds of links that are not given as `bandwidth`", where)
        numbers = {
            "latency": self._time_or_size(attributes, "latency", where, 0),
            "bandwidth": self._bandwidth(attributes, where),
            "buffer": self._time_or_size(attributes, "buffer", where, 1),
        }
        overrides = tuple((name, number) for name, number in numbers.items() if number is not None)
        parallel = self._number(attributes, "parallel", where, 1) or 1
        if parallel > MOST_PARALLEL:
            raise self.fail(where, f"parallel = {parallel}; expected at most {MOST_PARALLEL}")
        if a == b:
            self.left_out.add("links from a router to itself", where, parallel)
            return
        self.edges.append(Edge((a, b), where, _text(attributes.get("class")) or "link", overrides, parallel))

    def add(self, graph: Any) -> None:
        """Adds all nodes and edges of a graph of `networkx` or `rustworkx`, or of a matrix of links."""
        if hasattr(graph, "weighted_edge_list"):
            self._add_indexed(graph)
        elif hasattr(graph, "nodes"):
            self.directed = bool(graph.is_directed())
            for node, attributes in graph.nodes(data=True):
                self.node(str(node), attributes, f"node {quoted(str(node))}")
            for a, b, attributes in graph.edges(data=True):
                self.edge(str(a), str(b), attributes, f"edge {quoted(str(a))} to {quoted(str(b))}")
        else:
            self._add_matrix(graph)

    def _add_indexed(self, graph: Any) -> None:
        """Adds a graph of `rustworkx`. Objects at nodes and edges are their attributes if they are mappings."""
        self.directed = hasattr(graph, "in_degree")
        for index in graph.node_indices():
            self.node(str(index), _attributes(graph[index]), f"node {index}")
        for a, b, carried in graph.weighted_edge_list():
            self.edge(str(a), str(b), _attributes(carried), f"edge {a} to {b}")

    def _add_matrix(self, matrix: Any) -> None:
        """Adds a square, symmetric matrix of the numbers of parallel links between routers; 0 for no link."""
        try:
            rows = [list(row) for row in matrix]
        except TypeError:
            expected = "expected a graph of networkx or rustworkx, or a matrix of links"
            raise InputError(f"{type(matrix).__name__}: {expected}") from None
        for a, row in enumerate(rows):
            if len(row) != len(rows):
                raise InputError(
                    f"row {a} of the matrix has {len(row)} values; expected {len(rows)}, its number of rows"
                )
            self.node(str(a), {}, f"row {a}")
        for a, row in enumerate(rows):
            for b, links in enumerate(row):
                if rows[b][a] != links:
                    raise InputError(f"links from {a} to {b}: {links}, and back: {rows[b][a]}; expected equal numbers")
                if links != 0 and a <= b:
                    where = f"row {a}, column {b} of the matrix"
                    self.edge(str(a), str(b), {"parallel": links}, where)

    def _time_or_size(self, attributes: Mapping[str, Any], key: str, where: str, least: int) -> int | str | None:
        """A number of cycles or phits, or a quantity with its unit, which the engine converts."""
        given = quantity(key, attributes.get(key))
        return given if given is not None else self._number(attributes, key, where, least, f", or {example(key)}")

    def _number(self, attributes: Mapping[str, Any], key: str, where: str, least: int, other: str = "") -> int | None:
        value = attributes.get(key)
        if value is None or value == "":
            return None
        try:
            number = int(value)
            exact = float(value) == number and not isinstance(value, bool)
        except (TypeError, ValueError, OverflowError):
            exact, number = False, 0
        if not exact or number < least:
            raise self.fail(where, f"{key} = {quoted(value)}; expected a whole number of {least} or more{other}")
        return number

    def _bandwidth(self, attributes: Mapping[str, Any], where: str) -> int | float | str | None:
        """Phits per cycle, as a ratio if it is less than one; or a rate with its unit."""
        value = attributes.get("bandwidth")
        if (rate := quantity("bandwidth", value)) is not None:
            return rate
        if value is None or value == "" or isinstance(value, bool):
            return self._number(attributes, "bandwidth", where, 1)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number < math.inf:
            raise self.fail(
                where, f"bandwidth = {quoted(value)}; expected phits per cycle, a number above 0, or a rate"
            )
        return int(number) if number == int(number) else number

    def section(self, endpoints: int | None, group: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """`[topology]`, and keys of `router.links` by class."""
        self._as_links()
        self._check_types()
        routers = self._routers()
        number = {name: index for index, name in enumerate(routers)}
        attached = self._attached(number)
        counts = [self.nodes[name].endpoints for name in routers]
        listed: int | list[int]
        if endpoints is not None:
            if attached or any(count is not None for count in counts):
                raise InputError(
                    f"topology.endpoints = {quoted(endpoints)}: {self.source} gives their number; leave out this key",
                    "topology.endpoints",
                )
            listed = endpoints
        elif attached:
            listed = [attached.get(name, 0) for name in routers]
        else:
            listed = [1 if count is None else count for count in counts]
        between = [edge for edge in self.edges if all(end in number for end in edge.ends)]
        self._check_whole(routers, between)
        names, links = self._classes(between)
        links |= self._endpoint_links(number)
        own = self._endpoint_bandwidths(number, routers)
        if own:
            links.setdefault("endpoint", {})["bandwidth"] = commonest(own, size)
        classes = {name: index for index, name in enumerate(names)}
        rows = [
            [number[edge.ends[0]], number[edge.ends[1]], *([classes[_class(edge)]] if classes[_class(edge)] else [])]
            for edge in between
            for _ in range(edge.parallel)
        ]
        section = {"kind": "graph", "routers": len(routers), "endpoints": listed, "links": rows}
        section |= {"classes": names} if names != ["link"] else {}
        section |= {"names": known} if (known := self._names(routers, number, bool(attached))) else {}
        section |= {"endpoint_bandwidth": own} if len(set(own)) > 1 else {}
        section |= {"group": group} if group != 1 else {}
        if self.foreign:
            names = sorted(self.foreign)
            named = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
            what = f"attributes that Phit does not use ({named})"
            self.left_out.add(what, next(iter(self.foreign.values())), len(names))
        left_out = self.left_out.rows()
        return section | ({"left_out": left_out} if left_out else {}), links

    def _as_links(self) -> None:
        """Combines the edges of a directed graph: two opposite edges are one link, if every edge has an opposite."""
        if not self.directed:
            return
        self.directed = False
        waiting: dict[tuple[object, ...], list[Edge]] = {}
        links: list[Edge] = []
        alone: dict[int, Edge] = {}
        for edge in self.edges:
            own = (*edge.ends, edge.kind, edge.overrides, edge.parallel)
            back = (*edge.ends[::-1], edge.kind, edge.overrides, edge.parallel)
            if waiting.get(back):
                alone.pop(id(waiting[back].pop(0)))
            else:
                waiting.setdefault(own, []).append(edge)
                alone[id(edge)] = edge
                links.append(edge)
        if len(links) == len(self.edges):
            # The file lists each link once, in one direction.
            return
        if alone:
            edge = next(iter(alone.values()))
            a, b = (quoted(end) for end in edge.ends)
            expected = "expected each link once, or each in both directions and alike"
            raise self.fail(edge.where, f"{a} to {b} is listed in one direction, others in both; {expected}")
        kept = {id(edge) for edge in links}
        second = [edge for edge in self.edges if id(edge) not in kept]
        count = sum(edge.parallel for edge in second)
        self.left_out.add("second directions of links that are listed in both", second[0].where, count)
        self.edges = links

    def _check_types(self) -> None:
        """Records nodes of unknown types, which become routers, and refuses those that may be endpoints."""
        unknown = {name: node for name, node in self.nodes.items() if node.kind and node.kind not in ENDPOINT | ROUTER}
        for node in unknown.values():
            self.left_out.add("types of nodes that name neither a router nor an endpoint", node.where)
        if not any(node.is_endpoint for node in self.nodes.values()):
            return
        degree = dict.fromkeys(unknown, 0)
        for edge in self.edges:
            for end in edge.ends:
                if end in degree:
                    degree[end] += edge.parallel
        for name, links in degree.items():
            if links <= 1:
                node, known = unknown[name], ", ".join(sorted(ENDPOINT | ROUTER))
                raise self.fail(
                    node.where,
                    f"type = {quoted(node.kind)} of {quoted(name)}, which has {links or 'no'} link: a router or an "
                    f"endpoint? Expected one of {known}",
                )

    def _routers(self) -> list[str]:
        names = [name for name, node in self.nodes.items() if not node.is_endpoint]
        if not names:
            raise InputError(f"{self.source}: no routers; expected a network with links", "topology.file")
        linked = {end for edge in self.edges for end in edge.ends}
        if len(names) > 1 and linked:
            for name in names:
                if name not in linked:
                    if self.nodes[name].endpoints:
                        expected = "expected links, or no endpoints: nothing reaches them"
                        raise self.fail(self.nodes[name].where, f"router {quoted(name)} has no link; {expected}")
                    self.left_out.add("routers without a link", self.nodes[name].where)
            names = [name for name in names if name in linked]
        numbered = [str(index) for index in range(len(names))]
        return numbered if set(names) == set(numbered) else names

    def _names(self, routers: list[str], number: Mapping[str, int], hosts: bool) -> dict[str, list[str]]:
        """Names of routers, and of endpoints that are nodes. Routers whose names are numbers get none."""
        own = [called(name, self.nodes[name].label) if name in self.nodes else name for name in routers]
        found = {} if own == [str(index) for index in range(len(own))] else {"routers": distinct(own, routers)}
        if hosts:
            of_router: list[list[str]] = [[] for _ in routers]
            for edge in self.edges:
                for end, other in (edge.ends, edge.ends[::-1]):
                    if end not in number:
                        of_router[number[other]].append(end)
            ends = [end for there in of_router for end in there]
            found["endpoints"] = distinct([called(end, self.nodes[end].label) for end in ends], ends)
        return found

    def _attached(self, number: Mapping[str, int]) -> dict[str, int]:
        """Number of endpoints at each router, for endpoints that are nodes."""
        router: dict[str, str] = {}
        for edge in self.edges:
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
        """Keys of `router.links.endpoint` from the links of endpoints that are nodes."""
        edges = [edge for edge in self.edges if not all(end in number for end in edge.ends)]
        rest = [{key: value for key, value in edge.overrides if key != "bandwidth"} for edge in edges]
        unlike = next((place for place, keys in enumerate(rest) if keys != rest[0]), None)
        if unlike is not None:
            said = [", ".join(f"{key} = {value}" for key, value in rest[place].items()) for place in (0, unlike)]
            expected = f"{said[1] or 'nothing'} here and {said[0] or 'nothing'} at {edges[0].where}"
            raise self.fail(edges[unlike].where, f"links of endpoints of two kinds: {expected}; expected one kind")
        return {"endpoint": rest[0]} if rest and rest[0] else {}

    def _endpoint_bandwidths(self, number: Mapping[str, int], routers: list[str]) -> list[int | float | str]:
        """Bandwidths of the links of endpoints that are nodes, router by router; empty if no link gives one."""
        by_router: dict[str, list[int | float | str | None]] = {name: [] for name in routers}
        for edge in self.edges:
            for end, other in (edge.ends, edge.ends[::-1]):
                if end not in number:
                    by_router[other].append(dict(edge.overrides).get("bandwidth"))
        all_of_them = [bandwidth for own in by_router.values() for bandwidth in own]
        said = [bandwidth for bandwidth in all_of_them if bandwidth is not None]
        usual = commonest(said, size) if said else None
        # A link without a bandwidth gets the most frequent one.
        return [] if usual is None else [usual if bandwidth is None else bandwidth for bandwidth in all_of_them]

    def _check_whole(self, routers: list[str], edges: list[Edge]) -> None:
        """Refuses a network that is not connected, and names two routers without a path."""
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
        """Names of link classes, in the order of links, and their keys for `router.links`."""
        names: dict[str, dict[str, Any]] = {}
        for edge in edges:
            names.setdefault(_class(edge), dict(edge.overrides))
            if len(names) > MOST_CLASSES:
                expected = f"expected at most {MOST_CLASSES} kinds of links in all"
                raise self.fail(edge.where, f"another class of links, {quoted(_class(edge))}; {expected}")
        return list(names) or ["link"], {name: keys for name, keys in names.items() if keys}


def _attributes(carried: Any) -> Mapping[str, Any]:
    """The attributes of a node or edge; empty if it carries another object."""
    return carried if isinstance(carried, Mapping) else {}


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _class(edge: Edge) -> str:
    """The class name of an edge; links with another latency, bandwidth or buffer form a class of their own."""
    return " ".join([edge.kind, *(f"{key}={value}" for key, value in edge.overrides)])
