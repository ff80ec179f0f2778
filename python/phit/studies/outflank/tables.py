"""Tables 2 and 3: what every routing sustains and how many packets are derouted, claims O1 to O5; O8 on all runs."""

from collections.abc import Iterator, Sequence
from itertools import product

import polars as pl

from phit.base.markdown import markdown_table
from phit.peers.outflank_author import CUT_WORDS, FIRST, RANDOM, SIDES, STEP, stored_lifetimes, sustained
from phit.studies.kit.claim import Fact, Judgement, NotRunError, Rule
from phit.studies.kit.lifetimes import Lifetimes
from phit.studies.kit.margin import Check, all_of, any_of, at_least, between, exact, not_
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import Value, nominal
from phit.studies.outflank.paper import (
    BUTTERFLY,
    MISSING,
    NAMES,
    PATTERNS,
    Evidence,
    author,
    grid,
    last_load,
    lifetimes,
    study,
)
from phit.studies.outflank.setting import Setting

LARGE = 16
"""Side of the network that the claims about k = 16 are judged on."""


def require_all(count: int, of: int, what: str, found: str) -> None:
    """Raises an error unless all of a table was run, which a claim about the whole table needs.

    It quotes the results so far.
    """
    if count < of:
        raise NotRunError(f"{of - count} of the {of} {what} not run; of those that were, {found}")


@study.figure(
    "table2",
    title="Table 2: maximum sustained throughput",
    caption="All runs of the author's reading: five patterns, three routings, every size, loads in steps of 0.05.",
    is_table=True,
    table=lifetimes,
)
def throughput(setting: Setting, seeds: int | None) -> list[Case]:
    """Table 2: all patterns, routings and sizes.

    The deciding points come first: low load, loads from the paper's gamma* on, and the largest load of all routings.
    """
    found: list[tuple[int, bool, Case]] = []
    for k, pattern, routing in product(setting.sides, PATTERNS, NAMES):
        loads = {name: grid(FIRST, last_load(setting, pattern, name, k)) for name in NAMES}
        common = min(of_one[-1] for of_one in loads.values())
        decisive = {FIRST, common, *loads[routing][-setting.margin - 1 :]}
        found += [
            (k, gamma not in decisive, author(setting, pattern, routing, k, gamma, seed))
            for gamma in loads[routing]
            for seed in seeds_of(seeds, _seeds(setting, pattern, routing, k, gamma))
        ]
    return [case for *_, case in sorted(found, key=lambda entry: entry[:2])]


NEAR = 2
"""Steps beyond the paper's gamma* up to which uniform traffic is run with several seeds."""


def _seeds(setting: Setting, pattern: str, routing: str, k: int, gamma: float) -> int:
    """Seeds of a run: more for uniform traffic near the cut, and at the low load that the cut is taken from."""
    if pattern not in RANDOM or k not in SIDES:
        return setting.seeds
    steps = (gamma - sustained(pattern, routing, k)) / STEP
    near = gamma == FIRST or -1e-6 <= steps <= NEAR + 1e-6
    return setting.decisive_seeds if near else setting.seeds


def _gamma_star(curves: Lifetimes, pattern: str, routing: str, k: int) -> str:
    try:
        return f"{curves.sustained(pattern, routing, k):.2f}"
    except NotRunError:
        return MISSING


@throughput.text
def _throughput_text(table: pl.DataFrame, setting: Setting) -> str:
    """Ours, and the paper's in brackets; a dash where the runs that decide are missing."""
    curves = Lifetimes(table, "table 2")
    columns = list(product(NAMES, [k for k in SIDES if k in setting.sides]))
    if not columns:
        return ""
    rows = [
        [
            pattern,
            *(f"{_gamma_star(curves, pattern, name, k)} ({sustained(pattern, name, k):.2f})" for name, k in columns),
        ]
        for pattern in PATTERNS
    ]
    shown = markdown_table(["pattern", *(f"{name}, k = {k}" for name, k in columns)], rows)
    return (
        f"{shown}\n\nIn brackets: the paper's value. {_stored_words(columns)} Only runs of uniform traffic depend on "
        "the seed, so only they have an error."
    )


