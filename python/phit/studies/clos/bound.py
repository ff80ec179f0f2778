"""The load at which a folded Clos network of three stages with faulty links is full under oblivious routing."""

from collections.abc import Iterable

import numpy as np


def oblivious(leaves: int, middles: int, faults: Iterable[tuple[int, int]], *, around: str) -> float:
    """The load per endpoint at which the first link is full if the middle stage is drawn at random.

    `around` is the rule if a drawn link does not lead to the destination: "uniform" draws among the other links, "next"
    takes the next one that does.
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
