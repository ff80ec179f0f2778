"""The fluid network beside exact routers, and its max-min rule beside the reference."""

import json
import shutil
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.peers.comparison import Verdict
from phit.studies.validation import fidelity_matrix as matrix
from phit.studies.validation import fluid
from phit.studies.validation.run import cases, only_folders
from phit.workloads import Fidelity, fidelity, left_out, on_fluid

from .conftest import Cli, Write

REFERENCE = Path(__file__).parent / "reference"


def test_every_flow_of_the_reference_agrees() -> None:
    found = fluid.comparisons(REFERENCE)
    assert len({c.case.setting.split(",")[0] for c in found}) == 17
    assert {c.measure for c in found} == {"flow_end", "flow_rate"}
    assert {c.verdict for c in found} == {Verdict.AGREES}


def test_a_folder_of_the_form_is_read(tmp_path: Path, cli: Cli) -> None:
    """Cases alone are compared, and one wrong result is found."""
    shutil.copytree(REFERENCE / "fluid", tmp_path / "fluid")
    assert only_folders(tmp_path)
    assert cases(tmp_path) == []
    (tmp_path / "fluid" / "proof.csv").unlink()
    status, out, _ = cli("validate", "--reference", tmp_path, "--out", tmp_path / "docs")
    assert status == 0
    assert "SimGrid" in out
    assert "end of a flow" in (tmp_path / "docs" / "agreement-simgrid.md").read_text()
    results = tmp_path / "fluid" / "results.csv"
    results.write_text(results.read_text().replace(",140.0,140/1,", ",141.0,141/1,"))
    status, _, _ = cli("validate", "--reference", tmp_path, "--out", tmp_path / "docs")
    assert status == 1


def test_what_is_no_case_is_named(tmp_path: Path) -> None:
    shutil.copytree(REFERENCE / "fluid", tmp_path / "fluid")
    case = tmp_path / "fluid" / "cases" / "hand_staggered.json"
    whole = json.loads(case.read_text())
    case.write_text(json.dumps({**whole, "name": "other"}))
    with pytest.raises(phit.PhitError, match="has no row of the case 'other'"):
        fluid.comparisons(tmp_path)
    case.write_text(json.dumps({**whole, "links": [{**link, "capacity": 0} for link in whole["links"]]}))
    with pytest.raises(phit.PhitError, match=r"hand_staggered.json: links\[0\].capacity = 0: expected bytes"):
        fluid.comparisons(tmp_path)
    case.write_text("[]")
    with pytest.raises(phit.PhitError, match=r"hand_staggered.json: expected a case"):
        fluid.comparisons(tmp_path)


SCENARIO: dict[str, Any] = {
    "units": {"cycle": "1 ns", "phit": "8 B"},
    "topology": {"kind": "mesh", "dims": [3], "endpoints_per_router": 2},
    "router": {"links": {"default": {"latency": 5, "buffer": 128}}},
    "routing": "dimension_order",
    "workload": {"kind": "incast", "bytes": 8000, "packet_size": 16},
}


def test_the_error_of_a_sample() -> None:
    """An incast: the completion is the time of the busiest link in both networks."""
    found = fidelity(SCENARIO)
    assert found.sample == []
    assert abs(found.error) < 0.02
    assert found.messages.height == 5
    other = fidelity({**SCENARIO, "router": {**SCENARIO["router"], "kind": "fluid"}}, causes=False)
    assert other.exact["completion"] == found.exact["completion"]
    assert other.fluid["completion"] == found.fluid["completion"]


@pytest.mark.parametrize(
    ("topology", "size", "per_input", "max_min"),
    [
        ({"kind": "mesh", "dims": [8]}, 80_000, 0.0015, 0.7332),
        ({"kind": "torus", "dims": [5, 5]}, 40_000, 0.0008, 0.5442),
    ],
)
def test_routers_are_fair_to_inputs(topology: dict[str, Any], size: int, per_input: float, max_min: float) -> None:
    """The mean error of an arrival in an incast, by rule of sharing. Those of max-min are the reference's."""
    links = {"default": {"latency": 20, "buffer": 256, "vcs": 2}, "endpoint": {"latency": 5, "buffer": 256, "vcs": 2}}
    scenario = {**SCENARIO, "topology": topology, "workload": {"kind": "incast", "bytes": size, "packet_size": 32}}
    for sharing, expected in (("per_input", per_input), ("max_min", max_min)):
        router = {"kind": "fluid", "sharing": sharing, "latency": 1, "links": links}
        found = fidelity({**scenario, "router": router}, whole=True, causes=False)
        assert found.message_error == pytest.approx(expected, rel=0.005, abs=0.0003)


def test_messages_are_told_apart() -> None:
    """A program that is generated during the run uses the numbers of its sends again."""
    workload = {"kind": "collective", "collective": "all_reduce", "algorithm": "ring", "bytes": 4800, "packet_size": 16}
    found = fidelity({**SCENARIO, "workload": {**workload, "times": 2}}, causes=False)
    assert found.messages.height == found.exact.tables["messages"].height == 2 * 6 * 2 * 5
    assert found.messages["error"].null_count() == 0
    same = Fidelity(found.scenario, [], found.exact, found.exact, [])
    assert same.message_error == 0.0


