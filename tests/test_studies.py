"""The structure of the studies: imports, registration, and lists of studies."""

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest
from phit import studies
from phit.document import Document
from phit.studies import registry
from phit.studies.contention.paper import Evidence
from phit.studies.contention.paper import study as contention
from phit.studies.contention.setting import Setting
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.evidence import Curves
from phit.studies.kit.margin import exact
from phit.studies.kit.plan import Case
from phit.studies.kit.study import Cost, Paper, Question, Study
from phit.studies.kit.uncertain import nominal

from .conftest import ROOT, Cli

HOUSE = Path(studies.__path__[0])
PAGES = runpy.run_path(str(ROOT / "docs" / "studies_pages.py"))

SHARED = {"kit", "registry"}
"""Folders that all studies may import; the registry provides the cost models of other studies by name."""


def imported(path: Path) -> Iterator[str]:
    """The folders and modules of `phit.studies` that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            full = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1, f"{path}: an import from outside its folder by dots"
            continue
        else:
            continue
        for name in full:
            first, second, *rest = [*name.split("."), "", ""]
            if (first, second) == ("phit", "studies"):
                yield rest[0]


def allowed(folder: str) -> set[str]:
    """The parts of `phit.studies` that a folder may import."""
    return {"kit"} if folder == "kit" else SHARED | {folder}


def folders() -> list[str]:
    return sorted(path.parent.name for path in HOUSE.glob("*/__init__.py"))


def test_a_study_imports_itself_and_the_kit() -> None:
    wrong = {
        (folder, name)
        for folder in folders()
        for path in (HOUSE / folder).rglob("*.py")
        for name in imported(path)
        if name not in allowed(folder)
    }
    assert wrong == set()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from phit.studies.clos.paper import study", ["clos"]),
        ("from phit.studies import clos, kit", ["clos", "kit"]),
        ("import phit.studies.clos", ["clos"]),
        ("from phit.drawing.plots import COLOURS\nfrom .paper import study", []),
    ],
)
def test_imports_are_seen(tmp_path: Path, text: str, names: list[str]) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert list(imported(path)) == names


def test_every_folder_with_a_paper_is_a_study() -> None:
    assert set(folders()) - set(registry.names()) == {"kit", "validation"}
    for name in registry.names():
        study = registry.find(name)
        assert study.name == name
        assert study.figures
        assert study.claims
        assert (study.cost is not None) == (name in registry.with_costs())


def test_the_help_names_the_studies(cli: Cli) -> None:
    *others, last = registry.names()
    assert f"{', '.join(others)} or {last}." in " ".join(cli("reproduce", "--help")[1].split())
    *others, last = registry.with_costs()
    assert f"{', '.join(others)} or {last}." in " ".join(cli("cost", "--help")[1].split())


def test_the_readme_lists_the_studies() -> None:
    assert f"\n{PAGES['readme']()}\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_study_has_a_page_and_its_verdicts() -> None:
    for name in registry.names():
        assert (ROOT / "docs" / "studies" / f"{name}.md").exists()
        assert (ROOT / "docs" / "studies" / name / "claims.json").exists()


def test_the_guide_lists_the_studies() -> None:
    evidence = ["trust.md", {"Studies": ["studies.md"]}]
    config = PAGES["on_config"](SimpleNamespace(nav=[{"Home": "index.md"}, {"Evidence": evidence}]))
    studies = config.nav[1]["Evidence"][1]["Studies"]
    assert studies == ["studies.md", *(f"studies/{name}.md" for name in registry.names())]
    text = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    shown = PAGES["on_page_markdown"](text, SimpleNamespace(file=SimpleNamespace(src_uri="studies.md")))
    assert "<!--" not in shown
    for name in registry.names():
        assert f"| [`{name}`](studies/{name}.md) | " in shown
    assert "| `contention` | 72 endpoints | 1,056 endpoints | 16,512 endpoints |" in shown


def empty_study() -> Study[Setting, Evidence]:
    """A study without figures."""
    return Study[Setting, Evidence](
        name="empty",
        title="Empty",
        paper=Paper(("A", "B", "C"), "Nothing", "2000"),
        setting=contention.setting,
        network=contention.network,
        size=contention.size,
        describe=contention.describe,
        options=contention.options,
        evidence=Evidence,
    )


def no_runs(setting: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
    return []


def holds(evidence: Evidence) -> Judgement:  # noqa: ARG001
    return Judgement(exact(True), "")


def test_papers_are_cited() -> None:
    paper = empty_study().paper
    assert (str(paper), paper.short) == ('A, B and C, "Nothing", 2000', 'A et al., "Nothing", 2000')
    alone = Paper(("A",), "Nothing", "2000")
    assert str(alone) == alone.short == 'A, "Nothing", 2000'


def test_a_study_may_ask_a_question_of_our_own() -> None:
    contest = registry.find("contest")
    assert isinstance(contest.paper, Question)
    assert contest.source.startswith("The mechanisms of all five papers")
    assert contest.paper.short.startswith("a study of our own: the mechanisms of all five papers")


def test_figures_come_in_the_order_of_their_modules() -> None:
    study = empty_study()
    for name, home in (("1", "b"), ("2", "a"), ("3", "b")):

        def cases(setting: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
            return []

        cases.__module__ = home
        study.figure(name, title="", caption="")(cases)
    study.consists_of(ModuleType("a"), ModuleType("b"))
    assert list(study.figures) == ["2", "1", "3"]
    with pytest.raises(ValueError, match="figure 2 is in a, which is not listed"):
        study.consists_of(ModuleType("b"))
    with pytest.raises(ValueError, match="no figure, claim or cost model in c"):
        study.consists_of(ModuleType("a"), ModuleType("b"), ModuleType("c"))

    def cost(source: Document | None) -> Cost:
        raise AssertionError(source)

    cost.__module__ = "c"
    study.cost_model(cost)
    study.consists_of(ModuleType("a"), ModuleType("b"), ModuleType("c"))
    with pytest.raises(ValueError, match="the cost model is in c, which is not listed"):
        study.consists_of(ModuleType("a"), ModuleType("b"))


def test_claims_come_by_their_numbers_and_names_are_given_once() -> None:
    study = empty_study()
    for name in ("C10", "C2"):
        assert study.claim(name, figure="", statement="", paper="", remark=f"of {name}")(holds) is holds
    assert [claim.id for claim in study.claims] == ["C2", "C10"]
    assert dict(study.remarks) == {"C2": "of C2", "C10": "of C10"}
    with pytest.raises(ValueError, match="two claims 'C2'"):
        study.claim("C2", figure="", statement="", paper="")(holds)
    study.figure("1", title="", caption="")(no_runs)
    with pytest.raises(ValueError, match="two figures '1'"):
        study.figure("1", title="", caption="")(no_runs)


def test_a_value_is_asked_for_by_labels_that_may_have_been_computed() -> None:
    table = pl.DataFrame(
        {"mechanism": ["a", "a", "b", "b", None], "load": [0.3, 0.4, 0.3, 0.3, 0.3], "latency_mean": [1.0, 2, 3, 4, 5]}
    )
    curves = Curves(table.with_columns(saturated=False), "figure 1")
    asked = [curves.value("latency_mean", mechanism="a", load=load) for load in (0.3, 0.1 + 0.2, 0.4)]
    assert [nominal(value) for value in asked] == [1, 1, 2]
    assert curves.loads(mechanism="a") == curves.loads() == [0.3, 0.4]
    assert curves.values("mechanism", load=0.1 + 0.2) == [None, "a", "b"]
    with pytest.raises(ValueError, match=r"figure 1: 2 rows for b, 0\.3"):
        curves.value("latency_mean", mechanism="b", load=0.3)
    for nowhere in ({"mechanism": "a", "load": 0.301}, {"mechanism": None, "load": 0.3}, {"mechanism": "c"}):
        with pytest.raises(NotRunError, match="no run of"):
            curves.value("latency_mean", **nowhere)
    with pytest.raises(NotRunError, match="has no pattern"):
        curves.loads(pattern="UN")
    with pytest.raises(NotRunError, match="was not run"):
        Curves(table.head(0), "figure 2").loads()
