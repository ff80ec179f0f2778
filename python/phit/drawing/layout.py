"""Places of a network's routers in a picture: groups, levels and slices stay together, other graphs follow their links.

Pictures of link use and of congestion over time share this layout, so each router is always in the same place.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

import phit._phit as _phit
from phit.base.errors import ScenarioError
from phit.document import Document
from phit.document.inlining import to_json

MOST_PLACED = 800
"""Maximum number of routers of a graph that is laid out by its links; larger graphs are drawn in rows."""


@dataclass(frozen=True)
class Block:
    """Routers that belong together: a group, a level or a slice."""

    label: str
    first: int
    count: int
    """Number of routers: the block has routers `first` to `first + count - 1`."""
    columns: int
    """Routers side by side; further routers are below them."""

    @property
    def routers(self) -> range:
        """The numbers of its routers."""
        return range(self.first, self.first + self.count)


@dataclass(frozen=True)
class Layout:
    """The places of all routers."""

    blocks: tuple[Block, ...]
    """Every router is in one block, in the order of numbers."""
    flow: str
    """`beside`: blocks are side by side as far as there is room. `below`: each block is below the previous one."""
    groups: bool = False
    """Whether the blocks are groups: equal parts of the network that can be compared in pairs."""
    places: tuple[tuple[float, float], ...] = ()
    """Places of the routers of a graph, between 0 and 1; empty if blocks give the places."""


def layout_of(scenario: Document) -> Layout | None:
    """The layout of the network of a complete scenario; `None` if the engine cannot tell its size."""
    topology = scenario.get("topology", {})
    try:
        count = int(json.loads(_phit.needs(to_json(scenario)))["routers"])
    except (ScenarioError, ValueError, RuntimeError, KeyError):
        return None
    found = _blocks(topology, count)
    if found is not None and sum(block.count for block in found.blocks) == count:
        return found
    places = _places(scenario, count) if count <= MOST_PLACED else ()
    return Layout((Block("routers", 0, count, _side(count)),), "below", places=places)


def _side(count: int) -> int:
    """The number of columns of an approximate square."""
    return max(1, isqrt(count))


def _blocks(topology: Document, count: int) -> Layout | None:
    """The blocks that follow from the keys of a topology; `None` if it has no blocks."""
    match topology:
        case {"kind": "dragonfly", "a": int(size)}:
            return _groups(count, size, size if size <= 8 else _side(size))
        case {"kind": "dragonfly_plus", "leaves": int(leaves), "spines": int(spines)}:
            return _groups(count, leaves + spines, leaves)
        case {"kind": "cascade", "rows": int(rows), "columns": int(columns)}:
            return _groups(count, rows * columns, columns)
        case {"kind": "slim_fly", "q": int(size)} | {"kind": "xpander", "lift": int(size)}:
            return _groups(count, size, size if size <= 8 else _side(size))
        case {"kind": "graph" | "infiniband", "group": int(size)} if size > 1:
            return _groups(count, size, size if size <= 8 else _side(size))
        case {"kind": "mesh" | "torus" | "hyperx", "dims": [int(x), *rest]}:
            return _slices(x, rest)
        case {"kind": "clos", "down": [*down], "up": [*up]}:
            ends = prod(down)
            sizes = [ends // prod(down[: i + 1]) * prod(up[:i]) for i in range(len(down))]
            return _levels(sizes, "level {}")
        case {"kind": "k_ary_n_tree", "arity": int(arity), "levels": int(levels)}:
            return _levels([arity ** (levels - 1)] * levels, "level {}")
        case {"kind": "multistage", "arity": int(arity), "stages": int(stages)}:
            parts = [("adapters", arity**stages, arity**stages)]
            switches = arity ** (stages - 1)
            return _parts(count, [*parts, *((f"stage {i + 1}", switches, switches) for i in range(stages))], "")
        case {"kind": "xgft", "children": [*children], "parents": [*parents]}:
            heights = range(0 if parents[0] > 1 else 1, len(children) + 1)
            return _levels([prod(children[i:]) * prod(parents[:i]) for i in heights], "level {}", heights.start)
        case {"kind": "hamming_mesh", "board": [int(a), int(b)], "boards": [int(x), int(y)]}:
            return _parts(count, [("accelerators", a * x * b * y, a * x)], "switches")
        case {"kind": "rail_optimised", "rails": int(rails), "hosts": int(hosts), "pods": int(pods)}:
            each = hosts * pods
            parts = [("accelerators", each * rails, min(each, 8) * rails)]
            parts += [("switches of hosts", each, each)] if topology.get("host_switch", True) else []
            return _parts(count, [*parts, ("leaves", rails * pods, rails * pods)], "spines")
    return None


def _groups(count: int, size: int, columns: int) -> Layout | None:
    if count % size or count == size:
        return Layout((Block("group 0", 0, count, columns),), "below") if count == size else None
    blocks = tuple(Block(f"group {i}", i * size, size, columns) for i in range(count // size))
    return Layout(blocks, "beside", groups=True)


def _slices(x: int, rest: Sequence[int]) -> Layout:
    """Slices of two dimensions, one for each combination of the other coordinates."""
    y, others = (rest[0], rest[1:]) if rest else (1, [])
    blocks = []
    for i in range(prod(others)):
        coordinates, left = [], i
        for side in others:
            coordinates.append(left % side)
            left //= side
        blocks.append(Block(f"slice {', '.join(map(str, coordinates))}" if others else "", i * x * y, x * y, x))
    return Layout(tuple(blocks), "beside")


def _levels(sizes: Sequence[int], label: str, lowest: int = 1) -> Layout:
    """Levels from the lowest up, each in one row if there is room."""
    firsts = [sum(sizes[:i]) for i in range(len(sizes))]
    pairs = zip(firsts, sizes, strict=True)
    blocks = tuple(Block(label.format(lowest + i), *pair, columns=pair[1]) for i, pair in enumerate(pairs))
    return Layout(blocks, "below")


def _parts(count: int, parts: Sequence[tuple[str, int, int]], rest: str) -> Layout | None:
    """Blocks of routers, one after another; the remaining routers form a last block named `rest`."""
    blocks, first = [], 0
    for label, size, columns in parts:
        blocks.append(Block(label, first, size, columns))
        first += size
    if first > count:
        return None
    if first < count:
        blocks.append(Block(rest, first, count - first, count - first))
    return Layout(tuple(blocks), "below")


def _places(scenario: Document, count: int) -> tuple[tuple[float, float], ...]:
    """Places by the links: linked routers are close together."""
    import networkx as nx
    import numpy as np

    edges = links_of(scenario)
    if edges is None:
        return ()
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((min(a, b), max(a, b)) for a, _, b in edges)
    found = nx.spring_layout(graph, seed=1, iterations=60)
    points = np.array([found[router] for router in range(count)])
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = (points - low) / np.where(high > low, high - low, 1.0)
    return tuple((round(float(x), 4), round(float(y), 4)) for x, y in scaled)


FILLED, FLAT = 0.3, 0.6
"""Part of a graph's picture that boxes fill, so that the graph remains visible; and height over width."""


