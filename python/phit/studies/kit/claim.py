"""What a paper says, as rules that tables fulfil or not, and by how much."""

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
    """What became of a claim."""

    HOLDS = "holds"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    """It holds or differs by less than two standard errors, or by an error that is not known."""
    NOT_RUN = "not run"


class NotRunError(LookupError):
    """Runs that a claim is about are not there."""


class SaturatedError(ValueError):
    """A mean latency is asked for where the network is saturated, so that there is no steady one."""


@dataclass(frozen=True)
class Judgement:
    """What a rule found."""

    check: Check
    """Whether the claim holds, and by what margin."""
    measured: str
    note: str = ""

    @property
    def holds(self) -> bool:
        """True if the estimates fulfil the rule, by whatever margin."""
        return self.check.holds

    @property
    def verdict(self) -> Verdict:
        """`undecided` if the margin is less than two standard errors."""
        if not self.check.decided:
            return Verdict.UNDECIDED
        return Verdict.HOLDS if self.holds else Verdict.DIFFERS


Rule = Callable[[E], Judgement]
"""Decides a claim: a function of the study's evidence.

`NotRunError` says that runs are missing, `SaturatedError` that a latency is asked for where there is no steady one.
"""


@dataclass(frozen=True)
class Fact:
    """Why a claim cannot hold, independently of how it was run here.

    Such are a bound that is proved, numbers of the paper that contradict each other, and runs of its authors' own
    simulator that the same rule judges in the same way.
    """

    text: str
    """A sentence, with numbers that were computed."""
    shown: str
    """Where it is shown, as `page on agreement, UN`."""


@dataclass(frozen=True)
class Revision(Generic[E]):
    """The rule that a claim had before it was revised."""

    check: Rule[E]
    paper: str
    """The paper's value, as that rule takes it."""
    weaker: bool = False
    """True if what it asks for is more than the revised rule does."""


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
    first: Revision[E] | None = None
    """The rule before its revision, if it has been revised."""
    fact: Callable[[E], Fact | None] | None = None
    """What says that the claim cannot hold, if anything does: asked for where it differs, or was not run."""


@dataclass(frozen=True)
class First:
    """What a rule said before it was revised."""

    paper: str
    measured: str
    verdict: Verdict
    margin: float | None
    weaker: bool
    """True if the revised rule asks for less."""


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
    margin: float | None = None
    """Standard errors by which it holds, less than 0 if it differs; infinite if no chance is involved, `None` if that
    is not known."""
    because: str = ""
    """Why it is settled: what it rests on, and where that is shown; empty if it is not."""
    first: First | None = None
    """What the rule said before it was revised."""

    @property
    def settled(self) -> bool:
        """It holds with a margin, or an independent fact says why it cannot, where it differs or was not run."""
        return bool(self.because)


@dataclass(frozen=True)
class Judged(Generic[E]):
    """A claim with the check that decides it, where one does."""

    claim: Claim[E]
    finding: Finding
    check: Check | None = None


def judge(claim: Claim[E], evidence: E) -> Finding:
    """Applies the rule, and the one before its revision if there is one."""
    return judged(claim, evidence).finding


def judged(claim: Claim[E], evidence: E) -> Judged[E]:
    """The same, with the check that decides."""
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
    """`not run` if runs are missing, `differs` where a latency is needed beyond saturation."""
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
    # What cannot hold cannot, whether it was run or not; runs that are undecided may yet decide.
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
"""Standard errors beyond which no more digits are shown."""


def _shown(size: float) -> str:
    return f"{size:.1f}" if size < FAR else f"more than {FAR:.0f}"


MARGINS = (
    "The number in brackets is the margin: how many standard errors lie between the deciding value and the bound of "
    f"its rule. It is positive if the claim holds. Within {DECIDED:g} a claim is `undecided`: other seeds might "
    "have decided otherwise. Standard errors come from means over seeds, or from the interval of a single run; two "
    "standard errors are a 95 % interval. `exact` means that no chance is involved. `?` means that the error is "
    "unknown, as for a single run's share of packets."
)
"""What margins are, in Markdown."""


def write(findings: Sequence[Finding], path: Path) -> Path:
    """Writes `claims.json`."""
    text = json.dumps([_row(finding) for finding in findings], indent=1, ensure_ascii=False)
    write_atomically(path, lambda file: file.write(f"{text}\n".encode()))
    return path


def _row(finding: Finding) -> dict[str, Any]:
    """The finding; a paper with one reading names none, a rule that was not revised has no first one.

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
    """The row with its verdict and its margin as they were."""
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
    """The findings that runs have shown anything of, and those about these figures; all of them without any."""
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
    """How many findings there are of each verdict."""
    count = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in Verdict)


def settled(findings: Sequence[Finding]) -> str:
    """How many findings are settled."""
    return f"{sum(finding.settled for finding in findings)} of {len(findings)} settled"


def markdown(findings: Sequence[Finding], rule: str = "paper") -> str:
    """The claims in Markdown, each under the reading that decides it, its verdict in the second column.

    `rule` is the heading of the column with the paper's values, as the rules take them.
    If rules were revised, a further column has what the first ones said, under the same reading.
    """
    revised = any(finding.first for finding in findings)
    rows = []
    for same in zip(*by_reading(findings).values(), strict=True):
        f = min(same, key=_rank)
        under = f", `{f.reading}`" if len(same) > 1 and f.verdict is not Verdict.NOT_RUN else ""
        row = (f.id, f"{_verdict(f)}{under}", f.figure, f.statement, f.paper, _measured(f))
        rows.append((*row, _first(f)) if revised else row)
    last = ["first rule"] if revised else []
    return markdown_table(("claim", "verdict", "figure", "statement", rule, "measured", *last), rows)


_TELLING = (Verdict.HOLDS, Verdict.UNDECIDED, Verdict.DIFFERS, Verdict.NOT_RUN)
"""Verdicts, the most telling first."""


def _rank(finding: Finding) -> tuple[bool, int]:
    """The finding that decides a claim comes first: one that is settled, then the most telling verdict."""
    return not finding.settled, _TELLING.index(finding.verdict)


def matrix(findings: Sequence[Finding]) -> str:
    """The verdicts under each reading, in Markdown; nothing if there is one."""
    readings = by_reading(findings)
    rows = [(same[0].id, *map(_verdict, same)) for same in zip(*readings.values(), strict=True)]
    return markdown_table(("claim", *(f"`{name}`" for name in readings)), rows) if len(readings) > 1 else ""


def measured(findings: Sequence[Finding]) -> str:
    """What was measured under one reading, in Markdown."""
    return markdown_table(
        ("claim", "paper", "measured", "verdict"), [(f.id, f.paper, _measured(f), _verdict(f)) for f in findings]
    )


def reasons(findings: Sequence[Finding]) -> list[str]:
    """The facts by which claims cannot hold, in Markdown, each once for all readings that it speaks of."""
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
    """The margin, where there is one."""
    if finding.verdict is Verdict.NOT_RUN or (finding.verdict is Verdict.DIFFERS and finding.margin is None):
        return ""
    return margin_sign(finding.margin)


def _verdict(finding: Finding | First) -> str:
    bold = f"**{finding.verdict}**" if finding.verdict is Verdict.DIFFERS else str(finding.verdict)
    margin = _in_short(finding)
    return f"{bold} ({margin})" if margin else bold


def _first(finding: Finding) -> str:
    """What the first rule asked for, and said."""
    if finding.first is None:
        return ""
    weaker = "; the revised rule is weaker" if finding.first.weaker else ""
    return f"{_verdict(finding.first)}: {finding.first.paper}{weaker}"
