"""The page of a study in Markdown: claims, figures, options."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import phit._phit as _phit
from phit.base.durations import duration
from phit.studies.kit import claim
from phit.studies.kit.claim import E, Finding, Verdict
from phit.studies.kit.scale import S, Scale
from phit.studies.kit.study import Figure, Paper, Study


@dataclass(frozen=True)
class Part(Generic[S]):
    """A figure on the page."""

    figure: Figure[S]
    images: list[str]
    """File names of its pictures."""
    runs: int
    """Finished runs, except those of earlier figures."""
    cpu_seconds: float
    """CPU time of these runs."""
    text: str = ""
    """Text in Markdown, below the caption."""
    missing: int = 0
    """Runs of the setting that are missing, except those of earlier figures."""
    further: int = 0
    """Finished runs with seeds beyond the setting's."""


CYCLES = ("warmup", "cycles")
"""Fields that options of the command may override."""


PURPOSE = "*For readers of the paper and for users of its mechanisms: each claim with its verdict, and the figures.*"
"""For whom every page is."""


def text(
    study: Study[S, E],
    scale: Scale,
    setting: S,
    findings: Sequence[Finding],
    parts: Sequence[Part[S]],
    folder: str,
    wall_time: str = "",
    not_run: Sequence[Figure[S]] = (),
) -> str:
    """The whole page. Pictures are in `folder`; `wall_time` is the duration of all runs, if known.

    Figures with no runs, or too few to show, are only named.
    """
    own = study.setting(scale)
    chosen = {key: getattr(setting, key, None) for key in CYCLES}
    given = [f"--{key} {value}" for key, value in chosen.items() if value != getattr(own, key, None)]
    command = " ".join([f"phit reproduce {study.name} --scale {scale}", *given, "--publish docs/studies"])
    cpu = f"{duration(sum(part.cpu_seconds for part in parts))} of CPU time in all"
    took = [cpu, wall_time] if wall_time else [cpu]
    made = f"Phit {_phit.__version__}, {scale} scale: {study.describe(setting)}. This page is made by"
    blocks = [
        f"# {study.title}",
        PURPOSE,
        f"{study.source}.",
        f"{made}\n\n```console\n{command}\n```",
    ]
    blocks += [
        "## Claims",
        f"{_what(study)}, each decided by a rule. Verdicts: {_verdicts(findings)}.",
        claim.MARGINS,
        claim.markdown(findings, "paper" if isinstance(study.paper, Paper) else "rule"),
        *_facts(findings),
        *_remarks(study, scale, findings),
        *_readings(study, findings),
        "## Figures",
        f"{', '.join(took)}.{_left_out(parts)}{_not_run(not_run)}",
        *(_figure(part, folder) for part in parts),
        "## Options",
        study.options(setting),
    ]
    return "\n\n".join(blocks) + "\n"


def _what(study: Study[S, E]) -> str:
    """The kind of the claims."""
    return "These are the claims of the paper" if isinstance(study.paper, Paper) else "These are our expectations"


def _verdicts(findings: Sequence[Finding]) -> str:
    found = claim.by_reading(findings)
    counts = {name: f"{claim.tally(of)} ({claim.settled(of)})" for name, of in found.items()}
    words = "; ".join(f"reading `{name}`: {count}" if name else count for name, count in counts.items())
    if len(found) < 2:
        return words
    either = len({finding.id for finding in findings if finding.settled})
    return f"{words}. Under one reading or another {either} of {len({f.id for f in findings})} are settled"


def _facts(findings: Sequence[Finding]) -> list[str]:
    """The facts why claims cannot hold."""
    found = claim.reasons(findings)
    return ["### Claims that cannot hold", "\n".join(found)] if found else []


def _readings(study: Study[S, E], findings: Sequence[Finding]) -> list[str]:
    """The verdicts under each reading, and for each reading its description and measurements."""
    found = claim.by_reading(findings)
    blocks = []
    for reading in study.readings:
        blocks += [f"### Reading: {reading.name}", reading.words]
        blocks.append(claim.measured(found[reading.name]))
    return ["### Under each reading", matrix, *blocks] if (matrix := claim.matrix(findings)) else []


def _remarks(study: Study[S, E], scale: Scale, findings: Sequence[Finding]) -> list[str]:
    """Remarks why claims differ, as far as they are known for this scale."""
    remarks = study.remarks
    differing = dict.fromkeys(f.id for f in findings if f.verdict is Verdict.DIFFERS and f.id in remarks)
    if scale is not Scale.PAPER or not differing:
        return []
    return ["### Claims that differ, and why", "\n".join(f"* **{name}**: {remarks[name]}" for name in differing)]


def _left_out(parts: Sequence[Part[S]]) -> str:
    """A sentence about runs of the scale that were left out, if any."""
    missing, further = sum(part.missing for part in parts), sum(part.further for part in parts)
    total = missing + sum(part.runs for part in parts) - further
    words = f" {missing:,} of the {total:,} runs were left out; each figure says how many it has." if missing else ""
    return words + (f" Besides, {further:,} runs are of further seeds, as `--budget` adds them." if further else "")


def _not_run(figures: Sequence[Figure[S]]) -> str:
    """A sentence about figures that are not on the page."""
    names = "; ".join(_heading(figure) for figure in figures)
    return f" Nothing was run of these, or too little to be shown: {names}." if names else ""


def _figure(part: Part[S], folder: str) -> str:
    lines = [f"### {_heading(part.figure)}", part.figure.caption, *([part.text] if part.text else [])]
    lines += [f"![{part.figure.title}]({folder}/{name})" for name in part.images]
    own = part.runs - part.further
    of_all = f" of {own + part.missing}" if part.missing else ""
    more = f" and {part.further} of further seeds" if part.further else ""
    took = f"{own}{of_all} run{'s' * (own + part.missing != 1)}{more}, {duration(part.cpu_seconds)} of CPU time."
    lines.append(took if part.runs or part.missing else "No runs of its own.")
    return "\n\n".join(lines)


def _heading(figure: Figure[S]) -> str:
    return f"Figure {figure.name}: {figure.title}" if figure.name[0].isdigit() else figure.title
