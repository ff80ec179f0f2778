"""The most that a folded Clos network of three stages carries with faulty links: a linear program (section 3.2.4)."""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy.optimize import linprog


def adaptive(leaves: int, middles: int, faults: Iterable[tuple[int, int]]) -> float:
    """The highest load per endpoint under wc-UR, in phits/(endpoint·cycle), if traffic is divided as well as can be.

    `faults` are pairs (router of the first level, middle-stage router): both directions of their link. Every router of
    the first level, or leaf, has as many endpoints as there are middle-stage routers, and sends to each other one the
    same share of its load. Leaves with the same links form a class, within which an optimal division can be symmetric:
    a variable stands for the traffic from a class to a class over a middle-stage router.
    """
    classes = _classes(leaves, middles, faults)
    names, counts = list(classes), list(classes.values())
    pairs = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b or counts[a] > 1]
    variables = [(a, b, m) for a, b in pairs for m in sorted(names[a] & names[b])]
    place = {variable: 1 + index for index, variable in enumerate(variables)}
    width = 1 + len(variables)
    demands, capacities = [], []
    # From one leaf of class a goes to all of class b its share: middles * rate * (leaves of b) / (leaves - 1).
    for a, b in pairs:
        row = np.zeros(width)
        others = counts[b] - (a == b)
        row[0] = -middles * others / (leaves - 1)
        for m in names[a] & names[b]:
            row[place[a, b, m]] = 1.0
        demands.append(row)
    for a, ways in enumerate(names):
        for m in ways:
            up, down = np.zeros(width), np.zeros(width)
            for b in range(len(names)):
                if (a, b, m) in place:
                    up[place[a, b, m]] = 1.0
                if (b, a, m) in place:
                    # Of what a leaf of b sends to class a, each of its leaves gets the same.
                    down[place[b, a, m]] = (counts[b] - (a == b)) / (counts[a] - (a == b))
            capacities += [up, down]
    cost = np.zeros(width)
    cost[0] = -1.0
    found = linprog(
        cost,
        A_ub=np.array(capacities),
        b_ub=np.ones(len(capacities)),
        A_eq=np.array(demands),
        b_eq=np.zeros(len(demands)),
        bounds=[(0.0, 1.0), *[(0.0, None)] * len(variables)],
        method="highs",
    )
    if found.status != 0:
        raise ArithmeticError(f"linear program: {found.message}")
    return float(found.x[0])


def oblivious(leaves: int, middles: int, faults: Iterable[tuple[int, int]], *, around: str) -> float:
    """The load per endpoint at which the first link is full if the middle stage is drawn at random.

    `around` is what a draw does that does not lead to the destination: "uniform" draws among the others, "next" takes
    the next one that does.
    """
    dead = frozenset(faults)
    load = np.zeros((2, leaves, middles))
    for source in range(leaves):
        for target in range(leaves):
            if source == target:
                continue
            ways = [m for m in range(middles) if (source, m) not in dead and (target, m) not in dead]
            share = np.zeros(middles)
            if around == "uniform":
                share[ways] = 1.0 / len(ways)
            else:
                for drawn in range(middles):
                    share[next((m for m in ways if m >= drawn), ways[0])] += 1.0 / middles
            rate = middles * share / (leaves - 1)
            load[0, source] += rate
            load[1, target] += rate
    return min(1.0, 1.0 / float(load.max()))


def _classes(leaves: int, middles: int, faults: Iterable[tuple[int, int]]) -> Mapping[frozenset[int], int]:
    """The middle-stage routers that a leaf reaches, with the number of leaves that reach just these."""
    dead = frozenset(faults)
    found: dict[frozenset[int], int] = {}
    for leaf in range(leaves):
        ways = frozenset(m for m in range(middles) if (leaf, m) not in dead)
        found[ways] = found.get(ways, 0) + 1
    return found
