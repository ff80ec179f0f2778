"""Expansion of sweeps, dotted paths and settings, over random documents."""

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phit import InputError
from phit.base.nearest import nearest
from phit.document.experiment import Experiment, Point, between, expand_range, label
from phit.document.paths import apply_settings, flatten, get_path, parse_value, paths, set_path

from .conftest import TINY, tiny

keys = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3).map(".".join)
values = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6), st.booleans(), st.sampled_from(["x", "y z"]))
columns = st.dictionaries(keys, st.lists(values, min_size=1, max_size=4, unique_by=repr), max_size=3)


def combinations(sweep: dict[str, Any]) -> list[dict[str, Any]]:
    return list(Experiment.read({**TINY, "sweep": sweep}).combinations())


@given(columns)
def test_a_product_has_every_combination_once(product: dict[str, list[Any]]) -> None:
    found = combinations({"product": product})
    assert len(found) == math.prod(len(column) for column in product.values())
    assert len({repr(values) for values in found}) == len(found)
    for row in found:
        assert list(row) == list(product)
        assert all(value in product[key] for key, value in row.items())


@given(st.dictionaries(keys, st.just(0), min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 4))
def test_a_zip_goes_through_its_keys_together(names: dict[str, int], length: int, seeds: int) -> None:
    group = {key: [f"{key}{i}" for i in range(length)] for key in names}
    found = combinations({"zip": [group], "seeds": seeds})
    assert found == [
        {key: f"{key}{i}" for key in names} | {"seed": seed} for i in range(length) for seed in range(1, seeds + 1)
    ]


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(), min_size=1, max_size=4)), min_size=1, max_size=4))
def test_curves_have_loads_of_their_own(curves: list[tuple[int, list[int]]]) -> None:
    found = combinations({"curves": [{"fixed": fixed, "load": loads} for fixed, loads in curves]})
    assert found == [{"fixed": fixed, "load": load} for fixed, loads in curves for load in loads]


@given(st.integers(-1000, 1000), st.integers(1, 50), st.integers(0, 40), st.sampled_from([1, 10, 100, 1000]))
def test_a_range_by_step_ends_where_it_should(start: int, step: int, count: int, scale: int) -> None:
    """Decimal steps, which binary fractions cannot express, neither lose the last value nor add one."""
    table = {"start": start / scale, "stop": (start + step * count) / scale, "step": step / scale}
    assert expand_range("x", table) == [float(f"{(start + step * i) / scale:.12g}") for i in range(count + 1)]


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(2, 50))
def test_a_range_by_count_has_both_ends(start: float, stop: float, count: int) -> None:
    found = expand_range("x", {"start": start, "stop": stop, "count": count})
    assert len(found) == count
    assert found[0] == pytest.approx(start, rel=1e-9, abs=1e-9)
    assert found[-1] == pytest.approx(stop, rel=1e-9, abs=1e-9)


@given(
    st.decimals(-1000, 1000, places=4),
    st.decimals("0.0001", 100, places=4),
    st.integers(1, 60),
    st.sampled_from(["step", "count"]),
)
def test_a_range_of_decimals_has_decimals(start: Decimal, step: Decimal, steps: int, kind: str) -> None:
    more = {"step": float(step)} if kind == "step" else {"count": steps + 1}
    found = expand_range("x", {"start": float(start), "stop": float(start + steps * step), **more})
    assert found == [float(start + i * step) for i in range(steps + 1)]


def test_the_middle_of_two_decimals_is_one() -> None:
    assert between(0.9, 0.94) == 0.92
    assert between(0.1, 0.2) == 0.15


def test_whole_ranges_stay_whole() -> None:
    assert expand_range("x", {"start": 2, "stop": 9, "step": 3}) == [2, 5, 8]


@given(columns, keys, values)
def test_a_key_that_is_set_can_be_read(document: dict[str, Any], path: str, value: Any) -> None:
    nested: dict[str, Any] = {}
    for key, column in document.items():
        if not any(key.startswith(f"{p}.") or p.startswith(f"{key}.") for p in (*document, path) if p != key):
            set_path(nested, key, column)
    set_path(nested, path, value)
    assert get_path(nested, path) == value
    assert (path, value) in list(flatten(nested))
    assert path in list(paths(nested))


