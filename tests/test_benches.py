"""The settings of `make bench-cliffs`: scenarios that Phit accepts, in networks that have a plain one each."""

import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from phit import _phit
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
