"""Reads networks from files: edge lists, GraphML, GML, DOT, node-link JSON, InfraGraph, adjacency lists."""

import csv
import io
import json
import re
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from difflib import get_close_matches
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

from phit.base.errors import InputError
from phit.base.files import foreign, opened, opened_bytes
from phit.base.text import HIDDEN, plain, quoted, shortened
from phit.reading.graphs import infragraph
from phit.reading.graphs.network import OF_LINKS, OF_NODES, Network

SOURCES = ("source", "a", "from", "router", "src", "node1")
TARGETS = ("target", "b", "to", "peer", "dst", "node2")
"""Names of the columns for the two ends of a link."""

ATTRIBUTES = ("class", "latency", "bandwidth", "buffer", "parallel")
"""Columns and attributes of a link."""


def read(path: Path) -> Network:
    """The network in a file. The suffix of its name gives the format."""
    readers: dict[str, Callable[[Path, Network], None]] = {
        ".csv": _edge_list,
        ".graphml": _graphml,
        ".gml": _gml,
        ".dot": _dot,
        ".gv": _dot,
        ".json": _node_link,
        ".yaml": _yaml,
        ".yml": _yaml,
        ".adjlist": _adjacency,
    }
    _check_form(path)
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


def _check_form(path: Path) -> None:
    """Refuses a file that is compressed, or text in another encoding. XML states its encoding itself."""
    try:
        with opened_bytes(path) as file:
            why = foreign(file.peek(8))
    except OSError:
        return
    if why and not ("UTF-16" in why and path.suffix.lower() == ".graphml"):
        raise InputError(f"{path}: cannot be read ({why})", "topology.file")


def _edge_list(path: Path, network: Network) -> None:
    # The format does not tell whether a line stands for one direction.
    network.directed = True
    with opened(path, newline="") as file:
        rows = csv.reader(file)
        header = [name.strip().lower() for name in next(rows, [])]
        source = next((name for name in SOURCES if name in header), None)
        target = next((name for name in TARGETS if name in header), None)
        if source is None or target is None:
            raise network.fail("line 1", f"{plain(shortened(','.join(header), 200))}; {COLUMNS}")
        for name in header:
            if name not in (source, target, *ATTRIBUTES) and (meant := get_close_matches(name, ATTRIBUTES, 1, CLOSE)):
                raise network.fail("line 1", f"column {quoted(name)}; {COLUMNS} (did you mean {quoted(meant[0])}?)")
        for row in rows:
            where = f"line {rows.line_num}"
            if not row:
                continue
            if len(row) != len(header):
                raise network.fail(where, f"{len(row)} values; expected {len(header)}, one for each column")
            values = {name: value.strip() for name, value in zip(header, row, strict=True)}
            a, b = values.pop(source), values.pop(target)
            if not a or not b:
                raise network.fail(where, "the name of a router is missing; expected two")
            network.edge(a, b, values, where)


COLUMNS = f"expected the columns source, target, and if needed {', '.join(ATTRIBUTES)}"

CLOSE = 0.8
"""Similarity to a known column from which a column counts as misspelt."""


