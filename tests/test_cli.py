"""The command line from end to end."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.base.text import first_sentence
from phit.document.keys import keys
from phit.document.schema import described
from phit.store.quantities import MACHINE

from .conftest import ROOT, Cli, Write, tiny


def test_run_prints_what_a_person_wants_to_see(cli: Cli, write: Write) -> None:
    status, out, err = cli("run", write(tiny()))
    assert status == 0
    assert "accepted load" in out
    assert "phits/(endpoint·cycle)" in out
    assert err == ""


def test_json_is_one_object_with_the_complete_scenario(cli: Cli, write: Write) -> None:
    status, out, err = cli("run", write(tiny()), "--set", "traffic.load=0.2", "--json")
    summary = json.loads(out)
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert summary["scenario"]["traffic"]["load"] == 0.2
    assert summary["accepted_load"] == pytest.approx(0.2, rel=0.2)
    for key in ("offered_load", "latency_mean", "latency_p99", "hops_mean", "packets", *MACHINE):
        assert key in summary


def test_the_same_scenario_gives_the_same_summary(cli: Cli, write: Write) -> None:
    def summary(*options: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(cli("run", write(tiny()), "--json", *options)[1])
        return {key: value for key, value in found.items() if key not in MACHINE}

    assert summary() == summary() == summary("--threads", "2")
    assert summary() != summary("--set", "seed=2")


def test_run_shows_each_class_of_packets(cli: Cli) -> None:
    example = ROOT / "examples" / "classes.toml"
    status, out, err = cli("run", example, "--set", "measure.cycles=200")
    assert status == 0, err
    rows = [line.split() for line in out.splitlines()]
    (bulk,) = [row for row in rows if row[:1] == ["bulk"]]
    (control,) = [row for row in rows if row[:1] == ["control"]]
    assert float(bulk[1]) > 5 * float(control[1])
    assert "by class of packets" in out
    assert "by class" not in cli("run", ROOT / "examples" / "torus.toml", "--set", "measure.cycles=200")[1]


def test_a_run_can_be_kept_and_is_not_repeated(cli: Cli, write: Write, tmp_path: Path) -> None:
    first = cli("run", write(tiny()), "--out", tmp_path / "kept", "--json")
    again = cli("run", write(tiny()), "--out", tmp_path / "kept", "--json")
    assert first[0] == 0
    assert json.loads(first[1]) == json.loads(again[1])


def test_sweep_report_and_plot(cli: Cli, write: Write, tmp_path: Path) -> None:
    sweep = {"product": {"routing.kind": ["minimal", "valiant"], "traffic.load": [0.05, 0.2]}}
    folder = tmp_path / "results"
    status, out, err = cli("sweep", write(tiny() | {"sweep": sweep}), "--out", folder, "--workers", 1, "--plot")
    assert status == 0, err
    assert "Valiant" in out
    assert "[4/4]" in err
    for name in ("latency.png", "latency.svg", "latency.html", "throughput.png"):
        assert (folder / "plots" / name).stat().st_size > 1000
        assert f"wrote {folder / 'plots' / name}" in err
    assert (folder / "points.csv").read_text().count("\n") == 5
    assert "| routing |" in (folder / "points.md").read_text()
    assert cli("report", folder)[1].count("minimal") == 2
    assert "| Valiant |" in cli("report", folder, "--markdown")[1]
    assert cli("report", folder, "--csv")[1] == (folder / "points.csv").read_text()
    status, out, err = cli("plot", folder, "--y", "hops_mean", "--format", "png", "--out", tmp_path / "more")
    assert (status, out) == (0, f"{tmp_path / 'more' / 'hops_mean.png'}\n")


def test_list_and_schema(cli: Cli) -> None:
    assert "dragonfly" in cli("list")[1]
    assert "valiant" not in cli("list", "topology")[1]
    assert "arrangement" in cli("list", "topology", "dragonfly")[1]
    schema = json.loads(cli("schema")[1])
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert re.fullmatch(rf"phit {re.escape(phit.__version__)}( \([0-9a-f]+(-dirty)?\))?\n", cli("--version")[1])


def test_list_shows_whole_first_sentences(cli: Cli) -> None:
    """The full stop of an author's initial ends no sentence: every bracket that opens in a summary closes there."""
    for concept, entries in phit.catalogue().items():
        summaries = [first_sentence(entry["description"]) for entry in entries]
        assert [text for text in summaries if text.count("(") != text.count(")")] == [], concept
    assert "(M. D. Schroeder et al.," in " ".join(cli("list")[1].split())


