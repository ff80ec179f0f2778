"""Damaged documents: whatever stands where, a document is simulated or refused in one line that names a key."""

import copy
import pickle
import time
import tomllib
from pathlib import Path
from typing import Any

import phit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phit._phit import WorkloadError
from phit.base.errors import InputError, ResultsError, ScenarioError, SimulationError
from phit.document.experiment import Experiment
from phit.document.paths import set_path

from .conftest import Cli, Write
from .hostile import FIXTURES, MORE, UNFORESEEN, plain_words
from .test_trust_paths import WRONG, nodes

REFERENCE = Path(__file__).parent / "reference"

DOCUMENTS = r"""
[[document]]
seed = 3
topology = { kind = "torus", dims = [4, 2], endpoints_per_router = 2 }
routing = { kind = "minimal" }
queueing = { kind = "virtual_channels" }
[document.router]
kind = "input_queued"
latency = 2
allocator = { kind = "islip", iterations = 2 }
vc_allocation = "stage"
vc_allocator = { kind = "separable_input_first", arbiter = "age" }
sharing = { private = 9, limit = "none" }
links = { default = { latency = 2, vcs = 4, buffer = 16 }, endpoint = { bandwidth = 2, buffer = 24 } }
[document.traffic]
load = 0.1
packet_size = { kind = "choice", sizes = [1, 8], weights = [1, 2] }
process = { kind = "on_off", burst = 20 }
changes = [{ cycle = 20, load = 0.2 }, { cycle = 40, pattern = { kind = "shift", offset = 2 } }]
[document.traffic.pattern]
kind = "mix"
parts = [
    { weight = 1, pattern = "uniform" },
    { weight = 2, pattern = { kind = "hotspot", targets = [0], share = 0.5 } },
]
[document.measure]
warmup = 10
cycles = 60
series = { by = "window", bin = 20 }
probes = [{ kind = "ports", every = 20 }, "buffers"]

[[document]]
units = { cycle = "1 ns", phit = "4 B" }
topology = { kind = "dragonfly", p = 1, a = 2, h = 1 }
planes = { count = 2, choice = "random" }
[document.router.links]
default = { latency = "3 ns", vcs = 3, buffer = "64 B", bandwidth = "32 Gb/s" }
global = { latency = 9, vcs = 2 }
[document.traffic]
load = 0.1
packet_size = "16 B"
classes = [{ weight = 1, pattern = "tornado", packet_size = 2 }, { priority = 1 }]
[document.measure]
warmup = "auto"
cycles = 60
max_warmup = 100
precision = { latency_mean = 0.5 }
max_cycles = 100

[[document]]
topology = { kind = "graph", file = "FILES/edges.csv", endpoints = 2, group = 3 }
routing = { kind = "table", adaptive = true }
router = { links = { default = { vcs = 4 } } }
traffic = { load = 0, trace = { file = "FILES/trace.csv" } }
units = { cycle = "1 ns", phit = "4 B" }
measure = { warmup = 0, cycles = 60, count = "generated" }

[[document]]
topology = { kind = "torus", dims = [4, 2], faults = { links = [[0, 1]], later = [{ cycle = 9, routers = [5] }] } }
routing = { kind = "up_down", root = 1 }
router = { links = { default = { vcs = 4 } } }
traffic = { load = 0.1 }
measure = { warmup = 0, cycles = 60 }

[[document]]
topology = { kind = "graph", routers = 3, endpoints = [1, 2, 1], links = [[0, 1], [1, 2]], classes = ["a"] }
routing = { kind = "table", file = "FILES/table.csv", layers = "FILES/layers.csv" }
traffic = { load = 0.1, requests = { read_reply = 4, outstanding = 2 } }
measure = { warmup = 0, cycles = 60 }

[[document]]
topology = { kind = "infiniband", file = "FILES/ibnetdiscover", tables = "FILES/lfts", rate = "4xQDR" }
routing = { kind = "infiniband", lid = 0 }
router = { links = { default = { vcs = 4 } } }
traffic = { load = 0.1 }
measure = { warmup = 0, cycles = 60 }

[[document]]
topology = { kind = "single", endpoints = 6 }
units = { cycle = "1 ns", phit = "4 B" }
measure = { messages = true, phases = true }
[document.workload]
kind = "jobs"
job = [
    { program = { kind = "goal", file = "FILES/ring.goal" }, placement = { kind = "list", endpoints = [1, 3] } },
    { program = { kind = "incast", ranks = 2, bytes = 40 }, placement = { kind = "file", file = "FILES/two" } },
    { traffic = { load = 0.1, pattern = "uniform" } },
]
host = { overhead = 1, eager = 100 }

[[document]]
topology = { kind = "single", endpoints = 4 }
traffic = { load = 0.1, pattern = { kind = "python_pattern", file = "FILES/functions.py", function = "next_one" } }
measure = { warmup = 0, cycles = 60 }

[[document]]
topology = { kind = "single", endpoints = 4 }
traffic = { load = 0.1 }
measure = { warmup = 0, cycles = 60 }
plot = { x = "offered_load", log = true, title = "t" }
cluster = { partition = "p", time = "1h", jobs = 2 }
[document.sweep]
name = "s"
seeds = [1, 2]
product = { "traffic.load" = { start = 0.1, stop = 0.2, step = 0.1 } }
zip = [{ "traffic.packet_size" = [1, 2], "router.latency" = [1, 2] }]
[[document.sweep.curves]]
name = "c"
"router.allocator" = "islip"
"router.allocation_rounds" = 1
"""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """One of every kind of document, with all files that it names."""
    files = tmp_path_factory.mktemp("files")
    for name, text in {
        "edges.csv": "source,target,class,latency\n0,1,local,2\n1,2,local,2\n2,0,global,2\n",
        "trace.csv": "time,source,destination,bytes\n0,0,1,8\n5,2,3,8\n",
        "table.csv": "router,destination,port\n0,0,0\n0,1,1\n0,2,1\n0,3,1\n1,0,2\n1,1,0\n1,2,1\n1,3,3\n"
        "2,0,1\n2,1,1\n2,2,1\n2,3,0\n",
        "layers.csv": "source,destination,layer\n0,1,0\n",
        "ring.goal": "num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n",
        "two": "0\n2\n",
        "functions.py": "import phit\n\n\n@phit.pattern\ndef next_one(view):\n    return view.endpoint ^ 1\n",
    }.items():
        (files / name).write_text(text)
    for name, file in {"ibnetdiscover": "ft2_full.txt", "lfts": "ft2_minhop.txt"}.items():
        (files / name).write_text((REFERENCE / "infiniband" / name / file).read_text())
    found = tomllib.loads(DOCUMENTS.replace("FILES", str(files)))["document"]
    assert isinstance(found, list)
    return found