def _stored_words(columns: Sequence[tuple[str, int]]) -> str:
    """Where the author's own lifetimes, judged by the rule of `CUT`, give other numbers than the paper prints."""
    stored = Lifetimes(stored_lifetimes(), "the author's lifetimes")
    cells = [(pattern, name, k) for pattern in PATTERNS for name, k in columns]
    other = [(cell, load) for cell in cells if abs((load := stored.sustained(*cell)) - sustained(*cell)) > STEP / 2]
    named = ", ".join(f"{pattern} {name} k = {k} {load:.2f}" for (pattern, name, k), load in other)
    return (
        f"The rule, applied to the lifetimes in the author's repository, gives {len(cells) - len(other)} of the "
        f"{len(cells)} printed numbers{f', and for the others: {named}' if other else ''}."
    )


def _by_the_author(rule: Rule[Evidence], evidence: Evidence) -> Fact | None:
    """The fact that the lifetimes of the author's own runs, judged by the same rule, differ from the paper, too."""
    found = rule(Evidence({"table2": stored_lifetimes()}, evidence.setting))
    text = f"the author's own lifetimes, judged by the same rule, differ from the paper, too: {found.measured}"
    return None if found.holds else Fact(text, "below table 2")


def _gains_of_the_author(evidence: Evidence) -> Fact | None:
    return _by_the_author(gains, evidence)


def _wins_of_the_author(evidence: Evidence) -> Fact | None:
    return _by_the_author(wins, evidence)


def _both(curves: Lifetimes) -> Iterator[tuple[str, str, int, float, float]]:
    """Pattern, routing and size, with the paper's gamma* and ours, for all finished curves."""
    for k, pattern, routing in product(SIDES, PATTERNS, NAMES):
        try:
            ours = curves.sustained(pattern, routing, k)
        except NotRunError:
            continue
        yield pattern, routing, k, sustained(pattern, routing, k), ours


@study.claim(
    "O1",
    figure="table 2",
    statement="The maximum sustained throughput gamma* of every pattern, routing and size",
    paper=f"at least 25 of 30 equal, none off by more than 0.10; gamma*: {CUT_WORDS}",
)
def equal_numbers(evidence: Evidence) -> Judgement:
    """At least 25 of 30 numbers equal, none off by more than two steps."""
    curves = evidence.curves("table2")
    off = {f"{pattern} {name} k={k}": ours - paper for pattern, name, k, paper, ours in _both(curves)}
    equal = sum(abs(difference) < STEP / 2 for difference in off.values())
    worst = max((abs(difference) for difference in off.values()), default=0.0)
    others = ", ".join(f"{cell} {difference:+.2f}" for cell, difference in off.items() if abs(difference) > STEP / 2)
    measured = f"{equal} of {len(off)} equal, the worst off by {worst:.2f}"
    require_all(len(off), 30, "numbers", measured)
    equals = [curves.sustains(pattern, name, k, paper) for pattern, name, k, paper, _ in _both(curves)]
    near = [
        all_of(
            [
                curves.carries(pattern, name, k, paper - 2 * STEP),
                not_(curves.carries(pattern, name, k, paper + 3 * STEP)),
            ]
        )
        for pattern, name, k, paper, _ in _both(curves)
    ]
    return Judgement(all_of([at_least(25, equals), *near]), measured, others and f"others: {others}")


def _gains(curves: Lifetimes, pattern: str, other: str, low: float, high: float) -> Check:
    """Check that OFR's gamma* at k = 16 exceeds that of another routing by `low` to `high` percent.

    It is a check that one of the matching pairs of loads holds.
    """
    loads = [curves.loads(pattern=pattern, k=LARGE, routing=name) for name in ("OFR", other)]
    return any_of(
        all_of([curves.sustains(pattern, "OFR", LARGE, a), curves.sustains(pattern, other, LARGE, b)])
        for a, b in product(*loads)
        if low <= 100 * (a / b - 1) <= high
    )


