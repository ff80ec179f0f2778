"""The cost model of section VI-B against the paper's numbers."""

import json

import pytest
from phit.studies.contention.cost import Notification, Shape, cost, counter_bits, of_scenario, table_one

from .conftest import Cli, Write, tiny


def test_the_router_of_table_one() -> None:
    # 8 x 3 + 15 x 3 + 8 x 2 = 85 virtual channels in 31 ports: 2.74, as section VI-A says.
    shape = table_one()
    assert (shape.ports, shape.input_vcs, shape.global_links) == (31, 85, 128)
    assert round(shape.mean_vcs, 2) == 2.74


def test_the_full_array_is_six_phits_of_a_hundred() -> None:
    full = Notification(table_one(), combined_threshold=10).full()
    assert (full.counters, full.bits, full.period) == (128, 512, 100)
    assert full.phits == pytest.approx(6.4)
    assert full.share == pytest.approx(0.064)


def test_counters_above_zero_need_their_names() -> None:
    notification = Notification(table_one(), combined_threshold=10)
    assert (notification.identifier_bits, notification.bits) == (7, 4)
    # 8 global ports with 2 VCs and 8 injection ports with 3.
    assert notification.active == 40
    assert notification.nonempty().bits == 40 * 11
    assert notification.nonempty(5).bits == 55
    assert notification.incremental(3).bits == 33
    assert notification.incremental().counters == 80


@pytest.mark.parametrize(
    ("threshold", "bits"), [(1, 1), (3, 2), (4, 3), (6, 3), (7, 3), (8, 4), (10, 4), (15, 4), (16, 5)]
)
def test_a_counter_can_hold_its_threshold(threshold: int, bits: int) -> None:
    assert counter_bits(threshold) == bits
    assert threshold < 2**bits


def test_a_small_group_has_no_more_active_counters_than_links() -> None:
    assert Notification(Shape(p=4, a=4, h=2), 5).active == 8


def test_storage() -> None:
    found = {(s.mechanism, s.what.split(",")[0]): s.bits for s in cost(table_one()).storage}
    assert found["Base", "counters"] == 31 * 3
    assert found["ECtN", "partial arrays received"] == 15 * 512
    assert found["PB", "saturation flags"] == 128


def test_the_command(cli: Cli) -> None:
    status, out, err = cli("cost", "contention")
    assert (status, err) == (0, "")
    assert "6.4%" in out
    found = json.loads(cli("cost", "contention", "--json")[1])
    assert found["updates"][0] | {"kind": ""} == {
        "mechanism": "ECtN",
        "kind": "",
        "counters": 128,
        "bits": 512,
        "period": 100,
        "phit_bits": 80,
        "phits": 6.4,
        "share": 0.064,
    }
    assert found["router"]["ports"] == 31


def test_the_command_with_a_scenario(cli: Cli, write: Write) -> None:
    found = json.loads(cli("cost", "contention", write(tiny()), "--json")[1])
    # p=2 a=4 h=2 with four local VCs, two global ones, and the engine's two injection queues.
    assert found["router"] | {"mean_vcs": 0} == {
        "p": 2,
        "a": 4,
        "h": 2,
        "injection_vcs": 2,
        "local_vcs": 4,
        "global_vcs": 2,
        "ports": 7,
        "mean_vcs": 0,
    }
    status, _, err = cli("cost", "contention", write(tiny(topology={"kind": "torus", "dims": [4]}, router={})))
    assert (status, err.count("\n")) == (2, 1)
    assert "dragonfly" in err


def test_without_a_scenario_it_is_table_one() -> None:
    assert of_scenario(None).shape == table_one()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cost", "contenton"], ["contenton", 'did you mean "contention"']),
        (["cost", "contention", "nowhere.toml"], ["nowhere.toml", "no such file"]),
        (["cost", "contention", "--set", "seed=2"], ["file of a scenario"]),
    ],
)
def test_bad_input(cli: Cli, arguments: list[str], words: list[str]) -> None:
    status, out, err = cli(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in err
