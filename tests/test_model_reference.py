"""The model reference has every kind and every key, with its default and its meaning."""

import re
import runpy

import phit

from .conftest import ROOT

PAGE: str = runpy.run_path(str(ROOT / "docs" / "model_reference.py"))["page"]()


def test_every_kind_has_a_heading() -> None:
    for concept, entries in phit.catalogue().items():
        for entry in entries:
            assert f"### {concept}: `{entry['kind']}`\n" in PAGE


def test_every_key_says_what_it_means() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]*) \| (.*) \|$", PAGE, re.MULTILINE)
    for key, default, meaning in rows:
        assert default, key
        assert len(meaning) > 10, key
    keys = {key for key, _, _ in rows}
    assert {"links.CLASS.buffer", "changes[].cycle", "until.half_width", "series.bin", "injection_queue"} <= keys


def test_names_are_explained() -> None:
    assert '<br>`"least_occupied"`: The one with most room' in PAGE
    assert '<br>`"wormhole"`: ' in PAGE
