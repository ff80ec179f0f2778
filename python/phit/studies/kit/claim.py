"""Claims of a paper as rules on tables, with verdicts and margins."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich import box
from rich.table import Table
from rich.text import Text

from phit.base.errors import ResultsError
from phit.base.markdown import markdown_table
from phit.store.folder import write_atomically
from phit.studies.kit.margin import DECIDED, Check

E = TypeVar("E")
"""A study's evidence."""


class Verdict(StrEnum):
    """The outcome of a claim."""

    HOLDS = "holds"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    """The margin is less than two standard errors, or the error is unknown."""
    NOT_RUN = "not run"


class NotRunError(LookupError):
    """Runs that a claim needs are missing."""


class SaturatedError(ValueError):
    """A rule needs a mean latency where the network is saturated and has no steady one."""


@dataclass(frozen=True)
class Judgement:
    """The findings of a rule."""

    check: Check
    """Whether the claim holds, and by what margin."""
    measured: str
    note: str = ""

    @property
    def holds(self) -> bool:
        """True if the estimates fulfil the rule, by any margin."""
        return self.check.holds

    @property
    def verdict(self) -> Verdict:
        """`undecided` if the margin is less than two standard errors."""
        if not self.check.decided:
            return Verdict.UNDECIDED
        return Verdict.HOLDS if self.holds else Verdict.DIFFERS


Rule = Callable[[E], Judgement]
"""Decides a claim: a function of the study's evidence.

It raises `NotRunError` if runs are missing, and `SaturatedError` if it needs a latency where there is no steady one.
"""


@dataclass(frozen=True)
class Fact:
    """A reason why a claim cannot hold, independent of our runs.

    Examples are a proven bound, contradictory numbers in the paper, or runs of the authors' own simulator on which the
    rule gives the same verdict.
    """

    text: str
    """A sentence with computed numbers."""
    shown: str
    """The place of the evidence, such as `page on agreement, UN`."""


@dataclass(frozen=True)
class Revision(Generic[E]):
    """The rule of a claim before its revision."""

    check: Rule[E]
    paper: str
    """The paper's value as this rule interprets it."""
    weaker: bool = False
    """True if the revised rule asks for less than this one."""


@dataclass(frozen=True)
class Claim(Generic[E]):
    """A statement of a paper with the rule that decides it."""

    id: str
    figure: str
    """Figure or section of the paper."""
    statement: str
    paper: str
    """The paper's value as the rule interprets it."""
    check: Rule[E]
    remark: str = ""
    """Why the claim differs at the paper's scale, under a reading, as far as it is known: in Markdown."""
    first: Revision[E] | None = None
    """The rule before its revision, if it was revised."""
    fact: Callable[[E], Fact | None] | None = None
    """Finds a fact why the claim cannot hold, if there is one. It is called if the claim differs or was not run."""


@dataclass(frozen=True)
class First:
    """The verdict of a rule before its revision."""

    paper: str
    measured: str
    verdict: Verdict
    margin: float | None
    weaker: bool
    """True if the revised rule asks for less."""


@dataclass(frozen=True)
class Finding:
    """A claim with its measurements."""

    id: str
    figure: str
    statement: str
    paper: str
    measured: str
    verdict: Verdict
    note: str
    reading: str = ""
    """The reading of the paper, if it has several."""
    margin: float | None = None
    """Standard errors by which the claim holds, negative if it differs; infinite if no chance is involved, `None` if
    unknown."""
    because: str = ""
    """The fact that settles the claim, and the place of its evidence; empty if it is not settled."""
    first: First | None = None
    """The verdict of the rule before its revision."""

    @property
    def settled(self) -> bool:
        """Whether it holds with a margin, or an independent fact says why it cannot hold."""
        return bool(self.because)


@dataclass(frozen=True)
class Judged(Generic[E]):
    """A claim with the check that decides it, if there is one."""

    claim: Claim[E]
    finding: Finding
    check: Check | None = None


def judge(claim: Claim[E], evidence: E) -> Finding:
    """Applies the rule, and the rule before its revision if there is one."""
    return judged(claim, evidence).finding


def judged(claim: Claim[E], evidence: E) -> Judged[E]:
    """Applies the rule as `judge` does, and returns the deciding check, too."""
    measured, verdict, note, check = _apply(claim.check, evidence)
    margin = None if check is None else _margin(check)
    first = None
    if claim.first:
        old, then, _, before = _apply(claim.first.check, evidence)
        first = First(claim.first.paper, old, then, None if before is None else _margin(before), claim.first.weaker)
    finding = Finding(
        claim.id,
        claim.figure,
        claim.statement,
        claim.paper,
        measured,
        verdict,
        note,
        margin=margin,
        because=_because(claim, evidence, verdict, margin),
        first=first,
    )
    return Judged(claim, finding, check)


