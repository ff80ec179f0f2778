"""Loads that are sustained without limit: steady states of the paper's reading, and long runs of the author's node.

gamma* is read from delivered load, not from lifetimes as in table 2.
"""

from collections.abc import Mapping
from itertools import product

import polars as pl

from phit.base.markdown import markdown_table
from phit.peers import outflank_author
from phit.peers.outflank_author import SIDES, STEP, sustained
from phit.studies.kit.charts import Charts, finished, in_rows
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.lifetimes import Lifetimes, Sustained
from phit.studies.kit.plan import Case, Labels, seeds_of
from phit.studies.outflank.paper import (
    AUTHOR,
    BUTTERFLY,
    MISSING,
    NAMES,
    PAPER,
    PATTERNS,
    ROUTINGS,
    SHARE,
    author,
    by_routing,
    dims,
    grid,
    last_load,
    lifetimes,
    loads_of,
    message_cycles,
    steady,
    study,
)
from phit.studies.outflank.setting import Setting

DELIVERED = "Delivered load (same unit)"


def _by_delivery(curves: Lifetimes, pattern: str, routing: str, k: int) -> Sustained:
    """gamma*: the largest load of which `SHARE` is delivered."""
    rows = curves.rows(pattern=pattern, k=k, routing=routing)
    return curves.last(rows, rows["delivered"] >= SHARE)


def _cell(curves: Lifetimes, pattern: str, routing: str, k: int) -> str:
    """Ours with its bounds, and the paper's in brackets if it has one."""
    printed = f" ({sustained(pattern, routing, k):.2f})" if k in SIDES else ""
    try:
        found = _by_delivery(curves, pattern, routing, k)
        least = curves.loads(pattern=pattern, k=k, routing=routing)[0]
    except NotRunError:
        return f"{MISSING}{printed}"
    if not found.load:
        return f"< {least:.2f}{printed}"
    return f"{'' if found.bounded else '≥ '}{found.load:.2f}{printed}"


@study.figure(
    "steady",
    title="The reading of the paper",
    caption="Steady states around the paper's gamma* with what the text says: credits, four OIDNs for collinear pairs, "
    "the profit as printed, a random direction for half a ring.",
    table=lifetimes,
)
def steady_states(setting: Setting, seeds: int | None) -> list[Case]:
    """The `paper` reading on the smallest network: from below the paper's gamma* to beyond it."""
    k = setting.sides[0]
    found = []
    for pattern, routing in product(PATTERNS, NAMES):
        last = last_load(setting, pattern, routing, k)
        for gamma in grid(last - (setting.margin + 2) * STEP, last + 2 * STEP):
            period = message_cycles(dims(pattern, k), gamma, setting.packets, PAPER)
            for seed in seeds_of(seeds, setting.seeds):
                labels: Labels = {
                    "reading": PAPER,
                    "pattern": pattern,
                    "k": k,
                    "routing": routing,
                    "load": gamma,
                    "seed": seed,
                }
                scenario = steady(
                    {"kind": "torus", "dims": dims(pattern, k)},
                    outflank_author.PATTERNS[pattern],
                    ROUTINGS[PAPER][routing],
                    gamma,
                    warmup=round(setting.settling * period),
                    cycles=round(setting.measured * period),
                    seed=seed,
                    packets=setting.packets,
                )
                found.append(Case(labels, scenario))
    return found


@steady_states.draw
def _steady_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    """Delivered over offered load, a panel for each pattern that was run."""
    # The delivered load has no interval of its own, because messages are sent at regular times.
    shown = table.with_columns(accepted_half=pl.lit(None, pl.Float64))
    domain = loads_of(table)
    panels = [
        by_routing(rows, "accepted", DELIVERED, diagonal=True, title=pattern, domain=domain)
        for pattern in PATTERNS
        if (rows := shown.filter(pl.col("pattern") == pattern)).height
    ]
    k = setting.sides[0]
    notes = (
        f"{k} × {k} × {k} routers",
        "dashed: everything is delivered; lines join neighbouring loads of the grid",
    )
    return {"steady": finished(in_rows(panels), "Throughput with credits", notes)}