def answered(status: int, err: str) -> None:
    """A line for each error, none of which is one of Phit itself."""
    assert UNFORESEEN not in err
    assert "Traceback" not in err
    assert status in (0, 1, 2)
    assert (status != 0) == ("phit: error:" in err), err
    plain_words(err)


def answers(document: dict[str, Any]) -> None:
    """Asks all that reads a document and runs nothing."""
    for ask in (phit.load, phit.complete, phit.verify, phit.routes, phit.bound):
        try:
            ask(copy.deepcopy(document))
        except phit.PhitError as error:
            plain_words(str(error))
    try:
        Experiment.read(copy.deepcopy(document)).points()
    except phit.PhitError as error:
        plain_words(str(error))


def test_all_documents_are_good(documents: list[dict[str, Any]], cli: Cli, write: Write, tmp_path: Path) -> None:
    """The documents that tests below damage are valid."""
    for number, document in enumerate(documents):
        command = ("sweep", "--out", tmp_path / str(number), "--workers", 1) if "sweep" in document else ("run",)
        status, _, err = cli(*command[:1], write(document), *command[1:])
        assert status == 0 or "numba" in err or "trust" in err, (document, err)


def damaged(data: st.DataObject, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """A document with a value or two that do not belong there."""
    document: dict[str, Any] = copy.deepcopy(data.draw(st.sampled_from(documents)))
    for _ in range(data.draw(st.sampled_from([1, 1, 2]))):
        places = [path for path in nodes(document) if path]
        if not places:
            break
        *parents, last = data.draw(st.sampled_from(places))
        inside: Any = document
        for step in parents:
            inside = inside[step]
        here = inside[last]
        other = data.draw(st.sampled_from(documents))
        foreign: Any = other
        for step in data.draw(st.sampled_from([path for path in nodes(other) if path])):
            foreign = foreign[step]
        change = data.draw(st.sampled_from(["wrong", "foreign", "list", "table", "kind", "gone"]))
        match change:
            case "wrong":
                inside[last] = data.draw(WRONG)
            case "foreign":
                inside[last] = copy.deepcopy(foreign)
            case "list":
                inside[last] = [here]
            case "table":
                inside[last] = {"kind": here}
            case "kind":
                inside[last] = {"kind": {"kind": [here]}}
            case _:
                del inside[last]
    return document


@settings(deadline=None, max_examples=60 * MORE, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_a_damaged_document_is_answered(
    data: st.DataObject, documents: list[dict[str, Any]], cli: Cli, write: Write, tmp_path: Path
) -> None:
    document = damaged(data, documents)
    answers(document)
    path = write(document)
    status, _, err = cli("run", path)
    answered(status, err)
    if "sweep" in document:
        status, _, err = cli("sweep", path, "--out", tmp_path / "out", "--workers", 1)
        answered(status, err)


PLACES = [
    "topology", "topology.kind", "router", "router.kind", "router.allocator", "router.allocator.kind", "router.links",
    "routing", "routing.kind", "queueing", "queueing.kind", "traffic", "traffic.pattern", "traffic.pattern.kind",
    "traffic.process.kind", "traffic.packet_size.kind", "traffic.changes", "measure", "measure.probes", "units",
    "workload", "workload.kind", "planes", "sweep", "sweep.product", "plot", "cluster",
]  # fmt: skip
VALUES: list[Any] = [{"kind": ["ideal"]}, {}, {"kind": {}}, ["x"], [], [[{}]], 3, -1.5, True, "x", {"x": {"kind": 1}}]


@pytest.mark.parametrize("place", PLACES)
def test_a_value_of_a_wrong_type_is_refused_by_its_key(place: str, cli: Cli, write: Write) -> None:
    for value in VALUES:
        document: dict[str, Any] = {"topology": {"kind": "torus", "dims": [4, 4]}, "traffic": {"load": 0.1}}
        document["measure"] = {"warmup": 0, "cycles": 20}
        set_path(document, place, value)
        status, _, err = cli("run", write(document))
        answered(status, err)
        section = place.split(".")[0]
        assert status == 0 or section in err, (place, value, err)
        if isinstance(value, dict | list) and place.endswith(".kind"):
            assert f"{place} = " in err, err
            assert "expected" in err, err


LONG: list[Any] = [[0] * 1_000_000, ["x"] * 1_000_000, [[0, 1]] * 300_000, [{}] * 300_000]
LONG += [dict.fromkeys(map(str, range(300_000)), 0)]


@pytest.mark.parametrize("place", ["router", "topology", "router.links", "traffic.pattern", "router.latency"])
@pytest.mark.parametrize("value", LONG)
def test_what_is_long_is_refused_at_once(place: str, value: Any) -> None:
    document: dict[str, Any] = {"topology": {"kind": "torus", "dims": [4, 4]}, "traffic": {"load": 0.1}}
    set_path(document, place, value)
    start = time.process_time()
    with pytest.raises(phit.PhitError, match=place.split(".")[0]) as raised:
        Experiment.read(document).points()
    assert time.process_time() - start < 1.0
    assert len(str(raised.value)) < 2500


def test_one_class_catches_all_errors() -> None:
    for error in (InputError, ResultsError, ScenarioError, SimulationError, WorkloadError):
        assert issubclass(error, phit.PhitError)
        assert issubclass(error, ValueError)
    with pytest.raises(phit.PhitError) as raised:
        phit.run({"topology": {"kind": "torus", "dims": [4, 4]}, "router": {"latency": -1}})
    # It reaches whoever started the process in which it was raised.
    again = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(again, phit.ScenarioError)
    assert (str(again), again.path) == (str(raised.value), "router.latency")