def test_list_shows_the_names_that_a_key_may_take(cli: Cli) -> None:
    text = cli("list", "routing", "outflank")[1]
    [outflank] = [entry for entry in phit.catalogue()["routing"] if entry["kind"] == "outflank"]
    names = {key.path: [name for name, _ in key.names] for key in keys(outflank["schema"])}
    assert names["midpoint"] == ["short_arc", "folded"]
    assert names["idns"] == ["both", "outflank", "wraparound"]
    assert names["delta"] == []
    for name in (name for listed in names.values() for name in listed):
        assert f'"{name}": ' in text
    # Where the schema refers to another place, and in tables within tables.
    assert '"palmtree": ' in cli("list", "topology", "dragonfly")[1]
    nested = {key.path for entry in phit.catalogue()["pattern"] for key in keys(entry["schema"])}
    assert "parts[].weight" in nested


@pytest.mark.parametrize("section", [name for name in phit.schema()["properties"] if name not in ("$schema", "seed")])
def test_list_knows_every_section(section: str, cli: Cli) -> None:
    status, out, err = cli("list", section)
    assert (status, err) == (0, "")
    schema = described()
    listed = [key.path for key in keys(schema["properties"][section], schema)]
    for key in listed:
        assert re.search(rf"^{re.escape(key)} ", out, re.MULTILINE), key
    assert listed or section in phit.catalogue()


def test_list_shows_units_and_knows_slips(cli: Cli) -> None:
    assert re.search(r"^load +required +phits/\(endpoint·cycle\) +Offered", cli("list", "traffic")[1], re.MULTILINE)
    assert re.search(r"^links.CLASS.latency +1 +cycles +Cycles from", cli("list", "router")[1], re.MULTILINE)
    assert "[sweep]" in cli("list")[1]
    status, _, err = cli("list", "trafic")
    assert (status, 'did you mean "traffic"?' in err) == (2, True)
    status, _, err = cli("list", "traffic", "uniform")
    assert (status, "the section traffic has no kinds" in err) == (2, True)


RING = {"topology": {"kind": "torus", "dims": [4]}, "traffic": {"load": 0.1}}


def test_verify_proves(cli: Cli, write: Write) -> None:
    status, out, err = cli("verify", write(RING))
    assert (status, err) == (0, "")
    assert out.startswith("proved: ")
    status, out, _ = cli("verify", write(RING), "--json")
    # Four routers, two directions, two virtual channels. The packets of a direction go two hops at most, so that each
    # of the eight channels of a first hop of two is followed by one other. To each router packets are on their way in
    # the three others, or have come one of two hops to either of its neighbours.
    report = json.loads(out)
    assert "order that rises" in report.pop("argument")
    assert (status, report) == (0, {"proved": True, "channels": 16, "dependencies": 8, "states": 4 * (3 + 2)})


def test_verify_shows_the_cycle(cli: Cli, write: Write) -> None:
    arguments = ("verify", write(RING), "--set", "router.links.dim0.vcs=1")
    status, out, err = cli(*arguments)
    assert (status, err) == (1, "")
    assert out.startswith("not proved: ")
    assert out.count("\n  router ") == 4
    report = json.loads(cli(*arguments, "--json")[1])
    assert report["proved"] is False
    assert [channel["router"] for channel in report["cycle"]] == [0, 1, 2, 3]
    assert {channel["vc"] for channel in report["cycle"]} == {0}


def test_verify_refuses_what_cannot_be_simulated(cli: Cli, write: Write) -> None:
    status, out, err = cli("verify", write(RING | {"topology": {"kind": "torus", "dims": [1]}}))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "topology.dims[0] = 1" in err
    assert "experiment" in cli("verify", write(RING | {"sweep": {"seeds": 2}}))[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "topolgy"], ["topolgy", 'did you mean "topology"']),
        (["list", "routing", "minimall"], ["minimall", 'did you mean "minimal"']),
        (["report", "nowhere"], ["nowhere", "no such results folder"]),
        (["run", "nowhere.toml"], ["nowhere.toml", "no such file"]),
    ],
)
def test_names_that_do_not_exist(cli: Cli, arguments: list[str], words: list[str]) -> None:
    status, out, err = cli(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in err


@pytest.mark.parametrize("arguments", [["run"], ["run", "x", "--nope"], ["sweep", "x", "--workers", "0"], ["nope"]])
def test_wrong_options(cli: Cli, arguments: list[str]) -> None:
    status, out, err = cli(*arguments)
    assert (status, out) == (2, "")
    assert "Usage" in err


def test_a_reader_that_stops_reading_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "phit", "schema"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
