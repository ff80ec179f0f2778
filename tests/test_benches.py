"""The settings of `make bench-cliffs`: scenarios that Phit accepts, in networks that have a plain one each."""

import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from phit import _phit, workload
from phit.document.inlining import to_json
from phit.document.loading import load

from .conftest import ROOT


@pytest.fixture(scope="module")
def settings() -> Iterator[Mapping[str, Any]]:
    sys.path.insert(0, str(ROOT / "benches"))
    try:
        yield importlib.import_module("settings").all_settings()
    finally:
        sys.path.pop(0)


def test_every_setting_is_a_scenario(settings: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name, setting in settings.items():
        # Proofs take networks of any size, and functions in Python are compiled first.
        if setting.unit == "second" or '"python_' in json.dumps(setting.short):
            continue
        short, long = (json.loads(_phit.complete(to_json(load(each)))) for each in (setting.short, setting.long))
        assert short["measure"].get("warmup") == long["measure"].get("warmup"), name
        assert short != long, name


def test_every_network_has_one_plain_setting(settings: Mapping[str, Any]) -> None:
    plain = Counter(setting.group for setting in settings.values() if setting.is_plain)
    assert set(plain.values()) == {1}
    assert plain.keys() == {setting.group for setting in settings.values()}


def test_settings_differ(settings: Mapping[str, Any]) -> None:
    written = Counter(json.dumps([setting.short, setting.long], sort_keys=True) for setting in settings.values())
    twice = [
        name for name, each in settings.items() if written[json.dumps([each.short, each.long], sort_keys=True)] > 1
    ]
    assert not twice


def test_rows_of_victims_are_those_of_the_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    victim = importlib.import_module("victim")
    page = (ROOT / "docs" / "congestion.md").read_text()
    table = page.split("| `[congestion]`, `[queueing]` | load of a victim")[1].split("\n\n")[0]
    assert [line.split(" | ")[0][2:] for line in table.splitlines()[2:]] == [words for words, *_ in victim.ROWS]
    for _, *settings in victim.ROWS:
        json.loads(_phit.complete(to_json(victim.scenario(*settings))))
    short = victim.scenario({"kind": "none"}, {}) | {"measure": {"warmup": 500, "cycles": 2000, "endpoints": True}}
    mean, smallest, hot, jain, notifications = victim.measured(short)
    assert 0 < smallest < mean < 0.6
    assert 0.5 < hot <= 1.01
    assert 0.1 < jain <= 1
    assert notifications == 0


def test_traces_of_the_benchmark_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    chakra = importlib.import_module("chakra")
    for form in chakra.FORMS:
        path = tmp_path / form / ("trace.0.et" if form == "et" else "trace.0.json")
        path.parent.mkdir()
        chakra.write(path, form, 20_000)
        found = workload.info(path)
        # Of 16 nodes one is a collective, here of a single rank; a kernel waits for its call and the kernel before.
        assert found["operations"] > 40, form
        assert 1.3 < found["dependencies"] / found["operations"] < 1.6, form


def test_steps_of_the_benchmark_are_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    training = importlib.import_module("training")
    for kind in training.NETWORKS:
        json.loads(_phit.complete(to_json(training.scenario(kind, 1024))))
