"""Training steps through the package: examples, shares of experts from files, errors by their keys."""

import copy
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.document.loading import load

from .conftest import ROOT, Cli, Write

MIXTURE: dict[str, Any] = {
    "units": {"cycle": "1 ns", "phit": "50 B"},
    "topology": {"kind": "single", "endpoints": 8},
    "router": {"kind": "fluid", "latency": 100},
    "workload": {
        "kind": "training",
        "expert": 4,
        "pipeline": 2,
        "layers": 4,
        "micro_batches": 2,
        "forward": 10_000,
        "routed_bytes": 400_000,
        "activation_bytes": 100_000,
        "expert_load": True,
    },
}


def mixture(**workload: Any) -> dict[str, Any]:
    document = copy.deepcopy(MIXTURE)
    document["workload"] |= workload
    return document


def test_a_step_of_a_model_takes_its_calculations_and_what_is_not_hidden() -> None:
    example = load(ROOT / "examples" / "training.toml")
    scenario = {key: value for key, value in example.items() if key not in ("sweep", "plot")}
    result = phit.run(scenario)
    # Llama 3 8B: 4 heads' groups share keys and values, three matrices of 4,096 x 14,336; 2 operations a value, and
    # attention to 8,192 tokens. A stage has 4 layers, 8 ranks share them, and passes back take twice as long.
    matrices = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    forward = 8192 * (matrices + 4 * 8192 * 4096) / 8 / (989.4e3 / 2)
    stage = 4 * 3 * forward
    calculated = 4 * stage
    finish = result["completion"]
    assert result.tables["ranks"]["calc"].to_list() == pytest.approx([calculated] * 128, rel=1e-4)
    # A pipeline of two stages has one slot more than micro-batches.
    assert finish > 5 * stage
    # Nothing overlaps with the exchange of activations in a layer: 16 in each of 4 micro-batches, and 8 GB/s would do.
    assert finish < 5 * stage + 5 * 4 * 4 * 2 * (8192 * 4096 * 2 / 8 * 7 / 50) + 0.1 * finish


def test_unequal_demand_for_experts_costs_time() -> None:
    times = [phit.run(mixture(skew=skew))["completion"] for skew in (0.0, 0.5, 1.0)]
    assert times == sorted(times)
    assert times[2] > 1.3 * times[0]


def test_shares_of_experts_come_from_a_file(tmp_path: Path, write: Write) -> None:
    (tmp_path / "tokens.csv").write_text("70,10,10,10\n1,1,1,2.5\n")
    shares = [[70, 10, 10, 10], [1, 1, 1, 2.5]]
    inline = phit.run(mixture(expert_shares=shares))
    found = phit.run(load(write(mixture(expert_shares="tokens.csv"))))
    assert found["completion"] == inline["completion"]
    assert found["completion"] != phit.run(mixture())["completion"]
    steps = {"kind": "sequence", "steps": [mixture(expert_shares="tokens.csv")["workload"]]}
    in_sequence = load(write({**MIXTURE, "workload": steps}))
    assert phit.run(in_sequence)["completion"] == inline["completion"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected a line of numbers for each layer, found none"),
        ("1,2,3,4\n1,2,x,4\n", "line 2: '1,2,x,4'; expected numbers of 0 or more, separated by commas"),
        ("1,2,3,-4\n", "line 1: '1,2,3,-4'; expected numbers of 0 or more"),
        ("1,2,3\n", "expected one for each of expert = 4 ranks"),
        ("0,0,0,0\n", "expected numbers of 0 or more, not all 0"),
    ],
)
def test_a_file_of_shares_that_is_none_is_named(tmp_path: Path, write: Write, text: str, expected: str) -> None:
    (tmp_path / "tokens.csv").write_text(text)
    with pytest.raises(phit.PhitError, match=r"workload\.expert_shares") as error:
        phit.run(load(write(mixture(expert_shares="tokens.csv"))))
    assert expected in str(error.value).replace('"', "'")


def test_a_file_that_is_missing_is_named(write: Write) -> None:
    with pytest.raises(phit.PhitError, match=r"workload\.expert_shares: .*tokens\.csv: cannot be read"):
        phit.run(load(write(mixture(expert_shares="tokens.csv"))))


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        ({"data_algorithm": "hierarchical", "data": 2, "expert": 2, "gradient_bytes": 8}, "workload.data_group"),
        ({"zero": 4}, "workload.zero = 4"),
        ({"bucket_bytes": 0}, "workload.bucket_bytes = 0"),
        ({"model": {"name": "llama4_8b"}}, "workload.model.name"),
        ({"model": {"name": "llama3_8b", "heads": 33}, "expert": 1}, "workload.model.heads = 33"),
        ({"model": {"name": "mixtral_8x7b"}, "expert": 4, "layers": 5}, "workload.layers = 5"),
        ({"model": {"name": "mixtral_8x7b"}, "accelerator": {"peak": 1e5}}, "workload.accelerator.bandwidth"),
    ],
)
def test_what_makes_no_step_is_named_by_its_key(workload: dict[str, Any], expected: str) -> None:
    with pytest.raises(phit.ScenarioError) as error:
        phit.run(mixture(**workload))
    assert str(error.value).startswith(expected), error.value


def test_times_of_an_accelerator_need_the_length_of_a_cycle(cli: Cli, write: Write) -> None:
    document = mixture(model={"name": "llama3_8b", "layers": 2}, accelerator={"name": "a100"}, expert=1)
    del document["workload"]["forward"], document["units"]["cycle"]
    status, _, error = cli("run", write(document))
    assert status == 2
    assert "units.cycle: the times of this program are nanoseconds" in error
