"""Responses after UN becomes ADV+1 at a load of 0.2: figures 7 to 9, claims C12 to C16 (sections V-B and V-C)."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.drawing.plots import Chart
from phit.studies.contention import authors
from phit.studies.contention.load import COEFFICIENTS, is_near_valiant, piggyback_behind_valiant
from phit.studies.contention.paper import (
    ADAPTIVE,
    COUNTERS,
    LOOK,
    MECHANISMS,
    PB_COEFFICIENT,
    UNIFORM,
    Evidence,
    adversarial,
    note,
    scenario,
    study,
)
from phit.studies.contention.response import SETTLED_FROM, UNIFORM_SPAN, Swing, Times, first_settling, settling, swing
from phit.studies.contention.setting import PERIOD, Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import LATENCY, Charts, Look, finished, over, panel, rule
from phit.studies.kit.claim import Fact, Judgement, NotRunError, Revision
from phit.studies.kit.evidence import Responses
from phit.studies.kit.margin import Check, above, all_of, below, between, exact
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import Value, nominal

TRANSIENT_LOAD = 0.2
"""Offered load."""

LARGE = {"local": 256, "global": 2048}
"""Phits per virtual channel of figure 8's input buffers."""


def change_of_traffic(setting: Setting, mechanism: str, seed: int, *, large: bool = False) -> Document:
    """UN that becomes ADV+1, with a time series by cycle of generation."""
    changes = MECHANISMS[mechanism].large_buffers if large else {}
    document = scenario(setting, mechanism, UNIFORM, TRANSIENT_LOAD, seed, **changes)
    if large:
        for link, phits in LARGE.items():
            document["router"]["links"][link]["buffer"] = phits
    document["traffic"]["changes"] = [{"cycle": setting.change, "pattern": adversarial(1)}]
    document["measure"] = {
        "warmup": setting.settle,
        "cycles": setting.before + setting.after,
        "count": "generated",
        "series": {"by": "generation", "bin": setting.bin},
        "histogram": False,
    }
    return document


def _runs(setting: Setting, seeds: int | None, names: Iterable[str], *, large: bool = False) -> list[Case]:
    return [
        Case(
            {
                "mechanism": name,
                "buffers": "large" if large else "small",
                "load": TRANSIENT_LOAD,
                "change": setting.change,
                "seed": seed,
            },
            change_of_traffic(setting, name, seed, large=large),
        )
        for name in names
        for seed in seeds_of(seeds, setting.transient_seeds)
    ]


TIME = "Cycle of generation, from the change of traffic"
MISROUTED = "Globally misrouted packets (%)"


def time_panel(
    table: pl.DataFrame,
    look: Look,
    column: str,
    y_title: str,
    until: int,
    *,
    curve: str = "mechanism",
    title: str = "",
    legend: Sequence[str] = (),
) -> Chart:
    """A quantity over the time from the change of traffic, with a line at the change; see `panel`."""
    shown = table.filter(pl.col("t").is_between(-100, until))
    lines = panel(
        shown,
        curve,
        "t",
        column,
        look,
        TIME,
        y_title,
        dots=False,
        width=520,
        domain=(-100, until),
        title=title,
        legend=legend,
    )
    return rule(lines, 0)


def _lines(table: pl.DataFrame, column: str, y_title: str, until: int) -> Chart:
    return time_panel(table, LOOK, column, y_title, until)


def _notes(table: pl.DataFrame, setting: Setting, buffers: str) -> tuple[str, str]:
    times = table["t"].unique().sort()
    width = int(times[1] - times[0]) if len(times) > 1 else setting.bin
    low, high = min(table["seeds"]), max(table["seeds"])
    seeds = f"{high} seed{'s' * (high > 1)}" if low == high else f"{low} to {high} seeds"
    change = f"UN to ADV+1 at 0, load {TRANSIENT_LOAD:g}; {seeds}"
    return (
        f"{note(setting)}; buffers of {buffers} phits per local and global VC",
        f"{change}, bins of {width} cycles, no other smoothing",
    )


