"""The pages that show every comparison: a summary, and one for each simulator."""

from collections.abc import Sequence
from pathlib import Path

import phit._phit as _phit
from phit.base.markdown import markdown_table
from phit.peers.comparison import (
    BOOKSIM,
    BOOKSIM_CALM,
    CONTROL,
    CONTROL_FULL,
    CYCLES,
    EXACT,
    FLUID,
    FOGSIM,
    FOGSIM_ADAPTIVE,
    FOGSIM_CALM,
    NAMES,
    OUTFLANK,
    PRECISE,
    SATURATION_THROUGHPUT,
    SHARES,
    Comparison,
    LeftOut,
    Verdict,
    signed,
)
from phit.store.folder import write_atomically
from phit.studies.validation import control, fogsim5, merlin, outflank_agreement
from phit.studies.validation.transient import ERRORS, LEAST, PHASES, WARMUP, WINDOW, Phase

INTRODUCTION = """# Agreement with other simulators

*For users who ask whether to believe Phit's numbers: how they compare with those of five other simulators.*

Phit runs the settings of five simulators and is compared with their numbers, which stand in `tests/reference`:
[FOGSim](https://fuentesp.github.io/fogsim/) (versions 2 and 5), [BookSim](https://github.com/booksim/booksim2)
(version 2), the simulator of the [OutFlank](studies/outflank.md) paper's author, [SST's merlin](merlin.md)
(sst-elements of July 2026), and, for the [fluid network](fluid.md), [SimGrid](https://simgrid.org) (version 3.32).
`phit validate`, or `make validate`, runs everything. It writes this page and the pages of the simulators.

A difference is Phit's mean over its seeds minus the other simulator's mean over its runs, relative to the latter. For
a share of packets it is absolute. ± is the half width of the 95 % confidence interval of Phit's mean. The other
simulators' numbers are mostly from a single run, with a noise of their own. A difference beyond the tolerance is shown
as **differs**. If a known difference of the two models accounts for it, it is shown as "differs, explained". A
comparison that is not judged says why."""

