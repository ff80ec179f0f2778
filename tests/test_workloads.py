"""Workloads through the package: files and their digests, tables, the command line, errors with their places."""

import json
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.scenario import load
from phit.workloads import contention, interference, without_contention

from .conftest import ROOT, Cli, Write

GOAL = (ROOT / "examples" / "sweep.goal").read_text(encoding="utf-8")

CROSSBAR: dict[str, Any] = {
    "units": {"phit": "8 B"},
    "topology": {"kind": "single", "endpoints": 4},
    "router": {"latency": 20, "links": {"endpoint": {"latency": 50, "buffer": 64}}},
    "workload": {"kind": "program", "goal": GOAL, "packet_size": 16, "host": {"overhead": 30}},
    "measure": {"messages": True, "operations": True},
}


def crossbar(**workload: Any) -> dict[str, Any]:
    return {**CROSSBAR, "workload": {**CROSSBAR["workload"], **workload}}


def test_a_sweep_over_a_grid_takes_as_long_as_its_longest_way() -> None:
    result = phit.run(CROSSBAR)
    # 512 phits follow one another; a cycle to begin, two links and a router.
    message = 1 + 2 * 50 + 20 + 512
    # Rank 0 computes and sends twice, the second message behind the first; rank 2 computes, and sends to rank 3, whose
    # CPU has taken in the other message long before.
    ways = 500 + 30 + 512 + message + 30 + 500 + 30 + message + 30 + 500
    assert abs(result["completion"] - ways) < 0.02 * ways
    ranks = result.tables["ranks"]
    parts = ranks.select(pl.sum_horizontal("calc", "overhead", "waiting", "blocked"))
    assert parts.to_series().to_list() == ranks["finish"].to_list()
    assert ranks["calc"].to_list() == [500.0] * 4
    assert ranks["finish"].max() == result["completion"]
    messages = result.tables["messages"]
    assert messages["bytes"].to_list() == [4096] * 4
    assert (messages["last"] - messages["first"] >= 511).all()
    assert result.tables["operations"]["kind"].value_counts().sort("kind").rows() == [
        ("calc", 4),
        ("recv", 4),
        ("send", 4),
    ]
    assert json.loads(result.to_json())["completion"] == result["completion"]


def test_a_completed_scenario_is_the_same_scenario() -> None:
    full = phit.complete(CROSSBAR)
    assert "traffic" not in full
    assert not {"warmup", "cycles", "batches"} & full["measure"].keys()
    assert phit.complete(full) == full
    assert phit.run(full).answer()["tables"] == phit.run(CROSSBAR).answer()["tables"]


def test_files_are_found_from_the_scenario_and_known_by_their_contents(tmp_path: Path, write: Write) -> None:
    program = tmp_path / "program.goal"
    program.write_text(GOAL)
    file = write({**CROSSBAR, "workload": {"kind": "goal", "file": "program.goal"}})
    assert load(file)["workload"]["file"] == str(file.parent / "program.goal")
    before = phit.Experiment.read(file).points()[0].hash
    assert phit.Experiment.read(file).points()[0].hash == before
    program.write_text(GOAL.replace("500", "501"))
    assert phit.Experiment.read(file).points()[0].hash != before
    program.unlink()
    with pytest.raises(phit.InputError, match=r"workload\.file: .*program\.goal: no such file"):
        phit.run(file)


def test_contention_is_what_a_rank_takes_longer() -> None:
    # All to one at once: on the ideal network they do not wait for one another.
    incast = "num_ranks 4\nrank 0 {\n" + "".join(f"recv 4096b from {i}\n" for i in (1, 2, 3)) + "}\n"
    incast += "".join(f"rank {i} {{\nsend 4096b to 0\n}}\n" for i in (1, 2, 3))
    scenario = crossbar(goal=incast, host={})
    ideal = phit.run(without_contention(scenario))
    result = phit.run(scenario)
    assert ideal["completion"] == 1 + 2 * 50 + 20 + 512
    assert abs(result["completion"] - ideal["completion"] - 2 * 512) < 40
    table = contention(result, ideal)
    assert table.row(0, named=True) == {
        "rank": 0,
        "finish": result["completion"],
        "ideal": ideal["completion"],
        "longer": result["completion"] - ideal["completion"],
        "blocked": result["completion"],
        "blocked_ideal": ideal["completion"],
    }