def test_a_sample_is_smaller() -> None:
    workload = {"kind": "incast", "bytes": 80_000_000, "packet_size": 16, "times": 20}
    found = fidelity({**SCENARIO, "workload": workload}, causes=False)
    assert found.sample[0] == "2 of 20 repetitions"
    assert "of the bytes of each message" in found.sample[1]
    assert abs(found.error) < 0.01


def test_the_command(cli: Cli, write: Write) -> None:
    status, out, _ = cli("fidelity", write(SCENARIO))
    assert status == 0
    assert "error of the completion" in out
    assert "cause: " in out
    status, out, _ = cli("fidelity", write(SCENARIO), "--json")
    assert status == 0
    assert json.loads(out)["completion_exact"] > 0
    status, _, err = cli("fidelity", write({**SCENARIO, "router": {"kind": "ideal"}}))
    assert status == 2
    assert 'router.kind = "ideal": expected "input_queued" or "fluid"' in err


def test_a_page_has_the_error(cli: Cli, write: Write, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    scenario = write({**SCENARIO, "workload": {"kind": "incast", "bytes": 80_000, "packet_size": 16}})
    status, _, err = cli("run", scenario, "--fluid", "--html", page, "--out", tmp_path / "results")
    assert status == 0, err
    text = " ".join(page.read_text(encoding="utf-8").split())
    _, out, _ = cli("fidelity", scenario, "--json")
    found = json.loads(out)
    assert f"an error of <strong>{100 * found['error']:+.2f} %</strong>" in text
    assert json.loads((tmp_path / "results" / "fidelity.json").read_text(encoding="utf-8")) == found
    # Without the comparison, the page says that the error is not known. With something else, likewise.
    (tmp_path / "results" / "fidelity.json").write_text("[]", encoding="utf-8")
    status, _, err = cli("report", tmp_path / "results", "--html", page)
    assert status == 0, err
    assert "Its error here was not measured" in " ".join(page.read_text(encoding="utf-8").split())
    status, _, _ = cli("run", scenario, "--html", page)
    assert status == 0
    assert "Error of the fluid network" not in page.read_text(encoding="utf-8")


ROUTERS: dict[str, Any] = {
    **SCENARIO,
    "router": {**SCENARIO["router"], "latency": 3, "speedup": 2},
    "queueing": "virtual_channels",
    "measure": {"links": True, "probes": [{"kind": "ports", "every": 100}]},
}


def test_exact_routers_run_as_flows(cli: Cli, write: Write) -> None:
    """The same links and latency: the numbers are those of the fluid scenario that a person would write."""
    links = SCENARIO["router"]["links"]
    by_hand = phit.run({**SCENARIO, "router": {"kind": "fluid", "latency": 3, "links": links}})
    assert phit.run(on_fluid(ROUTERS))["completion"] == by_hand["completion"]
    assert on_fluid(on_fluid(ROUTERS)) == on_fluid(ROUTERS)
    assert left_out(ROUTERS) == ["router.speedup", "queueing", "measure.probes"]
    assert left_out(on_fluid(ROUTERS)) == []
    file = write(ROUTERS)
    status, _, err = cli("run", file, "--fluid")
    assert status == 0
    assert "and of this scenario router.speedup, queueing, measure.probes; its error here: phit fidelity" in err
    status, out, _ = cli("run", file, "--fluid", "--json")
    assert status == 0
    assert json.loads(out)["completion"] == by_hand["completion"]


def test_what_cannot_be_flows_is_refused(cli: Cli, write: Write) -> None:
    status, _, err = cli("run", write(ROUTERS), "--set", "router.kind=fluid")
    assert status == 2
    assert "`phit run --fluid` leaves out what only exact routers have: router.speedup" in err
    status, _, err = cli("run", write({**SCENARIO, "router": {"kind": "ideal"}}), "--fluid")
    assert status == 2
    assert 'router.kind = "ideal": expected "input_queued" or "fluid"' in err
    status, _, err = cli("run", write({"topology": SCENARIO["topology"], "traffic": {"load": 0.1}}), "--fluid")
    assert status == 2
    assert "has no [workload]; --fluid runs programs" in err
    sweep = {**SCENARIO, "sweep": {"product": {"seed": [1, 2]}}}
    status, _, err = cli("run", write(sweep), "--fluid")
    assert status == 2
    assert "--fluid runs one scenario" in err


def test_the_page_shows_the_matrix() -> None:
    rows = matrix.read()
    assert [(row.network, row.program) for row in rows] == list(matrix.cells())
    assert len({row.network for row in rows}) == 12
    assert len({row.program for row in rows}) == 10
    assert sum(row.tuned for row in rows) == len(rows) / 2
    assert all(row.cause for row in rows if abs(row.error) > matrix.LIMIT)
    assert (Path(__file__).parents[1] / "docs" / "fluid-fidelity.md").read_text() == matrix.page(rows)


@pytest.mark.parametrize("cell", [("tree", "incast"), ("mesh", "broadcast"), ("Dragonfly, PAR", "incast")])
def test_cells_of_the_matrix_are_measured_again(cell: tuple[str, str]) -> None:
    known = {(row.network, row.program): row for row in matrix.read()}
    assert matrix.measure(*cell) == known[cell]


def test_the_matrix_is_as_small_as_it_was() -> None:
    """The share of small errors does not fall."""
    rows = matrix.read()
    assert matrix.small(rows) >= 93
    assert matrix.small(row for row in rows if not row.tuned) >= 46
