"""Bad input: exit status 2, one line that names key, value, expectation and nearest name; the same text in Python."""

import re
from pathlib import Path
from typing import Any

import phit
import pytest

from .conftest import Cli, Write, tiny

CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "unknown key": (tiny(traffic__lod=0.2), ["traffic.lod", "0.2", 'did you mean "load"']),
    "unknown section": (tiny(trafic={}), ["trafic", 'did you mean "traffic"']),
    "wrong type": (tiny(topology__p="two"), ["topology.p", "two", "expected"]),
    "load above a port": (tiny(traffic__load=1.5), ["traffic.load", "1.5", "expected"]),
    "packet above a cut-through buffer": (tiny(traffic__packet_size=64), ["64", "buffer"]),
    "too few VCs": (
        tiny(routing__kind="valiant", router__links__local__vcs=1),
        ["router.links.local.vcs", "1", "at least 4"],
    ),
    "does not wire": (tiny(topology__groups=10), ["topology.groups", "10", "9"]),
    "no allocator": (tiny(router__allocator=5), ["router.allocator = 5: expected an allocator: one of"]),
    "unknown pattern": (tiny(traffic__pattern="unifrom"), ["traffic.pattern", "unifrom", 'did you mean "uniform"']),
    "precision of a trace": (
        {**tiny(measure__precision={"latency_mean": 0.1}), "traffic": {"trace": [[0, 0, 1, 8]], "packet_size": 8}},
        ["measure.precision", "`traffic.trace` ends", "expected a steady state"],
    ),
    "precision of so many messages": (
        tiny(measure__precision={"latency_mean": 0.1}, traffic__message={"packets": 2, "count": 3}),
        ["measure.precision", "`traffic.message.count` ends", "expected a steady state"],
    ),
    "precision of a transient": (
        tiny(measure__precision={"latency_mean": 0.1}, traffic__changes=[{"cycle": 300, "load": 0.2}]),
        ["measure.precision", "`traffic.changes` changes the traffic", "expected a steady state"],
    ),
    "precision of something else": (
        tiny(measure__precision={"latency_p99": 0.1}),
        ["measure.precision.latency_p99", "expected one of", "latency_mean"],
    ),
    "section missing": ({"topology": tiny()["topology"]}, ["traffic", "required"]),
}


