"""Effects of the author's choices that the paper omits: answers instead of credits, and rules of his own."""

from collections.abc import Sequence
from itertools import product

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.peers import outflank_author
from phit.peers.outflank_author import FIRST, STEP, links
from phit.studies.kit.plan import Case, Labels, seeds_of
from phit.studies.outflank.paper import (
    AUTHOR,
    BUTTERFLY,
    HEADINGS,
    NAMES,
    PAPER,
    PATTERNS,
    ROUTINGS,
    author,
    cell,
    dims,
    grid,
    last_load,
    lifetimes,
    message_cycles,
    steady,
    study,
)
from phit.studies.outflank.setting import Setting

ANSWERS, CREDITS, ROUTER = "answers", "credits", "input-queued router"
ACCEPTANCES = (ANSWERS, CREDITS, ROUTER)
"""The packet-level node with answers and with credits, and the input-queued router, which has credits."""

ACCEPTANCE_LOADS = {"Uniform": (0.1, 0.3, 0.5), "Bit-Reverse": (0.1, 0.2, 0.3)}
"""Loads at which answers and credits are compared, below the smallest gamma* of the routings."""


def _side_by_side(
    table: pl.DataFrame, label: str, sides: Sequence[str], keys: Sequence[str], shown: Sequence[str]
) -> str:
    """A row for those rows of the table that differ in `label` alone, the values of all sides in one cell."""
    both = table.select(keys).unique(maintain_order=True)
    for side in sides:
        other = table.filter(pl.col(label) == side).select(*keys, pl.col(shown).name.suffix(f" {side}"))
        both = both.join(other, on=keys, how="left", maintain_order="left")
    rows = [
        [
            *(cell(key, row[key]) for key in keys),
            *(" / ".join(cell(name, row[f"{name} {side}"]) for side in sides) for name in shown),
        ]
        for row in both.iter_rows(named=True)
    ]
    return markdown_table([HEADINGS.get(name, name) for name in (*keys, *shown)], rows)


def _single_packets(setting: Setting, pattern: str, routing: str, gamma: float, acceptance: str, seed: int) -> Document:
    """A steady state with the rules of the text, in the input-queued router or in the packet-level node."""
    sides = dims(pattern, setting.sides[0])
    period = message_cycles(sides, gamma, setting.packets, PAPER)
    scenario = steady(
        {"kind": "torus", "dims": sides},
        outflank_author.PATTERNS[pattern],
        ROUTINGS[PAPER][routing],
        gamma,
        warmup=round(2 * period),
        cycles=round(4 * period),
        seed=seed,
        packets=1,
    )
    scenario["traffic"]["process"] = {"kind": "bernoulli"}
    if acceptance != ROUTER:
        node = {"answer": "10 B"} if acceptance == ANSWERS else {"answer": "10 B", "acceptance": acceptance}
        scenario["router"] = {"node": node, "links": links()}
    return scenario


@study.figure(
    "acceptance",
    title="Answers and credits",
    caption="Identical links, queues and routing rules with ACK/NAK answers and with credits in the packet-level "
    "node, and with credits in the input-queued router; single packets at random times. Lifetimes count "
    "from generation. In the node an endpoint sends its next packet when the answer to the previous one, or "
    "its credit, has arrived, 225 ns later. This makes it an M/D/1 queue of that service time. In the "
    "router it sends one in 64 ns.",
    table=lifetimes,
)
def acceptance(setting: Setting, seeds: int | None) -> list[Case]:
    """Answers beside credits, all else the same.

    Single packets at random times replace messages. Packets of a message leave their endpoint after each answer in the
    packet-level node, but without a break in the input-queued router.
    """
    found = []
    for pattern, loads in ACCEPTANCE_LOADS.items():
        for routing, gamma, by, seed in product(NAMES, loads, ACCEPTANCES, seeds_of(seeds, setting.seeds)):
            labels: Labels = {
                "reading": PAPER,
                "pattern": pattern,
                "k": setting.sides[0],
                "routing": routing,
                "load": gamma,
                "acceptance": by,
                "seed": seed,
            }
            found.append(Case(labels, _single_packets(setting, pattern, routing, gamma, by, seed)))
    return found


@acceptance.text
def _acceptance_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    shown = ("network_us", "derouted", "delivered", "lifetime_us")
    rows = _side_by_side(table, "acceptance", ACCEPTANCES, ("pattern", "routing", "load"), shown)
    order = "In the packet-level node with answers / in it with credits / in the input-queued router with credits."
    return f"{rows}\n\n{order}"


CREDITED_PATTERNS = (BUTTERFLY, "Uniform", "Bit-Reverse")


@study.figure(
    "credits",
    title="The author's node with credits",
    caption="Lifetimes at low load, at the paper's gamma*, and one step above it. In the author's node a packet "
    "without room is refused and sent again. In the node with credits it waits.",
    table=lifetimes,
)
def credited(setting: Setting, seeds: int | None) -> list[Case]:
    """The author's runs around the paper's gamma*, with answers and with credits."""
    k = setting.sides[0]
    found = []
    for pattern, routing in product(CREDITED_PATTERNS, NAMES):
        known = last_load(setting, pattern, routing, k) - setting.margin * STEP
        for gamma in (FIRST, *grid(known, known + STEP)):
            for seed in seeds_of(seeds, setting.seeds):
                case = author(setting, pattern, routing, k, gamma, seed)
                router = case.scenario["router"]
                held = {**router, "node": {**router["node"], "acceptance": CREDITS}}
                found.append(Case({**case.labels, "acceptance": ANSWERS}, case.scenario))
                found.append(Case({**case.labels, "acceptance": CREDITS}, {**case.scenario, "router": held}))
    return found


@credited.text
def _credited_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    shown = ("lifetime_us", "hops", "derouted")
    rows = _side_by_side(table, "acceptance", (ANSWERS, CREDITS), ("pattern", "routing", "load"), shown)
    return f"{rows}\n\nWith answers / with credits."


@study.figure(
    "text",
    title="The rules of the text in the author's node",
    caption="Derouted shares and lifetimes at low load with the routing rules of the text, in the author's node. "
    "These rules deroute few packets. In equation (15) with eta = 2 the minimal way is worth 2 or more, "
    "however full its queues. A way of d' hops instead of d is worth at most 1 + 2 d/d', which is more only "
    "if d' < 2 d. An OIDN's way is at least 4 hops longer. So at distances of 4 hops and less, all of the "
    "Butterfly's at k = 8, it is never taken. In the author's simulator a way whose queues are full is "
    "worth nothing (`full_way`). Without this one choice no packet of the Butterfly is derouted there "
    "either. Under uniform traffic `mean` decides: half of the derouted packets are due to it.",
    table=lifetimes,
)
def rules(setting: Setting, seeds: int | None) -> list[Case]:
    """The rules of the text in the author's node, beside his own."""
    found = []
    for pattern, routing, seed in product(PATTERNS, ("POR", "OFR"), seeds_of(seeds, setting.seeds)):
        case = author(setting, pattern, routing, setting.sides[0], FIRST, seed)
        for whose in (AUTHOR, PAPER):
            scenario = {**case.scenario, "routing": ROUTINGS[whose][routing]}
            found.append(Case({**case.labels, "rules": whose}, scenario))
    return found


@rules.text
def _rules_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    shown = ("derouted", "hops", "lifetime_us")
    rows = _side_by_side(table, "rules", (AUTHOR, PAPER), ("pattern", "routing", "load"), shown)
    return f"{rows}\n\nEach cell has the author's rules / the rules of the text."