@given(values)
def test_a_setting_is_read_as_toml(value: Any) -> None:
    assert parse_value(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("valiant", "valiant"),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ('{ kind = "adversarial", offset = 1 }', {"kind": "adversarial", "offset": 1}),
        ("1\nother = 2", "1\nother = 2"),
        ("2026-01-01", "2026-01-01"),
        ("", ""),
    ],
)
def test_settings(text: str, value: Any) -> None:
    assert parse_value(text) == value


def test_a_bare_kind_becomes_a_table_when_a_key_of_it_is_set() -> None:
    document = apply_settings(tiny(traffic__pattern="adversarial"), ["traffic.pattern.offset=2"])
    assert document["traffic"]["pattern"] == {"kind": "adversarial", "offset": 2}


def test_nested_tables_of_a_sweep_stand_for_dots() -> None:
    pattern = {"kind": "adversarial", "offset": 1}
    nested = {"traffic": {"load": {"start": 0.1, "stop": 0.3, "step": 0.1}, "pattern": ["uniform", pattern]}}
    found = combinations({"product": nested})
    assert found[1] == {"traffic.load": 0.1, "traffic.pattern": pattern}
    assert len(found) == 6
    assert combinations({"curves": [{"traffic": {"pattern": pattern}}]}) == [{"traffic.pattern": pattern}]


def test_equal_points_are_one_and_the_hash_is_of_the_complete_scenario() -> None:
    points = Experiment.read(tiny() | {"sweep": {"product": {"traffic.load": [0.1, 0.1, 0.2]}}}).points()
    assert [point.values["traffic.load"] for point in points] == [0.1, 0.2]
    (explicit,) = Experiment.read(tiny(seed=1, traffic__pattern={"kind": "uniform"})).points()
    assert explicit.hash == points[0].hash
    assert explicit.hash != Experiment.read(tiny(seed=2)).points()[0].hash


def test_work_grows_with_what_is_simulated() -> None:
    def work(**changes: Any) -> float:
        (point,) = Experiment.read(tiny(**changes)).points()
        return point.work

    assert work() < work(traffic__load=0.2) < work(traffic__load=0.2, measure__cycles=1200)
    assert work() < work(topology={"kind": "dragonfly", "p": 4, "a": 8, "h": 4})


def test_labels() -> None:
    assert label({"kind": "adversarial", "offset": 1}) == "adversarial offset=1"
    assert label([8, 8]) == "8x8"
    assert Point({"topology.dims": [8, 8]}, {}).columns == {"topology.dims": "8x8"}


def test_nearest_key_by_its_last_part() -> None:
    known = list(paths(TINY))
    assert nearest("load", known) == "traffic.load"
    assert nearest("router.link.local.vc", known) == "router.links.local.vcs"
    assert nearest("zzz", known) is None


def test_a_swept_name_of_a_curve_is_no_key() -> None:
    points = Experiment.read(tiny() | {"sweep": {"curves": [{"name": "first", "traffic.load": [0.1]}]}}).points()
    assert points[0].values == {"curve": "first", "traffic.load": 0.1}
    with pytest.raises(InputError, match=r"expected \[\[sweep\.zip\]\] tables"):
        Experiment.read(tiny() | {"sweep": {"zip": 3}}).points()


def with_units(**sweep: Any) -> dict[str, Any]:
    return {
        "topology": {"kind": "single", "endpoints": 4},
        "router": {"links": {"default": {"bandwidth": "20 Gb/s", "latency": "200 ns", "buffer": "4 KiB", "vcs": 1}}},
        "traffic": {"load": 0.1, "packet_size": "512 B"},
        "sweep": {"product": sweep},
    }


