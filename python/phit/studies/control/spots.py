"""Many small hot spots at a time, and one that moves before a control has settled."""

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.studies.control.networks import CONTROLS, NONE, SCHEMES, Network, network
from phit.studies.control.question import (
    NAMES,
    UNIFORM,
    VICTIMS,
    Evidence,
    averaged,
    in_order,
    number,
    of_runs,
    scenario,
    study,
    to,
)
from phit.studies.control.setting import TREE, US, Setting
from phit.studies.kit.claim import Judgement
from phit.studies.kit.margin import Check, above, all_of, below
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Value, nominal

FAN_IN = 4
"""Aggressors of each of the many small hot spots."""

MANY = "many"


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each scheme and case.

    `rate`, `mean` and `p99` are the victims' rate in phits/cycle and latencies in cycles, `hot` is the rate of all
    targets together.
    """
    rows = of_runs(labels, done, "flows")
    if rows.is_empty():
        return pl.DataFrame()
    victims = rows.filter(pl.col("flow") == VICTIMS).select(
        "case",
        "mechanism",
        "seed",
        "point",
        rate=pl.col("accepted_rate"),
        mean=pl.col("latency_mean"),
        p99=pl.col("latency_p99"),
    )
    hot = rows.filter(pl.col("flow") != VICTIMS).select("point", hot=pl.col("accepted_rate"))
    found = victims.join(hot, on="point", how="left", maintain_order="left")
    return in_order(averaged(found, ["case", "mechanism"], ("rate", "mean", "p99", "hot")), "mechanism", NAMES)


def small_spots(on: Network) -> list[tuple[int, list[int]]]:
    """One endpoint in sixteen is a target, each with its own aggressors, which are spread over the network."""
    targets = list(range(on.endpoints // 32, on.endpoints, 16))
    others = [endpoint for endpoint in range(on.endpoints) if endpoint not in targets]
    count = len(targets)
    return [
        (target, [others[(i + k * count) % len(others)] for k in range(FAN_IN)]) for i, target in enumerate(targets)
    ]


def _pattern(spots: list[tuple[int, list[int]]]) -> Document:
    parts = [{"endpoints": sources, "pattern": to([target])} for target, sources in spots]
    return {"kind": "by_endpoint", "parts": parts, "background": UNIFORM}


@study.figure(
    "spots",
    title="Many hot spots, and one that moves",
    caption=f"One endpoint in sixteen has {FAN_IN} aggressors of its own. Or a single hot spot moves to another "
    "endpoint again and again. Victims are packets from endpoints that are no aggressors to endpoints that are never a "
    "target.",
    table=steady,
)
def many_and_moving(setting: Setting, seeds: int | None) -> list[Case]:
    """Every scheme on the tree."""
    on = network(TREE, setting)
    found = []
    for seed in seeds_of(seeds, setting.seeds):
        for of in SCHEMES:
            for case, traffic, targets, aggressors in _traffic(setting, on):
                measure = {
                    "warmup": setting.warmup,
                    "cycles": setting.cycles,
                    "flows": [
                        {"name": "hot", "destinations": targets},
                        {"name": "aggressors", "sources": aggressors},
                        {"name": VICTIMS},
                    ],
                }
                labels = {"case": case, "mechanism": of.name, "seed": seed}
                found.append(Case(labels, scenario(on, of, traffic, measure, seed)))
    return found


def _traffic(setting: Setting, on: Network) -> list[tuple[str, Document, list[int], list[int]]]:
    """Each case with its traffic, its targets and its aggressors."""
    spots = small_spots(on)
    targets, sources = [target for target, _ in spots], [source for _, each in spots for source in each]
    cases: list[tuple[str, Document, list[int], list[int]]] = [
        (MANY, {"load": setting.load, "pattern": _pattern(spots)}, targets, sources)
    ]
    aggressors = on.aggressors(setting.fan_ins[0])
    places = [endpoint for endpoint in range(on.endpoints) if endpoint not in aggressors]
    places = places[:: max(1, len(places) // 8)][:8]
    last = setting.warmup + setting.cycles
    for every in setting.moves:
        patterns = [_pattern([(place, aggressors)]) for place in places]
        moves = range(every, last, every)
        changes = [{"cycle": at, "pattern": patterns[k % len(patterns)]} for k, at in enumerate(moves, 1)]
        traffic = {"load": setting.load, "pattern": patterns[0], "changes": changes}
        cases.append((_moving(every), traffic, places, aggressors))
    return cases


def _moving(every: int) -> str:
    return f"moves every {every // US} µs"


@many_and_moving.text
def _text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    blocks = []
    for (case,), rows in table.group_by("case", maintain_order=True):
        lines = [
            [
                row["mechanism"],
                number(row["rate"], "{:.2f}"),
                number(row["mean"], "{:.0f}"),
                number(row["p99"], "{:.0f}"),
                number(row["hot"], "{:.2f}"),
            ]
            for row in rows.iter_rows(named=True)
        ]
        headings = ["scheme", "victims (phits/cycle)", "mean latency", "99th percentile", "targets (phits/cycle)"]
        blocks += [f"**{case[0].upper()}{case[1:]}**", markdown_table(headings, lines)]
    return "\n\n".join(blocks)


@study.claim(
    "G12",
    figure="spots",
    statement="A hot spot that moves fast defeats controls, and isolation follows it",
    paper="if the hot spot moves at the shortest interval, victims have a higher rate with FBICM than with each "
    "control",
)
def moving_spots(evidence: Evidence) -> Judgement:
    """The rate of victims under the fastest moves."""
    curves = evidence.curves("spots", case=_moving(min(evidence.setting.moves)))
    rates: dict[str, Value] = {of: curves.value("rate", mechanism=of) for of in (NONE, "FBICM", *CONTROLS)}
    checks: list[Check] = [above(rates["FBICM"], rates[of], strict=True) for of in CONTROLS]
    return Judgement(all_of(checks), ", ".join(f"{of} {nominal(rate):.2f}" for of, rate in rates.items()))


@study.claim(
    "G13",
    figure="spots",
    statement="Queues by destination modulo a number fail where there are more hot spots than queues",
    paper="with many hot spots the mean latency of victims with DBBM is at least twice that with VOQnet, and with "
    "FBICM it is less",
)
def many_spots(evidence: Evidence) -> Judgement:
    """The latency of victims beside many small hot spots."""
    curves = evidence.curves("spots", case=MANY)
    means = {of: curves.value("mean", mechanism=of) for of in ("VOQnet", "DBBM", "FBICM")}
    checks = [above(means["DBBM"], 2 * means["VOQnet"]), below(means["FBICM"], 2 * means["VOQnet"])]
    return Judgement(all_of(checks), ", ".join(f"{of} {nominal(mean):.0f} cycles" for of, mean in means.items()))
