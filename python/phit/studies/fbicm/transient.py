"""Throughput over time: hot spots that come and go, and bursts of I/O (figures 5.2 to 5.4, claims F3 to F7)."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from phit.document import Document
from phit.drawing.plots import Chart
from phit.studies.fbicm.paper import ACCEPTED, LOOK, SCHEMES, Evidence, listed, named, run_networks, scenario, study
from phit.studies.fbicm.setting import US, Network, Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import Charts, Look, beside, finished, panel, rule, seeds_note
from phit.studies.kit.claim import Judgement
from phit.studies.kit.evidence import Responses, percent
from phit.studies.kit.margin import Check, above, all_of, below, between
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Value, nominal

Spot = Callable[[Network, tuple[int, int]], Document]
"""`[traffic]` of a case of table 5.2 in a network, with a hot spot between two cycles."""


def spread_sources(network: Network) -> list[int]:
    """A quarter of the endpoints, one of each leaf switch (or two, where the target is in the way)."""
    last = [e for e in range(network.endpoints) if e % network.arity == network.arity - 1 and e != network.target]
    count = network.endpoints // 4
    others = [e for e in range(network.endpoints) if e not in last and e != network.target]
    return sorted((last + others)[:count])


def crowded_sources(network: Network) -> list[int]:
    """A quarter of the endpoints, all but one of as few leaf switches as hold them, spread over the network."""
    count, each = network.endpoints // 4, network.arity - 1
    leaves = network.endpoints // network.arity
    needed = -(-count // each)
    chosen = [leaves * i // needed for i in range(needed)]
    return [leaf * network.arity + i for leaf in chosen for i in range(each)][:count]


def shared_destinations(network: Network) -> list[int]:
    """All destinations to which a leaf switch sends over one and the same link upwards: those with last digit 0."""
    return list(range(0, network.endpoints, network.arity))


def spot(sources: list[int], targets: list[int], hot: tuple[int, int]) -> Document:
    """Sources that send to targets with 100 % of their links while the hot spot is there, and are silent otherwise."""
    quiet = {"kind": "by_endpoint", "background": {"kind": "uniform"}, "parts": [{"endpoints": sources}]}
    pattern = {"kind": "hotspot", "targets": targets, "share": 1.0}
    loud = {**quiet, "parts": [{"endpoints": sources, "pattern": pattern}]}
    changes = [{"cycle": hot[0], "pattern": loud}, {"cycle": hot[1], "pattern": quiet}]
    return {"load": 1.0, "pattern": quiet, "changes": changes}


def single(network: Network, hot: tuple[int, int]) -> Document:
    """Cases #2 and #5: one destination."""
    return spot(spread_sources(network), [network.target], hot)


def multiple(network: Network, hot: tuple[int, int]) -> Document:
    """Cases #3 and #6: destinations behind one link.

    In a tree with balanced tables, a downward link has one destination behind it. So only upward links can be congested
    by several destinations. Here these are the first upward links of some leaf switches: three of the four endpoints of
    each switch send to all destinations behind its link.
    """
    return spot(crowded_sources(network), shared_destinations(network), hot)


def recorded(setting: Setting, cycles: int) -> Document:
    """`[measure]` of a run over time."""
    return {"warmup": 0, "cycles": cycles, "series": {"by": "window", "bin": setting.bin}}


