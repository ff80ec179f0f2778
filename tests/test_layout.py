"""Where routers stand: every router once, groups and levels whole, whatever the topology."""

import itertools
import json
import math
import random
import re
import statistics
from typing import Any

import phit
import pytest
from phit import _phit
from phit.document.inlining import to_json
from phit.drawing.layout import Layout, layout_of, links_of, rows_of, spread
from phit.drawing.timelapse import of_probes

from .test_timelapse import probes

NETWORKS: list[dict[str, Any]] = [
    {"kind": "dragonfly", "p": 2, "a": 4, "h": 2},
    {"kind": "dragonfly", "p": 1, "a": 12, "h": 1, "groups": 3},
    {"kind": "dragonfly_plus", "leaves": 2, "spines": 2},
    {"kind": "cascade", "rows": 2, "columns": 3, "groups": 4},
    {"kind": "cascade", "rows": 2, "columns": 3},
    {"kind": "slim_fly", "q": 5},
    {"kind": "xpander", "links": 4, "lift": 3},
    {"kind": "torus", "dims": [2, 3, 4]},
    {"kind": "mesh", "dims": [5]},
    {"kind": "hyperx", "dims": [3, 4]},
    {"kind": "clos", "down": [4, 4, 8], "up": [2, 4]},
    {"kind": "k_ary_n_tree", "arity": 2, "levels": 3},
    {"kind": "xgft", "children": [8, 8], "parents": [2, 4]},
    {"kind": "xgft", "children": [4, 4], "parents": [1, 4]},
    {"kind": "multistage", "arity": 2, "stages": 3},
    {"kind": "hamming_mesh", "board": [2, 2], "boards": [2, 3]},
    {"kind": "rail_optimised", "rails": 4, "hosts": 4, "pods": 2, "spines": 2},
    {"kind": "jellyfish", "routers": 12, "links": 3},
    {"kind": "single", "endpoints": 4},
]


def completed(topology: dict[str, Any]) -> dict[str, Any]:
    router = {"links": {"default": {"vcs": 8}}}
    traffic = {"load": 0.1}
    routing = {"kind": "table"} if topology["kind"] == "multistage" else {"kind": "minimal"}
    return phit.complete({"topology": topology, "router": router, "traffic": traffic, "routing": routing})


def of(topology: dict[str, Any]) -> Layout:
    found = layout_of(completed(topology))
    assert found is not None
    return found


@pytest.mark.parametrize("topology", NETWORKS, ids=lambda topology: topology["kind"])
def test_every_router_has_one_place(topology: dict[str, Any]) -> None:
    layout = of(topology)
    count = json.loads(_phit.needs(to_json(completed(topology))))["routers"]
    assert [router for block in layout.blocks for router in block.routers] == list(range(count))
    assert len(layout.places) in (0, count)
    for widest in (1, 5, 9, 1000):
        rows = list(rows_of(layout, widest))
        assert sorted(router for _, routers in rows for router in routers) == list(range(count))
        assert max(len(routers) for _, routers in rows) <= widest


@pytest.mark.parametrize("topology", [t for t in NETWORKS if t["kind"] not in ("jellyfish", "single")], ids=str)
def test_no_topology_of_a_known_shape_falls_back(topology: dict[str, Any]) -> None:
    layout = of(topology)
    assert not layout.places
    assert layout.blocks[0].label != "routers"


def test_groups_of_eight_stay_whole_in_rows_of_nine() -> None:
    rows = list(rows_of(of({"kind": "dragonfly", "p": 1, "a": 8, "h": 1}), 9))
    assert [routers for _, routers in rows] == [list(range(8 * i, 8 * i + 8)) for i in range(9)]
    assert [label for label, _ in rows[:2]] == ["group 0", "group 1"]
    pairs = list(rows_of(of({"kind": "dragonfly", "p": 2, "a": 4, "h": 2}), 9))
    assert pairs[0] == ("groups 0 to 1", list(range(8)))


