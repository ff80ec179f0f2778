"""Bad input: exit status 2, one line that names key, value, expectation and nearest name; the same text in Python."""

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
    "unknown pattern": (tiny(traffic__pattern="unifrom"), ["traffic.pattern", "unifrom", 'did you mean "uniform"']),
    "section missing": ({"topology": tiny()["topology"]}, ["traffic", "required"]),
}


@pytest.mark.parametrize("case", CASES)
def test_scenarios_that_cannot_be_simulated(case: str, cli: Cli, write: Write, tmp_path: Path) -> None:
    document, words = CASES[case]
    status, out, err = cli("run", write(document))
    assert (status, out, err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in err
    with pytest.raises(phit.ScenarioError) as caught:
        phit.run(document)
    assert f"phit: error: {caught.value}\n" == err
    assert caught.value.path
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