def _apply(rule: Rule[E], evidence: E) -> tuple[str, Verdict, str, Check | None]:
    """Applies a rule: `not run` if runs are missing, `differs` if it needs a latency beyond saturation."""
    try:
        found = rule(evidence)
    except NotRunError as error:
        return "–", Verdict.NOT_RUN, str(error), None
    except SaturatedError as error:
        return "saturated", Verdict.DIFFERS, str(error), None
    return found.measured, found.verdict, found.note, found.check


def _margin(check: Check) -> float | None:
    return None if math.isnan(check.margin) else round(check.margin, 2)


def _because(claim: Claim[E], evidence: E, verdict: Verdict, margin: float | None) -> str:
    if verdict is Verdict.HOLDS:
        return f"holds, {margin_words(margin)}"
    # A claim that cannot hold is settled whether it was run or not. Further runs may still decide an undecided claim.
    if verdict is Verdict.UNDECIDED or claim.fact is None:
        return ""
    try:
        fact = claim.fact(evidence)
    except (NotRunError, SaturatedError):
        return ""
    return f"{fact.text} ({fact.shown})" if fact else ""


def margin_words(margin: float | None) -> str:
    """A margin in words: `by 3.1 standard errors`."""
    if margin is None:
        return "by a margin that is not known"
    return "exact" if math.isinf(margin) else f"by {_shown(abs(margin))} standard errors"


def margin_sign(margin: float | None) -> str:
    """A margin in short: `+3.1`, `exact`, or `?` if it is not known."""
    if margin is None:
        return "?"
    return "exact" if math.isinf(margin) else f"{'+' if margin >= 0 else '-'}{_shown(abs(margin))}"


FAR = 100.0
"""Standard errors beyond which a margin has no decimals."""


def _shown(size: float) -> str:
    return f"{size:.1f}" if size < FAR else f"more than {FAR:.0f}"


MARGINS = (
    "The number in brackets is the margin: how many standard errors lie between the deciding value and the bound of "
    f"its rule. It is positive if the claim holds. Within {DECIDED:g} a claim is `undecided`: other seeds might "
    "have decided otherwise. Standard errors come from means over seeds, or from the interval of a single run; two "
    "standard errors are a 95 % interval. `exact` means that no chance is involved. `?` means that the error is "
    "unknown, as for a single run's share of packets."
)
"""The meaning of margins, in Markdown."""


def write(findings: Sequence[Finding], path: Path) -> Path:
    """Writes `claims.json`."""
    text = json.dumps([_row(finding) for finding in findings], indent=1, ensure_ascii=False)
    write_atomically(path, lambda file: file.write(f"{text}\n".encode()))
    return path


def _row(finding: Finding) -> dict[str, Any]:
    """The finding for JSON. It has no reading if the paper has only one, and no first rule if it was not revised.

    Where no chance is involved, `margin` is null and `exact` is true.
    """
    row = asdict(finding)
    optional = {key: row.pop(key) for key in ("reading", "first")}
    row |= _margins(finding.margin)
    if finding.first:
        optional["first"] |= _margins(finding.first.margin)
    return {**row, "settled": finding.settled, **{key: value for key, value in optional.items() if value}}


def _margins(margin: float | None) -> dict[str, Any]:
    exact = margin is not None and math.isinf(margin)
    return {"margin": None if exact else margin, "exact": exact}


def _finding(row: dict[str, Any]) -> Finding:
    first = row.get("first")
    return Finding(**_read(row, "settled", "first"), first=First(**_read(first)) if first else None)


def _read(row: dict[str, Any], *without: str) -> dict[str, Any]:
    """A row with its verdict and its margin as objects."""
    verdict = Verdict(row["verdict"])
    exact = math.inf if verdict is Verdict.HOLDS else -math.inf
    found = {key: value for key, value in row.items() if key not in (*without, "exact")}
    return {**found, "verdict": verdict, "margin": exact if row["exact"] else row["margin"]}


