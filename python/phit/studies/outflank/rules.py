"""The rules of claims O1 to O8."""

from collections.abc import Iterator, Mapping

from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.outflank.evidence import CUT, Curves, Evidence
from phit.studies.outflank.numbers import PATTERNS, ROUTINGS, SIDES, TABLE_3, TABLE_3_COLUMNS, sustained
from phit.studies.outflank.setting import FIRST, STEP

LARGE = 16
"""Side of the network that the claims about k = 16 are judged on."""


def _cells(evidence: Evidence) -> Iterator[tuple[str, str, int, float, float]]:
    """Pattern, routing, k, the paper's gamma* and ours, of what has been run."""
    curves = evidence.curves()
    for k in SIDES:
        for pattern in PATTERNS:
            for routing in ROUTINGS:
                try:
                    found = curves.by_lifetime(pattern, k, routing)
                except NotRunError:
                    continue
                yield pattern, routing, k, sustained(pattern, routing, k), found.load


def _complete(found: str, count: int, of: int, what: str) -> None:
    """A claim about all of a table is judged by all of it; what is there is told."""
    if count < of:
        raise NotRunError(f"{of - count} of the {of} {what} not run; of those that were, {found}")


def throughput(evidence: Evidence) -> Judgement:
    """O1: at least 25 of 30 numbers equal, none off by more than two steps."""
    cells = list(_cells(evidence))
    off = {f"{pattern} {routing} k={k}": ours - paper for pattern, routing, k, paper, ours in cells}
    equal = sum(abs(difference) < STEP / 2 for difference in off.values())
    worst = max((abs(difference) for difference in off.values()), default=0.0)
    others = ", ".join(f"{cell} {difference:+.2f}" for cell, difference in off.items() if abs(difference) > STEP / 2)
    measured = f"{equal} of {len(cells)} equal, the worst off by {worst:.2f}"
    _complete(measured, len(cells), 30, "numbers")
    return Judgement(equal >= 25 and worst <= 2 * STEP + 1e-9, measured, others and f"others: {others}")


def _sustained(evidence: Evidence, pattern: str, routing: str, k: int) -> float:
    return evidence.curves().by_lifetime(pattern, k, routing).load


def gains(evidence: Evidence) -> Judgement:
    """O2: OFR over ABR at k = 16, each pattern within 15 points."""
    found, paper = {}, {}
    for pattern in PATTERNS:
        found[pattern] = 100 * (
            _sustained(evidence, pattern, "OFR", LARGE) / _sustained(evidence, pattern, "ABR", LARGE) - 1
        )
        paper[pattern] = 100 * (sustained(pattern, "OFR", LARGE) / sustained(pattern, "ABR", LARGE) - 1)
    holds = all(abs(found[p] - paper[p]) <= 15 for p in PATTERNS)
    return Judgement(
        holds, ", ".join(f"{p} {found[p]:+.0f} % ({paper[p]:+.0f} %)" for p in PATTERNS), "the paper's in brackets"
    )


def _wins(evidence: Evidence, k: int) -> tuple[int, int, int]:
    """Patterns that OFR wins, loses and draws against POR."""
    differences = [_sustained(evidence, p, "OFR", k) - _sustained(evidence, p, "POR", k) for p in PATTERNS]
    won = sum(d > STEP / 2 for d in differences)
    lost = sum(d < -STEP / 2 for d in differences)
    return won, lost, len(differences) - won - lost


def wins(evidence: Evidence) -> Judgement:
    """O3: about equal at k = 8, OFR ahead at k = 16."""
    small = _wins(evidence, 8)
    large = _wins(evidence, LARGE)
    words = [f"k={k}: {w} won, {lost} lost, {drawn} drawn" for k, (w, lost, drawn) in ((8, small), (LARGE, large))]
    return Judgement(small == (1, 2, 2) and large == (3, 1, 1), "; ".join(words))


def best_gain(evidence: Evidence) -> Judgement:
    """O4: OFR over POR for the Butterfly at k = 16, 20 to 50 %."""
    name = "Butterfly/FFT"
    gain = 100 * (_sustained(evidence, name, "OFR", LARGE) / _sustained(evidence, name, "POR", LARGE) - 1)
    return Judgement(20 <= gain <= 50, f"{gain:+.0f} %")