@study.claim(
    "O2",
    figure="table 2",
    statement="OFR sustains more than ABR at k = 16: from +14 % (Uniform) to +114 % (Butterfly)",
    paper="each pattern's gain within 15 points",
    remark=(
        "Three gains agree. The gains under Butterfly and Bit-Reverse follow from two cells of table 2 that the "
        "rule's cut decides: ABR's gamma* is 0.30 instead of 0.35 under the Butterfly and 0.45 instead of 0.40 "
        "under Bit-Reverse. The lifetimes in the author's own repository, like ours, cross the cut elsewhere than "
        "the printed table in just these two cells and in two more, Uniform and Bit-Reverse under POR. The paper "
        "does not say how its gamma* were read, and the cuts that give all of its table differ from pattern to "
        "pattern. One differing cell is ours alone: Uniform under OFR takes 40.88 µs at 0.85, 1.2 % below the cut, "
        "and 71.82 µs at 0.90. Under the Butterfly ABR takes 47.68 µs at 0.35, 0.8 % above the cut. No queue grows "
        "without end there: the slowest messages, half a ring away, take longer than the time to the next message."
    ),
    fact=_gains_of_the_author,
)
def gains(evidence: Evidence) -> Judgement:
    """OFR over ABR at k = 16, each pattern within 15 points."""
    curves = evidence.curves("table2")
    found, paper, checks = {}, {}, []
    for pattern in PATTERNS:
        found[pattern] = 100 * (curves.sustained(pattern, "OFR", LARGE) / curves.sustained(pattern, "ABR", LARGE) - 1)
        paper[pattern] = 100 * (sustained(pattern, "OFR", LARGE) / sustained(pattern, "ABR", LARGE) - 1)
        checks.append(_gains(curves, pattern, "ABR", paper[pattern] - 15, paper[pattern] + 15))
    return Judgement(
        all_of(checks),
        ", ".join(f"{p} {found[p]:+.0f} % ({paper[p]:+.0f} %)" for p in PATTERNS),
        "the paper's in brackets",
    )


def _wins(curves: Lifetimes, k: int) -> tuple[int, int, int]:
    """Patterns that OFR wins, loses and draws against POR."""
    differences = [curves.sustained(p, "OFR", k) - curves.sustained(p, "POR", k) for p in PATTERNS]
    won = sum(d > STEP / 2 for d in differences)
    lost = sum(d < -STEP / 2 for d in differences)
    return won, lost, len(differences) - won - lost


def _outcome(curves: Lifetimes, k: int, *, won: int, lost: int) -> Check:
    """Check that OFR wins and loses given numbers of patterns against POR, in any order, and draws the others."""
    wins = {p: curves.sustains_more(p, "OFR", "POR", k) for p in PATTERNS}
    losses = {p: curves.sustains_more(p, "POR", "OFR", k) for p in PATTERNS}
    return all_of(
        check
        for count, checks in ((won, wins.values()), (lost, losses.values()))
        for check in (at_least(count, checks), not_(at_least(count + 1, checks)))
    )


@study.claim(
    "O3",
    figure="table 2",
    statement="POR and OFR are about equal at k = 8; at k = 16 OFR wins three patterns, loses one and draws one",
    paper="k=8: 1 won, 2 lost, 2 drawn; k=16: 3 won, 1 lost, 1 drawn",
    remark=(
        "The result agrees with the paper, except for Bit-Reverse at k = 16, where POR draws level with OFR. It "
        "takes 48.38 µs at 0.60, 4 % below the cut, in one of the cells that the cut decides (O2), and 635 µs at "
        "0.65."
    ),
    fact=_wins_of_the_author,
)
def wins(evidence: Evidence) -> Judgement:
    """About equal at k = 8, OFR ahead at k = 16."""
    found = {k: _wins(evidence.curves("table2"), k) for k in (8, LARGE)}
    words = [f"k={k}: {won} won, {lost} lost, {drawn} drawn" for k, (won, lost, drawn) in found.items()]
    curves = evidence.curves("table2")
    check = all_of([_outcome(curves, 8, won=1, lost=2), _outcome(curves, LARGE, won=3, lost=1)])
    return Judgement(check, "; ".join(words))


@study.claim(
    "O4",
    figure="table 2",
    statement="OFR's best gain over POR is +36 %, for the Butterfly at k = 16",
    paper="20 to 50 %",
)
def best_gain(evidence: Evidence) -> Judgement:
    """OFR over POR for the Butterfly at k = 16, 20 to 50 %."""
    curves = evidence.curves("table2")
    gain = 100 * (curves.sustained(BUTTERFLY, "OFR", LARGE) / curves.sustained(BUTTERFLY, "POR", LARGE) - 1)
    return Judgement(_gains(curves, BUTTERFLY, "POR", 20, 50), f"{gain:+.0f} %")


