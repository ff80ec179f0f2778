"""The paper and the drafts for journals cite what there is and say what was measured."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from phit.studies.kit import claim

from .conftest import ROOT

PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
RESCIENCE: dict[str, Any] = runpy.run_path(str(ROOT / "paper" / "rescience.py"))


def test_the_paper_has_the_parts_that_joss_asks_for() -> None:
    head = PAPER.split("---")[1]
    for key in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        assert re.search(rf"^{key}:", head, re.MULTILINE)
    for heading in ("Summary", "Statement of need", "State of the field", "References"):
        assert f"\n# {heading}\n" in PAPER
    assert 250 < len(PAPER.split("---", 2)[2].split()) < 1750


def test_every_reference_is_cited_and_every_citation_is_a_reference() -> None:
    cited = set(re.findall(r"\[@(\w+)\]", PAPER))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE))


def test_the_figures_of_the_paper_are_those_that_were_measured() -> None:
    text = " ".join(PAPER.split())
    times = [round(turn["times"]) for turn in json.loads((ROOT / "benches" / "peers.json").read_text())]
    assert f"{min(times)} to {max(times)} times as fast" in text
    agreement = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    for simulator in ("FOGSim", "BookSim", "OutFlank"):
        (row,) = re.findall(rf"^\| {simulator} \| (\d+) \| (\d+) \| (\d+) \|", agreement, re.MULTILINE)
        agrees, *differs = map(int, row)
        assert f"{agrees} of {agrees + sum(differs)}" in text, simulator
    findings = [
        one
        for name in RESCIENCE["drafts"]()
        for one in claim.deciding(claim.read(ROOT / "docs" / "studies" / name / "claims.json"))
    ]
    hold = sum(one.verdict is claim.Verdict.HOLDS for one in findings)
    assert f"Of {len(findings)} claims {hold} hold." in text


@pytest.mark.parametrize("name", ["clos", "contention", "fbicm", "outflank", "tpr"])
def test_a_draft_says_what_its_study_says(name: str) -> None:
    for file, text in RESCIENCE["drafts"]()[name].items():
        written = ROOT / "paper" / "rescience" / name / file
        assert written.read_text(encoding="utf-8") == text, f"{written}: `make papers` writes it"
    content = text_of(ROOT / "paper" / "rescience" / name / "content.tex")
    assert content.count("{") == content.count("}")
    assert content.count(r"\begin{") == content.count(r"\end{")
    rows = re.findall(r"^\w+ &.*\\\\$", content, re.MULTILINE)
    assert all(len(re.findall(r"(?<!\\)&", row)) == 4 for row in rows)
    ids = {finding["id"] for finding in json.loads((ROOT / "docs" / "studies" / name / "claims.json").read_text())}
    assert {row.split(" &")[0] for row in rows} - {"claim"} == ids
    # A special character that is not escaped would end or break the page.
    assert not re.search(r"(?<!\\)[%#]", content.split("not this file.")[1])


def text_of(path: Path) -> str:
    """Without brackets that stand for themselves."""
    return re.sub(r"\\[{}]", "", path.read_text(encoding="utf-8"))