def spread(places: Sequence[tuple[float, float]], box: tuple[int, int]) -> tuple[list[tuple[int, int]], int, int]:
    """Boxes of one size near the places of a graph, without overlap: their upper left corners and the picture's size.

    The boxes are on a grid that minimises the sum of squared distances to their places.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    width = math.sqrt(len(places) * box[0] * box[1] / FILLED / FLAT)
    columns, rows = (max(1, math.ceil(side / of)) for side, of in zip((width, FLAT * width), box, strict=True))
    across, down = np.meshgrid(np.arange(columns), np.arange(rows))
    cells = np.column_stack([across.ravel(), down.ravel()])
    wanted = np.array(places) * np.array([columns - 1, rows - 1])
    _, taken = linear_sum_assignment(cdist(wanted * box, cells * box, "sqeuclidean"))
    chosen = cells[taken] - cells[taken].min(axis=0)
    size = (chosen.max(axis=0) + 1) * box
    return [(int(x), int(y)) for x, y in chosen * box], int(size[0]), int(size[1])


def links_of(scenario: Document) -> list[tuple[int, int, int]] | None:
    """Router, port, and the router at the other end, for every link; `None` if the engine cannot tell."""
    even = {key: value for key, value in scenario.items() if key not in ("workload", "measure")}
    even |= {"traffic": {"pattern": {"kind": "uniform"}, "load": 0.1}}
    try:
        links = json.loads(_phit.flows(to_json(even)))["links"]
    except (ScenarioError, ValueError, RuntimeError):
        return None
    return [(router, port, far) for router, port, far, *_ in links]


def rows_of(layout: Layout, widest: int) -> Iterator[tuple[str, list[int]]]:
    """Rows of at most `widest` routers with their labels. A group that fits into one row is never divided."""
    line: list[int] = []
    labels: list[str] = []

    def ended() -> Iterator[tuple[str, list[int]]]:
        if line:
            yield _joined(labels), list(line)
            line.clear()
            labels.clear()

    # The lowest level is at the bottom.
    for block in layout.blocks if layout.flow == "beside" else layout.blocks[::-1]:
        one = block.count <= widest and (layout.groups or block.columns == block.count)
        if not (one and layout.groups and len(line) + block.count <= widest):
            yield from ended()
        if one:
            line += block.routers
            labels.append(block.label)
            continue
        columns = block.columns if block.columns <= widest else -(-block.count // -(-block.count // widest))
        for first in range(0, block.count, columns):
            yield block.label if first == 0 else "", list(block.routers[first : first + columns])
    yield from ended()


def _joined(labels: Sequence[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    word, _, first = labels[0].rpartition(" ")
    return f"{word}s {first} to {labels[-1].rpartition(' ')[2]}" if word else labels[0]


def described(layout: Layout) -> dict[str, Any]:
    """The layout for JSON."""
    return {
        "blocks": [[block.label, block.first, block.count, block.columns] for block in layout.blocks],
        "flow": layout.flow,
        "groups": layout.groups,
        "places": [list(place) for place in layout.places],
    }
