"""The notebooks of the examples run from their first cell to their last."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import altair as alt
import pytest

from .conftest import ROOT

# That of mechanisms takes a compiler, and has a test beside theirs.
NOTEBOOKS = [path for path in sorted((ROOT / "examples").glob("*.ipynb")) if path.stem != "mechanisms"]


def cells(path: Path, kind: str) -> list[str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    with alt.renderers.enable("default"):
        for number, code in enumerate(cells(path, "code")):
            exec(compile(code, f"{path.name}, cell {number}", "exec"), names)


def test_there_are_notebooks() -> None:
    assert {"first-steps", "workload"} <= {path.stem for path in NOTEBOOKS}
    for path in NOTEBOOKS:
        assert cells(path, "markdown")[0].startswith("# ")


def test_the_guide_shows_notebooks_with_what_they_print() -> None:
    """By the hook of the documentation, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("notebook_pages", ROOT / "docs" / "notebook_pages.py")
    assert spec is not None
    assert spec.loader is not None
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    text, pictures = pages.page(ROOT / "examples" / "first-steps.ipynb")
    assert text.startswith("# First steps\n\nA Dragonfly")
    assert "This page is the notebook `examples/first-steps.ipynb`." in text
    assert "```text\nphit.Result" in text
    (name,) = pictures
    assert f"]({name})" in text
    assert pictures[name].startswith("<svg")
