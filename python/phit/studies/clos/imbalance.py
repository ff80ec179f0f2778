"""Where load does not spread by itself: half of the traffic deterministic (figure 7a), faulty links (figure 7b).

Claims K8 and K9 (sections 3.2.3 and 3.2.4).
"""

import polars as pl

from phit.studies.clos.paper import (
    ADAPTIVE,
    COMPARED,
    FULL,
    LOOK,
    OBLIVIOUS,
    UNIT,
    Evidence,
    bounds,
    faulty,
    faulty_note,
    note,
    notes,
    runs,
    steady,
    study,
)
from phit.studies.clos.setting import BUFFER, Setting
from phit.studies.kit.charts import LOAD_MARKS, Charts, finished, latency_and_load
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.margin import above, all_of, below, between
from phit.studies.kit.plan import Case
from phit.studies.kit.uncertain import nominal


@study.figure(
    "7a",
    title="Half of the traffic deterministic",
    caption="Node i sends to i + k; half of the packets take the way of their source and destination.",
    parts=("7",),
    table=steady,
)
def deterministic(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 7a: node i sends to i + k, k the radix."""
    return runs(
        setting,
        seeds,
        COMPARED,
        setting.loads,
        {},
        pattern={"kind": "shift", "offset": setting.radix},
        deterministic_share=0.5,
        deterministic_by="sum",
        buffer=BUFFER,
    )


@deterministic.draw
def _deterministic_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    chart = latency_and_load(table, "mechanism", LOOK, UNIT)
    network = f"{note(setting)}, buffers of {BUFFER} entries"
    lines = notes(table, network, f"node i sends to i + {setting.radix}", LOAD_MARKS)
    return {"7a": finished(chart, "Figure 7a: half of the traffic deterministic", lines)}


@study.claim(
    "K8",
    figure="7a",
    statement="With half the traffic deterministic oblivious routing stays below 70 % throughput, adaptive reaches "
    "100 %",
    paper="≤ 0.72; ≥ 0.97",
)
def deterministic_half(evidence: Evidence) -> Judgement:
    """Oblivious accepts 0.72 at most where adaptive accepts 0.97 or more."""
    curves = evidence.curves("7a")
    accepted = {name: curves.accepted(mechanism=name, load=FULL) for name in COMPARED}
    at = {name: evidence.saturation_load("7a", mechanism=name) for name in COMPARED}
    check = all_of([below(accepted[OBLIVIOUS], 0.72), above(accepted[ADAPTIVE], 0.97)])
    text = ", ".join(f"{name} {nominal(value):.3f}" for name, value in accepted.items())
    loads = ", ".join(f"{name} {nominal(load):g}" for name, load in at.items())
    return Judgement(check, f"accepted at {FULL:g}: {text}", f"highest load that is not saturated: {loads}")


@study.figure(
    "7b",
    title="Faulty links",
    caption="wc-UR with faulty links between the first and the middle stage, all of them of two middle-stage routers.",
    parts=("7",),
    table=steady,
)
def with_faults(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 7b."""
    return runs(setting, seeds, COMPARED, setting.fault_loads, {}, buffer=BUFFER, **faulty(setting))


@with_faults.draw
def _fault_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    most = bounds(setting)
    chart = latency_and_load(table, "mechanism", LOOK, UNIT)
    first_full = (
        f"first link full: adaptive at {most['adaptive']:.3f}, oblivious at {most['next']:.3f} (next link), "
        f"{most['uniform']:.3f} (drawn again)"
    )
    lines = notes(table, faulty_note(setting), first_full, LOAD_MARKS)
    return {"7b": finished(chart, "Figure 7b: faulty links", lines)}


@study.claim(
    "K9",
    figure="7b",
    statement="With 16 of 1,024 links faulty adaptive routing has about twice the throughput",
    paper="1.7 to 2.3 times",
)
def faulty_links(evidence: Evidence) -> Judgement:
    """Adaptive saturates at 1.7 to 2.3 times the load at which oblivious does."""
    curves = evidence.curves("7b")
    if curves.loads(mechanism=OBLIVIOUS) != curves.loads(mechanism=ADAPTIVE):
        raise NotRunError("figure 7b: the curves are not of the same loads")
    at = {name: evidence.saturation_load("7b", mechanism=name) for name in COMPARED}
    gain = at[ADAPTIVE] / at[OBLIVIOUS]
    most = bounds(evidence.setting)
    found = ", ".join(f"{name} {nominal(load):g}" for name, load in at.items())
    return Judgement(
        between(gain, 1.7, 2.3),
        f"highest load that is not saturated: {found}, {nominal(gain):.2f} times",
        f"bounds: adaptive {most['adaptive']:.3f} (linear program), oblivious {most['next']:.3f}",
    )
