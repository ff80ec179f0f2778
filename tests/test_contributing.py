"""The worked examples of the texts are files that tests compile and run: the engine's test `contributing`, and this."""

import json
import re
import sys
from pathlib import Path

import pytest
from phit import studies
from phit.studies import registry

from .conftest import ROOT, Cli

EXAMPLES = ROOT / "crates" / "phit-engine" / "tests" / "contributing"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TRIGGER = (ROOT / "docs" / "new-trigger.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```(?:rust|python)\n(?://|#) (\S+)\n(.*?)^```$", TEXT + TRIGGER, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", ["ring", "o1turn", "butterfly", "busy", "statistical"])
def test_a_worked_example_is_its_file(name: str) -> None:
    path = EXAMPLES / f"{name}.rs"
    assert BLOCKS[str(path.relative_to(ROOT))] == path.read_text(encoding="utf-8")
    main = (EXAMPLES / "main.rs").read_text(encoding="utf-8")
    assert f"mod {name};" in main


@pytest.mark.parametrize(
    ("folder", "name"),
    [("topology", "ring"), ("routing", "o1turn"), ("traffic/patterns", "butterfly"), ("probes", "busy")],
)
def test_the_lines_to_add_look_like_the_ones_that_are_there(folder: str, name: str) -> None:
    path = f"crates/phit-engine/src/{folder}/mod.rs"
    module, entry = BLOCKS[path].splitlines()
    (struct,) = re.findall(r"pub struct (\w+)", BLOCKS[f"crates/phit-engine/tests/contributing/{name}.rs"])[:1]
    variant = struct.removesuffix("Probe")
    assert (module, entry) == (f"mod {name};", f'        "{name}" => {variant}({name}::{struct}),')
    registry = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(r"^mod \w+;$", registry, re.MULTILINE)
    assert re.search(r'^        "\w+" => \w+\([\w:]+\),$', registry, re.MULTILINE)


def test_the_result_column_is_the_engine_s_own_file() -> None:
    folder = "crates/phit-engine/src/measure/quantities"
    assert BLOCKS[f"{folder}/drops.rs"] == (ROOT / folder / "drops.rs").read_text(encoding="utf-8")
    registry = (ROOT / folder / "mod.rs").read_text(encoding="utf-8")
    assert all(f"{line}\n" in registry for line in BLOCKS[f"{folder}/mod.rs"].splitlines())


def test_every_place_that_is_named_exists() -> None:
    for path in re.findall(r"`((?:crates|tests|docs)/[\w/.*-]+)`", TEXT):
        assert list(ROOT.glob(path)), path


KAROL = ROOT / "tests" / "contributing" / "karol"


def test_the_worked_study_is_its_files() -> None:
    files = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in KAROL.glob("*.py")}
    assert {name: text for name, text in BLOCKS.items() if name.startswith("tests/")} == files


@pytest.fixture
def among_the_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worked study where a folder in `python/phit/studies` would be."""
    monkeypatch.setattr(studies, "__path__", [*studies.__path__, str(KAROL.parent)])
    for name in [name for name in sys.modules if name.startswith("phit.studies.karol")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("among_the_studies", "sketched")
def test_the_worked_study_is_found_and_its_claims_hold(cli: Cli, tmp_path: Path) -> None:
    assert "karol" in registry.names()
    status, out, err = cli("reproduce", "karol", "--scale", "small", "--jobs", 1, "--output", tmp_path)
    assert status == 0, err
    assert "With many inputs" in out
    verdicts = {row["id"]: row["verdict"] for row in json.loads((tmp_path / "claims.json").read_text())}
    assert verdicts == {"H1": "holds", "H2": "holds"}
    assert (tmp_path / "figures" / "I.svg").stat().st_size > 1000


@pytest.mark.usefixtures("among_the_studies", "sketched")
def test_a_rule_of_the_worked_study_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    assert cli("reproduce", "karol", "--table", "I", "--scale", "smoke", "--jobs", 1, "--output", tmp_path)[0] == 0
    found = {row["id"]: (row["verdict"], row["note"]) for row in json.loads((tmp_path / "claims.json").read_text())}
    assert found == {"H1": ("holds", ""), "H2": ("not run", "no switch of 32 inputs or more was run")}
