"""What README and the user guide say is executed, and every example is valid."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import phit
import pytest

from .conftest import ROOT, tiny

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.fixture(scope="module")
def executed() -> dict[str, Path | None]:
    """Commands of the pages before, without the folder that each names, and the folder with its results."""
    return {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands(page: Path, checkout: Path, executed: dict[str, Path | None]) -> None:
    # Several pages begin alike: what a command has written is copied to the next page, into the folder named there.
    for line in "".join(blocks(page, "bash")).splitlines():
        command, *arguments = shlex.split(line)
        assert command == "phit", line
        option = re.search(r" --out(?:put)? (\S+)", line)
        general = line.replace(option.group(), " --out ...") if option else line
        results = checkout / option.group(1) if option else None
        if general in executed and (written := executed[general]) and results:
            shutil.copytree(written, results)
        elif general not in executed or " out/" in general:
            done = subprocess.run(
                [sys.executable, "-m", "phit", *arguments], cwd=checkout, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (line, done.stderr)
            executed[general] = results


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python(page: Path, checkout: Path) -> None:
    for block in blocks(page, "python"):
        if not block.startswith("# not executed"):
            done = subprocess.run(
                [sys.executable, "-c", block], cwd=checkout, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (block, done.stderr)


def test_the_readme_lists_every_kind() -> None:
    rows = re.findall(r"^\| (\w+) \| (`.*) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = {concept: re.findall(r"`(\w+)`", kinds) for concept, kinds in rows}
    assert listed == {concept: [e["kind"] for e in entries] for concept, entries in phit.catalogue().items()}


def test_the_scenario_of_the_guide_is_valid() -> None:
    text, precise = blocks(ROOT / "docs" / "scenarios.md", "toml")
    assert phit.complete(tomllib.loads(text))["topology"]["kind"] == "dragonfly"
    assert phit.complete(tiny() | tomllib.loads(precise))["measure"]["max_cycles"] == 100_000


def test_the_sweeps_of_the_guide_are_valid() -> None:
    first, curves, plot = (tomllib.loads(text) for text in blocks(ROOT / "docs" / "sweeps.md", "toml"))
    assert len(phit.Experiment.read(tiny() | first).points()) == 2 * 9 * 2 * 3
    assert len(phit.Experiment.read(tiny() | curves).points()) == 8
    assert phit.Experiment.read(tiny() | plot).plot["colour"] == "pattern"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_examples_are_valid(example: Path) -> None:
    assert phit.Experiment.read(example).points()
