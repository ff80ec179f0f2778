"""FBICM with adaptive routing, which the report leaves out: isolation and path diversity at once."""

from math import isnan

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.studies.fbicm.paper import named, scenario, study
from phit.studies.fbicm.setting import US, Setting
from phit.studies.fbicm.transient import lines, over_time, recorded, single
from phit.studies.kit.charts import Charts, Look, beside, finished, rule, seeds_note
from phit.studies.kit.evidence import Responses
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import Value, Z, error, nominal

TABLES: Document = {"kind": "table"}

ADAPTIVE: Document = {"kind": "table", "adaptive": True}
"""Packets that are not isolated take any way up; isolated ones keep to the tables."""

VARIANTS: dict[str, tuple[str, Document]] = {
    "1Q, tables": ("1Q", TABLES),
    "1Q, adaptive": ("1Q", ADAPTIVE),
    "VOQsw, adaptive": ("VOQsw", ADAPTIVE),
    "FBICM, tables": ("FBICM", TABLES),
    "FBICM, adaptive": ("FBICM", ADAPTIVE),
}
"""Scheme and routing."""

BOTH, ISOLATED, DIVERSE = "FBICM, adaptive", "FBICM, tables", "1Q, adaptive"

HOT, CONFLICTS = "hot spot", "conflicts"
"""A hot spot beside uniform traffic (case #2); a permutation whose packets conflict on the way up by the tables."""

OFFERED = 0.8
"""Load of the permutation, as a share of the links."""


def _traffic(setting: Setting, case: str) -> Document:
    """`[traffic]`: both are there from the first to the last cycle of the hot spot of the scan."""
    if case == HOT:
        return single(setting.networks[0], setting.scan_hot)
    first, last = setting.scan_hot
    changes = [{"cycle": first, "pattern": {"kind": "bit_reverse"}}, {"cycle": last, "pattern": {"kind": "uniform"}}]
    return {"load": OFFERED, "pattern": {"kind": "uniform"}, "changes": changes}


@study.figure(
    "adaptive",
    title="Beyond the report: adaptive routing",
    caption="FBICM over tables and over adaptive ways up, beside queues that isolate nothing. The traffic is a hot "
    "spot, and a permutation (bit reverse) whose packets meet on few ways up if they keep to the tables. "
    "Packets that have several ways are isolated only if all of them are held back. Isolated packets keep "
    "to the tables.",
    table=over_time,
)
def adaptive(setting: Setting, seeds: int | None) -> list[Case]:
    """Every scheme and routing in both cases."""
    net = setting.networks[0]
    return [
        Case(
            {"network": net.name, "mechanism": name, "case": case, "seed": seed},
            scenario(net, scheme, _traffic(setting, case), recorded(setting, setting.scan_end), seed)
            | {"routing": routing},
        )
        for case in (HOT, CONFLICTS)
        for name, (scheme, routing) in VARIANTS.items()
        for seed in seeds_of(seeds, setting.adaptive_seeds)
    ]


CURVES = Look.of(list(VARIANTS))


@adaptive.draw
def _charts(table: pl.DataFrame, setting: Setting) -> Charts:
    begin, end = setting.scan_hot[0] / US, setting.scan_hot[1] / US
    domain = (0.0, setting.scan_end / US)
    panels = [
        rule(rule(lines(rows, domain=domain, title=case, width=360, curves=CURVES), begin), end)
        for (case,), rows in table.group_by("case", maintain_order=True)
    ]
    notes = (
        f"{named(setting, table['network'][0])}; {seeds_note(table, batches=False)}",
        f"from {begin:g} to {end:g} µs a quarter sends to one endpoint, or all send to the one with reversed bits",
    )
    return {"adaptive": finished(beside(*panels), "FBICM with adaptive routing", notes)}


def _during(table: pl.DataFrame, setting: Setting, name: str, case: str) -> Value:
    """Mean throughput while the hot spot, or the permutation, is there; its first fifth left out."""
    first, last = setting.scan_hot
    begin = first + (last - first) // 5
    responses = Responses(table.filter(pl.col("case") == case), f"figure adaptive, {case}")
    return responses.mean(name, begin / US, last / US, "accepted_load")


@adaptive.text
def _text(table: pl.DataFrame, setting: Setting) -> str:
    """Means with intervals, and a sentence about them."""
    found = {
        name: {case: _during(table, setting, name, case) for case in (HOT, CONFLICTS)}
        for name in VARIANTS
        if name in table["mechanism"]
    }
    rows = [[name, *(_plus(of[case]) for case in (HOT, CONFLICTS))] for name, of in found.items()]
    shown = markdown_table(["scheme, routing", *(f"throughput, {case}" for case in (HOT, CONFLICTS))], rows)
    return f"{shown}\n\n{_sentence(found)}"


def _plus(value: Value) -> str:
    half = Z * error(value)
    return f"{nominal(value):.3f}" + ("" if isnan(half) else f" ± {half:.3f}")


def _sentence(found: dict[str, dict[str, Value]]) -> str:
    if not {BOTH, ISOLATED, DIVERSE} <= found.keys():
        return ""

    def against(case: str, other: str) -> str:
        ratio = found[BOTH][case] / found[other][case]
        half = Z * error(ratio)
        return f"{100 * (nominal(ratio) - 1):+.1f}" + ("" if isnan(half) else f" ± {100 * half:.1f}") + " %"

    return (
        f"With adaptive ways up FBICM carries {against(CONFLICTS, ISOLATED)} against FBICM over tables under the "
        f"permutation ({against(CONFLICTS, DIVERSE)} against adaptive routing alone), and {against(HOT, ISOLATED)} "
        f"beside the hot spot ({against(HOT, DIVERSE)} against adaptive routing alone)."
    )
