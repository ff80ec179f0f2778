"""The worked examples of the texts are the files that the engine's test `contributing` compiles and runs."""

import re

import pytest

from .conftest import ROOT

EXAMPLES = ROOT / "crates" / "phit-engine" / "tests" / "contributing"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TRIGGER = (ROOT / "docs" / "new-trigger.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```rust\n// (\S+)\n(.*?)^```$", TEXT + TRIGGER, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", ["ring", "o1turn", "butterfly", "busy", "statistical"])
def test_a_worked_example_is_its_file(name: str) -> None:
    path = EXAMPLES / f"{name}.rs"
    assert BLOCKS[str(path.relative_to(ROOT))] == path.read_text(encoding="utf-8")
    main = (EXAMPLES / "main.rs").read_text(encoding="utf-8")
    assert f"mod {name};" in main


@pytest.mark.parametrize(
    ("folder", "name"), [("topology", "ring"), ("routing", "o1turn"), ("traffic/patterns", "butterfly"), ("probes", "busy")]
)
def test_the_lines_to_add_look_like_the_ones_that_are_there(folder: str, name: str) -> None:
    path = f"crates/phit-engine/src/{folder}/mod.rs"
    module, entry = BLOCKS[path].splitlines()
    (struct,) = re.findall(r"pub struct (\w+)", BLOCKS[f"crates/phit-engine/tests/contributing/{name}.rs"])[:1]
    assert (module, entry) == (f"pub mod {name};", f'        "{name}" => {struct}({name}::{struct}),')
    registry = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(r"^pub mod \w+;$", registry, re.MULTILINE)
    assert re.search(r'^        "\w+" => \w+\([\w:]+\),$', registry, re.MULTILINE)


def test_the_result_column_is_the_engine_s_own_file() -> None:
    folder = "crates/phit-engine/src/measure/quantities"
    assert BLOCKS[f"{folder}/drops.rs"] == (ROOT / folder / "drops.rs").read_text(encoding="utf-8")
    registry = (ROOT / folder / "mod.rs").read_text(encoding="utf-8")
    assert all(f"{line}\n" in registry for line in BLOCKS[f"{folder}/mod.rs"].splitlines())


def test_every_place_that_is_named_exists() -> None:
    for path in re.findall(r"`((?:crates|tests|docs)/[\w/.*-]+)`", TEXT):
        assert list(ROOT.glob(path)), path
