"""How the inputs of a router share its outputs: figures 9 to 12, claims K10 to K16 (section 4)."""

from itertools import pairwise

import polars as pl

from phit.scenario import Document
from phit.studies.clos.paper import (
    ACCEPTED,
    ADAPTIVE,
    ALGORITHMS,
    INFINITE,
    LOOK,
    OBLIVIOUS,
    UNIT,
    Evidence,
    note,
    notes,
    runs,
    steady,
    study,
    topology,
)
from phit.studies.clos.setting import BUFFER, HISTOGRAM_LOAD, Setting
from phit.studies.kit.charts import (
    LATENCY,
    LOAD_MARKS,
    Charts,
    Look,
    beside,
    finished,
    latency_and_load,
    load_axis,
    panel,
)
from phit.studies.kit.claim import Judgement, NotRunError, SaturatedError
from phit.studies.kit.evidence import Curves
from phit.studies.kit.margin import above, all_of, below, between, exact
from phit.studies.kit.plan import Case, Done
from phit.studies.kit.uncertain import Value, nominal

UNBOUNDED_LOAD = 0.95
BOUNDED_LOAD = 0.85
"""Offered loads at which section 4.2 compares the allocations, with infinite buffers and with 16 entries."""

EARLY = 0.7
"""Up to this load greedy allocation, which saturates early, is run at every load, and then at the highest."""

PANELS = {
    "a": ("(a) infinite buffers", INFINITE, UNBOUNDED_LOAD),
    "b": (f"(b) buffers of {BUFFER} entries", BUFFER, BOUNDED_LOAD),
}
"""Title, buffers and load of comparison of the panels of figure 9."""