def low_load_shares(curves: Curves, pattern: str, k: int) -> tuple[float, float, float, float]:
    """A row of table 3: at low load."""
    where = {"pattern": pattern, "k": k, "load": FIRST}
    oidn, widn = (curves.value(column, routing="OFR", **where) for column in ("oidn", "widn"))
    return oidn, widn, oidn + widn, curves.value("derouted", routing="POR", **where)


def derouted(evidence: Evidence) -> Judgement:
    """O5: at least 19 of the 20 shares within 0.01 of the printed ones."""
    differences: dict[str, float] = {}
    for pattern in PATTERNS:
        try:
            ours = low_load_shares(evidence.curves(), pattern, LARGE)
        except NotRunError:
            continue
        for column, mine, printed in zip(TABLE_3_COLUMNS, ours, TABLE_3[pattern], strict=True):
            differences[f"{pattern} {column}"] = mine - printed
    # What is printed has two digits.
    good = sum(abs(difference) <= 0.015 for difference in differences.values())
    others = ", ".join(f"{cell} {d:+.3f}" for cell, d in differences.items() if abs(d) > 0.015)
    measured = f"{good} of {len(differences)} within 0.01 of what is printed"
    _complete(measured, len(differences), 20, "shares")
    return Judgement(good >= 19, measured, others and f"others: {others}")


def orderings(evidence: Evidence) -> Judgement:
    """O6: OFR's curve of figure 4 is among those that extend furthest where table 2 says so, and nowhere else.

    At the largest load that all three were run at, a routing with a larger gamma* in table 2 is faster than one with a
    smaller.
    """
    curves = evidence.curves()
    good, all_ = 0, []
    for pattern in PATTERNS:
        paper = {name: sustained(pattern, name, LARGE) for name in ROUTINGS}
        ours = {name: _sustained(evidence, pattern, name, LARGE) for name in ROUTINGS}
        common = min(max(curves.rows(pattern=pattern, k=LARGE, routing=name)["load"].to_list()) for name in ROUTINGS)
        times = {
            name: curves.value("lifetime_us", pattern=pattern, k=LARGE, routing=name, load=common) for name in ROUTINGS
        }
        furthest = _is_furthest("OFR", ours) == _is_furthest("OFR", paper)
        ordered = all(times[a] < times[b] for a in ROUTINGS for b in ROUTINGS if paper[a] > paper[b] + STEP / 2)
        good += furthest and ordered
        words = ", ".join(f"{name} {times[name]:.0f}" for name in ROUTINGS)
        far = "furthest" if _is_furthest("OFR", ours) else "not furthest"
        all_.append(f"{pattern}: OFR {far}; at {common:.2f} {words} us")
    return Judgement(good == len(PATTERNS), "; ".join(all_))


def _is_furthest(name: str, loads: Mapping[str, float]) -> bool:
    return loads[name] > max(loads.values()) - STEP / 2


def constant(evidence: Evidence) -> Judgement:
    """O7: the derouted shares of the Butterfly spread by at most 20 % up to gamma*."""
    curves = evidence.curves()
    found = []
    k = LARGE if LARGE in evidence.setting.sides else evidence.setting.largest
    for routing in ("OFR", "POR"):
        last = curves.by_lifetime("Butterfly/FFT", k, routing).load
        rows = curves.rows(pattern="Butterfly/FFT", k=k, routing=routing)
        values = [share for load, share in rows.select("load", "derouted").iter_rows() if load <= last + 1e-9]
        grid = round((last - FIRST) / STEP) + 1
        _complete(f"{len(values)} loads of {routing}", len(values), grid, "loads up to gamma*")
        found.append((routing, (max(values) - min(values)) / (sum(values) / len(values))))
    words = ", ".join(f"{routing} {100 * spread:.1f} %" for routing, spread in found)
    return Judgement(all(spread <= 0.2 for _, spread in found), f"{words} (k={k})")


def delivered(evidence: Evidence) -> Judgement:
    """O8: every run delivered all its packets."""
    rows = evidence.curves().rows()
    good = int(rows["converged"].sum())
    note = (
        "the engine's tests assert the hops of every packet against its plan, and of every OIDN the bound 2 n Delta of "
        "the dilation, which the author's midpoints exceed where they lie on the longer arc of a ring"
    )
    packets = int(rows["packets"].sum())
    return Judgement(good == rows.height, f"{good} of {rows.height} runs delivered all of {packets:,} packets", note)


CUT_WORDS = (
    f"last load with a mean lifetime of at most {CUT:g} times the smallest low-load lifetime of the three routings"
)