TRANSLATION = """## Meaning of the settings

This section explains the settings that are not obvious. It has the facts that an independent model needs to reproduce
the numbers:

* **FOGSim** lets a packet that is still arriving keep its input's side of the crossbar until its tail is in, but the
  output's side only for 4 cycles: `router.cut_through = "input"`. Its published source shows this: the length of the
  transfer is computed a second time, after the packet has left its queue. With `"both"`, the mean latency of MIN under
  UN at a load of 0.7 is 7 % higher.
* **FOGSim**'s Valiant routing is run with `routing.second_half = "next"`. A local hop in the intermediate group takes
  channel 1 if it follows the global hop, and channel 2 only if it follows another local hop. This is **inferred from
  the numbers**, not read in the source of the version that was run. Of the two rules that were tried, only this one
  fits. With `"above"`, which gives channel 2 to every hop after the intermediate router, VAL accepts 2 % more than
  FOGSim under ADV+4 at a load of 0.5, and 1.0 % more under ADV+1. All other results stay within the tolerances. The
  rows of VAL beyond saturation are therefore weaker evidence than the others.
* **FOGSim**'s adaptive mechanisms differ from the papers' text, or go beyond it, in these choices:
    * A contention counter triggers when it reaches the threshold (`comparison = "reaches"`).
    * A head that is crossing the crossbar is counted until all heads for its output that began earlier have crossed
      (`crossing = "fifo"`). Without this the mean latency of Base with a threshold of 6 is 21 % higher under ADV+1 at
      0.3.
    * Hybrid takes any global link with room when a counter triggered (`candidates = "any"`).
    * ECtN filters links by the router's own counters (`candidates = "local"`).
    * OLM and Hybrid leave a global port by credits only if it holds more than 150 % of the mean and 5 packets
      (`restriction`).
    * At h=4 thresholds are 4 (Base, ECtN) and 5 (Hybrid; ECtN's combined counters).
* **FOGSim**'s PB multiplies its queues by other numbers of hops than its routes have. It uses the numbers for links
  between groups that are arranged consecutively, not palmtree, without the local hop to the intermediate router
  (`hop_count = "consecutive"`). Its source shows this.
* **FOGSim** reports three shares of misrouted packets: packets that took a nonminimal global link, packets that made a
  nonminimal local hop, and packets that decided for the former at the source router. With PB they are the packets that
  took the Valiant route.
* **FOGSim**'s rounds of allocation in a cycle are `router.allocation_rounds`.
* **FOGSim**'s endpoints make no packets while an injection queue is full. Phit's sources keep all packets. So latencies
  far beyond saturation are two different quantities.
* **FOGSim**'s latencies without load are 14, 29, 134 and 149 cycles for routes of no link, a local link, a local and a
  global link, and two local links and a global one. The tests check these exactly.
* **BookSim**'s stages of one cycle are `router.latency = 2` (switch allocation and traversal) and `vc_allocation` =
  `"stage"`, with `allocation_delay` 0 or 1 (routing ahead or in a separate stage). `internal_speedup` is `speedup` with
  `clock = "crossbar"`. With `speculative` (`vc_allocation = "speculative"`) a head requests a channel and the crossbar
  at once. A grant of the crossbar to a head without a channel is lost. iSLIP grants such requests like others
  (`speculation = "alike"`).
* **BookSim** allocates virtual channels with one round-robin pointer for each virtual channel of an input, over the
  channels of all outputs of the router. A head for another output than the one before it begins with the first channel
  there. So low channels get more packets, which stand behind one another. `router.vc_allocator` does the same. Without
  it pointers go round the channels of one output, packets spread over all of them, and latency near saturation is
  lower. On a 4x4 flattened butterfly with 16 channels, iSLIP, load 0.6, it is 17.9 cycles where BookSim has 20.6, and
  20.6 with it.
* **BookSim**'s UGAL on the flattened butterfly decides when the endpoint sends the head, by the credits that routers
  had when the cycle before was over (`decide = "sending"`). A copy of BookSim that decides at the router, after the
  credits of that cycle, agrees with `decide = "head"`: under tornado at 0.1 routes have 2.57 links instead of 2.60.
* **BookSim** gives up a run in its latency mode when latency passes 500 cycles, at no fixed time. Those rows are left
  out. The same loads in its throughput mode are compared.
* **BookSim**'s fat tree is `clos` with `down = [32, 32]` and `up = [32]`. Its routing `nca` is the allocation
  `oblivious`, and `anca` is `greedy_r` of two samples. `anca` looks at the credits of a router when the endpoint sends
  the head, two cycles before it arrives, whatever waits there before it. It keeps its choice: `precompute = 2`,
  `decide = "arrival"`, `redecide = false`. It compares credits alone: an output whose channel another packet holds is
  as good as any (`busy = "ignored"`). Flits come to a router as a whole (`cut_through = "input"`).
* **BookSim**'s input ports send back one credit in each cycle of the links, however many flits the crossbar's speedup
  takes out of the buffer (`credit_channel = "one_per_cycle"`). Its endpoints have a buffer like a router's, with
  credits (`ejection_buffer`). Without either, Phit accepts more beyond saturation, above all of packets of 10 flits.
* **BookSim**'s branches for congestion control have a queue for each output in the buffer of the data channel
  (`queueing = { kind = "voqsw", memory = "shared" }`). A head takes a channel with room for the whole packet
  (`vc_eligible = "with_packet_room"`). Runs without control are run with an `ecn` that never marks, which gives each
  source a queue for each destination. Two classes of traffic are a trace, drawn with the seed of the run.
* **BookSim** as released cannot describe parallel links. Its 16x6 group with single links is an `anynet`, in Phit a
  `hyperx`. The rows called "extended" come from a local extension of BookSim with one Cascade group, in which a
  packet's channel is the number of hops that it has taken. UGAL compares the used credits of ports (`queue = "port"`),
  with two minimal and two Valiant candidates (`stop = "anywhere"`). UGAL-G compares the sums along the routes without
  hops (`cost = "queue"`, **inferred from the numbers**).
* A buffer of B flits carries B/5 of a link without credit delay and B/7 with a delay of 2: the loop of a credit is 5
  and 7 cycles. A single channel carries packets of L flits at most L/(L+1) of the time, and L/(L+2) with a routing
  stage.
* **OutFlank**'s simulator differs from its paper's text:
    * `routing.mean = "second_leg"` divides the free slots of the queues towards an intermediate destination by the
      number of directions from there on. This was found in an earlier version of its published source. Without it,
      derouted shares under Uniform are half of the author's.
    * `midpoint = "folded"` puts midpoints on the longer arc of some pairs.
    * `collinear = "negative_side"` has two OIDNs for nodes in line.
    * `empty_queue = "every_way"` lets the dilation alone decide if any queue is empty.
    * `full_way = "worthless"` lets any way beat one whose queues are full.
    * Packets from endpoints need more than half of a queue (`router.node.injection_room`).
* **Merlin**'s latency ends with the head of a packet. Where its crossbar is faster than the links, a cycle of the
  scenario is a cycle of the crossbar. [Its own page](merlin.md) explains the other settings.
* **SimGrid**'s cases, in `fluid/`, are solved by exact arithmetic, too. Links have no latency in SimGrid: a flow waits
  for the sum of its latencies, then its transfer starts. So a flow's share does not depend on its latency.
* **OutFlank**'s events of one time come in a special order, on which runs depend in detail. Runs of one packet agree to
  the last digit."""