@study.figure(
    "9",
    title="The four allocations",
    caption="Latency and accepted load under wc-UR with infinite buffers and with 16 entries.",
    parts=("9a", "9b"),
    table=steady,
)
def allocations(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 9."""
    found = []
    for name, (_, buffer, compared_at) in PANELS.items():
        loads = sorted({*setting.loads, compared_at})
        early = [load for load in loads if load <= EARLY or load == loads[-1]]
        for algorithm in ALGORITHMS:
            if algorithm != OBLIVIOUS:
                own = early if algorithm == "greedy" else loads
                found += runs(setting, seeds, [algorithm], own, {"panel": name}, buffer=buffer)
    return found


@allocations.draw
def _allocation_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    columns = [
        latency_and_load(rows, "mechanism", LOOK, UNIT, title=title)
        for name, (title, _, _) in PANELS.items()
        if (rows := table.filter(pl.col("panel") == name)).height
    ]
    lines = notes(table, note(setting), LOAD_MARKS)
    return {"9": finished(beside(*columns), "Figure 9: allocations under wc-UR", lines)}


def _over(curves: Curves, upper: str, load: float) -> Value:
    """Latency of an allocation over that of sequential, as a difference from 1."""
    (ratio,) = curves.latency_ratios(upper, ADAPTIVE, [load])
    return ratio - 1


@study.claim(
    "K10",
    figure="9a",
    statement="With infinite buffers at 0.95 sequential_r(2) is about 10 % above sequential, greedy_r(2) about 60 %",
    paper="3 to 20 %; 40 to 80 %",
    remark=(
        "sequential_r(2) is as in the paper, greedy_r(2) is not: its information is too good here. The paper has it "
        "above oblivious routing at this load (60 % above sequential, where figure 2 has oblivious about 43 % above), "
        "but 10 % below it at 0.9 (figure 12). Here the credits of a flit are taken when it enters the output's queue, "
        "so that routing sees what waits there. Credits taken when it leaves the router would bring greedy_r(2) close "
        "to oblivious routing, but greedy would then not saturate early, as it does in the paper (K12, K13): the two "
        "ask for different routers."
    ),
)
def two_samples_unbounded(evidence: Evidence) -> Judgement:
    """At 0.95 sequential_r(2) is 3 to 20 % above sequential, greedy_r(2) 40 to 80 %."""
    curves = evidence.curves("9", panel="a")
    more = {name: _over(curves, name, UNBOUNDED_LOAD) for name in ("sequential_r(2)", "greedy_r(2)")}
    check = all_of([between(more["sequential_r(2)"], 0.03, 0.2), between(more["greedy_r(2)"], 0.4, 0.8)])
    found = ", ".join(f"{name} {100 * nominal(value):+.1f} %" for name, value in more.items())
    return Judgement(check, f"latency at {UNBOUNDED_LOAD:g} over sequential: {found}")


@study.claim(
    "K11",
    figure="9b",
    statement="With 16 entries at 0.85 greedy_r(2) is less than 20 % above sequential",
    paper="≤ 20 %",
)
def two_samples_bounded(evidence: Evidence) -> Judgement:
    """With 16 entries, at 0.85, greedy_r(2) is at most 20 % above sequential."""
    more = _over(evidence.curves("9", panel="b"), "greedy_r(2)", BOUNDED_LOAD)
    return Judgement(below(more, 0.2), f"latency at {BOUNDED_LOAD:g} over sequential: {100 * nominal(more):+.1f} %")


@study.claim(
    "K12",
    figure="9",
    statement="Greedy allocation saturates below 60 % at radix 64, whatever the buffers",
    paper="≤ 0.62",
)
def greedy_saturates(evidence: Evidence) -> Judgement:
    """Greedy accepts 0.62 at most, whatever the buffers."""
    infinite, finite = (evidence.curves("9", panel=panel).saturation(mechanism="greedy") for panel in PANELS)
    text = f"most accepted: infinite buffers {nominal(infinite):.3f}, 16 entries {nominal(finite):.3f}"
    return Judgement(all_of([below(infinite, 0.62), below(finite, 0.62)]), text)


def throughput(warmup: int, cycles: int) -> Document:
    """`[measure]` of runs that look at accepted loads: nothing is drained."""
    return {"warmup": warmup, "cycles": cycles, "count": "delivered", "until": {"max_cycles": cycles}}


def _accepted(stem: str, table: pl.DataFrame, column: str, words: str, title: str, network: str) -> Charts:
    """Accepted loads, a curve for each value of a column."""
    look = Look.of([words.format(value) for value in table[column].unique().sort()])
    named = table.with_columns(curve=pl.format(words, pl.col(column)))
    chart = panel(named, "curve", "load", "accepted_load", look, load_axis(UNIT), ACCEPTED, diagonal=True)
    return {stem: finished(chart, title, notes(table, network, "dashed: accepted = offered"))}


@study.figure(
    "10a",
    title="Greedy allocation by radix",
    caption="Accepted load, packets of 1 flit.",
    parts=("10",),
    table=steady,
)
def radices(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 10a: networks of routers of other radices."""
    found = []
    for radix in reversed(setting.radices):
        measure = throughput(setting.warmup_of(radix), setting.large_cycles)
        network = topology(setting.large, radix)
        labels = {"radix": radix}
        found += runs(setting, seeds, ["greedy"], setting.large_loads, labels, network=network, measure=measure)
    return found


@radices.draw
def _radix_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    network = f"folded Clos, {setting.large:,} nodes, infinite buffers"
    return _accepted("10a", table, "radix", "radix {}", "Figure 10a: greedy allocation by radix", network)


@study.claim(
    "K13",
    figure="10a",
    statement="Greedy allocation of 4,096 nodes: nearly 100 % at radix 4, under 80 % at 16, under 60 % from 32 on",
    paper="≥ 0.95; < 0.80; < 0.60",
)
def greedy_and_radix(evidence: Evidence) -> Judgement:
    """Greedy accepts nearly all (0.95) at radix 4, under 0.80 at 16, under 0.60 from 32 on."""
    curves = evidence.curves("10a")
    accepted = {radix: curves.peak(radix=radix) for radix in curves.values("radix")}
    for radix in (4, 16, 32):
        if radix not in accepted:
            raise NotRunError(f"figure 10a: no run of radix {radix}")
    large = [value for radix, value in accepted.items() if radix >= 32]
    checks = [above(accepted[4], 0.95), below(accepted[16], 0.8, strict=True)]
    checks += [below(value, 0.6, strict=True) for value in large]
    found = ", ".join(f"radix {k} {nominal(value):.3f}" for k, value in accepted.items())
    return Judgement(all_of(checks), f"most accepted: {found}")


@study.figure(
    "10b",
    title="Greedy allocation by packet size",
    caption="Accepted load.",
    parts=("10",),
    table=steady,
)
def sizes(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 10b: packets of several flits."""
    measure = throughput(setting.warmup, setting.cycles)
    found = []
    for flits in setting.sizes:
        found += runs(setting, seeds, ["greedy"], setting.few, {"flits": flits}, flits=flits, measure=measure)
    return found


@sizes.draw
def _size_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    title = "Figure 10b: greedy allocation by packet size"
    return _accepted("10b", table, "flits", "flits: {}", title, f"{note(setting)}, infinite buffers")


@study.claim(
    "K14",
    figure="10b",
    statement="Larger packets raise the throughput of greedy allocation",
    paper="monotone over 1, 2, 4, 8 flits",
)
def greedy_and_size(evidence: Evidence) -> Judgement:
    """Greedy accepts the more, the larger packets are."""
    curves = evidence.curves("10b")
    accepted = {flits: curves.peak(flits=flits) for flits in curves.values("flits")}
    if len(accepted) < 2:
        raise NotRunError("figure 10b: one packet size only")
    check = all_of(above(later, earlier, strict=True) for earlier, later in pairwise(accepted.values()))
    found = ", ".join(f"{n} flits {nominal(value):.3f}" for n, value in accepted.items())
    return Judgement(check, f"most accepted: {found}")


def two_or_more(radix: int, flits: int, load: float) -> float:
    """The probability that two or more heads arrive at the inputs of a router in one cycle (figure 11).

    Each of `radix` inputs receives the head of a packet with probability `load / flits`, independently of the others.
    """
    p = load / flits
    return 1.0 - (1.0 - p) ** radix - radix * p * (1.0 - p) ** (radix - 1)


@study.figure(
    "11",
    title="Two or more heads in one cycle",
    caption="The probability that a router gets two or more heads in one cycle, in closed form.",
)
def arrivals(setting: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
    """Figure 11: no runs."""
    return []


ARRIVALS = ((64, 1), (64, 8), (8, 1))
"""Radix and flits of a packet of the curves of figure 11."""


@arrivals.table
def _arrival_table(labels: pl.DataFrame, done: Done) -> pl.DataFrame:  # noqa: ARG001
    """Figure 11 at 51 loads from 0 to 1, of no run at all."""
    rows = [
        {"radix": radix, "flits": flits, "load": load / 50, "probability": two_or_more(radix, flits, load / 50)}
        for radix, flits in ARRIVALS
        for load in range(51)
    ]
    return pl.DataFrame(rows)


@arrivals.draw
def _arrival_charts(table: pl.DataFrame, setting: Setting) -> Charts:  # noqa: ARG001
    named = table.with_columns(curve=pl.format("radix {}, flits: {}", "radix", "flits"), probability_half=pl.lit(0.0))
    look = Look.of(named["curve"].unique(maintain_order=True).to_list())
    x_title, y_title = load_axis(UNIT), "Probability of two or more heads"
    chart = panel(named, "curve", "load", "probability", look, x_title, y_title, dots=False, domain=(0.0, 1.0))
    return {"11": finished(chart, "Figure 11: two or more packets arrive in one cycle", ["closed form"])}


@study.claim(
    "K15",
    figure="11",
    statement="The probability of two or more heads in one cycle at radix 64 with 8 flits is as at radix 8 with 1 flit",
    paper="curves within 0.1, equal to the closed form",
)
def probability(evidence: Evidence) -> Judgement:
    """Radix 64 with packets of 8 flits is as radix 8 with packets of one, within 0.1; both are the closed form."""
    table = evidence.table("11")
    curves = {}
    for radix, flits in ARRIVALS:
        rows = table.filter(pl.col("radix") == radix, pl.col("flits") == flits).sort("load")
        if rows.is_empty():
            raise NotRunError(f"figure 11: no curve of radix {radix} and {flits} flits")
        curves[radix, flits] = rows["probability"].to_list()
        expected = [two_or_more(radix, flits, load) for load in rows["load"]]
        if any(abs(a - b) > 1e-9 for a, b in zip(curves[radix, flits], expected, strict=True)):
            return Judgement(exact(False), f"radix {radix}, {flits} flits: not the closed form")
    apart = max(abs(a - b) for a, b in zip(curves[64, 8], curves[8, 1], strict=True))
    most = curves[64, 1][len(curves[64, 1]) // 4]
    return Judgement(
        exact(apart <= 0.1), f"at most {apart:.3f} apart", f"radix 64, 1 flit: {most:.3f} at a load of 0.24"
    )


SAMPLED = {"sequential_r(2)": "sequential_r(n)", "greedy_r(2)": "greedy_r(n)"}
"""What figure 12 calls the allocations whose number of samples it varies."""


@study.figure(
    "12",
    title="The number of samples",
    caption=f"Mean latency at a load of {HISTOGRAM_LOAD:g}, infinite buffers.",
    table=steady,
)
def samples(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 12: sequential allocation, which samples all outputs, is the lower bound."""
    found = runs(setting, seeds, [ADAPTIVE], [HISTOGRAM_LOAD], {"samples": setting.half})
    for algorithm, name in SAMPLED.items():
        for n in setting.samples:
            cases = runs(setting, seeds, [algorithm], [HISTOGRAM_LOAD], {"samples": n}, samples=n)
            found += [Case({**case.labels, "mechanism": name}, case.scenario) for case in cases]
    return found


@samples.draw
def _sample_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    line = table.filter(pl.col("mechanism") == ADAPTIVE)
    lowest = pl.concat([line.with_columns(samples=pl.lit(n, pl.Int64)) for n in (1, setting.half)])
    rows = pl.concat([table.filter(pl.col("mechanism") != ADAPTIVE), lowest])
    look = Look.of([*SAMPLED.values(), ADAPTIVE])
    chart = panel(rows, "mechanism", "samples", "latency_mean", look, "Samples n", LATENCY, clip=True)
    network = f"{note(setting)}, wc-UR, offered load {HISTOGRAM_LOAD:g}, infinite buffers"
    lines = notes(table, network, "▲ the curve goes on above: saturated")
    return {"12": finished(chart, "Figure 12: number of samples", lines)}


@study.claim(
    "K16",
    figure="12",
    statement="At 0.9, n from 1 to 2 lowers greedy_r by about 10 % and sequential_r by over 20 %; up to 32 "
    "sequential_r gains under 10 % more, greedy_r gets worse and unstable",
    paper="5 to 20 %; > 20 %; < 10 %; above n = 2 or saturated",
)
def more_samples(evidence: Evidence) -> Judgement:
    """What a second sample and all further ones gain.

    n from 1 to 2 lowers greedy_r by 5 to 20 % and sequential_r by over 20 %; n from 2 to the most gains sequential_r
    under 10 %; greedy_r with the most samples is worse than with 2, or saturated.
    """
    curves = evidence.curves("12")

    def latency(name: str, n: int) -> Value:
        return curves.latency(mechanism=name, samples=n)

    numbers = curves.values("samples", mechanism="greedy_r(n)")
    if not numbers:
        raise NotRunError("figure 12: no run of greedy_r(n)")
    most = max(numbers)
    greedy = 1 - latency("greedy_r(n)", 2) / latency("greedy_r(n)", 1)
    sequential = 1 - latency("sequential_r(n)", 2) / latency("sequential_r(n)", 1)
    further = 1 - latency("sequential_r(n)", most) / latency("sequential_r(n)", 2)
    checks = [between(greedy, 0.05, 0.2), above(sequential, 0.2, strict=True), below(further, 0.1, strict=True)]
    try:
        worse = latency("greedy_r(n)", most) / latency("greedy_r(n)", 2) - 1
        checks.append(above(worse, 0, strict=True))
        last = f"{100 * nominal(worse):+.0f} %"
    except SaturatedError:
        last = "saturated"
    two = f"greedy_r {-100 * nominal(greedy):+.0f} %, sequential_r {-100 * nominal(sequential):+.0f} %"
    return Judgement(
        all_of(checks),
        f"at {HISTOGRAM_LOAD:g}, n 1 to 2: {two}; "
        f"n 2 to {most}: sequential_r {-100 * nominal(further):+.1f} %, greedy_r {last}",
    )
