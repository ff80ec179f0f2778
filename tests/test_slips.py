"""Suggestions for common slips of notation."""

import tomllib
from pathlib import Path

import phit
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phit.base.errors import InputError, ScenarioError
from phit.document import slips

from .conftest import Cli, Write, tiny


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("cycles = 300,", "cycles = 300"),
        ("cycles = 300;", "cycles = 300"),
        ("cycles: 300", "cycles = 300"),
        ("cycles == 300", "cycles = 300"),
        ("load = 0,1", "load = 0.1"),
        ("load = .1", "load = 0.1"),
        ("load = 1.", "load = 1.0"),
        ("links = True", "links = true"),
        ("routing = valiant", 'routing = "valiant"'),
        ("pattern = { kind = adversarial, offset = 1 }", 'pattern = { kind = "adversarial", offset = 1 }'),
        ('pattern = { kind = "adversarial", offset = 1, }', 'pattern = { kind = "adversarial", offset = 1 }'),
        ("routing = \u201cvaliant\u201d", 'routing = "valiant"'),
        ("cycles: 300,", "cycles = 300"),
        ("cycles = = 3 4", None),
        ("what is this", None),
    ],
)
def test_the_line_to_write_is_told(line: str, meant: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f'seed = 1\n{line}\n[topology]\nkind = "single"\n', encoding="utf-8")
    with pytest.raises(InputError) as refused:
        phit.complete(path)
    assert (f"; write `{meant}`" in str(refused.value)) if meant else ("; write" not in str(refused.value))


@given(st.text(max_size=60), st.integers(-1, 4))
def test_whatever_is_proposed_can_be_read(text: str, number: int) -> None:
    meant = slips.line_meant(text, number)
    if meant is not None and "\\u" not in meant:
        tomllib.loads(meant)


def test_commas_too_many_in_json_are_told(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "a.json"
    for text in ('{"seed": 1,}', '{"seed": [1, 2, ]}'):
        path.write_text(text, encoding="utf-8")
        assert "leave out the comma before the closing bracket" in cli("run", path)[2]
    path.write_text('{"seed": }', encoding="utf-8")
    assert "leave out the comma" not in cli("run", path)[2]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("speedup", "router.speedup"),
        ("measure.load", "traffic.load or traffic.changes[].load"),
        ("router.vcs", "router.links.CLASS.vcs"),
        ("traffic.warmup", "measure.warmup"),
    ],
)
def test_a_key_in_a_wrong_place_is_sent_to_its_own(key: str, meant: str, write: Write, cli: Cli) -> None:
    _, _, err = cli("run", write(tiny()), "--set", f"{key}=2")
    assert f"(did you mean {meant}?)" in err


def test_a_misspelt_key_is_still_corrected(write: Write, cli: Cli) -> None:
    assert '(did you mean "warmup"?)' in cli("run", write(tiny()), "--set", "measure.wramup=2")[2]


def test_tables_without_a_kind_are_told_theirs() -> None:
    with pytest.raises(
        ScenarioError, match=r'a table with offset is of kind "adversarial" or "shift"; write kind = "a'
    ):
        phit.complete(tiny(traffic__pattern={"offset": 1}))
    # Nothing has these keys: all kinds are listed.
    with pytest.raises(ScenarioError, match="one of uniform, adversarial"):
        phit.complete(tiny(traffic__pattern={"offset": 1, "nonsense": 2}))


def test_whole_numbers_in_other_notations_are_told(write: Write, cli: Cli) -> None:
    assert "or an exponent: write 1000000000" in cli("run", write(tiny()), "--set", "measure.cycles=1e9")[2]
    with pytest.raises(ScenarioError, match=r"topology\.p = 2\.0: .* write 2$"):
        phit.complete(tiny(topology={"kind": "dragonfly", "p": 2.0, "a": 4, "h": 2}))


def test_all_missing_keys_are_named_at_once() -> None:
    with pytest.raises(ScenarioError) as refused:
        phit.complete(tiny(topology={"kind": "dragonfly"}))
    assert {error.path for error in refused.value.errors} == {"topology.p", "topology.a", "topology.h"}


def test_minimal_adaptive_routing_chooses_what_it_needs() -> None:
    grid = {"kind": "mesh", "dims": [3, 3]}
    router = {"links": {"default": {"vcs": 2}}}
    found = phit.complete(tiny(topology=grid, routing="minimal_adaptive", router=router))["router"]
    assert (found["vc_allocation"], found["vc_allocator"]["kind"]) == ("stage", "separable_input_first")
    own = phit.complete(tiny(topology=grid, routing="minimal_adaptive", router=router | {"vc_allocator": "islip"}))
    assert own["router"]["vc_allocator"]["kind"] == "islip"
    with pytest.raises(ScenarioError, match='expected "stage"'):
        phit.complete(tiny(topology=grid, routing="minimal_adaptive", router=router | {"vc_allocation": "with_switch"}))
    plain = phit.complete(tiny(topology=grid, routing="dimension_order", router=router))["router"]
    assert plain["vc_allocation"] == "with_switch"