def tolerances() -> str:
    """The tolerances in words."""

    def listed(given: dict[str, float]) -> str:
        return ", ".join(f"{NAMES[measure]} {limit(measure, tolerance)}" for measure, tolerance in given.items())

    return (
        "## Tolerances\n\n"
        f"* FOGSim, MIN and VAL: {listed(FOGSIM)}.\n"
        f"* FOGSim, adaptive mechanisms: {listed(FOGSIM_ADAPTIVE)}.\n"
        f"* FOGSim, all: latencies at loads up to {FOGSIM_CALM:.0%} of the most that the curve accepts.\n"
        f"* FOGSim, answers to a change of traffic: {ERRORS:g} standard errors of the difference or {LEAST:.0%}, "
        f"whichever is larger, in every window of {WINDOW} cycles.\n"
        f"* FOGSim 5: {listed(fogsim5.TOLERANCES)} (latencies of oblivious routing "
        f"{fogsim5.LATENCY_OBLIVIOUS:.0%}), or {fogsim5.ERRORS:g} standard errors of the difference of the means over "
        f"seeds. No latency is judged where a run accepts less than {fogsim5.CARRIED:.0%} of the offered load. "
        f"Mechanisms that are not in a steady state after the warm-up are only shown, except under uniform traffic, "
        f"and so are runs that accept more than {2 - fogsim5.CARRIED:.0%} of the offered load.\n"
        f"* BookSim: {listed(BOOKSIM)}; latencies at loads up to {BOOKSIM_CALM:.0%} of the most that the curve "
        f"accepts; accepted load beyond saturation {SATURATION_THROUGHPUT:.0%}; empty networks exactly.\n"
        f"* BookSim's branches for congestion control: {listed(CONTROL)}, or two standard errors of the difference of "
        f"the means over seeds; latencies at loads above {control.CALM:.0%} {CONTROL_FULL:.0%}; tails of single "
        f"packets exactly, by the bins of Phit's histogram.\n"
        f"* OutFlank: {listed(OUTFLANK)}, below the gamma* that the paper prints.\n"
        f"* merlin: {listed(merlin.TOLERANCES)}, or two standard errors of the difference of the means over samples. "
        f"No latency is judged where a run accepts less than {merlin.CARRIED:.0%} of the offered load.\n"
        f"* SimGrid: {FLUID:g} of the end, or of the rate, of every flow. The tables show the worst flow of each case."
    )


def verdicts(comparisons: Sequence[Comparison], phases: Sequence[Phase]) -> str:
    """How many agree, by simulator."""
    found = {
        name: [c.verdict for c in comparisons if c.case.simulator == name]
        for name in dict.fromkeys(c.case.simulator for c in comparisons)
    }
    for phase in phases:
        found.setdefault(f"{phase.transient.simulator}, answers to a change", []).append(phase.verdict)
    rows = [(name, *(str(of_one.count(verdict)) for verdict in Verdict)) for name, of_one in found.items()]
    return markdown_table(("simulator", *Verdict), rows, numbers=tuple(Verdict))


def number(value: float) -> str:
    """Four or five digits, no exponent."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def limit(measure: str, tolerance: float) -> str:
    """A tolerance as a share of the other simulator's number, or of packets."""
    return f"{tolerance:g}" if measure in SHARES | PRECISE | CYCLES else f"{100 * tolerance:g}%"


def shown(verdict: Verdict) -> str:
    """A verdict; one that is not good stands out."""
    return f"**{verdict}**" if verdict is Verdict.DIFFERS else str(verdict)


def row(c: Comparison) -> tuple[str, ...]:
    """One line of the table of a series."""
    tolerance = "–" if c.tolerance is None else "exact" if c.tolerance == EXACT else limit(c.measure, c.tolerance)
    half = f" ± {number(c.half)}" if c.half else ""
    where = c.case.setting or f"{c.case.load:g}"
    return (
        where,
        NAMES[c.measure],
        number(c.theirs),
        f"{number(c.ours)}{half}",
        signed(c.measure, c.difference),
        tolerance,
        shown(c.verdict),
    )