FIRST_TOLERANCE = 0.1
"""Share of the final latency within which a response counted as settled by the first rule."""

UPDATE_SPAN = (PERIOD + 20, 5 * PERIOD)
"""C13: cycles from the change in which the counters sent at 100 have arrived; local links take 10."""


def _first_settling(responses: Responses, names: Iterable[str]) -> Times:
    return first_settling(responses, names, FIRST_TOLERANCE)


def _words(times: Mapping[str, Value | float | None]) -> str:
    found = {name: "not settled" if t is None else f"{nominal(t):g} cycles" for name, t in times.items()}
    return ", ".join(f"{name} {words}" for name, words in found.items())


def _by_tolerance(times: Mapping[float, Mapping[str, Value | None]]) -> str:
    return "; ".join(f"to within {tolerance:.0%} of the step: {_words(of)}" for tolerance, of in times.items())


@study.figure(
    "7",
    title="A change of traffic",
    caption="Latency and globally misrouted packets by cycle of generation after UN becomes ADV+1.",
    parts=("7a", "7b"),
    table=tables.transient,
)
def small_buffers(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 7."""
    return _runs(setting, seeds, ADAPTIVE)


@small_buffers.draw
def _small_buffers_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    notes = _notes(table, setting, "32 and 256")
    latency = _lines(table, "latency_mean", LATENCY, 400)
    misrouted = _lines(table, "misrouted_percent", MISROUTED, 400)
    return {
        "7a": finished(latency, "Figure 7a: latency after a change of traffic", notes),
        "7b": finished(misrouted, "Figure 7b: misrouting after a change of traffic", notes),
    }


TOLERANCES = (0.1, 0.05)
"""Shares of the step (new minus old steady latency) within which a response must stay to count as settled."""

REACTING = ("Base", "Hybrid", "OLM", "PB")
"""The mechanisms of C12."""


def _faster(times: Times) -> Check:
    """Base and Hybrid settle in at most a third of OLM's time."""
    reference = times["OLM"]
    if reference is None:
        return exact(False)
    quick = (times["Base"], times["Hybrid"])
    return all_of(exact(False) if time is None else below(time, reference / 3) for time in quick)


def _first_reaction(evidence: Evidence) -> Judgement:
    times = _first_settling(evidence.responses("7"), REACTING)
    return Judgement(_faster(times), _words(times))


def _reaction(evidence: Evidence) -> Judgement:
    responses = evidence.responses("7")
    times = {tolerance: settling(responses, REACTING, tolerance) for tolerance in TOLERANCES}
    note = "OLM does not settle, so there is no time to compare with" if times[TOLERANCES[0]]["OLM"] is None else ""
    return Judgement(all_of(_faster(of) for of in times.values()), _by_tolerance(times), note)


@study.claim(
    "C12",
    figure="7a",
    statement="After UN becomes ADV+1 Base and Hybrid settle within tens of cycles, OLM and PB need about 100",
    paper="settling to within 10 % and to within 5 % of the step of the latency: Base, Hybrid ≤ 1/3 of OLM's time",
    first=Revision(_first_reaction, "settling to within 10 % of the new latency: Base, Hybrid ≤ 1/3 of OLM's time"),
)
def reaction(evidence: Evidence) -> Judgement:
    """Base and Hybrid settle in at most a third of OLM's time."""
    return authors.with_their_runs(_reaction, evidence)


@study.claim(
    "C13",
    figure="7a",
    statement="ECtN follows Base until the next update of the partial counters, then improves on it",
    paper="latency after the update below Base's",
)
def after_the_update(evidence: Evidence) -> Judgement:
    """After the next update ECtN's latency is below Base's."""
    responses = evidence.responses("7")
    before = {name: responses.mean(name, 20, PERIOD) for name in ("ECtN", "Base")}
    after = {name: responses.mean(name, *UPDATE_SPAN) for name in ("ECtN", "Base")}
    return Judgement(
        below(after["ECtN"], after["Base"], strict=True),
        f"{_pair(before)} at 20 to {PERIOD} cycles; {_pair(after)} at {UPDATE_SPAN[0]} to {UPDATE_SPAN[1]}",
    )


def _pair(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} {nominal(value):.1f}" for name, value in values.items())


def _shares(evidence: Evidence) -> Judgement:
    responses = evidence.responses("7")
    end = responses.series(COUNTERS[0])[0][-1] + 1
    if end <= SETTLED_FROM:
        raise NotRunError(f"figure 7: recorded for {end} cycles only")
    column = "misrouted_percent"
    found = {
        name: (responses.mean(name, *UNIFORM_SPAN, column), responses.mean(name, SETTLED_FROM, end, column))
        for name in COUNTERS
    }
    check = all_of(check for uniform, later in found.values() for check in (below(uniform, 2), above(later, 95)))
    words = (f"{name} {nominal(u):.1f} % and {nominal(a):.1f} %" for name, (u, a) in found.items())
    return Judgement(check, ", ".join(words))


def _hybrid_misroutes(evidence: Evidence) -> Fact | None:
    """The fact that FOGSim's Hybrid misroutes under UN as well, if nothing else fails."""
    column = "misrouted_percent"
    theirs, ours = authors.evidence().responses("7"), evidence.responses("7")
    there, here = (nominal(of.mean("Hybrid", *UNIFORM_SPAN, column)) for of in (theirs, ours))
    olm = nominal(ours.mean("OLM", *UNIFORM_SPAN, column))
    others = [nominal(ours.mean(name, *UNIFORM_SPAN, column)) for name in COUNTERS if name != "Hybrid"]
    if min(there, here) <= 2 or max(others) > 2:
        return None
    return Fact(
        f"Hybrid misroutes by its credits, too. In FOGSim's own runs at h = 4 it sends {there:.1f} % of the packets "
        f"another way under UN, which is more than 2 %. In Phit the share is {here:.1f} %, with OLM {olm:.1f} %, and "
        f"at most {max(others):.1f} % with counters alone",
        authors.SHOWN,
    )


@study.claim(
    "C14",
    figure="7b",
    statement="With counters the misrouted share settles near 0 % under UN and near 100 % under ADV+1",
    paper="at most 2 % and at least 95 %",
    fact=_hybrid_misroutes,
    remark=(
        "Base and ECtN are at 0.0 % and 100 %. Hybrid's packets under UN are misrouted by its credits, not by its "
        "counters; OLM's share is higher."
    ),
)
def all_or_nothing(evidence: Evidence) -> Judgement:
    """With counters at most 2 % of the packets are globally misrouted under UN, at least 95 % under ADV+1."""
    return authors.with_their_runs(_shares, evidence)


@study.figure(
    "8",
    title="A change of traffic, large buffers",
    caption="Figure 7a with input buffers of 256 phits per local and 2,048 phits per global virtual channel.",
    table=tables.transient,
)
def large_buffers(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 8."""
    return _runs(setting, seeds, ADAPTIVE, large=True)


@large_buffers.draw
def _large_buffers_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    notes = _notes(table, setting, "256 and 2,048")
    chart = _lines(table, "latency_mean", LATENCY, min(setting.after, 2000))
    return {"8": finished(chart, "Figure 8: latency after a change of traffic, large buffers", notes)}


DELAYED = ("OLM", "PB", "Base", "ECtN")
"""The mechanisms of C15."""


def _delay(large: Responses, before: Times, after: Times) -> Check:
    """OLM and PB take at least 4 times as long, Base and ECtN at most 1.5 times."""

    def slower(name: str) -> Check:
        first, second = before[name], after[name]
        # A mechanism that has not settled takes longer than the recorded time.
        beyond = large.series(name)[0][-1] if second is None else second
        return exact(False) if first is None else above(beyond, 4 * first)

    def as_fast(name: str) -> Check:
        first, second = before[name], after[name]
        return exact(False) if first is None or second is None else below(second, 1.5 * first)

    return all_of([slower("OLM"), slower("PB"), as_fast("Base"), as_fast("ECtN")])


def _first_delay(evidence: Evidence) -> Judgement:
    small, large = evidence.responses("7"), evidence.responses("8")
    before, after = _first_settling(small, DELAYED), _first_settling(large, DELAYED)
    return Judgement(_delay(large, before, after), f"small buffers: {_words(before)}; large: {_words(after)}")


MARGIN = 24
"""Phits above the mean from which PB flags a link: T = 3 packets."""

SMALL_GLOBAL = 256
"""Phits of a virtual channel of a global link (Table I)."""

CREDIT_LOOP = 210
"""Cycles from the allocation of a packet to a global link until its credit returns: two routers and two links."""


def flag_limit(setting: Setting) -> float:
    """Phits charged to a global link at which PB flags it, while its router's links carry UN.

    The mean is the number of phits that a link carries per cycle, times the cycles for which each is charged.
    """
    groups = setting.a * setting.h + 1
    carried = TRANSIENT_LOAD * setting.p / setting.h * (1 - 1 / groups)
    return PB_COEFFICIENT * carried * CREDIT_LOOP + MARGIN


def _reach(evidence: Evidence) -> Fact | None:
    """The fact that small buffers can hold the phits that raise PB's flags, so that larger buffers cannot delay it."""
    small, large = evidence.responses("7"), evidence.responses("8")
    before, after = (settling(of, ("PB",), TOLERANCES[0])["PB"] for of in (small, large))
    limit = flag_limit(evidence.setting)
    if before is None or after is None or limit >= SMALL_GLOBAL or nominal(after) >= 4 * nominal(before):
        return None
    return Fact(
        f"PB's rule does not know the buffers' size. A global link is flagged when {limit:.0f} phits are charged to "
        f"it: {PB_COEFFICIENT:g} times the mean of its router's links under UN at {TRANSIENT_LOAD:g}, plus {MARGIN} "
        f"phits. The {SMALL_GLOBAL} phits of the small buffers hold this amount as well as the large ones, so larger "
        f"buffers cannot delay the flag. PB settles after {nominal(before):g} cycles with the small and after "
        f"{nominal(after):g} with the large buffers",
        "the rule of PB in the simulator's documentation, and figure 8",
    )


@study.claim(
    "C15",
    figure="8",
    statement="With buffers of 256 and 2,048 phits OLM needs about 1,000 cycles and PB about 500, the counters no "
    "longer than before",
    paper="settling to within 10 % and to within 5 % of the step of the latency: OLM and PB at least 4 times their "
    "time with small buffers, Base and ECtN at most 1.5 times",
    first=Revision(
        _first_delay,
        "settling to within 10 % of the new latency: OLM and PB at least 4 times their time with small buffers, Base "
        "and ECtN at most 1.5 times",
    ),
    fact=_reach,
    remark=(
        "OLM needs more than twenty times as long, ECtN no longer than before. PB's flags compare phits with phits, so "
        "that they come as early with any buffers. With T = 24 packets, as much larger as the buffers are, PB needs "
        "longer than 1,000 cycles (see PB's parameters below): the paper's T = 3 may have meant a share of the buffer. "
        "Base decides at once, with 100 % of the packets misrouted within 5 cycles, but its latency goes on rising "
        "while the queues at the minimal link, which are deeper, fill."
    ),
)
def credits_take_longer(evidence: Evidence) -> Judgement:
    """With large buffers OLM and PB take at least 4 times as long to settle, Base and ECtN at most 1.5 times."""
    small, large = evidence.responses("7"), evidence.responses("8")
    before = {tolerance: settling(small, DELAYED, tolerance) for tolerance in TOLERANCES}
    after = {tolerance: settling(large, DELAYED, tolerance) for tolerance in TOLERANCES}
    check = all_of(_delay(large, before[tolerance], after[tolerance]) for tolerance in TOLERANCES)
    return Judgement(check, f"small buffers, {_by_tolerance(before)}; large, {_by_tolerance(after)}")


@study.figure(
    "9",
    title="Oscillations",
    caption="Figure 7a over a longer time: PB, whose decisions feed back on the flags that they depend on, and ECtN.",
    table=tables.transient,
)
def oscillations(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 9."""
    return _runs(setting, seeds, ("PB", "ECtN"))


@oscillations.draw
def _oscillation_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    notes = _notes(table, setting, "32 and 256")
    chart = _lines(table, "latency_mean", LATENCY, min(setting.after, 4000))
    return {"9": finished(chart, "Figure 9: oscillations after a change of traffic", notes)}


AMPLITUDE = 0.5
"""Smallest standard deviation of an oscillation in percent of the mean; below it, the period says nothing."""


def _flatness(swings: Mapping[str, Swing]) -> Check:
    return all_of(
        [
            between(swings["PB"].period, 300, 700),
            below(swings["ECtN"].deviation, swings["PB"].deviation / 3, strict=True),
        ]
    )


def _swing_words(name: str, of: Swing) -> str:
    return (
        f"{name}'s period {nominal(of.period):.0f} cycles, standard deviation {nominal(of.deviation):.1f} cycles "
        f"({nominal(of.percent):.2f} % of the mean)"
    )


def _first_oscillation(evidence: Evidence) -> Judgement:
    swings = {name: swing(evidence.responses("9"), name) for name in ("PB", "ECtN")}
    return Judgement(_flatness(swings), _swing_words("PB", swings["PB"]))


def _no_coefficient(evidence: Evidence) -> Fact | None:
    """The fact that PB does not swing with any tested coefficient with which it is near VAL."""
    near = [piggyback_behind_valiant(evidence).holds]
    swings = [nominal(swing(evidence.responses("9"), "PB").percent)]
    for coefficient in COEFFICIENTS:
        responses = evidence.responses("piggyback", parameters=f"coefficient {coefficient:g}", buffers="small")
        swings.append(nominal(swing(responses, "PB").percent))
        near.append(is_near_valiant(evidence, coefficient))
    if any(is_near and percent >= AMPLITUDE for is_near, percent in zip(near, swings, strict=True)):
        return None
    words = ", ".join(
        f"{coefficient:g}: {percent:.2f} %, {'near VAL' if is_near else 'not near VAL'}"
        for coefficient, percent, is_near in zip((PB_COEFFICIENT, *COEFFICIENTS), swings, near, strict=True)
    )
    return Fact(
        f"figures 5b and 9 ask for different PB. With no coefficient does it both swing by {AMPLITUDE:g} % of its "
        f"latency and stay 0 to 25 % above VAL at 0.3 to 0.4, as in C6 ({words})",
        "PB's coefficient and PB's parameters below",
    )


@study.claim(
    "C16",
    figure="9",
    statement="PB oscillates with a period of about 500 cycles after the change; ECtN is flat",
    paper="period 300 to 700 cycles; ECtN's standard deviation below 1/3 of PB's; PB's at least 0.5 % of its mean",
    first=Revision(_first_oscillation, "period 300 to 700 cycles; ECtN's standard deviation below 1/3 of PB's"),
    fact=_no_coefficient,
    remark=(
        "With the coefficient of 1, which brings PB close to VAL (C6), it hardly swings. Its period agrees with the "
        "paper, but less than 0.5 % of the latency is no oscillation. Larger coefficients swing more (see PB's "
        "parameters below)."
    ),
)
def oscillation(evidence: Evidence) -> Judgement:
    """PB's latency oscillates with a period of 300 to 700 cycles; ECtN's deviation is below a third of PB's."""
    swings = {name: swing(evidence.responses("9"), name) for name in ("PB", "ECtN")}
    check = all_of([_flatness(swings), above(swings["PB"].percent, AMPLITUDE)])
    own, flat = swings["PB"], swings["ECtN"]
    return Judgement(
        check,
        f"from {SETTLED_FROM} cycles on {_swing_words('PB', own)}, ECtN's standard deviation "
        f"{nominal(flat.deviation):.1f} cycles",
        parameters_beside(evidence),
    )


PARAMETERS: dict[str, tuple[Document, tuple[str, ...]]] = {
    "coefficient 1.5": ({"coefficient": 1.5}, ("small", "large")),
    "coefficient 2": ({"coefficient": 2.0}, ("small", "large")),
    "T = 24": ({"global_threshold": 24}, ("large",)),
    "coefficient 2, T = 24": ({"coefficient": 2.0, "global_threshold": 24}, ("large",)),
}
"""Other parameters of PB's flags, and the buffers to try them with.

T = 24 is 8 times T, in proportion to the large buffers.
"""


@study.figure(
    "piggyback",
    title="PB's parameters",
    caption="This repeats figures 7 and 8 for PB with other coefficients of the mean above which a link is flagged "
    "(the simulator's default is 2). It also has T = 3 packets above the mean increased in proportion to "
    "the buffers.",
    table=tables.transient,
)
def parameters(setting: Setting, seeds: int | None) -> list[Case]:
    """The change of traffic with other parameters of PB."""
    found = []
    for name, (change, sizes) in PARAMETERS.items():
        for size in sizes:
            for case in _runs(setting, seeds, ("PB",), large=size == "large"):
                document = {**case.scenario, "routing": {**case.scenario["routing"], **change}}
                found.append(Case({**case.labels, "parameters": name}, document))
    return found


@parameters.draw
def _parameter_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    names = tuple(PARAMETERS)
    look = Look.of(names)
    until = min(setting.after, 4000)
    panels = [
        time_panel(
            rows, look, "latency_mean", LATENCY, until, curve="parameters", title=f"{size} buffers", legend=names
        )
        for size in ("small", "large")
        if (rows := table.filter(pl.col("buffers") == size)).height
    ]
    notes = _notes(table, setting, "32 and 256, or 256 and 2,048,")
    return {"piggyback": finished(over(*panels), "PB after a change of traffic, by its parameters", notes)}


@parameters.text
def _parameter_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    rows = []
    for size in ("small", "large"):
        for name in PARAMETERS:
            of = table.filter((pl.col("parameters") == name) & (pl.col("buffers") == size))
            if of.is_empty():
                continue
            responses = Responses(of, "figure piggyback")
            times = [settling(responses, ("PB",), tolerance)["PB"] for tolerance in TOLERANCES]
            shown = ["not settled" if time is None else f"{nominal(time):g}" for time in times]
            try:
                found = swing(responses, "PB")
                swings = [f"{nominal(found.period):.0f}", f"{nominal(found.percent):.2f}"]
            except NotRunError:
                swings = ["–", "–"]
            rows.append((size, name, *shown, *swings))
    heads = [f"settled to {tolerance:.0%} of the step (cycles)" for tolerance in TOLERANCES]
    return markdown_table(("buffers", "PB", *heads, "period (cycles)", "deviation (% of the mean)"), rows)


def parameters_beside(evidence: Evidence) -> str:
    """The swings of PB with other parameters and the small buffers, if these were run."""
    found = []
    for name, (_, sizes) in PARAMETERS.items():
        if "small" in sizes:
            try:
                responses = evidence.responses("piggyback", parameters=name, buffers="small")
                found.append(_swing_words(f"with {name} PB", swing(responses, "PB")))
            except NotRunError:
                continue
    return "; ".join(found)