@study.claim(
    "O8",
    figure="3.3",
    statement="No deadlock and no livelock",
    paper="all packets of all runs are delivered",
)
def delivered(evidence: Evidence) -> Judgement:
    """Every run of table 2 delivered all its packets."""
    rows = evidence.curves("table2").rows()
    good = int(rows["converged"].sum())
    note = (
        "the engine's tests assert the hops of every packet against its plan, and of every OIDN the bound 2 n Delta of "
        "the dilation, which the author's midpoints exceed where they lie on the longer arc of a ring"
    )
    packets = int(rows["packets"].sum())
    words = f"{good} of {rows.height} runs delivered all of {packets:,} packets"
    return Judgement(exact(good == rows.height), words, note)


TABLE_3 = {
    "Butterfly/FFT": (0.31, 0.10, 0.41, 0.35),
    "Transposition": (0.04, 0.10, 0.14, 0.10),
    "3D Transposition": (0.32, 0.20, 0.52, 0.53),
    "Uniform": (0.06, 0.12, 0.18, 0.13),
    "Bit-Reverse": (0.09, 0.12, 0.21, 0.24),
}
"""Shares of derouted packets as the paper prints them, k = 16."""

TABLE_3_COLUMNS = ("OFR/OIDN", "OFR/WIDN", "OFR (TOT)", "POR")
"""Derouted by OFR through OIDNs, through WIDNs and in total, and by POR."""


@study.figure(
    "table3",
    title="Table 3: derouted packets",
    caption="Shares of derouted packets at low load.",
    is_table=True,
    table=lifetimes,
)
def derouted(setting: Setting, seeds: int | None) -> list[Case]:
    """Table 3: low load on the largest network, with the routings that deroute packets."""
    return [
        author(setting, pattern, routing, setting.largest, FIRST, seed)
        for pattern in PATTERNS
        for routing in ("OFR", "POR")
        for seed in seeds_of(seeds, setting.seeds)
    ]


def _shares(curves: Lifetimes, pattern: str, k: int) -> tuple[Value, Value, Value, Value]:
    """A row of table 3."""
    where = {"pattern": pattern, "k": k, "load": FIRST}
    oidn, widn = (curves.value(column, routing="OFR", **where) for column in ("oidn", "widn"))
    return oidn, widn, oidn + widn, curves.value("derouted", routing="POR", **where)


@derouted.text
def _derouted_text(table: pl.DataFrame, setting: Setting) -> str:
    """Ours at low load on the largest network; the paper's, of k = 16, in brackets."""
    curves = Lifetimes(table, "table 3")
    rows = []
    for pattern in PATTERNS:
        try:
            ours = [f"{nominal(share):.3f}" for share in _shares(curves, pattern, setting.largest)]
        except NotRunError:
            ours = [MISSING] * len(TABLE_3_COLUMNS)
        rows.append(
            [pattern, *(f"{mine} ({printed:.2f})" for mine, printed in zip(ours, TABLE_3[pattern], strict=True))]
        )
    shown = markdown_table(["pattern", *TABLE_3_COLUMNS], rows)
    return f"{shown}\n\nShares of all packets, k = {setting.largest}; in brackets: the paper's, k = 16."


@study.claim(
    "O5",
    figure="table 3",
    statement="The shares of derouted packets at k = 16: OIDN, WIDN and total of OFR, total of POR",
    paper="low-load values within 0.01 of the printed ones, at least 19 of 20",
)
def printed_shares(evidence: Evidence) -> Judgement:
    """At least 19 of the 20 shares within 0.01 of the printed ones."""
    differences: dict[str, Value] = {}
    for pattern in PATTERNS:
        try:
            ours = _shares(evidence.curves("table2"), pattern, LARGE)
        except NotRunError:
            continue
        for column, mine, printed in zip(TABLE_3_COLUMNS, ours, TABLE_3[pattern], strict=True):
            differences[f"{pattern} {column}"] = mine - printed
    # Printed numbers have two digits.
    checks = {cell: between(difference, -0.015, 0.015) for cell, difference in differences.items()}
    good = sum(check.holds for check in checks.values())
    others = ", ".join(f"{cell} {nominal(d):+.3f}" for cell, d in differences.items() if not checks[cell].holds)
    measured = f"{good} of {len(differences)} within 0.01 of what is printed"
    require_all(len(differences), 20, "shares", measured)
    return Judgement(at_least(19, checks.values()), measured, others and f"others: {others}")
