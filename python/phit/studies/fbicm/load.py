"""Uniform traffic: figure 5.1 (cases #1 and #4), claims F1 and F2."""

import polars as pl

from phit.document import Document
from phit.studies.fbicm.paper import (
    ACCEPTED,
    LOOK,
    SCHEMES,
    Evidence,
    listed,
    named,
    run_networks,
    scenario,
    steady,
    study,
)
from phit.studies.fbicm.setting import Setting
from phit.studies.kit.charts import Charts, beside, finished, panel, seeds_note
from phit.studies.kit.claim import Judgement
from phit.studies.kit.evidence import percent
from phit.studies.kit.margin import Check, above, all_of, between
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import Value, nominal


def uniform(load: float) -> Document:
    """All endpoints send to random destinations; the load is a share of the links."""
    return {"load": load, "pattern": {"kind": "uniform"}}


@study.figure(
    "5.1",
    title="Uniform traffic",
    caption="Throughput against generated traffic, destinations uniform (cases #1 and #4).",
    table=steady,
)
def throughput(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5.1."""
    measure = {"warmup": setting.warmup, "cycles": setting.cycles}
    return [
        Case(
            {"network": net.name, "mechanism": scheme, "load": load, "seed": seed},
            scenario(net, scheme, uniform(load), measure, seed),
        )
        for net in setting.networks
        for scheme in SCHEMES
        for load in setting.loads
        for seed in seeds_of(seeds, setting.seeds)
    ]


@throughput.draw
def _throughput_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    generated = "Generated traffic (share of the links)"
    panels = [
        panel(
            rows,
            "mechanism",
            "load",
            "accepted_load",
            LOOK,
            generated,
            ACCEPTED,
            diagonal=True,
            title=named(setting, net),
        )
        for (net,), rows in table.group_by("network", maintain_order=True)
    ]
    notes = (f"{seeds_note(table, batches=False)}; dashed: everything is delivered",)
    return {"5.1": finished(beside(*panels), "Figure 5.1: uniform traffic", notes)}


@study.claim(
    "F1",
    figure="5.1",
    statement="Uniform traffic: FBICM is at the level of VOQnet",
    paper="within 5 % of VOQnet at each load, in both networks",
)
def level_under_uniform(evidence: Evidence) -> Judgement:
    """FBICM within 5 % of VOQnet at each load."""
    curves = evidence.curves("5.1")
    worst: dict[str, Value] = {}
    checks: list[Check] = []
    for net in run_networks(evidence, "5.1"):
        ratios = [
            curves.accepted(network=net.name, mechanism="FBICM", load=load)
            / curves.accepted(network=net.name, mechanism="VOQnet", load=load)
            for load in evidence.setting.loads
        ]
        worst[net.name] = max(ratios, key=lambda ratio: abs(nominal(ratio) - 1))
        checks += [between(ratio, 0.95, 1.05) for ratio in ratios]
    found = ", ".join(f"{name} {percent([ratio])}" for name, ratio in worst.items())
    return Judgement(all_of(checks), f"largest difference: {found}")


@study.claim(
    "F2",
    figure="5.1",
    statement="Uniform traffic: DBBM is below, the more so at higher load and in the larger network; 1Q is lowest",
    paper="at full load 1Q < DBBM < FBICM; DBBM's gap grows with load and network",
)
def ranking_under_uniform(evidence: Evidence) -> Judgement:
    """1Q < DBBM < FBICM at full load; DBBM's gap grows with load, and with the network."""
    curves = evidence.curves("5.1")
    low, high = evidence.setting.loads[-2:]
    notes: list[str] = []
    gaps: list[Value] = []
    checks: list[Check] = []
    for net in run_networks(evidence, "5.1"):
        before, full = (
            {scheme: curves.accepted(network=net.name, mechanism=scheme, load=load) for scheme in SCHEMES}
            for load in (low, high)
        )
        gap = full["FBICM"] - full["DBBM"]
        checks += [above(full["DBBM"], full["1Q"], strict=True), above(full["FBICM"], full["DBBM"], strict=True)]
        checks.append(above(gap, before["FBICM"] - before["DBBM"], strict=True))
        gaps.append(gap)
        notes.append(f"{net.name}: {listed(full)}")
    if len(gaps) == 1:
        return Judgement(all_of(checks), "; ".join(notes), "one network only, so that its growth is not judged")
    check = all_of([*checks, above(gaps[1], gaps[0], strict=True)])
    return Judgement(check, "; ".join(notes), f"DBBM's gap {nominal(gaps[0]):.3f} and {nominal(gaps[1]):.3f}")
