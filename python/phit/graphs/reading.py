"""Reads networks from files: edge lists, GraphML, node-link JSON, InfraGraph, adjacency lists."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import ParseError

from phit.errors import InputError
from phit.files import opened, opened_bytes
from phit.graphs import infragraph
from phit.graphs.network import Network
from phit.text import plain, quoted, shortened

SOURCES = ("source", "a", "from", "router", "src", "node1")
TARGETS = ("target", "b", "to", "peer", "dst", "node2")
"""Columns of the two ends of a link, by the names that files have for them."""

ATTRIBUTES = ("class", "latency", "bandwidth", "buffer", "parallel")
"""Columns and attributes of a link."""


def read(path: Path) -> Network:
    """The network in a file, whose suffix says how it is written."""
    readers: dict[str, Callable[[Path, Network], None]] = {
        ".csv": _edge_list,
        ".graphml": _graphml,
        ".json": _node_link,
        ".adjlist": _adjacency,
    }
    if path.suffix.lower() not in readers:
        expected = ", ".join(readers)
        raise InputError(
            f"topology.file = {quoted(str(path))}: expected a file that ends in {expected}", "topology.file"
        )
    network = Network(str(path))
    try:
        readers[path.suffix.lower()](path, network)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", "topology.file") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({why})", "topology.file") from None
    if not network.nodes:
        raise InputError(f"{path}: no links; expected a network", "topology.file")
    return network


def _edge_list(path: Path, network: Network) -> None:
    with opened(path, newline="") as file:
        rows = csv.reader(file)
        header = [name.strip().lower() for name in next(rows, [])]
        source = next((name for name in SOURCES if name in header), None)
        target = next((name for name in TARGETS if name in header), None)
        unknown = [name for name in header if name not in (source, target, *ATTRIBUTES)]
        if source is None or target is None or unknown:
            what = f"column {quoted(unknown[0])}" if unknown and source and target else ",".join(header)
            expected = f"expected the columns source, target, and if needed {', '.join(ATTRIBUTES)}"
            raise network.fail("line 1", f"{plain(shortened(what, 200))}; {expected}")
        for row in rows:
            where = f"line {rows.line_num}"
            if not row:
                continue
            if len(row) != len(header):
                raise network.fail(where, f"{len(row)} values; expected {len(header)}, one for each column")
            values = {name: value.strip() for name, value in zip(header, row, strict=True)}
            if not values[source] or not values[target]:
                raise network.fail(where, "the name of a router is missing; expected two")
            network.edge(values[source], values[target], values, where)


def _graphml(path: Path, network: Network) -> None:
    import networkx as nx

    try:
        with opened_bytes(path) as file:
            graph = nx.read_graphml(file)
    except (nx.NetworkXError, ParseError, LookupError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not valid GraphML: {plain(shortened(str(error), 200))}", "topology.file") from None
    network.add(graph)


def _node_link(path: Path, network: Network) -> None:
    """Nodes with `id`, and `links` or `edges` with `source` and `target`."""
    with opened(path) as file:
        text = file.read()
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON: {error}", "topology.file") from None
    except ValueError:
        raise InputError(f"{path}: not valid JSON: a number of thousands of digits", "topology.file") from None
    if infragraph.is_infragraph(document):
        infragraph.read(document, network)
        return
    edges = None
    if isinstance(document, dict):
        edges = next((document[key] for key in ("links", "edges") if isinstance(document.get(key), list)), None)
    nodes = document.get("nodes", []) if isinstance(document, dict) else None
    if edges is None or not isinstance(nodes, list):
        raise InputError(
            f"{path}: expected node-link JSON, a table of `nodes` and `links`, or InfraGraph", "topology.file"
        )
    for index, node in enumerate(nodes):
        where = f"nodes[{index}]"
        if not isinstance(node, dict) or not isinstance(node.get("id"), str | int):
            raise network.fail(where, f"{quoted(node)}; expected a table with `id`")
        network.node(str(node["id"]), node, where)
    for index, edge in enumerate(edges):
        where = f"links[{index}]"
        ends = [edge.get(key) for key in ("source", "target")] if isinstance(edge, dict) else []
        if len(ends) != 2 or not all(isinstance(end, str | int) for end in ends):
            raise network.fail(where, f"{quoted(edge)}; expected a table with `source` and `target`")
        if nodes and (strange := next((end for end in ends if str(end) not in network.nodes), None)) is not None:
            raise network.fail(where, f"there is no node {quoted(strange)}")
        network.edge(str(ends[0]), str(ends[1]), edge, where)


def _adjacency(path: Path, network: Network) -> None:
    """Each line a router and its neighbours; a link stands in the line of either end, or of both."""
    seen: set[frozenset[str]] = set()
    with opened(path) as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        names = line.split("#")[0].split()
        if names and names[0] not in network.nodes:
            network.node(names[0], {}, f"line {number}")
        for other in names[1:]:
            ends = frozenset((names[0], other))
            if ends not in seen:
                network.edge(names[0], other, {}, f"line {number}")
            seen.add(ends)
