"""Steady states: accepted load and latency of every mechanism, on each network under each pattern."""

from collections.abc import Sequence

import polars as pl

from phit.drawing.plots import Chart
from phit.studies.contest.networks import Network, network
from phit.studies.contest.question import SLUGS, UNIT, for_each_network, look, pattern, scenario
from phit.studies.contest.setting import ADV, HALF, HOT, Setting, patterns
from phit.studies.kit import tables
from phit.studies.kit.charts import LOAD_MARKS, Charts, beside, finished, latency_and_load, seeds_note
from phit.studies.kit.plan import Case, Done, seeds_of


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The table of steady states, with the share of links that control messages use, and the unfairness."""
    return tables.with_unfairness(tables.with_control(tables.steady(labels, done), labels, done), labels, done)


def cases(name: str, setting: Setting, seeds: int | None) -> list[Case]:
    """Every mechanism of a network under every pattern."""
    on = network(name, setting)
    measure = {"warmup": setting.warmup, "cycles": setting.cycles}
    return [
        Case(
            {"network": name, "mechanism": of.name, "pattern": traffic, "load": load, "seed": seed},
            scenario(on, of, {"pattern": pattern(on, traffic), "load": load}, measure, seed),
        )
        for traffic, loads in setting.loads(name).items()
        for of in on.contestants
        for load in loads
        for seed in seeds_of(seeds, setting.seeds)
    ]


def _charts(name: str, table: pl.DataFrame, setting: Setting) -> Charts:
    """A column for each pattern with a curve; the hot spot is only in the table."""
    on = network(name, setting)
    columns = _columns(on, table, patterns(name))
    stem = f"{SLUGS[name]}-load"
    notes = (
        f"{on.words}, {on.endpoints:,} endpoints; {seeds_note(table)}",
        f"{LOAD_MARKS}; {ADV}: {on.adversary_words}",
    )
    return {stem: finished(beside(*columns), f"All mechanisms on one {name}", notes)}


def _columns(on: Network, table: pl.DataFrame, patterns: Sequence[str]) -> list[Chart]:
    found = [(traffic, table.filter(pl.col("pattern") == traffic)) for traffic in patterns]
    return [
        latency_and_load(rows, "mechanism", look(on), UNIT, title=traffic, width=300)
        for traffic, rows in found
        if rows.height
    ]


for_each_network(
    "-load",
    title="Over the load: {}",
    caption="Mean latency and accepted load against offered load under uniform traffic, under the network's "
    f"adversary, and under random permutations. The table has the {HOT}, too: one endpoint in four sends to a "
    f"single one, all others anywhere, at a load of {HALF:g}.",
    cases=cases,
    table=steady,
    draw=_charts,
)