NUMBERS = ("theirs", "Phit", "difference", "tolerance")
"""Columns of the table of a series."""


def section(series: str, comparisons: Sequence[Comparison]) -> str:
    """The table of a series and what explains it."""
    first = "setting" if comparisons[0].case.setting else "load"
    table = markdown_table((first, "measure", *NUMBERS, "verdict"), map(row, comparisons), numbers=NUMBERS)
    notes: dict[str, list[Comparison]] = {}
    for c in comparisons:
        if c.note and c.verdict is not Verdict.AGREES:
            notes.setdefault(c.note, []).append(c)
    words = [f"* {_where(found)}: {note}." for note, found in notes.items()]
    return _blocks(f"### {series}", table, "\n".join(words))


def _where(comparisons: Sequence[Comparison]) -> str:
    """Measures with the loads or settings at which they were compared; measures of the same places stand together."""
    places: dict[str, list[str]] = {}
    for c in comparisons:
        where = f"`{c.case.setting}`" if c.case.setting else f"{c.case.load:g}"
        places.setdefault(NAMES[c.measure], []).append(where)
    measures: dict[tuple[str, ...], list[str]] = {}
    for measure, of_it in places.items():
        measures.setdefault(tuple(dict.fromkeys(of_it)), []).append(measure)
    return "; ".join(f"{', '.join(names)} at {', '.join(where)}" for where, names in measures.items())


def _blocks(*texts: str) -> str:
    """Those of the texts that are not empty, apart from one another."""
    return "\n\n".join(text for text in texts if text)


TRANSIENT_RULE = f"""## FOGSim: answers to a change of traffic

The traffic changes at cycle 0. A curve is the mean latency, or the share of globally misrouted packets, of the packets
that were generated in each {WINDOW} cycles before and after; both simulators ran ten seeds. Phit runs {WARMUP:,} cycles
before the change; how many FOGSim ran is not recorded. The plots show the time around the change, the table all of it.

A window agrees if the difference is at most {ERRORS:g} standard errors of it, or at most {LEAST:.0%} (latency: of
FOGSim's; share: of all packets), whichever is larger. The standard error combines Phit's mean over its seeds and
FOGSim's mean. FOGSim's seeds are not in the table one by one, and are assumed to scatter like Phit's. A phase agrees if
all of its windows do. In the worst window the difference is the largest part of its limit.

PB oscillates after the change, because its flags come and go. The change starts the oscillation in every seed. So its
first swings are at the same time in all seeds, and are visible in the means. Later the seeds fall out of step, and
their scatter widens the limits."""

TRANSIENT_RULE_5 = f"""## {fogsim5.SIMULATOR}: answers to a change of traffic

The traffic changes at cycle 0. The table compares the packets that were generated in each {fogsim5.WINDOW} cycles.
FOGSim ran two seeds, Phit {fogsim5.SEEDS_OF_CHANGE}. A window agrees if the difference is at most {ERRORS:g} standard
errors of it, or at most {LEAST:.0%} (latency: of FOGSim's; share: of all packets), whichever is larger. FOGSim's seeds
are assumed to scatter like Phit's. Packets that are still under way at the end of FOGSim's run, 2,500 cycles after the
change, are in neither series."""


def transient_row(phase: Phase) -> tuple[str, ...]:
    """One line of the table of transients."""
    worst, (begin, end) = phase.worst, PHASES[phase.name]
    return (
        phase.transient.mechanism,
        f"{begin} to {end}",
        NAMES[phase.measure],
        str(len(phase.windows)),
        str(phase.beyond),
        signed(phase.measure, phase.mean_difference),
        f"{signed(phase.measure, worst.difference)} at {worst.start}",
        limit(phase.measure, round(worst.limit, 4)),
        shown(phase.verdict),
    )


TRANSIENT_NUMBERS = ("windows", "beyond limit", "mean difference", "worst", "limit")
"""Columns of the table of transients."""


def transient_section(phases: Sequence[Phase]) -> str:
    """The table of answers to a change and what explains it."""
    head = ("mechanism", "cycles", "measure", *TRANSIENT_NUMBERS, "verdict")
    table = markdown_table(head, map(transient_row, phases), numbers=TRANSIENT_NUMBERS)
    notes = dict.fromkeys(f"* {p.transient.mechanism}: {p.note}." for p in phases if p.note)
    return _blocks(table, "\n".join(notes))


UNSEARCHED = "---\nsearch:\n  exclude: true\n---"
"""Leaves a page of thousands of numbers out of the documentation's search."""