def read(path: Path) -> list[Finding]:
    """Reads `claims.json`."""
    try:
        return [_finding(row) for row in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ResultsError(f"{path}: cannot be read ({error})") from None


COLOURS = {
    Verdict.HOLDS: "green",
    Verdict.DIFFERS: "bold red",
    Verdict.UNDECIDED: "yellow",
    Verdict.NOT_RUN: "dim",
}


def rich_table(findings: Sequence[Finding]) -> Table:
    """The claims for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    readings = by_reading(findings)
    own = ["reading"] if len(readings) > 1 else []
    for heading in ("claim", "figure", "statement", *own, "measured", "verdict", "margin"):
        table.add_column(heading, header_style="bold", no_wrap=heading not in ("statement", "measured"))
    for same in zip(*readings.values(), strict=True):
        for finding in same:
            measured = "\n".join(text for text in (finding.measured, finding.note) if text)
            verdict = Text(finding.verdict, style=COLOURS[finding.verdict])
            head = (finding.id, finding.figure, finding.statement) if finding is same[0] else ("", "", "")
            table.add_row(*head, *([finding.reading] if own else []), measured, verdict, _in_short(finding))
    return table


def about(findings: Sequence[Finding], figures: Sequence[str]) -> list[Finding]:
    """The findings about runs that exist, and about these figures; all findings without figures."""
    run = {finding.id for finding in findings if finding.verdict is not Verdict.NOT_RUN}
    named = set() if "all" in figures else {name.lower() for name in figures}
    return [
        finding
        for finding in findings
        if not named or finding.id in run or named & set(re.split(r"[^\w]+", finding.figure.lower()))
    ]


def by_reading(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """The findings under each reading."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.reading, []).append(finding)
    return found


def tally(findings: Sequence[Finding]) -> str:
    """The number of findings with each verdict."""
    count = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in Verdict)


def settled(findings: Sequence[Finding]) -> str:
    """The number of settled findings."""
    return f"{sum(finding.settled for finding in findings)} of {len(findings)} settled"


def markdown(findings: Sequence[Finding], rule: str = "paper") -> str:
    """The claims in Markdown. Each is shown under the reading that decides it, with its verdict in the second column.

    `rule` is the heading of the column with the paper's values as the rules interpret them. If rules were revised, a
    further column has the first rules and their verdicts, under the same reading.
    """
    revised = any(finding.first for finding in findings)
    rows = []
    several = len(by_reading(findings)) > 1
    for f in deciding(findings):
        under = f", `{f.reading}`" if several and f.verdict is not Verdict.NOT_RUN else ""
        row = (f.id, f"{_verdict(f)}{under}", f.figure, f.statement, f.paper, _measured(f))
        rows.append((*row, _first(f)) if revised else row)
    last = ["first rule"] if revised else []
    return markdown_table(("claim", "verdict", "figure", "statement", rule, "measured", *last), rows)


def deciding(findings: Sequence[Finding]) -> list[Finding]:
    """One finding for each claim, under the reading that decides it."""
    return [min(same, key=_rank) for same in zip(*by_reading(findings).values(), strict=True)]


_TELLING = (Verdict.HOLDS, Verdict.UNDECIDED, Verdict.DIFFERS, Verdict.NOT_RUN)
"""Verdicts, in order of how much they tell."""


def _rank(finding: Finding) -> tuple[bool, int]:
    """Sort key that puts the deciding finding of a claim first: a settled one, then the most telling verdict."""
    return not finding.settled, _TELLING.index(finding.verdict)


def matrix(findings: Sequence[Finding]) -> str:
    """The verdicts under each reading, in Markdown; empty if there is only one reading."""
    readings = by_reading(findings)
    rows = [(same[0].id, *map(_verdict, same)) for same in zip(*readings.values(), strict=True)]
    return markdown_table(("claim", *(f"`{name}`" for name in readings)), rows) if len(readings) > 1 else ""


def measured(findings: Sequence[Finding]) -> str:
    """The measurements under one reading, in Markdown."""
    return markdown_table(
        ("claim", "paper", "measured", "verdict"), [(f.id, f.paper, _measured(f), _verdict(f)) for f in findings]
    )


def reasons(findings: Sequence[Finding]) -> list[str]:
    """The facts why claims cannot hold, in Markdown, each once for all of its readings."""
    found: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding.settled and finding.verdict is not Verdict.HOLDS:
            found.setdefault((finding.id, finding.because), []).append(finding.reading)
    return [f"* **{name}**{_under(under)}: {why}" for (name, why), under in found.items()]


def _under(readings: Sequence[str]) -> str:
    named = [f"`{name}`" for name in readings if name]
    return f" ({', '.join(named)})" if named else ""


def _measured(finding: Finding) -> str:
    return f"{finding.measured} ({finding.note})" if finding.note else finding.measured


def _in_short(finding: Finding | First) -> str:
    """The margin in short, if there is one."""
    if finding.verdict is Verdict.NOT_RUN or (finding.verdict is Verdict.DIFFERS and finding.margin is None):
        return ""
    return margin_sign(finding.margin)


def _verdict(finding: Finding | First) -> str:
    bold = f"**{finding.verdict}**" if finding.verdict is Verdict.DIFFERS else str(finding.verdict)
    margin = _in_short(finding)
    return f"{bold} ({margin})" if margin else bold


def _first(finding: Finding) -> str:
    """The first rule and its verdict."""
    if finding.first is None:
        return ""
    weaker = "; the revised rule is weaker" if finding.first.weaker else ""
    return f"{_verdict(finding.first)}: {finding.first.paper}{weaker}"