def _outcome(loads: Mapping[tuple[str, str], float], other: str) -> str:
    """How many patterns OFR wins, loses and draws against another routing."""
    steps = [round((loads[pattern, "OFR"] - loads[pattern, other]) / STEP) for pattern in PATTERNS]
    return f"{sum(s > 0 for s in steps)} won, {sum(s < 0 for s in steps)} lost, {steps.count(0)} drawn"


def _against_the_claims(curves: Lifetimes, k: int) -> str:
    """The outcome of claims O1 to O3 at one size if gamma* is read from delivered load."""
    cells = list(product(PATTERNS, NAMES))
    try:
        found = {(pattern, name): _by_delivery(curves, pattern, name, k) for pattern, name in cells}
    except NotRunError:
        return ""
    paper = {(pattern, name): sustained(pattern, name, k) for pattern, name in cells}
    ours = {cell: of_one.load for cell, of_one in found.items()}
    equal = sum(of_one.bounded and abs(of_one.load - paper[cell]) < STEP / 2 for cell, of_one in found.items())
    return (
        f"\n\nRead so, {equal} of the {len(ours)} numbers at k = {k} are those of table 2. OFR against POR: "
        f"{_outcome(ours, 'POR')} ({_outcome(paper, 'POR')} in table 2); against ABR: {_outcome(ours, 'ABR')} "
        f"({_outcome(paper, 'ABR')} in table 2)."
    )


@steady_states.text
def _steady_text(table: pl.DataFrame, setting: Setting) -> str:
    """gamma* of steady states, and the paper's in brackets."""
    k = setting.sides[0]
    curves = Lifetimes(table, "steady states")
    present = [pattern for pattern in PATTERNS if pattern in table["pattern"]]
    rows = [[pattern, *(_cell(curves, pattern, name, k) for name in NAMES)] for pattern in present]
    words = f"gamma*: the largest load of which {SHARE:.0%} is delivered, k = {k}; ≥: no larger one was run."
    brackets = " In brackets: table 2 of the paper." if k in SIDES else ""
    claims = _against_the_claims(curves, k) if k in SIDES else ""
    return f"{markdown_table(['pattern', *NAMES], rows)}\n\n{words}{brackets}{claims}"


LONG_LOADS = {8: (0.65, 0.85), 16: (0.95, 1.2)}
"""From where to where long runs of the Butterfly are made: where they cease to be sustained."""


@study.figure(
    "divergence",
    title="Long runs",
    caption="The author's node under the Butterfly, three times as many messages: the loads that are sustained for "
    "good. Table 2 is about lifetimes: under ABR the slowest messages, half a ring away, take longer than the time to "
    "the next message, and their lifetimes grow at loads that are delivered in full. No routing can carry more than "
    "0.8 at k = 8 and 1.2 at k = 16: an endpoint sends its next packet when the one before is answered.",
    table=lifetimes,
)
def long_runs(setting: Setting, seeds: int | None) -> list[Case]:
    """The author's node in steady states, which show whether a load is sustained for any number of messages."""
    found = []
    for k, routing in product(setting.sides, NAMES):
        for gamma in grid(*LONG_LOADS.get(k, LONG_LOADS[8])):
            period = message_cycles(dims(BUTTERFLY, k), gamma, setting.packets, AUTHOR)
            measure = {
                "warmup": round(setting.messages * period),
                "cycles": round(2 * setting.messages * period),
                "histogram": False,
            }
            for seed in seeds_of(seeds, setting.seeds):
                case = author(setting, BUTTERFLY, routing, k, gamma, seed)
                traffic = {**case.scenario["traffic"], "message": {"packets": setting.packets}}
                found.append(Case(case.labels, {**case.scenario, "measure": measure, "traffic": traffic}))
    return found


@long_runs.text
def _long_text(table: pl.DataFrame, setting: Setting) -> str:
    """gamma* of long runs of the Butterfly, and the paper's in brackets."""
    curves = Lifetimes(table, "long runs")
    rows = [[str(k), *(_cell(curves, BUTTERFLY, name, k) for name in NAMES)] for k in setting.sides]
    words = f"gamma*: the largest load of which {SHARE:.0%} is delivered; in brackets: table 2 of the paper."
    return f"{markdown_table(['k', *NAMES], rows)}\n\n{words}"
