"""A collective beside an aggressor: how much longer an all-reduce takes beside a neighbour's incast."""

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.studies.control.networks import NONE, PACKET, SCHEMES, THROTTLES, Network, Scheme, chosen
from phit.studies.control.question import ALONE, NAMES, Evidence, averaged, in_order, number, of_runs, study
from phit.studies.control.setting import Setting
from phit.studies.kit.claim import Judgement
from phit.studies.kit.margin import Check, above, all_of, below
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Value, nominal

TRAINING, NEIGHBOUR = "training", "neighbour"
"""Jobs: the victim and the aggressor."""


def workload(on: Network, of: Scheme, setting: Setting, seed: int, *, alone: bool) -> Document:
    """Two jobs at random places, or the first of them alone at the same places."""
    size = f"{setting.kilobytes} KiB"
    ring = {
        "kind": "collective",
        "collective": "all_reduce",
        "algorithm": "ring",
        "bytes": size,
        "ranks": setting.ranks,
    }
    gather: Document = {
        "kind": "collective",
        "collective": "gather",
        "algorithm": "direct",
        # Together this takes the target's link for longer than the all-reduce takes.
        "bytes": 0 if alone else size,
        "ranks": setting.fan_ins[0] + 1,
    }
    found: Document = {
        "seed": seed,
        "units": {"cycle": "1 ns", "phit": "1 B"},
        "topology": on.topology,
        "router": on.router(of),
        "routing": {"kind": "table"},
        "queueing": of.queueing,
        "workload": {
            "kind": "jobs",
            "packet_size": PACKET,
            "placement": "random",
            "job": [{"name": TRAINING, "program": ring}, {"name": NEIGHBOUR, "program": gather}],
        },
    }
    if of.congestion is not None:
        found["congestion"] = of.congestion
    return found


def slowdowns(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each network and scheme: `slowdown` of the all-reduce, relative to it alone at the same places."""
    rows = of_runs(labels, done, "jobs")
    if rows.is_empty():
        return pl.DataFrame()
    own = rows.filter(pl.col("job") == TRAINING).with_columns(completion=pl.col("finish") - pl.col("start"))
    alone = own.filter(pl.col("mechanism") == ALONE).select("network", "seed", alone=pl.col("completion"))
    found = own.filter(pl.col("mechanism") != ALONE).join(
        alone, on=["network", "seed"], how="left", maintain_order="left"
    )
    found = found.with_columns(slowdown=pl.col("completion") / pl.col("alone"))
    return in_order(averaged(found, ["network", "mechanism"], ("slowdown",)), "mechanism", NAMES)


@study.figure(
    "collective",
    title="An all-reduce beside an aggressor",
    caption="Time of a ring all-reduce beside a neighbour whose endpoints all send to one of them, relative to the "
    "all-reduce alone. Both jobs are at endpoints drawn at random.",
    table=slowdowns,
)
def beside_an_aggressor(setting: Setting, seeds: int | None) -> list[Case]:
    """Every scheme on every network."""
    found = []
    for on in chosen(setting):
        for seed in seeds_of(seeds, setting.seeds):
            labels = {"network": on.name, "seed": seed}
            plain = workload(on, SCHEMES[0], setting, seed, alone=True)
            found.append(Case({**labels, "mechanism": ALONE}, plain))
            found += [
                Case({**labels, "mechanism": of.name}, workload(on, of, setting, seed, alone=False))
                for of in SCHEMES
                if not of.reserves
            ]
    return found


@beside_an_aggressor.text
def _text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    names = table["network"].unique(maintain_order=True).to_list()
    found = {(row["mechanism"], row["network"]): row["slowdown"] for row in table.iter_rows(named=True)}
    shown = [of for of in NAMES if any((of, name) in found for name in names)]
    rows = [[of, *(number(found.get((of, name)), "{:.2f}") for name in names)] for of in shown]
    return markdown_table(["scheme", *names], rows)


@study.claim(
    "G15",
    figure="collective",
    statement="A neighbour's incast slows a collective down, and both isolation and control prevent it",
    paper="on every network the all-reduce takes at least 1.3 times as long with one queue, at most 1.1 times with "
    "FBICM, and at most 1.2 times with each control that slows sources down",
)
def collectives_are_victims(evidence: Evidence) -> Judgement:
    """Slowdowns of the all-reduce."""
    checks: list[Check] = []
    words = []
    for on in chosen(evidence.setting):
        curves = evidence.curves("collective", network=on.name)
        found: dict[str, Value] = {of: curves.value("slowdown", mechanism=of) for of in (NONE, "FBICM", *THROTTLES)}
        checks += [above(found[NONE], 1.3), below(found["FBICM"], 1.1), *(below(found[of], 1.2) for of in THROTTLES)]
        words.append(f"{on.name}: {', '.join(f'{of} {nominal(value):.2f}' for of, value in found.items())}")
    return Judgement(all_of(checks), "; ".join(words))
