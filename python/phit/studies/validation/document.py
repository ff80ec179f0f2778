"""The page that shows every comparison."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import phit
from phit.studies.validation.comparison import (
    BOOKSIM,
    BOOKSIM_CALM,
    EXACT,
    FOGSIM,
    FOGSIM_CALM,
    NAMES,
    SATURATION_THROUGHPUT,
    Comparison,
    Verdict,
)

INTRODUCTION = """# Agreement with other simulators

Phit runs the settings of [FOGSim](https://fuentesp.github.io/fogsim/) (version 2) and of
[BookSim](https://github.com/booksim/booksim2) (version 2) and is compared with their numbers, which stand in
`tests/reference`. `phit validate`, or `make validate`, runs everything and writes this page.

A difference is that of Phit's mean over its seeds from the other simulator's mean over its runs, relative to the
latter; ± is the half width of the 95 % confidence interval of Phit's mean. The other simulators' numbers are mostly
from a single run and have a noise of their own. A difference beyond the tolerance is shown as **differs**; one that is
not judged says why."""

TRANSLATION = """## What the settings mean

Settings that are not obvious, with what an independent model needs to know to reproduce the numbers:

* **FOGSim** lets a packet that is still arriving keep its input's side of the crossbar until its tail is in, but the
  output's side only for 4 cycles: `router.cut_through = "input"`. Its published source shows this (the transfer's
  length is worked out a second time, after the packet has left its queue). With `"both"`, the mean latency of MIN
  under UN at a load of 0.7 is 7 % higher.
* **FOGSim**'s Valiant routing is run with `routing.second_half = "next"`: a local hop in the intermediate group takes
  channel 1 if it follows the global hop, and channel 2 only if it follows another local hop. This is **inferred from
  the numbers**, not read in the source of the version that was run: of the two rules that were tried it is the one
  that fits. With `"above"`, which gives channel 2 to every hop after the intermediate router, VAL accepts 2 % more than
  FOGSim under ADV+4 at a load of 0.5, 1.0 % more under ADV+1, and all else is the same within the tolerances. The rows
  of VAL beyond saturation are therefore weaker evidence than the others.
* **FOGSim**'s endpoints make no packets while an injection queue is full; Phit's sources keep all packets. So latencies
  far beyond saturation are two different quantities.
* **FOGSim**'s latencies without load are 14, 29, 134 and 149 cycles for routes of no link, a local link, a local and a
  global link, and two local links and a global one. The tests check these exactly.
* **BookSim**'s stages of one cycle are `router.latency = 2` (switch allocation and traversal), `vc_allocation` =
  `"stage"` and `allocation_delay` 0 or 1 (routing ahead or in a stage of its own); `internal_speedup` is `speedup` with
  `clock = "crossbar"`. Speculation is not modelled; in an empty network it is the same as
  `vc_allocation = "with_switch"`.
* **BookSim** gives up a run in its latency mode when latency passes 500 cycles, at no fixed time. Such rows are left
  out; the same loads in its throughput mode are compared.
* A buffer of B flits carries B/5 of a link without credit delay and B/7 with a delay of 2: the loop of a credit is 5
  and 7 cycles. A single channel carries packets of L flits at most L/(L+1) of the time, L/(L+2) with a routing
  stage."""


def tolerances() -> str:
    """The tolerances in words."""

    def listed(given: dict[str, float]) -> str:
        return ", ".join(f"{NAMES[measure]} {tolerance:.0%}" for measure, tolerance in given.items())

    return (
        "## Tolerances\n\n"
        f"* FOGSim: {listed(FOGSIM)}; latencies at loads up to {FOGSIM_CALM:.0%} of the most that the curve accepts.\n"
        f"* BookSim: {listed(BOOKSIM)}; latencies at loads up to {BOOKSIM_CALM:.0%} of the most that the curve "
        f"accepts; accepted load beyond saturation {SATURATION_THROUGHPUT:.0%}; empty networks exactly."
    )


def verdicts(comparisons: Sequence[Comparison]) -> str:
    """How many agree, by simulator."""
    lines = ["| simulator | agrees | differs | not judged |", "| --- | ---: | ---: | ---: |"]
    for simulator in dict.fromkeys(c.case.simulator for c in comparisons):
        count = Counter(c.verdict for c in comparisons if c.case.simulator == simulator)
        lines.append(f"| {simulator} | " + " | ".join(str(count[verdict]) for verdict in Verdict) + " |")
    return "\n".join(lines)


def number(value: float) -> str:
    """Four or five digits, no exponent."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def row(c: Comparison) -> str:
    """One line of a table."""
    tolerance = "–" if c.tolerance is None else "exact" if c.tolerance == EXACT else f"{c.tolerance:.0%}"
    half = f" ± {number(c.half)}" if c.half else ""
    verdict = f"**{c.verdict}**" if c.verdict is Verdict.DIFFERS else str(c.verdict)
    where = c.case.setting or f"{c.case.load:g}"
    return (
        f"| {where} | {NAMES[c.measure]} | {number(c.theirs)} | {number(c.ours)}{half} | {c.difference:+.2%} "
        f"| {tolerance} | {verdict} |"
    )


def section(series: str, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """The table of a series and what explains it."""
    yield f"### {series}\n"
    first = "setting" if comparisons[0].case.setting else "load"
    yield f"| {first} | measure | theirs | Phit | difference | tolerance | verdict |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    for c in comparisons:
        yield row(c)
    notes: dict[str, list[str]] = {}
    for c in comparisons:
        if c.note and c.verdict is not Verdict.AGREES:
            notes.setdefault(c.note, []).append(f"{NAMES[c.measure]} at {c.case.setting or f'{c.case.load:g}'}")
    if notes:
        yield ""
        for note, where in notes.items():
            yield f"* {', '.join(dict.fromkeys(where))}: {note}."
    yield ""


def write(comparisons: Sequence[Comparison], images: Sequence[Path], path: Path, *, quick: bool) -> Path:
    """Writes the page."""
    scope = "the cheap part, two seeds" if quick else "everything"
    parts = [INTRODUCTION, f"Phit {phit.__version__}; {scope}.", verdicts(comparisons), tolerances(), TRANSLATION]
    for simulator in dict.fromkeys(c.case.simulator for c in comparisons):
        parts.append(f"## {simulator}")
        for image in images:
            if image.name.startswith(simulator.lower()):
                link = image.relative_to(path.parent).as_posix()
                parts.append(f"![Phit and {simulator}: {image.stem.split('_')[1]}]({link})")
        for series in dict.fromkeys(c.case.series for c in comparisons if c.case.simulator == simulator):
            chosen = [c for c in comparisons if c.case.simulator == simulator and c.case.series == series]
            parts.append("\n".join(section(series, chosen)).rstrip())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path
