"""One table for each network: every mechanism's latency, throughput, adaptation, storage and control traffic."""

import math
from collections.abc import Mapping

import polars as pl

from phit.markdown import markdown_table
from phit.plots import half_width
from phit.studies.contest import change, load
from phit.studies.contest.change import adaptation
from phit.studies.contest.load import SLUGS
from phit.studies.contest.networks import Contestant, Network, network
from phit.studies.contest.question import hot_sources, study
from phit.studies.contest.setting import ADV, HALF, HOT, PATTERNS, PERM, UN, Setting
from phit.studies.contest.storage import state_bits
from phit.studies.kit import tables
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.study import Figure

CHANGE = "change"
"""The label `pattern` of the runs over time."""

MISSING = "–"


def background(endpoints: int) -> float:
    """What the endpoints beside the hot spot offer, in phits/(endpoint·cycle) of all endpoints."""
    return HALF * (1 - len(hot_sources(endpoints)) / endpoints)


def standings(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each mechanism, `_half` the half width of the 95 % interval over seeds.

    `latency` at half load under uniform traffic, in cycles; by pattern the most that is accepted, in
    phits/(endpoint·cycle), and the load at which it is; `hot`: what is accepted beside the hot spot; `control`: the
    largest share of a class of links that control messages took in any steady state; `adaptation` in cycles.
    """
    steady = load.steady(labels.filter(pl.col("pattern") != CHANGE).drop("change"), done)
    if steady.is_empty():
        return pl.DataFrame()
    series = _responses(labels.filter(pl.col("pattern") == CHANGE), done)
    rows = []
    for name in labels["mechanism"].unique(maintain_order=True):
        own = steady.filter(pl.col("mechanism") == name)
        if own.height:
            rows.append({"mechanism": name, **_steady(own), **_adapting(series.get(name, {}))})
    return pl.DataFrame(rows, infer_schema_length=None)


def _steady(own: pl.DataFrame) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for row in own.filter(pl.col("pattern") == UN, (pl.col("load") - HALF).abs() < 1e-9).iter_rows(named=True):
        if not row["saturated"]:
            found |= {"latency": row["latency_mean"], "latency_half": row["latency_mean_half"]}
    for pattern in PATTERNS:
        rows = own.filter(pl.col("pattern") == pattern).sort("accepted_load", descending=True)
        for row in rows.head(1).iter_rows(named=True):
            found |= {pattern: row["accepted_load"], f"{pattern}_half": row["accepted_load_half"]}
            found[f"{pattern}_load"] = row["load"]
    for row in own.filter(pl.col("pattern") == HOT).iter_rows(named=True):
        found |= {"hot": row["accepted_load"], "hot_half": row["accepted_load_half"]}
    return found | {"control": float(max(own["control"])), "seeds": int(max(own["seeds"]))}


Series = Mapping[int, tuple[list[int], list[float]]]
"""By seed: cycles from the change and mean latencies."""


def _responses(labels: pl.DataFrame, done: Done) -> dict[str, Series]:
    """The recorded latencies of every mechanism."""
    found: dict[str, dict[int, tuple[list[int], list[float]]]] = {}
    for seed in labels["seed"].unique().sort() if labels.height else ():
        table = tables.transient(labels.filter(pl.col("seed") == seed), done)
        if table.is_empty():
            continue
        for (name,), rows in table.group_by("mechanism", maintain_order=True):
            found.setdefault(str(name), {})[int(seed)] = (rows["t"].to_list(), rows["latency_mean"].to_list())
    return dict(found)


def mean_series(of: Series, without: int | None = None) -> tuple[list[int], list[float]]:
    """The mean over seeds, of the bins that all of them have, perhaps without one."""
    kept = [dict(zip(*series, strict=True)) for seed, series in of.items() if seed != without]
    times = sorted(set.intersection(*(set(series) for series in kept))) if kept else []
    return times, [sum(series[t] for series in kept) / len(kept) for t in times]


def _adapting(of: Series) -> dict[str, float | None]:
    """The adaptation time of the mean over seeds, with its half width by the jackknife."""
    if not of:
        return {}
    found = adaptation(mean_series(of))
    if found is None or len(of) < 2:
        return {"adaptation": found}
    others = [adaptation(mean_series(of, without=seed)) for seed in of]
    known = [time for time in others if time is not None]
    if len(known) < len(others):
        return {"adaptation": found}
    # The jackknife's pseudovalues have the variance of single seeds.
    count = len(of)
    pseudo = [count * found - (count - 1) * time for time in known]
    return {"adaptation": found, "adaptation_half": half_width(pseudo)}


def cases(name: str, setting: Setting, seeds: int | None) -> list[Case]:
    """The runs of both figures of a network."""
    steady = [Case({**case.labels, "change": None}, case.scenario) for case in load.cases(name, setting, seeds)]
    changing = [Case({**case.labels, "pattern": CHANGE}, case.scenario) for case in change.cases(name, setting, seeds)]
    return [*steady, *changing]


def _value(row: Mapping[str, float | None], column: str, digits: int) -> str:
    value, half = row.get(column), row.get(f"{column}_half")
    if value is None:
        return MISSING
    return f"{value:,.{digits}f}" + (f" ± {half:,.{digits}f}" if half is not None else "")


def _bits(bits: float) -> str:
    return "cannot be kept" if math.isinf(bits) else f"{bits:,.0f}"


def kept(accepted: float, endpoints: int) -> float:
    """The share of the traffic beside the hot spot that is delivered; its endpoint takes a phit in a cycle."""
    return (accepted - 1 / endpoints) / background(endpoints)


def _row(row: Mapping[str, float | None], of: Contestant, on: Network) -> list[str]:
    hot, half = row.get("hot"), row.get("hot_half")
    beside = MISSING if hot is None else f"{100 * kept(hot, on.endpoints):.0f}"
    if hot is not None and half is not None:
        beside += f" ± {100 * half / background(on.endpoints):.0f}"
    time = "does not" if row.get("adaptation") is None else _value(row, "adaptation", 0)
    control = row.get("control")
    return [
        of.name,
        _value(row, "latency", 1),
        *(_value(row, pattern, 3) for pattern in PATTERNS),
        beside,
        time,
        str(of.queues * max(of.channels.values())),
        _bits(state_bits(on, of)),
        MISSING if control is None else f"{100 * control:.2f}",
    ]


def heads(setting: Setting, name: str) -> list[str]:
    """Headings of the table of a network, with units."""
    return [
        "mechanism",
        f"latency, {UN} at {HALF:g} (cycles)",
        *(f"most accepted, {pattern}" for pattern in PATTERNS),
        "kept beside a hot spot (%)",
        f"adapts to {ADV} at {setting.change_load[name]:g} in (cycles)",
        "queues of a port",
        "state of a router (bits)",
        "control, of a link (%)",
    ]


def _text(name: str, table: pl.DataFrame, setting: Setting) -> str:
    on = network(name, setting)
    of = {contestant.name: contestant for contestant in on.contestants}
    rows = [_row(row, of[row["mechanism"]], on) for row in table.iter_rows(named=True) if row["mechanism"] in of]
    shown = markdown_table(heads(setting, name), rows, heads(setting, name)[1:])
    words = (
        f"{on.words}, {on.endpoints:,} endpoints. Accepted loads in phits/(endpoint·cycle), the most of a curve; ± the "
        f"half width of the 95 % interval over {max(table['seeds'])} seeds ({PERM}: each draws its own). Beside a hot "
        "spot: the share of all other traffic that is delivered. A mechanism has adapted when the latency of new "
        f"packets stays within {change.TOLERANCE:.0%} of the step from its final value. State: what a router keeps "
        "or brings to its decisions besides packets, credits and tables, by the cost models of the papers' studies."
    )
    return f"{shown}\n\n{words}"


def _figure(name: str) -> Figure[Setting]:
    """The table of a network."""

    def runs(setting: Setting, seeds: int | None) -> list[Case]:
        return cases(name, setting, seeds)

    def text(table: pl.DataFrame, setting: Setting) -> str:
        return _text(name, table, setting)

    return study.figure(
        SLUGS[name],
        title=f"All mechanisms on one {name}",
        caption=f"Every mechanism that a {name} can carry, under the same conditions.",
        is_table=True,
        table=standings,
        text=text,
    )(runs)


FIGURES = {name: _figure(name) for name in SLUGS}
"""The table of every network."""

__all__ = ["FIGURES", "seeds_of", "standings"]
