"""Changes of traffic: uniform traffic becomes the network's adversary, and every mechanism adapts."""

import polars as pl

from phit.studies.contest.networks import network
from phit.studies.contest.question import SLUGS, UNIFORM, for_each_network, look, pattern, scenario
from phit.studies.contest.setting import ADV, UN, Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import LATENCY, Charts, finished, panel, rule
from phit.studies.kit.plan import Case, seeds_of

SEEN = 16
"""The rule for adaptation times was settled on runs with seeds 1 to 16; the runs that it judges have other seeds."""


def cases(name: str, setting: Setting, seeds: int | None) -> list[Case]:
    """Every mechanism of a network, while uniform traffic becomes its adversary."""
    on = network(name, setting)
    load, change = setting.change_load[name], setting.settle + setting.before
    traffic = {"pattern": UNIFORM, "load": load, "changes": [{"cycle": change, "pattern": pattern(on, ADV)}]}
    measure = {
        "warmup": setting.settle,
        "cycles": setting.before + setting.after,
        "count": "generated",
        # A mechanism that does not adapt never delivers all packets; those generated before the recording ends suffice.
        "max_drain": setting.after,
        "series": {"by": "generation", "bin": setting.bin},
    }
    return [
        Case(
            {"network": name, "mechanism": of.name, "load": load, "change": change, "seed": seed},
            scenario(on, of, traffic, measure, seed),
        )
        for of in on.contestants
        for seed in (SEEN + each for each in seeds_of(seeds, setting.change_seeds))
    ]


SHOWN = 2000
"""Cycles after the change that charts show."""


def _charts(name: str, table: pl.DataFrame, setting: Setting) -> Charts:
    on = network(name, setting)
    left, right = -setting.before, min(setting.after, SHOWN)
    shown = table.filter(pl.col("t").is_between(left, right))
    lowest = float(min(shown["latency_mean"], default=1.0))
    lines = panel(
        shown,
        "mechanism",
        "t",
        "latency_mean",
        look(on),
        "Cycle of generation, from the change of traffic",
        LATENCY,
        dots=False,
        clip=True,
        top=8 * lowest,
        width=560,
        height=320,
        domain=(left, right),
    )
    seeds = max(table["seeds"])
    load = setting.change_load[name]
    notes = (
        f"{on.words}; {UN} becomes {ADV} at 0, load {load:g}; {seeds} seed{'s' * (seeds > 1)}",
        f"bins of {setting.bin} cycles, no other smoothing; ▲ goes on above",
    )
    return {f"{SLUGS[name]}-change": finished(rule(lines, 0), f"A change of traffic on one {name}", notes)}


for_each_network(
    "-change",
    title="A change of traffic: {}",
    caption="Mean latency by cycle of generation after uniform traffic has become the network's adversary. How a "
    f"time of adaptation is read off was settled on runs of seeds 1 to {SEEN}; the seeds here are others.",
    cases=cases,
    table=tables.transient,
    draw=_charts,
)
