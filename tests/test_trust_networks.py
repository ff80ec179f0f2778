"""Hostile files of networks: whatever stands in them is simulated, or refused in one line that names file or key."""

import json
import re
import tempfile
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import phit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit.base.errors import InputError, ScenarioError, SimulationError, each_line

from .hostile import FIXTURES, HOSTILE, MORE, plain_words

FABRICS = Path(__file__).parent / "reference" / "infiniband"

EDGES = """\
source,target,class,latency,bandwidth,parallel
0,1,local,2,1,1
1,2,local,2,1,2
2,3,global,10,2,1
3,0,global,10,2,1
"""

ADJACENCY = "a b c # first\nb d\nc d\nd e f\n"

GRAPHML = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="endpoints" attr.type="long"/>
  <key id="d1" for="edge" attr.name="latency" attr.type="int"><default>3</default></key>
  <key id="d2" for="edge" attr.name="class" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="n0"><data key="d0">2</data></node>
    <node id="n1"><data key="d0">1</data></node>
    <node id="n2"/>
    <edge source="n0" target="n1"><data key="d1">5</data><data key="d2">long</data></edge>
    <edge source="n1" target="n2"/>
  </graph>
</graphml>
"""

NODE_LINK = {
    "directed": False,
    "nodes": [
        {"id": "s0"},
        {"id": "s1"},
        {"id": 2, "type": "switch"},
        {"id": "h", "type": "host"},
        {"id": 3, "type": "nic"},
    ],
    "links": [
        {"source": "s0", "target": "s1", "latency": 4, "class": "local"},
        {"source": "s1", "target": 2, "parallel": 2},
        {"source": "h", "target": 2, "bandwidth": 2},
        {"source": "s0", "target": 3, "bandwidth": 2},
    ],
}

INFRAGRAPH = {
    "devices": [
        {"name": "leaf", "components": [
            {"name": "asic", "choice": "switch"}, {"name": "port", "choice": "port", "count": 8}]},
        {"name": "host", "components": [
            {"name": "nic", "choice": "nic", "count": 2}, {"name": "xpu", "choice": "xpu"}]},
    ],
    "instances": [
        {"name": "leaves", "device": "leaf", "count": 2},
        {"name": "spine", "device": "leaf"},
        {"name": "hosts", "device": "host", "count": 4},
    ],
    "links": [
        {"name": "up", "physical": {"bandwidth": {"gigabits_per_second": 400}}},
        {"name": "down", "physical": {"bandwidth": {"gigabits_per_second": 100}}},
        {"name": "plain"}],
    "edges": [
        {"ep1": {"instance": "leaves[0]", "component": "port[0:2]"},
         "ep2": {"instance": "hosts[0]", "component": "nic"}, "scheme": "one2one", "link": "down"},
        {"ep1": {"instance": "leaves[0:2]", "component": "port[2]"},
         "ep2": {"instance": "hosts[2:4]", "component": "nic[1]"}, "scheme": "many2many", "link": "down"},
        {"ep1": {"instance": "leaves[0]", "component": "port[4:6]"},
         "ep2": {"instance": "spine[0]", "component": "port[0]"}, "scheme": "many2many", "link": "up"},
        {"ep1": {"instance": "leaves[1]", "component": "port[4]"},
         "ep2": {"instance": "spine[0]", "component": "port[1]"}, "link": "plain"},
    ],
}  # fmt: skip


def _fabric(listed: str, tables: str, lanes: str) -> dict[str, str]:
    files = {"file": ("ibnetdiscover", listed), "tables": ("lfts", tables), "service_levels": ("sl", tables)}
    files["virtual_lanes"] = ("sl2vl", lanes)
    return {f"{key}.txt": (FABRICS / kind / f"{name}.txt").read_text() for key, (kind, name) in files.items()}


FILES: dict[str, dict[str, str]] = {
    "edges": {"net.csv": EDGES},
    "adjacency": {"net.adjlist": ADJACENCY},
    "graphml": {"net.graphml": GRAPHML},
    "node-link": {"net.json": json.dumps(NODE_LINK, indent=1)},
    "infragraph": {"net.json": json.dumps(INFRAGRAPH, indent=1)},
    "fabric": _fabric("ft2_full", "ft2_nue4", "ft2_lash"),
    "fabric with rows": _fabric("torus4x4_full", "torus4x4_torus2qos", "torus4x4_torus2qos"),
}
"""Valid files by format."""

NUMBERS = (
    "0", "-1", "1", "2", "255", "256", "65535", "4294967296", "99999999999999999999", "1e308", "1" * 5000,
    "1.5", "nan", "inf", "-0", "0x10", "\u00b2", "\u0663", "1_0", "null", "true",
)  # fmt: skip
WORDS = (
    *NUMBERS, *HOSTILE, "", "host", "endpoint", "switch", '"', "'", "\n", "\x00", "\x1b[31m", "\u202e", "\ud800", "..",
    "a" * 5000, "[" * 2000, "{}", "<!DOCTYPE x [<!ENTITY e 'e'>]>", "&e;", "class", "links", "[0:9]", "[::-1]",
    "[-]", "#",
)  # fmt: skip
"""Replacements for parts of a file."""

Edit = Callable[[list[str], int, str], None]


def _line(parts: list[str], at: int, change: Callable[[list[str], int], None]) -> None:
    lines = "".join(parts).splitlines(keepends=True) or [""]
    change(lines, at % len(lines))
    parts[:] = lines


def _dropped(lines: list[str], at: int) -> None:
    del lines[at]


def _twice(lines: list[str], at: int) -> None:
    lines.insert(at, lines[at])


def _moved(lines: list[str], at: int) -> None:
    lines.append(lines.pop(at))


EDITS: dict[str, Edit] = {
    "word": lambda parts, at, word: parts.__setitem__(2 * at % len(parts), word),
    "between": lambda parts, at, word: parts.insert(at % len(parts), word),
    "same": lambda parts, at, _: parts.__setitem__(2 * at % len(parts), parts[(at // 7) % len(parts)]),
    "left out": lambda parts, at, _: parts.__setitem__(at % len(parts), ""),
    "line left out": lambda parts, at, _: _line(parts, at, _dropped),
    "line twice": lambda parts, at, _: _line(parts, at, _twice),
    "line moved": lambda parts, at, _: _line(parts, at, _moved),
    "cut": lambda parts, at, _: parts.__delitem__(slice(at % len(parts), None)),
}
"""Changes of a text that is cut into words and what stands between them."""


def changed(text: str, edits: list[tuple[str, int, str]]) -> str:
    """The text after these changes."""
    for name, at, word in edits:
        parts = re.split(r"([^\w.\-]+)", text) or [""]
        EDITS[name](parts, at, word)
        text = "".join(parts)
    return text


def document(kind: str, folder: Path) -> dict[str, Any]:
    """A scenario of the files of a folder."""
    if kind.startswith("fabric"):
        paths = {Path(name).stem: str(folder / name) for name in FILES[kind]}
        topology: dict[str, Any] = {"kind": "infiniband", **paths}
    else:
        topology = {"kind": "graph", "file": str(folder / next(iter(FILES[kind])))}
    return {
        "topology": topology,
        "routing": {"kind": "infiniband" if kind.startswith("fabric") else "up_down"},
        "router": {"links": {"default": {"vcs": 8}}},
        "traffic": {"load": 0.1, "packet_size": 4},
        "measure": {"warmup": 10, "cycles": 40},
    }


def answered(scenario: dict[str, Any], folder: Path) -> bool:
    """Whether a scenario runs; a refusal must name its place."""
    try:
        phit.run(scenario)
    except (InputError, ScenarioError) as error:
        for line in each_line(error):
            assert line
            assert len(line) < 2500
            plain_words(line)
            key = re.match(r"(topology|router|routing|traffic|measure)\b", line)
            assert key or str(folder) in line, line
        return False
    except SimulationError:
        # Totals of links and buffers in the file.
        return True
    return True


@pytest.mark.parametrize("kind", FILES)
def test_networks_are_simulated_as_they_are(kind: str, tmp_path: Path) -> None:
    for name, text in FILES[kind].items():
        (tmp_path / name).write_text(text)
    assert answered(document(kind, tmp_path), tmp_path)


def test_rates_need_that_of_the_endpoints_links(tmp_path: Path) -> None:
    fabric: dict[str, Any] = json.loads(json.dumps(INFRAGRAPH))
    del fabric["links"][1]["physical"]
    (tmp_path / "net.json").write_text(json.dumps(fabric))
    with pytest.raises(ScenarioError, match=re.escape('write [router.links.endpoint] bandwidth = "400 Gb/s"')):
        phit.run(document("infragraph", tmp_path))


@pytest.mark.parametrize("kind", FILES)
@settings(deadline=timedelta(seconds=20), max_examples=40 * MORE, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_changed_networks_are_answered(kind: str, data: st.DataObject) -> None:
    edit = st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, 100_000), st.sampled_from(WORDS))
    name = data.draw(st.sampled_from(sorted(FILES[kind])))
    text = changed(FILES[kind][name], data.draw(st.lists(edit, min_size=1, max_size=6)))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for other, content in FILES[kind].items():
            written = text if other == name else content
            (Path(folder) / other).write_bytes(written.encode("utf-8", "surrogatepass"))
        answered(document(kind, Path(folder)), Path(folder))
