"""The notebooks of the examples run from their first cell to their last."""

import ast
import importlib.util
import json
from pathlib import Path
from typing import Any

import altair as alt
import pytest

from .conftest import ROOT

# The notebook on mechanisms needs a compiler; its test is beside the tests of mechanisms.
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


COURSE: dict[str, list[float | str]] = {
    "course-1-switches": [20, 2 - 2**0.5, 1.65],
    "course-2-topologies": [20 / 9, 3, 1 / 8, 1 / 8, 4.5],
    "course-3-routing": [2, 0.4, "olm"],
    "course-4-congestion": [1 / 9, 0.6, 2.04, "fbicm"],
    "course-5-workloads": [142, 6, "recursive_doubling", "ring", 1.4],
}
"""Answers to the questions of the course."""


def test_the_course_is_complete() -> None:
    assert sorted(path.stem for path in (ROOT / "examples" / "course").glob("*.ipynb")) == sorted(COURSE)
    for name in COURSE:
        assert name in (ROOT / "docs" / "course.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COURSE)
def test_a_lesson_of_the_course_checks_its_answers(name: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    right, given = list(COURSE[name]), None
    for number, code in enumerate(cells(ROOT / "examples" / "course" / f"{name}.ipynb", "code")):
        if code == "answer = ...":
            given = names["answer"] = right.pop(0)
            continue
        tree = ast.parse(code)
        checked = tree.body.pop() if code.splitlines()[-1].startswith(("check(", ")")) else None
        exec(compile(tree, f"{name}, cell {number}", "exec"), names)
        if isinstance(checked, ast.Expr):
            check = compile(ast.Expression(checked.value), f"{name}, cell {number}", "eval")
            assert eval(check, names).startswith("Right: "), (given, eval(check, names))
            for wrong, words in ((..., "Not answered yet"), (-1, "Not yet: -1 is not it. Hint: ")):
                names["answer"] = wrong
                assert eval(check, names).startswith(words)
    assert not right, "answers to no question"


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
