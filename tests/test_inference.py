"""Serving a language model, and iterations of programs, from files and on the command line."""

from pathlib import Path
from typing import Any

import phit
import pytest
from phit.document.loading import load

from .conftest import ROOT, Cli, Write

SERVED: dict[str, Any] = {
    "units": {"cycle": "1 ns", "phit": "16 B"},
    "topology": {"kind": "single", "endpoints": 4},
    "workload": {
        "kind": "inference",
        "packet_size": 16,
        "times": {"pass": 1000, "token": 10},
        "cache_bytes": 64,
    },
}


def served(**workload: Any) -> dict[str, Any]:
    return SERVED | {"workload": SERVED["workload"] | workload}


def test_the_example_serves_all_requests() -> None:
    example = load(ROOT / "examples" / "inference.toml")
    scenario = {key: value for key, value in example.items() if key not in ("sweep", "plot")}
    scenario["workload"] |= {"requests": 12}
    result = phit.run(scenario)
    requests = result.tables["requests"]
    assert result["requests_done"] == requests.height == 12
    assert result["tokens_generated"] == requests["output"].sum()
    # A prompt of the mean length takes about 70 G x 2 x 1,000 operations on half of four peaks: 71 ms.
    assert 20e6 < result["time_to_first_token_mean"] < 400e6
    # A pass loads a quarter of 141 GB at 3.35 TB/s: 10.5 ms.
    assert 10e6 < result["time_between_tokens_p50"] < 14e6
    assert (requests["end"] > requests["first_token"]).all()


def test_requests_come_from_a_file(tmp_path: Path, write: Write) -> None:
    (tmp_path / "requests.csv").write_text("0,20,3\n1500.5,30,1\n")
    inline = phit.run(served(trace=[[0.0, 20, 3], [1500.5, 30, 1]]))
    found = phit.run(load(write(served(trace="requests.csv"))))
    assert found["completion"] == inline["completion"]
    assert found.tables["requests"].equals(inline.tables["requests"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected a line of numbers for each request, found none"),
        ("0,20\n", "line 1: '0.0,20.0'; expected a time of arrival, the tokens of the prompt"),
        ("0,20,3\n1,2.5,3\n", "line 2"),
        ("0,20,x\n", "line 1: '0,20,x'; expected numbers of 0 or more"),
    ],
)
def test_files_of_requests_are_checked(tmp_path: Path, write: Write, text: str, expected: str) -> None:
    (tmp_path / "requests.csv").write_text(text)
    path = write(served(trace="requests.csv"))
    with pytest.raises(phit.InputError, match=r"workload\.trace") as caught:
        phit.run(load(path))
    assert expected in str(caught.value)


def test_a_run_shows_its_iterations_and_requests(cli: Cli, write: Write) -> None:
    status, shown, _ = cli("run", write(served(trace=[[0.0, 20, 3]])))
    assert status == 0
    assert "requests done" in shown
    assert "mean time to the first token" in shown
    program = SERVED | {
        "workload": {
            "kind": "collective",
            "collective": "broadcast",
            "bytes": 64,
            "repeat": {"iterations": 30},
        }
    }
    status, shown, _ = cli("run", write(program))
    assert status == 0
    assert "iterations skipped" in shown
    assert "mean time of an iteration" in shown
