"""What a paper says, as rules that tables fulfil or not."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich import box
from rich.table import Table
from rich.text import Text

from phit.errors import ResultsError
from phit.markdown import markdown_table
from phit.results import write_atomically

E = TypeVar("E")
"""A study's evidence."""


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_RUN = "not run"


class NotRunError(LookupError):
    """Runs that a claim is about are not there."""


class SaturatedError(ValueError):
    """A mean latency is asked for where the network is saturated, so that there is no steady one."""


@dataclass(frozen=True)
class Judgement:
    """What a rule found."""

    holds: bool
    measured: str
    note: str = ""


Rule = Callable[[E], Judgement]
"""Decides a claim: a function of the study's evidence.

`NotRunError` says that runs are missing, `SaturatedError` that a latency is asked for where there is no steady one.
"""


@dataclass(frozen=True)
class Claim(Generic[E]):
    """A statement of a paper with the rule that decides it."""

    id: str
    figure: str
    """Figure or section of the paper."""
    statement: str
    paper: str
    """What the paper's value is, as the rule takes it."""
    check: Rule[E]
    remark: str = ""
    """Why it differs at the paper's scale, under one reading or the other, as far as that is known: in Markdown."""


@dataclass(frozen=True)
class Finding:
    """A claim with what was measured."""

    id: str
    figure: str
    statement: str
    paper: str
    measured: str
    verdict: Verdict
    note: str
    reading: str = ""
    """Under which reading of the paper, if it has several."""


def judge(claim: Claim[E], evidence: E) -> Finding:
    """Applies the rule: `not run` if runs are missing, `differs` where a latency is needed beyond saturation."""
    try:
        found = claim.check(evidence)
    except NotRunError as error:
        return _finding(claim, "–", Verdict.NOT_RUN, str(error))
    except SaturatedError as error:
        return _finding(claim, "saturated", Verdict.DIFFERS, str(error))
    return _finding(claim, found.measured, Verdict.HOLDS if found.holds else Verdict.DIFFERS, found.note)


def _finding(claim: Claim[E], measured: str, verdict: Verdict, note: str) -> Finding:
    return Finding(claim.id, claim.figure, claim.statement, claim.paper, measured, verdict, note)


def write(findings: Sequence[Finding], path: Path) -> Path:
    """Writes `claims.json`."""
    text = json.dumps([_row(finding) for finding in findings], indent=1, ensure_ascii=False)
    write_atomically(path, lambda file: file.write(f"{text}\n".encode()))
    return path


def _row(finding: Finding) -> dict[str, Any]:
    """The finding; a paper with one reading names none."""
    return {key: value for key, value in asdict(finding).items() if key != "reading" or value}


def read(path: Path) -> list[Finding]:
    """Reads `claims.json`."""
    try:
        return [Finding(**{**row, "verdict": Verdict(row["verdict"])}) for row in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ResultsError(f"{path}: cannot be read ({error})") from None


COLOURS = {Verdict.HOLDS: "green", Verdict.DIFFERS: "bold red", Verdict.NOT_RUN: "dim"}


def rich_table(findings: Sequence[Finding]) -> Table:
    """The claims for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    readings = by_reading(findings)
    own = ["reading"] if len(readings) > 1 else []
    for heading in ("claim", "figure", "statement", *own, "measured", "verdict"):
        table.add_column(heading, header_style="bold", no_wrap=heading not in ("statement", "measured"))
    for same in zip(*readings.values(), strict=True):
        for finding in same:
            measured = "\n".join(text for text in (finding.measured, finding.note) if text)
            verdict = Text(finding.verdict, style=COLOURS[finding.verdict])
            head = (finding.id, finding.figure, finding.statement) if finding is same[0] else ("", "", "")
            table.add_row(*head, *([finding.reading] if own else []), measured, verdict)
    return table


def by_reading(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """The findings under each reading."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.reading, []).append(finding)
    return found


def tally(findings: Sequence[Finding]) -> str:
    """How many findings there are of each verdict."""
    count = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in Verdict)


def markdown(findings: Sequence[Finding]) -> str:
    """The claims in Markdown: what was measured under the first reading, and the verdicts under all of them."""
    readings = by_reading(findings)
    verdicts = [f"verdict: {name}" if name else "verdict" for name in readings]
    rows = []
    for same in zip(*readings.values(), strict=True):
        f = same[0]
        rows.append((f.id, f.figure, f.statement, f.paper, _measured(f), *(_verdict(other) for other in same)))
    return markdown_table(("claim", "figure", "statement", "paper", "measured", *verdicts), rows)


def measured(findings: Sequence[Finding]) -> str:
    """What was measured under one reading, in Markdown."""
    return markdown_table(
        ("claim", "paper", "measured", "verdict"), [(f.id, f.paper, _measured(f), _verdict(f)) for f in findings]
    )


def _measured(finding: Finding) -> str:
    return f"{finding.measured} ({finding.note})" if finding.note else finding.measured


def _verdict(finding: Finding) -> str:
    return f"**{finding.verdict}**" if finding.verdict is Verdict.DIFFERS else str(finding.verdict)