def test_points_of_a_sweep_have_one_cycle() -> None:
    document = with_units(**{"router.links.default.latency": ["200 ns", "201 ns"]})
    with pytest.raises(InputError) as raised:
        Experiment.read(document).points()
    assert str(raised.value) == (
        "units: the points have cycles of 8/5 ns and 1/5 ns, so their times cannot be compared; "
        'add cycle = "1/5 ns" to [units]'
    )
    points = Experiment.read(document, ["units.cycle=1/5 ns"]).points()
    assert [point.scenario["router"]["links"]["default"]["latency"] for point in points] == [1000, 1005]
    # Neither cycle is a whole number of the other: 8/5 ns and 15/2 ns have 1/10 ns in common.
    other = with_units(**{"router.links.default": [{"latency": latency} for latency in ("1.6 ns", "7.5 ns")]})
    other["router"] = {"links": {"endpoint": {"bandwidth": "20 Gb/s", "latency": 0}}}
    with pytest.raises(InputError, match=r'8/5 ns and 15/2 ns, .*; add cycle = "1/10 ns" to \[units\]'):
        Experiment.read(other, ["traffic.packet_size=8", "traffic.load=0.01", "units.phit=1 bit"]).points()


def test_points_of_a_sweep_have_one_phit() -> None:
    document = with_units(**{"traffic.packet_size": ["512 B", "510 B"]})
    document["units"] = {"cycle": "8/5 ns"}
    with pytest.raises(InputError) as raised:
        Experiment.read(document).points()
    assert str(raised.value) == (
        "units: the points have phits of 32 bit and 16 bit, so their sizes and loads cannot be compared; "
        'add phit = "16 bit" to [units]'
    )
    points = Experiment.read(document, ["units.phit=16 bit"]).points()
    assert [point.scenario["traffic"]["packet_size"]["phits"] for point in points] == [256, 255]


def test_many_cycles_are_not_all_listed_and_numbers_have_none() -> None:
    document = with_units(**{"router.links.default.latency": ["200 ns", "201 ns", "202 ns", "200.1 ns", "200.8 ns"]})
    with pytest.raises(InputError, match=r"cycles of 8/5 ns, 1/5 ns, 2/5 ns and 2 others, so .* \"1/10 ns\""):
        Experiment.read(document).points()
    # Rates alone leave the cycle open: the second point has plain numbers beside them.
    document = with_units()
    document["router"]["links"]["default"] = {"bandwidth": "20 Gb/s"}
    swept = {"traffic.packet_size": ["512 B", 8], "router.links.default.buffer": ["4 KiB", 64]}
    document["sweep"] = {"zip": [swept | {"router.links.default.latency": ["200 ns", 1]}]}
    with pytest.raises(InputError, match=r'cycles of 8/5 ns and no stated size, .*; add cycle = "8/5 ns" to \[units\]'):
        Experiment.read(document).points()


def test_a_sweep_may_sweep_its_units() -> None:
    document = with_units(**{"units.cycle": ["8/5 ns", "1/5 ns"]})
    units = [point.scenario["units"]["cycle"] for point in Experiment.read(document).points()]
    assert units == ["8/5 ns", "1/5 ns"]


def test_files_are_found_from_the_folder_of_the_file_that_names_them(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    path = folder / "experiment.json"
    sweep = {
        "product": {"topology.file": ["a.csv", "b.csv"], "traffic.trace": ["t.csv", {"file": "u.csv"}]},
        "curves": [{"routing.file": "table.csv", "traffic.load": [0.1]}],
        "zip": [{"workload": [{"kind": "file", "file": "p.goal"}]}],
    }
    path.write_text(json.dumps({"routing": {"kind": "table", "file": "own.csv"}, "sweep": sweep}))
    experiment = Experiment.read(path)
    assert experiment.base["routing"]["file"] == str(folder / "own.csv")
    found = list(experiment.combinations())
    assert [values["topology.file"] for values in found] == [
        str(folder / name) for name in ("a.csv", "a.csv", "b.csv", "b.csv")
    ]
    assert [values["traffic.trace"] for values in found[:2]] == [str(folder / "t.csv"), {"file": str(folder / "u.csv")}]
    assert {values["routing.file"] for values in found} == {str(folder / "table.csv")}
    assert found[0]["workload"]["file"] == str(folder / "p.goal")
    assert found[0]["traffic.load"] == 0.1
    # A file on the command line is found from the current folder.
    assert Experiment.read(path, ["routing.file=here.csv"]).base["routing"]["file"] == "here.csv"