def test_the_command_line_compares_and_explains(cli: Cli, write: Write) -> None:
    status, out, _ = cli("run", ROOT / "examples" / "wavefront.toml", "--against", "ideal")
    assert status == 0
    assert "against the ideal network" in out
    assert "completion" in out
    status, out, _ = cli("run", ROOT / "examples" / "wavefront.toml", "--against", "ideal", "--json")
    both = json.loads(out)
    assert both["completion"] >= both["ideal"]["completion"] > 0
    status, _, err = cli("run", ROOT / "examples" / "dragonfly_small.toml", "--against", "ideal")
    assert status == 2
    assert "has no [workload]" in err
    stuck = write(crossbar(goal="num_ranks 1\nrank 0 {\n\n  recv 8b from -1\n}\n"))
    status, _, err = cli("run", stuck)
    assert status == 1
    assert "receives without a message: rank 0, line 4: recv 8b from -1" in err


def test_traffic_beside_a_workload_is_refused(write: Write) -> None:
    with pytest.raises(phit.ScenarioError, match=r"traffic: a \[workload\] says what is sent") as error:
        phit.run(write({**CROSSBAR, "traffic": {"load": 0.1}}))
    assert error.value.path == "traffic"


def test_jobs_disturb_one_another_where_their_messages_meet(cli: Cli, write: Write) -> None:
    def job(name: str, endpoints: list[int]) -> dict[str, Any]:
        pair = "num_ranks 2\nrank 0 {\nsend 4096b to 1\n}\nrank 1 {\nrecv 4096b from 0\n}\n"
        placement = {"kind": "list", "endpoints": endpoints}
        return {"name": name, "program": {"kind": "program", "goal": pair}, "placement": placement, "start": 7}

    document: dict[str, Any] = {
        "units": {"phit": "8 B"},
        "topology": {"kind": "torus", "dims": [8]},
        "router": {"links": {"default": {"vcs": 2, "buffer": 64}}},
        "routing": "dimension_order",
        "workload": {"kind": "jobs", "job": [job("a", [0, 2]), job("b", [1, 3]), job("far", [5, 6])]},
    }
    # Both go over the link from router 1 to router 2, which carries twice 512 phits; the third meets nobody.
    table = interference(document)
    assert table["job"].to_list() == ["a", "b", "far"]
    assert (table["alone"] < 600).all()
    assert 1.6 < sum(table["slowdown"][:2]) / 2 < 2.1
    assert table["slowdown"][2] == 1
    status, out, _ = cli("interference", write(document), "--json")
    assert status == 0
    assert [row["slowdown"] for row in json.loads(out)] == table["slowdown"].to_list()
    with pytest.raises(phit.InputError, match='expected "jobs"'):
        interference(CROSSBAR)


def test_traffic_is_a_job_that_disturbs_and_is_disturbed() -> None:
    pair = "num_ranks 2\nrank 0 {\nsend 16384b to 1\n}\nrank 1 {\nrecv 16384b from 0\n}\n"
    program = {"name": "a", "program": {"kind": "program", "goal": pair}}
    traffic = {"pattern": {"kind": "shift", "offset": 1}, "load": 0.5, "packet_size": 8}
    document: dict[str, Any] = {
        "units": {"phit": "8 B"},
        "topology": {"kind": "mesh", "dims": [4]},
        "router": {"links": {"default": {"vcs": 2, "buffer": 64}}},
        "workload": {
            "kind": "jobs",
            "job": [
                {**program, "placement": {"kind": "list", "endpoints": [0, 2]}},
                {"traffic": traffic, "placement": {"kind": "list", "endpoints": [1, 3]}, "endpoints": 2},
            ],
        },
    }
    # 2,048 phits and half of a load share the link from router 1 to router 2.
    table = interference(document)
    assert table["job"].to_list() == ["a", "1"]
    assert table["kind"].to_list() == ["program", "traffic"]
    assert 1.5 < table["slowdown"][0] < 2.5
    assert table["slowdown"][1] > 1.2
    assert table["accepted_alone"][1] == pytest.approx(0.5, rel=0.1)