@pytest.mark.parametrize("case", CASES)
def test_scenarios_that_cannot_be_simulated(case: str, cli: Cli, write: Write, tmp_path: Path) -> None:
    document, words = CASES[case]
    file = write(document)
    status, out, err = cli("run", file)
    assert (status, out, err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in err
    with pytest.raises(phit.ScenarioError) as caught:
        phit.run(document)
    assert f"phit: error: {file}: {caught.value}\n" == err
    assert caught.value.path
    assert [error.path for error in caught.value.errors] == [caught.value.path]
    assert (caught.value.file, caught.value.line) == (None, None)
    # In a sweep the same point is refused before any point runs.
    status, out, err = cli("sweep", write({**document, "sweep": {"seeds": 2}}), "--out", tmp_path / "out")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert str(caught.value) in err
    assert "seed = 1" in err


@pytest.mark.parametrize(
    ("sweep", "words"),
    [
        ({"product": {"traffic.laod": [0.1]}}, ["traffic.laod", 'did you mean "traffic.load"']),
        ({"product": {"load": [0.1]}}, ["load", 'did you mean "traffic.load"']),
        ({"product": {"traffic.load": 0.1}}, ["sweep.product.traffic.load", "0.1", "a list, or a range"]),
        ({"product": {"traffic.load": [0.1, 3.0]}}, ["traffic.load", "3", "at the point"]),
        ({"product": {"traffic.load": {"start": 0, "stop": 1}}}, ["sweep.product.traffic.load", "step or count"]),
        ({"product": {"traffic.load": {"start": 0, "stop": 1, "step": -1}}}, ["step", "does not lead from 0 to 1"]),
        ({"product": {"traffic.load": []}}, ["no point"]),
        ({"zip": [{"topology.p": [1, 2], "topology.a": [2]}]}, ["sweep.zip[0]", "topology.p has 2, topology.a has 1"]),
        ({"product": {"seed": [1]}, "seeds": 2}, ["'seed'", "swept twice"]),
        ({"prodct": {}}, ["sweep.prodct", 'did you mean "product"']),
        ({"traffic.load": [0.1, 0.2]}, ["sweep.traffic.load", "swept keys stand in `product`"]),
        ({"traffic": {"load": [0.1]}}, ["sweep.traffic", "swept keys stand in `product`"]),
        ({"seeds": 0}, ["sweep.seeds", "0"]),
        (3, ["sweep = 3"]),
    ],
)
def test_sweeps_that_mean_nothing(sweep: Any, words: list[str], cli: Cli, write: Write, tmp_path: Path) -> None:
    status, out, err = cli("sweep", write(tiny() | {"sweep": sweep}), "--out", tmp_path / "out")
    assert (status, out, err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in err
    assert not (tmp_path / "out").exists()


def test_syntax_errors_name_file_and_line(cli: Cli, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("[topology]\nkind = \n")
    status, _, err = cli("run", bad)
    assert (status, err.count("\n")) == (2, 1)
    assert "bad.toml" in err
    assert "line 2" in err
    bad = tmp_path / "bad.json"
    bad.write_text('{\n"seed": }')
    assert "line 2" in cli("run", bad)[2]


@pytest.mark.parametrize("setting", ["traffic.load", "=3", "traffic..load=3", "seed.x=3", "traffic.load=nan"])
def test_settings_that_cannot_be(setting: str, cli: Cli, write: Write) -> None:
    status, out, err = cli("run", write(tiny()), "--set", setting)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert setting.split("=")[0].split(".")[0] in err


def test_an_experiment_is_not_a_run(cli: Cli, write: Write) -> None:
    status, _, err = cli("run", write(tiny() | {"sweep": {"seeds": 2}}))
    assert (status, err.count("\n")) == (2, 1)
    assert "phit sweep" in err


def test_output_that_cannot_be_written_is_refused_first(cli: Cli, write: Write, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for command in ("run", "sweep"):
        status, out, err = cli(command, write(tiny()), "--out", blocked / "results")
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert f"{blocked / 'results'}: cannot write results there" in err


def test_a_plot_of_a_missing_column(cli: Cli, write: Write, tmp_path: Path) -> None:
    document = tiny() | {"sweep": {"product": {"traffic.load": [0.1, 0.2]}}}
    assert cli("sweep", write(document), "--out", tmp_path / "r", "--workers", 1)[0] == 0
    status, _, err = cli("plot", tmp_path / "r", "--y", "latency_men")
    assert (status, err.count("\n")) == (2, 1)
    assert 'did you mean "latency_mean"' in err


BAD = """# A scenario with slips.
[topology]
kind = "dragonfly"
p = 2
a = 4
h = 0

[router]
latency = -1
links.local.latecy = 3
links.global = { vcs = 2, buffer = "3 ns" }

[routing]
kind = "minmal"

[traffic]
pattern = { kind = "hotspot", targets = [1], share = 0.1, background = "unifrom" }
load = "x"
message = { packets = 0 }

[mesure]
cycles = 100
"""


def test_independent_errors_come_together_each_with_its_line(cli: Cli, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(BAD)
    status, out, err = cli("run", bad, "--set", "traffic.laod=0.1")
    assert (status, out) == (2, "")
    lines = [line.removeprefix(f"phit: error: {bad}:") for line in err.splitlines()]
    for place, words in {
        "21: mesure": "unknown section; expected one of",
        "11: router.links.global.buffer": '= "3 ns": expected a size',
        "6: topology.h": "= 0: expected a whole number, at least 1",
        "9: router.latency": "= -1: expected a whole number, zero or more",
        "10: router.links.local.latecy": '(did you mean "latency"?)',
        "14: routing.kind": '(did you mean "minimal"?)',
        "17: traffic.pattern.background.kind": '(did you mean "uniform"?)',
        "18: traffic.load": '= "x": expected a number',
        "19: traffic.message.packets": "= 0: expected a whole number from 1 to 1000000",
    }.items():
        assert any(line.startswith(place) and words in line for line in lines), (place, err)
    assert "phit: error: --set traffic.laod=0.1: traffic.laod = 0.1: unknown key" in err
    assert len(lines) == 10, err
    with pytest.raises(phit.ScenarioError) as caught:
        phit.run(bad)
    error = caught.value
    assert (error.path, error.value, error.nearest) == ("mesure", None, "measure")
    assert (error.file, error.line, len(error.errors)) == (bad, 21, 9)
    assert str(error).splitlines() == [str(one) for one in error.errors]
    assert [one.line for one in error.errors][:2] == [21, 11]


def test_a_single_error_of_a_file_names_its_line(cli: Cli, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('topology = { kind = "single", endpoints = 4 }\n\n[traffic]\nload = 2.0\n')
    status, _, err = cli("run", bad)
    assert (status, err.count("\n")) == (2, 1)
    assert err.startswith(f"phit: error: {bad}:4: traffic.load = 2: expected")
    err = cli("run", bad, "--set", "traffic.load=3")[2]
    assert err.startswith("phit: error: --set traffic.load=3: traffic.load = 3: expected")
    # A table that a setting replaces no longer has the lines of the file.
    err = cli("run", bad, "--set", 'traffic={load=4,pattern="uniform"}')[2]
    assert err.startswith('phit: error: --set traffic={load=4,pattern="uniform"}: traffic.load = 4: expected')
    # A key that is missing stands where its table does, a section that is missing nowhere.
    bad.write_text('[topology]\nkind = "single"\n[traffic]\nload = 0.1\n')
    assert cli("run", bad)[2].startswith(f"phit: error: {bad}:1: topology.endpoints: this key is required")
    bad.write_text('[topology]\nkind = "single"\nendpoints = 4\n')
    assert cli("run", bad)[2].startswith(f"phit: error: {bad}: traffic: this section is required")


def test_errors_of_a_sweep_name_the_line_of_the_swept_key(cli: Cli, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    scenario = '[topology]\nkind = "single"\nendpoints = 4\n'
    bad.write_text(f'{scenario}[sweep.product]\n"traffic.load" = [0.1, 2.0]\n')
    assert cli("sweep", bad, "--out", tmp_path / "out")[2].startswith(f"phit: error: {bad}:5: traffic.load = 2")
    bad.write_text(f"{scenario}[sweep]\nseeds = 0\n")
    assert cli("sweep", bad, "--out", tmp_path / "out")[2].startswith(f"phit: error: {bad}:5: sweep.seeds = 0")
    bad.write_text(f'{scenario}[sweep]\n[[sweep.zip]]\n"traffic.load" = 3\n')
    err = cli("sweep", bad, "--out", tmp_path / "out")[2]
    assert err.startswith(f"phit: error: {bad}:6: sweep.zip[0].traffic.load = 3")


def test_a_quantity_that_breaks_a_bound_is_named_as_written() -> None:
    with pytest.raises(
        phit.ScenarioError, match=re.escape('router.flit_size = "0 B": comes to 0; expected a whole number')
    ):
        phit.complete(tiny(router__flit_size="0 B", units={"cycle": "1 ns"}))