def page_of(simulator: str) -> str:
    """File of the page with all runs of a simulator, beside the summary's."""
    return f"agreement-{simulator.lower().replace(' ', '')}.md"


def not_compared(left_out: Sequence[LeftOut]) -> str:
    """The rows that Phit cannot be compared with, by reason; nothing if there are none."""
    if not left_out:
        return ""
    by_reason: dict[str, list[LeftOut]] = {}
    for one in left_out:
        by_reason.setdefault(one.reason, []).append(one)
    rows = [
        (", ".join(dict.fromkeys(one.words.split(",")[0] for one in found)), str(len(found)), reason)
        for reason, found in by_reason.items()
    ]
    return _blocks("## Not compared", markdown_table(("runs", "rows", "reason"), rows, numbers=("rows",)))


def differing(comparisons: Sequence[Comparison]) -> str:
    """What differs, explained or not, in one table, and what explains it; nothing if all agrees."""
    found = [c for c in comparisons if c.verdict in (Verdict.DIFFERS, Verdict.EXPLAINED)]
    if not found:
        return ""
    head = ("series", "load or setting", "measure", *NUMBERS, "verdict")
    table = markdown_table(head, ((c.case.series, *row(c)) for c in found), numbers=NUMBERS)
    notes = dict.fromkeys(f"* {c.note}." for c in found if c.note)
    return _blocks("## Differences", table, "\n".join(notes))


def _every_run(
    simulator: str,
    comparisons: Sequence[Comparison],
    phases: Sequence[Phase],
    left_out: Sequence[LeftOut],
    summary: str,
) -> str:
    """The page of a simulator: all series, and answers to a change if there are."""
    series: dict[str, list[Comparison]] = {}
    for c in comparisons:
        series.setdefault(c.case.series, []).append(c)
    return _blocks(
        UNSEARCHED,
        f"# Agreement with {simulator}: every run",
        f"*For users of {simulator}: every setting that was compared, with both numbers.*",
        f"[The summary]({summary}) explains the tolerances and the settings.",
        outflank_agreement.text(comparisons) if simulator == outflank_agreement.SIMULATOR else "",
        fogsim5.ABOUT if simulator == fogsim5.SIMULATOR else "",
        *(section(name, of_it) for name, of_it in series.items()),
        *((_rule(simulator), transient_section(phases)) if phases else ()),
        not_compared(left_out),
    )


def _rule(simulator: str) -> str:
    """How answers to a change are compared."""
    return TRANSIENT_RULE_5 if simulator == fogsim5.SIMULATOR else TRANSIENT_RULE


def _picture(image: Path, simulators: Sequence[str], folder: Path) -> str:
    """A picture, of a file such as `fogsim_transient_latency.svg`."""
    simulator, *rest = image.stem.split("_")
    name = next((name for name in simulators if name.lower().replace(" ", "") == simulator), simulator)
    words = f"Phit and {name}{' after a change' if len(rest) > 1 else ''}: {rest[-1]}"
    return f"![{words}]({image.relative_to(folder).as_posix()})"


def write(
    comparisons: Sequence[Comparison],
    phases: Sequence[Phase],
    images: Sequence[Path],
    path: Path,
    left_out: Sequence[LeftOut] = (),
    *,
    quick: bool,
) -> Path:
    """Writes the summary to `path`, and beside it a page for each simulator with all of its runs."""
    scope = "the cheap part, with fewer seeds" if quick else "everything"
    simulators = list(dict.fromkeys(c.case.simulator for c in comparisons))
    pictures = [_picture(image, simulators, path.parent) for image in images]
    summary = _blocks(
        INTRODUCTION,
        f"Phit {_phit.__version__}; {scope}.",
        verdicts(comparisons, phases),
        "Every run, on a page for each simulator:",
        "\n".join(f"* [{simulator}]({page_of(simulator)})" for simulator in simulators),
        differing(comparisons),
        *(["## Figures", *pictures] if pictures else []),
        tolerances(),
        TRANSLATION,
    )
    pages = {path: summary}
    for simulator in simulators:
        of_it = [c for c in comparisons if c.case.simulator == simulator]
        changed = [phase for phase in phases if phase.transient.simulator == simulator]
        beyond = [one for one in left_out if one.simulator == simulator]
        pages[path.with_name(page_of(simulator))] = _every_run(simulator, of_it, changed, beyond, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    for place, text in pages.items():
        _put(place, text)
    return path


def _put(path: Path, text: str) -> None:
    write_atomically(path, lambda file: file.write(f"{text}\n".encode()))
