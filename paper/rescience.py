"""Writes drafts of articles for ReScience C from the published studies: python paper/rescience.py.

An article of the journal has `metadata.yaml`, `content.tex` and `bibliography.bib`, which the journal's LaTeX template
reads. Claims and verdicts are those of `docs/studies/STUDY/claims.json`, reasons those of `docs/studies/STUDY.md`; both
are written by `phit reproduce STUDY --publish docs/studies`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from phit.base.files import write_text
from phit.studies import registry
from phit.studies.kit import claim
from phit.studies.kit.scale import Scale
from phit.studies.kit.study import AnyStudy, Paper

ROOT = Path(__file__).resolve().parent.parent
STUDIES = ROOT / "docs" / "studies"
FOLDER = ROOT / "paper" / "rescience"

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "µ": r"$\mu$",
    "→": r"$\rightarrow$",
}


def latex(markdown: str) -> str:
    """Text of the studies as LaTeX: code, emphasis, links and lists."""
    lines, listed = [], False
    for line in markdown.strip().splitlines():
        item = re.match(r"[-*] (.*)", line)
        if item and not listed:
            lines.append(r"\begin{itemize}")
        elif listed and not item and not line.startswith("  "):
            lines.append(r"\end{itemize}")
        listed = bool(item) or (listed and line.startswith("  "))
        lines.append((r"\item " if item else "") + _inline(item[1] if item else line.strip()))
    return "\n".join([*lines, *([r"\end{itemize}"] if listed else [])])


def _inline(text: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]*`|\*\*[^*]+\*\*)", text)
    return "".join(
        rf"\texttt{{{_plain(part[1:-1])}}}"
        if part.startswith("`")
        else rf"\textbf{{{_plain(part[2:-2])}}}"
        if part.startswith("**")
        else _plain(part)
        for part in parts
    )


def _plain(text: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in text)


def section(page: str, heading: str) -> str:
    """A section of a study's page, without its heading; empty if the page has none."""
    found = re.search(rf"^### {re.escape(heading)}\n(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def key(paper: Paper) -> str:
    """The name of a paper in the bibliography."""
    year = re.findall(r"(?:19|20)\d\d", paper.published)[-1]
    return f"{paper.authors[0].split()[-1].lower()}{year}"


def article(study: AnyStudy, paper: Paper) -> dict[str, str]:
    """The three files of an article."""
    findings = claim.deciding(claim.read(STUDIES / study.name / "claims.json"))
    counts = Counter(finding.verdict for finding in findings)
    verdicts = ", ".join(f"{word}: {counts[verdict]}" for verdict, word in VERDICTS.items() if counts[verdict])
    year = re.findall(r"(?:19|20)\d\d", paper.published)[-1]
    page = (STUDIES / f"{study.name}.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^(phit reproduce .*) --publish docs/studies$", page, re.MULTILINE)
    size = latex(study.describe(study.setting(Scale.PAPER)))
    parts = [
        INTRODUCTION.format(key=key(paper), size=size, command=command),
        *_optional("Under each reading of the paper", section(page, "Under each reading")),
        RESULTS.format(claims=len(findings), verdicts=verdicts, table=table(findings)),
        *_optional("Claims that differ, and why", section(page, "Claims that differ, and why")),
        *_optional("Claims that cannot hold", section(page, "Claims that cannot hold")),
        CONCLUSION.format(holds=counts[claim.Verdict.HOLDS], claims=len(findings)),
    ]
    cite = study.source.replace('"', "'")
    return {
        "metadata.yaml": METADATA.format(
            title=paper.title, cite=cite, bib=key(paper), verdicts=verdicts, claims=len(findings)
        ),
        "bibliography.bib": BIBLIOGRAPHY.format(
            key=key(paper), authors=" and ".join(paper.authors), title=paper.title, published=paper.published, year=year
        ),
        "content.tex": "\n\n".join(part.strip() for part in parts) + "\n",
    }


def _optional(heading: str, text: str) -> list[str]:
    # Tables of the page stay there.
    words = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return [rf"\subsection{{{heading}}}", latex(words)] if words.strip() else []


def table(findings: Sequence[claim.Finding]) -> str:
    """The table of claims."""
    rows = []
    for f in findings:
        under = rf" (\texttt{{{_plain(f.reading)}}})" if f.reading else ""
        cells = (
            _plain(f.id),
            *(_inline(text) for text in (f.statement, f.paper, f.measured)),
            VERDICTS[f.verdict] + under,
        )
        rows.append(" & ".join(cells) + r" \\")
    return "\n".join(
        [
            r"\begin{longtable}{lp{0.28\linewidth}p{0.2\linewidth}p{0.28\linewidth}p{0.1\linewidth}}",
            r"\caption{Claims of the paper, the rule that decides each, and what was measured.}\label{claims} \\",
            r"claim & statement & rule & measured & verdict \\ \hline \endhead",
            *rows,
            r"\end{longtable}",
        ]
    )


VERDICTS = {
    claim.Verdict.HOLDS: "holds",
    claim.Verdict.DIFFERS: "differs",
    claim.Verdict.UNDECIDED: "undecided",
    claim.Verdict.NOT_RUN: "not run",
}

INTRODUCTION = r"""
% Written by paper/rescience.py from the published study: change the study, not this file.

\section{{Introduction}}

We repeat the experiments of \citet{{{key}}} with Phit, a simulator of lossless interconnection networks that shares no
code with the simulator of the paper. A rule decides each claim of the paper. If a rule was revised, the study's page
shows the first rule beside it, and why.

\section{{Methods}}

Network: {size}. One command makes all runs, figures, tables and verdicts, and resumes after an interruption:

\begin{{verbatim}}
{command}
\end{{verbatim}}

A scenario and a seed give the same bits on any machine. The margin of a verdict is the number of standard errors
between the deciding value and the bound of its rule. Within two a claim is undecided. If the paper does not state a
property of its routers, the study has several readings of it. Each claim is shown under the reading that decides it: a
settled verdict comes before one that is not, and then a claim that holds comes first.
"""

RESULTS = r"""
\section{{Results}}

Verdicts on the {claims} claims of the paper: {verdicts}. Table~\ref{{claims}} lists them.

{table}
"""

CONCLUSION = r"""
\section{{Conclusion}}

Of {claims} claims {holds} hold in an independent simulator. The command above repeats every run.
"""

METADATA = """# Of an article for ReScience C; empty fields are filled in by its authors and its editor.
title: "[Re] {title}"
authors:
  - name: The Phit developers
    orcid:
    email:
    affiliations: 1
affiliations:
  - code: 1
    name:
    address:
keywords: rescience c, rescience x, interconnection networks, routing, simulation, Rust, Python
code:
  - url:
  - doi:
  - swh:
data:
  - url:
  - doi:
replication:
  - cite: "{cite}"
  - bib: {bib}
  - url:
  - doi:
contact:
abstract: >-
  We repeat the experiments of the paper in an independent simulator and decide each of its {claims} claims by a rule:
  {verdicts}.
bibliography: bibliography.bib
type: Replication
domain: Computer architecture
language: English
review:
  - url:
editors:
  - name:
    orcid:
reviewers:
  - name:
    orcid:
dates:
  - received:
  - accepted:
  - published:
article:
  - number:
  - doi:
  - url:
journal:
  - name: ReScience C
  - issn: 2430-3658
  - volume:
  - issue:
"""

BIBLIOGRAPHY = """@misc{{{key},
  author = {{{authors}}},
  title = {{{{{title}}}}},
  howpublished = {{{published}}},
  year = {{{year}}}
}}
"""


def drafts() -> dict[str, dict[str, str]]:
    """Files of all articles, by study; a study of our own is none of them."""
    found = {}
    for name in registry.names():
        study = registry.find(name)
        if isinstance(study.paper, Paper):
            found[name] = article(study, study.paper)
    return found


if __name__ == "__main__":
    for name, files in drafts().items():
        for file, text in files.items():
            (FOLDER / name).mkdir(parents=True, exist_ok=True)
            write_text(FOLDER / name / file, text)