def over_time(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per case and bin: `t` in microseconds, accepted load as a share of the links, mean over seeds."""
    keys = [c for c in labels.columns if c not in ("seed", "point")]
    if labels.is_empty() or done.series.is_empty() or "accepted_load" not in done.series.columns:
        return pl.DataFrame()
    order = tables.runs(labels, done).select("point", "out_of_order")
    found = labels.join(done.series.select("point", "cycle", "accepted_load"), on="point", how="inner")
    found = found.join(order, on="point", how="left").with_columns(t=pl.col("cycle").cast(pl.Float64) / US)
    if found.is_empty():
        return pl.DataFrame()
    table = found.group_by([*keys, "t"], maintain_order=True).agg(
        pl.len().alias("seeds"),
        *tables.over_seeds("accepted_load"),
        pl.col("out_of_order").sum(),
        tables.of_runs,
    )
    return table.with_columns(tables.half_widths("accepted_load")).sort([*keys, "t"], maintain_order=True)


def lines(rows: pl.DataFrame, curves: Look = LOOK, **look: Any) -> Chart:
    """A panel of throughput over time; `curves` are colours and marks, `look` is as in `panel`."""
    return panel(rows, "mechanism", "t", "accepted_load", curves, "Time (µs)", ACCEPTED, dots=False, **look)


def _runs(setting: Setting, seeds: int | None, spots: Spot, end: Callable[[Network], int]) -> list[Case]:
    """The runs of figures 5.2 and 5.3: `end` says how many cycles they have in a network."""
    return [
        Case(
            {"network": net.name, "mechanism": scheme, "seed": seed},
            scenario(net, scheme, spots(net, setting.hot), recorded(setting, end(net)), seed),
        )
        for net in setting.networks
        for scheme in SCHEMES
        for seed in seeds_of(seeds, setting.seeds)
    ]


def _charts(stem: str, title: str, table: pl.DataFrame, setting: Setting) -> Charts:
    """From half the hot spot's time before it; it begins and ends at dashed lines."""
    begin, end = setting.window
    left = begin - (end - begin) / 2
    panels = []
    for (net,), rows in table.filter(pl.col("t") >= left).group_by("network", maintain_order=True):
        domain = (max(0.0, left), max(rows["t"]) + setting.bin / US)
        panels.append(rule(rule(lines(rows, domain=domain, title=named(setting, net), ticks=6), begin), end))
    seeds = seeds_note(table, batches=False)
    notes = (
        f"{seeds}; bins of {setting.bin / US:g} µs; a quarter of the sources is silent otherwise",
        f"dashed: the hot spot begins and ends, {begin:g} and {end:g} µs",
    )
    return {stem: finished(beside(*panels), f"Figure {stem}: {title}", notes)}


BEFORE = 200
"""Microseconds before the hot spot whose mean throughput is that from which it falls."""


def _before(evidence: Evidence, responses: Responses, scheme: str) -> Value:
    begin, _ = evidence.setting.window
    return responses.mean(scheme, max(0, begin - BEFORE), begin, "accepted_load")


def _in_window(evidence: Evidence, responses: Responses) -> dict[str, Value]:
    """Mean throughput of each scheme while the hot spot is there."""
    return {scheme: responses.mean(scheme, *evidence.setting.window, "accepted_load") for scheme in SCHEMES}


def _level(evidence: Evidence, figure: str, within: float) -> Judgement:
    """FBICM within a share of VOQnet while the hot spot is there."""
    found = {
        net.name: _in_window(evidence, evidence.responses(figure, network=net.name))
        for net in run_networks(evidence, figure)
    }
    ratios = {name: loads["FBICM"] / loads["VOQnet"] for name, loads in found.items()}
    words = ", ".join(f"{name} {percent([ratio])}" for name, ratio in ratios.items())
    note = "; ".join(f"{name}: {listed(loads)}" for name, loads in found.items())
    check = all_of(between(ratio, 1 - within, 1 + within) for ratio in ratios.values())
    return Judgement(check, f"FBICM to VOQnet: {words}", note)


@study.figure(
    "5.2",
    title="Single hot spot",
    caption="Throughput over time; a quarter of the sources sends to one endpoint for a while (cases #2 and #5).",
    table=over_time,
)
def single_hot_spot(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.2."""
    return _runs(setting, seeds, single, lambda net: net.end)


@single_hot_spot.draw
def _single_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    return _charts("5.2", "single hot spot", table, setting)


@study.claim(
    "F3",
    figure="5.2",
    statement="Single hot spot: FBICM holds at the level of VOQnet while congestion lasts",
    paper="mean throughput while the hot spot is there within 5 % of VOQnet",
)
def level_under_single(evidence: Evidence) -> Judgement:
    """FBICM within 5 % of VOQnet while the hot spot is there."""
    return _level(evidence, "5.2", 0.05)


HALVES = (0.55, 0.75)
"""Where DBBM may end up; the report says about 0.65."""


@study.claim(
    "F4",
    figure="5.2",
    statement="VOQsw and DBBM drop when congestion arises; DBBM, to about 65 %, half as much as VOQsw",
    paper="VOQsw < DBBM < FBICM while the hot spot is there; DBBM 0.55 to 0.75",
)
def fall(evidence: Evidence) -> Judgement:
    """VOQsw < DBBM < FBICM while the hot spot is there, and DBBM between 0.55 and 0.75."""
    checks, notes = [], []
    for net in run_networks(evidence, "5.2"):
        responses = evidence.responses("5.2", network=net.name)
        loads = _in_window(evidence, responses)
        falls = {scheme: _before(evidence, responses, scheme) - loads[scheme] for scheme in ("DBBM", "VOQsw")}
        checks += [below(loads[a], loads[b], strict=True) for a, b in (("VOQsw", "DBBM"), ("DBBM", "FBICM"))]
        checks.append(between(loads["DBBM"], *HALVES))
        notes.append(f"{net.name}: {listed(loads)}; falls of {listed(falls)}")
    return Judgement(all_of(checks), "; ".join(notes))


RECOVERED = 0.9
"""Share of the throughput before the hot spot at which a scheme counts as recovered."""


def _recovery(evidence: Evidence, responses: Responses, scheme: str) -> Value:
    """Microseconds from the end of the hot spot until the throughput is at 90 % of that before, for good."""
    begin, end = evidence.setting.window
    width = evidence.setting.bin / US

    def recovery(times: Sequence[float], loads: Sequence[float]) -> float:
        both = list(zip(times, loads, strict=True))
        level = RECOVERED * fmean(load for t, load in both if max(0, begin - BEFORE) <= t < begin)
        low = [t for t, load in both if t >= end and load < level]
        # The last bin may be cut off.
        return max(0.0, low[-1] - end + width) if low else 0.0

    return responses.of_mean(recovery, scheme, "accepted_load", what="recovery", resolution=width)


@study.claim(
    "F5",
    figure="5.2",
    statement="One queue is poor and recovers very slowly",
    paper="lowest while the hot spot is there; longest time until 90 % of the throughput before",
)
def slow_recovery(evidence: Evidence) -> Judgement:
    """One queue is the lowest while the hot spot is there and takes the longest to recover."""
    checks: list[Check] = []
    notes = []
    for net in run_networks(evidence, "5.2"):
        responses = evidence.responses("5.2", network=net.name)
        loads = _in_window(evidence, responses)
        times = {scheme: _recovery(evidence, responses, scheme) for scheme in SCHEMES}
        others = [scheme for scheme in SCHEMES if scheme != "1Q"]
        checks += [below(loads["1Q"], loads[scheme], strict=True) for scheme in others]
        checks += [above(times["1Q"], times[scheme], strict=True) for scheme in others]
        words = ", ".join(f"{scheme} {nominal(time):.0f}" for scheme, time in times.items())
        notes.append(f"{net.name}: 1Q at {nominal(loads['1Q']):.3f}; microseconds to recover: {words}")
    return Judgement(all_of(checks), "; ".join(notes))


@study.figure(
    "5.3",
    title="Several hot destinations",
    caption="A hot spot whose destinations are all behind one link upwards of each of some leaf switches (cases #3 "
    "and #6).",
    table=over_time,
)
def several_hot_spots(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.3: nobody asks for how long recovery takes."""
    begin, end = setting.hot
    return _runs(setting, seeds, multiple, lambda _: 2 * end - begin)


@several_hot_spots.draw
def _several_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    return _charts("5.3", "several hot destinations", table, setting)


@study.claim(
    "F6",
    figure="5.3",
    statement="Several hot destinations behind one internal point, more than a list holds: FBICM still at VOQnet's "
    "level",
    paper="within 7 % of VOQnet",
)
def level_under_multiple(evidence: Evidence) -> Judgement:
    """FBICM within 7 % of VOQnet while the hot spots are there."""
    return _level(evidence, "5.3", 0.07)
