"""The price of protection: uniform traffic, where no packet needs it."""

import polars as pl

from phit.studies.control.networks import CONTROLS, NONE, SCHEMES, TOGETHER, network
from phit.studies.control.question import LOOK, UNIFORM, Evidence, describe, scenario, study
from phit.studies.control.setting import TREE, Setting
from phit.studies.kit.charts import LOAD_MARKS, Charts, finished, latency_and_load, seeds_note
from phit.studies.kit.claim import Judgement
from phit.studies.kit.margin import above, all_of
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import nominal


@study.figure(
    "price",
    title="Uniform traffic",
    caption="Mean latency and accepted load against offered load on the fat tree.",
)
def uniform(setting: Setting, seeds: int | None) -> list[Case]:
    """Every scheme on the tree at every load."""
    on = network(TREE, setting)
    measure = {"warmup": setting.warmup // 4, "cycles": setting.cycles // 4, "histogram": False}
    return [
        Case(
            {"mechanism": of.name, "load": load, "seed": seed},
            scenario(on, of, {"load": load, "pattern": UNIFORM}, measure, seed),
        )
        for of in SCHEMES
        for load in setting.loads
        for seed in seeds_of(seeds, setting.seeds)
    ]


@uniform.draw
def _charts(table: pl.DataFrame, setting: Setting) -> Charts:
    notes = (f"{describe(setting).split(', ')[0]}; {seeds_note(table)}", LOAD_MARKS)
    chart = latency_and_load(table, "mechanism", LOOK, "phits/(endpoint·cycle)", width=460)
    return {"price": finished(chart, "The price of protection under uniform traffic", notes)}


@study.claim(
    "G14",
    figure="price",
    statement="Where nothing needs protection, it costs nothing",
    paper="under uniform traffic the largest accepted load of every scheme is at least 0.98 of that of one queue "
    "without control",
)
def costs_nothing(evidence: Evidence) -> Judgement:
    """The largest accepted load under uniform traffic."""
    curves = evidence.curves("price")
    plain = curves.peak(mechanism=NONE)
    ratios = {of: curves.peak(mechanism=of) / plain for of in (*CONTROLS, "FBICM", *TOGETHER)}
    words = ", ".join(f"{of} {nominal(ratio):.2f}" for of, ratio in ratios.items())
    return Judgement(all_of(above(ratio, 0.98) for ratio in ratios.values()), words)
