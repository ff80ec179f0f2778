"""How sensitive controls are to their parameters: a map for each, under the incast of the other figures."""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.studies.control.networks import CONTROLS, network, scheme
from phit.studies.control.question import (
    HOT,
    VICTIMS,
    Evidence,
    averaged,
    flows,
    incast,
    jain,
    number,
    of_runs,
    scenario,
    study,
)
from phit.studies.control.setting import TREE, Setting
from phit.studies.kit.claim import Judgement
from phit.studies.kit.margin import all_of, below
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Value, nominal


@dataclass(frozen=True)
class Axis:
    """Values of a parameter; `also` are parameters that get the same value."""

    key: str
    values: tuple[float, ...]
    also: tuple[str, ...] = ()

    def of(self, value: float) -> Document:
        """The keys with this value."""
        return dict.fromkeys((self.key, *self.also), value)


MAPS: dict[str, tuple[Axis, Axis]] = {
    "InfiniBand": (Axis("threshold", (15, 8, 2)), Axis("ccti_timer", (200, 600, 2000, 6000, 20_000))),
    "DCQCN": (
        Axis("kmax", (1024, 4096, 16_384)),
        Axis("increase_timer", (300, 1000, 3000, 10_000, 34_375), ("alpha_timer", "notification_interval")),
    ),
    "ECN": (Axis("threshold", (256, 1024, 4096)), Axis("timer", (100, 300, 600, 2000, 6000))),
    "QCN": (Axis("set_point", (256, 1024, 4096)), Axis("time_reset", (2000, 8000, 32_000, 128_000))),
    "SMSRP": (Axis("time_to_live", (250, 1000, 4000)), Axis("overhead", (1, 1.05, 1.25, 2))),
    "LHRP": (Axis("threshold", (250, 1000, 4000)), Axis("overhead", (1, 1.05, 1.25, 2))),
}
"""Two parameters of each control: when routers mark, and how soon a source sends faster again; when routers drop, and
how much more time than its packets need a source reserves."""


def measured(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each pair of values.

    `rate` is the rate of victims relative to their offered rate, `hot` the use of the hot link, `jain` Jain's index of
    the aggressors.
    """
    rows = of_runs(labels, done, "flows")
    if rows.is_empty():
        return pl.DataFrame()
    keys = ["mechanism", "first", "second"]
    runs = []
    for of, found in rows.group_by([*keys, "seed", "point", "offered"], maintain_order=True):
        named: dict[str, Any] = dict(zip((*keys, "seed", "point", "offered"), of, strict=True))
        rates = dict(found.select("flow", "accepted_rate").iter_rows())
        victims = rates.pop(VICTIMS)
        hot = sum(rates.values())
        rates.pop(HOT)
        runs.append({**named, "rate": victims / named["offered"], "hot": hot, "jain": jain(list(rates.values()))})
    return averaged(pl.DataFrame(runs, infer_schema_length=None), keys, ("rate", "hot", "jain"))


@study.figure(
    "tuning",
    title="Parameters of the controls",
    caption="Two parameters of each control under the smaller incast on the fat tree: when routers mark or drop, and "
    "how soon sources send again. Each cell has the rate of victims relative to what they offer, and the use of the "
    "hot link.",
    table=measured,
)
def maps(setting: Setting, seeds: int | None) -> list[Case]:
    """Every pair of values of every control."""
    on = network(TREE, setting)
    sources = on.aggressors(setting.fan_ins[0])
    traffic = {"load": setting.load, "pattern": incast(on, sources)}
    measure = {"warmup": setting.warmup, "cycles": setting.cycles, "histogram": False, "flows": flows(on, sources)}
    # The offered rate of victims. Endpoints that are no aggressors send to all endpoints, the target included.
    others = on.endpoints - len(sources)
    offered = setting.load * (others - (others - 1) / (on.endpoints - 1))
    found = []
    for name, (first, second) in MAPS.items():
        of = scheme(name)
        for one in first.values:
            for other in second.values:
                varied = replace(of, congestion={**(of.congestion or {}), **first.of(one), **second.of(other)})
                for seed in seeds_of(seeds, setting.seeds):
                    labels = {"mechanism": name, "first": one, "second": other, "offered": offered, "seed": seed}
                    found.append(Case(labels, scenario(on, varied, traffic, measure, seed)))
    return found


@maps.text
def _text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    blocks = []
    for name, (first, second) in MAPS.items():
        rows = table.filter(pl.col("mechanism") == name)
        if rows.is_empty():
            continue
        cells = {
            (row["first"], row["second"]): f"{number(row['rate'], '{:.2f}')}, {number(row['hot'], '{:.2f}')}"
            for row in rows.iter_rows(named=True)
        }
        lines = [[f"`{one}`", *(cells.get((one, other), "") for other in second.values)] for one in first.values]
        headings = [f"`{first.key}` \\ `{second.key}`", *(f"`{value}`" for value in second.values)]
        blocks += [f"**{name}**", markdown_table(headings, lines)]
    return "\n\n".join(blocks)


@study.claim(
    "G16",
    figure="tuning",
    statement="A control with unsuitable parameters fails",
    paper="for every control some pair of values loses a tenth of the victims' rate or of the hot link, or more",
)
def parameters_matter(evidence: Evidence) -> Judgement:
    """The worst pair of values of each control."""
    curves = evidence.curves("tuning")
    found: dict[str, Value] = {}
    for of in CONTROLS:
        first, second = MAPS[of]
        pairs = [{"first": one, "second": other} for one in first.values for other in second.values]
        values = [curves.value(column, mechanism=of, **pair) for column in ("rate", "hot") for pair in pairs]
        found[of] = min(values, key=nominal)
    words = ", ".join(f"{of} {nominal(value):.2f}" for of, value in found.items())
    return Judgement(all_of(below(value, 0.9) for value in found.values()), f"worst: {words}")
