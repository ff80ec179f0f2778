"""Agreement with BookSim's branches for congestion control: single packets to the cycle, and the reader of tables."""

import csv
import json
import shutil
from pathlib import Path

import phit
import pytest
from phit.importing import RefusedError, read
from phit.peers import booksim_branch
from phit.peers.comparison import Verdict
from phit.peers.comparison import compare as compared
from phit.studies.validation import control
from phit.studies.validation.run import cases, only_folders

from .conftest import Cli

REFERENCE = Path(__file__).parent / "reference"


def packets() -> list[control.Packets]:
    """The cases of single messages."""
    return [case for case in control.cases(REFERENCE)[0] if isinstance(case, control.Packets)]


@pytest.mark.parametrize("case", packets(), ids=lambda case: case.setting.split(",")[0])
def test_tails_arrive_in_the_cycles_of_the_other_simulator(case: control.Packets) -> None:
    """Sending, marking at the head, notifications and delays between packets, cycle by cycle."""
    (scenario,) = case.scenarios(quick=True)
    (found,) = compared(case, [case.measured(phit.run(scenario).answer())])
    assert (found.ours, found.verdict) == (0.0, Verdict.AGREES)


@pytest.mark.parametrize("mode", ["ecn", "srp"])
def test_a_busy_switch_agrees_to_the_cycle(mode: str) -> None:
    """A switch of eight at loads of 0.95 and 0.9, with notifications, and with drops: the same latencies from the same
    messages."""
    known = json.loads((REFERENCE / "control" / "switch.json").read_text())[mode]
    scenario = {"seed": 1, **booksim_branch.Branch(known["config"]).scenario(drawn=False)}
    size = int(known["config"]["const_flits_per_packet"])
    scenario["traffic"] = {"load": 0.0, "packet_size": size, "trace": known["messages"]}
    scenario["measure"] = {"warmup": 0, "cycles": known["cycles"], "histogram": True}
    result = phit.run(scenario)
    table = result.answer()["tables"]["histogram"]
    pairs = zip(table["latency"], table["packets"], strict=True)
    found = [int(latency) - booksim_branch.EARLIER for latency, packets in pairs for _ in range(int(packets))]
    assert found == known["latencies"]
    counted = result.summary["congestion"]
    assert counted["notifications"] > 20 if mode == "ecn" else counted["dropped"] > 5


def test_a_tail_in_another_cycle_is_found() -> None:
    assert control.largest_difference([8, 40], [8, 41]) == 1
    assert control.largest_difference([8, 40], [8]) == 40
    # Latencies of more than eleven digits are counted in bins of two.
    assert control.largest_difference([2065], [2066]) == 0
    assert control.largest_difference([2065], [2068]) == 3


def test_what_is_left_out_has_its_rows_and_its_reason() -> None:
    found, left_out = control.cases(REFERENCE)
    assert {case.simulator for case in found} == {control.SIMULATOR}
    reasons = {one.reason for one in left_out}
    assert "use_voq_size = 0: cannot be expressed; expected 1" in reasons