def test_levels_have_their_routers_and_the_roots_stand_above() -> None:
    layout = of({"kind": "clos", "down": [4, 4, 8], "up": [2, 4]})
    assert [(block.label, block.count) for block in layout.blocks] == [("level 1", 32), ("level 2", 16), ("level 3", 8)]
    # In a folded Clos network, links only join neighbouring levels.
    links = links_of(completed({"kind": "clos", "down": [4, 4, 8], "up": [2, 4]}))
    assert links is not None
    level = {router: i for i, block in enumerate(layout.blocks) for router in block.routers}
    assert {abs(level[router] - level[far]) for router, _, far in links} == {1}
    assert next(rows_of(layout, 1000))[0] == "level 3"


def test_slices_are_those_of_the_last_dimensions() -> None:
    layout = of({"kind": "torus", "dims": [2, 3, 4]})
    assert [(block.label, block.first, block.count, block.columns) for block in layout.blocks][:2] == [
        ("slice 0", 0, 6, 2),
        ("slice 1", 6, 6, 2),
    ]


def test_linked_routers_of_a_graph_stand_close() -> None:
    topology = {"kind": "graph", "routers": 8, "links": [*((i, i + 1) for i in range(7))]}
    scenario = completed(topology)
    layout = layout_of(scenario)
    assert layout is not None
    assert layout == layout_of(scenario), "the same each time"

    def apart(a: int, b: int) -> float:
        (x, y), (u, v) = layout.places[a], layout.places[b]
        return float((x - u) ** 2 + (y - v) ** 2)

    linked = [apart(i, i + 1) for i in range(7)]
    others = [apart(a, b) for a, b in itertools.combinations(range(8), 2) if b - a > 3]
    assert max(linked) < min(others)


@pytest.mark.parametrize("count", [1, 2, 30, 300])
def test_boxes_of_a_graph_are_near_their_places_and_none_is_over_another(count: int) -> None:
    draw = random.Random(count)
    places = [(min(1.0, draw.random() ** 2), draw.random()) for _ in range(count)]
    corners, width, height = spread(places, (61, 35))
    assert all(0 <= x <= width - 61 and 0 <= y <= height - 35 for x, y in corners)
    pairs = itertools.combinations(corners, 2)
    assert all(abs(x - u) >= 61 or abs(y - v) >= 35 for (x, y), (u, v) in pairs)
    if count >= 30:
        for axis in (0, 1):
            wanted, found = [place[axis] for place in places], [corner[axis] for corner in corners]
            assert statistics.correlation(wanted, found) > 0.95


def test_a_time_lapse_of_a_graph_has_the_places_of_its_routers() -> None:
    topology = {"kind": "graph", "routers": 8, "links": [*((i, i + 1) for i in range(7))]}
    layout = of(topology)
    found = probes({"probe": "ports", "quantity": "port phits", "cycle": 10, "router": 5, "port": 1, "max": 64})
    lapse = of_probes(found, layout=layout)
    assert lapse is not None
    outlines = re.search(r'd="([^"]+)" fill="#f7f7f7"', lapse.svg())
    assert outlines is not None
    corners = [(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h", outlines[1])]
    assert len(set(corners)) == 8
    steps = [math.dist(corners[i], corners[i + 1]) for i in range(7)]
    assert max(steps) < math.dist(corners[0], corners[7]), "the chain is drawn as one"


def test_a_time_lapse_takes_the_rows_of_the_layout() -> None:
    layout = of({"kind": "dragonfly", "p": 1, "a": 8, "h": 1})
    found = probes({"probe": "ports", "quantity": "port phits", "cycle": 10, "router": 71, "port": 15, "max": 64})
    lapse = of_probes(found, layout=layout)
    assert lapse is not None
    assert "group 8" in lapse.svg()
    assert "0 to 8" not in lapse.svg()
