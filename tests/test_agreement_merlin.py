"""The comparison with SST's merlin: some points of its sweeps, and the Dragonfly on which it differs from BookSim."""

from pathlib import Path

import phit
import pytest
from phit.document import Document
from phit.importing.booksim import grammar, of_settings
from phit.studies.validation import Verdict, merlin
from phit.studies.validation.reference import FOLDER
from phit.studies.validation.run import simulate

from .conftest import ROOT


def latency(scenario: Document) -> float:
    """The mean latency of a run with packets."""
    mean = phit.run({"seed": 1, **scenario}).latency_mean
    assert mean is not None
    return mean


@pytest.mark.parametrize(("crossbar", "head"), [(1, 35.0), (2, 34.0)])
def test_a_head_takes_the_time_of_the_page(crossbar: int, head: float) -> None:
    settings = "topology=torus packet=8 latency=10 input_buffer=128 output_buffer=128 shape=8x8"
    scenario = merlin.scenario({"settings": f"{settings} crossbar={crossbar}", "interval": "20"})
    scenario["traffic"] = {"load": 0, "packet_size": 8, "trace": [[0, 0, 1, 8]]}
    scenario["measure"] = {"warmup": 0, "cycles": 200}
    # A cycle and a link; in two routers a crossbar's cycle and a cycle; a link between them and one to the endpoint.
    assert latency(scenario) / crossbar - 8 == head == 1 + 10 + 2 * (1 / crossbar + 1) + 10 + 10


def test_points_of_every_network_agree() -> None:
    chosen = [case for case in merlin.cases(FOLDER) if case.quick]
    assert len(chosen) == 7
    comparisons, _ = simulate(chosen, quick=True)
    assert [c for c in comparisons if c.verdict is not Verdict.AGREES] == []


def test_every_run_is_compared_or_left_out_with_a_reason(tmp_path: Path) -> None:
    cases = merlin.cases(FOLDER)
    assert len({(case.series, case.load) for case in cases}) == len(cases) == 77
    assert all(set(case.theirs) - set(case.tolerances) <= set(case.notes) for case in cases)
    assert len(merlin.left_out(FOLDER)) == 15
    assert merlin.cases(tmp_path) == []
    assert merlin.left_out(tmp_path) == []


def test_links_and_routers_explain_the_difference_to_booksim_on_a_dragonfly() -> None:
    keys = (
        "topology=dragonflynew k=2 n=1 routing_function=min num_vcs=2 vc_buf_size=256 credit_delay=2 routing_delay=0 "
        "vc_allocator=separable_input_first sw_allocator=separable_input_first internal_speedup=2.0 traffic=uniform "
        "packet_size=1 injection_rate_uses_flits=1 injection_rate=0.05"
    )
    written = " ".join(f"{pair.replace('=', ' = ')};" for pair in keys.split())
    booksim = {
        key: value for key, value in of_settings(grammar.settings(written, "x")).document.items() if key != "seed"
    }
    booksim["measure"] = {"warmup": 1000, "cycles": 20_000}

    def between(*links: int) -> float:
        for name, cycles in zip(("local", "global"), links, strict=True):
            booksim["router"]["links"][name]["latency"] = cycles
        return latency(booksim)

    settings = "topology=dragonfly packet=1 latency=1 input_buffer=128 output_buffer=128 crossbar=2 algorithm=minimal"
    row = {"settings": f"{settings} hosts_per_router=2 routers_per_group=4 groups=9", "interval": "20"}
    theirs = {**merlin.scenario(row), "measure": {"warmup": 2000, "cycles": 40_000}}
    theirs["traffic"] |= {"process": "bernoulli", "pattern": {"kind": "uniform", "include_self": True}}
    assert booksim["router"]["links"]["local"]["latency"] == 10
    assert booksim["router"]["links"]["global"]["latency"] == 100
    found = [between(10, 100), between(10, 10), between(1, 1), latency(theirs) / 2 - 1]
    page = (ROOT / "docs" / "merlin.md").read_text(encoding="utf-8")
    table = page.split("| links within / between groups | BookSim | merlin |")[1].split("\n\n")[0]
    numbers = [float(cell) for line in table.splitlines()[2:] for cell in line.split("|")[2:4] if cell.strip()]
    assert len(numbers) == 4
    assert found == pytest.approx(numbers, abs=0.1)