def _graphml(path: Path, network: Network) -> None:
    import networkx as nx

    places = _Places(path, network)
    try:
        with opened_bytes(path) as file:
            graph = nx.read_graphml(file)
    except (nx.NetworkXError, ParseError, LookupError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not valid GraphML: {plain(shortened(str(error), 200))}", "topology.file") from None
    network.directed = graph.is_directed()
    for node, attributes in graph.nodes(data=True):
        network.node(str(node), attributes, places.of_node(str(node)))
    for a, b, attributes in graph.edges(data=True):
        network.edge(str(a), str(b), attributes, places.of_edge(str(a), str(b)))
    places.check(graph.number_of_nodes(), graph.number_of_edges())


class _Places:
    """Lines of the nodes and edges of a GraphML file, and their numbers, which the library does not give."""

    def __init__(self, path: Path, network: Network) -> None:
        self._path, self._network = path, network
        self._nodes: dict[str, int] = {}
        self._edges: dict[frozenset[str], list[tuple[int, str | None]]] = {}
        self._count = 0
        self._graphs = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        try:
            with opened_bytes(path) as file:
                self._parser.ParseFile(file)
        except (expat.ExpatError, LookupError) as error:
            raise InputError(f"{path}: not valid GraphML: {error}", "topology.file") from None
        if self._graphs != 1:
            raise InputError(f"{path}: {self._graphs} graphs; expected one, none within a node", "topology.file")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name, line = tag.rpartition(":")[2], self._parser.CurrentLineNumber
        if name == "graph":
            self._graphs += 1
        elif name == "node" and "id" in attributes:
            if (before := self._nodes.setdefault(attributes["id"], line)) != line:
                node = quoted(attributes["id"])
                raise self._network.fail(f"line {line}", f"node {node} is already defined in line {before}")
        elif name == "edge" and "source" in attributes and "target" in attributes:
            ends = frozenset((attributes["source"], attributes["target"]))
            self._edges.setdefault(ends, []).append((line, attributes.get("id")))
            self._count += 1

    def of_node(self, name: str) -> str:
        """The place of a node."""
        return f"line {self._nodes[name]}" if name in self._nodes else f"node {quoted(name)}"

    def of_edge(self, a: str, b: str) -> str:
        """The place of the next edge between two nodes."""
        waiting = self._edges.get(frozenset((a, b)))
        if not waiting:
            return f"edge {quoted(a)} to {quoted(b)}"
        line, name = waiting.pop(0)
        return f"line {line}" + (f" (edge {quoted(name)})" if name else "")

    def check(self, nodes: int, edges: int) -> None:
        """Refuses a file of which only a part was read, for example because two edges have one id."""
        if (nodes, edges) != (len(self._nodes), self._count):
            read = f"{nodes:,} nodes and {edges:,} edges were read"
            there = f"{len(self._nodes):,} and {self._count:,} stand there"
            raise InputError(f"{self._path}: {read}, and {there}; expected ids that occur once", "topology.file")


def _gml(path: Path, network: Network) -> None:
    import networkx as nx

    with opened(path) as file:
        text = file.read()
    # Files with parallel links often do not declare them.
    if not re.search(r"\bmultigraph\b", text):
        text = re.sub(r"\bgraph\s*\[", "graph [\n multigraph 1", text, count=1)
    try:
        graph = nx.parse_gml(text, label="id")
    except (nx.NetworkXError, LookupError, AttributeError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not valid GML: {plain(shortened(str(error), 200))}", "topology.file") from None
    for tag, count in (("node", graph.number_of_nodes()), ("edge", graph.number_of_edges())):
        if (there := len(re.findall(rf"^\s*{tag}\s*\[", text, re.MULTILINE))) > count:
            raise InputError(f"{path}: {count:,} of {there:,} {tag}s were read; expected one graph", "topology.file")
    network.add(graph)


def _dot(path: Path, network: Network) -> None:
    """Reads the language of Graphviz by the package `pydot`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pydot = import_module("pydot")
    except ModuleNotFoundError:
        raise InputError(f"{path}: reading DOT needs pydot: pip install 'phit[dot]'", "topology.file") from None
    with opened(path) as file:
        text = file.read()
    # For text that it does not understand, pydot prints a message and returns nothing.
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said), warnings.catch_warnings():
        # The warning is about pydot's own parser, which is newer than pydot.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            graphs = pydot.graph_from_dot_data(text)
        except Exception as error:
            graphs, said = None, io.StringIO(str(error))
    if not graphs or len(graphs) != 1:
        why = f"{len(graphs)} graphs; expected one" if graphs else f"not valid DOT: {shortened(said.getvalue(), 200)}"
        raise InputError(f"{path}: {plain(' '.join(why.split()))}", "topology.file")
    (graph,) = graphs
    network.directed = graph.get_type() == "digraph"
    _add_dot(graph, network, bool(graph.get_strict()), set())


def _add_dot(graph: Any, network: Network, strict: bool, seen: set[tuple[str, ...]]) -> None:
    """Adds the nodes and edges of a graph, then those of its subgraphs."""
    for node in graph.get_nodes():
        name, attributes = node.get_name(), {key: _unquoted(value) for key, value in node.get_attributes().items()}
        if name in ("node", "edge", "graph"):
            if known := sorted(OF_LINKS.union(OF_NODES).difference({"label", "id"}) & attributes.keys()):
                raise network.fail(name, f"a default for {', '.join(known)}; expected it at each node or link")
        elif (name := _dot_name(name)) not in network.nodes:
            network.node(name, attributes, f"node {quoted(name)}")
    for edge in graph.get_edges():
        attributes = {key: _unquoted(value) for key, value in edge.get_attributes().items()}
        for a, b in product(_dot_ends(edge.get_source()), _dot_ends(edge.get_destination())):
            ends = (a, b) if network.directed else tuple(sorted((a, b)))
            # A strict graph has an edge once, however often the file lists it.
            if not strict or ends not in seen:
                network.edge(a, b, attributes, f"edge {quoted(a)} to {quoted(b)}")
            seen.add(ends)
    for inner in graph.get_subgraphs():
        _add_dot(inner, network, strict, seen)


def _dot_ends(end: Any) -> list[str]:
    """The nodes at one end of an edge: one node, or all nodes of a subgraph."""
    if isinstance(end, str):
        return [_dot_name(end)]
    table = getattr(end, "obj_dict", end)
    inner = [name for others in table["subgraphs"].values() for other in others for name in _dot_ends(other)]
    return [_dot_name(name) for name in table["nodes"] if name not in ("node", "edge", "graph")] + inner


def _dot_name(text: str) -> str:
    """The name of a node without quotes and without the port behind it."""
    found = re.match(r'("(?:[^"\\]|\\.)*"|[^:]+)', text, re.DOTALL)
    return _unquoted(found[1] if found else text)


def _unquoted(value: Any) -> str:
    text = str(value)
    quotes = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('\\"', '"') if quotes else text


def _yaml(path: Path, network: Network) -> None:
    """InfraGraph as YAML, by the package PyYAML."""
    try:
        yaml = import_module("yaml")
    except ModuleNotFoundError:
        raise InputError(f"{path}: reading YAML needs PyYAML: pip install 'phit[yaml]'", "topology.file") from None
    with opened(path) as file:
        text = file.read()
    try:
        # An alias stands for a part of the document, so a few lines of them can stand for more than any memory.
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        aliases = any(isinstance(event, yaml.events.AliasEvent) for event in events)
        document: Any = None if aliases else yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        why = plain(shortened(" ".join(str(error).split()), 200))
        raise InputError(f"{path}: not valid YAML: {why}", "topology.file") from None
    if aliases:
        raise InputError(f"{path}: an alias (`*name`); expected a document that is written out", "topology.file")
    if not infragraph.is_infragraph(document):
        raise InputError(f"{path}: expected InfraGraph, a table of `devices`, `instances` and `edges`", "topology.file")
    infragraph.read(document, network)


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
    # Unless the graph is declared undirected, two opposite edges may be one link.
    network.directed = document.get("directed") is not False
    for index, node in enumerate(nodes):
        where = f"nodes[{index}]"
        name = _name(node.get("id")) if isinstance(node, dict) else None
        if name is None:
            raise network.fail(where, f"{quoted(node)}; expected a table with `id`")
        network.node(name, node, where)
    for index, edge in enumerate(edges):
        where = f"links[{index}]"
        ends = [_name(edge.get(key)) for key in ("source", "target")] if isinstance(edge, dict) else []
        if len(ends) != 2 or ends[0] is None or ends[1] is None:
            raise network.fail(where, f"{quoted(edge)}; expected a table with `source` and `target`")
        if nodes and (strange := next((end for end in ends if end not in network.nodes), None)) is not None:
            raise network.fail(where, f"there is no node {quoted(strange)}")
        network.edge(ends[0], ends[1], edge, where)


def _name(value: Any) -> str | None:
    """The name of a node: a text, a number, or a list of these, which is how JSON writes a tuple."""
    if isinstance(value, list) and value and all(isinstance(part, str | int) for part in value):
        return str(tuple(value))
    return str(value) if isinstance(value, str | int) else None


def _adjacency(path: Path, network: Network) -> None:
    """Reads lines with a router and its neighbours. A link may stand in the line of either end, or of both."""
    # By both ends, in the order in which the first line names them: the places in the line of each end.
    lines_of: dict[tuple[str, str], dict[str, list[str]]] = {}
    with opened(path) as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        names = line.split("#")[0].split()
        if names and (names[0][0] in "{[<" or HIDDEN.search(line.replace("\t", " "))):
            expected = "expected a router and its neighbours, with spaces between"
            raise network.fail(f"line {number}", f"{quoted(line)}; {expected}")
        for name in names:
            if name not in network.nodes:
                network.node(name, {}, f"line {number}")
        for other in names[1:]:
            ends = (other, names[0]) if (other, names[0]) in lines_of else (names[0], other)
            lines_of.setdefault(ends, {}).setdefault(names[0], []).append(f"line {number}")
    for (a, b), listed in lines_of.items():
        places = listed[a]
        if len({len(own) for own in listed.values()}) > 1:
            said = " and ".join(f"{len(own)} in the line of {quoted(name)}" for name, own in listed.items())
            raise network.fail(places[0], f"links between {quoted(a)} and {quoted(b)}: {said}; expected equal numbers")
        for place in places:
            network.edge(a, b, {}, place)
