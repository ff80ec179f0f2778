"""Workloads through the package: files and their digests, tables, the command line, errors with their places."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import phit
import polars as pl
import pytest
from phit.document.loading import load
from phit.reading.workload import info
from phit.running.workloads import contention, contention_by_phase, interference, without_contention

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
    # Whatever the routers do, the link to rank 0 carries all three.
    assert ideal["completion"] == 1 + 2 * 50 + 20 + 3 * 512
    assert 0 <= result["completion"] - ideal["completion"] < 40
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
    assert max(both["ideal"]["tables"]["ranks"]["finish"]) == both["ideal"]["completion"]
    status, _, err = cli("run", ROOT / "examples" / "dragonfly_small.toml", "--against", "ideal")
    assert status == 2
    assert "has no [workload]" in err
    stuck = write(crossbar(goal="num_ranks 1\nrank 0 {\n\n  recv 8b from -1\n}\n"))
    status, _, err = cli("run", stuck)
    assert status == 1
    assert "receives without a message: rank 0, line 4: recv 8b from -1" in err


def test_json_has_the_tables_that_the_scenario_asks_for(cli: Cli, write: Write, tmp_path: Path) -> None:
    file = write(CROSSBAR)
    status, out, err = cli("run", file, "--json")
    assert (status, err, out.count("\n")) == (0, "", 1)
    found = json.loads(out)
    result = phit.run(file)
    assert found["tables"] == result.answer()["tables"]
    assert found["tables"]["ranks"].keys() == set(result.tables["ranks"].columns)
    assert [len(column) for column in found["tables"]["messages"].values()] == [4] * result.tables["messages"].width
    assert found["tables"]["operations"]["kind"].count("recv") == 4
    # Earlier contents are unchanged.
    assert found.keys() - {"tables"} == result.summary.keys()
    assert max(found["tables"]["ranks"]["finish"]) == found["completion"]
    assert json.loads(result.to_json(tables=True)) == result.with_tables()
    assert "tables" not in json.loads(result.to_json())
    # Tables that are not requested are missing, and the stored scenario is the one that was run.
    fewer = ("--set", "measure.messages=false", "--set", "measure.operations=false")
    assert not {"messages", "operations"} & json.loads(cli("run", file, "--json", *fewer)[1])["tables"].keys()
    kept = ("run", file, "--out", tmp_path / "kept", "--json")
    assert json.loads(cli(*kept)[1])["tables"] == json.loads(cli(*kept)[1])["tables"] == found["tables"]


@pytest.mark.parametrize("kind", ["goal", "program"])
def test_operations_that_wait_for_one_another_are_named_by_their_line(tmp_path: Path, kind: str) -> None:
    text = "num_ranks 2\nrank 0 {\n}\nrank 1 {\n  a: calc 1\n  b: calc 2\n  a requires b\n  b requires a\n}\n"
    file = tmp_path / "circle.goal"
    file.write_text(text)
    program = {"goal": text} if kind == "program" else {"file": str(file)}
    document = {
        "units": {"phit": "8 B"},
        "topology": {"kind": "single", "endpoints": 2},
        "workload": {"kind": kind, **program},
    }
    message = r"line 5, rank 1: operations wait for one another: 0 \(calc 1\) for 1 \(calc 2\)"
    with pytest.raises(phit.ScenarioError, match=message):
        phit.run(document)
    with pytest.raises(phit.InputError, match=message):
        info(file)


def test_traffic_beside_a_workload_is_refused(write: Write) -> None:
    with pytest.raises(phit.ScenarioError, match=r"traffic: a \[workload\] sends its own messages") as error:
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


def test_jobs_of_ranks_with_several_rails_are_run_alone_at_their_endpoints() -> None:
    exchange = {"kind": "collective", "collective": "all_to_all", "bytes": 6400, "ranks": 3}
    document = {
        "units": {"phit": "8 B"},
        "topology": {"kind": "mesh", "dims": [4], "endpoints_per_router": 4},
        "workload": {
            "kind": "jobs",
            "host": {"rails": {"count": 2}},
            "job": [
                {"program": exchange, "placement": {"kind": "list", "endpoints": [0, 1, 4, 5, 8, 9]}},
                {"program": exchange},
                {"traffic": {"load": 0.4, "packet_size": 4}},
            ],
        },
    }
    table = interference(document)
    assert table["kind"].to_list() == ["program", "program", "traffic"]
    # Both programs have ranks at the first three routers, and traffic has the endpoints of the last.
    assert min(table["slowdown"][:2]) > 1.3
    assert table["slowdown"][2] == pytest.approx(1)
    ideal = phit.run(without_contention(document))
    ranks = ideal.tables["ranks"]
    assert ranks["endpoint"].to_list() == [0, 4, 8, 2, 6, 10]


def test_phases_say_where_the_time_goes(cli: Cli, write: Write) -> None:
    # Three send to one, twice: the messages wait for one another, each time for two others; nobody calculates longer.
    steps = [{"kind": "calc", "time": 400}, {"kind": "incast", "bytes": 4096, "ranks": 4}]
    program = {"kind": "sequence", "steps": steps, "times": 2}
    document = {**CROSSBAR, "workload": {**program, "packet_size": 16}, "measure": {"phases": True}}
    table = contention_by_phase(phit.run(document), phit.run(without_contention(document)))
    assert table.columns == ["rank", "phase", "kind", "time", "ideal", "longer"]
    assert table.height == 4 * 4
    first = table.filter(pl.col("rank") == 0)
    assert first["kind"].to_list() == ["calc", "incast", "calc", "incast"]
    assert first["time"].to_list()[::2] == [400, 400]
    assert first["longer"].to_list()[::2] == [0, 0]
    assert first["ideal"][1] == 1 + 2 * 50 + 20 + 3 * 512
    assert 0 <= first["longer"][1] < 40
    status, out, err = cli("run", write(document), "--against", "ideal")
    assert status == 0, err
    assert "by phase: means over ranks" in out
    assert out.count("incast") == 2
    # Files know of no phases.
    status, out, err = cli("run", write(CROSSBAR), "--against", "ideal")
    assert status == 0, err
    assert "by phase" not in out


def test_what_contention_costs_reads_as_a_time(cli: Cli, write: Write) -> None:
    document = copy.deepcopy(CROSSBAR)
    document["units"] = {**document["units"], "cycle": "100 ns"}
    status, out, err = cli("run", write(document), "--against", "ideal")
    assert status == 0, err
    assert "against the ideal network, times in µs" in out
    assert re.search(r"completion [\d.]+ µs \([\d,]+ cycles\), [\d.]+ % more than [\d.]+ µs", out)
    del document["units"]["cycle"]
    _, out, _ = cli("run", write(document), "--against", "ideal")
    assert re.search(r"completion [\d,]+ cycles, [\d.]+ % more than [\d,]+ cycles", out)


def test_what_is_kept_in_a_folder_is_compared_again(tmp_path: Path, cli: Cli, write: Write) -> None:
    file = write(CROSSBAR)
    found = [cli("run", file, "--out", tmp_path / "r", "--against", "ideal") for _ in range(2)]
    assert [status for status, _, _ in found] == [0, 0]
    assert found[0][1] == found[1][1]
    assert "against the ideal network" in found[0][1]


def traces(folder: Path, send: int = 100) -> None:
    """A trace of Chakra, and one of MPI calls: rank 0 computes, and sends to rank 1."""
    attributes = {"comm_dst": 1, "comm_src": 0, "comm_size": send}
    attr = [{"name": name, "int64Val": str(value)} for name, value in attributes.items()]
    calc = {"id": "1", "type": "COMP_NODE", "durationMicros": "3"}
    sent = {"id": "2", "type": "COMM_SEND_NODE", "dataDeps": ["1"], "attr": attr}
    nodes: list[list[dict[str, Any]]] = [[calc, sent], [{"id": "1", "type": "COMM_RECV_NODE", "attr": attr}]]
    for rank, own in enumerate(nodes):
        messages = [{"version": "0.0.4"}, *own]
        text = "\n".join(json.dumps(message) for message in messages)
        (folder / f"step.{rank}.json").write_text(text)


def test_a_trace_runs_by_its_folder_or_by_any_file(tmp_path: Path, write: Write, cli: Cli) -> None:
    (tmp_path / "step").mkdir()
    traces(tmp_path / "step")
    document = {**CROSSBAR, "units": {"phit": "8 B", "cycle": "2 ns"}, "measure": {}}
    files = [
        write({**document, "workload": {"kind": "chakra", "file": name}}, f"{i}.json")
        for i, name in enumerate(["step", "step/step.1.json"])
    ]
    results = [phit.run(file) for file in files]
    assert results[0]["completion"] == results[1]["completion"] > 1500
    assert results[0].tables["ranks"]["calc"].to_list() == [1500, 0]
    # The contents of every file tell two points apart, also in a job.
    jobs = {"kind": "jobs", "job": [{"program": {"kind": "chakra", "file": "step"}}]}
    files.append(write({**document, "workload": jobs}, "jobs.json"))
    assert phit.run(files[2])["completion"] == results[0]["completion"]
    before = [phit.Experiment.read(file).points()[0].hash for file in files]
    assert before == [phit.Experiment.read(file).points()[0].hash for file in files]
    traces(tmp_path / "step", send=101)
    assert all(phit.Experiment.read(file).points()[0].hash != old for file, old in zip(files, before, strict=True))
    (tmp_path / "step" / "step.0.json").unlink()
    for file, key in zip(files, ["workload.file", "workload.file", r"workload.job[0].program.file"], strict=True):
        with pytest.raises(phit.InputError, match="rank 0: its file is missing") as error:
            phit.run(file)
        assert error.value.path == key
    status, _, err = cli("run", files[1], "--set", "workload.file=step.txt")
    assert status == 2
    assert "step.txt" in err
