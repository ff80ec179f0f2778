"""One table for each network: every mechanism's latency, throughput, adaptation, storage and control traffic."""

import math
from collections.abc import Mapping
from fractions import Fraction
from math import isnan

import polars as pl

from phit.base.markdown import markdown_table
from phit.studies.contest import change, load
from phit.studies.contest.networks import Contestant, Network, network
from phit.studies.contest.question import for_each_network, hot_sources
from phit.studies.contest.setting import ADV, ADVC, HALF, HOT, PERM, UN, Setting, patterns
from phit.studies.contest.storage import state_bits
from phit.studies.kit import tables
from phit.studies.kit.bounds import bound_of
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Responses
from phit.studies.kit.plan import Case, Done
from phit.studies.kit.response import TOLERANCE, adaptation_time
from phit.studies.kit.uncertain import Z, error, nominal

CHANGE = "change"
"""The label `pattern` of the runs over time."""

MISSING = "–"


def background(endpoints: int) -> float:
    """Load offered by the endpoints beside the hot spot, in phits/(endpoint·cycle) of all endpoints."""
    return HALF * (1 - len(hot_sources(endpoints)) / endpoints)


def standings(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each mechanism; `_half` is half the width of the 95 % interval over seeds.

    `latency`: at half load under uniform traffic, in cycles. By pattern: the largest accepted load in
    phits/(endpoint·cycle), and its offered load. `hot`: accepted load beside the hot spot. `control`: the largest share
    of a link class that control messages used in any steady state. `adaptation`: adaptation time in cycles.
    """
    steady = load.steady(labels.filter(pl.col("pattern") != CHANGE).drop("change"), done)
    if steady.is_empty():
        return pl.DataFrame()
    changes = tables.transient(labels.filter(pl.col("pattern") == CHANGE).drop("pattern"), done)
    rows = []
    for name in labels["mechanism"].unique(maintain_order=True):
        own = steady.filter(pl.col("mechanism") == name)
        if own.height:
            rows.append({"mechanism": name, **_steady(own), **_adapting(changes, name)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _steady(own: pl.DataFrame) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for row in own.filter(pl.col("pattern") == UN, (pl.col("load") - HALF).abs() < 1e-9).iter_rows(named=True):
        if not row["saturated"]:
            found |= {"latency": row["latency_mean"], "latency_half": row["latency_mean_half"]}
    for pattern in own["pattern"].unique(maintain_order=True):
        rows = own.filter(pl.col("pattern") == pattern, pl.col("pattern") != HOT).sort("accepted_load", descending=True)
        for row in rows.head(1).iter_rows(named=True):
            found |= {pattern: row["accepted_load"], f"{pattern}_half": row["accepted_load_half"]}
            found[f"{pattern}_load"] = row["load"]
    for row in own.filter(pl.col("pattern") == ADVC).sort("load").tail(1).iter_rows(named=True):
        found |= {"unfairness": row.get("unfairness"), "unfairness_half": row.get("unfairness_half")}
    for row in own.filter(pl.col("pattern") == HOT).iter_rows(named=True):
        found |= {"hot": row["accepted_load"], "hot_half": row["accepted_load_half"]}
    return found | {"control": float(max(own["control"])), "seeds": int(max(own["seeds"]))}


def _adapting(changes: pl.DataFrame, name: str) -> dict[str, float | None]:
    """The adaptation time of the mean over seeds, with half the width of its jackknife interval."""
    try:
        found = adaptation_time(Responses(changes, CHANGE), name)
    except NotRunError:
        return {}
    seeds = int(max(changes.filter(pl.col("mechanism") == name)["seeds"]))
    if found is None:
        return {"adaptation": None, "adapts": False, "change_seeds": seeds}
    half = Z * error(found)
    known = None if isnan(half) else half
    return {"adaptation": nominal(found), "adaptation_half": known, "adapts": True, "change_seeds": seeds}


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
    """The delivered share of the traffic beside the hot spot, whose endpoint accepts one phit per cycle."""
    return (accepted - 1 / endpoints) / background(endpoints)


def _row(row: Mapping[str, float | None], of: Contestant, on: Network) -> list[str]:
    hot, half = row.get("hot"), row.get("hot_half")
    beside = MISSING if hot is None else f"{100 * kept(hot, on.endpoints):.0f}"
    if hot is not None and half is not None:
        beside += f" ± {100 * half / background(on.endpoints):.0f}"
    time = "does not" if row.get("adapts") is False else _value(row, "adaptation", 0)
    control = row.get("control")
    return [
        of.name,
        _value(row, "latency", 1),
        *(_value(row, pattern, 3) for pattern in patterns(on.name)),
        *((_value(row, "unfairness", 2),) if ADVC in patterns(on.name) else ()),
        beside,
        time,
        str(of.queues * max(of.channels.values())),
        _bits(state_bits(on, of)),
        MISSING if control is None else f"{100 * control:.2f}",
    ]


def heads(setting: Setting, name: str) -> list[str]:
    """Headings of a network's table, with units."""
    return [
        "mechanism",
        f"latency, {UN} at {HALF:g} (cycles)",
        *(f"most accepted, {pattern}" for pattern in patterns(name)),
        *((f"unfairness, {ADVC}",) if ADVC in patterns(name) else ()),
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
        f"half width of the 95 % interval, {_seeds(table)} ({PERM}: each seed draws its own). Beside a hot "
        "spot: the share of all other traffic that is delivered. A mechanism has adapted when the latency of new "
        f"packets stays within {TOLERANCE:.0%} of the step from its final value. State: the bits "
        "for decisions in a router besides packets, credits and tables, by the cost models of the papers' studies."
    )
    return f"{shown}\n\n{_leaders(table, on)}\n\n{_allowed(on)} {words}"


def _allowed(on: Network) -> str:
    """The loads that links allow under the adversary."""
    limits = bound_of(on.topology, on.adversary)
    minimal = "" if limits.minimal_load is None else f", with minimal routes no more than {_load(limits.minimal_load)}"
    return f"Under {ADV} links allow no more than {_load(limits.load)}{minimal} (`phit bound`)."


def _load(of: Fraction) -> str:
    return f"{float(of):.3f}" + ("" if of == 1 else f" ({of})")


def _seeds(table: pl.DataFrame) -> str:
    """The source of the intervals in words."""
    low, high = int(min(table["seeds"])), int(max(table["seeds"]))
    own = "from the batches of one seed" if high == 1 else f"of {low if low == high else f'{low} to {high}'} seeds"
    changes = max(table["change_seeds"].drop_nulls(), default=0) if "change_seeds" in table.columns else 0
    return own + (f", of times over {changes} seeds" if changes else "")


def _leaders(table: pl.DataFrame, on: Network) -> str:
    """Sentences that name the best mechanisms, with all whose difference from the best is within the error of both."""
    parts = [
        (f"Least latency under {UN} at {HALF:g}", "latency", False),
        *((f"Most accepted under {pattern}", pattern, True) for pattern in patterns(on.name)),
        *(((f"Fairest under {ADVC}", "unfairness", False),) if ADVC in patterns(on.name) else ()),
        (f"Most kept beside a {HOT}", "hot", True),
        (f"Fastest to adapt to {ADV}", "adaptation", False),
    ]
    found = [(words, _best(table, column, most=most)) for words, column, most in parts if column in table.columns]
    sentences = [f"{words}: {', '.join(best)}." for words, best in found if best]
    every = [name for name in table["mechanism"] if found and all(name in best for _, best in found if best)]
    last = f"Among the best at everything: {', '.join(every)}." if every else "No mechanism is among the best at all."
    return f"{on.name[0].upper()}{on.name[1:]}: {' '.join([*sentences, last])}"


def _best(table: pl.DataFrame, column: str, *, most: bool) -> list[str]:
    """The best of a column, and all that two standard errors do not distinguish from it."""
    rows = table.drop_nulls(column).sort(column, descending=most)
    if rows.is_empty():
        return []
    halves = f"{column}_half" if f"{column}_half" in rows.columns else None
    each = [
        (row["mechanism"], row[column], (row[halves] if halves else None) or 0.0) for row in rows.iter_rows(named=True)
    ]
    _, best, error_of_best = each[0]
    return [name for name, value, half in each if abs(value - best) <= math.hypot(half, error_of_best)]


for_each_network(
    "",
    title="All mechanisms on one {}",
    caption="Every mechanism that a {} can carry, under the same conditions.",
    cases=cases,
    table=standings,
    text=_text,
)