def shortened(tmp_path: Path, name: str, keep: str) -> Path:
    """A folder with the rows of one table whose setting begins with a word."""
    (tmp_path / "control").mkdir()
    with (REFERENCE / "control" / name).open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = [row for row in reader if row["setting"].startswith(keep)]
    path = tmp_path / "control" / "of_any_name.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_folder_of_the_form_is_judged(tmp_path: Path, cli: Cli) -> None:
    """A table of any name alone is compared, and one wrong load is found."""
    path = shortened(tmp_path, "booksim_hotspot_base.csv", "single8|base|uniform|0.4")
    assert only_folders(tmp_path)
    assert len(cases(tmp_path)) == 1
    status, out, err = cli("validate", "--quick", "--reference", tmp_path, "--out", tmp_path / "docs")
    assert status == 0, out + err
    page = (tmp_path / "docs" / "agreement-booksim-congestion.md").read_text()
    assert "load of other endpoints" in page
    text = path.read_text()
    path.write_text(text.replace(",0.3853,", ",0.4853,").replace(",0.4059,", ",0.4859,"))
    status, _, _ = cli("validate", "--quick", "--reference", tmp_path, "--out", tmp_path / "docs")
    assert status == 1


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "control").mkdir()
    with pytest.raises(phit.PhitError, match=r"expected tables, files that end in \.csv"):
        control.cases(tmp_path)
    (tmp_path / "control" / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(phit.PhitError, match=r"other.csv: expected a table with setting, acc_other_dst"):
        control.cases(tmp_path)
    shutil.rmtree(tmp_path / "control")
    path = shortened(tmp_path, "booksim_hotspot_base.csv", "single8|base|uniform|0.4")
    path.write_text(path.read_text().replace(",0.3853,", ",much,"))
    with pytest.raises(phit.PhitError, match="row 31: acc_other_dst = 'much': expected a number"):
        control.cases(tmp_path)


def configuration(setting: str, table: str = "booksim_ecn.csv") -> str:
    """The configuration of the first row of a setting, in BookSim's language."""
    with (REFERENCE / "control" / table).open(newline="", encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["setting"].startswith(setting))
    return "".join(f"{key} = {value};\n" for key, value in booksim_branch.settings(row["config"]).items())


def test_every_row_is_imported(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(configuration("ft8x2|ecn|uniform|0.4"))
    found = read("booksim", file).document
    assert found["congestion"]["threshold"] == 500
    assert found["queueing"] == {"kind": "voqsw", "memory": "shared"}
    file.write_text(configuration("ft8x2|ecn|hotspot+bg|0.4"))
    found = read("booksim", file).document
    trace = found["traffic"]["trace"]
    hot = {message[1] for message in trace if message[2] == 26}
    assert len(hot) == 12
    share = sum(message[3] for message in trace if message[2] == 26) / (12 * trace[-1][0])
    assert share == pytest.approx(1.0, rel=0.05)


def test_reservations_are_imported(tmp_path: Path) -> None:
    """The keys of the protocol, and messages of both kinds, which stop the sources of the other simulator."""
    lines = "".join(f"{key} = {value};\n" for key, value in reserving().items())
    file = tmp_path / "config"
    file.write_text(lines)
    found = read("booksim", file).document
    assert found["congestion"]["kind"] == "srp"
    assert found["congestion"]["chunk"] == 512
    assert found["router"]["control_buffer"] == 64
    file.write_text(lines + "reservation_packet_threshold = 5000;\nfast_reservation_transmit = 1;\n")
    assert read("booksim", file).document["congestion"]["kind"] == "ecn", "no message is large enough"
    file.write_text(lines + "reservation_tail_reserve = 1;\n")
    with pytest.raises(RefusedError, match="reservation_tail_reserve = 1: cannot be expressed; expected 0"):
        read("booksim", file)


def reserving() -> dict[str, str]:
    """The configuration of the case with two sources that reserve."""
    with (REFERENCE / "control" / "micro.csv").open(newline="", encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["case"] == "srp_2src_single")
    return booksim_branch.settings(row["config"])


def test_unknown_keys_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(configuration("ft8x2|ecn|uniform|0.4") + "ecn_ird_limits = 3;\nhotspot_reservation = 1;\n")
    with pytest.raises(RefusedError) as refusal:
        read("booksim", file)
    assert "ecn_ird_limits = 3: not known as a key of these branches" in str(refusal.value)
    assert "ecn_ird_limit" in str(refusal.value)
    file.write_text(configuration("ft8x2|ecn|uniform|0.4") + "topology = mesh;\n")
    with pytest.raises(RefusedError, match="topology = 'mesh': cannot be expressed; expected fattree or dragonflynew"):
        read("booksim", file)
    file.write_text(configuration("ft8x2|ecn|uniform|0.4") + "topology = dragonflynew;\nrouting_function = min;\n")
    with pytest.raises(RefusedError, match="ECN = 1: its notifications share virtual channels with data there"):
        read("booksim", file)


DRAGONFLY = {"topology": "dragonflynew", "k": "2", "n": "1", "routing_function": "min", "num_vcs": "8", "aux_vc": "1"}
"""Keys of the Dragonfly of 72 endpoints, with reservations."""


def test_the_dragonfly_of_the_later_branch_is_imported(tmp_path: Path) -> None:
    """An empty network: 31 cycles of the packet, the two links of endpoints, and two cycles in the only router."""
    times = {"dragonfly_local_latency": "5", "dragonfly_global_latency": "30", "output_buffer_size": "4"}
    given = {**reserving(), **DRAGONFLY, **times, "create_permanent_flows": "0", "reservation_packet_threshold": "9999"}
    given |= {"traffic": "noself_hotspot", "hotspot_nodes": "1", "hotspot_senders": "0", "injection_rate": "0.01"}
    given |= {"flow_size": "1", "warmup_cycles": "100", "sample_period": "9000", "max_samples": "2"}
    file = tmp_path / "config"
    file.write_text("".join(f"{key} = {value};\n" for key, value in given.items()))
    found = read("booksim", file).document
    assert found["topology"] == {"kind": "dragonfly", "p": 2, "a": 4, "h": 2, "arrangement": "consecutive"}
    assert {name: link["latency"] for name, link in found["router"]["links"].items()} == {
        "local": 5,
        "global": 30,
        "endpoint": 1,
    }
    summary = phit.run(found).summary
    assert summary["latency_p50"] - booksim_branch.EARLIER == 36
    file.write_text("".join(f"{key} = {value};\n" for key, value in {**given, "routing_function": "nca"}.items()))
    with pytest.raises(RefusedError, match="routing_function = 'nca': expected min with this topology"):
        read("booksim", file)


def test_speculative_packets_yield_on_the_dragonfly() -> None:
    """With `yields` more of them wait until they are dropped. The rule needs a buffer for control packets."""
    times = {"dragonfly_local_latency": "5", "dragonfly_global_latency": "30", "output_buffer_size": "4"}
    given = {**reserving(), **DRAGONFLY, **times, "create_permanent_flows": "0", "traffic": "uniform"}
    given |= {"flow_size": "1", "injection_rate": "0.85", "reservation_spec_voq": "1", "max_samples": "2"}
    given |= {"injection_process": "bernoulli", "warmup_cycles": "500", "sample_period": "1500"}
    given = {key: value for key, value in given.items() if not key.startswith("hotspot_n") and key != "hotspot_senders"}
    scenario = booksim_branch.with_seed(given, 1)
    assert scenario["router"]["output_order"] == "packets"
    dropped = {}
    for yields in (True, False):
        scenario["congestion"]["yields"] = yields
        dropped[yields] = phit.run(scenario).summary["congestion"]["dropped"]
    assert dropped[True] > 1.5 * dropped[False]
    scenario["congestion"]["yields"] = True
    del scenario["router"]["control_buffer"]
    with pytest.raises(phit.PhitError, match="yields = true: expected false without"):
        phit.run(scenario)


def test_trials_succeed_as_often_as_they_should() -> None:
    import random

    found = booksim_branch.trials(random.Random(1), 0.01, 100_000)
    assert len(found) == pytest.approx(1000, rel=0.1)
    assert found == sorted(set(found))
    assert booksim_branch.trials(random.Random(1), 0.0, 10) == []
    assert booksim_branch.trials(random.Random(1), 1.0, 3) == [0, 1, 2]
