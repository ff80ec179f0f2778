"""Table I: the throughput of a switch with one queue per input, and claims H1 and H2 about it."""

from itertools import pairwise
from math import sqrt

import polars as pl
from phit.studies.kit.charts import Charts, Look, finished, panel, seeds_note
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.evidence import percent
from phit.studies.kit.margin import all_of, below, between
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import nominal

from .paper import Evidence, Setting, network, study

TABLE_I = {2: 0.7500, 3: 0.6825, 4: 0.6553, 5: 0.6399, 6: 0.6302, 7: 0.6234, 8: 0.6184}
"""Accepted load in phits/(endpoint·cycle) by the number of inputs."""

LIMIT = 2 - sqrt(2)
"""The throughput with infinitely many inputs."""

MANY = 32
"""Inputs from which on the limit should be near."""


@study.figure(
    "I",
    title="Table I: the accepted load by the number of inputs",
    caption="What is accepted of a full load: heads of queues that wait for the same output hold up those behind them.",
    is_table=True,
)
def saturation(setting: Setting, seeds: int | None) -> list[Case]:
    """One run for each number of inputs and seed."""
    return [
        Case(
            {"inputs": inputs, "load": 1.0, "seed": seed},
            {
                **network(setting),
                "seed": seed,
                "topology": {"kind": "single", "endpoints": inputs},
                "traffic": {"pattern": {"kind": "uniform", "include_self": True}, "load": 1.0, "packet_size": 1},
                "measure": {"warmup": setting.warmup, "cycles": setting.cycles},
            },
        )
        for inputs in setting.inputs
        for seed in seeds_of(seeds, setting.seeds)
    ]


@saturation.draw
def _charts(table: pl.DataFrame, setting: Setting) -> Charts:  # noqa: ARG001
    measured = table.select("inputs", "accepted_load", "accepted_load_half", curve=pl.lit("Phit"))
    rows = {"inputs": list(TABLE_I), "accepted_load": list(TABLE_I.values())}
    paper = pl.DataFrame(rows).with_columns(accepted_load_half=pl.lit(0.0), curve=pl.lit("table I"))
    look = Look.of(("Phit", "table I"))
    both = pl.concat([measured, paper])
    chart = panel(both, "curve", "inputs", "accepted_load", look, "Inputs", "Accepted load (phits/(endpoint·cycle))")
    return {"I": finished(chart, "Table I: input queueing", [seeds_note(table)])}


@study.claim("H1", figure="table I", statement="The accepted load of 2 to 8 inputs", paper="each within 1 %")
def small_switches(evidence: Evidence) -> Judgement:
    """Every number of the table that was run within 1 %."""
    curves = evidence.curves("I")
    found = [curves.accepted(inputs=n) / TABLE_I[n] for n in curves.values("inputs") if n in TABLE_I]
    if not found:
        raise NotRunError("no switch of 2 to 8 inputs was run")
    check = all_of(between(ratio, 0.99, 1.01) for ratio in found)
    return Judgement(check, f"{len(found)} switches: {percent(found)}")


@study.claim(
    "H2",
    figure="table I",
    statement="With many inputs head-of-line blocking leaves 2 - √2 of the load",
    paper=f"falling with the number of inputs, at {MANY} or more within 2 % of {LIMIT:.4f}",
)
def many_inputs(evidence: Evidence) -> Judgement:
    """Less for every larger switch, and at the largest within 2 % of the limit."""
    curves = evidence.curves("I")
    inputs = curves.values("inputs")
    if inputs[-1] < MANY:
        raise NotRunError(f"no switch of {MANY} inputs or more was run")
    accepted = [curves.accepted(inputs=n) for n in inputs]
    falling = [below(after, before, strict=True) for before, after in pairwise(accepted)]
    near = between(accepted[-1] / LIMIT, 0.98, 1.02)
    return Judgement(all_of([*falling, near]), f"{nominal(accepted[-1]):.4f} accepted by {inputs[-1]} inputs")
